//! Whether the measured interval was long enough to see the longest transactions end.
//!
//! Only what ends in the interval is measured, and clients begin only when the run does: a transaction that takes longer than the run has
//! lasted is never among what ended. How much the mean lacks follows from the survival function of the transactions' times, which is estimated from
//! all that were in progress in the interval, those that were cut off included, and so does what a longer interval would measure. A few
//! transactions decide where long ones are rare, so that the upper bound of the survival function is judged by, too.
//!
//! Beside it stands Little's law: the mean number in progress over the rate of all that end differs from the mean of these where transactions
//! spend time in the interval that do not end in it.

use super::Lengths;
use super::survival::{Survival, Window};
use crate::Interval;
use crate::ledger::{Ages, BINS};
use serde::{Deserialize, Serialize};
use wasp_units::{Duration, Instant};

/// The standard normal quantile of 80 %, the confidence of the bound.
const QUANTILE: f64 = 0.841_621;
/// Share of the mean that may lack before a run is `censored`, between the 1 % that must pass and the 5 % that must not: the middle of what is estimated and
/// what it may be at most, since the bound alone refuses those that happen to see a stall, and the estimate alone passes those that happen to see none.
pub(super) const MOST_LACKING: f64 = 0.03;
/// The same of one of many groups: the more are judged, the sooner one of them is refused by chance.
const MOST_OF_MANY: f64 = 0.04;
/// Share of the mean that may lack, at most, after the length that is advised.
const AIM: f64 = 0.02;
/// Difference between L / X and the mean that is let pass, and in standard errors of chance.
const MOST_EXCESS: f64 = 0.05;
const STANDARD_ERRORS: f64 = 4.0;
/// Share of the time in progress that may be of transactions that neither began nor ended in the interval.
pub(super) const MOST_THROUGHOUT: f64 = 0.05;
/// Least transactions from which anything follows.
const LEAST_SEEN: u64 = 100;
/// Events that happen so often on average are seen with a probability of 95 %.
const SURE_TO_BE_SEEN: f64 = 3.0;
/// How many times as long a warm-up and an interval may take together as a longer interval alone that does as well.
const MUCH: f64 = 1.5;
/// Lengths in seconds that are advised.
pub(super) const LENGTHS: [f64; 20] = [
    10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 90.0, 120.0, 180.0, 240.0, 300.0, 420.0, 600.0, 900.0, 1200.0,
    1800.0, 2700.0, 3600.0, 5400.0, 7200.0,
];

/// What the transactions that the interval was too short for do to the mean of all that ended.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Censoring {
    /// Share of the mean response time (from the actual start) that lacks, as estimated.
    pub lacking: f64,
    /// An upper estimate of that share: by the upper bound of the survival function at 80 %, which goes on as a power law beyond the oldest that was seen.
    /// Of one of n groups, the estimate and an nth of what the bound has more.
    pub at_most: f64,
    /// Little's law: mean number in progress over the rate of all that ended, over their mean response time, less 1; none if nothing ended.
    pub excess: Option<f64>,
    /// Share of the time in progress that is of transactions that were in progress all through the interval.
    pub throughout: f64,
    /// Whether the mean may lack too much.
    #[serde(skip)]
    pub(super) lacks_too_much: bool,
    /// Whether that is so, or one of the others is too much.
    pub censored: bool,
    /// Length of the measured interval, in seconds, with which at most 2 % would lack: the interval's own if no more lacks.
    pub enough_s: Option<f64>,
    /// Length of the warm-up, in seconds, with which the same holds if the interval is as long at least: the run's own if no more lacks.
    pub enough_warmup_s: Option<f64>,
    /// What is too rare to have been seen for certain; none of several groups together, and where transactions were seen that took half as long.
    pub unseen: Option<Unseen>,
}

/// Transactions that take as long as any may, and that chance may have kept out of the interval.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Unseen {
    /// How long they take, in seconds: the clients' timeout.
    pub lasting_s: f64,
    /// One in so many transactions or fewer may have been missed.
    pub one_in: f64,
    /// What they would add to the mean time of all that end, in seconds.
    pub adds_s: f64,
}

/// Transactions that are judged by one survival function: those of one group, or of several as if all clients were alike; of one run, or of several.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Alike {
    /// Their ages.
    #[serde(flatten)]
    pub ages: Ages,
    /// How they were made.
    pub window: Window,
    /// The time integral of those in progress over the interval, in seconds.
    #[serde(rename = "in_progress_s")]
    pub in_progress: f64,
}

