//! Rate traces: the format, the accounting of bytes, and the same as a walk over every millisecond.

use proptest::prelude::*;
use wasp_net::{RateTrace, Trace, TraceError, TraceOptions, TraceStart, TraceTransmitter};
use wasp_units::{Bytes, Duration, Instant};

const MILLI: u64 = 1_000_000;

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * MILLI)
}

fn trace(text: &str) -> Trace {
    Trace::parse(text).unwrap()
}

fn transmitter(trace: &Trace, options: &TraceOptions) -> TraceTransmitter {
    TraceTransmitter::new(&RateTrace { trace: trace.clone(), options: *options }, Duration::ZERO)
}

fn text(times: &[u32]) -> String {
    times.iter().map(|time| format!("{time}\n")).collect()
}

fn options(repeat: bool, opportunity: u64, overhead: u64) -> TraceOptions {
    TraceOptions {
        repeat,
        opportunity: Bytes::new(opportunity),
        overhead: Bytes::new(overhead),
        ..TraceOptions::default()
    }
}

/// When packets (arrival in nanoseconds, bytes) leave a queue without a bound.
fn transmitted(trace: &Trace, options: &TraceOptions, packets: &[(u64, u32)]) -> Vec<Option<u64>> {
    let mut transmitter = transmitter(trace, options);
    let mut free = Instant::ZERO;
    let send = |&(arrival, bytes): &(u64, u32)| {
        let finish = transmitter.finish(Instant::from_nanos(arrival).max(free), bytes);
        free = finish.unwrap_or(free);
        finish.map(Instant::as_nanos)
    };
    packets.iter().map(send).collect()
}

/// The same by a walk over the milliseconds, one opportunity after the other, as mahimahi's link queue goes: an opportunity serves the packet
/// in transmission and then those that came before it. Ends when all have left, or after `limit` milliseconds.
fn walked(times: &[u32], options: &TraceOptions, packets: &[(u64, u32)], limit: u64) -> Vec<Option<u64>> {
    let period = u64::from(*times.last().unwrap());
    let mut left = vec![None; packets.len()];
    let (mut next, mut unsent, mut last_departure) = (0, 0, None);
    for millis in 0..=limit {
        let comes = |time: &&u32| {
            let time = u64::from(**time);
            millis == time || options.repeat && millis > time && (millis - time).is_multiple_of(period)
        };
        for _ in 0..times.iter().filter(comes).count() {
            let mut room = options.opportunity.get();
            while room > 0 && next < packets.len() {
                let (arrival, bytes) = packets[next];
                if unsent == 0 {
                    // At the instant of an opportunity only a packet that takes over from another is in time.
                    let continues = last_departure == Some(millis * MILLI) && arrival == millis * MILLI;
                    if arrival >= millis * MILLI && !continues {
                        break;
                    }
                    unsent = u64::from(bytes) + options.overhead.get();
                }
                let sent = unsent.min(room);
                (unsent, room) = (unsent - sent, room - sent);
                if unsent == 0 {
                    last_departure = Some(millis * MILLI);
                    left[next] = last_departure;
                    next += 1;
                }
            }
        }
    }
    left
}

#[test]
fn full_packets_take_an_opportunity_each() {
    let trace = trace("5\n5\n10\n");
    let packets = [(0, 1_500); 5];
    let expected = [5, 5, 10, 15, 15].map(|millis| Some(millis * MILLI));
    assert_eq!(transmitted(&trace, &TraceOptions::default(), &packets), expected);
}

#[test]
fn small_packets_share_an_opportunity_and_what_nobody_waits_for_is_lost() {
    let trace = trace("5\n5\n10\n");
    // 34 packets of 40 bytes and 4 of overhead are 1,496 of 1,504 bytes; the next one begins in the same opportunity and ends in the second.
    let mut packets = vec![(0, 40); 35];
    // This one finds the rest of the second opportunity gone.
    packets.push((5 * MILLI + 1, 40));
    let left = transmitted(&trace, &TraceOptions::default(), &packets);
    assert!(left[..35].iter().all(|at| *at == Some(5 * MILLI)));
    assert_eq!(left[35], Some(10 * MILLI));
}

#[test]
fn a_packet_may_need_several_opportunities() {
    let trace = trace("2\n3\n7\n");
    let plain = options(true, 1_500, 0);
    assert_eq!(transmitted(&trace, &plain, &[(0, 1_501)]), [Some(3 * MILLI)]);
    assert_eq!(transmitted(&trace, &plain, &[(0, 65_535)]), [Some((14 * 7 + 3) * MILLI)]);
    // 1,499 bytes of the second opportunity serve the packet behind, and one more byte needs the third.
    assert_eq!(transmitted(&trace, &plain, &[(0, 1_501), (0, 1_499)])[1], Some(3 * MILLI));
    assert_eq!(transmitted(&trace, &plain, &[(0, 1_501), (0, 1_500)])[1], Some(7 * MILLI));
}

