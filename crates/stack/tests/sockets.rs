//! Two stacks that hand their packets to each other, without a network or a kernel.

use std::collections::BTreeSet;
use std::sync::Arc;
use wasp_packet::{Body, IcmpError, Packet, Payload, PayloadPool, View};
use wasp_random::{Key, Purpose};
use wasp_stack::{Answer, Arrived, Identities, Stack};
use wasp_tcp::{Chunk, Config, Event, State};
use wasp_units::{Duration, Instant};
use wasp_wire::{Address, Flags, IpHeader, TcpHeader};

const PORT: u16 = 80;

fn address(last: u8) -> Address {
    format!("198.18.0.{last}").parse().unwrap()
}

fn stack(last: u8) -> Stack<Vec<u8>> {
    let identities =
        Identities::new(|purpose: Purpose| Key::root(1, 0).purpose(purpose).entity(u64::from(last)));
    Stack::new(address(last), identities, &Config::linux())
}

/// A client (host 0), and a server that listens (host 1).
struct Pair {
    hosts: [Stack<Vec<u8>>; 2],
    pool: PayloadPool,
    now: Instant,
    dropped: usize,
}

impl Pair {
    fn new() -> Self {
        let mut server = stack(1);
        server.listen(PORT, Arc::new(Config::linux()));
        Self { hosts: [stack(2), server], pool: PayloadPool::new(1 << 20), now: Instant::ZERO, dropped: 0 }
    }

    fn connect(&mut self, port: u16) -> u32 {
        self.hosts[0].connect(&Arc::new(Config::linux()), (address(1), port), |_| Vec::new(), self.now)
    }

    /// Hands packets over until both have nothing to send; each round takes a millisecond.
    fn settle(&mut self) {
        loop {
            let mut quiet = true;
            self.now += Duration::from_millis(1);
            for from in 0..2 {
                (0..self.hosts[from].slots()).for_each(|slot| self.hosts[from].touch(slot));
                while let Some(packet) = self.hosts[from].poll_transmit(self.now, &mut self.pool) {
                    quiet = false;
                    self.deliver(1 - from, packet);
                }
                while self.hosts[from].pop_touched().is_some() {}
            }
            if quiet {
                return;
            }
        }
    }

    fn deliver(&mut self, to: usize, mut packet: Packet) {
        let host = &mut self.hosts[to];
        match host.receive(&mut packet, self.now, &mut self.pool) {
            Arrived::Socket(slot) => {
                let socket = host.get_mut(slot).unwrap();
                let read = &mut socket.data;
                socket.endpoint.read(self.now, u64::MAX, &mut self.pool, &mut |view| match view {
                    View::Bytes(bytes) => read.extend_from_slice(bytes),
                    View::Virtual(len) => read.resize(read.len() + len as usize, 0),
                });
            }
            Arrived::Syn(syn) => {
                if let Some(slot) = syn.replaces {
                    host.remove(slot).unwrap().endpoint.release(&mut self.pool);
                }
                host.accept(&syn, |_| Vec::new(), self.now).unwrap();
            }
            Arrived::Answer(Answer::Packet(answer)) => self.deliver(1 - to, answer),
            Arrived::Answer(Answer::NoRoom | Answer::Nothing) => {}
            Arrived::Dropped(dropped) => self.dropped += dropped.packets as usize,
        }
    }

    fn send(&mut self, host: usize, slot: u32, bytes: &[u8]) {
        self.hosts[host].get_mut(slot).unwrap().endpoint.send(Chunk::Shared(bytes.into()));
    }

    fn state(&self, host: usize, slot: u32) -> State {
        self.hosts[host].get(slot).unwrap().endpoint.state()
    }

    /// The next packets of a host, which are not delivered.
    fn lost(&mut self, host: usize) -> Vec<Packet> {
        let stack = &mut self.hosts[host];
        (0..stack.slots()).for_each(|slot| stack.touch(slot));
        let packets = std::iter::from_fn(|| stack.poll_transmit(self.now, &mut self.pool)).collect();
        while stack.pop_touched().is_some() {}
        packets
    }
}

