//! A four-ary heap on the total order of events.
//!
//! Four children a parent halve the depth of a binary heap, and the children of a parent lie side by side in memory.

use crate::EventKey;
use wasp_units::Instant;

const ARITY: usize = 4;

/// Events, smallest key first.
#[derive(Debug)]
pub(crate) struct Heap<E> {
    entries: Vec<(EventKey, E)>,
    /// The root was taken and its place is still to be filled: what follows from an event may be soon, and can have it.
    vacant: bool,
}

impl<E> Default for Heap<E> {
    fn default() -> Self {
        Self { entries: Vec::new(), vacant: false }
    }
}

impl<E: Copy> Heap<E> {
    /// Adds an event.
    #[inline]
    pub(crate) fn push(&mut self, key: EventKey, event: E) {
        if std::mem::take(&mut self.vacant) {
            return self.sift_down(0, (key, event));
        }
        self.entries.push((key, event));
        self.sift_up(self.entries.len() - 1);
    }

    /// Takes the events of `entries` in exchange for its own storage; there must be none.
    pub(crate) fn refill(&mut self, entries: &mut Vec<(EventKey, E)>) {
        debug_assert!(self.is_empty(), "the events of a heap are lost");
        self.vacant = false;
        self.entries.clear();
        std::mem::swap(&mut self.entries, entries);
        // Parents from the last one to the root (Floyd).
        for place in (0..self.entries.len().div_ceil(ARITY)).rev() {
            self.sift_down(place, self.entries[place]);
        }
    }

    /// The first event; its place is filled if it was vacant.
    #[inline]
    pub(crate) fn first(&mut self) -> Option<&(EventKey, E)> {
        self.fill();
        self.entries.first()
    }

    /// Takes the first event, which there must be.
    #[inline]
    pub(crate) fn take_first(&mut self) {
        debug_assert!(!self.vacant, "its place is filled");
        self.vacant = true;
    }

    /// Finds `most` events at most that are due at `limit` or before: all if there are no more, else those nearest to the root, which come soon but
    /// need not be the first.
    pub(crate) fn soonest(&mut self, limit: Instant, most: usize, found: &mut Vec<(usize, E)>) {
        self.fill();
        found.clear();
        let (mut candidates, mut visited) = (0..self.entries.len().min(1), 0);
        loop {
            // A parent is due before its children.
            for place in candidates {
                let (key, event) = self.entries[place];
                if key.time() <= limit {
                    found.push((place, event));
                    if found.len() == most {
                        return;
                    }
                }
            }
            let Some((parent, _)) = found.get(visited) else { return };
            let first = parent * ARITY + 1;
            candidates = first.min(self.entries.len())..(first + ARITY).min(self.entries.len());
            visited += 1;
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.entries.len() - usize::from(self.vacant)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills the root's place with the last event, if it is vacant.
    #[inline]
    fn fill(&mut self) {
        if !std::mem::take(&mut self.vacant) {
            return;
        }
        if let Some(last) = self.entries.pop()
            && !self.entries.is_empty()
        {
            self.sift_down(0, last);
        }
    }

    fn sift_up(&mut self, mut place: usize) {
        let entry = self.entries[place];
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.entries[parent].0.packed() < entry.0.packed() {
                break;
            }
            debug_assert_ne!(self.entries[parent].0, entry.0, "two events have the same key");
            self.entries[place] = self.entries[parent];
            place = parent;
        }
        self.entries[place] = entry;
    }

    /// Puts `entry` in the free `place` or below it.
    fn sift_down(&mut self, mut place: usize, entry: (EventKey, E)) {
        let key = entry.0.packed();
        loop {
            let first = place * ARITY + 1;
            if first >= self.entries.len() {
                break;
            }
            let end = (first + ARITY).min(self.entries.len());
            let mut least = first;
            let mut least_key = self.entries[first].0.packed();
            for child in first + 1..end {
                let child_key = self.entries[child].0.packed();
                if child_key < least_key {
                    (least, least_key) = (child, child_key);
                }
            }
            if key < least_key {
                break;
            }
            self.entries[place] = self.entries[least];
            place = least;
        }
        self.entries[place] = entry;
    }
}