#[test]
fn a_packet_at_the_instant_of_an_opportunity_is_too_late_for_it() {
    let trace = trace("5\n");
    let mut transmitter = transmitter(&trace, &TraceOptions::default());
    assert_eq!(transmitter.finish(at(5), 100), Some(at(10)));
    // It may have waited for the packet before, which left at that instant.
    assert_eq!(transmitter.finish(at(10), 100), Some(at(10)));
    assert_eq!(transmitter.finish(Instant::from_nanos(10 * MILLI + 1), 100), Some(at(15)));
    assert_eq!(transmitter.finish(at(20), 100), Some(at(25)));
}

#[test]
fn the_last_time_is_the_zero_of_the_next_round() {
    let trace = trace("0\n10\n");
    let left = transmitted(&trace, &TraceOptions::default(), &[(0, 1_500); 5]);
    assert_eq!(left, [10, 10, 20, 20, 30].map(|millis| Some(millis * MILLI)));
}

#[test]
fn a_trace_that_does_not_repeat_is_dead_after_its_end() {
    let trace = trace("1\n4\n");
    let once = options(false, 1_504, 4);
    let left = transmitted(&trace, &once, &[(0, 1_500), (0, 1_500), (0, 40), (9 * MILLI, 40)]);
    assert_eq!(left, [Some(MILLI), Some(4 * MILLI), None, None]);
    // A packet that the end cuts off takes what is left with it.
    assert_eq!(transmitted(&trace, &once, &[(0, 1_501), (0, 1_504), (0, 1)]), [Some(4 * MILLI), None, None]);
    assert_eq!(transmitted(&trace, &once, &[(4 * MILLI, 40)]), [None]);
}

#[test]
fn a_jump_of_hours_costs_no_walk() {
    // 200,000 packets, each half a round of 100,000 opportunities after the one before: 10^10 steps if each were walked over.
    let times: Vec<u32> = (1..=100_000).map(|n| n * 36).collect();
    let hour = Trace::parse(&text(&times)).unwrap();
    assert_eq!(hour.period(), Duration::from_secs(3_600));
    let mut transmitter = transmitter(&hour, &TraceOptions::default());
    for packet in 0..200_000_u64 {
        let start = packet * 1_800_001;
        assert_eq!(transmitter.finish(at(start), 1_000), Some(at((start / 36 + 1) * 36)));
    }
}

#[test]
fn the_end_of_time_is_no_panic() {
    let mut transmitter = transmitter(&trace("7\n"), &TraceOptions::default());
    assert_eq!(transmitter.finish(Instant::MAX, 1_500), None);
    assert_eq!(transmitter.finish(Instant::MAX, u32::MAX), None);
    // 2^32 rounds of 49 days.
    let slow = options(true, 1, 0);
    assert_eq!(transmitted(&trace("4294967295\n"), &slow, &[(0, u32::MAX)]), [None]);
}

#[test]
fn the_mean_rate_is_that_of_full_packets() {
    let rate = |text, options: &TraceOptions| Trace::parse(text).unwrap().mean_rate(options).to_string();
    assert_eq!(rate("1\n", &TraceOptions::default()), "12Mbit/s");
    assert_eq!(rate("1\n", &options(true, 1_504, 0)), "12.032Mbit/s");
    assert_eq!(rate("0\n0\n3\n", &options(true, 1_500, 0)), "12Mbit/s");
    // Each packet has an overhead, and not each opportunity.
    assert_eq!(rate("1\n", &options(true, 752, 4)), "6Mbit/s");
    assert_eq!(rate("1\n", &options(true, 6_016, 4)), "48Mbit/s");
    assert_eq!(rate("4294967295\n", &options(true, 1, 0)), "1bit/s");
}

