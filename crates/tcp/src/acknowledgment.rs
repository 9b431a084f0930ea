//! When received data is acknowledged (RFC 1122 section 4.2.3.2, RFC 5681 section 4.2; Linux quick acknowledgments).

use crate::config::Config;
use crate::ranges::Range;
use wasp_units::{Duration, Instant};
use wasp_wire::SequenceNumber;

/// Whether an acknowledgment is owed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Due {
    /// No.
    None,
    /// Yes, but it may wait for the timer or for data to ride on.
    Delayed,
    /// Yes, at once.
    Now,
}

/// The state of acknowledging.
#[derive(Debug)]
pub(crate) struct Acknowledgments {
    due: Due,
    /// RCV.NXT in the last segment sent (RFC 7323's Last.ACK.sent).
    sent: SequenceNumber,
    /// The largest segment seen: what "every second full-sized segment" is measured by (Linux `rcv_mss`).
    largest: u16,
    /// Segments still to be acknowledged at once.
    quick: u16,
    /// The application answers promptly, so an acknowledgment will find data to ride on (Linux "pingpong").
    interactive: bool,
    /// What the next D-SACK block reports (RFC 2883).
    duplicate: Option<Range>,
    /// Data has arrived, last at `last_data`.
    data_seen: bool,
    /// An unacceptable segment has been answered, last at `last_challenge`.
    challenged: bool,
    last_data: Instant,
    last_challenge: Instant,
}

impl Acknowledgments {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            due: Due::None,
            sent: SequenceNumber(0),
            largest: config.default_mss.min(config.mss),
            quick: config.quickack_segments.min(u32::from(u16::MAX)) as u16,
            interactive: false,
            duplicate: None,
            data_seen: false,
            challenged: false,
            last_data: Instant::ZERO,
            last_challenge: Instant::ZERO,
        }
    }

    pub(crate) fn due(&self) -> Due {
        self.due
    }

    /// RCV.NXT in the last segment sent.
    pub(crate) fn last_sent(&self) -> SequenceNumber {
        self.sent
    }

    /// Owes an acknowledgment at once.
    pub(crate) fn now(&mut self) {
        self.due = Due::Now;
    }

    /// Owes a report of data received twice, at once.
    pub(crate) fn report_duplicate(&mut self, range: Range) {
        self.duplicate = Some(range);
        self.due = Due::Now;
    }

    /// An unacceptable segment arrived: an answer is owed unless one was given less than `interval` ago (RFC 5961
    /// section 7).
    pub(crate) fn challenge(&mut self, now: Instant, interval: Duration) {
        if self.challenged && now.saturating_since(self.last_challenge) < interval {
            return;
        }
        self.challenged = true;
        self.last_challenge = now;
        self.due = Due::Now;
    }

    /// `len` bytes arrived in order, which makes RCV.NXT `next`. Returns whether the delay timer must run.
    #[inline]
    pub(crate) fn on_data(&mut self, config: &Config, len: u32, next: SequenceNumber, now: Instant) -> bool {
        self.largest = self.largest.max(len.min(u32::from(u16::MAX)) as u16);
        self.data_seen = true;
        self.last_data = now;
        let quick = self.quick > 0 && !self.interactive;
        self.quick = self.quick.saturating_sub(u16::from(quick));
        let second = next.since(self.sent) > u32::from(self.largest);
        if quick || second || config.delayed_ack.is_zero() {
            self.due = Due::Now;
        } else if self.due == Due::None {
            self.due = Due::Delayed;
            return true;
        }
        false
    }

    /// The delay timer expired: nothing came to ride on.
    pub(crate) fn on_delay_expired(&mut self) {
        self.interactive = false;
        if self.due == Due::Delayed {
            self.due = Due::Now;
        }
    }

    /// Data leaves: soon after data has arrived, it is an answer.
    #[inline]
    pub(crate) fn on_data_sent(&mut self, config: &Config, now: Instant) {
        if !self.interactive && config.quickack_segments > 0 {
            self.interactive = self.data_seen && now.saturating_since(self.last_data) < config.delayed_ack;
        }
    }

    /// A segment with acknowledgment `next` leaves. Returns the D-SACK block that it shall carry.
    #[inline]
    pub(crate) fn on_sent(&mut self, next: SequenceNumber) -> Option<Range> {
        self.due = Due::None;
        self.sent = next;
        self.duplicate.take()
    }
}
