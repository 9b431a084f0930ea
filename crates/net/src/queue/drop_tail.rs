//! Drop-tail: one FIFO with room for packets, bytes, or both.

use super::config::Limit;
use super::fifo::Fifo;
use super::{DropReason, Item, Waiting};
use serde::{Deserialize, Serialize};
use wasp_units::{Bytes, Instant};

/// Parameters of a drop-tail queue; without any it has no bound.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct DropTailConfig {
    /// Most packets that wait; `None` has no bound.
    pub packets: Option<u32>,
    /// Most bytes that wait; `None` has no bound.
    pub bytes: Option<Bytes>,
}

#[derive(Debug)]
pub(super) struct DropTail<T>(Fifo<T>);

impl<T: Copy> DropTail<T> {
    pub(super) fn new(config: &DropTailConfig) -> Self {
        let DropTailConfig { packets, bytes } = *config;
        Self(Fifo::new(Limit { packets, bytes }))
    }

    pub(super) fn enqueue(&mut self, item: Item<T>, now: Instant, dropped: &mut impl FnMut(T, DropReason)) {
        self.0.enqueue(item, now, dropped);
    }

    pub(super) fn dequeue(
        &mut self,
        now: Instant,
        _dropped: &mut impl FnMut(T, DropReason),
    ) -> Option<Waiting<T>> {
        self.0.take(now)
    }

    pub(super) fn packets(&self) -> usize {
        self.0.packets()
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}
