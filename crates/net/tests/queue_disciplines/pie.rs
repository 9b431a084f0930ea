//! PIE against a second implementation with a timer, and at its task: to hold the delay of responsive sources at the target.

use super::aimd::Sources;
use super::transmitter::{Discipline, Transmitter, behind, full, megabits};
use std::collections::VecDeque;
use wasp_net::queue::{DropReason, Item, PieConfig, QueueConfig, Taken};
use wasp_random::Key;
use wasp_units::{Duration, Instant, Probability, Rate};

#[test]
fn pie_holds_its_target_with_responsive_sources() {
    for (number, rtt) in [(20, 100), (20, 40), (5, 100)] {
        let config = QueueConfig::Pie(PieConfig::default());
        let mut sources = Sources::new(config, number, Duration::from_millis(rtt), false);
        sources.advance(Instant::from_nanos(120_000_000_000));
        let (mean, packets) = sources.waited(Instant::from_nanos(60_000_000_000));
        assert!((0.010..0.020).contains(&mean), "{number} sources, RTT {rtt} ms: {mean} s");
        // 60 s at 10 Mbit/s are 50,000 packets.
        assert!(packets > 42_000, "{number} sources, RTT {rtt} ms: only {packets} packets");
    }
}

/// Appendix A of RFC 8033 with seconds as numbers and one update after the other, driven by whoever calls. It neither marks nor has a limit.
struct Rfc8033 {
    packets: VecDeque<(u64, u32, u32)>,
    bytes: u64,
    drop_prob: f64,
    burst_allowance: f64,
    qdelay_old: f64,
    last_wait: f64,
    arrivals: u64,
    timer: u64,
}

impl Rfc8033 {
    const QDELAY_REF: f64 = 0.015;
    const T_UPDATE: f64 = 0.015;
    const MAX_BURST: f64 = 0.150;

    fn new() -> Self {
        Self {
            packets: VecDeque::new(),
            bytes: 0,
            drop_prob: 0.0,
            burst_allowance: Self::MAX_BURST,
            qdelay_old: 0.0,
            last_wait: 0.0,
            arrivals: 0,
            timer: 0,
        }
    }

    fn current_qdelay(&self) -> f64 {
        if self.packets.is_empty() { 0.0 } else { self.last_wait }
    }

    /// Runs the timer to `now`, tick by tick.
    fn tick(&mut self, now: Instant) {
        while self.timer + 15_000_000 <= now.as_nanos() {
            self.timer += 15_000_000;
            self.calculate_drop_prob();
        }
    }

    fn calculate_drop_prob(&mut self) {
        let current_qdelay = self.current_qdelay();
        let mut p = 0.125 * (current_qdelay - Self::QDELAY_REF) + 1.25 * (current_qdelay - self.qdelay_old);
        if self.drop_prob < 0.000_001 {
            p /= 2_048.0;
        } else if self.drop_prob < 0.000_01 {
            p /= 512.0;
        } else if self.drop_prob < 0.000_1 {
            p /= 128.0;
        } else if self.drop_prob < 0.001 {
            p /= 32.0;
        } else if self.drop_prob < 0.01 {
            p /= 8.0;
        } else if self.drop_prob < 0.1 {
            p /= 2.0;
        }
        self.drop_prob += p;
        if current_qdelay == 0.0 && self.qdelay_old == 0.0 {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = current_qdelay;
        self.burst_allowance = (self.burst_allowance - Self::T_UPDATE).max(0.0);
        // Ten times 15 ms are 150 ms, but not to the last bit.
        if self.burst_allowance < 1e-9 {
            self.burst_allowance = 0.0;
        }
    }

    fn drop_early(&self) -> bool {
        if self.qdelay_old < Self::QDELAY_REF / 2.0 && self.drop_prob < 0.2 {
            return false;
        }
        if self.bytes <= 2 * 1_500 {
            return false;
        }
        Key::root(16, 0).unit(self.arrivals - 1) < self.drop_prob
    }
}

impl Discipline for Rfc8033 {
    fn enqueue(&mut self, item: Item<u32>, now: Instant, dropped: &mut impl FnMut(u32, DropReason)) {
        self.tick(now);
        self.arrivals += 1;
        let half = Self::QDELAY_REF / 2.0;
        if self.drop_prob == 0.0 && self.current_qdelay() < half && self.qdelay_old < half {
            self.burst_allowance = Self::MAX_BURST;
        }
        if self.burst_allowance == 0.0 && self.drop_early() {
            dropped(item.handle, DropReason::Early);
        } else {
            self.packets.push_back((now.as_nanos(), item.handle, item.bytes));
            self.bytes += u64::from(item.bytes);
        }
    }

