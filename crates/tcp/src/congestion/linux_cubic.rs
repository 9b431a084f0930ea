//! CUBIC as Linux has it (`net/ipv4/tcp_cubic.c` of Linux 6.18), where it departs from RFC 9438.
//!
//! Windows are whole segments, and the window grows by one for every `cnt` segments acknowledged, at most by half in a round trip.
//! Time is counted in jiffies, the ticks of the host's timers. What Reno's window would be grows by 8/15 of a segment a round trip, above the window of the last loss
//! too. While there is no plateau, which is so before the first loss and after every timeout, the window grows by a twentieth a round
//! trip at least. A reduction that is taken back leaves the plateau that it set, and a new epoch begins.
//!
//! Names are the kernel's.

use super::linux_hystart::LinuxHyStart;
use super::{AckEvent, Algorithm, LossEvent, RttEvent, Window};
use crate::config::{Config, TimerSlack};
use wasp_units::{Duration, Instant};

/// Beta is 717/1024.
const BICTCP_BETA_SCALE: u32 = 1_024;
const BETA: u32 = 717;
/// Eight times the segments that Reno's window needs, for each of its own, to grow by one.
const BETA_SCALE: u32 = 8 * (BICTCP_BETA_SCALE + BETA) / 3 / (BICTCP_BETA_SCALE - BETA);
/// The function counts time in 1/1024 s.
const BICTCP_HZ: u32 = 10;
/// C is 410/1024.
const CUBE_RTT_SCALE: u64 = 410;
const CUBE_FACTOR: u64 = (1 << (10 + 3 * BICTCP_HZ)) / CUBE_RTT_SCALE;
/// Segments acknowledged for one of growth, at most while there is no plateau, and at least always.
const SLOWEST_WITHOUT_PLATEAU: u32 = 20;
const FASTEST: u32 = 2;
const SECOND: Duration = Duration::from_secs(1);
/// The jiffy of a stack whose ticks are not Linux's.
const USUAL_JIFFY: Duration = Duration::from_millis(4);

/// CUBIC's own state.
#[derive(Debug)]
pub(super) struct LinuxCubic {
    /// A jiffy of the host's clock.
    jiffy: Duration,
    /// Segments acknowledged that grow the window by one.
    cnt: u32,
    /// The plateau, less where fast convergence gave some of it away; 0 for none.
    last_max_cwnd: u32,
    /// The window, and the time in jiffies, when `cnt` was last computed.
    last_cwnd: u32,
    last_time: u64,
    /// Where the function is flat, and when it is, in 1/1024 s after the epoch's start.
    bic_origin_point: u32,
    bic_k: u64,
    /// The least round-trip time; none before the first.
    delay_min: Option<Duration>,
    /// When congestion avoidance began, in jiffies.
    epoch_start: Option<u64>,
    /// Segments acknowledged that Reno's window has not grown by.
    ack_cnt: u32,
    /// What Reno's window would be.
    tcp_cwnd: u32,
    /// Segments acknowledged that the window has not grown by, and bytes that are not yet one.
    snd_cwnd_cnt: u32,
    pub(super) rest: u32,
    /// The slow start whose end the round-trip times may tell.
    hystart: Option<LinuxHyStart>,
}

impl LinuxCubic {
    pub(super) fn new(config: &Config) -> Self {
        let jiffy =
            if config.timer_slack == TimerSlack::Ticks { USUAL_JIFFY } else { config.timer_granularity };
        Self::fresh(jiffy, config.hystart.then(LinuxHyStart::default))
    }

    /// What knows nothing yet (`bictcp_reset`).
    fn fresh(jiffy: Duration, hystart: Option<LinuxHyStart>) -> Self {
        Self {
            jiffy,
            cnt: 0,
            last_max_cwnd: 0,
            last_cwnd: 0,
            last_time: 0,
            bic_origin_point: 0,
            bic_k: 0,
            delay_min: None,
            epoch_start: None,
            ack_cnt: 0,
            tcp_cwnd: 0,
            snd_cwnd_cnt: 0,
            rest: 0,
            hystart,
        }
    }

