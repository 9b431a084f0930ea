//! How long transactions take, from those that were in progress in measured intervals.

use crate::ledger::{Ages, BINS_OF_AGE, edge};
use serde::{Deserialize, Serialize};

/// Weight of the power law against what was seen of an age, as a number of transactions.
const PRIOR: f64 = 0.3;
/// Bins of age over which its slope is taken: two octaves.
const SLOPE_BINS: usize = 8;
/// Least and greatest exponent of the power law.
const EXPONENTS: (f64, f64) = (1.0, 8.0);
/// Steps of time in which a run is cut for the renewal equation.
const STEPS: usize = 128;

/// How runs were made, as far as it decides what ends in their intervals.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
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

/// The survival function of the transactions' times: S(t) is the share of all that begin that take at least t.
#[derive(Debug)]
pub(super) struct Survival {
    /// S at the lower edge of each bin of age, linear between.
    at: [f64; BINS_OF_AGE],
    /// Its integral from there on, up to the timeout.
    beyond: [f64; BINS_OF_AGE],
    timeout: f64,
}

impl Survival {
    /// The product-limit estimate with delayed entry (E. L. Kaplan, P. Meier, JASA 53, 1958; actuarial in bins of age). Where few or none of an age were
    /// seen, the hazard is that of a power law with the slope of S over the two octaves before.
    pub(super) fn of(ages: &Ages, timeout: f64) -> Self {
        let mut at = [1.0; BINS_OF_AGE];
        for (bin, Seen { ended, at_risk }) in seen(ages).into_iter().enumerate() {
            let hazard = (ended + PRIOR * expected_hazard(&at, bin)) / (at_risk + PRIOR);
            at[bin + 1] = at[bin] * (1.0 - hazard);
        }
        Self::new(at, ages, timeout)
    }

    /// The upper bound of each S(t), if `times` as many had been seen, at the confidence of which `quantile` is the standard normal quantile: the product
    /// of beta distributions (M. P. Fay, E. H. Brittain, M. A. Proschan, Biostatistics 14, 2013), of which the first two moments are taken, as those of a
    /// gamma distribution (quantile after E. B. Wilson, M. M. Hilferty, PNAS 17, 1931). Beyond the greatest age that was seen it goes on as the power law,
    /// and is no bound.
    pub(super) fn bound(ages: &Ages, timeout: f64, times: f64, quantile: f64) -> Self {
        let seen = seen(ages);
        let oldest = seen.iter().rposition(|seen| seen.at_risk > 0.0);
        let mut at = [1.0; BINS_OF_AGE];
        // Logarithms of the mean and of the mean square.
        let (mut mean, mut square) = (0.0, 0.0);
        for (bin, Seen { ended, at_risk }) in seen.into_iter().enumerate() {
            if oldest.is_none_or(|oldest| bin > oldest) {
                at[bin + 1] = at[bin] * (1.0 - expected_hazard(&at, bin));
                continue;
            }
            let (ended, at_risk) = (ended * times, at_risk * times);
            let left = at_risk - ended;
            mean += libm::log((left + 1.0) / (at_risk + 1.0));
            square += libm::log((left + 1.0) * (left + 2.0) / ((at_risk + 1.0) * (at_risk + 2.0)));
            // The shape of the gamma distribution is the inverse of its relative variance.
            let ninth = libm::expm1(square - 2.0 * mean).max(0.0) / 9.0;
            let above = (1.0 - ninth + quantile * ninth.sqrt()).max(0.0).powi(3);
            at[bin + 1] = (libm::exp(mean) * above).min(at[bin]);
        }
        let estimate = Self::of(ages, timeout).at;
        at.iter_mut().zip(estimate).for_each(|(bound, estimate)| *bound = bound.max(estimate));
        Self::new(at, ages, timeout)
    }

    fn new(at: [f64; BINS_OF_AGE], ages: &Ages, timeout: f64) -> Self {
        let timeout = timeout.max(ages.oldest());
        let mut beyond = [0.0; BINS_OF_AGE];
        for bin in (0..BINS_OF_AGE - 1).rev() {
            let width = (edge(bin + 1).min(timeout) - edge(bin)).max(0.0);
            beyond[bin] = beyond[bin + 1] + (at[bin] + at[bin + 1]) / 2.0 * width;
        }
        Self { at, beyond, timeout }
    }

