//! A seeded generator for bulk draws.

use crate::logarithm::ln;
use crate::mix::unit;
use rand_core::{Infallible, SeedableRng, TryRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Xoshiro256++ (Blackman and Vigna, "Scrambled Linear Pseudorandom Number Generators", ACM TOMS 2021), seeded by
/// [`Key::stream`](crate::Key::stream).
///
/// Every method gives the same values on every machine. It implements `rand_core`'s traits, so distributions of other
/// crates can draw from it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    pub(crate) fn from_words(words: [u64; 4]) -> Self {
        let mut seed = [0; 32];
        for (bytes, word) in seed.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        Self(Xoshiro256PlusPlus::from_seed(seed))
    }

    /// Uniform 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let Ok(word) = self.0.try_next_u64();
        word
    }

    /// A uniform number in `[0, 1)`, a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        unit(self.next_u64())
    }

    /// A uniform integer below `bound`, without bias.
    ///
    /// Source: Lemire, "Fast Random Integer Generation in an Interval" (ACM TOMACS 2019), algorithm 5.
    ///
    /// # Panics
    ///
    /// If `bound` is zero: there is no such integer.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound != 0, "no integer lies below 0");
        let mut product = u128::from(self.next_u64()) * u128::from(bound);
        if (product as u64) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u64) < threshold {
                product = u128::from(self.next_u64()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }

    /// An exponentially distributed number with this mean, in the unit of the mean, by inversion. It is never negative
    /// and at most 37 times the mean, since a unit has 53 bits.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        // 1 - unit lies in (0, 1], where the logarithm is finite.
        -mean * ln(1.0 - self.unit())
    }
}

impl TryRng for Stream {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.0.try_next_u32()
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0.try_next_u64()
    }

    #[inline]
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.try_fill_bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_xoshiro256_plus_plus() {
        // From state (1, 2, 3, 4), by hand: rotl(1 + 4, 23) + 1.
        let mut stream = Stream::from_words([1, 2, 3, 4]);
        assert_eq!(stream.next_u64(), (5 << 23) + 1);
    }
}
