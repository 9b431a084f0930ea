//! Packets in flight, in one slab: links pass indices, so a packet is written once however many hops it makes.

use wasp_kernel::prefetch;
use wasp_packet::Packet;

/// The place of a packet in the store.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PacketId(u32);

#[derive(Debug, Default)]
pub(crate) struct PacketStore {
    packets: Vec<Option<Packet>>,
    free: Vec<u32>,
}

impl PacketStore {
    pub(crate) fn insert(&mut self, packet: Packet) -> PacketId {
        if let Some(index) = self.free.pop() {
            self.packets[index as usize] = Some(packet);
            return PacketId(index);
        }
        self.packets.push(Some(packet));
        PacketId(self.packets.len() as u32 - 1)
    }

    /// Begins to fetch a packet from memory.
    pub(crate) fn prepare(&self, id: PacketId) {
        prefetch(&self.packets[id.0 as usize]);
    }

    pub(crate) fn get(&self, id: PacketId) -> &Packet {
        self.packets[id.0 as usize].as_ref().expect("a packet in flight is in the store")
    }

    pub(crate) fn get_mut(&mut self, id: PacketId) -> &mut Packet {
        self.packets[id.0 as usize].as_mut().expect("a packet in flight is in the store")
    }

    #[inline]
    pub(crate) fn remove(&mut self, id: PacketId) -> Packet {
        self.free.push(id.0);
        self.packets[id.0 as usize].take().expect("a packet in flight is in the store")
    }

    pub(crate) fn len(&self) -> usize {
        self.packets.len() - self.free.len()
    }
}
