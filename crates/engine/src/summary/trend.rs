//! Whether throughput had settled when the measured interval began, and stayed so.
//!
//! MSER-5 (K. P. White Jr., Simulation 69(6), 1997; White, Cobb, Spratt, WSC 2000) finds where in a series its beginning ends: the series is averaged in batches
//! of five, and what is left out at the beginning makes the estimated error of the mean of the rest least. That minimum wanders even where nothing changes, so it only proposes.
//! It leaves out half of the series at most, so that a change late in the interval escapes it: the halves of the interval are compared, too.
//! The runs of one point are averaged first, as Welch does (A. M. Law, Simulation Modeling and Analysis, section 9.5.1): what they have in common stays.

use super::Lengths;
use super::censoring::LENGTHS;
use super::reason::Said;
use crate::ledger::{PARTS_OF_RUN, watched_before};
use serde::Serialize;

/// Values in a batch: the 5 of MSER-5.
const BATCH: usize = 5;
const BATCHES: usize = PARTS_OF_RUN / BATCH;
/// Distance in standard errors that chance does not explain between two stretches of the series.
const STANDARD_ERRORS: f64 = 5.0;
/// Effect on the throughput of the interval, relative to it, that is let pass however certain it is: of what MSER-5 would leave out, and of the first half of the
/// interval, in which slow fluctuations differ from those in the second.
const NEGLIGIBLE: f64 = 0.02;
const NEGLIGIBLE_OF_HALF: f64 = 0.05;
/// Least transactions in a part, on average, for the rule to mean anything.
const LEAST_IN_PART: f64 = 1.0;

/// How throughput went through the runs of a point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Trend {
    /// Seconds from the start of a run until which throughput may differ from that of the rest.
    pub settled_s: f64,
    /// By how much it differed from the rest's between the end of the warm-up and then, relative to it; 0 if that is before the end of the warm-up, none if nothing ended in the
    /// rest.
    pub early: Option<f64>,
    /// By how much the throughput of the interval differs from the rest's, relative to it.
    pub effect: f64,
    /// Whether it is too much, and no chance.
    pub late: bool,
    /// Length of the warm-up in seconds that would do; none if the warm-up did, or no length does.
    pub enough_warmup_s: Option<f64>,
    /// Transactions in the intervals.
    #[serde(skip)]
    pub(super) measured: f64,
    /// Whether throughput settled later than can be told.
    #[serde(skip)]
    unsettled: bool,
}

/// The parts of the runs, and where their intervals begin.
struct Series {
    values: [f64; PARTS_OF_RUN],
    interval: usize,
    /// Seconds from the start of a run to the first part, of a part, and to the end of the warm-up and of the run.
    first: f64,
    part: f64,
    warmup: f64,
    end: f64,
}

impl Trend {
    /// That of runs by the `ok` transactions that ended in each part of their intervals and of what is watched before, with a warm-up and an interval of so many seconds; none
    /// of too few transactions.
    #[must_use]
    pub fn of(ended: &[u64; PARTS_OF_RUN], warmup: f64, duration: f64) -> Option<Self> {
        let values = ended.map(|count| count as f64);
        let before = watched_before(warmup, duration);
        let (length, end) = (before + duration, warmup + duration);
        if mean(&values) < LEAST_IN_PART || warmup < 0.0 || duration <= 0.0 || !end.is_finite() {
            return None;
        }
        let interval = (PARTS_OF_RUN as f64 * (before / length)).ceil() as usize;
        let (first, part) = (warmup - before, length / PARTS_OF_RUN as f64);
        let series = Series { values, interval, first, part, warmup, end };
        let settled = settled(&values);
        let beginning = series.cut_at(settled, settled == PARTS_OF_RUN / 2, NEGLIGIBLE);
        let halves = series.cut_at(interval.midpoint(PARTS_OF_RUN), true, NEGLIGIBLE_OF_HALF);
        Some(if halves.late && !beginning.late { halves } else { beginning })
    }

    /// Whether it settled later than can be told, or never.
    pub(super) const fn is_unsettled(&self) -> bool {
        self.unsettled
    }

    /// Throughput had not settled.
    pub(super) fn too_late(&self) -> Option<Said> {
        self.late.then(|| {
            let (until, effect) = (self.settled_s, 100.0 * self.effect.abs());
            let message = match self.early {
                None => format!("nothing was completed later than {until:.1} s after the start"),
                Some(early) => {
                    let (share, side) = (100.0 * early.abs(), if early > 0.0 { "above" } else { "below" });
                    let what = if self.unsettled { "throughput had not settled" } else { "the warm-up was too short" };
                    format!(
                        "{what}: until {until:.1} s after the start throughput was {share:.0} % {side} the rest's, so that the interval's is {effect:.0} % off"
                    )
                }
            };
            Said::too_short(message, Lengths::warmup(self.enough_warmup_s))
        })
    }
}

