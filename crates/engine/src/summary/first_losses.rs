//! Whether connections that had lost data more often were slower than others of the same clients.

use crate::ledger::{CLASSES, History, Timed};
use serde::{Deserialize, Serialize};

/// Losses that are compared at least: before so many, a window may still be larger than what it is needed for.
const LEAST_LOSSES: usize = 3;
/// Least transactions whose connections had had more and fewer losses, to compare them.
const LEAST_COMPARED: u64 = 30;
/// Least parts of the clients that have both.
const LEAST_PARTS: usize = 8;
/// Quantile of Student's t for as few parts.
const QUANTILE: f64 = 2.36;

/// What the first losses of a connection did to its response times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FirstLosses {
    /// Losses that count as the first.
    pub losses: usize,
    /// By how much the mean response time would be longer if all connections had had as many, relative to it.
    pub longer: f64,
    /// Standard error of that.
    pub standard_error: f64,
}

impl FirstLosses {
    /// What connections that had lost data more often than half of them had, and more than a few times, needed more than the others.
    pub(super) fn of(history: &History) -> Option<Self> {
        let seen = by_loss_events(history);
        let all = sum(&seen);
        let below = |class: usize| sum(&seen[..class]);
        let median = (0..CLASSES).find(|class| 2 * below(*class + 1).count > all.count)?;
        let losses = median.max(LEAST_LOSSES);
        let few = below(losses).count;
        if few < LEAST_COMPARED || all.count - few < LEAST_COMPARED {
            return None;
        }
        // Jackknife over the parts of the clients.
        let parts = history.first_of_place.iter().map(|part| (sum(&part[..losses]), sum(&part[losses..])));
        let parts: Vec<_> = parts.filter(|(few, many)| few.count + many.count > 0).collect();
        if parts.iter().filter(|(few, many)| few.count > 0 && many.count > 0).count() < LEAST_PARTS {
            return None;
        }
        let without = |left: usize| {
            let others = parts.iter().enumerate().filter(|(place, _)| *place != left).map(|(_, part)| *part);
            longer(others)
        };
        let left: Vec<_> = (0..parts.len()).map(without).collect();
        let count = left.len() as f64;
        let mean = left.iter().sum::<f64>() / count;
        let squares = left.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        let standard_error = (squares * (count - 1.0) / count).sqrt();
        Some(Self { losses, longer: longer(parts.iter().copied()), standard_error })
    }

    /// The mean of several runs, which are independent of each other; none where there is no run. It tells of as many losses as the least.
    pub(super) fn mean(runs: &[Self]) -> Option<Self> {
        let count = runs.len() as f64;
        let losses = runs.iter().map(|run| run.losses).min()?;
        let longer = runs.iter().map(|run| run.longer).sum::<f64>() / count;
        let squares = runs.iter().map(|run| run.standard_error.powi(2)).sum::<f64>();
        Some(Self { losses, longer, standard_error: squares.sqrt() / count })
    }

    /// The most that it may be, at a confidence of 97.5 %.
    pub(super) fn at_most(&self) -> f64 {
        self.longer + QUANTILE * self.standard_error
    }
}

/// The transactions on first connections of their places, by the loss events of these.
pub(super) fn by_loss_events(history: &History) -> [Timed; CLASSES] {
    std::array::from_fn(|class| sum_of(history.first_of_place.iter().map(|part| part[class])))
}

pub(super) fn sum(timed: &[Timed]) -> Timed {
    sum_of(timed.iter().copied())
}

fn sum_of(timed: impl Iterator<Item = Timed>) -> Timed {
    timed.fold(Timed::default(), |mut sum, more| {
        sum.add(more);
        sum
    })
}

/// By how much the mean of all would be longer, relative to it, if those of few losses took as long as those of many.
fn longer(parts: impl Iterator<Item = (Timed, Timed)>) -> f64 {
    let (few, many): (Vec<_>, Vec<_>) = parts.unzip();
    let (few, many) = (sum(&few), sum(&many));
    let mean = |timed: Timed| timed.time as f64 / timed.count as f64;
    let all = sum(&[few, many]);
    if few.count == 0 || many.count == 0 {
        return 0.0;
    }
    few.count as f64 / all.count as f64 * (mean(many) - mean(few)) / mean(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many transactions of each part of the clients, whose connections had had 0, 1, 2 ... losses, each of which adds `slower` to a second.
    fn history(counts: &[u64], slower: f64) -> History {
        let mut history = History::default();
        for (part, classes) in history.first_of_place.iter_mut().enumerate() {
            for (losses, count) in counts.iter().enumerate() {
                // What a loss adds differs from part to part.
                let own = if part % 2 == 0 { 0.9 } else { 1.1 };
                let time = 1e9 * (1.0 + slower * own * losses as f64);
                classes[losses] = Timed { count: *count, time: (*count as f64 * time) as u64 };
            }
        }
        history
    }

    #[test]
    fn losses_that_make_slower_do_so_by_as_much_as_they_add() {
        let found =
            FirstLosses::of(&history(&[100, 100, 100, 100, 100, 100], 0.01)).expect("there are enough");
        // Losses 3 to 5 against 0 to 2, for half of the transactions: 3 % x 1/2 of 1.025 s.
        assert_eq!(found.losses, 3);
        assert!((found.longer - 0.015 / 1.025).abs() < 1e-6, "{found:?}");
        assert!(found.standard_error > 0.0 && found.standard_error < 1e-3 && found.at_most() > found.longer);
        let none = FirstLosses::of(&history(&[100, 100, 100, 100], 0.0)).expect("there are enough");
        assert_eq!((none.longer, none.standard_error), (0.0, 0.0));
    }

    #[test]
    fn half_of_the_connections_are_compared_with_the_others() {
        let found =
            FirstLosses::of(&history(&[10, 10, 10, 10, 10, 100, 100, 100], 0.01)).expect("there are enough");
        assert_eq!(found.losses, 6);
    }

    #[test]
    fn the_fewer_clients_there_are_the_less_is_known() {
        let of = |parts: usize| {
            let mut history = history(&[100, 100, 100, 100, 100, 100], 0.01);
            history.first_of_place[parts..].fill(Default::default());
            FirstLosses::of(&history)
        };
        assert!(of(7).is_none());
        let error = |parts| of(parts).expect("there are enough").standard_error;
        assert!(error(8) > 1.3 * error(16), "{} {}", error(8), error(16));
    }

    #[test]
    fn a_few_transactions_tell_nothing() {
        assert!(FirstLosses::of(&history(&[100, 100, 100, 1], 0.01)).is_none());
        assert!(FirstLosses::of(&history(&[100, 100, 100, 2], 0.01)).is_some());
        assert!(FirstLosses::of(&history(&[100], 0.01)).is_none());
        assert!(FirstLosses::of(&History::default()).is_none());
    }
}
