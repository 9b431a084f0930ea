//! Round-trip time estimation and the retransmission timeout (RFC 6298; Linux `tcp_rtt_estimator`; 4.4BSD
//! `tcp_xmit_timer`).

use crate::config::{Config, RttEstimator};
use wasp_units::{Duration, Instant};
use wasp_wire::SequenceNumber;

/// BSD's table of back-off factors ends at 2^6.
const BSD_MAX_SHIFT: u8 = 6;
/// After more back-offs than this BSD distrusts its estimate (TCP_MAXRXTSHIFT / 4).
const BSD_CLOBBER_SHIFT: u8 = 3;
const MAX_SHIFT: u8 = 20;
/// No sample is longer: 134 s in microseconds, so that the scaled values fit 31 bits.
const MAX_SAMPLE: u64 = (1 << 27) - 1;

fn saturate(sample: u64) -> u32 {
    sample.min(MAX_SAMPLE) as u32
}

/// The estimator of one connection.
///
/// `srtt`, `variation` and the deviations are in the units of the estimator: microseconds, scaled as in Linux for that, or
/// ticks, scaled as in BSD.
#[derive(Debug)]
pub(crate) struct Rto {
    srtt: u32,
    variation: u32,
    /// Linux: smoothed deviation, and its maximum in the current round trip.
    deviation: u32,
    greatest_deviation: u32,
    /// Linux: the round trip ends when this is acknowledged.
    round_end: SequenceNumber,
    /// BSD: the number whose acknowledgment ends the timing that began at `timed_at` (`Instant::MAX`: nothing is timed).
    timed: SequenceNumber,
    timed_at: Instant,
    /// The least round-trip time seen, microseconds (RFC 8985's RACK.min_RTT).
    min_rtt: u32,
    /// RTO before back-off.
    base: Duration,
    shift: u8,
    sampled: bool,
}

