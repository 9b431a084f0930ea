//! What the measured interval was too short for, by group and of all groups, in one run or in all runs of one point.

use super::censoring::{Alike, Censoring, MOST_LACKING, MOST_THROUGHOUT};
use super::transactions::{groups_or_all, length};
use super::{GroupSummary, Reason};
use serde::{Deserialize, Serialize};

/// The transactions of one group of clients in one run.
#[derive(Clone, Debug, Deserialize)]
pub struct GroupAges {
    /// The group's name.
    pub name: String,
    /// Whether the figures of all groups together leave it out.
    pub background: bool,
    /// Its transactions.
    pub ages: Alike,
}

/// What is said of them.
#[derive(Clone, Debug, Serialize)]
pub struct Together {
    /// Of all groups that are no background.
    pub censoring: Option<Censoring>,
    /// Of each group.
    pub by_group: Vec<Option<Censoring>>,
    /// Why the runs must not be trusted.
    pub invalid: Vec<Reason>,
}

impl Together {
    /// What all `runs` of one point say together, which one of them could not say. None where there is none, or they differ in their groups, or in the
    /// lengths of warm-up or interval.
    #[must_use]
    pub fn of(runs: Vec<Vec<GroupAges>>) -> Option<Self> {
        let groups = runs.into_iter().map(Some).reduce(|all, run| merge(all?, run?))??;
        let beside = groups.iter().filter(|group| !group.background).count().max(1);
        let judged = |group: &GroupAges| Censoring::of(std::slice::from_ref(&group.ages), beside);
        let by_group: Vec<_> = groups.iter().map(judged).collect();
        let measured = groups.iter().zip(&by_group).filter(|(group, _)| !group.background);
        let (ages, found): (Vec<_>, Vec<_>) =
            measured.map(|(group, found)| (group.ages.clone(), *found)).unzip();
        let interval_s = groups.first()?.ages.window.duration;
        let censoring = of_all(ages, &found);
        let names = groups.iter().zip(&by_group).filter(|(group, _)| !group.background);
        let names = names.map(|(group, found)| (group.name.as_str(), *found));
        let invalid = censored(names, censoring, interval_s);
        Some(Self { censoring, by_group, invalid })
    }
}

/// The groups of one run with the transactions of another.
fn merge(all: Vec<GroupAges>, run: Vec<GroupAges>) -> Option<Vec<GroupAges>> {
    let alike = |(mine, theirs): (&GroupAges, &GroupAges)| {
        let lengths = |group: &GroupAges| (group.ages.window.warmup, group.ages.window.duration);
        mine.name == theirs.name && mine.background == theirs.background && lengths(mine) == lengths(theirs)
    };
    if all.len() != run.len() || !all.iter().zip(&run).all(alike) {
        return None;
    }
    let merged = all.into_iter().zip(run);
    Some(merged.map(|(group, other)| GroupAges { ages: group.ages.merge(other.ages), ..group }).collect())
}

/// What is said of several groups, of which `found` says what is said of each: by what each says where enough was seen of all, else as if all clients were
/// alike. Groups of which nothing ended are left out: they are in no figure, and are `silent`. It is too much where it is too much in one group, and the
/// lengths do for all.
pub(super) fn of_all(groups: Vec<Alike>, found: &[Option<Censoring>]) -> Option<Censoring> {
    if let [only] = found {
        return *only;
    }
    let heard = groups.into_iter().zip(found).filter(|(group, _)| group.ended());
    let (groups, found): (Vec<_>, Vec<_>) = heard.unzip();
    let known = found.iter().all(Option::is_some);
    let parts = if known { groups } else { vec![as_if_alike(groups)?] };
    let all = Censoring { unseen: None, ..Censoring::of(&parts, 1)? };
    Some(found.iter().flatten().fold(all, |all, group| all.and(*group)))
}

/// All transactions as if all clients were alike.
pub(super) fn as_if_alike(groups: Vec<Alike>) -> Option<Alike> {
    groups.into_iter().reduce(Alike::merge)
}

