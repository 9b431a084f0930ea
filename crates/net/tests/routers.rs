//! Routers: which packets they answer, what they say, how often, and that no packet is lost from the accounts.

use crate::common::pair;
use proptest::prelude::*;
use std::net::Ipv4Addr;
use std::sync::Arc;
use wasp_kernel::{LogicalProcess, Process, Scheduler};
use wasp_net::topology::{
    AccessConfig, Backbone, Block, Layout, Port, RouteTo, RouterLink, ServerConfig, Subnet, Topology,
    backbone,
};
use wasp_net::{Delivery, ErrorRate, Fate, LinkConfig, Loss, Network, NetworkEvent, Pair, Scope};
use wasp_packet::{Body, Checksums, Packet, Payload, PayloadPool, View};
use wasp_random::Key;
use wasp_units::{Duration, Instant, Probability};
use wasp_wire::{Address, Flags, FragmentField, IpHeader, Ipv4View, TcpHeader};

/// A network, and the packets that reached a host or the server: when, and which.
struct Model {
    network: Network,
    layout: Layout,
    came: Vec<(Instant, Packet)>,
}

impl Process for Model {
    type Event = NetworkEvent;

    fn handle(&mut self, event: NetworkEvent, scheduler: &mut Scheduler<NetworkEvent>) {
        if let Some(Delivery { packet, .. }) = self.network.handle(event, scheduler) {
            self.came.push((scheduler.now(), packet));
        }
    }
}

/// What a packet says: from whom it comes, its type and code, and the four bytes after its checksum.
type Said = (String, u8, u8, [u8; 4]);

impl Model {
    /// What came, if all of it is ICMP.
    fn said(&self) -> Vec<Said> {
        let said = |(_, packet): &(Instant, Packet)| {
            let Body::Icmp { kind, code, rest } = packet.body else { panic!("{packet:?} is no ICMP") };
            (packet.ip.source.to_string(), kind, code, rest)
        };
        self.came.iter().map(said).collect()
    }

    fn bytes(&self, place: usize) -> Vec<u8> {
        match self.network.pool.view(&self.came[place].1.payload) {
            View::Bytes(bytes) => bytes.to_vec(),
            View::Virtual(len) => vec![0; len as usize],
        }
    }
}

fn address(third: u8, last: u8) -> Address {
    Address::from(Ipv4Addr::new(198, 18, third, last))
}

fn ms(ms: u64) -> LinkConfig {
    LinkConfig { delay: Duration::from_millis(ms), ..LinkConfig::default() }
}

fn access(directions: Pair<Arc<LinkConfig>>) -> AccessConfig {
    AccessConfig { directions, scope: Scope::default(), key: Key::root(2, 0) }
}

/// The server 198.18.0.1 before the first of so many routers in a row. Router i has the address 198.18.100.i, the subnet 198.18.i.0/24, and
/// 198.18.i.2 and .3 as hosts. Each link takes 5 ms, and those of hosts carry 576 bytes.
fn row(routers: u8) -> Topology {
    let description =
        Backbone { routers: routers.into(), directions: pair(&ms(5), &ms(5)), key: Key::root(1, 0) };
    let (mut routers, links) = backbone(&description);
    for (router, number) in routers.iter_mut().zip(1..) {
        router.address = Some(address(100, number));
        router.subnets.push(Subnet { first: address(number, 0), last: address(number, 255) });
    }
    let narrow = LinkConfig { mtu: Some(576), ..LinkConfig::default() };
    let hosts = vec![access(pair(&narrow, &narrow)); 2];
    let block =
        |number: u8| Block { at: usize::from(number) - 1, first: address(number, 2), hosts: hosts.clone() };
    let server = ServerConfig {
        at: 0,
        address: address(0, 1),
        directions: pair(&ms(5), &ms(5)),
        key: Key::root(3, 0),
    };
    let blocks = (1..=description.routers as u8).map(block).collect();
    Topology { routers, errors: ErrorRate::default(), links, server, blocks }
}

fn build(topology: &Topology) -> LogicalProcess<Model> {
    let mut network = Network::new(PayloadPool::new(1 << 20), ());
    let layout = topology.build(&mut network).unwrap();
    LogicalProcess::new(Model { network, layout, came: Vec::new() })
}