impl Rto {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            srtt: 0,
            variation: 0,
            deviation: 0,
            greatest_deviation: 0,
            round_end: SequenceNumber(0),
            timed: SequenceNumber(0),
            timed_at: Instant::MAX,
            min_rtt: u32::MAX,
            base: config.initial_rto,
            shift: 0,
            sampled: false,
        }
    }

    /// The timeout, backed off.
    pub(crate) fn current(&self, config: &Config) -> Duration {
        self.base.saturating_mul(1 << self.shift).min(config.max_rto)
    }

    /// The smoothed round-trip time, once there is one.
    pub(crate) fn srtt(&self, config: &Config) -> Option<Duration> {
        self.sampled.then(|| match config.rtt_estimator {
            RttEstimator::Rfc6298 => Duration::from_micros(u64::from(self.srtt)),
            RttEstimator::Linux => Duration::from_micros(u64::from(self.srtt >> 3)),
            RttEstimator::Bsd => config.timer_granularity * u64::from(self.srtt) / 8,
        })
    }

    /// The least round-trip time seen; zero before the first.
    pub(crate) fn min_rtt(&self) -> Duration {
        if self.min_rtt == u32::MAX { Duration::ZERO } else { Duration::from_micros(u64::from(self.min_rtt)) }
    }

    /// A segment sent once took `rtt` to be acknowledged, whatever the estimator makes of it.
    #[inline]
    pub(crate) fn note_rtt(&mut self, rtt: Duration) {
        self.min_rtt = self.min_rtt.min(saturate(rtt.as_nanos() / 1_000));
    }

    pub(crate) fn is_sampled(&self) -> bool {
        self.sampled
    }

    /// Doubles the timeout (RFC 6298 rule 5.5).
    pub(crate) fn back_off(&mut self, config: &Config) {
        let most = if config.rtt_estimator == RttEstimator::Bsd { BSD_MAX_SHIFT } else { MAX_SHIFT };
        self.shift = (self.shift + 1).min(most);
        if config.rtt_estimator == RttEstimator::Bsd && self.shift > BSD_CLOBBER_SHIFT {
            self.variation += self.srtt >> 3;
            self.srtt = 0;
        }
    }

    /// Sets the back-off: the handshake's own schedule.
    pub(crate) fn set_shift(&mut self, shift: u32) {
        self.shift = shift.min(u32::from(MAX_SHIFT)) as u8;
    }

    /// The handshake needed retransmissions and gave no sample (RFC 6298 rule 5.7).
    pub(crate) fn fall_back(&mut self, config: &Config) {
        self.base = self.base.max(config.fallback_rto).min(config.max_rto);
        self.shift = 0;
    }

    /// BSD: times the segment that starts at `start`, if nothing is being timed.
    pub(crate) fn time_segment(&mut self, start: SequenceNumber, now: Instant) {
        if self.timed_at == Instant::MAX {
            self.timed = start;
            self.timed_at = now;
        }
    }

    /// BSD: a retransmission makes the timing worthless.
    pub(crate) fn stop_timing(&mut self) {
        self.timed_at = Instant::MAX;
    }

    /// BSD: the sample that `ack` completes, in ticks counted from one.
    pub(crate) fn timed_ticks(
        &mut self,
        ack: SequenceNumber,
        now: Instant,
        config: &Config,
        phase: Duration,
    ) -> Option<u32> {
        let since = self.timed_at;
        if since == Instant::MAX || !ack.after(self.timed) {
            return None;
        }
        self.timed_at = Instant::MAX;
        let step = config.timer_granularity.as_nanos();
        let ticks = |at: Instant| (at.as_nanos() + step - phase.as_nanos() % step) / step;
        Some(saturate(1 + ticks(now) - ticks(since)))
    }

    /// Takes a sample. `una` and `next` bound what is in flight.
    pub(crate) fn sample(
        &mut self,
        config: &Config,
        rtt: Duration,
        una: SequenceNumber,
        next: SequenceNumber,
    ) {
        let micros = saturate(rtt.as_nanos() / 1_000);
        match config.rtt_estimator {
            RttEstimator::Rfc6298 => self.sample_rfc6298(config, micros),
            RttEstimator::Linux => self.sample_linux(config, micros, una, next),
            RttEstimator::Bsd => {
                let ticks = rtt.as_nanos() / config.timer_granularity.as_nanos();
                self.sample_ticks(config, saturate(ticks + 1));
            }
        }
    }

    fn sample_rfc6298(&mut self, config: &Config, rtt: u32) {
        if self.sampled {
            self.variation = (3 * self.variation + self.srtt.abs_diff(rtt)) / 4;
            self.srtt = (7 * self.srtt + rtt) / 8;
        } else {
            (self.srtt, self.variation) = (rtt, rtt / 2);
        }
        let margin = config.timer_granularity.max(Duration::from_micros(4 * u64::from(self.variation)));
        self.settle(config, Duration::from_micros(u64::from(self.srtt)) + margin);
    }

    /// `tcp_rtt_estimator` and `__tcp_set_rto`: srtt scaled by 8, deviations by 4.
    fn sample_linux(&mut self, config: &Config, rtt: u32, una: SequenceNumber, next: SequenceNumber) {
        let least = saturate(config.min_rto.as_nanos() / 1_000);
        if self.sampled {
            self.deviate(rtt as i32 - (self.srtt >> 3) as i32);
            if self.deviation > self.greatest_deviation {
                self.greatest_deviation = self.deviation;
                self.variation = self.variation.max(self.greatest_deviation);
            }
            if una.after(self.round_end) {
                self.variation -= self.variation.saturating_sub(self.greatest_deviation) >> 2;
                self.round_end = next;
                self.greatest_deviation = least;
            }
        } else {
            self.srtt = rtt << 3;
            self.deviation = rtt << 1;
            self.variation = self.deviation.max(least);
            self.greatest_deviation = self.variation;
            self.round_end = next;
        }
        self.srtt = self.srtt.max(1);
        let timeout = Duration::from_micros(u64::from((self.srtt >> 3) + self.variation));
        let step = config.timer_granularity;
        self.settle(config, step * timeout.as_nanos().div_ceil(step.as_nanos()));
    }

    /// One error of Linux's estimate; a sudden decrease counts an eighth.
    fn deviate(&mut self, error: i32) {
        self.srtt = (self.srtt as i32 + error) as u32;
        let mut change = error.abs() - (self.deviation >> 2) as i32;
        if error < 0 && change > 0 {
            change >>= 3;
        }
        self.deviation = (self.deviation as i32 + change).max(0) as u32;
    }

    /// `tcp_xmit_timer`: srtt scaled by 8, variation by 4, in ticks; `ticks` counts from one.
    pub(crate) fn sample_ticks(&mut self, config: &Config, ticks: u32) {
        if self.srtt == 0 {
            (self.srtt, self.variation) = (ticks << 3, ticks << 1);
        } else {
            let error = ticks as i32 - 1 - (self.srtt >> 3) as i32;
            self.srtt = (self.srtt as i32 + error).max(1) as u32;
            let change = error.abs() - (self.variation >> 2) as i32;
            self.variation = (self.variation as i32 + change).max(1) as u32;
        }
        let timeout = (self.srtt >> 3) + self.variation;
        self.settle(config, config.timer_granularity * u64::from(timeout));
    }

    fn settle(&mut self, config: &Config, timeout: Duration) {
        self.base = timeout.max(config.min_rto).min(config.max_rto);
        self.shift = 0;
        self.sampled = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(rto: &mut Rto, config: &Config, rtts: &[u64]) {
        let mut una = SequenceNumber(0);
        for rtt in rtts {
            una += 1000;
            rto.sample(config, Duration::from_millis(*rtt), una, una + 1000);
        }
    }

    #[test]
    fn rfc6298_starts_at_three_round_trips() {
        let config = Config { rtt_estimator: RttEstimator::Rfc6298, ..Config::linux() };
        let mut rto = Rto::new(&config);
        take(&mut rto, &config, &[100]);
        assert_eq!(rto.current(&config), Duration::from_millis(300));
        take(&mut rto, &config, &[100; 40]);
        assert_eq!(rto.srtt(&config), Some(Duration::from_millis(100)));
        assert_eq!(rto.current(&config), Duration::from_millis(200), "the minimum holds");
    }

    #[test]
    fn linux_keeps_the_minimum_above_the_round_trip() {
        let config = Config::linux();
        let mut rto = Rto::new(&config);
        take(&mut rto, &config, &[100]);
        assert_eq!(rto.current(&config), Duration::from_millis(300));
        take(&mut rto, &config, &[100; 40]);
        assert_eq!(rto.current(&config), Duration::from_millis(300));
        take(&mut rto, &config, &[400]);
        assert!(rto.current(&config) > Duration::from_millis(400));
    }

    #[test]
    fn bsd_counts_ticks() {
        let config = Config::bsd1999();
        let mut rto = Rto::new(&config);
        assert_eq!(rto.current(&config), Duration::from_secs(3));
        rto.sample_ticks(&config, 1);
        assert_eq!(rto.current(&config), Duration::from_millis(1500), "three ticks");
        for _ in 0..20 {
            rto.sample_ticks(&config, 1);
        }
        // The integers of the source settle at srtt 7/8 and variation 3/4 of a tick: never the minimum of two ticks.
        assert_eq!(rto.current(&config), Duration::from_millis(1500));
    }

    /// What `tcp_rtt_estimator` of Linux 6.18 makes of the same samples, two a round trip: the timeout and the deviation.
    #[test]
    fn linux_smooths_as_the_kernel_does() {
        let config = Config::linux();
        let mut rto = Rto::new(&config);
        let mut una = SequenceNumber(0);
        let rtts = [300, 500, 900, 200, 250, 40, 40, 700, 120, 130, 125, 600, 90];
        let seen = rtts.map(|rtt| {
            una += 1000;
            rto.sample(&config, Duration::from_millis(rtt), una, una + 1000);
            (rto.current(&config).as_millis(), rto.deviation)
        });
        let expected = [
            (900, 600_000),
            (976, 650_000),
            (1_460, 1_062_500),
            (1_436, 993_750),
            (1_404, 867_578),
            (1_364, 880_089),
            (1_292, 887_256),
            (1_420, 1_082_753),
            (1_392, 1_026_918),
            (1_372, 948_186),
            (1_316, 871_887),
            (1_360, 988_262),
            (1_316, 958_644),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn rfc6298_smooths_by_an_eighth_and_a_quarter() {
        let config = Config {
            rtt_estimator: RttEstimator::Rfc6298,
            min_rto: Duration::from_millis(1),
            ..Config::linux()
        };
        let mut rto = Rto::new(&config);
        take(&mut rto, &config, &[100, 200]);
        // RTTVAR = 3/4 50 + 1/4 100, SRTT = 7/8 100 + 1/8 200.
        assert_eq!(rto.current(&config), Duration::from_micros(112_500 + 4 * 62_500));
        take(&mut rto, &config, &[50]);
        assert_eq!(rto.current(&config), Duration::from_micros(104_687 + 4 * 62_500));
        take(&mut rto, &config, &[100; 200]);
        let margin = rto.current(&config) - rto.srtt(&config).expect("there are samples");
        assert_eq!(margin, config.timer_granularity, "the margin is a tick at least");
    }

    /// What `tcp_xmit_timer` of 4.4BSD makes of the same ticks.
    #[test]
    fn bsd_smooths_as_its_source_does() {
        let config = Config { min_rto: Duration::from_millis(1), ..Config::bsd1999() };
        let mut rto = Rto::new(&config);
        let seen = [3, 3, 5, 1, 2, 9, 1, 1].map(|ticks| {
            rto.sample_ticks(&config, ticks);
            (rto.srtt, rto.variation, rto.current(&config).as_millis() / 500)
        });
        let expected = [
            (24, 6, 9),
            (23, 6, 8),
            (25, 7, 10),
            (22, 9, 11),
            (21, 8, 10),
            (27, 12, 15),
            (24, 12, 15),
            (21, 12, 14),
        ];
        assert_eq!(seen, expected);
        assert_eq!(rto.srtt(&config), Some(Duration::from_millis(500) * 21 / 8));
    }

    #[test]
    fn bsd_times_one_segment_at_a_time_by_its_ticks() {
        let config = Config::bsd1999();
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        let (start, phase) = (SequenceNumber(1_000), Duration::from_millis(623));
        let mut rto = Rto::new(&config);
        rto.time_segment(start, at(600));
        rto.time_segment(start + 1_000, at(1_100));
        assert_eq!(rto.timed_ticks(start, at(1_300), &config, phase), None, "not acknowledged yet");
        // Ticks are at 623, 1,123 and 1,623 ms.
        assert_eq!(rto.timed_ticks(start + 1, at(1_630), &config, phase), Some(4));
        assert_eq!(rto.timed_ticks(start + 1, at(1_630), &config, phase), None, "it is timed once");
        rto.time_segment(start, at(1_050));
        assert_eq!(
            rto.timed_ticks(start + 1, at(1_100), &config, phase),
            Some(1),
            "no tick, counted from one"
        );
        rto.time_segment(start, at(1_050));
        rto.stop_timing();
        assert_eq!(rto.timed_ticks(start + 1, at(1_630), &config, phase), None, "it was sent again");
    }

    #[test]
    fn bsd_distrusts_its_estimate_after_the_fourth_timeout() {
        let config = Config::bsd1999();
        let mut rto = Rto::new(&config);
        rto.sample_ticks(&config, 3);
        for _ in 0..3 {
            rto.back_off(&config);
        }
        assert_eq!((rto.srtt, rto.variation), (24, 6));
        rto.back_off(&config);
        assert_eq!(
            (rto.srtt, rto.variation),
            (0, 9),
            "the next sample begins anew, beside a wider variation"
        );
        let mut linux = Rto::new(&Config::linux());
        take(&mut linux, &Config::linux(), &[100]);
        for _ in 0..6 {
            linux.back_off(&Config::linux());
        }
        assert_eq!(linux.srtt(&Config::linux()), Some(Duration::from_millis(100)));
    }

    #[test]
    fn the_longest_sample_fits_the_scaled_values() {
        let config = Config { max_rto: Duration::from_secs(10_000), ..Config::linux() };
        let mut rto = Rto::new(&config);
        rto.note_rtt(Duration::from_secs(1_000));
        rto.sample(&config, Duration::from_secs(1_000), SequenceNumber(0), SequenceNumber(1));
        assert_eq!(rto.srtt(&config), Some(Duration::from_micros((1 << 27) - 1)));
        assert_eq!(rto.min_rtt(), Duration::from_micros((1 << 27) - 1));
    }

    #[test]
    fn back_off_doubles_up_to_the_maximum() {
        let config = Config::linux();
        let mut rto = Rto::new(&config);
        let mut seen = Vec::new();
        for _ in 0..9 {
            seen.push(rto.current(&config).as_millis() / 1000);
            rto.back_off(&config);
        }
        assert_eq!(seen, [1, 2, 4, 8, 16, 32, 64, 120, 120]);
    }

    #[test]
    fn ticks_are_counted_from_the_first_nanosecond_on() {
        let config = Config::bsd1999();
        let step = config.timer_granularity;
        let mut rto = Rto::new(&config);
        // With a phase of a half the ticks fall on 0.5, 1.5 and 2.5 steps.
        for (halves, ticks) in [(0, 1), (1, 2), (2, 2), (3, 3), (5, 4)] {
            rto.time_segment(SequenceNumber(1), Instant::ZERO);
            let now = Instant::ZERO + step / 2 * halves;
            assert_eq!(rto.timed_ticks(SequenceNumber(2), now, &config, step / 2), Some(ticks), "{halves}");
        }
    }
}