    /// `now` in jiffies.
    fn jiffies(&self, now: Instant) -> u64 {
        now.as_nanos() / self.jiffy.as_nanos()
    }

    /// Jiffies in a second.
    fn hz(&self) -> u64 {
        SECOND.as_nanos() / self.jiffy.as_nanos()
    }

    /// Sending resumes at `now`, `idle` after data last left, with nothing in flight: that time does not count (`cubictcp_cwnd_event`).
    pub(super) fn on_resume(&mut self, now: Instant, idle: Duration) {
        let idle =
            self.jiffies(now) - self.jiffies(Instant::ZERO + now.saturating_since(Instant::ZERO + idle));
        self.epoch_start = self.epoch_start.map(|start| (start + idle).min(self.jiffies(now)));
    }

    /// A round-trip time of segments that were sent once (`cubictcp_acked`).
    #[inline]
    pub(super) fn on_rtt(&mut self, window: &mut Window, mss: u32, now: Instant, event: RttEvent) {
        // The first second after a reduction tells nothing of the path without a queue.
        if self.epoch_start.is_some_and(|start| self.jiffies(now) < start + self.hz()) {
            return;
        }
        let delay_min = self.delay_min.map_or(event.rtt, |least| least.min(event.rtt));
        self.delay_min = Some(delay_min);
        if window.cwnd < window.ssthresh
            && let Some(hystart) = &mut self.hystart
            && hystart.ends_slow_start(window.cwnd / mss, delay_min, now, event)
        {
            window.ssthresh = window.cwnd;
        }
    }

    /// A new epoch begins where the window stands.
    fn begin_epoch(&mut self, cwnd: u32, acked: u32, now: u64) -> u64 {
        self.ack_cnt = acked;
        self.tcp_cwnd = cwnd;
        let below = self.last_max_cwnd.saturating_sub(cwnd);
        self.bic_k = libm::cbrt((CUBE_FACTOR * u64::from(below)) as f64) as u64;
        self.bic_origin_point = self.last_max_cwnd.max(cwnd);
        self.epoch_start = Some(now);
        now
    }

    /// Segments for one of growth that lead to the function's window a round trip ahead, `t` jiffies after the epoch's start.
    fn cnt_of_function(&self, cwnd: u32, t: u64) -> u32 {
        let round_trip = self.delay_min.unwrap_or_default().as_nanos().div_ceil(self.jiffy.as_nanos());
        let t = ((t + round_trip) << BICTCP_HZ) / self.hz();
        let offs = t.abs_diff(self.bic_k);
        let cube = CUBE_RTT_SCALE.saturating_mul(offs).saturating_mul(offs).saturating_mul(offs);
        let delta = (cube >> (10 + 3 * BICTCP_HZ)).min(u64::from(u32::MAX)) as u32;
        let target = if t < self.bic_k {
            self.bic_origin_point.saturating_sub(delta)
        } else {
            self.bic_origin_point.saturating_add(delta)
        };
        let cnt = if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(100) };
        if self.last_max_cwnd == 0 { cnt.min(SLOWEST_WITHOUT_PLATEAU) } else { cnt }
    }

    /// Segments for one of growth where Reno's window is the larger.
    fn cnt_of_reno(&mut self, cwnd: u32) -> u32 {
        let step = (cwnd.saturating_mul(BETA_SCALE) >> 3).max(1);
        // The kernel takes steps away while more than one is left.
        let steps = self.ack_cnt.saturating_sub(1) / step;
        self.ack_cnt -= steps * step;
        self.tcp_cwnd = self.tcp_cwnd.saturating_add(steps);
        if self.tcp_cwnd > cwnd { cwnd / (self.tcp_cwnd - cwnd) } else { u32::MAX }
    }

    /// `bictcp_update`: how many segments acknowledged grow the window by one, after `acked` more.
    fn update(&mut self, cwnd: u32, acked: u32, now: Instant) {
        self.ack_cnt = self.ack_cnt.saturating_add(acked);
        let now = self.jiffies(now);
        if self.last_cwnd == cwnd && now.saturating_sub(self.last_time) <= self.hz() / 32 {
            return;
        }
        if self.epoch_start.is_none() || now != self.last_time {
            self.last_cwnd = cwnd;
            self.last_time = now;
            let start = match self.epoch_start {
                Some(start) => start,
                None => self.begin_epoch(cwnd, acked, now),
            };
            self.cnt = self.cnt_of_function(cwnd, now.saturating_sub(start));
        }
        self.cnt = self.cnt.min(self.cnt_of_reno(cwnd)).max(FASTEST);
    }

    /// `tcp_cong_avoid_ai`: how many segments the window grows by.
    fn growth(&mut self, acked: u32) -> u32 {
        let mut growth = 0;
        // Credit of a time when growth was slower counts once.
        if self.snd_cwnd_cnt >= self.cnt {
            self.snd_cwnd_cnt = 0;
            growth = 1;
        }
        self.snd_cwnd_cnt += acked;
        growth += self.snd_cwnd_cnt / self.cnt;
        self.snd_cwnd_cnt %= self.cnt;
        growth
    }
}

