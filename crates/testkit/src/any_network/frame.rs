//! Packets as frames of a device, which may be damaged.

use crate::set_header_checksum;
use arbitrary::{Result, Unstructured};
use wasp_packet::{Body, Packet, PayloadPool, complete_frame};
use wasp_wire::{VirtioNetHeader, ipv4};

/// A frame of a device.
pub(super) struct Frame {
    pub(super) bytes: Vec<u8>,
    /// Whether options were added to its IP header.
    pub(super) has_options: bool,
}

impl Frame {
    /// The frame of a packet: perhaps a TCP super-segment, with options in the IP header, or damaged.
    pub(super) fn of(packet: Packet, pool: &mut PayloadPool, bytes: &mut Unstructured<'_>) -> Result<Self> {
        let mut frame = vec![0; VirtioNetHeader::LEN + packet.wire_len() as usize];
        complete_frame(&packet, pool, &mut frame);
        let is_tcp = matches!(packet.body, Body::Tcp(_));
        pool.release(packet.payload);
        let mut packet = frame.split_off(VirtioNetHeader::LEN);
        let has_options = bytes.ratio(1, 4)?;
        if has_options {
            add_options(&mut packet, bytes)?;
        }
        let mut header = VirtioNetHeader::default();
        if is_tcp && bytes.ratio(3, 4)? {
            header.flags = VirtioNetHeader::NEEDS_CSUM;
            header.csum_start = 4 * u16::from(packet[0] & 0x0f);
            header.csum_offset = 16;
            header.gso_type = VirtioNetHeader::GSO_TCPV4;
            header.gso_size = bytes.int_in_range(50..=1_500)?;
        }
        set_header_checksum(&mut packet);
        if bytes.ratio(1, 4)? {
            damage(&mut packet, bytes)?;
        }
        Ok(Self { bytes: [&header.emit()[..], &packet].concat(), has_options })
    }
}

/// Adds options to the header of an IP packet: record route (RFC 791), or any bytes.
fn add_options(packet: &mut Vec<u8>, bytes: &mut Unstructured<'_>) -> Result<()> {
    let words = bytes.int_in_range(1..=10_u8)?;
    let mut options = vec![0; 4 * usize::from(words)];
    if bytes.arbitrary()? {
        options[..3].copy_from_slice(&[7, 4 * words - 1, 4]);
    } else {
        bytes.fill_buffer(&mut options)?;
    }
    packet.splice(ipv4::HEADER_LEN..ipv4::HEADER_LEN, options);
    packet[0] += words;
    let total = u16::try_from(packet.len()).unwrap_or(u16::MAX);
    packet[2..4].copy_from_slice(&total.to_be_bytes());
    Ok(())
}

/// Alters bytes, and makes the checksum of the header right again or not; or takes the last bytes away.
fn damage(packet: &mut Vec<u8>, bytes: &mut Unstructured<'_>) -> Result<()> {
    for _ in 0..bytes.int_in_range(0..=2_u8)? {
        let place = bytes.choose_index(packet.len())?;
        packet[place] = bytes.arbitrary()?;
    }
    if bytes.arbitrary()? {
        set_header_checksum(packet);
    }
    if bytes.ratio(1, 4)? {
        packet.truncate(bytes.choose_index(packet.len())?);
    }
    Ok(())
}
