//! The TCP header on the wire (RFC 9293 section 3.1): parsing and emission, options included.

use crate::{
    Address, Checksum, Flags, Layer, ParseError, SackBlocks, SequenceNumber, TcpHeader, Timestamps, protocol,
};

/// Place of the checksum in the header.
pub const CHECKSUM_OFFSET: usize = 16;

/// Option kinds (IANA "Transmission Control Protocol Parameters").
mod option {
    pub(super) const END: u8 = 0;
    pub(super) const NOP: u8 = 1;
    pub(super) const MSS: u8 = 2;
    pub(super) const WINDOW_SCALE: u8 = 3;
    pub(super) const SACK_PERMITTED: u8 = 4;
    pub(super) const SACK: u8 = 5;
    pub(super) const TIMESTAMPS: u8 = 8;
}
use option::{END, MSS, NOP, SACK, SACK_PERMITTED, TIMESTAMPS, WINDOW_SCALE};

/// A view of a TCP segment whose lengths have been checked, so that no accessor can fail.
#[derive(Clone, Copy, Debug)]
pub struct TcpView<'a> {
    header: &'a [u8; TcpHeader::FIXED_LEN],
    options: &'a [u8],
    payload: &'a [u8],
}

impl<'a> TcpView<'a> {
    /// Checks the lengths; the checksum is left to [`Self::checksum_is_valid`].
    ///
    /// # Errors
    /// `Truncated` or `HeaderLength` of TCP.
    #[inline]
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let (header, _) = bytes.split_first_chunk().ok_or(ParseError::Truncated(Layer::Tcp))?;
        let header_len = usize::from(header[12] >> 4) * 4;
        let options =
            bytes.get(TcpHeader::FIXED_LEN..header_len).ok_or(ParseError::HeaderLength(Layer::Tcp))?;
        Ok(Self { header, options, payload: &bytes[header_len..] })
    }

    /// What the segment carries.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Length of the header with its options, in bytes.
    #[must_use]
    pub fn header_len(&self) -> usize {
        TcpHeader::FIXED_LEN + self.options.len()
    }

    /// Whether the checksum matches, for a segment between these addresses.
    #[inline]
    #[must_use]
    pub fn checksum_is_valid(&self, source: Address, destination: Address) -> bool {
        let len = (self.header_len() + self.payload.len()) as u16;
        let mut checksum = Checksum::pseudo_header(source, destination, protocol::TCP, len);
        checksum.add(self.header);
        checksum.add(self.options);
        checksum.add(self.payload);
        checksum.finish() == 0
    }

    /// The header by value. Every field is taken as it stands, MSS outside a SYN included: what it means is the
    /// endpoint's to decide. Reserved bits and the urgent pointer are not kept.
    ///
    /// Options as Linux reads them (`tcp_parse_options`): an unknown kind, or a known one of the wrong length, is skipped;
    /// a length below two or past the header ends the reading and keeps what was found; of two of a kind the last holds.
    #[inline]
    #[must_use]
    pub fn header(&self) -> TcpHeader {
        let fixed = self.header;
        let mut header = TcpHeader {
            source_port: u16::from_be_bytes([fixed[0], fixed[1]]),
            destination_port: u16::from_be_bytes([fixed[2], fixed[3]]),
            sequence: SequenceNumber(u32::from_be_bytes([fixed[4], fixed[5], fixed[6], fixed[7]])),
            acknowledgment: SequenceNumber(u32::from_be_bytes([fixed[8], fixed[9], fixed[10], fixed[11]])),
            flags: Flags(fixed[13]),
            window: u16::from_be_bytes([fixed[14], fixed[15]]),
            ..TcpHeader::default()
        };
        // Nearly every segment has no options or timestamps alone, aligned (RFC 7323 appendix A).
        if let [NOP, NOP, TIMESTAMPS, 10, clocks @ ..] = self.options
            && let Ok(clocks) = clocks.try_into()
        {
            header.timestamps = Some(timestamps(clocks));
        } else {
            parse_options(self.options, &mut header);
        }
        header
    }
}

