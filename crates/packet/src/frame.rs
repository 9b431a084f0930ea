//! From a packet of the model to a frame of the device.

use crate::{Body, Checksums, Packet, PayloadPool, emit};
use wasp_wire::{VirtioNetHeader, ipv4};

/// Most bytes in a frame: the virtio header and the longest IPv4 packet. A buffer of this size holds every frame.
pub const MAX_FRAME_LEN: usize = VirtioNetHeader::LEN + 65_535;

/// Writes `packet` as a frame for the device to the front of `buffer` and returns the frame's length: the virtio header,
/// then the packet. TCP and UDP checksums are left for the receiving kernel to complete, if it ever needs them; but a packet with a flipped bit
/// has the checksum that it had before, for a kernel that completed it would make it right.
///
/// # Panics
///
/// As [`emit`]; a buffer of [`MAX_FRAME_LEN`] is always long enough.
pub fn frame(packet: &Packet, pool: &PayloadPool, buffer: &mut [u8]) -> usize {
    if packet.flipped.is_some() {
        return complete_frame(packet, pool, buffer);
    }
    let mut header = VirtioNetHeader { hdr_len: packet.header_len() as u16, ..VirtioNetHeader::default() };
    let offset = packet.body.checksum_offset().filter(|_| !matches!(packet.body, Body::Icmp { .. }));
    if let Some(offset) = offset {
        header.flags = VirtioNetHeader::NEEDS_CSUM;
        header.csum_start = ipv4::HEADER_LEN as u16;
        header.csum_offset = offset as u16;
    }
    write(&header, packet, pool, buffer, Checksums::Partial)
}

/// As [`frame`], for a device without checksum offload: every checksum is complete, and the virtio header asks for nothing.
///
/// # Panics
///
/// As [`frame`].
pub fn complete_frame(packet: &Packet, pool: &PayloadPool, buffer: &mut [u8]) -> usize {
    write(&VirtioNetHeader::default(), packet, pool, buffer, Checksums::Complete)
}

#[inline]
fn write(
    header: &VirtioNetHeader,
    packet: &Packet,
    pool: &PayloadPool,
    buffer: &mut [u8],
    checksums: Checksums,
) -> usize {
    let (front, rest) = buffer.split_at_mut(VirtioNetHeader::LEN);
    front.copy_from_slice(&header.emit());
    VirtioNetHeader::LEN + emit(packet, pool, rest, checksums)
}
