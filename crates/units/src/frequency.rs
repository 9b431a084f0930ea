//! How often something happens.

use crate::Duration;
use crate::parse::{Fault, UnitError, print, quantity, serde_as_text};
use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::str::FromStr;

/// Kept in thousandths of an event an hour, so that whole numbers a second, a minute and an hour are all exact.
const UNITS: [(&str, u64); 3] = [("/s", 3_600_000), ("/min", 60_000), ("/h", 1_000)];
const EXPECTED: &str = "a frequency above zero such as 100/s or 30/min (units: /s, /min, /h)";

/// Events in a time, above zero.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Frequency(NonZeroU64);

impl Frequency {
    /// So many events a second.
    #[must_use]
    pub const fn of_second(count: NonZeroU32) -> Self {
        const OF_ONE: NonZeroU64 = NonZeroU64::new(UNITS[0].1).expect("not zero");
        Self(OF_ONE.saturating_mul(NonZeroU64::new(count.get() as u64).expect("not zero")))
    }

    /// Events a second.
    #[must_use]
    pub fn per_second(self) -> f64 {
        self.0.get() as f64 / UNITS[0].1 as f64
    }

    /// The time in which `count` events happen, to the nanosecond below; the longest there is if it is longer.
    #[must_use]
    pub fn time_of(self, count: u64) -> Duration {
        const NANOS: u128 = 1_000_000_000;
        let nanos = u128::from(count) * u128::from(UNITS[0].1) * NANOS / u128::from(self.0.get());
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(self.0.get(), &UNITS, f)
    }
}

impl FromStr for Frequency {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let value = quantity(text, &UNITS, EXPECTED)?;
        let out_of_range = || UnitError::new(text, Fault::OutOfRange, EXPECTED);
        NonZeroU64::new(value).map(Self).ok_or_else(out_of_range)
    }
}

serde_as_text!(Frequency);
