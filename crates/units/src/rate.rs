//! Bit rates.

use crate::Duration;
use crate::parse::{Fault, UnitError, print, quantity, serde_as_text};
use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

const UNITS: [(&str, u64); 4] =
    [("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000), ("bit/s", 1)];
const EXPECTED: &str =
    "a rate above zero such as 10Mbit/s or 56kbit/s (units: bit/s, kbit/s, Mbit/s, Gbit/s)";

/// A rate in bits a second, above zero.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Rate(NonZeroU64);

impl Rate {
    /// `rate` bits a second; `None` for zero.
    #[must_use]
    pub const fn from_bits_per_second(rate: u64) -> Option<Self> {
        match NonZeroU64::new(rate) {
            Some(rate) => Some(Self(rate)),
            None => None,
        }
    }

    /// Bits a second.
    #[must_use]
    pub const fn bits_per_second(self) -> u64 {
        self.0.get()
    }

    /// The time that `bytes` take at this rate, rounded up to a nanosecond.
    #[must_use]
    pub fn transmission_time(self, bytes: u64) -> Duration {
        const NANOS: u64 = 1_000_000_000;
        let nanos = match bytes.checked_mul(8 * NANOS) {
            Some(scaled) => scaled.div_ceil(self.0.get()),
            None => {
                let scaled = u128::from(bytes) * u128::from(8 * NANOS);
                u64::try_from(scaled.div_ceil(u128::from(self.0.get()))).unwrap_or(u64::MAX)
            }
        };
        Duration::from_nanos(nanos)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(self.0.get(), &UNITS, f)
    }
}

impl FromStr for Rate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let rate = quantity(text, &UNITS, EXPECTED)?;
        Self::from_bits_per_second(rate).ok_or_else(|| UnitError::new(text, Fault::OutOfRange, EXPECTED))
    }
}

serde_as_text!(Rate);
