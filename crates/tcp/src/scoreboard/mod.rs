//! What is in flight, segment by segment, and how much of it still counts (RFC 6675 sections 2 to 4).
//!
//! One record a segment, in order, with what is known of it. `pipe` is kept by differences, so an acknowledgment costs
//! in proportion to what it newly acknowledges, not to the window.

mod search;

pub(crate) use search::Overdue;

use crate::fifo::Fifo;
use crate::ranges::{Range, Ranges};
use search::ByTime;
use wasp_units::Instant;
use wasp_wire::SequenceNumber;

/// One segment in flight. It starts where the one before it ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// When it was last sent.
    pub(crate) sent_at: Instant,
    /// The number after its last.
    pub(crate) end: SequenceNumber,
    /// Which transmission of the connection that was, modulo 2^16.
    order: u16,
    flags: u8,
}

impl Segment {
    /// The receiver holds it (SACK).
    pub(crate) const SACKED: u8 = 1;
    /// Its original transmission is taken for lost.
    pub(crate) const LOST: u8 = 2;
    /// A retransmission of it is in flight.
    pub(crate) const RETRANSMITTED: u8 = 4;
    /// It was sent more than once: no round-trip sample (Karn).
    pub(crate) const RESENT: u8 = 8;
    /// It ends with a FIN, which is its last number.
    pub(crate) const FIN: u8 = 16;
    /// It was sent in one frame with the segment before it.
    const JOINED: u8 = 32;

    pub(crate) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Whether its payload is longer than `most` bytes, and not known to be held. It begins at `start`.
    fn is_to_be_cut(&self, start: SequenceNumber, most: u32) -> bool {
        self.end.since(start) - u32::from(self.has(Self::FIN)) > most && !self.has(Self::SACKED)
    }

    /// Whether its last transmission may still arrive.
    fn flies(&self) -> bool {
        !self.has(Self::SACKED) && (!self.has(Self::LOST) || self.has(Self::RETRANSMITTED))
    }
}

/// Bytes that a segment of `len` bytes contributes to `pipe`.
const fn in_flight(flags: u8, len: u32) -> u32 {
    if flags & Segment::SACKED != 0 {
        return 0;
    }
    let original = if flags & Segment::LOST == 0 { len } else { 0 };
    let retransmission = if flags & Segment::RETRANSMITTED != 0 { len } else { 0 };
    original + retransmission
}

/// One, less the transmissions of a segment that are in the network.
const fn absence(flags: u8) -> i32 {
    1 - in_flight(flags, 1) as i32
}

/// What an acknowledgment newly covered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Acked {
    /// Bytes cumulatively acknowledged.
    pub(crate) bytes: u32,
    /// Segments wholly acknowledged.
    pub(crate) segments: u32,
    /// Bytes newly selectively acknowledged.
    pub(crate) sacked: u32,
    /// When the earliest of those segments was sent that were sent once.
    pub(crate) earliest: Option<Sent>,
    /// When the last of them, in the order of their numbers, was sent that was sent once.
    latest: Option<Instant>,
    /// Some segment among them had been sent twice.
    pub(crate) resent: bool,
    /// Bytes and segments cumulatively acknowledged that had been selectively acknowledged before.
    held: u32,
    held_segments: u32,
    /// Segments newly selectively acknowledged.
    sacked_segments: u32,
    /// The segment among them that was sent last; of a retransmission only if it was sent by `credible` at the latest.
    pub(crate) newest: Option<Sent>,
    /// When the segment was sent whose round trip is RACK.rtt: the last that is acknowledged cumulatively, else the highest that is reported
    /// (Linux `tcp_rack_advance`). A retransmission counts as for `newest`.
    pub(crate) timed: Option<Instant>,
    /// The number after the highest that is reported.
    timed_end: Option<SequenceNumber>,
    /// A retransmission sent later than this cannot be what is acknowledged.
    pub(crate) credible: Instant,
    /// The highest number acknowledged in any way before (RFC 8985's RACK.fack).
    fack: SequenceNumber,
    /// A segment was overtaken, by so many bytes behind it at most: one among them that lies below `fack` and was sent once, or one that was
    /// held before its copy came.
    pub(crate) reordered: bool,
    pub(crate) displaced: u32,
    /// SND.NXT when the present recovery began.
    high: SequenceNumber,
    /// Some segment among them was sent once, and before that (Linux `FLAG_ORIG_SACK_ACKED`).
    pub(crate) original: bool,
    /// The range that the acknowledgment reports to have been received twice (RFC 2883).
    pub(crate) duplicate: Option<Range>,
    /// While a probe is in flight: the segment does nothing but repeat an acknowledgment. It has no data, acknowledges nothing new in
    /// any way, and has neither a newer sequence number nor a window that is wider or zero (Linux: none of `FLAG_NOT_DUP`).
    pub(crate) repeated: bool,
}

