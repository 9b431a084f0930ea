//! Controlled delay.
//!
//! Source: RFC 8289, "Controlled Delay Active Queue Management", section 5 (its pseudocode), whose names the variables have. On entering the
//! dropping state again soon, `count` starts from what the last stay added, as there. A packet that would be dropped is marked
//! instead where it may be, and then leaves: it is the signal that is due, so that no further packet is looked at.

use super::config::{Limit, check_packet, ensure_time};
use super::fifo::Fifo;
use super::{DropReason, Item, Waiting};
use crate::option_error::{OptionError, ensure};
use serde::{Deserialize, Serialize};
use wasp_units::{Bytes, Duration, Instant};

/// Parameters of CoDel.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct CodelConfig {
    /// Most packets that wait; 1,000 unless set, as in Linux (RFC 8289 names none).
    pub packets: Option<u32>,
    /// Most bytes that wait; `None` has no bound.
    pub bytes: Option<Bytes>,
    /// TARGET, the waiting time that is acceptable for long; 5 ms unless set (section 5.3).
    pub target: Duration,
    /// INTERVAL, how long the waiting time must have been above the target, about the longest usual RTT; 100 ms unless set (section 5.3).
    pub interval: Duration,
    /// MAXPACKET: nothing is dropped while no more than this waits behind a packet; 1,500 bytes unless set, an IP packet on Ethernet, as
    /// section 5.3 asks for the MTU.
    pub max_packet: Bytes,
    /// Whether ECN-capable packets are marked where others are dropped early; false unless set, as in Linux.
    pub ecn: bool,
}

impl Default for CodelConfig {
    fn default() -> Self {
        Self {
            packets: Some(1_000),
            bytes: None,
            target: TARGET,
            interval: INTERVAL,
            max_packet: Bytes::new(MAXPACKET),
            ecn: false,
        }
    }
}

/// RFC 8289 section 5.3.
pub(super) const TARGET: Duration = Duration::from_millis(5);
/// RFC 8289 section 5.3.
pub(super) const INTERVAL: Duration = Duration::from_millis(100);
/// The longest IP packet that Ethernet carries.
pub(super) const MAXPACKET: u64 = 1_500;

impl CodelConfig {
    pub(super) fn check(&self) -> Result<(), OptionError> {
        check_times(self.target, self.interval)?;
        check_packet("max_packet", self.max_packet)
    }
}

/// Fails unless both times make sense, and together.
pub(super) fn check_times(target: Duration, interval: Duration) -> Result<(), OptionError> {
    ensure_time("target", target)?;
    ensure_time("interval", interval)?;
    ensure(target <= interval, "target", target, format_args!("at most interval, {interval}"))
}

/// The queue that CoDel takes packets from.
pub(super) trait Backlog<T> {
    /// Takes the packet at the head.
    fn pop(&mut self, now: Instant) -> Option<Waiting<T>>;
    /// Bytes that wait.
    fn backlog(&self) -> u64;
}

/// What CoDel is held to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    pub(super) target: Duration,
    pub(super) interval: Duration,
    pub(super) max_packet: Bytes,
    pub(super) ecn: bool,
    /// Waiting time above which ECN-capable packets are marked, whatever the state (RFC 8290 section 5.2.7).
    pub(super) ce_threshold: Option<Duration>,
}

impl Law {
    /// The control law: the time from the `count`-th drop to the next, the integer part of INTERVAL / sqrt(count) in nanoseconds.
    fn spacing(&self, count: u64) -> Duration {
        let interval = self.interval.as_nanos();
        // The integer part of a root is the root of the integer part of what stands under it.
        let nanos = match interval.checked_mul(interval) {
            Some(square) => (square / count).isqrt(),
            None => {
                let square = u128::from(interval) * u128::from(interval);
                u64::try_from((square / u128::from(count)).isqrt()).unwrap_or(u64::MAX)
            }
        };
        Duration::from_nanos(nanos)
    }
}

/// CoDel's state for one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Codel {
    /// When the waiting time will have been above the target for an interval; `None` while it is below.
    first_above_time: Option<Instant>,
    /// When the next packet is dropped, in the dropping state.
    drop_next: Instant,
    /// Packets dropped since the dropping state was entered, or more if it was entered again soon.
    count: u64,
    /// `count` when the dropping state was entered.
    last_count: u64,
    dropping: bool,
}

