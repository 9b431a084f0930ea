//! Frames of several segments, which a network device cuts up (segmentation offload, TSO), and the wait for a fuller one.

use super::{Now, Sender};
use wasp_units::Duration;

/// A frame leaves, however short, where this part of the window is free (Linux `tcp_tso_win_divisor`).
const WINDOW_DIVISOR: u32 = 3;
/// A frame waits where the last segment left no longer ago than this, and the next acknowledgment is no further off.
const SHORT: Duration = Duration::from_millis(1);
/// Most bytes of a frame (Linux `sk_dst_gso_max_size`: 64 KiB less `MAX_TCP_HEADER`, 320 in Debian's kernels, and one).
pub(super) const LARGEST_FRAME: u32 = 65_536 - 321;

impl Sender {
    /// Whether new data leave now, where the congestion window has room for `free` bytes. A frame that could be longer waits for the
    /// acknowledgments that follow at once (Linux `tcp_tso_should_defer`); one that has begun does not.
    #[inline]
    pub(super) fn frame_leaves(&mut self, now: &Now<'_>, free: u32) -> bool {
        // A segment alone at the end is for Nagle's algorithm to judge.
        let alone = self.buffer.unsent() <= u64::from(self.mss);
        self.frame > 0 || alone || !now.config.segmentation_offload || self.begin_frame(now, free)
    }

    fn begin_frame(&mut self, now: &Now<'_>, free: u32) -> bool {
        let by_peer = self.window.saturating_sub(self.flight());
        if self.answer_is_near(now) && !self.recovery.is_repairing_loss() && self.is_short(now, free, by_peer)
        {
            return false;
        }
        let mss = u32::from(self.mss);
        // Half the window at most, so that two frames are under way (Linux `tcp_cwnd_test`).
        let segments = (free.min(by_peer) / mss).min(self.congestion.window() / mss / 2);
        self.frame = match segments {
            0 | 1 => 0,
            2 => 2,
            more => more.min(self.longest_frame(now)) as u16,
        };
        self.framed = self.frame.max(1);
        true
    }

    /// Whether a frame would be shorter than what may join it, where the windows have room for so many bytes. If it is the congestion
    /// window that keeps it short, that window is in use.
    fn is_short(&mut self, now: &Now<'_>, free: u32, by_peer: u32) -> bool {
        let mss = u32::from(self.mss);
        let by_congestion = free / mss * mss;
        let room = by_congestion.min(by_peer);
        let window = (self.congestion.window() / mss * mss).min(self.window);
        let is_share = room >= window / WINDOW_DIVISOR;
        // A frame is two segments at least, so that one needs no arithmetic.
        if is_share || (room >= 2 * mss && room >= self.longest_frame(now) * mss) {
            return false;
        }
        let unsent = self.buffer.unsent();
        self.stopped = by_congestion < by_peer && u64::from(by_congestion) <= unsent;
        // Nothing can join the end of the stream.
        !self.fin_follows() || u64::from(room) <= unsent
    }

    /// Whether the last segment left just now, and the first one in flight is to be acknowledged just now.
    fn answer_is_near(&self, now: &Now<'_>) -> bool {
        if now.at.saturating_since(self.last_data) > SHORT {
            return false;
        }
        let srtt = self.rto.srtt(now.config).unwrap_or_default();
        let expected = self.scoreboard.get(0).map(|(_, first)| first.sent_at + srtt);
        expected.is_some_and(|expected| expected <= now.at + SHORT.min(srtt / 2))
    }

    /// Most segments of a frame: what the pacing rate lets out in 1/1,024 s, more where the path is short, and two at least (Linux
    /// `tcp_tso_autosize`, `tcp_update_pacing_rate`).
    fn longest_frame(&self, now: &Now<'_>) -> u32 {
        let cwnd = self.congestion.window();
        let srtt = self.rto.srtt(now.config).unwrap_or_default().as_nanos().max(1);
        let percent = if cwnd < self.congestion.ssthresh() / 2 { 200 } else { 120 };
        let paced = u64::from(cwnd.max(self.flight())) * percent * 10_000_000 / srtt / 1_024;
        let least = self.rto.min_rtt().as_nanos();
        let near = if least == 0 { 0 } else { u64::from(LARGEST_FRAME) >> (least / 512_000).min(63) };
        ((paced + near).min(u64::from(LARGEST_FRAME)) / u64::from(self.mss)).max(2) as u32
    }

    /// Whether the last segment ended a frame, or was one.
    #[inline]
    pub(crate) fn frame_ended(&self) -> bool {
        self.frame == 0
    }

    /// Whether the next segment is the last of a frame, which is pushed, so that the receiver does not wait for more (Linux
    /// `__tcp_transmit_skb`).
    #[inline]
    pub(crate) fn ends_frame(&self) -> bool {
        self.frame == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::sender::{Clocks, Fin};
    use wasp_units::Instant;
    use wasp_wire::SequenceNumber;

    const ISS: SequenceNumber = SequenceNumber(1_000);

    fn now(config: &Config, micros: u64) -> Now<'_> {
        let clocks = Clocks { phase: Duration::ZERO, timestamp_offset: 0 };
        Now::new(config, clocks, Instant::ZERO + Duration::from_micros(micros))
    }

