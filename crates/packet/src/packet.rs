//! An IP packet as the model carries it.

use crate::Payload;
use wasp_wire::{FragmentField, IpHeader, TcpHeader, icmp, ipv4, protocol, tcp, udp};

/// One IP packet: headers parsed, payload by reference.
#[derive(Debug, Eq, PartialEq)]
pub struct Packet {
    /// The IP header.
    pub ip: IpHeader,
    /// The header of the protocol above IP.
    pub body: Body,
    /// What follows that header.
    pub payload: Payload,
    /// A bit that a link flipped, counted from the first one after the IP header: bit 0 is the most significant bit of the first byte. Whoever verifies
    /// the checksum above IP finds it wrong.
    pub flipped: Option<u32>,
}

/// The header of the protocol above IP.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Body {
    /// A TCP segment.
    Tcp(TcpHeader),
    /// A UDP datagram.
    Udp {
        /// Port of the sender.
        source_port: u16,
        /// Port of the receiver.
        destination_port: u16,
    },
    /// An ICMP message (RFC 792).
    Icmp {
        /// Message type.
        kind: u8,
        /// Message code.
        code: u8,
        /// The four bytes after the checksum (identifier and sequence number of an echo).
        rest: [u8; 4],
    },
    /// A fragment of a packet (RFC 791 section 3.2). What it carries of the headers above IP is a part of its payload.
    Fragment {
        /// The number of the protocol above IP.
        protocol: u8,
        /// Which part of the packet it is.
        field: FragmentField,
    },
}

impl Packet {
    /// Length of the whole packet in bytes: what a link serialises.
    #[inline]
    #[must_use]
    pub fn wire_len(&self) -> u32 {
        (self.header_len() as u32).saturating_add(self.payload.len())
    }

    /// Length of the IPv4 header and the body's together, in bytes.
    #[inline]
    #[must_use]
    pub fn header_len(&self) -> usize {
        ipv4::HEADER_LEN + self.body.header_len()
    }
}

impl Body {
    /// Length of the header as emitted, in bytes.
    #[inline]
    #[must_use]
    pub fn header_len(&self) -> usize {
        match self {
            Self::Tcp(header) => header.wire_len(),
            Self::Udp { .. } => udp::HEADER_LEN,
            Self::Icmp { .. } => icmp::HEADER_LEN,
            Self::Fragment { .. } => 0,
        }
    }

    /// The number of the protocol in the IPv4 header.
    #[must_use]
    pub fn protocol(&self) -> u8 {
        match self {
            Self::Tcp(_) => protocol::TCP,
            Self::Udp { .. } => protocol::UDP,
            Self::Icmp { .. } => protocol::ICMP,
            Self::Fragment { protocol, .. } => *protocol,
        }
    }

    /// Which part of a packet it is.
    pub(crate) fn fragment_field(&self) -> FragmentField {
        if let Self::Fragment { field, .. } = self { *field } else { FragmentField::default() }
    }

    /// Place of the checksum in the header; `None` for a fragment, whose checksum is somewhere in its packet.
    #[must_use]
    pub(crate) fn checksum_offset(&self) -> Option<usize> {
        match self {
            Self::Tcp(_) => Some(tcp::CHECKSUM_OFFSET),
            Self::Udp { .. } => Some(udp::CHECKSUM_OFFSET),
            Self::Icmp { .. } => Some(icmp::CHECKSUM_OFFSET),
            Self::Fragment { .. } => None,
        }
    }
}
