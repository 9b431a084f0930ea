//! Routes of whole networks, and what is wrong with some.

use super::{
    AccessConfig, Backbone, Block, Paths, RouteTo, RouterConfig, RouterLink, ServerConfig, Topology,
    TopologyError, backbone,
};
use crate::{Delivery, Direction, ErrorRate, Fate, LinkConfig, Network, NetworkEvent, Pair, Scope};
use proptest::prelude::*;
use std::net::Ipv4Addr;
use std::sync::Arc;
use wasp_kernel::{LogicalProcess, NodeId, Process, Scheduler};
use wasp_packet::{Body, Packet, Payload, PayloadPool};
use wasp_random::Key;
use wasp_units::{Duration, Instant};
use wasp_wire::{Address, IpHeader};

/// Ends of a link and its delay there and back, in milliseconds.
type Described = (usize, usize, u64, u64);

/// What both directions of a link do that takes so many milliseconds there and back.
fn both(there: u64, back: u64) -> Pair<Arc<LinkConfig>> {
    let config = |ms: u64| Arc::new(LinkConfig { delay: Duration::from_millis(ms), ..LinkConfig::default() });
    Pair { forward: config(there), backward: config(back) }
}

/// The router n0, n1 and so on, without an address.
fn router(place: usize) -> RouterConfig {
    RouterConfig { name: format!("n{place}"), ..RouterConfig::default() }
}

/// Routers n0, n1 and so on with these links between them, the server at the first, and no hosts.
fn graph(routers: usize, links: &[Described]) -> Topology {
    let link = |(place, (first, second, there, back)): (usize, &Described)| RouterLink {
        name: format!("l{place}"),
        ends: (*first, *second),
        directions: both(*there, *back),
        addresses: (None, None),
        key: Key::root(1, 0).entity(place as u64),
    };
    let address = Address::from(Ipv4Addr::from_bits(0x0a00_0001));
    Topology {
        routers: (0..routers).map(router).collect(),
        errors: ErrorRate::default(),
        links: links.iter().enumerate().map(link).collect(),
        server: ServerConfig { at: 0, address, directions: both(0, 0), key: Key::root(1, 0) },
        blocks: Vec::new(),
    }
}

/// So many hosts at a router; `number` is that of the first among all.
fn block(at: usize, number: u32, hosts: usize) -> Block {
    let access = AccessConfig { directions: both(0, 0), scope: Scope::default(), key: Key::root(1, 0) };
    Block { at, first: Address::from(Ipv4Addr::from_bits(0x0a00_0002 + number)), hosts: vec![access; hosts] }
}

/// A network, and what reached a host: when, which one, and with what TTL.
struct Sink {
    network: Network,
    delivered: Vec<(Instant, NodeId, u8)>,
}

impl Process for Sink {
    type Event = NetworkEvent;

    fn handle(&mut self, event: NetworkEvent, scheduler: &mut Scheduler<NetworkEvent>) {
        if let Some(Delivery { node, packet }) = self.network.handle(event, scheduler) {
            self.delivered.push((scheduler.now(), node, packet.ip.ttl));
        }
    }
}

fn packet(source: Address, destination: Address) -> Packet {
    let ip =
        IpHeader { source, destination, ttl: 64, traffic_class: 0, identification: 0, dont_fragment: true };
    let body = Body::Udp { source_port: 1, destination_port: 2 };
    Packet { ip, body, payload: Payload::Virtual(10), flipped: None }
}

/// Least delay, hops and place of the first link from each router to `to`, by going round all links until nothing changes (Bellman-Ford).
fn by_rounds(routers: usize, links: &[Described], to: usize) -> Vec<Option<(u64, u32, usize)>> {
    let mut found: Vec<Option<(u64, u32, usize)>> = vec![None; routers];
    found[to] = Some((0, 0, usize::MAX));
    for _ in 0..routers {
        for (place, (first, second, there, back)) in links.iter().enumerate() {
            for (from, at, delay) in [(*first, *second, there), (*second, *first, back)] {
                let Some((rest, hops, _)) = found[at] else { continue };
                let offer = (rest + delay, hops + 1, place);
                if from != to && found[from].is_none_or(|known| offer < known) {
                    found[from] = Some(offer);
                }
            }
        }
    }
    found
}