impl Acked {
    /// What an acknowledgment is about to cover, with RFC 8985's means of telling whose transmission it answers, and the end of
    /// what was in flight when the present recovery began.
    pub(crate) fn new(fack: SequenceNumber, credible: Instant, high: SequenceNumber) -> Self {
        Self { fack, credible, high, ..Self::default() }
    }

    /// What an acknowledgment says that finds nothing in flight.
    pub(crate) fn of_nothing(duplicate: Option<Range>, repeated: bool) -> Self {
        Self { duplicate, repeated, ..Self::default() }
    }

    /// The earliest of these segments, none of them having been sent twice.
    fn unambiguous(&self) -> Option<Sent> {
        self.earliest.filter(|_| !self.resent)
    }

    /// When that was sent: a round-trip sample begins there.
    pub(crate) fn sample(&self) -> Option<Instant> {
        self.unambiguous().map(|sent| sent.at)
    }

    /// Takes down what a `report` tells beside a cumulative acknowledgment. Where that gives no sample, the earliest segment gives one
    /// that is reported and was sent once, whatever else is reported (Linux `tcp_ack_update_rtt`).
    pub(crate) fn report(&mut self, report: impl FnOnce(&mut Self)) {
        let sample = self.unambiguous();
        self.earliest = None;
        report(self);
        self.earliest = sample.or(self.earliest);
        self.resent = false;
    }

    /// The segment that ends at `end`, not after `fack`, was overtaken.
    #[inline]
    fn overtaken(&mut self, end: SequenceNumber) {
        self.reordered = true;
        self.displaced = self.displaced.max(self.fack.since(end));
    }

    /// When the last of the segments noted since the last call was sent that were sent once.
    #[inline]
    pub(crate) fn take_latest(&mut self) -> Option<Instant> {
        self.latest.take()
    }

    /// Bytes that are known to have left the network only now (RFC 9937's DeliveredData).
    pub(crate) fn delivered(&self) -> u32 {
        self.bytes - self.held + self.sacked
    }

    /// The same in segments, those acknowledged in part left out.
    pub(crate) fn delivered_segments(&self) -> u32 {
        self.segments - self.held_segments + self.sacked_segments
    }
}

/// A transmission: when, and which of those at that instant. (RFC 8985 compares sequence numbers instead; but what limited
/// transmit lets out is higher and yet earlier than the retransmission that follows it.)
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Sent {
    pub(crate) at: Instant,
    order: u16,
}

impl Sent {
    pub(crate) fn new(segment: &Segment) -> Self {
        Self { at: segment.sent_at, order: segment.order }
    }

    /// RFC 8985's RACK_sent_after.
    pub(crate) fn after(self, other: Self) -> bool {
        let later = (self.order.wrapping_sub(other.order) as i16) > 0;
        self.at > other.at || (self.at == other.at && later)
    }
}

/// Segments between SND.UNA and SND.NXT.
#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    segments: Fifo<Segment>,
    una: SequenceNumber,
    pipe: u32,
    /// By how many the segments on the scoreboard exceed those in the network: `pipe` in segments, by the difference, which is mostly zero.
    absent: i32,
    /// Transmissions so far, modulo 2^16.
    transmissions: u16,
    /// What the receiver reports to hold; made at the first loss.
    sacked: Option<Box<Ranges>>,
    /// Segments that it is known to hold.
    sacked_segments: u32,
    /// Segments before this index are sacked or retransmitted: RFC 6675's HighRxt, as a place to go on from.
    candidate: u32,
    /// Segments before this index are sacked or, by RFC 6675's rules, lost; those from it on are not lost by any rule.
    lost_end: u32,
    /// Made at the first search or retransmission.
    by_time: Option<Box<ByTime>>,
}

impl Scoreboard {
    pub(crate) fn reset(&mut self, una: SequenceNumber) {
        *self = Self { una, ..Self::default() };
    }

    /// SND.UNA: the first number not acknowledged.
    pub(crate) fn una(&self) -> SequenceNumber {
        self.una
    }

