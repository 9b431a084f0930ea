//! What happened at the links that are observed, second by second, and how long packets waited there.

use super::NamedDirection;
use crate::Model;
use hdrhistogram::Histogram;
use wasp_net::{LinkCounters, LinkId, LinkView, Network, Observer};
use wasp_units::{Duration, Instant, Rate};

/// One second of one direction of a link that is observed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkSecond {
    /// Packets that came to its entrance.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of the packets, and of copies, whose transmission began.
    pub carried_bytes: u64,
    /// Packets lost at random.
    pub lost: u64,
    /// Packets dropped for another reason, copies among them.
    pub dropped: u64,
    /// Packets that the queue discipline marked.
    pub marked: u64,
    /// Copies that were made.
    pub duplicated: u64,
    /// Bytes that waited in the queue at the end of the second.
    pub queue_bytes: u64,
    /// Most bytes that waited.
    pub max_queue_bytes: u64,
    /// Mean bytes that waited.
    pub mean_queue_bytes: f64,
}

/// One direction of a link that is observed.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedLink {
    /// Its name.
    pub link: String,
    /// The name of the direction.
    pub direction: &'static str,
    /// The place of the group whose access link it is; none of a link that clients share.
    pub(crate) group: Option<usize>,
    /// Its rate, or the mean rate of its trace, in bits a second; none is unlimited.
    pub(crate) rate_bps: Option<u64>,
    /// Whether it has a trace.
    pub(crate) is_traced: bool,
    /// What it did in each second from the start of the run; the last second may be a part of one.
    pub seconds: Vec<LinkSecond>,
    /// What it did in the measured interval; none if that did not begin.
    pub(crate) measured: Option<LinkSecond>,
    /// How long packets waited in the queue that left it in the measured interval, in nanoseconds; none of a link that takes no time.
    pub waits: Option<Histogram<u32>>,
}

/// Turns running totals into one entry a second, and one for the measured interval.
#[derive(Debug)]
pub(crate) struct LinkSampler {
    links: Vec<Sampled>,
    last: Instant,
    measured_since: Option<Instant>,
}

/// A link, and its marks at the beginning of the second and of the measured interval.
#[derive(Debug)]
struct Sampled {
    id: LinkId,
    second: LinkMark,
    measured: LinkMark,
    found: ObservedLink,
}

/// The totals of a link at the beginning of a time, and the most that waited since.
#[derive(Clone, Copy, Debug, Default)]
struct LinkMark {
    counters: LinkCounters,
    carried_bytes: u64,
    queue_integral: u128,
    peak: u64,
}

impl LinkSampler {
    /// Observes these links of a model. Waiting times are those of the measured interval.
    pub(crate) fn new<O: Observer>(links: Vec<NamedDirection>, model: &mut Model<O>) -> Self {
        let since = model.ledger.interval().start();
        let sampled = |name: NamedDirection| {
            model.network.observe(name.id, since);
            let config = model.network.link(name.id).config();
            let found = ObservedLink {
                link: name.link,
                direction: name.direction,
                group: name.client.map(|(_, group)| group),
                rate_bps: config.mean_rate().map(Rate::bits_per_second),
                is_traced: config.trace.is_some(),
                seconds: Vec::new(),
                measured: None,
                waits: None,
            };
            Sampled { id: name.id, second: LinkMark::default(), measured: LinkMark::default(), found }
        };
        let links = links.into_iter().map(sampled).collect();
        Self { links, last: Instant::ZERO, measured_since: None }
    }

    /// Closes the second that ends `now`, before which everything has happened.
    pub(crate) fn sample<O: Observer>(&mut self, now: Instant, model: &mut Model<O>) {
        let elapsed = now - self.last;
        for link in &mut self.links {
            let mark = link.look(now, &mut model.network);
            link.found.seconds.push(std::mem::replace(&mut link.second, mark).until(&mark, elapsed));
        }
        self.last = now;
    }

