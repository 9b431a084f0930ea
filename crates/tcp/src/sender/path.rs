//! The MTU of the path, which limits segments (RFC 1191 section 6).

use super::{Probe, Sender};
use crate::config::Config;

/// Length of the IPv4 and the TCP header without options.
pub(crate) const HEADERS_LEN: u16 = 40;
/// Length of the timestamps option with its padding.
pub(crate) const TIMESTAMPS_LEN: u16 = 12;
/// Neither an MSS option nor a path makes segments, options counted, shorter than this (Linux `tcp_min_snd_mss`).
pub(crate) const MIN_SEND_MSS: u16 = 48;

/// No path makes an MSS option smaller than this (Linux `min_adv_mss`).
const MIN_ADVERTISED_MSS: u16 = 256;

impl Sender {
    /// The MSS that our SYN offers: the peer is likely to send over the same links (Linux `ipv4_default_advmss`).
    pub(crate) fn offered_mss(&self, config: &Config) -> u16 {
        let by_path = self.path_mtu.saturating_sub(HEADERS_LEN).max(MIN_ADVERTISED_MSS);
        config.mss.min(by_path)
    }

    /// Payload of a full segment, bytes: what we, the peer and the path take, less the timestamps where they are used. The MSS option counts no
    /// options, so that each segment subtracts its own (RFC 6691).
    pub(crate) fn full_segment(&self, config: &Config, timestamps: bool) -> u16 {
        let by_path = self.path_mtu.saturating_sub(HEADERS_LEN);
        let mss = self.peer_mss.min(config.mss).min(by_path).max(MIN_SEND_MSS);
        if timestamps { mss - TIMESTAMPS_LEN } else { mss }
    }

    /// Segments hold `mss` bytes from now on, which is no more than so far.
    pub(crate) fn shorten_segments(&mut self, config: &Config, mss: u16) {
        let before = std::mem::replace(&mut self.mss, mss);
        if before != mss {
            let (from, to) = (u32::from(before), u32::from(mss));
            self.congestion.shorten_segments(from, to);
            self.recovery.shorten_segments(from, to);
            self.grow_memory_limit(config);
        }
    }

    /// Segments in flight with more than `most` bytes were too long for the path: they are cut, and lost. Returns whether there were any.
    pub(crate) fn cut_segments(&mut self, most: u32) -> bool {
        let any = self.scoreboard.cut(most);
        if any {
            self.recovery.on_cut(&mut self.congestion, self.next);
            self.rto.stop_timing();
            self.probe = Probe::None;
        }
        self.check();
        any
    }
}
