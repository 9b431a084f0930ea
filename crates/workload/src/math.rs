//! Special functions that give the same bits on every machine: they rest on `libm`, not on the system's library.

use std::f64::consts::FRAC_1_SQRT_2;

pub(crate) use libm::{exp, log as ln, pow};

/// Probability that a standard normal variable is at most `z`.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z * FRAC_1_SQRT_2)
}

/// The value below which a standard normal variable lies with probability `p`, for `p` in (0, 1).
///
/// Source: Wichura, "Algorithm AS 241: The Percentage Points of the Normal Distribution" (Applied Statistics 37, 1988),
/// routine PPND16, accurate to about one part in 10^16. The constants have the names of the routine.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    const SPLIT1: f64 = 0.425;
    const CONST1: f64 = 0.180_625;
    let q = p - 0.5;
    if q.abs() <= SPLIT1 {
        let r = CONST1 - q * q;
        return q * polynomial(r, &A) / polynomial(r, &B);
    }
    let magnitude = tail(if q < 0.0 { p } else { 1.0 - p });
    if q < 0.0 { -magnitude } else { magnitude }
}

/// Distance from zero of the point that cuts off a tail of probability `p`, for `p` up to 0.075.
fn tail(p: f64) -> f64 {
    const SPLIT2: f64 = 5.0;
    const CONST2: f64 = 1.6;
    let r = libm::sqrt(-ln(p));
    if r <= SPLIT2 {
        polynomial(r - CONST2, &C) / polynomial(r - CONST2, &D)
    } else {
        polynomial(r - SPLIT2, &E) / polynomial(r - SPLIT2, &F)
    }
}

/// The polynomial with these coefficients, the constant one first.
fn polynomial(x: f64, coefficients: &[f64; 8]) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

#[expect(clippy::excessive_precision, reason = "the digits are those of the routine")]
const A: [f64; 8] = [
    3.387_132_872_796_366_608,
    1.331_416_678_917_843_774_5e2,
    1.971_590_950_306_551_442_7e3,
    1.373_169_376_550_946_112_5e4,
    4.592_195_393_154_987_145_7e4,
    6.726_577_092_700_870_085_3e4,
    3.343_057_558_358_812_810_5e4,
    2.509_080_928_730_122_672_7e3,
];
#[expect(clippy::excessive_precision, reason = "the digits are those of the routine")]
const B: [f64; 8] = [
    1.0,
    4.231_333_070_160_091_125_2e1,
    6.871_870_074_920_579_083e2,
    5.394_196_021_424_751_107_7e3,
    2.121_379_430_158_659_586_7e4,
    3.930_789_580_009_271_061e4,
    2.872_908_573_572_194_267_4e4,
    5.226_495_278_852_854_561e3,
];
#[expect(clippy::excessive_precision, reason = "the digits are those of the routine")]
const C: [f64; 8] = [
    1.423_437_110_749_683_577_34,
    4.630_337_846_156_545_295_9,
    5.769_497_221_460_691_405_5,
    3.647_848_324_763_204_605_04,
    1.270_458_252_452_368_382_58,
    2.417_807_251_774_506_117_7e-1,
    2.272_384_498_926_918_458_33e-2,
    7.745_450_142_783_414_076_4e-4,
];
#[expect(clippy::excessive_precision, reason = "the digits are those of the routine")]
const D: [f64; 8] = [
    1.0,
    2.053_191_626_637_758_821_87,
    1.676_384_830_183_803_849_4,
    6.897_673_349_851_000_045_5e-1,
    1.481_039_764_274_800_745_9e-1,
    1.519_866_656_361_645_719_66e-2,
    5.475_938_084_995_344_946e-4,
    1.050_750_071_644_416_843_24e-9,
];
#[expect(clippy::excessive_precision, reason = "the digits are those of the routine")]
const E: [f64; 8] = [
    6.657_904_643_501_103_777_2,
    5.463_784_911_164_114_369_9,
    1.784_826_539_917_291_335_8,
    2.965_605_718_285_048_912_3e-1,
    2.653_218_952_657_612_309_3e-2,
    1.242_660_947_388_078_438_6e-3,
    2.711_555_568_743_487_578_15e-5,
    2.010_334_399_292_288_132_65e-7,
];
#[expect(clippy::excessive_precision, reason = "the digits are those of the routine")]
const F: [f64; 8] = [
    1.0,
    5.998_322_065_558_879_376_9e-1,
    1.369_298_809_227_358_053_1e-1,
    1.487_536_129_085_061_485_25e-2,
    7.868_691_311_456_132_591e-4,
    1.846_318_317_510_054_681_8e-5,
    1.421_511_758_316_445_888_7e-7,
    2.044_263_103_389_939_785_64e-15,
];

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
    fn the_normal_quantile_inverts_the_distribution() {
        for step in 1..100_000 {
            let p = f64::from(step) / 100_000.0;
            assert!((normal_cdf(normal_quantile(p)) - p).abs() < 4e-16, "{p}");
        }
        for exponent in 5..300 {
            let p = pow(10.0, -f64::from(exponent));
            assert!((normal_cdf(normal_quantile(p)) / p - 1.0).abs() < 1e-12, "{p}");
        }
    }

    #[test]
    fn normal_quantiles_are_those_of_the_routine() {
        // The test values printed with AS 241.
        for (p, z) in [
            (0.25, -0.674_489_750_196_081_7),
            (0.001, -3.090_232_306_167_814),
            (1e-20, -9.262_340_089_798_408),
        ] {
            assert!((normal_quantile(p) - z).abs() < 1e-15 * z.abs(), "{p}: {}", normal_quantile(p));
        }
    }

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