fn parse_options(mut options: &[u8], header: &mut TcpHeader) {
    loop {
        options = match options {
            [] | [END, ..] => return,
            [NOP, rest @ ..] => rest,
            [kind, len, ..] => {
                let Some((option, rest)) = options.split_at_checked(usize::from(*len)) else { return };
                let Some(value) = option.get(2..) else { return };
                parse_option(*kind, value, header);
                rest
            }
            [_] => return,
        };
    }
}

fn parse_option(kind: u8, value: &[u8], header: &mut TcpHeader) {
    match (kind, value) {
        (MSS, [high, low]) => header.mss = Some(u16::from_be_bytes([*high, *low])),
        (WINDOW_SCALE, [shift]) => header.window_scale = Some(*shift),
        (SACK_PERMITTED, []) => header.sack_permitted = true,
        (TIMESTAMPS, value) => {
            if let Ok(clocks) = value.try_into() {
                header.timestamps = Some(timestamps(clocks));
            }
        }
        (SACK, value) if !value.is_empty() && value.len() % 8 == 0 => header.sack = sack_blocks(value),
        _ => {}
    }
}

fn timestamps(clocks: &[u8; 8]) -> Timestamps {
    let [a, b, c, d, e, f, g, h] = *clocks;
    Timestamps { value: u32::from_be_bytes([a, b, c, d]), echo: u32::from_be_bytes([e, f, g, h]) }
}

fn sack_blocks(value: &[u8]) -> SackBlocks {
    let mut blocks = SackBlocks::default();
    for block in value.chunks_exact(8) {
        let edge = |at: usize| {
            SequenceNumber(u32::from_be_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]]))
        };
        // 40 bytes of options hold four blocks at most, so there is room.
        blocks.push(edge(0), edge(4));
    }
    blocks
}

/// Writes `header` with its options to the front of `segment`, its checksum zero; returns its length.
///
/// # Panics
/// If `segment` is shorter than [`TcpHeader::wire_len`].
pub fn emit(header: &TcpHeader, segment: &mut [u8]) -> usize {
    let len = header.wire_len();
    let bytes = &mut segment[..len];
    bytes[0..2].copy_from_slice(&header.source_port.to_be_bytes());
    bytes[2..4].copy_from_slice(&header.destination_port.to_be_bytes());
    bytes[4..8].copy_from_slice(&header.sequence.0.to_be_bytes());
    bytes[8..12].copy_from_slice(&header.acknowledgment.0.to_be_bytes());
    bytes[12] = ((len / 4) as u8) << 4;
    bytes[13] = header.flags.0;
    bytes[14..16].copy_from_slice(&header.window.to_be_bytes());
    bytes[16..20].fill(0); // checksum and urgent pointer
    emit_options(header, &mut bytes[TcpHeader::FIXED_LEN..]);
    len
}

/// Writes the options in Linux's order and alignment (`tcp_options_write`), as [`TcpHeader::options_len`] counts them.
fn emit_options(header: &TcpHeader, options: &mut [u8]) {
    let mut writer = Writer { options, at: 0 };
    if let Some(mss) = header.mss {
        let [high, low] = mss.to_be_bytes();
        writer.put([MSS, 4, high, low]);
    }
    if let Some(Timestamps { value, echo }) = header.timestamps {
        let padding = if header.sack_permitted { [SACK_PERMITTED, 2] } else { [NOP, NOP] };
        writer.put([padding[0], padding[1], TIMESTAMPS, 10]);
        writer.put(value.to_be_bytes());
        writer.put(echo.to_be_bytes());
    } else if header.sack_permitted {
        writer.put([NOP, NOP, SACK_PERMITTED, 2]);
    }
    if let Some(shift) = header.window_scale {
        writer.put([NOP, WINDOW_SCALE, 3, shift]);
    }
    let blocks = &header.sack.as_slice()[..header.sack_blocks_emitted()];
    if !blocks.is_empty() {
        writer.put([NOP, NOP, SACK, 2 + 8 * blocks.len() as u8]);
        for (left, right) in blocks {
            writer.put(left.0.to_be_bytes());
            writer.put(right.0.to_be_bytes());
        }
    }
}

/// Writes words of four bytes one after another.
struct Writer<'a> {
    options: &'a mut [u8],
    at: usize,
}

impl Writer<'_> {
    fn put(&mut self, word: [u8; 4]) {
        self.options[self.at..self.at + 4].copy_from_slice(&word);
        self.at += 4;
    }
}