fn ip(source: Address, destination: Address) -> IpHeader {
    IpHeader { dont_fragment: true, ..IpHeader::new(source, destination, 1) }
}

#[test]
fn connections_carry_bytes_both_ways_and_each_has_its_own() {
    let mut pair = Pair::new();
    let slots: Vec<u32> = (0..3).map(|_| pair.connect(PORT)).collect();
    pair.settle();
    for (number, slot) in slots.iter().enumerate() {
        pair.send(0, *slot, format!("from client {number}").as_bytes());
        pair.send(1, *slot, b"from server");
    }
    pair.settle();
    for (number, slot) in slots.iter().enumerate() {
        assert_eq!(pair.hosts[1].get(*slot).unwrap().data, format!("from client {number}").into_bytes());
        assert_eq!(pair.hosts[0].get(*slot).unwrap().data, b"from server");
        assert_eq!(pair.hosts[0].get(*slot).unwrap().ordinal(), number as u32);
    }
}

#[test]
fn ports_and_sequence_numbers_of_a_host_differ_from_connection_to_connection() {
    let mut pair = Pair::new();
    let slots: Vec<u32> = (0..20).map(|_| pair.connect(PORT)).collect();
    let sockets: Vec<_> = slots.iter().map(|slot| pair.hosts[0].get(*slot).unwrap()).collect();
    let ports: BTreeSet<u16> = sockets.iter().map(|socket| socket.endpoint.local_port()).collect();
    let sequences: BTreeSet<u32> = sockets.iter().map(|socket| socket.initial_sequence()).collect();
    assert_eq!((ports.len(), sequences.len()), (20, 20));
}

#[test]
fn a_port_that_does_not_listen_refuses() {
    let mut pair = Pair::new();
    let slot = pair.connect(81);
    pair.settle();
    let endpoint = &mut pair.hosts[0].get_mut(slot).unwrap().endpoint;
    assert_eq!(endpoint.poll_event(), Some(Event::Refused));
    assert_eq!(pair.hosts[1].slots(), 0);
}

#[test]
fn a_segment_of_no_connection_is_reset_and_a_reset_is_not_answered() {
    let mut pair = Pair::new();
    let packet = |flags| {
        let header = TcpHeader { source_port: 9, destination_port: PORT, flags, ..TcpHeader::default() };
        Packet {
            ip: ip(address(2), address(1)),
            body: Body::Tcp(header),
            payload: Payload::Empty,
            flipped: None,
        }
    };
    let server = &mut pair.hosts[1];
    let arrived = server.receive(&mut packet(Flags::ACK), Instant::ZERO, &mut pair.pool);
    let Arrived::Answer(Answer::Packet(answer)) = arrived else { panic!("{arrived:?}") };
    assert!(matches!(answer.body, Body::Tcp(header) if header.flags.contains(Flags::RST)));
    assert_eq!((answer.ip.source, answer.ip.destination), (address(1), address(2)));
    let arrived = server.receive(&mut packet(Flags::RST), Instant::ZERO, &mut pair.pool);
    assert!(matches!(arrived, Arrived::Answer(Answer::Nothing)), "{arrived:?}");
}

#[test]
fn a_segment_from_another_address_is_not_of_the_connection() {
    let mut pair = Pair::new();
    let slot = pair.connect(PORT);
    pair.settle();
    pair.send(1, 0, b"from server");
    let mut packet = pair.lost(1).remove(0);
    packet.ip.source = address(7);
    let arrived = pair.hosts[0].receive(&mut packet, pair.now, &mut pair.pool);
    let Arrived::Answer(Answer::Packet(reset)) = arrived else { panic!("{arrived:?}") };
    assert_eq!(reset.ip.destination, address(7));
    let socket = pair.hosts[0].get(slot).unwrap();
    assert_eq!((socket.endpoint.state(), socket.endpoint.readable()), (State::Established, 0));
}

