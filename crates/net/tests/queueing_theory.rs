//! One link against queueing theory: M/D/1, M/D/1/K, and an exponential on/off source (fluid model).
//!
//! Each statistic is the mean of replications with keys of their own; its 99 % interval by Student's t must be narrow, and hold
//! the theory's value where the theory is about packets. The fluid model is approximate: 5 % are allowed.

use crate::common::{Event, Model, pair, star};
use wasp_kernel::{LogicalProcess, NodeId};
use wasp_net::queue::{DropTailConfig, QueueConfig};
use wasp_net::topology::AccessConfig;
use wasp_net::{Fate, LinkConfig, LinkCounters, Scope};
use wasp_random::{Key, Purpose};
use wasp_units::{Bytes, Duration, Instant, Rate};
use wasp_workload::{Delay, PacketModel, PacketTimes};

const HEADERS: u32 = 40;
/// Bytes of each packet, and the rate at which one takes a millisecond.
const PACKET: u32 = 50;
const RATE: u64 = 400_000;
const SERVICE_NS: f64 = 1e6;
const REPLICATIONS: u32 = 12;
/// Student's t for 11 degrees of freedom, two-sided 99 %.
const T: f64 = 3.106;

/// The mean of a statistic over replications, and the half-width of its interval.
fn replicated(statistic: impl Fn(u32) -> f64) -> (f64, f64) {
    interval(&(0..REPLICATIONS).map(statistic).collect::<Vec<_>>())
}

/// The mean of values, and the half-width of its interval.
fn interval(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (n - 1.0);
    (mean, T * (variance / n).sqrt())
}

/// Fails unless the interval is at most 2 % of the theory's value to either side, and holds it.
fn assert_near(case: &str, theory: f64, (mean, half): (f64, f64)) {
    assert!(half <= 0.02 * theory, "{case}: the interval of {mean} is {half} to either side");
    assert!((mean - theory).abs() <= half, "{case}: {mean} +- {half} instead of {theory}");
}

/// A link with this room at 1,000 packets a second.
fn link(queue: Option<QueueConfig>) -> LinkConfig {
    LinkConfig { rate: Rate::from_bits_per_second(RATE), queue, ..LinkConfig::default() }
}

/// Sends a packet at each of these times over the link.
fn sent(config: LinkConfig, times: impl Iterator<Item = u64>) -> LogicalProcess<Model> {
    let directions = pair(&config, &LinkConfig::default());
    let access = AccessConfig { directions, scope: Scope::Direction, key: Key::root(1, 0) };
    let mut kernel = star(&[access], &LinkConfig::default());
    for at in times {
        let now = Instant::from_nanos(at);
        kernel.advance(now).unwrap();
        kernel.inject(now, |_, scheduler| {
            let event = Event::Send { client: 0, up: true, number: 0, bytes: PACKET - HEADERS };
            scheduler.schedule(NodeId(2), now, event);
        });
    }
    kernel.advance(Instant::MAX).unwrap();
    kernel
}

fn counters(model: &Model) -> &LinkCounters {
    model.network.link(model.layout.hosts()[0].out).counters()
}

fn times(model: PacketModel, load: f64, replication: u32) -> impl Iterator<Item = u64> {
    let rate = Rate::from_bits_per_second((load * RATE as f64).round() as u64).unwrap();
    let packet = Bytes::new(PACKET.into());
    model.check(packet, Some(rate)).unwrap();
    let key = Key::root(3, replication).purpose(Purpose::CrossTraffic);
    let mut times = PacketTimes::new(&model, packet, rate, key);
    std::iter::from_fn(move || Some(times.next_time().as_nanos()))
}

fn poisson(load: f64, packets: u32, replication: u32) -> impl Iterator<Item = u64> {
    times(PacketModel::Poisson {}, load, replication).take(packets as usize)
}

#[test]
fn the_mean_wait_is_that_of_m_d_1() {
    for (load, packets, paths) in
        [(0.3, 60_000, vec![false, true]), (0.6, 120_000, vec![false, true]), (0.9, 900_000, vec![false])]
    {
        for by_queue in paths {
            let wait = |replication| {
                let kernel = sent(LinkConfig { by_queue, ..link(None) }, poisson(load, packets, replication));
                // Byte-nanoseconds in the queue are bytes times the waits of all packets.
                let waits = counters(&kernel.process).queue_integral as f64 / f64::from(PACKET);
                waits / f64::from(packets) / SERVICE_NS
            };
            assert_near(&format!("load {load}"), load / (2.0 * (1.0 - load)), replicated(wait));
        }
    }
}

