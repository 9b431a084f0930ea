//! What ICMP errors report of segments: that one was too long for the path (RFC 1191), or that it did not reach the peer (RFC 1122 section
//! 4.2.3.9).
//!
//! Anybody can send an error. It counts only if it quotes a sequence number in flight, which few can guess (RFC 5927 section 4.1):
//! ask [`Endpoint::is_in_flight`] first.

use crate::endpoint::Endpoint;
use crate::timers::Timers;
use crate::types::{Event, State};
use wasp_units::Instant;
use wasp_wire::SequenceNumber;

impl Endpoint {
    /// Whether `sequence` is in flight: SND.UNA =< SEG.SEQ < SND.NXT.
    #[must_use]
    pub fn is_in_flight(&self, sequence: SequenceNumber) -> bool {
        self.sender.una().at_or_before(sequence) && sequence.before(self.sender.next)
    }

    /// The path is known to carry no packets longer than `mtu` bytes. New segments become as short as that asks for, down to 48 bytes with their
    /// options (Linux `tcp_min_snd_mss`), and before it is sent a SYN offers no longer ones. The congestion window keeps its number of segments.
    ///
    /// A larger MTU than before changes nothing (section 6.3 lets it, after ten minutes).
    pub fn set_path_mtu(&mut self, mtu: u16) {
        if mtu > self.sender.path_mtu || self.state == State::Closed {
            return;
        }
        self.sender.path_mtu = mtu;
        let mss = self.sender.full_segment(&self.config, self.timestamps);
        if self.is_opening() {
            // The peer's SYN may still tell another size.
            self.sender.mss = mss;
            if self.syns_sent == 0 {
                self.receiver.set_segment(self.segment());
            }
        } else {
            self.sender.shorten_segments(&self.config, mss);
        }
    }

    /// A router reports that a segment in flight was longer than the `mtu` bytes of the next link, and was not to be fragmented.
    ///
    /// Beside what [`Self::set_path_mtu`] does, longer segments in flight are sent again in pieces at once, as far as the congestion window allows: nothing
    /// was lost by congestion (section 6.4; Linux `tcp_simple_retransmit`).
    pub fn handle_fragmentation_needed(&mut self, mtu: u16, now: Instant) {
        let is_news = mtu < self.sender.path_mtu;
        self.set_path_mtu(mtu);
        if self.is_opening() || self.state == State::Closed {
            return;
        }
        // What has been cut before is not to be cut again because a report of selective acknowledgments takes room now.
        let most = if is_news { self.payload_limit() } else { u32::from(self.sender.mss) };
        if self.sender.cut_segments(most) {
            self.timers.early = Timers::NONE;
            self.arm_retransmission(now);
        }
        self.output_due = true;
    }

    /// Nothing but a SYN or SYN-ACK has been sent.
    fn is_opening(&self) -> bool {
        matches!(self.state, State::SynSent | State::SynReceived)
    }

    /// A segment in flight did not reach the peer, and an ICMP error says so.
    ///
    /// As in Linux, a connection that we open is given up for that (`tcp_v4_err`), as if refused; RFC 1122 has it tried on unless the peer's own host
    /// sends the error. Any other connection goes on, also a half-open one, which Linux would forget (`tcp_req_err`).
    pub fn handle_unreachable(&mut self) {
        if self.state == State::SynSent {
            self.finish(Event::Refused);
        }
    }
}
