//! Special functions that give the same bits on every machine: they rest on `libm`, not on the system's library.

use std::f64::consts::FRAC_1_SQRT_2;

pub(crate) use libm::{exp, log as ln, pow};
pub(crate) use wasp_random::normal_quantile;

/// Probability that a standard normal variable is at most `z`.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z * FRAC_1_SQRT_2)
}

/// Probability that a gamma variable of this shape and scale 1 is at most `x`: the regularised incomplete gamma function
/// P(shape, x), by its series (NIST DLMF 8.7.1 with 8.11.4) up to shape + 1 and by its continued fraction (8.9.2) beyond.
pub(crate) fn gamma_cdf(shape: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let factor = exp(shape * ln(x) - x - libm::lgamma(shape));
    if x < shape + 1.0 { factor * series(shape, x) } else { 1.0 - factor * continued_fraction(shape, x) }
}

/// The lower incomplete gamma function, the integral of t^(shape - 1) e^-t from 0 to `x`. It is finite where the gamma function of a large
/// shape is not.
pub(crate) fn lower_gamma(shape: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x.is_infinite() {
        return libm::tgamma(shape);
    }
    let factor = exp(shape * ln(x) - x);
    if x < shape + 1.0 {
        factor * series(shape, x)
    } else {
        libm::tgamma(shape) - factor * continued_fraction(shape, x)
    }
}

fn series(shape: f64, x: f64) -> f64 {
    let mut term = 1.0 / shape;
    let mut sum = term;
    let mut denominator = shape;
    while term > sum * f64::EPSILON {
        denominator += 1.0;
        term *= x / denominator;
        sum += term;
    }
    sum
}

/// Lentz's method, as modified by Thompson and Barnett (J. Comput. Phys. 64, 1986).
fn continued_fraction(shape: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let floor = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut b = x + 1.0 - shape;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / floor(b);
    let mut fraction = d;
    for step in 1..10_000 {
        let n = f64::from(step);
        let a = -n * (n - shape);
        b += 2.0;
        d = 1.0 / floor(a * d + b);
        c = floor(b + a / c);
        fraction *= d * c;
        if (d * c - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gamma_distribution_has_its_closed_forms() {
        for step in 1..2_000 {
            let x = f64::from(step) / 100.0;
            let erlang2 = 1.0 - exp(-x) * (1.0 + x);
            let half = 1.0 - libm::erfc(libm::sqrt(x));
            assert!((gamma_cdf(1.0, x) - (1.0 - exp(-x))).abs() < 1e-14, "exponential {x}");
            assert!((gamma_cdf(2.0, x) - erlang2).abs() < 1e-14, "Erlang {x}");
            assert!((gamma_cdf(0.5, x) - half).abs() < 1e-14, "chi-square {x}");
            assert!((lower_gamma(3.0, x) / 2.0 - gamma_cdf(3.0, x)).abs() < 1e-14, "Erlang {x}");
        }
        assert_eq!(lower_gamma(3.0, f64::INFINITY), 2.0);
        // Where the gamma function itself is beyond all numbers, by the first terms of the series e^-x x^a (1/a + x/(a(a+1)) + ...).
        assert!((lower_gamma(1_000.0, 1.0) * 1_000.0 * exp(1.0) - 1.001).abs() < 1e-5);
    }
}
