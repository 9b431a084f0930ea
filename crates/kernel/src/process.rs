//! The executor: one logical process, advanced to a safe time.

use crate::{EventKey, EventQueue, NodeId};
use wasp_units::{Instant, Wakeup};

/// Events at one instant after which a run counts as stalled.
const STALL_LIMIT: u64 = 10_000_000;

/// Events prepared together.
const AHEAD: usize = 16;

/// A model, or a part of it, whose nodes are advanced together.
pub trait Process {
    /// What can happen; small, moved by value.
    type Event: Copy;

    /// Handles one event at its own time (`scheduler.now()`).
    fn handle(&mut self, event: Self::Event, scheduler: &mut Scheduler<Self::Event>);

    /// `event` is likely to come soon: what it needs can be fetched from memory meanwhile. A hint, which must not change any result: the event
    /// may never come, or others before it.
    fn prepare(&self, _event: Self::Event, _stage: Stage) {}
}

/// What to fetch from memory for an event that comes soon. Every event of a batch is prepared by the first stage, and then by the second.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stage {
    /// What the event itself names.
    First,
    /// What that leads to: it has arrived meanwhile, or soon will.
    Second,
}

/// The clock never advances: some nodes send each other events without delay.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("time stands still at {at}: {STALL_LIMIT} events without advance, made by nodes {nodes:?}")]
pub struct Stalled {
    /// The instant that the run does not leave.
    pub at: Instant,
    /// The nodes that made the last events.
    pub nodes: Vec<u32>,
}

/// What a handler schedules with.
#[derive(Debug)]
pub struct Scheduler<E> {
    now: Instant,
    queue: EventQueue<E>,
    sequences: Vec<u64>,
}

impl<E: Copy> Scheduler<E> {
    /// The time of the event that is being handled.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Schedules `event`, made by `source`, at `at`, which may not lie in the past.
    pub fn schedule(&mut self, source: NodeId, at: Instant, event: E) {
        let key = self.key(source, at);
        self.schedule_key(key, event);
    }

    /// Makes sure that `event`, made by `source`, comes no later than `deadline`.
    #[inline]
    pub fn wake(&mut self, wakeup: &mut Wakeup, deadline: Option<Instant>, source: NodeId, event: E) {
        if let Some(at) = wakeup.ask(deadline, self.now) {
            self.schedule(source, at, event);
        }
    }

    /// Takes the next place of `source` in the order of events at `at`.
    pub(crate) fn key(&mut self, source: NodeId, at: Instant) -> EventKey {
        debug_assert!(at >= self.now, "an event would lie in the past");
        let place = source.0 as usize;
        if place >= self.sequences.len() {
            self.sequences.resize(place + 1, 0);
        }
        let sequence = &mut self.sequences[place];
        *sequence += 1;
        EventKey::new(at, source, *sequence)
    }

    pub(crate) fn schedule_key(&mut self, key: EventKey, event: E) {
        self.queue.push(key, event);
    }
}

/// A process with its pending events.
#[derive(Debug)]
pub struct LogicalProcess<P: Process> {
    /// The model.
    pub process: P,
    scheduler: Scheduler<P::Event>,
    handled: u64,
    at_this_instant: u64,
    /// Events that were prepared together, and how many of them are still to come.
    batch: Vec<(usize, P::Event)>,
    prepared: usize,
}

impl<P: Process> LogicalProcess<P> {
    /// `process` at the start of time with nothing pending.
    #[must_use]
    pub fn new(process: P) -> Self {
        let scheduler = Scheduler { now: Instant::ZERO, queue: EventQueue::default(), sequences: Vec::new() };
        Self {
            process,
            scheduler,
            handled: 0,
            at_this_instant: 0,
            batch: Vec::with_capacity(AHEAD),
            prepared: 0,
        }
    }

    /// The time of what was handled last.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.scheduler.now
    }

    /// The time of the next pending event.
    #[must_use]
    pub fn next_event(&mut self) -> Option<Instant> {
        self.scheduler.queue.next_time()
    }

    /// How many events have been handled.
    #[must_use]
    pub const fn handled(&self) -> u64 {
        self.handled
    }

    /// Handles the next event if it is due at `safe` or before; returns its time.
    ///
    /// # Errors
    /// [`Stalled`] when ten million events happened at one instant.
    pub fn step(&mut self, safe: Instant) -> Result<Option<Instant>, Stalled> {
        if self.prepared == 0 {
            self.prepare(safe);
        }
        self.prepared = self.prepared.saturating_sub(1);
        let Some((key, event)) = self.scheduler.queue.pop_until(safe) else { return Ok(None) };
        debug_assert!(key.time() >= self.scheduler.now, "time went back");
        if key.time() == self.scheduler.now {
            self.at_this_instant += 1;
            if self.at_this_instant >= STALL_LIMIT {
                return Err(self.stalled(key));
            }
        } else {
            self.at_this_instant = 0;
        }
        self.scheduler.now = key.time();
        self.handled += 1;
        self.process.handle(event, &mut self.scheduler);
        Ok(Some(key.time()))
    }

    /// Prepares the events that are due at `safe` or before, a batch of them at most.
    fn prepare(&mut self, safe: Instant) {
        self.scheduler.queue.soonest(safe, AHEAD, &mut self.batch);
        self.prepared = self.batch.len();
        for stage in [Stage::First, Stage::Second] {
            for (_, event) in &self.batch {
                self.process.prepare(*event, stage);
            }
        }
    }

    /// Handles every event up to and including `safe`.
    ///
    /// # Errors
    /// As [`Self::step`].
    pub fn advance(&mut self, safe: Instant) -> Result<(), Stalled> {
        while self.step(safe)?.is_some() {}
        Ok(())
    }

    /// Lets the model act at `now`, outside any event: input from a device, the start of a run. Every event before `now` must have been
    /// handled.
    pub fn inject<R>(&mut self, now: Instant, act: impl FnOnce(&mut P, &mut Scheduler<P::Event>) -> R) -> R {
        debug_assert!(now >= self.scheduler.now, "time went back");
        self.scheduler.now = now;
        act(&mut self.process, &mut self.scheduler)
    }

    fn stalled(&mut self, last: EventKey) -> Stalled {
        let mut nodes = vec![last.source().0];
        while let Some((key, _)) = self.scheduler.queue.pop_until(last.time()) {
            nodes.push(key.source().0);
        }
        nodes.sort_unstable();
        nodes.dedup();
        nodes.truncate(8);
        Stalled { at: last.time(), nodes }
    }
}
