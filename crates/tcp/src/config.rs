//! The constants of a TCP stack: presets, and each constant by itself.

use wasp_units::Duration;

/// How lost segments are found and repaired.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RecoveryKind {
    /// Fast retransmit and fast recovery of RFC 5681: the first new acknowledgment ends recovery.
    Reno,
    /// RFC 6582: partial acknowledgments keep recovery going, one hole a round trip.
    NewReno,
    /// RFC 6675: selective acknowledgments tell the holes and how much is in flight.
    Sack,
    /// RACK-TLP (RFC 8985): what was sent before something that has arrived is lost once a reordering window has passed,
    /// the end of a flight is probed; proportional rate reduction (RFC 9937).
    Rack,
}

impl RecoveryKind {
    /// What recovers a connection that agreed on selective acknowledgments or not.
    pub(crate) fn agreed(self, sack: bool) -> Self {
        match self {
            Self::Sack | Self::Rack if !sack => Self::NewReno,
            kind => kind,
        }
    }
}

/// What an endpoint does about explicit congestion notification (RFC 3168 section 6.1.1).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EcnMode {
    /// It neither asks for it nor agrees to it (Linux `tcp_ecn` = 0).
    Off,
    /// It agrees where a peer asks (Linux `tcp_ecn` = 2).
    Agree,
    /// It asks, and agrees (Linux `tcp_ecn` = 1).
    Ask,
}

/// How the congestion window grows and shrinks.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CongestionKind {
    /// Slow start and congestion avoidance of RFC 5681.
    Reno,
    /// CUBIC (RFC 9438): a cubic function of the time since the last loss.
    Cubic,
}

/// Whose CUBIC, and with it whose HyStart.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CubicKind {
    /// Linux's: Reno's region is slower above the window of the last loss, the growth after a timeout faster; with the HyStart
    /// of Ha and Rhee (2011).
    Linux,
    /// RFC 9438, with HyStart++ (RFC 9406).
    Rfc9438,
}

/// How the round-trip time is sampled and the retransmission timeout computed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RttEstimator {
    /// RFC 6298, a sample with each acknowledgment of new data that was sent once, in nanoseconds:
    /// `RTO = max(SRTT + max(G, 4 RTTVAR), minimum)`.
    Rfc6298,
    /// Linux (`tcp_rtt_estimator`): as RFC 6298, but the variance term itself is at least the minimum, so
    /// `RTO = SRTT + max(minimum, 4 RTTVAR)`, falls at most once a round trip, and ignores a sudden decrease.
    Linux,
    /// 4.4BSD (`tcp_xmit_timer`): one segment at a time, counted in ticks of the timer granularity.
    Bsd,
}

/// What makes the congestion window grow.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AckCounting {
    /// Each acknowledgment of new data counts once, however much it covers (RFC 5681 equation 3; BSD): a delayed
    /// acknowledgment slows growth.
    Acknowledgments,
    /// The bytes acknowledged count (appropriate byte counting, RFC 3465), in slow start at most `limit` segments of
    /// them per acknowledgment.
    Bytes {
        /// RFC 3465's L in segments.
        limit: u32,
    },
    /// The segments acknowledged count, without a limit (Linux `tcp_slow_start`, `tcp_cong_avoid_ai`).
    Segments,
}

/// What happens to the congestion window when sending resumes after an idle time longer than the RTO.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdleRestart {
    /// It stays.
    Keep,
    /// It falls to the restart window min(IW, cwnd) (RFC 5681 section 4.1).
    RestartWindow,
    /// It is halved for each RTO of idle time, not below the restart window, and ssthresh keeps three quarters of it
    /// (RFC 2861; Linux).
    Decay,
}

/// When a small segment is held back while data is outstanding.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Nagle {
    /// Never (`TCP_NODELAY`).
    Off,
    /// While anything is unacknowledged (RFC 896; BSD).
    Classic,
    /// While another small segment is unacknowledged (Minshall's modification; Linux).
    Minshall,
}

/// How large the send buffer is, bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SendBufferSize {
    /// So much at most is in flight; the application is always in time with more.
    Fixed(u32),
    /// As Linux's (`tcp_sndbuf_expand`): it grows with the congestion window, and the application fills it when the kernel says that a third
    /// is free.
    Tuned {
        /// Memory of a segment beside its payload and its `sk_buff` (`MAX_TCP_HEADER` and `skb_shared_info`).
        overhead: u32,
        /// The buffer at last (the maximum of `tcp_wmem`).
        most: u32,
    },
}

