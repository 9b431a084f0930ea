//! When received data is acknowledged (RFC 1122 section 4.2.3.2, RFC 5681 section 4.2; Linux quick acknowledgments and their
//! compression), and what acknowledgments echo of marks (RFC 3168 section 6.1.3).

use crate::config::Config;
use crate::ranges::Range;
use wasp_units::{Duration, Instant};
use wasp_wire::{Ecn, Flags, SequenceNumber};

/// Acknowledgments of data above one gap that always leave (Linux `TCP_FASTRETRANS_THRESH`).
const DUPLICATES_SENT: u8 = 3;
/// Where two ranges are reported already, news of a third is not held back (Linux `TCP_SACK_BLOCKS_EXPECTED`).
pub(crate) const RANGES_EXPECTED: usize = 2;
/// A segment below this length shows no smaller segment size unless the peer says that more follows (Linux `TCP_MSS_DEFAULT`).
const USUAL_SEGMENT: u16 = 536;
/// No segment below this length does (Linux `TCP_MIN_MSS`).
const LEAST_SEGMENT: u16 = 88;

/// Segments acknowledged at once behind a mark (Linux `tcp_enter_quickack_mode(sk, 2)`).
const QUICK_FOR_MARKS: u32 = 2;

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
    /// The peer's full segment as seen so far: what "every second full-sized segment" is measured by (Linux `rcv_mss`).
    segment: u16,
    /// The length of the last segment, where it was smaller than that.
    smaller: u16,
    /// Segments still to be acknowledged at once.
    quick: u16,
    /// The application answers promptly, so an acknowledgment will find data to ride on (Linux "pingpong").
    interactive: bool,
    /// Segments since the last acknowledgment that end what the peer's application wrote, at most two (Linux `ICSK_ACK_PUSHED`).
    pushed: u8,
    /// Acknowledgments of data above the gap at `gap` that have left at once, and those left out since the last one.
    duplicates: u8,
    left_out: u8,
    gap: SequenceNumber,
    /// What the next D-SACK block reports (RFC 2883).
    duplicate: Option<Range>,
    /// Data has arrived in order, last at `last_data`.
    data_seen: bool,
    /// An unacceptable segment has been answered, last at `last_challenge`.
    challenged: bool,
    /// ECE from a mark on until the peer has reduced its window; else nothing.
    echo: Flags,
    /// Data has arrived that a queue might mark.
    markable: bool,
    last_data: Instant,
    last_challenge: Instant,
}

impl Acknowledgments {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            due: Due::None,
            sent: SequenceNumber(0),
            segment: config.default_mss.min(config.mss),
            smaller: 0,
            quick: 0,
            interactive: false,
            pushed: 0,
            duplicates: 0,
            left_out: 0,
            gap: SequenceNumber(0),
            duplicate: None,
            data_seen: false,
            challenged: false,
            echo: Flags::default(),
            markable: false,
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

    /// The peer's full segment as seen so far, bytes.
    pub(crate) fn segment(&self) -> u32 {
        u32::from(self.segment)
    }

    /// Owes none any more: the connection is over.
    pub(crate) fn cancel(&mut self) {
        self.due = Due::None;
    }

    /// Owes an acknowledgment at once.
    pub(crate) fn now(&mut self) {
        self.due = Due::Now;
    }

    /// Owes a report of data received twice.
    pub(crate) fn report_duplicate(&mut self, range: Range) {
        self.duplicate = Some(range);
    }

    /// An unacceptable segment arrived: an answer is owed unless one was given less than `interval` ago (RFC 5961
    /// section 7).
    pub(crate) fn challenge(&mut self, now: Instant, interval: Duration) {
        if self.take_answer(now, interval) {
            self.due = Due::Now;
        }
    }

    /// Whether what does not belong into the connection may be answered at `now`; if so, that counts as an answer (Linux
    /// `tcp_oow_rate_limited`).
    pub(crate) fn take_answer(&mut self, now: Instant, interval: Duration) -> bool {
        if self.challenged && now.saturating_since(self.last_challenge) < interval {
            return false;
        }
        self.challenged = true;
        self.last_challenge = now;
        true
    }

    /// The connection is established: its answers have a limit of their own.
    pub(crate) fn forget_answers(&mut self) {
        self.challenged = false;
    }

