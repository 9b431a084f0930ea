//! Headers that tests write themselves.

use wasp_wire::{Checksum, ipv4};

/// Makes the checksum right in the header of an IPv4 packet, whose length the header may tell wrongly. What is shorter than a header stays as it is.
pub fn set_header_checksum(packet: &mut [u8]) {
    if packet.len() < ipv4::HEADER_LEN {
        return;
    }
    let len = (usize::from(packet[0] & 0x0f) * 4).clamp(ipv4::HEADER_LEN, packet.len());
    packet[10..12].fill(0);
    let mut checksum = Checksum::new();
    checksum.add(&packet[..len]);
    packet[10..12].copy_from_slice(&checksum.finish().to_be_bytes());
}
