//! The options of a scenario file: a preset and what departs from it, checked.

use crate::config::{
    AckCounting, Config, CongestionKind, CubicKind, EcnMode, IdleRestart, Nagle, ReceiveBuffer, RecoveryKind,
    SendBufferSize, TimerSlack,
};
use crate::sender::{HEADERS_LEN, MIN_SEND_MSS};
use wasp_units::{Bytes, Duration};

/// A named set of constants.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// [`Config::linux`].
    #[default]
    Linux,
    /// [`Config::bsd1999`].
    Bsd1999,
}

/// What makes the congestion window grow: [`AckCounting`] by name.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Counting {
    /// Acknowledgments.
    Acks,
    /// Bytes (RFC 3465).
    Bytes,
    /// Segments.
    Segments,
}

/// A preset and the constants that override it; an absent field is the preset's.
#[derive(Clone, Debug, Default, Eq, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Where the other constants come from.
    pub preset: Preset,
    /// Maximum segment size, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mss: Option<u16>,
    /// Offer window scaling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_scaling: Option<bool>,
    /// Offer selective acknowledgments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sack: Option<bool>,
    /// Offer timestamps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamps: Option<bool>,
    /// Ask for explicit congestion notification (ECN) and agree to it, or do neither. An endpoint of which nothing is said agrees where
    /// the preset does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// Forbid routers to fragment segments, and shorten these as the path asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_mtu_discovery: Option<bool>,
    /// The least that segments are shortened for, bytes with all headers; beside path MTU discovery only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_path_mtu: Option<u16>,
    /// Receive buffer, fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<Bytes>,
    /// The most that a receive buffer takes that sizes itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_buffer_max: Option<Bytes>,
    /// Send buffer, fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_buffer: Option<Bytes>,
    /// Memory of a segment beside its payload, in a send buffer that sizes itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_buffer_overhead: Option<Bytes>,
    /// The most that such a buffer takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_buffer_max: Option<Bytes>,
    /// Initial window, segments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<u32>,
    /// Loss recovery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryKind>,
    /// Congestion control.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<CongestionKind>,
    /// Whose CUBIC it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cubic: Option<CubicKind>,
    /// Whether HyStart may end slow start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hystart: Option<bool>,
    /// What makes the congestion window grow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_counting: Option<Counting>,
    /// RFC 3465's L, segments; beside `ack_counting = "bytes"` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abc_limit: Option<u32>,
    /// RTO before the first sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_rto: Option<Duration>,
    /// Least RTO.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rto: Option<Duration>,
    /// Greatest RTO.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rto: Option<Duration>,
    /// A tick of the host's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer_granularity: Option<Duration>,
    /// How late timers are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer_slack: Option<TimerSlack>,
    /// SYN retransmissions before doubling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub syn_linear_timeouts: Option<u32>,
    /// SYN retransmissions before giving up, beside `syn_linear_timeouts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub syn_retries: Option<u32>,
    /// Retransmissions of a segment before giving up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// Delay of acknowledgments; `0ms` acknowledges every segment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delayed_ack: Option<Duration>,
    /// Acknowledge at the ticks of a global timer instead of one timer a connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delayed_ack_sweep: Option<bool>,
    /// Most segments in a row acknowledged at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quickack_segments: Option<u32>,
    /// Most selective acknowledgments in a row held back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comp_sack_nr: Option<u32>,
    /// Limited transmit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited_transmit: Option<bool>,
    /// Frames of several segments, and the wait for fuller ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segmentation_offload: Option<bool>,
    /// What an idle time does to the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_restart: Option<IdleRestart>,
    /// Hold back small segments; off is `TCP_NODELAY`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nagle: Option<bool>,
    /// Duplicate acknowledgments that trigger fast retransmit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate_ack_threshold: Option<u32>,
    /// Length of TIME-WAIT.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_wait: Option<Duration>,
}

/// Why a set of options is no stack.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{field}: {value}: expected {expected}")]
pub struct ConfigError {
    /// The field at fault.
    pub field: &'static str,
    /// Its value.
    pub value: String,
    /// What would be valid.
    pub expected: String,
}

