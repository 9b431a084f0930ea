//! One direction of a link: queue, serialisation, propagation.
//!
//! This is the fast path for a drop-tail FIFO at a constant rate: when a packet is admitted, the moments at which its transmission starts and
//! it arrives are already known, so it costs one event. A test holds it packet-identical to a queue and a transmitter with events of their own.

use crate::account::Meter;
use crate::node::Node;
use crate::store::PacketId;
use crate::{Chain, Loss, LossTally};
use wasp_kernel::{Channel, NodeId, Scheduler};
use wasp_random::Key;
use wasp_units::{Bytes, Duration, Instant, Rate};

/// What a direction of a link does to packets, in the order in which they meet it.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkConfig {
    /// Longest packet in bytes; `None` carries any.
    pub mtu: Option<u16>,
    /// Random loss.
    pub loss: Loss,
    /// Room of the drop-tail queue for packets that wait for the transmitter; `None` has no bound. The packet in transmission does not count.
    pub queue: Option<Bytes>,
    /// Serialisation rate over IP bytes; `None` takes no time.
    pub rate: Option<Rate>,
    /// Propagation delay.
    pub delay: Duration,
}

/// What happened at a link since the start.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct LinkCounters {
    /// Packets that came to the link's entrance.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What the loss model did.
    pub loss: LossTally,
    /// Packets dropped for another reason than random loss.
    pub dropped: u64,
    /// Most bytes that ever waited in the queue.
    pub queue_max: u64,
    /// Time integral of the bytes waiting in the queue, in byte-nanoseconds.
    pub queue_integral: u128,
}

/// A packet on its way through the link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transit {
    pub(crate) packet: PacketId,
    bytes: u32,
    start: Instant,
}

/// One direction of a link.
#[derive(Debug)]
pub struct Link {
    config: LinkConfig,
    pub(crate) to: Node,
    /// The loss chain of all that crosses the link, and its draws.
    chain: Chain,
    key: Key,
    channel: Channel<Transit>,
    /// The account that is kept of an access link's packets.
    pub(crate) meter: Option<Meter>,
    /// When the transmitter is done with all that was admitted.
    busy_until: Instant,
    /// How many packets of the channel, from its front, have begun transmission.
    started: usize,
    /// Bytes of those that have not.
    waiting: u64,
    pub(crate) counters: LinkCounters,
}

impl Link {
    pub(crate) fn new(from: NodeId, to: Node, config: LinkConfig, key: Key) -> Self {
        Self {
            config,
            to,
            chain: Chain::default(),
            key,
            meter: None,
            channel: Channel::new(from, config.delay),
            busy_until: Instant::ZERO,
            started: 0,
            waiting: 0,
            counters: LinkCounters::default(),
        }
    }

    /// What the link does to packets.
    #[must_use]
    pub const fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &LinkCounters {
        &self.counters
    }

    /// Whether the far end is reached at once, whatever was sent before.
    pub(crate) const fn is_transparent(&self) -> bool {
        self.config.rate.is_none() && self.config.delay.is_zero()
    }

    /// Whether a packet of so many bytes is longer than the link carries.
    pub(crate) fn is_too_big(&self, bytes: u32) -> bool {
        self.config.mtu.is_some_and(|mtu| bytes > u32::from(mtu))
    }

    /// Decides the next packet by the link's own chain.
    pub(crate) fn lose(&mut self) -> bool {
        self.config.loss.lose(&mut self.chain, self.key, &mut self.counters.loss)
    }

    /// Whether the queue has room for `bytes` more at `now`; call before [`Self::transmit`].
    pub(crate) fn has_room(&mut self, bytes: u32, now: Instant) -> bool {
        self.begin_transmissions(now);
        let Some(limit) = self.config.queue else { return true };
        self.busy_until <= now || self.waiting + u64::from(bytes) <= limit.get()
    }

    /// How long what comes at `now` would wait for the transmitter.
    pub(crate) fn waiting_time(&self, now: Instant) -> Duration {
        self.busy_until.saturating_since(now)
    }

    /// Queues, serialises and propagates a packet; `arrival` is the event at the far end.
    pub(crate) fn transmit<E: Copy>(
        &mut self,
        packet: PacketId,
        bytes: u32,
        arrival: impl FnOnce(PacketId) -> E,
        scheduler: &mut Scheduler<E>,
    ) {
        let now = scheduler.now();
        let start = self.busy_until.max(now);
        if let Some(rate) = self.config.rate {
            self.busy_until = start + rate.transmission_time(u64::from(bytes));
        } else {
            self.busy_until = start;
        }
        if start > now {
            self.waiting += u64::from(bytes);
            self.counters.queue_max = self.counters.queue_max.max(self.waiting);
            self.counters.queue_integral += u128::from(bytes) * u128::from((start - now).as_nanos());
        } else {
            debug_assert_eq!(self.started, self.channel.len(), "a packet overtook the queue");
            self.started += 1;
        }
        let at = self.busy_until + self.config.delay;
        self.channel.send(at, Transit { packet, bytes, start }, |transit| arrival(transit.packet), scheduler);
    }

    /// Takes the packet that arrives at the far end now.
    pub(crate) fn arrive<E: Copy>(
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