/// How large the receive buffer is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ReceiveBuffer {
    /// So many bytes, which are the largest window (BSD; `SO_RCVBUF`).
    Fixed(u32),
    /// As large as what the application reads asks for (Linux).
    Tuned {
        /// The most memory that it takes, bytes; segments take more of it than their payload (Linux `tcp_rmem`'s maximum).
        most: u32,
    },
}

impl ReceiveBuffer {
    /// The least shift that lets the window field express the largest window (RFC 7323 section 2), as Linux takes it from the memory
    /// (`tcp_select_initial_window`).
    pub(crate) fn scale(self) -> u8 {
        match self {
            Self::Fixed(bytes) => (0..14).find(|shift| bytes >> shift <= u32::from(u16::MAX)).unwrap_or(14),
            Self::Tuned { most } => (most.max(1).ilog2().saturating_sub(15) as u8).min(14),
        }
    }
}

/// How late timers are.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TimerSlack {
    /// Not at all.
    None,
    /// As on Linux's timer wheel: a wait ends at a common edge of all timers of the host, which lie the further apart the longer it is
    /// (with ticks of 4 ms: 4 ms up to 252 ms, 32 ms up to 2 s, 256 ms up to 16 s). The reordering timer, and that of a probe of more than
    /// one segment in flight, wait for two milliseconds more (`TCP_TIMEOUT_MIN_US`). Acknowledgments that are compressed have a timer of their own, which is not late.
    Wheel,
    /// Retransmission, persist, FIN-WAIT-2 and TIME-WAIT timers count whole ticks of a free-running clock, so that a timer of n ticks ends after n-1 to n of
    /// them (BSD `tcp_slowtimo`).
    Ticks,
}

/// When reading from a filling receive buffer is worth a window update.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WindowUpdate {
    /// When the window has grown by two segments or half the buffer (BSD `tcp_output`).
    TwoSegments,
    /// When the window has at least doubled (Linux `tcp_cleanup_rbuf`).
    Doubled,
}

