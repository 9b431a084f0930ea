//! An arriving segment (RFC 9293 section 3.10.7.4, RFC 5961, RFC 7323 section 5).

use crate::acknowledgment::RANGES_EXPECTED;
use crate::endpoint::Endpoint;
use crate::receiver::Arrival;
use crate::sender::{Fin, Now};
use crate::timers::{self, Timers};
use crate::types::{Event, State};
use wasp_packet::{Payload, PayloadPool};
use wasp_units::{Duration, Instant};
use wasp_wire::{Ecn, Flags, SequenceNumber, TcpHeader};

/// How long TS.Recent tells old segments from new ones, in seconds (RFC 7323 section 5.5: 24 days).
const TS_RECENT_LIFETIME: u32 = 24 * 86_400;

fn seconds(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000_000) as u32
}

impl Endpoint {
    /// A segment of this connection has arrived, in a packet with the ECN field `ecn`. Takes the payload over, and releases what it does
    /// not keep.
    pub fn handle_segment(
        &mut self,
        now: Instant,
        header: &TcpHeader,
        ecn: Ecn,
        payload: Payload,
        pool: &mut PayloadPool,
    ) {
        self.statistics.segments_received += 1;
        let keep = match self.state {
            State::Closed => false,
            State::SynSent => {
                self.handle_in_syn_sent(now, header);
                false
            }
            _ => self.accepts(now, header, payload.len()),
        };
        if keep {
            self.take_payload(now, header, ecn, payload, pool);
        } else {
            pool.release(payload);
        }
    }

    /// The checks of a synchronised state, in the order of RFC 9293, up to the acknowledgment. Returns whether the
    /// segment's text is to be processed.
    #[inline]
    fn accepts(&mut self, now: Instant, header: &TcpHeader, payload_len: u32) -> bool {
        let len = header.sequence_len(payload_len);
        if self.state == State::SynReceived && header.flags.contains(Flags::SYN) {
            return self.handle_syn_in_syn_received(now, header, payload_len);
        }
        if self.is_older(now, header) || !self.is_acceptable(header, len) {
            if !header.flags.contains(Flags::RST) {
                self.answer_unacceptable(now, header, payload_len);
            }
            return false;
        }
        if header.flags.intersects(Flags::RST | Flags::SYN) {
            self.handle_reset_or_syn(now, header);
            return false;
        }
        if !header.flags.contains(Flags::ACK) {
            return false;
        }
        self.note_timestamp(now, header);
        if self.state == State::FinWait2 {
            self.arm_fin_wait_2(now);
        }
        if self.state == State::SynReceived {
            if !self.handle_ack_in_syn_received(now, header) {
                return false;
            }
        } else {
            self.time_echo(now, header, len);
        }
        if !self.handle_acknowledgment(now, header, len) || self.state == State::Closed {
            return false;
        }
        if self.ecn && header.flags.contains(Flags::CWR) {
            self.on_cwr(len);
        }
        true
    }

    /// The peer says that it has reduced its window. With data, that is acknowledged at once, because the window may be very small (Linux
    /// `tcp_ecn_accept_cwr`).
    fn on_cwr(&mut self, len: u32) {
        self.acks.stop_echoing();
        if len > 0 {
            self.acks.now();
            self.output_due = true;
        }
    }

    /// Whether a segment is older than what came before (PAWS: RFC 7323 section 5.3, rule R1). After 24 days of silence
    /// nothing tells any more (section 5.5).
    #[inline]
    fn is_older(&self, now: Instant, header: &TcpHeader) -> bool {
        let Some(timestamps) = header.timestamps.filter(|_| self.timestamps) else { return false };
        (timestamps.value.wrapping_sub(self.ts_recent) as i32) < 0
            && !header.flags.contains(Flags::RST)
            && seconds(now).wrapping_sub(self.ts_recent_at) <= TS_RECENT_LIFETIME
    }

    /// Whether a segment of `len` sequence numbers touches the window.
    ///
    /// As in Linux, a segment that begins at the right edge of the window passes: with a closed window that is the
    /// peer's acknowledgment or its probe.
    #[inline]
    fn is_acceptable(&self, header: &TcpHeader, len: u32) -> bool {
        let (next, edge) = (self.receiver.next(), self.receiver.edge());
        let end = header.sequence + len;
        let reaches = if len == 0 { next.at_or_before(end) } else { next.before(end) };
        reaches && header.sequence.at_or_before(edge)
    }