impl Series {
    /// What the parts of the interval before `cut` do to its throughput, more than a limit of which is too much. Throughput may settle later still if it is `unsettled`.
    fn cut_at(&self, cut: usize, unsettled: bool, limit: f64) -> Trend {
        let interval = &self.values[self.interval..];
        let settled_s = self.first + cut as f64 * self.part;
        let measured = interval.iter().sum();
        let mut trend = Trend {
            settled_s,
            early: Some(0.0),
            effect: 0.0,
            late: false,
            enough_warmup_s: None,
            measured,
            unsettled,
        };
        if cut <= self.interval || measured <= 0.0 {
            return trend;
        }
        let (early, rest) = (&self.values[self.interval..cut], &self.values[cut..]);
        let difference = mean(early) - mean(rest);
        trend.early = (mean(rest) > 0.0).then(|| difference / mean(rest));
        trend.effect = (mean(interval) - mean(rest)) / mean(interval);
        let by_chance = STANDARD_ERRORS * libm::hypot(error(early), error(rest));
        trend.late = trend.effect.abs() > limit && difference.abs() > by_chance;
        if trend.late {
            let least = if unsettled { self.end } else { settled_s };
            let least = least.max(1.5 * self.warmup);
            trend.enough_warmup_s = LENGTHS.into_iter().find(|length| *length >= least);
        }
        trend
    }
}

