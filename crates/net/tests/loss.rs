//! Loss: rates against their conditional probabilities, burst lengths, scopes, keys.

use crate::common::{Event, pair, star};
use wasp_kernel::NodeId;
use wasp_net::queue::{CodelConfig, QueueConfig};
use wasp_net::topology::AccessConfig;
use wasp_net::{
    ArrivalOrder, Chain, Corrupt, Duplicate, Jitter, LinkConfig, Loss, LossEvents, LossTally, Scope, Start,
};
use wasp_random::{Key, Purpose};
use wasp_units::{Bytes, Duration, Instant, Probability, Rate};

fn probability(text: &str) -> Probability {
    text.parse().unwrap()
}

fn two_state(p: &str, start: Start) -> Loss {
    Loss::TwoState { p: probability(p), r: probability("65%"), start }
}

fn key() -> Key {
    Key::root(7, 0).purpose(Purpose::Loss)
}

/// The fates of `packets` packets of one chain.
fn run(loss: Loss, key: Key, packets: u64) -> (Vec<bool>, LossTally) {
    let (mut chain, mut tally) = (Chain::default(), LossTally::default());
    ((0..packets).map(|_| loss.lose(&mut chain, key, &mut tally)).collect(), tally)
}

/// Loss rate of the first `n` packets of a chain that starts in `good` (SPECS: pi [1 - l(1-l^n)/(n(1-l))], l = 1-p-r).
fn rate_of_first(n: i32, p: f64, r: f64) -> f64 {
    let (pi, l) = (p / (p + r), 1.0 - p - r);
    pi * (1.0 - l * (1.0 - l.powi(n)) / (f64::from(n) * (1.0 - l)))
}

#[test]
fn losses_agree_with_the_sum_of_their_conditional_probabilities() {
    for loss in [
        Loss::Independent { rate: probability("3%") },
        two_state("4%", Start::Good),
        two_state("7%", Start::Stationary),
    ] {
        let (_, tally) = run(loss, key(), 400_000);
        let (expected, variance) = loss.expected(&tally);
        let error = (tally.lost as f64 - expected) / variance.sqrt();
        assert!(error.abs() < 5.0, "{loss:?}: {error} standard errors");
        assert_eq!(tally.from_good + tally.from_bad, 400_000);
    }
}

#[test]
fn the_long_run_rate_is_the_stationary_one() {
    for (p, label) in [("2%", 0.029851), ("4%", 0.057971), ("7%", 0.097222)] {
        let loss = two_state(p, Start::Good);
        assert!((loss.stationary_rate() - label).abs() < 1e-6);
        let (_, tally) = run(loss, key(), 2_000_000);
        let rate = tally.lost as f64 / 2_000_000.0;
        // Correlated losses inflate the variance by (1+l)/(1-l) < 2 (SPECS 3.1).
        let deviation = (2.0 * label * (1.0 - label) / 2_000_000.0).sqrt();
        assert!((rate - label).abs() < 5.0 * deviation, "p = {p}: {rate}");
    }
}

#[test]
fn burst_lengths_are_geometric_with_mean_one_over_r() {
    let (fates, _) = run(two_state("4%", Start::Good), key(), 2_000_000);
    let bursts: Vec<usize> = fates.split(|lost| !lost).map(<[bool]>::len).filter(|len| *len > 0).collect();
    let n = bursts.len() as f64;
    let mean = bursts.iter().sum::<usize>() as f64 / n;
    assert!((mean - 1.0 / 0.65).abs() < 5.0 * (0.35_f64.sqrt() / 0.65) / n.sqrt(), "mean burst {mean}");
    // Chi-square over lengths 1..=6 and 7 or more: 6 degrees of freedom, 0.1 % critical value 22.46.
    let probability = |len: i32| if len < 7 { 0.35_f64.powi(len - 1) * 0.65 } else { 0.35_f64.powi(6) };
    let chi: f64 = (1..=7)
        .map(|len| {
            let seen =
                bursts.iter().filter(|burst| **burst as i32 == len || (len == 7 && **burst > 7)).count()
                    as f64;
            let expected = n * probability(len);
            (seen - expected).powi(2) / expected
        })
        .sum();
    assert!(chi < 22.46, "chi-square {chi}");
}

#[test]
fn a_short_connection_loses_what_the_table_says() {
    for (p, text) in [(0.02, "2%"), (0.04, "4%"), (0.07, "7%")] {
        for packets in [1_u64, 2, 5, 10, 50] {
            let chains = 1_000_000 / packets;
            let lost: u64 = (0..chains)
                .map(|entity| run(two_state(text, Start::Good), key().entity(entity), packets).1.lost)
                .sum();
            let rate = lost as f64 / (chains * packets) as f64;
            let expected = rate_of_first(packets as i32, p, 0.65);
            let deviation = (2.0 * expected / 1_000_000.0).sqrt();
            assert!(
                (rate - expected).abs() < 5.0 * deviation,
                "n = {packets}, p = {p}: {rate} instead of {expected}"
            );
        }
    }
    assert!((rate_of_first(5, 0.07, 0.65) - 0.0897).abs() < 5e-5);
}

