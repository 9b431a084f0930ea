//! Queue disciplines of one direction of a link: which packets wait for the transmitter, in which order they leave, and which are dropped
//! or marked.
//!
//! A [`Queue`] knows nothing of links, events or packets: time is an argument, and a packet is a handle with what the disciplines look at.
//! The packet in transmission is not in the queue and counts towards no limit.

mod codel;
mod config;
mod drop_tail;
mod fifo;
mod fq_codel;
mod pie;
mod red;
mod store;

pub use codel::CodelConfig;
pub use config::QueueConfig;
pub use drop_tail::DropTailConfig;
pub use fq_codel::FqCodelConfig;
pub use pie::PieConfig;
pub use red::{RedConfig, Threshold};

use codel::CodelQueue;
use drop_tail::DropTail;
use fq_codel::FqCodel;
use pie::Pie;
use red::Red;
use wasp_random::Key;
use wasp_units::{Duration, Instant, Rate};

/// What a queue is told of a packet that enters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Item<T> {
    /// The link's name for the packet.
    pub handle: T,
    /// Length of the IP packet, bytes.
    pub bytes: u32,
    /// A hash of addresses, protocol and ports. FQ-CoDel takes its lower part as it is, so it must be well mixed, and keyed if which flows
    /// collide is to differ from run to run (RFC 8290 section 4.1).
    pub flow: u32,
    /// Whether the packet may be marked: its ECN field is ECT(0), ECT(1) or CE (RFC 3168 section 5).
    pub ecn_capable: bool,
}

/// A packet that leaves a queue.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Taken<T> {
    /// The link's name for the packet.
    pub handle: T,
    /// Length of the IP packet, bytes.
    pub bytes: u32,
    /// The time since the packet entered.
    pub waited: Duration,
    /// Whether the packet leaves with the mark CE (congestion experienced) because the discipline marked it.
    pub marked: bool,
}

/// Why a discipline dropped a packet.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum DropReason {
    /// A limit of packets or bytes left no room.
    Full,
    /// The discipline told the sender of congestion although there was room.
    Early,
}

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting<T> {
    handle: T,
    bytes: u32,
    ecn_capable: bool,
    marked: bool,
    entered: Instant,
}

impl<T> Waiting<T> {
    fn new(item: Item<T>, now: Instant) -> Self {
        let Item { handle, bytes, flow: _, ecn_capable } = item;
        Self { handle, bytes, ecn_capable, marked: false, entered: now }
    }

    /// Sets the mark if the packet may bear it; says whether it does.
    const fn mark(&mut self) -> bool {
        self.marked |= self.ecn_capable;
        self.ecn_capable
    }

    fn waited(&self, now: Instant) -> Duration {
        now.saturating_since(self.entered)
    }

    fn taken(self, now: Instant) -> Taken<T> {
        let waited = self.waited(now);
        Taken { handle: self.handle, bytes: self.bytes, waited, marked: self.marked }
    }
}

/// The queue before one transmitter.
///
/// # Call order
///
/// The link calls [`dequeue`](Self::dequeue) each time the transmitter is free: when a transmission ends, and after each
/// [`enqueue`](Self::enqueue) while it is idle. The queue takes a `dequeue` that returns `None` as the beginning of an idle time, which ends
/// with the next packet taken. A packet that finds the transmitter idle and nothing waiting is in nobody's way and is admitted whatever the
/// limits are, as a link of constant rate does it. Where a transmission ends at the instant at which a packet arrives, `dequeue` comes first.
///
/// `now` never decreases.
#[derive(Debug)]
pub struct Queue<T>(Discipline<T>);

#[derive(Debug)]
enum Discipline<T> {
    DropTail(DropTail<T>),
    Red(Red<T>),
    Codel(CodelQueue<T>),
    FqCodel(FqCodel<T>),
    Pie(Pie<T>),
}

/// Calls a method of whichever discipline it is.
macro_rules! each {
    ($queue:expr, $discipline:ident => $call:expr) => {
        match $queue {
            Discipline::DropTail($discipline) => $call,
            Discipline::Red($discipline) => $call,
            Discipline::Codel($discipline) => $call,
            Discipline::FqCodel($discipline) => $call,
            Discipline::Pie($discipline) => $call,
        }
    };
}

impl<T: Copy> Queue<T> {
    /// An empty queue before a transmitter of this rate; `None` is one that takes no time. RED needs the rate to age its average while the
    /// transmitter is idle: give the mean rate where the rate changes. The draws of RED and PIE belong to `key`.
    ///
    /// `config` has passed [`QueueConfig::check`]; a queue of another does not panic, but its behaviour means nothing.
    #[must_use]
    pub fn new(config: &QueueConfig, rate: Option<Rate>, key: Key) -> Self {
        Self(match config {
            QueueConfig::DropTail(config) => Discipline::DropTail(DropTail::new(config)),
            QueueConfig::Red(config) => Discipline::Red(Red::new(config, rate, key)),
            QueueConfig::Codel(config) => Discipline::Codel(CodelQueue::new(config)),
            QueueConfig::FqCodel(config) => Discipline::FqCodel(FqCodel::new(config)),
            QueueConfig::Pie(config) => Discipline::Pie(Pie::new(config, key)),
        })
    }

    /// Takes a packet that arrives at `now`. What the discipline drops, be it this packet or packets that waited, goes to `dropped`.
    pub fn enqueue(&mut self, item: Item<T>, now: Instant, dropped: &mut impl FnMut(T, DropReason)) {
        each!(&mut self.0, discipline => discipline.enqueue(item, now, dropped));
    }

    /// The packet whose transmission begins at `now`, if one waits. What the discipline drops on the way to it goes to `dropped`.
    pub fn dequeue(&mut self, now: Instant, dropped: &mut impl FnMut(T, DropReason)) -> Option<Taken<T>> {
        let packet = each!(&mut self.0, discipline => discipline.dequeue(now, dropped));
        packet.map(|packet| packet.taken(now))
    }

    /// Packets that wait.
    #[must_use]
    pub fn packets(&self) -> usize {
        each!(&self.0, discipline => discipline.packets())
    }

    /// Bytes that wait.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        each!(&self.0, discipline => discipline.bytes())
    }

    /// The average queue of RED in bytes, as the last packet to arrive found it; `None` of other disciplines.
    #[must_use]
    pub const fn average(&self) -> Option<f64> {
        match &self.0 {
            Discipline::Red(red) => Some(red.average()),
            _ => None,
        }
    }

    /// The probability with which the next packet is dropped or marked early under PIE, and with which the last one to arrive was under
    /// RED; `None` of disciplines without chance.
    #[must_use]
    pub const fn drop_probability(&self) -> Option<f64> {
        match &self.0 {
            Discipline::Red(red) => Some(red.drop_probability()),
            Discipline::Pie(pie) => Some(pie.drop_probability()),
            _ => None,
        }
    }
}