impl Algorithm for LinuxCubic {
    fn on_ack(&mut self, window: &mut Window, config: &Config, mss: u32, now: Instant, event: AckEvent<'_>) {
        let mut bytes = window.counted(config, mss, &event);
        if window.cwnd < window.ssthresh {
            bytes = window.slow_start(bytes);
            if bytes == 0 {
                return;
            }
        }
        let bytes = bytes.saturating_add(self.rest);
        self.rest = bytes % mss;
        let acked = bytes / mss;
        if acked == 0 {
            return;
        }
        self.update(window.cwnd / mss, acked, now);
        window.cwnd = window.cwnd.saturating_add(self.growth(acked).saturating_mul(mss));
    }

    /// `cubictcp_recalc_ssthresh`, with fast convergence.
    fn on_loss(&mut self, window: &mut Window, _config: &Config, mss: u32, _now: Instant, _event: LossEvent) {
        let cwnd = window.cwnd / mss;
        self.epoch_start = None;
        self.last_max_cwnd = if cwnd < self.last_max_cwnd {
            (u64::from(cwnd) * u64::from(BICTCP_BETA_SCALE + BETA) / u64::from(2 * BICTCP_BETA_SCALE)) as u32
        } else {
            cwnd
        };
        let kept = u64::from(cwnd) * u64::from(BETA) / u64::from(BICTCP_BETA_SCALE);
        window.ssthresh = (kept as u32).max(2).saturating_mul(mss);
        self.snd_cwnd_cnt = 0;
    }

    /// `cubictcp_state`: a timeout leaves nothing of what was known.
    fn on_timeout(&mut self, now: Instant, event: LossEvent) {
        let hystart = self.hystart.is_some().then(|| LinuxHyStart::new(now, event.next));
        *self = Self::fresh(self.jiffy, hystart);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Congestion, Kind};
    use super::*;
    use crate::config::{AckCounting, CongestionKind, CubicKind};
    use crate::rto::Rto;
    use wasp_wire::SequenceNumber;

    const MSS: u32 = 1_000;
    const RTT: Duration = Duration::from_millis(100);
    const START: Instant = Instant::from_nanos(5_000_000_000);

    fn config() -> Config {
        let (congestion, cubic) = (CongestionKind::Cubic, CubicKind::Linux);
        Config { congestion, cubic, hystart: false, ..Config::linux() }
    }

    /// A connection of segments of [`MSS`], whose acknowledgments come in rounds.
    struct Bench {
        config: Config,
        congestion: Congestion,
        rto: Rto,
        una: SequenceNumber,
        now: Instant,
    }

    impl Bench {
        fn new(config: Config, segments: u32) -> Self {
            let congestion = Congestion::new(&config, MSS, segments);
            let rto = Rto::new(&config);
            Self { config, congestion, rto, una: SequenceNumber(0), now: START }
        }

