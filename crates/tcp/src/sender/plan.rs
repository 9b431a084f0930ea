//! What may leave next: the windows, the rules against small segments, and the order of retransmissions and new data.

use super::{Fin, Now, Probe, Sender};
use crate::config::{Config, Nagle, RttEstimator, SendBufferSize};
use crate::recovery::Next;
use wasp_wire::SequenceNumber;

/// What is to leave next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Plan {
    /// A segment again.
    Retransmit {
        /// Its place on the scoreboard.
        index: usize,
        /// By RFC 6675's NextSeg rule 4.
        rescue: bool,
    },
    /// So many new bytes, perhaps with the FIN.
    New {
        /// Bytes.
        len: u32,
        /// The FIN goes with them.
        fin: bool,
    },
    /// Nothing.
    Nothing,
}

impl Sender {
    /// Whether nothing is queued and nothing in flight.
    #[inline]
    pub(crate) fn has_nothing_to_send(&self) -> bool {
        let unsent = self.buffer.unsent() + self.buffer.unwritten();
        self.scoreboard.is_empty() && unsent == 0 && self.fin != Fin::Queued
    }

    /// Whether a FIN is to leave when what has been written has.
    #[inline]
    pub(crate) fn fin_follows(&self) -> bool {
        self.fin == Fin::Queued && self.buffer.unwritten() == 0
    }

    /// Whether data or a FIN wait that only the peer's window holds back, with nothing in flight to bring an answer.
    pub(crate) fn needs_persist(&self) -> bool {
        self.scoreboard.is_empty() && (self.buffer.unsent() > 0 || self.fin_follows())
    }

    /// The window restarts when nothing has been sent for longer than the RTO (RFC 5681 section 4.1).
    pub(crate) fn check_idle(&mut self, now: &Now<'_>) {
        if !self.scoreboard.is_empty() || self.buffer.unsent() == 0 {
            return;
        }
        let idle = now.at.saturating_since(self.last_data);
        let rto = self.rto.current(now.config);
        if idle > rto && !self.idle_counted {
            self.congestion.on_idle(now.config, u32::from(self.mss), idle, rto);
            self.idle_counted = true;
        }
    }

    /// What leaves next. `limit` is the most payload that fits a segment with its options.
    #[inline]
    pub(crate) fn plan(&mut self, now: &Now<'_>, limit: u32) -> Plan {
        let config = now.config;
        self.stopped = false;
        let new = self.new_segment(config, limit);
        if self.probe == Probe::Tail {
            return self.plan_tail_probe(new);
        }
        match self.recovery.next(&mut self.scoreboard, new.is_some()) {
            Next::Forced(index) => Plan::Retransmit { index: self.cut_if_long(index), rescue: false },
            Next::Retransmit(index) => self.plan_retransmission(config, index, false),
            Next::Rescue(index) => self.plan_retransmission(config, index, true),
            Next::New => match new {
                Some((len, fin)) => self.plan_new(now, len, fin),
                None => self.end_frame(),
            },
        }
    }

    /// New data if there is any that the peer's window allows, else the last segment again (RFC 8985's
    /// TLP_send_probe).
    fn plan_tail_probe(&mut self, new: Option<(u32, bool)>) -> Plan {
        match (new, self.scoreboard.len().checked_sub(1)) {
            (Some((len, fin)), _) => Plan::New { len, fin },
            (None, Some(index)) => {
                self.cut_if_long(index);
                Plan::Retransmit { index: self.scoreboard.len() - 1, rescue: false }
            }
            (None, None) => {
                self.probe = Probe::None;
                Plan::Nothing
            }
        }
    }

    #[inline]
    fn plan_new(&mut self, now: &Now<'_>, len: u32, fin: bool) -> Plan {
        let free = self.free(now.config);
        if len > free {
            self.stop()
        } else if self.frame_leaves(now, free) {
            Plan::New { len, fin }
        } else {
            self.end_frame()
        }
    }

    /// What is about to be sent again may be longer than what the path is known to carry: then it is cut, with all in flight that is (Linux
    /// `__tcp_retransmit_skb`). Returns the place of what is to be sent again.
    fn cut_if_long(&mut self, index: usize) -> usize {
        let most = u32::from(self.mss);
        if self.scoreboard.payload_of(index) <= most || !self.scoreboard.cut(most) {
            return index;
        }
        self.recovery.repair_cut();
        self.scoreboard.first_lost().unwrap_or(0)
    }