    /// An acknowledgment answers what is not acceptable: at once if it carries data (the peer missed our
    /// acknowledgment), at a limited rate otherwise, so that two confused ends do not answer each other for ever.
    fn answer_unacceptable(&mut self, now: Instant, header: &TcpHeader, payload_len: u32) {
        self.output_due = true;
        if self.state == State::TimeWait && header.flags.contains(Flags::FIN) {
            self.enter_time_wait(now);
        }
        let end = header.sequence + payload_len;
        if payload_len > 0 && end.at_or_before(self.receiver.next()) {
            self.statistics.duplicates_received += 1;
            self.acks.report_duplicate((header.sequence, end));
            self.on_needless();
        } else if payload_len > 0 || header.flags.contains(Flags::FIN) {
            self.acks.now();
        } else {
            self.acks.challenge(now, self.config.challenge_ack_interval);
        }
    }

    /// A reset counts only at exactly RCV.NXT, a SYN never (RFC 5961 sections 3 and 4): anything else is asked back by a
    /// challenge acknowledgment.
    fn handle_reset_or_syn(&mut self, now: Instant, header: &TcpHeader) {
        let exact = header.sequence == self.receiver.next();
        if !header.flags.contains(Flags::RST) || !exact {
            self.acks.challenge(now, self.config.challenge_ack_interval);
            self.output_due = true;
            return;
        }
        let event = match self.state {
            State::SynReceived if self.active => Event::Refused,
            State::TimeWait => Event::Closed,
            _ => Event::Reset,
        };
        self.acks.cancel();
        self.finish(event);
    }

    /// In SYN-RECEIVED a SYN is the peer's again: our SYN-ACK was lost, or both opened at once.
    fn handle_syn_in_syn_received(&mut self, now: Instant, header: &TcpHeader, payload_len: u32) -> bool {
        let same = header.sequence + 1 == self.receiver.next();
        if !same || header.flags.contains(Flags::RST) {
            self.acks.challenge(now, self.config.challenge_ack_interval);
            self.output_due = true;
            return false;
        }
        if header.flags.contains(Flags::ACK) {
            if !self.handle_ack_in_syn_received(now, header) {
                return false;
            }
            let rest = TcpHeader {
                sequence: header.sequence + 1,
                flags: header.flags.without(Flags::SYN),
                ..*header
            };
            self.acks.now();
            self.handle_acknowledgment(now, &rest, payload_len);
            return false;
        }
        // The answer counts as the next retransmission would: its timer starts anew (Linux `tcp_check_req`).
        if self.acks.take_answer(now, self.config.challenge_ack_interval) {
            self.syn_due = true;
            self.output_due = true;
            self.arm_handshake(now);
        }
        false
    }

    /// The acknowledgment that completes the handshake, or a reset for another.
    fn handle_ack_in_syn_received(&mut self, now: Instant, header: &TcpHeader) -> bool {
        if header.acknowledgment != self.iss + 1 {
            self.owe_reset(header.acknowledgment, false);
            return false;
        }
        let scale = if header.flags.contains(Flags::SYN) { 0 } else { self.sender.scale };
        self.establish(now, header);
        self.sender.set_window(header, scale);
        true
    }

    /// TS.Recent follows the segment that spans Last.ACK.sent (RFC 7323 section 4.3).
    #[inline]
    fn note_timestamp(&mut self, now: Instant, header: &TcpHeader) {
        if self.timestamps
            && let Some(timestamps) = header.timestamps
            && header.sequence.at_or_before(self.acks.last_sent())
        {
            self.set_ts_recent(now, timestamps.value);
        }
    }

    /// TS.Recent, and when.
    #[inline]
    pub(crate) fn set_ts_recent(&mut self, now: Instant, value: u32) {
        self.ts_recent = value;
        self.ts_recent_at = seconds(now);
    }

