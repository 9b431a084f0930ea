//! Duplication: packets that arrive twice.

use serde::{Deserialize, Serialize};
use wasp_random::{Key, Purpose};
use wasp_units::Probability;

/// How many packets arrive twice. Every share is possible.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Duplicate {
    /// Share of the packets that a copy follows.
    pub share: Probability,
}

/// The duplication of one direction of a link.
#[derive(Clone, Debug)]
pub struct Duplicator {
    duplicate: Duplicate,
    key: Key,
    packets: u64,
}

impl Duplicator {
    /// Duplication before its first packet.
    #[must_use]
    pub fn new(duplicate: Duplicate, key: Key) -> Self {
        Self { duplicate, key: key.purpose(Purpose::Duplication), packets: 0 }
    }

    /// Decides whether a copy of the next packet follows it directly. The copy itself does not come here.
    pub fn duplicates(&mut self) -> bool {
        let number = self.packets;
        self.packets += 1;
        self.key.happens(number, self.duplicate.share)
    }
}