/// Values at the beginning that MSER-5 would leave out: a multiple of the batch, and at most half of all. It minimises sum((Y - mean(Y))^2) / m^2 over the m batch
/// means Y that are kept.
fn settled(values: &[f64; PARTS_OF_RUN]) -> usize {
    let batches: [f64; BATCHES] = std::array::from_fn(|batch| mean(&values[BATCH * batch..][..BATCH]));
    // Sums of squares of small numbers lose no digits.
    let centre = mean(&batches[BATCHES / 2..]);
    let (mut total, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for first in (0..BATCHES).rev() {
        let value = batches[first] - centre;
        (total, squares) = (total + value, squares + value.powi(2));
        let kept = (BATCHES - first) as f64;
        let error = (squares - total.powi(2) / kept) / kept.powi(2);
        // The earliest of equals.
        if first <= BATCHES / 2 && error <= best.0 {
            best = (error, first);
        }
    }
    BATCH * best.1
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Standard error of the mean of a stretch of a correlated series: from the differences between up to ten neighbouring batches' means (J. von Neumann,
/// Annals of Mathematical Statistics 12, 1941), which a trend hardly widens. A single value tells nothing of its error, which may then be any.
fn error(values: &[f64]) -> f64 {
    let batches = values.len().min(10);
    if batches < 2 {
        return f64::INFINITY;
    }
    let size = values.len() / batches;
    let means: Vec<_> = values[values.len() - size * batches..].chunks(size).map(mean).collect();
    let squares: Vec<_> = means.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).collect();
    (mean(&squares) / 2.0 / batches as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::{Reason, ReasonCode};
    use super::*;
    use proptest::prelude::*;
    use wasp_random::{Key, Purpose, Stream};

    fn draws(seed: u64) -> Stream {
        Key::root(seed, 0).purpose(Purpose::Start).stream()
    }

    /// About so many in each part of the run, by chance: the variance of a sum of twelve uniform numbers is 1.
    fn chance(mean: f64, draws: &mut Stream) -> u64 {
        let normal = (0..12).map(|_| draws.unit()).sum::<f64>() - 6.0;
        (mean + mean.sqrt() * normal).round().max(0.0) as u64
    }

    /// After 5 s of 15; the throughput of each part is that of `level`.
    fn of(seed: u64, level: impl Fn(usize) -> f64) -> Trend {
        let mut draws = draws(seed);
        let ended = std::array::from_fn(|part| chance(level(part), &mut draws));
        Trend::of(&ended, 5.0, 10.0).expect("enough ended")
    }

    /// Throughput doubles, after so many parts of the run.
    fn step(parts: usize) -> Trend {
        let ended = std::array::from_fn(|part| part as u64 % 2 + if part < parts { 2_000 } else { 4_000 });
        Trend::of(&ended, 5.0, 10.0).expect("enough ended")
    }

    /// The rule as it is written down.
    fn naive(values: &[f64; PARTS_OF_RUN]) -> Vec<f64> {
        let batches: Vec<_> = values.chunks(BATCH).map(mean).collect();
        let error = |first: usize| {
            let kept = &batches[first..];
            let centre = mean(kept);
            kept.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (kept.len() as f64).powi(2)
        };
        (0..=BATCHES / 2).map(error).collect()
    }

    proptest! {
        #[test]
        fn mser_is_the_rule_as_written_down(counts in prop::collection::vec(0..50_u32, PARTS_OF_RUN)) {
            let values: [f64; PARTS_OF_RUN] = std::array::from_fn(|part| f64::from(counts[part]));
            let errors = naive(&values);
            let least = errors.iter().copied().fold(f64::INFINITY, f64::min);
            // Rounding decides between equals.
            prop_assert!(errors[settled(&values) / BATCH] <= least * (1.0 + 1e-9) + 1e-12);
        }
    }

    #[test]
    fn a_beginning_ends_where_its_step_does() {
        let found = step(130);
        let early = found.early.expect("some ended later");
        assert!((early + 0.5).abs() < 0.01 && (found.effect + 0.075 / 0.925).abs() < 0.001, "{found:?}");
        assert_eq!((found.settled_s, found.late, found.enough_warmup_s), (6.5, true, Some(10.0)));
        let early = step(90);
        assert!(!early.late && early.early == Some(0.0) && early.enough_warmup_s.is_none(), "{early:?}");
    }

    #[test]
    fn what_is_said_names_the_figures() {
        let said = Reason::of_all(ReasonCode::Warmup, step(130).too_late().expect("it settled late"));
        let message = "the warm-up was too short: until 6.5 s after the start throughput was 50 % below the rest's, so that the interval's is 8 % off";
        assert_eq!((said.message.as_str(), said.enough.warmup), (message, Some(10.0)));
    }

    #[test]
    fn a_run_that_never_settles_is_to_be_longer_than_it_was() {
        let found = of(1, |part| 100.0 + part as f64);
        assert_eq!((found.settled_s, found.late, found.enough_warmup_s), (7.5, true, Some(15.0)));
    }

    #[test]
    fn a_beginning_that_does_not_matter_is_let_pass() {
        // Of 200 parts, 10 are a fifth below the rest, and 25.
        let with = |parts: usize| of(3, |part| if part < 100 + parts { 3_200.0 } else { 4_000.0 });
        let (few, some) = (with(10), with(25));
        assert!(!few.late && few.effect < -0.009 && some.late && some.effect < -0.02, "{few:?} {some:?}");
    }

    #[test]
    fn chance_is_no_beginning() {
        let late = |mean: f64| (0..500).filter(|seed| of(*seed, |_| mean).late).count();
        assert_eq!((late(1.5), late(5.0), late(100.0)), (0, 0, 0));
    }

    #[test]
    fn a_single_part_tells_nothing_of_its_error() {
        let late = |parts: usize| {
            let ended =
                std::array::from_fn(|part| part as u64 % 2 + if part < 100 + parts { 900 } else { 400 });
            let series = Series {
                values: ended.map(|count: u64| count as f64),
                interval: 100,
                first: 0.0,
                part: 0.05,
                warmup: 5.0,
                end: 15.0,
            };
            series.cut_at(100 + parts, false, 0.0).late
        };
        assert!(late(2) && !late(1));
    }

    #[test]
    fn a_change_late_in_the_interval_is_no_end_of_the_warm_up() {
        // A tenth less from three quarters of the interval on is half of that in its second half.
        let of = |share: f64| of(5, |part| if part < 250 { 4_000.0 } else { 4_000.0 * (1.0 - share) });
        assert!(!of(0.1).late);
        let found = of(0.3);
        assert_eq!((found.settled_s, found.late, found.enough_warmup_s), (10.0, true, Some(15.0)));
        let said = Reason::of_all(ReasonCode::Warmup, found.too_late().expect("it has not settled")).message;
        assert!(
            said.starts_with("throughput had not settled: until 10.0 s after the start throughput was 1"),
            "{said}"
        );
    }

    #[test]
    fn throughput_that_ends_is_a_change() {
        let ended = std::array::from_fn(|part| if part < 140 { 100 + part as u64 % 2 } else { 0 });
        let found = Trend::of(&ended, 5.0, 10.0).expect("enough ended");
        assert_eq!((found.settled_s, found.early, found.effect, found.late), (7.0, None, 1.0, true));
        let said = Reason::of_all(ReasonCode::Warmup, found.too_late().expect("nothing ended")).message;
        assert_eq!(said, "nothing was completed later than 7.0 s after the start");
        assert!(serde_json::to_value(found).expect("a trend is JSON")["effect"].is_number());
    }

    #[test]
    fn a_long_warm_up_is_watched_for_half_an_interval() {
        // Throughput that doubles over the interval of 10 s after a warm-up of 60 s.
        let ended = std::array::from_fn(|part| 1_000 + 10 * part as u64 + part as u64 % 2);
        let found = Trend::of(&ended, 60.0, 10.0).expect("enough ended");
        assert_eq!((found.settled_s, found.late, found.enough_warmup_s), (62.5, true, Some(90.0)));
    }

    #[test]
    fn too_few_transactions_and_lengths_that_are_none_tell_nothing() {
        assert!(Trend::of(&[1; PARTS_OF_RUN], 5.0, 10.0).is_some());
        let mut few = [1; PARTS_OF_RUN];
        few[299] = 0;
        assert!(Trend::of(&few, 5.0, 10.0).is_none());
        assert!(Trend::of(&[1; PARTS_OF_RUN], -5.0, 10.0).is_none());
        assert!(Trend::of(&[1; PARTS_OF_RUN], 5.0, 0.0).is_none());
        assert!(Trend::of(&[1; PARTS_OF_RUN], f64::MAX, f64::MAX).is_none());
    }
}
