//! No packets, in whatever order and at whatever times, make a host's stack panic, hold payload for ever, or lose count of fragments; what it sends
//! survives emission and parsing. The host listens at one port, and has a connection of its own.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::Arc;
use wasp_packet::{Body, Checksums, Dropped, Packet, Payload, PayloadPool, emit};
use wasp_random::Key;
use wasp_stack::{Answer, Arrived, Identities, Stack};
use wasp_tcp::{Chunk, Config, State};
use wasp_units::{Duration, Instant};
use wasp_wire::{Address, Flags, FragmentField, IpHeader, SequenceNumber, TcpHeader, protocol};

/// Bytes of a description of one packet.
const LEN: usize = 8;
const PORT: u16 = 80;

fuzz_target!(|input: &[u8]| {
    let (descriptions, content) = input.split_at(input.len() / 2);
    let mut host = Host::new(input.first().is_none_or(|bits| *bits < 128));
    for description in descriptions.as_chunks::<LEN>().0 {
        host.pass(Duration::from_millis(u64::from(description[0]) * 50));
        if let Some(packet) = host.packet(description, content) {
            host.receive(packet);
        }
    }
    host.end();
});

fn address(last: u8) -> Address {
    Address::from(std::net::Ipv4Addr::new(198, 18, 0, last))
}

/// A host, whose applications send what comes and read it.
struct Host {
    stack: Stack<()>,
    config: Arc<Config>,
    pool: PayloadPool,
    now: Instant,
    /// Whether it looks for the MTU of paths.
    discovers: bool,
    /// Fragments that came, and those that were dropped or given up. Others were duplicates, or are whole.
    came: u64,
    ended: u64,
}

impl Host {
    fn new(discovers: bool) -> Self {
        let config = Arc::new(Config { path_mtu_discovery: discovers, ..Config::linux() });
        let identities = Identities::new(|purpose| Key::root(1, 0).purpose(purpose));
        let mut stack = Stack::new(address(2), identities, &config);
        stack.listen(PORT, Arc::clone(&config));
        let (pool, now) = (PayloadPool::new(1 << 18), Instant::ZERO);
        let mut host = Self { stack, config, pool, now, discovers, came: 0, ended: 0 };
        host.work();
        host
    }

    /// Time passes, and with it the deadlines of fragments and sockets.
    fn pass(&mut self, time: Duration) {
        self.now += time;
        self.expire();
        for slot in 0..self.stack.slots() {
            let Some(socket) = self.stack.get_mut(slot) else { continue };
            if socket.endpoint.poll_timeout().is_some_and(|at| at <= self.now) {
                socket.endpoint.handle_timeout(self.now);
            }
        }
        self.work();
    }

    /// Gives up fragments that have waited for too long.
    fn expire(&mut self) {
        while let Some(given_up) = self.stack.ip().expire(self.now, &mut self.pool) {
            self.ended += u64::from(given_up.fragments);
            self.check(given_up.answer);
        }
        assert!(self.stack.ip().poll_timeout().is_none_or(|end| end > self.now));
        assert!(self.ended <= self.came);
    }

    fn receive(&mut self, mut packet: Packet) {
        let is_fragment = matches!(packet.body, Body::Fragment { .. });
        let known = self.path_mtu();
        self.came += u64::from(is_fragment);
        match self.stack.receive(&mut packet, self.now, &mut self.pool) {
            Arrived::Socket(slot) => assert!(self.stack.get(slot).is_some()),
            Arrived::Syn(syn) => {
                if let Some(socket) = syn.replaces.and_then(|slot| self.stack.remove(slot)) {
                    socket.endpoint.release(&mut self.pool);
                }
                assert!(self.stack.accept(&syn, |_| (), self.now).is_some());
            }
            Arrived::Answer(answer) => self.check(answer),
            Arrived::Dropped(Dropped { packets, .. }) if is_fragment => self.ended += u64::from(packets),
            Arrived::Dropped(Dropped { packets, .. }) => assert_eq!(packets, 1),
        }
        assert!(self.ended <= self.came);
        assert!(self.path_mtu() <= known && self.path_mtu() >= 552);
        self.work();
    }

    /// How long packets to the first socket's peer may be. Until it is forgotten, that never grows.
    fn path_mtu(&mut self) -> u16 {
        let mtu = self.stack.ip().path_mtu(address(1), self.now);
        mtu.inspect(|_| assert!(self.discovers)).unwrap_or(u16::MAX)
    }

