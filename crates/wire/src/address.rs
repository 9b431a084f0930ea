//! Network addresses, opaque above this crate and `net`.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

/// The address of one interface. Today always IPv4; code above may not assume its width.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Address(u32);

impl Address {
    /// The IPv4 form.
    #[must_use]
    pub const fn v4(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.0)
    }

    /// The address as two words, upper first: what keyed draws are made of.
    #[must_use]
    pub const fn words(self) -> [u64; 2] {
        [0, self.0 as u64]
    }

    /// Whether it can be the address of one host: no multicast, broadcast, reserved or unspecified address (RFC 1122 section 3.2.1.3).
    #[must_use]
    pub const fn is_unicast(self) -> bool {
        let first = self.0 >> 24;
        first != 0 && first < 224
    }

    /// Whether it is one of a host's addresses of itself.
    #[must_use]
    pub const fn is_loopback(self) -> bool {
        self.0 >> 24 == 127
    }

    /// The address `offset` places after this one, or `None` past the end of the address space.
    #[must_use]
    pub fn offset(self, offset: u32) -> Option<Self> {
        self.0.checked_add(offset).map(Self)
    }

    /// The address before this one, or `None` of the first.
    #[must_use]
    pub fn predecessor(self) -> Option<Self> {
        self.0.checked_sub(1).map(Self)
    }

    /// How many places this address lies after `base`, or `None` if it lies before.
    #[must_use]
    pub fn distance_from(self, base: Self) -> Option<u32> {
        self.0.checked_sub(base.0)
    }
}

impl From<Ipv4Addr> for Address {
    fn from(address: Ipv4Addr) -> Self {
        Self(address.to_bits())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.v4().fmt(f)
    }
}

impl FromStr for Address {
    type Err = std::net::AddrParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<Ipv4Addr>().map(Self::from)
    }
}
