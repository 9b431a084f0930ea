//! Responsive sources in the simplest form: a window that grows by one packet a round trip, and halves when a packet is lost or comes
//! back marked that was sent since it halved last. There is no slow start, no timeout and no header.

use super::transmitter::{End, Transmitter, behind, megabits};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use wasp_net::queue::{Item, Queue, QueueConfig};
use wasp_units::{Duration, Instant};

/// Sources behind one link of 10 Mbit/s; packets have 1,500 bytes.
pub(crate) struct Sources {
    pub(crate) link: Transmitter<Queue<u32>>,
    sources: Vec<Source>,
    /// What reaches a source, in the order of time, then of making.
    events: BinaryHeap<Reverse<(Instant, u64, News)>>,
    made: u64,
    /// The source of each packet.
    source_of: Vec<u32>,
    seen: usize,
    rtt: Duration,
    ecn_capable: bool,
}

#[derive(Clone, Copy, Debug)]
struct Source {
    window: f64,
    in_flight: u32,
    /// The first packet sent since the window halved.
    since_halved: u32,
}

/// The order to start, for a source; or what became of a packet, which is named.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum News {
    Start(u32),
    Arrived(u32),
    Congestion(u32),
}

impl Sources {
    /// So many sources with this round-trip time beside the queue, which start one after the other in the first second.
    pub(crate) fn new(config: QueueConfig, number: u32, rtt: Duration, ecn_capable: bool) -> Self {
        let source = Source { window: 2.0, in_flight: 0, since_halved: 0 };
        let mut sources = Self {
            link: behind(config, megabits(10)),
            sources: vec![source; number as usize],
            events: BinaryHeap::new(),
            made: 0,
            source_of: Vec::new(),
            seen: 0,
            rtt,
            ecn_capable,
        };
        for source in 0..number {
            let start = Duration::from_secs(u64::from(source)) / u64::from(number);
            sources.tell(Instant::ZERO + start, News::Start(source));
        }
        sources
    }

    /// Goes on until `until`.
    pub(crate) fn advance(&mut self, until: Instant) {
        loop {
            let event = self.events.peek().map_or(Instant::MAX, |Reverse((at, ..))| *at);
            let end = self.link.transmitting.map_or(Instant::MAX, |(end, _)| end);
            if event.min(end) > until {
                return;
            }
            if end <= event {
                self.link.advance(end);
            } else if let Some(Reverse((at, _, news))) = self.events.pop() {
                self.handle(at, news);
            }
            self.read_log();
        }
    }

    /// The mean waiting time in seconds of packets that left from `since` on, and how many they are.
    pub(crate) fn waited(&self, since: Instant) -> (f64, u32) {
        let waits = self.link.log.iter().filter(|record| record.at >= since).filter_map(|record| {
            let End::Left { waited, .. } = record.end else { return None };
            Some(waited.as_secs_f64())
        });
        let (sum, number) = waits.fold((0.0, 0), |(sum, number), wait| (sum + wait, number + 1));
        (sum / f64::from(number), number)
    }

    fn tell(&mut self, at: Instant, news: News) {
        self.events.push(Reverse((at, self.made, news)));
        self.made += 1;
    }

    fn handle(&mut self, now: Instant, news: News) {
        let next = self.source_of.len() as u32;
        let number = match news {
            News::Start(source) => source,
            News::Arrived(packet) | News::Congestion(packet) => self.source_of[packet as usize],
        };
        let source = &mut self.sources[number as usize];
        match news {
            News::Start(_) => (),
            News::Arrived(_) => {
                source.in_flight -= 1;
                source.window += 1.0 / source.window;
            }
            News::Congestion(packet) => {
                source.in_flight -= 1;
                if packet >= source.since_halved {
                    source.window = (source.window / 2.0).max(1.0);
                    source.since_halved = next;
                }
            }
        }
        let room = (source.window as u32).saturating_sub(source.in_flight);
        source.in_flight += room;
        for handle in next..next + room {
            self.source_of.push(number);
            // An odd number apart, so that no two sources share a queue of FQ-CoDel.
            let item = Item { handle, bytes: 1_500, flow: number * 7, ecn_capable: self.ecn_capable };
            self.link.arrive(item, now);
        }
    }

    /// Sends the sources news of what left the queue or was dropped from it, a round-trip time later.
    fn read_log(&mut self) {
        while let Some(record) = self.link.log.get(self.seen).copied() {
            self.seen += 1;
            let news = match record.end {
                End::Left { marked: false, .. } => News::Arrived(record.handle),
                End::Left { marked: true, .. } | End::Dropped(_) => News::Congestion(record.handle),
            };
            self.tell(record.at + self.rtt, news);
        }
    }
}
