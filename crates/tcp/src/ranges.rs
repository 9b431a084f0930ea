//! Sets of sequence numbers as ranges: what was selectively acknowledged, what arrived out of order.

use std::collections::VecDeque;
use wasp_wire::SequenceNumber;

/// A half-open range of sequence numbers.
pub(crate) type Range = (SequenceNumber, SequenceNumber);

/// Disjoint ranges that do not touch, in order, all within 2^31 of each other.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    list: VecDeque<Range>,
}

/// What adding a range did.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Inserted {
    /// The range that now holds the one added.
    pub(crate) merged: Range,
    /// The first part of the added range that was there before.
    pub(crate) duplicate: Option<Range>,
}

impl Ranges {
    /// The end of the last range.
    pub(crate) fn end(&self) -> Option<SequenceNumber> {
        self.list.back().map(|range| range.1)
    }

    /// The end of the range that `number` lies in.
    pub(crate) fn end_of(&self, number: SequenceNumber) -> Option<SequenceNumber> {
        let index = self.list.partition_point(|range| range.1.at_or_before(number));
        self.list.get(index).filter(|range| range.0.at_or_before(number)).map(|range| range.1)
    }

    /// The ranges, the last in sequence first.
    pub(crate) fn last_first(&self) -> impl Iterator<Item = Range> {
        self.list.iter().rev().copied()
    }

    /// Adds `left..right` (not empty), and calls `added(part, merged)` for each part of it that was missing.
    pub(crate) fn insert(
        &mut self,
        left: SequenceNumber,
        right: SequenceNumber,
        mut added: impl FnMut(Range, Range),
    ) -> Inserted {
        let first = match self.list.back() {
            Some(last) if last.1.before(left) => self.list.len(),
            _ => self.list.partition_point(|range| range.1.before(left)),
        };
        let mut end = first;
        let mut merged = (left, right);
        let mut duplicate = None;
        while let Some(&(a, b)) = self.list.get(end)
            && a.at_or_before(right)
        {
            let common = (a.max(left), b.min(right));
            if duplicate.is_none() && common.0.before(common.1) {
                duplicate = Some(common);
            }
            merged = (merged.0.min(a), merged.1.max(b));
            end += 1;
        }
        let mut at = left;
        for &(a, b) in self.list.range(first..end) {
            if at.before(a) {
                added((at, a), merged);
            }
            at = at.max(b);
        }
        if at.before(right) {
            added((at, right), merged);
        }
        if first == end {
            self.list.insert(first, merged);
        } else {
            self.list[first] = merged;
            self.list.drain(first + 1..end);
        }
        Inserted { merged, duplicate }
    }

    /// Forgets everything before `to`.
    pub(crate) fn advance(&mut self, to: SequenceNumber) {
        while let Some(front) = self.list.front_mut() {
            if front.1.after(to) {
                front.0 = front.0.max(to);
                return;
            }
            self.list.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_equal_the_set_of_their_numbers(
            base in any::<u32>(),
            inserts in proptest::collection::vec((0_u32..80, 1_u32..12), 1..40),
            cut in 0_u32..100,
        ) {
            let number = |offset: u32| SequenceNumber(base.wrapping_add(offset));
            let mut ranges = Ranges::default();
            let mut model = [false; 128];
            for (left, len) in inserts {
                let before = model;
                let mut fresh = [false; 128];
                let inserted = ranges.insert(number(left), number(left + len), |(a, b), _| {
                    for offset in a.since(number(0))..b.since(number(0)) {
                        fresh[offset as usize] = true;
                    }
                });
                for offset in left..left + len {
                    model[offset as usize] = true;
                    prop_assert_eq!(fresh[offset as usize], !before[offset as usize]);
                }
                let held = (left..left + len).any(|offset| before[offset as usize]);
                prop_assert_eq!(inserted.duplicate.is_some(), held);
            }
            ranges.advance(number(cut));
            let mut seen = [false; 128];
            let mut last = None;
            for (a, b) in ranges.list.iter().map(|r| (r.0.since(number(0)), r.1.since(number(0)))) {
                prop_assert!(a < b && last.is_none_or(|end| end < a));
                last = Some(b);
                seen[a as usize..b as usize].fill(true);
            }
            for offset in 0..128 {
                prop_assert_eq!(seen[offset], model[offset] && offset >= cut as usize);
            }
        }
    }
}