        /// Acknowledges one segment of a window in flight, which took `rtt`.
        fn acknowledge(&mut self, rtt: Duration) {
            let next = self.una + self.congestion.window();
            self.una += MSS;
            let una = self.una;
            self.congestion.on_rtt(MSS, self.now, RttEvent { rtt, una, next });
            let event = AckEvent { bytes: MSS, segments: 1, una, next, rtt: Some(rtt), rto: &self.rto };
            self.congestion.on_ack(&self.config, MSS, self.now, event);
        }

        /// Rounds of a whole window each, a round trip apart: the windows at their ends, in segments.
        fn grow(&mut self, rounds: u32) -> Vec<u32> {
            let round = |_| {
                self.now += RTT;
                (0..self.window()).for_each(|_| self.acknowledge(RTT));
                self.window()
            };
            (0..rounds).map(round).collect()
        }

        fn window(&self) -> u32 {
            self.congestion.window() / MSS
        }

        fn cubic(&self) -> &LinuxCubic {
            match &self.congestion.kind {
                Kind::LinuxCubic(cubic) => cubic,
                kind => panic!("{kind:?} is not Linux's"),
            }
        }

        fn event(&self) -> LossEvent {
            let flight = self.congestion.window();
            LossEvent { next: self.una + flight, flight, send_window: u32::MAX }
        }

        fn lose(&mut self) {
            self.congestion.on_fast_retransmit(&self.config, MSS, self.now, self.event());
        }

        fn time_out(&mut self) {
            self.congestion.on_timeout(&self.config, MSS, self.now, self.event(), true);
        }
    }

    #[test]
    fn a_loss_takes_three_tenths_and_a_second_one_below_it_releases_more() {
        let mut bench = Bench::new(config(), 1_000);
        let before = bench.grow(1)[0];
        bench.lose();
        assert_eq!(before, 2_000);
        assert_eq!(bench.window(), before * 717 / 1_024);
        // K = cbrt(600 / 0.4) = 11.4 s. Within two segments of the plateau, 1.7 s before, the window is one short of it.
        let windows = bench.grow(110);
        let back = windows.iter().position(|window| *window >= before - 1).expect("it comes back");
        assert!((90..=100).contains(&back), "{back}");
        assert!(windows[back] - windows[back - 10] < 10, "concave, then flat");

        let mut bench = Bench::new(config(), 1_000);
        bench.lose();
        bench.lose();
        // W_max = 700 * 0.85 = 595, K = cbrt(105 / 0.4) = 6.4 s.
        let windows = bench.grow(80);
        assert!((594..=596).contains(&windows[64]), "{}", windows[64]);
    }

    #[test]
    fn without_a_plateau_the_window_grows_by_a_twentieth_at_least() {
        let mut bench = Bench::new(config(), 100);
        bench.time_out();
        // 2^6 < 70, so that the seventh round ends slow start.
        let windows = bench.grow(17);
        assert_eq!(windows[5], 64);
        assert_eq!(windows[6], 72);
        for pair in windows[6..].windows(2) {
            let twentieth = pair[0] / 20;
            assert!((twentieth..=twentieth + 1).contains(&(pair[1] - pair[0])), "{pair:?}");
        }
        // With one it follows the function: K = cbrt(30 / 0.4) = 4.2 s, W(1 s) = 100 - 0.4 * 3.2^3 = 87.
        let mut bench = Bench::new(config(), 100);
        bench.lose();
        let windows = bench.grow(10);
        assert!((86..=88).contains(&windows[9]), "{windows:?}");
    }

    #[test]
    fn renos_window_grows_by_eight_fifteenths_also_above_the_last_one() {
        let mut bench = Bench::new(config(), 20);
        bench.lose();
        let windows = bench.grow(30);
        // The plateau of 20 is passed in round 12; the function is above Reno's window from round 40 on.
        let expected = 14.0 + 30.0 * 8.0 / 15.0;
        assert!((f64::from(windows[29]) - expected).abs() < 1.5, "{windows:?}");
    }

