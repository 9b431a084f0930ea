//! From a packet to bytes.

use crate::{Checksum, Packet, PayloadPool, Transport, View, icmp, ipv4, tcp_view, udp};

/// What the checksum field of a TCP segment or UDP datagram holds. ICMP checksums are always complete.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Checksums {
    /// The checksum, over pseudo header, header and payload.
    Complete,
    /// The sum of the pseudo header alone, for the device to complete (virtio's `NEEDS_CSUM`), or nothing to be relied on.
    Partial,
}

/// Writes `packet` to the front of `buffer` and returns its length, [`Packet::wire_len`]. A payload without content is
/// written as zeros.
///
/// # Panics
///
/// If the packet is longer than `buffer` or than the 65,535 bytes of an IPv4 packet: both are for the caller to rule out.
pub fn emit(packet: &Packet, pool: &PayloadPool, buffer: &mut [u8], checksums: Checksums) -> usize {
    let total_len = u16::try_from(packet.wire_len()).expect("an IPv4 packet has at most 65,535 bytes");
    let len = usize::from(total_len);
    let (header, segment) = buffer[..len].split_first_chunk_mut().expect("a packet has an IPv4 header");
    ipv4::emit(packet, packet.transport.protocol(), total_len, header);
    emit_transport(packet, segment);
    let payload = &mut segment[packet.transport.header_len()..];
    match pool.view(&packet.payload) {
        View::Bytes(bytes) => payload.copy_from_slice(bytes),
        View::Virtual(_) => payload.fill(0),
    }
    let field = checksum(packet, segment, checksums);
    let offset = packet.transport.checksum_offset();
    segment[offset..offset + 2].copy_from_slice(&field.to_be_bytes());
    len
}

fn emit_transport(packet: &Packet, segment: &mut [u8]) {
    match &packet.transport {
        Transport::Tcp(header) => {
            tcp_view::emit(header, segment);
        }
        Transport::Udp { source_port, destination_port } => {
            udp::emit(*source_port, *destination_port, packet.payload.len() as usize, segment);
        }
        Transport::Icmp { kind, code, rest } => icmp::emit(*kind, *code, *rest, segment),
    }
}

/// The checksum field for `segment`, in which it is still zero.
fn checksum(packet: &Packet, segment: &[u8], checksums: Checksums) -> u16 {
    let mut checksum = match packet.transport {
        Transport::Icmp { .. } => Checksum::new(),
        Transport::Tcp(_) | Transport::Udp { .. } => {
            let (protocol, len) = (packet.transport.protocol(), segment.len() as u16);
            let sum = Checksum::pseudo_header(packet.source, packet.destination, protocol, len);
            if checksums == Checksums::Partial {
                return sum.partial();
            }
            sum
        }
    };
    checksum.add(segment);
    match (packet.transport, checksum.finish()) {
        // Zero would say that a UDP datagram has no checksum (RFC 768).
        (Transport::Udp { .. }, 0) => 0xffff,
        (_, checksum) => checksum,
    }
}