proptest! {
    #[test]
    fn next_hops_are_those_of_least_delay_then_hops_then_order(
        links in proptest::collection::vec((0_usize..7, 0_usize..7, 0_u64..3, 0_u64..3), 0..16)
    ) {
        let links: Vec<Described> = links.into_iter().filter(|(first, second, ..)| first != second).collect();
        let topology = graph(7, &links);
        let mut paths = Paths::of(&topology);
        for to in 0..7 {
            let expected: Vec<Option<usize>> = by_rounds(7, &links, to)
                .into_iter()
                .map(|known| known.map(|(.., place)| place).filter(|place| *place != usize::MAX))
                .collect();
            let tree = paths.tree(to);
            let hops: Vec<Option<usize>> =
                (0..7).map(|from| tree.next(from).map(|(edge, _)| edge)).collect();
            prop_assert_eq!(hops, expected);
        }
    }
}

#[test]
fn two_thousand_routers_are_built_and_every_one_knows_the_way() {
    const ROUTERS: usize = 2_000;
    // A ring, and half as many chords: from each even router to one far away.
    let ring = (0..ROUTERS).map(|place| (place, (place + 1) % ROUTERS, 1, 1));
    let far = |place: usize| (place * 7_919 + 13) % ROUTERS;
    let chords = (0..ROUTERS).step_by(2).map(|place| (place, far(place), 1 + place as u64 % 5, 2));
    let links: Vec<Described> = ring.chain(chords.filter(|(from, to, ..)| from != to)).collect();
    let topology = graph(ROUTERS, &links);
    let layout = topology.build(&mut Network::new(PayloadPool::new(0), ())).unwrap();
    assert_eq!(layout.links.len(), links.len());
    let mut paths = Paths::of(&topology);
    for from in (1..ROUTERS).step_by(97) {
        let there = paths.path(from, RouteTo::Server).unwrap();
        assert!(!there.is_empty() && there.len() < 40, "{from}: {}", there.len());
    }
}

#[test]
fn hosts_along_a_backbone_are_farther_away_by_a_link_there_and_back_each() {
    let (routers, links) = backbone(&Backbone { routers: 4, directions: both(3, 2), key: Key::root(1, 0) });
    let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["b1", "b2", "b3"]);
    let names: Vec<&str> = routers.iter().map(|router| router.name.as_str()).collect();
    assert_eq!(names, ["r1", "r2", "r3", "r4"]);
    let blocks = (0..4).map(|at| block(at, at as u32, 1)).collect();
    let topology = Topology { routers, links, blocks, ..graph(0, &[]) };
    topology.check().unwrap();
    let mut paths = Paths::of(&topology);
    let delay = |path: Vec<super::Hop>| -> u64 {
        path.iter()
            .map(|(link, direction)| topology.links[*link].directions.get(*direction).delay.as_millis())
            .sum()
    };
    let found: Vec<(u64, u64)> = (0..4)
        .map(|at| {
            let ways = [paths.path(at, RouteTo::Server), paths.path(0, RouteTo::Block(at))];
            ways.map(|way| delay(way.unwrap())).into()
        })
        .collect();
    assert_eq!(found, [(0, 0), (2, 3), (4, 6), (6, 9)]);
}

#[test]
fn hosts_to_which_no_link_leads_are_refused() {
    let mut topology = graph(2, &[(0, 1, 1, 1)]);
    topology.blocks = vec![block(1, 0, 10)];
    assert_eq!(topology.check(), Ok(()));
    topology.links.clear();
    // The first router that does not reach another is told.
    let error = TopologyError::NoRoute { from: "n1".to_owned(), to: "n0".to_owned() };
    assert_eq!(topology.check(), Err(error.clone()));
    assert_eq!(error.to_string(), "no route from \"n1\" to \"n0\"");
}

