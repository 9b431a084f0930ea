//! Probabilities in fixed point.

use crate::parse::{Fault, UnitError, quantity, serde_as_text};
use std::fmt;
use std::str::FromStr;

const ONE: u64 = 1_000_000_000_000;
const PERCENT: [(&str, u64); 2] = [("%", ONE / 100), ("", ONE)];
const EXPECTED: &str = "a probability from 0% to 100% such as 3%, 0.1% or 0.03";

/// A probability from 0 to 1 in units of 10^-12.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Probability(u64);

impl Probability {
    /// Impossible.
    pub const ZERO: Self = Self(0);
    /// Certain.
    pub const ONE: Self = Self(ONE);

    /// The nearest probability to `value`; `None` outside 0 to 1.
    #[must_use]
    pub fn from_f64(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then(|| Self((value * ONE as f64).round() as u64))
    }

    /// The probability as a number from 0 to 1.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / ONE as f64
    }

    /// The probability that this does not happen.
    #[must_use]
    pub const fn complement(self) -> Self {
        Self(ONE - self.0)
    }

    /// Decides by a uniform 64-bit `draw` whether this happens: always for one, never for zero.
    #[must_use]
    pub const fn happens(self, draw: u64) -> bool {
        ((draw as u128 * ONE as u128) >> 64) < self.0 as u128
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / (ONE / 100), self.0 % (ONE / 100));
        if rest == 0 {
            return write!(f, "{whole}%");
        }
        let decimals = format!("{rest:010}");
        write!(f, "{whole}.{}%", decimals.trim_end_matches('0'))
    }
}

impl FromStr for Probability {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let value = quantity(text, &PERCENT, EXPECTED)?;
        if value > ONE {
            return Err(UnitError::new(text, Fault::OutOfRange, EXPECTED));
        }
        Ok(Self(value))
    }
}

serde_as_text!(Probability);