    /// Bytes thought to be in the network (RFC 6675 SetPipe).
    pub(crate) fn pipe(&self) -> u32 {
        self.pipe
    }

    /// The same in segments (Linux `tcp_packets_in_flight`).
    pub(crate) fn packets_in_flight(&self) -> u32 {
        (self.segments.len() as i32 - self.absent) as u32
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.segments.len()
    }

    /// The segment at `index`, with its first number.
    pub(crate) fn get(&self, index: usize) -> Option<(SequenceNumber, Segment)> {
        let segment = *self.segments.get(index)?;
        Some((self.start(index), segment))
    }

    fn start(&self, index: usize) -> SequenceNumber {
        match index.checked_sub(1) {
            None => self.una,
            Some(before) => self.segments[before].end,
        }
    }

    /// Appends a segment sent for the first time.
    pub(crate) fn push(&mut self, end: SequenceNumber, fin: bool, now: Instant) {
        let start = self.segments.back().map_or(self.una, |last| last.end);
        debug_assert!(start.before(end), "a segment in flight is not empty");
        self.pipe += end.since(start);
        let flags = if fin { Segment::FIN } else { 0 };
        self.transmissions = self.transmissions.wrapping_add(1);
        self.segments.push_back(Segment { sent_at: now, end, order: self.transmissions, flags });
    }

    /// The segment sent last belongs to one frame with the one before it: in Linux they are one `sk_buff`.
    pub(crate) fn join_last(&mut self) {
        if let Some(last) = self.segments.back_mut() {
            last.flags |= Segment::JOINED;
        }
    }

    /// The cumulative acknowledgment moves to `ack`, which lies after SND.UNA and not after the last segment.
    pub(crate) fn acknowledge(&mut self, ack: SequenceNumber, acked: &mut Acked) {
        acked.bytes = ack.since(self.una);
        let mut popped = 0;
        while let Some(&segment) = self.segments.front() {
            if segment.end.after(ack) {
                break;
            }
            let len = segment.end.since(self.una);
            self.pipe -= in_flight(segment.flags, len);
            if segment.has(Segment::SACKED | Segment::LOST | Segment::RETRANSMITTED) {
                self.absent -= absence(segment.flags);
            }
            if segment.has(Segment::SACKED) {
                self.sacked_segments -= 1;
                acked.held += len;
                acked.held_segments += 1;
            }
            if note(acked, &segment) {
                acked.timed = Some(segment.sent_at);
            }
            self.una = segment.end;
            popped += 1;
            self.segments.pop_front();
        }
        acked.segments = popped;
        if let Some(front) = self.segments.front() {
            self.pipe -= in_flight(front.flags, ack.since(self.una));
        }
        self.una = ack;
        self.candidate = self.candidate.saturating_sub(popped);
        self.lost_end = self.lost_end.saturating_sub(popped);
        if let Some(by_time) = &mut self.by_time {
            by_time.advance(popped, self.segments.is_empty());
        }
        if let Some(sacked) = &mut self.sacked {
            sacked.advance(ack);
        }
    }

    /// The receiver reports that it holds `left..right`, which lies above SND.UNA and not beyond the last segment.
    pub(crate) fn sack(&mut self, left: SequenceNumber, right: SequenceNumber, acked: &mut Acked) {
        let Self { segments, una, pipe, absent, sacked, sacked_segments, .. } = self;
        let sacked = sacked.get_or_insert_with(Box::default);
        sacked.insert(left, right, |part, merged| {
            let marked = mark_sacked(segments, *una, (&mut *pipe, &mut *absent), part, merged, acked);
            *sacked_segments += marked;
            acked.sacked_segments += marked;
        });
    }

    /// The receiver reports that `range` has arrived twice. A segment of it that was sent again, and was held before this report, had been
    /// overtaken, not lost (Linux `tcp_sacktag_one`). Call it before the segments are marked that are newly held.
    pub(crate) fn arrived_twice(&self, range: Range, acked: &mut Acked) {
        let mut index = self.segments.partition_point(|segment| segment.end.at_or_before(range.0));
        while let Some(segment) = self.segments.get(index)
            && segment.end.at_or_before(range.1)
        {
            let resent_in_vain = segment.has(Segment::SACKED) && segment.has(Segment::RESENT);
            if resent_in_vain && range.0.at_or_before(self.start(index)) {
                acked.overtaken(segment.end);
            }
            index += 1;
        }
    }