    /// A segment of `len` bytes arrived, which is what a header of `header` bytes and these flags make of it. Returns whether it is
    /// larger than any before (Linux `tcp_measure_rcv_mss`).
    #[inline]
    pub(crate) fn measure(&mut self, config: &Config, len: u32, header: u16, flags: Flags) -> bool {
        let len = len.min(u32::from(u16::MAX)) as u16;
        let before = std::mem::take(&mut self.smaller);
        if len >= self.segment {
            let larger = len > self.segment;
            self.segment = len;
            self.pushed = self.pushed.max(u8::from(flags.contains(Flags::PSH)));
            return larger;
        }
        if config.quickack_segments == 0 {
            return false;
        }
        let more_follows = !flags.intersects(Flags::PSH | Flags::FIN);
        let least = if more_follows { LEAST_SEGMENT } else { USUAL_SEGMENT };
        if len.saturating_add(header) >= least + 20 {
            self.smaller = len;
            if len == before {
                self.segment = len;
                return false;
            }
        }
        self.pushed = (self.pushed + 1).min(2);
        false
    }

    /// Segments are acknowledged at once again: as many as half of `window` holds, two if that is none, but no more than `most` (Linux
    /// `tcp_incr_quickack`).
    fn hurry(&mut self, window: u32, most: u32) {
        let held = window / (2 * self.segment().max(1));
        let segments = if held == 0 { 2 } else { held };
        self.quick = self.quick.max(segments.min(most) as u16);
    }

    /// The peer sent what it need not have sent: it is to hear more of us (Linux `tcp_enter_quickack_mode`).
    pub(crate) fn on_needless(&mut self, config: &Config, window: u32) {
        self.hurry(window, config.quickack_segments);
        self.interactive = false;
        self.due = Due::Now;
    }

    /// Data has arrived in a packet with this ECN field (Linux `tcp_data_ecn_check`). The sender is to hear of us soon if its data is marked
    /// for the first time since its last reduction, because its window may be small then. It is to hear soon as well if no queue may mark
    /// the data although queues might mark earlier data, because then the data was sent again.
    pub(crate) fn note_ecn_field(&mut self, ecn: Ecn, config: &Config, window: u32) {
        let news = match ecn {
            Ecn::NotEct => self.markable,
            Ecn::Ect0 | Ecn::Ect1 => false,
            Ecn::Ce => self.echo != Flags::ECE,
        };
        self.markable |= ecn != Ecn::NotEct;
        if ecn == Ecn::Ce {
            self.echo = Flags::ECE;
        }
        if news {
            self.hurry(window, config.quickack_segments.min(QUICK_FOR_MARKS));
            self.interactive = false;
        }
    }

    /// What the flags of each segment say of marks.
    #[inline]
    pub(crate) fn echo(&self) -> Flags {
        self.echo
    }

    /// The peer has reduced its window for what was echoed.
    pub(crate) fn stop_echoing(&mut self) {
        self.echo = Flags::default();
    }

    /// The window may grow with the segment that has just arrived: its sender is to hear of it.
    pub(crate) fn on_growth(&mut self, config: &Config) {
        self.quick |= u16::from(config.quickack_segments > 0);
    }

    /// The buffer is more than half full: there is no hurry any more.
    pub(crate) fn on_tight(&mut self) {
        self.quick = 0;
    }

    /// Data arrived in order, the first or after an idle time longer than `rto` for the sender, whose window may be small:
    /// acknowledgments hurry.
    #[inline]
    pub(crate) fn on_data(&mut self, config: &Config, window: u32, rto: Duration, now: Instant) {
        if !self.data_seen || now.saturating_since(self.last_data) > rto {
            self.hurry(window, config.quickack_segments);
        }
        self.data_seen = true;
        self.last_data = now;
    }

    /// Whether each segment is acknowledged at once.
    fn is_quick(&self, config: &Config) -> bool {
        (self.quick > 0 && !self.interactive) || config.delayed_ack.is_zero()
    }

    /// More than a full segment waits to be acknowledged when RCV.NXT is `next`.
    #[inline]
    pub(crate) fn is_second(&self, next: SequenceNumber) -> bool {
        next.since(self.sent) > self.segment()
    }

    /// Data in order is to be acknowledged, at once if it is `pressing`. Returns whether the delay timer must run.
    #[inline]
    pub(crate) fn in_order(&mut self, config: &Config, pressing: bool) -> bool {
        if pressing || self.is_quick(config) {
            self.due = Due::Now;
        } else if self.due == Due::None {
            self.due = Due::Delayed;
            return true;
        }
        false
    }

