//! How old transactions were when they ended, when the measured interval began, and when it ended: running figures from which
//! [`crate::Censoring`] tells whether the interval was long enough to see the longest of them end.

use super::Interval;
use wasp_units::Instant;

/// Ages below 2^20 ns (1.05 ms) are one bin.
const LEAST: u32 = 20;
/// Ages from 2^42 ns (73 min) on are one bin.
const MOST: u32 = 42;
/// Each octave between has so many bins of equal width.
const PARTS: u32 = 4;
/// Number of bins.
pub(crate) const BINS_OF_AGE: usize = ((MOST - LEAST) * PARTS + 2) as usize;

/// Counts by age.
pub(crate) type ByAge = [u64; BINS_OF_AGE];

/// The transactions that were in progress at some time of the measured interval, by their ages since their actual start.
#[derive(Clone, Debug)]
pub struct Ages {
    /// Age at the end of those that ended in the interval.
    pub(crate) ended: ByAge,
    /// Age of those in progress when the interval began.
    pub(crate) entered: ByAge,
    /// Age of those in progress when the interval ended.
    pub(crate) cut: ByAge,
    /// Those that began in the interval.
    pub(crate) began: u64,
    /// Sum of the ages at the end of those that ended in it, in nanoseconds.
    pub(crate) sum: u128,
    /// Sum of the squares of the parts inside the interval of those that a boundary of it cuts, in square seconds.
    pub(crate) cut_squares: f64,
}

impl Default for Ages {
    fn default() -> Self {
        let none = [0; BINS_OF_AGE];
        Self { ended: none, entered: none, cut: none, began: 0, sum: 0, cut_squares: 0.0 }
    }
}

impl Ages {
    /// A transaction ended at `end`, or was `unfinished` when the run did.
    pub fn note(&mut self, interval: &Interval, start: Instant, end: Instant, unfinished: bool) {
        if end < interval.start() || (!unfinished && end >= interval.end()) {
            return;
        }
        let age = (end - start).as_nanos();
        if unfinished {
            self.cut[bin(age)] += 1;
            self.cut_squares += (end - start.max(interval.start())).as_secs_f64().powi(2);
        } else {
            self.ended[bin(age)] += 1;
            self.sum += u128::from(age);
        }
        if start < interval.start() {
            let before = interval.start() - start;
            self.entered[bin(before.as_nanos())] += 1;
            self.cut_squares += before.as_secs_f64().powi(2);
        } else {
            self.began += 1;
        }
    }

    /// How many were in progress at some time of the interval.
    pub(crate) fn seen(&self) -> u64 {
        self.began + self.entered.iter().sum::<u64>()
    }

    /// Adds the ages of other clients of the same run.
    pub(crate) fn merge(&mut self, other: &Self) {
        let Self { ended, entered, cut, began, sum, cut_squares } = other;
        for (mine, theirs) in [(&mut self.ended, ended), (&mut self.entered, entered), (&mut self.cut, cut)] {
            super::merge::add(mine, theirs);
        }
        self.began += began;
        self.sum += sum;
        self.cut_squares += cut_squares;
    }
}

/// The bin of an age in nanoseconds.
fn bin(nanos: u64) -> usize {
    if nanos < 1 << LEAST {
        return 0;
    }
    let octave = nanos.ilog2();
    if octave >= MOST {
        return BINS_OF_AGE - 1;
    }
    let part = (nanos >> (octave - PARTS.ilog2())) as u32 & (PARTS - 1);
    ((octave - LEAST) * PARTS + part) as usize + 1
}

/// The least age of a bin in seconds.
pub(crate) fn edge(bin: usize) -> f64 {
    let Some(place) = bin.checked_sub(1) else { return 0.0 };
    let (octave, part) = (place as u32 / PARTS, place as u32 % PARTS);
    (1_u64 << (LEAST + octave)) as f64 * (1.0 + f64::from(part) / f64::from(PARTS)) / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasp_units::Duration;

    #[test]
    fn every_age_lies_in_its_bin() {
        for nanos in (0..64).flat_map(|octave| [1_u64 << octave, (1_u64 << octave) + (1 << octave >> 1)]) {
            let place = bin(nanos);
            assert!(edge(place) <= nanos as f64 / 1e9, "{nanos}");
            assert!(place == BINS_OF_AGE - 1 || (nanos as f64) / 1e9 < edge(place + 1), "{nanos}");
        }
        assert_eq!((bin(0), bin(u64::MAX)), (0, BINS_OF_AGE - 1));
    }

    #[test]
    fn a_transaction_counts_where_the_interval_sees_it() {
        let interval = Interval::new(Duration::from_secs(5), Duration::from_secs(10));
        let at = |seconds: u64| Instant::ZERO + Duration::from_secs(seconds);
        let mut ages = Ages::default();
        ages.note(&interval, at(1), at(4), false); // over before it
        ages.note(&interval, at(1), at(7), false); // began before, ended in it
        ages.note(&interval, at(6), at(8), false); // within
        ages.note(&interval, at(6), at(15), true); // cut off
        ages.note(&interval, at(2), at(15), true); // longer than the interval
        assert_eq!((ages.ended.iter().sum::<u64>(), ages.seen(), ages.began), (2, 4, 2));
        assert_eq!((ages.sum, ages.cut.iter().sum::<u64>()), (8_000_000_000, 2));
        assert_eq!((ages.entered[bin(4_000_000_000)], ages.entered[bin(3_000_000_000)]), (1, 1));
        assert!((ages.cut_squares - (16.0 + 81.0 + 100.0 + 9.0)).abs() < 1e-9);
    }
}
