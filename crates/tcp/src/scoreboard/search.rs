//! The search for segments that should have been answered by now (RFC 8985's RACK_detect_loss).
//!
//! What was sent once is in the order of its numbers and of its times at once; retransmissions stand in a queue of their own. What has been
//! found lost is not looked at again until it is sent again (Linux `tsorted_sent_queue`).

use super::{Scoreboard, Segment, Sent};
use std::collections::VecDeque;
use wasp_units::{Duration, Instant};
use wasp_wire::SequenceNumber;

/// Room kept for retransmissions when nothing is in flight.
const KEPT_CAPACITY: usize = 64;

/// What a search for segments that should have been answered by now has found.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Overdue {
    /// Some were taken for lost.
    pub(crate) lost: bool,
    /// When the last of the others will be overdue.
    pub(crate) next: Option<Instant>,
}

/// A retransmission: the end of its segment, and when it was sent.
#[derive(Clone, Copy, Debug)]
struct Resent {
    end: SequenceNumber,
    sent: Sent,
}

impl Resent {
    fn new(segment: &Segment) -> Self {
        Self { end: segment.end, sent: Sent::new(segment) }
    }
}

/// Segments in the order in which they were last sent.
#[derive(Debug, Default)]
pub(super) struct ByTime {
    /// Segments before this index are held, taken for lost, or were sent again. Those from it on were sent in the order of their numbers.
    fresh: u32,
    /// Retransmissions. One that does not fly any more stays until it comes to the front.
    resent: VecDeque<Resent>,
}

impl ByTime {
    /// So many segments left the front of the scoreboard, perhaps all.
    pub(super) fn advance(&mut self, popped: u32, all: bool) {
        self.fresh = self.fresh.saturating_sub(popped);
        if all {
            self.resent.clear();
            self.resent.shrink_to(KEPT_CAPACITY);
        }
    }
}

/// A search for what was sent before `newest`, which has arrived, and at least `wait` before `now`.
struct Search {
    newest: Sent,
    wait: Duration,
    now: Instant,
    found: Overdue,
}

/// What a search says of a segment in flight.
enum Fate {
    /// It was sent after what has arrived, and so was all that was sent after it.
    Later,
    /// It is lost.
    Overdue,
    /// It may still arrive.
    Waiting,
}

impl Search {
    fn judge(&mut self, segment: &Segment) -> Fate {
        if !self.newest.after(Sent::new(segment)) {
            return Fate::Later;
        }
        let due = segment.sent_at.saturating_add(self.wait);
        if due <= self.now {
            self.found.lost = true;
            return Fate::Overdue;
        }
        self.found.next = self.found.next.max(Some(due));
        Fate::Waiting
    }
}

impl Scoreboard {
    /// Takes for lost what was sent before `newest`, which has arrived, and at least `wait` ago (RFC 8985's
    /// RACK_detect_loss).
    ///
    /// The cost is that of what is newly lost, and of what was sent before `newest` and may still arrive.
    pub(crate) fn lose_overdue(&mut self, newest: Sent, wait: Duration, now: Instant) -> Overdue {
        let mut search = Search { newest, wait, now, found: Overdue::default() };
        let mut by_time = self.by_time.take().unwrap_or_default();
        self.search_fresh(&mut by_time.fresh, &mut search);
        self.search_resent(&mut by_time.resent, &mut search);
        self.by_time = Some(by_time);
        search.found
    }

    /// Judges what was sent once: in the order of the numbers.
    fn search_fresh(&mut self, fresh: &mut u32, search: &mut Search) {
        let mut index = *fresh as usize;
        let mut waiting = false;
        while let Some(&segment) = self.segments.get(index) {
            if segment.has(Segment::SACKED) {
                index = self.after_sacked(index);
            } else if segment.has(Segment::LOST | Segment::RESENT) {
                index += 1;
            } else {
                match search.judge(&segment) {
                    Fate::Later => break,
                    Fate::Overdue => self.lose(index),
                    Fate::Waiting => waiting = true,
                }
                index += 1;
            }
            if !waiting {
                *fresh = index as u32;
            }
        }
    }

    /// Judges retransmissions, and drops those before the first that may still arrive.
    fn search_resent(&mut self, resent: &mut VecDeque<Resent>, search: &mut Search) {
        let mut index = 0;
        while let Some(&retransmission) = resent.get(index) {
            let place = self.place_in_flight(retransmission);
            match place.map(|place| (search.judge(&self.segments[place]), place)) {
                Some((Fate::Later, _)) => break,
                Some((Fate::Waiting, _)) => {
                    index += 1;
                    continue;
                }
                Some((Fate::Overdue, place)) => self.lose(place),
                None => {}
            }
            if index == 0 {
                resent.pop_front();
            } else {
                index += 1;
            }
        }
    }

