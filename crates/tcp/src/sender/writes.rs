//! What the application writes, and when: the kernel's memory for it is finite.

use super::Sender;
use super::frames::LARGEST_FRAME;
use crate::config::{Config, SendBufferSize};
use crate::types::Chunk;

/// A window as small is not halved, bytes (Linux `TCP_MSS_DEFAULT`).
const SMALL_WINDOW: u32 = 536;
/// Segments that the send buffer has room for at least (Linux `TCP_INIT_CWND`).
const LEAST_SEGMENTS: u32 = 10;
/// How often the send buffer has room for a congestion window (Linux `tcp_sndbuf_expand`).
const WINDOWS: u32 = 2;
/// Memory of a `sk_buff` itself, bytes.
const SK_BUFF: u32 = 256;

impl Sender {
    /// The application sends. It writes at once, unless it waits for room in the send buffer already.
    pub(crate) fn send(&mut self, config: &Config, chunk: Chunk) {
        let waits = self.buffer.unwritten() > 0;
        self.buffer.push(chunk);
        if self.buffer.unacknowledged() <= u64::from(self.mss) {
            // There is always room for a segment.
            self.buffer.write_all();
        } else if !waits {
            self.begin_write(config);
        }
    }

    /// The application begins to write.
    pub(crate) fn begin_write(&mut self, config: &Config) {
        self.writing = true;
        self.write(config);
    }

    /// The application, if it writes, fills one more `sk_buff`, which is sent as far as may be before the next one (Linux
    /// `tcp_sendmsg_locked`). Returns whether it did; where there is no room, it stops and waits.
    #[inline]
    pub(crate) fn write(&mut self, config: &Config) -> bool {
        if !self.writing {
            return false;
        }
        let written = match config.send_buffer {
            SendBufferSize::Fixed(_) => {
                self.buffer.write_all();
                true
            }
            // There is no connection yet.
            SendBufferSize::Tuned { .. } if self.memory_limit == 0 => return false,
            SendBufferSize::Tuned { overhead, .. } => self.write_sk_buff(overhead),
        };
        self.writing = written && self.buffer.unwritten() > 0;
        written
    }

    fn write_sk_buff(&mut self, overhead: u32) -> bool {
        let size = self.longest_write();
        if self.buffer.write_on(size) {
            return true;
        }
        let has_room = self.memory(overhead) < u64::from(self.memory_limit);
        if has_room {
            self.buffer.begin(size);
        }
        has_room
    }

    /// Whether the application waits for room in the send buffer, unless it has been told that there is some.
    #[inline]
    pub(crate) fn waits_for_room(&self) -> bool {
        self.buffer.unwritten() > 0 && !self.writing
    }

    /// Whether the application, which waits for room in the send buffer, is told that there is some: a third of the buffer. It grows first
    /// if the congestion window has room for more (Linux `tcp_check_space`, `sk_stream_is_writeable`).
    #[inline]
    pub(crate) fn has_room(&mut self, config: &Config) -> bool {
        let SendBufferSize::Tuned { overhead, .. } = config.send_buffer else { return true };
        if self.congestion.window() > self.limit_window && self.free(config) >= u32::from(self.mss) {
            self.grow_memory_limit(config);
        }
        // What is beside the payload is reckoned only where that alone leaves a third.
        let is_free = |memory| u64::from(self.memory_limit) >= memory + memory / 2;
        is_free(self.buffer.held()) && is_free(self.memory(overhead))
    }

    /// The send buffer gets room for the congestion window (Linux `tcp_sndbuf_expand`).
    pub(super) fn grow_memory_limit(&mut self, config: &Config) {
        let SendBufferSize::Tuned { overhead, most } = config.send_buffer else { return };
        self.limit_window = self.congestion.window();
        let segments = (self.limit_window / u32::from(self.mss)).max(LEAST_SEGMENTS);
        let memory = (u32::from(self.peer_mss) + overhead).next_power_of_two() + SK_BUFF;
        self.memory_limit = self.memory_limit.max((WINDOWS * memory).saturating_mul(segments).min(most));
    }