    /// The measured interval begins `now`, before which everything has happened.
    pub(crate) fn mark_start<O: Observer>(&mut self, now: Instant, model: &mut Model<O>) {
        self.measured_since = Some(now);
        for link in &mut self.links {
            link.measured = link.look(now, &mut model.network);
        }
    }

    /// Closes what is left of a second at the `end` of the run, and the measured interval; returns what was observed.
    pub(crate) fn finish<O: Observer>(mut self, end: Instant, model: &mut Model<O>) -> Vec<ObservedLink> {
        if end > self.last {
            self.sample(end, model);
        }
        // A run may end before the interval begins, or at once.
        let measured = self.measured_since.filter(|since| *since < end).map(|since| end - since);
        let found = |mut link: Sampled| {
            let mark = link.look(end, &mut model.network);
            link.found.measured = measured.map(|elapsed| link.measured.until(&mark, elapsed));
            link.found.waits = model.network.waits(link.id, end).cloned();
            link.found
        };
        self.links.into_iter().map(found).collect()
    }
}

impl Sampled {
    /// The totals of the link `now`; the most that waits is what waits.
    fn look<O: Observer>(&mut self, now: Instant, network: &mut Network<O>) -> LinkMark {
        let LinkView { queue_bytes, queue_integral, carried_bytes, peak } = network.look(self.id, now);
        for mark in [&mut self.second, &mut self.measured] {
            mark.peak = mark.peak.max(peak);
        }
        let counters = *network.link(self.id).counters();
        LinkMark { counters, carried_bytes, queue_integral, peak: queue_bytes }
    }
}

impl LinkMark {
    /// What the link did from here until the totals were those, in the `elapsed` time.
    fn until(&self, end: &Self, elapsed: Duration) -> LinkSecond {
        let (before, now) = (&self.counters, &end.counters);
        LinkSecond {
            packets: now.packets - before.packets,
            bytes: now.bytes - before.bytes,
            carried_bytes: end.carried_bytes - self.carried_bytes,
            lost: now.loss.lost - before.loss.lost,
            dropped: now.dropped - before.dropped,
            marked: now.marked - before.marked,
            duplicated: now.duplicated - before.duplicated,
            queue_bytes: end.peak,
            max_queue_bytes: self.peak,
            mean_queue_bytes: (end.queue_integral - self.queue_integral) as f64 / elapsed.as_nanos() as f64,
        }
    }
}

impl ObservedLink {
    /// Adds what other clients did at links. Those that clients share with the clients of another thread keep nothing waiting.
    pub(crate) fn merge(all: &mut Vec<Self>, others: Vec<Self>) {
        for other in others {
            let is_same = |link: &&mut Self| (&link.link, link.direction) == (&other.link, other.direction);
            match all.iter_mut().find(is_same) {
                Some(link) => link.add(&other),
                None => all.push(other),
            }
        }
    }

    fn add(&mut self, other: &Self) {
        let common = self.seconds.len().min(other.seconds.len());
        self.seconds.iter_mut().zip(&other.seconds).for_each(|(entry, more)| entry.add(more));
        self.seconds.extend_from_slice(&other.seconds[common..]);
        match (&mut self.measured, &other.measured) {
            (Some(measured), Some(more)) => measured.add(more),
            (measured, _) => *measured = None,
        }
    }
}

impl LinkSecond {
    /// Adds what another link, or the same one did for other clients, in the same time.
    pub(crate) fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.carried_bytes += other.carried_bytes;
        self.lost += other.lost;
        self.dropped += other.dropped;
        self.marked += other.marked;
        self.duplicated += other.duplicated;
        self.queue_bytes += other.queue_bytes;
        self.max_queue_bytes = self.max_queue_bytes.max(other.max_queue_bytes);
        self.mean_queue_bytes += other.mean_queue_bytes;
    }
}
