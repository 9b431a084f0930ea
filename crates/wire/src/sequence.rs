//! TCP sequence numbers (RFC 9293 section 3.4): arithmetic modulo 2^32.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A TCP sequence number. Comparison is circular and so not an order: `before` and friends, not `Ord`.
#[derive(Clone, Copy, Default, Eq, Hash, PartialEq)]
pub struct SequenceNumber(pub u32);

impl SequenceNumber {
    /// Whether this number comes before `other`, which lies less than 2^31 away.
    #[must_use]
    pub const fn before(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// Whether this number comes before `other` or is equal to it.
    #[must_use]
    pub const fn at_or_before(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i32) <= 0
    }

    /// Whether this number comes after `other`.
    #[must_use]
    pub const fn after(self, other: Self) -> bool {
        other.before(self)
    }

    /// Whether this number comes after `other` or is equal to it.
    #[must_use]
    pub const fn at_or_after(self, other: Self) -> bool {
        other.at_or_before(self)
    }

    /// The distance from `earlier` up to this number, modulo 2^32.
    #[must_use]
    pub const fn since(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }

    /// The later of the two.
    #[must_use]
    pub const fn max(self, other: Self) -> Self {
        if self.before(other) { other } else { self }
    }

    /// The earlier of the two.
    #[must_use]
    pub const fn min(self, other: Self) -> Self {
        if self.before(other) { self } else { other }
    }
}

impl Add<u32> for SequenceNumber {
    type Output = Self;
    fn add(self, distance: u32) -> Self {
        Self(self.0.wrapping_add(distance))
    }
}

impl AddAssign<u32> for SequenceNumber {
    fn add_assign(&mut self, distance: u32) {
        self.0 = self.0.wrapping_add(distance);
    }
}

impl Sub<u32> for SequenceNumber {
    type Output = Self;
    fn sub(self, distance: u32) -> Self {
        Self(self.0.wrapping_sub(distance))
    }
}

impl fmt::Debug for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}
