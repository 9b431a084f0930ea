//! How many round trips each recovery variant needs for given losses in one window.
//!
//! Unit segments, an acknowledgment for each, unlimited data, infinite bandwidth, limited transmit off, a window of W
//! segments sent at once in congestion avoidance (cwnd = ssthresh = W), RTO of ten round trips. The value is the time in
//! round trips until all W are cumulatively acknowledged.

mod common;

use common::*;
use std::sync::{Arc, Mutex};
use wasp_tcp::{AckCounting, Config, Nagle, RecoveryKind, RttEstimator};
use wasp_units::Duration;

const MSS: u32 = 1_000;
const RTT: Duration = Duration::from_millis(100);

fn config(recovery: RecoveryKind, window: u32) -> Config {
    Config {
        mss: MSS as u16,
        timestamps: false,
        recovery,
        initial_window: window,
        initial_ssthresh: window * MSS,
        ack_counting: AckCounting::Acknowledgments,
        congestion_window_validation: false,
        limited_transmit: false,
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

#[test]
#[ignore]
fn show() {
    for kind in [RecoveryKind::Reno, RecoveryKind::NewReno, RecoveryKind::Sack] {
        for window in [6, 7, 8, 10, 12, 16, 20] {
            for lost in [&[2][..], &[1, 3], &[0, 1], &[2, 5], &[1, 2, 3], &[0, 2, 4], &[1, 2, 3, 4]] {
                let r = repair(config(kind, window), window, lost);
                println!(
                    "{kind:?} W={window} {lost:?} {} to {} fr {}",
                    r.rounds, r.timeouts, r.fast_retransmits
                );
            }
        }
    }
}
