//! Opening a connection (RFC 9293 sections 3.5 and 3.10.7.3; options of RFC 7323 and RFC 2018; ECN by RFC 3168 section 6.1.1).

use crate::config::Config;
use crate::endpoint::Endpoint;
use crate::recovery::Agreed;
use crate::sender::{MIN_SEND_MSS, Now, TIMESTAMPS_LEN};
use crate::timers::Timers;
use crate::types::{Event, Identity, State};
use std::sync::Arc;
use wasp_units::Instant;
use wasp_wire::{Flags, SackBlocks, TcpHeader, Timestamps};

/// The largest shift of the window field (RFC 7323 section 2.3).
const MAX_SCALE: u8 = 14;

/// Whether the flags of a SYN or SYN-ACK make it an "ECN-setup" one: ECE and CWR ask for ECN, ECE alone agrees to it.
fn sets_up_ecn(flags: Flags) -> bool {
    flags.contains(Flags::ECE) && flags.contains(Flags::CWR) != flags.contains(Flags::ACK)
}

impl Endpoint {
    /// An active open: the SYN comes from [`Self::poll_transmit`].
    #[must_use]
    pub fn connect(
        config: &Arc<Config>,
        local_port: u16,
        remote_port: u16,
        identity: Identity,
        now: Instant,
    ) -> Self {
        let mut endpoint = Self::new(config, local_port, remote_port, identity, State::SynSent);
        endpoint.arm_handshake(now);
        endpoint
    }

    /// A passive open by the SYN `syn`: the SYN-ACK comes from [`Self::poll_transmit`]. Payload of the SYN is ignored,
    /// and will be sent again.
    #[must_use]
    pub fn accept(
        config: &Arc<Config>,
        syn: &TcpHeader,
        local_port: u16,
        identity: Identity,
        now: Instant,
    ) -> Self {
        let mut endpoint = Self::new(config, local_port, syn.source_port, identity, State::SynReceived);
        endpoint.take_options(syn, now);
        endpoint.receiver.set_segment(endpoint.segment());
        endpoint.receiver.open(syn.sequence);
        endpoint.sender.set_window(syn, 0);
        endpoint.arm_handshake(now);
        endpoint
    }

    /// What the peer's SYN offers is agreed on where we offer it too.
    fn take_options(&mut self, syn: &TcpHeader, now: Instant) {
        self.scaling &= syn.window_scale.is_some();
        if self.scaling {
            self.sender.scale = syn.window_scale.unwrap_or(0).min(MAX_SCALE);
            self.receiver.set_scale(self.config.receive_buffer.scale());
        }
        self.sack &= syn.sack_permitted;
        self.ecn &= sets_up_ecn(syn.flags);
        self.timestamps &= syn.timestamps.is_some();
        if let Some(timestamps) = syn.timestamps {
            self.set_ts_recent(now, timestamps.value);
        }
        self.sender.peer_mss = syn.mss.unwrap_or(self.config.default_mss).max(MIN_SEND_MSS);
        self.sender.mss = self.sender.full_segment(&self.config, self.timestamps);
    }

    /// What both ends agreed on that the sender goes by.
    fn agreed(&self) -> Agreed {
        Agreed { sack: self.sack, ecn: self.ecn }
    }

    /// The payload of a full segment of the peer's, bytes: our MSS without what timestamps take.
    pub(crate) fn segment(&self) -> u16 {
        let mss = self.sender.offered_mss(&self.config);
        if self.timestamps { mss - TIMESTAMPS_LEN } else { mss }
    }

    /// A segment in SYN-SENT. Its payload is ignored: the peer will send it again.
    pub(crate) fn handle_in_syn_sent(&mut self, at: Instant, header: &TcpHeader) {
        let flags = header.flags;
        let acknowledges = flags.contains(Flags::ACK);
        if acknowledges && header.acknowledgment != self.iss + 1 {
            // A half-open peer answers from an old connection (RFC 9293 figure 9): reset that, our SYN stays due.
            if !flags.contains(Flags::RST) {
                self.owe_reset(header.acknowledgment, false);
            }
            return;
        }
        if flags.contains(Flags::RST) {
            if acknowledges {
                self.finish(Event::Refused);
            }
            return;
        }
        if !flags.contains(Flags::SYN) {
            return;
        }
        self.take_options(header, at);
        self.receiver.open(header.sequence);
        self.sender.set_window(header, 0);
        if acknowledges {
            self.acks.now();
            self.output_due = true;
            self.establish(at, header);
        } else {
            // Simultaneous open (RFC 9293 figure 7).
            self.state = State::SynReceived;
            self.syn_due = true;
            self.output_due = true;
            self.arm_handshake(at);
        }
    }

