//! Corruption: packets that arrive with a bit flipped.
//!
//! The bit lies in the payload of the IP packet: the transport header or the data. It does not lie in the IP header, because the next router
//! that verifies the header checksum drops such a packet (RFC 1812, section 5.2.2), so that it would be lost rather than corrupted: loss is an
//! impairment of its own, and the IPv6 header has no checksum at all. The checksums of TCP, UDP and ICMP differ after any single flipped bit
//! (RFC 1071), so the receiver drops the packet, and TCP sends it again. Only a UDP datagram over IPv4 that was sent without a checksum, or
//! whose checksum the flip makes zero, which means "none", is delivered.

use crate::option_error::{OptionError, ensure};
use serde::{Deserialize, Serialize};
use wasp_random::{Key, Purpose};
use wasp_units::Probability;

/// How many packets arrive with a bit flipped.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Corrupt {
    /// Share of the packets of which one bit is flipped.
    pub share: Probability,
}

impl Corrupt {
    /// Checks the parameter.
    ///
    /// # Errors
    /// A share of 100%: nothing would ever arrive whole.
    pub fn check(&self) -> Result<(), OptionError> {
        ensure(self.share < Probability::ONE, "share", self.share, "below 100%, or nothing arrives whole")
    }
}

/// The corruption of one direction of a link.
#[derive(Clone, Debug)]
pub struct Corrupter {
    corrupt: Corrupt,
    key: Key,
    /// Draws the place of the bit, so that it does not depend on the draw that decides whether there is one.
    place: Key,
    packets: u64,
}

impl Corrupter {
    /// Corruption before its first packet.
    #[must_use]
    pub fn new(corrupt: Corrupt, key: Key) -> Self {
        let key = key.purpose(Purpose::Corruption);
        Self { corrupt, key, place: key.name("place"), packets: 0 }
    }

    /// Decides the next packet, whose IP payload (transport header and data) has so many bytes: the place of the bit that is flipped, if one
    /// is. Bit 0 is the most significant bit of the first byte, as RFCs draw headers. A packet without payload has no bit to flip.
    pub fn bit(&mut self, bytes: u32) -> Option<u32> {
        let number = self.packets;
        self.packets += 1;
        if bytes == 0 || !self.key.happens(number, self.corrupt.share) {
            return None;
        }
        let bits = u64::from(bytes.saturating_mul(8));
        Some(((u128::from(self.place.draw(number)) * u128::from(bits)) >> 64) as u32)
    }
}