    pub(super) fn mean(&self) -> f64 {
        self.beyond[0]
    }

    /// Share of those that take at least `time`, and the integral of S from there on.
    fn at_and_beyond(&self, time: f64) -> (f64, f64) {
        if time >= self.timeout {
            return (0.0, 0.0);
        }
        let bin = (1..BINS_OF_AGE - 1).find(|bin| time < edge(*bin)).unwrap_or(BINS_OF_AGE - 1) - 1;
        let part = (time - edge(bin)) / (edge(bin + 1) - edge(bin));
        let between = |values: &[f64; BINS_OF_AGE]| values[bin] * (1.0 - part) + values[bin + 1] * part;
        (between(&self.at), between(&self.beyond))
    }

    /// Share of those that take at least `time`, and what these contribute to the mean: E[T; T >= time].
    pub(super) fn from(&self, time: f64) -> (f64, f64) {
        let time = time.max(0.0);
        let (share, beyond) = self.at_and_beyond(time);
        (share, time * share + beyond)
    }

    /// Share of the mean that what ends in the interval lacks. Given S and the way in which clients begin, the mean of what ends in it follows from the renewal
    /// equation (W. Feller, An Introduction to Probability Theory, vol. 2, chapter XI).
    pub(super) fn lacking(&self, window: &Window) -> f64 {
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
        let started = |number: usize| {
            let time = (number as f64 + 0.5) * step;
            if ramp > 0.0 { (time / ramp).min(1.0) } else { 1.0 }
        };
        // The time that a transaction spends in the step in which it begins, and in each that follows.
        let beyond: Vec<f64> = (0..=STEPS).map(|number| self.at_and_beyond(number as f64 * step).1).collect();
        let spent: Vec<f64> = beyond.windows(2).map(|pair| pair[0] - pair[1]).collect();
        // A client that has started is in a transaction at any time: what those before leave of a step, those that begin in it spend, however short they are.
        let mut renewals: Vec<f64> = Vec::with_capacity(STEPS);
        for number in 0..STEPS {
            let before = renewals.iter().enumerate().map(|(place, begun)| begun * spent[number - place]);
            let left = (started(number) * step - before.sum::<f64>()).max(0.0);
            renewals.push(left / spent[0].max(f64::MIN_POSITIVE));
        }
        let mixed = |(number, renewal): (usize, f64)| {
            let steady = step / self.mean() * started(number);
            window.closed * renewal + (1.0 - window.closed) * steady
        };
        renewals.into_iter().enumerate().map(mixed).collect()
    }
}

/// How many of an age were seen.
struct Seen {
    ended: f64,
    /// Those that might have ended. Those that come or go within the bin count half.
    at_risk: f64,
}

/// By bin of age, but for the last.
fn seen(ages: &Ages) -> Vec<Seen> {
    let mut exposed = ages.began as f64;
    let of_bin = |bin: usize| {
        let [ended, entered, cut] = [&ages.ended, &ages.entered, &ages.cut].map(|counts| counts[bin] as f64);
        let at_risk = (exposed + (entered - cut) / 2.0).max(ended);
        exposed += entered - ended - cut;
        Seen { ended, at_risk }
    };
    (0..BINS_OF_AGE - 1).map(of_bin).collect()
}

