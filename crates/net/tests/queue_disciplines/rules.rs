//! What holds for every discipline: conservation, order, marks, configuration; and that drop-tail has the room of the fast path.

use super::aimd::Sources;
use super::transmitter::{End, behind, megabits};
use crate::common::{Event, Model, pair, star};
use proptest::prelude::*;
use serde::Deserialize;
use serde::de::value::{Error, MapDeserializer};
use std::collections::BTreeMap;
use wasp_kernel::NodeId;
use wasp_net::queue::{
    CodelConfig, DropReason, DropTailConfig, FqCodelConfig, Item, PieConfig, Queue, QueueConfig, RedConfig,
    Taken,
};
use wasp_net::topology::AccessConfig;
use wasp_net::{Fate, LinkConfig, Scope};
use wasp_random::Key;
use wasp_units::{Bytes, Duration, Instant, Probability};

const HEADERS: u32 = 40;

/// Every discipline with tight limits, and with times so short that a few hundred packets show all it does.
pub(crate) fn disciplines() -> impl Strategy<Value = QueueConfig> {
    let (packets, bytes) = (prop::option::of(0..60_u32), prop::option::of(0..60_000_u64));
    (0..5, packets, bytes, any::<bool>()).prop_map(|(kind, packets, bytes, ecn)| {
        let red_bytes = Bytes::new(bytes.unwrap_or(60_000).max(100));
        let bytes = bytes.map(Bytes::new);
        let millis = Duration::from_millis;
        match kind {
            0 => QueueConfig::DropTail(DropTailConfig { packets, bytes }),
            1 => {
                let weight = Probability::from_f64(0.1).unwrap();
                QueueConfig::Red(RedConfig { packets, bytes: red_bytes, ecn, weight, ..RedConfig::default() })
            }
            2 => {
                let (target, interval) = (millis(1), millis(5));
                let rest = CodelConfig::default();
                QueueConfig::Codel(CodelConfig { packets, bytes, target, interval, ecn, ..rest })
            }
            3 => {
                let (target, interval, flows) = (millis(1), millis(5), 3);
                let ce_threshold = ecn.then_some(millis(2));
                let rest = FqCodelConfig::default();
                QueueConfig::FqCodel(FqCodelConfig {
                    packets,
                    bytes,
                    target,
                    interval,
                    flows,
                    ecn,
                    ce_threshold,
                    ..rest
                })
            }
            _ => {
                let (target, update, max_burst) = (millis(2), millis(1), millis(5));
                let rest = PieConfig { beta: 100.0, alpha: 10.0, ..PieConfig::default() };
                QueueConfig::Pie(PieConfig { packets, bytes, target, update, max_burst, ecn, ..rest })
            }
        }
    })
}

/// What is done to a queue.
#[derive(Clone, Copy, Debug)]
enum Call {
    Enqueue { bytes: u32, flow: u32, ecn_capable: bool },
    Dequeue,
}

fn calls() -> impl Strategy<Value = Vec<(u64, Call)>> {
    let enters = (1..1_500_u32, 0..4_u32, any::<bool>())
        .prop_map(|(bytes, flow, ecn_capable)| Call::Enqueue { bytes, flow, ecn_capable });
    prop::collection::vec((0..400_000_u64, prop_oneof![3 => enters, 2 => Just(Call::Dequeue)]), 1..400)
}

/// The packets that a queue should hold, with what it told of the others.
#[derive(Default)]
struct Ledger {
    waiting: BTreeMap<u32, Item<u32>>,
    /// The packet of each value of the hash that left last.
    last: BTreeMap<u32, u32>,
}

impl Ledger {
    fn drop_all(&mut self, dropped: Vec<(u32, DropReason)>) {
        for (handle, _) in dropped {
            assert!(self.waiting.remove(&handle).is_some(), "{handle} was dropped and is not here");
        }
    }

