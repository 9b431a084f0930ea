//! The TCP header (RFC 9293 section 3.1) with the options in use: MSS, window scale, SACK, timestamps.

use crate::SequenceNumber;
use std::fmt;
use std::ops::BitOr;

/// A TCP header as the model carries it: every field by value, options parsed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct TcpHeader {
    /// Port of the sender.
    pub source_port: u16,
    /// Port of the receiver.
    pub destination_port: u16,
    /// Number of the first payload byte, or of the SYN.
    pub sequence: SequenceNumber,
    /// Next number expected from the other side; meaningful with [`Flags::ACK`].
    pub acknowledgment: SequenceNumber,
    /// Control bits.
    pub flags: Flags,
    /// The window field as on the wire, before scaling.
    pub window: u16,
    /// Maximum segment size option (only with SYN; RFC 9293 section 3.7.1).
    pub mss: Option<u16>,
    /// Window scale option (only with SYN; RFC 7323 section 2), as on the wire.
    pub window_scale: Option<u8>,
    /// SACK-permitted option (only with SYN; RFC 2018 section 2).
    pub sack_permitted: bool,
    /// Timestamps option (RFC 7323 section 3).
    pub timestamps: Option<Timestamps>,
    /// SACK option (RFC 2018 section 3).
    pub sack: SackBlocks,
}

/// The timestamps option: TSval and TSecr.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Timestamps {
    /// The sender's clock (TSval).
    pub value: u32,
    /// The echoed clock of the other side (TSecr); meaningful with ACK.
    pub echo: u32,
}

/// The control bits of a TCP header.
#[derive(Clone, Copy, Default, Eq, PartialEq)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgment field is significant.
    pub const ACK: Self = Self(0x10);
    /// Urgent pointer is significant (never set by us, ignored on receipt).
    pub const URG: Self = Self(0x20);
    /// ECN echo (RFC 3168).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Self = Self(0x80);

    /// Whether every bit of `other` is set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any bit of `other` is set.
    #[must_use]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// These bits without those of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 8] = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];
        let set = NAMES.iter().enumerate().filter(|(bit, _)| self.0 & (1 << bit) != 0).map(|(_, name)| *name);
        f.write_str(&set.collect::<Vec<_>>().join("|"))
    }
}

/// Up to four SACK blocks, in the order of the option: `(left edge, right edge)`, right exclusive. Beside timestamps only
/// three fit in a header ([`TcpHeader::sack_blocks_emitted`]).
#[derive(Clone, Copy, Default, Eq, PartialEq)]
pub struct SackBlocks {
    blocks: [(SequenceNumber, SequenceNumber); Self::CAPACITY],
    len: u8,
}

impl SackBlocks {
    /// Most blocks that 40 bytes of options can hold.
    pub const CAPACITY: usize = 4;

    /// Appends a block; returns whether there was room.
    pub fn push(&mut self, left: SequenceNumber, right: SequenceNumber) -> bool {
        let Some(slot) = self.blocks.get_mut(usize::from(self.len)) else { return false };
        *slot = (left, right);
        self.len += 1;
        true
    }

    /// The blocks.
    #[must_use]
    pub fn as_slice(&self) -> &[(SequenceNumber, SequenceNumber)] {
        &self.blocks[..usize::from(self.len)]
    }

    /// Whether there is no block.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}

impl TcpHeader {
    /// Length of the fixed part in bytes.
    pub const FIXED_LEN: usize = 20;

    /// Most bytes of options that a header can hold.
    pub const MAX_OPTIONS_LEN: usize = 40;

    /// Length of the options as emitted, padded to a multiple of four bytes.
    ///
    /// The layout is the one Linux uses: each of MSS, window scale, SACK-permitted and timestamps aligned with NOPs, and
    /// SACK-permitted sharing the timestamps' two padding bytes. SACK blocks come last, as many as still fit.
    #[must_use]
    pub fn options_len(&self) -> usize {
        let blocks = self.sack_blocks_emitted();
        self.options_len_without_sack() + if blocks == 0 { 0 } else { 4 + 8 * blocks }
    }

    /// How many of the SACK blocks the emitted header carries: the first ones, as many as fit beside the other options.
    #[must_use]
    pub fn sack_blocks_emitted(&self) -> usize {
        if self.sack.is_empty() {
            return 0;
        }
        let room = Self::MAX_OPTIONS_LEN - self.options_len_without_sack();
        usize::from(self.sack.len).min(room.saturating_sub(4) / 8)
    }

    fn options_len_without_sack(&self) -> usize {
        let mut len = 0;
        if self.mss.is_some() {
            len += 4;
        }
        if self.timestamps.is_some() {
            len += 12;
        } else if self.sack_permitted {
            len += 4;
        }
        if self.window_scale.is_some() {
            len += 4;
        }
        len
    }

    /// Length of the header as emitted.
    #[must_use]
    pub fn wire_len(&self) -> usize {
        Self::FIXED_LEN + self.options_len()
    }

    /// Sequence numbers that the segment occupies: its payload, and one each for SYN and FIN.
    #[must_use]
    pub fn sequence_len(&self, payload: u32) -> u32 {
        payload + u32::from(self.flags.contains(Flags::SYN)) + u32::from(self.flags.contains(Flags::FIN))
    }
}
