//! What the transactions of one named request did in the measured interval.

use super::{GroupTimes, Tally};
use std::sync::Arc;
use wasp_app::{Outcome, TransactionRecord};
use wasp_workload::named::NamedRequest;

/// The transactions of one named request of a group that ended in the measured interval, or when the run did.
#[derive(Debug)]
pub struct NamedLedger {
    /// The name.
    pub name: Arc<str>,
    /// Bytes of the request's content.
    pub(super) content: u64,
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

impl NamedLedger {
    /// An empty ledger of a request.
    pub(crate) fn new(request: &NamedRequest) -> Self {
        Self::of(request.name.as_str().into(), request.content_length())
    }

    fn of(name: Arc<str>, content: u64) -> Self {
        Self { name, content, tally: Tally::default(), times: None, body_bytes: 0, ok_sum: 0, other_sum: 0 }
    }

    /// Those of all these groups, of which requests of one name are one.
    pub(super) fn together<'a>(groups: impl Iterator<Item = &'a [Self]>) -> Vec<Self> {
        let mut together: Vec<Self> = Vec::new();
        for named in groups.flatten() {
            let known = together.iter().position(|known| known.name == named.name);
            let place = known.unwrap_or(together.len());
            if known.is_none() {
                together.push(Self::of(Arc::clone(&named.name), named.content));
            }
            together[place].merge(named);
        }
        together
    }

    /// Response times, once there are some.
    #[must_use]
    pub fn times(&self) -> Option<&GroupTimes> {
        self.times.as_deref()
    }

    /// Makes room for response times, at the first transaction of the run, which mostly ends before the interval.
    pub(super) fn prepare(&mut self) {
        self.times.get_or_insert_with(|| Box::new(GroupTimes::new()));
    }

    /// Notes the response time (nanoseconds) of a transaction that ended in the interval.
    pub(super) fn measure(&mut self, record: &TransactionRecord, response_time: u64) {
        let times = self.times.get_or_insert_with(|| Box::new(GroupTimes::new()));
        if record.outcome == Outcome::Ok {
            times.ok.saturating_record(response_time);
            self.ok_sum += u128::from(response_time);
            self.body_bytes += record.bytes;
        } else {
            times.other.saturating_record(response_time);
            self.other_sum += u128::from(response_time);
        }
    }

    /// Adds other transactions of requests of this name.
    pub(super) fn merge(&mut self, other: &Self) {
        let Self { name: _, content: _, tally, times, body_bytes, ok_sum, other_sum } = other;
        self.tally.merge(tally);
        if let Some(more) = times {
            self.times.get_or_insert_with(|| Box::new(GroupTimes::new())).merge(more);
        }
        self.body_bytes += body_bytes;
        self.ok_sum += ok_sum;
        self.other_sum += other_sum;
    }
}