const ECHO: Body = Body::Icmp { kind: 8, code: 0, rest: [1, 2, 3, 4] };
const UDP: Body = Body::Udp { source_port: 40_000, destination_port: 33_434 };

fn packet(from: Address, to: Address, body: Body) -> Packet {
    Packet { ip: IpHeader::new(from, to, 7), body, payload: Payload::Virtual(56), flipped: None }
}

/// Sends a packet from the server, or from what has this port, at the time of the last event.
fn send(kernel: &mut LogicalProcess<Model>, port: Option<Port>, packet: Packet) {
    let now = kernel.now();
    kernel.inject(now, |model, scheduler| {
        let out = port.unwrap_or(model.layout.server).out;
        model.network.send(out, packet, scheduler);
    });
}

/// What comes of packets that the server sends to these addresses, one after the other.
fn asked(topology: &Topology, packets: Vec<Packet>) -> LogicalProcess<Model> {
    let mut kernel = build(topology);
    for packet in packets {
        send(&mut kernel, None, packet);
        kernel.advance(Instant::MAX).unwrap();
    }
    let network = &kernel.process.network;
    assert_eq!((network.made(), network.in_flight()), (network.fates().total(), 0));
    kernel
}

fn server(to: Address, body: Body) -> Packet {
    packet(address(0, 1), to, body)
}

#[test]
fn growing_times_to_live_find_every_router_by_the_port_through_which_the_packet_came() {
    let mut topology = row(4);
    topology.links[1].addresses = (Some(address(200, 1)), Some(address(200, 2)));
    let probe = |ttl| {
        let mut probe = server(address(4, 2), UDP);
        probe.ip.ttl = ttl;
        probe
    };
    let kernel = asked(&topology, (1..=4).map(probe).collect());
    let hops = ["198.18.100.1", "198.18.100.2", "198.18.200.2", "198.18.100.4"];
    let expected: Vec<Said> = hops.map(|from| (from.to_owned(), 11, 0, [0; 4])).into();
    assert_eq!(kernel.process.said(), expected);
    // Each link takes 5 ms, there and back.
    let times: Vec<u64> =
        kernel.process.came.iter().map(|(at, _)| (*at - Instant::ZERO).as_millis()).collect();
    assert_eq!(times, [10, 30, 60, 100]);
    let fates = kernel.process.network.fates();
    assert_eq!((fates.get(Fate::Ttl), fates.get(Fate::Delivered)), (4, 4));
}

#[test]
fn an_error_quotes_the_packet_as_it_came_up_to_576_bytes() {
    let mut long = server(address(2, 2), UDP);
    long.ip.ttl = 1;
    long.payload = Payload::Virtual(1_000);
    let mut short = server(address(2, 2), UDP);
    short.ip.ttl = 2;
    let kernel = asked(&row(2), vec![long, short]);
    for (place, (len, ttl, total)) in [(548, 1, 1_028), (84, 1, 84)].into_iter().enumerate() {
        let error = &kernel.process.came[place].1;
        let header = (error.ip.traffic_class, error.ip.ttl, error.ip.dont_fragment);
        assert_eq!(header, (0xc0, 64 - place as u8, false));
        assert_eq!(error.wire_len(), 28 + len);
        let quoted = kernel.process.bytes(place);
        assert_eq!(u16::from_be_bytes([quoted[2], quoted[3]]), total);
        assert_eq!(
            (quoted[8], &quoted[20..24]),
            (ttl, [40_000_u16, 33_434].map(u16::to_be_bytes).as_flattened())
        );
    }
    let whole = kernel.process.bytes(1);
    assert!(Ipv4View::new_checked(&whole).unwrap().checksum_is_valid());
    assert_eq!(Packet::parse(&whole, Checksums::Complete).unwrap().packet.body, UDP);
}

#[test]
fn who_is_not_there_and_what_is_unknown_is_unreachable() {
    let mut topology = row(3);
    let known = Subnet { first: address(0, 0), last: address(127, 255) };
    topology.routers[0].subnets.push(known);
    let absent = [address(3, 77), address(2, 1), address(120, 1), "203.0.113.9".parse().unwrap()];
    let kernel = asked(&topology, absent.map(|to| server(to, ECHO)).into());
    let from = |router: u8, code| (address(100, router).to_string(), 3, code, [0; 4]);
    assert_eq!(kernel.process.said(), [from(3, 1), from(2, 1), from(1, 1), from(1, 0)]);
    assert_eq!(kernel.process.network.fates().get(Fate::NoRoute), 4);
    // On the way into the network where it would be a packet takes a hop like any other.
    let mut last = server(address(2, 77), ECHO);
    last.ip.ttl = 2;
    assert_eq!(asked(&topology, vec![last]).process.said(), [(address(100, 2).to_string(), 11, 0, [0; 4])]);
}

