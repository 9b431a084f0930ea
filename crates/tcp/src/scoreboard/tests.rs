use super::*;
use proptest::prelude::*;

const FIRST: SequenceNumber = SequenceNumber(u32::MAX - 2_500);

/// So many segments of a thousand bytes in flight.
fn in_flight(segments: u32) -> Scoreboard {
    let mut board = Scoreboard::default();
    board.reset(FIRST);
    for end in 1..=segments {
        board.push(FIRST + end * 1_000, false, Instant::ZERO);
    }
    board
}

fn hold(board: &mut Scoreboard, left: u32, right: u32) -> Acked {
    let mut acked = Acked::default();
    board.sack(FIRST + left, FIRST + right, &mut acked);
    acked
}

#[test]
fn what_was_reported_before_is_not_delivered_again() {
    let mut board = in_flight(5);
    let acked = hold(&mut board, 1_000, 4_000);
    assert_eq!((acked.delivered(), acked.delivered_segments()), (3_000, 3));
    let mut acked = Acked::default();
    board.acknowledge(FIRST + 4_000, &mut acked);
    assert_eq!((acked.delivered(), acked.delivered_segments()), (1_000, 1));
    // Progress and a report at once.
    let mut board = in_flight(5);
    hold(&mut board, 1_000, 2_000);
    let mut acked = Acked::default();
    board.acknowledge(FIRST + 2_000, &mut acked);
    board.sack(FIRST + 3_000, FIRST + 5_000, &mut acked);
    assert_eq!((acked.delivered(), acked.delivered_segments()), (3_000, 3));
}

#[test]
fn a_segment_is_held_when_all_of_it_is_reported() {
    for (left, right, held) in
        [(500, 2_000, 1_000), (1_000, 2_500, 1_000), (500, 2_500, 1_000), (1_200, 1_800, 0)]
    {
        let mut board = in_flight(4);
        assert_eq!(hold(&mut board, left, right).sacked, held, "{left}..{right}");
        assert_eq!(board.sacked_segments(), held / 1_000);
    }
    // The rest of it may be reported later, and what is reported again counts once.
    let mut board = in_flight(4);
    hold(&mut board, 1_000, 2_500);
    assert_eq!(hold(&mut board, 1_000, 3_000).sacked, 1_000);
    assert_eq!(board.pipe(), 2_000);
}

#[test]
fn a_segment_sent_for_the_third_time_is_still_one_that_was_sent_again() {
    let mut board = in_flight(1);
    for sent in 1..=3 {
        board.lose_first();
        board.retransmit(0, Instant::ZERO);
        assert!(board.get(0).is_some_and(|(_, segment)| segment.has(Segment::RESENT)), "{sent}");
    }
    let mut acked = Acked::default();
    board.acknowledge(FIRST + 1_000, &mut acked);
    assert!(acked.resent);
}

#[test]
fn what_the_receiver_holds_is_not_outstanding() {
    let mut board = in_flight(3);
    assert!(!board.any_outstanding(Segment::LOST));
    board.lose_all();
    assert!(board.any_outstanding(Segment::LOST));
    assert!(!board.any_outstanding(Segment::RETRANSMITTED));
    board.retransmit(1, Instant::ZERO);
    assert!(board.any_outstanding(Segment::RETRANSMITTED));
    hold(&mut board, 1_000, 2_000);
    assert!(!board.any_outstanding(Segment::RETRANSMITTED));
}

const HELD: [u8; 3] = [0, Segment::SACKED, Segment::RETRANSMITTED];