    /// Memory that the send buffer takes: payload, and what each `sk_buff`, a frame or what has not been sent, takes beside it.
    fn memory(&self, overhead: u32) -> u64 {
        let (unsent, held) = (self.buffer.unsent(), self.buffer.held());
        if held == 0 {
            return 0;
        }
        let frame = u64::from(self.framed) * u64::from(self.mss);
        let sk_buffs = (held - unsent).div_ceil(frame) + unsent.div_ceil(u64::from(self.longest_write()));
        held + sk_buffs * u64::from(overhead + SK_BUFF)
    }

    /// Payload that a `sk_buff` takes, bytes: whole segments, of half the largest window that the peer has offered (Linux
    /// `tcp_xmit_size_goal`, `tcp_bound_to_half_wnd`).
    fn longest_write(&self) -> u32 {
        let mss = u32::from(self.mss);
        let half = if self.max_window > SMALL_WINDOW { self.max_window / 2 } else { self.max_window };
        let most = if half == 0 { LARGEST_FRAME } else { LARGEST_FRAME.min(half) };
        (most / mss).max(1) * mss
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::Congestion;
    use crate::recovery::Agreed;
    use crate::sender::{Clocks, Now};
    use wasp_units::{Duration, Instant};
    use wasp_wire::SequenceNumber;

    const ISS: SequenceNumber = SequenceNumber(1_000);
    const OVERHEAD: u32 = 576;

    fn config() -> Config {
        let send_buffer = SendBufferSize::Tuned { overhead: OVERHEAD, most: 100_000 };
        Config { mss: 1_000, initial_window: 10, send_buffer, ..Config::linux() }
    }

    /// A sender whose peer has offered `max_window` bytes, before the handshake is complete.
    fn unconnected(config: &Config, max_window: u32) -> Sender {
        let mut sender = Sender::new(config, ISS);
        sender.max_window = max_window;
        sender.framed = 2;
        sender
    }

    fn connect(config: &Config, sender: &mut Sender) {
        let clocks = Clocks { phase: Duration::ZERO, timestamp_offset: 0 };
        sender.establish(
            &Now::new(config, clocks, Instant::ZERO),
            ISS,
            Agreed { sack: true, ecn: false },
            config.initial_window,
        );
    }

    fn sender(config: &Config, max_window: u32) -> Sender {
        let mut sender = unconnected(config, max_window);
        connect(config, &mut sender);
        sender
    }

    /// One that waits for room.
    fn waiting(config: &Config) -> Sender {
        let mut sender = sender(config, 40_000);
        sender.send(config, Chunk::Virtual(1 << 20));
        while sender.write(config) {}
        sender
    }

    /// The next `len` bytes leave.
    fn leave(sender: &mut Sender, len: u32) {
        sender.next += len;
        sender.buffer.advance_sent(len);
        sender.scoreboard.push(sender.next, false, Instant::ZERO);
    }

    #[test]
    fn a_sk_buff_holds_whole_segments_of_half_the_window() {
        let longest = |mss, max_window| sender(&Config { mss, ..config() }, max_window).longest_write();
        assert_eq!(longest(1_000, 41_999), 20_000);
        assert_eq!(longest(1_000, 1 << 20), 65_000, "64 KiB less the headers");
        assert_eq!(longest(1_000, 0), 65_000, "no window is known yet");
        assert_eq!((longest(1_000, 537), longest(1_000, 536)), (1_000, 1_000), "a segment at least");
        assert_eq!((longest(100, 537), longest(100, 536)), (200, 500), "a small window is not halved");
    }

    #[test]
    fn a_write_goes_on_where_segments_have_left_and_stops_where_the_memory_is_taken() {
        let config = config();
        let mut sender = sender(&config, 40_000);
        sender.send(&config, Chunk::Virtual(200_000));
        assert_eq!((sender.buffer.unsent(), sender.waits_for_room()), (20_000, false));
        leave(&mut sender, 10_000);
        assert!(sender.write(&config));
        assert_eq!(sender.buffer.held(), 30_000, "what has left makes room in the same buffer");
        assert_eq!(sender.memory(OVERHEAD), 30_000 + (5 + 1) * 832);
        assert!(sender.write(&config));
        assert_eq!(sender.memory(OVERHEAD), 50_000 + (5 + 2) * 832);
        assert!(!sender.write(&config));
        assert_eq!((sender.buffer.held(), sender.waits_for_room()), (50_000, true), "46,080 bytes are taken");
        sender.framed = 3;
        assert_eq!(
            sender.memory(OVERHEAD),
            50_000 + (4 + 2) * 832,
            "a frame that is not whole takes as much"
        );
    }

    #[test]
    fn no_sk_buff_is_begun_where_all_memory_is_taken() {
        let config = config();
        let begins = |limit: u64| {
            let mut sender = sender(&config, 40_000);
            sender.send(&config, Chunk::Virtual(200_000));
            sender.memory_limit = limit as u32;
            sender.write(&config)
        };
        assert!(!begins(20_832) && begins(20_833));
    }

    #[test]
    fn one_that_waits_for_room_writes_nothing_before_it_is_told_of_some() {
        let config = config();
        let mut sender = waiting(&config);
        sender.memory_limit *= 2;
        let held = sender.buffer.held();
        sender.send(&config, Chunk::Virtual(1));
        assert_eq!((sender.buffer.held(), sender.waits_for_room()), (held, true));
        sender.begin_write(&config);
        assert!(sender.buffer.held() > held);
    }

    #[test]
    fn what_is_sent_before_the_connection_stands_is_written_then() {
        let config = config();
        let mut sender = unconnected(&config, 40_000);
        sender.send(&config, Chunk::Virtual(100_000));
        assert!(!sender.write(&config));
        assert_eq!((sender.buffer.unsent(), sender.waits_for_room()), (0, false));
        connect(&config, &mut sender);
        assert!(sender.write(&config));
        assert_eq!(sender.buffer.unsent(), 20_000);
    }

    #[test]
    fn a_third_of_the_buffer_is_room() {
        let config = config();
        let mut sender = waiting(&config);
        leave(&mut sender, 20_000);
        let held = sender.memory(OVERHEAD);
        let mut has_room = |limit: u64| {
            sender.memory_limit = limit as u32;
            sender.has_room(&config)
        };
        assert!(!has_room(held + held / 2 - 1) && has_room(held + held / 2));
    }

    #[test]
    fn the_buffer_grows_where_a_segment_more_may_be_in_flight() {
        let config = config();
        let grown = |flight, window| {
            let mut sender = waiting(&config);
            sender.congestion = Congestion::new(&config, 1_000, window);
            leave(&mut sender, flight);
            sender.has_room(&config);
            sender.memory_limit
        };
        assert_eq!(grown(11_001, 12), 46_080, "the window is full");
        assert_eq!(grown(11_000, 12), 12 * 4_608);
        assert_eq!(grown(1_000, 5), 46_080, "it does not shrink");
        assert_eq!(grown(1_000, 40), 100_000, "the most");
    }

    #[test]
    fn the_buffer_begins_with_room_for_the_first_window_and_ten_segments_of_the_peers_size() {
        let limit = |initial_window, peer_mss| {
            let config = Config { initial_window, ..config() };
            let mut sender = unconnected(&config, 40_000);
            sender.peer_mss = peer_mss;
            connect(&config, &mut sender);
            sender.memory_limit
        };
        assert_eq!((limit(2, 1_000), limit(10, 1_472), limit(12, 1_000)), (46_080, 46_080, 12 * 4_608));
        assert_eq!(limit(10, 1_473), 87_040);
    }
}
