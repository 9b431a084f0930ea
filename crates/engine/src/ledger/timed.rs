//! Counts and response times of a kind of load in the measured interval: the transactions of one named request, or whole sessions.

use super::{GroupTimes, Tally};
use wasp_app::Outcome;

/// Those of one kind that ended in the measured interval, or when the run did.
#[derive(Debug, Default)]
pub struct TimedTally {
    /// How they ended.
    pub(crate) tally: Tally,
    /// Response times; none before the first.
    times: Option<Box<GroupTimes>>,
    /// Body bytes of the `ok` ones.
    pub(crate) body_bytes: u64,
    /// Sum of the response times of the `ok` ones, in nanoseconds.
    pub(crate) ok_sum: u128,
    /// The same sum of the others, until they ended otherwise.
    pub(crate) other_sum: u128,
}

impl TimedTally {
    /// Response times, once there are some.
    #[must_use]
    pub fn times(&self) -> Option<&GroupTimes> {
        self.times.as_deref()
    }

    /// Sum of the response times of all that ended, in nanoseconds.
    pub(crate) const fn all_sum(&self) -> u128 {
        self.ok_sum + self.other_sum
    }

    /// Makes room for response times, at the first of the run, which mostly ends before the interval.
    pub(super) fn prepare(&mut self) {
        self.times.get_or_insert_with(|| Box::new(GroupTimes::new()));
    }

    /// Notes the response time (nanoseconds) of one that ended in the interval so, with bodies of so many bytes.
    pub(super) fn measure(&mut self, outcome: Outcome, bytes: u64, response_time: u64) {
        let times = self.times.get_or_insert_with(|| Box::new(GroupTimes::new()));
        if outcome == Outcome::Ok {
            times.ok.saturating_record(response_time);
            self.ok_sum += u128::from(response_time);
            self.body_bytes += bytes;
        } else {
            times.other.saturating_record(response_time);
            self.other_sum += u128::from(response_time);
        }
    }

    /// Adds others of the same kind.
    pub(super) fn merge(&mut self, other: &Self) {
        let Self { tally, times, body_bytes, ok_sum, other_sum } = other;
        self.tally.merge(tally);
        if let Some(more) = times {
            self.times.get_or_insert_with(|| Box::new(GroupTimes::new())).merge(more);
        }
        self.body_bytes += body_bytes;
        self.ok_sum += ok_sum;
        self.other_sum += other_sum;
    }
}