    /// The acknowledgment field. Returns false when the segment is to be dropped.
    #[inline]
    fn handle_acknowledgment(&mut self, at: Instant, header: &TcpHeader, len: u32) -> bool {
        let una = self.sender.una();
        let ack = header.acknowledgment;
        let beyond = ack.after(self.sender.next);
        if beyond || una.since(ack) as i32 > self.sender.max_window().max(1) as i32 {
            // RFC 5961 section 5.2.
            self.acks.challenge(at, self.config.challenge_ack_interval);
            self.output_due = true;
            return false;
        }
        if ack.before(una) {
            return true;
        }
        if self.sender.scoreboard.is_empty() {
            self.output_due |= self.sender.acknowledge_nothing(header, len);
            return true;
        }
        self.take_acknowledgment(at, header, len);
        true
    }

    fn take_acknowledgment(&mut self, at: Instant, header: &TcpHeader, len: u32) {
        let now = Now::new(&self.config, self.clocks, at);
        let outcome = self.sender.acknowledge(&now, header, len);
        self.statistics.duplicate_acks += u32::from(outcome.duplicate);
        self.statistics.fast_retransmits += u32::from(outcome.entered_recovery);
        if outcome.progress || outcome.duplicate || outcome.window_changed || outcome.released {
            self.output_due = true;
        }
        if self.sender.scoreboard.is_empty() {
            (self.timers.retransmit, self.timers.early) = (Timers::NONE, Timers::NONE);
        } else if outcome.progress || outcome.duplicate {
            self.restart_timers(at, outcome.restart_timer);
        }
        if outcome.progress && self.sender.fin == Fin::Sent && self.sender.una() == self.sender.next {
            self.on_fin_acknowledged(at);
        }
    }

    /// An acknowledgment has come. One of three timers runs from now on, the first that is to (Linux has one timer for all): the reordering
    /// timer; that for a tail loss probe; that for retransmissions. The latter two start again only if they are to start `anew`.
    #[inline]
    fn restart_timers(&mut self, at: Instant, anew: bool) {
        let early_was_armed = self.timers.early != Timers::NONE;
        let now = Now::new(&self.config, self.clocks, at);
        if let Some(wait) = self.sender.reordering_wait(&now) {
            return self.arm_early(at, wait, false);
        }
        match self.sender.probe_wait(&now, true) {
            Some(wait) if anew => self.arm_early(at, wait, true),
            Some(_) if early_was_armed && self.early_is_probe => {}
            _ if early_was_armed => self.resume_retransmission(at),
            _ if anew => self.arm_retransmission(at),
            _ => {}
        }
    }

    /// The retransmission timer starts anew.
    pub(crate) fn arm_retransmission(&mut self, at: Instant) {
        let wait = self.sender.rto.current(&self.config);
        self.timers.retransmit = self.deadline(at, wait);
    }

    /// The retransmission timer takes over from the reordering timer or that of the probe: it ends as if it had run since the first
    /// segment was last sent, but not before what is lost has been sent again (Linux `tcp_rearm_rto`).
    pub(crate) fn resume_retransmission(&mut self, at: Instant) {
        self.timers.early = Timers::NONE;
        let now = Now::new(&self.config, self.clocks, at);
        if let Some(left) = self.sender.timeout_left(&now) {
            self.timers.retransmit = self.deadline(at, left.max(self.config.timer_granularity));
        }
    }

    /// The segment's text and FIN.
    #[inline]
    fn take_payload(
        &mut self,
        now: Instant,
        header: &TcpHeader,
        ecn: Ecn,
        payload: Payload,
        pool: &mut PayloadPool,
    ) {
        let fin = header.flags.contains(Flags::FIN);
        let len = payload.len();
        if (payload.is_empty() && !fin) || !self.may_receive() {
            pool.release(payload);
            return;
        }
        let arrival = self.receiver.receive(header.sequence, payload, fin, pool);
        self.output_due = true;
        if len > 0 {
            self.on_arrival(now, header, ecn, len, &arrival);
        }
        self.statistics.out_of_order += u32::from(arrival.out_of_order);
        if let Some(range) = arrival.duplicate {
            self.statistics.duplicates_received += 1;
            self.acks.report_duplicate(range);
        }
        // A FIN above a gap is answered too.
        if fin && !arrival.fin {
            self.acks.now();
        }
        if arrival.fin {
            self.on_remote_fin(now);
        }
    }

