//! What a scenario's network is once it is resolved: nodes, links, and the paths of each group.

use super::{GroupPaths, topology};
use crate::Scenario;
use crate::scenario::{CrossTraffic, Group, StaticRoute};
use serde::Serialize;
use std::sync::Arc;
use wasp_net::queue::QueueConfig;
use wasp_net::topology::{Hop, Paths, RouterConfig, RouterLink, Topology};
use wasp_net::{Direction, LinkConfig, Loss, Pair};
use wasp_random::Key;
use wasp_units::Rate;
use wasp_wire::Address;

/// The network of a scenario.
#[derive(Clone, Debug, Serialize)]
pub struct TopologyReport {
    /// The routers, and the server last.
    pub nodes: Vec<NodeReport>,
    /// Both directions of each link: of those between routers, of the one between a router and the server, and of the access links of each group, where
    /// the group is the node at one end.
    pub links: Vec<LinkReport>,
    /// The groups of clients.
    pub groups: Vec<GroupReport>,
    /// What loads links beside them.
    pub cross_traffic: Vec<CrossReport>,
}

/// Cross traffic, by the names of links and directions of [`LinkReport`].
#[derive(Clone, Debug, Serialize)]
pub struct CrossReport {
    /// Its name.
    pub name: String,
    /// The link that it loads.
    pub link: String,
    /// The direction of it.
    pub direction: String,
    /// Its mean rate, with headers; on each of several access links.
    pub mean_bps: f64,
    /// The length of its packets in bytes, headers included.
    pub packet_bytes: u64,
}

/// A router, or the server.
#[derive(Clone, Debug, Serialize)]
pub struct NodeReport {
    /// Its name; `server` is the server's.
    pub name: String,
    /// Its address: a router's is that of ports that have none of their own. Only the router of a star has none, where its clients take all there are.
    pub address: Option<String>,
    /// The addresses of its clients, if the scenario says it.
    pub subnet: Option<String>,
    /// The routes in place of its shortest paths.
    pub routes: Vec<StaticRoute>,
}

/// What a link joins.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkKind {
    /// Two routers.
    Between,
    /// A router and the server.
    Server,
    /// A client of a group and a router.
    Access,
}

/// One direction of a link, by the names that the table `links` of results gives it. The access links of a group have the name of the group.
#[derive(Clone, Debug, Serialize)]
pub struct LinkReport {
    /// What it joins.
    pub kind: LinkKind,
    /// The name of the link.
    pub link: String,
    /// The name of the direction: `up` and `down` of access links and before the server, otherwise `forward` and `backward`.
    pub direction: &'static str,
    /// The node at which it begins.
    pub from: String,
    /// The node at which it ends.
    pub to: String,
    /// The address of the port at which it begins; that of a client differs from client to client and is none.
    pub from_address: Option<String>,
    /// The address of the port at which it ends.
    pub to_address: Option<String>,
    /// Its rate, or the mean rate of its trace; none is unlimited.
    pub rate_bps: Option<u64>,
    /// Propagation delay.
    pub delay_ns: u64,
    /// The longest IP packet that it carries, in bytes; none is unlimited.
    pub mtu: Option<u16>,
    /// What waits before it; none lets all wait.
    pub queue: Option<QueueConfig>,
    /// What else it does to packets, and whether its rate is that of a trace.
    pub impairments: Vec<&'static str>,
}

/// A link and the direction in which it is crossed.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct HopReport {
    /// The name of the link.
    pub link: String,
    /// The name of the direction.
    pub direction: &'static str,
}

/// A group of clients, and its paths to the server and back.
#[derive(Clone, Debug, Serialize)]
pub struct GroupReport {
    /// Its name.
    pub name: String,
    /// The router at which it is.
    pub at: String,
    /// How many clients.
    pub count: u32,
    /// The address of the first client.
    pub first_address: String,
    /// The address of the last client.
    pub last_address: String,
    /// Time of a round trip without queues, serialisation and jitter.
    pub rtt_ns: u64,
    /// The longest IP packet that all links of both paths carry, in bytes.
    pub mtu: u16,
    /// From a client to the server.
    pub up: PathReport,
    /// From the server to a client.
    pub down: PathReport,
}