/// The hazard of a bin if S went on as it did over the two octaves before.
fn expected_hazard(at: &[f64; BINS_OF_AGE], bin: usize) -> f64 {
    if bin == 0 {
        return 0.0;
    }
    // What lies two octaves below the first edge is as old as anything that the first bin holds.
    let (before, least) = (bin.saturating_sub(SLOPE_BINS), edge(1) / 4.0);
    let slope = libm::log(at[before] / at[bin].max(f64::MIN_POSITIVE))
        / libm::log(edge(bin) / edge(before).max(least));
    1.0 - libm::pow(edge(bin) / edge(bin + 1), slope.clamp(EXPONENTS.0, EXPONENTS.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Interval;
    use wasp_units::{Duration, Instant};

    const WINDOW: Window = Window { warmup: 5.0, duration: 10.0, timeout: 60.0, closed: 1.0 };

    fn at(seconds: f64) -> Instant {
        Instant::ZERO + Duration::from_nanos((seconds * 1e9) as u64)
    }

    /// Transactions by when they begin and how long they take, so many times each.
    fn ages(transactions: &[(u32, f64, f64)]) -> Ages {
        let interval = Interval::new(Duration::from_secs(5), Duration::from_secs(10));
        let mut ages = Ages::default();
        for (count, start, lasting) in transactions {
            let end = at(start + lasting).min(interval.end());
            (0..*count).for_each(|_| ages.note(&interval, at(*start), end, end == interval.end()));
        }
        ages
    }

    /// At 80 %.
    fn bound(ages: &Ages, times: f64) -> Survival {
        Survival::bound(ages, 60.0, times, 0.841_621)
    }

    #[test]
    fn the_bound_is_that_of_a_share_where_nothing_is_cut_off() {
        // The upper bounds of Clopper and Pearson at 80 %: of none, two and ten of a thousand.
        for (longer, wanted) in [(0, 1.608e-3), (2, 4.274e-3), (10, 1.364e-2)] {
            let ages = ages(&[(1_000 - longer, 6.0, 0.1), (longer, 6.0, 4.0)]);
            // The end of the bin that holds 0.1 s.
            let (found, _) = bound(&ages, 1.0).at_and_beyond(0.1007);
            assert!((found / wanted - 1.0).abs() < 0.01, "{longer}: {found}");
        }
    }

    #[test]
    fn the_bound_narrows_as_more_is_seen() {
        let ages = ages(&[(998, 6.0, 0.1), (2, 6.0, 4.0)]);
        let at = |times| bound(&ages, times).at_and_beyond(0.5).0;
        assert!(
            at(1.0) > 1.5 * at(10.0) && at(10.0) > 0.002 && at(1e6) < 0.002_01,
            "{} {}",
            at(1.0),
            at(10.0)
        );
    }

    #[test]
    fn the_bound_does_not_fall_where_nobody_was_at_risk() {
        // Nothing that began in the interval is older than 0.1 s, and one was 4 s old when it began.
        let ages = ages(&[(1_000, 6.0, 0.1), (1, 1.0, 60.0)]);
        let bound = bound(&ages, 1.0);
        let (early, late) = (bound.at_and_beyond(0.2).0, bound.at_and_beyond(12.0).0);
        assert!(early > 1e-3 && early == late, "{early} {late}");
        // Beyond the oldest it goes on.
        assert!(bound.at_and_beyond(30.0).0 < early / 1.5);
    }

    #[test]
    fn few_that_are_at_risk_outweigh_the_power_law() {
        // Five of a thousand were still in progress after 6 s. A power law from 0.1 s on would leave next to none.
        let survival = Survival::of(&ages(&[(995, 8.0, 0.1), (5, 9.0, 55.0)]), 60.0);
        let (share, _) = survival.at_and_beyond(5.0);
        assert!((0.0035..=0.005).contains(&share), "{share}");
    }

    #[test]
    fn short_transactions_do_not_hide_how_soon_clients_stall() {
        // Up to 1.05 ms, but for one in 10,000 that takes 50 s.
        let mut at = [1e-4; BINS_OF_AGE];
        at[0] = 1.0;
        let survival = Survival::new(at, &Ages::default(), 50.0);
        let begins = survival.begins(&Window { warmup: 0.0, ..WINDOW }, 0.1);
        let short = edge(1) / 2.0;
        for number in [1, 25, 50, 100] {
            let free = libm::exp(-1e-4 / short * 0.1 * f64::from(number));
            let found = begins[number as usize] * short / 0.1;
            assert!((found / free - 1.0).abs() < 0.05, "{number}: {found} {free}");
        }
    }

    #[test]
    fn what_is_shorter_than_the_run_lacks_nothing() {
        let survival = Survival::of(&ages(&[(1_000, 6.0, 0.5), (500, 4.8, 0.5)]), 60.0);
        assert!(survival.lacking(&WINDOW).abs() < 0.005, "{}", survival.lacking(&WINDOW));
    }
}
