//! One direction of a link: impairments, queue, transmitter, propagation.
//!
//! Two paths lead through it. [`fast`] is for a drop-tail FIFO at a constant rate that does no more than lose packets: it costs one event a
//! packet. [`queued`] is for everything else. Tests hold them packet-identical where both apply.

mod config;
mod counters;
mod fast;
mod observed;
mod queued;

use config::LEAST_MTU;
pub use config::LinkConfig;
pub use counters::LinkCounters;
pub(crate) use queued::{Altered, Settled};

use crate::account::Meter;
use crate::node::Node;
use crate::queue::Item;
use crate::store::PacketId;
use crate::{Chain, LinkId, Loss, NetworkEvent};
use counters::LinkAccount;
use fast::Fast;
use hdrhistogram::Histogram;
use observed::Observed;
use queued::Queued;
use std::sync::Arc;
use wasp_kernel::{NodeId, Scheduler};
use wasp_random::Key;
use wasp_units::{Duration, Instant};

/// One direction of a link.
#[derive(Debug)]
pub struct Link {
    id: LinkId,
    pub(crate) to: Node,
    /// What every packet asks for, beside the rest of the link; `config` has it, too.
    mtu: Option<u16>,
    loss: Loss,
    /// The loss chain of all that crosses the link, and its draws.
    chain: Chain,
    key: Key,
    /// The account that is kept of an access link's packets.
    pub(crate) meter: Option<Meter>,
    path: Path,
    pub(crate) account: LinkAccount,
    config: Arc<LinkConfig>,
}

/// What there is to see of a link at an instant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LinkView {
    /// Bytes that wait in the queue.
    pub queue_bytes: u64,
    /// Time integral of the bytes that waited in the queue since the start, in byte-nanoseconds.
    pub queue_integral: u128,
    /// Bytes of the packets whose transmission has begun since the start, copies among them.
    pub carried_bytes: u64,
    /// Most bytes that waited since the last look at a link that is observed.
    pub peak: u64,
}

/// From the entrance to the far end.
#[derive(Debug)]
enum Path {
    Fast(Fast),
    Queued(Box<Queued>),
}

/// What a link makes of a packet that it does not lose.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Admission {
    /// The packet is at the far end at once.
    Through,
    /// It is on its way.
    Taken,
    /// There is no room for it.
    Full,
    /// It meets more than a drop-tail FIFO: see [`Link::alter`] and [`Link::offer`].
    QueuedPath,
}

impl Link {
    /// `key` is for all that is drawn for the packets that cross the link. A trace starts at `random` where it asks for a random start.
    ///
    /// # Panics
    /// If its MTU is less than what every link must carry.
    pub(crate) fn new(
        id: LinkId,
        (from, to): (NodeId, Node),
        config: Arc<LinkConfig>,
        key: Key,
        random: Duration,
    ) -> Self {
        assert!(config.mtu.is_none_or(|mtu| mtu >= LEAST_MTU), "a link carries {LEAST_MTU} bytes at least");
        let path = if config.is_simple() {
            Path::Fast(Fast::new(from, &config))
        } else {
            Path::Queued(Box::new(Queued::new(id, from, &config, key, random)))
        };
        Self {
            id,
            to,
            mtu: config.mtu,
            loss: config.loss,
            chain: Chain::default(),
            key,
            meter: None,
            path,
            account: LinkAccount::default(),
            config,
        }
    }

    /// What the link does to packets.
    #[must_use]
    pub fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &LinkCounters {
        &self.account.counters
    }

    /// Observes the link. Waiting times are kept of packets whose transmission begins from `since` on, if the link has a rate or a trace.
    pub(crate) fn observe(&mut self, since: Instant) {
        let takes_time = self.config.mean_rate().is_some();
        self.account.observed = Some(Box::new(Observed::new(since, takes_time)));
    }

    /// The waiting times of packets whose transmission began before `now`, in nanoseconds; `None` of a link that keeps none.
    pub(crate) fn waits(&mut self, now: Instant) -> Option<&Histogram<u32>> {
        self.account.observed.as_mut()?.waits(now)
    }

    /// What there is to see before anything happens at `now`.
    pub(crate) fn look(&mut self, now: Instant) -> LinkView {
        let noted = self.account.counters.queue_integral;
        let (queue_bytes, queue_integral) = match &self.path {
            Path::Fast(fast) => {
                let (bytes, later) = fast.waiting(now);
                (bytes, noted - later)
            }
            Path::Queued(queued) => {
                let (bytes, since_noted) = queued.waiting(now);
                (bytes, noted + since_noted)
            }
        };
        let LinkCounters { bytes, duplicated_bytes, discarded_bytes, .. } = self.account.counters;
        LinkView {
            queue_bytes,
            queue_integral,
            carried_bytes: bytes + duplicated_bytes - discarded_bytes - queue_bytes,
            peak: self.account.observed.as_mut().map_or(0, |observed| observed.take_peak(queue_bytes)),
        }
    }

