//! What happened at a link.

use super::observed::Observed;
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
    /// Those of them that were longer than the link carries, and not to be fragmented.
    pub dropped_too_big: u64,
    /// Packets that were longer than the link carries and in whose place fragments came, which alone are among [`Self::packets`].
    pub fragmented: u64,
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
    /// Bytes of the packets that were lost or dropped, copies among them.
    pub discarded_bytes: u64,
    /// Bytes of the copies that the link made.
    pub duplicated_bytes: u64,
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

    /// Packets dropped because the queue had no room, of the counters of all packets.
    #[must_use]
    pub const fn dropped_full(&self) -> u64 {
        self.dropped - self.dropped_early - self.dropped_too_big
    }
}

/// The account of a link.
#[derive(Debug, Default)]
pub(crate) struct LinkAccount {
    pub(crate) counters: LinkCounters,
    pub(super) observed: Option<Box<Observed>>,
}

impl LinkAccount {
    /// So many bytes wait in the queue.
    #[inline]
    pub(super) fn note_queue(&mut self, bytes: u64) {
        self.counters.queue_max = self.counters.queue_max.max(bytes);
        if let Some(observed) = &mut self.observed {
            observed.note_queue(bytes);
        }
    }

    /// So many bytes wait in the queue for so long.
    #[inline]
    pub(super) fn note_occupancy(&mut self, bytes: u64, time: Duration) {
        self.counters.queue_integral += byte_time(bytes, time);
    }

    /// A packet that came at `entered` begins transmission at `start`, which may be later.
    #[inline]
    pub(super) fn note_wait(&mut self, entered: Instant, start: Instant, now: Instant) {
        if let Some(observed) = &mut self.observed {
            observed.note_wait(entered, start, now);
        }
    }
}

/// In byte-nanoseconds.
pub(super) fn byte_time(bytes: u64, time: Duration) -> u128 {
    u128::from(bytes) * u128::from(time.as_nanos())
}

/// When the time integral of what waits in a queue was last brought up to date.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Occupancy {
    since: Instant,
}

impl Occupancy {
    /// So many bytes have waited until `now`, since the last call.
    pub(super) fn note(&mut self, bytes: u64, now: Instant, account: &mut LinkAccount) {
        account.note_occupancy(bytes, now.saturating_since(self.since));
        self.since = now;
    }

    /// What [`Self::note`] would add now.
    pub(super) fn since_noted(&self, bytes: u64, now: Instant) -> u128 {
        byte_time(bytes, now.saturating_since(self.since))
    }
}