const MIN_MSS: u16 = 64;
/// The least packet that TCP makes where the path asks for shorter ones: Linux, which lets it be 68, loses all longer ones on such a path.
const LEAST_PATH_MTU: u16 = MIN_SEND_MSS + HEADERS_LEN;
/// RFC 3465 section 2.2.
const DEFAULT_ABC_LIMIT: u32 = 2;
/// The largest IPv4 packet less two headers.
const MAX_MSS: u16 = 65_495;
/// The largest window that a scale of 14 expresses (RFC 7323 section 2.3), rounded down.
const MAX_BUFFER: u64 = 1 << 30;
const MAX_COUNT: u32 = 255;
const MAX_INITIAL_WINDOW: u32 = 65_535;
const LONGEST_RTO: Duration = Duration::from_secs(3_600);
/// RFC 1122 section 4.2.3.2.
const MAX_DELAYED_ACK: Duration = Duration::from_millis(500);
const MAX_GRANULARITY: Duration = Duration::from_secs(1);
const MAX_OVERHEAD: u64 = 4_096;
const MAX_TIME_WAIT: Duration = Duration::from_secs(3_600);

impl Options {
    /// The constants, or the first field that is out of range or contradicts another.
    ///
    /// `recovery = "sack"` or `"rack"` switches `sack` on; with `sack = false` the preset's `rack` recovers as
    /// `newreno`; both together contradict each other.
    pub fn resolve(&self) -> Result<Config, ConfigError> {
        let mut config = match self.preset {
            Preset::Linux => Config::linux(),
            Preset::Bsd1999 => Config::bsd1999(),
        };
        self.segments(&mut config)?;
        self.variants(&mut config)?;
        self.retransmission(&mut config)?;
        self.acknowledgments(&mut config)?;
        Ok(config)
    }

    fn segments(&self, config: &mut Config) -> Result<(), ConfigError> {
        set("mss", &mut config.mss, self.mss, MIN_MSS, MAX_MSS)?;
        config.window_scaling = self.window_scaling.unwrap_or(config.window_scaling);
        config.timestamps = self.timestamps.unwrap_or(config.timestamps);
        config.ecn = match self.ecn {
            Some(true) => EcnMode::Ask,
            Some(false) => EcnMode::Off,
            None => config.ecn,
        };
        self.path(config)?;
        self.receive_buffer(config)?;
        self.send_buffer(config)?;
        set("initial_window", &mut config.initial_window, self.initial_window, 1, MAX_INITIAL_WINDOW)?;
        set("time_wait", &mut config.time_wait, self.time_wait, Duration::ZERO, MAX_TIME_WAIT)
    }

    fn path(&self, config: &mut Config) -> Result<(), ConfigError> {
        config.path_mtu_discovery = self.path_mtu_discovery.unwrap_or(config.path_mtu_discovery);
        if let (Some(least), false) = (self.min_path_mtu, config.path_mtu_discovery) {
            let expected = "none beside path_mtu_discovery = false";
            return Err(error("min_path_mtu", &least.to_string(), expected));
        }
        set("min_path_mtu", &mut config.min_path_mtu, self.min_path_mtu, LEAST_PATH_MTU, u16::MAX)
    }

    fn receive_buffer(&self, config: &mut Config) -> Result<(), ConfigError> {
        if let Some(fixed) = self.receive_buffer {
            if let Some(most) = self.receive_buffer_max {
                let expected = "none beside receive_buffer, which is fixed";
                return Err(error("receive_buffer_max", &most.to_string(), expected));
            }
            let mut bytes = 0;
            set_buffer("receive_buffer", &mut bytes, Some(fixed))?;
            config.receive_buffer = ReceiveBuffer::Fixed(bytes);
        }
        match (self.receive_buffer_max, &mut config.receive_buffer) {
            (Some(_), ReceiveBuffer::Tuned { most }) => {
                set_buffer("receive_buffer_max", most, self.receive_buffer_max)
            }
            (Some(most), ReceiveBuffer::Fixed(_)) => {
                let expected = "receive_buffer in its place: the preset's buffer is fixed";
                Err(error("receive_buffer_max", &most.to_string(), expected))
            }
            (None, _) => Ok(()),
        }
    }

