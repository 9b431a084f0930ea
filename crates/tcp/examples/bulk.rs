//! Times the endpoint alone: bulk data between two endpoints, without a network between them.
//!
//! `cargo run --release -p wasp-tcp --example bulk [BYTES]`
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "a measurement for people"
)]

use std::collections::VecDeque;
use std::sync::Arc;
use wasp_packet::PayloadPool;
use wasp_tcp::{Chunk, Config, Endpoint, Event, Identity, ReceiveBuffer, SendBufferSize, Transmit};
use wasp_units::{Duration, Instant};
use wasp_wire::Flags;

/// More than 2^32, so that the sequence numbers wrap.
const BYTES: u64 = 5_000_000_000;

struct Run {
    pool: PayloadPool,
    ends: [Endpoint; 2],
    wires: [VecDeque<Transmit>; 2],
    now: Instant,
    delivered: u64,
    lose_every: u64,
    sent: u64,
}

impl Run {
    fn flush(&mut self, from: usize) {
        while let Some(segment) = self.ends[from].poll_transmit(self.now, &mut self.pool) {
            self.sent += 1;
            let data = !segment.payload.is_empty();
            if self.lose_every > 0 && data && self.sent.is_multiple_of(self.lose_every) {
                self.pool.release(segment.payload);
                continue;
            }
            self.wires[from].push_back(segment);
        }
        while let Some(event) = self.ends[from].poll_event() {
            if event == Event::Readable {
                self.ends[from].read(self.now, u64::MAX, &mut self.pool, &mut |_| ());
                self.flush(from);
            }
        }
    }

    /// One side takes in all that is on its way to it.
    fn turn(&mut self, to: usize) {
        for _ in 0..self.wires[1 - to].len() {
            let Some(Transmit { header, payload, ecn }) = self.wires[1 - to].pop_front() else { return };
            self.delivered += 1;
            self.ends[to].handle_segment(self.now, &header, ecn, payload, &mut self.pool);
            self.flush(to);
        }
        self.now += Duration::from_millis(10);
        for end in &mut self.ends {
            if end.poll_timeout().is_some_and(|at| at <= self.now) {
                end.handle_timeout(self.now);
            }
        }
        self.flush(to);
    }
}

fn run(name: &str, config: Config, lose_every: u64) {
    let bytes = std::env::args().nth(1).map_or(BYTES, |bytes| bytes.parse().expect("a number of bytes"));
    let config = Arc::new(config);
    let identity = Identity { isn: 1, timestamp_offset: 1, timer_phase: Duration::ZERO };
    let mut pool = PayloadPool::new(1 << 24);
    let mut client = Endpoint::connect(&config, 1, 2, identity, Instant::ZERO);
    let syn = client.poll_transmit(Instant::ZERO, &mut pool).expect("a SYN").header;
    assert!(syn.flags.contains(Flags::SYN));
    let mut server = Endpoint::accept(&config, &syn, 2, identity, Instant::ZERO);
    server.send(Chunk::Virtual(bytes));
    let wires = Default::default();
    let mut run =
        Run { pool, ends: [client, server], wires, now: Instant::ZERO, delivered: 0, lose_every, sent: 0 };
    run.flush(1);
    let begin = std::time::Instant::now();
    while run.ends[1].unacknowledged() > 0 {
        run.turn(0);
        run.turn(1);
    }
    let elapsed = begin.elapsed().as_secs_f64();
    let statistics = *run.ends[1].statistics();
    println!(
        "{name}: {:.1} ns a delivered segment, {:.1} ns a data segment with all that follows; {} fast retransmits, {} timeouts",
        elapsed * 1e9 / run.delivered as f64,
        elapsed * 1e9 / f64::from(statistics.segments_sent),
        statistics.fast_retransmits,
        statistics.timeouts,
    );
}

fn main() {
    println!("{} bytes an endpoint", size_of::<Endpoint>());
    let every = Config { delayed_ack: Duration::ZERO, ..Config::linux() };
    run("linux, an ACK for every segment", every, 0);
    run("linux, delayed ACKs", Config::linux(), 0);
    run("bsd1999", Config::bsd1999(), 0);
    let wide = Config {
        receive_buffer: ReceiveBuffer::Fixed(1 << 30),
        send_buffer: SendBufferSize::Fixed(1 << 30),
        ..Config::linux()
    };
    run(
        "linux, 64 MiB windows",
        Config {
            receive_buffer: ReceiveBuffer::Fixed(1 << 26),
            send_buffer: SendBufferSize::Fixed(1 << 26),
            ..wide
        },
        0,
    );
    run("linux, 1 in 10,000 lost", Config::linux(), 10_000);
    run("linux, 1 in 100 lost", Config::linux(), 100);
}
