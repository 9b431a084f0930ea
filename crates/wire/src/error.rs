//! Why bytes are not a packet.

/// A protocol header of a packet.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Layer {
    /// IPv4.
    Ipv4,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// ICMP.
    Icmp,
}

impl std::fmt::Display for Layer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Ipv4 => "IPv4",
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Icmp => "ICMP",
        })
    }
}

/// Why bytes are not a packet that the model can carry. Each is a packet's fate.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, thiserror::Error)]
pub enum ParseError {
    /// The bytes end inside a header.
    #[error("truncated {0} header")]
    Truncated(Layer),
    /// The version field is not 4 (an IPv6 packet, say).
    #[error("not IPv4")]
    NotIpv4,
    /// The header length field is below the least header, or reaches past the packet.
    #[error("bad {0} header length")]
    HeaderLength(Layer),
    /// A length field is below its own header, or reaches past the bytes (IPv4 total length, UDP length), or a fragment ends past the longest packet.
    #[error("bad {0} length")]
    Length(Layer),
    /// The checksum does not match.
    #[error("bad {0} checksum")]
    Checksum(Layer),
    /// The protocol field is none of TCP, UDP and ICMP.
    #[error("unsupported protocol {0}")]
    UnsupportedProtocol(u8),
}
