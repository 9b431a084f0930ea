//! Whether an open loop offers what can be taken.
//!
//! Above capacity, what waits or is in progress grows without end, and no length of a run measures anything. Near capacity it does not, but what the queue
//! was it still is a long time later, so that a short run sees one part of its life only. Both show in how the fortieths of the interval follow each other:
//! by how much the backlog grew in each, and how the mean response time of one depends on those of the ones before (A. M. Law, Simulation Modeling and
//! Analysis, section 4.4: the variance of a mean of observations that depend on each other). Several runs of one point show it better than one: their
//! growths add, and so do the products of which the autocorrelations are made.

use super::Lengths;
use super::censoring::{Alike, LENGTHS, growth_by_age};
use super::reason::Said;
use crate::ledger::{BINS, GroupLedger, numbers};
use serde::{Deserialize, Serialize};

/// Growth that chance does not explain, in standard errors, and one that it hardly does.
const STANDARD_ERRORS: f64 = 5.0;
const DOUBTFUL: f64 = 2.0;
/// Least growth in one half of the interval over that in the other of what grows without end: a queue that comes to its length grows less and less.
const ALIKE: f64 = 1.0 / 3.0;
/// Least growth that means anything: a number, and a share of what was in progress.
const LEAST_GROWTH: f64 = 20.0;
const LEAST_SHARE: f64 = 0.05;
/// Lags over which the autocorrelations of the mean response times of the fortieths are added. Where clients have queues of their own, chance decides in each fortieth which of them its
/// few requests meet. That is most of the variance, so that each autocorrelation is small, but all of them are above 0 and their sum is large.
const LAGS: usize = 8;
/// Variance of their mean over that of independent ones, above which they show a queue. Independent ones of three runs have 1, with a standard error of 0.6.
const INFLATED: f64 = 4.25;
/// Relative standard error of the mean response time, its correlation considered, from which runs near capacity are too short, and the one that is aimed at. Runs whose queue began
/// empty are off by three times as much and more.
const MOST_ERROR: f64 = 0.015;
const AIM: f64 = 0.01;
/// Length of the interval, in seconds, that is advised at least: a short one shows too little of the memory to say how long it is.
const LEAST_S: f64 = 120.0;
/// Least fortieths in which something ended. Of fewer than the lags and their mirror, nothing would be known of the variance of their mean.
const LEAST_BINS: usize = 20;
const _: () = assert!(LEAST_BINS > 1 + 2 * LAGS);
/// Relative deviation below which values differ by rounding only.
const ALIKE_BUT_FOR_ROUNDING: f64 = 1e-9;

/// An open loop by fortieths of the interval.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fortieths {
    /// By how many more were in progress, or waited as arrivals, at the end of each than at its beginning.
    #[serde(with = "numbers")]
    pub backlog: [i64; BINS],
    /// `ok` transactions that ended in each.
    #[serde(with = "numbers")]
    pub ok: [u64; BINS],
    /// Sum of their response times, without the time that it took to open a connection for them, in nanoseconds.
    #[serde(with = "numbers")]
    pub time_ns: [u64; BINS],
    /// Whether requests come at the times of a log, whose rate need not be steady.
    pub replays: bool,
}

impl Fortieths {
    /// Those of clients who replay the times of a log or do not; none where no request comes by itself.
    pub(super) fn of(found: &GroupLedger, replays: bool) -> Option<Self> {
        let (backlog, ok, time_ns) = (found.backlog.0, found.bins.0, found.times_by_bin.0);
        found.is_open().then_some(Self { backlog, ok, time_ns, replays })
    }

    /// Those of two groups together.
    pub(super) fn and(mut self, other: &Self) -> Self {
        let Self { backlog, ok, time_ns, replays } = other;
        self.backlog.iter_mut().zip(backlog).for_each(|(mine, more)| *mine = mine.saturating_add(*more));
        self.ok.iter_mut().zip(ok).for_each(|(mine, more)| *mine = mine.saturating_add(*more));
        self.time_ns.iter_mut().zip(time_ns).for_each(|(mine, more)| *mine = mine.saturating_add(*more));
        self.replays |= replays;
        self
    }