    /// Data above the gap at `next` is to be acknowledged; `many` says that several ranges are to be reported. Returns whether that
    /// waits for the timer (Linux `__tcp_ack_snd_check`).
    pub(crate) fn out_of_order(
        &mut self,
        config: &Config,
        next: SequenceNumber,
        sack: bool,
        many: bool,
    ) -> bool {
        if self.gap != next {
            self.gap = next;
            self.duplicates = 0;
        }
        let full = u32::from(self.left_out) >= config.comp_sack_nr;
        if self.is_quick(config) || self.is_second(next) || !sack || full || (many && self.left_out > 0) {
            self.due = Due::Now;
        } else if self.duplicates < DUPLICATES_SENT {
            self.duplicates += 1;
            self.due = Due::Now;
        } else {
            self.left_out = self.left_out.saturating_add(1);
            if self.due == Due::None {
                self.due = Due::Delayed;
            }
            return self.left_out == 1;
        }
        false
    }

    /// The application has read: what ended there is acknowledged if everything is read now and it has not answered promptly
    /// so far, or if there were two of them (Linux `tcp_cleanup_rbuf`).
    pub(crate) fn on_read(&mut self, config: &Config, next: SequenceNumber, all: bool) -> bool {
        if self.due != Due::Delayed || config.quickack_segments == 0 {
            return false;
        }
        let ended = self.pushed == 2 || (self.pushed == 1 && !self.interactive);
        if self.is_second(next) || (all && ended) {
            self.due = Due::Now;
        }
        self.due == Due::Now
    }

