//! Links: queue, serialisation, propagation, and the conservation of packets.

use crate::common::{Event, Model, pair, star};
use proptest::prelude::*;
use wasp_kernel::NodeId;
use wasp_net::queue::QueueConfig;
use wasp_net::topology::{AccessConfig, Port};
use wasp_net::{Fate, LinkConfig, LinkId, Loss, Network, Scope};
use wasp_random::Key;
use wasp_units::{Bytes, Duration, Instant, Probability, Rate};

const HEADERS: u32 = 40;

fn access(both: LinkConfig) -> AccessConfig {
    AccessConfig { directions: pair(&both, &both), scope: Scope::Direction, key: Key::root(1, 0) }
}

fn rate(bits: u64) -> Option<Rate> {
    Rate::from_bits_per_second(bits)
}

/// A queue and a transmitter in the plainest form, with a list of what happens when: the oracle of the fast path.
fn queue_and_transmitter(
    sends: &[(u64, u32)],
    bits: u64,
    limit: u64,
    delay: u64,
) -> (Vec<(u64, u32)>, usize) {
    let rate = rate(bits).unwrap();
    let (mut queue, mut arrivals, mut drops) = (std::collections::VecDeque::new(), Vec::new(), 0);
    let mut transmitting: Option<(u64, u32)> = None;
    let mut transmit_until = |limit: u64,
                              queue: &mut std::collections::VecDeque<(u32, u32)>,
                              transmitting: &mut Option<(u64, u32)>| {
        while let Some((end, number)) = transmitting.filter(|(end, _)| *end <= limit) {
            arrivals.push((end + delay, number));
            *transmitting = queue
                .pop_front()
                .map(|(number, bytes)| (end + rate.transmission_time(u64::from(bytes)).as_nanos(), number));
        }
    };
    for (number, (time, bytes)) in sends.iter().enumerate() {
        transmit_until(*time, &mut queue, &mut transmitting);
        let waiting: u64 = queue.iter().map(|(_, bytes)| u64::from(*bytes)).sum();
        if transmitting.is_none() {
            transmitting = Some((time + rate.transmission_time(u64::from(*bytes)).as_nanos(), number as u32));
        } else if waiting + u64::from(*bytes) <= limit {
            queue.push_back((number as u32, *bytes));
        } else {
            drops += 1;
        }
    }
    transmit_until(u64::MAX - delay, &mut queue, &mut transmitting);
    (arrivals, drops)
}

proptest! {
    #[test]
    fn both_paths_are_packet_identical_to_a_queue_and_a_transmitter(
        gaps in prop::collection::vec((0..3_000_000_u64, 0..1460_u32), 1..200),
        megabits in 1..20_u64, limit in 0..20_000_u64, delay in 0..5_000_000_u64,
    ) {
        let mut time = 0;
        let sends: Vec<_> = gaps.iter().map(|(gap, bytes)| { time += gap; (time, bytes + HEADERS) }).collect();
        let fast = LinkConfig {
            rate: rate(megabits * 1_000_000), queue: Some(QueueConfig::drop_tail(Bytes::new(limit))), delay: Duration::from_nanos(delay), ..LinkConfig::default()
        };
        let (arrivals, drops) = queue_and_transmitter(&sends, megabits * 1_000_000, limit, delay);
        let counters = [fast.clone(), LinkConfig { by_queue: true, ..fast }].map(|config| {
            let mut kernel = star(&[access(config)], &LinkConfig::default());
            kernel.inject(Instant::ZERO, |_, scheduler| {
                for (number, (time, bytes)) in sends.iter().enumerate() {
                    let event = Event::Send { client: 0, up: true, number: number as u32, bytes: bytes - HEADERS };
                    scheduler.schedule(NodeId(2), Instant::from_nanos(*time), event);
                }
            });
            kernel.advance(Instant::MAX).unwrap();
            let Model { network, layout, delivered, .. } = kernel.process;
            let delivered: Vec<_> = delivered.iter().map(|(at, _, number)| (at.as_nanos(), *number)).collect();
            assert_eq!(delivered, arrivals);
            assert_eq!(network.fates().get(Fate::QueueFull), drops as u64);
            assert_eq!(network.made(), network.fates().total());
            *network.link(layout.hosts()[0].out).counters()
        });
        prop_assert_eq!(counters[0], counters[1]);
    }

    #[test]
    fn both_paths_bring_the_same_packets_at_the_same_times_over_two_links(
        gaps in prop::collection::vec((0..2_000_000_u64, 0..1_460_u32), 1..200), lost in 0..20_u32, mtu in 500..1_500_u16,
        own in any_transport(), shared in any_transport(), since in 0..100_000_000_u64, looks in prop::collection::vec(1..100_000_000_u64, 1..10),
    ) {
        let loss = Loss::Independent { rate: Probability::from_f64(f64::from(lost) / 100.0).unwrap() };
        let found = [false, true].map(|by_queue| {
            let [own, shared] = [&own, &shared].map(|link| LinkConfig { loss, mtu: Some(mtu), by_queue, ..link.clone() });
            let mut kernel = star(&[access(own)], &shared);
            let links = [kernel.process.layout.hosts()[0].out, kernel.process.layout.server.into];
            let since = Instant::from_nanos(since);
            links.iter().for_each(|link| kernel.process.network.observe(*link, since));
            kernel.inject(Instant::ZERO, |_, scheduler| {
                let mut time = 0;
                for ((gap, bytes), number) in gaps.iter().zip(0..) {
                    time += gap;
                    let event = Event::Send { client: 0, up: true, number, bytes: *bytes };
                    scheduler.schedule(NodeId(2), Instant::from_nanos(time), event);
                }
            });
            let mut now = Instant::ZERO;
            let mut seen = Vec::new();
            for gap in &looks {
                now += Duration::from_nanos(*gap);
                kernel.advance(now - Duration::from_nanos(1)).unwrap();
                let network = &mut kernel.process.network;
                seen.extend(links.map(|link| (network.look(link, now), waits(network, link, now))));
            }
            kernel.advance(Instant::MAX).unwrap();
            let Model { network, delivered, .. } = kernel.process;
            let counters = links.map(|link| *network.link(link).counters());
            (delivered, counters, *network.fates(), network.flows.loss_events(0, 1000), seen)
        });
        prop_assert_eq!(&found[0], &found[1]);
    }
}

