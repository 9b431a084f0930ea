//! What an input is to reach, beside the fates of packets.

use std::ops::AddAssign;

/// Something rare that a network has to bear.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Case {
    /// A packet was sent with a time to live of 0.
    NoTimeToLive,
    /// A packet was sent whose source is its destination.
    ToItself,
    /// An ICMP error was sent whose time to live ends at the first router.
    ErrorWithoutTime,
    /// A frame was taken whose IP header has options.
    Options,
    /// A frame was cut into several packets.
    SuperSegment,
    /// The last fragment of a packet came to a host, which took the whole.
    Reassembled,
    /// Fragments came to a host that contradict each other.
    Contradiction,
    /// A host gave fragments up before the last packet was sent.
    GivenUp,
}

/// How often each case was met.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cases([u64; Case::ALL.len()]);

impl Case {
    /// Every case.
    pub const ALL: [Self; 8] = [
        Self::NoTimeToLive,
        Self::ToItself,
        Self::ErrorWithoutTime,
        Self::Options,
        Self::SuperSegment,
        Self::Reassembled,
        Self::Contradiction,
        Self::GivenUp,
    ];
}

impl Cases {
    /// How often the case was met.
    #[must_use]
    pub const fn get(&self, case: Case) -> u64 {
        self.0[case as usize]
    }

    /// Counts a case if it was met.
    pub(super) fn note(&mut self, case: Case, met: bool) {
        self.0[case as usize] += u64::from(met);
    }
}

impl AddAssign for Cases {
    fn add_assign(&mut self, other: Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }
}