#[test]
fn a_router_answers_echoes_to_each_of_its_addresses_and_refuses_what_it_does_not_speak() {
    let mut topology = row(3);
    topology.links[1].addresses = (Some(address(200, 1)), Some(address(200, 2)));
    let tcp = Body::Tcp(TcpHeader { flags: Flags::SYN, ..TcpHeader::default() });
    let other = Body::Icmp { kind: 13, code: 0, rest: [0; 4] };
    let marked = |mut packet: Packet| {
        packet.ip.traffic_class = 0x20;
        packet
    };
    let (far, near) = (address(100, 3), address(200, 1));
    let packets = vec![
        marked(server(far, ECHO)),
        server(near, ECHO),
        server(address(200, 2), UDP),
        server(far, tcp),
        server(far, other),
    ];
    let kernel = asked(&topology, packets);
    let expected = [
        (far, 0, 0, [1, 2, 3, 4]),
        (near, 0, 0, [1, 2, 3, 4]),
        (address(200, 2), 3, 3, [0; 4]),
        (address(200, 2), 3, 2, [0; 4]),
    ];
    assert_eq!(
        kernel.process.said(),
        expected.map(|(from, kind, code, rest)| (from.to_string(), kind, code, rest))
    );
    let answer = &kernel.process.came[0].1;
    assert_eq!((answer.ip.traffic_class, answer.ip.ttl, answer.payload.len()), (0x20, 62, 56));
    // The question is delivered to the router, and its answer to the server.
    assert_eq!(kernel.process.network.fates().get(Fate::Delivered), 5 + 4);
}

#[test]
fn a_packet_to_a_router_in_which_a_bit_was_flipped_is_refused_in_silence() {
    for body in [ECHO, UDP] {
        let broken = Packet { flipped: Some(70), ..server(address(100, 1), body) };
        let kernel = asked(&row(1), vec![broken]);
        assert_eq!(kernel.process.said(), []);
        assert_eq!(kernel.process.network.fates().get(Fate::BadChecksum), 1);
    }
}

#[test]
fn no_error_follows_an_error_or_a_packet_that_is_not_from_one_host() {
    let error = |kind| Body::Icmp { kind, code: 0, rest: [0; 4] };
    let absent = address(1, 77);
    let mut silent: Vec<Packet> = [3, 4, 5, 11, 12, 40, 255].map(|kind| server(absent, error(kind))).into();
    for source in ["0.0.0.0", "224.0.0.5", "255.255.255.255"] {
        silent.push(packet(source.parse().unwrap(), absent, UDP));
        silent.push(packet(source.parse().unwrap(), address(100, 1), ECHO));
    }
    // The network's own addresses are nobody's, and answers to them end as silently.
    silent.extend([0, 255].map(|last| server(address(1, last), UDP)));
    silent.push(packet(address(1, 255), absent, UDP));
    silent.push(server("224.0.0.5".parse().unwrap(), UDP));
    silent.push(server("255.255.255.255".parse().unwrap(), ECHO));
    let kernel = asked(&row(1), silent);
    assert_eq!(kernel.process.said(), []);
    // A question gets an answer, whatever it asks.
    let kernel = asked(&row(1), [0, 8, 9, 10, 13, 18].map(|kind| server(absent, error(kind))).into());
    assert_eq!(kernel.process.said().len(), 6);
}

#[test]
fn an_answer_that_would_go_to_the_router_itself_ends_there() {
    let own = address(100, 1);
    for to in [own, address(1, 77)] {
        let kernel = asked(&row(2), vec![packet(own, to, ECHO), packet(own, to, UDP)]);
        assert_eq!(kernel.process.said(), []);
    }
    // From one router to another: each takes what is for it, and an answer has no answer.
    let kernel = asked(&row(2), vec![packet(address(100, 2), own, ECHO)]);
    assert_eq!((kernel.process.said().len(), kernel.process.network.made()), (0, 2));
    assert_eq!(kernel.process.network.fates().get(Fate::Delivered), 2);
}

