//! One TCP socket of a host.

use wasp_tcp::Endpoint;
use wasp_units::Wakeup;
use wasp_wire::{Address, Flags, TcpHeader};

/// What the peer has pushed, in order or not, since the application read all there was.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub enum Pushed {
    /// Nothing.
    #[default]
    Nothing,
    /// A full segment at most: that tells little, since Linux pushes at the end of every two or so.
    Full,
    /// A short segment: the peer had no more to send.
    Short,
}

/// A TCP endpoint in its slot of a stack, with what the application keeps for it.
#[derive(Debug)]
pub struct Socket<T> {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The application's.
    pub data: T,
    /// What the peer has pushed.
    pub pushed: Pushed,
    /// The wake-up for the endpoint's deadlines, and for those that the application joins to them. The application asks for it.
    pub wakeup: Wakeup,
    remote: Address,
    ordinal: u32,
    initial_sequence: u32,
}

impl<T> Socket<T> {
    pub(crate) fn new(
        endpoint: Endpoint,
        remote: Address,
        (ordinal, initial_sequence): (u32, u32),
        data: T,
    ) -> Self {
        let (pushed, wakeup) = (Pushed::Nothing, Wakeup::default());
        Self { endpoint, data, pushed, wakeup, remote, ordinal, initial_sequence }
    }

    /// The peer's address.
    #[must_use]
    pub const fn remote(&self) -> Address {
        self.remote
    }

    /// Which of the host's connections this is, from 0; the numbers of ports that were passed over are missing.
    #[must_use]
    pub const fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// The host's initial sequence number.
    #[must_use]
    pub const fn initial_sequence(&self) -> u32 {
        self.initial_sequence
    }

    /// A segment with so many bytes arrives.
    #[inline]
    pub(crate) fn note_push(&mut self, header: &TcpHeader, len: u32) {
        if header.flags.intersects(Flags::PSH | Flags::FIN) {
            let is_short = len < u32::from(self.endpoint.mss());
            self.pushed = self.pushed.max(if is_short { Pushed::Short } else { Pushed::Full });
        }
    }

    /// The application has read what was in order. What was pushed beyond a gap still counts: it ends what fills the gap.
    #[inline]
    pub fn forget_push(&mut self) {
        if !self.endpoint.has_gap() {
            self.pushed = Pushed::Nothing;
        }
    }
}
