//! The UDP header (RFC 768).

use crate::{Address, Checksum, Layer, ParseError, protocol};

/// Length of a UDP header in bytes.
pub const HEADER_LEN: usize = 8;
/// Place of the checksum in the header.
pub const CHECKSUM_OFFSET: usize = 6;

/// A view of a UDP datagram whose lengths have been checked, so that no accessor can fail.
#[derive(Clone, Copy, Debug)]
pub struct UdpView<'a> {
    header: &'a [u8; HEADER_LEN],
    datagram: &'a [u8],
}

impl<'a> UdpView<'a> {
    /// Checks the lengths. Bytes after the length field's are not part of the datagram.
    ///
    /// # Errors
    /// `Truncated` or `Length` of UDP.
    #[inline]
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let (header, _) = bytes.split_first_chunk().ok_or(ParseError::Truncated(Layer::Udp))?;
        let len = usize::from(u16::from_be_bytes([header[4], header[5]]));
        let datagram = bytes.get(..len).ok_or(ParseError::Length(Layer::Udp))?;
        if len < HEADER_LEN {
            return Err(ParseError::Length(Layer::Udp));
        }
        Ok(Self { header, datagram })
    }

    /// Port of the sender.
    #[must_use]
    pub fn source_port(&self) -> u16 {
        u16::from_be_bytes([self.header[0], self.header[1]])
    }

    /// Port of the receiver.
    #[must_use]
    pub fn destination_port(&self) -> u16 {
        u16::from_be_bytes([self.header[2], self.header[3]])
    }

    /// What the datagram carries.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.datagram[HEADER_LEN..]
    }

    /// Whether the checksum matches or is absent (zero), for a datagram between these addresses.
    #[inline]
    #[must_use]
    pub fn checksum_is_valid(&self, source: Address, destination: Address) -> bool {
        let len = self.datagram.len() as u16;
        let mut checksum = Checksum::pseudo_header(source, destination, protocol::UDP, len);
        checksum.add(self.datagram);
        self.header[CHECKSUM_OFFSET..] == [0, 0] || checksum.finish() == 0
    }
}

/// Writes the header of a datagram of `len` bytes, header included; its checksum is zero.
pub fn emit(source_port: u16, destination_port: u16, len: u16, header: &mut [u8; HEADER_LEN]) {
    header[0..2].copy_from_slice(&source_port.to_be_bytes());
    header[2..4].copy_from_slice(&destination_port.to_be_bytes());
    header[4..6].copy_from_slice(&len.to_be_bytes());
    header[CHECKSUM_OFFSET..].fill(0);
}
