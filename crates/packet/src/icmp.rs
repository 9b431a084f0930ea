//! ICMP errors: about which packets there may be one, and what it quotes.
//!
//! Sources: RFC 792; RFC 1122 section 3.2.2 and RFC 1812 section 4.3.2 (when none may be sent, how much is quoted); RFC 1191 section 4 (the MTU).

use crate::{Body, Checksums, Packet, PayloadPool, emit};
use wasp_wire::icmp::kind;
use wasp_wire::{Address, IpHeader, icmp, ipv4};

/// Most bytes of an ICMP error: what every host takes (RFC 1812 section 4.3.2.3).
const LONGEST: usize = 576;
/// Differentiated services of an error: "internetwork control" (RFC 1812 section 4.3.2.5).
const INTERNETWORK_CONTROL: u8 = 0xc0;

/// Why a packet did not arrive.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum IcmpError {
    /// No route leads to its network.
    NetworkUnreachable,
    /// Its network has no such host.
    HostUnreachable,
    /// Its receiver does not speak this protocol.
    ProtocolUnreachable,
    /// Nothing at its receiver has this port.
    PortUnreachable,
    /// It is longer than a link carries, and may not be fragmented.
    FragmentationNeeded {
        /// Bytes that the link carries.
        mtu: u16,
    },
    /// Its time to live ran out.
    TimeExceeded,
}

impl IcmpError {
    /// The error about `packet` that `from` sends to its sender; `None` if `pool` has no room for what it quotes. There must be an error about
    /// such a packet: see [`may_be_answered`]. The bytes of the packet are written to `scratch`.
    pub fn about(
        self,
        packet: &Packet,
        from: Address,
        identification: u16,
        pool: &mut PayloadPool,
        scratch: &mut Vec<u8>,
    ) -> Option<Packet> {
        debug_assert!(may_be_answered(packet), "an error about a packet that has none");
        scratch.resize(packet.wire_len() as usize, 0);
        let len = emit(packet, pool, scratch, Checksums::Complete);
        let quoted = len.min(LONGEST - ipv4::HEADER_LEN - icmp::HEADER_LEN);
        let payload = pool.store(&scratch[..quoted])?;
        let ip = IpHeader {
            traffic_class: INTERNETWORK_CONTROL,
            ..IpHeader::new(from, packet.ip.source, identification)
        };
        Some(Packet { ip, body: self.body(), payload, flipped: None })
    }

    fn body(self) -> Body {
        let (kind, code) = match self {
            Self::NetworkUnreachable => (kind::DESTINATION_UNREACHABLE, 0),
            Self::HostUnreachable => (kind::DESTINATION_UNREACHABLE, 1),
            Self::ProtocolUnreachable => (kind::DESTINATION_UNREACHABLE, 2),
            Self::PortUnreachable => (kind::DESTINATION_UNREACHABLE, 3),
            Self::FragmentationNeeded { .. } => (kind::DESTINATION_UNREACHABLE, 4),
            Self::TimeExceeded => (kind::TIME_EXCEEDED, 0),
        };
        let mtu = if let Self::FragmentationNeeded { mtu } = self { mtu } else { 0 };
        let [high, low] = mtu.to_be_bytes();
        Body::Icmp { kind, code, rest: [0, 0, high, low] }
    }
}

/// Whether there may be an error about `packet` (RFC 1122 section 3.2.2): none about an ICMP error, or about a packet from or to what is no host's
/// address. Loopback addresses are a host's here: a server may listen on one alone.
#[must_use]
pub fn may_be_answered(packet: &Packet) -> bool {
    let is_error = matches!(packet.body, Body::Icmp { kind, .. } if !is_query(kind));
    !is_error && packet.ip.source.is_unicast() && packet.ip.destination.is_unicast()
}

/// Whether ICMP messages of this type ask or answer. All others count as errors.
const fn is_query(of: u8) -> bool {
    matches!(
        of,
        kind::ECHO_REPLY
            | kind::ECHO
            | kind::ROUTER_ADVERTISEMENT
            | kind::ROUTER_SOLICITATION
            | kind::TIMESTAMP..=kind::ADDRESS_MASK_REPLY
    )
}