/// The waiting times that a link kept before `now`, each with how many packets waited so long, to the precision of the histogram.
fn waits(network: &mut Network, link: LinkId, now: Instant) -> Option<Vec<(u64, u32)>> {
    let recorded = network.waits(link, now)?.iter_recorded();
    Some(recorded.map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value())).collect())
}

/// A rate and room for what waits, or neither; and a delay.
fn any_transport() -> impl Strategy<Value = LinkConfig> {
    (proptest::option::of((1..20_u64, proptest::option::of(0..20_000_u64))), 0..5_000_000_u64).prop_map(
        |(limits, delay)| LinkConfig {
            rate: limits.and_then(|(megabits, _)| rate(megabits * 1_000_000)),
            queue: limits.and_then(|(_, room)| room.map(|room| QueueConfig::drop_tail(Bytes::new(room)))),
            delay: Duration::from_nanos(delay),
            ..LinkConfig::default()
        },
    )
}

#[test]
fn a_packet_takes_serialisation_and_delay_on_every_link() {
    let config =
        LinkConfig { rate: rate(8_000_000), delay: Duration::from_millis(10), ..LinkConfig::default() };
    let shared =
        LinkConfig { rate: rate(80_000_000), delay: Duration::from_millis(1), ..LinkConfig::default() };
    let mut kernel = star(&[access(config)], &shared);
    kernel.inject(Instant::ZERO, |_, scheduler| {
        scheduler.schedule(
            NodeId(0),
            Instant::ZERO,
            Event::Send { client: 0, up: false, number: 9, bytes: 960 },
        );
    });
    kernel.advance(Instant::MAX).unwrap();
    let expected = Duration::from_micros(100)
        + Duration::from_millis(1)
        + Duration::from_millis(1)
        + Duration::from_millis(10);
    let node = kernel.process.layout.hosts()[0].node;
    assert_eq!(kernel.process.delivered, [(Instant::ZERO + expected, node, 9)]);
}

#[test]
fn every_packet_has_a_fate_or_is_in_flight() {
    let loss = Loss::Independent { rate: "30%".parse().unwrap() };
    let config = LinkConfig {
        rate: rate(500_000),
        queue: Some(QueueConfig::drop_tail(Bytes::new(5_000))),
        delay: Duration::from_millis(20),
        mtu: Some(1_000),
        loss,
        ..LinkConfig::default()
    };
    let mut kernel = star(&[access(config.clone()), access(config)], &LinkConfig::default());
    kernel.inject(Instant::ZERO, |_, scheduler| {
        for number in 0..4_000_u32 {
            let event = Event::Send {
                client: number % 3,
                up: number % 3 < 2 && number % 2 == 0,
                number,
                bytes: number % 1_100,
            };
            let event = match event {
                Event::Send { client: 2, number, bytes, .. } => {
                    Event::Send { client: 2, up: false, number, bytes }
                }
                other => other,
            };
            scheduler.schedule(NodeId(2), Instant::from_nanos(u64::from(number) * 1_000_000), event);
        }
    });
    for step in 0..50 {
        kernel.advance(Instant::from_nanos(step * 100_000_000)).unwrap();
        let network = &kernel.process.network;
        assert_eq!(network.made(), network.fates().total() + network.in_flight());
    }
    let fates = kernel.process.network.fates();
    for fate in [Fate::Delivered, Fate::RandomLoss, Fate::QueueFull, Fate::TooBig, Fate::NoRoute] {
        assert!(fates.get(fate) > 0, "{fate} never happened");
    }
}