    /// Every application reads, closes when its peer has, and sends as much as a segment. A host without a socket opens a connection.
    fn work(&mut self) {
        for slot in 0..self.stack.slots() {
            let Some(mut socket) = self.stack.take(slot) else { continue };
            let endpoint = &mut socket.endpoint;
            endpoint.read(self.now, u64::MAX, &mut self.pool, &mut |_| {});
            while let Some(event) = endpoint.poll_event() {
                match event {
                    wasp_tcp::Event::Connected => endpoint.send(Chunk::Virtual(1_000)),
                    wasp_tcp::Event::RemoteClosed => endpoint.close(),
                    _ => {}
                }
            }
            self.stack.put(slot, socket);
        }
        while let Some(packet) = self.stack.poll_transmit(self.now, &mut self.pool) {
            self.check(Answer::Packet(packet));
        }
        while let Some(slot) = self.stack.pop_touched() {
            if self.stack.get(slot).is_some_and(|socket| socket.endpoint.state() == State::Closed)
                && let Some(socket) = self.stack.remove(slot)
            {
                socket.endpoint.release(&mut self.pool);
            }
        }
        if self.stack.sockets().next().is_none() {
            self.stack.connect(&self.config, (address(1), PORT), |_| (), self.now);
        }
    }

    /// Nothing is left behind.
    fn end(&mut self) {
        self.now = Instant::MAX;
        self.expire();
        assert_eq!(self.stack.ip().poll_timeout(), None);
        for slot in 0..self.stack.slots() {
            if let Some(socket) = self.stack.remove(slot) {
                socket.endpoint.release(&mut self.pool);
            }
        }
        assert_eq!(self.pool.in_use(), 0);
    }

    /// What leaves the host is a valid packet.
    fn check(&mut self, answer: Answer) {
        let Answer::Packet(packet) = answer else { return };
        let mut buffer = vec![0; packet.wire_len() as usize];
        let len = emit(&packet, &self.pool, &mut buffer, Checksums::Complete);
        let parsed = Packet::parse(&buffer[..len], Checksums::Complete).expect("an emitted packet");
        assert_eq!((parsed.packet.ip, parsed.packet.body), (packet.ip, packet.body));
        self.pool.release(packet.payload);
    }

    /// A segment for the port that listens or for the first socket, near what that expects.
    fn segment(&self, place: u8, bits: u8) -> TcpHeader {
        let flags = Flags(place).without(Flags::URG);
        let ports = |source_port, destination_port| TcpHeader {
            source_port,
            destination_port,
            ..TcpHeader::default()
        };
        let near = u32::from(bits >> 4) * 500;
        match self.stack.get(0) {
            Some(socket) if bits & 1 == 0 => TcpHeader {
                flags,
                acknowledgment: SequenceNumber(socket.initial_sequence().wrapping_add(near)),
                sequence: SequenceNumber(near),
                window: u16::from(bits) * 257,
                ..ports(PORT, socket.endpoint.local_port())
            },
            _ => TcpHeader { flags, sequence: SequenceNumber(near), ..ports((bits >> 6).into(), PORT) },
        }
    }

    /// The packet of a description: its kind, where a fragment lies, its identification, and how much content it has.
    fn packet(&mut self, description: &[u8; LEN], content: &[u8]) -> Option<Packet> {
        let [_, kind, place, len, identification, bits, source, class] = *description;
        let bytes = content.get(..usize::from(len).min(content.len()))?;
        let payload = if bits & 2 == 0 { self.pool.store(bytes)? } else { Payload::Virtual(len.into()) };
        let body = match kind % 8 {
            0 => Body::Icmp { kind: place % 20, code: bits >> 7, rest: [bits; 4] },
            1 => Body::Udp { source_port: place.into(), destination_port: bits.into() },
            2 => Body::Tcp(self.segment(place, bits)),
            _ => {
                let protocol = [protocol::ICMP, protocol::TCP, protocol::UDP][usize::from(kind >> 3) % 3];
                let offset = u16::from(place) << (bits >> 5);
                Body::Fragment {
                    protocol,
                    field: FragmentField { offset: offset % 8_000, more: bits & 1 == 0 },
                }
            }
        };
        let from = if source == 0 { "224.0.0.1".parse().expect("an address") } else { address(source % 3) };
        let ip = IpHeader {
            traffic_class: class % 4,
            ..IpHeader::new(from, address(2), (identification % 80).into())
        };
        Some(Packet { ip, body, payload, flipped: (bits & 12 == 12).then_some(u32::from(place)) })
    }
}