/// Segments of these lengths, each held, on its way again or neither; the last ends with a FIN.
fn flight(segments: &[(u32, usize)]) -> Scoreboard {
    let mut scoreboard = Scoreboard::default();
    scoreboard.reset(FIRST);
    let mut end = FIRST;
    for (index, &(len, what)) in segments.iter().enumerate() {
        let (start, fin) = (end, index + 1 == segments.len());
        end = start + len + u32::from(fin);
        scoreboard.push(end, fin, Instant::ZERO);
        match HELD[what] {
            Segment::SACKED => scoreboard.sack(start, end, &mut Acked::default()),
            Segment::RETRANSMITTED => scoreboard.retransmit(index, Instant::ZERO),
            _ => {}
        }
    }
    scoreboard
}

proptest! {
    #[test]
    fn what_is_cut_is_lost_and_nothing_else_changes(
        segments in prop::collection::vec((1_u32..4_000, 0_usize..3), 1..30),
        most in 36_u32..1_500,
    ) {
        let mut scoreboard = flight(&segments);
        let ends = scoreboard.segments.iter().map(|segment| segment.end).collect::<Vec<_>>();
        let too_long = segments.iter().filter(|(len, what)| *len > most && HELD[*what] != Segment::SACKED);
        prop_assert_eq!(scoreboard.cut(most), too_long.clone().count() > 0);
        #[cfg(debug_assertions)]
        scoreboard.check();
        let mut start = FIRST;
        let mut lost = 0;
        let last = scoreboard.segments.back().expect("a segment").end;
        for segment in scoreboard.segments.iter() {
            let fin = segment.has(Segment::FIN);
            prop_assert_eq!(fin, segment.end == last);
            let payload = segment.end.since(start) - u32::from(fin);
            prop_assert!(start.before(segment.end) && (payload <= most || segment.has(Segment::SACKED)));
            if segment.has(Segment::LOST) {
                prop_assert!(!segment.has(Segment::RETRANSMITTED));
                lost += payload;
            }
            start = segment.end;
        }
        prop_assert_eq!(lost, too_long.map(|(len, _)| len).sum::<u32>());
        // Every end is still one.
        for end in ends {
            prop_assert!(scoreboard.segments.iter().any(|segment| segment.end == end));
        }
    }
}

#[test]
fn retransmissions_in_flight_are_of_segments_that_are_not_held() {
    let mut board = in_flight(4);
    assert_eq!((board.retransmissions(), board.first_was_resent()), (0, false));
    board.lose_all();
    for index in [1, 2] {
        board.retransmit(index, Instant::ZERO);
    }
    assert_eq!((board.retransmissions(), board.first_was_resent()), (2, false));
    hold(&mut board, 1_000, 2_000);
    assert_eq!((board.retransmissions(), board.first_was_resent()), (1, false));
    board.acknowledge(FIRST + 1_000, &mut Acked::default());
    assert_eq!((board.retransmissions(), board.first_was_resent()), (1, true));
}

#[test]
fn what_was_held_before_its_copy_came_was_overtaken() {
    // The first three of five are sent again, the second and the third are held, and so is the fourth.
    let arrive_twice = |left: u32, right: u32| {
        let mut board = in_flight(5);
        for index in 0..3 {
            board.retransmit(index, Instant::ZERO);
        }
        hold(&mut board, 1_000, 4_000);
        let mut acked = Acked::new(board.fack(), Instant::ZERO, FIRST);
        board.arrived_twice((FIRST + left, FIRST + right), &mut acked);
        (acked.reordered, acked.displaced)
    };
    assert_eq!(arrive_twice(1_000, 2_000), (true, 2_000));
    assert_eq!(arrive_twice(2_000, 3_000), (true, 1_000));
    assert_eq!(arrive_twice(0, 5_000), (true, 2_000), "the first of them is the farthest");
    assert_eq!(arrive_twice(0, 1_000), (false, 0), "it is not held");
    assert_eq!(arrive_twice(3_000, 4_000), (false, 0), "it was sent once");
    assert_eq!(arrive_twice(1_500, 2_500), (false, 0), "no segment is within");
    assert_eq!(arrive_twice(1_001, 2_000), (false, 0));
    assert_eq!(arrive_twice(1_000, 1_999), (false, 0));
}
