//! Times that a user lets pass: think times between pages, gaps within a page.

use crate::OptionError;
use crate::distribution::{Distribution, Truncated};
use crate::error::{positive, within};
use serde::{Deserialize, Serialize};
use wasp_random::Key;
use wasp_units::Duration;

/// Longest time drawn unless a cap is given: a day. A Pareto tail would else outlast every clock.
const LONGEST: Duration = Duration::from_secs(86_400);

/// A random length of time.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "model", rename_all = "lowercase", deny_unknown_fields)]
pub enum Delay {
    /// No time at all.
    None {},
    /// Always the same.
    Constant {
        /// That time.
        value: Duration,
    },
    /// Exponential, as between Poisson arrivals.
    Exponential {
        /// Mean.
        mean: Duration,
    },
    /// Pareto, the inactive OFF time of SURGE.
    Pareto {
        /// Tail index.
        shape: f64,
        /// Least time.
        scale: Duration,
        /// Longest time, a day unless given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cap: Option<Duration>,
    },
    /// Weibull, the active OFF time of SURGE.
    Weibull {
        /// Exponent.
        shape: f64,
        /// 63rd percentile.
        scale: Duration,
    },
    /// Lognormal.
    Lognormal {
        /// Mean of the natural logarithm of the seconds.
        mu: f64,
        /// Standard deviation of that logarithm.
        sigma: f64,
    },
}

impl Default for Delay {
    fn default() -> Self {
        Self::None {}
    }
}

impl Delay {
    /// Checks the parameters.
    ///
    /// # Errors
    /// The first parameter that is impossible.
    pub fn check(&self) -> Result<(), OptionError> {
        match *self {
            Self::None {} => return Ok(()),
            Self::Constant { value } => return within("value", value, Duration::ZERO, LONGEST),
            Self::Exponential { mean } => within("mean", mean, Duration::from_nanos(1), LONGEST)?,
            Self::Pareto { shape, scale, cap } => {
                positive("shape", shape)?;
                within("scale", scale, Duration::from_nanos(1), LONGEST)?;
                within("cap", cap.unwrap_or(LONGEST), scale, LONGEST)?;
            }
            Self::Weibull { shape, scale } => {
                positive("shape", shape)?;
                within("scale", scale, Duration::from_nanos(1), LONGEST)?;
            }
            Self::Lognormal { mu, sigma } => {
                within("mu", mu, -30.0, 11.0)?;
                within("sigma", sigma, 0.001, 20.0)?;
            }
        }
        let impossible = || OptionError::new("cap", LONGEST, "the distribution lies above it");
        self.truncated().map(|_| ()).ok_or_else(impossible)
    }

    /// The distribution of the seconds; `None` where nothing is random.
    #[must_use]
    pub fn truncated(&self) -> Option<Truncated> {
        let (distribution, cap) = match *self {
            Self::None {} | Self::Constant { .. } => return None,
            Self::Exponential { mean } => (Distribution::Exponential { mean: mean.as_secs_f64() }, None),
            Self::Pareto { shape, scale, cap } => {
                (Distribution::Pareto { shape, scale: scale.as_secs_f64() }, cap)
            }
            Self::Weibull { shape, scale } => {
                (Distribution::Weibull { shape, scale: scale.as_secs_f64() }, None)
            }
            Self::Lognormal { mu, sigma } => (Distribution::Lognormal { mu, sigma }, None),
        };
        Truncated::new(distribution, 0.0, cap.unwrap_or(LONGEST).as_secs_f64())
    }

    /// The time numbered `index` among those with this key.
    #[must_use]
    pub fn draw(&self, key: Key, index: u64) -> Duration {
        if let Self::Constant { value } = self {
            return *value;
        }
        self.truncated().map_or(Duration::ZERO, |truncated| duration(truncated.quantile(key.unit(index))))
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> Duration {
        match self {
            Self::Constant { value } => *value,
            _ => self.truncated().map_or(Duration::ZERO, |truncated| duration(truncated.mean())),
        }
    }

    /// What is left of a time that is met at a random moment of it; the draw numbered `index` of this key decides.
    #[must_use]
    pub fn residual(&self, key: Key, index: u64) -> Duration {
        match self {
            Self::Constant { value } => duration(value.as_secs_f64() * key.unit(index)),
            _ => self
                .truncated()
                .map_or(Duration::ZERO, |truncated| duration(truncated.residual_quantile(key.unit(index)))),
        }
    }
}

/// So many seconds, a day at most: far within the integers that an f64 holds exactly as nanoseconds.
fn duration(seconds: f64) -> Duration {
    Duration::from_nanos(libm::round(seconds * 1e9) as u64)
}
