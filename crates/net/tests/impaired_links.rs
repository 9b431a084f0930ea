//! Impairments in a network, each beside random loss: what arrives, and in which order, agrees with the account and with the share that was asked for.
//!
//! Seeds are fixed. Each statistical bound is one that ideal randomness exceeds with a probability of 1 %, on both sides together.

use crate::common::{Event, Model, pair, star};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use wasp_kernel::NodeId;
use wasp_net::queue::QueueConfig;
use wasp_net::topology::AccessConfig;
use wasp_net::{
    ArrivalOrder, Corrupt, Duplicate, Fate, Jitter, LinkConfig, LinkCounters, Loss, Network, Pair, Pass,
    Reorder, Reorderer, Scope,
};
use wasp_random::Key;
use wasp_units::{Bytes, Duration, Instant, Probability, Rate};

/// Standard deviations that a normal variable exceeds, on either side, with probability 1 %.
const LIMIT: f64 = 2.576;
/// Packets of a run, and the time between two of them.
const PACKETS: u32 = 40_000;
const GAP: Duration = Duration::from_micros(200);
const DELAY: Duration = Duration::from_millis(20);
const LOSS: f64 = 0.1;

/// What became of a run.
struct Run {
    arrived: Vec<(Instant, u32)>,
    counters: LinkCounters,
    network: Network,
}

/// A packet each gap over an access link that does this beside losing 10 %.
fn run(config: LinkConfig, seed: u64) -> Run {
    let loss = Loss::Independent { rate: share(LOSS) };
    let (config, free) = (LinkConfig { loss, delay: DELAY, ..config }, LinkConfig::default());
    let key = Key::root(seed, 0).entity(1);
    let times: Vec<Instant> = (0..PACKETS).map(sent).collect();
    let Model { network, layout, delivered, .. } = sent_over(pair(&config, &free), key, &free, &times);
    let link = layout.hosts()[0].out;
    let arrived = delivered.into_iter().map(|(at, _, number)| (at, number)).collect();
    let counters = *network.link(link).counters();
    assert_eq!((network.in_flight(), network.pool.in_use()), (0, 0));
    assert_eq!(network.made(), network.fates().total());
    assert_eq!(network.made(), counters.packets + counters.duplicated);
    assert_eq!(counters.packets, u64::from(PACKETS), "a copy does not come to the link: it is made there");
    assert_eq!(network.fates().get(Fate::RandomLoss), counters.loss.lost);
    // Loss comes first: it is met by what was sent, and by no copy.
    assert_share("lost", counters.loss.lost, u64::from(PACKETS), LOSS);
    Run { arrived, counters, network }
}

/// The star's only host sends a packet at each of these times.
fn sent_over(directions: Pair<Arc<LinkConfig>>, key: Key, shared: &LinkConfig, times: &[Instant]) -> Model {
    let mut kernel = star(&[AccessConfig { directions, scope: Scope::Direction, key }], shared);
    kernel.inject(Instant::ZERO, |_, scheduler| {
        for (time, number) in times.iter().zip(0..) {
            scheduler.schedule(NodeId(2), *time, Event::Send { client: 0, up: true, number, bytes: 60 });
        }
    });
    kernel.advance(Instant::MAX).unwrap();
    kernel.process
}

fn sent(number: u32) -> Instant {
    Instant::ZERO + GAP * u64::from(number)
}

fn share(value: f64) -> Probability {
    Probability::from_f64(value).unwrap()
}

/// Fails if `seen` of `trials` are too far from the probability.
#[track_caller]
fn assert_share(what: &str, seen: u64, trials: u64, probability: f64) {
    let (seen, trials) = (seen as f64, trials as f64);
    let deviate = (seen - trials * probability) / (trials * probability * (1.0 - probability)).sqrt();
    assert!(deviate.abs() < LIMIT, "{what}: {deviate:.2} standard deviations from {probability}");
}

/// The packets that arrived, by number, and how often each did.
fn counts(arrived: &[(Instant, u32)]) -> BTreeMap<u32, u32> {
    let mut counts = BTreeMap::new();
    for (_, number) in arrived {
        *counts.entry(*number).or_default() += 1;
    }
    counts
}

/// How long each packet that arrived took beyond the link's delay, in milliseconds.
fn extra(arrived: &[(Instant, u32)]) -> Vec<f64> {
    arrived.iter().map(|(at, number)| (*at - sent(*number) - DELAY).as_secs_f64() * 1e3).collect()
}

