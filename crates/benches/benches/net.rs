//! Cost of a packet's loss decision, and of its way over two links.

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::sync::Arc;
use wasp_kernel::{LogicalProcess, Process, Scheduler};
use wasp_net::queue::{CodelConfig, FqCodelConfig, PieConfig, QueueConfig, RedConfig};
use wasp_net::topology::{AccessConfig, Block, Layout, ServerConfig, star};
use wasp_net::{
    Chain, LinkConfig, Loss, LossTally, Network, NetworkEvent, Pair, RateTrace, Scope, Start, Trace,
    TraceOptions,
};
use wasp_packet::{Body, Packet, Payload, PayloadPool};
use wasp_random::{Key, Purpose};
use wasp_units::{Bytes, Duration, Instant, Probability, Rate};
use wasp_wire::{Address, Flags, IpHeader, TcpHeader};

fn probability(text: &str) -> Probability {
    text.parse().expect("a probability")
}

fn losses(criterion: &mut Criterion) {
    let two_state = Loss::TwoState { p: probability("2%"), r: probability("65%"), start: Start::Good };
    let models = [("independent", Loss::Independent { rate: probability("3%") }), ("two-state", two_state)];
    let key = Key::root(1, 0).purpose(Purpose::Loss);
    for (name, loss) in models {
        let (mut chain, mut tally) = (Chain::default(), LossTally::default());
        criterion.bench_function(&format!("loss/{name}"), |bencher| {
            bencher.iter(|| black_box(loss).lose(&mut chain, key, &mut tally));
        });
    }
}

/// A star whose hosts let every packet go.
struct Sink(Network);

#[derive(Clone, Copy)]
struct Event(NetworkEvent);

impl From<NetworkEvent> for Event {
    fn from(event: NetworkEvent) -> Self {
        Self(event)
    }
}

impl Process for Sink {
    type Event = Event;

    fn handle(&mut self, event: Event, scheduler: &mut Scheduler<Event>) {
        if let Some(delivery) = self.0.handle(event.0, scheduler) {
            self.0.pool.release(delivery.packet.payload);
        }
    }
}

/// A full-size segment from the server to the first client.
fn segment(layout: &Layout) -> Packet {
    let header =
        TcpHeader { source_port: 80, destination_port: 1_000, flags: Flags::ACK, ..TcpHeader::default() };
    Packet {
        ip: IpHeader {
            source: layout.server.address,
            destination: layout.hosts()[0].address,
            ttl: 64,
            traffic_class: 0,
            identification: 1,
            dont_fragment: true,
        },
        body: Body::Tcp(header),
        payload: Payload::Virtual(1_448),
        flipped: None,
    }
}

/// 25 packets in 3 ms, which are 100 Mbit/s, for a second.
fn recorded() -> RateTrace {
    let lines = (0..333 * 25).map(|line| format!("{}\n", 1 + line * 3 / 25));
    let trace = Trace::parse(&lines.collect::<String>()).expect("times that never decrease");
    RateTrace { trace, options: TraceOptions::default() }
}

fn links(criterion: &mut Criterion) {
    let limited = LinkConfig {
        rate: Rate::from_bits_per_second(100_000_000),
        queue: Some(QueueConfig::drop_tail(Bytes::new(125_000))),
        delay: Duration::from_millis(25),
        ..LinkConfig::default()
    };
    let unlimited = LinkConfig { delay: Duration::from_millis(25), ..LinkConfig::default() };
    let loss = Loss::TwoState { p: probability("2%"), r: probability("65%"), start: Start::Good };
    let behind = |queue| LinkConfig { queue: Some(queue), ..limited.clone() };
    let recorded = LinkConfig { rate: None, trace: Some(recorded()), ..limited.clone() };
    let configs = [
        ("delay", unlimited.clone()),
        ("delay and loss", LinkConfig { loss, ..unlimited.clone() }),
        ("rate and queue", limited.clone()),
        ("rate and queue, with events of their own", LinkConfig { by_queue: true, ..limited.clone() }),
        ("rate and RED", behind(QueueConfig::Red(RedConfig::default()))),
        ("rate and CoDel", behind(QueueConfig::Codel(CodelConfig::default()))),
        ("rate and FQ-CoDel", behind(QueueConfig::FqCodel(FqCodelConfig::default()))),
        ("rate and PIE", behind(QueueConfig::Pie(PieConfig::default()))),
        ("rate trace and queue", recorded),
    ];
    for (name, down) in configs {
        let mut network = Network::new(PayloadPool::new(1 << 20), ());
        let address: Address = "198.18.0.1".parse().expect("an address");
        let first = "198.18.0.2".parse().expect("an address");
        let both =
            |config: LinkConfig| Pair { forward: Arc::new(config.clone()), backward: Arc::new(config) };
        let access = AccessConfig { directions: both(down), scope: Scope::Direction, key: Key::root(1, 0) };
        let shared = both(LinkConfig { delay: Duration::from_millis(1), ..LinkConfig::default() });
        let server = ServerConfig { at: 0, address, directions: shared, key: Key::root(2, 0) };
        let star = star(server, Block { at: 0, first, hosts: vec![access] });
        let layout = star.build(&mut network).expect("a star has routes");
        let entrance = layout.server.out;
        let mut process = LogicalProcess::new(Sink(network));
        let (mut now, mut sent) = (Instant::ZERO, 0_u64);
        criterion.bench_function(&format!("two links/{name}"), |bencher| {
            bencher.iter(|| {
                // Bursts of ten, of which each is gone when the next comes.
                if sent.is_multiple_of(10) {
                    now += Duration::from_micros(1_500);
                    process.advance(now).expect("time passes");
                }
                sent += 1;
                process.inject(now, |sink, scheduler| sink.0.send(entrance, segment(&layout), scheduler));
            });
        });
        assert!(process.process.0.in_flight() < 1_000 && process.next_event().is_some());
    }
}

criterion_group!(benches, losses, links);
criterion_main!(benches);