    fn plan_retransmission(&mut self, config: &Config, index: usize, rescue: bool) -> Plan {
        let index = self.cut_if_long(index);
        let len = self.scoreboard.get(index).map_or(0, |(start, segment)| segment.end.since(start));
        if len.min(u32::from(self.mss)) <= self.free(config) {
            Plan::Retransmit { index, rescue }
        } else {
            self.stop()
        }
    }

    fn stop(&mut self) -> Plan {
        self.stopped = true;
        self.end_frame()
    }

    fn end_frame(&mut self) -> Plan {
        self.frame = 0;
        Plan::Nothing
    }

    /// What the congestion window leaves room for, bytes.
    #[inline]
    pub(super) fn free(&self, config: &Config) -> u32 {
        let window = self.recovery.window(config, &self.congestion, u32::from(self.mss));
        let mss = u32::from(self.mss);
        window.saturating_sub(self.recovery.outstanding(config, &self.scoreboard, self.flight(), mss))
    }

    /// The new segment that the peer's window, the send buffer and the rules against small segments allow.
    #[inline]
    fn new_segment(&self, config: &Config, limit: u32) -> Option<(u32, bool)> {
        let unsent = self.buffer.unsent();
        let flight = self.flight();
        let room = self.window.saturating_sub(flight);
        if unsent == 0 {
            // A FIN takes a number of the window as a byte does.
            return (self.fin_follows() && room > 0).then_some((0, true));
        }
        let mut len = unsent.min(u64::from(limit)) as u32;
        if let SendBufferSize::Fixed(most) = config.send_buffer {
            len = len.min(most);
            if flight.saturating_add(len) > most {
                return None;
            }
        }
        if len > room {
            // Sender's silly window avoidance (RFC 1122 section 4.2.3.4): half the peer's buffer or nothing.
            let worthwhile = self.probe == Probe::Data || room >= (self.max_window / 2).max(1);
            if room == 0 || !worthwhile {
                return None;
            }
            len = room;
        }
        let last = u64::from(len) == unsent;
        let fin = last && self.fin_follows() && len < room;
        let small = len < limit && last && !fin && len < (self.max_window / 2).max(1);
        let urgent = self.probe == Probe::Tail || self.recovery.prefers_new_data();
        if small && !urgent && self.nagle_holds(config, flight) {
            return None;
        }
        Some((len, fin))
    }

    fn nagle_holds(&self, config: &Config, flight: u32) -> bool {
        match config.nagle {
            Nagle::Off => false,
            Nagle::Classic => flight > 0,
            // The second test discards a mark so old that the numbers have gone half around.
            Nagle::Minshall => self.small_end.after(self.una()) && self.small_end.at_or_before(self.next),
        }
    }

    /// New data leaves. Returns the first number of the segment, and whether it is the first in flight.
    #[inline]
    pub(crate) fn on_new_sent(&mut self, now: &Now<'_>, len: u32, fin: bool) -> (SequenceNumber, bool) {
        let start = self.next;
        let first = self.scoreboard.is_empty();
        if first {
            self.congestion.on_resume(now.at, now.at.saturating_since(self.last_data));
            self.idle_counted = false;
        }
        self.next = start + len + u32::from(fin);
        self.scoreboard.push(self.next, fin, now.at);
        if self.frame != 0 && self.frame != self.framed {
            self.scoreboard.join_last();
        }
        self.buffer.advance_sent(len);
        self.frame = self.frame.saturating_sub(1);
        self.recovery.on_new_data(len);
        self.settle_probe(false);
        self.probe = Probe::None;
        if fin {
            self.fin = Fin::Sent;
        }
        if now.config.rtt_estimator == RttEstimator::Bsd {
            self.rto.time_segment(start, now.at);
        }
        self.last_data = now.at;
        (start, first)
    }

    /// What has just left was less than fitted into a segment.
    pub(crate) fn mark_small(&mut self) {
        self.small_end = self.next;
    }

    /// The segment at `index` leaves again.
    pub(crate) fn on_resent(&mut self, now: &Now<'_>, index: usize, rescue: bool) {
        self.note_resent();
        self.scoreboard.retransmit(index, now.at);
        self.recovery.on_retransmitted(rescue);
        if self.probe != Probe::Tail {
            self.recovery.note_retransmission(now.timestamp());
        }
        self.settle_probe(true);
        self.rto.stop_timing();
        self.last_data = now.at;
    }

    /// A segment has left, which is the probe if one was due.
    #[inline]
    fn settle_probe(&mut self, retransmission: bool) {
        if self.probe == Probe::Tail {
            self.recovery.on_probe(self.next, retransmission);
            self.probe = Probe::None;
        }
    }
}