#[test]
fn slots_are_used_again_and_peers_are_forgotten() {
    let mut pair = Pair::new();
    for round in 0..3 {
        let slot = pair.connect(PORT);
        assert_eq!(slot, 0, "the slot is free in round {round}");
        pair.settle();
        assert_eq!((pair.state(0, 0), pair.state(1, 0)), (State::Established, State::Established));
        // The first of two segments is lost, so the server holds the second when the connection ends.
        pair.send(0, 0, &[7; 2_000]);
        let mut packets = pair.lost(0);
        pair.deliver(1, packets.pop().unwrap());
        assert!(pair.hosts[1].get(0).unwrap().endpoint.has_gap() && pair.pool.in_use() > 0);
        pair.pool.release(packets.pop().unwrap().payload);
        pair.hosts[0].get_mut(0).unwrap().endpoint.abort();
        pair.settle();
        for host in &mut pair.hosts {
            host.remove(0).unwrap().endpoint.release(&mut pair.pool);
        }
    }
    assert_eq!((pair.hosts[0].next_ordinal(), pair.hosts[1].next_ordinal()), (3, 3));
    assert_eq!(pair.pool.in_use(), 0);
}

#[test]
fn a_connection_in_time_wait_makes_way_for_a_syn_from_the_same_port() {
    let mut pair = Pair::new();
    pair.connect(PORT);
    pair.settle();
    pair.hosts[1].get_mut(0).unwrap().endpoint.close();
    pair.settle();
    pair.hosts[0].get_mut(0).unwrap().endpoint.close();
    pair.settle();
    assert_eq!(pair.state(1, 0), State::TimeWait);
    let old = pair.hosts[0].remove(0).unwrap();
    let port = old.endpoint.local_port();
    old.endpoint.release(&mut pair.pool);
    // Until the client's ports come round again.
    while !pair.hosts[0].next_ordinal().is_multiple_of(30_000) {
        let slot = pair.connect(PORT);
        pair.hosts[0].remove(slot).unwrap().endpoint.release(&mut pair.pool);
    }
    let slot = pair.connect(PORT);
    assert_eq!(pair.hosts[0].get(slot).unwrap().endpoint.local_port(), port);
    pair.settle();
    assert_eq!((pair.state(0, slot), pair.state(1, 0)), (State::Established, State::Established));
    assert_eq!((pair.hosts[1].next_ordinal(), pair.hosts[1].sockets().count()), (2, 1));
}

#[test]
fn a_host_that_listens_also_opens_connections() {
    let mut pair = Pair::new();
    let first = pair.connect(PORT);
    // From now on the client listens too, and still knows the connection that it has.
    pair.hosts[0].listen(81, Arc::new(Config::linux()));
    pair.settle();
    let config = Arc::new(Config::linux());
    let back = pair.hosts[1].connect(&config, (address(2), 81), |_| Vec::new(), pair.now);
    pair.settle();
    pair.send(0, first, b"there");
    pair.send(1, back, b"and back");
    pair.settle();
    assert_eq!(pair.hosts[1].get(0).unwrap().data, b"there");
    assert_eq!(pair.hosts[0].get(1).unwrap().data, b"and back");
    assert_eq!([0, 1].map(|host| pair.hosts[host].sockets().count()), [2, 2]);
}

#[test]
fn a_connection_that_is_opened_while_a_socket_is_taken_gets_a_slot_of_its_own() {
    for listens in [false, true] {
        let mut pair = Pair::new();
        if listens {
            pair.hosts[0].listen(81, Arc::new(Config::linux()));
        }
        let slots = [pair.connect(PORT), pair.connect(PORT)];
        pair.settle();
        let first = pair.hosts[0].take(slots[0]).unwrap();
        let third = pair.connect(PORT);
        assert_eq!(third, 2);
        pair.hosts[0].put(slots[0], first);
        pair.settle();
        assert_eq!([0, 1, 2].map(|slot| pair.state(0, slot)), [State::Established; 3]);
        // A socket that is removed does leave its slot.
        pair.hosts[0].remove(slots[1]).unwrap().endpoint.release(&mut pair.pool);
        assert_eq!(pair.connect(PORT), slots[1]);
    }
}