/// A datagram with so many bytes above IP.
fn long(from: Address, to: Address, bytes: u32, dont_fragment: bool) -> Packet {
    let mut packet = packet(from, to, UDP);
    (packet.payload, packet.ip.dont_fragment) = (Payload::Virtual(bytes - 8), dont_fragment);
    packet
}

/// Where each fragment that came begins, in bytes, how many it has, and whether others follow.
fn fragments(model: &Model) -> Vec<(u16, u32, bool)> {
    let fragment = |(_, packet): &(Instant, Packet)| {
        let Body::Fragment { field, .. } = packet.body else { panic!("{packet:?} is whole") };
        (8 * field.offset, packet.payload.len(), field.more)
    };
    model.came.iter().map(fragment).collect()
}

#[test]
fn a_packet_that_is_too_long_for_the_next_link_is_fragmented_or_its_sender_is_told_the_mtu() {
    let to = address(2, 3);
    let kernel = asked(&row(2), vec![long(address(0, 1), to, 557, true)]);
    assert_eq!(kernel.process.said(), [(address(100, 2).to_string(), 3, 4, [0, 0, 2, 64])]);
    let link = kernel.process.layout.hosts()[3].into;
    let counts = |model: &Model| {
        let counters = model.network.link(link).counters();
        (counters.packets, counters.bytes, counters.dropped)
    };
    assert_eq!(counts(&kernel.process), (1, 577, 1));
    let kernel = asked(&row(2), vec![long(address(0, 1), to, 557, false)]);
    let network = &kernel.process.network;
    assert_eq!(fragments(&kernel.process), [(0, 552, true), (552, 5, false)]);
    assert!(
        kernel.process.came.iter().all(|(_, packet)| (packet.ip.ttl, packet.ip.identification) == (62, 7))
    );
    // The link has seen the fragments, and not the packet.
    assert_eq!(counts(&kernel.process), (2, 572 + 25, 0));
    let fates = [Fate::TooBig, Fate::Fragmented, Fate::Delivered].map(|fate| network.fates().get(fate));
    assert_eq!((network.made(), fates), (3, [0, 1, 2]));
}

#[test]
fn a_host_fragments_what_its_own_link_does_not_carry_and_knows_the_mtu() {
    let mut kernel = build(&row(1));
    let host = kernel.process.layout.hosts()[0];
    send(&mut kernel, Some(host), long(host.address, address(0, 1), 600, true));
    kernel.advance(Instant::MAX).unwrap();
    assert_eq!((kernel.process.said().len(), kernel.process.network.fates().get(Fate::TooBig)), (0, 1));
    send(&mut kernel, Some(host), long(host.address, address(0, 1), 600, false));
    kernel.advance(Instant::MAX).unwrap();
    assert_eq!(fragments(&kernel.process), [(0, 552, true), (552, 48, false)]);
    // One follows the other at once.
    assert_eq!(kernel.process.came[0].0, kernel.process.came[1].0);
}

#[test]
fn a_fragment_is_cut_again_and_its_last_part_is_the_last_only_if_it_was() {
    let mut pieces = Vec::new();
    for more in [true, false] {
        let field = FragmentField { offset: 100, more };
        let body = Body::Fragment { protocol: 17, field };
        let fragment = Packet { payload: Payload::Virtual(600), ..server(address(1, 2), body) };
        pieces.extend(fragments(&asked(&row(1), vec![fragment]).process));
    }
    assert_eq!(pieces, [(800, 552, true), (1_352, 48, true), (800, 552, true), (1_352, 48, false)]);
}

#[test]
fn a_router_puts_together_what_is_for_itself_and_its_answer_is_fragmented_on_its_way() {
    let mut kernel = build(&row(2));
    let host = kernel.process.layout.hosts()[2];
    let mut echo = packet(host.address, address(100, 1), ECHO);
    echo.payload = Payload::Virtual(1_992);
    send(&mut kernel, Some(host), echo);
    kernel.advance(Instant::MAX).unwrap();
    let model = &kernel.process;
    assert_eq!(fragments(model), [(0, 552, true), (552, 552, true), (1_104, 552, true), (1_656, 344, false)]);
    assert!(model.came.iter().all(|(_, packet)| packet.ip.source == address(100, 1)));
    let fates = [Fate::Fragmented, Fate::Delivered].map(|fate| model.network.fates().get(fate));
    assert_eq!((fates, model.network.made()), ([2, 8], 10));
}

