//! RACK-TLP (RFC 8985) and proportional rate reduction (RFC 9937) as the wire shows them.

use crate::common::*;
use wasp_tcp::{Config, Nagle, ReceiveBuffer};
use wasp_units::Duration;

const MSS: usize = 1_000;
const RTT: Duration = Duration::from_millis(100);

fn config() -> Config {
    Config {
        mss: MSS as u16,
        timestamps: false,
        nagle: Nagle::Off,
        receive_buffer: ReceiveBuffer::Fixed(3 << 20),
        comp_sack_nr: 0,
        delayed_ack: Duration::ZERO,
        ..Config::linux()
    }
}

fn established() -> Pair {
    let mut pair = Pair::established(config(), config());
    pair.sides[CLIENT].keeping = false;
    pair
}

/// Drops the transmissions at `lost` (counted from zero, retransmissions too) of the server's data.
fn lose(lost: &'static [u64]) -> Path {
    bend(lost, Fate::Drop)
}

fn bend(which: &'static [u64], fate: Fate) -> Path {
    let mut sent = 0;
    Box::new(move |crossing| {
        let data = crossing.from == SERVER && crossing.len > 0;
        sent += u64::from(data);
        if data && which.contains(&(sent - 1)) { fate } else { Fate::Deliver }
    })
}

/// The server's data transmissions: milliseconds since `begin`, and which segment.
fn sent(pair: &Pair, begin: wasp_units::Instant) -> Vec<(u64, u32)> {
    let first = pair.data_from(SERVER).next().expect("data").0.header.sequence;
    let segment = |crossing: &Crossing| crossing.header.sequence.since(first) / MSS as u32;
    pair.data_from(SERVER)
        .map(|(crossing, _)| ((crossing.at - begin).as_nanos() / 1_000_000, segment(crossing)))
        .collect()
}

#[test]
fn a_lost_tail_is_probed_after_two_round_trips_and_repaired_without_a_timeout() {
    let mut pair = established();
    pair.path = lose(&[3, 4, 5]);
    let begin = pair.now;
    pair.send(SERVER, &pattern(6 * MSS));
    pair.run_for(Duration::from_secs(2));
    // The acknowledgments of the first three arrive at 100 ms; the PTO of two round trips ends at 300. The probe is the last
    // segment; its SACK, a round trip later, shows the other two to be overdue. One leaves for the one delivered (PRR-CRB).
    let repair = [(300, 5), (400, 3), (500, 4)];
    assert_eq!(sent(&pair, begin)[6..], repair);
    let statistics = *pair.server().statistics();
    assert_eq!((statistics.timeouts, statistics.fast_retransmits), (0, 1));
    assert_eq!(pair.server().unacknowledged(), 0);
    pair.finish();
}

#[test]
fn a_lone_lost_segment_is_probed_in_the_place_of_the_timeout_and_reduces_the_window() {
    let mut pair = established();
    pair.path = lose(&[5]);
    let begin = pair.now;
    pair.send(SERVER, &pattern(6 * MSS));
    pair.run_for(Duration::from_secs(2));
    // PTO = 2 SRTT + 200 ms for the peer's delayed acknowledgment, but not after the RTO of 300 ms.
    assert_eq!(sent(&pair, begin)[6..], [(400, 5)]);
    assert_eq!(pair.server().statistics().timeouts, 0);
    assert_eq!(pair.server().unacknowledged(), 0);
    // The probe repaired a loss: congestion control responds when more than the probe is acknowledged.
    let before = pair.server().ssthresh();
    pair.send(SERVER, &pattern(MSS));
    pair.run_for(Duration::from_secs(1));
    // An idle time ended with the initial window, and CUBIC takes 717/1024 of its ten segments (Linux `cubictcp_recalc_ssthresh`).
    assert_eq!((before, pair.server().ssthresh()), (u32::MAX, 7 * MSS as u32));
    pair.finish();
}