    /// Takes for lost whatever RFC 6675's IsLost finds: `threshold` separate ranges, or more than `threshold - 1`
    /// segments of bytes, are held above it. What was once taken for lost stays so.
    pub(crate) fn update_lost(&mut self, threshold: u32, mss: u32) {
        let mut bytes = 0;
        let enough = u64::from(threshold - 1) * u64::from(mss);
        let Some(sacked) = &self.sacked else { return };
        let frontier = sacked.last_first().zip(1..).find_map(|((left, right), count)| {
            bytes += u64::from(right.since(left));
            (count >= threshold || bytes > enough).then_some(left)
        });
        let Some(frontier) = frontier else { return };
        while let Some(segment) = self.segments.get(self.lost_end as usize) {
            if segment.end.after(frontier) {
                break;
            }
            if !segment.has(Segment::SACKED) {
                self.change(self.lost_end as usize, |flags| flags | Segment::LOST);
            }
            self.lost_end += 1;
        }
    }

    /// Takes the segment at `index` for lost, its latest retransmission included.
    fn lose(&mut self, index: usize) {
        self.change(index, |flags| (flags | Segment::LOST) & !Segment::RETRANSMITTED);
        self.lost_end = self.lost_end.max(index as u32 + 1);
        self.candidate = self.candidate.min(index as u32);
    }

    /// Takes for lost every frame with a segment of more than `most` bytes of payload that the receiver is not known to hold, its latest
    /// retransmission included, and cuts it anew into segments of `most` bytes (Linux `tcp_simple_retransmit`, `tcp_set_skb_tso_segs`). Returns whether
    /// there was any.
    pub(crate) fn cut(&mut self, most: u32) -> bool {
        let mut start = self.una;
        let is_long =
            |segment: &Segment| segment.is_to_be_cut(std::mem::replace(&mut start, segment.end), most);
        if !self.segments.iter().any(is_long) {
            return false;
        }
        let mut whole = std::mem::take(&mut self.segments);
        let mut start = self.una;
        (self.pipe, self.absent) = (0, 0);
        while let Some(mut segment) = whole.pop_front() {
            if segment.is_to_be_cut(start, most) {
                while let Some(next) = whole.front()
                    && next.has(Segment::JOINED)
                    && !next.has(Segment::SACKED)
                {
                    segment.end = next.end;
                    segment.flags |= next.flags & !Segment::JOINED;
                    whole.pop_front();
                }
                self.append_pieces(start, segment, most);
            } else {
                self.append(start, segment);
            }
            start = segment.end;
        }
        let settled = |segment: &&Segment| segment.has(Segment::SACKED | Segment::LOST);
        self.lost_end = self.segments.iter().take_while(settled).count() as u32;
        self.candidate = 0;
        self.look_at_all_again();
        true
    }

    /// The pieces of what is cut, which stay one frame. The last one has its FIN.
    fn append_pieces(&mut self, mut start: SequenceNumber, cut: Segment, most: u32) {
        let mut flags = cut.flags & !Segment::RETRANSMITTED;
        let last = cut.end - u32::from(cut.has(Segment::FIN));
        while last.since(start) > most {
            let end = start + most;
            self.append_piece(start, Segment { end, flags: flags & !Segment::FIN, ..cut });
            flags |= Segment::JOINED;
            start = end;
        }
        self.append_piece(start, Segment { flags, ..cut });
    }

    /// A piece is lost, unless the receiver has reported all of it: reports need not keep to the bounds of segments.
    fn append_piece(&mut self, start: SequenceNumber, piece: Segment) {
        let reported = self.sacked.as_ref().and_then(|sacked| sacked.end_of(start));
        let is_held = reported.is_some_and(|end| piece.end.at_or_before(end));
        self.sacked_segments += u32::from(is_held);
        let what = if is_held { Segment::SACKED } else { Segment::LOST };
        self.append(start, Segment { flags: piece.flags | what, ..piece });
    }

    /// Bytes of payload of the segment at `index`.
    pub(crate) fn payload_of(&self, index: usize) -> u32 {
        let payload = |(start, segment): (SequenceNumber, Segment)| {
            segment.end.since(start) - u32::from(segment.has(Segment::FIN))
        };
        self.get(index).map_or(0, payload)
    }

    fn append(&mut self, start: SequenceNumber, segment: Segment) {
        self.pipe += in_flight(segment.flags, segment.end.since(start));
        self.absent += absence(segment.flags);
        self.segments.push_back(segment);
    }

