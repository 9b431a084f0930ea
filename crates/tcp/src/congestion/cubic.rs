//! CUBIC (RFC 9438): between losses the window follows a cubic function of time whose plateau is the window at which the
//! last loss happened.
//!
//! Names are the RFC's; windows are in segments, times in seconds. Beside the operations that IEEE 754 defines only `libm`
//! is used, so that every machine computes the same.

use super::hystart::{Growth, HyStart};
use super::{AckEvent, Algorithm, LossEvent, Window};
use crate::config::Config;
use wasp_units::{Duration, Instant};

const BETA_CUBIC: f64 = 0.7;
const C: f64 = 0.4;
const ALPHA_CUBIC: f64 = 3.0 * (1.0 - BETA_CUBIC) / (1.0 + BETA_CUBIC);

/// CUBIC's own state.
#[derive(Clone, Debug)]
pub(super) struct Cubic {
    w_max: f64,
    /// The time that the window takes to reach `w_max`.
    k: f64,
    /// When congestion avoidance began; `None` before and after a loss.
    epoch_start: Option<Instant>,
    /// What Reno's window would be.
    w_est: f64,
    /// The window before the last reduction.
    cwnd_prior: f64,
    /// Growth that is not yet a byte.
    residue: f64,
    /// The first slow start, while it lasts.
    hystart: Option<HyStart>,
}

impl Cubic {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            w_max: 0.0,
            k: 0.0,
            epoch_start: None,
            w_est: 0.0,
            cwnd_prior: 0.0,
            residue: 0.0,
            hystart: config.hystart.then(HyStart::new),
        }
    }

    /// Sending resumes at `now`, `idle` after data last left, with nothing in flight: that time does not count (as in Linux
    /// `cubictcp_cwnd_event`).
    pub(super) fn on_resume(&mut self, now: Instant, idle: Duration) {
        self.epoch_start = self.epoch_start.map(|start| start.saturating_add(idle).min(now));
    }

    /// Grows the window in slow start and returns the bytes acknowledged that go beyond it.
    fn slow_start(&mut self, window: &mut Window, mss: u32, bytes: u32, event: &AckEvent<'_>) -> u32 {
        let mut growth = bytes;
        if let Some(hystart) = &mut self.hystart {
            match hystart.on_ack(mss, bytes, event) {
                Growth::By(slower) => growth = slower,
                Growth::End => {
                    self.hystart = None;
                    window.ssthresh = window.cwnd;
                    return bytes;
                }
            }
        }
        window.slow_start(growth)
    }

    /// Section 4.2: a new epoch begins where the window stands.
    fn begin_epoch(&mut self, cwnd: f64, now: Instant) -> Instant {
        if cwnd < self.w_max {
            self.k = libm::cbrt((self.w_max - cwnd) / C);
        } else {
            self.w_max = cwnd;
            self.k = 0.0;
        }
        self.w_est = cwnd;
        self.residue = 0.0;
        self.epoch_start = Some(now);
        now
    }

    /// Equation 1.
    fn w_cubic(&self, t: f64) -> f64 {
        let distance = t - self.k;
        C * distance * distance * distance + self.w_max
    }

    /// Sections 4.3 to 4.5 for an acknowledgment of so many segments: the window that follows.
    fn avoid(&mut self, cwnd: f64, segments: f64, t: f64, rtt: f64) -> f64 {
        let target = self.w_cubic(t + rtt).max(cwnd).min(1.5 * cwnd);
        let alpha = if self.w_est < self.cwnd_prior { ALPHA_CUBIC } else { 1.0 };
        self.w_est += alpha * segments / cwnd;
        let next = cwnd + segments * (target - cwnd) / cwnd;
        if self.w_cubic(t) < self.w_est { next.max(self.w_est) } else { next }
    }
}

impl Algorithm for Cubic {
    fn on_ack(&mut self, window: &mut Window, config: &Config, mss: u32, now: Instant, event: AckEvent<'_>) {
        let mut bytes = window.counted(config, mss, &event);
        if window.cwnd < window.ssthresh {
            bytes = self.slow_start(window, mss, bytes, &event);
            if bytes == 0 {
                return;
            }
        }
        let unit = f64::from(mss);
        let cwnd = f64::from(window.cwnd) / unit;
        let start = match self.epoch_start {
            Some(start) => start,
            None => self.begin_epoch(cwnd, now),
        };
        let rtt = event.rto.srtt(config).unwrap_or_default().as_secs_f64();
        let t = now.saturating_since(start).as_secs_f64();
        let next = self.avoid(cwnd, f64::from(bytes) / unit, t, rtt);
        self.residue += (next - cwnd) * unit;
        let whole = self.residue as u32;
        self.residue -= f64::from(whole);
        window.cwnd = window.cwnd.saturating_add(whole);
    }

