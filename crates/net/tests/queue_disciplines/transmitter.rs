//! A transmitter at a constant rate behind a queue, which writes down what becomes of every packet.

use wasp_net::queue::{DropReason, Item, Queue, QueueConfig, Taken};
use wasp_random::Key;
use wasp_units::{Duration, Instant, Rate};

/// A queue, ours or a second implementation of it.
pub(crate) trait Discipline {
    fn enqueue(&mut self, item: Item<u32>, now: Instant, dropped: &mut impl FnMut(u32, DropReason));
    fn dequeue(&mut self, now: Instant, dropped: &mut impl FnMut(u32, DropReason)) -> Option<Taken<u32>>;
}

impl Discipline for Queue<u32> {
    fn enqueue(&mut self, item: Item<u32>, now: Instant, dropped: &mut impl FnMut(u32, DropReason)) {
        Self::enqueue(self, item, now, dropped);
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut impl FnMut(u32, DropReason)) -> Option<Taken<u32>> {
        Self::dequeue(self, now, dropped)
    }
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum End {
    /// Its transmission began.
    Left {
        /// The time in the queue.
        waited: Duration,
        /// Whether it bears a mark.
        marked: bool,
    },
    /// It was dropped.
    Dropped(DropReason),
}

/// What became of which packet, and when.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Record {
    pub(crate) at: Instant,
    pub(crate) handle: u32,
    pub(crate) end: End,
}

/// The transmitter and its queue.
pub(crate) struct Transmitter<Q> {
    pub(crate) queue: Q,
    pub(crate) log: Vec<Record>,
    rate: Rate,
    /// The end of the transmission under way, and its packet.
    pub(crate) transmitting: Option<(Instant, u32)>,
    /// When the transmitter last found nothing to send.
    pub(crate) idle_since: Instant,
}

pub(crate) fn megabits(number: u64) -> Rate {
    Rate::from_bits_per_second(number * 1_000_000).unwrap()
}

/// A queue before a transmitter of so many Mbit/s.
pub(crate) fn behind(config: QueueConfig, rate: Rate) -> Transmitter<Queue<u32>> {
    config.check().unwrap();
    Transmitter::new(Queue::new(&config, Some(rate), Key::root(16, 0)), rate)
}

impl<Q: Discipline> Transmitter<Q> {
    pub(crate) const fn new(queue: Q, rate: Rate) -> Self {
        Self { queue, log: Vec::new(), rate, transmitting: None, idle_since: Instant::ZERO }
    }

    /// Ends the transmissions that end by `until`.
    pub(crate) fn advance(&mut self, until: Instant) {
        while let Some((end, _)) = self.transmitting.filter(|(end, _)| *end <= until) {
            self.transmit(end);
        }
    }

    /// A packet arrives, after all transmissions that end by then.
    pub(crate) fn arrive(&mut self, item: Item<u32>, now: Instant) {
        self.advance(now);
        let log = &mut self.log;
        self.queue.enqueue(item, now, &mut |handle, reason| {
            log.push(Record { at: now, handle, end: End::Dropped(reason) });
        });
        if self.transmitting.is_none() {
            self.transmit(now);
        }
    }

    /// Begins the next transmission, if a packet waits.
    pub(crate) fn transmit(&mut self, now: Instant) {
        let log = &mut self.log;
        let taken = self.queue.dequeue(now, &mut |handle, reason| {
            log.push(Record { at: now, handle, end: End::Dropped(reason) });
        });
        if taken.is_none() {
            self.idle_since = now;
        }
        self.transmitting = taken.map(|Taken { handle, bytes, waited, marked }| {
            self.log.push(Record { at: now, handle, end: End::Left { waited, marked } });
            (now + self.rate.transmission_time(u64::from(bytes)), handle)
        });
    }

    /// Packets that were dropped for this reason.
    pub(crate) fn dropped(&self, reason: DropReason) -> usize {
        self.log.iter().filter(|record| record.end == End::Dropped(reason)).count()
    }

    /// Whether a packet was dropped since the log had so many records.
    pub(crate) fn dropped_since(&self, logged: usize) -> bool {
        self.log[logged..].iter().any(|record| matches!(record.end, End::Dropped(_)))
    }

    /// Packets that left with a mark.
    pub(crate) fn marked(&self) -> usize {
        self.log.iter().filter(|record| matches!(record.end, End::Left { marked: true, .. })).count()
    }
}

/// A packet of 1,500 bytes that must not be marked.
pub(crate) const fn full(handle: u32, flow: u32) -> Item<u32> {
    Item { handle, bytes: 1_500, flow, ecn_capable: false }
}
