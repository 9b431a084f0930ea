//! What happened at a link.

use crate::{CrossCounters, LossTally};
use wasp_units::{Duration, Instant};

/// What happened at a link since the start.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct LinkCounters {
    /// Packets that came to the link's entrance. With [`Self::duplicated`] they are those lost, those dropped, those on the link, and those that
    /// arrived.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What the loss model did.
    pub loss: LossTally,
    /// Packets dropped for another reason than random loss, copies among them.
    pub dropped: u64,
    /// Those of them that the queue dropped early: although there was room.
    pub dropped_early: u64,
    /// Packets that bore no mark before the queue marked them (CE, RFC 3168).
    pub marked: u64,
    /// Packets in which a bit was flipped.
    pub corrupted: u64,
    /// Copies that the link made.
    pub duplicated: u64,
    /// Packets that were held back so that others may overtake them.
    pub held: u64,
    /// Those of them that others have overtaken.
    pub reordered: u64,
    /// Most bytes that ever waited in the queue.
    pub queue_max: u64,
    /// Time integral of the bytes waiting in the queue, in byte-nanoseconds.
    pub queue_integral: u128,
}

impl LinkCounters {
    /// Those of all packets but cross traffic, as far as they are counted for that.
    #[must_use]
    pub const fn without(&self, cross: &CrossCounters) -> Self {
        Self {
            packets: self.packets - cross.packets,
            bytes: self.bytes - cross.bytes,
            loss: LossTally {
                from_good: self.loss.from_good - cross.loss.from_good,
                from_bad: self.loss.from_bad - cross.loss.from_bad,
                lost: self.loss.lost - cross.loss.lost,
            },
            dropped: self.dropped - cross.dropped,
            dropped_early: self.dropped_early - cross.dropped_early,
            corrupted: self.corrupted - cross.corrupted,
            duplicated: self.duplicated - cross.duplicated,
            ..*self
        }
    }

    /// So many bytes wait in the queue.
    pub(super) fn note_queue(&mut self, bytes: u64) {
        self.queue_max = self.queue_max.max(bytes);
    }

    /// So many bytes wait in the queue for so long.
    pub(super) fn note_occupancy(&mut self, bytes: u64, time: Duration) {
        self.queue_integral += u128::from(bytes) * u128::from(time.as_nanos());
    }
}

/// When the time integral of what waits in a queue was last brought up to date.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Occupancy {
    since: Instant,
}

impl Occupancy {
    /// So many bytes have waited until `now`, since the last call.
    pub(super) fn note(&mut self, bytes: u64, now: Instant, counters: &mut LinkCounters) {
        counters.note_occupancy(bytes, now.saturating_since(self.since));
        self.since = now;
    }
}
