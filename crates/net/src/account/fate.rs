//! What became of a packet.

use std::fmt;
use wasp_packet::{FrameError, Unassembled};
use wasp_wire::ParseError;

/// The end of a packet: delivered, or the reason of its drop.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Fate {
    /// Handed to the host, the device or the router that it was addressed to.
    Delivered,
    /// Lost by a link's loss model.
    RandomLoss,
    /// A link's queue had no room.
    QueueFull,
    /// A link's queue dropped it although there was room, to tell its sender of congestion.
    QueueEarly,
    /// Longer than a link's MTU, and not to be fragmented.
    TooBig,
    /// Longer than a link's MTU: fragments took its place, which are packets of their own.
    Fragmented,
    /// A fragment of a packet whose others did not come in time.
    ReassemblyTimeout,
    /// A fragment whose receiver had no room for those of another packet.
    ReassemblyFull,
    /// Its time to live ran out.
    Ttl,
    /// No router or host has its destination.
    NoRoute,
    /// A checksum did not match: the packet came so from the device, or a link flipped a bit and the host or router that took it found out.
    BadChecksum,
    /// Not a valid packet, or a fragment that contradicts others of its packet.
    Malformed,
    /// A valid packet of a kind that the network does not carry.
    Unsupported,
    /// The device had no room for it.
    DeviceFull,
    /// The payload pool was at its bound.
    PoolExhausted,
    /// It opened a connection to a modelled server whose queue of connections to accept was full: a SYN, or what completes the handshake.
    AcceptQueueFull,
    /// A SYN for a modelled server whose queue of open handshakes was full.
    SynQueueFull,
}

impl Fate {
    /// Every fate.
    pub const ALL: [Self; 17] = [
        Self::Delivered,
        Self::RandomLoss,
        Self::QueueFull,
        Self::QueueEarly,
        Self::TooBig,
        Self::Fragmented,
        Self::ReassemblyTimeout,
        Self::ReassemblyFull,
        Self::Ttl,
        Self::NoRoute,
        Self::BadChecksum,
        Self::Malformed,
        Self::Unsupported,
        Self::DeviceFull,
        Self::PoolExhausted,
        Self::AcceptQueueFull,
        Self::SynQueueFull,
    ];

    /// The name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::RandomLoss => "random loss",
            Self::QueueFull => "queue full",
            Self::QueueEarly => "queue early",
            Self::TooBig => "too big",
            Self::Fragmented => "fragmented",
            Self::ReassemblyTimeout => "reassembly timeout",
            Self::ReassemblyFull => "reassembly full",
            Self::Ttl => "ttl",
            Self::NoRoute => "no route",
            Self::BadChecksum => "bad checksum",
            Self::Malformed => "malformed",
            Self::Unsupported => "unsupported",
            Self::DeviceFull => "device full",
            Self::PoolExhausted => "pool exhausted",
            Self::AcceptQueueFull => "accept queue full",
            Self::SynQueueFull => "syn queue full",
        }
    }
}

impl From<ParseError> for Fate {
    fn from(error: ParseError) -> Self {
        match error {
            ParseError::Checksum(_) => Self::BadChecksum,
            ParseError::NotIpv4 | ParseError::UnsupportedProtocol(_) => Self::Unsupported,
            ParseError::Truncated(_) | ParseError::HeaderLength(_) | ParseError::Length(_) => Self::Malformed,
        }
    }
}

impl From<FrameError> for Fate {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::Packet(error) => error.into(),
            _ => Self::Malformed,
        }
    }
}

impl From<Unassembled> for Fate {
    fn from(why: Unassembled) -> Self {
        match why {
            Unassembled::Inconsistent => Self::Malformed,
            Unassembled::Full => Self::ReassemblyFull,
            Unassembled::NoRoom => Self::PoolExhausted,
            Unassembled::Invalid(error) => error.into(),
        }
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How many packets met each fate.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Fates([u64; Fate::ALL.len()]);

impl Fates {
    /// Counts `packets` more with this fate.
    pub fn add(&mut self, fate: Fate, packets: u64) {
        self.0[fate as usize] += packets;
    }

    /// Adds the counts of other packets.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }

    /// So many packets thought to have met `from` met `to`.
    pub(crate) fn reclassify(&mut self, from: Fate, to: Fate, packets: u64) {
        self.0[from as usize] -= packets;
        self.0[to as usize] += packets;
    }

    /// How many packets met this fate.
    #[must_use]
    pub const fn get(&self, fate: Fate) -> u64 {
        self.0[fate as usize]
    }

    /// Packets whose fate is known.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}