#[test]
fn a_connection_does_not_take_a_port_that_another_to_the_same_peer_has() {
    for listens in [false, true] {
        let mut pair = Pair::new();
        if listens {
            pair.hosts[0].listen(81, Arc::new(Config::linux()));
        }
        let first = pair.connect(PORT);
        let port = pair.hosts[0].get(first).unwrap().endpoint.local_port();
        // The ports come round.
        while pair.hosts[0].next_ordinal() < 30_000 {
            let slot = pair.connect(PORT);
            pair.hosts[0].remove(slot).unwrap().endpoint.release(&mut pair.pool);
        }
        let [next, elsewhere] = [PORT, 81].map(|port| pair.connect(port));
        let ports = [next, elsewhere].map(|slot| pair.hosts[0].get(slot).unwrap().endpoint.local_port());
        assert!(!ports.contains(&port), "the next port is taken, and passed over");
        pair.settle();
        assert_eq!((pair.state(0, first), pair.state(0, next)), (State::Established, State::Established));
    }
}

#[test]
fn a_socket_that_is_closed_takes_nothing_and_makes_way() {
    let mut pair = Pair::new();
    let slot = pair.connect(PORT);
    pair.settle();
    let server = &mut pair.hosts[1].get_mut(0).unwrap().endpoint;
    server.abort();
    pair.lost(1);
    assert_eq!(pair.state(1, 0), State::Closed);
    // The reset was lost: the client's segment is answered by another.
    pair.send(0, slot, b"are you there?");
    pair.settle();
    assert_eq!(pair.state(0, slot), State::Closed);
    let port = pair.hosts[0].get(slot).unwrap().endpoint.local_port();
    let header = TcpHeader {
        source_port: port,
        destination_port: PORT,
        flags: Flags::SYN,
        mss: Some(1_460),
        ..TcpHeader::default()
    };
    let syn = Packet {
        ip: ip(address(2), address(1)),
        body: Body::Tcp(header),
        payload: Payload::Empty,
        flipped: None,
    };
    pair.deliver(1, syn);
    assert_eq!((pair.state(1, 0), pair.hosts[1].next_ordinal()), (State::SynReceived, 2));
}

#[test]
fn a_changed_bit_is_told_and_nothing_else_happens() {
    let mut pair = Pair::new();
    pair.connect(PORT);
    let mut syn = pair.lost(0).pop().unwrap();
    syn.flipped = Some(3);
    pair.deliver(1, syn);
    assert_eq!((pair.dropped, pair.hosts[1].slots()), (1, 0));
}

#[test]
fn a_report_of_a_narrow_path_counts_for_all_sockets_to_its_address_if_the_segment_is_in_flight() {
    let mut pair = Pair::new();
    let slots = [pair.connect(PORT), pair.connect(PORT)];
    pair.settle();
    let long = |pair: &Pair, slot: u32| pair.hosts[0].get(slot).unwrap().endpoint.mss();
    let before = long(&pair, 0);
    pair.send(0, slots[0], &[7; 1_400]);
    let packets = pair.lost(0);
    let report = |pair: &mut Pair, about: &Packet| {
        let error = IcmpError::FragmentationNeeded { mtu: 900 };
        error.about(about, address(9), 1, &mut pair.pool, &mut Vec::new()).unwrap()
    };
    let mut forged =
        Packet { ip: packets[0].ip, body: packets[0].body, payload: Payload::Empty, flipped: None };
    let Body::Tcp(header) = &mut forged.body else { panic!("a segment") };
    header.sequence += 9_000;
    let forged = report(&mut pair, &forged);
    pair.deliver(0, forged);
    assert_eq!([long(&pair, 0), long(&pair, 1)], [before; 2]);
    let report = report(&mut pair, &packets[0]);
    pair.deliver(0, report);
    let after = long(&pair, 0);
    assert!(after < before && u32::from(after) <= 900 - 40);
    assert_eq!(long(&pair, 1), after);
    // A connection that is opened later knows it from the start.
    pair.connect(PORT);
    let Body::Tcp(syn) = pair.lost(0).remove(0).body else { panic!("a segment") };
    assert_eq!(syn.mss, Some(900 - 40));
    for packet in packets {
        pair.pool.release(packet.payload);
    }
}
