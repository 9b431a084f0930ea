//! A first-in, first-out channel between two nodes.

use crate::{EventKey, NodeId, Scheduler};
use std::collections::VecDeque;
use wasp_units::{Duration, Instant};

/// Messages on their way from one node to another, in order, none faster than the channel's lookahead.
///
/// Only the first message has an event in the queue: the others wait here with the keys they were given when they were sent. The
/// order of a run is the same as if each had an event of its own, and the queue holds one entry a channel however much is in
/// flight. The lookahead is what a parallel executor may rely on: a message sent at `t` arrives at `t + lookahead` or later.
#[derive(Debug)]
pub struct Channel<M> {
    source: NodeId,
    lookahead: Duration,
    /// The first message: with thousands of channels it is most often the only one, and found without another look into memory.
    first: Option<(EventKey, M)>,
    behind: VecDeque<(EventKey, M)>,
}

impl<M> Channel<M> {
    /// An empty channel out of `source`.
    #[must_use]
    pub fn new(source: NodeId, lookahead: Duration) -> Self {
        Self { source, lookahead, first: None, behind: VecDeque::new() }
    }

    /// Sends `message` to arrive at `at`; `arrival` makes the event that then happens.
    ///
    /// `at` may not lie before the arrival of the message sent last, nor within the lookahead.
    pub fn send<E: Copy>(
        &mut self,
        at: Instant,
        message: M,
        arrival: impl FnOnce(&M) -> E,
        scheduler: &mut Scheduler<E>,
    ) {
        debug_assert!(at >= scheduler.now() + self.lookahead, "a message outran its channel's lookahead");
        let last = self.behind.back().or(self.first.as_ref());
        debug_assert!(last.is_none_or(|(last, _)| last.time() <= at), "a channel keeps order");
        let key = scheduler.key(self.source, at);
        if self.first.is_some() {
            return self.behind.push_back((key, message));
        }
        scheduler.schedule_key(key, arrival(&message));
        self.first = Some((key, message));
    }

    /// Takes the message that arrives now and schedules the arrival of the next.
    pub fn receive<E: Copy>(
        &mut self,
        arrival: impl FnOnce(&M) -> E,
        scheduler: &mut Scheduler<E>,
    ) -> Option<M> {
        let (_, message) = self.first.take()?;
        self.first = self.behind.pop_front();
        if let Some((key, next)) = &self.first {
            scheduler.schedule_key(*key, arrival(next));
        }
        Some(message)
    }

    /// The messages on their way, first one first.
    pub fn iter(&self) -> impl Iterator<Item = &M> {
        self.first.iter().chain(&self.behind).map(|(_, message)| message)
    }

    /// The `index`th message on its way.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&M> {
        let found = if index == 0 { self.first.as_ref() } else { self.behind.get(index - 1) };
        found.map(|(_, message)| message)
    }

    /// How many messages are on their way.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.behind.len()
    }

    /// Whether nothing is on its way.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }
}
