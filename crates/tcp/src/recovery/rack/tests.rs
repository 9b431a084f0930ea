use super::super::Agreed;
use super::super::bench::{Bench, FIRST, MSS, RTT, START, acked};
use super::*;

fn linux(segments: u32) -> Bench {
    Bench::new(Config::linux(), segments)
}

/// The state of a connection that has met a loss, or a probe, before.
fn rack(bench: &mut Bench) -> &mut Rack {
    bench.recovery.rack.get_or_insert_default()
}

#[test]
fn a_timeout_doubts_reordering_where_enough_had_overtaken_a_segment() {
    let mut rack = Rack { reordered_far: true, ..Rack::default() };
    rack.doubt_reordering(2, 3);
    assert!(rack.reordered_far());
    rack.doubt_reordering(3, 3);
    assert!(!rack.reordered_far());
}

/// Linux `tcp_enter_loss`: not in recovery.
#[test]
fn a_timeout_in_recovery_does_not_doubt_reordering() {
    for (phase, doubted) in [(Phase::Open, true), (Phase::Fast, false), (Phase::Loss, false)] {
        let mut bench = linux(10);
        bench.report(1, 4);
        rack(&mut bench).reordered_far = true;
        bench.recovery.phase = phase;
        bench.time_out();
        assert_eq!(rack(&mut bench).reordered_far, !doubted, "{phase:?}");
    }
}

#[test]
fn the_round_of_a_duplicate_ends_in_quiet_too() {
    let start = SequenceNumber(0);
    let mut recovery = Recovery::new(&Config::linux(), Agreed { sack: true, ecn: false }, start);
    let mut rack = Rack::default();
    rack.adapt(start, start + 1_000, true, false);
    recovery.rack = Some(Box::new(rack));
    // An uneventful acknowledgment behind the round, and then a duplicate when the numbers have gone half around.
    recovery.drag_along(start + 2_000);
    let later = start + 1_005 + (1 << 31);
    let rack = recovery.rack.as_mut().expect("it was made");
    rack.adapt(later, later, true, false);
    assert_eq!((rack.reo_wnd_mult, rack.dsack_round), (3, Some(later)));
}

#[test]
fn an_uneventful_acknowledgment_stops_the_reordering_timer() {
    let mut bench = linux(10);
    rack(&mut bench).deadline = bench.now + RTT;
    bench.acknowledge(1, None);
    assert_eq!(bench.recovery.reordering_deadline(), None);
}

/// Linux `tcp_init_undo`.
#[test]
fn only_a_probe_that_repeats_a_segment_counts_as_sent_again() {
    for (probes, counts) in [(&[true][..], true), (&[false], false), (&[true, false], false), (&[], false)] {
        let mut bench = linux(10);
        let next = bench.next;
        for again in probes {
            rack(&mut bench).on_probe(next, *again);
        }
        let duplicate = bench.range(9, 10);
        let (recovery, context) = bench.context();
        let rack = recovery.rack.get_or_insert_default();
        rack.on_fast_retransmit(&context);
        assert_eq!(rack.note_duplicate(duplicate, MSS), counts, "{probes:?}");
    }
}

/// Linux `tcp_init_undo`: of two retransmissions that are in flight, two must turn out needless.
#[test]
fn retransmissions_in_flight_count_as_sent_again() {
    let mut bench = linux(10);
    for index in [3, 4] {
        bench.scoreboard.retransmit(index, START);
    }
    let duplicates = [bench.range(3, 4), bench.range(4, 5)];
    let (recovery, context) = bench.context();
    let rack = recovery.rack.get_or_insert_default();
    rack.remember(&context);
    assert_eq!(duplicates.map(|range| rack.note_duplicate(range, MSS)), [false, true]);
}