#[test]
fn what_is_no_trace_is_refused_with_its_line() {
    let cases = [
        ("", "no line; must have at least one time"),
        ("1\n\n2\n", "line 2: \"\"; must be a whole number of milliseconds such as 17"),
        ("1\n2.5\n", "line 2: \"2.5\"; must be a whole number of milliseconds such as 17"),
        ("-1\n", "line 1: \"-1\"; must be a whole number of milliseconds such as 17"),
        (" 1\n", "line 1: \" 1\"; must be a whole number of milliseconds such as 17"),
        ("+1\n", "line 1: \"+1\"; must be a whole number of milliseconds such as 17"),
        ("3\n4294967296\n", "line 2: 4294967296; must be at most 4294967295 ms, which is 49 days"),
        ("1\n9\n8\n", "line 3: 8 ms; must be at least 9 ms, the time on the line before"),
        (
            "0\n0\n",
            "line 2: 0 ms, as on every line before; the last time must be above zero, or the trace never ends",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(Trace::parse(text).unwrap_err().to_string(), message);
    }
    let long = "x".repeat(1_000);
    let Err(TraceError::NotAnInteger { line: 1, text }) = Trace::parse(&long) else { panic!("a long line") };
    assert_eq!(text.len(), 40);
}

#[test]
fn lines_end_as_on_either_system_and_the_last_needs_no_end() {
    assert_eq!(Trace::parse("1\r\n2\r\n"), Trace::parse("1\n2"));
    assert_eq!(Trace::parse("1\n2\n").unwrap().opportunities(), 2);
}

/// Times of a trace: at most 60 ms and 20 opportunities, many at once.
fn times() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(0..6_u32, 1..20).prop_map(|gaps| {
        let mut time = 0;
        let mut times: Vec<u32> = gaps
            .iter()
            .map(|gap| {
                time += gap.saturating_sub(2);
                time
            })
            .collect();
        if time == 0 {
            times.push(1);
        }
        times
    })
}

/// Packets in the order of their arrival: nanoseconds, many of them whole milliseconds, and bytes.
fn packets() -> impl Strategy<Value = Vec<(u64, u32)>> {
    let gap =
        prop_oneof![Just(0), (0..20_u64).prop_map(|millis| millis * MILLI), 0..40 * MILLI, Just(200 * MILLI)];
    prop::collection::vec((gap, prop_oneof![1..200_u32, Just(1_500), 1..5_000_u32]), 1..40).prop_map(
        |packets| {
            let mut time = 0;
            packets
                .into_iter()
                .map(|(gap, bytes)| {
                    time += gap;
                    (time, bytes)
                })
                .collect()
        },
    )
}

#[test]
fn a_trace_may_start_anywhere() {
    let trace = trace("2\n5\n10\n");
    let from = |start| RateTrace {
        trace: trace.clone(),
        options: TraceOptions { start, ..options(true, 1_504, 4) },
    };
    let first = |start, random| TraceTransmitter::new(&from(start), random).finish(Instant::ZERO, 1_500);
    let millis = Duration::from_millis;
    assert_eq!(first(TraceStart::At(millis(4)), millis(7)), Some(at(1)));
    assert_eq!(
        first(TraceStart::At(millis(5)), millis(7)),
        Some(at(5)),
        "the opportunity at the start is lost"
    );
    assert_eq!(first(TraceStart::Random, Duration::ZERO), Some(at(2)));
    assert_eq!(first(TraceStart::Random, millis(4)), Some(at(1)));
    // A time behind the end of the trace is one of a longer trace, beside which it has begun again.
    assert_eq!(first(TraceStart::Random, millis(24)), Some(at(1)));
    assert_eq!(first(TraceStart::Random, Duration::from_nanos(9_999_999)), Some(Instant::from_nanos(1)));
}

#[test]
fn options_without_a_meaning_are_named_with_what_is_valid() {
    let check = |options| {
        let trace = RateTrace { trace: trace("2\n5\n"), options };
        trace.check().err().map(|error| error.to_string()).unwrap_or_default()
    };
    let start = |start, repeat| TraceOptions { start, repeat, ..TraceOptions::default() };
    let after = |millis| TraceStart::At(Duration::from_millis(millis));
    assert_eq!(check(TraceOptions::default()), "");
    assert_eq!(check(options(true, 0, 0)), "opportunity: 0B; must be from 1B to 65535B");
    assert_eq!(check(options(true, 65_536, 0)), "opportunity: 64KiB; must be from 1B to 65535B");
    assert_eq!(check(options(true, 4, 4)), "overhead: 4B; must be less than opportunity, which is 4B");
    assert_eq!(check(start(after(4), false)), "");
    assert_eq!(check(start(after(5), true)), "start: 5ms; must be before the end of the trace, 5ms");
    assert_eq!(check(start(TraceStart::Random, true)), "");
    assert_eq!(
        check(start(TraceStart::Random, false)),
        "start: random; must be a time if the trace does not repeat"
    );
}