    /// The mean response time of each in which one ended.
    fn means(&self) -> Vec<Option<f64>> {
        let pairs = self.ok.iter().zip(&self.time_ns);
        pairs.map(|(count, sum)| (*count > 0).then(|| *sum as f64 / *count as f64)).collect()
    }
}

/// How the backlog of an open loop, and its response times, went through the interval of a run.
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
    /// Variance of the mean response time over what it would be if that of each fortieth of the interval told nothing of the next ones; none where too few ended.
    pub variance_inflation: Option<f64>,
    /// Relative standard error of a run's mean response time that follows from it.
    pub standard_error: Option<f64>,
    /// Length of the measured interval, in seconds, that would do: the interval's own if it did; none if no length does, or too few ended to tell.
    pub enough_s: Option<f64>,
    /// Whether requests come at the times of a log.
    #[serde(skip)]
    replays: bool,
}

impl Stability {
    /// That of `runs` of clients whose transactions, of all runs together, have these ages; none where there is no run.
    pub(super) fn of(runs: &[Fortieths], alike: &Alike) -> Option<Self> {
        let duration = alike.window.duration;
        if runs.is_empty() || duration <= 0.0 {
            return None;
        }
        let count = runs.len() as f64;
        let by_age = growth_by_age(alike);
        let mut steps = [0.0; BINS];
        for run in runs {
            steps.iter_mut().zip(run.backlog).for_each(|(step, change)| *step += change as f64);
        }
        let growth: f64 = steps.iter().sum();
        steps.iter_mut().zip(by_age).for_each(|(step, by_age)| *step -= by_age);
        let error = deviation(&steps) * (BINS as f64).sqrt();
        let [first, second] = [&steps[..BINS / 2], &steps[BINS / 2..]].map(|half| half.iter().sum::<f64>());
        let total = first + second;
        let matters = total >= LEAST_GROWTH * count && total >= LEAST_SHARE * alike.in_progress / duration;
        let both_halves = first.min(second) >= ALIKE * first.max(second);
        let grows = matters && both_halves && total > STANDARD_ERRORS * error;
        let queue = Queue::of(runs);
        let each = duration * count;
        Some(Self {
            growth: growth / each,
            growth_by_age: (growth - total) / each,
            growth_standard_error: error / each,
            grows,
            variance_inflation: queue.map(|queue| queue.inflation),
            standard_error: queue.map(|queue| queue.error),
            enough_s: queue.filter(|_| !grows).and_then(|queue| queue.enough(duration)),
            replays: runs.iter().any(|run| run.replays),
        })
    }

    /// Whether a run shows too little of a queue that remembers.
    fn is_near_capacity(&self) -> bool {
        !self.grows
            && !self.replays
            && self.variance_inflation.is_some_and(|inflation| inflation > INFLATED)
            && self.standard_error.is_some_and(|error| error > MOST_ERROR)
    }

    /// Whether the backlog may well grow without end, though a longer run only would show it.
    fn may_grow(&self) -> bool {
        self.growth - self.growth_by_age > DOUBTFUL * self.growth_standard_error
    }

    /// A queue whose length says what it was a long time before.
    pub(super) fn remembers(&self) -> Option<Said> {
        let (inflation, error) = self.variance_inflation.zip(self.standard_error)?;
        self.is_near_capacity().then(|| {
            let doubt = if self.may_grow() { ", or above it" } else { "" };
            let message = format!(
                "the interval was too short for a queue that seems to be near its capacity{doubt}: a run knows the mean response time to {:.0} % only, since that of \
                 each fortieth of the interval follows those before (the variance of their mean is {inflation:.1} times that of independent ones); it would do to offer less",
                100.0 * error
            );
            Said::too_short(message, Lengths::duration(self.enough_s))
        })
    }
}

/// How the mean response times of the fortieths follow each other. The opening of connections is left out: of kept ones fewer and fewer are opened.
#[derive(Clone, Copy, Debug)]
struct Queue {
    /// Variance of their mean over that of independent ones.
    inflation: f64,
    /// Relative standard error of their mean.
    error: f64,
}

