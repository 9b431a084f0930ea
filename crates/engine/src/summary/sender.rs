//! What a sender's congestion control makes of losses and of idle times, by rules of thumb.

use crate::{Mode, Scenario};
use wasp_tcp::{Config, CongestionKind, IdleRestart};

/// Part of the window that a loss leaves with CUBIC (RFC 9438 section 4.6), and with Reno (RFC 5681 section 3.1).
const CUBIC_BETA: f64 = 0.7;
const RENO_BETA: f64 = 0.5;
/// CUBIC's constant C (RFC 9438 section 4.1), segments a second cubed.
const C: f64 = 0.4;

/// A sender of data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sender {
    congestion: CongestionKind,
    idle_restart: IdleRestart,
    /// The window of a new connection, segments.
    initial_window: f64,
    /// The part of a retransmission timeout that is not the round trip, seconds.
    least_timeout: f64,
}

impl Sender {
    pub(super) fn new(tcp: &Config) -> Self {
        Self {
            congestion: tcp.congestion,
            idle_restart: tcp.idle_restart,
            initial_window: f64::from(tcp.initial_window),
            least_timeout: tcp.min_rto.as_secs_f64(),
        }
    }

    /// The server; none where its congestion control does not make windows smaller as Reno or CUBIC.
    pub(super) fn server(scenario: &Scenario) -> Option<Self> {
        if scenario.mode == Mode::Sim {
            let tcp = scenario.server_tcp_config();
            return tcp.ok().map(|tcp| Self::new(&tcp));
        }
        let congestion = match scenario.server.congestion.as_deref()? {
            "cubic" => CongestionKind::Cubic,
            "reno" => CongestionKind::Reno,
            _ => return None,
        };
        Some(Self { congestion, ..Self::new(&Config::linux()) })
    }

    /// Mean window in segments in the long run, where one segment in 1 / `rate` begins a loss event (RFC 9438 section 5.1).
    pub(super) fn lasting_window(&self, rtt: f64, rate: f64) -> f64 {
        let reno = 1.2 / rate.sqrt();
        match self.congestion {
            CongestionKind::Reno => reno,
            CongestionKind::Cubic => reno.max(1.054 * libm::pow(rtt / rate, 0.75)),
        }
    }

    /// What so many losses in a row leave of a window.
    pub(super) fn after_losses(&self, window: f64, losses: i32) -> f64 {
        let beta = match self.congestion {
            CongestionKind::Reno => RENO_BETA,
            CongestionKind::Cubic => CUBIC_BETA,
        };
        window * f64::powi(beta, losses)
    }

    /// Loss events that take the window from `first` to `last`.
    pub(super) fn losses_between(&self, first: f64, last: f64) -> f64 {
        (libm::log(first / last) / libm::log(1.0 / self.after_losses(1.0, 1))).max(0.0)
    }

    /// Time in seconds in which a window grows from a part of what it was before a loss to that again.
    pub(super) fn recovery_time(&self, rtt: f64, window: f64) -> f64 {
        let reno = 0.5 * window * rtt;
        match self.congestion {
            CongestionKind::Reno => reno,
            CongestionKind::Cubic => reno.min(libm::cbrt((1.0 - CUBIC_BETA) * window / C)),
        }
    }

    /// Time in seconds that losses cost by retransmission timeouts: so many events, each of which is one with the probability min(1, 3 / window) (Padhye et al. 1998).
    pub(super) fn timeouts(&self, rtt: f64, window: f64, events: f64) -> f64 {
        events * (3.0 / window).min(1.0) * self.timeout(rtt)
    }

    /// Round trips in which so many segments arrive with a window of `last` segments, after each idle time of so many seconds.
    pub(super) fn round_trips(&self, rtt: f64, last: f64, segments: f64, idle: f64) -> f64 {
        let timeouts = idle / self.timeout(rtt);
        let restart = last.min(self.initial_window);
        let window = match self.idle_restart {
            // Each timeout halves it, down to that of a new connection (RFC 2861 section 3.1, Linux `tcp_cwnd_restart`).
            IdleRestart::Decay => (last * libm::exp2(-timeouts)).max(restart),
            IdleRestart::RestartWindow => restart,
            IdleRestart::Keep => last,
        };
        if timeouts < 1.0 || segments <= self.initial_window || window >= last {
            return 1.0 + segments / last;
        }
        round_trips_from(window, segments)
    }

    fn timeout(&self, rtt: f64) -> f64 {
        rtt + self.least_timeout
    }
}

