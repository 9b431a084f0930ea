//! An IP packet as the model carries it.

use crate::{Address, Payload, TcpHeader};

/// Length of an IPv4 header without options, in bytes.
pub(crate) const IPV4_HEADER_LEN: usize = 20;
/// Length of a UDP header in bytes.
pub(crate) const UDP_HEADER_LEN: usize = 8;
/// Length of the fixed part of an ICMP message in bytes.
pub(crate) const ICMP_HEADER_LEN: usize = 8;

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
    #[must_use]
    pub fn wire_len(&self) -> u32 {
        let header = match &self.transport {
            Transport::Tcp(header) => header.wire_len(),
            Transport::Udp { .. } => UDP_HEADER_LEN,
            Transport::Icmp { .. } => ICMP_HEADER_LEN,
        };
        (IPV4_HEADER_LEN + header) as u32 + self.payload.len()
    }
}
