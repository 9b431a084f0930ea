//! A natural logarithm that is the same on every machine.

use std::f64::consts::{LN_2, SQRT_2};

/// ln `x` for a positive, finite, normal `x`, to about two units in the last place.
///
/// `f64::ln` is the system's, and systems differ in the last bit, which would let a run differ from machine to machine.
/// This one uses only operations that IEEE 754 defines exactly: with x = 2^k m and s = (m-1)/(m+1),
/// ln x = k ln 2 + 2 artanh s, and |s| < 0.1716 for m between 1/sqrt(2) and sqrt(2), so ten terms of the series suffice.
pub(crate) fn ln(x: f64) -> f64 {
    debug_assert!(x.is_normal() && x > 0.0);
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i32 - 1023;
    let mut mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if mantissa > SQRT_2 {
        mantissa /= 2.0;
        exponent += 1;
    }
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let series = (1..=10).rev().fold(0.0, |sum, n| (sum + 1.0 / f64::from(2 * n + 1)) * square);
    f64::from(exponent) * LN_2 + 2.0 * (s + s * series)
}

#[cfg(test)]
mod tests {
    use super::ln;

    #[test]
    fn ln_agrees_with_libm_to_a_few_units_in_the_last_place() {
        for step in 1..200_000 {
            for x in [f64::from(step) / 100_000.0, f64::from(step) * 1e-16, f64::from(step) * 1e12] {
                let (own, other) = (ln(x), libm::log(x));
                assert!((own - other).abs() <= 4.0 * f64::EPSILON * other.abs(), "ln {x}: {own} {other}");
            }
        }
    }

    #[test]
    fn ln_of_one_is_zero() {
        assert_eq!(ln(1.0), 0.0);
    }
}
