//! Congestion control: how the window grows with acknowledgments and shrinks with losses.
//!
//! An algorithm is told of events, each with the time, and owns the window and the slow-start threshold. What is lost, and
//! when a lost segment may be sent again, is the business of [`crate::recovery`]; its inflation of the window during fast
//! recovery never enters here.

mod reno;

use crate::config::{Config, CongestionKind, IdleRestart};
use wasp_units::{Duration, Instant};

/// New data was acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckEvent {
    /// Bytes newly acknowledged.
    pub(crate) bytes: u32,
    /// Segments newly acknowledged, in part or whole.
    pub(crate) segments: u32,
}

/// Data was found lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LossEvent {
    /// FlightSize (RFC 5681): bytes sent and not acknowledged, without those sent by limited transmit.
    pub(crate) flight: u32,
    /// The peer's window in bytes.
    pub(crate) send_window: u32,
}

/// What an algorithm answers to, each event at its time `now`. `mss` is the sender's segment size in bytes.
trait Algorithm {
    fn on_ack(&mut self, window: &mut Window, config: &Config, mss: u32, now: Instant, event: AckEvent);
    fn on_loss(&mut self, window: &mut Window, config: &Config, mss: u32, now: Instant, event: LossEvent);
}

/// The state every algorithm shares, in bytes.
#[derive(Debug)]
struct Window {
    /// Congestion window.
    cwnd: u32,
    /// Slow-start threshold.
    ssthresh: u32,
}

#[derive(Debug)]
enum Kind {
    Reno(reno::Reno),
}

impl Kind {
    fn algorithm(&mut self) -> &mut dyn Algorithm {
        match self {
            Self::Reno(reno) => reno,
        }
    }
}

/// The congestion control of one connection.
#[derive(Debug)]
pub(crate) struct Congestion {
    window: Window,
    kind: Kind,
}

impl Congestion {
    /// A connection of segments of `mss` bytes that begins with `segments` of them.
    pub(crate) fn new(config: &Config, mss: u32, segments: u32) -> Self {
        let window = Window { cwnd: segments.saturating_mul(mss), ssthresh: config.initial_ssthresh };
        let kind = match config.congestion {
            CongestionKind::Reno => Kind::Reno(reno::Reno::default()),
        };
        Self { window, kind }
    }

    pub(crate) fn window(&self) -> u32 {
        self.window.cwnd
    }

    pub(crate) fn ssthresh(&self) -> u32 {
        self.window.ssthresh
    }

    pub(crate) fn in_slow_start(&self) -> bool {
        self.window.cwnd < self.window.ssthresh
    }

    /// New data was acknowledged outside fast recovery, and the window was in use.
    pub(crate) fn on_ack(&mut self, config: &Config, mss: u32, now: Instant, event: AckEvent) {
        match &mut self.kind {
            Kind::Reno(reno) => reno.on_ack(&mut self.window, config, mss, now, event),
        }
    }

    /// Fast recovery begins: threshold and window fall.
    pub(crate) fn on_fast_retransmit(&mut self, config: &Config, mss: u32, now: Instant, event: LossEvent) {
        self.kind.algorithm().on_loss(&mut self.window, config, mss, now, event);
        self.window.cwnd = self.window.ssthresh;
    }

    /// The retransmission timer expired: the window falls to one segment (RFC 5681 section 3.1), the threshold as for a
    /// loss, but only at the first timeout of a segment (BSD: at each).
    pub(crate) fn on_timeout(
        &mut self,
        config: &Config,
        mss: u32,
        now: Instant,
        event: LossEvent,
        first: bool,
    ) {
        if first || config.bsd_ssthresh {
            self.kind.algorithm().on_loss(&mut self.window, config, mss, now, event);
        }
        self.window.cwnd = mss;
    }

    /// Sending resumes `idle` after the last transmission, which is longer than `rto`.
    pub(crate) fn on_idle(&mut self, config: &Config, mss: u32, idle: Duration, rto: Duration) {
        let window = &mut self.window;
        let restart = config.initial_window.saturating_mul(mss).min(window.cwnd);
        match config.idle_restart {
            IdleRestart::Keep => {}
            IdleRestart::RestartWindow => window.cwnd = restart,
            IdleRestart::Decay => {
                window.ssthresh = window.ssthresh.max(window.cwnd / 2 + window.cwnd / 4);
                let halvings = (idle.as_nanos() / rto.as_nanos().max(1)).min(31);
                window.cwnd = (window.cwnd >> halvings).max(restart);
            }
        }
    }

    /// Sets the window, as recovery does when it ends; never less than a segment.
    pub(crate) fn set_window(&mut self, mss: u32, window: u32) {
        self.window.cwnd = window.max(mss);
    }
}