    /// A sender that knows a round-trip time.
    fn sender(config: &Config, micros: u64) -> Sender {
        let mut sender = Sender::new(config, ISS);
        let rtt = Duration::from_micros(micros);
        sender.rto.note_rtt(rtt);
        sender.rto.sample(config, rtt, ISS, ISS);
        sender.window = 1 << 20;
        sender.memory_limit = u32::MAX;
        sender
    }

    #[test]
    fn the_longest_frame_is_that_of_linux() {
        let longest = |micros, initial_window, initial_ssthresh, flight| {
            let config = Config { mss: 1_460, initial_window, initial_ssthresh, ..Config::linux() };
            let mut sender = sender(&config, micros);
            sender.next = ISS + flight;
            sender.longest_frame(&now(&config, 0))
        };
        assert_eq!(longest(100_000, 10, u32::MAX, 0), 2, "285 bytes a millisecond");
        assert_eq!(longest(3_000, 20, u32::MAX, 0), 14, "19,010 bytes in slow start, and 64 KiB / 32");
        assert_eq!(longest(3_000, 20, 29_200, 0), 9, "11,406 bytes in congestion avoidance, and 64 KiB / 32");
        assert_eq!(
            longest(3_000, 20, 58_400, 0),
            9,
            "half of the threshold is not below it (tcp_update_pacing_rate)"
        );
        assert_eq!(longest(3_000, 10, u32::MAX, 58_400), 27, "38,020 bytes by what is in flight");
        assert_eq!(longest(500, 40, u32::MAX, 0), 44, "64 KiB");
    }

    #[test]
    fn a_path_of_unknown_length_is_not_short() {
        let config = Config::linux();
        let mut sender = Sender::new(&config, ISS);
        sender.rto.sample(&config, Duration::from_millis(100), ISS, ISS);
        assert_eq!(sender.longest_frame(&now(&config, 0)), 2);
    }

    #[test]
    fn an_answer_is_near_within_a_millisecond_and_half_the_round_trip_time() {
        let config = Config::linux();
        let near = |rtt, first: u64, last: u64, at| {
            let mut sender = sender(&config, rtt);
            sender.scoreboard.reset(ISS);
            sender.scoreboard.push(ISS + 1_000, false, Instant::ZERO + Duration::from_micros(first));
            sender.last_data = Instant::ZERO + Duration::from_micros(last);
            sender.answer_is_near(&now(&config, at))
        };
        assert!(near(50_000, 0, 50_000, 50_000));
        assert!(near(50_000, 0, 49_000, 50_000) && !near(50_000, 0, 48_999, 50_000));
        assert!(near(50_000, 0, 49_000, 49_000) && !near(50_000, 0, 48_999, 48_999));
        assert!(near(1_000, 0, 500, 500) && !near(1_000, 0, 499, 499));
    }

    #[test]
    fn a_frame_is_short_below_a_third_of_the_window() {
        let config = Config { mss: 1_000, initial_window: 10, ..Config::linux() };
        let mut sender = sender(&config, 3_000);
        sender.send(&config, crate::Chunk::Virtual(3_000));
        sender.next = ISS;
        let mut is_short = |fin, free, by_peer| {
            sender.fin = fin;
            sender.stopped = false;
            (sender.is_short(&now(&config, 0), free, by_peer), sender.stopped)
        };
        assert_eq!(
            is_short(Fin::Open, 2_999, 9_000),
            (true, true),
            "two segments, though a third is 3,333 bytes"
        );
        assert_eq!(is_short(Fin::Open, 4_000, 9_000), (false, false));
        assert_eq!(is_short(Fin::Open, 9_000, 3_332), (true, false), "for the peer's window");
        assert_eq!(is_short(Fin::Open, 9_000, 3_333), (false, false));
        assert_eq!(
            is_short(Fin::Open, 3_000, 9_000),
            (true, true),
            "for the window: it would hold what is unsent"
        );
        assert_eq!(is_short(Fin::Open, 2_000, 2_000), (true, false), "where both are equal, for the peer's");
        assert_eq!(is_short(Fin::Queued, 9_000, 3_000), (true, false), "the FIN needs room as well");
        assert_eq!(is_short(Fin::Queued, 9_000, 3_001), (false, false), "the end of the stream");
    }

    #[test]
    fn a_third_is_one_of_whole_segments() {
        let config = Config { mss: 1_000, initial_window: 10, ..Config::linux() };
        let mut sender = sender(&config, 3_000);
        sender.mss = 950;
        sender.send(&config, crate::Chunk::Virtual(9_000));
        let mut is_short = |by_peer| sender.is_short(&now(&config, 0), 9_500, by_peer);
        assert!(is_short(3_165) && !is_short(3_166), "ten segments of 950 bytes in a window of 10,000");
    }
}
