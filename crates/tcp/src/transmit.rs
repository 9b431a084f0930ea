//! What leaves: resets, the handshake, data, acknowledgments, probes; and the timers that make something leave.

use crate::acknowledgment::Due;
use crate::endpoint::Endpoint;
use crate::scoreboard::Segment;
use crate::sender::{Fin, Now, Plan, Probe};
use crate::timers::{self, Timers};
use crate::types::{Event, State, Transmit};
use wasp_packet::{Payload, PayloadPool};
use wasp_units::{Duration, Instant};
use wasp_wire::{Ecn, Flags, SackBlocks, SequenceNumber, TcpHeader, Timestamps};

/// What an application takes from the kernel's word that there is room to its next write, so that acknowledgments that come together go
/// before it. nginx on Linux 6.18 takes 50 to 100 µs.
const WAKING: Duration = Duration::from_micros(50);

/// A data segment before its headers: where it starts, its payload, its flags, and the ECN field of its packet.
type Data = (SequenceNumber, Payload, Flags, Ecn);

impl Endpoint {
    /// The next segment to send. Call it until it returns `None` after each event and command.
    ///
    /// When the pool has no room for a segment's payload, the segment counts as sent, and is lost.
    pub fn poll_transmit(&mut self, at: Instant, pool: &mut PayloadPool) -> Option<Transmit> {
        if self.output_due { self.next_segment(at, pool) } else { None }
    }

    fn next_segment(&mut self, now: Instant, pool: &mut PayloadPool) -> Option<Transmit> {
        if let Some((sequence, acknowledge)) = self.reset_due.take() {
            let header = self.reset(now, sequence, acknowledge);
            return self.sent(Transmit::empty(header));
        }
        if matches!(self.state, State::SynSent | State::SynReceived) {
            if !self.syn_due {
                return self.nothing_sent();
            }
            let header = self.handshake_segment(now);
            return self.sent(Transmit::empty(header));
        }
        if self.state == State::Closed && self.acks.due() != Due::Now {
            return self.nothing_sent();
        }
        if let Some((sequence, payload, flags, ecn)) = self.next_data(now, pool) {
            let header = self.header(now, sequence, flags, payload.len());
            return self.sent(Transmit { header, payload, ecn });
        }
        if self.acks.due() == Due::Now {
            let next = self.sender.next;
            // Nothing else can leave before something happens.
            self.output_due = self.sender.probe == Probe::Window;
            let header = self.header(now, next, Flags::ACK, 0);
            return self.sent(Transmit::empty(header));
        }
        if self.sender.probe == Probe::Window {
            self.sender.probe = Probe::None;
            let below = self.sender.una() - 1;
            let header = self.header(now, below, Flags::ACK, 0);
            return self.sent(Transmit::empty(header));
        }
        self.nothing_sent()
    }

    /// Counts a segment where it is made, so that it is not copied to be looked at.
    #[inline]
    fn sent(&mut self, segment: Transmit) -> Option<Transmit> {
        self.statistics.segments_sent += 1;
        Some(segment)
    }

    #[inline]
    fn nothing_sent(&mut self) -> Option<Transmit> {
        self.output_due = false;
        None
    }

    /// The next data segment, first transmission or not. Ends, because each turn without a segment uses up window, or writes something.
    fn next_data(&mut self, now: Instant, pool: &mut PayloadPool) -> Option<Data> {
        if self.state == State::Closed || self.sender.has_nothing_to_send() {
            return None;
        }
        self.sender.check_idle(&Now::new(&self.config, self.clocks, now));
        loop {
            let limit = self.payload_limit();
            let between_frames = self.data_sent && self.sender.frame_ended();
            match self.sender.plan(&Now::new(&self.config, self.clocks, now), limit) {
                Plan::New { len, fin } => {
                    if between_frames {
                        self.check_room(now);
                    }
                    let data = self.send_new(now, len, fin, pool);
                    if len < limit {
                        self.sender.mark_small();
                    }
                    if data.is_some() {
                        return data;
                    }
                }
                Plan::Retransmit { index, rescue } => {
                    if let Some(data) = self.send_again(now, index, rescue, pool) {
                        return Some(data);
                    }
                }
                Plan::Nothing => {
                    if !self.sender.write(&self.config) {
                        break;
                    }
                }
            }
        }
        let sent = std::mem::take(&mut self.data_sent);
        self.sender.note_usage(sent);
        if sent {
            self.arm_for_new_data(now);
        }
        if self.timers.retransmit == Timers::NONE && self.sender.needs_persist() {
            self.arm_persist(now);
        }
        self.check_room(now);
        None
    }

