//! Slow start and congestion avoidance (RFC 5681 section 3.1), counting acknowledgments or bytes (RFC 3465).

use super::{AckEvent, Algorithm, LossEvent, Window};
use crate::config::{AckCounting, Config};
use wasp_units::Instant;

/// Reno's own state.
#[derive(Debug, Default)]
pub(super) struct Reno {
    /// Bytes acknowledged in congestion avoidance that have not yet grown the window (byte counting).
    pub(super) acknowledged: u32,
}

impl Algorithm for Reno {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, config: &Config, mss: u32, _now: Instant, event: AckEvent<'_>) {
        if config.ack_counting == AckCounting::Acknowledgments {
            count_acknowledgment(window, config, mss, event.bytes);
        } else {
            let bytes = window.counted(config, mss, &event);
            self.count_bytes(window, mss, bytes);
        }
    }

    /// `ssthresh = max(FlightSize / 2, 2 SMSS)` (equation 4). In whole segments: half the window where it only grows while it limits
    /// the sender (Linux `tcp_reno_ssthresh`), or BSD's min(cwnd, window) / 2.
    fn on_loss(&mut self, window: &mut Window, config: &Config, mss: u32, _now: Instant, event: LossEvent) {
        self.acknowledged = 0;
        let half_of = |bytes: u32| (bytes / 2 / mss).max(2) * mss;
        window.ssthresh = if config.bsd_ssthresh {
            half_of(window.cwnd.min(event.send_window))
        } else if config.congestion_window_validation {
            half_of(window.cwnd)
        } else {
            (event.flight / 2).max(2 * mss)
        };
    }
}

/// One segment an acknowledgment in slow start (equation 2), SMSS²/cwnd in congestion avoidance (equation 3).
fn count_acknowledgment(window: &mut Window, config: &Config, mss: u32, bytes: u32) {
    let slow_start = window.cwnd < window.ssthresh || (config.bsd_ssthresh && window.cwnd == window.ssthresh);
    let growth = if !slow_start {
        (u64::from(mss) * u64::from(mss) / u64::from(window.cwnd)).max(1) as u32
    } else if config.bsd_ssthresh {
        mss
    } else {
        mss.min(bytes)
    };
    window.cwnd = window.cwnd.saturating_add(growth);
}

