//! Cost of TCP's two sides: a full-size segment received, one sent and acknowledged, and one of a window of which half is lost.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::sync::Arc;
use wasp_packet::{Payload, PayloadPool};
use wasp_tcp::{Chunk, Config, Endpoint, Identity, ReceiveBuffer, ReceivePolicy, SendBufferSize, Transmit};
use wasp_units::{Duration, Instant};
use wasp_wire::Ecn;

/// Bytes of each measured step.
const STEP: u64 = 64 * 1_448;
/// One way.
const DELAY: Duration = Duration::from_micros(10);

/// A host with so many bytes of room in either direction.
fn with_buffers(bytes: u32) -> Config {
    Config {
        receive_buffer: ReceiveBuffer::Fixed(bytes),
        send_buffer: SendBufferSize::Fixed(bytes),
        ..Config::linux()
    }
}

/// A segment arrives.
fn deliver(segment: Transmit, to: &mut Endpoint, now: Instant, pool: &mut PayloadPool) {
    let Transmit { header, payload, ecn } = segment;
    to.handle_segment(now, &header, ecn, payload, pool);
}

/// A connection whose segments arrive at once.
struct Pair {
    client: Endpoint,
    server: Endpoint,
    pool: PayloadPool,
    now: Instant,
}

impl Pair {
    fn new(policy: ReceivePolicy) -> Self {
        Self::of(policy, &Arc::new(with_buffers(4 << 20)))
    }

    fn of(policy: ReceivePolicy, config: &Arc<Config>) -> Self {
        let identity = |isn| Identity { isn, timestamp_offset: 0, timer_phase: Duration::ZERO };
        let (mut pool, now) = (PayloadPool::new(16 << 20), Instant::ZERO);
        let mut client = Endpoint::connect(config, 1_000, 80, identity(1), now);
        client.set_receive_policy(policy);
        let syn = client.poll_transmit(now, &mut pool).expect("a SYN");
        let server = Endpoint::accept(config, &syn.header, 80, identity(2), now);
        let mut pair = Self { client, server, pool, now };
        pair.exchange();
        pair
    }

    /// Lets segments cross until nobody has one to send; returns how many.
    fn exchange(&mut self) -> u64 {
        let mut crossed = 0;
        loop {
            self.now += DELAY;
            let before = crossed;
            while let Some(segment) = self.server.poll_transmit(self.now, &mut self.pool) {
                crossed += 1;
                deliver(segment, &mut self.client, self.now, &mut self.pool);
            }
            self.client.read(self.now, u64::MAX, &mut self.pool, &mut |_| ());
            while self.client.poll_event().is_some() {}
            while let Some(segment) = self.client.poll_transmit(self.now, &mut self.pool) {
                crossed += 1;
                deliver(segment, &mut self.server, self.now, &mut self.pool);
            }
            while self.server.poll_event().is_some() {}
            if crossed == before {
                return crossed;
            }
        }
    }
}

fn both_sides(criterion: &mut Criterion) {
    let bytes: Arc<[u8]> = vec![0x5a; STEP as usize].into();
    let mut group = criterion.benchmark_group("send and receive");
    group.throughput(Throughput::Elements(STEP / 1_448));
    for (name, policy, chunk) in [
        ("bytes", ReceivePolicy::Bytes, Chunk::Shared(bytes)),
        ("counted", ReceivePolicy::Counted, Chunk::Virtual(STEP)),
    ] {
        let mut pair = Pair::new(policy);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                pair.server.send(chunk.clone());
                pair.exchange()
            });
        });
    }
    group.finish();
}

/// A segment that is received in order, read, and acknowledged as TCP pleases.
fn receive(criterion: &mut Criterion) {
    let mut pair = Pair::new(ReceivePolicy::Counted);
    pair.server.send(Chunk::Virtual(1_448));
    let mut header = pair.server.poll_transmit(pair.now, &mut pair.pool).expect("a segment").header;
    criterion.bench_function("receive", |bencher| {
        bencher.iter(|| {
            pair.now += DELAY;
            let payload = Payload::Virtual(1_448);
            pair.client.handle_segment(pair.now, &header, Ecn::NotEct, payload, &mut pair.pool);
            header.sequence += 1_448;
            pair.client.read(pair.now, u64::MAX, &mut pair.pool, &mut |_| ());
            while pair.client.poll_event().is_some() {}
            while pair.client.poll_transmit(pair.now, &mut pair.pool).is_some() {}
        });
    });
}

/// Segments that have left.
type Flight = Vec<Transmit>;

/// A connection with `segments` in flight, the whole of its first window.
fn flight(segments: u32) -> (Pair, Flight) {
    let config = Config { initial_window: segments, ..with_buffers(segments * 1_460) };
    let mut pair = Pair::of(ReceivePolicy::Counted, &Arc::new(config));
    pair.server.send(Chunk::Virtual(u64::from(segments) * 1_448));
    let left = std::iter::from_fn(|| pair.server.poll_transmit(pair.now, &mut pair.pool)).collect();
    (pair, left)
}

/// Loses every second segment of `flight`, and repairs the loss.
fn repair(pair: &mut Pair, flight: &mut Flight) {
    let mut again = Flight::new();
    for segment in flight.drain(..).skip(1).step_by(2) {
        pair.now += DELAY;
        deliver(segment, &mut pair.client, pair.now, &mut pair.pool);
        while let Some(segment) = pair.client.poll_transmit(pair.now, &mut pair.pool) {
            deliver(segment, &mut pair.server, pair.now, &mut pair.pool);
        }
        again.extend(std::iter::from_fn(|| pair.server.poll_transmit(pair.now, &mut pair.pool)));
    }
    for segment in again {
        deliver(segment, &mut pair.client, pair.now, &mut pair.pool);
    }
    pair.exchange();
    assert_eq!(pair.server.unacknowledged(), 0);
}

/// Twice the window costs twice as much where nothing is given the benefit of reordering.
fn half_of_a_window_lost(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("half of a window lost");
    group.sample_size(10);
    for segments in [2_000, 4_000, 8_000, 16_000, 32_000, 64_000] {
        group.throughput(Throughput::Elements(segments.into()));
        group.bench_function(BenchmarkId::from_parameter(segments), |bencher| {
            bencher.iter_batched_ref(
                || flight(segments),
                |(pair, flight)| repair(pair, flight),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, both_sides, receive, half_of_a_window_lost);
criterion_main!(benches);