    #[inline]
    fn send_new(&mut self, now: Instant, len: u32, fin: bool, pool: &mut PayloadPool) -> Option<Data> {
        let distance = self.sender.flight();
        let payload = self.sender.buffer.payload(distance, len, pool);
        let mut flags = self.data_flags(distance, len, fin);
        if self.sender.ends_frame() {
            flags = flags | Flags::PSH;
        }
        let mut ecn = Ecn::NotEct;
        if self.ecn && len > 0 {
            ecn = Ecn::Ect0;
            if self.sender.recovery.take_cwr() {
                flags = flags | Flags::CWR;
            }
        }
        let (start, first) = self.sender.on_new_sent(&Now::new(&self.config, self.clocks, now), len, fin);
        if first {
            // What ran before, if anything, was the persist timer.
            self.timers.retransmit = Timers::NONE;
        }
        self.acks.on_data_sent(&self.config, now);
        self.data_sent = true;
        payload.map(|payload| (start, payload, flags, ecn))
    }

    fn send_again(
        &mut self,
        now: Instant,
        index: usize,
        rescue: bool,
        pool: &mut PayloadPool,
    ) -> Option<Data> {
        let (start, segment) = self.sender.scoreboard.get(index)?;
        let distance = start.since(self.sender.una());
        let fin = segment.has(Segment::FIN);
        let len = segment.end.since(start) - u32::from(fin);
        debug_assert!(distance + len <= self.sender.flight(), "what is sent again was sent before");
        let payload = self.sender.buffer.payload(distance, len, pool);
        let flags = self.data_flags(distance, len, fin);
        self.sender.on_resent(&Now::new(&self.config, self.clocks, now), index, rescue);
        self.statistics.retransmitted += 1;
        let restarts = index == 0 && self.sender.recovery.first_restarts_timer();
        let none_runs = self.timers.retransmit == Timers::NONE && self.timers.early == Timers::NONE;
        if restarts || none_runs {
            self.arm_retransmission(now);
        }
        // RFC 3168 section 6.1.5: no queue may mark what is sent again.
        payload.map(|payload| (start, payload, flags, Ecn::NotEct))
    }

    /// PSH goes with the last byte written (RFC 9293 section 3.9.1.2).
    #[inline]
    fn data_flags(&self, distance: u32, len: u32, fin: bool) -> Flags {
        let mut flags = Flags::ACK;
        if len > 0 && self.sender.buffer.is_last(distance, len) {
            flags = flags | Flags::PSH;
        }
        if fin { flags | Flags::FIN } else { flags }
    }

    /// The most payload that fits beside the SACK blocks that are to be reported.
    #[inline]
    pub(crate) fn payload_limit(&self) -> u32 {
        let mss = u32::from(self.sender.mss);
        if !self.sack || !self.receiver.has_gap() {
            return mss;
        }
        let mut blocks = SackBlocks::default();
        self.receiver.report(&mut blocks, self.most_blocks());
        mss - (4 + 8 * blocks.as_slice().len() as u32).min(mss - 1)
    }

    /// SACK blocks that fit into the options (RFC 2018 section 3).
    fn most_blocks(&self) -> usize {
        if self.timestamps { 3 } else { 4 }
    }

    /// The header of a segment with an acknowledgment, which echoes a mark until the peer has reduced its window (RFC 3168 section
    /// 6.1.3). Whatever it acknowledges and advertises is taken as said.
    #[inline]
    fn header(&mut self, now: Instant, sequence: SequenceNumber, flags: Flags, len: u32) -> TcpHeader {
        let next = self.receiver.next();
        let (window, tight) = self.receiver.advertise(&self.config, self.acks.segment());
        if tight {
            self.acks.on_tight();
        }
        self.timers.delayed_ack = Timers::NONE;
        let duplicate = self.acks.on_sent(next);
        let mut sack = SackBlocks::default();
        if self.sack && (duplicate.is_some() || self.receiver.has_gap()) {
            let most = self.blocks_beside(len);
            if let Some((left, right)) = duplicate
                && most > 0
            {
                sack.push(left, right);
            }
            self.receiver.report(&mut sack, most);
        }
        TcpHeader {
            source_port: self.local_port,
            destination_port: self.remote_port,
            sequence,
            acknowledgment: next,
            flags: flags | self.acks.echo(),
            window,
            mss: None,
            window_scale: None,
            sack_permitted: false,
            timestamps: self.timestamps.then(|| self.stamps(now)),
            sack,
        }
    }

    fn stamps(&self, now: Instant) -> Timestamps {
        let value = Now::new(&self.config, self.clocks, now).timestamp();
        Timestamps { value, echo: self.ts_recent }
    }

    /// SACK blocks that fit beside `len` bytes of payload.
    fn blocks_beside(&self, len: u32) -> usize {
        let room = u32::from(self.sender.mss).saturating_sub(len);
        if len == 0 {
            self.most_blocks()
        } else {
            self.most_blocks().min(room.saturating_sub(4) as usize / 8)
        }
    }

