//! One pool of waiting packets for many FIFOs, so that a flow costs nothing while none of its packets waits, and a packet no allocation once
//! the pool has grown to the longest queue.

use super::Waiting;

/// The place of a packet in the pool.
type Place = u32;

#[derive(Debug)]
struct Slot<T> {
    packet: Waiting<T>,
    /// The packet behind this one in its list, or the next free place.
    next: Option<Place>,
}

/// The packets of all lists.
#[derive(Debug)]
pub(super) struct Store<T> {
    slots: Vec<Slot<T>>,
    free: Option<Place>,
    packets: usize,
    bytes: u64,
}

/// One FIFO among those that share a store.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct List {
    ends: Option<Ends>,
    packets: usize,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Ends {
    first: Place,
    last: Place,
}

impl<T: Copy> Store<T> {
    pub(super) const fn new() -> Self {
        Self { slots: Vec::new(), free: None, packets: 0, bytes: 0 }
    }

    /// Packets in all lists.
    pub(super) const fn packets(&self) -> usize {
        self.packets
    }

    /// Their bytes.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends a packet to the list.
    pub(super) fn push(&mut self, list: &mut List, packet: Waiting<T>) {
        let bytes = u64::from(packet.bytes);
        let place = self.insert(Slot { packet, next: None });
        list.ends = Some(match list.ends {
            Some(Ends { first, last }) => {
                self.slots[last as usize].next = Some(place);
                Ends { first, last: place }
            }
            None => Ends { first: place, last: place },
        });
        list.packets += 1;
        list.bytes += bytes;
        self.packets += 1;
        self.bytes += bytes;
    }

    /// Takes the first packet of the list.
    pub(super) fn pop(&mut self, list: &mut List) -> Option<Waiting<T>> {
        let Ends { first, last } = list.ends?;
        let slot = &mut self.slots[first as usize];
        let (packet, behind) = (slot.packet, slot.next);
        slot.next = self.free;
        self.free = Some(first);
        list.ends = behind.map(|next| Ends { first: next, last });
        let bytes = u64::from(packet.bytes);
        list.packets -= 1;
        list.bytes -= bytes;
        self.packets -= 1;
        self.bytes -= bytes;
        Some(packet)
    }

    /// A free place with this content.
    fn insert(&mut self, slot: Slot<T>) -> Place {
        let Some(place) = self.free else {
            let place = Place::try_from(self.slots.len()).expect("fewer than 2^32 packets wait");
            self.slots.push(slot);
            return place;
        };
        self.free = self.slots[place as usize].next;
        self.slots[place as usize] = slot;
        place
    }
}

impl List {
    pub(super) const fn packets(&self) -> usize {
        self.packets
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }
}
