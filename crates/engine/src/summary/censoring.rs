//! Whether the measured interval was long enough to see the longest transactions end.
//!
//! Only what ends in the interval is measured, and clients begin only when the run does: a transaction that takes longer than the run has
//! lasted is never among what ended. How much the mean lacks follows from the survival function S of the transactions' times. It is estimated from
//! all that were in progress in the interval, those that were cut off included (the product-limit estimator with delayed entry: E. L. Kaplan,
//! P. Meier, JASA 53, 1958; actuarial in bins of age). Where few or none of an age were seen, the hazard is that of a power law with the slope of S over the two
//! octaves before. Given S and the way in which clients begin, the mean of what ends in the interval follows from the renewal equation
//! (W. Feller, An Introduction to Probability Theory, vol. 2, chapter XI), and so does what a longer interval would measure.
//!
//! Beside it stands Little's law: the mean number in progress over the rate of all that end exceeds the mean of these where transactions
//! spend time in the interval that do not end in it.

use crate::Interval;
use crate::ledger::{Ages, BINS, BINS_OF_AGE, ByAge, edge};
use serde::Serialize;
use wasp_units::{Duration, Instant};

/// Share of the mean that may lack before a run is `censored`: between the 1 % that must pass and the 5 % that must not.
const MOST_LACKING: f64 = 0.0225;
/// Share of the mean that may lack after the length that is advised.
const AIM: f64 = 0.015;
/// Excess of L / X over the mean that is let pass, and in standard errors of chance.
const MOST_EXCESS: f64 = 0.05;
const STANDARD_ERRORS: f64 = 4.0;
/// Least transactions from which anything follows.
const LEAST_SEEN: u64 = 100;
/// Weight of the power law against what was seen of an age, as a number of transactions.
const PRIOR: f64 = 3.0;
/// Bins of age over which its slope is taken: two octaves.
const SLOPE_BINS: usize = 8;
/// Least and greatest exponent of the power law.
const EXPONENTS: (f64, f64) = (1.0, 8.0);
/// Steps of time in which a run is cut for the renewal equation.
const STEPS: usize = 128;
/// Lengths in seconds that are advised.
pub(super) const LENGTHS: [f64; 20] = [
    10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 90.0, 120.0, 180.0, 240.0, 300.0, 420.0, 600.0, 900.0, 1200.0,
    1800.0, 2700.0, 3600.0, 5400.0, 7200.0,
];

/// How a run was made, as far as it decides what ends in its interval.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Seconds before the interval. Clients are taken to begin in its first half. Those that pause for long, and arrivals, come from the start on, so that a
    /// little more is estimated to lack of them than does.
    pub warmup: f64,
    /// Seconds of the interval.
    pub duration: f64,
    /// Seconds after which every transaction is over.
    pub timeout: f64,
    /// Share of the time that a client spends in transactions: 1 in a closed loop without pauses, 0 in an open loop.
    pub closed: f64,
}

/// What the transactions that the interval was too short for do to the mean of all that ended.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Censoring {
    /// Share of the mean response time (from the actual start) that lacks, as estimated.
    pub lacking: f64,
    /// Little's law: mean number in progress over the rate of all that ended, over their mean response time, less 1; none if nothing ended.
    pub excess: Option<f64>,
    /// Whether either is too much.
    pub censored: bool,
    /// Length of the measured interval, in seconds, that would do: the interval's own if it did.
    pub enough_s: Option<f64>,
    /// Length of the warm-up, in seconds, with which the interval would do if it is as long at least: the run's own if it did.
    pub enough_warmup_s: Option<f64>,
}

/// Transactions that are judged by one survival function: those of one group, or of several as if all clients were alike.
#[derive(Debug)]
pub struct Alike {
    /// Their ages.
    pub ages: Ages,
    /// How they were made.
    pub window: Window,
    /// The time integral of those in progress over the interval, in seconds.
    pub in_progress: f64,
}

impl Alike {
    /// Whether enough of them were seen for anything to follow.
    pub(super) fn tell(&self) -> bool {
        self.ages.seen() >= LEAST_SEEN && self.window.duration > 0.0
    }
}

