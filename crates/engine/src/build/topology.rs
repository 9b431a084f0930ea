//! From the network of a scenario to the description of an internetwork.

use crate::scenario::{
    Group, Internetwork, LinkDirection, NamedLink, NetworkKind, QueueOption, Scenario, ScenarioError, ensure,
};
use std::sync::Arc;
use wasp_net::topology::{
    AccessConfig, Backbone, Block, Paths, RouterLink, ServerConfig, Topology, TopologyError, backbone,
};
use wasp_net::{LinkConfig, Pair};
use wasp_random::{Key, Purpose};
use wasp_wire::Address;
use wasp_wire::ipv4::TTL;

/// The internetwork of a scenario whose names of nodes are checked.
pub(crate) fn topology(scenario: &Scenario, root: Key) -> Topology {
    let network = &scenario.network;
    let loss = root.purpose(Purpose::Loss);
    let (routers, links) = match network.kind {
        NetworkKind::Star => (network.router_names(), Vec::new()),
        NetworkKind::Backbone => {
            let routers = network.subnetworks.unwrap_or(0) as usize;
            let directions = both(scenario, &network.link.forward, &network.link.backward);
            backbone(&Backbone { routers, directions, key: loss.name("link") })
        }
        NetworkKind::Graph => (network.router_names(), graph_links(scenario, loss)),
    };
    let server = ServerConfig {
        at: place_of(&routers, scenario.server.at.as_ref()),
        address: Address::from(scenario.server.address),
        directions: server_link(scenario),
        key: loss.name(""),
    };
    let blocks = blocks(scenario, &routers, loss);
    Topology { routers, links, server, blocks }
}

/// The place of the router with this name; the first where none is named.
fn place_of(routers: &[String], name: Option<&String>) -> usize {
    name.and_then(|name| routers.iter().position(|router| router == name)).unwrap_or(0)
}

fn graph_links(scenario: &Scenario, loss: Key) -> Vec<RouterLink> {
    let Internetwork { nodes, links, .. } = &scenario.network;
    let link = |NamedLink { name, from, to, forward, backward }: &NamedLink| RouterLink {
        name: name.clone(),
        ends: (place_of(nodes, Some(from)), place_of(nodes, Some(to))),
        directions: both(scenario, forward, backward),
        key: loss.name("link").name(name),
    };
    links.iter().map(link).collect()
}

/// The link between a router and the server: that of a backbone takes the delay of its other links, that of a graph nothing.
fn server_link(scenario: &Scenario) -> Pair<Arc<LinkConfig>> {
    let Internetwork { kind, shared, link, .. } = &scenario.network;
    let delay = |of: &LinkDirection| LinkDirection { delay: of.delay, ..LinkDirection::default() };
    match kind {
        NetworkKind::Star => both(scenario, &shared.up, &shared.down),
        NetworkKind::Backbone => both(scenario, &delay(&link.backward), &delay(&link.forward)),
        NetworkKind::Graph => both(scenario, &LinkDirection::default(), &LinkDirection::default()),
    }
}

/// The hosts of each group. Those of a group share what their links do.
fn blocks(scenario: &Scenario, routers: &[String], loss: Key) -> Vec<Block> {
    let mut first = Address::from(scenario.first_client());
    let mut block = |group: &Group| {
        let [forward, backward] =
            group.access().map(|(_, direction)| Arc::new(link(scenario, &direction, Some(group.mtu))));
        let directions = Pair { forward, backward };
        let access = |index: u32| AccessConfig {
            directions: directions.clone(),
            scope: group.loss.scope,
            key: loss.name(&group.name).entity(u64::from(index)),
        };
        let hosts = (0..group.count).map(access).collect();
        let block = Block { at: place_of(routers, group.at.as_ref()), first, hosts };
        first = first.offset(group.count).expect("a checked prefix has room for all clients");
        block
    };
    scenario.clients.iter().map(&mut block).collect()
}

fn both(scenario: &Scenario, forward: &LinkDirection, backward: &LinkDirection) -> Pair<Arc<LinkConfig>> {
    let config = |direction| Arc::new(link(scenario, direction, None));
    Pair { forward: config(forward), backward: config(backward) }
}

fn link(scenario: &Scenario, direction: &LinkDirection, mtu: Option<u16>) -> LinkConfig {
    let LinkDirection { rate, trace: _, queue, delay, loss, jitter, reorder, duplicate, corrupt } =
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
    topology.check().map_err(|error| at_its_field(&error))?;
    let mut paths = Paths::of(&topology);
    for (group, block) in scenario.clients.iter().zip(&topology.blocks) {
        let ends = [(block.at, topology.server.at), (topology.server.at, block.at)];
        let links = ends.map(|(from, to)| paths.path(from, to).map_or(0, |path| path.len()));
        let routers = 1 + links.into_iter().max().unwrap_or(0);
        let most = usize::from(TTL - 1);
        let message = format!(
            "{:?}; {routers} routers are between there and the server, and packets live through {most} at most",
            topology.routers[block.at]
        );
        ensure(routers <= most, format!("clients.{}.at", group.name), message)?;
    }
    Ok(())
}

/// Why the internetwork cannot be built, at the field that is to be changed.
fn at_its_field(error: &TopologyError) -> ScenarioError {
    let valid = match error {
        TopologyError::NoRoute { .. } => "a link that joins them, or several, would be valid",
        TopologyError::NoDelay { .. } => "one of them needs a delay",
    };
    ScenarioError::new("network.links", format!("{error}; {valid}"))
}
