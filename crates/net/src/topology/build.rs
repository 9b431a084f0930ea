//! From the description of an internetwork to nodes, links and routes.

use super::{Layout, Paths, Port, RouterLink, ServerConfig, Topology, TopologyError};
use crate::account::Meter;
use crate::impairment::random_start;
use crate::node::{Node, Route, Target};
use crate::{Direction, LinkConfig, LinkId, Network, Observer, Pair, RouterId};
use std::collections::BTreeSet;
use std::sync::Arc;
use wasp_kernel::NodeId;
use wasp_random::Key;
use wasp_units::Duration;

impl Topology {
    /// Checks what would keep the internetwork from being built.
    ///
    /// # Errors
    /// No way joins two routers, or links that take no time join some in a cycle.
    pub fn check(&self) -> Result<(), TopologyError> {
        self.checked_paths().map(|_| ())
    }

    /// The ways between all routers and those at which the server and the hosts are: each is there.
    fn checked_paths(&self) -> Result<Paths<'_>, TopologyError> {
        if let Some(cycle) = self.cycle_without_delay() {
            return Err(self.no_delay(&cycle));
        }
        let mut paths = Paths::of(self);
        let ends: BTreeSet<usize> =
            self.blocks.iter().map(|block| block.at).chain([self.server.at]).collect();
        for to in ends {
            let tree = paths.tree(to);
            if let Some(from) = (0..self.routers.len()).find(|from| *from != to && tree.next(*from).is_none())
            {
                return Err(self.no_route(from, to));
            }
        }
        Ok(paths)
    }

    /// Puts the internetwork into an empty network. Node 0 is the server, then come the routers, then the hosts. The links are the server's, those
    /// between routers, and those of the hosts, forward before backward.
    ///
    /// # Errors
    /// See [`Self::check`].
    ///
    /// # Panics
    /// If the addresses of the hosts have gaps, or the address space ends before the last host.
    pub fn build<O: Observer>(&self, network: &mut Network<O>) -> Result<Layout, TopologyError> {
        let mut paths = self.checked_paths()?;
        let nodes = (1..).take(self.routers.len()).map(NodeId);
        let routers: Vec<RouterId> = nodes.map(|node| network.add_router(node)).collect();
        let server = add_server(network, &self.server, &routers);
        let links = self.links.iter().map(|link| add_link(network, link, &routers)).collect();
        let hosts = self.add_hosts(network, &routers);
        let layout = Layout::new(server, hosts, links, paths.towards_server());
        let destinations = self.destinations(&layout);
        for (place, router) in routers.iter().enumerate() {
            network.set_routes(*router, &routes(place, &destinations, &layout, &mut paths));
        }
        self.meter(network, &layout, &mut paths);
        Ok(layout)
    }

    fn add_hosts<O: Observer>(&self, network: &mut Network<O>, routers: &[RouterId]) -> Vec<Port> {
        let mut hosts = Vec::new();
        let mut next = 1 + routers.len() as u32;
        for block in &self.blocks {
            let router = routers[block.at];
            for (access, number) in block.hosts.iter().zip(0..) {
                let node = NodeId(next);
                let ends = (Node::Host(node), Node::Router(router));
                let links = add_pair(network, ends, &access.directions, access.key);
                let address = block.first.offset(number).expect("the block has addresses");
                hosts.push(Port { node, address, out: links.forward, into: links.backward, router });
                next += 1;
            }
        }
        hosts
    }

    /// What has addresses: the server, and the hosts, those of neighbouring blocks at one router together.
    fn destinations(&self, layout: &Layout) -> Vec<Destination> {
        let ServerConfig { at, address, .. } = self.server;
        let target = Target::Link(layout.server.into);
        let mut found = vec![Destination { at, route: Route { first: address, last: address, target } }];
        let mut number = 0;
        for blocks in self.blocks.chunk_by(|one, next| one.at == next.at) {
            let count: usize = blocks.iter().map(|block| block.hosts.len()).sum();
            found.extend(
                layout
                    .route_to_hosts(number..number + count)
                    .map(|route| Destination { at: blocks[0].at, route }),
            );
            number += count;
        }
        found
    }

    /// Keeps account of what crosses the hosts' links.
    fn meter<O: Observer>(&self, network: &mut Network<O>, layout: &Layout, paths: &mut Paths<'_>) {
        let mut ports = layout.hosts().iter().zip(0..);
        for block in &self.blocks {
            let between = self.round_trip_between(paths, block.at);
            for (access, (port, host)) in block.hosts.iter().zip(&mut ports) {
                let round_trip = between + both(&access.directions);
                for (link, direction) in [(port.out, Direction::Forward), (port.into, Direction::Backward)] {
                    network.meter(link, Meter::new(host, direction, access.scope, access.key, round_trip));
                }
            }
        }
        let to_hosts: Vec<Route> = layout.route_to_hosts(0..layout.hosts().len()).into_iter().collect();
        network.set_metered(&to_hosts);
    }

    /// Mean time from a router to the server and back, without queues and serialisation.
    fn round_trip_between(&self, paths: &mut Paths<'_>, at: usize) -> Duration {
        let ways = [paths.path(at, self.server.at), paths.path(self.server.at, at)];
        let links = ways
            .iter()
            .flatten()
            .flatten()
            .map(|(link, direction)| self.links[*link].directions.get(*direction));
        links.fold(both(&self.server.directions), |sum, config| sum + config.mean_delay())
    }
}

/// Addresses that lie together.
#[derive(Clone, Copy, Debug)]
struct Destination {
    /// The place of the router at which they are.
    at: usize,
    /// Where packets for them go from there.
    route: Route,
}

/// The routes of the router with this place, in a network with ways. What one link leads to is one route, as far as the addresses are consecutive.
fn routes(place: usize, destinations: &[Destination], layout: &Layout, paths: &mut Paths<'_>) -> Vec<Route> {
    let mut routes: Vec<Route> = Vec::new();
    for Destination { at, route } in destinations {
        let next = paths.tree(*at).next(place);
        // At its own router the way ends.
        let target =
            next.map_or(route.target, |(link, direction)| Target::Link(*layout.links[link].get(direction)));
        match routes.last_mut() {
            Some(last)
                if last.target == target && next.is_some() && last.last.offset(1) == Some(route.first) =>
            {
                last.last = route.last;
            }
            _ => routes.push(Route { target, ..*route }),
        }
    }
    routes
}

/// Mean time there and back over a link, without queues and serialisation.
fn both(directions: &Pair<Arc<LinkConfig>>) -> Duration {
    directions.forward.mean_delay() + directions.backward.mean_delay()
}

fn add_server<O: Observer>(network: &mut Network<O>, server: &ServerConfig, routers: &[RouterId]) -> Port {
    let ServerConfig { at, address, directions, key } = server;
    let (node, router) = (NodeId(0), routers[*at]);
    let links = add_pair(network, (Node::Router(router), Node::Host(node)), directions, *key);
    Port { node, address: *address, out: links.backward, into: links.forward, router }
}

fn add_link<O: Observer>(network: &mut Network<O>, link: &RouterLink, routers: &[RouterId]) -> Pair<LinkId> {
    let (first, second) = link.ends;
    add_pair(
        network,
        (Node::Router(routers[first]), Node::Router(routers[second])),
        &link.directions,
        link.key,
    )
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
