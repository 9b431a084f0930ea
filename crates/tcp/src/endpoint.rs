//! The endpoint: its state, its interface, and what every transition shares.

use crate::acknowledgment::Acknowledgments;
use crate::config::{Config, EcnMode, SendBufferSize};
use crate::receiver::Receiver;
use crate::sender::{Clocks, Fin, Sender};
use crate::timers::Timers;
use crate::types::{Chunk, Event, Events, Identity, ReceivePolicy, State, Statistics};
use std::sync::Arc;
use wasp_packet::{PayloadPool, View};
use wasp_units::{Duration, Instant};
use wasp_wire::{Flags, SequenceNumber, TcpHeader};

/// One end of a TCP connection.
///
/// There are four kinds of method. *Getters* read. *Events in* are [`Self::handle_segment`], [`Self::handle_timeout`], and what the
/// network reports: [`Self::handle_fragmentation_needed`] and [`Self::handle_unreachable`]. *Commands* of the application are [`Self::send`], [`Self::read`], [`Self::close`],
/// [`Self::abort`] and their like. *Work out* is [`Self::poll_transmit`], [`Self::poll_event`] and
/// [`Self::poll_timeout`].
///
/// After each event or command, call `poll_event` and `poll_transmit` until both return `None` (what the application does
/// about an event is a command again), and arrange for `handle_timeout` at `poll_timeout`. An application that reads at
/// once is polled first, so that the acknowledgment carries the window it has opened: else the next acknowledgment has
/// another window, and is then no duplicate by RFC 5681's definition. Time never goes back from call to call. An endpoint
/// is given up by [`Self::release`], after an event that ends it or at any time.
#[derive(Debug)]
pub struct Endpoint {
    pub(crate) config: Arc<Config>,
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    pub(crate) acks: Acknowledgments,
    pub(crate) timers: Timers,
    pub(crate) statistics: Statistics,
    pub(crate) iss: SequenceNumber,
    pub(crate) clocks: Clocks,
    /// TS.Recent (RFC 7323 section 4.3).
    pub(crate) ts_recent: u32,
    /// The second of the run in which it was set.
    pub(crate) ts_recent_at: u32,
    /// When our SYN was first sent, for the first round-trip sample.
    pub(crate) syn_sent_at: Instant,
    /// A reset is owed: its sequence number, and whether it carries an acknowledgment.
    pub(crate) reset_due: Option<(SequenceNumber, bool)>,
    pub(crate) local_port: u16,
    pub(crate) remote_port: u16,
    pub(crate) state: State,
    pub(crate) events: Events,
    /// We sent the first SYN.
    pub(crate) active: bool,
    /// SYNs and SYN-ACKs sent, at most 255.
    pub(crate) syns_sent: u8,
    /// A SYN or SYN-ACK is to be sent.
    pub(crate) syn_due: bool,
    /// Agreed, or before that offered: timestamps, selective acknowledgments, window scaling, explicit congestion notification.
    pub(crate) timestamps: bool,
    pub(crate) sack: bool,
    pub(crate) scaling: bool,
    pub(crate) ecn: bool,
    /// Something may have to leave.
    pub(crate) output_due: bool,
    /// A data segment has left since the last time nothing could.
    pub(crate) data_sent: bool,
    /// The early timer is that for a tail loss probe, and not the reordering timer.
    pub(crate) early_is_probe: bool,
}