/// Linux `tcp_retrans_stamp_cleanup`.
#[test]
fn the_first_retransmission_is_remembered_while_one_may_be_in_flight() {
    // Which segment is sent again, whether it is held then, and whether the first retransmission is remembered.
    let cases =
        [(None, false, false), (Some(3), false, true), (Some(3), true, false), (Some(0), false, true)];
    for (again, held, remembered) in cases {
        let mut bench = linux(10);
        if let Some(index) = again {
            bench.scoreboard.retransmit(index, START);
        }
        rack(&mut bench).note_retransmission(5);
        if held {
            let (left, right) = bench.range(3, 4);
            bench.scoreboard.sack(left, right, &mut Acked::default());
        }
        let (recovery, context) = bench.context();
        let rack = recovery.rack.get_or_insert_default();
        rack.forget_retransmissions(context.scoreboard);
        assert_eq!(rack.first_retransmission.is_some(), remembered, "{again:?} {held}");
        // What comes later is not the first.
        rack.note_retransmission(9);
        let first = if remembered { 5 } else { 9 };
        assert!(rack.answers_an_original(Some(first - 1)) && !rack.answers_an_original(Some(first)));
        assert!(!rack.answers_an_original(None), "without timestamps nothing tells");
    }
    assert!(Rack::default().answers_an_original(None), "nothing has been sent again");
}

/// Linux `tcp_try_to_open`: by the acknowledgment that ends recovery, and by any outside recovery.
#[test]
fn an_acknowledgment_outside_recovery_ends_the_memory_of_retransmissions() {
    // The phase, how many segments of ten are acknowledged, and what is held above.
    let cases = [
        (Phase::Open, 1, None, true),
        (Phase::Open, 1, Some((5, 6)), true),
        (Phase::Fast, 1, Some((5, 6)), false),
        (Phase::Fast, 10, None, true),
        (Phase::Loss, 9, None, false),
        (Phase::Loss, 10, None, true),
    ];
    for (phase, segments, held, forgotten) in cases {
        let mut bench = linux(10);
        rack(&mut bench).note_retransmission(5);
        bench.recovery.phase = phase;
        bench.recovery.recover = bench.next;
        bench.acknowledge(segments, held);
        let found = rack(&mut bench).first_retransmission.is_none();
        assert_eq!(found, forgotten, "{phase:?} {segments} {held:?}");
    }
}

/// Linux `tcp_process_loss`: step 3.a where something was sent since the timeout, 2.b before.
#[test]
fn frto_goes_on_only_while_acknowledgments_come_without_reports() {
    // What is newly held and acknowledged, whether something is sent behind the flight of the timeout, whether all of it is acknowledged
    // and new data waits; whether F-RTO goes on, waits for new data to leave, and begins a new flight.
    let cases = [
        ((0, MSS), (true, false, true), (true, false, false)),
        ((MSS, MSS), (true, false, true), (false, false, false)),
        ((MSS, 0), (true, false, true), (false, false, false)),
        // The report of a duplicate.
        ((0, 0), (true, false, true), (true, false, false)),
        ((0, MSS), (false, false, true), (true, true, true)),
        ((0, MSS), (false, false, false), (false, false, true)),
        ((0, 0), (false, false, true), (true, false, false)),
        ((MSS, 0), (false, false, true), (true, false, false)),
        ((0, 0), (false, true, true), (true, false, false)),
        ((0, MSS), (false, true, true), (true, false, false)),
    ];
    for case in cases {
        let ((sacked, bytes), (behind, all, waiting), (goes_on, waits, new_flight)) = case;
        let mut bench = linux(10);
        bench.may_send_new = waiting;
        let before = match (behind, all) {
            (true, _) => bench.next - MSS,
            (false, true) => FIRST,
            (false, false) => bench.next,
        };
        if all {
            bench.next = FIRST;
        }
        let mut recover = before;
        let mut rack = Rack { frto: true, ..Rack::default() };
        let acked = acked(|acked| (acked.sacked, acked.bytes) = (sacked, bytes));
        let next = bench.next;
        rack.watch_timeout(&bench.context().1, &acked, &mut recover);
        assert_eq!((rack.frto, rack.new_data_first), (goes_on, waits), "{case:?}");
        assert_eq!(recover, if new_flight { next } else { before }, "{case:?}");
    }
}

