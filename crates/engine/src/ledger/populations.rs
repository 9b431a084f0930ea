//! Response times of one group's transactions. Those of the whole run have more digits and stand in the ledger itself.

use hdrhistogram::Histogram;

/// Significant digits of a group's histograms: a value is off by 0.1 % at most, and a histogram takes 0.1 MB where one of the whole run's four
/// digits takes 3 MB.
const DIGITS: u8 = 3;

/// Response times of the transactions of one group that ended in the measured interval, in nanoseconds.
#[derive(Debug)]
pub struct GroupTimes {
    /// Those of the `ok` ones.
    pub ok: Histogram<u32>,
    /// Those of the others, until they ended otherwise.
    pub other: Histogram<u32>,
}

impl GroupTimes {
    /// Histograms of no transactions.
    pub(super) fn new() -> Self {
        let (least, most, _) = super::HISTOGRAM;
        let empty = || Histogram::new_with_bounds(least, most, DIGITS).expect("constant bounds are valid");
        Self { ok: empty(), other: empty() }
    }

    /// Those of all.
    #[must_use]
    pub fn all(&self) -> Histogram<u32> {
        let mut all = self.ok.clone();
        all.add(&self.other).expect("both have the same bounds");
        all
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.ok.add(&other.ok).expect("all have the same bounds");
        self.other.add(&other.other).expect("all have the same bounds");
    }
}