    #[test]
    fn the_window_grows_by_half_a_round_trip_at_most() {
        let mut bench = Bench::new(config(), 10);
        bench.lose();
        bench.now += Duration::from_secs(60);
        bench.grow(1);
        bench.now += Duration::from_secs(60);
        let before = bench.window();
        let after = bench.grow(1)[0];
        assert!((before * 7 / 5..=before * 3 / 2 + 1).contains(&after), "{before} {after}");
    }

    #[test]
    fn idle_time_does_not_count() {
        let mut bench = Bench::new(config(), 1_000);
        bench.lose();
        let before = bench.grow(10)[9];
        let idle = Duration::from_secs(100);
        bench.now += idle;
        bench.congestion.on_resume(bench.now, idle);
        let after = bench.grow(1)[0];
        assert!(after - before < 20, "{before} {after}");
    }

    #[test]
    fn a_needless_reduction_leaves_its_plateau_and_a_needless_timeout_none() {
        let mut bench = Bench::new(config(), 100);
        bench.lose();
        let prior = bench.congestion.snapshot();
        bench.lose();
        bench.congestion.restore(prior);
        assert_eq!(bench.window(), 70);
        let steady = bench.grow(10)[9];
        assert!(steady < 77, "above the plateau of 59, where it was 100 before: {steady}");

        let mut bench = Bench::new(config(), 100);
        bench.lose();
        let prior = bench.congestion.snapshot();
        bench.time_out();
        bench.congestion.restore(prior);
        assert_eq!(bench.window(), 70);
        let growing = bench.grow(10)[9];
        assert!(growing > 105, "a twentieth a round trip: {growing}");
    }

    #[test]
    fn hystart_ends_slow_start_where_the_delay_has_risen() {
        let mut bench = Bench::new(Config { hystart: true, ..config() }, 10);
        bench.grow(1);
        // Eight round-trip times tell nothing yet; the ninth ends it.
        bench.now += RTT;
        for number in 0..9 {
            assert!(bench.congestion.in_slow_start(), "{number}");
            bench.now += Duration::from_millis(3);
            bench.acknowledge(RTT * 9 / 8 + Duration::from_millis(1));
        }
        assert_eq!(bench.congestion.ssthresh(), 28 * MSS);
        // An eighth and no more does not.
        let mut bench = Bench::new(Config { hystart: true, ..config() }, 10);
        bench.grow(1);
        bench.now += RTT;
        for _ in 0..20 {
            bench.now += Duration::from_millis(3);
            bench.acknowledge(RTT * 9 / 8);
        }
        assert!(bench.congestion.in_slow_start());
    }

    #[test]
    fn hystart_asks_for_a_rise_of_four_to_sixteen_milliseconds() {
        // An eighth would be 2.5 and 25 ms.
        for (path, rise, ends) in [(20, 4, false), (20, 5, true), (200, 16, false), (200, 17, true)] {
            let path = Duration::from_millis(path);
            let mut bench = Bench::new(Config { hystart: true, ..config() }, 20);
            bench.now += path;
            bench.acknowledge(path);
            bench.una += 40 * MSS;
            for _ in 0..9 {
                bench.now += Duration::from_millis(3);
                bench.acknowledge(path + Duration::from_millis(rise));
            }
            assert_eq!(!bench.congestion.in_slow_start(), ends, "{path} {rise}");
        }
    }

    #[test]
    fn the_first_second_after_a_reduction_tells_no_least_round_trip_time() {
        let mut windows = Vec::new();
        for rtt in [RTT, RTT * 4] {
            let mut bench = Bench::new(config(), 1_000);
            bench.now += RTT;
            bench.acknowledge(RTT * 4);
            bench.lose();
            // Within the second either is ignored.
            for round in 0..9 {
                bench.now += RTT;
                (0..700).for_each(|_| bench.acknowledge(if round > 0 { rtt } else { RTT * 4 }));
            }
            windows.push(bench.window());
        }
        assert_eq!(windows[0], windows[1]);
    }