#[test]
fn a_router_drops_fragments_that_contradict_each_other_and_tells_of_those_that_wait_for_too_long() {
    let piece = |offset, more, bytes| {
        let body = Body::Fragment { protocol: 17, field: FragmentField { offset, more } };
        Packet { payload: Payload::Virtual(bytes), ..server(address(100, 1), body) }
    };
    // `asked` lets the time of one pass before the next is sent.
    let kernel = asked(&row(1), vec![piece(0, true, 80), piece(10, true, 80)]);
    let said = (address(100, 1).to_string(), 11, 1, [0; 4]);
    assert_eq!(kernel.process.said(), [said]);
    assert_eq!((kernel.process.came[0].0 - Instant::ZERO).as_millis(), 30_000 + 10);
    assert_eq!(kernel.process.network.fates().get(Fate::ReassemblyTimeout), 2);
    let mut kernel = build(&row(1));
    for fragment in [piece(0, true, 80), piece(0, true, 96)] {
        send(&mut kernel, None, fragment);
    }
    // All bytes of an empty datagram, whose header does not say that it is one.
    let mut zeros = piece(10, false, 8);
    zeros.ip.identification = 8;
    let first = Packet { ip: zeros.ip, ..piece(0, true, 80) };
    send(&mut kernel, None, zeros);
    send(&mut kernel, None, first);
    kernel.advance(Instant::MAX).unwrap();
    let network = &kernel.process.network;
    assert_eq!((kernel.process.said().len(), network.fates().get(Fate::Malformed)), (0, 4));
    assert_eq!((network.made(), network.in_flight(), network.pool.in_use()), (4, 0, 0));
}

#[test]
fn a_router_sends_a_burst_of_errors_and_then_so_many_a_second_but_answers_every_echo() {
    let mut topology = row(1);
    topology.errors = ErrorRate { rate: "1000/s".parse().unwrap(), burst: 100 };
    let count = |to| {
        let mut kernel = build(&topology);
        for number in 0..20_000 {
            let at = Instant::from_nanos(number * 100_000);
            kernel.advance(at).unwrap();
            kernel.inject(at, |model, scheduler| {
                let packet = server(to, ECHO);
                model.network.send(model.layout.server.out, packet, scheduler);
            });
        }
        kernel.advance(Instant::MAX).unwrap();
        kernel.process.came.len()
    };
    // Two seconds: a burst of 100, and what comes until the last packet.
    assert_eq!(count(address(1, 99)), 100 + 1_999);
    assert_eq!(count(address(100, 1)), 20_000);
}

#[test]
fn a_router_without_an_address_says_nothing() {
    let mut topology = row(1);
    topology.routers[0].address = None;
    let kernel = asked(&topology, vec![server(address(1, 77), UDP)]);
    assert_eq!(kernel.process.said(), []);
}

#[test]
fn an_error_for_which_the_pool_has_no_room_has_a_fate() {
    let mut network = Network::new(PayloadPool::new(0), ());
    let layout = row(1).build(&mut network).unwrap();
    let mut kernel = LogicalProcess::new(Model { network, layout, came: Vec::new() });
    send(&mut kernel, None, server(address(1, 77), UDP));
    kernel.advance(Instant::MAX).unwrap();
    let network = &kernel.process.network;
    let fates = [Fate::NoRoute, Fate::PoolExhausted].map(|fate| network.fates().get(fate));
    assert_eq!((fates, network.made()), ([1, 1], 2));
}

