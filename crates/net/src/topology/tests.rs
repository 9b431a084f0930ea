//! Routes of whole networks, and what is wrong with some.

use super::{
    AccessConfig, Backbone, Block, Paths, RouterLink, ServerConfig, Topology, TopologyError, backbone,
};
use crate::{Delivery, Direction, Fate, LinkConfig, LinkEvent, Network, Pair, Scope};
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

/// Routers n0, n1 and so on with these links between them, the server at the first, and no hosts.
fn graph(routers: usize, links: &[Described]) -> Topology {
    let link = |(place, (first, second, there, back)): (usize, &Described)| RouterLink {
        name: format!("l{place}"),
        ends: (*first, *second),
        directions: both(*there, *back),
        key: Key::root(1, 0).entity(place as u64),
    };
    let address = Address::from(Ipv4Addr::from_bits(0x0a00_0001));
    Topology {
        routers: (0..routers).map(|place| format!("n{place}")).collect(),
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
    type Event = LinkEvent;

    fn handle(&mut self, event: LinkEvent, scheduler: &mut Scheduler<LinkEvent>) {
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
        let there = paths.path(from, 0).unwrap();
        assert!(!there.is_empty() && there.len() < 40, "{from}: {}", there.len());
    }
}

#[test]
fn hosts_along_a_backbone_are_farther_away_by_a_link_there_and_back_each() {
    let (routers, links) = backbone(&Backbone { routers: 4, directions: both(3, 2), key: Key::root(1, 0) });
    let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!((routers.join(" "), names), ("r1 r2 r3 r4".to_owned(), vec!["b1", "b2", "b3"]));
    let topology = Topology { routers, links, ..graph(0, &[]) };
    topology.check().unwrap();
    let mut paths = Paths::of(&topology);
    let delay = |path: Vec<super::Hop>| -> u64 {
        path.iter()
            .map(|(link, direction)| topology.links[*link].directions.get(*direction).delay.as_millis())
            .sum()
    };
    let found: Vec<(u64, u64)> =
        (0..4).map(|at| (delay(paths.path(at, 0).unwrap()), delay(paths.path(0, at).unwrap()))).collect();
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

/// What a check says about links without delay: the nodes that it names.
fn cycle(links: &[Described]) -> Vec<String> {
    match graph(6, links).check() {
        Err(TopologyError::NoDelay { nodes, .. }) => nodes,
        Ok(()) | Err(TopologyError::NoRoute { .. }) => Vec::new(),
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
