//! Whether an open loop offers what can be taken.
//!
//! Above capacity, what waits or is in progress grows without end, and no length of a run measures anything. Near capacity it does not, but what the queue
//! was it still is a long time later, so that a short run sees one part of its life only. Both show in how the fortieths of the interval follow each other:
//! by how much the backlog grew in each, and how the mean response time of one depends on that of the one before (R. Jain, The Art of Computer Systems
//! Performance Analysis, section 25.5.2: the variance of a mean of observations that depend on each other).

use super::censoring::{Alike, LENGTHS, growth_by_age};
use crate::ledger::{BINS, GroupLedger};
use serde::Serialize;

/// Growth that chance does not explain, in standard errors, and one that it hardly does.
const STANDARD_ERRORS: f64 = 5.0;
const DOUBTFUL: f64 = 2.0;
/// Least growth in one half of the interval over that in the other of what grows without end: a queue that comes to its length grows less and less.
const ALIKE: f64 = 1.0 / 3.0;
/// Least growth that means anything: a number, and a share of what was in progress.
const LEAST_GROWTH: f64 = 20.0;
const LEAST_SHARE: f64 = 0.05;
/// Correlation of the mean response times of successive fortieths above which they show one queue: that of independent ones has a standard error of 0.16.
const SERIAL: f64 = 0.65;
/// Relative standard error of the mean response time, its correlation considered, from which a run near capacity is too short, and the one that is aimed at.
const MOST_ERROR: f64 = 0.025;
const AIM: f64 = 0.015;
/// Correlation to which a short run's is cut.
const MOST_SERIAL: f64 = 0.97;
/// Least fortieths in which something ended.
const LEAST_BINS: usize = 20;

/// How the backlog of an open loop, and its response times, went through the interval.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Stability {
    /// By how much more was in progress or waited after each second: arrivals less what ended.
    pub growth: f64,
    /// That part of it which is so because some transactions take longer than the run had lasted.
    pub growth_by_age: f64,
    /// Standard error of the growth, if each fortieth of the interval is by chance.
    pub growth_standard_error: f64,
    /// Whether it grows without end.
    pub grows: bool,
    /// Correlation of the mean response times of successive fortieths of the interval; none where too few ended.
    pub serial_correlation: Option<f64>,
    /// Relative standard error of the mean response time that follows from it.
    pub standard_error: Option<f64>,
    /// Length of the measured interval, in seconds, that would do: the interval's own if it did; none if no length does, or too few ended to tell.
    pub enough_s: Option<f64>,
    /// Whether requests come at the times of a log, whose rate need not be steady.
    #[serde(skip)]
    replays: bool,
}

impl Stability {
    /// That of clients whose transactions have these ages, and who replay the times of a log or do not; none where no request comes by itself.
    pub(super) fn of(found: &GroupLedger, alike: &Alike, replays: bool) -> Option<Self> {
        let duration = alike.window.duration;
        if !found.is_open() || duration <= 0.0 {
            return None;
        }
        let by_age = growth_by_age(alike);
        let mut steps = found.backlog.0.map(|step| step as f64);
        let growth: f64 = steps.iter().sum();
        steps.iter_mut().zip(by_age).for_each(|(step, by_age)| *step -= by_age);
        let error = deviation(&steps) * (BINS as f64).sqrt();
        let [first, second] = [&steps[..BINS / 2], &steps[BINS / 2..]].map(|half| half.iter().sum::<f64>());
        let total = first + second;
        let matters = total >= LEAST_GROWTH && total >= LEAST_SHARE * alike.in_progress / duration;
        let alike = first.min(second) >= ALIKE * first.max(second);
        let grows = matters && alike && total > STANDARD_ERRORS * error;
        let queue = Queue::of(found);
        Some(Self {
            growth: growth / duration,
            growth_by_age: (growth - total) / duration,
            growth_standard_error: error / duration,
            grows,
            serial_correlation: queue.map(|queue| queue.correlation),
            standard_error: queue.map(|queue| queue.error),
            enough_s: queue.filter(|_| !grows).and_then(|queue| queue.enough(duration)),
            replays,
        })
    }

