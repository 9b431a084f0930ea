//! The FIFO under drop-tail, RED, CoDel and PIE.

use super::codel::Backlog;
use super::config::Limit;
use super::{DropReason, Item, Waiting};
use std::collections::VecDeque;
use wasp_units::Instant;

/// Packets in the order of their arrival, and whether the transmitter is idle.
#[derive(Debug)]
pub(super) struct Fifo<T> {
    waiting: VecDeque<Waiting<T>>,
    bytes: u64,
    limit: Limit,
    /// When the transmitter last found nothing to send, until it finds something again.
    idle_since: Option<Instant>,
}

impl<T: Copy> Fifo<T> {
    /// An empty one; the transmitter has been idle since the start of the run.
    pub(super) fn new(limit: Limit) -> Self {
        Self { waiting: VecDeque::new(), bytes: 0, limit, idle_since: Some(Instant::ZERO) }
    }

    pub(super) fn packets(&self) -> usize {
        self.waiting.len()
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Since when the transmitter has been idle; `None` while it is busy, or about to be because a packet waits.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        self.idle_since.filter(|_| self.waiting.is_empty())
    }

    /// Whether so many bytes more may wait: there is room, or they need none because they are transmitted at once.
    pub(super) fn has_room(&self, bytes: u32) -> bool {
        self.limit.allows(self.waiting.len() + 1, self.bytes + u64::from(bytes))
            || self.idle_since().is_some()
    }

    pub(super) fn push(&mut self, packet: Waiting<T>) {
        self.bytes += u64::from(packet.bytes);
        self.waiting.push_back(packet);
    }

    /// Takes a packet as it arrives, or drops it if there is no room.
    pub(super) fn enqueue(&mut self, item: Item<T>, now: Instant, dropped: &mut impl FnMut(T, DropReason)) {
        if self.has_room(item.bytes) {
            self.push(Waiting::new(item, now));
        } else {
            dropped(item.handle, DropReason::Full);
        }
    }

    /// Takes the packet that has waited longest; the transmitter is idle from `now` on if there is none.
    pub(super) fn take(&mut self, now: Instant) -> Option<Waiting<T>> {
        let packet = self.waiting.pop_front();
        match &packet {
            Some(packet) => {
                self.bytes -= u64::from(packet.bytes);
                self.idle_since = None;
            }
            None => self.idle_since = self.idle_since.or(Some(now)),
        }
        packet
    }
}

impl<T: Copy> Backlog<T> for Fifo<T> {
    fn pop(&mut self, now: Instant) -> Option<Waiting<T>> {
        self.take(now)
    }

    fn backlog(&self) -> u64 {
        self.bytes
    }
}
