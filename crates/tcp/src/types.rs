//! The small types of the interface: states, events, what is sent, who we are.

use std::sync::Arc;
use wasp_packet::Payload;
use wasp_units::Duration;
use wasp_wire::{Ecn, Flags, TcpHeader};

/// State of a connection (RFC 9293 section 3.3.2). LISTEN belongs to whoever demultiplexes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum State {
    /// Our SYN waits for an answer.
    SynSent,
    /// SYNs have crossed or been answered; our SYN is not acknowledged.
    SynReceived,
    /// Data flows both ways.
    Established,
    /// We closed; our FIN is not acknowledged.
    FinWait1,
    /// Our FIN is acknowledged; the peer may still send.
    FinWait2,
    /// The peer closed; we may still send.
    CloseWait,
    /// Both closed at once; our FIN is not acknowledged.
    Closing,
    /// The peer closed, then we did; our FIN is not acknowledged.
    LastAck,
    /// Both FINs are acknowledged; late segments are being waited out.
    TimeWait,
    /// No connection.
    Closed,
}

/// What happened to a connection, for the application above it.
///
/// Exactly one of `Closed`, `Reset`, `Refused` and `TimedOut` comes last; after it the endpoint can be released once
/// `poll_transmit` has nothing left.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum Event {
    /// The handshake is complete.
    Connected,
    /// In-order data has arrived since the last `Readable`.
    Readable,
    /// The peer has sent everything: its FIN is in order, and the data before it is readable.
    RemoteClosed,
    /// The connection ended in order (TIME-WAIT included), or by our own abort.
    Closed,
    /// The peer reset the connection.
    Reset,
    /// The peer refused the connection: a reset or an ICMP error answered our SYN.
    Refused,
    /// Retransmissions went unanswered too often.
    TimedOut,
}

impl Event {
    pub(crate) const ALL: [Self; 7] = [
        Self::Connected,
        Self::Readable,
        Self::RemoteClosed,
        Self::Closed,
        Self::Reset,
        Self::Refused,
        Self::TimedOut,
    ];
}

/// Events that wait to be polled, each at most once.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Events(u8);

impl Events {
    pub(crate) fn push(&mut self, event: Event) {
        self.0 |= 1 << event as u8;
    }

    pub(crate) fn pop(&mut self) -> Option<Event> {
        let event = *Event::ALL.get(self.0.trailing_zeros() as usize)?;
        self.0 &= self.0 - 1;
        Some(event)
    }
}

/// What is appended to the send stream.
#[derive(Clone, Debug)]
pub enum Chunk {
    /// Bytes, shared: nothing is copied until a segment leaves.
    Shared(Arc<[u8]>),
    /// So many bytes without content.
    Virtual(u64),
}

impl Chunk {
    /// Length in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            Self::Shared(bytes) => bytes.len() as u64,
            Self::Virtual(len) => *len,
        }
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What is random about an endpoint, handed in so that it draws nothing itself.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Identity {
    /// Initial sequence number (ISS).
    pub isn: u32,
    /// Value of the timestamp clock at time zero.
    pub timestamp_offset: u32,
    /// Where the host's free-running clock stands by which late timers end ([`crate::TimerSlack`]), and swept delayed acknowledgments: what
    /// the clock of a timer wheel shows at time zero, and when one of BSD's ticks comes.
    pub timer_phase: Duration,
}

/// What a connection keeps of the payload it receives.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ReceivePolicy {
    /// The bytes.
    #[default]
    Bytes,
    /// Only how many there are: [`crate::Endpoint::read`] hands over virtual views.
    Counted,
}

/// Counters of a connection.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Statistics {
    /// Segments sent, all kinds.
    pub segments_sent: u32,
    /// Segments received, all kinds.
    pub segments_received: u32,
    /// Segments with data, SYN or FIN sent again.
    pub retransmitted: u32,
    /// Expiries of the retransmission timer.
    pub timeouts: u32,
    /// Those that found data in flight that had not timed out before, and the sum of their waits in milliseconds.
    pub first_timeouts: u32,
    /// See `first_timeouts`.
    pub first_timeouts_ms: u32,
    /// Entries into fast recovery.
    pub fast_retransmits: u32,
    /// Duplicate acknowledgments received.
    pub duplicate_acks: u32,
    /// Data segments received that were, wholly or in part, held already.
    pub duplicates_received: u32,
    /// Data segments received out of order.
    pub out_of_order: u32,
    /// Data segments received in packets that a queue had marked, where the connection uses ECN.
    pub marked: u32,
}

/// A segment to send, and what the IP header shall say.
#[derive(Debug, Eq, PartialEq)]
pub struct Transmit {
    /// TCP header.
    pub header: TcpHeader,
    /// What follows the header.
    pub payload: Payload,
    /// ECN field of the IP header.
    pub ecn: Ecn,
}

impl Transmit {
    /// A segment without payload, which no queue may mark (RFC 3168 section 6.1.4).
    #[inline]
    #[must_use]
    pub const fn empty(header: TcpHeader) -> Self {
        Self { header, payload: Payload::Empty, ecn: Ecn::NotEct }
    }
}

/// The reset that answers a segment without a connection (RFC 9293 section 3.10.7.1); `None` for a reset.
///
/// `payload_len` is the segment's payload in bytes.
#[must_use]
pub fn reset_for(header: &TcpHeader, payload_len: u32) -> Option<TcpHeader> {
    if header.flags.contains(Flags::RST) {
        return None;
    }
    let mut reset = TcpHeader {
        source_port: header.destination_port,
        destination_port: header.source_port,
        flags: Flags::RST,
        ..TcpHeader::default()
    };
    if header.flags.contains(Flags::ACK) {
        reset.sequence = header.acknowledgment;
    } else {
        reset.flags = Flags::RST | Flags::ACK;
        reset.acknowledgment = header.sequence + header.sequence_len(payload_len);
    }
    Some(reset)
}