/// Routers in a ring with chords between some, a host at each, and links of all kinds.
fn any_topology() -> impl Strategy<Value = Topology> {
    let link = (any::<(u8, u8)>(), 1..20_u64, 0..40_u32, prop::option::of(100..600_u16), any::<bool>());
    (2..6_u8, prop::collection::vec(link, 1..6)).prop_map(|(routers, chords)| {
        let mut topology = row(routers);
        let around = topology.links.len();
        for ((from, to), delay, loss, mtu, has_address) in chords {
            let ends = (usize::from(from % routers), usize::from(to % routers));
            let config = LinkConfig {
                loss: Loss::Independent { rate: Probability::from_f64(f64::from(loss) / 100.0).unwrap() },
                mtu,
                ..ms(delay)
            };
            let number = topology.links.len() as u8;
            let addresses = has_address.then(|| (address(200, number), address(201, number))).unzip();
            if ends.0 != ends.1 {
                let key = Key::root(u64::from(number), 0);
                let name = format!("chord{number}");
                topology.links.push(RouterLink {
                    name,
                    ends,
                    directions: pair(&config, &config),
                    addresses,
                    key,
                });
            }
        }
        // Routes over chords to some host or the server, wherever they lead.
        for (number, link) in topology.links.iter().enumerate().skip(around) {
            let to = if number % 3 == 0 {
                RouteTo::Server
            } else {
                RouteTo::Block(number % topology.blocks.len())
            };
            topology.routers[link.ends.0].routes.push((to, number));
        }
        if topology.check().is_err() {
            // They lead in a loop.
            topology.routers.iter_mut().for_each(|router| router.routes.clear());
        }
        topology
    })
}

/// A packet of any kind from a host to anywhere: which host, source and destination, body, TTL, DF, and the bytes of its payload.
type Sent = (u8, (u8, u8, bool), (u8, u8), u8, u8, bool, u32);

fn any_packet() -> impl Strategy<Value = Sent> {
    (
        any::<u8>(),
        (0..6_u8, 0..5_u8, any::<bool>()),
        (0..7_u8, 0..5_u8),
        any::<u8>(),
        0..12_u8,
        any::<bool>(),
        0..700_u32,
    )
}

fn of_sent(
    (_, (third, last, spoofed), (to_third, to_last), body, ttl, dont_fragment, bytes): Sent,
    own: Address,
) -> Packet {
    let anywhere = |third: u8, last| if third == 5 { address(100, last) } else { address(third, last) };
    let body = match body {
        0..100 => Body::Icmp { kind: body % 20, code: 0, rest: [body; 4] },
        100..160 => Body::Udp { source_port: u16::from(body), destination_port: 53 },
        160..200 => {
            let protocol = [1, 6, 17][usize::from(body) % 3];
            let field = FragmentField { offset: u16::from(body / 4 % 4) * 10, more: body % 2 == 0 };
            Body::Fragment { protocol, field }
        }
        _ => Body::Tcp(TcpHeader {
            source_port: u16::from(body),
            destination_port: 80,
            ..TcpHeader::default()
        }),
    };
    let source = if spoofed { anywhere(third, last) } else { own };
    let ip = IpHeader { ttl, dont_fragment, ..IpHeader::new(source, anywhere(to_third, to_last), 1) };
    Packet { ip, body, payload: Payload::Virtual(bytes), flipped: None }
}

proptest! {
    #[test]
    fn every_packet_ends_with_one_fate_in_any_network(
        topology in any_topology(), sent in prop::collection::vec(any_packet(), 1..60)
    ) {
        let mut kernel = build(&topology);
        let count = sent.len();
        for (number, each) in sent.into_iter().enumerate() {
            let at = Instant::from_nanos(number as u64 * 200_000);
            kernel.advance(at).unwrap();
            kernel.inject(at, |model, scheduler| {
                let hosts = model.layout.hosts();
                let host = hosts[usize::from(each.0) % hosts.len()];
                model.network.send(host.out, of_sent(each, host.address), scheduler);
            });
            let network = &kernel.process.network;
            prop_assert_eq!(network.made(), network.fates().total() + network.in_flight());
        }
        kernel.advance(Instant::MAX).unwrap();
        let model = &mut kernel.process;
        let network = &model.network;
        prop_assert_eq!((network.made(), network.in_flight()), (network.fates().total(), 0));
        // A packet has an answer at most, and what a router sends has none; of each there are so many fragments, some of them cut twice.
        prop_assert!(network.made() <= 2 * 20 * count as u64);
        // Only what was delivered holds a payload.
        for (_, packet) in model.came.drain(..) {
            model.network.pool.release(packet.payload);
        }
        prop_assert_eq!(model.network.pool.in_use(), 0);
    }
}
