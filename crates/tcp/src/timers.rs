//! The deadlines of a connection.

use crate::config::Config;
use wasp_units::{Duration, Instant};

/// Four deadlines; `Instant::MAX` is none.
#[derive(Debug)]
pub(crate) struct Timers {
    /// Retransmission (of data or of the handshake) or, with nothing in flight, the next window probe.
    pub(crate) retransmit: Instant,
    /// What may make that unnecessary: RACK's reordering timer or a tail loss probe (RFC 8985). Never after it.
    pub(crate) early: Instant,
    /// A delayed acknowledgment.
    pub(crate) delayed_ack: Instant,
    /// The end of TIME-WAIT or of FIN-WAIT-2.
    pub(crate) linger: Instant,
}

impl Timers {
    pub(crate) const NONE: Instant = Instant::MAX;

    pub(crate) fn new() -> Self {
        Self { retransmit: Self::NONE, early: Self::NONE, delayed_ack: Self::NONE, linger: Self::NONE }
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        let next = self.retransmit.min(self.early).min(self.delayed_ack).min(self.linger);
        (next != Self::NONE).then_some(next)
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new();
    }
}

/// When a retransmission or persist timer of `wait` ends that starts now.
///
/// A coarse timer of n ticks ends at the nth tick of the host's free-running clock (BSD `tcp_slowtimo`).
pub(crate) fn deadline(config: &Config, now: Instant, wait: Duration, phase: Duration) -> Instant {
    if !config.coarse_timers {
        return now.saturating_add(wait);
    }
    let step = config.timer_granularity;
    let ticks = wait.as_nanos().div_ceil(step.as_nanos()).max(1);
    now.next_tick(step, phase).saturating_add(step.saturating_mul(ticks - 1))
}

/// When a delayed acknowledgment leaves at the latest.
pub(crate) fn delayed_ack_deadline(config: &Config, now: Instant, phase: Duration) -> Instant {
    if config.delayed_ack_sweep {
        now.next_tick(config.delayed_ack, phase)
    } else {
        now.saturating_add(config.delayed_ack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coarse_timer_of_two_ticks_lasts_one_to_two() {
        let config = Config::bsd1999();
        let phase = Duration::from_millis(137);
        for offset in 0..500 {
            let now = Instant::ZERO + Duration::from_secs(3) + Duration::from_millis(offset);
            let waited = deadline(&config, now, Duration::from_secs(1), phase) - now;
            assert!(waited > Duration::from_millis(500) && waited <= Duration::from_secs(1), "{waited}");
        }
    }

    #[test]
    fn the_sweep_serves_every_connection_at_its_ticks() {
        let config = Config::bsd1999();
        let phase = Duration::from_millis(50);
        let at = |now: u64| delayed_ack_deadline(&config, Instant::ZERO + Duration::from_millis(now), phase);
        assert_eq!(at(60), at(249));
        assert_eq!(at(249), Instant::ZERO + Duration::from_millis(250));
    }
}
