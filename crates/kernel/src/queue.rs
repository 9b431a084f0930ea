//! Pending events: a heap of what is soon, and a timing wheel for the rest.
//!
//! With thousands of clients most of what is pending lies tens of milliseconds ahead, or is a timer that seldom comes to anything. It waits
//! in the wheel, where adding it costs one write; the heap holds what comes within about a quarter of a millisecond, and stays in the processor's caches. Channels and lazy
//! timers keep both short: one entry a link and one a timer.

use crate::EventKey;
use crate::heap::Heap;
use crate::wheel::Wheel;
use wasp_units::Instant;

/// A priority queue of events, smallest key first.
#[derive(Debug)]
pub struct EventQueue<E> {
    soon: Heap<E>,
    later: Wheel<E>,
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self { soon: Heap::default(), later: Wheel::default() }
    }
}

impl<E: Copy> EventQueue<E> {
    /// Adds an event.
    #[inline]
    pub fn push(&mut self, key: EventKey, event: E) {
        if self.later.takes(key.time()) {
            self.later.push(key, event);
        } else {
            self.soon.push(key, event);
        }
    }

    /// The time of the first event.
    #[must_use]
    pub fn next_time(&mut self) -> Option<Instant> {
        self.look_ahead();
        self.soon.first().map(|(key, _)| key.time())
    }

    /// Finds some of the first events that are due at `limit` or before, `most` at most, with places of no meaning to others. They stay. If
    /// there are no more than `most`, and none far ahead, these are all.
    pub(crate) fn soonest(&mut self, limit: Instant, most: usize, found: &mut Vec<(usize, E)>) {
        self.look_ahead();
        self.soon.soonest(limit, most, found);
    }

    /// Takes the first event if it is due at `limit` or before.
    pub fn pop_until(&mut self, limit: Instant) -> Option<(EventKey, E)> {
        self.look_ahead();
        let first = *self.soon.first()?;
        if first.0.time() > limit {
            return None;
        }
        self.soon.take_first();
        Some(first)
    }

    /// Number of pending events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.soon.len() + self.later.len()
    }

    /// Whether nothing is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes sure that the first event, if there is one, is in the heap.
    #[inline]
    fn look_ahead(&mut self) {
        if self.soon.is_empty()
            && let Some(mut slot) = self.later.take_slot()
        {
            let entries = slot.len();
            self.soon.refill(&mut slot);
            self.later.reuse(slot, entries);
        }
    }
}