    /// Whether the run shows too little of a queue that remembers.
    pub(super) fn is_near_capacity(&self) -> bool {
        !self.grows
            && !self.replays
            && self.serial_correlation.is_some_and(|correlation| correlation > SERIAL)
            && self.standard_error.is_some_and(|error| error > MOST_ERROR)
    }

    /// Whether the backlog may well grow without end, though a longer run only would show it.
    pub(super) fn may_grow(&self) -> bool {
        self.growth - self.growth_by_age > DOUBTFUL * self.growth_standard_error
    }
}

/// How the mean response times of the fortieths follow each other. The opening of connections is left out: of kept ones fewer and fewer are opened.
#[derive(Clone, Copy, Debug)]
struct Queue {
    correlation: f64,
    /// Relative standard error of their mean.
    error: f64,
}

impl Queue {
    fn of(found: &GroupLedger) -> Option<Self> {
        let bins = found.bins.0.iter().zip(&found.times_by_bin.0);
        let means: Vec<_> =
            bins.map(|(count, sum)| (*count > 0).then(|| *sum as f64 / *count as f64)).collect();
        let count = means.iter().flatten().count() as f64;
        let mean = means.iter().flatten().sum::<f64>() / count.max(1.0);
        if count < LEAST_BINS as f64 || mean <= 0.0 {
            return None;
        }
        let squares: f64 = means.iter().flatten().map(|each| (each - mean).powi(2)).sum();
        let product = |pair: &[Option<f64>]| Some((pair[0]? - mean) * (pair[1]? - mean));
        let products: f64 = means.windows(2).filter_map(product).sum();
        let correlation = if squares > 0.0 { products / squares } else { 0.0 };
        let known = correlation.clamp(0.0, MOST_SERIAL);
        let independent = count * (1.0 - known) / (1.0 + known);
        let error = (squares / count / independent).sqrt() / mean;
        Some(Self { correlation, error })
    }

    /// The length with which the error falls to what is aimed at.
    fn enough(self, duration: f64) -> Option<f64> {
        if self.correlation <= SERIAL || self.error <= MOST_ERROR {
            return Some(duration);
        }
        let least = duration * (self.error / AIM).powi(2);
        LENGTHS.into_iter().find(|length| *length >= least)
    }
}

