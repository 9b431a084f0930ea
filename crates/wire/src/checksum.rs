//! The Internet checksum (RFC 1071).

use crate::Address;

/// A running Internet checksum: the ones' complement sum of 16-bit words over any number of parts.
///
/// Words are added in the machine's byte order, 32 bits at a time into 64, and brought to network order at the end: the
/// sum does not depend on byte order (RFC 1071 section 2). Parts may have odd lengths; together they count as one text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checksum {
    /// Sum of 32-bit words in memory order. 2^32 words, 16 GiB, cannot overflow it.
    sum: u64,
    /// Whether an odd number of bytes has been added.
    odd: bool,
}

impl Checksum {
    /// The sum of nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { sum: 0, odd: false }
    }

    /// The sum of the pseudo header that TCP and UDP put before a segment of `len` bytes, header included (RFC 9293
    /// section 3.1, RFC 768).
    #[must_use]
    pub fn pseudo_header(source: Address, destination: Address, protocol: u8, len: u16) -> Self {
        let mut checksum = Self::new();
        checksum.add(&source.v4().octets());
        checksum.add(&destination.v4().octets());
        checksum.add(&[0, protocol]);
        checksum.add(&len.to_be_bytes());
        checksum
    }

    /// Adds the next part of the text.
    #[inline]
    pub fn add(&mut self, bytes: &[u8]) {
        let part = sum(bytes);
        // A part that begins at an odd place has its bytes in the other halves of their words.
        self.sum += if self.odd { u64::from(fold(part).swap_bytes()) } else { part };
        self.odd ^= bytes.len() % 2 == 1;
    }

    /// The folded sum in network order, not complemented: what the checksum field holds when the device is to complete it.
    #[must_use]
    pub fn partial(self) -> u16 {
        u16::from_be(fold(self.sum))
    }

    /// The checksum: the complement of the sum. Over a text that contains a valid checksum it is zero.
    #[must_use]
    pub fn finish(self) -> u16 {
        !self.partial()
    }
}

/// Sum of the 32-bit words of `bytes` in memory order, the last one padded with zeros.
#[inline]
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(4);
    let tail = words.remainder();
    let mut last = [0; 4];
    last[..tail.len()].copy_from_slice(tail);
    words.fold(u64::from(u32::from_ne_bytes(last)), |sum, word| {
        sum + u64::from(u32::from_ne_bytes([word[0], word[1], word[2], word[3]]))
    })
}

/// Folds a sum to 16 bits with end-around carries.
#[inline]
fn fold(sum: u64) -> u16 {
    let sum = (sum >> 32) + (sum & 0xffff_ffff);
    let sum = (sum >> 32) + (sum & 0xffff_ffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, byte by byte.
    fn by_definition(bytes: &[u8]) -> u16 {
        let mut sum = 0_u32;
        for (place, byte) in bytes.iter().enumerate() {
            sum += if place % 2 == 0 { u32::from(*byte) << 8 } else { u32::from(*byte) };
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    #[test]
    fn the_example_of_rfc_1071_section_3_sums_to_ddf2() {
        let mut checksum = Checksum::new();
        checksum.add(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(checksum.partial(), 0xddf2);
        assert_eq!(checksum.finish(), !0xddf2);
    }

    #[test]
    fn the_sum_of_all_ones_does_not_lose_a_carry() {
        let mut checksum = Checksum::new();
        checksum.add(&[0xff; 65_535]);
        assert_eq!(checksum.finish(), by_definition(&[0xff; 65_535]));
    }

    proptest! {
        #[test]
        fn parts_of_any_length_sum_like_the_whole(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            cuts in proptest::collection::vec(0_usize..300, 0..5),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            cuts.push(bytes.len());
            let (mut checksum, mut from) = (Checksum::new(), 0);
            for cut in cuts {
                checksum.add(&bytes[from..cut]);
                from = cut;
            }
            prop_assert_eq!(checksum.finish(), by_definition(&bytes));
        }
    }
}
