//! What is in flight, segment by segment, and how much of it still counts (RFC 6675 sections 2 to 4).
//!
//! One record a segment, in order, with what is known of it. `pipe` is kept by differences, so an acknowledgment costs
//! in proportion to what it newly acknowledges, not to the window.

use crate::ranges::{Range, Ranges};
use std::collections::VecDeque;
use wasp_units::Instant;
use wasp_wire::SequenceNumber;

/// One segment in flight. It starts where the one before it ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// When it was last sent.
    pub(crate) sent_at: Instant,
    /// The number after its last.
    pub(crate) end: SequenceNumber,
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

    pub(crate) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
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

/// What an acknowledgment newly covered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Acked {
    /// Bytes cumulatively acknowledged.
    pub(crate) bytes: u32,
    /// Segments wholly acknowledged.
    pub(crate) segments: u32,
    /// Bytes newly selectively acknowledged.
    pub(crate) sacked: u32,
    /// When the earliest of these segments was sent, none of them having been sent twice.
    pub(crate) sample: Option<Instant>,
    /// Some segment among them had been sent twice.
    pub(crate) resent: bool,
}

/// Segments between SND.UNA and SND.NXT.
#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    segments: VecDeque<Segment>,
    una: SequenceNumber,
    pipe: u32,
    /// What the receiver reports to hold; made at the first loss.
    sacked: Option<Box<Ranges>>,
    /// Segments before this index are sacked or retransmitted: RFC 6675's HighRxt, as a place to go on from.
    candidate: usize,
    /// Segments before this index are sacked or lost.
    lost_end: usize,
}

/// Room kept for records after everything is acknowledged; more is given back.
const KEPT_CAPACITY: usize = 64;

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
        self.segments.push_back(Segment { sent_at: now, end, flags: if fin { Segment::FIN } else { 0 } });
    }

    /// The cumulative acknowledgment moves to `ack`, which lies after SND.UNA and not after the last segment.
    pub(crate) fn acknowledge(&mut self, ack: SequenceNumber) -> Acked {
        let mut acked = Acked { bytes: ack.since(self.una), ..Acked::default() };
        let mut popped = 0;
        while let Some(&segment) = self.segments.front() {
            if segment.end.after(ack) {
                break;
            }
            self.pipe -= in_flight(segment.flags, segment.end.since(self.una));
            note(&mut acked, &segment);
            self.una = segment.end;
            popped += 1;
            self.segments.pop_front();
        }
        acked.segments = popped as u32;
        if let Some(front) = self.segments.front() {
            self.pipe -= in_flight(front.flags, ack.since(self.una));
        } else if self.segments.capacity() > KEPT_CAPACITY {
            self.segments = VecDeque::new();
        }
        self.una = ack;
        self.candidate = self.candidate.saturating_sub(popped);
        self.lost_end = self.lost_end.saturating_sub(popped);
        if let Some(sacked) = &mut self.sacked {
            sacked.advance(ack);
        }
        if acked.resent {
            acked.sample = None;
        }
        acked
    }

    /// The receiver reports that it holds `left..right`, which lies above SND.UNA and not beyond the last segment.
    pub(crate) fn sack(&mut self, left: SequenceNumber, right: SequenceNumber, acked: &mut Acked) {
        let Self { segments, una, pipe, sacked, .. } = self;
        let sacked = sacked.get_or_insert_with(Box::default);
        sacked.insert(left, right, |part, merged| mark_sacked(segments, *una, pipe, part, merged, acked));
        if acked.resent {
            acked.sample = None;
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
        while let Some(segment) = self.segments.get(self.lost_end) {
            if segment.end.after(frontier) {
                break;
            }
            if !segment.has(Segment::SACKED) {
                self.change(self.lost_end, |flags| flags | Segment::LOST);
            }
            self.lost_end += 1;
        }
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
            self.change(0, |flags| (flags | Segment::LOST) & !Segment::RETRANSMITTED);
            self.lost_end = self.lost_end.max(1);
            self.candidate = 0;
        }
    }

    /// A timeout: everything that the receiver is not known to hold is lost, retransmissions included.
    ///
    /// A first segment marked as held means that the receiver has discarded what it reported (RFC 2018 section 8):
    /// its reports are then forgotten.
    pub(crate) fn lose_all(&mut self) {
        let reneged = self.segments.front().is_some_and(|segment| segment.has(Segment::SACKED));
        if reneged {
            self.sacked = None;
        }
        for segment in &mut self.segments {
            if reneged {
                segment.flags &= !Segment::SACKED;
            }
            if !segment.has(Segment::SACKED) {
                segment.flags = (segment.flags | Segment::LOST) & !Segment::RETRANSMITTED;
            }
        }
        self.pipe = 0;
        self.candidate = 0;
        self.lost_end = self.segments.len();
    }

    /// The first segment that is neither held nor retransmitted: RFC 6675 NextSeg's candidate.
    pub(crate) fn next_candidate(&mut self) -> Option<usize> {
        while let Some(segment) = self.segments.get(self.candidate) {
            if !segment.has(Segment::SACKED | Segment::RETRANSMITTED) {
                return Some(self.candidate);
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
        self.segments[index].sent_at = now;
    }

    fn change(&mut self, index: usize, change: impl FnOnce(u8) -> u8) {
        let len = self.segments[index].end.since(self.start(index));
        let segment = &mut self.segments[index];
        let flags = change(segment.flags);
        self.pipe = self.pipe - in_flight(segment.flags, len) + in_flight(flags, len);
        segment.flags = flags;
    }

    /// Checks the counters against a full count, where that is cheap.
    #[cfg(debug_assertions)]
    pub(crate) fn check(&self) {
        if self.segments.len() > 256 {
            return;
        }
        let mut start = self.una;
        let mut pipe = 0;
        for (index, segment) in self.segments.iter().enumerate() {
            pipe += in_flight(segment.flags, segment.end.since(start));
            let settled = segment.has(Segment::SACKED | Segment::RETRANSMITTED);
            debug_assert!(settled || index >= self.candidate, "the candidate passed a segment over");
            start = segment.end;
        }
        debug_assert_eq!(pipe, self.pipe, "pipe is the sum over the segments");
    }
}

fn note(acked: &mut Acked, segment: &Segment) {
    if segment.has(Segment::RESENT) {
        acked.resent = true;
    } else if !segment.has(Segment::SACKED) {
        acked.sample = Some(acked.sample.map_or(segment.sent_at, |first| first.min(segment.sent_at)));
    }
}

/// Marks the segments that touch `part` and lie wholly in `merged`.
fn mark_sacked(
    segments: &mut VecDeque<Segment>,
    una: SequenceNumber,
    pipe: &mut u32,
    part: Range,
    merged: Range,
    acked: &mut Acked,
) {
    let mut index = segments.partition_point(|segment| segment.end.at_or_before(part.0));
    let mut start = if index == 0 { una } else { segments[index - 1].end };
    while let Some(segment) = segments.get_mut(index)
        && start.before(part.1)
    {
        let whole = merged.0.at_or_before(start) && segment.end.at_or_before(merged.1);
        if whole && !segment.has(Segment::SACKED) {
            let len = segment.end.since(start);
            note(acked, segment);
            *pipe -= in_flight(segment.flags, len);
            acked.sacked += len;
            segment.flags |= Segment::SACKED;
        }
        start = segment.end;
        index += 1;
    }
}
