//! Distributions drawn by inversion: one uniform number gives one value, so that a draw is keyed by its index alone.
//!
//! The functions rest on `libm` and on operations that IEEE 754 defines exactly, so that they give the same bits on every machine.

use crate::Key;

impl Key {
    /// A standard normal number, from the draw at `index`; never further from zero than 8.21.
    #[must_use]
    pub fn normal(self, index: u64) -> f64 {
        normal_quantile(midpoint(self.draw(index)))
    }

    /// A number from the Pareto distribution with least value 1, P(X > x) = x^-`shape`, from the draw at `index`.
    ///
    /// The shape is above zero.
    #[must_use]
    pub fn pareto(self, index: u64, shape: f64) -> f64 {
        // 1 - unit lies in (0, 1], so the number is finite unless the shape is below 0.06.
        libm::pow(1.0 - self.unit(index), -1.0 / shape)
    }
}

/// The middle of one of 2^52 equal parts of (0, 1): neither end, where a quantile is infinite, and symmetric about 1/2.
fn midpoint(draw: u64) -> f64 {
    ((draw >> 12) as f64 + 0.5) * (1.0 / (1_u64 << 52) as f64)
}

/// The value below which a standard normal variable lies with probability `p`, for `p` in (0, 1).
///
/// Source: Wichura, "Algorithm AS 241: The Percentage Points of the Normal Distribution" (Applied Statistics 37, 1988),
/// routine PPND16, accurate to about one part in 10^16. The constants have the names of the routine.
#[must_use]
pub fn normal_quantile(p: f64) -> f64 {
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
    let r = libm::sqrt(-libm::log(p));
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn the_normal_quantile_inverts_the_distribution() {
        let cdf = |z: f64| 0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2);
        for step in 1..100_000 {
            let p = f64::from(step) / 100_000.0;
            assert!((cdf(normal_quantile(p)) - p).abs() < 4e-16, "{p}");
        }
        for exponent in 5..300 {
            let p = libm::pow(10.0, -f64::from(exponent));
            assert!((cdf(normal_quantile(p)) / p - 1.0).abs() < 1e-12, "{p}");
        }
    }

    #[test]
    fn midpoints_are_symmetric_and_have_finite_quantiles() {
        for draw in [0, 1 << 12, 0x1234_5678_9abc_def0, u64::MAX / 2, u64::MAX] {
            let (low, high) = (midpoint(draw), midpoint(!draw));
            assert_eq!(low + high, 1.0);
            assert!(normal_quantile(low).abs() < 8.21, "{draw}: {}", normal_quantile(low));
        }
        assert!(midpoint(0) > 0.0 && midpoint(u64::MAX) < 1.0);
    }
}