/// What is said against the runs by the names of groups, or of all.
pub(super) fn censored<'a>(
    groups: impl Iterator<Item = (&'a str, Option<Censoring>)>,
    all: Option<Censoring>,
    interval_s: f64,
) -> Vec<Reason> {
    let message = |found: Option<Censoring>| found.and_then(|found| too_short(&found, interval_s));
    groups_or_all("censored", groups.map(|(name, found)| (name, message(found))), || message(all))
}

/// The same of the summary of one run.
pub(super) fn censored_in(groups: &[GroupSummary], all: Option<Censoring>, interval_s: f64) -> Vec<Reason> {
    let measured = groups.iter().filter(|group| !group.background);
    censored(measured.map(|group| (group.name.as_str(), group.censoring)), all, interval_s)
}

fn too_short(found: &Censoring, interval_s: f64) -> Option<String> {
    found.censored.then(|| {
        let (seen, more_runs) = what_was_seen(found);
        let advice = [
            found.enough_s.map(|seconds| format!("measure for at least {}", length(seconds))),
            found.enough_warmup_s.map(|seconds| {
                let (warmup, interval) = (length(seconds), length(seconds.max(interval_s)));
                format!("for {interval} after a warm-up of {warmup}")
            }),
            more_runs.then(|| "make more runs".to_owned()),
        ];
        let advice = advice.into_iter().flatten().collect::<Vec<_>>().join(", or ");
        let advice = if advice.is_empty() { "even 2 h are not enough".to_owned() } else { advice };
        format!("{seen}; {advice}")
    })
}