    fn send_buffer(&self, config: &mut Config) -> Result<(), ConfigError> {
        let tuned =
            [("send_buffer_overhead", self.send_buffer_overhead), ("send_buffer_max", self.send_buffer_max)];
        let none_of_them = |expected: &str| {
            let found = tuned.iter().find_map(|&(name, value)| Some((name, value?)));
            found.map_or(Ok(()), |(name, value)| Err(error(name, &value.to_string(), expected)))
        };
        if let Some(fixed) = self.send_buffer {
            none_of_them("none beside send_buffer, which is fixed")?;
            let mut bytes = 0;
            set_buffer("send_buffer", &mut bytes, Some(fixed))?;
            config.send_buffer = SendBufferSize::Fixed(bytes);
        }
        match &mut config.send_buffer {
            SendBufferSize::Tuned { overhead, most } => {
                set_bytes("send_buffer_overhead", overhead, self.send_buffer_overhead, MAX_OVERHEAD)?;
                set_buffer("send_buffer_max", most, self.send_buffer_max)
            }
            SendBufferSize::Fixed(_) => {
                none_of_them("send_buffer in its place: the preset's buffer is fixed")
            }
        }
    }

    fn variants(&self, config: &mut Config) -> Result<(), ConfigError> {
        self.growth(config)?;
        config.recovery = self.recovery.unwrap_or(config.recovery);
        let name = match config.recovery {
            RecoveryKind::Reno | RecoveryKind::NewReno => None,
            RecoveryKind::Sack => Some("sack"),
            RecoveryKind::Rack => Some("rack"),
        };
        config.sack = self.sack.unwrap_or(config.sack || name.is_some());
        if let Some(name) = name
            && !config.sack
            && self.recovery.is_some()
        {
            return Err(error("recovery", name, "sack = true beside it, or recovery reno or newreno"));
        }
        config.limited_transmit = self.limited_transmit.unwrap_or(config.limited_transmit);
        config.segmentation_offload = self.segmentation_offload.unwrap_or(config.segmentation_offload);
        config.idle_restart = self.idle_restart.unwrap_or(config.idle_restart);
        if self.nagle == Some(false) {
            config.nagle = Nagle::Off;
        }
        let threshold = &mut config.duplicate_ack_threshold;
        set("duplicate_ack_threshold", threshold, self.duplicate_ack_threshold, 1, MAX_COUNT)
    }

    fn growth(&self, config: &mut Config) -> Result<(), ConfigError> {
        config.congestion = self.congestion.unwrap_or(config.congestion);
        let cubic = config.congestion == CongestionKind::Cubic;
        if let Some(kind) = self.cubic
            && !cubic
        {
            let name = match kind {
                CubicKind::Linux => "linux",
                CubicKind::Rfc9438 => "rfc9438",
            };
            return Err(error("cubic", name, "congestion = cubic beside it, or no such option"));
        }
        config.cubic = self.cubic.unwrap_or(config.cubic);
        if self.hystart == Some(true) && !cubic {
            return Err(error("hystart", "true", "congestion = cubic beside it, or false"));
        }
        config.hystart = cubic && self.hystart.unwrap_or(config.hystart);
        // Half the lesser window in whole segments is Reno's arithmetic, as BSD has it.
        config.bsd_ssthresh &= !cubic;
        let mut limit = DEFAULT_ABC_LIMIT;
        set("abc_limit", &mut limit, self.abc_limit, 1, MAX_COUNT)?;
        match self.ack_counting {
            None => {}
            Some(Counting::Acks) => config.ack_counting = AckCounting::Acknowledgments,
            Some(Counting::Bytes) => config.ack_counting = AckCounting::Bytes { limit },
            Some(Counting::Segments) => config.ack_counting = AckCounting::Segments,
        }
        match self.abc_limit {
            Some(value) if self.ack_counting != Some(Counting::Bytes) => {
                Err(error("abc_limit", &value.to_string(), "ack_counting = bytes beside it, or none"))
            }
            _ => Ok(()),
        }
    }

