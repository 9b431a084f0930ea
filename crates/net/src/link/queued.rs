//! Queue, transmitter, reordering and propagation with events of their own.

use super::LinkConfig;
use super::counters::{LinkAccount, Occupancy};
use crate::impairment::{
    ArrivalOrder, Corrupter, Duplicator, JitterProcess, Pass, Reorderer, TraceTransmitter,
};
use crate::queue::{DropReason, DropTailConfig, Item, Queue, QueueConfig};
use crate::store::PacketId;
use crate::{LinkId, NetworkEvent};
use wasp_kernel::{Channel, NodeId, Scheduler};
use wasp_random::{Key, Purpose};
use wasp_units::{Duration, Instant, Rate, Wakeup};
use wasp_wire::ipv4;

/// What a link has made of a packet at its entrance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Altered {
    /// The bit that is flipped.
    pub(crate) flipped: Option<u32>,
    /// Whether a copy follows.
    pub(crate) duplicated: bool,
}

/// What a queue has decided of packets while one was put into it or taken out of it.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    /// Packets that it dropped.
    pub(crate) dropped: Vec<(PacketId, DropReason)>,
    /// Packets that leave it with a mark.
    pub(crate) marked: Vec<PacketId>,
}

/// How long a packet takes from its first byte to its last.
#[derive(Debug)]
enum Transmitter {
    /// No time.
    Unlimited,
    /// As its bytes do at a rate.
    Constant(Rate),
    /// As a trace has opportunities.
    Trace(TraceTransmitter),
}

impl Transmitter {
    /// When the last byte leaves of a packet whose turn it is `now`; `None` if it never does.
    fn finish(&mut self, now: Instant, bytes: u32) -> Option<Instant> {
        match self {
            Self::Unlimited => Some(now),
            Self::Constant(rate) => Some(now + rate.transmission_time(u64::from(bytes))),
            Self::Trace(trace) => trace.finish(now, bytes),
        }
    }
}

/// The packet in transmission.
#[derive(Clone, Copy, Debug)]
struct Sending {
    packet: PacketId,
    /// When its last byte leaves; `None` where a trace has ended before.
    end: Option<Instant>,
}

/// The state of a link that impairs packets beyond losing them, has another queue than a FIFO with room for so many bytes, or a rate that varies.
#[derive(Debug)]
pub(super) struct Queued {
    link: LinkId,
    from: NodeId,
    corrupter: Option<Corrupter>,
    duplicator: Option<Duplicator>,
    queue: Queue<PacketId>,
    flow_key: Option<Key>,
    occupancy: Occupancy,
    transmitter: Transmitter,
    /// The transmitter's mean rate.
    rate: Option<Rate>,
    sending: Option<Sending>,
    reorderer: Option<Reorderer<PacketId>>,
    /// Wakes the link when a packet has been held back for long enough.
    release: Wakeup,
    delay: Duration,
    jitter: Option<JitterProcess>,
    /// Packets on their way, where order is kept; otherwise each has an event of its own.
    channel: Option<Channel<PacketId>>,
}

impl Queued {
    /// A trace starts at `random` where it asks for a random start.
    pub(super) fn new(link: LinkId, from: NodeId, config: &LinkConfig, key: Key, random: Duration) -> Self {
        let rate = config.mean_rate();
        let transmitter = match (&config.trace, rate) {
            (Some(trace), _) => Transmitter::Trace(TraceTransmitter::new(trace, random)),
            (None, Some(rate)) => Transmitter::Constant(rate),
            (None, None) => Transmitter::Unlimited,
        };
        let queue = config.queue.unwrap_or(QueueConfig::DropTail(DropTailConfig::default()));
        let of_queue = key.purpose(Purpose::Queue);
        let ordered = config.jitter.is_none_or(|jitter| jitter.order() == ArrivalOrder::Kept);
        Self {
            link,
            from,
            corrupter: config.corrupt.map(|corrupt| Corrupter::new(corrupt, key)),
            duplicator: config.duplicate.map(|duplicate| Duplicator::new(duplicate, key)),
            queue: Queue::new(&queue, rate, of_queue),
            flow_key: matches!(queue, QueueConfig::FqCodel(_)).then_some(of_queue),
            occupancy: Occupancy::default(),
            transmitter,
            rate,
            sending: None,
            reorderer: config.reorder.map(|reorder| Reorderer::new(reorder, key)),
            release: Wakeup::default(),
            delay: config.delay,
            jitter: config.jitter.map(|jitter| JitterProcess::new(jitter, key)),
            channel: ordered.then(|| Channel::new(from, config.least_delay())),
        }
    }

    /// Decides what becomes of a packet of so many bytes. A bit is flipped behind the IP header.
    pub(super) fn alter(&mut self, bytes: u32, account: &mut LinkAccount) -> Altered {
        let content = bytes - ipv4::HEADER_LEN as u32;
        let flipped = self.corrupter.as_mut().and_then(|corrupter| corrupter.bit(content));
        let duplicated = self.duplicator.as_mut().is_some_and(Duplicator::duplicates);
        account.counters.corrupted += u64::from(flipped.is_some());
        account.counters.duplicated += u64::from(duplicated);
        account.counters.duplicated_bytes += u64::from(bytes) * u64::from(duplicated);
        Altered { flipped, duplicated }
    }

    /// How long what comes at `now` would wait for the transmitter; where flows have queues of their own, it is what a flow waits that has its share
    /// of what waits.
    pub(super) fn waiting_time(&self, now: Instant) -> Duration {
        let end = self.sending.and_then(|sending| sending.end);
        let sending = end.map_or(Duration::ZERO, |end| end.saturating_since(now));
        let waiting = self.rate.map(|rate| rate.transmission_time(self.queue.bytes()));
        sending + waiting.unwrap_or_default()
    }

