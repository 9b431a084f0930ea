//! RED against a straightforward recomputation of its average and of its decisions.

use super::transmitter::{End, behind, full, megabits};
use wasp_net::queue::{DropReason, Item, QueueConfig, RedConfig};
use wasp_random::Key;
use wasp_units::{Bytes, Instant, Probability};

/// Figure 2 of the paper, with `gentle`, for thresholds of 10 and 30 kB, on a link of 10 Mbit/s.
#[derive(Default)]
struct Paper {
    avg: f64,
    count: i64,
    p_a: f64,
    draws: u64,
}

const MIN_TH: f64 = 10_000.0;
const MAX_TH: f64 = 30_000.0;
const W_Q: f64 = 0.002;
const MAX_P: f64 = 0.1;
/// The time of 500 bytes at 10 Mbit/s.
const S: u64 = 400_000;

fn config() -> RedConfig {
    RedConfig {
        bytes: Bytes::new(100_000),
        min: "10%".parse().unwrap(),
        max: "30kB".parse().unwrap(),
        ..RedConfig::default()
    }
}

impl Paper {
    /// Whether the packet that arrives now is dropped early; `bytes` wait, or the transmitter has been idle for so long.
    fn arrive(&mut self, bytes: u64, idle: Option<u64>) -> bool {
        match idle {
            Some(idle) => self.avg *= libm::exp(idle as f64 / S as f64 * libm::log(1.0 - W_Q)),
            None => self.avg = (1.0 - W_Q) * self.avg + W_Q * bytes as f64,
        }
        self.draws += 1;
        if idle.is_some() && self.avg >= MIN_TH {
            (self.count, self.p_a) = (self.count + 1, 0.0);
            return false;
        }
        if self.avg < MIN_TH {
            (self.count, self.p_a) = (-1, 0.0);
            return false;
        }
        if self.avg >= 2.0 * MAX_TH {
            (self.count, self.p_a) = (0, 1.0);
            return true;
        }
        self.count += 1;
        let p_b = if self.avg < MAX_TH {
            MAX_P * (self.avg - MIN_TH) / (MAX_TH - MIN_TH)
        } else {
            MAX_P + (1.0 - MAX_P) * (self.avg - MAX_TH) / MAX_TH
        };
        let left = 1.0 - self.count as f64 * p_b;
        self.p_a = if left <= 0.0 || p_b / left > 1.0 { 1.0 } else { p_b / left };
        let drop = Key::root(16, 0).unit(self.draws - 1) < self.p_a;
        if drop {
            self.count = 0;
        }
        drop
    }
}

/// Arrivals in phases of 0.2 to 2.2 s, each with a load of 0.2 to 20 of a link of 10 Mbit/s, and now and then nothing for a second.
fn arrivals() -> Vec<(Instant, u32)> {
    const TENTHS: [u64; 6] = [2, 7, 10, 11, 13, 200];
    let mut stream = Key::root(1_993, 0).stream();
    let (mut now, mut arrivals) = (0, Vec::new());
    for _ in 0..100 {
        let end = now + 200_000_000 + stream.next_u64() % 2_000_000_000;
        let load = TENTHS[(stream.next_u64() % 6) as usize];
        while now < end {
            let bytes = 40 + stream.next_u64() % 1_461;
            now += stream.next_u64() % (2 * bytes * 800 * 10 / load);
            arrivals.push((Instant::from_nanos(now), bytes as u32));
        }
        if stream.next_u64().is_multiple_of(4) {
            now += 1_000_000_000;
        }
    }
    arrivals
}

#[test]
fn average_and_probability_are_those_of_the_paper() {
    let mut link = behind(QueueConfig::Red(config()), megabits(10));
    let mut paper = Paper { count: -1, ..Paper::default() };
    let (mut aged, mut random, mut forced) = (0, 0, 0);
    for (handle, (at, bytes)) in (0..).zip(arrivals()) {
        link.advance(at);
        let idle = link.transmitting.is_none().then(|| (at - link.idle_since).as_nanos());
        let expected = paper.arrive(link.queue.bytes(), idle);
        let logged = link.log.len();
        link.arrive(Item { handle, bytes, flow: 0, ecn_capable: false }, at);
        let early = link.log[logged..].iter().any(|record| record.end == End::Dropped(DropReason::Early));
        assert_eq!(early, expected, "packet {handle}");
        let average = link.queue.average().unwrap();
        if idle.is_some() {
            // The power of 1 - w_q is made in another way, which shows in the last bits; the sums after it are to be the same again.
            assert!((average - paper.avg).abs() <= 1e-9 * paper.avg, "{average}, not {}", paper.avg);
            paper.avg = average;
            paper.p_a = link.queue.drop_probability().unwrap();
            aged += u32::from(idle > Some(S));
        }
        assert_eq!(average, paper.avg, "packet {handle}");
        let probability = link.queue.drop_probability().unwrap();
        assert_eq!(probability, paper.p_a, "packet {handle}");
        random += u32::from(early && probability < 1.0);
        forced += u32::from(early && average >= 2.0 * MAX_TH);
    }
    assert!(aged > 100 && random > 500 && forced > 100, "{aged} aged, {random} random, {forced} forced");
}