impl Codel {
    /// The next packet of the queue to leave; what is dropped before it goes to `dropped`.
    pub(super) fn dequeue<T: Copy>(
        &mut self,
        law: &Law,
        queue: &mut impl Backlog<T>,
        now: Instant,
        dropped: &mut impl FnMut(T, DropReason),
    ) -> Option<Waiting<T>> {
        let (mut packet, ok_to_drop) = self.pop(law, queue, now)?;
        let leaves = if self.dropping {
            self.stay(law, packet, ok_to_drop, queue, now, dropped)
        } else if ok_to_drop {
            self.enter(law, packet, queue, now, dropped)
        } else {
            Some(packet)
        };
        packet = leaves?;
        if law.ce_threshold.is_some_and(|threshold| packet.waited(now) > threshold) {
            packet.mark();
        }
        Some(packet)
    }

    /// The dropping state: drops what is due, and leaves the state with a packet that has waited less than the target.
    fn stay<T: Copy>(
        &mut self,
        law: &Law,
        mut packet: Waiting<T>,
        mut ok_to_drop: bool,
        queue: &mut impl Backlog<T>,
        now: Instant,
        dropped: &mut impl FnMut(T, DropReason),
    ) -> Option<Waiting<T>> {
        loop {
            self.dropping = ok_to_drop;
            if !self.dropping || now < self.drop_next {
                return Some(packet);
            }
            self.count += 1;
            if law.ecn && packet.mark() {
                self.drop_next = self.drop_next.saturating_add(law.spacing(self.count));
                return Some(packet);
            }
            dropped(packet.handle, DropReason::Early);
            (packet, ok_to_drop) = self.pop(law, queue, now)?;
            if ok_to_drop {
                self.drop_next = self.drop_next.saturating_add(law.spacing(self.count));
            }
        }
    }

    /// Enters the dropping state with the packet that gives the reason.
    fn enter<T: Copy>(
        &mut self,
        law: &Law,
        mut packet: Waiting<T>,
        queue: &mut impl Backlog<T>,
        now: Instant,
        dropped: &mut impl FnMut(T, DropReason),
    ) -> Option<Waiting<T>> {
        let marked = law.ecn && packet.mark();
        let leaves = if marked {
            Some(packet)
        } else {
            dropped(packet.handle, DropReason::Early);
            self.pop(law, queue, now).map(|(packet, _)| packet)
        };
        // Where the last stay was not long ago, its rate of drops is a good start.
        let delta = self.count - self.last_count;
        let recent = now.saturating_since(self.drop_next) < law.interval.saturating_mul(16);
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.last_count = self.count;
        self.drop_next = now.saturating_add(law.spacing(self.count));
        self.dropping = true;
        leaves
    }

    /// The RFC's `dodequeue`: the packet at the head, and whether the waiting time has been above the target for an interval.
    fn pop<T: Copy>(
        &mut self,
        law: &Law,
        queue: &mut impl Backlog<T>,
        now: Instant,
    ) -> Option<(Waiting<T>, bool)> {
        let Some(packet) = queue.pop(now) else {
            self.first_above_time = None;
            self.dropping = false;
            return None;
        };
        if packet.waited(now) < law.target || queue.backlog() <= law.max_packet.get() {
            self.first_above_time = None;
            return Some((packet, false));
        }
        let first_above_time = *self.first_above_time.get_or_insert(now.saturating_add(law.interval));
        // The interval is above zero: the packet with which the time begins is not dropped.
        Some((packet, now >= first_above_time))
    }
}

/// One FIFO under CoDel.
#[derive(Debug)]
pub(super) struct CodelQueue<T> {
    queue: Fifo<T>,
    law: Law,
    codel: Codel,
}

impl<T: Copy> CodelQueue<T> {
    pub(super) fn new(config: &CodelConfig) -> Self {
        let CodelConfig { packets, bytes, target, interval, max_packet, ecn } = *config;
        let law = Law { target, interval, max_packet, ecn, ce_threshold: None };
        Self { queue: Fifo::new(Limit { packets, bytes }), law, codel: Codel::default() }
    }

    pub(super) fn enqueue(&mut self, item: Item<T>, now: Instant, dropped: &mut impl FnMut(T, DropReason)) {
        self.queue.enqueue(item, now, dropped);
    }

    pub(super) fn dequeue(
        &mut self,
        now: Instant,
        dropped: &mut impl FnMut(T, DropReason),
    ) -> Option<Waiting<T>> {
        self.codel.dequeue(&self.law, &mut self.queue, now, dropped)
    }

    pub(super) fn packets(&self) -> usize {
        self.queue.packets()
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.queue.bytes()
    }
}