    fn leave(&mut self, taken: Taken<u32>, marks: bool) {
        let item = self.waiting.remove(&taken.handle).expect("a packet leaves that is here");
        assert_eq!(item.bytes, taken.bytes);
        assert!(!taken.marked || (marks && item.ecn_capable), "{} must not be marked", taken.handle);
        let before = self.last.insert(item.flow, taken.handle);
        assert!(before < Some(taken.handle), "{before:?} was overtaken by {}", taken.handle);
    }

    fn bytes(&self) -> u64 {
        self.waiting.values().map(|item| u64::from(item.bytes)).sum()
    }
}

/// Most packets and bytes that may wait.
fn limits(config: &QueueConfig) -> (usize, u64) {
    let (packets, bytes) = match *config {
        QueueConfig::DropTail(DropTailConfig { packets, bytes })
        | QueueConfig::Codel(CodelConfig { packets, bytes, .. })
        | QueueConfig::FqCodel(FqCodelConfig { packets, bytes, .. })
        | QueueConfig::Pie(PieConfig { packets, bytes, .. }) => (packets, bytes),
        QueueConfig::Red(RedConfig { packets, bytes, .. }) => (packets, Some(bytes)),
    };
    (packets.map_or(usize::MAX, |packets| packets as usize), bytes.map_or(u64::MAX, Bytes::get))
}

const fn marks(config: &QueueConfig) -> bool {
    match config {
        QueueConfig::DropTail(_) => false,
        QueueConfig::Red(RedConfig { ecn, .. })
        | QueueConfig::Codel(CodelConfig { ecn, .. })
        | QueueConfig::FqCodel(FqCodelConfig { ecn, .. })
        | QueueConfig::Pie(PieConfig { ecn, .. }) => *ecn,
    }
}

proptest! {
    #[test]
    fn packets_and_bytes_are_conserved_and_flows_keep_their_order(config in disciplines(), calls in calls()) {
        prop_assert_eq!(config.check(), Ok(()));
        let mut queue = Queue::new(&config, Some(megabits(10)), Key::root(7, 0));
        let (mut ledger, mut now) = (Ledger::default(), Instant::ZERO);
        let (most_packets, most_bytes) = limits(&config);
        let mut idle = true;
        for (handle, (gap, call)) in (0..).zip(calls) {
            now += Duration::from_nanos(gap);
            let mut dropped = Vec::new();
            match call {
                Call::Enqueue { bytes, flow, ecn_capable } => {
                    let at_once = idle && ledger.waiting.is_empty();
                    let room = ledger.waiting.len() < most_packets && ledger.bytes() + u64::from(bytes) <= most_bytes;
                    let item = Item { handle, bytes, flow, ecn_capable };
                    ledger.waiting.insert(handle, item);
                    queue.enqueue(item, now, &mut |handle, reason| dropped.push((handle, reason)));
                    let is_full = dropped.iter().any(|(_, reason)| *reason == DropReason::Full);
                    prop_assert!(!is_full || !(room || at_once), "there was room");
                    ledger.drop_all(dropped);
                    let fits = queue.packets() <= most_packets && queue.bytes() <= most_bytes;
                    prop_assert!(fits || (idle && queue.packets() == 1), "more waits than may");
                }
                Call::Dequeue => {
                    let taken = queue.dequeue(now, &mut |handle, reason| dropped.push((handle, reason)));
                    ledger.drop_all(dropped);
                    prop_assert!(taken.is_some() || ledger.waiting.is_empty());
                    idle = taken.is_none();
                    if let Some(taken) = taken {
                        ledger.leave(taken, marks(&config));
                    }
                }
            }
            prop_assert_eq!(queue.packets(), ledger.waiting.len());
            prop_assert_eq!(queue.bytes(), ledger.bytes());
        }
    }

    #[test]
    fn drop_tail_is_packet_identical_to_the_fast_path(
        gaps in prop::collection::vec((0..3_000_000_u64, 0..1460_u32), 1..200),
        rate in 1..20_u64, limit in 0..20_000_u64,
    ) {
        let mut time = 0;
        let sends: Vec<_> = gaps.iter().map(|(gap, payload)| { time += gap; (time, *payload) }).collect();
        let up = LinkConfig {
            rate: Some(megabits(rate)), queue: Some(QueueConfig::drop_tail(Bytes::new(limit))), ..LinkConfig::default()
        };
        let mut kernel = star(&[access(up)], &LinkConfig::default());
        kernel.inject(Instant::ZERO, |_, scheduler| {
            for (number, (time, bytes)) in (0..).zip(&sends) {
                let event = Event::Send { client: 0, up: true, number, bytes: *bytes };
                scheduler.schedule(NodeId(2), Instant::from_nanos(*time), event);
            }
        });
        kernel.advance(Instant::MAX).unwrap();
        let config = DropTailConfig { packets: None, bytes: Some(Bytes::new(limit)) };
        let mut link = behind(QueueConfig::DropTail(config), megabits(rate));
        for (handle, (time, payload)) in (0..).zip(&sends) {
            let item = Item { handle, bytes: payload + HEADERS, flow: 0, ecn_capable: false };
            link.arrive(item, Instant::from_nanos(*time));
        }
        link.advance(Instant::MAX);
        let left = link.log.iter().filter(|record| matches!(record.end, End::Left { .. })).map(|record| {
            let bytes = sends[record.handle as usize].1 + HEADERS;
            (record.at + megabits(rate).transmission_time(u64::from(bytes)), record.handle)
        });
        let delivered = kernel.process.delivered.iter().map(|(at, _, number)| (*at, *number));
        prop_assert_eq!(left.collect::<Vec<_>>(), delivered.collect::<Vec<_>>());
        let full = kernel.process.network.fates().get(Fate::QueueFull);
        prop_assert_eq!(link.dropped(DropReason::Full) as u64, full);
    }
}