/// The path from a group to the server, or back.
#[derive(Clone, Debug, Serialize)]
pub struct PathReport {
    /// The links, in the order in which they are crossed.
    pub links: Vec<HopReport>,
    /// The least rate of a link; none is unlimited.
    pub rate_bps: Option<u64>,
    /// The links with that rate.
    pub bottlenecks: Vec<HopReport>,
}

const OUTER: [&str; 2] = ["up", "down"];
const BETWEEN: [&str; 2] = ["forward", "backward"];

/// Resolves the network of a checked scenario.
#[must_use]
pub fn topology_report(scenario: &Scenario) -> TopologyReport {
    let resolved = topology(scenario, Key::root(0, 0));
    let server_link = scenario.network.server_link_name();
    let mut paths = Paths::of(&resolved);
    let groups = scenario.clients.iter().zip(0..);
    let groups =
        groups.map(|(group, place)| of_group(&resolved, server_link, &mut paths, (group, place))).collect();
    TopologyReport {
        nodes: nodes(scenario, &resolved),
        links: links(scenario, &resolved, server_link),
        groups,
        cross_traffic: scenario.network.cross_traffic.iter().map(cross_traffic).collect(),
    }
}

fn cross_traffic(traffic: &CrossTraffic) -> CrossReport {
    let CrossTraffic { name, link, direction, rate, packet, model, flows: _ } = traffic;
    let within_bursts = rate.map_or(0.0, |rate| rate.bits_per_second() as f64);
    CrossReport {
        name: name.clone(),
        link: link.clone(),
        direction: direction.clone(),
        mean_bps: within_bursts * model.duty_cycle(),
        packet_bytes: packet.get(),
    }
}

fn nodes(scenario: &Scenario, resolved: &Topology) -> Vec<NodeReport> {
    let node = |name: &str, address: Option<Address>| {
        let described = scenario.network.nodes.iter().find(|node| node.name == name);
        NodeReport {
            name: name.to_owned(),
            address: address.map(|address| address.to_string()),
            subnet: described.and_then(|node| node.subnet.clone()),
            routes: described.map_or_else(Vec::new, |node| node.routes.clone()),
        }
    };
    let server = node("server", Some(resolved.server.address));
    resolved.routers.iter().map(|router| node(&router.name, router.address)).chain([server]).collect()
}

fn links(scenario: &Scenario, resolved: &Topology, server_link: &str) -> Vec<LinkReport> {
    let router = |place: usize, port: Option<Address>| {
        let RouterConfig { name, address, .. } = &resolved.routers[place];
        LinkEnd { node: name, address: port.or(*address) }
    };
    let between = |RouterLink { name, ends, directions, addresses, .. }: &RouterLink| {
        let ends = [router(ends.0, addresses.0), router(ends.1, addresses.1)];
        both(LinkKind::Between, name, ends, directions)
    };
    let server = &resolved.server;
    let ends = [router(server.at, None), LinkEnd { node: "server", address: Some(server.address) }];
    let server = both(LinkKind::Server, server_link, ends, &server.directions);
    let access = scenario.clients.iter().zip(&resolved.blocks).flat_map(|(group, block)| {
        let directions = &block.hosts.first().expect("a checked group has clients").directions;
        let ends = [LinkEnd { node: &group.name, address: None }, router(block.at, None)];
        both(LinkKind::Access, &group.name, ends, directions)
    });
    resolved.links.iter().flat_map(between).chain(server).chain(access).collect()
}

/// What is at one end of a link, and the address of the port there.
#[derive(Clone, Copy)]
struct LinkEnd<'a> {
    node: &'a str,
    address: Option<Address>,
}