#[test]
fn the_queue_integral_is_bytes_times_waiting_time() {
    let config = LinkConfig { rate: rate(8_000_000), ..LinkConfig::default() };
    let mut kernel = star(&[access(config)], &LinkConfig::default());
    kernel.inject(Instant::ZERO, |_, scheduler| {
        for number in 0..3 {
            scheduler.schedule(
                NodeId(2),
                Instant::ZERO,
                Event::Send { client: 0, up: true, number, bytes: 960 },
            );
        }
    });
    kernel.advance(Instant::MAX).unwrap();
    let link = kernel.process.layout.hosts()[0].out;
    let counters = kernel.process.network.link(link).counters();
    assert_eq!(counters.queue_integral, 1_000 * (1_000_000 + 2_000_000));
    assert_eq!(counters.queue_max, 2_000);
}

#[test]
fn a_link_that_is_observed_keeps_the_waits_of_packets_that_begin_transmission() {
    let kept = |since: u64, until: u64| {
        let mut kernel = star(
            &[access(LinkConfig { rate: rate(8_000_000), ..LinkConfig::default() })],
            &LinkConfig::default(),
        );
        let Port { out, into, .. } = kernel.process.layout.hosts()[0];
        let shared = kernel.process.layout.server.into;
        let [since, until] = [since, until].map(|millis| Instant::ZERO + Duration::from_millis(millis));
        for link in [out, shared] {
            kernel.process.network.observe(link, since);
        }
        kernel.inject(Instant::ZERO, |_, scheduler| {
            for number in 0..4 {
                let event = Event::Send { client: 0, up: true, number, bytes: 960 };
                let at = Instant::ZERO + Duration::from_millis(u64::from(number / 3));
                scheduler.schedule(NodeId(2), at, event);
            }
        });
        kernel.advance(until - Duration::from_nanos(1)).unwrap();
        let network = &mut kernel.process.network;
        assert_eq!((waits(network, shared, until), waits(network, into, until)), (None, None));
        let found = waits(network, out, until).unwrap();
        found.into_iter().map(|(nanos, count)| (nanos / 1_000_000, count)).collect()
    };
    // Three packets come at once, and one after 1 ms; each takes 1 ms.
    let all: Vec<(u64, u32)> = kept(0, 9);
    assert_eq!(all, [(0, 1), (1, 1), (2, 2)]);
    assert_eq!(kept(1, 9), [(1, 1), (2, 2)]);
    assert_eq!(kept(3, 9), [(2, 1)]);
    // The last one begins at 3 ms.
    assert_eq!(kept(0, 3), [(0, 1), (1, 1), (2, 1)]);
}

#[test]
fn a_layout_knows_which_host_a_link_a_node_or_an_address_is_of() {
    let layout = star(&vec![access(LinkConfig::default()); 3], &LinkConfig::default()).process.layout;
    for (number, port) in (0..).zip(layout.hosts()) {
        assert_eq!(
            (layout.host_reached_by(port.out), layout.host_reached_by(port.into)),
            (None, Some(number))
        );
        assert_eq!((layout.host_at(port.node), layout.host_with(port.address)), (Some(number), Some(number)));
    }
    let (server, last) = (layout.server, layout.hosts()[2]);
    assert_eq!((layout.host_reached_by(server.out), layout.host_reached_by(server.into)), (None, None));
    assert_eq!((layout.host_at(server.node), layout.host_with(server.address)), (None, None));
    assert_eq!(layout.host_with(last.address.offset(1).unwrap()), None);
    let empty = star(&[], &LinkConfig::default()).process.layout;
    assert_eq!((empty.host_at(last.node), empty.host_reached_by(last.into)), (None, None));
}

#[test]
fn what_is_too_big_meets_no_loss_model() {
    let loss = Loss::Periodic { every: 2 };
    let config = LinkConfig { mtu: Some(100), loss, ..LinkConfig::default() };
    let mut kernel = star(&[access(config)], &LinkConfig::default());
    let node = kernel.process.layout.hosts()[0].node;
    kernel.inject(Instant::ZERO, |_, scheduler| {
        for number in 0..40 {
            // Two that are too big after each one that is not.
            let bytes = if number % 3 == 0 { 60 } else { 61 };
            scheduler.schedule(node, Instant::ZERO, Event::Send { client: 0, up: true, number, bytes });
        }
    });
    kernel.advance(Instant::MAX).unwrap();
    let (network, link) = (&kernel.process.network, kernel.process.layout.hosts()[0].out);
    let counters = network.link(link).counters();
    assert_eq!((counters.packets, counters.dropped), (40, 26));
    assert_eq!((counters.dropped_too_big, counters.dropped_full(), counters.fragmented), (26, 0, 0));
    assert_eq!((counters.loss.packets(), counters.loss.lost), (14, 7));
    let fates = [Fate::TooBig, Fate::RandomLoss, Fate::Delivered].map(|fate| network.fates().get(fate));
    assert_eq!(fates, [26, 7, 7]);
    assert_eq!(kernel.process.network.look(link, Instant::MAX).carried_bytes, 7 * 100);
}
