//! Sizing the receive buffer by itself, as Linux does: the window starts near 64 KiB and grows with what the application reads a round
//! trip (dynamic right-sizing, Fisk and Feng 2001; Linux `tcp_rcv_space_adjust`, `tcp_grow_window`, `__tcp_select_window`).
//!
//! The buffer counts memory, of which a segment takes more than its payload; the window counts payload. `ratio` converts between
//! the two. Names of Linux stand beside ours.

use wasp_units::Instant;
use wasp_wire::SequenceNumber;

/// `tcp_rmem[1]`: the buffer at the start, bytes of memory.
const INITIAL_BUFFER: u32 = 131_072;
/// The share of payload before the first segment, of 256 (`TCP_DEFAULT_SCALING_RATIO`).
const INITIAL_RATIO: u8 = 128;
/// Segments that the first round trip is expected to bring (`TCP_INIT_CWND`).
const INITIAL_SEGMENTS: u32 = 10;
/// Memory of a segment beside its data: headers, room before them and the end of the buffer; and the structure that describes it.
const OVERHEAD: u32 = 436;
const DESCRIPTOR: u32 = 256;
/// No window is clamped to less (`SOCK_MIN_RCVBUF / 2`).
const LEAST_CLAMP: u32 = 1_152;
/// Smaller segments in order do not widen the window (`tcp_event_data_recv`).
pub(crate) const LEAST_GROWING: u32 = 128;

/// Memory that a segment of `len` bytes takes (`skb->truesize` beside an Ethernet device): a power of two, and what describes it.
fn memory(len: u32) -> u32 {
    (len + OVERHEAD).next_power_of_two() + DESCRIPTOR
}

/// Microseconds of the run, modulo 2^32.
fn micros(now: Instant) -> u32 {
    (now.as_nanos() / 1_000) as u32
}

/// A window, and whether less than half the buffer is free.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Window {
    pub(crate) bytes: u32,
    pub(crate) tight: bool,
}

/// The state of a receive buffer that sizes itself.
#[derive(Debug)]
pub(crate) struct Tuning {
    /// Size of the buffer (`sk_rcvbuf`), and what is taken of it (`sk_rmem_alloc`), bytes of memory.
    buffer: u32,
    taken: u32,
    /// The largest window (`window_clamp`), and the largest for now (`rcv_ssthresh`), bytes of payload.
    clamp: u32,
    threshold: u32,
    /// The window last advertised (`rcv_wnd`).
    offered: u32,
    /// What the application read in a round trip at most (`rcvq_space`), where and when the present one began.
    space: u32,
    space_from: SequenceNumber,
    space_at: u32,
    /// The round-trip time as the receiver sees it, in eighths of microseconds, zero before the first sample; the window whose arrival
    /// is being timed, and since when (`rcv_rtt_est`).
    rtt: u32,
    rtt_end: SequenceNumber,
    rtt_at: u32,
    /// The timestamp that gave the last sample.
    last_echo: u32,
    /// Payload of a full segment of the peer's, bytes (`advmss`).
    segment: u16,
    /// Payload in so much memory, of 256.
    ratio: u8,
    timing: bool,
}

impl Tuning {
    /// A buffer of at most `most` bytes of memory for segments of `segment` bytes.
    pub(crate) fn new(most: u32, segment: u16) -> Self {
        let buffer = INITIAL_BUFFER.min(most);
        let mut tuning = Self {
            buffer,
            taken: 0,
            clamp: 0,
            threshold: 0,
            offered: 0,
            space: 0,
            space_from: SequenceNumber(0),
            space_at: 0,
            rtt: 0,
            rtt_end: SequenceNumber(0),
            rtt_at: 0,
            last_echo: 0,
            segment,
            ratio: INITIAL_RATIO,
            timing: false,
        };
        tuning.set_segment(segment);
        tuning
    }

    /// The peer's segments hold `segment` bytes: the first window is a whole number of them (`tcp_select_initial_window`).
    pub(crate) fn set_segment(&mut self, segment: u16) {
        self.segment = segment;
        let (space, segment) = (self.payload(self.buffer), u32::from(segment));
        self.offered = if space > segment { space - space % segment } else { space };
    }

