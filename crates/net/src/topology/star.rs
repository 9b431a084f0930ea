//! The star: each host on an access link of its own to one router, and one shared link from there to the server.

use super::{Layout, Port};
use crate::account::Meter;
use crate::impairment::random_start;
use crate::node::{Node, Route, Target};
use crate::{Direction, LinkConfig, LinkId, Network, Observer, Pair, Scope};
use std::sync::Arc;
use wasp_kernel::NodeId;
use wasp_random::Key;
use wasp_units::Duration;
use wasp_wire::Address;

/// The link of one host to its router.
#[derive(Clone, Debug)]
pub struct AccessConfig {
    /// What each direction does; forward is from the host.
    pub directions: Pair<Arc<LinkConfig>>,
    /// What shares a loss chain.
    pub scope: Scope,
    /// The host's key for loss and what else its link does.
    pub key: Key,
}

/// The link that all hosts share.
#[derive(Clone, Debug)]
pub struct SharedConfig {
    /// What each direction does; forward is from the router to the server.
    pub directions: Pair<Arc<LinkConfig>>,
    /// For what is drawn for all that crosses it.
    pub key: Key,
}

/// Hosts with consecutive addresses at one router.
#[derive(Clone, Debug)]
pub struct Block {
    /// The address of the first host.
    pub first: Address,
    /// The access link of each host.
    pub hosts: Vec<AccessConfig>,
}

/// Puts a star into an empty network. Node 0 is the server, node 1 the router; then come the hosts.
///
/// # Panics
/// If the address space ends before the last host.
pub fn star<O: Observer>(
    network: &mut Network<O>,
    server: Address,
    shared: &SharedConfig,
    block: &Block,
) -> Layout {
    let router = network.add_router(NodeId(1));
    let hub = Node::Router(router);
    let mut port = |node, address, ends: (Node, Node), directions: &Pair<Arc<LinkConfig>>, key| {
        let links = add_pair(network, ends, directions, key);
        // Forward is from the host, unless the link ends at it.
        let (out, into) = match ends {
            (Node::Host(_), _) => (links.forward, links.backward),
            (Node::Router(_), _) => (links.backward, links.forward),
        };
        Port { node, address, out, into, router }
    };
    let node = NodeId(0);
    let server = port(node, server, (hub, Node::Host(node)), &shared.directions, shared.key);
    let host = |(number, access): (u32, &AccessConfig)| {
        let node = NodeId(2 + number);
        let address = block.first.offset(number).expect("the block has addresses");
        port(node, address, (Node::Host(node), hub), &access.directions, access.key)
    };
    let hosts = (0..).zip(&block.hosts).map(host).collect();
    let layout = Layout::new(server, hosts);
    let to_server = Route { first: server.address, last: server.address, target: Target::Link(server.into) };
    let to_hosts = layout.route_to_hosts();
    let routes: Vec<Route> = [to_server].into_iter().chain(to_hosts).collect();
    network.set_routes(router, &routes);
    meter(network, &layout, shared, block);
    layout
}

/// Adds both directions of a link; `key` is for what is drawn for all that crosses it.
fn add_pair<O: Observer>(
    network: &mut Network<O>,
    (from, to): (Node, Node),
    directions: &Pair<Arc<LinkConfig>>,
    key: Key,
) -> Pair<LinkId> {
    let of_direction = |direction| key.entity(direction as u64);
    let Pair { forward, backward } = directions;
    let start = random_start([forward.trace.as_ref(), backward.trace.as_ref()], key);
    let of_forward = of_direction(Direction::Forward);
    let of_backward = of_direction(Direction::Backward);
    Pair {
        forward: network.add_link((from, to), Arc::clone(forward), of_forward, start),
        backward: network.add_link((to, from), Arc::clone(backward), of_backward, start),
    }
}

/// Keeps account of what crosses the hosts' links.
fn meter<O: Observer>(network: &mut Network<O>, layout: &Layout, shared: &SharedConfig, block: &Block) {
    let delay = |directions: &Pair<Arc<LinkConfig>>| -> Duration {
        directions.forward.mean_delay() + directions.backward.mean_delay()
    };
    for ((port, access), host) in layout.hosts().iter().zip(&block.hosts).zip(0..) {
        let round_trip = delay(&access.directions) + delay(&shared.directions);
        for (link, direction) in [(port.out, Direction::Forward), (port.into, Direction::Backward)] {
            let meter = Meter::new(host, direction, access.scope, access.key, round_trip);
            network.meter(link, meter);
        }
    }
    let to_hosts: Vec<Route> = layout.route_to_hosts().into_iter().collect();
    network.set_metered(&to_hosts);
}