/// Linux `tcp_process_tlp_ack`.
#[test]
fn the_answer_to_a_probe_tells_whether_it_has_repaired_a_loss() {
    let end = FIRST;
    // Whether the probe repeats a segment; how far the acknowledgment is beyond it, what it reports as duplicate, whether it only repeats;
    // whether the probe is still in flight, and has repaired a loss.
    let cases = [
        ((false, 0, None, false), (false, false)),
        ((false, 1, None, false), (false, false)),
        ((true, 0, None, false), (true, false)),
        ((true, 1, None, false), (false, true)),
        ((true, 0, None, true), (false, false)),
        ((true, 0, Some(end), false), (false, false)),
        ((true, 1, Some(end), false), (false, false)),
        ((true, 0, Some(end - MSS), false), (true, false)),
        ((true, 1, Some(end - MSS), false), (false, true)),
    ];
    for case in cases {
        let ((again, beyond, reported, repeated), expected) = case;
        let mut rack = Rack::default();
        rack.on_probe(end, again);
        let acked = Acked::of_nothing(reported.map(|end| (end - MSS, end)), repeated);
        assert!(!rack.process_probe(end - 1, &acked), "before it");
        assert!(rack.is_probing());
        let repaired = rack.process_probe(end + beyond, &acked);
        assert_eq!((rack.is_probing(), repaired), expected, "{case:?}");
    }
}

/// Linux `tcp_schedule_loss_probe`.
#[test]
fn a_flight_of_which_nothing_is_known_is_probed() {
    let may_probe = |bench: &Bench| may_probe(&bench.recovery, &bench.scoreboard);
    let mut bench = linux(2);
    assert!(may_probe(&bench));
    for phase in [Phase::Fast, Phase::Loss] {
        bench.recovery.phase = phase;
        assert!(!may_probe(&bench), "{phase:?}");
    }
    bench.recovery.phase = Phase::Open;
    bench.report(1, 2);
    assert!(!may_probe(&bench), "a segment is held");
    bench.acknowledge(2, None);
    assert!(!may_probe(&bench), "nothing is in flight");
}

#[test]
fn while_segments_are_held_no_acknowledgment_is_uneventful() {
    let mut bench = linux(6);
    bench.report(3, 4);
    assert_eq!(bench.recovery.duplicates, 1);
    for (segments, duplicates) in [(1, 1), (2, 1), (4, 0), (5, 0)] {
        bench.acknowledge(segments, None);
        assert_eq!(bench.recovery.duplicates, duplicates, "{segments}");
    }
    // A D-SACK reports nothing new.
    let acked = Acked::of_nothing(Some(bench.range(0, 1)), false);
    bench.repeat(&acked);
    assert_eq!(bench.recovery.duplicates, 0);
}

/// Linux `tcp_check_sack_reordering`, from SND.UNA before the acknowledgment.
#[test]
fn a_hole_that_its_original_fills_was_overtaken_by_all_that_is_held_above_it() {
    for (held, far) in [(2, false), (3, false), (4, true)] {
        let mut bench = linux(10);
        // Fast recovery sends the hole again, before its original arrives.
        bench.report(1, held);
        bench.scoreboard.retransmit(0, START);
        bench.recovery.begin(bench.next);
        let (recovery, context) = bench.context();
        recovery.rack.get_or_insert_default().on_fast_retransmit(&context);
        bench.acknowledge(1, None);
        assert!(rack(&mut bench).reordering_seen, "{held}");
        assert_eq!(rack(&mut bench).reordered_far, far, "{held}");
    }
}

/// From the end of the segment to what was acknowledged or held before.
#[test]
fn a_segment_is_overtaken_far_by_three_segments_behind_it() {
    for (displaced, far) in [(2 * MSS, false), (3 * MSS - 1, false), (3 * MSS, true)] {
        let mut bench = linux(10);
        let acked = acked(|acked| (acked.sacked, acked.displaced) = (MSS, displaced));
        bench.repeat(&acked);
        assert_eq!(rack(&mut bench).reordered_far, far, "{displaced}");
    }
}

