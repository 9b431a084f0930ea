//! Two endpoints, a path that loses, marks, repeats, reorders and becomes narrow, and segments forged near what is right: no panic, no endless
//! loop, no payload left behind, and the window never below a segment.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::collections::VecDeque;
use std::sync::Arc;
use wasp_packet::{Payload, PayloadPool};
use wasp_tcp::{
    Chunk, Config, EcnMode, Endpoint, Identity, ReceiveBuffer, ReceivePolicy, RecoveryKind, State, Transmit,
};
use wasp_units::{Duration, Instant};
use wasp_wire::{Ecn, Flags, SackBlocks, SequenceNumber, TcpHeader, Timestamps};

/// Bytes of the input, zeros after its end.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn short(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }

    /// Mostly a small distance in either direction, at times any.
    fn near(&mut self) -> u32 {
        match self.byte() {
            byte @ 0..128 => u32::from(byte % 8) * 724,
            128..192 => i32::from(self.byte() as i8) as u32,
            192..240 => i32::from(self.short() as i16) as u32,
            _ => u32::from(self.short()) << 16 | u32::from(self.short()),
        }
    }
}

struct Bench {
    now: Instant,
    pool: PayloadPool,
    ends: [Endpoint; 2],
    wires: [VecDeque<Transmit>; 2],
    last: [TcpHeader; 2],
    reading: bool,
}

impl Bench {
    fn new(input: &mut Input<'_>) -> Option<Self> {
        let configs = [(); 2].map(|()| config(input));
        let choice = input.byte();
        let (reading, ecn) = (choice & 1 == 0, if choice & 2 == 2 { EcnMode::Ask } else { EcnMode::Agree });
        let configs = configs.map(|config| Arc::new(Config { ecn, ..config }));
        let identity =
            Identity { isn: u32::MAX - 2_000, timestamp_offset: u32::MAX - 50, timer_phase: Duration::ZERO };
        let mut pool = PayloadPool::new(1 << 22);
        let mut client = Endpoint::connect(&configs[0], 1, 2, identity, Instant::ZERO);
        let syn = client.poll_transmit(Instant::ZERO, &mut pool)?.header;
        let server = Endpoint::accept(&configs[1], &syn, 2, identity, Instant::ZERO);
        let ends = [client, server];
        let mut bench =
            Self { now: Instant::ZERO, pool, ends, wires: Default::default(), last: [syn, syn], reading };
        bench.flush(1);
        Some(bench)
    }

    /// Lets everything out, within a bound that no honest endpoint reaches.
    fn flush(&mut self, from: usize) {
        for turn in 0.. {
            assert!(turn < 100_000, "an endpoint that never has enough");
            if self.ends[from].poll_event().is_some() {
                if self.reading {
                    self.ends[from].read(self.now, u64::MAX, &mut self.pool, &mut |_| ());
                }
                continue;
            }
            let Some(segment) = self.ends[from].poll_transmit(self.now, &mut self.pool) else { break };
            self.last[from] = segment.header;
            self.wires[from].push_back(segment);
        }
        let end = &self.ends[from];
        assert!(
            end.cwnd() >= u32::from(end.mss()) || matches!(end.state(), State::Closed | State::SynReceived)
        );
        assert!(end.unsent() <= end.unacknowledged());
    }

    fn arrive(&mut self, to: usize, segment: Transmit) {
        let Transmit { header, payload, ecn } = segment;
        self.ends[to].handle_segment(self.now, &header, ecn, payload, &mut self.pool);
        self.flush(to);
    }

    fn wait(&mut self, time: Duration) {
        self.now += time;
        for end in 0..2 {
            if self.ends[end].poll_timeout().is_some_and(|at| at <= self.now) {
                self.ends[end].handle_timeout(self.now);
                self.flush(end);
            }
        }
    }

    fn forge(&mut self, to: usize, input: &mut Input<'_>) {
        let (own, peer) = (self.last[to], self.last[1 - to]);
        let mut sack = SackBlocks::default();
        for _ in 0..input.byte() % 5 {
            let left: SequenceNumber = own.sequence + input.near();
            sack.push(left, left + input.near());
        }
        let stamps = peer.timestamps.map(|right| Timestamps {
            value: right.value.wrapping_add(input.near()),
            echo: right.echo.wrapping_add(input.near()),
        });
        let flags = input.byte();
        let header = TcpHeader {
            source_port: own.destination_port,
            destination_port: own.source_port,
            sequence: own.acknowledgment + input.near(),
            acknowledgment: own.sequence + input.near(),
            // ECE is in the bits, CWR goes with URG, which means nothing here.
            flags: if flags < 128 { Flags::ACK } else { Flags(flags & 0x7f | (flags & 0x20) << 2) },
            window: input.short(),
            mss: (flags & 1 == 1).then(|| input.short()),
            window_scale: (flags & 2 == 2).then(|| input.byte()),
            sack_permitted: flags & 4 == 4,
            timestamps: stamps,
            sack,
        };
        let bytes = vec![flags; usize::from(input.short() % 3_000)];
        let payload = self.pool.store(&bytes).unwrap_or(Payload::Virtual(bytes.len() as u32));
        self.arrive(to, Transmit { header, payload, ecn: Ecn::of(flags >> 3) });
    }