#[test]
fn a_probe_of_what_was_merely_late_leaves_the_window_alone() {
    let mut pair = established();
    // The last segment's acknowledgment comes 350 ms late, after the probe, which the receiver then reports as a D-SACK.
    pair.path = bend(&[5], Fate::Delay(Duration::from_millis(350)));
    pair.send(SERVER, &pattern(6 * MSS));
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.server().statistics().retransmitted, 1);
    pair.send(SERVER, &pattern(MSS));
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.server().ssthresh(), u32::MAX);
    pair.finish();
}

#[test]
fn a_probe_is_new_data_where_there_is_any() {
    let config = Config { initial_window: 4, ..config() };
    let mut pair = Pair::established(config.clone(), config);
    pair.sides[CLIENT].keeping = false;
    pair.path = lose(&[0, 1, 2, 3]);
    let begin = pair.now;
    pair.send(SERVER, &pattern(20 * MSS));
    pair.run_for(Duration::from_secs(3));
    let sent = sent(&pair, begin);
    assert_eq!(sent[4], (200, 4), "beyond the congestion window");
    assert_eq!(sent[5].0, 300, "its SACK shows that the window is lost");
    assert_eq!(sent[5].1, 0);
    assert_eq!(pair.server().statistics().timeouts, 0);
    assert_eq!(pair.sides[CLIENT].received_len, 20 * MSS as u64);
    pair.finish();
}

#[test]
fn one_segment_late_within_the_reordering_window_is_not_sent_again() {
    // A quarter of the least round-trip time is 25 ms. Two segments overtake it: fewer than three.
    let mut pair = established();
    pair.path = bend(&[2], Fate::Delay(Duration::from_millis(20)));
    pair.send(SERVER, &pattern(5 * MSS));
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.server().statistics().retransmitted, 0);
    assert_eq!(pair.server().ssthresh(), u32::MAX);
    pair.finish();
}

#[test]
fn the_reordering_timer_sends_again_what_stays_away_longer() {
    let mut pair = established();
    pair.path = lose(&[2]);
    let begin = pair.now;
    pair.send(SERVER, &pattern(5 * MSS));
    pair.run_for(Duration::from_secs(1));
    assert_eq!(sent(&pair, begin)[5..], [(125, 2)], "a round trip and a quarter");
    assert_eq!(pair.server().statistics().fast_retransmits, 1);
    pair.finish();
}

#[test]
fn each_duplicate_widens_the_reordering_window_once_reordering_is_seen() {
    let mut pair = established();
    let late = |pair: &mut Pair, index: &'static [u64], millis| {
        pair.path = bend(index, Fate::Delay(Duration::from_millis(millis)));
        pair.send(SERVER, &pattern(4 * MSS));
        pair.run_for(Duration::from_secs(1));
        pair.server().statistics().retransmitted
    };
    // Two overtake it, which is no loss yet; the late arrival shows reordering.
    assert_eq!(late(&mut pair, &[1], 20), 0);
    // From now on even three that overtake it prove nothing.
    assert_eq!(late(&mut pair, &[0], 20), 0);
    // A quarter of the round trip is too little. The D-SACK makes it half: 45 ms late is early enough.
    assert_eq!(late(&mut pair, &[0], 45), 1);
    assert_eq!(late(&mut pair, &[0], 45), 1);
    assert_eq!(late(&mut pair, &[0], 55), 2);
    assert_eq!(late(&mut pair, &[0], 70), 2);
    pair.finish();
}

#[test]
fn three_that_overtake_a_segment_prove_its_loss_while_no_reordering_is_seen() {
    let mut pair = established();
    pair.path = bend(&[0], Fate::Delay(Duration::from_millis(20)));
    pair.send(SERVER, &pattern(10 * MSS));
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.server().statistics().retransmitted, 1);
    pair.finish();
}