    /// Bytes that wait, and the part of their time integral in byte-nanoseconds up to `now` that is not noted yet.
    pub(super) fn waiting(&self, now: Instant) -> (u64, u128) {
        let bytes = self.queue.bytes();
        (bytes, self.occupancy.since_noted(bytes, now))
    }

    /// Where the hashes are drawn by which the queue tells flows apart; `None` if it does not.
    pub(super) const fn flow_key(&self) -> Option<Key> {
        self.flow_key
    }

    /// Puts a packet into the queue. A transmission that ends now has ended before.
    pub(super) fn offer<E: Copy + From<NetworkEvent>>(
        &mut self,
        item: Item<PacketId>,
        scheduler: &mut Scheduler<E>,
        account: &mut LinkAccount,
        settled: &mut Settled,
    ) {
        self.depart(scheduler, account, settled);
        let now = scheduler.now();
        self.occupancy.note(self.queue.bytes(), now, account);
        self.queue.enqueue(item, now, &mut |packet, reason| settled.dropped.push((packet, reason)));
        if self.sending.is_none() {
            self.begin(scheduler, account, settled);
        }
        account.note_queue(self.queue.bytes());
    }

    /// Ends a transmission that is over, begins the next, and lets go what was held back for long enough.
    pub(super) fn depart<E: Copy + From<NetworkEvent>>(
        &mut self,
        scheduler: &mut Scheduler<E>,
        account: &mut LinkAccount,
        settled: &mut Settled,
    ) {
        if let Some(Sending { packet, end: Some(end) }) = self.sending
            && end <= scheduler.now()
        {
            self.sending = None;
            self.leave(packet, scheduler, account);
            self.begin(scheduler, account, settled);
        }
        self.release_held(scheduler, account);
    }

    /// Begins transmissions until one takes time, or nothing waits.
    fn begin<E: Copy + From<NetworkEvent>>(
        &mut self,
        scheduler: &mut Scheduler<E>,
        account: &mut LinkAccount,
        settled: &mut Settled,
    ) {
        let now = scheduler.now();
        self.occupancy.note(self.queue.bytes(), now, account);
        let mut drop = |packet, reason| settled.dropped.push((packet, reason));
        while let Some(taken) = self.queue.dequeue(now, &mut drop) {
            account.note_wait(now - taken.waited, now, now);
            if taken.marked {
                settled.marked.push(taken.handle);
            }
            let end = self.transmitter.finish(now, taken.bytes);
            if end == Some(now) {
                self.leave(taken.handle, scheduler, account);
                continue;
            }
            self.sending = Some(Sending { packet: taken.handle, end });
            if let Some(end) = end {
                scheduler.schedule(self.from, end, E::from(NetworkEvent::Departure { link: self.link }));
            }
            return;
        }
    }

    /// The last byte of a packet leaves the transmitter.
    fn leave<E: Copy + From<NetworkEvent>>(
        &mut self,
        packet: PacketId,
        scheduler: &mut Scheduler<E>,
        account: &mut LinkAccount,
    ) {
        let pass = match &mut self.reorderer {
            Some(reorderer) => reorderer.pass(packet, scheduler.now()),
            None => Pass::Go,
        };
        if pass == Pass::Go {
            self.propagate(packet, scheduler);
            self.release_held(scheduler, account);
        } else {
            account.counters.held += 1;
            self.wake_for_held(scheduler);
        }
    }

    /// Sends on what is held back no longer.
    fn release_held<E: Copy + From<NetworkEvent>>(
        &mut self,
        scheduler: &mut Scheduler<E>,
        account: &mut LinkAccount,
    ) {
        if self.reorderer.is_none() {
            return;
        }
        let now = scheduler.now();
        while let Some(released) = self.reorderer.as_mut().and_then(|reorderer| reorderer.release(now)) {
            account.counters.reordered += u64::from(released.overtaken_by > 0);
            self.propagate(released.handle, scheduler);
        }
        // Whatever was due now has gone: an event that is still to come for it is not needed any more.
        self.release.fired(now);
        self.wake_for_held(scheduler);
    }

    /// Makes sure of an event when the time of the first packet that is held back is over.
    fn wake_for_held<E: Copy + From<NetworkEvent>>(&mut self, scheduler: &mut Scheduler<E>) {
        let deadline = self.reorderer.as_ref().and_then(Reorderer::deadline);
        let event = E::from(NetworkEvent::Departure { link: self.link });
        scheduler.wake(&mut self.release, deadline, self.from, event);
    }

    fn propagate<E: Copy + From<NetworkEvent>>(&mut self, packet: PacketId, scheduler: &mut Scheduler<E>) {
        let (now, link) = (scheduler.now(), self.link);
        let at = match &mut self.jitter {
            Some(jitter) => jitter.arrival(now, self.delay),
            None => now + self.delay,
        };
        let arrival = |packet| E::from(NetworkEvent::Arrival { link, packet });
        match &mut self.channel {
            Some(channel) => channel.send(at, packet, |packet| arrival(*packet), scheduler),
            None => scheduler.schedule(self.from, at, arrival(packet)),
        }
    }

    /// Takes the packet that arrives at the far end now.
    pub(super) fn arrive<E: Copy + From<NetworkEvent>>(
        &mut self,
        packet: PacketId,
        scheduler: &mut Scheduler<E>,
    ) -> Option<PacketId> {
        let link = self.link;
        match &mut self.channel {
            Some(channel) => {
                channel.receive(|next| E::from(NetworkEvent::Arrival { link, packet: *next }), scheduler)
            }
            None => Some(packet),
        }
    }
}