#[test]
fn jitter_moves_packets_and_loses_none() {
    let (min, max) = (Duration::ZERO, Duration::from_millis(2));
    let [free, kept] = [ArrivalOrder::Free, ArrivalOrder::Kept].map(|order| {
        let jitter = Some(Jitter::Uniform { min, max, order });
        run(LinkConfig { jitter, ..LinkConfig::default() }, 1)
    });
    for (run, name) in [(&free, "free"), (&kept, "kept")] {
        let survivors = u64::from(PACKETS) - run.counters.loss.lost;
        assert_eq!(run.arrived.len() as u64, survivors, "{name}");
        assert!(counts(&run.arrived).values().all(|count| *count == 1), "{name}");
    }
    // Each packet's delay is uniform over 2 ms: mean 1 ms, standard deviation 2 / sqrt(12) ms.
    let extras = extra(&free.arrived);
    let n = extras.len() as f64;
    let deviate = (extras.iter().sum::<f64>() / n - 1.0) / (2.0 / 12_f64.sqrt() / n.sqrt());
    assert!(deviate.abs() < LIMIT, "the mean is {deviate:.2} standard errors from 1 ms");
    assert!(extras.iter().all(|extra| (0.0..=2.0).contains(extra)));
    // Two neighbours overtake each other where their delays differ by more than the gap, 0.2 ms of 2: P = 0.9^2 / 2. Pairs that share no
    // packet are independent.
    let place: BTreeMap<u32, usize> =
        (0..).zip(&free.arrived).map(|(place, (_, number))| (*number, place)).collect();
    let pairs: Vec<_> = (0..PACKETS / 2)
        .filter_map(|pair| Some((place.get(&(2 * pair))?, place.get(&(2 * pair + 1))?)))
        .collect();
    let overtaken = pairs.iter().filter(|(first, second)| first > second).count();
    assert_share("overtaken", overtaken as u64, pairs.len() as u64, 0.405);
    // The same draws with order kept: each comes when the latest of those before it and itself does.
    assert!(kept.arrived.is_sorted_by_key(|(_, number)| *number));
    let when: BTreeMap<u32, Instant> = free.arrived.iter().map(|(at, number)| (*number, *at)).collect();
    let mut latest = Instant::ZERO;
    for ((at, number), (expected, drawn)) in kept.arrived.iter().zip(&when) {
        latest = latest.max(*drawn);
        assert_eq!((number, *at), (expected, latest));
    }
}

#[test]
fn packets_that_are_overtaken_come_three_places_late() {
    let reorder = Some(Reorder { share: share(0.02), distance: 3, wait: Duration::from_millis(100) });
    let run = run(LinkConfig { reorder, ..LinkConfig::default() }, 2);
    let survivors = u64::from(PACKETS) - run.counters.loss.lost;
    assert_eq!(run.arrived.len() as u64, survivors);
    assert!(counts(&run.arrived).values().all(|count| *count == 1));
    let mut late = 0;
    for (place, (_, number)) in run.arrived.iter().enumerate() {
        let before = &run.arrived[place.saturating_sub(200)..place];
        let overtook = before.iter().filter(|(_, other)| other > number).count();
        // Packets held at the very end are released by time, and overtaken by fewer.
        assert!(
            overtook == 0 || overtook == 3 || place + 8 > run.arrived.len(),
            "{overtook} before {number}"
        );
        late += u64::from(overtook > 0);
    }
    assert_eq!(late, run.counters.reordered);
    assert_share("late", late, survivors, 0.02);
}

#[test]
fn copies_arrive_behind_what_they_are_copies_of() {
    let duplicate = Some(Duplicate { share: share(0.05) });
    for rate in [None, Rate::from_bits_per_second(10_000_000)] {
        let run = run(LinkConfig { duplicate, rate, ..LinkConfig::default() }, 3);
        let counts = counts(&run.arrived);
        let twice = counts.values().filter(|count| **count == 2).count() as u64;
        assert!(counts.values().all(|count| *count <= 2));
        assert_eq!(twice, run.counters.duplicated);
        assert_eq!(counts.len() as u64, u64::from(PACKETS) - run.counters.loss.lost);
        assert_eq!(run.network.fates().get(Fate::Delivered), run.arrived.len() as u64);
        assert_share("copied", twice, counts.len() as u64, 0.05);
        assert!(run.arrived.is_sorted_by_key(|(_, number)| *number));
    }
}

#[test]
fn the_receivers_checksum_catches_every_flipped_bit() {
    let corrupt = Some(Corrupt { share: share(0.03) });
    let run = run(LinkConfig { corrupt, ..LinkConfig::default() }, 4);
    let bad = run.network.fates().get(Fate::BadChecksum);
    assert_eq!(bad, run.counters.corrupted);
    let survivors = u64::from(PACKETS) - run.counters.loss.lost;
    assert_eq!(run.arrived.len() as u64 + bad, survivors);
    assert_eq!(run.network.fates().get(Fate::Delivered), run.arrived.len() as u64);
    assert_share("corrupted", bad, survivors, 0.03);
}

