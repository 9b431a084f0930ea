//! What the sessions of a group did in the measured interval.

use super::{HISTOGRAM, Interval, NamedLedger, TimedTally};
use std::sync::Arc;
use wasp_app::{Outcome, SessionEnd};

/// The sessions that ended in the measured interval, or when the run did.
#[derive(Debug, Default)]
pub struct SessionLedger {
    /// What they did. The response time of an `ok` one is the sum of those of its steps; one that failed, and so has fewer, counts as longer than any.
    pub timed: TimedTally,
    /// Sum over the `ok` ones of how long they lasted, pauses included, in nanoseconds.
    pub(crate) ok_duration_sum: u128,
    /// At which step those ended that failed, by its name.
    pub(crate) failed_at: Vec<(Arc<str>, u64)>,
}

impl SessionLedger {
    /// An empty ledger of sessions of these steps.
    pub(crate) fn new(steps: &[NamedLedger]) -> Self {
        let failed_at = steps.iter().map(|step| (Arc::clone(&step.name), 0)).collect();
        Self { failed_at, ..Self::default() }
    }

    /// Notes a session of the run, whenever it ended.
    pub(super) fn note(&mut self, interval: &Interval, end: &SessionEnd) {
        self.timed.prepare();
        let unfinished = end.outcome == Outcome::Unfinished;
        if !unfinished && !interval.contains(end.end) {
            return;
        }
        self.timed.tally.count(end.outcome, end.status);
        if unfinished {
            return;
        }
        if end.outcome == Outcome::Ok {
            self.timed.measure(end.outcome, end.bytes, end.response_time.as_nanos());
            self.ok_duration_sum += u128::from((end.end - end.start).as_nanos());
            return;
        }
        let (_, longest, _) = HISTOGRAM;
        self.timed.measure(end.outcome, end.bytes, longest);
        if let Some((_, count)) = self.failed_at.get_mut(end.step.0 as usize) {
            *count += 1;
        }
    }

    /// Adds the sessions of other clients, whose steps may have other names.
    pub(super) fn merge(&mut self, other: &Self) {
        let Self { timed, ok_duration_sum, failed_at } = other;
        self.timed.merge(timed);
        self.ok_duration_sum += ok_duration_sum;
        for (name, more) in failed_at {
            match self.failed_at.iter_mut().find(|(known, _)| known == name) {
                Some((_, count)) => *count += more,
                None => self.failed_at.push((Arc::clone(name), *more)),
            }
        }
    }
}
