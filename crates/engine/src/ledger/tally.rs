//! How the transactions of a group ended: their outcomes, and the status codes of whole responses.

use std::collections::BTreeMap;
use wasp_app::Outcome;

/// Counts of one group over the measured interval; `unfinished` are those that were in progress when the run ended.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Tally {
    outcomes: [u64; Outcome::ALL.len()],
    /// Whole responses by status. Servers answer with few statuses, so a list is searched faster than a map.
    statuses: Vec<(u16, u64)>,
}

impl Tally {
    /// Transactions that ended so.
    #[must_use]
    pub const fn outcome(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize]
    }

    /// Transactions that ended before the run did.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.outcomes.iter().sum::<u64>() - self.outcome(Outcome::Unfinished)
    }

    /// Those of them that were not `ok`.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.ended() - self.outcome(Outcome::Ok)
    }

    /// Whole responses by status: together as many as `ok`, `http_error` and `wrong`.
    #[must_use]
    pub fn statuses(&self) -> BTreeMap<u16, u64> {
        self.statuses.iter().copied().collect()
    }

    /// Every outcome with its count, by name.
    #[must_use]
    pub fn outcomes(&self) -> BTreeMap<&'static str, u64> {
        Outcome::ALL.iter().map(|outcome| (outcome.name(), self.outcome(*outcome))).collect()
    }

    /// Counts a transaction.
    pub(crate) fn count(&mut self, outcome: Outcome, status: u16) {
        self.outcomes[outcome as usize] += 1;
        if matches!(outcome, Outcome::Ok | Outcome::HttpError | Outcome::Wrong) {
            self.add_status(status, 1);
        }
    }

    /// Adds the counts of other transactions.
    pub(super) fn merge(&mut self, other: &Self) {
        for (count, more) in self.outcomes.iter_mut().zip(other.outcomes) {
            *count += more;
        }
        for (status, more) in &other.statuses {
            self.add_status(*status, *more);
        }
    }

    fn add_status(&mut self, status: u16, more: u64) {
        match self.statuses.iter_mut().find(|(known, _)| *known == status) {
            Some((_, count)) => *count += more,
            None => self.statuses.push((status, more)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_responses_are_counted_by_status_and_others_are_not() {
        let mut tally = Tally::default();
        for (outcome, status) in [
            (Outcome::Ok, 200),
            (Outcome::HttpError, 404),
            (Outcome::Ok, 200),
            (Outcome::Ok, 304),
            (Outcome::Wrong, 304),
            (Outcome::Truncated, 200),
            (Outcome::TimedOut, 0),
            (Outcome::Unfinished, 0),
        ] {
            tally.count(outcome, status);
        }
        assert_eq!(tally.statuses(), BTreeMap::from([(200, 2), (304, 2), (404, 1)]));
        assert_eq!((tally.ended(), tally.errors()), (7, 4));
        let mut twice = tally.clone();
        twice.merge(&tally);
        assert_eq!(twice.statuses(), BTreeMap::from([(200, 4), (304, 4), (404, 2)]));
        assert_eq!((twice.outcome(Outcome::Unfinished), twice.errors()), (2, 8));
    }
}
