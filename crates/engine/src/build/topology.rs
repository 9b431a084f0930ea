//! From the network of a scenario to the description of an internetwork.

use super::Addresses;
use crate::scenario::{
    GraphNode, Group, Internetwork, LinkDirection, NamedLink, NetworkKind, QueueOption, Scenario,
    ScenarioError, ensure,
};
use std::sync::Arc;
use wasp_net::topology::{
    AccessConfig, Backbone, Block, Paths, RouteTo, RouterConfig, RouterLink, ServerConfig, Topology,
    TopologyError, backbone,
};
use wasp_net::{LinkConfig, Pair};
use wasp_random::{Key, Purpose};
use wasp_wire::Address;
use wasp_wire::ipv4::TTL;

/// The internetwork of a scenario whose names and addresses are checked.
pub(crate) fn topology(scenario: &Scenario, root: Key) -> Topology {
    let network = &scenario.network;
    let addresses = Addresses::of(scenario).expect("a checked scenario has addresses for all");
    let loss = root.purpose(Purpose::Loss);
    let (mut routers, links) = match network.kind {
        NetworkKind::Star => {
            let router = |name| RouterConfig { name, ..RouterConfig::default() };
            (network.router_names().into_iter().map(router).collect(), Vec::new())
        }
        NetworkKind::Backbone => {
            let routers = network.subnetworks.unwrap_or(0) as usize;
            let directions = both(scenario, &network.link.forward, &network.link.backward);
            backbone(&Backbone { routers, directions, key: loss.name("link") })
        }
        NetworkKind::Graph => (graph_routers(scenario), graph_links(scenario, &addresses, loss)),
    };
    for ((router, address), subnet) in routers.iter_mut().zip(&addresses.routers).zip(&addresses.subnets) {
        router.address = *address;
        router.subnets.extend(*subnet);
    }
    let names = network.router_names();
    let at = place_of(&names, scenario.server.at.as_ref());
    // Whom the prefix has room for, but who is not there, is looked for where the server is, unless a subnet is all of it.
    if !addresses.subnets.contains(&Some(addresses.prefix)) {
        routers[at].subnets.push(addresses.prefix);
    }
    let (directions, key) = (server_link(scenario), loss.name(""));
    let server = ServerConfig { at, address: addresses.server, directions, key };
    let blocks = blocks(scenario, &names, &addresses, loss);
    Topology { routers, errors: network.icmp, links, server, blocks }
}

/// The routers of a graph, without their addresses.
fn graph_routers(scenario: &Scenario) -> Vec<RouterConfig> {
    let Internetwork { nodes, links, .. } = &scenario.network;
    let to = |to: &str| {
        let group = scenario.clients.iter().position(|group| group.name == to);
        group.map_or(RouteTo::Server, RouteTo::Block)
    };
    let link =
        |via: &str| links.iter().position(|link| link.name == via).expect("a checked route has a link");
    let router = |GraphNode { name, routes, .. }: &GraphNode| RouterConfig {
        name: name.clone(),
        routes: routes.iter().map(|route| (to(&route.to), link(&route.via))).collect(),
        ..RouterConfig::default()
    };
    nodes.iter().map(router).collect()
}

/// The place of the router with this name; the first where none is named.
pub(crate) fn place_of(routers: &[String], name: Option<&String>) -> usize {
    name.and_then(|name| routers.iter().position(|router| router == name)).unwrap_or(0)
}

fn graph_links(scenario: &Scenario, addresses: &Addresses, loss: Key) -> Vec<RouterLink> {
    let nodes = scenario.network.router_names();
    let link =
        |(NamedLink { name, from, to, forward, backward, .. }, addresses): (&NamedLink, &_)| RouterLink {
            name: name.clone(),
            ends: (place_of(&nodes, Some(from)), place_of(&nodes, Some(to))),
            directions: both(scenario, forward, backward),
            addresses: *addresses,
            key: loss.name("link").name(name),
        };
    scenario.network.links.iter().zip(&addresses.ports).map(link).collect()
}

