//! Options that say every constant.

use crate::config::{AckCounting, CongestionKind, EcnMode, Nagle, ReceiveBuffer, SendBufferSize};
use crate::options::{ConfigError, Counting, Options};
use wasp_units::Bytes;

impl Options {
    /// The same options with every constant said that an option can say.
    ///
    /// None is left where it would contradict another: the limits of a buffer that is fixed, whose CUBIC it is without CUBIC, the limit of
    /// bytes where they do not count. The option for ECN is left out where the endpoint agrees to it without asking.
    ///
    /// # Errors
    /// As [`Options::resolve`].
    pub fn complete(&self) -> Result<Self, ConfigError> {
        let config = self.resolve()?;
        let bytes = |count: u32| Some(Bytes::new(count.into()));
        let (receive_buffer, receive_buffer_max) = match config.receive_buffer {
            ReceiveBuffer::Fixed(size) => (bytes(size), None),
            ReceiveBuffer::Tuned { most } => (None, bytes(most)),
        };
        let (send_buffer, send_buffer_overhead, send_buffer_max) = match config.send_buffer {
            SendBufferSize::Fixed(size) => (bytes(size), None, None),
            SendBufferSize::Tuned { overhead, most } => (None, bytes(overhead), bytes(most)),
        };
        let ecn = match config.ecn {
            EcnMode::Off => Some(false),
            EcnMode::Agree => None,
            EcnMode::Ask => Some(true),
        };
        let (ack_counting, abc_limit) = match config.ack_counting {
            AckCounting::Acknowledgments => (Counting::Acks, None),
            AckCounting::Bytes { limit } => (Counting::Bytes, Some(limit)),
            AckCounting::Segments => (Counting::Segments, None),
        };
        let is_cubic = config.congestion == CongestionKind::Cubic;
        Ok(Self {
            preset: self.preset,
            mss: Some(config.mss),
            window_scaling: Some(config.window_scaling),
            sack: Some(config.sack),
            timestamps: Some(config.timestamps),
            ecn,
            path_mtu_discovery: Some(config.path_mtu_discovery),
            min_path_mtu: config.path_mtu_discovery.then_some(config.min_path_mtu),
            receive_buffer,
            receive_buffer_max,
            send_buffer,
            send_buffer_overhead,
            send_buffer_max,
            initial_window: Some(config.initial_window),
            recovery: Some(config.recovery.agreed(config.sack)),
            congestion: Some(config.congestion),
            cubic: is_cubic.then_some(config.cubic),
            hystart: Some(config.hystart),
            ack_counting: Some(ack_counting),
            abc_limit,
            initial_rto: Some(config.initial_rto),
            min_rto: Some(config.min_rto),
            max_rto: Some(config.max_rto),
            timer_granularity: Some(config.timer_granularity),
            timer_slack: Some(config.timer_slack),
            syn_linear_timeouts: Some(config.syn_linear_timeouts),
            syn_retries: Some(config.syn_retries),
            retries: Some(config.retries),
            delayed_ack: Some(config.delayed_ack),
            delayed_ack_sweep: Some(config.delayed_ack_sweep),
            quickack_segments: Some(config.quickack_segments),
            comp_sack_nr: Some(config.comp_sack_nr),
            limited_transmit: Some(config.limited_transmit),
            segmentation_offload: Some(config.segmentation_offload),
            idle_restart: Some(config.idle_restart),
            nagle: Some(config.nagle != Nagle::Off),
            duplicate_ack_threshold: Some(config.duplicate_ack_threshold),
            time_wait: Some(config.time_wait),
        })
    }
}