impl Alike {
    /// Whether enough of them were seen for anything to follow.
    pub(super) fn tell(&self) -> bool {
        self.ages.seen() >= LEAST_SEEN && self.window.duration > 0.0
    }

    /// Those of both, with the longer timeout. An open loop if one is.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        let open = |part: &Self| part.window.closed <= 0.0 && part.in_progress > 0.0;
        // The time that clients spent in transactions and in pauses.
        let room =
            |part: &Self| if part.in_progress > 0.0 { part.in_progress / part.window.closed } else { 0.0 };
        let in_progress = self.in_progress + other.in_progress;
        let share = in_progress / (room(&self) + room(&other)).max(f64::MIN_POSITIVE);
        self.window.closed = if open(&self) || open(&other) { 0.0 } else { share.min(1.0) };
        self.window.timeout = self.window.timeout.max(other.window.timeout);
        self.ages.merge(&other.ages);
        self.in_progress = in_progress;
        self
    }

    /// Whether one ended in the interval.
    pub(super) fn ended(&self) -> bool {
        self.ages.ended.iter().any(|count| *count > 0)
    }

    fn throughout(&self) -> f64 {
        self.ages.throughout as f64 * self.window.duration
    }

    fn unseen(&self) -> Option<Unseen> {
        let Window { timeout, .. } = self.window;
        let one_in = self.ages.seen() as f64 / SURE_TO_BE_SEEN;
        let seen = self.ages.oldest() >= timeout / 2.0;
        (!seen).then(|| Unseen { lasting_s: timeout, one_in, adds_s: timeout / one_in })
    }
}

impl Censoring {
    /// What transactions say together, those of each part by a survival function of its own, where so many groups are judged beside each other. All parts
    /// are of the same runs. None where too few were seen of a part.
    #[must_use]
    pub fn of(parts: &[Alike], groups: usize) -> Option<Self> {
        let Window { warmup, duration, .. } = parts.first()?.window;
        if !parts.iter().all(Alike::tell) {
            return None;
        }
        let estimates: Vec<_> =
            parts.iter().map(|part| Survival::of(&part.ages, part.window.timeout)).collect();
        // In an interval that is longer more is seen.
        let lacks = |warmup: f64, length: f64| {
            let bound =
                |part: &Alike| Survival::bound(&part.ages, part.window.timeout, length / duration, QUANTILE);
            let of_part = |(part, estimate): (&Alike, &Survival)| {
                let window = Window { warmup, duration: length, ..part.window };
                (estimate.lacking(&window), bound(part).lacking(&window))
            };
            let (lacking, bound) = together(parts, parts.iter().zip(&estimates).map(of_part));
            // The more are judged, the sooner one of them is refused for what too little was seen of.
            (lacking, lacking + (bound - lacking) / groups as f64)
        };
        let at_most = |warmup, length| lacks(warmup, length).1;
        let (lacking, found) = lacks(warmup, duration);
        let sum = |part: &dyn Fn(&Alike) -> f64| parts.iter().map(part).sum::<f64>();
        let ended = sum(&|part| part.ages.sum as f64 / 1e9);
        let in_progress = sum(&|part| part.in_progress);
        let cut_squares = sum(&|part| part.ages.cut_squares as f64 / 1e18);
        let excess = (ended > 0.0).then(|| in_progress / ended - 1.0);
        let by_chance = STANDARD_ERRORS * cut_squares.sqrt() / ended.max(f64::MIN_POSITIVE);
        let exceeds = excess.filter(|excess| excess.abs() > MOST_EXCESS.max(by_chance));
        let throughout = sum(&Alike::throughout) / in_progress.max(f64::MIN_POSITIVE);
        let lacks_too_much = lack_too_much(lacking, found, groups);
        let censored = lacks_too_much || exceeds.is_some() || throughout > MOST_THROUGHOUT;
        // What a boundary cuts is the same in a longer interval.
        let least = duration * exceeds.map_or(0.0, f64::abs).max(throughout) / AIM;
        let longer = |length: &f64| *length > duration && *length >= least && at_most(warmup, *length) <= AIM;
        let later = |length: &f64| *length > warmup && at_most(*length, length.max(duration)) <= AIM;
        let settled = found <= AIM && !censored;
        let first = |own: f64, enough: &dyn Fn(&f64) -> bool| {
            if settled { Some(own) } else { LENGTHS.iter().copied().find(enough) }
        };
        Some(Self {
            lacking,
            at_most: found,
            excess,
            throughout,
            lacks_too_much,
            censored,
            enough_s: first(duration, &longer),
            enough_warmup_s: first(warmup, &later),
            unseen: if let [only] = parts { only.unseen() } else { None },
        })
    }

