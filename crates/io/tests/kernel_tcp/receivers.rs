//! The kernel as a receiver beside ours: what a slow reader lets in, and how fast the window opens. The sender and the path are the same.

use super::rig::{Rig, opening, path};
use super::server::{Action, Command, SLOW_PIECE, SLOW_PIECES, listen};
use crate::common::measured_in_a_namespace;
use std::collections::BTreeMap;
use std::sync::Arc;
use wasp_net::LinkConfig;
use wasp_packet::PayloadPool;
use wasp_tcp::{Chunk, Config, Endpoint, Event, Identity, Options, ReceivePolicy, Transmit};
use wasp_units::{Bytes, Duration, Instant, Rate};

/// The sender's link. Without one, a burst would be there before the kernel's reader has woken up; ours takes no time to.
fn rate() -> Rate {
    Rate::from_bits_per_second(200_000_000).expect("a rate")
}

/// Two endpoints of ours in virtual time: the first sends so many bytes, the second reads at once, or in the pieces of a slow reader.
struct Twins {
    ends: [Endpoint; 2],
    wires: BTreeMap<(Instant, u64), (usize, Transmit)>,
    pool: PayloadPool,
    now: Instant,
    delay: Duration,
    /// When the link is free again.
    free: Instant,
    crossings: u64,
    slow: bool,
    /// When the slow reader reads next.
    due: Instant,
}

impl Twins {
    fn new(config: &Arc<Config>, rtt: Duration, size: u64, slow: bool) -> Self {
        let identity = |isn| Identity { isn, timestamp_offset: 0, timer_phase: Duration::ZERO };
        let (mut pool, now) = (PayloadPool::new(16 << 20), Instant::ZERO);
        let mut sender = Endpoint::connect(config, 20_000, 80, identity(1), now);
        sender.send(Chunk::Virtual(size));
        let syn = sender.poll_transmit(now, &mut pool).expect("a SYN").header;
        let mut receiver = Endpoint::accept(config, &syn, 80, identity(2), now + rtt / 2);
        receiver.set_receive_policy(ReceivePolicy::Counted);
        let mut twins = Self {
            ends: [sender, receiver],
            wires: BTreeMap::new(),
            pool,
            now: now + rtt / 2,
            delay: rtt / 2,
            free: now,
            crossings: 0,
            slow,
            due: now + rtt,
        };
        twins.flush(1);
        twins
    }

    fn flush(&mut self, from: usize) {
        while let Some(event) = self.ends[from].poll_event() {
            if event == Event::Readable && !self.slow {
                self.ends[from].read(self.now, u64::MAX, &mut self.pool, &mut |_| ());
            }
        }
        while let Some(segment) = self.ends[from].poll_transmit(self.now, &mut self.pool) {
            self.crossings += 1;
            let bytes = u64::from(segment.payload.len()) + 52;
            self.free = self.free.max(self.now);
            if from == 0 {
                self.free += rate().transmission_time(bytes);
            }
            let left = if from == 0 { self.free } else { self.now };
            self.wires.insert((left + self.delay, self.crossings), (1 - from, segment));
        }
    }

    /// Runs until the receiver has acknowledged everything, at most until `end`; returns what it has acknowledged, of `size`.
    fn run(&mut self, size: u64, end: Instant) -> u64 {
        while self.ends[0].unacknowledged() > 0 {
            let arrival = self.wires.keys().next().map_or(Instant::MAX, |(at, _)| *at);
            let timers = [0, 1].map(|side| self.ends[side].poll_timeout().unwrap_or(Instant::MAX));
            let reading = if self.slow { self.due } else { Instant::MAX };
            let next = arrival.min(timers[0]).min(timers[1]).min(reading);
            if next > end {
                break;
            }
            self.now = next;
            for (side, _) in timers.iter().enumerate().filter(|(_, at)| **at <= next) {
                self.ends[side].handle_timeout(next);
                self.flush(side);
            }
            if reading <= next {
                self.ends[1].read(next, SLOW_PIECE as u64, &mut self.pool, &mut |_| ());
                self.due = next + Duration::from_secs(1) / SLOW_PIECES;
                self.flush(1);
            }
            if arrival <= next
                && let Some((_, (to, Transmit { header, payload, ecn }))) = self.wires.pop_first()
            {
                self.ends[to].handle_segment(next, &header, ecn, payload, &mut self.pool);
                self.flush(to);
            }
        }
        size - self.ends[0].unacknowledged()
    }
}