    /// The window of the SYN.
    pub(crate) fn first_window(&self) -> u32 {
        self.offered.min(u32::from(u16::MAX))
    }

    /// The connection is established: the first byte has number `first` (`tcp_init_buffer_space`).
    pub(crate) fn establish(&mut self, now: Instant, segment: u16, first: SequenceNumber, scale: u8) {
        self.segment = segment;
        let segment = u32::from(segment);
        let most = self.payload(self.buffer);
        // One segment stays in reserve, where more than two fit.
        let reserved = (2 * segment).max(most.saturating_sub(segment));
        self.clamp = most.min(u32::from(u16::MAX) << scale).min(reserved);
        self.offered = self.first_window();
        self.threshold = self.offered.min(self.clamp);
        self.space = self.threshold.min(INITIAL_SEGMENTS * segment);
        self.space_from = first;
        self.space_at = micros(now);
    }

    /// Payload that fits into so much memory (`tcp_win_from_space`).
    fn payload(&self, memory: u32) -> u32 {
        (u64::from(memory) * u64::from(self.ratio) / 256) as u32
    }

    /// Payload that fits into what is free (`tcp_space`).
    fn free(&self) -> u32 {
        self.payload(self.buffer.saturating_sub(self.taken))
    }

    /// The window that the buffer allows, in steps of the scale; `mss` is the peer's segment as seen so far
    /// (`__tcp_select_window`).
    pub(crate) fn select(&self, mss: u32, scale: u8) -> Window {
        let all = self.payload(self.buffer);
        let mut free = self.free();
        let full = self.clamp.min(all);
        let mss = mss.min(full);
        let tight = free < full / 2;
        let unit = (1_u32 << scale) - 1;
        if tight {
            free &= !unit;
            // Too little to be worth a segment, or so little that segments in flight would not fit.
            if free < all / 16 || free < mss {
                return Window { bytes: 0, tight };
            }
        }
        free = free.min(self.threshold);
        let bytes = if scale > 0 {
            (free + unit) & !unit
        } else if self.offered.saturating_add(mss) <= free || self.offered > free {
            free - free % mss.max(1)
        } else {
            self.offered
        };
        Window { bytes, tight }
    }

    /// A window of so many bytes is advertised.
    pub(crate) fn advertise(&mut self, bytes: u32) {
        self.offered = bytes;
    }

    /// The window last advertised, from the acknowledgment that advertised it.
    pub(crate) fn offered(&self) -> u32 {
        self.offered
    }

    /// Whether an open window of `current` bytes could be twice as large at all (`tcp_cleanup_rbuf`).
    pub(crate) fn may_double(&self, current: u32) -> bool {
        current.saturating_mul(2) <= self.clamp
    }

    /// A larger segment than any before has arrived, which shows how much memory payload takes (`tcp_measure_rcv_mss`).
    pub(crate) fn on_larger_segment(&mut self, len: u32) {
        let ratio = (256 * len / memory(len)).clamp(1, 255) as u8;
        if ratio == self.ratio {
            return;
        }
        self.ratio = ratio;
        let clamp = self.payload(self.buffer).max(LEAST_CLAMP);
        if clamp < self.clamp {
            self.threshold = self.threshold.min(clamp);
        } else if clamp > self.clamp {
            self.threshold = self.threshold.max(self.offered.min(clamp));
        }
        self.clamp = clamp;
        self.space = self.space.min(clamp);
    }

    /// A segment of `len` bytes has been put into the buffer.
    pub(crate) fn take(&mut self, len: u32) {
        self.taken = self.taken.saturating_add(memory(len));
    }

    /// The application has read `read` bytes of `held`: their share of the memory is free.
    pub(crate) fn give_back(&mut self, read: u32, held: u32) {
        let share = u64::from(self.taken) * u64::from(read) / u64::from(held.max(1));
        self.taken -= share as u32;
    }

    /// The window may grow with each segment while there is room. Returns whether it did (`tcp_grow_window`).
    pub(crate) fn grow(&mut self, len: u32, mss: u32, most: u32) -> bool {
        let limit = self.clamp.min(self.free());
        if limit <= self.threshold {
            return false;
        }
        let used = self.payload(memory(len));
        let step =
            if used <= len { 2 * u32::from(self.segment) } else { self.small_step(len, used, mss, most) };
        if step == 0 {
            return false;
        }
        self.threshold += step.max(2 * len).min(limit - self.threshold);
        true
    }