impl Censoring {
    /// What transactions say together, those of each part by a survival function of its own. All parts are of one run. None where too few were
    /// seen of a part.
    #[must_use]
    pub fn of(parts: &[Alike]) -> Option<Self> {
        let Window { warmup, duration, .. } = parts.first()?.window;
        if !parts.iter().all(Alike::tell) {
            return None;
        }
        let survivals: Vec<_> =
            parts.iter().map(|part| Survival::of(&part.ages, part.window.timeout)).collect();
        let lacking_with = |warmup: f64, duration: f64| {
            let lacks = |(part, survival): (&Alike, &Survival)| {
                survival.lacking(&Window { warmup, duration, ..part.window })
            };
            together(parts, parts.iter().zip(&survivals).map(lacks))
        };
        let lacking = lacking_with(warmup, duration);
        let ended = parts.iter().map(|part| part.ages.sum as f64 / 1e9).sum::<f64>();
        let in_progress = parts.iter().map(|part| part.in_progress).sum::<f64>();
        let cut_squares = parts.iter().map(|part| part.ages.cut_squares).sum::<f64>();
        let excess = (ended > 0.0).then(|| in_progress / ended - 1.0);
        let by_chance = STANDARD_ERRORS * cut_squares.sqrt() / ended.max(f64::MIN_POSITIVE);
        let exceeds = excess.is_some_and(|excess| excess > MOST_EXCESS && excess > by_chance);
        let censored = lacking > MOST_LACKING || exceeds;
        // What a boundary cuts is the same in a longer interval.
        let least = if exceeds { duration * excess.unwrap_or(0.0) / AIM } else { 0.0 };
        let longer =
            |length: &f64| *length > duration && *length >= least && lacking_with(warmup, *length) <= AIM;
        let later = |length: &f64| *length > warmup && lacking_with(*length, length.max(duration)) <= AIM;
        let settled = lacking <= AIM && !exceeds;
        let first = |own: f64, enough: &dyn Fn(&f64) -> bool| {
            if settled { Some(own) } else { LENGTHS.iter().copied().find(enough) }
        };
        let enough_s = first(duration, &longer);
        let enough_warmup_s = first(warmup, &later);
        Some(Self { lacking, excess, censored, enough_s, enough_warmup_s })
    }
}

/// How many more are in progress at the end of each fortieth of the interval than at its beginning, because some take longer than the run had lasted then.
pub(super) fn growth_by_age(part: &Alike) -> [f64; BINS] {
    let Window { warmup, duration, timeout, .. } = part.window;
    let survival = Survival::of(&part.ages, timeout);
    let beyond = |time: f64| {
        let (share, sum) = survival.from(time);
        sum - time * share
    };
    let edge = |number: usize| beyond(warmup + duration * number as f64 / BINS as f64);
    let began = part.ages.began as f64 / duration;
    std::array::from_fn(|number| began * (edge(number) - edge(number + 1)))
}

/// Share of the mean of all that ended that lacks where these shares of the parts' means do.
fn together(parts: &[Alike], lacking: impl Iterator<Item = f64>) -> f64 {
    let weighed = parts.iter().zip(lacking).map(|(part, lacking)| {
        let ended = part.ages.sum.max(1) as f64;
        (ended, ended / (1.0 - lacking).max(f64::MIN_POSITIVE))
    });
    let (ended, whole) = weighed.fold((0.0, 0.0), |(ended, whole), part| (ended + part.0, whole + part.1));
    1.0 - ended / whole
}

impl Censoring {
    /// The same figures with a verdict, and lengths, that hold for `other` too.
    pub(super) fn and(self, other: Self) -> Self {
        let longest = |one: Option<f64>, other: Option<f64>| Some(one?.max(other?));
        Self {
            lacking: self.lacking,
            excess: self.excess,
            censored: self.censored || other.censored,
            enough_s: longest(self.enough_s, other.enough_s),
            enough_warmup_s: longest(self.enough_warmup_s, other.enough_warmup_s),
        }
    }

    /// What is said of a run in which transactions began, and would end if the run did not, so many nanoseconds after its start.
    #[must_use]
    pub fn of_transactions(transactions: impl Iterator<Item = (i64, i64)>, window: &Window) -> Option<Self> {
        let length = |seconds: f64| Duration::from_nanos((seconds * 1e9) as u64);
        let interval = Interval::new(length(window.warmup), length(window.duration));
        let window = *window;
        let mut ages = Ages::default();
        let mut in_progress = Duration::ZERO;
        for (start, end) in transactions {
            let [start, end] =
                [start, end].map(|nanos| Instant::ZERO + Duration::from_nanos(nanos.max(0) as u64));
            if start >= interval.end() {
                continue;
            }
            let unfinished = end >= interval.end();
            ages.note(&interval, start, end.min(interval.end()), unfinished);
            in_progress += interval.part(start, end);
        }
        Self::of(&[Alike { ages, window, in_progress: in_progress.as_secs_f64() }])
    }
}

/// The survival function of the transactions' times: S(t) is the share of all that begin that take at least t.
#[derive(Debug)]
struct Survival {
    /// S at the lower edge of each bin of age, linear between.
    at: [f64; BINS_OF_AGE],
    /// Its integral from there on, up to the timeout.
    beyond: [f64; BINS_OF_AGE],
    timeout: f64,
}