    /// Payload of `len` bytes has arrived: decides when it is acknowledged (Linux `tcp_event_data_recv`, `tcp_data_queue_ofo`,
    /// `__tcp_ack_snd_check`).
    #[inline]
    fn on_arrival(&mut self, now: Instant, header: &TcpHeader, ecn: Ecn, len: u32, arrival: &Arrival) {
        if arrival.in_order == 0 && !arrival.out_of_order {
            // It lies beyond the window: a probe of a closed one, perhaps.
            return self.on_needless();
        }
        let header_len = if self.timestamps { 32 } else { 20 };
        let larger = self.acks.measure(&self.config, len, header_len, header.flags);
        let seen = self.acks.segment();
        if larger && let Some(tuning) = self.receiver.tuning() {
            tuning.on_larger_segment(len);
        }
        let window = self.receiver.offered(self.acks.last_sent());
        if arrival.in_order > 0 {
            self.events.push(Event::Readable);
            self.acks.on_data(&self.config, window, self.sender.rto.current(&self.config), now);
        }
        if self.ecn {
            self.acks.note_ecn_field(ecn, &self.config, window);
            self.statistics.marked += u32::from(ecn == Ecn::Ce);
        }
        if self.receiver.tune(&self.config, now, arrival, len, seen, self.sack) {
            self.acks.on_growth(&self.config);
        }
        if arrival.in_order > 0 {
            self.acknowledge_in_order(now, arrival);
        } else {
            self.acknowledge_out_of_order(now);
        }
    }

    /// Every second segment is acknowledged at once, unless the window would shrink by it; then reading comes first.
    #[inline]
    fn acknowledge_in_order(&mut self, now: Instant, arrival: &Arrival) {
        let mut pressing = arrival.disorder || arrival.duplicate.is_some();
        if self.acks.is_second(self.receiver.next()) {
            let (keeps_up, tight) = self.receiver.keeps_up(&self.config, self.acks.segment());
            pressing |= keeps_up;
            if tight {
                self.acks.on_tight();
            }
        }
        if self.acks.in_order(&self.config, pressing) {
            self.timers.delayed_ack = timers::delayed_ack_deadline(&self.config, now, self.clocks.phase);
        }
    }

    /// Data above a gap is acknowledged at once at first, then after a twentieth of the round trip at most.
    fn acknowledge_out_of_order(&mut self, now: Instant) {
        let many = self.receiver.reported() > RANGES_EXPECTED;
        if !self.acks.out_of_order(&self.config, self.receiver.next(), self.sack, many) {
            return;
        }
        let sent = self.sender.rto.srtt(&self.config);
        let received = self.receiver.rtt().map(|micros| Duration::from_micros(u64::from(micros)));
        let rtt = received.into_iter().chain(sent).min().unwrap_or_default();
        let wait = (rtt / 20).min(self.config.comp_sack_delay) + self.config.comp_sack_slack;
        self.timers.delayed_ack = self.timers.delayed_ack.min(now.saturating_add(wait));
    }

    /// The first segment that echoes a timestamp of ours tells the receiver's round-trip time where it is a full one; `len` is its
    /// sequence length (Linux `tcp_rcv_rtt_measure_ts`, which is not called for what ends the handshake).
    #[inline]
    fn time_echo(&mut self, at: Instant, header: &TcpHeader, len: u32) {
        let Some(timestamps) = header.timestamps.filter(|stamps| self.timestamps && stamps.echo != 0) else {
            return;
        };
        let Some(tuning) = self.receiver.tuning() else { return };
        if !tuning.note_echo(timestamps.echo) || len < self.acks.segment() {
            return;
        }
        let steps = Now::new(&self.config, self.clocks, at).timestamp().wrapping_sub(timestamps.echo);
        let rtt = self.config.timestamp_step.saturating_mul(u64::from(steps));
        if rtt <= self.config.max_rto {
            self.receiver.time_echo((rtt.as_nanos() / 1_000) as u32);
        }
    }

    /// The peer sent again what had been acknowledged, or beyond the window.
    fn on_needless(&mut self) {
        let window = self.receiver.offered(self.acks.last_sent());
        self.acks.on_needless(&self.config, window);
    }

    /// A reset is owed.
    pub(crate) fn owe_reset(&mut self, sequence: SequenceNumber, acknowledge: bool) {
        self.reset_due = Some((sequence, acknowledge));
        self.output_due = true;
    }
}
