//! Data that arrived out of order, and what is reported of it (RFC 2018, RFC 2883).

use crate::ranges::{Range, Ranges};
use std::collections::VecDeque;
use wasp_packet::{Payload, PayloadPool};
use wasp_wire::{SackBlocks, SequenceNumber};

/// Payload from `start` on.
#[derive(Debug)]
struct Piece {
    start: SequenceNumber,
    payload: Payload,
}

impl Piece {
    fn end(&self) -> SequenceNumber {
        self.start + self.payload.len()
    }
}

/// The out-of-order queue of a connection: disjoint pieces in order, and the ranges they make up.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    pieces: VecDeque<Piece>,
    /// Bytes in them.
    len: u32,
    ranges: Ranges,
    /// Ranges in the order in which they last grew, latest first: what the SACK option reports.
    recent: [Option<Range>; SackBlocks::CAPACITY],
}

impl Reassembly {
    /// Nothing waits, not even a FIN.
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.end().is_none()
    }

    /// Bytes that wait.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// The end of the last range.
    pub(crate) fn end(&self) -> Option<SequenceNumber> {
        self.ranges.end()
    }

    /// Ranges that a report would hold.
    pub(crate) fn reported(&self) -> usize {
        self.recent.iter().flatten().count()
    }

    /// Keeps what is new of `payload`, which begins at `start`, and of the `fin` behind it, which has a number of its own; one of them
    /// is there. Returns the first part held already.
    pub(crate) fn insert(
        &mut self,
        start: SequenceNumber,
        payload: Payload,
        fin: bool,
        pool: &mut PayloadPool,
    ) -> Option<Range> {
        let end = start + payload.len() + u32::from(fin);
        let Self { pieces, ranges, len, .. } = self;
        let inserted = ranges.insert(start, end, |part, _| {
            let before = part.0.since(start);
            if before == payload.len() {
                return; // the FIN alone
            }
            let mut fresh = pool.share(&payload);
            fresh.trim_front(before);
            fresh.truncate(part.1.since(part.0));
            *len += fresh.len();
            keep(pieces, Piece { start: part.0, payload: fresh });
        });
        pool.release(payload);
        self.report_first(inserted.merged);
        inserted.duplicate
    }

    /// Moves `range` to the front of what is reported, in place of whatever it now contains.
    fn report_first(&mut self, range: Range) {
        let mut recent = [None; SackBlocks::CAPACITY];
        recent[0] = Some(range);
        let apart = |old: &Range| old.1.before(range.0) || old.0.after(range.1);
        let others = self.recent.iter().flatten().filter(|old| apart(old));
        for (slot, old) in recent[1..].iter_mut().zip(others) {
            *slot = Some(*old);
        }
        self.recent = recent;
    }

    /// Takes the first piece if it begins at or before `next`, without what lies before `next`; pieces wholly before
    /// are released.
    pub(crate) fn take(&mut self, next: SequenceNumber, pool: &mut PayloadPool) -> Option<Payload> {
        while let Some(front) = self.pieces.front() {
            if front.start.after(next) {
                return None;
            }
            let Piece { start, mut payload } = self.pieces.pop_front()?;
            self.len -= payload.len();
            payload.trim_front(next.since(start));
            if !payload.is_empty() {
                return Some(payload);
            }
            pool.release(payload);
        }
        None
    }

    /// Everything before `next` is in order now.
    pub(crate) fn advance(&mut self, next: SequenceNumber) {
        self.ranges.advance(next);
        let mut kept = self.recent.into_iter().flatten().filter(|range| range.1.after(next));
        self.recent = std::array::from_fn(|_| kept.next());
    }

    /// Appends the ranges to report, latest first, to `blocks` until that holds `most`.
    pub(crate) fn report(&self, blocks: &mut SackBlocks, most: usize) {
        for range in self.recent.iter().flatten() {
            if blocks.as_slice().len() >= most {
                return;
            }
            blocks.push(range.0, range.1);
        }
    }

    pub(crate) fn release(self, pool: &mut PayloadPool) {
        for piece in self.pieces {
            pool.release(piece.payload);
        }
    }
}