    fn retransmission(&self, config: &mut Config) -> Result<(), ConfigError> {
        let tick = Duration::from_nanos(1);
        set("initial_rto", &mut config.initial_rto, self.initial_rto, tick, LONGEST_RTO)?;
        set("min_rto", &mut config.min_rto, self.min_rto, tick, LONGEST_RTO)?;
        set("max_rto", &mut config.max_rto, self.max_rto, tick, LONGEST_RTO)?;
        set(
            "timer_granularity",
            &mut config.timer_granularity,
            self.timer_granularity,
            Duration::from_micros(1),
            MAX_GRANULARITY,
        )?;
        config.timer_slack = self.timer_slack.unwrap_or(config.timer_slack);
        if config.min_rto > config.max_rto {
            let expected = format!("at most max_rto ({})", config.max_rto);
            return Err(error("min_rto", &config.min_rto.to_string(), &expected));
        }
        if config.initial_rto > config.max_rto {
            let expected = format!("at most max_rto ({})", config.max_rto);
            return Err(error("initial_rto", &config.initial_rto.to_string(), &expected));
        }
        config.max_persist = config.max_persist.min(config.max_rto);
        config.min_persist = config.min_persist.min(config.max_persist);
        set("syn_linear_timeouts", &mut config.syn_linear_timeouts, self.syn_linear_timeouts, 0, MAX_COUNT)?;
        set("syn_retries", &mut config.syn_retries, self.syn_retries, 0, MAX_COUNT)?;
        set("retries", &mut config.retries, self.retries, 0, MAX_COUNT)
    }

    fn acknowledgments(&self, config: &mut Config) -> Result<(), ConfigError> {
        set("delayed_ack", &mut config.delayed_ack, self.delayed_ack, Duration::ZERO, MAX_DELAYED_ACK)?;
        if self.delayed_ack_sweep == Some(true) && config.delayed_ack.is_zero() {
            return Err(error("delayed_ack_sweep", "true", "false when delayed_ack is 0ms"));
        }
        let sweeps = config.delayed_ack_sweep && !config.delayed_ack.is_zero();
        config.delayed_ack_sweep = self.delayed_ack_sweep.unwrap_or(sweeps);
        set("quickack_segments", &mut config.quickack_segments, self.quickack_segments, 0, 65_535)?;
        set("comp_sack_nr", &mut config.comp_sack_nr, self.comp_sack_nr, 0, MAX_COUNT)
    }
}

fn error(field: &'static str, value: &str, expected: &str) -> ConfigError {
    ConfigError { field, value: value.to_owned(), expected: expected.to_owned() }
}

fn set<T: Copy + PartialOrd + std::fmt::Display>(
    field: &'static str,
    slot: &mut T,
    value: Option<T>,
    least: T,
    most: T,
) -> Result<(), ConfigError> {
    let Some(value) = value else { return Ok(()) };
    if value < least || value > most {
        return Err(error(field, &value.to_string(), &format!("{least} to {most}")));
    }
    *slot = value;
    Ok(())
}

fn set_buffer(field: &'static str, slot: &mut u32, value: Option<Bytes>) -> Result<(), ConfigError> {
    set_bytes(field, slot, value, MAX_BUFFER)
}

fn set_bytes(
    field: &'static str,
    slot: &mut u32,
    value: Option<Bytes>,
    most: u64,
) -> Result<(), ConfigError> {
    let mut wide = u64::from(*slot);
    match set(field, &mut wide, value.map(Bytes::get), 1, most) {
        Ok(()) => *slot = wide as u32,
        Err(_) => {
            let value = value.unwrap_or_default().to_string();
            return Err(error(field, &value, &format!("1B to {}", Bytes::new(most))));
        }
    }
    Ok(())
}