    fn act(&mut self, input: &mut Input<'_>) {
        let operation = input.byte();
        let side = usize::from(operation >> 7);
        match operation & 0x0f {
            0..4 => self.deliver(side, operation & 0x40 != 0),
            4 => self.lose(side),
            5 => self.repeat(side),
            6 => self.wires[side].rotate_left(1.min(self.wires[side].len())),
            7 => self.wait(Duration::from_millis(u64::from(input.byte()))),
            8 => self.wait(Duration::from_millis(u64::from(input.short()))),
            10 if operation & 0x70 == 0 => self.report(side, input),
            9 | 10 => self.forge(side, input),
            11 => self.ends[side].send(Chunk::Virtual(u64::from(input.short()) * 4)),
            12 => self.ends[side].send(Chunk::Shared(vec![7; usize::from(input.short())].into())),
            13 => drop(self.ends[side].read(self.now, u64::from(input.short()), &mut self.pool, &mut |_| ())),
            14 if operation & 0x70 == 0 => self.ends[side].abort(),
            14 => self.ends[side].close(),
            _ => self.ends[side].set_receive_policy(match operation & 0x10 {
                0 => ReceivePolicy::Bytes,
                _ => ReceivePolicy::Counted,
            }),
        }
        self.flush(side);
    }

    fn deliver(&mut self, from: usize, marked: bool) {
        if let Some(mut segment) = self.wires[from].pop_front() {
            if marked && segment.ecn != Ecn::NotEct {
                segment.ecn = Ecn::Ce;
            }
            self.arrive(1 - from, segment);
        }
    }

    /// An ICMP error reports of a segment, perhaps of one that was never sent.
    fn report(&mut self, side: usize, input: &mut Input<'_>) {
        let quoted = self.last[side].sequence + input.near();
        if !self.ends[side].is_in_flight(quoted) {
            return;
        }
        match input.byte() % 4 {
            0 => self.ends[side].handle_unreachable(),
            1 => self.ends[side].set_path_mtu(input.short() % 1_600),
            _ => self.ends[side].handle_fragmentation_needed(input.short() % 1_600, self.now),
        }
    }

    fn lose(&mut self, from: usize) {
        if let Some(segment) = self.wires[from].pop_front() {
            self.pool.release(segment.payload);
        }
    }

    fn repeat(&mut self, from: usize) {
        if let Some(&Transmit { header, ref payload, ecn }) = self.wires[from].front() {
            let payload = self.pool.share(payload);
            self.arrive(1 - from, Transmit { header, payload, ecn });
        }
    }

    fn finish(self) {
        let Self { mut pool, ends, wires, .. } = self;
        for segment in wires.into_iter().flatten() {
            pool.release(segment.payload);
        }
        for end in ends {
            end.release(&mut pool);
        }
        assert_eq!(pool.in_use(), 0, "no payload is left behind");
    }
}

fn config(input: &mut Input<'_>) -> Config {
    let choice = input.byte();
    let base = if choice & 1 == 0 { Config::linux() } else { Config::bsd1999() };
    let recovery = match choice >> 1 & 3 {
        0 => RecoveryKind::Reno,
        1 => RecoveryKind::NewReno,
        2 => RecoveryKind::Sack,
        _ => RecoveryKind::Rack,
    };
    Config {
        recovery,
        sack: choice & 8 == 0,
        timestamps: choice & 16 == 0,
        limited_transmit: choice & 32 == 0,
        receive_buffer: if choice & 64 == 0 { base.receive_buffer } else { ReceiveBuffer::Fixed(2_048) },
        delayed_ack: if choice & 128 == 0 { base.delayed_ack } else { Duration::ZERO },
        delayed_ack_sweep: choice & 128 == 0 && base.delayed_ack_sweep,
        ..base
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input(bytes);
    let Some(mut bench) = Bench::new(&mut input) else { return };
    while !input.0.is_empty() {
        bench.act(&mut input);
    }
    bench.finish();
});