/// Blocking of M/D/1/K by the embedded chain at departures (Gross and Harris, section 5.1.7): K places, the one in service included.
fn blocking(load: f64, places: usize) -> f64 {
    let arrivals: Vec<f64> = (0..places)
        .scan(libm::exp(-load), |probability, count| {
            let now = *probability;
            *probability *= load / (count + 1) as f64;
            Some(now)
        })
        .collect();
    // pi of M/G/1 up to a factor, then the stationary probabilities of the finite queue.
    let mut pi = vec![1.0];
    for state in 1..places {
        let sum: f64 = (1..state).map(|before| pi[before] * arrivals[state - before]).sum();
        let next = (pi[state - 1] - pi[0] * arrivals[state - 1] - sum) / arrivals[0];
        pi.push(next);
    }
    let total: f64 = pi.iter().sum();
    let empty = pi[0] / total;
    1.0 - 1.0 / (empty + load)
}

#[test]
fn the_share_of_packets_blocked_is_that_of_m_d_1_k() {
    assert!((blocking(0.9, 1) - 0.9 / 1.9).abs() < 1e-12, "one place is Erlang's loss formula");
    for (load, places) in [(0.9, 5_u32), (1.2, 10)] {
        let bytes = QueueConfig::drop_tail(Bytes::new(u64::from((places - 1) * PACKET)));
        let packets = DropTailConfig { packets: Some(places - 1), bytes: None };
        for queue in [bytes, QueueConfig::DropTail(packets)] {
            let sends = 300_000;
            let share = |replication| {
                let kernel = sent(link(Some(queue)), poisson(load, sends, replication));
                kernel.process.network.fates().get(Fate::QueueFull) as f64 / f64::from(sends)
            };
            assert_near(&format!("{places} places"), blocking(load, places as usize), replicated(share));
        }
    }
}

/// Numbers of packets that are compared with the fluid model.
const LEVELS: [i64; 3] = [20, 60, 100];

#[test]
fn the_queue_of_an_on_off_source_has_the_tail_of_the_fluid_model() {
    // Peak h = 2 C, bursts of 200 packets on average, load rho = h on / (on + off) / C = 0.6.
    let (h, c, load, on) = (2.0, 1.0, 0.6, 100.0 * SERVICE_NS);
    let off = on * (h / load - 1.0);
    let decay = 1.0 / on / (h - c) - 1.0 / off / c;
    let exponential = |mean: f64| Delay::Exponential { mean: Duration::from_nanos(mean as u64) };
    let bursts = PacketModel::OnOff { on: exponential(on), off: exponential(off) };
    let end = 18_000.0 * (on + off);
    let shares: Vec<_> = (0..REPLICATIONS)
        .map(|replication| {
            let arrivals = times(bursts, h, replication);
            time_above(&arrivals.take_while(|at| *at < end as u64).collect::<Vec<_>>())
        })
        .collect();
    for (place, level) in LEVELS.into_iter().enumerate() {
        let theory = load * libm::exp(-decay * level as f64 * SERVICE_NS);
        let (mean, half) = interval(&shares.iter().map(|share| share[place]).collect::<Vec<_>>());
        assert!(half <= 0.02 * theory, "level {level}: the interval of {mean} is {half} to either side");
        assert!((mean / theory - 1.0).abs() < 0.05, "P(Q > {level}) is {mean} +- {half} instead of {theory}");
    }
}

/// The shares of time for which more packets than each level are in the link, when packets are sent at these times.
fn time_above(arrivals: &[u64]) -> [f64; LEVELS.len()] {
    let kernel = sent(link(None), arrivals.iter().copied());
    let departures = kernel.process.delivered.iter().map(|(at, ..)| at.as_nanos());
    let (start, mut inside, mut above, mut last) = (arrivals[0], 0, [0; LEVELS.len()], arrivals[0]);
    let mut arrivals = arrivals.iter().copied().peekable();
    let mut step = |at: u64, change: i64| {
        for (above, level) in above.iter_mut().zip(LEVELS) {
            *above += if inside > level { at - last } else { 0 };
        }
        (last, inside) = (at, inside + change);
    };
    for departure in departures {
        while let Some(arrival) = arrivals.next_if(|arrival| *arrival <= departure) {
            step(arrival, 1);
        }
        step(departure, -1);
    }
    above.map(|time| time as f64 / (last - start) as f64)
}
