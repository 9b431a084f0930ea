//! The distributions that workloads are made of, drawn by inversion: one uniform number gives one value, so that a draw
//! can be keyed by its index alone, and truncation needs no rejection.

use crate::math::{exp, gamma_cdf, ln, lower_gamma, normal_cdf, normal_quantile, pow};

/// A continuous distribution of positive numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// The logarithm is normal.
    Lognormal {
        /// Mean of the natural logarithm.
        mu: f64,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
    },
    /// P(X > x) = (scale/x)^shape from `scale` on.
    Pareto {
        /// Tail index.
        shape: f64,
        /// Least value.
        scale: f64,
    },
    /// P(X > x) = exp(-(x/scale)^shape).
    Weibull {
        /// Exponent.
        shape: f64,
        /// Unit of the values.
        scale: f64,
    },
    /// P(X > x) = exp(-x/mean).
    Exponential {
        /// Mean.
        mean: f64,
    },
    /// The gamma distribution.
    Gamma {
        /// Shape, kappa.
        shape: f64,
        /// Scale, theta.
        scale: f64,
    },
}

impl Distribution {
    /// Probability of a value up to `x`.
    #[must_use]
    pub fn cdf(self, x: f64) -> f64 {
        if x <= 0.0 {
            return 0.0;
        }
        match self {
            Self::Lognormal { mu, sigma } => normal_cdf((ln(x) - mu) / sigma),
            Self::Pareto { scale, .. } if x <= scale => 0.0,
            Self::Pareto { shape, scale } => 1.0 - pow(scale / x, shape),
            Self::Weibull { shape, scale } => -libm::expm1(-pow(x / scale, shape)),
            Self::Exponential { mean } => -libm::expm1(-x / mean),
            Self::Gamma { shape, scale } => gamma_cdf(shape, x / scale),
        }
    }

    /// The value that is not exceeded with probability `p`, for `p` in `[0, 1)`.
    #[must_use]
    pub fn quantile(self, p: f64) -> f64 {
        match self {
            Self::Lognormal { .. } if p <= 0.0 => 0.0,
            Self::Lognormal { mu, sigma } => exp(mu + sigma * normal_quantile(p)),
            Self::Pareto { shape, scale } => scale * pow(1.0 - p, -1.0 / shape),
            Self::Weibull { shape, scale } => scale * pow(-libm::log1p(-p), 1.0 / shape),
            Self::Exponential { mean } => -mean * libm::log1p(-p),
            Self::Gamma { shape, scale } => scale * gamma_quantile(shape, p),
        }
    }

    /// What values up to `x` contribute to the mean: the integral of t dF(t) from 0 to `x`.
    #[must_use]
    pub fn partial_mean(self, x: f64) -> f64 {
        if x <= 0.0 {
            return 0.0;
        }
        match self {
            Self::Lognormal { mu, sigma } => {
                exp(mu + 0.5 * sigma * sigma) * normal_cdf((ln(x) - mu - sigma * sigma) / sigma)
            }
            Self::Pareto { scale, .. } if x <= scale => 0.0,
            // The limit of the next line.
            Self::Pareto { shape, scale } if (shape - 1.0).abs() < f64::EPSILON => scale * ln(x / scale),
            Self::Pareto { shape, scale } => {
                scale * shape * libm::expm1((1.0 - shape) * ln(x / scale)) / (1.0 - shape)
            }
            Self::Weibull { shape, scale } => scale * lower_gamma(1.0 + 1.0 / shape, pow(x / scale, shape)),
            Self::Exponential { mean } => mean * gamma_cdf(2.0, x / mean),
            Self::Gamma { shape, scale } => shape * scale * gamma_cdf(shape + 1.0, x / scale),
        }
    }
}

/// By bisection of the logarithm, to the last bit but a few.
fn gamma_quantile(shape: f64, p: f64) -> f64 {
    let (mut low, mut high) = (-700.0, 7.0 + ln(shape + 1.0));
    for _ in 0..64 {
        let middle = 0.5 * (low + high);
        if gamma_cdf(shape, exp(middle)) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    exp(high)
}

/// A distribution given that the value lies in an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Truncated {
    distribution: Distribution,
    low: f64,
    high: f64,
    p_low: f64,
    p_high: f64,
}

impl Truncated {
    /// `distribution` between `low` and `high`; `None` where it has no probability.
    #[must_use]
    pub fn new(distribution: Distribution, low: f64, high: f64) -> Option<Self> {
        let (p_low, p_high) = (distribution.cdf(low), distribution.cdf(high));
        (p_high - p_low > 1e-9).then_some(Self { distribution, low, high, p_low, p_high })
    }

    /// Probability of a value up to `x`.
    #[must_use]
    pub fn cdf(&self, x: f64) -> f64 {
        ((self.distribution.cdf(x) - self.p_low) / (self.p_high - self.p_low)).clamp(0.0, 1.0)
    }

    /// The value that is not exceeded with probability `p`, for `p` in `[0, 1)`.
    #[must_use]
    pub fn quantile(&self, p: f64) -> f64 {
        let value = self.distribution.quantile(self.p_low + p * (self.p_high - self.p_low));
        value.clamp(self.low, self.high)
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let part = self.distribution.partial_mean(self.high) - self.distribution.partial_mean(self.low);
        (part / (self.p_high - self.p_low)).clamp(self.low, self.high)
    }

