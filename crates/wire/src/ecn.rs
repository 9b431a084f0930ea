//! The ECN field of an IP header.

use crate::ipv4;

/// The ECN field of an IP header: the two low bits of the traffic class (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[repr(u8)]
pub enum Ecn {
    /// Not-ECT: the sender does not heed marks. A queue drops the packet where it would mark another.
    #[default]
    NotEct = 0b00,
    /// ECT(1): a queue may mark the packet.
    Ect1 = 0b01,
    /// ECT(0): a queue may mark the packet.
    Ect0 = 0b10,
    /// CE: a queue has marked the packet, because the path is congested.
    Ce = 0b11,
}

impl Ecn {
    /// The field in a traffic class.
    #[inline]
    #[must_use]
    pub const fn of(traffic_class: u8) -> Self {
        match traffic_class & ipv4::ECN {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// The field as the low bits of a traffic class whose other bits are zero.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u8 {
        self as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_is_the_two_low_bits_whatever_the_others_are() {
        for bits in 0..=u8::MAX {
            assert_eq!(Ecn::of(bits).bits(), bits & ipv4::ECN, "{bits:#x}");
        }
    }
}