#[test]
fn periodic_loss_takes_the_last_of_each_period() {
    let loss = Loss::Periodic { every: 7 };
    let (fates, tally) = run(loss, key(), 100);
    let lost: Vec<_> = (1..).zip(fates).filter_map(|(number, lost)| lost.then_some(number)).collect();
    assert_eq!(lost, (1..=14).map(|period| 7 * period).collect::<Vec<u32>>());
    assert_eq!((tally.from_good, tally.from_bad, tally.lost), (86, 14, 14));
    assert_eq!(loss.expected(&tally), (14.0, 0.0));
}

#[test]
fn impossible_and_certain_loss_are_exact() {
    assert_eq!(run(Loss::None, key(), 1_000).1.lost, 0);
    assert_eq!(run(Loss::Independent { rate: Probability::ZERO }, key(), 1_000).1.lost, 0);
    assert_eq!(run(Loss::Independent { rate: Probability::ONE }, key(), 1_000).1.lost, 1_000);
}

/// Sends a packet up and one down each microsecond, for each of two clients, and returns which were delivered.
fn delivered(scope: Scope, keys: [u64; 2]) -> Vec<(u32, u32)> {
    let link = LinkConfig { loss: two_state("7%", Start::Good), ..LinkConfig::default() };
    let directions = pair(&link, &link);
    let access =
        keys.map(|entity| AccessConfig { directions: directions.clone(), scope, key: key().entity(entity) });
    let mut kernel = star(&access, &LinkConfig::default());
    kernel.inject(Instant::ZERO, |_, scheduler| {
        for number in 0..4_000_u32 {
            let event = Event::Send { client: number / 2 % 2, up: number % 2 == 0, number, bytes: 0 };
            scheduler.schedule(NodeId(2), Instant::from_nanos(u64::from(number) * 1_000), event);
        }
    });
    kernel.advance(Instant::MAX).unwrap();
    kernel.process.delivered.iter().map(|(_, node, number)| (node.0, *number)).collect()
}

#[test]
fn draws_belong_to_the_client_whatever_its_place() {
    for scope in [Scope::Direction, Scope::Connection, Scope::Link] {
        let numbers = |keys, client: u32| -> Vec<u32> {
            let fates = delivered(scope, keys);
            fates
                .iter()
                .map(|(_, number)| *number)
                .filter(|number| number / 2 % 2 == client)
                .map(|n| n - 2 * client)
                .collect()
        };
        assert_eq!(
            numbers([5, 6], 0),
            numbers([8, 5], 1),
            "{scope:?}: the client with key 5 met another pattern elsewhere"
        );
        assert_ne!(numbers([5, 6], 0), numbers([5, 6], 1), "{scope:?}: two clients share their draws");
    }
}

#[test]
fn one_chain_a_connection_makes_losses_of_both_directions_neighbours() {
    let lost = |scope| {
        let seen: std::collections::BTreeSet<u32> =
            delivered(scope, [5, 6]).iter().map(|(_, number)| *number).collect();
        (0..4_000_u32).filter(|number| number / 2 % 2 == 0 && !seen.contains(number)).collect::<Vec<_>>()
    };
    // Of a loss upward, the packet downward that follows at once is the chain's next: lost with probability 0.35 if the chain is shared, 0.097 if not.
    let share = |lost: &[u32]| {
        let up: Vec<_> = lost.iter().filter(|number| **number % 2 == 0).collect();
        up.iter().filter(|number| lost.contains(&(**number + 1))).count() as f64 / up.len() as f64
    };
    assert!(share(&lost(Scope::Connection)) > 0.22);
    assert!(share(&lost(Scope::Direction)) < 0.22);
}

/// How often the connection of each of two clients has lost data, which both send and receive `bytes` each millisecond for a second; 100 ms away, over links
/// of which these lose packets.
fn loss_events(access: [Loss; 2], shared: LinkConfig, bytes: u32) -> [LossEvents; 2] {
    let delay = Duration::from_millis(50);
    let [forward, backward] = access.map(|loss| LinkConfig { delay, loss, ..LinkConfig::default() });
    let directions = pair(&forward, &backward);
    let client = |entity| AccessConfig {
        directions: directions.clone(),
        scope: Scope::Direction,
        key: key().entity(entity),
    };
    let mut kernel = star(&[client(0), client(1)], &shared);
    kernel.inject(Instant::ZERO, |_, scheduler| {
        for number in 0..4_000_u32 {
            let event = Event::Send { client: number % 2, up: number / 2 % 2 == 0, number, bytes };
            let at = Instant::ZERO + Duration::from_millis(u64::from(number / 4));
            scheduler.schedule(NodeId(2), at, event);
        }
    });
    kernel.advance(Instant::MAX).unwrap();
    [0, 1].map(|client| kernel.process.network.flows.loss_events(client, 1000))
}

