//! Amounts of data.

use crate::parse::{UnitError, print, quantity, serde_as_text};
use std::fmt;
use std::str::FromStr;

const UNITS: [(&str, u64); 8] = [
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("KB", 1_000),
    ("kB", 1_000),
    ("B", 1),
];
const BINARY: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];
const EXPECTED: &str = "an amount of data such as 1KiB, 64KB or 500B (units: B, KB, KiB, MB, MiB, GB, GiB)";

/// An amount of data in bytes (octets).
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Bytes(u64);

impl Bytes {
    /// `count` bytes.
    #[must_use]
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// The number of bytes.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(self.0, &BINARY, f)
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        quantity(text, &UNITS, EXPECTED).map(Self)
    }
}

serde_as_text!(Bytes);
