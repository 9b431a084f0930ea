//! Jitter: a propagation delay that varies from packet to packet.

use super::LONGEST;
use crate::option_error::{OptionError, ensure, within};
use serde::{Deserialize, Serialize};
use wasp_random::{Key, Purpose};
use wasp_units::{Duration, Instant};

/// How the delay of a packet differs from the delay of its link. Each packet's difference is drawn independently of all others.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "model", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Jitter {
    /// Normal about the link's delay. A delay that would be negative is zero, which raises the mean: by 0.04 % of the deviation where the
    /// link's delay is 3 deviations, by 8 % where it is one.
    Normal {
        /// Standard deviation.
        deviation: Duration,
        /// Whether packets may overtake each other.
        #[serde(default)]
        order: ArrivalOrder,
    },
    /// More than the link's delay by a Pareto variable: P(extra > x) = (scale/x)^shape from scale on, with scale = mean (shape - 1) / shape.
    /// What lies above two minutes is two minutes.
    Pareto {
        /// Mean of the extra delay.
        mean: Duration,
        /// Tail index. The variance is infinite up to 2; `netem` draws its Pareto table with 3.
        shape: f64,
        /// Whether packets may overtake each other.
        #[serde(default)]
        order: ArrivalOrder,
    },
    /// More than the link's delay by a time between two, each nanosecond of it equally likely.
    Uniform {
        /// Least extra delay.
        min: Duration,
        /// Greatest extra delay.
        max: Duration,
        /// Whether packets may overtake each other.
        #[serde(default)]
        order: ArrivalOrder,
    },
}

/// Whether packets with different delays may overtake each other.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalOrder {
    /// No: a packet that would arrive before one that was sent earlier arrives together with it, behind it. So one late packet delays those
    /// that follow closely, and the delays that packets meet have a greater mean and a smaller variance than those drawn.
    #[default]
    Kept,
    /// Yes.
    Free,
}

impl Jitter {
    /// Checks the parameters.
    ///
    /// # Errors
    /// The first parameter that is impossible.
    pub fn check(&self) -> Result<(), OptionError> {
        match *self {
            Self::Normal { deviation, .. } => within("deviation", deviation, Duration::ZERO, LONGEST),
            Self::Pareto { mean, shape, .. } => {
                within("mean", mean, Duration::ZERO, LONGEST)?;
                let valid = "above 1, or there is no mean, and at most 100";
                ensure(shape > 1.0 && shape <= 100.0, "shape", shape, valid)
            }
            Self::Uniform { min, max, .. } => {
                within("max", max, Duration::ZERO, LONGEST)?;
                within("min", min, Duration::ZERO, max)
            }
        }
    }

    /// Whether packets may overtake each other.
    #[must_use]
    pub const fn order(&self) -> ArrivalOrder {
        match self {
            Self::Normal { order, .. } | Self::Pareto { order, .. } | Self::Uniform { order, .. } => *order,
        }
    }

    /// A delay that no packet falls short of on a link with this delay: the lookahead of a channel.
    #[must_use]
    pub const fn least_delay(&self, base: Duration) -> Duration {
        match *self {
            // A normal draw lies within 8.21 deviations.
            Self::Normal { deviation, .. } => base.saturating_sub(deviation.saturating_mul(9)),
            Self::Pareto { .. } => base,
            Self::Uniform { min, .. } => Duration::from_nanos(base.as_nanos().saturating_add(min.as_nanos())),
        }
    }

    /// The mean of what it adds to the link's delay, where no delay would be negative.
    #[must_use]
    pub const fn mean(&self) -> Duration {
        match *self {
            Self::Normal { .. } => Duration::ZERO,
            Self::Pareto { mean, .. } => mean,
            Self::Uniform { min, max, .. } => {
                Duration::from_nanos(min.as_nanos() + max.saturating_sub(min).as_nanos() / 2)
            }
        }
    }

    /// The delay of the packet with this number on a link with the delay `base`.
    fn draw(&self, key: Key, number: u64, base: Duration) -> Duration {
        let extra = match *self {
            Self::Normal { deviation, .. } => {
                (key.normal(number) * deviation.as_nanos() as f64).round() as i64
            }
            Self::Pareto { mean, shape, .. } => {
                let scale = mean.as_nanos() as f64 * (shape - 1.0) / shape;
                let extra = (key.pareto(number, shape) * scale).min(LONGEST.as_nanos() as f64);
                extra.round() as i64
            }
            Self::Uniform { min, max, .. } => {
                let choices = u128::from(max.saturating_sub(min).as_nanos()) + 1;
                let place = (u128::from(key.draw(number)) * choices) >> 64;
                min.as_nanos().saturating_add(place as u64) as i64
            }
        };
        Duration::from_nanos(base.as_nanos().saturating_add_signed(extra))
    }
}

/// The jitter of one direction of a link, packet by packet in the order in which they begin to propagate.
#[derive(Clone, Debug)]
pub struct JitterProcess {
    jitter: Jitter,
    key: Key,
    packets: u64,
    /// The latest arrival so far.
    latest: Instant,
}

impl JitterProcess {
    /// Jitter before its first packet.
    #[must_use]
    pub fn new(jitter: Jitter, key: Key) -> Self {
        Self { jitter, key: key.purpose(Purpose::Jitter).name("jitter"), packets: 0, latest: Instant::ZERO }
    }

    /// Draws the next packet's delay on a link with the delay `base`, whatever the order of arrival.
    pub fn delay(&mut self, base: Duration) -> Duration {
        let number = self.packets;
        self.packets += 1;
        self.jitter.draw(self.key, number, base)
    }

    /// When the next packet arrives, which begins to propagate at `left` on a link with the delay `base`. It draws as [`Self::delay`] does,
    /// and here order is kept.
    pub fn arrival(&mut self, left: Instant, base: Duration) -> Instant {
        let at = left.saturating_add(self.delay(base));
        match self.jitter.order() {
            ArrivalOrder::Free => at,
            ArrivalOrder::Kept => {
                self.latest = self.latest.max(at);
                self.latest
            }
        }
    }
}
