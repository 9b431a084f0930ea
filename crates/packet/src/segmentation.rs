//! From a frame of the device to the packets of the model.
//!
//! The kernel hands TCP data over in super-segments of up to 64 KiB (TSO). They exist only between it and its device: on
//! a link each segment is a packet of its own, with its own fate, so they are cut here, as Linux would cut them for a
//! device without offload (`tcp_gso_segment`).

use crate::{Body, Checksums, Packet, Parsed, PayloadPool};
use std::num::NonZeroU16;
use wasp_wire::{Flags, IpHeader, ParseError, TcpHeader, VirtioNetHeader};

/// What became of a frame.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Cut {
    /// Packets handed to the sink.
    pub packets: u32,
    /// Packets dropped because the pool was exhausted.
    pub exhausted: u32,
}

/// Why a frame gives no packets.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, thiserror::Error)]
pub enum FrameError {
    /// The frame ends inside the virtio header.
    #[error("truncated virtio header")]
    Truncated,
    /// What follows the virtio header is no packet that the model can carry.
    #[error(transparent)]
    Packet(#[from] ParseError),
    /// The checksum that the virtio header asks for is not that of the transport header.
    #[error("the virtio header places a checksum at {start} + {offset}")]
    ChecksumPlace {
        /// The field `csum_start`.
        start: u16,
        /// The field `csum_offset`.
        offset: u16,
    },
    /// A super-segment of a kind that the device was not told to send.
    #[error("unsupported GSO type {0:#04x}")]
    UnsupportedGso(u8),
    /// A TCP super-segment whose packet is not TCP.
    #[error("a TCP super-segment that is not TCP")]
    GsoNotTcp,
    /// A super-segment without a segment size.
    #[error("a super-segment with segment size 0")]
    GsoSize,
    /// A super-segment whose segments would have no valid checksum.
    #[error("a super-segment without checksum offload")]
    GsoChecksum,
    /// A SYN or RST that would have to be cut: no cut of it means the same.
    #[error("a super-segment with SYN or RST")]
    GsoFlags,
}

/// Cuts one frame, a virtio header and an IPv4 packet, into packets and hands them to `sink` in order.
///
/// A TCP super-segment is cut at its `gso_size`; any TCP segment is cut at `mss_limit`, if that is given and smaller.
/// Sequence numbers and identification count on; CWR stays on the first cut, FIN and PSH on the last, everything else
/// on all. Payload is copied to `pool` once; where the pool is exhausted that packet alone is dropped, and counted.
///
/// The transport checksum is verified unless the frame says that it is incomplete (`NEEDS_CSUM`) or known to be good
/// (`DATA_VALID`).
///
/// # Errors
/// Why the frame gives no packets; then `sink` was not called. No frame makes it panic.
pub fn cut(
    frame: &[u8],
    mss_limit: Option<NonZeroU16>,
    pool: &mut PayloadPool,
    sink: &mut dyn FnMut(Packet),
) -> Result<Cut, FrameError> {
    let (header, bytes) = frame.split_first_chunk().ok_or(FrameError::Truncated)?;
    let header = VirtioNetHeader::parse(header);
    let trusted = header.flags & (VirtioNetHeader::NEEDS_CSUM | VirtioNetHeader::DATA_VALID) != 0;
    let checksums = if trusted { Checksums::Partial } else { Checksums::Complete };
    let parsed = Packet::parse(bytes, checksums)?;
    check_checksum_place(&header, &parsed)?;
    let device_limit = segment_size(&header, &parsed.packet.body)?;
    let limit = device_limit.into_iter().chain(mss_limit).min();
    match (parsed.packet.body, limit) {
        (Body::Tcp(tcp), Some(limit)) if parsed.payload.len() > usize::from(limit.get()) => {
            cut_segment(&parsed, &tcp, usize::from(limit.get()), pool, sink)
        }
        _ => Ok(match parsed.store(pool) {
            Some(packet) => {
                sink(packet);
                Cut { packets: 1, exhausted: 0 }
            }
            None => Cut { packets: 0, exhausted: 1 },
        }),
    }
}

/// A checksum left to us must be the transport's own: emission completes no other.
fn check_checksum_place(header: &VirtioNetHeader, parsed: &Parsed<'_>) -> Result<(), FrameError> {
    let (start, offset) = (header.csum_start, header.csum_offset);
    let agrees = usize::from(start) == parsed.ipv4_header_len
        && Some(usize::from(offset)) == parsed.packet.body.checksum_offset();
    if header.flags & VirtioNetHeader::NEEDS_CSUM != 0 && !agrees {
        return Err(FrameError::ChecksumPlace { start, offset });
    }
    Ok(())
}

/// The size at which the device asks to cut, if it does.
fn segment_size(header: &VirtioNetHeader, body: &Body) -> Result<Option<NonZeroU16>, FrameError> {
    match header.gso_type & !VirtioNetHeader::GSO_ECN {
        VirtioNetHeader::GSO_NONE if header.gso_type == VirtioNetHeader::GSO_NONE => return Ok(None),
        VirtioNetHeader::GSO_TCPV4 => {}
        _ => return Err(FrameError::UnsupportedGso(header.gso_type)),
    }
    if !matches!(body, Body::Tcp(_)) {
        return Err(FrameError::GsoNotTcp);
    }
    if header.flags & (VirtioNetHeader::NEEDS_CSUM | VirtioNetHeader::DATA_VALID) == 0 {
        return Err(FrameError::GsoChecksum);
    }
    NonZeroU16::new(header.gso_size).map(Some).ok_or(FrameError::GsoSize)
}

fn cut_segment(
    parsed: &Parsed<'_>,
    tcp: &TcpHeader,
    limit: usize,
    pool: &mut PayloadPool,
    sink: &mut dyn FnMut(Packet),
) -> Result<Cut, FrameError> {
    if tcp.flags.intersects(Flags::SYN | Flags::RST) {
        return Err(FrameError::GsoFlags);
    }
    let mut cut = Cut::default();
    let last = (parsed.payload.len() - 1) / limit;
    for (number, bytes) in parsed.payload.chunks(limit).enumerate() {
        let Some(payload) = pool.store(bytes) else {
            cut.exhausted += 1;
            continue;
        };
        let mut tcp = *tcp;
        tcp.sequence += (number * limit) as u32;
        if number != 0 {
            tcp.flags = tcp.flags.without(Flags::CWR);
        }
        if number != last {
            tcp.flags = tcp.flags.without(Flags::FIN | Flags::PSH);
        }
        let identification = parsed.packet.ip.identification.wrapping_add(number as u16);
        let ip = IpHeader { identification, ..parsed.packet.ip };
        sink(Packet { ip, body: Body::Tcp(tcp), payload, flipped: None });
        cut.packets += 1;
    }
    Ok(cut)
}