#[test]
fn a_lost_retransmission_is_found_without_a_timeout() {
    let mut pair = established();
    // Segment 0 and its retransmission, which is the server's 11th or later transmission.
    let mut zero = 0;
    let first = pair.template(SERVER).sequence;
    pair.path = Box::new(move |crossing| {
        let hit = crossing.from == SERVER && crossing.len > 0 && crossing.header.sequence == first;
        zero += u32::from(hit);
        if hit && zero <= 2 { Fate::Drop } else { Fate::Deliver }
    });
    let begin = pair.now;
    pair.send(SERVER, &pattern(60 * MSS));
    pair.run_for(Duration::from_secs(3));
    let again: Vec<_> = sent(&pair, begin).into_iter().filter(|(_, segment)| *segment == 0).collect();
    assert_eq!(again, [(0, 0), (100, 0), (200, 0)]);
    assert_eq!(pair.server().statistics().timeouts, 0);
    assert_eq!(pair.sides[CLIENT].received_len, 60 * MSS as u64);
    pair.finish();
}

#[test]
fn holes_that_are_not_lost_by_rfc_6675_are_repaired_in_three_rounds() {
    // W = 6, every second segment lost: `sack` needs five round trips (docs/tcp.md). At the third report all three are lost;
    // with two new segments in flight and ssthresh = 3, one leaves at once and the others with the next acknowledgments.
    let config = Config { initial_window: 6, initial_ssthresh: 6 * MSS as u32, ..config() };
    let mut pair = Pair::established(config.clone(), config);
    pair.sides[CLIENT].keeping = false;
    pair.path = lose(&[0, 2, 4]);
    pair.send_virtual(SERVER, 10_000_000);
    let begin = pair.now;
    pair.run_to(RTT * 20, |pair| 10_000_000 - pair.server().unacknowledged() >= 6 * MSS as u64);
    assert_eq!(pair.now - begin, RTT * 3);
    pair.finish();
}

#[test]
fn any_number_of_holes_takes_two_rounds_and_the_window_ends_at_the_threshold() {
    for window in [10, 24, 100] {
        for holes in 1..=4_u64 {
            let config = Config { initial_window: window, initial_ssthresh: window * MSS as u32, ..config() };
            let mut pair = Pair::established(config.clone(), config);
            pair.sides[CLIENT].keeping = false;
            let mut sent = 0;
            pair.path = Box::new(move |crossing| {
                let data = crossing.from == SERVER && crossing.len > 0;
                sent += u64::from(data);
                if data && sent <= holes { Fate::Drop } else { Fate::Deliver }
            });
            pair.send_virtual(SERVER, 10_000_000);
            let total = u64::from(window) * MSS as u64;
            let begin = pair.now;
            pair.run_to(RTT * 20, |pair| 10_000_000 - pair.server().unacknowledged() >= total);
            assert_eq!(pair.now - begin, RTT * 2, "W = {window}, {holes} holes");
            assert_eq!(pair.server().statistics().retransmitted, holes as u32);
            assert_eq!(pair.server().statistics().timeouts, 0);
            pair.finish();
        }
    }
}

/// A path that lets every tenth segment of the server's arrive 30 ms late.
fn reorder() -> Path {
    let mut sent = 0;
    Box::new(move |crossing| {
        sent += u64::from(crossing.from == SERVER && crossing.len > 0);
        let late = crossing.from == SERVER && crossing.len > 0 && sent % 10 == 0;
        if late { Fate::Delay(Duration::from_millis(30)) } else { Fate::Deliver }
    })
}

#[test]
fn reordering_takes_no_window_away() {
    let took = |path: Path| {
        let stamped = || Config { timestamps: true, ..config() };
        let mut pair = Pair::established(stamped(), stamped());
        pair.path = path;
        pair.send(SERVER, &pattern(2_000 * MSS));
        let begin = pair.now;
        while pair.server().unacknowledged() > 0 {
            pair.run_for(Duration::from_millis(10));
        }
        let took = pair.now - begin;
        pair.finish();
        took
    };
    let (straight, reordered) = (took(Box::new(|_| Fate::Deliver)), took(reorder()));
    assert!(reordered < straight + RTT * 2, "{reordered} with reordering, {straight} without");
}
