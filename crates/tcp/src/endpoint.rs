//! The endpoint.

use crate::config::Config;
use crate::types::{Chunk, Event, Events, Identity, ReceivePolicy, State, Statistics};
use std::sync::Arc;
use wasp_units::{Duration, Instant};
use wasp_wire::{Payload, PayloadPool, TcpHeader, View};

/// One end of a TCP connection.
#[derive(Debug)]
pub struct Endpoint {
    config: Arc<Config>,
    local_port: u16,
    remote_port: u16,
    state: State,
    events: Events,
    policy: ReceivePolicy,
    statistics: Statistics,
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
        let _ = (identity, now);
        Self {
            config: Arc::clone(config),
            local_port,
            remote_port,
            state: State::SynSent,
            events: Events::default(),
            policy: ReceivePolicy::default(),
            statistics: Statistics::default(),
        }
    }

    /// A passive open by the SYN `syn`: the SYN-ACK comes from [`Self::poll_transmit`].
    #[must_use]
    pub fn accept(
        config: &Arc<Config>,
        syn: &TcpHeader,
        local_port: u16,
        identity: Identity,
        now: Instant,
    ) -> Self {
        let endpoint = Self::connect(config, local_port, syn.source_port, identity, now);
        Self { state: State::SynReceived, ..endpoint }
    }

    /// A segment of this connection has arrived. Keeps or releases the payload.
    pub fn handle_segment(
        &mut self,
        now: Instant,
        header: &TcpHeader,
        payload: Payload,
        pool: &mut PayloadPool,
    ) {
        let _ = (now, header);
        self.statistics.segments_received += 1;
        pool.release(payload);
    }

    /// When [`Self::handle_timeout`] is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Runs what is due at `now`; harmless when nothing is.
    pub fn handle_timeout(&mut self, now: Instant) {
        let _ = now;
    }

    /// The next segment to send.
    pub fn poll_transmit(&mut self, now: Instant, pool: &mut PayloadPool) -> Option<(TcpHeader, Payload)> {
        let _ = (now, pool);
        None
    }

    /// What has happened, oldest cause first.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// Appends to the send stream.
    pub fn send(&mut self, chunk: Chunk) {
        let _ = chunk;
    }

    /// Asks for [`Event::SendSpace`] once `at_least` bytes of the send buffer are free.
    pub fn notify_send_space(&mut self, at_least: u64) {
        let _ = at_least;
    }

    /// Hands over up to `max` bytes of in-order data, piece by piece, and opens the window. Returns how many.
    pub fn read(
        &mut self,
        max: u64,
        now: Instant,
        pool: &mut PayloadPool,
        sink: &mut dyn FnMut(View<'_>),
    ) -> u64 {
        let _ = (max, now, pool, sink);
        0
    }

    /// Sends a FIN after the data queued so far.
    pub fn close(&mut self, now: Instant) {
        let _ = now;
    }

    /// Gives the connection up, with a reset where the peer knows of it.
    pub fn abort(&mut self) {
        self.state = State::Closed;
    }

    /// Gives all held payload back.
    pub fn release(self, pool: &mut PayloadPool) {
        let _ = pool;
    }

    /// What to keep of payload that arrives from now on.
    pub fn set_receive_policy(&mut self, policy: ReceivePolicy) {
        self.policy = policy;
    }

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

    /// Counters.
    #[must_use]
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// In-order bytes that wait to be read.
    #[must_use]
    pub fn readable(&self) -> u64 {
        0
    }

    /// Bytes queued and not yet sent for the first time.
    #[must_use]
    pub fn unsent(&self) -> u64 {
        0
    }

    /// Bytes sent and not yet acknowledged, and bytes not yet sent.
    #[must_use]
    pub fn unacknowledged(&self) -> u64 {
        0
    }

    /// Room in the send buffer, bytes; [`Self::send`] takes more all the same.
    #[must_use]
    pub fn send_space(&self) -> u64 {
        0
    }

    /// Congestion window, bytes.
    #[must_use]
    pub fn cwnd(&self) -> u32 {
        0
    }

    /// Slow-start threshold, bytes.
    #[must_use]
    pub fn ssthresh(&self) -> u32 {
        0
    }

    /// Smoothed round-trip time; `None` before the first sample.
    #[must_use]
    pub fn srtt(&self) -> Option<Duration> {
        None
    }

    /// Retransmission timeout, backed off.
    #[must_use]
    pub fn rto(&self) -> Duration {
        self.config.initial_rto
    }

    /// Sequence numbers sent and not acknowledged (RFC 5681's FlightSize).
    #[must_use]
    pub fn flight(&self) -> u32 {
        0
    }

    /// Bytes that the peer may still send: our window as last advertised.
    #[must_use]
    pub fn receive_window(&self) -> u32 {
        0
    }

    /// Bytes that we may send: the peer's window, scaled.
    #[must_use]
    pub fn send_window(&self) -> u32 {
        0
    }

    /// Whether a SYN that arrives in TIME-WAIT may open a new connection in this one's place (RFC 6191, RFC 1122
    /// section 4.2.2.13): release this endpoint and accept the SYN.
    #[must_use]
    pub fn yields_to(&self, syn: &TcpHeader) -> bool {
        let _ = syn;
        false
    }
}