fn access(both: LinkConfig) -> AccessConfig {
    AccessConfig { directions: pair(&both, &both), scope: Scope::Direction, key: Key::root(1, 0) }
}

#[test]
fn a_link_marks_packets_that_may_be_marked_and_drops_the_others() {
    let above = "1B".parse().unwrap();
    let red = RedConfig { min: above, weight: Probability::ONE, ecn: true, ..RedConfig::default() };
    let config = LinkConfig {
        rate: Some(megabits(10)),
        queue: Some(QueueConfig::Red(RedConfig { max_probability: Probability::ONE, ..red })),
        ..LinkConfig::default()
    };
    let mut kernel = star(&[access(config)], &LinkConfig::default());
    kernel.inject(Instant::ZERO, |_, scheduler| {
        for number in 0..20 {
            let event = Event::Send { client: 0, up: true, number, bytes: 1_460 };
            scheduler.schedule(NodeId(2), Instant::from_nanos(u64::from(number)), event);
        }
    });
    kernel.advance(Instant::MAX).unwrap();
    let Model { network, layout, marked, .. } = &kernel.process;
    let counters = network.link(layout.hosts()[0].out).counters();
    assert!(!marked.is_empty() && marked.iter().all(|number| number % 2 == 1), "{marked:?}");
    assert_eq!(counters.marked, marked.len() as u64);
    assert_eq!(counters.dropped_early, network.fates().get(Fate::QueueEarly));
    assert!(counters.dropped_early > 0 && counters.dropped == counters.dropped_early, "{counters:?}");
    assert_eq!(network.made(), network.fates().total());
}

#[test]
fn packets_are_a_limit_beside_bytes() {
    let config = DropTailConfig { packets: Some(3), bytes: Some(Bytes::new(2_000)) };
    let mut link = behind(QueueConfig::DropTail(config), megabits(10));
    for (handle, bytes) in (0..).zip([1_500, 100, 100, 100, 100, 1_500]) {
        link.arrive(Item { handle, bytes, flow: 0, ecn_capable: false }, Instant::ZERO);
    }
    // The first is in transmission, three wait, and neither the fifth nor the sixth finds room.
    assert_eq!((link.queue.packets(), link.queue.bytes(), link.dropped(DropReason::Full)), (3, 300, 2));
}