impl Survival {
    fn of(ages: &Ages, timeout: f64) -> Self {
        let timeout = timeout.max(longest(&ages.ended)).max(longest(&ages.cut));
        let mut at = [1.0; BINS_OF_AGE];
        let mut exposed = ages.began as f64;
        for bin in 0..BINS_OF_AGE - 1 {
            let [ended, entered, cut] =
                [&ages.ended, &ages.entered, &ages.cut].map(|counts| counts[bin] as f64);
            // Those that come or go within a bin are exposed to half of it.
            let at_risk = (exposed + (entered - cut) / 2.0).max(ended);
            let hazard = (ended + PRIOR * expected_hazard(&at, bin)) / (at_risk + PRIOR);
            at[bin + 1] = at[bin] * (1.0 - hazard);
            exposed += entered - ended - cut;
        }
        let mut beyond = [0.0; BINS_OF_AGE];
        for bin in (0..BINS_OF_AGE - 1).rev() {
            let width = (edge(bin + 1).min(timeout) - edge(bin)).max(0.0);
            beyond[bin] = beyond[bin + 1] + (at[bin] + at[bin + 1]) / 2.0 * width;
        }
        Self { at, beyond, timeout }
    }

    fn mean(&self) -> f64 {
        self.beyond[0]
    }

    /// Share of those that take at least `time`, and what these contribute to the mean: E[T; T >= time].
    fn from(&self, time: f64) -> (f64, f64) {
        let time = time.max(0.0);
        if time >= self.timeout {
            return (0.0, 0.0);
        }
        let bin = (1..BINS_OF_AGE - 1).find(|bin| time < edge(*bin)).unwrap_or(BINS_OF_AGE - 1) - 1;
        let part = (time - edge(bin)) / (edge(bin + 1) - edge(bin));
        let share = self.at[bin] * (1.0 - part) + self.at[bin + 1] * part;
        let beyond = self.beyond[bin] * (1.0 - part) + self.beyond[bin + 1] * part;
        (share, time * share + beyond)
    }

    /// Share of the mean that what ends in the interval lacks.
    fn lacking(&self, window: &Window) -> f64 {
        let end = window.warmup + window.duration;
        let step = end / STEPS as f64;
        let (mut count, mut sum) = (0.0, 0.0);
        for (number, begin) in self.begins(window, step).into_iter().enumerate() {
            let at = (number as f64 + 0.5) * step;
            let (early, late) = (self.from(window.warmup - at), self.from(end - at));
            count += begin * (early.0 - late.0);
            sum += begin * (early.1 - late.1);
        }
        if count > 0.0 { 1.0 - sum / count / self.mean() } else { 1.0 }
    }

    /// Transactions that begin in each step of the run, for one client that spends all its time in them; in steady state step / mean.
    fn begins(&self, window: &Window, step: f64) -> Vec<f64> {
        let ramp = window.warmup / 2.0;
        let started = |time: f64| if ramp > 0.0 { (time / ramp).min(1.0) } else { 1.0 };
        let first = |number: usize| {
            let before = if number == 0 { 0.0 } else { started(number as f64 * step) };
            started((number + 1) as f64 * step) - before
        };
        let shares: Vec<f64> = (0..=STEPS).map(|number| self.from(number as f64 * step).0).collect();
        let mass: Vec<f64> = shares.windows(2).map(|pair| pair[0] - pair[1]).collect();
        let mut renewals: Vec<f64> = Vec::with_capacity(STEPS);
        for number in 0..STEPS {
            // A time within one step ends, from the middle of a step, in this one or the next, half and half.
            let again: f64 = renewals
                .iter()
                .enumerate()
                .map(|(place, begin)| begin * (mass[number - place] + mass[number - place - 1]) / 2.0)
                .sum();
            renewals.push((first(number) + again) / (1.0 - mass[0] / 2.0).max(1e-3));
        }
        let steady = |number: usize| step / self.mean() * started((number as f64 + 0.5) * step);
        let mixed = |(number, renewal): (usize, f64)| {
            window.closed * renewal + (1.0 - window.closed) * steady(number)
        };
        renewals.into_iter().enumerate().map(mixed).collect()
    }
}

/// The hazard of a bin if S went on as it did over the two octaves before.
fn expected_hazard(at: &[f64; BINS_OF_AGE], bin: usize) -> f64 {
    if bin == 0 {
        return 0.0;
    }
    // What lies two octaves below the first edge is as old as anything that the first bin holds.
    let (before, least) = (bin.saturating_sub(SLOPE_BINS), edge(1) / 4.0);
    let slope =
        (at[before] / at[bin].max(f64::MIN_POSITIVE)).ln() / (edge(bin) / edge(before).max(least)).ln();
    1.0 - (edge(bin) / edge(bin + 1)).powf(slope.clamp(EXPONENTS.0, EXPONENTS.1))
}

/// The least age of the last bin that holds anything.
fn longest(counts: &ByAge) -> f64 {
    counts.iter().rposition(|count| *count > 0).map_or(0.0, edge)
}