    /// The place of a segment that was sent again, if that transmission is its last and may still arrive.
    fn place_in_flight(&self, retransmission: Resent) -> Option<usize> {
        let place = self.segments.partition_point(|segment| segment.end.before(retransmission.end));
        let segment = self.segments.get(place)?;
        let same = segment.end == retransmission.end && Sent::new(segment) == retransmission.sent;
        (same && segment.flies()).then_some(place)
    }

    /// False only where nothing was sent again since the connection began.
    pub(crate) fn may_have_resent(&self) -> bool {
        self.by_time.is_some()
    }

    /// The segment at `index` has just been sent again.
    pub(super) fn note_resent(&mut self, index: usize) {
        let retransmission = Resent::new(&self.segments[index]);
        let mut by_time = self.by_time.take().unwrap_or_default();
        while by_time.resent.front().is_some_and(|first| self.place_in_flight(*first).is_none()) {
            by_time.resent.pop_front();
        }
        by_time.resent.push_back(retransmission);
        self.by_time = Some(by_time);
    }

    /// What was taken for lost or held may be in flight again.
    pub(super) fn look_at_all_again(&mut self) {
        let Some(by_time) = &mut self.by_time else { return };
        let again = self.segments.iter().filter(|segment| segment.has(Segment::RESENT));
        by_time.fresh = 0;
        by_time.resent.clear();
        by_time.resent.extend(again.map(Resent::new));
        // Orders are modulo 2^16: the latest transmission comes last.
        let oldest = self.transmissions.wrapping_add(1);
        let time = |one: &Resent| (one.sent.at, one.sent.order.wrapping_sub(oldest));
        by_time.resent.make_contiguous().sort_by_key(time);
    }

    /// The index after the run of segments that the receiver holds and `index` belongs to.
    fn after_sacked(&self, index: usize) -> usize {
        let start = self.start(index);
        let end = self.sacked.as_ref().and_then(|sacked| sacked.end_of(start));
        let after = |end| self.segments.partition_point(|segment| segment.end.at_or_before(end));
        end.map_or(0, after).max(index + 1)
    }

