//! Congestion control: how the window grows with acknowledgments and shrinks with losses.
//!
//! An algorithm is told of events, each with the time, and owns the window and the slow-start threshold. What is lost, and
//! when a lost segment may be sent again, is the business of [`crate::recovery`]; its inflation of the window during fast
//! recovery never enters here.

mod cubic;
mod hystart;
mod linux_cubic;
mod linux_hystart;
mod reno;

use crate::config::{AckCounting, Config, CongestionKind, CubicKind, IdleRestart};
use crate::rto::Rto;
use wasp_units::{Duration, Instant};
use wasp_wire::SequenceNumber;

/// New data was acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckEvent<'a> {
    /// Bytes that were not known before to have arrived.
    pub(crate) bytes: u32,
    /// The same in segments, at least one.
    pub(crate) segments: u32,
    /// SND.UNA and SND.NXT, after the acknowledgment.
    pub(crate) una: SequenceNumber,
    pub(crate) next: SequenceNumber,
    /// How long the earliest of these segments took, if all were sent once.
    pub(crate) rtt: Option<Duration>,
    /// The round-trip time's estimate.
    pub(crate) rto: &'a Rto,
}

/// Segments that were sent once are known to have arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RttEvent {
    /// How long the one sent last took.
    pub(crate) rtt: Duration,
    /// SND.UNA and SND.NXT, after the acknowledgment.
    pub(crate) una: SequenceNumber,
    pub(crate) next: SequenceNumber,
}

/// Data was found lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LossEvent {
    /// SND.NXT.
    pub(crate) next: SequenceNumber,
    /// FlightSize (RFC 5681): bytes sent and not acknowledged, without those sent by limited transmit.
    pub(crate) flight: u32,
    /// The peer's window in bytes.
    pub(crate) send_window: u32,
}

/// What an algorithm answers to, each event at its time `now`. `mss` is the sender's segment size in bytes.
trait Algorithm {
    fn on_ack(&mut self, window: &mut Window, config: &Config, mss: u32, now: Instant, event: AckEvent<'_>);
    /// Sets the slow-start threshold.
    fn on_loss(&mut self, window: &mut Window, config: &Config, mss: u32, now: Instant, event: LossEvent);
    /// The window falls to a segment, whether or not the threshold has just been set.
    fn on_timeout(&mut self, _now: Instant, _event: LossEvent) {}
}

/// The state every algorithm shares, in bytes.
#[derive(Debug)]
struct Window {
    /// Congestion window.
    cwnd: u32,
    /// Slow-start threshold.
    ssthresh: u32,
    /// Slow start follows a timeout.
    after_timeout: bool,
}

impl Window {
    /// The bytes for which an acknowledgment counts.
    #[inline]
    fn counted(&self, config: &Config, mss: u32, event: &AckEvent<'_>) -> u32 {
        match config.ack_counting {
            AckCounting::Acknowledgments => event.bytes.min(mss),
            AckCounting::Segments => event.segments.saturating_mul(mss),
            AckCounting::Bytes { limit } if self.cwnd < self.ssthresh => {
                // RFC 3465 section 2.3: after a timeout the acknowledgments say less of what has left the network.
                let limit = if self.after_timeout { 1 } else { limit };
                event.bytes.min(limit.saturating_mul(mss))
            }
            AckCounting::Bytes { .. } => event.bytes,
        }
    }