/// Linux `tcp_try_undo_dsack`.
#[test]
fn a_duplicate_reported_after_recovery_takes_the_reduction_back() {
    let mut bench = linux(10);
    let (before, next) = (bench.congestion.window(), bench.next);
    rack(&mut bench).on_probe(next, true);
    let (recovery, context) = bench.context();
    recovery.rack.get_or_insert_default().remember(&context);
    context.congestion.set_window(MSS, before / 2);
    let acked = Acked::of_nothing(Some(bench.range(9, 10)), false);
    bench.repeat(&acked);
    assert_eq!(bench.congestion.window(), before);
}

#[test]
fn a_segment_that_is_lost_outside_recovery_begins_one() {
    let mut bench = linux(10);
    bench.scoreboard.lose_first();
    bench.report(9, 10);
    assert!(bench.recovery.is_fast());
}

#[test]
fn the_reordering_timer_begins_recovery_only_where_something_is_lost() {
    let mut bench = linux(10);
    bench.report(1, 2);
    rack(&mut bench).rtt = RTT;
    // Nothing is overdue before a round trip and a quarter.
    for (part, fast) in [(4, false), (5, true)] {
        bench.now = START + RTT * part / 4;
        let (recovery, mut context) = bench.context();
        recovery.on_reordering_timeout(&mut context);
        assert_eq!(bench.recovery.is_fast(), fast, "{part}");
    }
}

#[test]
fn the_reordering_timer_reduces_nothing_in_recovery() {
    let mut bench = linux(10);
    bench.report(1, 5);
    assert!(bench.recovery.is_fast());
    rack(&mut bench).reordering_seen = true;
    bench.send(2);
    bench.now += RTT;
    bench.report(11, 12);
    let lost =
        |bench: &Bench| bench.scoreboard.get(10).is_some_and(|(_, segment)| segment.has(Segment::LOST));
    assert!(!lost(&bench), "a quarter of the round trip is left");
    let threshold = bench.congestion.ssthresh();
    bench.now += RTT / 4;
    let (recovery, mut context) = bench.context();
    recovery.on_reordering_timeout(&mut context);
    assert!(lost(&bench));
    assert_eq!(bench.congestion.ssthresh(), threshold);
}

/// Step 4: in recovery nothing waits, unless reordering has been seen.
#[test]
fn the_reordering_timer_allows_for_no_reordering_in_recovery() {
    let mut bench = linux(10);
    bench.report(1, 2);
    bench.recovery.begin(bench.next);
    rack(&mut bench).rtt = RTT;
    bench.now += RTT;
    let (recovery, mut context) = bench.context();
    recovery.on_reordering_timeout(&mut context);
    assert!(bench.scoreboard.first_is_lost());
}

/// Linux `tcp_cwnd_reduction`.
#[test]
fn an_acknowledgment_that_delivers_nothing_leaves_the_window_of_recovery() {
    let mut bench = linux(10);
    bench.report(1, 5);
    assert!(bench.recovery.is_fast());
    bench.congestion.set_window(MSS, 20 * MSS);
    let acked = Acked::of_nothing(Some(bench.range(1, 2)), false);
    bench.repeat(&acked);
    assert_eq!(bench.congestion.window(), 20 * MSS);
}

/// Linux `rack.advanced`.
#[test]
fn what_tells_of_no_arrival_shows_no_loss() {
    let mut bench = linux(10);
    bench.report(1, 2);
    bench.now += RTT * 2;
    let acked = Acked::of_nothing(Some(bench.range(1, 2)), false);
    bench.repeat(&acked);
    assert!(!bench.scoreboard.has_lost());
    bench.report(2, 5);
    assert!(bench.scoreboard.first_is_lost());
}

/// Linux `tcp_rack_mark_lost`, where a needless reduction has been taken back.
#[test]
fn segments_that_are_held_are_remembered_when_recovery_is_left() {
    let mut bench = linux(10);
    bench.time_out();
    bench.report(3, 4);
    assert!(bench.recovery.phase == Phase::Open);
    assert_eq!(bench.recovery.duplicates, 1);
}