    /// Whether a search comes to this segment in flight.
    #[cfg(debug_assertions)]
    pub(super) fn will_look_at(&self, index: u32, segment: &Segment) -> bool {
        let Some(by_time) = &self.by_time else { return !segment.has(Segment::RESENT) };
        if !segment.has(Segment::RESENT) {
            return index >= by_time.fresh;
        }
        by_time.resent.iter().any(|one| one.sent == Sent::new(segment))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Acked;
    use super::*;
    use proptest::prelude::*;

    /// What happens to a scoreboard; places are modulo its length.
    #[derive(Clone, Debug)]
    enum Step {
        Push(u32, bool),
        Fin,
        Cut(u32),
        Acknowledge(u32),
        Hold(usize, usize),
        HoldBytes(u32, u32),
        Resend(usize),
        ResendLost,
        TimeOut,
        TimeOutFirst,
        Undo,
        Search { newest: usize, wait: u64 },
        Pass(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (1_u32..2_000, any::<bool>()).prop_map(|(bytes, joined)| Step::Push(bytes, joined)),
            1 => Just(Step::Fin),
            1 => (36_u32..1_500).prop_map(Step::Cut),
            2 => (1_u32..6_000).prop_map(Step::Acknowledge),
            3 => (0_usize..40, 1_usize..4).prop_map(|(first, count)| Step::Hold(first, count)),
            1 => (1_u32..20_000, 1_u32..4_000).prop_map(|(from, len)| Step::HoldBytes(from, len)),
            1 => (0_usize..40).prop_map(Step::Resend),
            4 => Just(Step::ResendLost),
            1 => Just(Step::TimeOut),
            1 => Just(Step::TimeOutFirst),
            1 => Just(Step::Undo),
            6 => (0_usize..40, 0_u64..30).prop_map(|(newest, wait)| Step::Search { newest, wait }),
            3 => (0_u64..20).prop_map(Step::Pass),
        ]
    }

    /// The places that a search of everything takes for lost, and what it finds.
    fn plain_search(board: &Scoreboard, newest: Sent, wait: Duration, now: Instant) -> (Vec<usize>, Overdue) {
        let (mut lost, mut found) = (Vec::new(), Overdue::default());
        for (index, segment) in board.segments.iter().enumerate() {
            if !segment.flies() || !newest.after(Sent::new(segment)) {
                continue;
            }
            let due = segment.sent_at.saturating_add(wait);
            if due <= now {
                lost.push(index);
                found.lost = true;
            } else {
                found.next = found.next.max(Some(due));
            }
        }
        (lost, found)
    }

    fn search(board: &mut Scoreboard, newest: usize, wait: Duration, now: Instant) {
        let Some(newest) = board.segments.get(newest).map(Sent::new) else { return };
        let (expected, found) = plain_search(board, newest, wait, now);
        let flew: Vec<bool> = board.segments.iter().map(Segment::flies).collect();
        assert_eq!(board.lose_overdue(newest, wait, now), found);
        let lands = |(index, segment): (usize, &Segment)| (flew[index] && !segment.flies()).then_some(index);
        let lost: Vec<usize> = board.segments.iter().enumerate().filter_map(lands).collect();
        assert_eq!(lost, expected);
    }

    fn apply(board: &mut Scoreboard, step: &Step, now: &mut Instant) {
        let len = board.len();
        let place = |place: usize| place % len.max(1);
        let end = |board: &Scoreboard| board.segments.back().map_or(board.una, |last| last.end);
        match *step {
            Step::Push(bytes, joined) => {
                board.push(end(board) + bytes, false, *now);
                if joined && len > 0 {
                    board.join_last();
                }
            }
            Step::Fin => board.push(end(board) + 1, true, *now),
            Step::Cut(most) => {
                let last = end(board);
                board.cut(most);
                assert_eq!(end(board), last);
            }
            Step::Acknowledge(bytes) => {
                let bytes = bytes.min(end(board).since(board.una));
                if bytes > 0 {
                    board.acknowledge(board.una + bytes, &mut Acked::default());
                }
            }
            Step::Hold(first, count) => {
                let first = place(first).max(1);
                if first < len {
                    let last = (first + count).min(len) - 1;
                    let (left, right) = (board.start(first), board.segments[last].end);
                    board.sack(left, right, &mut Acked::default());
                }
            }
            Step::HoldBytes(from, bytes) => {
                let (left, last) = (board.una + from, end(board));
                if left.before(last) {
                    board.sack(left, left + bytes.min(last.since(left)), &mut Acked::default());
                }
            }
            Step::Resend(at) if len > 0 && !board.segments[place(at)].has(Segment::SACKED) => {
                board.retransmit(place(at), *now);
            }
            Step::Resend(_) => {}
            Step::ResendLost => {
                if let Some(candidate) = board.next_candidate() {
                    board.retransmit(candidate, *now);
                }
            }
            Step::TimeOut => board.lose_all(),
            Step::TimeOutFirst => board.lose_first_and_sent_by(*now),
            Step::Undo => board.lose_nothing(),
            Step::Search { newest, wait } => {
                search(board, place(newest), Duration::from_millis(wait), *now);
            }
            Step::Pass(millis) => *now += Duration::from_millis(millis),
        }
        #[cfg(debug_assertions)]
        board.check();
    }

    proptest! {
        #[test]
        fn it_finds_what_a_look_at_everything_finds(steps in proptest::collection::vec(step(), 1..200)) {
            let mut board = Scoreboard::default();
            // The numbers wrap within the first segments.
            board.reset(SequenceNumber(u32::MAX - 3_000));
            let mut now = Instant::ZERO;
            for step in &steps {
                apply(&mut board, step, &mut now);
            }
        }
    }

    #[test]
    fn an_idle_connection_keeps_no_memory_of_a_large_loss() {
        let mut board = Scoreboard::default();
        board.reset(SequenceNumber(1));
        for end in 2..=10_001 {
            board.push(SequenceNumber(end), false, Instant::ZERO);
        }
        board.lose_all();
        while let Some(candidate) = board.next_candidate() {
            board.retransmit(candidate, Instant::ZERO);
        }
        board.acknowledge(SequenceNumber(10_001), &mut Acked::default());
        let by_time = board.by_time.as_ref().expect("retransmissions");
        assert!(by_time.resent.is_empty());
        assert!(by_time.resent.capacity() <= 2 * KEPT_CAPACITY, "{}", by_time.resent.capacity());
    }
}
