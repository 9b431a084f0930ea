//! The total order of events.

use wasp_units::Instant;

/// A node of the model: whoever owns state and makes events.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct NodeId(pub u32);

impl NodeId {
    /// Nodes of one model at most (2^24): the identifier shares a word of the key with the sequence number.
    pub const LIMIT: u32 = 1 << (64 - EventKey::SEQUENCE_BITS);
}

/// The place of an event in the total order: time, source node, the source's own sequence number.
///
/// Two events never have equal keys, because a node uses each of its sequence numbers once.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct EventKey {
    time: Instant,
    origin: u64,
}

impl EventKey {
    /// Bits of the sequence number: 10^12 events a node.
    const SEQUENCE_BITS: u32 = 40;

    pub(crate) fn new(time: Instant, source: NodeId, sequence: u64) -> Self {
        debug_assert!(source.0 < NodeId::LIMIT && sequence < 1 << Self::SEQUENCE_BITS);
        Self { time, origin: u64::from(source.0) << Self::SEQUENCE_BITS | sequence }
    }

    /// When the event happens.
    #[must_use]
    pub const fn time(self) -> Instant {
        self.time
    }

    /// The node that made the event.
    #[must_use]
    pub const fn source(self) -> NodeId {
        NodeId((self.origin >> Self::SEQUENCE_BITS) as u32)
    }

    /// Both parts as one integer, which compares faster than the parts.
    pub(crate) const fn packed(self) -> u128 {
        (self.time.as_nanos() as u128) << 64 | self.origin as u128
    }
}