/// Every constant of an endpoint. Many endpoints share one.
///
/// Made by [`crate::Options::resolve`], or from a preset by struct update; such a literal must keep what `resolve`
/// checks (`min_rto <= max_rto`, no zero `mss`, ...).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Config {
    // Segments and options
    /// Largest payload we accept in a segment and offer in the MSS option, bytes (RFC 9293 section 3.7.1): the MTU
    /// less 40.
    pub mss: u16,
    /// Payload per segment towards a peer that offers no MSS option, bytes (RFC 9293: 536).
    pub default_mss: u16,
    /// Offer window scaling (RFC 7323 section 2).
    pub window_scaling: bool,
    /// Offer selective acknowledgments (RFC 2018).
    pub sack: bool,
    /// Offer timestamps (RFC 7323 section 3).
    pub timestamps: bool,
    /// Time in which the timestamp clock advances by one.
    pub timestamp_step: Duration,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: EcnMode,
    /// Routers may not fragment our segments: these are shortened as the path asks for (RFC 1191). It is for the host's IP layer.
    pub path_mtu_discovery: bool,
    /// Segments are not shortened for a path that carries less than this, bytes: routers may fragment them. For the IP layer, too.
    pub min_path_mtu: u16,

    // Buffers
    /// Receive buffer.
    pub receive_buffer: ReceiveBuffer,
    /// Send buffer.
    pub send_buffer: SendBufferSize,

    // Congestion control and loss recovery
    /// Loss recovery; `Sack` falls back to `NewReno` when the peer offers no selective acknowledgments.
    pub recovery: RecoveryKind,
    /// Congestion control.
    pub congestion: CongestionKind,
    /// Whose CUBIC it is.
    pub cubic: CubicKind,
    /// Let a rising round-trip time end slow start before a loss does (HyStart); `cubic` only.
    pub hystart: bool,
    /// Initial window in segments (RFC 6928: 10).
    pub initial_window: u32,
    /// Initial slow-start threshold, bytes (RFC 5681: arbitrarily high).
    pub initial_ssthresh: u32,
    /// What makes the window grow.
    pub ack_counting: AckCounting,
    /// Grow the window only while it limits what is sent (RFC 7661; Linux `tcp_is_cwnd_limited`). A loss then reduces the window itself,
    /// and not the data in flight (Linux `tcp_reno_ssthresh`, `cubictcp_recalc_ssthresh`).
    pub congestion_window_validation: bool,
    /// 4.4BSD's arithmetic: a loss sets ssthresh to half of min(cwnd, send window) in whole segments, also on each
    /// repeated timeout, instead of half the flight size once (RFC 5681 equation 4).
    pub bsd_ssthresh: bool,
    /// 4.4BSD's Reno deflates the window after recovery only if more than three duplicates arrived.
    pub bsd_duplicate_quirk: bool,
    /// Duplicate acknowledgments that trigger fast retransmit (RFC 5681: 3).
    pub duplicate_ack_threshold: u32,
    /// Send a new segment on each of the first two duplicate acknowledgments (RFC 3042).
    pub limited_transmit: bool,
    /// The network device cuts frames of several segments up, and a frame that could be longer waits for the acknowledgments that follow
    /// at once (Linux `tcp_tso_should_defer`).
    pub segmentation_offload: bool,
    /// What an idle time does to the window.
    pub idle_restart: IdleRestart,
    /// Holding back small segments.
    pub nagle: Nagle,

    // Retransmission timer
    /// How the round-trip time is estimated.
    pub rtt_estimator: RttEstimator,
    /// RTO before the first sample (RFC 6298: 1 s; RFC 2988: 3 s).
    pub initial_rto: Duration,
    /// RTO after a handshake that needed a retransmission and gave no sample (RFC 6298 rule 5.7: 3 s).
    pub fallback_rto: Duration,
    /// Least RTO.
    pub min_rto: Duration,
    /// Greatest RTO, backed off or not.
    pub max_rto: Duration,
    /// Clock granularity G (RFC 6298), and what the timeout is rounded up to: a tick of the host's clock (Linux: 4 ms at HZ = 250).
    pub timer_granularity: Duration,
    /// How late timers are.
    pub timer_slack: TimerSlack,
    /// SYN retransmissions at the initial interval before doubling begins (Linux `tcp_syn_linear_timeouts`).
    pub syn_linear_timeouts: u32,
    /// SYN retransmissions before giving up, beside those at the initial interval (Linux `tcp_syn_retries`).
    pub syn_retries: u32,
    /// SYN-ACK retransmissions before giving up (Linux `tcp_synack_retries`).
    pub syn_ack_retries: u32,
    /// Retransmissions of one segment, or unanswered window probes, before giving up (Linux `tcp_retries2`).
    pub retries: u32,
    /// Least interval between zero-window probes.
    pub min_persist: Duration,
    /// Greatest interval between zero-window probes.
    pub max_persist: Duration,

    // Acknowledgments
    /// How long an acknowledgment may wait; zero acknowledges every segment.
    pub delayed_ack: Duration,
    /// Delayed acknowledgments leave at the next tick of a free-running clock of that period (BSD `tcp_fasttimo`).
    pub delayed_ack_sweep: bool,
    /// Most data segments in a row acknowledged at once, at the start of a connection, after duplicates and after idle times, where
    /// the application does not answer them (Linux quick acknowledgments, `TCP_MAX_QUICKACKS`); zero also leaves out the
    /// acknowledgments that reading gives rise to (`tcp_cleanup_rbuf`), and takes no full segment for smaller than the largest.
    pub quickack_segments: u32,
    /// Acknowledgments of data above a gap that may be left out in a row, behind the first three, where there are selective
    /// acknowledgments (Linux `tcp_comp_sack_nr`); zero sends each.
    pub comp_sack_nr: u32,
    /// How long they may be held back (Linux `tcp_comp_sack_delay_ns`, and not beyond a twentieth of the round trip), and what the
    /// timer may take on top (`tcp_comp_sack_slack_ns`).
    pub comp_sack_delay: Duration,
    /// See `comp_sack_delay`.
    pub comp_sack_slack: Duration,
    /// What makes a window update.
    pub window_update: WindowUpdate,
    /// Least time between two answers to unacceptable segments or repeated SYNs (RFC 5961 section 5; Linux
    /// `tcp_invalid_ratelimit`).
    pub challenge_ack_interval: Duration,

    // Closing
    /// Length of TIME-WAIT (RFC 9293: 2 MSL).
    pub time_wait: Duration,
    /// Longest wait in FIN-WAIT-2 without hearing anything (Linux `tcp_fin_timeout`).
    pub fin_wait_2: Duration,
}