    /// Lengths that would do together. A warm-up comes first, because in it the longest transactions begin that end in the interval after it, unless a longer interval alone, after a
    /// warm-up of `window`, takes much less time. Where transactions become slower until so many seconds have passed (`slower_until`), how long they will take is not known, and
    /// the interval is as long as that at least.
    pub(super) fn lengths(&self, window: &Window, slower_until: Option<f64>) -> Lengths {
        let longer = Lengths::duration(self.enough_s);
        let Some(warmup) = self.enough_warmup_s else { return longer };
        let warmup = warmup.max(slower_until.unwrap_or(0.0));
        let interval = warmup.max(window.duration);
        let cheap = |longer: f64| MUCH * (window.warmup + longer) < warmup + interval;
        if slower_until.is_none() && self.enough_s.is_some_and(cheap) {
            return longer;
        }
        Lengths { warmup: Some(warmup), duration: (interval > window.duration).then_some(interval) }
    }

    /// The same figures with a verdict, and lengths, that hold for `other` too.
    pub(super) fn and(self, other: Self) -> Self {
        let longest = |one: Option<f64>, other: Option<f64>| Some(one?.max(other?));
        Self {
            censored: self.censored || other.censored,
            enough_s: longest(self.enough_s, other.enough_s),
            enough_warmup_s: longest(self.enough_warmup_s, other.enough_warmup_s),
            ..self
        }
    }
}

/// Whether the mean of one of so many groups may lack too much.
fn lack_too_much(lacking: f64, at_most: f64, groups: usize) -> bool {
    (lacking + at_most) / 2.0 > MOST_OF_MANY - (MOST_OF_MANY - MOST_LACKING) / groups as f64
}

/// Transactions that were made up: when each began, and would end if its run did not, in nanoseconds after the start of the run.
#[must_use]
pub fn alike(transactions: impl Iterator<Item = (i64, i64)>, window: Window) -> Alike {
    let length = |seconds: f64| Duration::from_nanos((seconds * 1e9) as u64);
    let interval = Interval::new(length(window.warmup), length(window.duration));
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
    Alike { ages, window, in_progress: in_progress.as_secs_f64() }
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

/// Share of the mean of all that ended that lacks, and at most, of shares of each part. What each lacks more than is estimated is independent of the others,
/// so that the squares add (G. Y. Zou, A. Donner, Statistics in Medicine 27, 2008).
fn together(parts: &[Alike], lacking: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    let whole = |ended: f64, lacking: f64| ended / (1.0 - lacking).max(f64::MIN_POSITIVE);
    let parts = parts.iter().zip(lacking).map(|(part, (estimate, most))| {
        let ended = part.ages.sum.max(1) as f64;
        (ended, whole(ended, estimate), whole(ended, most))
    });
    let parts: Vec<_> = parts.collect();
    let ended: f64 = parts.iter().map(|part| part.0).sum();
    let estimated: f64 = parts.iter().map(|part| part.1).sum();
    let lacking = 1.0 - ended / estimated;
    let more = parts.iter().map(|part| 1.0 - ended / (estimated - part.1 + part.2) - lacking);
    (lacking, lacking + more.map(|more| more.powi(2)).sum::<f64>().sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_the_estimate_and_its_bound_is_what_decides() {
        let lacks = |lacking, at_most| lack_too_much(lacking, at_most, 1);
        assert!(lacks(0.02, 0.045) && lacks(0.0, 0.061) && lacks(0.05, 0.05));
        assert!(!lacks(0.005, 0.05) && !lacks(0.0, 0.059) && !lacks(0.02, 0.039));
    }

    #[test]
    fn of_many_groups_each_may_lack_more() {
        let lacks = |groups| lack_too_much(0.035, 0.036, groups);
        assert!(lacks(1) && lacks(2) && !lacks(4) && lack_too_much(0.041, 0.041, 100));
    }
}