    /// The first segment that is lost and not on its way again.
    pub(crate) fn first_lost(&self) -> Option<usize> {
        let settled = Segment::SACKED | Segment::RETRANSMITTED;
        self.segments.iter().position(|segment| segment.has(Segment::LOST) && !segment.has(settled))
    }

    /// Whether segments may be lost.
    pub(crate) fn has_lost(&self) -> bool {
        self.lost_end > 0
    }

    /// Whether the first segment is taken for lost.
    pub(crate) fn first_is_lost(&self) -> bool {
        self.segments.front().is_some_and(|segment| segment.has(Segment::LOST))
    }

    /// Takes the first segment for lost, its latest retransmission included.
    pub(crate) fn lose_first(&mut self) {
        if !self.segments.is_empty() {
            self.lose(0);
        }
    }

    /// Nothing is taken for lost any more: the recovery was needless. Retransmissions stay in flight beside their originals.
    pub(crate) fn lose_nothing(&mut self) {
        for index in 0..self.segments.len() {
            self.change(index, |flags| flags & !Segment::LOST);
        }
        self.lost_end = 0;
        self.look_at_all_again();
    }

    /// Whether a segment that the receiver is not known to hold has one of `flags`.
    pub(crate) fn any_outstanding(&self, flags: u8) -> bool {
        self.segments.iter().any(|segment| segment.has(flags) && !segment.has(Segment::SACKED))
    }

    /// Segments that are not held and of which a retransmission may still arrive.
    pub(crate) fn retransmissions(&self) -> u32 {
        let in_flight =
            |segment: &&Segment| segment.has(Segment::RETRANSMITTED) && !segment.has(Segment::SACKED);
        self.segments.iter().filter(in_flight).count() as u32
    }

    /// Whether the first segment was sent again.
    pub(crate) fn first_was_resent(&self) -> bool {
        self.segments.front().is_some_and(|segment| segment.has(Segment::RESENT))
    }

    /// A timeout: everything that the receiver is not known to hold is lost, retransmissions included.
    pub(crate) fn lose_all(&mut self) {
        self.forget_if_reneged();
        for segment in self.segments.iter_mut() {
            if !segment.has(Segment::SACKED) {
                segment.flags = (segment.flags | Segment::LOST) & !Segment::RETRANSMITTED;
            }
        }
        self.pipe = 0;
        self.absent = self.segments.len() as i32;
        self.candidate = 0;
        self.lost_end = self.segments.len() as u32;
    }

    /// A timeout by RFC 8985's RACK_mark_losses_on_RTO: only the first segment and what was sent by `limit` is lost.
    pub(crate) fn lose_first_and_sent_by(&mut self, limit: Instant) {
        self.forget_if_reneged();
        for index in 0..self.segments.len() {
            let segment = self.segments[index];
            if !segment.has(Segment::SACKED) && (index == 0 || segment.sent_at <= limit) {
                self.lose(index);
            }
        }
    }

    /// A first segment marked as held means that the receiver has discarded what it reported (RFC 2018 section 8):
    /// its reports are then forgotten.
    fn forget_if_reneged(&mut self) {
        if !self.segments.front().is_some_and(|segment| segment.has(Segment::SACKED)) {
            return;
        }
        self.sacked = None;
        self.sacked_segments = 0;
        for index in 0..self.segments.len() {
            self.change(index, |flags| flags & !Segment::SACKED);
        }
        self.candidate = 0;
        self.look_at_all_again();
    }

    /// The highest number acknowledged in any way (RFC 8985's RACK.fack).
    pub(crate) fn fack(&self) -> SequenceNumber {
        self.sacked.as_ref().and_then(|sacked| sacked.end()).map_or(self.una, |end| end.max(self.una))
    }

    /// Segments that the receiver is known to hold above SND.UNA.
    pub(crate) fn sacked_segments(&self) -> u32 {
        self.sacked_segments
    }

    /// The first segment that is neither held nor retransmitted: RFC 6675 NextSeg's candidate.
    pub(crate) fn next_candidate(&mut self) -> Option<usize> {
        while let Some(segment) = self.segments.get(self.candidate as usize) {
            if !segment.has(Segment::SACKED | Segment::RETRANSMITTED) {
                return Some(self.candidate as usize);
            }
            self.candidate += 1;
        }
        None
    }