    /// Section 4.6, with fast convergence (4.7).
    ///
    /// The reduction starts from the data in flight; where the window only grows while it limits the sender, it may start
    /// from the window, as Linux does. Both are whole segments, as in Linux: it matters where windows are small.
    fn on_loss(&mut self, window: &mut Window, config: &Config, mss: u32, _now: Instant, event: LossEvent) {
        let cwnd = f64::from(window.cwnd) / f64::from(mss);
        self.cwnd_prior = cwnd;
        self.w_max = if cwnd < self.w_max { cwnd * (1.0 + BETA_CUBIC) / 2.0 } else { cwnd };
        let from = if config.congestion_window_validation { window.cwnd } else { event.flight };
        window.ssthresh = ((f64::from(from / mss) * BETA_CUBIC) as u32).max(2) * mss;
        self.epoch_start = None;
        self.hystart = None;
    }

    /// Section 4.8: the next congestion avoidance has its plateau where it begins, K = 0 (as in Linux `bictcp_reset`).
    ///
    /// Every timeout ends the first slow start (RFC 9406 section 4.3), also one that lowers no threshold: HyStart++ would
    /// end the slow start after it at a window of a segment.
    fn on_timeout(&mut self, _now: Instant, _event: LossEvent) {
        self.w_max = 0.0;
        self.epoch_start = None;
        self.hystart = None;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Congestion;
    use super::*;
    use crate::config::{CongestionKind, CubicKind};
    use crate::rto::Rto;
    use wasp_wire::SequenceNumber;

    const MSS: u32 = 1_000;
    const RTT: Duration = Duration::from_millis(100);

    fn config() -> Config {
        let (congestion, cubic) = (CongestionKind::Cubic, CubicKind::Rfc9438);
        Config { congestion, cubic, hystart: false, ..Config::linux() }
    }

    fn rto(config: &Config) -> Rto {
        let mut rto = Rto::new(config);
        rto.sample(config, RTT, SequenceNumber(1), SequenceNumber(2));
        rto
    }

    /// Acknowledges a whole window a round trip for `rounds` of them, and returns the windows at their ends, in segments.
    fn grow(congestion: &mut Congestion, config: &Config, start: Instant, rounds: u32) -> Vec<f64> {
        let rto = rto(config);
        let round = |number| {
            let now = start + RTT * u64::from(number);
            for _ in 0..congestion.window() / MSS {
                let event = AckEvent {
                    bytes: MSS,
                    segments: 1,
                    una: SequenceNumber(0),
                    next: SequenceNumber(0),
                    rtt: Some(RTT),
                    rto: &rto,
                };
                congestion.on_ack(config, MSS, now, event);
            }
            f64::from(congestion.window()) / f64::from(MSS)
        };
        (0..rounds).map(round).collect()
    }

    fn lose(congestion: &mut Congestion, config: &Config) {
        let event = LossEvent { next: SequenceNumber(0), flight: congestion.window(), send_window: u32::MAX };
        congestion.on_fast_retransmit(config, MSS, Instant::ZERO, event);
    }

    #[test]
    fn a_loss_takes_three_tenths_and_a_second_one_below_it_releases_more() {
        let config = config();
        let mut congestion = Congestion::new(&config, MSS, 1_000);
        lose(&mut congestion, &config);
        assert_eq!((congestion.window(), congestion.ssthresh()), (700 * MSS, 700 * MSS));
        // K = cbrt(300 / 0.4) = 9.086 s: after 91 round trips the window is back at the plateau.
        let windows = grow(&mut congestion, &config, Instant::ZERO, 120);
        assert!(windows[45] > 950.0 && windows[45] < 970.0, "{}", windows[45]);
        assert!((windows[90] - 1_000.0).abs() < 1.0, "{}", windows[90]);
        assert!((windows[80] - windows[90]).abs() < 2.0, "concave, then flat");
        // 29 round trips later it is convex: W = 0.4 (12 - 9.086)^3 + 1000.
        assert!((windows[119] - 1_009.9).abs() < 1.0, "{}", windows[119]);
        // Fast convergence: below the last plateau the next one is lower.
        let mut congestion = Congestion::new(&config, MSS, 1_000);
        lose(&mut congestion, &config);
        lose(&mut congestion, &config);
        let windows = grow(&mut congestion, &config, Instant::ZERO, 80);
        // W_max = 700 * 0.85 = 595, K = cbrt(105 / 0.4) = 6.4 s.
        assert!((windows[64] - 595.0).abs() < 1.0, "{}", windows[64]);
    }

    #[test]
    fn after_a_timeout_the_plateau_is_where_congestion_avoidance_begins() {
        let config = config();
        for first in [true, false] {
            let mut congestion = Congestion::new(&config, MSS, 1_000);
            lose(&mut congestion, &config);
            let event =
                LossEvent { next: SequenceNumber(0), flight: congestion.window(), send_window: u32::MAX };
            congestion.on_timeout(&config, MSS, Instant::ZERO, event, first);
            let threshold = if first { 489.0 } else { 700.0 };
            assert_eq!(f64::from(congestion.ssthresh() / MSS), threshold);
            // 2^9 > 489, 2^10 > 700: the epoch begins in round 9 or 10, and 50 round trips later W = W_max + 0.4 * 5^3.
            let windows = grow(&mut congestion, &config, Instant::ZERO, 70);
            let begin = if first { 8 } else { 9 };
            assert!((windows[begin] - threshold).abs() < 1.0, "{}", windows[begin]);
            let later = windows[begin + 50];
            assert!((later - (threshold + 50.0)).abs() < 4.0, "{later}");
        }
    }

    #[test]
    fn a_second_timeout_of_a_segment_ends_the_first_slow_start_that_was_restored_before_it() {
        let config = Config { hystart: true, ..config() };
        let rto = rto(&config);
        let mut congestion = Congestion::new(&config, MSS, 10);
        let event = LossEvent { next: SequenceNumber(0), flight: 10 * MSS, send_window: u32::MAX };
        let before = congestion.snapshot();
        congestion.on_timeout(&config, MSS, Instant::ZERO, event, true);
        congestion.restore(before);
        congestion.on_timeout(&config, MSS, Instant::ZERO, event, false);
        // The round-trip time rises for twenty rounds of ten acknowledgments.
        for round in 0..20 {
            for number in 0..10 {
                let una = SequenceNumber((10 * round + number) * MSS);
                let rtt = Some(RTT * u64::from(round + 1));
                let next = una + 10 * MSS;
                let event = AckEvent { bytes: MSS, segments: 1, una, next, rtt, rto: &rto };
                congestion.on_ack(&config, MSS, Instant::ZERO, event);
            }
        }
        assert!(congestion.in_slow_start());
        assert_eq!(congestion.window(), 201 * MSS);
    }

    /// Section 4.9.
    #[test]
    fn a_needless_reduction_leaves_the_function_as_it_was() {
        let config = config();
        let windows = [false, true].map(|needless| {
            let mut congestion = Congestion::new(&config, MSS, 1_000);
            lose(&mut congestion, &config);
            grow(&mut congestion, &config, Instant::ZERO, 20);
            if needless {
                let before = congestion.snapshot();
                lose(&mut congestion, &config);
                congestion.restore(before);
            }
            grow(&mut congestion, &config, Instant::ZERO + RTT * 20, 60)[59]
        });
        assert_eq!(windows[0], windows[1]);
    }

    #[test]
    fn over_a_short_path_the_window_is_no_smaller_than_renos() {
        let config = config();
        let mut congestion = Congestion::new(&config, MSS, 20);
        lose(&mut congestion, &config);
        let windows = grow(&mut congestion, &config, Instant::ZERO, 30);
        // 0.529 of a segment a round trip up to the window before, then one.
        assert!((windows[9] - (14.0 + 10.0 * 0.529)).abs() < 0.5, "{}", windows[9]);
        assert!((windows[29] - windows[19] - 10.0).abs() < 0.5, "{} {}", windows[19], windows[29]);
    }

    #[test]
    fn idle_time_does_not_count() {
        let config = config();
        let mut congestion = Congestion::new(&config, MSS, 1_000);
        lose(&mut congestion, &config);
        let before = grow(&mut congestion, &config, Instant::ZERO, 10)[9];
        let later = Instant::ZERO + Duration::from_secs(101);
        congestion.on_resume(later, Duration::from_secs(100));
        let after = grow(&mut congestion, &config, later, 1)[0];
        assert!(after - before < 20.0, "{before} {after}");
    }

    /// Section 4.7. The fourth loss is the first that meets what fast convergence made of the plateau.
    #[test]
    fn a_loss_below_the_plateau_lowers_it_and_one_at_it_does_not() {
        let config = config();
        let mut cubic = Cubic::new(&config);
        // 80 * 0.85 = 68.
        for (cwnd, w_max) in [(100, 100.0), (100, 100.0), (80, 68.0), (68, 68.0), (70, 70.0)] {
            let mut window = Window { cwnd: cwnd * MSS, ssthresh: u32::MAX, after_timeout: false };
            let event = LossEvent { next: SequenceNumber(0), flight: window.cwnd, send_window: u32::MAX };
            cubic.on_loss(&mut window, &config, MSS, Instant::ZERO, event);
            assert!((cubic.w_max - w_max).abs() < 1e-9, "{cwnd}: {}", cubic.w_max);
        }
    }

    /// Section 4.3: alpha is 1 from where W_est has reached the window before the loss.
    #[test]
    fn the_estimate_of_renos_window_grows_by_a_segment_a_round_trip_once_it_is_back() {
        for (w_est, alpha) in [(99.0, ALPHA_CUBIC), (100.0, 1.0), (101.0, 1.0)] {
            let mut cubic = Cubic { w_est, cwnd_prior: 100.0, ..Cubic::new(&config()) };
            cubic.avoid(50.0, 50.0, 0.0, 0.0);
            assert_eq!(cubic.w_est, w_est + alpha);
        }
    }

    /// Section 4.3: W_est is the window only where it exceeds the function, which grows it by half a round trip at most.
    #[test]
    fn the_function_leads_where_it_equals_renos_window() {
        for (w_est, window) in [(98.5, 75.0), (99.0, 75.0), (99.5, 100.5)] {
            let mut cubic = Cubic { w_est, w_max: 100.0, ..Cubic::new(&config()) };
            assert_eq!(cubic.avoid(50.0, 50.0, 0.0, 0.0), window);
        }
    }
}