    /// The timer expired: nothing came to ride on, or the time to hold back reports is over.
    pub(crate) fn on_delay_expired(&mut self) {
        self.interactive &= self.left_out > 0;
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
        self.quick = self.quick.saturating_sub(u16::from(self.due != Due::None));
        self.due = Due::None;
        self.sent = next;
        self.pushed = 0;
        self.left_out = 0;
        self.duplicate.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Instant = Instant::from_nanos(7_000_000_000);
    const RTO: Duration = Duration::from_millis(300);

    fn measured(lens: &[(u32, Flags)]) -> Acknowledgments {
        let config = Config::linux();
        let mut acks = Acknowledgments::new(&config);
        for (len, flags) in lens {
            acks.measure(&config, *len, 20, *flags);
        }
        acks
    }

    #[test]
    fn a_segment_is_larger_than_any_before_only_if_it_is() {
        let config = Config::linux();
        let mut acks = Acknowledgments::new(&config);
        let seen = [1_000, 1_000, 1_001, 900].map(|len| acks.measure(&config, len, 20, Flags::ACK));
        assert_eq!(seen, [true, false, true, false]);
        assert_eq!(acks.segment(), 1_001);
    }

    #[test]
    fn two_smaller_segments_of_one_length_show_the_size_and_two_of_others_do_not() {
        let full = (1_000, Flags::ACK);
        assert_eq!(measured(&[full, (700, Flags::ACK), (700, Flags::ACK)]).segment(), 700);
        assert_eq!(measured(&[full, (700, Flags::ACK), (600, Flags::ACK)]).segment(), 1_000);
        assert_eq!(measured(&[full, (700, Flags::ACK), full, (700, Flags::ACK)]).segment(), 1_000);
        // Linux counts the header: 88 bytes and 20 of them where more follows, 536 where the peer pushes.
        assert_eq!(measured(&[full, (88, Flags::ACK), (88, Flags::ACK)]).segment(), 88);
        assert_eq!(measured(&[full, (87, Flags::ACK), (87, Flags::ACK)]).segment(), 1_000);
        let push = Flags::ACK | Flags::PSH;
        assert_eq!(measured(&[full, (536, push), (536, push)]).segment(), 536);
        assert_eq!(measured(&[full, (535, push), (535, push)]).segment(), 1_000);
    }

    #[test]
    fn the_window_tells_how_many_acknowledgments_hurry() {
        let config = Config::linux();
        for (window, quick) in [(0, 2), (1_999, 2), (2_000, 1), (7_000, 3), (60_000, 16)] {
            let mut acks = measured(&[(1_000, Flags::ACK)]);
            acks.on_data(&config, window, RTO, START);
            assert_eq!(acks.quick, quick, "{window}");
        }
    }

    #[test]
    fn acknowledgments_hurry_again_after_more_than_a_timeout_and_not_where_the_buffer_is_tight() {
        let config = Config::linux();
        let mut acks = measured(&[(1_000, Flags::ACK)]);
        acks.on_data(&config, 60_000, RTO, START);
        acks.on_tight();
        assert!(!acks.is_quick(&config));
        acks.on_data(&config, 60_000, RTO, START + RTO);
        assert!(!acks.is_quick(&config), "a timeout is not more than one");
        acks.on_data(&config, 60_000, RTO, START + RTO * 2 + Duration::from_nanos(1));
        assert!(acks.is_quick(&config));
    }

    #[test]
    fn only_what_leaves_soon_after_data_is_an_answer() {
        let config = Config::linux();
        let answers = |wait: Duration| {
            let mut acks = measured(&[(1_000, Flags::ACK)]);
            acks.on_data(&config, 60_000, RTO, START);
            acks.on_data_sent(&config, START + wait);
            acks.interactive
        };
        assert!(answers(config.delayed_ack - Duration::from_nanos(1)));
        assert!(!answers(config.delayed_ack));
        let mut acks = measured(&[(1_000, Flags::ACK)]);
        acks.on_data_sent(&config, Instant::ZERO);
        assert!(!acks.interactive, "nothing has come that it could answer");
        let bsd = Config::bsd1999();
        acks.on_data(&bsd, 60_000, RTO, START);
        acks.on_data_sent(&bsd, START);
        assert!(!acks.interactive, "BSD knows no quick acknowledgments");
    }

    #[test]
    fn the_delay_of_an_acknowledgment_ends_the_habit_of_answering_and_that_of_a_report_does_not() {
        let config = Config::linux();
        for left_out in [0, 1] {
            let mut acks = measured(&[(1_000, Flags::ACK)]);
            (acks.interactive, acks.left_out, acks.due) = (true, left_out, Due::Delayed);
            acks.on_delay_expired();
            assert_eq!((acks.interactive, acks.due), (left_out > 0, Due::Now));
        }
        let mut acks = Acknowledgments::new(&config);
        acks.on_delay_expired();
        assert!(!acks.interactive);
    }

    #[test]
    fn acknowledgments_hurry_at_the_first_mark_and_where_markable_data_has_a_gap_in_its_field() {
        let config = Config::linux();
        let news = |acks: &mut Acknowledgments, ecn| {
            (acks.quick, acks.interactive) = (0, true);
            acks.note_ecn_field(ecn, &config, 60_000);
            assert_eq!(acks.interactive, acks.quick == 0, "{ecn:?}");
            u32::from(acks.quick)
        };
        let mut acks = measured(&[(1_000, Flags::ACK)]);
        let none_yet = news(&mut acks, Ecn::NotEct);
        let seen = [Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::NotEct].map(|ecn| news(&mut acks, ecn));
        assert_eq!((none_yet, seen), (0, [0, QUICK_FOR_MARKS, 0, QUICK_FOR_MARKS]));
        assert_eq!(acks.echo(), Flags::ECE);
        acks.stop_echoing();
        assert_eq!(news(&mut acks, Ecn::Ce), QUICK_FOR_MARKS, "a mark after the reduction is a new one");
        // Half of what a window of three segments holds is one.
        let mut acks = measured(&[(1_000, Flags::ACK)]);
        acks.note_ecn_field(Ecn::Ce, &config, 3_000);
        assert_eq!(acks.quick, 1);
    }

    /// The first three reports above a gap leave, and so does the first of another one.
    #[test]
    fn each_gap_has_three_reports_at_once() {
        let config = Config::linux();
        let mut acks = measured(&[(1_000, Flags::ACK)]);
        let gap = SequenceNumber(10_000);
        acks.on_sent(gap);
        let report = |acks: &mut Acknowledgments, gap, sack| {
            acks.out_of_order(&config, gap, sack, false);
            let due = acks.due();
            if due == Due::Now {
                acks.on_sent(gap);
            }
            due
        };
        let seen = [0; 5].map(|_| report(&mut acks, gap, true));
        assert_eq!(seen, [Due::Now, Due::Now, Due::Now, Due::Delayed, Due::Delayed]);
        assert_eq!(report(&mut acks, gap, false), Due::Now, "each one without selective acknowledgments");
        acks.on_sent(gap + 1_000);
        assert_eq!(report(&mut acks, gap + 1_000, true), Due::Now, "another gap");
    }
}