impl Config {
    /// Linux as of today.
    ///
    /// The window counts the segments acknowledged, not the acknowledgments, because that is what Linux does.
    #[must_use]
    pub fn linux() -> Self {
        Self {
            mss: 1_460,
            default_mss: 536,
            window_scaling: true,
            sack: true,
            timestamps: true,
            timestamp_step: Duration::from_millis(1),
            ecn: EcnMode::Agree,
            path_mtu_discovery: true,
            min_path_mtu: 552,
            receive_buffer: ReceiveBuffer::Tuned { most: 32 << 20 },
            // Debian's kernels: twice 320 bytes; 87,040 bytes at first. The default maximum of `tcp_wmem`.
            send_buffer: SendBufferSize::Tuned { overhead: 640, most: 4 << 20 },
            recovery: RecoveryKind::Rack,
            congestion: CongestionKind::Cubic,
            cubic: CubicKind::Linux,
            hystart: true,
            initial_window: 10,
            initial_ssthresh: u32::MAX,
            ack_counting: AckCounting::Segments,
            congestion_window_validation: true,
            bsd_ssthresh: false,
            bsd_duplicate_quirk: false,
            duplicate_ack_threshold: 3,
            limited_transmit: true,
            segmentation_offload: true,
            idle_restart: IdleRestart::Decay,
            nagle: Nagle::Minshall,
            rtt_estimator: RttEstimator::Linux,
            initial_rto: Duration::from_secs(1),
            fallback_rto: Duration::from_secs(3),
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(120),
            timer_granularity: Duration::from_millis(4),
            timer_slack: TimerSlack::Wheel,
            syn_linear_timeouts: 4,
            syn_retries: 6,
            syn_ack_retries: 5,
            retries: 15,
            min_persist: Duration::from_millis(200),
            max_persist: Duration::from_secs(120),
            delayed_ack: Duration::from_millis(40),
            delayed_ack_sweep: false,
            quickack_segments: 16,
            comp_sack_nr: 44,
            comp_sack_delay: Duration::from_millis(1),
            comp_sack_slack: Duration::from_micros(100),
            window_update: WindowUpdate::Doubled,
            challenge_ack_interval: Duration::from_millis(500),
            time_wait: Duration::from_secs(60),
            fin_wait_2: Duration::from_secs(60),
        }
    }

    /// A 4.4BSD descendant of 1999 (FreeBSD 3, AIX 4.3) with an initial window of one segment and a first RTO of 3 s.
    #[must_use]
    pub fn bsd1999() -> Self {
        Self {
            window_scaling: false,
            sack: false,
            timestamps: false,
            timestamp_step: Duration::from_millis(500),
            ecn: EcnMode::Off,
            // FreeBSD 3's `icmp_input`.
            min_path_mtu: 296,
            // 16 KiB, rounded up to whole segments (`tcp_mss`).
            receive_buffer: ReceiveBuffer::Fixed(12 * 1_460),
            send_buffer: SendBufferSize::Fixed(12 * 1_460),
            recovery: RecoveryKind::Reno,
            congestion: CongestionKind::Reno,
            hystart: false,
            initial_window: 1,
            ack_counting: AckCounting::Acknowledgments,
            congestion_window_validation: false,
            bsd_ssthresh: true,
            bsd_duplicate_quirk: true,
            limited_transmit: false,
            segmentation_offload: false,
            idle_restart: IdleRestart::RestartWindow,
            nagle: Nagle::Classic,
            rtt_estimator: RttEstimator::Bsd,
            initial_rto: Duration::from_secs(3),
            min_rto: Duration::from_secs(1),
            max_rto: Duration::from_secs(64),
            timer_granularity: Duration::from_millis(500),
            timer_slack: TimerSlack::Ticks,
            syn_linear_timeouts: 0,
            syn_retries: 4,
            syn_ack_retries: 4,
            retries: 12,
            min_persist: Duration::from_secs(5),
            max_persist: Duration::from_secs(60),
            delayed_ack: Duration::from_millis(200),
            delayed_ack_sweep: true,
            quickack_segments: 0,
            comp_sack_nr: 0,
            window_update: WindowUpdate::TwoSegments,
            fin_wait_2: Duration::from_secs(675),
            ..Self::linux()
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::linux()
    }
}