    /// Our SYN is acknowledged by `header`.
    pub(crate) fn establish(&mut self, at: Instant, header: &TcpHeader) {
        let now = Now::new(&self.config, self.clocks, at);
        if self.syns_sent == 1 {
            let rtt = at.saturating_since(self.syn_sent_at);
            self.sender.rto.note_rtt(rtt);
            self.sender.rto.sample(&self.config, rtt, self.iss, self.iss + 1);
        } else if let (true, Some(timestamps)) = (self.timestamps, header.timestamps) {
            self.sender.sample_echo(&now, timestamps.echo);
        }
        let segments = if self.seems_lost_twice(header) { 1 } else { self.config.initial_window };
        self.sender.establish(&now, self.iss, self.agreed(), segments);
        let segment = self.segment();
        self.receiver.establish(at, segment);
        self.timers.retransmit = Timers::NONE;
        self.acks.forget_answers();
        self.syn_due = false;
        self.state = State::Established;
        self.events.push(Event::Connected);
        self.start_closing_if_queued();
        self.output_due = true;
    }

    /// Whether the SYN or SYN-ACK was sent again more than once, at least once for a timeout, and the peer does not echo the first one. RFC 5681
    /// section 3.1 asks for a window of one segment after a lost SYN; as Linux does, a single retransmission after the one second of RFC 6298
    /// is not yet taken for a loss (`tcp_init_transfer`, `tcp_try_undo_spurious_syn`).
    fn seems_lost_twice(&self, header: &TcpHeader) -> bool {
        // The first SYN-ACK that answers a SYN which crossed ours repeats nothing.
        let answers = u8::from(self.active && self.state == State::SynReceived);
        if self.syns_sent <= 2 + answers || self.sender.timeouts == 0 {
            return false;
        }
        let first = Now::new(&self.config, self.clocks, self.syn_sent_at).timestamp();
        let echo = header.timestamps.filter(|_| self.timestamps).map(|timestamps| timestamps.echo);
        echo != Some(first)
    }

    /// The handshake's timer: the SYN's first retransmissions at a constant interval (Linux
    /// `tcp_syn_linear_timeouts`), then doubling.
    pub(crate) fn arm_handshake(&mut self, at: Instant) {
        let linear = if self.state == State::SynSent { self.config.syn_linear_timeouts } else { 0 };
        self.sender.rto.set_shift(u32::from(self.sender.timeouts).saturating_sub(linear));
        self.arm_retransmission(at);
    }

    /// The handshake's timer expired. A SYN's retransmissions at a constant interval come on top of those that its retries count
    /// (Linux `tcp_write_timeout`).
    pub(crate) fn handshake_timeout(&mut self, at: Instant) {
        debug_assert!(matches!(self.state, State::SynSent | State::SynReceived));
        let retries = match self.state {
            State::SynSent => self.config.syn_retries + self.config.syn_linear_timeouts,
            _ => self.config.syn_ack_retries,
        };
        if u32::from(self.sender.timeouts) >= retries {
            self.finish(Event::TimedOut);
            return;
        }
        self.sender.timeouts = self.sender.timeouts.saturating_add(1);
        self.statistics.timeouts += 1;
        self.syn_due = true;
        self.output_due = true;
        self.arm_handshake(at);
    }

    /// The flags of the SYN or SYN-ACK that is due. A SYN asks for ECN only the first time, in case that something on the path drops
    /// what asks (section 6.1.1.1). As in Linux, the peer may agree nevertheless if it has received the first.
    fn handshake_flags(&self, passive: bool) -> Flags {
        match (passive, self.ecn) {
            (true, true) => Flags::SYN | Flags::ACK | Flags::ECE,
            (true, false) => Flags::SYN | Flags::ACK,
            (false, true) if self.syns_sent == 0 => Flags::SYN | Flags::ECE | Flags::CWR,
            (false, _) => Flags::SYN,
        }
    }

    /// The SYN or SYN-ACK that is due.
    pub(crate) fn handshake_segment(&mut self, at: Instant) -> TcpHeader {
        self.syn_due = false;
        let passive = self.state == State::SynReceived;
        let flags = self.handshake_flags(passive);
        if self.syns_sent == 0 {
            self.syn_sent_at = at;
        } else {
            self.statistics.retransmitted += 1;
            self.sender.note_resent();
        }
        self.syns_sent = self.syns_sent.saturating_add(1);
        let timestamp = Now::new(&self.config, self.clocks, at).timestamp();
        self.sender.next = self.iss + 1;
        let acknowledgment = if passive { self.receiver.next() } else { Default::default() };
        if passive {
            self.acks.on_sent(self.receiver.next());
        }
        let echo = if passive { self.ts_recent } else { 0 };
        let scale = self.scaling.then(|| self.config.receive_buffer.scale());
        TcpHeader {
            source_port: self.local_port,
            destination_port: self.remote_port,
            sequence: self.iss,
            acknowledgment,
            flags,
            window: self.receiver.unscaled_window(),
            mss: Some(self.sender.offered_mss(&self.config)),
            window_scale: scale,
            sack_permitted: self.sack,
            timestamps: self.timestamps.then_some(Timestamps { value: timestamp, echo }),
            sack: SackBlocks::default(),
        }
    }
}