    #[test]
    fn the_function_is_looked_up_a_round_trip_ahead() {
        let windows = [Duration::from_millis(1), RTT].map(|rtt| {
            let mut bench = Bench::new(config(), 1_000);
            bench.now += RTT;
            bench.acknowledge(rtt);
            bench.lose();
            bench.grow(3);
            bench.window()
        });
        // W(0.3 s) - W(0.2 s) = 0.4 * (8.89^3 - 8.79^3) = 9.4, with K = 9.09 s.
        let ahead = windows[1] - windows[0];
        assert!((8..=11).contains(&ahead), "{windows:?}");
    }

    #[test]
    fn a_loss_takes_the_credit_of_what_was_acknowledged_before() {
        let mut bench = Bench::new(config(), 100);
        bench.lose();
        bench.now += RTT;
        (0..5).for_each(|_| bench.acknowledge(RTT));
        assert!(bench.cubic().snd_cwnd_cnt > 0);
        bench.lose();
        assert_eq!(bench.cubic().snd_cwnd_cnt, 0);
    }

    #[test]
    fn what_is_acknowledged_at_one_moment_grows_the_window_by_one_rate() {
        // Within 7 jiffies of the last look and with the same window, nothing is computed anew.
        let mut bench = Bench::new(config(), 1_000);
        bench.lose();
        bench.now += RTT;
        bench.acknowledge(RTT);
        let (cnt, time) = (bench.cubic().cnt, bench.cubic().last_time);
        bench.now += Duration::from_millis(28);
        bench.acknowledge(RTT);
        assert_eq!((bench.cubic().cnt, bench.cubic().last_time), (cnt, time));
        bench.now += Duration::from_millis(4);
        bench.acknowledge(RTT);
        assert_eq!(bench.cubic().last_time, time + 8);
    }

    #[test]
    fn hystart_ends_slow_start_where_acknowledgments_come_in_a_long_train() {
        for (apart, ends) in [(1_900, true), (2_100, false)] {
            let mut bench = Bench::new(Config { hystart: true, ..config() }, 10);
            bench.grow(2);
            bench.now += RTT;
            let mut acknowledged = 0;
            while bench.congestion.in_slow_start() && acknowledged < 40 {
                bench.acknowledge(RTT);
                bench.now += Duration::from_micros(apart);
                acknowledged += 1;
            }
            // Half of 101 ms, after the first of the round.
            assert_eq!(acknowledged, if ends { 28 } else { 40 });
        }
    }

    #[test]
    fn hystart_leaves_a_window_below_sixteen_alone_and_is_there_again_after_a_timeout() {
        let mut bench = Bench::new(Config { hystart: true, ..config() }, 2);
        bench.grow(1);
        for _ in 0..11 {
            bench.now += Duration::from_millis(3);
            bench.acknowledge(RTT * 3);
        }
        assert_eq!((bench.window(), bench.congestion.in_slow_start()), (15, true));

        let mut bench = Bench::new(Config { hystart: true, ..config() }, 100);
        bench.grow(1);
        bench.time_out();
        let threshold = bench.congestion.ssthresh();
        bench.una += 200 * MSS;
        bench.grow(5);
        bench.now += RTT;
        for _ in 0..20 {
            bench.now += Duration::from_millis(3);
            bench.acknowledge(RTT * 2);
        }
        assert!(bench.congestion.ssthresh() < threshold);
    }

    /// What stands alone, in congestion avoidance at a window of `cwnd` segments.
    fn alone(cwnd: u32) -> (LinuxCubic, Window) {
        let window = Window { cwnd: cwnd * MSS, ssthresh: cwnd * MSS, after_timeout: false };
        (LinuxCubic::new(&config()), window)
    }

    /// `cubictcp_cwnd_event`, in jiffies of 4 ms.
    #[test]
    fn idle_time_moves_the_epoch_up_to_now() {
        for (idle, start) in [(0, 100), (500, 600), (900, 1_000), (950, 1_000)] {
            let (mut cubic, _) = alone(10);
            cubic.epoch_start = Some(100);
            cubic.on_resume(Instant::ZERO + cubic.jiffy * 1_000, cubic.jiffy * idle);
            assert_eq!(cubic.epoch_start, Some(start), "{idle}");
        }
    }