proptest! {
    #[test]
    fn a_transmitter_is_a_walk_over_milliseconds(
        times in times(), packets in packets(), repeat in any::<bool>(), opportunity in prop_oneof![Just(1_504), Just(1_500), 100..2_000_u64],
        overhead in 0..10_u64,
    ) {
        let trace = Trace::parse(&text(&times)).unwrap();
        let options = options(repeat, opportunity, overhead);
        prop_assert_eq!(RateTrace { trace: trace.clone(), options }.check(), Ok(()));
        let left = transmitted(&trace, &options, &packets);
        // A walk to the end of a repeating trace goes as far as the last departure.
        let last = left.iter().flatten().max().map_or(0, |at| at / MILLI);
        let limit = if repeat { last } else { last.max(100) };
        prop_assert!(!repeat || left.iter().all(Option::is_some));
        prop_assert_eq!(left, walked(&times, &options, &packets, limit));
    }

    #[test]
    fn a_later_start_is_a_later_time(
        times in times(), packets in packets(), repeat in any::<bool>(), share in 0.0..1.0_f64,
    ) {
        let trace = Trace::parse(&text(&times)).unwrap();
        let ahead = (trace.period().as_nanos() as f64 * share) as u64;
        let options = options(repeat, 1_504, 4);
        let later = TraceOptions { start: TraceStart::At(Duration::from_nanos(ahead)), ..options };
        let shifted: Vec<(u64, u32)> = packets.iter().map(|(at, bytes)| (at + ahead, *bytes)).collect();
        let left = transmitted(&trace, &later, &packets);
        let expected: Vec<_> =
            transmitted(&trace, &options, &shifted).into_iter().map(|at| at.map(|at| at - ahead)).collect();
        prop_assert_eq!(left, expected);
    }

    #[test]
    fn a_backlog_uses_every_byte_of_every_opportunity(
        times in times(), sizes in prop::collection::vec(1..4_000_u32, 1..60), opportunity in 10..2_000_u64, overhead in 0..10_u64,
    ) {
        let trace = Trace::parse(&text(&times)).unwrap();
        let packets: Vec<(u64, u32)> = sizes.iter().map(|bytes| (0, *bytes)).collect();
        let left = transmitted(&trace, &options(true, opportunity, overhead), &packets);
        // Opportunity number n after time 0, counted from 0. Those at 0 came too early for packets that come at 0.
        let early = times.iter().filter(|time| **time == 0).count();
        let period = u64::from(*times.last().unwrap());
        let time_of = |n: usize| {
            let n = n + early;
            (n / times.len()) as u64 * period + u64::from(times[n % times.len()])
        };
        let mut bytes = 0;
        for (packet, left) in sizes.iter().zip(left) {
            bytes += u64::from(*packet) + overhead;
            prop_assert_eq!(left, Some(time_of((bytes.div_ceil(opportunity) - 1) as usize) * MILLI));
        }
    }

    #[test]
    fn no_opportunity_carries_more_than_its_bytes(times in times(), packets in packets()) {
        let trace = Trace::parse(&text(&times)).unwrap();
        let left = transmitted(&trace, &TraceOptions::default(), &packets);
        prop_assert!(left.is_sorted());
        for (first, from) in left.iter().enumerate() {
            // What leaves from one departure to a later one has at most the opportunities between, both ends included, and those in which
            // the first packet began, which are before.
            for (last, to) in left.iter().enumerate().skip(first + 1) {
                let bytes: u64 = packets[first + 1..=last].iter().map(|(_, bytes)| u64::from(*bytes) + 4).sum();
                let span = from.unwrap() / MILLI..=to.unwrap() / MILLI;
                prop_assert!(bytes <= opportunities_in(&times, span) * 1_504);
            }
        }
    }

    #[test]
    fn any_text_is_a_trace_or_an_error_that_points_into_it(text in "[0-9\n\r .x-]{0,60}|\\PC{0,40}") {
        match Trace::parse(&text) {
            Ok(trace) => prop_assert_eq!(trace.opportunities(), text.lines().count()),
            Err(TraceError::Empty) => prop_assert_eq!(text.lines().count(), 0),
            Err(
                TraceError::NotAnInteger { line, .. } | TraceError::TooLate { line, .. } | TraceError::Decreasing { line, .. }
                | TraceError::OnlyZeros { line },
            ) => prop_assert!((1..=text.lines().count()).contains(&line)),
        }
    }

    #[test]
    fn what_is_written_is_read(times in times()) {
        let trace = Trace::parse(&text(&times)).unwrap();
        prop_assert_eq!(trace.opportunities(), times.len());
        prop_assert_eq!(trace.period(), Duration::from_millis(u64::from(*times.last().unwrap())));
    }
}

/// Opportunities of a repeating trace in these milliseconds.
fn opportunities_in(times: &[u32], span: std::ops::RangeInclusive<u64>) -> u64 {
    let period = u64::from(*times.last().unwrap());
    let up_to = |millis: u64| -> u64 {
        times
            .iter()
            .map(|time| u64::from(*time))
            .filter(|time| *time <= millis)
            .map(|time| (millis - time) / period + 1)
            .sum()
    };
    up_to(*span.end()) - span.start().checked_sub(1).map_or(0, up_to)
}