/// Inserts a piece that overlaps none. Virtual neighbours become one.
fn keep(pieces: &mut VecDeque<Piece>, piece: Piece) {
    let after = match pieces.back() {
        Some(last) if last.start.before(piece.start) => pieces.len(),
        _ => pieces.partition_point(|held| held.start.before(piece.start)),
    };
    let Payload::Virtual(len) = piece.payload else {
        pieces.insert(after, piece);
        return;
    };
    let next_len = match pieces.get(after) {
        Some(Piece { start, payload: Payload::Virtual(more) }) if *start == piece.end() => Some(*more),
        _ => None,
    };
    if next_len.is_some() {
        let _ = pieces.remove(after);
    }
    let len = len + next_len.unwrap_or(0);
    if let Some(before) = after.checked_sub(1).and_then(|index| pieces.get_mut(index))
        && before.end() == piece.start
        && let Payload::Virtual(held) = &mut before.payload
    {
        *held += len;
        return;
    }
    pieces.insert(after, Piece { start: piece.start, payload: Payload::Virtual(len) });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wasp_packet::View;

    const BASE: u32 = 0xffff_ff00;

    fn number(at: u32) -> SequenceNumber {
        SequenceNumber(BASE) + at
    }

    fn waiting(inserted: &[(u32, u32)]) -> Reassembly {
        let (mut queue, mut pool) = (Reassembly::default(), PayloadPool::new(1 << 20));
        for (start, len) in inserted {
            queue.insert(number(*start), Payload::Virtual(*len), false, &mut pool);
        }
        queue
    }

    #[test]
    fn neighbours_without_content_become_one_piece() {
        for order in [[10, 20, 30], [10, 30, 20], [30, 10, 20], [30, 20, 10], [20, 30, 10]] {
            let queue = waiting(&order.map(|start| (start, 10)));
            assert_eq!((queue.pieces.len(), queue.len(), queue.reported()), (1, 30, 1), "{order:?}");
            assert_eq!(queue.end(), Some(number(40)));
        }
        let apart = waiting(&[(10, 10), (21, 9), (40, 1)]);
        assert_eq!((apart.pieces.len(), apart.len(), apart.reported()), (3, 20, 3));
    }

    #[test]
    fn a_fin_alone_waits_too() {
        let (mut queue, mut pool) = (Reassembly::default(), PayloadPool::new(1 << 20));
        assert!(queue.is_empty());
        queue.insert(number(10), Payload::Empty, true, &mut pool);
        assert!(!queue.is_empty());
        assert_eq!((queue.len(), queue.reported()), (0, 1));
        queue.advance(number(11));
        assert!(queue.is_empty());
    }

    /// Bytes of a stream, some of which have arrived, in any order and more than once.
    fn arrivals() -> impl Strategy<Value = Vec<(u32, u32)>> {
        proptest::collection::vec((1_u32..300, 1_u32..60), 1..40)
    }

    proptest! {
        #[test]
        fn it_holds_each_byte_once_and_hands_it_over_in_order(arrivals in arrivals(), stored in any::<bool>()) {
            let stream = |at: u32| (at * 7 % 251) as u8;
            let (mut queue, mut pool) = (Reassembly::default(), PayloadPool::new(1 << 20));
            let mut held = [false; 400];
            for (start, len) in arrivals {
                let bytes: Vec<u8> = (start..start + len).map(stream).collect();
                let payload =
                    if stored { pool.store(&bytes).expect("there is room") } else { Payload::Virtual(len) };
                queue.insert(number(start), payload, false, &mut pool);
                held[start as usize..(start + len) as usize].fill(true);
                prop_assert_eq!(queue.len() as usize, held.iter().filter(|held| **held).count());
                let last = held.iter().rposition(|held| *held).expect("something is held");
                prop_assert_eq!(queue.end(), Some(number(last as u32 + 1)));
            }
            // The gaps are filled from the front, each as far as the first byte that waits.
            let mut at = 0;
            while let Some(gap) = held.iter().skip(at).position(|held| *held) {
                at += gap;
                while let Some(payload) = queue.take(number(at as u32), &mut pool) {
                    if let View::Bytes(bytes) = pool.view(&payload) {
                        let expected: Vec<u8> = (at as u32..).take(bytes.len()).map(stream).collect();
                        prop_assert_eq!(bytes, expected);
                    }
                    at += payload.len() as usize;
                    pool.release(payload);
                }
                queue.advance(number(at as u32));
                prop_assert!(!held[at], "it hands over all that follows");
                prop_assert_eq!(queue.len() as usize, held[at..].iter().filter(|held| **held).count());
            }
            prop_assert!(queue.is_empty());
            prop_assert_eq!(pool.in_use(), 0);
        }
    }
}
