//! The two directions of a link.

/// One of the two directions of a link.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Direction {
    /// From the first end to the second; of an access link, from its host.
    Forward,
    /// From the second end to the first.
    Backward,
}

impl Direction {
    /// Both directions, forward first.
    pub const BOTH: [Self; 2] = [Self::Forward, Self::Backward];

    /// The other one.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Forward => Self::Backward,
            Self::Backward => Self::Forward,
        }
    }
}

/// Something that each direction of a link has one of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pair<T> {
    /// From the first end to the second; of an access link, from its host.
    pub forward: T,
    /// From the second end to the first.
    pub backward: T,
}

impl<T> Pair<T> {
    /// What this direction has.
    pub const fn get(&self, direction: Direction) -> &T {
        match direction {
            Direction::Forward => &self.forward,
            Direction::Backward => &self.backward,
        }
    }
}