#[test]
fn packets_between_server_and_hosts_at_any_router_cross_the_links_of_the_shortest_path() {
    // From the third router to the server: 2 ms over the middle, 5 ms straight; back it is 5 ms over the middle, 3 ms straight.
    let mut topology = graph(3, &[(0, 1, 1, 1), (1, 2, 4, 1), (0, 2, 3, 5)]);
    topology.blocks = vec![block(2, 0, 3), block(1, 3, 2), block(1, 5, 1), block(0, 6, 2)];
    let mut network = Network::new(PayloadPool::new(0), ());
    let layout = topology.build(&mut network).unwrap();
    assert_eq!(layout.towards_server, [Direction::Backward; 3]);
    let mut kernel = LogicalProcess::new(Sink { network, delivered: Vec::new() });
    for host in 0..8 {
        let port = layout.hosts()[host];
        for (from, to) in [(&port, &layout.server), (&layout.server, &port)] {
            let now = kernel.now();
            let (packet, out) = (packet(from.address, to.address), from.out);
            kernel.inject(now, |sink, scheduler| sink.network.send(out, packet, scheduler));
            kernel.advance(Instant::MAX).unwrap();
            let (at, node, ttl) = kernel.process.delivered.pop().unwrap();
            let (ms, routers) = match (host, to.node == layout.server.node) {
                (0..3, true) => (2, 3),
                (0..3, false) => (3, 2),
                (3..6, _) => (1, 2),
                (_, _) => (0, 1),
            };
            assert_eq!((at, node, ttl), (now + Duration::from_millis(ms), to.node, 64 - routers), "{host}");
        }
    }
    let crossed = |link: usize, direction| {
        kernel.process.network.link(*layout.links[link].get(direction)).counters().packets
    };
    let counts = [0, 1, 2].map(|link| Direction::BOTH.map(|direction| crossed(link, direction)));
    assert_eq!(counts, [[3, 6], [0, 3], [3, 0]]);
    assert_eq!(kernel.process.network.fates().get(Fate::Delivered), 16);
}

/// The places of the links that packets cross from the router `from` on.
fn over(topology: &Topology, from: usize, to: RouteTo) -> Result<Vec<usize>, TopologyError> {
    Ok(Paths::of(topology).path(from, to)?.into_iter().map(|(link, _)| link).collect())
}

#[test]
fn a_static_route_goes_before_the_shortest_path_to_its_destination_alone() {
    // The server is at n0; the straight link is the third, and two hosts are at n2, and one more there.
    let mut topology = graph(3, &[(0, 1, 5, 5), (1, 2, 5, 5), (2, 0, 1, 1)]);
    topology.blocks = vec![block(2, 0, 2), block(2, 2, 1)];
    assert_eq!(over(&topology, 2, RouteTo::Server), Ok(vec![2]));
    topology.routers[2].routes = vec![(RouteTo::Server, 1)];
    topology.routers[0].routes = vec![(RouteTo::Block(1), 0)];
    // What is at the router itself is reached straight.
    topology.routers[2].routes.push((RouteTo::Block(0), 1));
    assert_eq!(topology.check(), Ok(()));
    assert_eq!(over(&topology, 2, RouteTo::Server), Ok(vec![1, 0]));
    assert_eq!(over(&topology, 0, RouteTo::Block(0)), Ok(vec![2]));
    assert_eq!(over(&topology, 0, RouteTo::Block(1)), Ok(vec![0, 1]));
    let mut network = Network::new(PayloadPool::new(0), ());
    let layout = topology.build(&mut network).unwrap();
    // Requests cross the first two links from the second end, some responses from the first; the third link has only responses.
    assert_eq!(layout.towards_server, [Direction::Backward, Direction::Backward, Direction::Forward]);
    let mut kernel = LogicalProcess::new(Sink { network, delivered: Vec::new() });
    let ([host, _, other], server) = (layout.hosts(), layout.server) else { panic!("three hosts") };
    for (from, to) in [(host, &server), (&server, host), (&server, other)] {
        let (packet, out) = (packet(from.address, to.address), from.out);
        kernel.inject(Instant::ZERO, |sink, scheduler| sink.network.send(out, packet, scheduler));
    }
    kernel.advance(Instant::MAX).unwrap();
    let at = |ms| Instant::ZERO + Duration::from_millis(ms);
    let came = [(at(1), host.node, 62), (at(10), other.node, 61), (at(10), server.node, 61)];
    kernel.process.delivered.sort();
    let mut expected = Vec::from(came);
    expected.sort();
    assert_eq!(kernel.process.delivered, expected);
}

#[test]
fn a_link_leads_towards_the_server_where_requests_cross_it() {
    // By delay the third router is nearer to the server than the second, and responses go over it all the same.
    let mut topology = graph(3, &[(0, 1, 9, 9), (1, 2, 9, 9), (0, 2, 1, 1)]);
    topology.blocks = vec![block(1, 0, 1)];
    topology.routers[1].routes = vec![(RouteTo::Server, 0)];
    topology.routers[2].routes = vec![(RouteTo::Block(0), 1)];
    topology.routers[0].routes = vec![(RouteTo::Block(0), 2)];
    let towards = |topology: &Topology| {
        topology.build(&mut Network::new(PayloadPool::new(0), ())).unwrap().towards_server
    };
    assert_eq!(towards(&topology), [Direction::Backward, Direction::Forward, Direction::Backward]);
    // Where nothing crosses a link, the distance says it.
    topology.blocks = vec![block(0, 0, 1)];
    topology.routers.iter_mut().for_each(|router| router.routes.clear());
    assert_eq!(towards(&topology), [Direction::Backward, Direction::Forward, Direction::Backward]);
}