    /// What is left of a value that is met at a random moment of its length, where it is not exceeded with probability `p`, for `p`
    /// in `[0, 1)`: the residual life of renewal theory, with the density (1 - F(x)) / mean (Cox, "Renewal Theory", 1962,
    /// section 5.2). By bisection, to twelve digits.
    #[must_use]
    pub fn residual_quantile(&self, p: f64) -> f64 {
        let wanted = p * self.mean();
        let (mut low, mut high) = (0.0, self.high);
        while wanted > 0.0 && high - low > high * 1e-12 {
            let middle = 0.5 * (low + high);
            if self.integrated_tail(middle) < wanted {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The integral of the probability of more than t over t from 0 to `x`.
    fn integrated_tail(&self, x: f64) -> f64 {
        if x <= self.low {
            return x;
        }
        let below = self.distribution.partial_mean(x) - self.distribution.partial_mean(self.low);
        below / (self.p_high - self.p_low) + x * (1.0 - self.cdf(x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn distributions() -> impl Strategy<Value = Distribution> {
        prop_oneof![
            (-3.0..12.0, 0.05..3.0).prop_map(|(mu, sigma)| Distribution::Lognormal { mu, sigma }),
            (0.3..5.0, 0.1..1e5).prop_map(|(shape, scale)| Distribution::Pareto { shape, scale }),
            (0.3..5.0, 0.1..1e5).prop_map(|(shape, scale)| Distribution::Weibull { shape, scale }),
            (0.1..1e5).prop_map(|mean| Distribution::Exponential { mean }),
            (0.1..20.0, 0.1..1e5).prop_map(|(shape, scale)| Distribution::Gamma { shape, scale }),
        ]
    }

    proptest! {
        #[test]
        fn a_quantile_inverts_the_distribution(distribution in distributions(), p in 0.001..0.999) {
            prop_assert!((distribution.cdf(distribution.quantile(p)) - p).abs() < 1e-9);
        }

        #[test]
        fn truncated_quantiles_lie_in_the_interval_and_rise(
            distribution in distributions(), low in 0.0..0.6, share in 0.01..0.4, p in 0.0..1.0, q in 0.0..1.0,
        ) {
            let (low, high) = (distribution.quantile(low), distribution.quantile(low + share));
            let truncated = Truncated::new(distribution, low, high).unwrap();
            let (x, y) = (truncated.quantile(f64::min(p, q)), truncated.quantile(f64::max(p, q)));
            prop_assert!(low <= x && x <= y && y <= high);
            prop_assert!((truncated.cdf(truncated.quantile(p)) - p).abs() < 1e-6);
        }
    }

    /// Means over this many equal parts of the probability, whose greatest values weigh little.
    const PARTS: u32 = 4_000;

    fn of_parts(value: impl Fn(f64) -> f64) -> f64 {
        (0..PARTS).map(|part| value((f64::from(part) + 0.5) / f64::from(PARTS))).sum::<f64>()
            / f64::from(PARTS)
    }

    proptest! {
        #[test]
        fn means_and_residuals_are_those_of_the_values(
            distribution in distributions(), low in 0.0..0.6, share in 0.01..0.39, p in 0.05..0.95,
        ) {
            let (low, high) = (distribution.quantile(low), distribution.quantile(low + share));
            let truncated = Truncated::new(distribution, low, high).unwrap();
            let mean = of_parts(|p| truncated.quantile(p));
            prop_assert!((truncated.mean() / mean - 1.0).abs() < 1e-3, "{} {mean}", truncated.mean());
            // A part of each value, as long as it is, lies beyond the residual.
            let residual = truncated.residual_quantile(p);
            let beyond = of_parts(|p| (truncated.quantile(p) - residual).max(0.0));
            prop_assert!((beyond / mean - (1.0 - p)).abs() < 2e-3, "{residual} {}", beyond / mean);
        }
    }

    #[test]
    fn heavy_tails_have_the_means_of_their_formulas() {
        let mean = |distribution, high| Truncated::new(distribution, 0.0, high).unwrap().mean();
        let close =
            |value: f64, wanted: f64| assert!((value / wanted - 1.0).abs() < 1e-9, "{value} {wanted}");
        let pareto = |shape| Distribution::Pareto { shape, scale: 1.0 };
        close(mean(pareto(1.5), 1e12), 3.0 * (1.0 - 1e-6) / (1.0 - 1e-18));
        close(mean(pareto(1.0), 1e6), ln(1e6) / (1.0 - 1e-6));
        close(mean(pareto(1.0 + 1e-12), 1e6), mean(pareto(1.0), 1e6));
        close(mean(Distribution::Exponential { mean: 7.0 }, 1e6), 7.0);
        close(mean(Distribution::Lognormal { mu: 1.0, sigma: 2.0 }, 1e20), exp(3.0));
        close(mean(Distribution::Weibull { shape: 0.5, scale: 3.0 }, 1e12), 6.0);
        assert!((mean(Distribution::Weibull { shape: 1e6, scale: 3.0 }, 86_400.0) - 3.0).abs() < 1e-5);
        // Of an exponential time nothing is known: its rest is the time again. Of a Pareto time of shape 1.5, what is left
        // exceeds x with probability (1/3) * 2 / sqrt(x).
        let rest = |distribution, p| Truncated::new(distribution, 0.0, 1e15).unwrap().residual_quantile(p);
        close(rest(Distribution::Exponential { mean: 7.0 }, 0.5), 7.0 * ln(2.0));
        let median = rest(pareto(1.5), 0.5);
        assert!((median / (16.0 / 9.0) - 1.0).abs() < 1e-6, "{median}");
    }

    #[test]
    fn nothing_is_left_of_an_interval_without_probability() {
        let pareto = Distribution::Pareto { shape: 1.1, scale: 1000.0 };
        assert_eq!(Truncated::new(pareto, 0.0, 1000.0), None);
    }
}