/// The first that is too much, and whether more runs would help.
fn what_was_seen(found: &Censoring) -> (String, bool) {
    let Censoring { lacking, at_most, excess, throughout, .. } = *found;
    let percent = |share: f64| format!("{:.0} %", share.abs() * 100.0);
    let excess = excess.unwrap_or(0.0);
    if throughout <= MOST_THROUGHOUT && at_most > MOST_LACKING && lacking <= MOST_LACKING {
        let (lacking, at_most) = (percent(lacking), percent(at_most));
        let seen = format!(
            "few long transactions were seen, so that the mean of those that ended may lack up to {at_most} (estimate: {lacking})"
        );
        return (seen, true);
    }
    let seen = if throughout > MOST_THROUGHOUT {
        format!("{} of the time went into some that were in progress all through it", percent(throughout))
    } else if at_most > MOST_LACKING {
        format!(
            "the mean of those that ended lacks about {}, or up to {}",
            percent(lacking),
            percent(at_most)
        )
    } else if excess > 0.0 {
        format!("those that did not end took {} more time than those that did", percent(excess))
    } else {
        format!("those that ended took {} more time than was spent in the interval", percent(excess))
    };
    (format!("the interval was too short for the longest transactions: {seen}"), false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{Window, alike};

    const SECOND: i64 = 1_000_000_000;

    /// A group of which `count` transactions take a tenth of a second, and `stalled` a minute.
    fn group(name: &str, count: i64, stalled: i64) -> GroupAges {
        let window = Window { warmup: 5.0, duration: 10.0, timeout: 60.0, closed: 1.0 };
        let start = |number: i64, of: i64| 15 * SECOND * number / of.max(1);
        let short = (0..count).map(|number| (start(number, count), start(number, count) + SECOND / 10));
        let long = (0..stalled).map(|number| (start(number, stalled), start(number, stalled) + 60 * SECOND));
        GroupAges { name: name.to_owned(), background: false, ages: alike(short.chain(long), window) }
    }

    fn said(runs: Vec<Vec<GroupAges>>) -> Vec<(Option<String>, String)> {
        let found = Together::of(runs).expect("the runs belong together");
        found.invalid.into_iter().map(|reason| (reason.group, reason.message)).collect()
    }

    #[test]
    fn what_one_run_cannot_tell_ten_can() {
        let run = || vec![group("clients", 12_000, 1)];
        let at_most = |runs| {
            let found = Together::of(vec![run(); runs]).expect("the runs belong together").censoring;
            found.expect("enough was seen").at_most
        };
        assert!(at_most(1) > 0.04 && at_most(10) < 0.04, "{} {}", at_most(1), at_most(10));
        let seen = &said(vec![run()])[0].1;
        assert!(
            seen.starts_with(
                "few long transactions were seen, so that the mean of those that ended may lack up to "
            ),
            "{seen}"
        );
    }

    #[test]
    fn one_group_of_several_is_named() {
        let run = || vec![group("well", 60_000, 0), group("stalled", 10_000, 5)];
        let found = said(vec![run(), run()]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0.as_deref(), Some("stalled"));
        let background = || {
            let mut groups = run();
            groups[1].background = true;
            groups
        };
        assert_eq!(said(vec![background(), background()]), []);
    }

    #[test]
    fn the_more_groups_the_less_is_one_of_them_judged_by_what_was_not_seen() {
        let ages = [group("clients", 12_000, 1).ages];
        let beside = |groups| Censoring::of(&ages, groups).expect("enough was seen");
        let more = |groups| beside(groups).at_most - beside(groups).lacking;
        assert!((more(1) / more(4) - 4.0).abs() < 1e-9 && beside(1).censored && !beside(8).censored);
        // All together are judged by what each may lack, but hardly each as much as it may.
        let four = (0..4).map(|number| group(&format!("group {number}"), 12_000, 1)).collect();
        let all = Together::of(vec![four]).and_then(|found| found.censoring).expect("enough was seen");
        assert!((all.at_most - all.lacking) / (more(1) / 2.0) - 1.0 < 0.1, "{all:?}");
    }

    #[test]
    fn groups_of_which_too_little_was_seen_are_judged_as_if_all_were_alike() {
        let found =
            Together::of(vec![vec![group("many", 10_000, 0), group("few", 20, 2)]]).expect("there is a run");
        assert!(found.by_group[1].is_none() && found.censoring.is_some_and(|found| found.censored));
        assert_eq!(found.invalid.len(), 1);
        assert_eq!(found.invalid[0].group, None);
    }

    #[test]
    fn runs_that_were_made_otherwise_do_not_belong_together() {
        let mut longer = group("clients", 1_000, 0);
        longer.ages.window.duration = 20.0;
        for other in [vec![longer], vec![group("others", 1_000, 0)], vec![]] {
            assert!(Together::of(vec![vec![group("clients", 1_000, 0)], other]).is_none());
        }
        assert!(Together::of(Vec::new()).is_none());
    }

    #[test]
    fn what_was_in_progress_all_through_is_in_no_figure() {
        // Four of 64 clients, from before the interval to its end.
        let stuck = (0..4).map(|_| (SECOND, 70 * SECOND));
        let busy = (0..60 * 150).map(|number| (number / 60 * SECOND / 10, (number / 60 + 1) * SECOND / 10));
        let window = Window { warmup: 5.0, duration: 10.0, timeout: 60.0, closed: 1.0 };
        let ages = alike(stuck.chain(busy), window);
        let found = Censoring::of(&[ages], 1).expect("enough was seen");
        assert!((found.throughout - 4.0 / 64.0).abs() < 1e-3 && found.censored, "{found:?}");
    }

    #[test]
    fn what_may_be_hidden_follows_from_what_was_seen() {
        let found =
            Together::of(vec![vec![group("clients", 15_000, 0)]; 3]).expect("the runs belong together");
        let unseen = found.censoring.and_then(|found| found.unseen).expect("nothing took so long");
        // About 10,000 a run, and what is in progress at an end of the interval.
        assert!((unseen.one_in / 10_000.0 - 1.0).abs() < 0.02, "{unseen:?}");
        assert!((unseen.adds_s / (60.0 / 10_000.0) - 1.0).abs() < 0.02, "{unseen:?}");
    }
}