    fn dequeue(&mut self, now: Instant, _dropped: &mut impl FnMut(u32, DropReason)) -> Option<Taken<u32>> {
        self.tick(now);
        let (entered, handle, bytes) = self.packets.pop_front()?;
        self.bytes -= u64::from(bytes);
        let waited = Duration::from_nanos(now.as_nanos() - entered);
        self.last_wait = waited.as_secs_f64();
        Some(Taken { handle, bytes, waited, marked: false })
    }
}

/// Early drops of a link of so many bits a second with a load of 0.2 to 2, if both implementations drop the same packets.
fn drops_of_both(bits: u64) -> usize {
    const TENTHS: [u64; 6] = [2, 7, 10, 11, 13, 20];
    let mut stream = Key::root(8_033, 0).stream();
    let config = PieConfig { packets: None, ..PieConfig::default() };
    let rate = Rate::from_bits_per_second(bits).unwrap();
    let mut ours = behind(QueueConfig::Pie(config), rate);
    let mut theirs = Transmitter::new(Rfc8033::new(), rate);
    let (mut now, mut handle) = (0, 0);
    for _ in 0..200 {
        let end = now + 200_000_000 + stream.next_u64() % 2_000_000_000;
        let load = TENTHS[(stream.next_u64() % 6) as usize];
        while now < end {
            let bytes = 40 + stream.next_u64() % 1_461;
            now += stream.next_u64() % (2 * rate.transmission_time(bytes).as_nanos() * 10 / load);
            let item = Item { handle, bytes: bytes as u32, flow: 0, ecn_capable: false };
            ours.arrive(item, Instant::from_nanos(now));
            theirs.arrive(item, Instant::from_nanos(now));
            handle += 1;
        }
        assert_eq!(ours.queue.drop_probability(), Some(theirs.queue.drop_prob));
        // Many updates fall due at once, during which the probability may reach zero.
        if stream.next_u64().is_multiple_of(4) {
            now += stream.next_u64() % 20_000_000_000;
        }
    }
    let first = ours.log.iter().zip(&theirs.log).find(|(ours, theirs)| ours != theirs);
    assert_eq!(first, None, "the first difference");
    assert_eq!(ours.log.len(), theirs.log.len());
    ours.dropped(DropReason::Early)
}

#[test]
fn pie_does_as_a_second_implementation_with_a_timer() {
    assert!(drops_of_both(10_000_000) > 1_000);
    // At 100 kbit/s several updates fall due between two packets.
    assert!(drops_of_both(100_000) > 100);
}

#[test]
fn a_burst_after_a_calm_time_passes_unharmed() {
    let mut link = behind(QueueConfig::Pie(PieConfig::default()), megabits(10));
    // 150 ms of three times what the link carries.
    for handle in 0..375 {
        link.arrive(full(handle, 0), Instant::from_nanos(5_000_000_000 + u64::from(handle) * 400_000));
    }
    assert_eq!(link.dropped(DropReason::Early), 0);
    assert!(link.queue.drop_probability().unwrap() > 0.0);
}

#[test]
fn derandomized_drops_keep_a_distance() {
    let config = PieConfig { derandomize: true, packets: None, ..PieConfig::default() };
    let mut link = behind(QueueConfig::Pie(config), megabits(10));
    let (mut accumulated, mut drops) = (0.0, 0);
    for handle in 0..50_000 {
        let now = Instant::from_nanos(u64::from(handle) * 1_100_000);
        let logged = link.log.len();
        link.arrive(full(handle, 0), now);
        let probability = link.queue.drop_probability().unwrap();
        if link.dropped_since(logged) {
            assert!(accumulated + probability > 0.849_999, "{accumulated}");
            (accumulated, drops) = (0.0, drops + 1);
        } else {
            accumulated += probability;
        }
    }
    assert!(drops > 500, "{drops}");
}

#[test]
fn marks_end_where_the_probability_reaches_the_ecn_threshold() {
    let ecn_threshold: Probability = "5%".parse().unwrap();
    let config = PieConfig { packets: None, ecn: true, ecn_threshold, ..PieConfig::default() };
    let mut link = behind(QueueConfig::Pie(config), megabits(10));
    let (mut below, mut above) = (0, 0);
    for handle in 0..20_000 {
        let now = Instant::from_nanos(u64::from(handle) * 960_000);
        let logged = link.log.len();
        link.arrive(Item { ecn_capable: true, ..full(handle, 0) }, now);
        let dropped = link.dropped_since(logged);
        let high = link.queue.drop_probability().unwrap() >= 0.05;
        assert!(high || !dropped, "packet {handle} was dropped below the threshold");
        above += u32::from(dropped);
        below += u32::from(!high);
    }
    assert!(link.marked() > 0 && above > 100 && below > 100, "{} marked, {above}, {below}", link.marked());
}