    /// A reset: with an acknowledgment and timestamps (RFC 7323 section 3.2) where it ends a connection, without where it
    /// answers a segment of another.
    fn reset(&self, now: Instant, sequence: SequenceNumber, acknowledge: bool) -> TcpHeader {
        TcpHeader {
            source_port: self.local_port,
            destination_port: self.remote_port,
            sequence,
            acknowledgment: if acknowledge { self.receiver.next() } else { SequenceNumber::default() },
            flags: if acknowledge { Flags::RST | Flags::ACK } else { Flags::RST },
            timestamps: (acknowledge && self.timestamps).then(|| self.stamps(now)),
            ..TcpHeader::default()
        }
    }

    fn arm_persist(&mut self, at: Instant) {
        let wait = self.sender.persist_interval(&self.config);
        self.timers.retransmit = self.deadline(at, wait);
    }

    /// When a timer of `wait` ends that starts at `at`.
    pub(crate) fn deadline(&self, at: Instant, wait: Duration) -> Instant {
        timers::deadline(&self.config, at, wait, self.clocks.phase)
    }

    /// Runs what is due at `at`; harmless when nothing is.
    pub fn handle_timeout(&mut self, at: Instant) {
        if self.timers.early <= at {
            self.timers.early = Timers::NONE;
            self.early_timeout(at);
        }
        if self.timers.early == Timers::NONE && self.timers.retransmit <= at {
            self.timers.retransmit = Timers::NONE;
            self.retransmission_timeout(at);
        }
        if self.timers.delayed_ack <= at {
            self.timers.delayed_ack = Timers::NONE;
            self.acks.on_delay_expired();
            self.output_due = true;
        }
        if self.timers.write <= at {
            self.timers.write = Timers::NONE;
            self.sender.begin_write(&self.config);
            self.output_due = true;
        }
        if self.timers.linger <= at {
            self.timers.linger = Timers::NONE;
            self.linger_timeout();
        }
    }

    /// Where the application waits for room in the send buffer, and there is enough, it is told.
    #[inline]
    fn check_room(&mut self, at: Instant) {
        let waits = self.sender.waits_for_room() && self.timers.write == Timers::NONE;
        if waits && self.sender.has_room(&self.config) {
            self.timers.write = at + WAKING;
        }
    }

    /// New data has left: the timer for tail loss probes starts anew, or else the retransmission timer runs. The reordering timer
    /// goes on, and so does the timer that a probe has started.
    #[inline]
    fn arm_for_new_data(&mut self, at: Instant) {
        let early_was_armed = self.timers.early != Timers::NONE;
        let is_probe = self.sender.recovery.ends_with_probe(self.sender.next);
        if is_probe || (early_was_armed && !self.early_is_probe) {
            return;
        }
        let now = Now::new(&self.config, self.clocks, at);
        match self.sender.probe_wait(&now, false) {
            Some(wait) => self.arm_early(at, wait, true),
            None if early_was_armed || self.timers.retransmit == Timers::NONE => {
                self.resume_retransmission(at)
            }
            None => {}
        }
    }

    /// The reordering timer, or that for a tail loss probe, ends after `wait`.
    #[inline]
    pub(crate) fn arm_early(&mut self, at: Instant, wait: Duration, is_probe: bool) {
        self.timers.early = self.deadline(at, wait);
        self.early_is_probe = is_probe;
    }

    /// The reordering window has passed, or the end of the flight is to be probed. The probe, as the first retransmission,
    /// restarts the retransmission timer (RFC 8985 section 7.3).
    fn early_timeout(&mut self, at: Instant) {
        self.output_due = true;
        if self.early_is_probe {
            if self.sender.recovery.is_probing() {
                // One probe at a time (RFC 8985 section 7.3; Linux `tcp_send_loss_probe`).
                return self.resume_retransmission(at);
            }
            self.sender.on_probe_timeout();
            return self.arm_retransmission(at);
        }
        let now = Now::new(&self.config, self.clocks, at);
        if self.sender.on_reordering_timeout(&now) {
            self.statistics.fast_retransmits += 1;
        }
        self.resume_retransmission(at);
    }

    fn retransmission_timeout(&mut self, at: Instant) {
        if matches!(self.state, State::SynSent | State::SynReceived) {
            self.handshake_timeout(at);
            return;
        }
        let now = Now::new(&self.config, self.clocks, at);
        self.output_due = true;
        let alive = if !self.sender.scoreboard.is_empty() {
            self.statistics.timeouts += 1;
            if self.sender.timeouts == 0 {
                self.statistics.first_timeouts += 1;
                self.statistics.first_timeouts_ms += self.sender.rto.current(&self.config).as_millis() as u32;
            }
            self.sender.on_timeout(&now)
        } else if self.sender.needs_persist() {
            self.sender.on_persist(&now)
        } else {
            return;
        };
        if !alive {
            self.finish(Event::TimedOut);
        } else if self.sender.scoreboard.is_empty() {
            self.arm_persist(at);
        } else {
            self.arm_retransmission(at);
        }
    }

    /// Whether everything queued has been sent and acknowledged, the FIN included if we closed.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.sender.buffer.unacknowledged() == 0 && self.sender.fin != Fin::Queued && self.flight() == 0
    }
}