#[test]
fn static_routes_that_lead_in_a_loop_are_refused_with_the_nodes_of_it() {
    let mut topology = graph(4, &[(0, 1, 1, 1), (1, 2, 1, 1), (2, 3, 1, 1)]);
    topology.blocks = vec![block(3, 0, 2)];
    let around =
        |to, nodes: [&str; 2]| Err(TopologyError::RoutingLoop { to, nodes: nodes.map(str::to_owned).into() });
    topology.routers[1].routes = vec![(RouteTo::Server, 1)];
    let error = around(RouteTo::Server, ["n1", "n2"]);
    assert_eq!(topology.check(), error);
    assert_eq!(error.clone().unwrap_err().to_string(), "packets go round the nodes n1, n2");
    // It is a loop for the nodes that are not on it, too.
    assert_eq!(over(&topology, 3, RouteTo::Server), error.map(|()| Vec::new()));
    topology.routers[1].routes = vec![(RouteTo::Block(0), 0)];
    assert_eq!(topology.check(), around(RouteTo::Block(0), ["n1", "n0"]));
}

proptest! {
    #[test]
    fn a_loop_of_static_routes_is_found_if_there_is_one(
        links in proptest::collection::vec((0_usize..5, 0_usize..5, 1_u64..4, 1_u64..4), 0..6),
        routes in proptest::collection::vec((0_usize..5, any::<bool>(), 0_usize..11), 0..6),
    ) {
        let ring = (0..5).map(|place| (place, (place + 1) % 5, 1, 1));
        let links: Vec<Described> = ring.chain(links.into_iter().filter(|(from, to, ..)| from != to)).collect();
        let mut topology = graph(5, &links);
        topology.blocks = vec![block(2, 0, 1)];
        for (router, to_server, link) in routes {
            let is_here = links.get(link).is_some_and(|(first, second, ..)| *first == router || *second == router);
            let to = if to_server { RouteTo::Server } else { RouteTo::Block(0) };
            let routes = &mut topology.routers[router].routes;
            if is_here && !routes.iter().any(|(other, _)| *other == to) {
                routes.push((to, link));
            }
        }
        // The packets of every router, hop by hop: five hops are enough where each router is met once.
        let arrives = |to: RouteTo, place: usize| {
            let shortest = by_rounds(5, &links, place);
            let next = |at: usize| {
                let fixed = topology.routers[at].routes.iter().find(|(other, _)| *other == to);
                let link = fixed.map_or_else(|| shortest[at].unwrap().2, |(_, link)| *link);
                let (first, second, ..) = links[link];
                if first == at { second } else { first }
            };
            let walk = |from| std::iter::successors(Some(from), |at| (*at != place).then(|| next(*at)));
            (0..5).all(|from| walk(from).take(6).any(|at| at == place))
        };
        let expected = arrives(RouteTo::Server, 0) && arrives(RouteTo::Block(0), 2);
        prop_assert_eq!(topology.check().is_ok(), expected);
    }
}

#[test]
fn hosts_whose_addresses_have_gaps_are_found_by_them() {
    let mut topology = graph(2, &[(0, 1, 1, 1)]);
    topology.blocks = vec![block(1, 300, 3), block(0, 3, 2), block(0, 0, 3), block(1, 40, 1)];
    let mut network = Network::new(PayloadPool::new(0), ());
    let layout = topology.build(&mut network).unwrap();
    let address = |number: u32| Address::from(Ipv4Addr::from_bits(0x0a00_0002 + number));
    let found = [299, 300, 302, 303, 3, 4, 5, 0, 2, 40, 41].map(|number| layout.host_with(address(number)));
    let none = None;
    let expected = [none, Some(0), Some(2), none, Some(3), Some(4), none, Some(5), Some(7), Some(8), none];
    assert_eq!(found, expected);
    for (port, number) in layout.hosts().iter().zip(0..) {
        assert_eq!(layout.host_with(port.address), Some(number));
        assert_eq!(layout.host_at(port.node), Some(number));
    }
}

