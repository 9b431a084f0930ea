//! What the transactions of one named request did in the measured interval.

use super::TimedTally;
use std::sync::Arc;
use wasp_workload::named::NamedRequest;

/// The transactions of one named request of a group that ended in the measured interval, or when the run did.
#[derive(Debug)]
pub struct NamedLedger {
    /// The name.
    pub name: Arc<str>,
    /// Bytes of the request's content.
    pub(super) content: u64,
    /// What they did.
    pub timed: TimedTally,
}

impl NamedLedger {
    /// An empty ledger of a request.
    pub(crate) fn new(request: &NamedRequest) -> Self {
        Self::of(request.name.as_str().into(), request.content_length())
    }

    fn of(name: Arc<str>, content: u64) -> Self {
        Self { name, content, timed: TimedTally::default() }
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
            together[place].timed.merge(&named.timed);
        }
        together
    }
}
