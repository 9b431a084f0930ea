//! A timing wheel of two levels: where events wait that are not soon (Varghese and Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987).

use crate::EventKey;
use wasp_units::Instant;

/// Nanoseconds of a slot, as a power of two: 0.26 ms.
const SLOT_SHIFT: u32 = 18;
/// Slots of a level, as a power of two; a slot of the second level is as long as the whole first level, 0.27 s.
const LEVEL_SHIFT: u32 = 10;
const SLOTS: u64 = 1 << LEVEL_SHIFT;

type Entry<E> = (EventKey, E);

/// Events by the slot of time that they fall into, without order within a slot.
#[derive(Debug)]
pub(crate) struct Wheel<E> {
    /// The slot that is next: all before it have been taken.
    next: u64,
    near: Level<E>,
    far: Level<E>,
    /// What lies beyond the second level, and its first slot.
    beyond: Vec<Entry<E>>,
    beyond_from: u64,
    /// Storage of slots of the first level that were emptied: used again soon, it is still in the cache.
    spare: Vec<Vec<Entry<E>>>,
    len: usize,
}

impl<E> Default for Wheel<E> {
    fn default() -> Self {
        Self {
            next: 0,
            near: Level::default(),
            far: Level::default(),
            beyond: Vec::new(),
            beyond_from: u64::MAX,
            spare: Vec::new(),
            len: 0,
        }
    }
}

impl<E: Copy> Wheel<E> {
    /// Whether an event at `at` may be added: its slot has not been taken.
    #[inline]
    pub(crate) fn takes(&self, at: Instant) -> bool {
        slot_of(at) >= self.next
    }

    /// Adds an event, which the wheel must take.
    #[inline]
    pub(crate) fn push(&mut self, key: EventKey, event: E) {
        self.len += 1;
        self.place((key, event));
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Takes the events of the first slot that has some, in exchange for other storage.
    pub(crate) fn take_slot(&mut self) -> Option<Vec<Entry<E>>> {
        loop {
            let near = self.near.first(self.next);
            let far = self.far.first(self.next >> LEVEL_SHIFT).map(|slot| slot << LEVEL_SHIFT);
            let first = near.unwrap_or(u64::MAX).min(far.unwrap_or(u64::MAX)).min(self.beyond_from);
            if first == u64::MAX {
                return None;
            }
            if first == self.beyond_from {
                self.next = self.next.max(first);
                self.beyond_from = u64::MAX;
                std::mem::take(&mut self.beyond).into_iter().for_each(|entry| self.place(entry));
            } else if far == Some(first) {
                // What is in the same slot of the first level waits for this to join it.
                self.next = self.next.max(first);
                let entries = self.far.take(first >> LEVEL_SHIFT);
                entries.into_iter().for_each(|entry| self.place(entry));
            } else {
                self.next = first + 1;
                let entries = self.near.take(first);
                self.len -= entries.len();
                return Some(entries);
            }
        }
    }

    /// Gives emptied storage back for slots of about `entries` entries. What is much larger is freed, else in time every slot would have the
    /// room of the largest.
    pub(crate) fn reuse(&mut self, storage: Vec<Entry<E>>, entries: usize) {
        if storage.capacity() <= 4 * entries.max(16) {
            self.spare.push(storage);
        }
    }

    #[inline]
    fn place(&mut self, entry: Entry<E>) {
        let slot = slot_of(entry.0.time());
        if slot - self.next < SLOTS {
            self.near.push(slot, entry, || self.spare.pop().unwrap_or_default());
        } else if (slot >> LEVEL_SHIFT) - (self.next >> LEVEL_SHIFT) < SLOTS {
            // Emptied four times a second: its storage, which is large, is not kept.
            self.far.push(slot >> LEVEL_SHIFT, entry, Vec::new);
        } else {
            self.beyond_from = self.beyond_from.min(slot);
            self.beyond.push(entry);
        }
    }
}

#[inline]
fn slot_of(at: Instant) -> u64 {
    at.as_nanos() >> SLOT_SHIFT
}

/// One turn of slots, from the one that is next.
#[derive(Debug)]
struct Level<E> {
    slots: Vec<Vec<Entry<E>>>,
    /// A bit for each slot that has events.
    used: [u64; (SLOTS / 64) as usize],
}

impl<E> Default for Level<E> {
    fn default() -> Self {
        Self { slots: std::iter::repeat_with(Vec::new).take(SLOTS as usize).collect(), used: [0; _] }
    }
}

impl<E> Level<E> {
    #[inline]
    fn push(&mut self, slot: u64, entry: Entry<E>, storage: impl FnOnce() -> Vec<Entry<E>>) {
        let place = (slot % SLOTS) as usize;
        let bit = 1 << (place % 64);
        if self.used[place / 64] & bit == 0 {
            self.used[place / 64] |= bit;
            self.slots[place] = storage();
        }
        self.slots[place].push(entry);
    }

    fn take(&mut self, slot: u64) -> Vec<Entry<E>> {
        let place = (slot % SLOTS) as usize;
        self.used[place / 64] &= !(1 << (place % 64));
        std::mem::take(&mut self.slots[place])
    }

    /// The first slot from `next` on that has events.
    fn first(&self, next: u64) -> Option<u64> {
        let words = self.used.len() as u64;
        let start = next % SLOTS;
        // The word of `next` comes twice: without what lies before `next`, and at the end with it.
        (0..=words).find_map(|turn| {
            let place = (start / 64 + turn) % words;
            let mut word = self.used[place as usize];
            if turn == 0 {
                word &= u64::MAX << (start % 64);
            }
            let found = place * 64 + u64::from(word.trailing_zeros());
            (word != 0).then(|| next + (found + SLOTS - start) % SLOTS)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NodeId;
    use wasp_units::Duration;

    #[test]
    fn storage_does_not_grow_with_time() {
        const WAITING: u64 = 2_000;
        let (mut wheel, period) = (Wheel::default(), Duration::from_secs(4));
        for event in 0..WAITING {
            wheel.push(EventKey::new(Instant::from_nanos(event * 2_000_000), NodeId(0), event), ());
        }
        // Each event leads to another four seconds later, by way of the second level.
        for _ in 0..100_000 {
            let mut slot = wheel.take_slot().expect("events wait");
            let entries = slot.len();
            for (key, ()) in slot.drain(..) {
                wheel.push(EventKey::new(key.time() + period, NodeId(0), 0), ());
            }
            wheel.reuse(slot, entries);
        }
        let slots = wheel.near.slots.iter().chain(&wheel.far.slots).chain(&wheel.spare);
        let room: usize = slots.map(Vec::capacity).sum();
        assert_eq!(wheel.len(), WAITING as usize);
        assert!(room < 3 * WAITING as usize, "room for {room} entries");
    }
}