impl Endpoint {
    pub(crate) fn new(
        config: &Arc<Config>,
        local_port: u16,
        remote_port: u16,
        identity: Identity,
        state: State,
    ) -> Self {
        let iss = SequenceNumber(identity.isn);
        Self {
            sender: Sender::new(config, iss),
            receiver: Receiver::new(config),
            acks: Acknowledgments::new(config),
            timers: Timers::new(),
            statistics: Statistics::default(),
            iss,
            clocks: Clocks { phase: identity.timer_phase, timestamp_offset: identity.timestamp_offset },
            ts_recent: 0,
            ts_recent_at: 0,
            syn_sent_at: Instant::ZERO,
            syns_sent: 0,
            reset_due: None,
            local_port,
            remote_port,
            state,
            events: Events::default(),
            active: state == State::SynSent,
            syn_due: true,
            timestamps: config.timestamps,
            sack: config.sack,
            scaling: config.window_scaling,
            ecn: if state == State::SynSent {
                config.ecn == EcnMode::Ask
            } else {
                config.ecn != EcnMode::Off
            },
            output_due: true,
            data_sent: false,
            early_is_probe: false,
            config: Arc::clone(config),
        }
    }

    /// When [`Self::handle_timeout`] is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Whether [`Self::handle_timeout`] is due at `now` for a timer of TCP.
    #[must_use]
    pub fn is_timer_due(&self, now: Instant) -> bool {
        let of_tcp = Timers { write: Timers::NONE, ..self.timers };
        of_tcp.next().is_some_and(|next| next <= now)
    }

    /// Whether [`Self::handle_timeout`] is due at `now` for the application, which was told of room in the send buffer, and writes on.
    #[must_use]
    pub fn is_writer_due(&self, now: Instant) -> bool {
        self.timers.write <= now
    }

    /// What has happened since the last call, one event at a time; `None` when there is no more.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// Appends to the send stream. All is taken, and written as fast as the send buffer allows; nothing after [`Self::close`] or the end.
    pub fn send(&mut self, chunk: Chunk) {
        if self.sender.fin == Fin::Open && self.state != State::Closed {
            self.sender.send(&self.config, chunk);
            self.output_due = true;
        }
    }

    /// Hands over up to `max` bytes of in-order data, piece by piece, and opens the window. Returns how many.
    pub fn read(
        &mut self,
        now: Instant,
        max: u64,
        pool: &mut PayloadPool,
        sink: &mut dyn FnMut(View<'_>),
    ) -> u64 {
        let taken = self.receiver.read(&self.config, now, self.acks.segment(), max, pool, sink);
        if taken == 0 || self.state == State::Closed {
            return taken;
        }
        if self.acks.on_read(&self.config, self.receiver.next(), self.receiver.is_empty()) {
            self.output_due = true;
        }
        if self.receiver.owes_update(&self.config, self.acks.segment()) && self.may_receive() {
            self.acks.now();
            self.output_due = true;
        }
        taken
    }

    /// Whether the peer may still send data.
    pub(crate) fn may_receive(&self) -> bool {
        matches!(self.state, State::Established | State::FinWait1 | State::FinWait2)
    }

    /// Gives all held payload back. Call it however a connection ended.
    pub fn release(mut self, pool: &mut PayloadPool) {
        self.receiver.release(pool);
    }

    /// What to keep of payload that arrives from now on.
    pub fn set_receive_policy(&mut self, policy: ReceivePolicy) {
        self.receiver.set_policy(policy);
    }

    /// The connection ends: nothing leaves any more but a reset that is owed.
    pub(crate) fn finish(&mut self, event: Event) {
        self.state = State::Closed;
        self.timers.clear();
        self.syn_due = false;
        self.output_due = true;
        self.events.push(event);
    }
}

/// Getters.
impl Endpoint {
    /// State of the connection.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// The constants.
    #[must_use]
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// Our port.
    #[must_use]
    pub fn local_port(&self) -> u16 {
        self.local_port
    }

    /// The peer's port.
    #[must_use]
    pub fn remote_port(&self) -> u16 {
        self.remote_port
    }

    /// Whether this end asks for explicit congestion notification.
    #[must_use]
    pub fn asks_for_ecn(&self) -> bool {
        self.active && self.config.ecn == EcnMode::Ask
    }

    /// Whether the connection uses explicit congestion notification (RFC 3168): both ends have agreed on it.
    #[must_use]
    pub fn uses_ecn(&self) -> bool {
        self.sender.recovery.uses_ecn()
    }

