//! How many round trips each recovery variant needs for given losses in one window.
//!
//! Unit segments, an acknowledgment for each, unlimited data, infinite bandwidth, limited transmit off, a window of W
//! segments sent at once in congestion avoidance (cwnd = ssthresh = W), RTO of ten round trips. The value is the time in
//! round trips until all W are cumulatively acknowledged.

use crate::common::*;
use std::sync::{Arc, Mutex};
use wasp_tcp::{AckCounting, Config, CongestionKind, Nagle, RecoveryKind, RttEstimator, SendBufferSize};
use wasp_units::Duration;

const MSS: u32 = 1_000;
const RTT: Duration = Duration::from_millis(100);

fn config(recovery: RecoveryKind, window: u32) -> Config {
    Config {
        mss: MSS as u16,
        timestamps: false,
        recovery,
        congestion: CongestionKind::Reno,
        hystart: false,
        initial_window: window,
        initial_ssthresh: window * MSS,
        ack_counting: AckCounting::Acknowledgments,
        congestion_window_validation: false,
        limited_transmit: false,
        segmentation_offload: false,
        nagle: Nagle::Off,
        rtt_estimator: RttEstimator::Rfc6298,
        initial_rto: RTT * 10,
        min_rto: RTT * 10,
        delayed_ack: Duration::ZERO,
        ..Config::linux()
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Repair {
    rounds: u64,
    timeouts: u32,
    fast_retransmits: u32,
}

/// Loses the first transmissions of the segments at `lost` (from zero) of a window of `window`.
fn repair(config: Config, window: u32, lost: &[u32]) -> Repair {
    let mut pair = Pair::established(config.clone(), config);
    let first = pair.template(SERVER).sequence;
    let left = Arc::new(Mutex::new(lost.to_vec()));
    pair.path = Box::new(move |crossing| {
        let mut left = left.lock().expect("one thread");
        let index = crossing.header.sequence.since(first) / MSS;
        let hit = crossing.from == SERVER && crossing.len > 0 && left.contains(&index);
        left.retain(|other| !hit || *other != index);
        if hit { Fate::Drop } else { Fate::Deliver }
    });
    pair.sides[CLIENT].keeping = false;
    let begin = pair.now;
    pair.send_virtual(SERVER, 100_000_000);
    let total = u64::from(window * MSS);
    pair.run_to(RTT * 100, |pair| 100_000_000 - pair.server().unacknowledged() >= total);
    let (elapsed, statistics) = (pair.now - begin, *pair.server().statistics());
    assert_eq!(elapsed.as_nanos() % RTT.as_nanos(), 0, "whole round trips");
    pair.finish();
    Repair {
        rounds: elapsed.as_nanos() / RTT.as_nanos(),
        timeouts: statistics.timeouts,
        fast_retransmits: statistics.fast_retransmits,
    }
}

fn first(count: u32) -> Vec<u32> {
    (0..count).collect()
}

fn every_second(count: u32) -> Vec<u32> {
    (0..count).map(|n| 2 * n).collect()
}

const VARIANTS: [RecoveryKind; 3] = [RecoveryKind::Reno, RecoveryKind::NewReno, RecoveryKind::Sack];

/// The vectors of `tests/vectors/reference.py`, an implementation of its own; every cell must be equal.
#[test]
fn every_vector_is_met() {
    let mut differences = Vec::new();
    for line in include_str!("../../../tests/vectors/recovery.csv").lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [variant, window, lost, rounds, timeouts] = fields[..] else { panic!("five fields: {line}") };
        let number = |text: &str| text.parse::<u32>().expect("a number");
        let window = number(window);
        let lost: Vec<u32> = lost.split(' ').map(number).collect();
        let config = match variant {
            "reno" => config(RecoveryKind::Reno, window),
            "newreno" => config(RecoveryKind::NewReno, window),
            "sack" => config(RecoveryKind::Sack, window),
            "bsd1999" => {
                Config { bsd_ssthresh: true, bsd_duplicate_quirk: true, ..config(RecoveryKind::Reno, window) }
            }
            other => panic!("unknown variant {other}"),
        };
        let repair = repair(config, window, &lost);
        if (repair.rounds, repair.timeouts) != (u64::from(number(rounds)), number(timeouts)) {
            differences.push(format!("{line}: the endpoint needs {} and {}", repair.rounds, repair.timeouts));
        }
    }
    assert!(differences.is_empty(), "{} cells differ:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn every_variant_repairs_one_loss_in_two_rounds() {
    for kind in VARIANTS {
        for window in 6..=24 {
            for lost in 0..window - 3 {
                let repair = repair(config(kind, window), window, &[lost]);
                let expected = Repair { rounds: 2, timeouts: 0, fast_retransmits: 1 };
                assert_eq!(repair, expected, "{kind:?}, W = {window}, {lost} lost");
            }
        }
    }
}

#[test]
fn newreno_repairs_one_hole_a_round() {
    for window in 8..=24 {
        for holes in 1..=4 {
            let repair = repair(config(RecoveryKind::NewReno, window), window, &first(holes));
            let expected = Repair { rounds: 1 + u64::from(holes), timeouts: 0, fast_retransmits: 1 };
            assert_eq!(repair, expected, "W = {window}, {holes} holes");
        }
    }
}

#[test]
fn sack_repairs_any_number_of_holes_in_two_rounds() {
    for window in 10..=24 {
        for holes in 1..=4 {
            for lost in [first(holes), every_second(holes)] {
                let repair = repair(config(RecoveryKind::Sack, window), window, &lost);
                let expected = Repair { rounds: 2, timeouts: 0, fast_retransmits: 1 };
                assert_eq!(repair, expected, "W = {window}, {lost:?} lost");
            }
        }
    }
}

#[test]
fn reno_survives_two_losses_only_in_a_window_of_ten_or_more() {
    for window in 6..=8 {
        let repair = repair(config(RecoveryKind::Reno, window), window, &[0, 1]);
        assert_eq!(repair, Repair { rounds: 13, timeouts: 1, fast_retransmits: 1 }, "W = {window}");
    }
    for window in 10..=24 {
        let repair = repair(config(RecoveryKind::Reno, window), window, &[0, 1]);
        assert_eq!(
            repair,
            Repair { rounds: 3, timeouts: 0, fast_retransmits: 2 },
            "W = {window}: halved twice"
        );
    }
}

#[test]
fn reno_times_out_after_three_losses() {
    for window in 6..=12 {
        let repair = repair(config(RecoveryKind::Reno, window), window, &[0, 2, 4]);
        assert_eq!((repair.rounds, repair.timeouts), (14, 1), "W = {window}");
    }
}

#[test]
fn a_window_of_three_times_out_unless_limited_transmit_finds_more_duplicates() {
    for kind in VARIANTS {
        let config = Config { send_buffer: SendBufferSize::Fixed(1 << 20), ..config(kind, 3) };
        assert_eq!(repair(config.clone(), 3, &[0]).timeouts, 1, "{kind:?}");
        let repaired = repair(Config { limited_transmit: true, ..config }, 3, &[0]);
        assert_eq!((repaired.timeouts, repaired.rounds), (0, 3), "{kind:?}");
    }
}

#[test]
fn bsd_keeps_the_inflated_window_after_exactly_three_duplicates() {
    // Of four segments the first is lost: three duplicates, and nothing new to send.
    let window = |quirk| {
        let config = Config { bsd_duplicate_quirk: quirk, ..config(RecoveryKind::Reno, 4) };
        let mut pair = Pair::established(config.clone(), config);
        pair.path = {
            let mut first = true;
            Box::new(move |crossing| {
                let hit = first && crossing.from == SERVER && crossing.len > 0;
                first &= !hit;
                if hit { Fate::Drop } else { Fate::Deliver }
            })
        };
        pair.send_virtual(SERVER, 4_000);
        pair.run_for(RTT * 3);
        assert_eq!(pair.server().unacknowledged(), 0);
        let cwnd = pair.server().cwnd();
        pair.finish();
        cwnd
    };
    assert_eq!(window(false), 2 * MSS);
    assert_eq!(window(true), 5 * MSS);
}