    /// The longest packet that it carries, in bytes; `None` carries any.
    pub(crate) const fn mtu(&self) -> Option<u16> {
        self.mtu
    }

    /// Whether a packet of so many bytes is longer than the link carries.
    pub(crate) fn is_too_big(&self, bytes: u32) -> bool {
        self.mtu.is_some_and(|mtu| bytes > u32::from(mtu))
    }

    pub(crate) const fn loss(&self) -> Loss {
        self.loss
    }

    /// Decides the next packet by the link's own chain.
    pub(crate) fn lose(&mut self) -> bool {
        self.loss.lose(&mut self.chain, self.key, &mut self.account.counters.loss)
    }

    /// How long what comes at `now` would wait for the transmitter.
    pub(crate) fn waiting_time(&self, now: Instant) -> Duration {
        match &self.path {
            Path::Fast(fast) => fast.waiting_time(now),
            Path::Queued(queued) => queued.waiting_time(now),
        }
    }

    /// Takes a packet onto a link that is no more than a drop-tail FIFO.
    #[inline]
    pub(crate) fn admit<E: Copy + From<NetworkEvent>>(
        &mut self,
        packet: PacketId,
        bytes: u32,
        scheduler: &mut Scheduler<E>,
    ) -> Admission {
        let Path::Fast(fast) = &mut self.path else { return Admission::QueuedPath };
        if fast.is_transparent() {
            return Admission::Through;
        }
        if !fast.has_room(bytes, scheduler.now()) {
            return Admission::Full;
        }
        fast.transmit(packet, bytes, arrival(self.id), scheduler, &mut self.account);
        Admission::Taken
    }

    /// Sends a packet that is [`Admission::Through`] by an event of its own.
    pub(crate) fn postpone<E: Copy + From<NetworkEvent>>(
        &mut self,
        packet: PacketId,
        bytes: u32,
        scheduler: &mut Scheduler<E>,
    ) {
        if let Path::Fast(fast) = &mut self.path {
            fast.transmit(packet, bytes, arrival(self.id), scheduler, &mut self.account);
        }
    }

    /// Decides what becomes of a packet of so many bytes that takes the [`Admission::QueuedPath`].
    pub(crate) fn alter(&mut self, bytes: u32) -> Altered {
        match &mut self.path {
            Path::Fast(_) => Altered { flipped: None, duplicated: false },
            Path::Queued(queued) => queued.alter(bytes, &mut self.account),
        }
    }

    /// Where the hashes are drawn by which the queue tells flows apart; `None` if it does not.
    pub(crate) const fn flow_key(&self) -> Option<Key> {
        match &self.path {
            Path::Fast(_) => None,
            Path::Queued(queued) => queued.flow_key(),
        }
    }

    /// Puts a packet that takes the [`Admission::QueuedPath`] into the queue. What the queue dropped or marked, this packet perhaps among it,
    /// goes to `settled`.
    pub(crate) fn offer<E: Copy + From<NetworkEvent>>(
        &mut self,
        item: Item<PacketId>,
        scheduler: &mut Scheduler<E>,
        settled: &mut Settled,
    ) {
        if let Path::Queued(queued) = &mut self.path {
            queued.offer(item, scheduler, &mut self.account, settled);
        }
    }

    /// Takes the packet that arrives at the far end now.
    pub(crate) fn arrive<E: Copy + From<NetworkEvent>>(
        &mut self,
        packet: PacketId,
        scheduler: &mut Scheduler<E>,
    ) -> Option<PacketId> {
        match &mut self.path {
            Path::Fast(fast) => fast.arrive(arrival(self.id), scheduler),
            Path::Queued(queued) => queued.arrive(packet, scheduler),
        }
    }

    /// A transmission ends, or packets that were held back are due.
    pub(crate) fn depart<E: Copy + From<NetworkEvent>>(
        &mut self,
        scheduler: &mut Scheduler<E>,
        settled: &mut Settled,
    ) {
        if let Path::Queued(queued) = &mut self.path {
            queued.depart(scheduler, &mut self.account, settled);
        }
    }
}

/// Makes the event of packets that arrive over `link`.
fn arrival<E: From<NetworkEvent>>(link: LinkId) -> impl Fn(PacketId) -> E {
    move |packet| E::from(NetworkEvent::Arrival { link, packet })
}