    /// Whether the segment at `index` lies below the highest one that the receiver holds.
    pub(crate) fn below_highest_sacked(&self, index: usize) -> bool {
        self.sacked.as_ref().and_then(|sacked| sacked.end()).is_some_and(|end| self.start(index).before(end))
    }

    /// The segment at `index` is sent again.
    pub(crate) fn retransmit(&mut self, index: usize, now: Instant) {
        self.change(index, |flags| flags | Segment::RETRANSMITTED | Segment::RESENT);
        self.transmissions = self.transmissions.wrapping_add(1);
        let segment = &mut self.segments[index];
        segment.sent_at = now;
        segment.order = self.transmissions;
        self.note_resent(index);
    }

    fn change(&mut self, index: usize, change: impl FnOnce(u8) -> u8) {
        let len = self.segments[index].end.since(self.start(index));
        let segment = &mut self.segments[index];
        let flags = change(segment.flags);
        self.pipe = self.pipe - in_flight(segment.flags, len) + in_flight(flags, len);
        self.absent += absence(flags) - absence(segment.flags);
        segment.flags = flags;
    }

    /// Checks the counters against a full count, where that is cheap.
    #[cfg(debug_assertions)]
    pub(crate) fn check(&self) {
        if self.segments.len() > 256 {
            return;
        }
        let mut start = self.una;
        let (mut pipe, mut sacked, mut absent) = (0, 0, 0);
        for (index, segment) in (0..).zip(self.segments.iter()) {
            pipe += in_flight(segment.flags, segment.end.since(start));
            sacked += u32::from(segment.has(Segment::SACKED));
            absent += absence(segment.flags);
            let settled = segment.has(Segment::SACKED | Segment::RETRANSMITTED);
            debug_assert!(settled || index >= self.candidate, "the candidate passed a segment over");
            debug_assert!(
                !segment.flies() || self.will_look_at(index, segment),
                "a search passes a segment over"
            );
            start = segment.end;
        }
        debug_assert_eq!(pipe, self.pipe, "pipe is the sum over the segments");
        debug_assert_eq!(sacked, self.sacked_segments, "segments held are counted");
        debug_assert_eq!(absent, self.absent, "segments in flight are counted");
    }
}

/// Takes down what the acknowledgment of `segment` tells; of one that was selectively acknowledged before, only that it
/// had been sent twice. Returns whether its last transmission is one that has arrived now.
#[inline]
fn note(acked: &mut Acked, segment: &Segment) -> bool {
    let resent = segment.has(Segment::RESENT);
    acked.resent |= resent;
    if segment.has(Segment::SACKED) {
        return false;
    }
    if !resent {
        acked.latest = Some(segment.sent_at);
        let sent = Sent::new(segment);
        if acked.earliest.is_none_or(|first| first.after(sent)) {
            acked.earliest = Some(sent);
        }
        if segment.end.before(acked.fack) {
            acked.overtaken(segment.end);
        }
        acked.original |= segment.end.at_or_before(acked.high);
    } else if segment.sent_at > acked.credible {
        return false;
    }
    let sent = Sent::new(segment);
    if acked.newest.is_none_or(|newest| sent.after(newest)) {
        acked.newest = Some(sent);
    }
    true
}

/// Marks the segments that touch `part` and lie wholly in `merged`, and returns how many.
fn mark_sacked(
    segments: &mut Fifo<Segment>,
    una: SequenceNumber,
    (pipe, absent): (&mut u32, &mut i32),
    part: Range,
    merged: Range,
    acked: &mut Acked,
) -> u32 {
    let mut marked = 0;
    let mut index = segments.partition_point(|segment| segment.end.at_or_before(part.0));
    let mut start = if index == 0 { una } else { segments[index - 1].end };
    while let Some(segment) = segments.get_mut(index)
        && start.before(part.1)
    {
        let whole = merged.0.at_or_before(start) && segment.end.at_or_before(merged.1);
        if whole && !segment.has(Segment::SACKED) {
            let len = segment.end.since(start);
            let higher = acked.timed_end.is_some_and(|end| segment.end.after(end));
            if note(acked, segment) && (acked.timed.is_none() || higher) {
                (acked.timed, acked.timed_end) = (Some(segment.sent_at), Some(segment.end));
            }
            *pipe -= in_flight(segment.flags, len);
            *absent += 1 - absence(segment.flags);
            acked.sacked += len;
            segment.flags |= Segment::SACKED;
            marked += 1;
        }
        start = segment.end;
        index += 1;
    }
    marked
}

#[cfg(test)]
mod tests;
