//! Whatever links do, every packet has one fate or is on its way, and what a link takes in is what it lets out, loses and drops.

use crate::common::{Event, Model, pair, star};
use crate::queue_disciplines::disciplines;
use proptest::prelude::*;
use wasp_kernel::NodeId;
use wasp_net::topology::AccessConfig;
use wasp_net::{
    ArrivalOrder, Corrupt, Duplicate, Fate, Jitter, LinkConfig, LinkId, Loss, Network, RateTrace, Reorder,
    Scope, Trace, TraceOptions, TraceStart,
};
use wasp_random::Key;
use wasp_units::{Bytes, Duration, Instant, Probability, Rate};

fn share(percent: u32) -> Probability {
    Probability::from_f64(f64::from(percent) / 100.0).unwrap()
}

fn any_order() -> impl Strategy<Value = ArrivalOrder> {
    prop_oneof![Just(ArrivalOrder::Kept), Just(ArrivalOrder::Free)]
}

fn any_jitter() -> impl Strategy<Value = Jitter> {
    let time = || (0..5_000_u64).prop_map(Duration::from_micros);
    prop_oneof![
        (time(), any_order()).prop_map(|(deviation, order)| Jitter::Normal { deviation, order }),
        (time(), any_order()).prop_map(|(mean, order)| Jitter::Pareto { mean, shape: 2.5, order }),
        (time(), any_order()).prop_map(|(max, order)| Jitter::Uniform { min: Duration::ZERO, max, order }),
    ]
}

fn any_link() -> impl Strategy<Value = LinkConfig> {
    let optional = |percents| proptest::option::of(percents);
    let impairments = (
        0..30_u32,
        optional(0..50_u32),
        optional(0..50_u32),
        proptest::option::of((0..=50_u32, 1..6_u32, 1..20_u64)),
        proptest::option::of(any_jitter()),
    );
    let transport = (
        optional(100..1_500_u32),
        proptest::option::of((1..40_u64, disciplines())),
        proptest::option::weighted(0.3, any_trace()),
        0..10_u64,
        any::<bool>(),
    );
    (impairments, transport).prop_map(
        |((lost, corrupted, doubled, late, jitter), (mtu, queue, trace, delay, by_queue))| LinkConfig {
            mtu: mtu.map(|mtu| mtu as u16),
            loss: Loss::Independent { rate: share(lost) },
            corrupt: corrupted.map(|percent| Corrupt { share: share(percent) }),
            duplicate: doubled.map(|percent| Duplicate { share: share(percent) }),
            queue: queue.map(|(_, discipline)| discipline),
            trace,
            rate: queue.and_then(|(megabits, _)| Rate::from_bits_per_second(megabits * 1_000_000)),
            reorder: late.map(|(percent, distance, wait)| Reorder {
                share: share(percent),
                distance,
                wait: Duration::from_millis(wait),
            }),
            delay: Duration::from_millis(delay),
            jitter,
            by_queue,
        },
    )
}

/// A trace that begins again at its end, so that every packet leaves.
fn any_trace() -> impl Strategy<Value = RateTrace> {
    let options = (any::<bool>(), 100..2_000_u64, 0..10_u64);
    (prop::collection::vec(0..4_u32, 1..20), options).prop_map(|(gaps, (random, opportunity, overhead))| {
        let mut time = 0;
        let lines = gaps.iter().map(|gap| {
            time += gap;
            format!("{time}\n")
        });
        let text: String = lines.chain(["100\n".to_owned()]).collect();
        let start = if random { TraceStart::Random } else { TraceStart::At(Duration::from_millis(5)) };
        RateTrace {
            trace: Trace::parse(&text).unwrap(),
            options: TraceOptions {
                repeat: true,
                start,
                opportunity: Bytes::new(opportunity),
                overhead: Bytes::new(overhead),
            },
        }
    })
}

/// What one direction of a link let out.
fn out(network: &Network, link: LinkId) -> u64 {
    let counters = network.link(link).counters();
    counters.packets + counters.duplicated - counters.loss.lost - counters.dropped
}

proptest! {
    #[test]
    fn packets_are_conserved_whatever_links_do(
        access in any_link(), shared in any_link(), seed in any::<u64>(),
        gaps in prop::collection::vec((0..2_000_000_u64, 0..1_460_u32, any::<(bool, bool)>()), 1..150),
    ) {
        let host = |entity| AccessConfig {
            directions: pair(&access, &access),
            scope: Scope::Direction,
            key: Key::root(seed, 0).entity(entity),
        };
        let mut kernel = star(&[host(0), host(1)], &shared);
        let mut last = 0;
        kernel.inject(Instant::ZERO, |_, scheduler| {
            for ((gap, bytes, (up, second)), number) in gaps.iter().zip(0..) {
                last += gap;
                let event = Event::Send { client: u32::from(*second), up: *up, number, bytes: *bytes };
                scheduler.schedule(NodeId(2), Instant::from_nanos(last), event);
            }
        });
        for step in 0..20 {
            kernel.advance(Instant::from_nanos(last * step / 10)).unwrap();
            let network = &kernel.process.network;
            prop_assert_eq!(network.made(), network.fates().total() + network.in_flight());
        }
        kernel.advance(Instant::MAX).unwrap();
        let Model { network, layout, delivered, refused, .. } = &kernel.process;
        prop_assert_eq!((network.in_flight(), network.pool.in_use()), (0, 0));
        prop_assert_eq!(network.fates().get(Fate::Delivered), delivered.len() as u64);
        let copies: u64 = (0..6).map(|link| network.link(LinkId(link)).counters().duplicated).sum();
        prop_assert_eq!(network.made(), gaps.len() as u64 + copies);
        let (server, hosts) = (&layout.server, layout.hosts());
        let up: u64 = hosts.iter().map(|port| out(network, port.out)).sum();
        let down: u64 = hosts.iter().map(|port| network.link(port.into).counters().packets).sum();
        prop_assert_eq!(up, network.link(server.into).counters().packets);
        prop_assert_eq!(down, out(network, server.out));
        let reached = delivered.iter().map(|(_, node, _)| node).chain(refused);
        prop_assert_eq!(reached.filter(|node| **node == server.node).count() as u64, out(network, server.into));
        let reorders = |link: &LinkConfig| link.jitter.is_some() || link.reorder.is_some();
        if !reorders(&access) && !reorders(&shared) {
            for flow in [(true, false), (true, true), (false, false), (false, true)] {
                let of_flow = delivered.iter().filter(|(.., number)| gaps[*number as usize].2 == flow);
                prop_assert!(of_flow.is_sorted_by_key(|(.., number)| *number));
            }
        }
    }
}
