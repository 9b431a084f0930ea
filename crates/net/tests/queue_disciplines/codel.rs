//! CoDel against a second implementation, and its control law against sums.

use super::transmitter::{Discipline, End, Transmitter, behind, full, megabits};
use std::collections::VecDeque;
use wasp_net::queue::{CodelConfig, DropReason, Item, QueueConfig, Taken};
use wasp_random::Key;
use wasp_units::{Duration, Instant};

const INTERVAL: u64 = 100_000_000;
const TARGET: u64 = 5_000_000;
const MAXPACKET: u64 = 1_500;

/// The largest s with s sqrt(count) <= INTERVAL, found by halving.
fn spacing(count: u64) -> u64 {
    let (mut low, mut high) = (0, INTERVAL + 1);
    while high - low > 1 {
        let middle = u128::from((low + high) / 2);
        if middle * middle * u128::from(count) <= u128::from(INTERVAL) * u128::from(INTERVAL) {
            low = middle as u64;
        } else {
            high = middle as u64;
        }
    }
    low
}

/// The pseudocode of RFC 8289 section 5 in plain integers: zero stands for "not set", as there. It neither marks nor has a limit.
#[derive(Default)]
struct Rfc8289 {
    packets: VecDeque<(u64, u32, u32)>,
    bytes: u64,
    first_above_time: u64,
    drop_next: u64,
    count: u64,
    lastcount: u64,
    dropping: bool,
    /// How often the dropping state was entered with a count of one, and with more.
    entered: [u32; 2],
}

impl Rfc8289 {
    fn dodequeue(&mut self, now: u64) -> (Option<(u64, u32, u32)>, bool) {
        let Some(packet) = self.packets.pop_front() else {
            self.first_above_time = 0;
            return (None, false);
        };
        self.bytes -= u64::from(packet.2);
        let mut ok_to_drop = false;
        if now - packet.0 < TARGET || self.bytes <= MAXPACKET {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + INTERVAL;
        } else if now >= self.first_above_time {
            ok_to_drop = true;
        }
        (Some(packet), ok_to_drop)
    }

    fn deque(&mut self, now: u64, dropped: &mut impl FnMut(u32, DropReason)) -> Option<(u64, u32, u32)> {
        let (mut packet, mut ok_to_drop) = self.dodequeue(now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                dropped(packet.unwrap().1, DropReason::Early);
                self.count += 1;
                (packet, ok_to_drop) = self.dodequeue(now);
                if ok_to_drop {
                    self.drop_next += spacing(self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            dropped(packet.unwrap().1, DropReason::Early);
            (packet, _) = self.dodequeue(now);
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            if delta > 1 && now < self.drop_next + 16 * INTERVAL {
                self.count = delta;
            }
            self.entered[usize::from(self.count > 1)] += 1;
            self.drop_next = now + spacing(self.count);
            self.lastcount = self.count;
        }
        packet
    }
}

impl Discipline for Rfc8289 {
    fn enqueue(&mut self, item: Item<u32>, now: Instant, _dropped: &mut impl FnMut(u32, DropReason)) {
        self.packets.push_back((now.as_nanos(), item.handle, item.bytes));
        self.bytes += u64::from(item.bytes);
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut impl FnMut(u32, DropReason)) -> Option<Taken<u32>> {
        let (entered, handle, bytes) = self.deque(now.as_nanos(), dropped)?;
        let waited = Duration::from_nanos(now.as_nanos() - entered);
        Some(Taken { handle, bytes, waited, marked: false })
    }
}

/// Arrivals in phases of 0.1 to 1.1 s, each with a load of 0.3 to 2 of a link of 10 Mbit/s, and now and then nothing for two seconds.
fn arrivals() -> Vec<(Instant, u32)> {
    const TENTHS: [u64; 6] = [3, 5, 8, 11, 14, 20];
    let mut stream = Key::root(8_289, 0).stream();
    let (mut now, mut arrivals) = (0, Vec::new());
    for _ in 0..400 {
        let end = now + 100_000_000 + stream.next_u64() % 1_000_000_000;
        let load = TENTHS[(stream.next_u64() % 6) as usize];
        while now < end {
            let bytes = 40 + stream.next_u64() % 1_461;
            let mean = bytes * 800 * 10 / load;
            now += stream.next_u64() % (2 * mean);
            arrivals.push((Instant::from_nanos(now), bytes as u32));
        }
        if stream.next_u64().is_multiple_of(8) {
            now += 2_000_000_000;
        }
    }
    arrivals
}

#[test]
fn codel_does_as_a_second_implementation_of_the_rfc() {
    let config = CodelConfig { packets: None, ..CodelConfig::default() };
    let mut ours = behind(QueueConfig::Codel(config), megabits(10));
    let mut theirs = Transmitter::new(Rfc8289::default(), megabits(10));
    for (handle, (at, bytes)) in (0..).zip(arrivals()) {
        let item = Item { handle, bytes, flow: 0, ecn_capable: false };
        ours.arrive(item, at);
        theirs.arrive(item, at);
    }
    ours.advance(Instant::MAX);
    theirs.advance(Instant::MAX);
    let first = ours.log.iter().zip(&theirs.log).find(|(ours, theirs)| ours != theirs);
    assert_eq!(first, None, "the first difference");
    assert_eq!(ours.log.len(), theirs.log.len());
    let (drops, [afresh, again]) = (ours.dropped(DropReason::Early), theirs.queue.entered);
    assert!(drops > 1_000 && afresh > 20 && again > 20, "{drops} drops, {afresh} and {again} entrances");
}

#[test]
fn codel_drops_at_the_times_of_the_control_law() {
    let mut link = behind(QueueConfig::Codel(CodelConfig::default()), megabits(10));
    for handle in 0..900 {
        link.arrive(full(handle, 0), Instant::from_nanos(u64::from(handle) * 1_000_000));
    }
    let drops: Vec<_> =
        link.log.iter().filter(|record| record.end == End::Dropped(DropReason::Early)).collect();
    assert!(drops.len() > 10);
    // A transmission takes 1.2 ms, and the transmitter is never idle, so packets leave at multiples of that.
    let mut due = drops[0].at.as_nanos();
    for (count, pair) in (1..10).zip(drops.windows(2)) {
        due += spacing(count);
        assert_eq!(pair[1].at.as_nanos(), due.next_multiple_of(1_200_000), "drop {}", count + 1);
    }
}

#[test]
fn codel_leaves_a_queue_below_the_target_alone() {
    let mut link = behind(QueueConfig::Codel(CodelConfig::default()), megabits(10));
    for burst in 0..200 {
        for packet in 0..4 {
            link.arrive(full(burst * 4 + packet, 0), Instant::from_nanos(u64::from(burst) * 4_800_000));
        }
    }
    assert_eq!(link.dropped(DropReason::Early), 0);
    assert!(link.log.iter().all(|record| match record.end {
        End::Left { waited, .. } => waited < Duration::from_millis(5),
        End::Dropped(_) => false,
    }));
}