/// What a check says about links without delay: the nodes that it names.
fn cycle(links: &[Described]) -> Vec<String> {
    match graph(6, links).check() {
        Err(TopologyError::NoDelay { nodes, .. }) => nodes,
        Ok(()) | Err(TopologyError::NoRoute { .. } | TopologyError::RoutingLoop { .. }) => Vec::new(),
    }
}

#[test]
fn directions_without_delay_that_do_not_lead_in_a_cycle_are_let_pass() {
    // Each link takes time in one direction, and what is free leads from the first node to the last.
    assert!(cycle(&[(0, 1, 0, 1), (1, 2, 0, 1), (0, 2, 0, 1)]).is_empty());
    assert!(cycle(&[(0, 1, 0, 1), (1, 2, 0, 1), (2, 0, 1, 0)]).is_empty());
    // There and back over one link is no cycle, and neither is a tree.
    assert!(cycle(&[(0, 1, 0, 0), (1, 2, 0, 0), (1, 3, 0, 0), (3, 4, 0, 1)]).is_empty());
}

#[test]
fn a_cycle_without_delay_is_named_by_its_nodes_alone() {
    let around = [(0, 1, 0, 1), (1, 2, 0, 1), (2, 0, 0, 1)];
    assert_eq!(cycle(&around).len(), 3);
    // Nodes that hang on the cycle are not on it, whether links to them take time or not.
    let mut named =
        cycle(&[(3, 0, 0, 0), (0, 1, 0, 1), (1, 2, 0, 0), (2, 0, 0, 1), (2, 4, 0, 0), (4, 5, 0, 1)]);
    named.sort();
    assert_eq!(named, ["n0", "n1", "n2"]);
    let mut named = cycle(&[(3, 4, 0, 0), (4, 3, 1, 0)]);
    named.sort();
    assert_eq!(named, ["n3", "n4"]);
    // Two links that are free in opposite directions.
    assert_eq!(cycle(&[(1, 2, 0, 1), (2, 1, 0, 1)]).len(), 2);
}

/// Each step that takes no time: from which router, over which link, to which.
fn free_steps(links: &[Described]) -> Vec<(usize, usize, usize)> {
    let steps = links.iter().enumerate().flat_map(|(place, (first, second, there, back))| {
        [(*there == 0).then_some((*first, place, *second)), (*back == 0).then_some((*second, place, *first))]
    });
    steps.flatten().collect()
}

/// Whether steps over links that differ lead from the end of `way` to its beginning, by trying every way that meets no router twice.
fn comes_back(steps: &[(usize, usize, usize)], way: &mut Vec<(usize, usize, usize)>) -> bool {
    let (start, end) = (way[0].0, way[way.len() - 1].2);
    if start == end {
        return true;
    }
    steps.iter().any(|step| {
        let known = way.iter().any(|(_, link, to)| *link == step.1 || *to == step.2);
        if step.0 != end || known {
            return false;
        }
        way.push(*step);
        let found = comes_back(steps, way);
        way.pop();
        found
    })
}

proptest! {
    #[test]
    fn a_cycle_without_delay_is_found_if_there_is_one(
        links in proptest::collection::vec((0_usize..6, 0_usize..6, 0_u64..2, 0_u64..2), 0..9)
    ) {
        let links: Vec<Described> = links.into_iter().filter(|(first, second, ..)| first != second).collect();
        let steps = free_steps(&links);
        let expected = steps.iter().any(|step| comes_back(&steps, &mut vec![*step]));
        let named = cycle(&links);
        prop_assert_eq!(!named.is_empty(), expected);
        // The nodes stand in the order of the cycle, over links that differ.
        let places: Vec<usize> = named.iter().map(|name| name[1..].parse().unwrap()).collect();
        let over = |from, to| steps.iter().filter(move |(a, _, b)| (*a, *b) == (from, to)).map(|(_, link, _)| *link);
        for (from, to) in places.iter().zip(places.iter().cycle().skip(1)) {
            let joined = over(*from, *to).any(|there| places.len() > 2 || over(*to, *from).any(|back| back != there));
            prop_assert!(joined, "{:?}", named);
        }
        let distinct: std::collections::BTreeSet<_> = places.iter().collect();
        prop_assert_eq!(distinct.len(), places.len());
    }
}
