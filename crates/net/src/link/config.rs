//! What one direction of a link does to packets.

use crate::queue::{DropTailConfig, QueueConfig};
use crate::{Corrupt, Duplicate, Jitter, Loss, RateTrace, Reorder};
use wasp_units::{Bytes, Duration, Rate};

/// The least that a link carries, in bytes (RFC 791 section 3.2).
pub(crate) const LEAST_MTU: u16 = 68;

/// What one direction of a link does to packets, in the order in which they meet it.
#[derive(Clone, Debug, Default)]
pub struct LinkConfig {
    /// Longest packet in bytes, 68 at least (RFC 791); `None` carries any.
    pub mtu: Option<u16>,
    /// Random loss.
    pub loss: Loss,
    /// Packets in which a bit is flipped.
    pub corrupt: Option<Corrupt>,
    /// Packets that a copy follows.
    pub duplicate: Option<Duplicate>,
    /// Which packets wait for the transmitter, and which of them are dropped or marked; `None` lets all wait.
    pub queue: Option<QueueConfig>,
    /// Serialisation rate over IP bytes; `None` takes no time.
    pub rate: Option<Rate>,
    /// Serialisation by the opportunities of a trace, in place of `rate`.
    pub trace: Option<RateTrace>,
    /// Packets that others overtake, behind the transmitter.
    pub reorder: Option<Reorder>,
    /// Propagation delay.
    pub delay: Duration,
    /// How the propagation delay varies.
    pub jitter: Option<Jitter>,
    /// Takes the path of queue and transmitter even where the fast path would do: only to hold one against the other.
    pub by_queue: bool,
}

impl LinkConfig {
    /// Whether the fast path is enough.
    pub(crate) const fn is_simple(&self) -> bool {
        let is_fifo =
            matches!(self.queue, None | Some(QueueConfig::DropTail(DropTailConfig { packets: None, .. })));
        let alters = self.corrupt.is_some() || self.duplicate.is_some();
        let reorders = self.jitter.is_some() || self.reorder.is_some();
        is_fifo && self.trace.is_none() && !alters && !reorders && !self.by_queue
    }

    /// The rate, or the mean rate of the trace; `None` is infinite.
    #[must_use]
    pub fn mean_rate(&self) -> Option<Rate> {
        self.trace.as_ref().map_or(self.rate, |trace| Some(trace.mean_rate()))
    }

    /// The bytes that may wait in a drop-tail queue; `None` has no bound.
    pub(crate) const fn room(&self) -> Option<Bytes> {
        match self.queue {
            Some(QueueConfig::DropTail(DropTailConfig { bytes, .. })) => bytes,
            _ => None,
        }
    }

    /// The least time that a packet takes from one end to the other.
    pub(crate) fn least_delay(&self) -> Duration {
        self.jitter.map_or(self.delay, |jitter| jitter.least_delay(self.delay))
    }

    /// The mean time that a packet takes from one end to the other, without queue and serialisation.
    #[must_use]
    pub fn mean_delay(&self) -> Duration {
        self.delay + self.jitter.map_or(Duration::ZERO, |jitter| jitter.mean())
    }
}
