//! What a scenario's network is once it is resolved: nodes, links, and the paths of each group.

use super::{GroupPaths, topology};
use crate::Scenario;
use crate::scenario::Group;
use serde::Serialize;
use std::sync::Arc;
use wasp_net::queue::QueueConfig;
use wasp_net::topology::{Block, Hop, Paths, RouterLink, Topology};
use wasp_net::{Direction, LinkConfig, Loss, Pair};
use wasp_random::Key;
use wasp_units::Rate;

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
}

/// A router, or the server.
#[derive(Clone, Debug, Serialize)]
pub struct NodeReport {
    /// Its name; `server` is the server's.
    pub name: String,
    /// Its address, if it has one.
    pub address: Option<String>,
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
    let blocks = scenario.clients.iter().zip(&resolved.blocks);
    let groups =
        blocks.map(|(group, block)| of_group(&resolved, server_link, &mut paths, (group, block))).collect();
    TopologyReport { nodes: nodes(&resolved), links: links(scenario, &resolved, server_link), groups }
}

fn nodes(resolved: &Topology) -> Vec<NodeReport> {
    let router = |name: &String| NodeReport { name: name.clone(), address: None };
    let address = Some(resolved.server.address.to_string());
    let server = NodeReport { name: "server".to_owned(), address };
    resolved.routers.iter().map(router).chain([server]).collect()
}

fn links(scenario: &Scenario, resolved: &Topology, server_link: &str) -> Vec<LinkReport> {
    let router = |place: usize| resolved.routers[place].as_str();
    let between = |RouterLink { name, ends, directions, .. }: &RouterLink| {
        both(LinkKind::Between, name, (router(ends.0), router(ends.1)), directions)
    };
    let server = &resolved.server;
    let server = both(LinkKind::Server, server_link, (router(server.at), "server"), &server.directions);
    let access = scenario.clients.iter().zip(&resolved.blocks).flat_map(|(group, block)| {
        let directions = &block.hosts.first().expect("a checked group has clients").directions;
        both(LinkKind::Access, &group.name, (&group.name, router(block.at)), directions)
    });
    resolved.links.iter().flat_map(between).chain(server).chain(access).collect()
}

/// Both directions of a link, the one from its first end first.
fn both(
    kind: LinkKind,
    link: &str,
    (first, second): (&str, &str),
    directions: &Pair<Arc<LinkConfig>>,
) -> [LinkReport; 2] {
    let [there, back] = if kind == LinkKind::Between { BETWEEN } else { OUTER };
    let report = |direction, from: &str, to: &str, config: &LinkConfig| LinkReport {
        kind,
        link: link.to_owned(),
        direction,
        from: from.to_owned(),
        to: to.to_owned(),
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
    (group, block): (&Group, &Block),
) -> GroupReport {
    let own = GroupPaths::of(resolved, paths, block);
    let hop = |link: &str, direction| HopReport { link: link.to_owned(), direction };
    let between = |(link, direction): &Hop| hop(&resolved.links[*link].name, BETWEEN[*direction as usize]);
    let up = [hop(&group.name, OUTER[0])].into_iter().chain(own.hops.forward.iter().map(between));
    let down = [hop(server_link, OUTER[1])].into_iter().chain(own.hops.backward.iter().map(between));
    let up = up.chain([hop(server_link, OUTER[0])]).collect();
    let down = down.chain([hop(&group.name, OUTER[1])]).collect();
    let mtus = Direction::BOTH.into_iter().flat_map(|direction| own.links(direction));
    GroupReport {
        name: group.name.clone(),
        at: resolved.routers[block.at].clone(),
        count: group.count,
        first_address: block.first.to_string(),
        rtt_ns: own.propagation().as_nanos(),
        mtu: mtus.filter_map(|config| config.mtu).min().unwrap_or(group.mtu),
        up: PathReport::of(up, &own.links(Direction::Forward)),
        down: PathReport::of(down, &own.links(Direction::Backward)),
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
