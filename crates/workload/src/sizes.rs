//! Sizes of files: a lognormal body and a Pareto tail (Barford and Crovella, SIGMETRICS 1998, section 3.1).

use crate::OptionError;
use crate::distribution::{Distribution, Truncated};
use crate::error::{positive, within};
use serde::{Deserialize, Serialize};
use wasp_random::Key;
use wasp_units::{Bytes, Probability};

/// Largest file: 2^40 bytes.
const LARGEST: Bytes = Bytes::new(1 << 40);

/// The distribution of the sizes of files.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// Mean of the natural logarithm of the body's sizes in bytes.
    pub mu: f64,
    /// Standard deviation of that logarithm.
    pub sigma: f64,
    /// The heavy tail; without one the body reaches up to the cap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<Tail>,
    /// No file is larger.
    pub cap: Bytes,
}

/// The Pareto tail of file sizes. The body is cut off where it begins.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tail {
    /// Share of the files that belong to the tail.
    pub fraction: Probability,
    /// Tail index, alpha.
    pub shape: f64,
    /// Least size of the tail, k.
    pub scale: Bytes,
}

/// How the sizes of a set are drawn from their distribution.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sampling {
    /// Independently, so that the mean of a heavy tail differs from seed to seed.
    #[default]
    Independent,
    /// One from each of as many equally likely strata as there are files, so that every seed gives a representative set.
    Stratified,
}

impl Sizes {
    /// Checks the parameters and joins body and tail.
    ///
    /// # Errors
    /// The first parameter that is impossible.
    pub fn mixture(&self) -> Result<Mixture, OptionError> {
        let Self { mu, sigma, tail, cap } = *self;
        within("mu", mu, -10.0, 30.0)?;
        within("sigma", sigma, 0.001, 20.0)?;
        within("cap", cap, Bytes::new(1), LARGEST)?;
        let end = tail.map_or(cap, |tail| tail.scale);
        let body = Truncated::new(Distribution::Lognormal { mu, sigma }, 0.0, end.get() as f64);
        let nothing = || OptionError::new("mu", mu, format!("no size of the body would be below {end}"));
        let body = body.ok_or_else(nothing)?;
        let tail = tail.map(|tail| tail.truncated(cap)).transpose().map_err(|error| error.within("tail"))?;
        let fraction = self.tail.map_or(0.0, |tail| tail.fraction.as_f64());
        Ok(Mixture { body, tail, fraction })
    }
}

impl Tail {
    fn truncated(&self, cap: Bytes) -> Result<Truncated, OptionError> {
        positive("shape", self.shape)?;
        within("scale", self.scale, Bytes::new(1), LARGEST)?;
        let scale = self.scale.get() as f64;
        let tail = Truncated::new(Distribution::Pareto { shape: self.shape, scale }, scale, cap.get() as f64);
        tail.ok_or_else(|| OptionError::new("scale", self.scale, format!("must lie below the cap, {cap}")))
    }
}

/// Body and tail as one distribution of bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mixture {
    body: Truncated,
    tail: Option<Truncated>,
    fraction: f64,
}

impl Mixture {
    /// Probability of a size up to `x` bytes.
    #[must_use]
    pub fn cdf(&self, x: f64) -> f64 {
        let tail = self.tail.map_or(0.0, |tail| tail.cdf(x));
        (1.0 - self.fraction) * self.body.cdf(x) + self.fraction * tail
    }

    /// The size in bytes that is not exceeded with probability `p`, for `p` in `[0, 1)`.
    #[must_use]
    pub fn quantile(&self, p: f64) -> f64 {
        let body = 1.0 - self.fraction;
        match &self.tail {
            Some(tail) if p >= body => tail.quantile((p - body) / self.fraction),
            _ => self.body.quantile(p / body),
        }
    }

    /// `count` sizes, in whole bytes and at least one.
    #[must_use]
    pub fn draw(&self, sampling: Sampling, key: Key, count: usize) -> Vec<Bytes> {
        let size = |p: f64| Bytes::new((libm::round(self.quantile(p)) as u64).max(1));
        let draws = (0..count).map(|index| (index, key.unit(index as u64)));
        let mut sizes: Vec<Bytes> = match sampling {
            Sampling::Independent => draws.map(|(_, unit)| size(unit)).collect(),
            Sampling::Stratified => {
                draws.map(|(index, unit)| size((index as f64 + unit) / count as f64)).collect()
            }
        };
        if sampling == Sampling::Stratified {
            crate::shuffle(&mut sizes, &mut key.stream());
        }
        sizes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SURGE: Sizes = Sizes {
        mu: 9.357,
        sigma: 1.318,
        tail: Some(Tail { fraction: Probability::ZERO, shape: 1.1, scale: Bytes::new(133_000) }),
        cap: Bytes::new(50_000_000),
    };

    #[test]
    fn quantiles_invert_the_mixture_across_the_cut() {
        let fraction = Probability::from_f64(0.07).unwrap();
        let sizes = Sizes { tail: SURGE.tail.map(|tail| Tail { fraction, ..tail }), ..SURGE };
        let mixture = sizes.mixture().unwrap();
        for step in 1..1000 {
            let p = f64::from(step) / 1000.0;
            assert!((mixture.cdf(mixture.quantile(p)) - p).abs() < 1e-9, "{p}");
        }
        assert!(mixture.quantile(0.929) < 133_000.0 && mixture.quantile(0.931) > 133_000.0);
    }

    #[test]
    fn impossible_parameters_are_named() {
        let tail = |shape, scale| SURGE.tail.map(|tail| Tail { shape, scale: Bytes::new(scale), ..tail });
        for (sizes, message) in [
            (
                Sizes { tail: tail(0.0, 133_000), ..SURGE },
                "tail.shape: 0; must be above 0 and at most 1000000",
            ),
            (
                Sizes { tail: tail(f64::NAN, 133_000), ..SURGE },
                "tail.shape: NaN; must be above 0 and at most 1000000",
            ),
            (
                Sizes { tail: tail(1.1, 60_000_000), ..SURGE },
                "tail.scale: 60000000B; must lie below the cap, 50000000B",
            ),
            (Sizes { sigma: -1.0, ..SURGE }, "sigma: -1; must be from 0.001 to 20"),
            (Sizes { mu: 30.0, tail: None, ..SURGE }, "mu: 30; no size of the body would be below 50000000B"),
        ] {
            assert_eq!(sizes.mixture().unwrap_err().to_string(), message);
        }
    }
}
