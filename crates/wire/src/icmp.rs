//! The ICMP header (RFC 792).

use crate::{Checksum, Layer, ParseError};

/// Length of the fixed part of an ICMP message in bytes.
pub const HEADER_LEN: usize = 8;
/// Place of the checksum in the header.
pub const CHECKSUM_OFFSET: usize = 2;

/// Numbers of message types (IANA "ICMP Type Numbers").
pub mod kind {
    /// The answer to [`ECHO`].
    pub const ECHO_REPLY: u8 = 0;
    /// A packet has not arrived where it should.
    pub const DESTINATION_UNREACHABLE: u8 = 3;
    /// A request for an answer with the same content.
    pub const ECHO: u8 = 8;
    /// A router says that it is there (RFC 1256).
    pub const ROUTER_ADVERTISEMENT: u8 = 9;
    /// A host asks for routers (RFC 1256).
    pub const ROUTER_SOLICITATION: u8 = 10;
    /// The time of a packet ran out, or that for putting it together.
    pub const TIME_EXCEEDED: u8 = 11;
    /// The first of those that ask for, or tell, the time, the network and its mask (RFC 792, RFC 950).
    pub const TIMESTAMP: u8 = 13;
    /// The last of them.
    pub const ADDRESS_MASK_REPLY: u8 = 18;
}

/// A view of an ICMP message whose length has been checked, so that no accessor can fail.
#[derive(Clone, Copy, Debug)]
pub struct IcmpView<'a> {
    header: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
}

impl<'a> IcmpView<'a> {
    /// Checks the length.
    ///
    /// # Errors
    /// `Truncated` of ICMP.
    #[inline]
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let (header, payload) = bytes.split_first_chunk().ok_or(ParseError::Truncated(Layer::Icmp))?;
        Ok(Self { header, payload })
    }

    /// Message type.
    #[must_use]
    pub fn kind(&self) -> u8 {
        self.header[0]
    }

    /// Message code.
    #[must_use]
    pub fn code(&self) -> u8 {
        self.header[1]
    }

    /// The four bytes after the checksum (identifier and sequence number of an echo).
    #[must_use]
    pub fn rest(&self) -> [u8; 4] {
        [self.header[4], self.header[5], self.header[6], self.header[7]]
    }

    /// What follows the fixed part.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Whether the checksum matches.
    #[inline]
    #[must_use]
    pub fn checksum_is_valid(&self) -> bool {
        let mut checksum = Checksum::new();
        checksum.add(self.header);
        checksum.add(self.payload);
        checksum.finish() == 0
    }
}

/// Writes a header, its checksum zero.
pub fn emit(kind: u8, code: u8, rest: [u8; 4], header: &mut [u8; HEADER_LEN]) {
    header[..4].copy_from_slice(&[kind, code, 0, 0]);
    header[4..].copy_from_slice(&rest);
}
