//! Pending events: a four-ary heap on the total order.
//!
//! Four children a parent halve the depth of a binary heap, and the children of a parent lie side by side in memory. Channels
//! and lazy timers keep the heap short (one entry a link and one a timer), which matters more than its arity.

use crate::EventKey;
use wasp_units::Instant;

const ARITY: usize = 4;

/// A priority queue of events, smallest key first.
#[derive(Debug)]
pub struct EventQueue<E> {
    heap: Vec<(EventKey, E)>,
    /// The root was taken and its place is still to be filled: an event that is handled nearly always leads to another, which can have it.
    vacant: bool,
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self { heap: Vec::new(), vacant: false }
    }
}

impl<E: Copy> EventQueue<E> {
    /// Adds an event.
    pub fn push(&mut self, key: EventKey, event: E) {
        if std::mem::take(&mut self.vacant) {
            return self.sift_down((key, event));
        }
        self.heap.push((key, event));
        self.sift_up(self.heap.len() - 1);
    }

    /// The time of the first event.
    #[must_use]
    pub fn next_time(&self) -> Option<Instant> {
        self.first().map(|(key, _)| key.time())
    }

    /// The first event.
    #[must_use]
    pub fn peek(&self) -> Option<E> {
        self.first().map(|(_, event)| *event)
    }

    /// The first entry: the root, or one of its children while its place is vacant.
    fn first(&self) -> Option<&(EventKey, E)> {
        let places = if self.vacant { 1..1 + ARITY } else { 0..1 };
        let candidates = &self.heap[places.start.min(self.heap.len())..places.end.min(self.heap.len())];
        candidates.iter().min_by_key(|(key, _)| key.packed())
    }

    /// Takes the first event if it is due at `limit` or before.
    pub fn pop_until(&mut self, limit: Instant) -> Option<(EventKey, E)> {
        self.fill();
        let first = *self.heap.first()?;
        if first.0.time() > limit {
            return None;
        }
        self.vacant = true;
        Some(first)
    }

    /// Number of pending events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len() - usize::from(self.vacant)
    }

    /// Whether nothing is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills the root's place with the last event, if it is vacant.
    fn fill(&mut self) {
        if !std::mem::take(&mut self.vacant) {
            return;
        }
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.sift_down(last);
        }
    }

    fn sift_up(&mut self, mut place: usize) {
        let entry = self.heap[place];
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.heap[parent].0.packed() < entry.0.packed() {
                break;
            }
            debug_assert_ne!(self.heap[parent].0, entry.0, "two events have the same key");
            self.heap[place] = self.heap[parent];
            place = parent;
        }
        self.heap[place] = entry;
    }

    /// Puts `entry` in the place that the first event left.
    fn sift_down(&mut self, entry: (EventKey, E)) {
        let mut place = 0;
        let key = entry.0.packed();
        loop {
            let first = place * ARITY + 1;
            if first >= self.heap.len() {
                break;
            }
            let end = (first + ARITY).min(self.heap.len());
            let mut least = first;
            let mut least_key = self.heap[first].0.packed();
            for child in first + 1..end {
                let child_key = self.heap[child].0.packed();
                if child_key < least_key {
                    (least, least_key) = (child, child_key);
                }
            }
            if key < least_key {
                break;
            }
            self.heap[place] = self.heap[least];
            place = least;
        }
        self.heap[place] = entry;
    }
}
