//! The configuration of a queue, and what it must satisfy beyond its types.

use super::{CodelConfig, DropTailConfig, FqCodelConfig, PieConfig, RedConfig};
use crate::option_error::{OptionError, ensure};
use serde::{Deserialize, Serialize};
use wasp_units::{Bytes, Duration, Rate};

/// Longest time a parameter may hold. Longer ones would outlast every run.
pub(super) const LONGEST: Duration = Duration::from_secs(86_400);

/// A discipline with its parameters. Every parameter has the default that its paper, its RFC or, where they name none, Linux gives it, so that
/// `{ "kind": "codel" }` is a whole configuration.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum QueueConfig {
    /// One FIFO; what finds no room is dropped.
    DropTail(DropTailConfig),
    /// Random early detection.
    Red(RedConfig),
    /// Controlled delay.
    Codel(CodelConfig),
    /// A CoDel queue for each flow, served in turn.
    FqCodel(FqCodelConfig),
    /// Proportional integral controller enhanced.
    Pie(PieConfig),
}

impl QueueConfig {
    /// A drop-tail queue with room for so many bytes.
    #[must_use]
    pub const fn drop_tail(bytes: Bytes) -> Self {
        Self::DropTail(DropTailConfig { packets: None, bytes: Some(bytes) })
    }

    /// About how many bytes wait before a transmitter of this rate when a flow in slow start loses its first packet; `None` where it never does.
    /// `packet` is the length of its packets.
    ///
    /// CoDel lets all pass for an interval, PIE for its burst, and the average of RED follows a burst too late to stop it.
    #[must_use]
    pub fn held_first(&self, rate: Rate, packet: u16) -> Option<Bytes> {
        let early = match *self {
            Self::DropTail(_) | Self::Red(_) => None,
            Self::Codel(CodelConfig { target, interval, .. })
            | Self::FqCodel(FqCodelConfig { target, interval, .. }) => Some(target + interval),
            Self::Pie(PieConfig { target, max_burst, .. }) => Some(target + max_burst),
        };
        self.limit().least(early.map(|time| in_time(rate, time)), packet)
    }

    /// About how many bytes wait when a lasting flow loses a packet; `None` where it never does.
    #[must_use]
    pub fn held_in_the_long_run(&self, rate: Rate, packet: u16) -> Option<Bytes> {
        let early = match *self {
            Self::DropTail(_) => None,
            Self::Red(RedConfig { min, max, bytes, .. }) => Some((min.of(bytes) + max.of(bytes)) / 2.0),
            Self::Codel(CodelConfig { target, max_packet, .. })
            | Self::FqCodel(FqCodelConfig { target, max_packet, .. }) => {
                Some(in_time(rate, target).max(max_packet.get() as f64))
            }
            Self::Pie(PieConfig { target, mean_packet, .. }) => {
                Some(in_time(rate, target).max(2.0 * mean_packet.get() as f64))
            }
        };
        self.limit().least(early, packet)
    }

    /// The room for packets that wait.
    const fn limit(&self) -> Limit {
        let (packets, bytes) = match *self {
            Self::DropTail(DropTailConfig { packets, bytes })
            | Self::Codel(CodelConfig { packets, bytes, .. })
            | Self::FqCodel(FqCodelConfig { packets, bytes, .. })
            | Self::Pie(PieConfig { packets, bytes, .. }) => (packets, bytes),
            Self::Red(RedConfig { packets, bytes, .. }) => (packets, Some(bytes)),
        };
        Limit { packets, bytes }
    }

    /// Checks what the types do not.
    ///
    /// # Errors
    /// The first violation, in the order of the fields.
    pub fn check(&self) -> Result<(), OptionError> {
        match self {
            Self::DropTail(DropTailConfig { packets: _, bytes: _ }) => Ok(()),
            Self::Red(config) => config.check(),
            Self::Codel(config) => config.check(),
            Self::FqCodel(config) => config.check(),
            Self::Pie(config) => config.check(),
        }
    }
}

/// Bytes that a transmitter of this rate sends in this time.
fn in_time(rate: Rate, time: Duration) -> f64 {
    rate.bits_per_second() as f64 / 8.0 * time.as_secs_f64()
}

/// Fails unless the time is above zero and at most a day.
pub(super) fn ensure_time(field: &'static str, time: Duration) -> Result<(), OptionError> {
    ensure(!time.is_zero() && time <= LONGEST, field, time, "above zero and at most 24h")
}

/// Fails if the length is longer than that of the longest IP packet.
pub(super) fn check_packet(field: &'static str, bytes: Bytes) -> Result<(), OptionError> {
    ensure(bytes.get() <= u64::from(u16::MAX), field, bytes, "at most 65535B")
}

/// Room for packets that wait; a packet must fit both bounds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Limit {
    /// Most packets; `None` has no bound.
    pub(super) packets: Option<u32>,
    /// Most bytes; `None` has no bound.
    pub(super) bytes: Option<Bytes>,
}

impl Limit {
    /// The least of a number of bytes and both bounds, where packets have so many bytes.
    fn least(&self, bytes: Option<f64>, packet: u16) -> Option<Bytes> {
        let packets = self.packets.map(|most| f64::from(most) * f64::from(packet));
        let most = self.bytes.map(|most| most.get() as f64);
        let least = [bytes, packets, most].into_iter().flatten().reduce(f64::min);
        least.map(|bytes| Bytes::new(bytes as u64))
    }

    /// Whether so much may wait.
    pub(super) fn allows(&self, packets: usize, bytes: u64) -> bool {
        self.packets.is_none_or(|most| packets <= most as usize)
            && self.bytes.is_none_or(|most| bytes <= most.get())
    }
}