#[test]
fn all_impairments_together_before_a_short_queue_are_accounted_for() {
    let config = LinkConfig {
        corrupt: Some(Corrupt { share: share(0.02) }),
        duplicate: Some(Duplicate { share: share(0.2) }),
        reorder: Some(Reorder { share: share(0.02), ..Reorder::default() }),
        jitter: Some(Jitter::Normal { deviation: Duration::from_millis(1), order: ArrivalOrder::Free }),
        rate: Rate::from_bits_per_second(4_100_000),
        queue: Some(QueueConfig::drop_tail(Bytes::new(1_000))),
        ..LinkConfig::default()
    };
    let run = run(config, 5);
    let (fates, counters) = (run.network.fates(), &run.counters);
    assert_eq!(fates.get(Fate::QueueFull), counters.dropped);
    assert!(fates.get(Fate::QueueFull) > 100, "the queue is full at times");
    let whole = counters.packets + counters.duplicated - counters.loss.lost - counters.dropped;
    assert_eq!(whole, run.arrived.len() as u64 + fates.get(Fate::BadChecksum));
    assert!(fates.get(Fate::BadChecksum) <= counters.corrupted);
    let survivors = u64::from(PACKETS) - counters.loss.lost;
    assert_share("copied", counters.duplicated, survivors, 0.2);
    assert_share("corrupted", counters.corrupted, survivors, 0.02);
}

#[test]
fn copies_of_a_packet_with_a_flipped_bit_have_it_too() {
    let corrupt = LinkConfig { corrupt: Some(Corrupt { share: Probability::ONE }), ..LinkConfig::default() };
    let duplicate =
        LinkConfig { duplicate: Some(Duplicate { share: Probability::ONE }), ..LinkConfig::default() };
    let found = |access: &LinkConfig, shared: &LinkConfig| {
        let model = sent_over(pair(access, access), Key::root(1, 0), shared, &[Instant::ZERO; 100]);
        (model.delivered.len(), model.refused.len())
    };
    assert_eq!(found(&corrupt, &duplicate), (0, 200));
    assert_eq!(found(&duplicate, &corrupt), (0, 200));
    assert_eq!(
        found(&LinkConfig { duplicate: duplicate.duplicate, ..corrupt }, &LinkConfig::default()),
        (100, 100)
    );
}

proptest! {
    /// The same machine beside the link, told of every packet, and of the time when no packet came.
    #[test]
    fn a_link_reorders_as_its_state_machine_says(
        gaps in prop::collection::vec(0..30_000_000_u64, 1..100), percent in 1..=50_u32, distance in 1..5_u32,
        wait in 1..60_u64, megabits in proptest::option::of(1..10_u64),
    ) {
        let reorder = Reorder { share: share(f64::from(percent) / 100.0), distance, wait: Duration::from_millis(wait) };
        let rate = megabits.and_then(|megabits| Rate::from_bits_per_second(megabits * 1_000_000));
        let transmission = rate.map_or(Duration::ZERO, |rate| rate.transmission_time(100));
        let mut time = 0;
        let times: Vec<Instant> = gaps
            .iter()
            .map(|gap| {
                time += gap + transmission.as_nanos();
                Instant::from_nanos(time)
            })
            .collect();
        let config = LinkConfig { reorder: Some(reorder), rate, delay: DELAY, ..LinkConfig::default() };
        let found = sent_over(pair(&config, &config), Key::root(1, 0), &LinkConfig::default(), &times);

        let mut machine = Reorderer::new(reorder, Key::root(1, 0).entity(0));
        let mut expected = Vec::new();
        for (time, number) in times.iter().zip(0..) {
            let now = *time + transmission;
            while let Some(deadline) = machine.deadline().filter(|deadline| *deadline < now) {
                expected.extend(machine.release(deadline).map(|held| (deadline, held.handle)));
            }
            if machine.pass(number, now) == Pass::Go {
                expected.push((now, number));
            }
            expected.extend(std::iter::from_fn(|| machine.release(now)).map(|held| (now, held.handle)));
        }
        while let Some(deadline) = machine.deadline() {
            expected.extend(machine.release(deadline).map(|held| (deadline, held.handle)));
        }
        let found: Vec<_> = found.delivered.iter().map(|(at, _, number)| (*at - DELAY, *number)).collect();
        prop_assert_eq!(found, expected);
    }
}
