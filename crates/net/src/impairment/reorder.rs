//! Reordering: packets that arrive so many places late.

use super::LONGEST;
use crate::option_error::{OptionError, within};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use wasp_random::{Key, Purpose};
use wasp_units::{Duration, Instant, Probability};

/// Which packets are overtaken, and by how many.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// Share of the packets that are held back, at most one half.
    pub share: Probability,
    /// How many packets that came later overtake a packet that is held back.
    #[serde(default = "default_distance")]
    pub distance: u32,
    /// How long a packet is held at most, if too few follow it. The default, 100 ms, is half of the least retransmission timeout of Linux, so a
    /// packet held at the end of a burst comes late but does not look lost.
    #[serde(default = "default_wait")]
    pub wait: Duration,
}

/// The duplicate acknowledgments after which TCP takes a packet for lost (RFC 5681, section 3.2).
const fn default_distance() -> u32 {
    3
}

const fn default_wait() -> Duration {
    Duration::from_millis(100)
}

impl Default for Reorder {
    /// No packet is overtaken.
    fn default() -> Self {
        Self { share: Probability::ZERO, distance: default_distance(), wait: default_wait() }
    }
}

impl Reorder {
    /// Checks the parameters.
    ///
    /// # Errors
    /// The first parameter that is impossible.
    pub fn check(&self) -> Result<(), OptionError> {
        // Where more packets were held than go, those that go would be the exception.
        let half = Probability::from_f64(0.5).unwrap_or_default();
        within("share", self.share, Probability::ZERO, half)?;
        within("distance", self.distance, 1, 1_000)?;
        within("wait", self.wait, Duration::from_micros(1), LONGEST)
    }
}

/// What becomes of a packet that comes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use]
pub enum Pass {
    /// It is held back: the machine keeps the handle, and [`Reorderer::release`] gives it back.
    Hold,
    /// It goes, and then what [`Reorderer::release`] gives.
    Go,
}

/// A packet that is held back no longer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Released<H> {
    /// The packet.
    pub handle: H,
    /// How many packets have overtaken it: fewer than the distance if it waited too long.
    pub overtaken_by: u64,
}

/// The packets of one direction of a link that are held back. `H` is the link's handle of a packet.
///
/// For each packet in the order of sending call [`Self::pass`]. After each [`Pass::Go`], and at [`Self::deadline`], call [`Self::release`]
/// until there is none, and send on what it gives in that order.
///
/// A packet counts as overtaking when it came later and went at once: what is held back itself overtakes nobody. So every packet that does not
/// wait too long arrives exactly `distance` places late, however many are held beside it, and those held back keep their order.
#[derive(Clone, Debug)]
pub struct Reorderer<H> {
    reorder: Reorder,
    key: Key,
    packets: u64,
    /// Packets that went at once.
    gone: u64,
    held: VecDeque<Held<H>>,
}

#[derive(Clone, Copy, Debug)]
struct Held<H> {
    handle: H,
    /// How many packets had gone when it came.
    after: u64,
    /// It is released at this time at the latest.
    until: Instant,
}

impl<H> Reorderer<H> {
    /// Reordering before its first packet.
    #[must_use]
    pub fn new(reorder: Reorder, key: Key) -> Self {
        let key = key.purpose(Purpose::Jitter).name("reordering");
        Self { reorder, key, packets: 0, gone: 0, held: VecDeque::new() }
    }

    /// Decides the next packet, which comes at `now`.
    pub fn pass(&mut self, handle: H, now: Instant) -> Pass {
        let number = self.packets;
        self.packets += 1;
        if self.key.happens(number, self.reorder.share) {
            let until = now.saturating_add(self.reorder.wait);
            self.held.push_back(Held { handle, after: self.gone, until });
            return Pass::Hold;
        }
        self.gone += 1;
        Pass::Go
    }

    /// The next packet that is held back no longer, if there is one at `now`. Those that came first are due first.
    pub fn release(&mut self, now: Instant) -> Option<Released<H>> {
        let first = self.held.front()?;
        let overtaken_by = self.gone - first.after;
        if overtaken_by < u64::from(self.reorder.distance) && now < first.until {
            return None;
        }
        self.held.pop_front().map(|held| Released { handle: held.handle, overtaken_by })
    }

    /// When a packet is to be released even if no other comes.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.held.front().map(|held| held.until)
    }
}