    /// Slow start grows the window by `bytes`, as far as the threshold, below which it must be. Returns what goes beyond it.
    #[inline]
    fn slow_start(&mut self, bytes: u32) -> u32 {
        debug_assert!(self.cwnd < self.ssthresh, "in slow start");
        let growth = bytes.min(self.ssthresh - self.cwnd);
        self.cwnd = self.cwnd.saturating_add(growth);
        bytes - growth
    }
}

#[derive(Debug)]
enum Kind {
    Reno(reno::Reno),
    Cubic(Box<cubic::Cubic>),
    LinuxCubic(Box<linux_cubic::LinuxCubic>),
}

impl Kind {
    fn algorithm(&mut self) -> &mut dyn Algorithm {
        match self {
            Self::Reno(reno) => reno,
            Self::Cubic(cubic) => &mut **cubic,
            Self::LinuxCubic(cubic) => &mut **cubic,
        }
    }
}

/// The congestion control of one connection.
#[derive(Debug)]
pub(crate) struct Congestion {
    window: Window,
    kind: Kind,
}

/// What congestion control was before a reduction that may turn out to be needless.
#[derive(Debug)]
pub(crate) struct Snapshot {
    cwnd: u32,
    ssthresh: u32,
    cubic: Option<cubic::Cubic>,
}

impl Congestion {
    /// A connection of segments of `mss` bytes that begins with `segments` of them.
    pub(crate) fn new(config: &Config, mss: u32, segments: u32) -> Self {
        let cwnd = segments.saturating_mul(mss);
        let window = Window { cwnd, ssthresh: config.initial_ssthresh, after_timeout: false };
        let kind = match config.congestion {
            CongestionKind::Reno => Kind::Reno(reno::Reno::default()),
            CongestionKind::Cubic => match config.cubic {
                CubicKind::Linux => Kind::LinuxCubic(Box::new(linux_cubic::LinuxCubic::new(config))),
                CubicKind::Rfc9438 => Kind::Cubic(Box::new(cubic::Cubic::new(config))),
            },
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

    /// Segments that were sent once have arrived, in fast recovery or not.
    #[inline]
    pub(crate) fn on_rtt(&mut self, mss: u32, now: Instant, event: RttEvent) {
        if let Kind::LinuxCubic(cubic) = &mut self.kind {
            cubic.on_rtt(&mut self.window, mss, now, event);
        }
    }

    /// New data was acknowledged outside fast recovery, and the window was in use.
    pub(crate) fn on_ack(&mut self, config: &Config, mss: u32, now: Instant, event: AckEvent<'_>) {
        match &mut self.kind {
            Kind::Reno(reno) => reno.on_ack(&mut self.window, config, mss, now, event),
            Kind::Cubic(cubic) => cubic.on_ack(&mut self.window, config, mss, now, event),
            Kind::LinuxCubic(cubic) => cubic.on_ack(&mut self.window, config, mss, now, event),
        }
        self.window.after_timeout &= self.in_slow_start();
    }

    /// Fast recovery begins: threshold and window fall.
    pub(crate) fn on_fast_retransmit(&mut self, config: &Config, mss: u32, now: Instant, event: LossEvent) {
        self.kind.algorithm().on_loss(&mut self.window, config, mss, now, event);
        self.window.cwnd = self.window.ssthresh;
        self.window.after_timeout = false;
    }

    /// The retransmission timer expired: the window falls to one segment (RFC 5681 section 3.1), and if it `lowers` the threshold, that
    /// falls as for a loss.
    pub(crate) fn on_timeout(
        &mut self,
        config: &Config,
        mss: u32,
        now: Instant,
        event: LossEvent,
        lowers: bool,
    ) {
        if lowers {
            self.kind.algorithm().on_loss(&mut self.window, config, mss, now, event);
        }
        self.kind.algorithm().on_timeout(now, event);
        self.window.cwnd = mss;
        self.window.after_timeout = true;
    }

    /// The peer echoes a mark: the threshold falls as for a loss, from the congestion window (RFC 3168 section 6.1.2; Linux
    /// `tcp_enter_cwr`), and the caller lets the window follow. RFC 8511 allows to fall less; Linux does not.
    pub(crate) fn on_mark(&mut self, config: &Config, mss: u32, now: Instant, event: LossEvent) {
        let event = LossEvent { flight: self.window.cwnd, ..event };
        self.kind.algorithm().on_loss(&mut self.window, config, mss, now, event);
        self.window.after_timeout = false;
    }

    /// The window falls to the threshold, which is two segments at least, where it is above. RFC 3168 would let a window of two segments
    /// fall to one, and one of a single segment wait for the retransmission timer; Linux does neither.
    pub(crate) fn fall_to_threshold(&mut self) {
        self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
    }

    /// Segments hold `to` bytes in the place of `from`, which is more. The window and the threshold keep their number of segments, which is what
    /// Linux counts. What has been acknowledged and has not yet grown the window is scaled with it.
    pub(crate) fn shorten_segments(&mut self, from: u32, to: u32) {
        let scale = |bytes: u32| (u64::from(bytes) * u64::from(to) / u64::from(from)) as u32;
        self.window.cwnd = scale(self.window.cwnd);
        if self.window.ssthresh != u32::MAX {
            self.window.ssthresh = scale(self.window.ssthresh);
        }
        match &mut self.kind {
            Kind::Reno(reno) => reno.acknowledged = scale(reno.acknowledged),
            Kind::LinuxCubic(cubic) => cubic.rest = scale(cubic.rest),
            Kind::Cubic(_) => {}
        }
    }

    /// The present state, for [`Self::restore`].
    pub(crate) fn snapshot(&self) -> Snapshot {
        let cubic = match &self.kind {
            // Linux takes back no more than the window and the threshold.
            Kind::Reno(_) | Kind::LinuxCubic(_) => None,
            Kind::Cubic(cubic) => Some((**cubic).clone()),
        };
        Snapshot { cwnd: self.window.cwnd, ssthresh: self.window.ssthresh, cubic }
    }

    /// The reductions since `prior` were needless (RFC 4015 section 3.2; RFC 9438 section 4.9; Linux `tcp_undo_cwnd_reduction`).
    pub(crate) fn restore(&mut self, prior: Snapshot) {
        let window = &mut self.window;
        window.cwnd = window.cwnd.max(prior.cwnd);
        window.ssthresh = window.ssthresh.max(prior.ssthresh);
        window.after_timeout = false;
        if let (Kind::Cubic(cubic), Some(before)) = (&mut self.kind, prior.cubic) {
            **cubic = before;
        }
    }

    /// Data leaves at `now`, after `idle` with nothing in flight.
    #[inline]
    pub(crate) fn on_resume(&mut self, now: Instant, idle: Duration) {
        match &mut self.kind {
            Kind::Reno(_) => {}
            Kind::Cubic(cubic) => cubic.on_resume(now, idle),
            Kind::LinuxCubic(cubic) => cubic.on_resume(now, idle),
        }
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