impl Queue {
    /// About the mean of all runs, so that a memory that is longer than one of them shows.
    fn of(runs: &[Fortieths]) -> Option<Self> {
        let means: Vec<_> = runs.iter().map(Fortieths::means).collect();
        let all = || means.iter().flatten().flatten();
        let (count, of_run) = (all().count() as f64, all().count() as f64 / runs.len() as f64);
        let mean = all().sum::<f64>() / count.max(1.0);
        if of_run < LEAST_BINS as f64 || mean <= 0.0 {
            return None;
        }
        // Of those so many fortieths apart: the sum of the products of what they are off by, and how many there are.
        let products = |lag: usize| {
            let product =
                |(now, then): (&Option<f64>, &Option<f64>)| Some(((*now)? - mean) * ((*then)? - mean));
            let pairs = means.iter().flat_map(|run| run.iter().zip(&run[lag..]).filter_map(product));
            pairs.fold((0.0, 0.0), |(sum, pairs), product| (sum + product, pairs + 1.0))
        };
        let (squares, _) = products(0);
        let (sum, pairs) = (1..=LAGS)
            .map(products)
            .fold((squares, count), |so_far, (sum, pairs)| (so_far.0 + 2.0 * sum, so_far.1 + 2.0 * pairs));
        // What they are off by is from their own mean, so that each product lacks the variance of that.
        let of_mean = (sum / (count.powi(2) - pairs)).max(0.0);
        let variance = squares / count + of_mean;
        let inflation =
            if variance > (ALIKE_BUT_FOR_ROUNDING * mean).powi(2) { count * of_mean / variance } else { 1.0 };
        // Those that alternate are no more exact than independent ones.
        let error = (variance * inflation.max(1.0) / of_run).sqrt() / mean;
        Some(Self { inflation, error })
    }

    /// The length with which the error falls to what is aimed at.
    fn enough(self, duration: f64) -> Option<f64> {
        if self.inflation <= INFLATED || self.error <= MOST_ERROR {
            return Some(duration);
        }
        let least = (duration * (self.error / AIM).powi(2)).max(LEAST_S);
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
    use crate::ledger::Ages;
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
        Stability::of(&[fortieths(changes, means)], alike).expect("there is a run")
    }

