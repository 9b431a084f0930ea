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
    waiting: VecDeque<(EventKey, M)>,
}

impl<M> Channel<M> {
    /// An empty channel out of `source`.
    #[must_use]
    pub fn new(source: NodeId, lookahead: Duration) -> Self {
        Self { source, lookahead, waiting: VecDeque::new() }
    }

    /// Sends `message` to arrive at `at`; `arrival` is the event that then happens.
    ///
    /// `at` may not lie before the arrival of the message sent last, nor within the lookahead.
    pub fn send<E: Copy>(&mut self, at: Instant, message: M, arrival: E, scheduler: &mut Scheduler<E>) {
        debug_assert!(at >= scheduler.now() + self.lookahead, "a message outran its channel's lookahead");
        debug_assert!(self.waiting.back().is_none_or(|(last, _)| last.time() <= at), "a channel keeps order");
        let key = scheduler.key(self.source, at);
        if self.waiting.is_empty() {
            scheduler.schedule_key(key, arrival);
        }
        self.waiting.push_back((key, message));
    }

    /// Takes the message that arrives now and schedules the arrival of the next.
    pub fn receive<E: Copy>(&mut self, arrival: E, scheduler: &mut Scheduler<E>) -> Option<M> {
        let (_, message) = self.waiting.pop_front()?;
        if let Some((next, _)) = self.waiting.front() {
            scheduler.schedule_key(*next, arrival);
        }
        Some(message)
    }

    /// The messages on their way, first one first.
    pub fn iter(&self) -> impl Iterator<Item = &M> {
        self.waiting.iter().map(|(_, message)| message)
    }

    /// The `index`th message on its way.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&M> {
        self.waiting.get(index).map(|(_, message)| message)
    }

    /// How many messages are on their way.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether nothing is on its way.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
