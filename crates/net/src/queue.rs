//! The queue before a transmitter.

use std::collections::VecDeque;
use wasp_units::Bytes;

/// A drop-tail FIFO of packets, each of which is a handle and a length. The packet in transmission is not in it.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    waiting: VecDeque<(T, u32)>,
    bytes: u64,
    room: Option<Bytes>,
}

impl<T> Queue<T> {
    /// An empty queue with room for so many bytes; `None` has no bound.
    pub(crate) const fn new(room: Option<Bytes>) -> Self {
        Self { waiting: VecDeque::new(), bytes: 0, room }
    }

    /// Bytes that wait.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether so many bytes more may wait.
    pub(crate) fn has_room(&self, bytes: u32) -> bool {
        self.room.is_none_or(|room| self.bytes + u64::from(bytes) <= room.get())
    }

    /// Appends a packet, for which there is room.
    pub(crate) fn push(&mut self, handle: T, bytes: u32) {
        self.bytes += u64::from(bytes);
        self.waiting.push_back((handle, bytes));
    }

    /// Takes the packet that has waited longest, and its length.
    pub(crate) fn pop(&mut self) -> Option<(T, u32)> {
        let (handle, bytes) = self.waiting.pop_front()?;
        self.bytes -= u64::from(bytes);
        Some((handle, bytes))
    }
}
