//! The deadlines of a connection.

use crate::config::{Config, TimerSlack};
use wasp_units::{Duration, Instant};

/// Five deadlines; `Instant::MAX` is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timers {
    /// Retransmission (of data or of the handshake) or, with nothing in flight, the next window probe.
    pub(crate) retransmit: Instant,
    /// What may make that unnecessary: RACK's reordering timer or a tail loss probe (RFC 8985). While it runs, the other waits.
    pub(crate) early: Instant,
    /// A delayed acknowledgment.
    pub(crate) delayed_ack: Instant,
    /// The end of TIME-WAIT or of FIN-WAIT-2.
    pub(crate) linger: Instant,
    /// The application, which has been told of room in the send buffer, writes on.
    pub(crate) write: Instant,
}

impl Timers {
    pub(crate) const NONE: Instant = Instant::MAX;

    pub(crate) fn new() -> Self {
        Self {
            retransmit: Self::NONE,
            early: Self::NONE,
            delayed_ack: Self::NONE,
            linger: Self::NONE,
            write: Self::NONE,
        }
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        let recovery = if self.early == Self::NONE { self.retransmit } else { self.early };
        let next = recovery.min(self.delayed_ack).min(self.linger).min(self.write);
        (next != Self::NONE).then_some(next)
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new();
    }
}

/// What Linux adds to the reordering timer, and to that of a probe of more than one segment in flight (`TCP_TIMEOUT_MIN_US`).
const SLACK: Duration = Duration::from_millis(2);
/// Ticks from which on a timer is on the second level of Linux's wheel (`LVL_START(1)`).
const SECOND_LEVEL_START: u64 = 63;
/// A level's granule is eight of the level's below it (`LVL_CLK_SHIFT`), and there are nine levels (`LVL_DEPTH`).
const LEVEL_SHIFT: u32 = 3;
const LAST_LEVEL: u32 = 8;

/// What is added to the reordering timer, and to that of a probe of more than one segment in flight.
pub(crate) fn slack(config: &Config) -> Duration {
    if config.timer_slack == TimerSlack::Wheel { SLACK } else { Duration::ZERO }
}

/// When a timer of `wait` ends that starts now. `phase` is where the host's free-running clock stands: what a wheel's clock shows at time
/// zero, and when one of BSD's ticks comes.
#[inline]
pub(crate) fn deadline(config: &Config, now: Instant, wait: Duration, phase: Duration) -> Instant {
    match config.timer_slack {
        TimerSlack::None => now.saturating_add(wait),
        TimerSlack::Wheel => on_wheel(config.timer_granularity, now, wait, phase),
        TimerSlack::Ticks => {
            let step = config.timer_granularity;
            let ticks = wait.as_nanos().div_ceil(step.as_nanos()).max(1);
            now.next_tick(step, phase).saturating_add(step.saturating_mul(ticks - 1))
        }
    }
}

/// Linux's timer wheel (`calc_wheel_index` of `kernel/time/timer.c`): the wait in whole ticks begins at the last tick, and ends with
/// the first granule of its level that has wholly passed by then.
#[inline]
fn on_wheel(step: Duration, now: Instant, wait: Duration, phase: Duration) -> Instant {
    let step = step.as_nanos();
    let ticks = wait.as_nanos().div_ceil(step);
    let jiffies = now.as_nanos().saturating_add(phase.as_nanos()) / step;
    let expires = jiffies.saturating_add(ticks).min(u64::MAX >> 1);
    let shift = LEVEL_SHIFT * level(ticks);
    let fires = ((expires >> shift) + 1) << shift;
    Instant::from_nanos(fires.saturating_mul(step).saturating_sub(phase.as_nanos()))
}

/// The level of a timer so many ticks ahead.
#[inline]
fn level(ticks: u64) -> u32 {
    let beyond = (ticks / SECOND_LEVEL_START).checked_ilog2();
    beyond.map_or(0, |bits| bits / LEVEL_SHIFT + 1).min(LAST_LEVEL)
}

/// When a delayed acknowledgment leaves at the latest.
pub(crate) fn delayed_ack_deadline(config: &Config, now: Instant, phase: Duration) -> Instant {
    if config.delayed_ack_sweep {
        return now.next_tick(config.delayed_ack, phase);
    }
    match config.timer_slack {
        TimerSlack::Wheel => on_wheel(config.timer_granularity, now, config.delayed_ack, phase),
        // BSD's ticks are no matter of delayed acknowledgments, which are swept if anything.
        TimerSlack::None | TimerSlack::Ticks => now.saturating_add(config.delayed_ack),
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

    /// The figures of `kernel/time/timer.c` for 250 ticks a second.
    #[test]
    fn the_wheel_has_granules_of_8_to_the_n() {
        for (ticks, expected) in [
            (0, 0),
            (62, 0),
            (63, 1),
            (503, 1),
            (504, 2),
            (4_031, 2),
            (4_032, 3),
            (32_255, 3),
            (32_256, 4),
            (u64::MAX, LAST_LEVEL),
        ] {
            assert_eq!(level(ticks), expected, "{ticks}");
        }
    }

    #[test]
    fn a_timer_on_the_wheel_is_late_by_up_to_a_granule() {
        let config = Config::linux();
        let phase = Duration::from_micros(1_234_567);
        for (wait, granule) in
            [(1, 4), (40, 4), (248, 4), (252, 32), (1_000, 32), (2_012, 32), (2_016, 256), (30_000, 2_048)]
        {
            let wait = Duration::from_millis(wait);
            let granule = Duration::from_millis(granule);
            let tick = config.timer_granularity;
            let mut late = Vec::new();
            for offset in 0..4_096 {
                let now = Instant::ZERO + Duration::from_secs(3) + Duration::from_millis(offset);
                let at = deadline(&config, now, wait, phase);
                // An edge of the host's clock.
                assert_eq!((at + phase).as_nanos() % granule.as_nanos(), 0, "{wait} at {now}");
                late.push(at - now - wait);
            }
            let (least, most) = (late.iter().min().copied(), late.iter().max().copied());
            let (least, most) = least.zip(most).expect("many");
            assert!(least > Duration::ZERO && least <= tick, "{wait}: {least}");
            assert!(most <= granule + tick && most >= granule - tick, "{wait}: {most}");
        }
    }

    #[test]
    fn a_clock_beyond_all_time_overflows_nothing() {
        let config = Config { timer_granularity: Duration::from_micros(1), ..Config::linux() };
        let at = deadline(&config, Instant::ZERO, Duration::MAX, Duration::from_secs(10));
        assert!(at > Instant::ZERO + Duration::from_secs(1 << 30));
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