/// Standard deviation.
fn deviation(steps: &[f64; BINS]) -> f64 {
    let mean = steps.iter().sum::<f64>() / BINS as f64;
    let squares: f64 = steps.iter().map(|step| (step - mean).powi(2)).sum();
    (squares / (BINS as f64 - 1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::Window;
    use super::*;
    use crate::Interval;
    use crate::ledger::{Ages, Bins, Changes};
    use wasp_random::{Key, Purpose};
    use wasp_units::{Duration, Instant};

    const WINDOW: Window = Window { warmup: 5.0, duration: 10.0, timeout: 60.0, closed: 0.0 };
    const RUNS: usize = 200;

    fn at(milliseconds: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(milliseconds)
    }

    /// A thousand transactions a second of a tenth of a second each; of each ten, some outlast the run.
    fn thousand(outlast: u64) -> Alike {
        let interval = Interval::new(Duration::from_secs(5), Duration::from_secs(10));
        let mut ages = Ages::default();
        for start in 0..15_000 {
            let end = if start % 10 < outlast { 15_000 } else { (start + 100).min(15_000) };
            ages.note(&interval, at(start), at(end), end == 15_000);
        }
        Alike { ages, window: WINDOW, in_progress: 1_000.0 }
    }

    /// What follows from the changes of the backlog, and from the mean response times in milliseconds of a hundred transactions each.
    fn judged(changes: [f64; BINS], means: [f64; BINS], alike: &Alike) -> Stability {
        let mut found = GroupLedger::new(false, false, true, 0);
        found.backlog = Changes(changes.map(|change| change.round() as i64));
        found.bins = Bins([100; BINS]);
        found.times_by_bin = Bins(means.map(|mean| (mean * 100.0 * 1e6) as u64));
        Stability::of(&found, alike, false).expect("it is open")
    }

    /// Numbers of mean 0 and standard deviation 1 that are independent of each other.
    fn noise(run: usize) -> [f64; BINS] {
        let mut stream = Key::root(1, run as u32).purpose(Purpose::Loss).stream();
        std::array::from_fn(|_| (0..12).map(|_| stream.unit()).sum::<f64>() - 6.0)
    }

    /// Those of which each is that part of the one before, and new for the rest.
    fn remembering(part: f64, run: usize) -> [f64; BINS] {
        let mut before = 0.0;
        noise(run).map(|new| {
            before = part * before + (1.0 - part * part).sqrt() * new;
            before
        })
    }

    /// In how many of the runs it is so.
    fn share(is_so: impl Fn(usize) -> bool) -> f64 {
        (0..RUNS).filter(|run| is_so(*run)).count() as f64 / RUNS as f64
    }

    #[test]
    fn a_backlog_that_grows_all_the_time_is_told_from_one_that_does_not() {
        let grows = |change: &dyn Fn(usize, f64) -> f64| {
            let of_run = |run: usize| {
                let noise = noise(run);
                judged(std::array::from_fn(|place| change(place, noise[place])), [100.0; BINS], &thousand(0))
                    .grows
            };
            share(of_run)
        };
        // 250 arrivals in each fortieth, and by chance 16 more or less.
        assert!(grows(&|_, chance| 25.0 + 16.0 * chance) > 0.95, "a tenth more than can be taken");
        assert!(grows(&|_, chance| 16.0 * chance) < 0.005, "as much as can be taken");
        assert!(
            grows(&|place, chance| if place < 20 { 50.0 } else { 0.0 } + chance) < 0.005,
            "it comes to an end"
        );
        assert!(grows(&|place, chance| if place < 20 { 0.0 } else { 50.0 } + chance) < 0.005, "a stall");
        assert!(grows(&|place, _| f64::from(place % 3 == 0)) < 0.005, "too little to matter");
    }

    #[test]
    fn transactions_that_outlast_the_run_are_no_growth_without_end() {
        // Of 250 a fortieth, 50 do not end.
        let steps = noise(1).map(|chance| 50.0 + chance);
        assert!(judged(steps, [100.0; BINS], &thousand(0)).grows);
        let explained = judged(steps, [100.0; BINS], &thousand(2));
        assert!(
            !explained.grows && (explained.growth - explained.growth_by_age).abs() < 10.0,
            "{explained:?}"
        );
    }

    #[test]
    fn response_times_that_depend_on_those_before_show_a_queue() {
        let near = |part: f64, deviation: f64| {
            share(|run| {
                let means = remembering(part, run).map(|chance| 100.0 * (1.0 + deviation * chance));
                judged([0.0; BINS], means, &thousand(0)).is_near_capacity()
            })
        };
        assert!(near(0.0, 0.2) < 0.005, "independent");
        assert!(near(0.95, 0.2) > 0.6, "a queue that remembers for half the interval");
        assert!(near(0.95, 0.02) < 0.02, "and is too short to matter");
    }

    #[test]
    fn the_length_that_is_advised_makes_the_error_small() {
        let means = std::array::from_fn(|place| 100.0 + 10.0 * (place as f64 / 8.0).sin());
        let found = judged([0.0; BINS], means, &thousand(0));
        let (error, enough) = (found.standard_error.unwrap(), found.enough_s.unwrap());
        assert!(found.is_near_capacity() && LENGTHS.contains(&enough), "{found:?}");
        assert!(error * (WINDOW.duration / enough).sqrt() <= AIM, "{found:?}");
        // A tenth of the swing is nothing.
        let little = judged([0.0; BINS], means.map(|mean| 100.0 + (mean - 100.0) / 10.0), &thousand(0));
        assert!(!little.is_near_capacity() && little.enough_s == Some(WINDOW.duration), "{little:?}");
    }
}
