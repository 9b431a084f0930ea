//! From a packet to bytes.

use crate::{Body, Packet, PayloadPool, View};
use wasp_wire::{Checksum, icmp, ipv4, tcp, udp};

/// What the checksum field of a TCP segment or UDP datagram holds. ICMP checksums are always complete.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Checksums {
    /// The checksum, over pseudo header, header and payload.
    Complete,
    /// The sum of the pseudo header alone, for the device to complete (virtio's `NEEDS_CSUM`), or nothing to be relied on.
    Partial,
}

/// Writes `packet` to the front of `buffer` and returns its length, [`Packet::wire_len`]. A payload without content is
/// written as zeros. The bit of [`Packet::flipped`] is flipped after the checksum was made.
///
/// # Panics
///
/// If the packet is longer than `buffer` or than the 65,535 bytes of an IPv4 packet: both are for the caller to rule out.
pub fn emit(packet: &Packet, pool: &PayloadPool, buffer: &mut [u8], checksums: Checksums) -> usize {
    let total_len = u16::try_from(packet.wire_len()).expect("an IPv4 packet has at most 65,535 bytes");
    let len = usize::from(total_len);
    let (header, segment) = buffer[..len].split_first_chunk_mut().expect("a packet has an IPv4 header");
    ipv4::emit(&packet.ip, packet.body.fragment_field(), packet.body.protocol(), total_len, header);
    emit_body(packet, segment);
    let payload = &mut segment[packet.body.header_len()..];
    match pool.view(&packet.payload) {
        View::Bytes(bytes) => payload.copy_from_slice(bytes),
        View::Virtual(_) => payload.fill(0),
    }
    if let Some(offset) = packet.body.checksum_offset() {
        let field = checksum(packet, segment, checksums);
        segment[offset..offset + 2].copy_from_slice(&field.to_be_bytes());
    }
    if let Some(bit) = packet.flipped {
        flip(segment, bit);
    }
    len
}

/// Flips one bit of what follows the IP header.
pub(crate) fn flip(segment: &mut [u8], bit: u32) {
    if let Some(byte) = segment.get_mut(bit as usize / 8) {
        *byte ^= 0x80 >> (bit % 8);
    }
}

fn emit_body(packet: &Packet, segment: &mut [u8]) {
    const LONG_ENOUGH: &str = "the segment has room for its header";
    let len = segment.len() as u16;
    match packet.body {
        Body::Tcp(header) => {
            tcp::emit(&header, segment);
        }
        Body::Udp { source_port, destination_port } => {
            let header = segment.first_chunk_mut().expect(LONG_ENOUGH);
            udp::emit(source_port, destination_port, len, header);
        }
        Body::Icmp { kind, code, rest } => {
            icmp::emit(kind, code, rest, segment.first_chunk_mut().expect(LONG_ENOUGH));
        }
        Body::Fragment { .. } => {}
    }
}

/// The checksum field for `segment`, in which it is still zero.
fn checksum(packet: &Packet, segment: &[u8], checksums: Checksums) -> u16 {
    let mut checksum = match packet.body {
        Body::Icmp { .. } | Body::Fragment { .. } => Checksum::new(),
        Body::Tcp(_) | Body::Udp { .. } => {
            let (protocol, len) = (packet.body.protocol(), segment.len() as u16);
            let sum = Checksum::pseudo_header(packet.ip.source, packet.ip.destination, protocol, len);
            if checksums == Checksums::Partial {
                return sum.partial();
            }
            sum
        }
    };
    checksum.add(segment);
    match (packet.body, checksum.finish()) {
        // Zero would say that a UDP datagram has no checksum (RFC 768).
        (Body::Udp { .. }, 0) => 0xffff,
        (_, checksum) => checksum,
    }
}
