//! From the description of an internetwork to nodes, links and routes.

use super::{
    Block, Hop, Layout, Paths, Port, RouteTo, RouterLink, ServerConfig, Subnet, Topology, TopologyError,
};
use crate::account::Meter;
use crate::impairment::random_start;
use crate::node::{Node, Ranges, Route, Routes, Stop, Target};
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
    /// No way joins two routers, links that take no time join some in a cycle, or static routes lead in a loop.
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
        let destinations: BTreeSet<RouteTo> =
            self.routers.iter().flat_map(|router| router.routes.iter().map(|(to, _)| *to)).collect();
        for to in destinations {
            if let Some(error) = paths.loop_towards(to) {
                return Err(error);
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
    /// If the address space ends before the last host of a block.
    pub fn build<O: Observer>(&self, network: &mut Network<O>) -> Result<Layout, TopologyError> {
        let mut paths = self.checked_paths()?;
        let nodes = (1..).take(self.routers.len()).map(NodeId);
        let described = self.routers.iter().zip(nodes);
        let routers: Vec<RouterId> =
            described.map(|(router, node)| network.add_router(node, router.address, self.errors)).collect();
        let server = add_server(network, &self.server, &routers);
        let links = self.links.iter().map(|link| add_link(network, link, &routers)).collect();
        let hosts = self.add_hosts(network, &routers);
        let next_node = NodeId(1 + routers.len() as u32 + hosts.len() as u32);
        let layout = Layout::new(server, hosts, links, paths.towards_server()?, next_node);
        self.set_routes(network, &routers, &layout, &mut paths);
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

    /// Gives each router its routes. What is behind an address is the same for all of them; the way there is not.
    fn set_routes<O: Observer>(
        &self,
        network: &mut Network<O>,
        routers: &[RouterId],
        layout: &Layout,
        paths: &mut Paths<'_>,
    ) {
        let destinations = self.destinations(layout);
        let numbered = destinations.iter().zip(0..);
        let ranges: Ranges<usize> =
            Ranges::new(numbered.map(|(each, number)| (each.route.first, each.route.last, number)));
        for (place, router) in routers.iter().enumerate() {
            let targets: Vec<Target> =
                destinations.iter().map(|each| each.target_from(place, layout, paths)).collect();
            let fixed = self.static_routes(place, layout);
            let table = if fixed.is_empty() {
                Routes::of(&ranges, |number| targets[number])
            } else {
                let others =
                    destinations.iter().zip(targets).map(|(each, target)| Route { target, ..each.route });
                Routes::new(&fixed.into_iter().chain(others).collect::<Vec<_>>())
            };
            network.set_routes(*router, table);
        }
    }

    /// The static routes of the router with this place. What is at the router itself is reached straight.
    fn static_routes(&self, place: usize, layout: &Layout) -> Vec<Route> {
        let others = self.routers[place].routes.iter().filter(|(to, _)| self.place_of(*to) != place);
        let route = |(to, link): &(RouteTo, usize)| {
            let Subnet { first, last } = self.addresses_of(*to);
            let target = Target::Link(*layout.links[*link].get(self.direction_from(place, *link)));
            Route { first, last, target }
        };
        others.map(route).collect()
    }

    /// The addresses of those at which packets are to arrive.
    fn addresses_of(&self, to: RouteTo) -> Subnet {
        match to {
            RouteTo::Server => Subnet::of(self.server.address),
            RouteTo::Block(block) => {
                let Block { first, hosts, .. } = &self.blocks[block];
                let further = (hosts.len() as u32).saturating_sub(1);
                Subnet { first: *first, last: first.offset(further).expect("the block has addresses") }
            }
        }
    }

    /// What has addresses: the server, the hosts, those of neighbouring blocks at one router together, the routers with their ports, and last who is
    /// not there.
    fn destinations(&self, layout: &Layout) -> Vec<Destination> {
        let destination =
            |at, Subnet { first, last }, target| Destination { at, route: Route { first, last, target } };
        let ServerConfig { at, address, .. } = self.server;
        let mut found = vec![destination(at, Subnet::of(address), Target::Link(layout.server.into))];
        let mut number = 0;
        for blocks in self.blocks.chunk_by(|one, next| one.at == next.at) {
            let count: usize = blocks.iter().map(|block| block.hosts.len()).sum();
            let routes = layout.routes_to_hosts(number..number + count);
            found.extend(routes.into_iter().map(|route| Destination { at: blocks[0].at, route }));
            number += count;
        }
        let local = Target::Stop(Stop::Local);
        for (router, at) in self.routers.iter().zip(0..) {
            found.extend(router.address.map(|address| destination(at, Subnet::of(address), local)));
        }
        for RouterLink { ends, addresses, .. } in &self.links {
            for (at, address) in [(ends.0, addresses.0), (ends.1, addresses.1)] {
                found.extend(address.map(|address| destination(at, Subnet::of(address), local)));
            }
        }
        for (router, at) in self.routers.iter().zip(0..) {
            for subnet in &router.subnets {
                let ends = [subnet.first, subnet.last].map(Subnet::of);
                found.extend(ends.map(|end| destination(at, end, Target::Stop(Stop::Nobody))));
                found.push(destination(at, *subnet, Target::Stop(Stop::NoHost)));
            }
        }
        found
    }

    /// Keeps account of what crosses the hosts' links.
    fn meter<O: Observer>(&self, network: &mut Network<O>, layout: &Layout, paths: &mut Paths<'_>) {
        let mut ports = layout.hosts().iter().zip(0..);
        for (place, block) in self.blocks.iter().enumerate() {
            let between = self.round_trip_between(paths, place);
            for (access, (port, host)) in block.hosts.iter().zip(&mut ports) {
                let round_trip = between + both(&access.directions);
                for (link, direction) in [(port.out, Direction::Forward), (port.into, Direction::Backward)] {
                    network.meter(link, Meter::new(host, direction, access.scope, access.key, round_trip));
                }
            }
        }
        network.set_metered(&layout.routes_to_hosts(0..layout.hosts().len()));
    }

    /// Mean time from the router of a block to the server and back, without queues and serialisation.
    fn round_trip_between(&self, paths: &mut Paths<'_>, block: usize) -> Duration {
        let ways = [
            paths.path(self.blocks[block].at, RouteTo::Server),
            paths.path(self.server.at, RouteTo::Block(block)),
        ];
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

impl Destination {
    /// Where the router with this place sends packets for it by the shortest path, which ends at its own router.
    fn target_from(&self, place: usize, layout: &Layout, paths: &mut Paths<'_>) -> Target {
        let next = paths.tree(self.at).next(place);
        let link = |(link, direction): Hop| Target::Link(*layout.links[link].get(direction));
        next.map_or(self.route.target, link)
    }
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
    let RouterLink { ends: (first, second), directions, addresses, key, .. } = link;
    let ends = (Node::Router(routers[*first]), Node::Router(routers[*second]));
    let links = add_pair(network, ends, directions, *key);
    let ports =
        [(routers[*first], links.backward, addresses.0), (routers[*second], links.forward, addresses.1)];
    for (router, into, address) in ports {
        if let Some(address) = address {
            network.number_port((router, into), address);
        }
    }
    links
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