    fn fortieths(changes: [f64; BINS], means: [f64; BINS]) -> Fortieths {
        Fortieths {
            backlog: changes.map(|change| change.round() as i64),
            ok: [100; BINS],
            time_ns: means.map(|mean| (mean * 100.0 * 1e6) as u64),
            replays: false,
        }
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

    /// So many runs whose mean response times depend on those before by that part.
    fn point(part: f64, deviation: f64, first: usize, runs: usize) -> Stability {
        let of_run = |run| remembering(part, run).map(|chance| 100.0 * (1.0 + deviation * chance));
        let runs: Vec<_> = (first..first + runs).map(|run| fortieths([0.0; BINS], of_run(run))).collect();
        Stability::of(&runs, &thousand(0)).expect("there are runs")
    }

    #[test]
    fn response_times_that_depend_on_those_before_show_a_queue() {
        let near = |part: f64, deviation: f64, runs: usize| {
            share(|number| point(part, deviation, number * runs, runs).is_near_capacity())
        };
        assert!(near(0.0, 0.2, 1) < 0.04, "independent");
        assert!(near(0.0, 0.2, 3) < 0.005, "independent, three runs");
        assert!(near(0.95, 0.2, 1) > 0.6, "a queue that remembers for half the interval");
        assert!(near(0.95, 0.2, 3) > 0.95, "three runs of it");
        assert!(near(0.95, 0.01, 3) < 0.02, "and is too short to matter");
    }

    #[test]
    fn queues_that_hide_each_other_show_in_the_sum_of_what_each_remembers() {
        // Half of the variance is that of what remembers: 0.45 from one fortieth to the next, and 6 times the variance of independent ones.
        let of_run = |run| {
            let (kept, new) = (remembering(0.9, run), noise(run + 10_000));
            std::array::from_fn(|place| 100.0 + 10.0 * (kept[place] + new[place]))
        };
        let near = share(|number| {
            let runs = (3 * number..3 * number + 3).map(|run| fortieths([0.0; BINS], of_run(run)));
            Stability::of(&runs.collect::<Vec<_>>(), &thousand(0)).expect("there are runs").is_near_capacity()
        });
        assert!(near > 0.6, "{near}");
    }

    #[test]
    fn the_variance_is_that_of_the_memory_however_many_runs_there_are() {
        // 1 + 2 x the sum of 0.8^k (1 - k / 40) for k from 1 to 8 is 7.09. Of few runs it is a ratio of two that vary, whose mean is less.
        for (runs, expected) in [(1, 5.4), (3, 6.5), (10, 6.95)] {
            let of = |number| point(0.8, 0.2, number * runs, runs).variance_inflation.unwrap();
            let mean = (0..RUNS).map(of).sum::<f64>() / RUNS as f64;
            assert!((mean / expected - 1.0).abs() < 0.03, "{runs}: {mean}");
        }
    }

    #[test]
    fn fortieths_in_which_nothing_ended_are_no_memory() {
        let near = |runs: usize, every: usize| {
            share(|number| {
                let of_run = |run| {
                    let mut found = fortieths([0.0; BINS], noise(run).map(|chance| 100.0 + 20.0 * chance));
                    (0..BINS).filter(|place| place % every == 0).for_each(|place| found.ok[place] = 0);
                    found
                };
                let runs: Vec<_> = (runs * number..runs * (number + 1)).map(of_run).collect();
                Stability::of(&runs, &thousand(0)).expect("there are runs").is_near_capacity()
            })
        };
        assert!(near(1, 2) < 0.02 && near(1, 3) < 0.02 && near(3, 2) < 0.005);
    }

    #[test]
    fn times_that_do_not_vary_or_alternate_are_no_memory() {
        let constant = judged([0.0; BINS], [100.000_1; BINS], &thousand(0));
        assert_eq!((constant.variance_inflation, constant.is_near_capacity()), (Some(1.0), false));
        let alternate = std::array::from_fn(|place| [90.0, 100.0, 110.0][place % 3]);
        let found = judged([0.0; BINS], alternate, &thousand(0));
        // As exact as 40 independent ones.
        assert_eq!(found.variance_inflation, Some(0.0));
        let independent = (2.0_f64 / 3.0).sqrt() * 0.1 / 40.0_f64.sqrt();
        assert!((found.standard_error.unwrap() / independent - 1.0).abs() < 0.02, "{found:?}");
    }

    #[test]
    fn the_length_that_is_advised_makes_the_error_small() {
        let means = std::array::from_fn(|place| 100.0 + 10.0 * libm::sin(place as f64 / 8.0));
        let found = judged([0.0; BINS], means, &thousand(0));
        let (error, enough) = (found.standard_error.unwrap(), found.enough_s.unwrap());
        assert!(found.is_near_capacity() && LENGTHS.contains(&enough), "{found:?}");
        assert!(error * (WINDOW.duration / enough).sqrt() <= AIM, "{found:?}");
        // A tenth of the swing is nothing.
        let little = judged([0.0; BINS], means.map(|mean| 100.0 + (mean - 100.0) / 10.0), &thousand(0));
        assert!(!little.is_near_capacity() && little.enough_s == Some(WINDOW.duration), "{little:?}");
    }

    #[test]
    fn a_memory_that_is_longer_than_a_run_shows_in_how_runs_differ() {
        // Chance in each run, and a mean of its own.
        let run = |number: usize, apart: f64| {
            let means = noise(number).map(|chance| 100.0 + chance + if number == 0 { apart } else { 0.0 });
            fortieths([0.0; BINS], means)
        };
        let of = |apart| {
            let runs: Vec<_> = (0..3).map(|number| run(number, apart)).collect();
            Stability::of(&runs, &thousand(0)).expect("there are runs")
        };
        assert!(!of(0.0).is_near_capacity() && of(20.0).is_near_capacity(), "{:?}", of(20.0));
        let enough = of(20.0).enough_s.expect("some length is enough");
        assert!(enough >= LEAST_S, "{enough}");
    }

    #[test]
    fn the_growth_is_that_of_a_run_however_many_there_are() {
        let run = fortieths([2.0; BINS], [100.0; BINS]);
        let of = |runs: usize| {
            let mut alike = thousand(0);
            alike = (1..runs).fold(alike, |sum, _| sum.merge(thousand(0)));
            Stability::of(&vec![run.clone(); runs], &alike).expect("there are runs")
        };
        let (one, three) = (of(1), of(3));
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * a.abs();
        assert!(near(one.growth, three.growth) && near(one.growth, 8.0), "{one:?} {three:?}");
    }
}