/// Round trips in which so many segments arrive, if the window begins with `window` and grows by one segment in each.
fn round_trips_from(window: f64, segments: f64) -> f64 {
    // n rounds carry n (window + (n - 1) / 2).
    let half = window - 0.5;
    ((half * half + 2.0 * segments).sqrt() - half).ceil()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(congestion: CongestionKind) -> Sender {
        Sender { congestion, ..Sender::new(&Config::linux()) }
    }

    #[test]
    fn windows_are_those_of_the_response_functions() {
        let (reno, cubic) = (sender(CongestionKind::Reno), sender(CongestionKind::Cubic));
        assert!((reno.lasting_window(0.1, 1e-4) - 120.0).abs() < 1e-9);
        // RFC 9438 table 1.
        assert!((cubic.lasting_window(0.1, 1e-4) - 187.0).abs() < 1.0);
        // Where CUBIC grows no faster than Reno.
        assert!((cubic.lasting_window(0.1, 0.01) - 12.0).abs() < 1e-9);
        assert!((cubic.losses_between(100.0, 70.0) - 1.0).abs() < 1e-9);
        assert!((reno.losses_between(100.0, 25.0) - 2.0).abs() < 1e-9);
        assert_eq!(reno.losses_between(50.0, 70.0), 0.0);
    }

    #[test]
    fn cubic_recovers_as_reno_or_sooner() {
        let (reno, cubic) = (sender(CongestionKind::Reno), sender(CongestionKind::Cubic));
        let times = |window| (reno.recovery_time(0.1, window), cubic.recovery_time(0.1, window));
        assert!((times(40.0).0 - 2.0).abs() < 1e-9 && (times(40.0).1 - 2.0).abs() < 1e-9);
        assert!((times(400.0).0 - 20.0).abs() < 1e-9 && (times(400.0).1 - libm::cbrt(300.0)).abs() < 1e-9);
    }

    #[test]
    fn an_idle_time_halves_a_window_with_each_timeout() {
        let linux = sender(CongestionKind::Cubic);
        // 80, 40, 20 and 10 segments in the first round trip, and one more in each that follows.
        let found = [0.0, 0.31, 0.6, 3.0].map(|idle| linux.round_trips(0.1, 80.0, 33.0, idle));
        assert_eq!(found, [1.0 + 33.0 / 80.0, 1.0, 2.0, 3.0]);
        let keep = Sender { idle_restart: IdleRestart::Keep, ..linux };
        assert_eq!(keep.round_trips(0.1, 80.0, 40.0, 3.0), 1.5);
        let at_once = Sender { idle_restart: IdleRestart::RestartWindow, ..linux };
        assert_eq!(at_once.round_trips(0.1, 80.0, 33.0, 0.31), 3.0);
        // A response of the initial window never was in need of more.
        assert_eq!(linux.round_trips(0.1, 20.0, 10.0, 3.0), 1.5);
    }

    #[test]
    fn a_window_that_begins_again_grows_by_a_segment_in_each_round_trip() {
        let found =
            [1.0, 10.0, 11.0, 21.0, 22.0, 33.0, 34.0].map(|segments| round_trips_from(10.0, segments));
        assert_eq!(found, [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0]);
    }

    #[test]
    fn a_live_server_says_its_congestion_control() {
        let server = |mode: &str, server: &str| {
            let text = format!(
                r#"{{"seed": 1, "run": 0, "mode": "{mode}",
                "server": {{"address": "198.18.0.1", "port": 80{server}}},
                "network": {{"prefix": "198.18.0.0/17", "shared": {{"up": {{}}, "down": {{}}}}}},
                "workload": {{"kind": "single", "path": "/file", "size": "1KB"}},
                "clients": [{{
                    "name": "clients", "count": 1, "rtt": "1ms", "loss": {{}}, "bandwidth": {{}}, "queue": {{}}, "mtu": 1500,
                    "http": {{"timeout": "60s"}}, "tcp": {{"preset": "linux"}}
                }}],
                "measure": {{"warmup": "1s", "duration": "1s"}}}}"#
            );
            let scenario = Scenario::from_json(&text).expect("the scenario is valid");
            Sender::server(&scenario).map(|sender| sender.congestion)
        };
        assert_eq!(server("live", r#", "congestion": "cubic""#), Some(CongestionKind::Cubic));
        assert_eq!(server("live", r#", "congestion": "reno""#), Some(CongestionKind::Reno));
        assert_eq!(server("live", r#", "congestion": "bbr""#), None);
        assert_eq!(server("live", ""), None);
        let model =
            r#""model": {"cores": 1, "per_connection": "0ms", "per_request": "0ms", "per_kib": "0ms"}"#;
        let reno = format!(r#", {model}, "tcp": {{"preset": "linux", "congestion": "reno"}}"#);
        assert_eq!(server("sim", &reno), Some(CongestionKind::Reno));
    }
}
