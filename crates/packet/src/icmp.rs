//! ICMP messages that answer a packet: errors (about which packets there may be one, and what it quotes), and replies to echoes.
//!
//! Sources: RFC 792; RFC 1122 sections 3.2.2 and 3.2.2.6, and RFC 1812 section 4.3.2 (when none may be sent, how much is quoted); RFC 1191 section 4
//! (the MTU).

use crate::{Body, Checksums, Packet, Payload, PayloadPool, View, emit};
use wasp_wire::icmp::kind;
use wasp_wire::{Address, IpHeader, icmp, ipv4, protocol};

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
    /// Not all of its fragments came in time.
    ReassemblyTimeExceeded,
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
        debug_assert!(may_be_answered(packet, pool), "an error about a packet that has none");
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
            Self::ReassemblyTimeExceeded => (kind::TIME_EXCEEDED, 1),
        };
        let mtu = if let Self::FragmentationNeeded { mtu } = self { mtu } else { 0 };
        let [high, low] = mtu.to_be_bytes();
        Body::Icmp { kind, code, rest: [0, 0, high, low] }
    }
}

/// Whether there may be an error about `packet` (RFC 1122 section 3.2.2): none about an ICMP error, about a fragment other than the first, or about a
/// packet from or to what is no host's address. Loopback addresses are a host's here: a server may listen on one alone.
#[must_use]
pub fn may_be_answered(packet: &Packet, pool: &PayloadPool) -> bool {
    let is_answerable = match packet.body {
        Body::Tcp(_) | Body::Udp { .. } => true,
        Body::Icmp { kind, .. } => is_query(kind),
        Body::Fragment { protocol, field } => {
            field.offset == 0 && (protocol != protocol::ICMP || begins_with_query(packet, pool))
        }
    };
    is_answerable && packet.ip.source.is_unicast() && packet.ip.destination.is_unicast()
}

/// The answer to an echo has its content and its differentiated services (RFC 1122 section 3.2.2.6). It comes from the address that was asked.
#[must_use]
pub const fn echo_reply(asked: &IpHeader, rest: [u8; 4], payload: Payload, identification: u16) -> Packet {
    let ip = IpHeader {
        traffic_class: asked.traffic_class,
        ..IpHeader::new(asked.destination, asked.source, identification)
    };
    Packet { ip, body: Body::Icmp { kind: kind::ECHO_REPLY, code: 0, rest }, payload, flipped: None }
}

/// Whether the first fragment of an ICMP message is of one that asks or answers.
fn begins_with_query(fragment: &Packet, pool: &PayloadPool) -> bool {
    match pool.view(&fragment.payload) {
        View::Bytes(bytes) => bytes.first().is_some_and(|kind| is_query(*kind)),
        View::Virtual(_) => false,
    }
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