/// Both directions of a link, the one from its first end first.
fn both(
    kind: LinkKind,
    link: &str,
    [first, second]: [LinkEnd<'_>; 2],
    directions: &Pair<Arc<LinkConfig>>,
) -> [LinkReport; 2] {
    let [there, back] = if kind == LinkKind::Between { BETWEEN } else { OUTER };
    let address = |end: LinkEnd<'_>| end.address.map(|address| address.to_string());
    let report = |direction, from: LinkEnd<'_>, to: LinkEnd<'_>, config: &LinkConfig| LinkReport {
        kind,
        link: link.to_owned(),
        direction,
        from: from.node.to_owned(),
        to: to.node.to_owned(),
        from_address: address(from),
        to_address: address(to),
        rate_bps: config.mean_rate().map(Rate::bits_per_second),
        delay_ns: config.delay.as_nanos(),
        mtu: config.mtu,
        queue: config.queue,
        impairments: impairments(config),
    };
    [report(there, first, second, &directions.forward), report(back, second, first, &directions.backward)]
}

fn impairments(config: &LinkConfig) -> Vec<&'static str> {
    let found = [
        (config.trace.is_some(), "trace"),
        (!matches!(config.loss, Loss::None), "loss"),
        (config.jitter.is_some(), "jitter"),
        (config.reorder.is_some(), "reorder"),
        (config.duplicate.is_some(), "duplicate"),
        (config.corrupt.is_some(), "corrupt"),
    ];
    found.into_iter().filter_map(|(given, name)| given.then_some(name)).collect()
}

fn of_group(
    resolved: &Topology,
    server_link: &str,
    paths: &mut Paths<'_>,
    (group, place): (&Group, usize),
) -> GroupReport {
    let block = &resolved.blocks[place];
    let own = GroupPaths::of(resolved, paths, place);
    let hop = |link: &str, direction| HopReport { link: link.to_owned(), direction };
    let between = |(link, direction): &Hop| hop(&resolved.links[*link].name, BETWEEN[*direction as usize]);
    let up = [hop(&group.name, OUTER[0])].into_iter().chain(own.hops.forward.iter().map(between));
    let down = [hop(server_link, OUTER[1])].into_iter().chain(own.hops.backward.iter().map(between));
    let up = up.chain([hop(server_link, OUTER[0])]).collect();
    let down = down.chain([hop(&group.name, OUTER[1])]).collect();
    let last = block.first.offset(group.count - 1).expect("a checked group has addresses");
    let mtus = Direction::BOTH.into_iter().flat_map(|direction| own.links(direction));
    GroupReport {
        name: group.name.clone(),
        at: resolved.routers[block.at].name.clone(),
        count: group.count,
        first_address: block.first.to_string(),
        last_address: last.to_string(),
        rtt_ns: own.propagation().as_nanos(),
        mtu: mtus.filter_map(|config| config.mtu).min().unwrap_or(group.mtu),
        up: PathReport::of(up, &own.links(Direction::Forward)),
        down: PathReport::of(down, &own.links(Direction::Backward)),
    }
}

impl LinkKind {
    /// Its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Between => "between",
            Self::Server => "server",
            Self::Access => "access",
        }
    }
}

impl PathReport {
    fn of(links: Vec<HopReport>, configs: &[&LinkConfig]) -> Self {
        let rate = |config: &LinkConfig| config.mean_rate().map(Rate::bits_per_second);
        let rate_bps = configs.iter().filter_map(|config| rate(config)).min();
        let is_narrow = |config: &LinkConfig| rate_bps.is_some() && rate(config) == rate_bps;
        let narrow = links.iter().zip(configs).filter(|(_, config)| is_narrow(config));
        Self { bottlenecks: narrow.map(|(hop, _)| hop.clone()).collect(), links, rate_bps }
    }
}