#[test]
fn lost_data_counts_once_in_a_round_trip_on_every_link_and_in_its_direction() {
    let (none, every) = (Loss::None, Loss::Periodic { every: 4 });
    let shared = |loss| LinkConfig { loss, ..LinkConfig::default() };
    // One packet in 4 ms is lost, and ten times in a second a round trip has passed.
    let ten = |forward, backward| [LossEvents { forward, backward }; 2];
    assert_eq!(loss_events([every, none], shared(none), 100), ten(10, 0));
    assert_eq!(loss_events([none, every], shared(none), 100), ten(0, 10));
    let both = loss_events([none, none], shared(Loss::Periodic { every: 5 }), 100);
    assert!(both.iter().all(|events| events.forward >= 9 && events.backward >= 9), "{both:?}");
    // Acknowledgments are no data.
    assert_eq!(loss_events([every, every], shared(every), 0), ten(0, 0));
    assert_eq!(loss_events([none, none], shared(none), 100), ten(0, 0));
}

#[test]
fn a_full_queue_makes_the_round_trip_longer() {
    let shared = |queue: u64| LinkConfig {
        rate: Rate::from_bits_per_second(1_000_000),
        queue: Some(QueueConfig::drop_tail(Bytes::new(queue))),
        ..LinkConfig::default()
    };
    // 2.2 Mbit/s come. What waits behind 25 kB arrives 200 ms later: a round trip takes 300 ms, and four of them begin in a second.
    for by_queue in [false, true] {
        let events =
            |queue| loss_events([Loss::None; 2], LinkConfig { by_queue, ..shared(queue) }, 100)[0].backward;
        assert!(events(25_000) <= 4 && events(1_000) >= 8, "{} {}", events(25_000), events(1_000));
    }
}

#[test]
fn jitter_makes_the_round_trip_longer_by_its_mean() {
    let (min, max) = (Duration::from_millis(280), Duration::from_millis(320));
    let jitter = Some(Jitter::Uniform { min, max, order: ArrivalOrder::Kept });
    let shared = LinkConfig { loss: Loss::Periodic { every: 5 }, jitter, ..LinkConfig::default() };
    // A round trip takes 100 ms and twice 300 ms: two of them begin in a second.
    assert_eq!(loss_events([Loss::None; 2], shared, 100), [LossEvents { forward: 2, backward: 2 }; 2]);
}

#[test]
fn to_its_receiver_data_is_lost_where_no_packet_comes_whole() {
    let none = LossEvents::default();
    let corrupt = Some(Corrupt { share: Probability::ONE });
    let duplicate = Some(Duplicate { share: Probability::ONE });
    let lost = |shared| loss_events([Loss::None; 2], shared, 100)[0];
    let flipped = LinkConfig { corrupt, ..LinkConfig::default() };
    assert_eq!(lost(flipped.clone()), LossEvents { forward: 10, backward: 10 });
    assert_eq!(lost(LinkConfig { duplicate, ..flipped }), none);
    // There is no room for copies.
    let rate = Rate::from_bits_per_second(20_000_000);
    let full = LinkConfig {
        duplicate,
        rate,
        queue: Some(QueueConfig::drop_tail(Bytes::new(0))),
        ..LinkConfig::default()
    };
    assert_eq!(lost(full), none);
}

/// Packets of the second client may be marked, and those of the first may not.
#[test]
fn data_that_is_marked_counts_as_data_that_is_dropped() {
    let codel = CodelConfig { packets: Some(100_000), ecn: true, ..CodelConfig::default() };
    let narrow = LinkConfig {
        rate: Rate::from_bits_per_second(1_000_000),
        queue: Some(QueueConfig::Codel(codel)),
        ..LinkConfig::default()
    };
    let events = loss_events([Loss::None; 2], narrow.clone(), 100);
    // A packet in a hundred or so is dropped or marked, in the second half of a second, and its round trip takes longer the longer the queue is.
    assert!(events.iter().all(|events| (1..=5).contains(&events.backward)), "{events:?}");
    assert!(events.iter().all(|events| (1..=5).contains(&events.forward)), "{events:?}");
    // No mark of a packet with a flipped bit is heard of.
    let corrupt = Some(Corrupt { share: Probability::ONE });
    let wide = Rate::from_bits_per_second(1_000_000_000);
    let flipped = |rate| loss_events([Loss::None; 2], LinkConfig { corrupt, rate, ..narrow.clone() }, 100)[1];
    assert_eq!(flipped(wide), LossEvents { forward: 10, backward: 10 });
    let few = flipped(Rate::from_bits_per_second(1_000_000));
    assert!(few.backward <= 10 && few.forward <= 10, "{few:?}");
}

#[test]
fn runs_of_losses_begin_as_often_as_packets_leave_the_good_state() {
    assert!((Loss::Independent { rate: probability("3%") }.event_rate() - 0.03).abs() < 1e-12);
    assert!((Loss::Periodic { every: 8 }.event_rate() - 0.125).abs() < 1e-12);
    let loss = two_state("4%", Start::Good);
    let (fates, _) = run(loss, key(), 400_000);
    let begins = fates.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64 / 400_000.0;
    assert!((begins / loss.event_rate() - 1.0).abs() < 0.05, "{begins}");
}
