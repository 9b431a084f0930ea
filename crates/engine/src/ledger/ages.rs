//! How old transactions were when they ended, when the measured interval began, and when it ended: running figures from which
//! [`crate::Censoring`] tells whether the interval was long enough to see the longest of them end.

use super::Interval;
use serde::{Deserialize, Serialize};
use wasp_units::{Duration, Instant};

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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ages {
    /// Age at the end of those that ended in the interval.
    #[serde(with = "sparse")]
    pub(crate) ended: ByAge,
    /// Age of those in progress when the interval began.
    #[serde(with = "sparse")]
    pub(crate) entered: ByAge,
    /// Age of those in progress when the interval ended.
    #[serde(with = "sparse")]
    pub(crate) cut: ByAge,
    /// Those that began in the interval.
    pub(crate) began: u64,
    /// Those that began before the interval and did not end in it.
    pub(crate) throughout: u64,
    /// Sum of the ages at the end of those that ended in it, in nanoseconds; written in seconds.
    #[serde(rename = "sum_s", with = "seconds")]
    pub(crate) sum: u128,
    /// Sum of the squares of the parts inside the interval of those that a boundary of it cuts, in square nanoseconds; written in square seconds.
    #[serde(rename = "cut_square_s", with = "square_seconds")]
    pub(crate) cut_squares: u128,
}

impl Default for Ages {
    fn default() -> Self {
        let none = [0; BINS_OF_AGE];
        Self { ended: none, entered: none, cut: none, began: 0, throughout: 0, sum: 0, cut_squares: 0 }
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
            self.cut_squares += square(end - start.max(interval.start()));
        } else {
            self.ended[bin(age)] += 1;
            self.sum += u128::from(age);
        }
        if start < interval.start() {
            let before = interval.start() - start;
            self.entered[bin(before.as_nanos())] += 1;
            self.cut_squares += square(before);
            self.throughout += u64::from(unfinished);
        } else {
            self.began += 1;
        }
    }

    /// How many were in progress at some time of the interval.
    pub(crate) fn seen(&self) -> u64 {
        self.began.saturating_add(self.entered.iter().sum())
    }

    /// The least age, in seconds, of the last bin in which one ended or was cut off.
    pub(crate) fn oldest(&self) -> f64 {
        let last = |counts: &ByAge| counts.iter().rposition(|count| *count > 0).map_or(0.0, edge);
        last(&self.ended).max(last(&self.cut))
    }

    /// Adds the ages of other clients, or of another run.
    pub(crate) fn merge(&mut self, other: &Self) {
        let Self { ended, entered, cut, began, throughout, sum, cut_squares } = other;
        for (mine, theirs) in [(&mut self.ended, ended), (&mut self.entered, entered), (&mut self.cut, cut)] {
            super::merge::add(mine, theirs);
        }
        // What is read from a file may be anything.
        self.began = self.began.saturating_add(*began);
        self.throughout = self.throughout.saturating_add(*throughout);
        self.sum = self.sum.saturating_add(*sum);
        self.cut_squares = self.cut_squares.saturating_add(*cut_squares);
    }
}

/// In square nanoseconds.
fn square(time: Duration) -> u128 {
    u128::from(time.as_nanos()).pow(2)
}

/// Defines a module that writes a count of a small unit in a larger one.
macro_rules! written_in {
    ($name:ident, $parts:literal) => {
        mod $name {
            use serde::de::{Deserialize, Deserializer};
            use serde::ser::Serializer;

            pub(super) fn serialize<S: Serializer>(count: &u128, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_f64(*count as f64 / $parts)
            }

            pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
                Ok((f64::deserialize(deserializer)? * $parts).round() as u128)
            }
        }
    };
}

written_in!(seconds, 1e9);
written_in!(square_seconds, 1e18);

/// Counts by age as text: the bins that hold any, each with its count, as in `49:1 50:12`.
mod sparse {
    use super::{BINS_OF_AGE, ByAge};
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    pub(super) fn serialize<S: Serializer>(counts: &ByAge, serializer: S) -> Result<S::Ok, S::Error> {
        let held = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let held: Vec<_> = held.map(|(bin, count)| format!("{bin}:{count}")).collect();
        serializer.serialize_str(&held.join(" "))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ByAge, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut counts = [0; BINS_OF_AGE];
        for pair in text.split_whitespace() {
            let (bin, count) = parse(pair).ok_or_else(|| {
                Error::custom(format!("{pair:?} is not a bin of age (to {}) and its count", BINS_OF_AGE - 1))
            })?;
            counts[bin] = count;
        }
        Ok(counts)
    }

    /// Counts below 10^15, so that no sum overflows.
    fn parse(pair: &str) -> Option<(usize, u64)> {
        let (bin, count) = pair.split_once(':')?;
        let (bin, count) = (bin.parse().ok()?, count.parse().ok()?);
        (bin < BINS_OF_AGE && count < 1_000_000_000_000_000).then_some((bin, count))
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
        assert_eq!((ages.sum, ages.cut.iter().sum::<u64>(), ages.throughout), (8_000_000_000, 2, 1));
        assert_eq!((ages.entered[bin(4_000_000_000)], ages.entered[bin(3_000_000_000)]), (1, 1));
        assert_eq!(ages.cut_squares, (16 + 81 + 100 + 9) * 10_u128.pow(18));
    }

    #[test]
    fn ages_are_written_without_what_is_not_there() {
        let interval = Interval::new(Duration::from_secs(5), Duration::from_secs(10));
        let mut ages = Ages::default();
        ages.note(&interval, Instant::ZERO, Instant::ZERO + Duration::from_secs(6), false);
        let written = serde_json::to_string(&ages).expect("it is written");
        let wanted = r#"{"ended":"50:1","entered":"49:1","cut":"","began":0,"throughout":0,"sum_s":6.0,"cut_square_s":25.0}"#;
        assert_eq!(written, wanted);
        assert_eq!(serde_json::from_str::<Ages>(&written).expect("it is read"), ages);
        for wrong in ["90:1", "50", "50:-1", "50:1,49:1", "50:1000000000000000"] {
            let error = serde_json::from_str::<Ages>(&written.replace("50:1", wrong)).expect_err(wrong);
            assert!(
                error
                    .to_string()
                    .starts_with(&format!("{wrong:?} is not a bin of age (to 89) and its count")),
                "{error}"
            );
        }
    }
}