    /// The step for a segment that takes more memory than its payload stands for: none once the window is so large that the
    /// whole buffer would not hold it in such segments (`__tcp_grow_window`).
    fn small_step(&self, len: u32, used: u32, mss: u32, most: u32) -> u32 {
        let (mut used, mut window) = (used / 2, self.payload(most) / 2);
        while self.threshold <= window {
            if used <= len {
                return 2 * mss;
            }
            used /= 2;
            window /= 2;
        }
        0
    }

    /// Data is out of order up to `beyond` bytes above what is in order: the buffer makes room for it (`tcp_data_queue_ofo`).
    pub(crate) fn on_gap(&mut self, beyond: u32, most: u32) {
        self.resize(self.space, beyond, most);
    }

    /// The application has read up to the number `read`, and `waiting` bytes wait behind it (`tcp_rcv_space_adjust`).
    pub(crate) fn on_read(
        &mut self,
        now: Instant,
        read: SequenceNumber,
        waiting: u32,
        beyond: u32,
        most: u32,
    ) {
        let now = micros(now);
        if self.rtt == 0 || now.wrapping_sub(self.space_at) < self.rtt >> 3 {
            return;
        }
        let copied = read.since(self.space_from).saturating_sub(waiting);
        if copied > self.space {
            self.resize(copied, beyond, most);
        }
        self.space_from = read;
        self.space_at = now;
    }

    /// The buffer follows what is read in a round trip: twice that, and ahead of it while it grows (`tcp_rcvbuf_grow`).
    fn resize(&mut self, space: u32, beyond: u32, most: u32) {
        let before = u64::from(self.space.max(1));
        self.space = space;
        let twice = 2 * u64::from(space);
        let ahead = 2 * (twice * u64::from(space).saturating_sub(before) / before);
        let window = twice + ahead + u64::from(beyond);
        let buffer = (window * 256 / u64::from(self.ratio)).min(u64::from(most)) as u32;
        if buffer > self.buffer {
            self.buffer = buffer;
            self.clamp = self.payload(buffer);
        }
    }

    /// Data is in order up to `next`: where a whole window has come since the timing began, that took a round trip at most
    /// (`tcp_rcv_rtt_measure`).
    pub(crate) fn time_window(&mut self, now: Instant, next: SequenceNumber) {
        if self.timing && next.before(self.rtt_end) {
            return;
        }
        let now = micros(now);
        if self.timing {
            let sample = now.wrapping_sub(self.rtt_at).max(1);
            let eighths = sample.saturating_mul(8);
            if self.rtt == 0 || eighths < self.rtt {
                self.rtt = eighths;
            }
        }
        self.timing = true;
        self.rtt_end = next + self.offered;
        self.rtt_at = now;
    }

    /// A segment echoes the timestamp `echo`. Returns whether the one before did not. A pure acknowledgment may be the first: the data
    /// behind it then tells no round-trip time (`rcv_rtt_last_tsecr`).
    #[inline]
    pub(crate) fn note_echo(&mut self, echo: u32) -> bool {
        std::mem::replace(&mut self.last_echo, echo) != echo
    }

    /// A full segment is the first to echo a timestamp, which is `rtt` microseconds old; `waiting` says whether data waits to be
    /// read (`tcp_rcv_rtt_measure_ts`).
    pub(crate) fn time_echo(&mut self, rtt: u32, waiting: bool) {
        if rtt == 0 {
            return;
        }
        if self.rtt == 0 || rtt.saturating_mul(8) < self.rtt {
            self.rtt = rtt.saturating_mul(8);
        } else if !waiting {
            self.rtt = (self.rtt - (self.rtt >> 3)).saturating_add(rtt);
        }
    }

    /// The receiver's round-trip time, microseconds; zero before the first sample.
    pub(crate) fn rtt(&self) -> u32 {
        self.rtt >> 3
    }
}

#[cfg(test)]
mod tests;