    /// How many times the congestion window fell because the peer echoed a mark.
    #[must_use]
    pub fn reductions_for_marks(&self) -> u32 {
        self.sender.recovery.reductions_for_marks()
    }

    /// Counters.
    #[must_use]
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// In-order bytes that wait to be read.
    #[must_use]
    pub fn readable(&self) -> u64 {
        u64::from(self.receiver.readable())
    }

    /// The first piece of what waits to be read in order; nothing if nothing does.
    #[must_use]
    pub fn peek<'a>(&self, pool: &'a PayloadPool) -> Option<View<'a>> {
        self.receiver.first().map(|payload| pool.view(payload))
    }

    /// Whether data, or a FIN, waits above a gap.
    #[must_use]
    pub fn has_gap(&self) -> bool {
        self.receiver.has_gap()
    }

    /// Bytes queued and never sent.
    #[must_use]
    pub fn unsent(&self) -> u64 {
        self.sender.buffer.unsent() + self.sender.buffer.unwritten()
    }

    /// Bytes that wait for room in the send buffer.
    #[must_use]
    pub fn unwritten(&self) -> u64 {
        self.sender.buffer.unwritten()
    }

    /// Whether all that was sent has found room in the send buffer: an application that writes it is not held up any more.
    #[must_use]
    pub fn is_written(&self) -> bool {
        match self.config.send_buffer {
            SendBufferSize::Fixed(bytes) => self.unacknowledged() <= u64::from(bytes),
            SendBufferSize::Tuned { .. } => self.unwritten() == 0,
        }
    }

    /// Bytes queued, sent or not, and not acknowledged.
    #[must_use]
    pub fn unacknowledged(&self) -> u64 {
        self.sender.buffer.unacknowledged()
    }

    /// Congestion window, bytes, without the inflation of fast recovery.
    #[must_use]
    pub fn cwnd(&self) -> u32 {
        self.sender.congestion.window()
    }

    /// Slow-start threshold, bytes.
    #[must_use]
    pub fn ssthresh(&self) -> u32 {
        self.sender.congestion.ssthresh()
    }

    /// Smoothed round-trip time; `None` before the first sample.
    #[must_use]
    pub fn srtt(&self) -> Option<Duration> {
        self.sender.rto.srtt(&self.config)
    }

    /// Retransmission timeout, backed off.
    #[must_use]
    pub fn rto(&self) -> Duration {
        self.sender.rto.current(&self.config)
    }

    /// FlightSize: sequence numbers sent and not acknowledged (RFC 5681 section 2).
    #[must_use]
    pub fn flight(&self) -> u32 {
        self.sender.flight()
    }

    /// Whether a segment without data acknowledges nothing new while something is in flight: a duplicate acknowledgment (RFC 5681
    /// section 2), or a change of the window.
    #[must_use]
    pub fn repeats_acknowledgment(&self, header: &TcpHeader) -> bool {
        header.flags.contains(Flags::ACK)
            && !header.flags.intersects(Flags::SYN | Flags::RST)
            && self.flight() > 0
            && header.acknowledgment == self.sender.una()
    }

    /// Whether the segment that left last ended a frame, or was one: with segmentation offload the stack hands several to its device as one frame.
    #[must_use]
    pub fn ended_frame(&self) -> bool {
        self.sender.frame_ended()
    }

    /// Bytes thought to be in the network (RFC 6675's pipe).
    #[must_use]
    pub fn pipe(&self) -> u32 {
        self.sender.scoreboard.pipe()
    }

    /// Payload of a full segment that we send, bytes.
    #[must_use]
    pub fn mss(&self) -> u16 {
        self.sender.mss
    }

    /// Bytes that the peer may still send: our window as last advertised.
    #[must_use]
    pub fn receive_window(&self) -> u32 {
        self.receiver.window()
    }

    /// The peer's window, bytes.
    #[must_use]
    pub fn send_window(&self) -> u32 {
        self.sender.window
    }
}
