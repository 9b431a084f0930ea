//! HyStart as Linux has it (`hystart_update` in `net/ipv4/tcp_cubic.c` of Linux 6.18; Ha and Rhee, "Taming the elephants: New TCP
//! slow start", 2011): slow start ends at once where the round-trip time has risen by an eighth, or acknowledgments come in a train
//! that is as long as half of it.
//!
//! Names are the kernel's.

use super::RttEvent;
use wasp_units::{Duration, Instant};
use wasp_wire::SequenceNumber;

/// Segments of the window below which nothing is judged.
const HYSTART_LOW_WINDOW: u32 = 16;
/// Round-trip times of a round whose least one is judged.
const HYSTART_MIN_SAMPLES: u8 = 8;
const HYSTART_DELAY_MIN: Duration = Duration::from_millis(4);
const HYSTART_DELAY_MAX: Duration = Duration::from_millis(16);
/// Acknowledgments so close to each other are of one train.
const HYSTART_ACK_DELTA: Duration = Duration::from_millis(2);
/// What a train may be longer than the round-trip time, before it is halved (`hystart_ack_delay`, which is less where a window is more
/// than a gigabit a second).
const HYSTART_ACK_DELAY: Duration = Duration::from_millis(1);

/// What a round of a slow start has told.
#[derive(Clone, Debug)]
pub(super) struct LinuxHyStart {
    /// The exit point is found.
    found: bool,
    round_start: Instant,
    /// Behind this the next round begins.
    end_seq: Option<SequenceNumber>,
    last_ack: Instant,
    curr_rtt: Duration,
    sample_cnt: u8,
}

impl Default for LinuxHyStart {
    fn default() -> Self {
        Self {
            found: false,
            round_start: Instant::ZERO,
            end_seq: None,
            last_ack: Instant::ZERO,
            curr_rtt: Duration::MAX,
            sample_cnt: 0,
        }
    }
}

impl LinuxHyStart {
    /// A round begins at `now`, when `next` is SND.NXT.
    pub(super) fn new(now: Instant, next: SequenceNumber) -> Self {
        Self { round_start: now, last_ack: now, end_seq: Some(next), ..Self::default() }
    }

    /// Whether slow start ends with a round-trip time, at a window of `cwnd` segments, over a path that takes `delay_min`.
    pub(super) fn ends_slow_start(
        &mut self,
        cwnd: u32,
        delay_min: Duration,
        now: Instant,
        event: RttEvent,
    ) -> bool {
        if self.found {
            return false;
        }
        if self.end_seq.is_none_or(|end| event.una.after(end)) {
            *self = Self::new(now, event.next);
        }
        if cwnd < HYSTART_LOW_WINDOW {
            return false;
        }
        let by_train = self.train_is_long(delay_min, now);
        let by_delay = self.delay_has_risen(delay_min, event.rtt);
        self.found = by_train || by_delay;
        self.found
    }

    /// `HYSTART_ACK_TRAIN`. Our sender does not pace, so that half of a round trip is long enough.
    fn train_is_long(&mut self, delay_min: Duration, now: Instant) -> bool {
        if now.saturating_since(self.last_ack) > HYSTART_ACK_DELTA {
            return false;
        }
        self.last_ack = now;
        now.saturating_since(self.round_start) > (delay_min + HYSTART_ACK_DELAY) / 2
    }

    /// `HYSTART_DELAY`.
    fn delay_has_risen(&mut self, delay_min: Duration, rtt: Duration) -> bool {
        self.curr_rtt = self.curr_rtt.min(rtt);
        if self.sample_cnt < HYSTART_MIN_SAMPLES {
            self.sample_cnt += 1;
            return false;
        }
        let threshold = (delay_min / 8).max(HYSTART_DELAY_MIN).min(HYSTART_DELAY_MAX);
        self.curr_rtt > delay_min + threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Instant = Instant::from_nanos(5_000_000_000);
    const DELAY: Duration = Duration::from_millis(100);

    /// `(s32)(now - ca->last_ack) <= hystart_ack_delta`.
    #[test]
    fn acknowledgments_two_milliseconds_apart_are_of_one_train() {
        for (apart, last_ack) in [(2_000, Duration::from_micros(2_000)), (2_001, Duration::ZERO)] {
            let mut hystart = LinuxHyStart::new(START, SequenceNumber(0));
            hystart.train_is_long(DELAY, START + Duration::from_micros(apart));
            assert_eq!(hystart.last_ack, START + last_ack);
        }
    }

    /// `(s32)(now - ca->round_start) > threshold`.
    #[test]
    fn a_train_is_long_where_it_is_longer_than_half_a_round_trip() {
        for (micros, long) in [(50_500, false), (50_501, true)] {
            let now = START + Duration::from_micros(micros);
            let mut hystart = LinuxHyStart { last_ack: now, ..LinuxHyStart::new(START, SequenceNumber(0)) };
            assert_eq!(hystart.train_is_long(DELAY, now), long, "{micros}");
        }
    }
}
