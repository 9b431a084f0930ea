//! A bounded sample of rows that needs no second look at what it kept.

use super::rows::{Rows, TransactionRow};
use wasp_app::TransactionRecord;

/// Rows that are kept at most.
const LIMIT: u64 = 5_000_000;
/// Strata: the last sample keeps one row in 2^(STRATA - 1).
const STRATA: usize = 12;

/// Rows sorted into strata by a uniform key: half of all rows belong to the first stratum, a quarter to the second, and so on. While few
/// there are kept all; when the limit is reached the first stratum that is left is given up, which halves the rows and leaves a sample that
/// depends on nothing but the rows' keys.
#[derive(Debug)]
pub struct Strata {
    strata: [Rows<TransactionRow>; STRATA],
    /// Strata given up so far.
    level: usize,
    /// What is given up is freed a chunk a row, so that no row waits long.
    condemned: Rows<TransactionRow>,
    kept: u64,
    limit: u64,
}

impl Default for Strata {
    fn default() -> Self {
        Self::with_limit(LIMIT)
    }
}

impl Strata {
    fn with_limit(limit: u64) -> Self {
        Self { strata: Default::default(), level: 0, condemned: Rows::default(), kept: 0, limit }
    }

    /// The kept rows, stratum by stratum, each in the order of their end.
    pub fn iter(&self) -> impl Iterator<Item = &TransactionRow> {
        self.strata.iter().flat_map(Rows::iter)
    }

    /// The kept rows, for whoever keeps them, many at a time.
    pub fn into_chunks(self) -> impl Iterator<Item = Vec<TransactionRow>> {
        self.strata.into_iter().flat_map(Rows::into_chunks)
    }

    /// One row in so many was kept: 1 if all were.
    #[must_use]
    pub const fn one_in(&self) -> u64 {
        1 << self.level
    }

    /// The rows of both, as if one had taken them all.
    pub(super) fn merged(self, other: Self) -> Self {
        let mut merged = Self::with_limit(self.limit);
        merged.level = self.level.max(other.level);
        for (place, (mine, theirs)) in self.strata.into_iter().zip(other.strata).enumerate() {
            if place >= merged.level {
                merged.strata[place] = mine.merged(theirs);
                merged.kept += merged.strata[place].len() as u64;
            }
        }
        while merged.kept > merged.limit && merged.level + 1 < STRATA {
            merged.kept -= std::mem::take(&mut merged.strata[merged.level]).len() as u64;
            merged.level += 1;
        }
        merged
    }

    /// Appends a record whose key is `draw`.
    pub(super) fn push(&mut self, record: &TransactionRecord, measured: bool, draw: u64) {
        self.condemned.drop_chunk();
        let stratum = (draw.leading_zeros() as usize).min(STRATA - 1);
        if stratum < self.level {
            return;
        }
        self.strata[stratum].push(TransactionRow::new(record, measured));
        self.kept += 1;
        if self.kept > self.limit && self.level + 1 < STRATA {
            while self.condemned.drop_chunk() {}
            self.condemned = std::mem::take(&mut self.strata[self.level]);
            self.kept -= self.condemned.len() as u64;
            self.level += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasp_app::Outcome;
    use wasp_random::Key;
    use wasp_units::Instant;

    fn record(request: u32) -> TransactionRecord {
        TransactionRecord {
            client: 0,
            group: 0,
            connection: 0,
            request,
            file: wasp_workload::FileId(0),
            intended: None,
            start: Instant::ZERO,
            connected: None,
            first_of_place: false,
            requests_before: 0,
            loss_events: wasp_app::LossEvents::default(),
            sent: None,
            first_byte: None,
            last_byte: None,
            end: Instant::ZERO,
            status: 200,
            bytes: 0,
            outcome: Outcome::Ok,
            attempts: 1,
        }
    }

    fn sample(rows: u32, limit: u64) -> (Vec<u32>, u64) {
        let mut strata = Strata::with_limit(limit);
        for request in 0..rows {
            strata.push(&record(request), true, Key::root(1, 0).draw(u64::from(request)));
        }
        let mut kept: Vec<u32> = strata.iter().map(|row| row.request).collect();
        assert_eq!(kept.len() as u64, strata.kept);
        kept.sort_unstable();
        (kept, strata.one_in())
    }

    #[test]
    fn everything_is_kept_up_to_the_limit() {
        assert_eq!(sample(1_000, 1_000), ((0..1_000).collect(), 1));
    }

    #[test]
    fn a_sample_is_bounded_uniform_and_a_function_of_the_keys() {
        let (kept, one_in) = sample(100_000, 1_000);
        assert_eq!(one_in, 128);
        // Binomial with n = 100,000 and p = 1/128: mean 781, standard deviation 28.
        assert!((640..=1_000).contains(&kept.len()), "{} rows", kept.len());
        let first_half = kept.iter().filter(|request| **request < 50_000).count() as f64;
        assert!((first_half / kept.len() as f64 - 0.5).abs() < 5.0 * 0.5 / (kept.len() as f64).sqrt());
        let (larger, _) = sample(100_000, 10_000);
        assert!(kept.iter().all(|request| larger.binary_search(request).is_ok()));
    }
}