/// The disciplines that drop early, marking or not.
fn early(ecn: bool) -> [QueueConfig; 4] {
    [
        QueueConfig::Red(RedConfig { ecn, ..RedConfig::default() }),
        QueueConfig::Codel(CodelConfig { ecn, ..CodelConfig::default() }),
        QueueConfig::FqCodel(FqCodelConfig { ecn, ..FqCodelConfig::default() }),
        QueueConfig::Pie(PieConfig { ecn, ..PieConfig::default() }),
    ]
}

#[test]
fn marks_stand_in_for_drops_where_sender_and_queue_agree() {
    for (ecn, ecn_capable) in [(false, false), (false, true), (true, false), (true, true)] {
        for config in early(ecn) {
            let mut sources = Sources::new(config, 5, Duration::from_millis(100), ecn_capable);
            sources.advance(Instant::from_nanos(60_000_000_000));
            let (dropped, marked) = (sources.link.dropped(DropReason::Early), sources.link.marked());
            let agreed = ecn && ecn_capable;
            assert_eq!(dropped == 0, agreed, "{config:?}: {dropped} dropped of capable {ecn_capable}");
            assert_eq!(marked > 0, agreed, "{config:?}: {marked} marked of capable {ecn_capable}");
            assert_eq!(sources.link.dropped(DropReason::Full), 0, "{config:?}");
        }
    }
}

fn parse(fields: &[(&str, &str)]) -> Result<QueueConfig, Error> {
    QueueConfig::deserialize(MapDeserializer::new(fields.iter().copied()))
}

#[test]
fn a_kind_is_a_whole_configuration() {
    let whole = [
        ("drop-tail", QueueConfig::DropTail(DropTailConfig::default())),
        ("red", QueueConfig::Red(RedConfig::default())),
        ("codel", QueueConfig::Codel(CodelConfig::default())),
        ("fq-codel", QueueConfig::FqCodel(FqCodelConfig::default())),
        ("pie", QueueConfig::Pie(PieConfig::default())),
    ];
    for (kind, config) in whole {
        assert_eq!(parse(&[("kind", kind)]), Ok(config));
        assert_eq!(config.check(), Ok(()));
    }
}