/// A wall-clock run.
struct Kernel {
    /// What the kernel has acknowledged: everything, or what it could in the time that it had.
    acknowledged: u64,
    took: Duration,
    /// How late our side handled an event, at most.
    lag: Duration,
}

/// Sends so many bytes to the kernel from a port that it does not know yet: in one namespace it still believes in the connections of earlier attempts.
fn kernel(
    config: &Arc<Config>,
    port: u16,
    rtt: Duration,
    size: usize,
    action: Action,
    limit: Duration,
) -> Kernel {
    let (up, down) = path(rtt, 0.0);
    let mut rig = Rig::new(&[(LinkConfig { rate: Some(rate()), ..up }, down)]);
    let _endings = listen(1);
    let mut request = Command { action, size, seed: 1 }.encode();
    request.resize(request.len() + size, 0);
    let all = request.len() as u64;
    rig.open(0, &opening(config, port, 7, request));
    let start = rig.now();
    let done = |endpoint: &Endpoint| endpoint.unacknowledged() == 0;
    rig.run_until(limit, |wan| wan.hosts[0].endpoint().is_some_and(done));
    let took = rig.now() - start;
    let left = rig.hosts().hosts[0].endpoint().expect("a connection").unacknowledged();
    Kernel { acknowledged: all - left, took, lag: rig.lag }
}

/// What is wrong where ours and the kernel's are farther apart than this share of the kernel's.
fn apart(ours: f64, kernels: f64, share: f64, lag: Duration) -> Option<String> {
    ((ours / kernels - 1.0).abs() > share)
        .then(|| format!("ours {ours}, the kernel's {kernels} (lag up to {lag})"))
}

#[test]
fn a_slow_reader_lets_in_as_much_as_the_kernels() {
    let (rtt, limit, size) = (Duration::from_millis(50), Duration::from_secs(10), 8 << 20);
    let config = Arc::new(Config::linux());
    let mut ports = 20_000..;
    measured_in_a_namespace("a_slow_reader_lets_in_as_much_as_the_kernels", move || {
        let port = ports.next().expect("a port");
        let Kernel { acknowledged, lag, .. } = kernel(&config, port, rtt, size, Action::ReceiveSlowly, limit);
        let ours = Twins::new(&config, rtt, size as u64, true).run(size as u64, Instant::ZERO + limit);
        // About 80 KB beside the 100 KB that have been read.
        if acknowledged >= 300_000 {
            return Some(format!("the kernel let {acknowledged} B in"));
        }
        apart(ours as f64, acknowledged as f64, 0.15, lag)
    });
}

#[test]
fn a_long_transfer_to_ours_takes_as_long_as_to_the_kernel() {
    let (rtt, limit, size) = (Duration::from_millis(100), Duration::from_secs(60), 50_000_000);
    // A window that the tests' build keeps up with, and which a late packet does not hold back.
    let send_buffer = Some(Bytes::new(2 << 20));
    let options = Options { send_buffer, hystart: Some(false), ..Options::default() };
    let config = Arc::new(options.resolve().expect("a stack"));
    let mut ports = 20_000..;
    measured_in_a_namespace("a_long_transfer_to_ours_takes_as_long_as_to_the_kernel", move || {
        let port = ports.next().expect("a port");
        let Kernel { acknowledged, took, lag } = kernel(&config, port, rtt, size, Action::Receive, limit);
        if acknowledged <= size as u64 {
            return Some(format!("{acknowledged} of {size} B in {took} (lag up to {lag})"));
        }
        let mut twins = Twins::new(&config, rtt, size as u64, false);
        assert_eq!(twins.run(size as u64, Instant::ZERO + limit), size as u64);
        apart((twins.now - Instant::ZERO).as_secs_f64(), took.as_secs_f64(), 0.05, lag)
    });
}
