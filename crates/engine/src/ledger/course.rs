//! When the transactions of a group ended, in the measured interval and before.

use super::Interval;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wasp_units::Instant;

/// Equal parts of the measured interval, and of what is watched before, by which the end of the warm-up is judged: 60 batches of the five that MSER-5 has.
pub(crate) const PARTS_OF_RUN: usize = 300;

/// Seconds before the interval that are watched: half of it, or the whole warm-up. A longer one would leave too few of the parts to the interval.
pub(crate) const fn watched_before(warmup: f64, duration: f64) -> f64 {
    warmup.min(duration / 2.0)
}

/// `ok` transactions by the part in which they ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Ends(pub(crate) [u64; PARTS_OF_RUN]);

impl Default for Ends {
    fn default() -> Self {
        Self([0; PARTS_OF_RUN])
    }
}

impl Ends {
    /// Notes one that ended at `end`.
    pub(super) fn note(&mut self, interval: &Interval, end: Instant) {
        if let Some(part) = interval.watched_part(end, PARTS_OF_RUN) {
            self.0[part] += 1;
        }
    }

    /// Adds those of other clients, or of another run.
    pub(crate) fn merge(&mut self, other: &Self) {
        // What is read from a file may be anything.
        self.0.iter_mut().zip(&other.0).for_each(|(mine, more)| *mine = mine.saturating_add(*more));
    }
}

/// Written as text: one count after the other.
impl Serialize for Ends {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        numbers::serialize(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for Ends {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        numbers::deserialize(deserializer).map(Self)
    }
}

/// Numbers as text, as in `12 0 7`.
pub(crate) mod numbers {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;
    use std::fmt::Display;
    use std::str::FromStr;

    pub(crate) fn serialize<T: Display, S: Serializer>(
        numbers: &[T],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let text: Vec<_> = numbers.iter().map(ToString::to_string).collect();
        serializer.serialize_str(&text.join(" "))
    }

    /// Numbers of at most 18 digits.
    pub(crate) fn deserialize<'de, T: FromStr, D: Deserializer<'de>, const N: usize>(
        deserializer: D,
    ) -> Result<[T; N], D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = |word: &str| word.parse().ok().filter(|_| word.trim_start_matches('-').len() <= 18);
        let numbers: Option<Vec<T>> = text.split_whitespace().map(number).collect();
        numbers.and_then(|numbers| numbers.try_into().ok()).ok_or_else(|| {
            Error::custom(format!("not {N} whole numbers of at most 18 digits with a space between"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasp_units::Duration;

    #[test]
    fn every_end_lies_in_its_part() {
        let at = |nanos: u64| Instant::ZERO + Duration::from_nanos(nanos);
        let noted = |warmup: u64, nanos: [u64; 5]| {
            let interval = Interval::new(Duration::from_secs(warmup), Duration::from_secs(10));
            let mut ends = Ends::default();
            nanos.iter().for_each(|nanos| ends.note(&interval, at(*nanos)));
            (ends.0[0], ends.0[1], ends.0[299], ends.0.iter().sum::<u64>())
        };
        assert_eq!(noted(5, [0, 49_999_999, 50_000_000, 14_999_999_999, 15_000_000_000]), (2, 1, 1, 4));
        // Of a warm-up of 60 s, the last 5 s.
        let after = |nanos: u64| 55_000_000_000 + nanos;
        assert_eq!(
            noted(60, [0, after(0), after(50_000_000), after(14_999_999_999), after(15_000_000_000)]),
            (1, 1, 1, 3)
        );
        // Where there is none, a part of the interval is shorter.
        assert_eq!(noted(0, [0, 33_333_333, 33_333_334, 9_999_999_999, 10_000_000_000]), (2, 1, 1, 4));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut ends = Ends::default();
        (ends.0[0], ends.0[299]) = (7, 999_999_999_999_999_999);
        let text = serde_json::to_string(&ends).expect("counts are text");
        assert!(text.starts_with("\"7 0 0 "), "{text}");
        assert_eq!(serde_json::from_str::<Ends>(&text).expect("it was written so"), ends);
        for wrong in
            ["\"\"", "\"1 2\"", &text.replace('7', "-7"), &text.replace('7', "9999999999999999999"), "7"]
        {
            assert!(serde_json::from_str::<Ends>(wrong).is_err(), "{wrong}");
        }
    }
}