#[test]
fn a_configuration_is_read_or_refused() {
    let red = RedConfig { min: "9KB".parse().unwrap(), max: "20%".parse().unwrap(), ..RedConfig::default() };
    let fields = [("kind", "red"), ("min", "9KB"), ("max", "0.2")];
    assert_eq!(parse(&fields), Ok(QueueConfig::Red(red)));
    let codel = CodelConfig { target: Duration::from_millis(20), ..CodelConfig::default() };
    assert_eq!(parse(&[("kind", "codel"), ("target", "20ms")]), Ok(QueueConfig::Codel(codel)));
    let cases: [(&[(&str, &str)], &str); 3] = [
        (&[("kind", "blue")], "unknown variant `blue`"),
        (
            &[("kind", "red"), ("min", "many")],
            "expected bytes such as 30KB, or a share of the queue such as 25%",
        ),
        (&[("kind", "codel"), ("limit", "9")], "unknown field `limit`"),
    ];
    for (fields, words) in cases {
        let error = parse(fields).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn a_queue_holds_more_at_first_than_in_the_long_run() {
    let packets = DropTailConfig { packets: Some(10), bytes: None };
    let cases = [
        (QueueConfig::DropTail(DropTailConfig::default()), 12, None, None),
        (QueueConfig::DropTail(packets), 12, Some(15_000), Some(15_000)),
        (QueueConfig::drop_tail(Bytes::new(64_000)), 12, Some(64_000), Some(64_000)),
        // Half way between 7,500 and 22,500 bytes.
        (QueueConfig::Red(RedConfig::default()), 12, Some(150_000), Some(15_000)),
        // 105 ms and 5 ms, or a packet; 165 ms and 15 ms, or two packets; at most 1,000 packets.
        (QueueConfig::Codel(CodelConfig::default()), 12, Some(157_500), Some(7_500)),
        (QueueConfig::Codel(CodelConfig::default()), 1, Some(13_125), Some(1_500)),
        (QueueConfig::FqCodel(FqCodelConfig::default()), 12, Some(157_500), Some(7_500)),
        (QueueConfig::Pie(PieConfig::default()), 12, Some(247_500), Some(22_500)),
        (QueueConfig::Pie(PieConfig::default()), 1, Some(20_625), Some(3_000)),
        (QueueConfig::Pie(PieConfig::default()), 100, Some(1_500_000), Some(187_500)),
    ];
    for (config, rate, first, lasting) in cases {
        assert_eq!(config.held_first(megabits(rate), 1_500), first.map(Bytes::new), "{config:?}");
        assert_eq!(config.held_in_the_long_run(megabits(rate), 1_500), lasting.map(Bytes::new), "{config:?}");
    }
}

#[test]
fn a_check_names_field_value_and_what_would_be_valid() {
    let (ms, zero) = (Duration::from_millis, Duration::ZERO);
    let red = RedConfig::default();
    let codel = CodelConfig::default();
    let fq_codel = FqCodelConfig::default();
    let pie = PieConfig::default();
    let cases = [
        (QueueConfig::Red(RedConfig { min: red.max, ..red }), "min: 15%; must be below max, 15% of 150000B"),
        (QueueConfig::Red(RedConfig { bytes: Bytes::new(0), ..red }), "bytes: 0B; must be above zero"),
        (QueueConfig::Red(RedConfig { weight: Probability::ZERO, ..red }), "weight: 0%; must be above 0%"),
        (
            QueueConfig::Red(RedConfig { max: "200KB".parse().unwrap(), ..red }),
            "max: 200000B; must be at most bytes, 150000B",
        ),
        (
            QueueConfig::Codel(CodelConfig { target: ms(200), ..codel }),
            "target: 200ms; must be at most interval, 100ms",
        ),
        (
            QueueConfig::Codel(CodelConfig { interval: zero, ..codel }),
            "interval: 0ms; must be above zero and at most 24h",
        ),
        (
            QueueConfig::FqCodel(FqCodelConfig { quantum: Bytes::new(100), ..fq_codel }),
            "quantum: 100B; must be from 256B to 65535B",
        ),
        (QueueConfig::FqCodel(FqCodelConfig { flows: 0, ..fq_codel }), "flows: 0; must be from 1 to 65535"),
        (
            QueueConfig::FqCodel(FqCodelConfig { ecn: false, ce_threshold: Some(ms(1)), ..fq_codel }),
            "ce_threshold: 1ms; must be absent where ecn is false, because nothing is marked",
        ),
        (
            QueueConfig::Pie(PieConfig { update: Duration::from_micros(1), ..pie }),
            "update: 1us; must be from 1ms to 86400s",
        ),
        (
            QueueConfig::Pie(PieConfig { max_burst: Duration::from_secs(86_401), ..pie }),
            "max_burst: 86401s; must be from 0ms to 86400s",
        ),
        (
            QueueConfig::Codel(CodelConfig { max_packet: Bytes::new(65_536), ..codel }),
            "max_packet: 64KiB; must be at most 65535B",
        ),
        (
            QueueConfig::Pie(PieConfig { alpha: f64::NAN, ..pie }),
            "alpha: NaN; must be above 0 and at most 1000",
        ),
        (
            QueueConfig::Pie(PieConfig { ecn_threshold: Probability::ONE, ..pie }),
            "ecn_threshold: 100%; must be absent where ecn is false, because nothing is marked",
        ),
    ];
    for (config, words) in cases {
        assert_eq!(config.check().unwrap_err().to_string(), words);
    }
}