#[test]
fn a_load_far_above_the_rate_keeps_the_link_busy() {
    for load in [2, 5, 20] {
        let mut link = behind(QueueConfig::Red(RedConfig::default()), megabits(10));
        let packets = 5_000 * load;
        for handle in 0..packets {
            link.arrive(
                full(handle, 0),
                Instant::from_nanos(u64::from(handle) * 1_200_000 / u64::from(load)),
            );
        }
        let left = link.log.iter().filter(|record| matches!(record.end, End::Left { .. })).count();
        // 6 s at 10 Mbit/s are 5,000 packets.
        assert!(left > 4_900, "load {load}: {left} of 5,000");
    }
}

#[test]
fn the_average_ages_by_idle_times_shorter_than_the_mean_packet() {
    let mut link = behind(QueueConfig::Red(config()), megabits(10));
    (0..200).for_each(|handle| link.arrive(full(handle, 0), Instant::ZERO));
    link.advance(Instant::from_nanos(1_000_000_000));
    let before = link.queue.average().unwrap();
    // 50 bytes take 40 us of 100 us: the transmitter is idle for 15 % of S before each.
    for handle in 0..20_000 {
        let now = Instant::from_nanos(1_000_000_000 + u64::from(handle) * 100_000);
        link.arrive(Item { bytes: 50, ..full(1_000 + handle, 0) }, now);
    }
    let after = link.queue.average().unwrap();
    assert!(before > 1_000.0 && after < before * 0.01, "{before}, {after}");
}

#[test]
fn drops_keep_their_distance() {
    // At an average held at p_b = 5 %, the gap between drops is uniform on 1 to 19 packets (section 7 of the paper).
    let steady = RedConfig { weight: Probability::ONE, ..config() };
    let mut link = behind(QueueConfig::Red(steady), megabits(10));
    let mut drops = Vec::new();
    for handle in 0..20_000 {
        // 20,000 bytes wait whenever a packet arrives: the transmitter is kept from sending.
        while link.queue.bytes() > 20_000 {
            link.queue.dequeue(Instant::ZERO, &mut |_, _| {});
        }
        let item = Item { bytes: 500, ..full(handle, 0) };
        let mut early = false;
        link.queue.enqueue(item, Instant::ZERO, &mut |_, _| early = true);
        if link.queue.average() == Some(20_000.0) && early {
            drops.push(handle);
        }
    }
    let gaps: Vec<_> = drops.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // Four standard errors: a standard deviation of sqrt((19^2 - 1) / 12) for one gap.
    let mean = f64::from(gaps.iter().sum::<u32>()) / gaps.len() as f64;
    assert!(gaps.iter().all(|gap| *gap <= 20), "{gaps:?}");
    assert!((mean - 10.0).abs() < 4.0 * 5.48 / (gaps.len() as f64).sqrt(), "mean gap {mean}");
}

#[test]
fn from_the_upper_end_on_all_are_dropped_whether_they_may_be_marked_or_not() {
    let abrupt = RedConfig { weight: Probability::ONE, gentle: false, ecn: true, ..config() };
    let mut link = behind(QueueConfig::Red(abrupt), megabits(10));
    for handle in 0..1_000 {
        let item = Item { ecn_capable: true, ..full(handle, 0) };
        link.arrive(item, Instant::from_nanos(u64::from(handle)));
    }
    assert!(link.queue.bytes() < 31_500);
    assert!(link.dropped(DropReason::Early) > 900);
    assert_eq!(link.dropped(DropReason::Full), 0);
    assert_eq!(link.queue.drop_probability(), Some(1.0));
}
