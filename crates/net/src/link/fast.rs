//! Queue, serialisation and propagation of a drop-tail FIFO at a constant rate: when a packet is admitted, the moments at which its transmission
//! starts and it arrives are already known, so it costs one event.

use super::LinkConfig;
use super::counters::{LinkAccount, byte_time};
use crate::store::PacketId;
use wasp_kernel::{Channel, NodeId, Scheduler};
use wasp_units::{Bytes, Duration, Instant, Rate};

/// A packet on its way through the link.
#[derive(Clone, Copy, Debug)]
struct Transit {
    packet: PacketId,
    bytes: u32,
    start: Instant,
}

/// The state of a link that is no more than a drop-tail FIFO at a constant rate.
#[derive(Debug)]
pub(super) struct Fast {
    room: Option<Bytes>,
    rate: Option<Rate>,
    delay: Duration,
    channel: Channel<Transit>,
    /// When the transmitter is done with all that was admitted.
    busy_until: Instant,
    /// How many packets of the channel, from its front, have begun transmission.
    started: usize,
    /// Bytes of those that have not.
    waiting: u64,
}

impl Fast {
    pub(super) fn new(from: NodeId, config: &LinkConfig) -> Self {
        Self {
            room: config.room(),
            rate: config.rate,
            delay: config.delay,
            channel: Channel::new(from, config.delay),
            busy_until: Instant::ZERO,
            started: 0,
            waiting: 0,
        }
    }

    /// Whether the far end is reached at once, whatever was sent before.
    pub(super) const fn is_transparent(&self) -> bool {
        self.rate.is_none() && self.delay.is_zero()
    }

    /// Whether the queue has room for `bytes` more at `now`; call before [`Self::transmit`].
    pub(super) fn has_room(&mut self, bytes: u32, now: Instant) -> bool {
        self.begin_transmissions(now);
        let Some(limit) = self.room else { return true };
        self.busy_until <= now || self.waiting + u64::from(bytes) <= limit.get()
    }

    /// How long what comes at `now` would wait for the transmitter.
    pub(super) fn waiting_time(&self, now: Instant) -> Duration {
        self.busy_until.saturating_since(now)
    }

    /// Queues, serialises and propagates a packet; `arrival` is the event at the far end.
    pub(super) fn transmit<E: Copy>(
        &mut self,
        packet: PacketId,
        bytes: u32,
        arrival: impl FnOnce(PacketId) -> E,
        scheduler: &mut Scheduler<E>,
        account: &mut LinkAccount,
    ) {
        let now = scheduler.now();
        let start = self.busy_until.max(now);
        if let Some(rate) = self.rate {
            self.busy_until = start + rate.transmission_time(u64::from(bytes));
        } else {
            self.busy_until = start;
        }
        if start > now {
            self.waiting += u64::from(bytes);
            account.note_queue(self.waiting);
            account.note_occupancy(u64::from(bytes), start - now);
        } else {
            debug_assert_eq!(self.started, self.channel.len(), "a packet overtook the queue");
            self.started += 1;
        }
        account.note_wait(now, start, now);
        let at = self.busy_until + self.delay;
        self.channel.send(at, Transit { packet, bytes, start }, |transit| arrival(transit.packet), scheduler);
    }

    /// Bytes that wait before anything happens at `now`, and the part of their time integral in byte-nanoseconds that lies after it: their whole time
    /// was noted when they came.
    pub(super) fn waiting(&self, now: Instant) -> (u64, u128) {
        let later = (self.started..self.channel.len()).filter_map(|place| self.channel.get(place));
        let waiting = later.filter(|transit| transit.start >= now);
        waiting.fold((0, 0), |(bytes, integral), transit| {
            let own = u64::from(transit.bytes);
            (bytes + own, integral + byte_time(own, transit.start - now))
        })
    }

    /// Takes the packet that arrives at the far end now.
    pub(super) fn arrive<E: Copy>(
        &mut self,
        arrival: impl FnOnce(PacketId) -> E,
        scheduler: &mut Scheduler<E>,
    ) -> Option<PacketId> {
        self.begin_transmissions(scheduler.now());
        let transit = self.channel.receive(|next| arrival(next.packet), scheduler)?;
        self.started -= 1;
        Some(transit.packet)
    }

    /// Counts as started what the transmitter has begun by `now`. A packet that ends at `now` has left the transmitter: the next one has begun.
    fn begin_transmissions(&mut self, now: Instant) {
        while let Some(next) = self.channel.get(self.started) {
            if next.start > now {
                break;
            }
            self.waiting -= u64::from(next.bytes);
            self.started += 1;
        }
    }
}
