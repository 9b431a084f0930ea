//! ICMP errors about segments of the host's own.

use wasp_packet::{Body, Packet, PayloadPool, QuotedSegment, View};
use wasp_wire::icmp::kind::{DESTINATION_UNREACHABLE, TIME_EXCEEDED};

/// Code of [`DESTINATION_UNREACHABLE`]: fragmentation needed, and "do not fragment" set.
const FRAGMENTATION_NEEDED: u8 = 4;

/// What an ICMP error says of a TCP segment. Anybody can send it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Report {
    /// The segment.
    pub segment: QuotedSegment,
    /// What happened to it.
    pub reported: Reported,
}

/// Why a segment did not arrive.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reported {
    /// It was longer than a link carries, and was not to be fragmented.
    TooLong {
        /// Bytes that the link carries; zero from a router that does not say (RFC 1191 section 5).
        mtu: u16,
    },
    /// Its receiver cannot be reached, refuses it, or is too far away.
    Unreachable,
}

impl Report {
    /// What the packet reports, if it is such an error.
    pub(crate) fn read(packet: &Packet, pool: &PayloadPool) -> Option<Self> {
        let Body::Icmp { kind, code, rest: [_, _, high, low] } = packet.body else { return None };
        let reported = match (kind, code) {
            (DESTINATION_UNREACHABLE, FRAGMENTATION_NEEDED) => {
                Reported::TooLong { mtu: u16::from_be_bytes([high, low]) }
            }
            (DESTINATION_UNREACHABLE | TIME_EXCEEDED, _) => Reported::Unreachable,
            _ => return None,
        };
        let View::Bytes(content) = pool.view(&packet.payload) else { return None };
        QuotedSegment::parse(content).map(|segment| Self { segment, reported })
    }
}
