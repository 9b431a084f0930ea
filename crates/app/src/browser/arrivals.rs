//! Open loop: when a client asks, whatever became of what it asked for before.

use std::collections::VecDeque;
use wasp_random::Key;
use wasp_units::{Duration, Frequency, Instant};
use wasp_workload::{Delay, PageId, RequestStream};

/// What makes a client's arrivals.
#[derive(Clone, Copy, Debug)]
pub enum ArrivalSource {
    /// Independent of each other, so many on average; the arrivals of many such clients together are of the same kind.
    Poisson {
        /// Mean time between two arrivals of this client.
        mean: Duration,
        /// The client's draws.
        key: Key,
        /// The time from the start of the run in which each client of the group has one arrival at most, so that kept connections are opened as
        /// early as can be: the mean, or the warm-up if that is shorter.
        turn: Duration,
    },
    /// Evenly spaced over the group: the client has arrivals number `first`, `first + step`, ...
    Constant {
        /// Arrivals of the whole group.
        rate: Frequency,
        /// The client's place in the group.
        first: u32,
        /// Clients in the group.
        step: u32,
    },
    /// The times of a replayed log, from this moment on.
    Log {
        /// Where the times count from.
        origin: Instant,
    },
}

/// An arrival that waits to be served.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) intended: Instant,
    pub(super) page: PageId,
}

/// The arrivals of one client: those that wait, and the next.
#[derive(Debug)]
pub(super) struct Arrivals {
    source: ArrivalSource,
    /// Arrivals so far.
    count: u64,
    next: Option<Waiting>,
    waiting: VecDeque<Waiting>,
    /// Most that may wait.
    limit: u32,
}

/// What became of an arrival.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Admission {
    Queued,
    Shed,
}

impl Arrivals {
    pub(super) fn new(source: ArrivalSource, limit: u32, stream: &mut RequestStream) -> Self {
        let mut arrivals = Self { source, count: 0, next: None, waiting: VecDeque::new(), limit };
        arrivals.advance(Instant::ZERO, stream);
        arrivals
    }

    /// When the next arrival is; `None` if there is none any more.
    pub(super) fn next(&self) -> Option<Instant> {
        self.next.map(|next| next.intended)
    }

    /// Lets the next arrival come, if it is due.
    pub(super) fn arrive(&mut self, now: Instant, stream: &mut RequestStream) -> Option<Admission> {
        let next = self.next.filter(|next| next.intended <= now)?;
        self.advance(next.intended, stream);
        if self.waiting.len() >= self.limit as usize {
            return Some(Admission::Shed);
        }
        self.waiting.push_back(next);
        Some(Admission::Queued)
    }

    /// The arrival that has waited longest.
    pub(super) fn take(&mut self) -> Option<Waiting> {
        self.waiting.pop_front()
    }

    /// Times follow from the one before or from the count, never from when something was done: they do not drift.
    fn advance(&mut self, last: Instant, stream: &mut RequestStream) {
        let step = stream.next_step();
        self.next = step.map(|step| {
            let intended = match self.source {
                ArrivalSource::Poisson { mean, key, turn } => {
                    let since = Instant::ZERO + turn;
                    let in_turn =
                        Instant::ZERO + Delay::Constant { value: mean }.residual(key.name("turn"), 0);
                    if self.count == 0 && in_turn < since {
                        in_turn
                    } else {
                        last.max(since).saturating_add(Delay::Exponential { mean }.draw(key, self.count))
                    }
                }
                ArrivalSource::Constant { rate, first, step } => {
                    Instant::ZERO + rate.time_of(u64::from(first) + u64::from(step) * self.count)
                }
                ArrivalSource::Log { origin } => origin.saturating_add(step.at.unwrap_or_default()),
            };
            Waiting { intended, page: step.page }
        });
        self.count += 1;
    }
}