/// The link between a router and the server: that of a backbone takes the delay of its other links, that of a graph nothing. It carries what the
/// server's device does, unless it is given an MTU.
fn server_link(scenario: &Scenario) -> Pair<Arc<LinkConfig>> {
    let Internetwork { kind, shared, link, .. } = &scenario.network;
    let mtu = Some(scenario.server_mtu());
    let before_server = |of: &LinkDirection| LinkDirection { mtu: of.mtu.or(mtu), ..of.clone() };
    let delay = |of: &LinkDirection| LinkDirection { delay: of.delay, mtu, ..LinkDirection::default() };
    let none = LinkDirection::default();
    match kind {
        NetworkKind::Star => both(scenario, &before_server(&shared.up), &before_server(&shared.down)),
        NetworkKind::Backbone => both(scenario, &delay(&link.backward), &delay(&link.forward)),
        NetworkKind::Graph => both(scenario, &delay(&none), &delay(&none)),
    }
}

/// The hosts of each group. Those of a group share what their links do.
fn blocks(scenario: &Scenario, routers: &[String], addresses: &Addresses, loss: Key) -> Vec<Block> {
    let block = |(group, (first, _)): (&Group, &(Address, u32))| {
        let [forward, backward] = group.access().map(|(_, direction)| Arc::new(link(scenario, &direction)));
        let directions = Pair { forward, backward };
        let access = |index: u32| AccessConfig {
            directions: directions.clone(),
            scope: group.loss.scope,
            key: loss.name(&group.name).entity(u64::from(index)),
        };
        let hosts = (0..group.count).map(access).collect();
        Block { at: place_of(routers, group.at.as_ref()), first: *first, hosts }
    };
    scenario.clients.iter().zip(&addresses.groups).map(block).collect()
}

fn both(scenario: &Scenario, forward: &LinkDirection, backward: &LinkDirection) -> Pair<Arc<LinkConfig>> {
    let config = |direction| Arc::new(link(scenario, direction));
    Pair { forward: config(forward), backward: config(backward) }
}

fn link(scenario: &Scenario, direction: &LinkDirection) -> LinkConfig {
    let LinkDirection { rate, trace: _, queue, delay, mtu, loss, jitter, reorder, duplicate, corrupt } =
        *direction;
    LinkConfig {
        mtu,
        loss: loss.unwrap_or_default(),
        corrupt,
        duplicate,
        queue: queue.map(QueueOption::config),
        rate,
        trace: scenario.network.trace_of(direction),
        reorder,
        delay,
        jitter,
        by_queue: false,
    }
}

/// Makes sure that packets of each group reach the server, and those of the server the group, in a scenario whose other parts are checked.
///
/// # Errors
/// There is no path, more routers are on it than packets live through, or links that take no time join nodes in a cycle.
pub(crate) fn check_paths(scenario: &Scenario) -> Result<(), ScenarioError> {
    let topology = topology(scenario, Key::root(0, 0));
    topology.check().map_err(|error| at_its_field(scenario, &error))?;
    let mut paths = Paths::of(&topology);
    for ((group, block), place) in scenario.clients.iter().zip(&topology.blocks).zip(0..) {
        let ways =
            [paths.path(block.at, RouteTo::Server), paths.path(topology.server.at, RouteTo::Block(place))];
        let links = ways.map(|way| way.map_or(0, |links| links.len()));
        let routers = 1 + links.into_iter().max().unwrap_or(0);
        let most = usize::from(TTL - 1);
        let message = format!(
            "{:?}; {routers} routers are between there and the server, and packets live through {most} at most",
            topology.routers[block.at].name
        );
        ensure(routers <= most, format!("clients.{}.at", group.name), message)?;
    }
    Ok(())
}

/// Why the internetwork cannot be built, at the field that is to be changed.
fn at_its_field(scenario: &Scenario, error: &TopologyError) -> ScenarioError {
    let at_links = |valid| ScenarioError::new("network.links", format!("{error}; {valid}"));
    match error {
        TopologyError::NoRoute { .. } => at_links("a link that joins them, or several, would be valid"),
        TopologyError::NoDelay { .. } => at_links("one of them needs a delay"),
        TopologyError::RoutingLoop { to, nodes } => {
            let to = match to {
                RouteTo::Server => "server",
                RouteTo::Block(group) => &scenario.clients[*group].name,
            };
            let message = format!(
                "packets for {to} go round the nodes {}; a link that leads to {to} without a loop would be valid",
                nodes.join(", ")
            );
            ScenarioError::new(format!("network.nodes.{}.routes.{to}", nodes[0]), message)
        }
    }
}
