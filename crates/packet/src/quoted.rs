//! What an ICMP error quotes of the packet that it is about (RFC 792).

use wasp_wire::{Address, Ipv4View, SequenceNumber, protocol};

/// The TCP segment that an ICMP error is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct QuotedSegment {
    /// Who sent it.
    pub source: Address,
    /// Whom it was for.
    pub destination: Address,
    /// The port of its sender.
    pub source_port: u16,
    /// The port of its receiver.
    pub destination_port: u16,
    /// Its sequence number.
    pub sequence: SequenceNumber,
}

impl QuotedSegment {
    /// Reads the content of an ICMP error. `None` if that is not about a TCP segment, or about a fragment other than the first, or does not hold the
    /// eight bytes of the segment that every error has (RFC 792). The quoted header is taken as it is: routers have changed it.
    #[must_use]
    pub fn parse(content: &[u8]) -> Option<Self> {
        let ip = Ipv4View::new_truncated(content)?;
        if ip.protocol() != protocol::TCP || ip.fragment().offset != 0 {
            return None;
        }
        let [a, b, c, d, sequence @ ..]: [u8; 8] = *ip.payload().first_chunk()?;
        Some(Self {
            source: ip.source(),
            destination: ip.destination(),
            source_port: u16::from_be_bytes([a, b]),
            destination_port: u16::from_be_bytes([c, d]),
            sequence: SequenceNumber(u32::from_be_bytes(sequence)),
        })
    }
}