    /// `cubictcp_acked`.
    #[test]
    fn the_second_after_a_reduction_ends_with_its_last_jiffy() {
        let (mut cubic, mut window) = alone(10);
        cubic.epoch_start = Some(100);
        let event = RttEvent { rtt: RTT, una: SequenceNumber(0), next: SequenceNumber(0) };
        for (jiffy, known) in [(349, None), (350, Some(RTT))] {
            cubic.on_rtt(&mut window, MSS, Instant::ZERO + cubic.jiffy * jiffy, event);
            assert_eq!(cubic.delay_min, known);
        }
    }

    #[test]
    fn hystart_does_not_look_where_slow_start_has_ended() {
        let (_, mut window) = alone(20);
        let mut cubic = LinuxCubic::new(&Config { hystart: true, ..config() });
        let mut now = START;
        let mut acknowledge = |window: &mut Window, rtt| {
            now += Duration::from_millis(3);
            cubic.on_rtt(window, MSS, now, RttEvent { rtt, una: SequenceNumber(0), next: SequenceNumber(1) });
        };
        acknowledge(&mut window, RTT);
        (0..20).for_each(|_| acknowledge(&mut window, RTT * 2));
        // An idle time, for example, raises the threshold: of this round nothing is known, and eight round-trip times tell nothing.
        window.ssthresh = u32::MAX;
        (0..8).for_each(|_| acknowledge(&mut window, RTT * 2));
        assert_eq!(window.ssthresh, u32::MAX);
        acknowledge(&mut window, RTT * 2);
        assert_eq!(window.ssthresh, window.cwnd);
    }

    /// `bictcp_update`, "TCP Friendly": max_cnt = cwnd / (tcp_cwnd - cwnd).
    #[test]
    fn the_window_closes_the_gap_to_renos_in_a_round_trip() {
        for (tcp_cwnd, cnt) in [(99, u32::MAX), (100, u32::MAX), (101, 100), (103, 33), (250, 0)] {
            let (mut cubic, _) = alone(100);
            cubic.tcp_cwnd = tcp_cwnd;
            assert_eq!(cubic.cnt_of_reno(100), cnt, "{tcp_cwnd}");
        }
    }

    #[test]
    fn what_slow_start_leaves_counts_in_whole_segments_and_the_rest_later() {
        let config = Config { ack_counting: AckCounting::Bytes { limit: 20 }, ..config() };
        let (mut cubic, mut window) = alone(12);
        window.cwnd = 10 * MSS;
        let rto = Rto::new(&config);
        let (una, next) = (SequenceNumber(0), SequenceNumber(0));
        // Two of five and a half segments are slow start's, and three and a half are left; then there are five.
        for (halves, counted, rest) in [(11, 3, MSS / 2), (3, 5, 0)] {
            let event =
                AckEvent { bytes: halves * MSS / 2, segments: halves / 2, una, next, rtt: None, rto: &rto };
            cubic.on_ack(&mut window, &config, MSS, START, event);
            assert_eq!((cubic.ack_cnt, cubic.rest), (counted, rest));
        }
    }

    /// `cubictcp_recalc_ssthresh`.
    #[test]
    fn a_loss_below_the_plateau_lowers_it_and_one_at_it_does_not() {
        let config = config();
        let (mut cubic, _) = alone(100);
        // 80 * (1024 + 717) / 2048 = 68.0, and 67 * 0.85 = 56.96.
        for (cwnd, plateau) in [(100, 100), (100, 100), (80, 68), (68, 68), (67, 56), (70, 70)] {
            let mut window = Window { cwnd: cwnd * MSS, ssthresh: u32::MAX, after_timeout: false };
            let event = LossEvent { next: SequenceNumber(0), flight: window.cwnd, send_window: u32::MAX };
            cubic.on_loss(&mut window, &config, MSS, START, event);
            assert_eq!(cubic.last_max_cwnd, plateau, "{cwnd}");
        }
    }
}
