//! An IP packet as the model carries it.

use crate::{Address, Payload, TcpHeader, icmp, ipv4, protocol, tcp_view, udp};

/// One IP packet: headers parsed, payload by reference.
#[derive(Debug, Eq, PartialEq)]
pub struct Packet {
    /// Sender.
    pub source: Address,
    /// Receiver.
    pub destination: Address,
    /// Time to live: hops left.
    pub ttl: u8,
    /// Differentiated services and ECN bits (RFC 2474, RFC 3168).
    pub traffic_class: u8,
    /// IPv4 identification (RFC 6864).
    pub identification: u16,
    /// IPv4 "do not fragment".
    pub dont_fragment: bool,
    /// What the packet carries.
    pub transport: Transport,
    /// What follows the transport header.
    pub payload: Payload,
}

/// The transport header of a packet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Transport {
    /// A TCP segment.
    Tcp(TcpHeader),
    /// A UDP datagram.
    Udp {
        /// Port of the sender.
        source_port: u16,
        /// Port of the receiver.
        destination_port: u16,
    },
    /// An ICMP message (RFC 792); its body is the payload.
    Icmp {
        /// Message type.
        kind: u8,
        /// Message code.
        code: u8,
        /// The four bytes after the checksum (identifier and sequence number of an echo).
        rest: [u8; 4],
    },
}

impl Packet {
    /// Length of the whole packet in bytes: what a link serialises.
    #[inline]
    #[must_use]
    pub fn wire_len(&self) -> u32 {
        (self.header_len() as u32).saturating_add(self.payload.len())
    }

    /// Length of the IPv4 and the transport header together, in bytes.
    #[inline]
    #[must_use]
    pub fn header_len(&self) -> usize {
        ipv4::HEADER_LEN + self.transport.header_len()
    }
}

impl Transport {
    /// Length of the header as emitted, in bytes.
    #[inline]
    #[must_use]
    pub fn header_len(&self) -> usize {
        match self {
            Self::Tcp(header) => header.wire_len(),
            Self::Udp { .. } => udp::HEADER_LEN,
            Self::Icmp { .. } => icmp::HEADER_LEN,
        }
    }

    /// The number of the protocol in the IPv4 header.
    #[must_use]
    pub(crate) fn protocol(&self) -> u8 {
        match self {
            Self::Tcp(_) => protocol::TCP,
            Self::Udp { .. } => protocol::UDP,
            Self::Icmp { .. } => protocol::ICMP,
        }
    }

    /// Place of the checksum in the transport header.
    #[must_use]
    pub(crate) fn checksum_offset(&self) -> usize {
        match self {
            Self::Tcp(_) => tcp_view::CHECKSUM_OFFSET,
            Self::Udp { .. } => udp::CHECKSUM_OFFSET,
            Self::Icmp { .. } => icmp::CHECKSUM_OFFSET,
        }
    }
}