impl Reno {
    /// As many bytes as were acknowledged in slow start; in congestion avoidance one segment for each window of them.
    #[inline]
    fn count_bytes(&mut self, window: &mut Window, mss: u32, bytes: u32) {
        let left = if window.cwnd < window.ssthresh { window.slow_start(bytes) } else { bytes };
        if left == 0 {
            return;
        }
        self.acknowledged = self.acknowledged.saturating_add(left);
        while self.acknowledged >= window.cwnd {
            self.acknowledged -= window.cwnd;
            window.cwnd = window.cwnd.saturating_add(mss);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Congestion;
    use super::*;
    use crate::config::{CongestionKind, IdleRestart};
    use crate::rto::Rto;
    use wasp_units::Duration;
    use wasp_wire::SequenceNumber;

    const MSS: u32 = 1_000;

    fn round(congestion: &mut Congestion, config: &Config, acks: u32, segments: u32) {
        let rto = Rto::new(config);
        for _ in 0..acks {
            let (una, next) = (SequenceNumber(0), SequenceNumber(0));
            let event = AckEvent { bytes: segments * MSS, segments, una, next, rtt: None, rto: &rto };
            congestion.on_ack(config, MSS, Instant::ZERO, event);
        }
    }

    fn reno(ack_counting: AckCounting) -> Config {
        Config {
            congestion: CongestionKind::Reno,
            ack_counting,
            initial_ssthresh: 16 * MSS,
            ..Config::linux()
        }
    }

    #[test]
    fn delayed_acknowledgments_slow_the_growth_only_of_acknowledgment_counting() {
        for (counting, expected) in [
            (AckCounting::Acknowledgments, 12),
            (AckCounting::Segments, 16),
            (AckCounting::Bytes { limit: 1 }, 12),
        ] {
            let config = reno(counting);
            let mut congestion = Congestion::new(&config, MSS, 8);
            round(&mut congestion, &config, 4, 2);
            assert_eq!(congestion.window(), expected * MSS, "{counting:?}");
        }
    }

    #[test]
    fn byte_counting_believes_acknowledgments_less_after_a_timeout() {
        let config = reno(AckCounting::Bytes { limit: 2 });
        let mut congestion = Congestion::new(&config, MSS, 4);
        round(&mut congestion, &config, 1, 4);
        assert_eq!(congestion.window(), 6 * MSS, "L = 2");
        let event = LossEvent { next: SequenceNumber(0), flight: 20 * MSS, send_window: 1 << 20 };
        congestion.on_timeout(&config, MSS, Instant::ZERO, event, true);
        round(&mut congestion, &config, 1, 4);
        assert_eq!(congestion.window(), 2 * MSS, "L = 1");
    }

    #[test]
    fn congestion_avoidance_adds_a_segment_a_round_trip() {
        for counting in [AckCounting::Acknowledgments, AckCounting::Segments] {
            let config = reno(counting);
            let mut congestion = Congestion::new(&config, MSS, 20);
            round(&mut congestion, &config, 20, 1);
            let grown = congestion.window() - 20 * MSS;
            assert!((960..=1_000).contains(&grown), "{counting:?}: {grown}");
        }
    }

    #[test]
    fn a_loss_halves_the_flight_and_a_repeated_timeout_does_not() {
        let config = Config { congestion_window_validation: false, ..reno(AckCounting::Segments) };
        let mut congestion = Congestion::new(&config, MSS, 20);
        let event = LossEvent { next: SequenceNumber(0), flight: 18 * MSS, send_window: 1 << 20 };
        congestion.on_timeout(&config, MSS, Instant::ZERO, event, true);
        assert_eq!((congestion.window(), congestion.ssthresh()), (MSS, 9 * MSS));
        congestion.on_timeout(&config, MSS, Instant::ZERO, LossEvent { flight: MSS, ..event }, false);
        assert_eq!((congestion.window(), congestion.ssthresh()), (MSS, 9 * MSS));
    }

    #[test]
    fn an_idle_time_halves_the_window_for_each_timeout_and_keeps_three_quarters_as_the_threshold() {
        let config = Config { initial_ssthresh: 8 * MSS, ..reno(AckCounting::Segments) };
        let mut congestion = Congestion::new(&config, MSS, 103);
        let rto = Duration::from_millis(300);
        congestion.on_idle(&config, MSS, rto * 2 + Duration::from_millis(299), rto);
        assert_eq!(congestion.window(), 103 * MSS / 4);
        assert_eq!(congestion.ssthresh(), 103 * MSS / 2 + 103 * MSS / 4);
        congestion.on_idle(&config, MSS, rto * 100, rto);
        assert_eq!(congestion.window(), 10 * MSS, "the initial window at least");
        let restart = Config { idle_restart: IdleRestart::RestartWindow, ..config };
        let mut congestion = Congestion::new(&restart, MSS, 103);
        congestion.on_idle(&restart, MSS, rto * 2, rto);
        assert_eq!((congestion.window(), congestion.ssthresh()), (10 * MSS, 8 * MSS));
    }

    #[test]
    fn what_follows_the_slow_start_after_a_timeout_is_believed_again() {
        let config = Config { initial_ssthresh: 2 * MSS, ..reno(AckCounting::Bytes { limit: 2 }) };
        let mut congestion = Congestion::new(&config, MSS, 4);
        let event = LossEvent { next: SequenceNumber(0), flight: 4 * MSS, send_window: 1 << 20 };
        congestion.on_timeout(&config, MSS, Instant::ZERO, event, true);
        assert!(congestion.in_slow_start());
        round(&mut congestion, &config, 3, 1);
        assert!(!congestion.in_slow_start());
        congestion.window.ssthresh = 100 * MSS;
        let before = congestion.window();
        round(&mut congestion, &config, 1, 4);
        assert_eq!(congestion.window() - before, 2 * MSS, "L = 2");
    }

    #[test]
    fn a_validated_window_is_halved_itself() {
        let config = reno(AckCounting::Segments);
        let mut congestion = Congestion::new(&config, MSS, 21);
        let event = LossEvent { next: SequenceNumber(0), flight: 3 * MSS, send_window: 1 << 20 };
        congestion.on_fast_retransmit(&config, MSS, Instant::ZERO, event);
        assert_eq!((congestion.window(), congestion.ssthresh()), (10 * MSS, 10 * MSS));
    }

    #[test]
    fn bsd_halves_the_window_in_whole_segments() {
        let config = Config { initial_ssthresh: 16 * MSS, ..Config::bsd1999() };
        let mut congestion = Congestion::new(&config, MSS, 7);
        let event = LossEvent { next: SequenceNumber(0), flight: 7 * MSS, send_window: 1 << 20 };
        congestion.on_timeout(&config, MSS, Instant::ZERO, event, true);
        assert_eq!(congestion.ssthresh(), 3 * MSS);
        congestion.on_timeout(&config, MSS, Instant::ZERO, event, true);
        assert_eq!(congestion.ssthresh(), 2 * MSS);
    }

    /// RFC 5681 equation 4.
    #[test]
    fn a_loss_leaves_two_segments_of_a_small_flight() {
        let config = Config { congestion_window_validation: false, ..reno(AckCounting::Segments) };
        for (flight, threshold) in [(3 * MSS, 2 * MSS), (4 * MSS, 2 * MSS), (5 * MSS, 5 * MSS / 2)] {
            let mut congestion = Congestion::new(&config, MSS, 10);
            let event = LossEvent { next: SequenceNumber(0), flight, send_window: 1 << 20 };
            congestion.on_fast_retransmit(&config, MSS, Instant::ZERO, event);
            assert_eq!(congestion.ssthresh(), threshold);
        }
    }

    #[test]
    fn what_is_acknowledged_beyond_a_window_counts_for_the_next_one() {
        let config = Config { initial_ssthresh: 2 * MSS, ..reno(AckCounting::Segments) };
        let mut congestion = Congestion::new(&config, MSS, 10);
        // 15 of 10, then 10 of 11.
        for (segments, window) in [(15, 11), (5, 11), (1, 12)] {
            round(&mut congestion, &config, 1, segments);
            assert_eq!(congestion.window(), window * MSS);
        }
    }
}
