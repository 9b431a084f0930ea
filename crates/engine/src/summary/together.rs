//! What is said of runs by what their transactions did: of one run, or of all runs of one point together, which know more. Each group of several is judged by
//! itself, because a thousand quick transactions hide one slow one that never ends; all groups together are judged where nothing is said of any.

use super::beginning::Beginning;
use super::censoring::{Alike, Censoring, MOST_LACKING, MOST_THROUGHOUT};
use super::figures::{Clients, OpenLoops, RunFigures};
use super::losses;
use super::reason::{Said, groups_or_all, of_each};
use super::stability::Stability;
use super::survival::Window;
use super::trend::Trend;
use super::windows::CongestionWindows;
use super::{Arrivals, Reason, ReasonCode, Summary};
use serde::Serialize;

/// Share of the arrivals that may be dropped.
const MOST_SHED: f64 = 0.01;

/// What is said of runs.
#[derive(Clone, Debug, Serialize)]
pub struct Together {
    /// Of the longest transactions of all groups that are no background.
    pub censoring: Option<Censoring>,
    /// Of the throughput of all of them; none of too few transactions.
    pub trend: Option<Trend>,
    /// Of the open loops of all groups that are no background, as if all clients were alike.
    pub stability: Option<Stability>,
    /// Of each group.
    pub by_group: Vec<GroupTogether>,
    /// Why the runs must not be trusted, most telling first.
    pub invalid: Vec<Reason>,
}

/// What is said of one group.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct GroupTogether {
    /// Of its longest transactions; none where too few were seen.
    pub censoring: Option<Censoring>,
    /// Of its open loop, if it has one.
    pub stability: Option<Stability>,
    /// Of its throughput; none of too few transactions.
    pub trend: Option<Trend>,
}

impl Together {
    /// What `runs` of one point say. None where there is none, or they differ in their groups, or in the lengths of warm-up or interval.
    #[must_use]
    pub fn of(runs: Vec<RunFigures>) -> Option<Self> {
        let (networks, groups): (Vec<_>, Vec<_>) =
            runs.into_iter().map(|run| (run.network, run.groups)).unzip();
        let groups = Clients::by_group(groups)?;
        let beside = groups.iter().filter(|group| !group.background).count().max(1);
        let by_group: Vec<_> = groups.iter().map(|group| GroupTogether::of(group, beside)).collect();
        let measured = groups.iter().zip(&by_group).filter(|(group, _)| !group.background);
        let verdict = Verdict::of(measured.collect(), networks.len());
        let invalid = [verdict.reasons(), losses::unexpected(&networks)].concat();
        let Verdict { censoring, trend, stability, .. } = verdict;
        Some(Self { censoring, trend, stability, by_group, invalid })
    }
}

/// What is said of a run that was stopped, whose transactions tell little: arrivals that were dropped, and losses.
pub(super) fn of_stopped(summary: &Summary) -> Vec<Reason> {
    let said = |arrivals: Option<Arrivals>| not_achieved(arrivals?, None, summary.interval_s);
    let groups = summary.by_group.iter().filter(|group| !group.background);
    let groups = groups.map(|group| (group.name.as_str(), said(group.open_loop)));
    let all = || said(summary.open_loop.map(|open| open.counts));
    [groups_or_all(ReasonCode::Overload, groups, all), losses::unexpected(&[summary.network])].concat()
}

impl GroupTogether {
    fn of(group: &Clients, beside: usize) -> Self {
        Self {
            censoring: Censoring::of(std::slice::from_ref(&group.ages), beside),
            stability: Stability::of(&group.fortieths, &group.ages),
            trend: group.trend(),
        }
    }
}

/// The groups that are no background, and what is known of all of them together.
struct Verdict<'a> {
    groups: Vec<(&'a Clients, &'a GroupTogether)>,
    open: Option<OpenLoops>,
    censoring: Option<Censoring>,
    trend: Option<Trend>,
    stability: Option<Stability>,
    /// Runs, and the lengths of each.
    runs: usize,
    window: Option<Window>,
}

impl<'a> Verdict<'a> {
    fn of(groups: Vec<(&'a Clients, &'a GroupTogether)>, runs: usize) -> Self {
        let (clients, found): (Vec<&Clients>, Vec<&GroupTogether>) = groups.iter().copied().unzip();
        let ages = clients.iter().map(|group| group.ages.clone()).collect();
        let censorings: Vec<_> = found.iter().map(|found| found.censoring).collect();
        let open = Clients::open(&clients);
        Self {
            censoring: of_all(ages, &censorings),
            trend: Clients::trend_of_all(&clients),
            stability: open.as_ref().and_then(|open| Stability::of(&open.fortieths, &open.ages)),
            window: clients.first().map(|group| group.ages.window),
            open,
            groups,
            runs,
        }
    }

    fn reasons(&self) -> Vec<Reason> {
        let overload = self.overload();
        // No length does where the load is too much.
        let too_much = |reason: &Reason| {
            overload.iter().any(|other| other.group.is_none() || other.group == reason.group)
        };
        let near_capacity = self.near_capacity(&overload);
        let shorter = |mut reasons: Vec<Reason>| {
            reasons.retain(|reason| !too_much(reason));
            reasons
        };
        let beginnings = || self.each(|group, _| group.beginning);
        let said = |said: fn(&Beginning) -> Option<Said>| {
            move |(name, found): (&'a str, Option<Beginning>)| (name, found.as_ref().and_then(said))
        };
        let windows = self.each(|group, _| group.windows.as_ref().and_then(CongestionWindows::too_young));
        let windows = shorter(of_each(ReasonCode::Windows, windows));
        let slower_until = windows.iter().filter_map(|reason| reason.enough.warmup).reduce(f64::max);
        let all = [
            self.unsettled(),
            shorter(of_each(ReasonCode::Opening, beginnings().map(said(Beginning::opens)))),
            windows.clone(),
            of_each(ReasonCode::Cycles, beginnings().map(said(Beginning::cycles))),
            overload.clone(),
            near_capacity,
            shorter(self.censored(slower_until)),
        ];
        all.concat()
    }

    fn each<T>(&self, of: impl Fn(&Clients, &GroupTogether) -> T) -> impl Iterator<Item = (&'a str, T)> {
        self.groups.iter().map(move |(group, found)| (group.name.as_str(), of(group, found)))
    }

    /// Throughput had not settled when the interval began.
    fn unsettled(&self) -> Vec<Reason> {
        // What goes in step rises and falls in every interval.
        let in_step = |group: &Clients| group.beginning.as_ref().and_then(Beginning::cycles).is_some();
        let late = |trend: Option<Trend>, in_step: bool| {
            let trend = trend.filter(|trend| !(in_step && trend.is_unsettled()));
            trend.as_ref().and_then(Trend::too_late)
        };
        let groups = self.each(|group, found| late(found.trend, in_step(group)));
        let any_in_step = self.groups.iter().any(|(group, _)| in_step(group));
        groups_or_all(ReasonCode::Warmup, groups, || late(self.trend, any_in_step))
    }

    /// The offered load was not achieved, and would not be in a longer run.
    fn overload(&self) -> Vec<Reason> {
        let said = |arrivals: Option<Arrivals>, stability: Option<Stability>| {
            not_achieved(arrivals?, stability, self.window?.duration * self.runs as f64)
        };
        let groups = self.each(|group, found| said(group.arrivals, found.stability));
        groups_or_all(ReasonCode::Overload, groups, || {
            said(self.open.as_ref().map(|open| open.arrivals), self.stability)
        })
    }

    /// What is offered is nearly all that can be taken, so that the runs are too short to know the queue. Nothing is said of those that are in `overload`.
    fn near_capacity(&self, overload: &[Reason]) -> Vec<Reason> {
        if overload.iter().any(|reason| reason.group.is_none()) {
            return Vec::new();
        }
        let overloaded = |name: &str| overload.iter().any(|reason| reason.group.as_deref() == Some(name));
        let said = |stability: Option<Stability>| stability.as_ref().and_then(Stability::remembers);
        let groups = self.each(|group, found| said(found.stability.filter(|_| !overloaded(&group.name))));
        groups_or_all(ReasonCode::NearCapacity, groups, || {
            said(self.stability.filter(|_| overload.is_empty()))
        })
    }

    /// The intervals were too short for the longest transactions.
    fn censored(&self, slower_until: Option<f64>) -> Vec<Reason> {
        let said = |found: Option<Censoring>| too_short(&found?, &self.window?, slower_until);
        groups_or_all(ReasonCode::Censored, self.each(|_, found| said(found.censoring)), || {
            said(self.censoring)
        })
    }
}

/// An open loop whose arrivals were dropped, or came faster than they ended, in so many seconds.
fn not_achieved(arrivals: Arrivals, stability: Option<Stability>, seconds: f64) -> Option<String> {
    let Arrivals { arrivals, shed, .. } = arrivals;
    let share = shed as f64 / arrivals.max(1) as f64;
    let dropped = (share > MOST_SHED)
        .then(|| format!("{:.1} % of them were dropped, since as many as may wait did", 100.0 * share));
    let growth = stability.filter(|stability| stability.grows).map(|stability| {
        format!("{:.1}/s more were left waiting or in progress, all through the interval", stability.growth)
    });
    let help = if growth.is_some() { "a longer interval does not help: " } else { "" };
    let seen = [dropped, growth].into_iter().flatten().collect::<Vec<_>>().join(", and ");
    (!seen.is_empty()).then(|| {
        format!(
            "the offered load was not achieved: {:.1} arrivals/s came, and {seen}; {help}lower the rate, or give more clients or connections",
            arrivals as f64 / seconds
        )
    })
}

/// What is said of several groups, of which `found` says what is said of each: by what each says where enough was seen of all, else as if all clients were
/// alike. Groups of which nothing ended are left out: they are in no figure, and are `silent`. It is too much where it is too much in one group, and the
/// lengths do for all.
fn of_all(groups: Vec<Alike>, found: &[Option<Censoring>]) -> Option<Censoring> {
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
fn as_if_alike(groups: Vec<Alike>) -> Option<Alike> {
    groups.into_iter().reduce(Alike::merge)
}

fn too_short(found: &Censoring, window: &Window, slower_until: Option<f64>) -> Option<Said> {
    found.censored.then(|| {
        let (seen, more_runs) = what_was_seen(found);
        let message = if more_runs { format!("{seen}; more runs would tell, too") } else { seen };
        Said::too_short(message, found.lengths(window, slower_until))
    })
}

/// The first that is too much, and whether more runs would help.
fn what_was_seen(found: &Censoring) -> (String, bool) {
    let Censoring { lacking, at_most, excess, throughout, .. } = *found;
    let percent = |share: f64| format!("{:.0} %", share.abs() * 100.0);
    let excess = excess.unwrap_or(0.0);
    if throughout <= MOST_THROUGHOUT && found.lacks_too_much && lacking <= MOST_LACKING {
        let seen = format!(
            "few long transactions were seen, so that the mean of those that ended may lack up to {:.1} % (estimate: {:.1} %)",
            100.0 * at_most,
            100.0 * lacking.max(0.0)
        );
        return (seen, true);
    }
    let seen = if throughout > MOST_THROUGHOUT {
        format!("{} of the time went into some that were in progress all through it", percent(throughout))
    } else if found.lacks_too_much {
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
    use crate::ledger::{BINS, Ends};
    use crate::summary::figures::{Course, GroupFigures};
    use crate::summary::{Fortieths, Lengths, NetworkSummary, alike};

    const SECOND: i64 = 1_000_000_000;

    /// A group of which `count` transactions take a tenth of a second, and `stalled` a minute.
    fn group(name: &str, count: i64, stalled: i64) -> GroupFigures {
        let window = Window { warmup: 5.0, duration: 10.0, timeout: 60.0, closed: 1.0 };
        let start = |number: i64, of: i64| 15 * SECOND * number / of.max(1);
        let short = (0..count).map(|number| (start(number, count), start(number, count) + SECOND / 10));
        let long = (0..stalled).map(|number| (start(number, stalled), start(number, stalled) + 60 * SECOND));
        figures(name, alike(short.chain(long), window))
    }

    fn figures(name: &str, ages: Alike) -> GroupFigures {
        let course = Course { ok: Ends::default(), fortieths: None };
        let (name, background) = (name.to_owned(), false);
        GroupFigures { name, background, ages, course, beginning: None, windows: None, open_loop: None }
    }

    fn together(runs: Vec<Vec<GroupFigures>>) -> Option<Together> {
        let run = |groups| RunFigures { groups, network: NetworkSummary::default() };
        Together::of(runs.into_iter().map(run).collect())
    }

    fn said(runs: Vec<Vec<GroupFigures>>) -> Vec<(Option<String>, String)> {
        let found = together(runs).expect("the runs belong together");
        found.invalid.into_iter().map(|reason| (reason.group, reason.message)).collect()
    }

    #[test]
    fn what_one_run_cannot_tell_ten_can() {
        let run = || vec![group("clients", 12_000, 1)];
        let of = |runs| {
            let found = together(vec![run(); runs]).expect("the runs belong together").censoring;
            found.expect("enough was seen")
        };
        let (one, ten) = (of(1), of(10));
        assert!(one.censored && !ten.censored && one.at_most > 2.0 * ten.at_most, "{one:?} {ten:?}");
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
        let all = together(vec![four]).and_then(|found| found.censoring).expect("enough was seen");
        assert!((all.at_most - all.lacking) / (more(1) / 2.0) - 1.0 < 0.1, "{all:?}");
    }

    #[test]
    fn groups_of_which_too_little_was_seen_are_judged_as_if_all_were_alike() {
        let found =
            together(vec![vec![group("many", 10_000, 0), group("few", 20, 2)]]).expect("there is a run");
        assert!(found.by_group[1].censoring.is_none() && found.censoring.is_some_and(|found| found.censored));
        assert_eq!(found.invalid.len(), 1);
        assert_eq!(found.invalid[0].group, None);
    }

    #[test]
    fn runs_that_were_made_otherwise_do_not_belong_together() {
        let mut longer = group("clients", 1_000, 0);
        longer.ages.window.duration = 20.0;
        for other in [vec![longer], vec![group("others", 1_000, 0)], vec![]] {
            assert!(together(vec![vec![group("clients", 1_000, 0)], other]).is_none());
        }
        assert!(together(Vec::new()).is_none());
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
        let found = together(vec![vec![group("clients", 15_000, 0)]; 3]).expect("the runs belong together");
        let unseen = found.censoring.and_then(|found| found.unseen).expect("nothing took so long");
        // About 10,000 a run, and what is in progress at an end of the interval.
        assert!((unseen.one_in / 10_000.0 - 1.0).abs() < 0.02, "{unseen:?}");
        assert!((unseen.adds_s / (60.0 / 10_000.0) - 1.0).abs() < 0.02, "{unseen:?}");
    }

    /// A group that ends so many transactions in each part of the run: one number until `parts` are over, and then another.
    fn ending(name: &str, parts: usize, before: u64, after: u64) -> GroupFigures {
        let ends = std::array::from_fn(|part| part as u64 % 2 + if part < parts { before } else { after });
        let mut group = group(name, 60_000, 0);
        group.course.ok = Ends(ends);
        group
    }

    fn codes(runs: Vec<Vec<GroupFigures>>) -> Vec<(ReasonCode, Option<String>)> {
        let found = together(runs).expect("the runs belong together");
        found.invalid.into_iter().map(|reason| (reason.code, reason.group)).collect()
    }

    #[test]
    fn throughput_of_each_group_must_have_settled_and_that_of_all() {
        let late = || ending("late", 140, 20, 100);
        let run = || vec![ending("steady", 0, 0, 100_000), late()];
        assert_eq!(codes(vec![run()]), [(ReasonCode::Warmup, Some("late".to_owned()))]);
        assert_eq!(codes(vec![vec![late()]]), [(ReasonCode::Warmup, None)]);
        let background = || {
            let mut run = run();
            run[1].background = true;
            run
        };
        assert_eq!(codes(vec![background()]), []);
        // A hundred groups of too few transactions each.
        let few = (0..100).map(|number| ending(&format!("group {number}"), 140, 0, 0)).map(|mut group| {
            group.course.ok = Ends(std::array::from_fn(|part| u64::from(part >= 140 && part % 4 == 0)));
            group
        });
        assert_eq!(codes(vec![few.collect()]), [(ReasonCode::Warmup, None)]);
    }

    #[test]
    fn a_beginning_that_one_run_has_is_less_in_the_mean_of_all() {
        let (late, steady) =
            (|| vec![ending("clients", 130, 80, 100)], || vec![ending("clients", 0, 0, 100)]);
        assert_eq!(codes(vec![late()]), [(ReasonCode::Warmup, None)]);
        assert_eq!(codes(vec![late(), steady(), steady(), steady()]), []);
        assert_eq!(codes(vec![late(); 4]), [(ReasonCode::Warmup, None)]);
    }

    /// A group with an open loop, whose backlog grows by about so many in each fortieth.
    fn open(grows: f64, spread: i64) -> GroupFigures {
        let mut group = group("clients", 10_000, 0);
        let change =
            |part: usize| grows.round() as i64 + if part.is_multiple_of(2) { spread } else { -spread };
        let (backlog, ok) = (std::array::from_fn(change), [250; BINS]);
        let fortieths =
            Fortieths { backlog, ok, time_ns: ok.map(|count| count * 100_000_000), replays: false };
        group.course.fortieths = Some(fortieths);
        group.open_loop = Some(Arrivals { arrivals: 10_000, begun: 10_000, shed: 0 });
        group
    }

    #[test]
    fn growth_adds_up_over_runs() {
        // 10 in each fortieth, 400 in all, with a standard error of 20 times the root of 40.
        let run = |grows, spread| vec![open(grows, spread)];
        assert_eq!(codes(vec![run(10.0, 20)]), []);
        let opposite = |place| run(10.0, if place % 2 == 0 { 20 } else { -20 });
        assert_eq!(codes((0..4).map(opposite).collect()), [(ReasonCode::Overload, None)]);
        assert_eq!(codes(vec![run(0.0, 20); 4]), []);
    }

    #[test]
    fn no_length_is_named_where_the_load_is_too_much() {
        let mut group = open(10.0, 0);
        assert_eq!(codes(vec![vec![group.clone()]]), [(ReasonCode::Overload, None)]);
        group.ages = self::group("clients", 10_000, 20).ages;
        group.open_loop = Some(Arrivals { arrivals: 10_000, begun: 9_800, shed: 200 });
        let found = together(vec![vec![group]]).expect("there is a run").invalid;
        assert_eq!(found.iter().map(|reason| reason.code).collect::<Vec<_>>(), [ReasonCode::Overload]);
        assert_eq!(found[0].enough, Lengths::default());
    }

    #[test]
    fn a_share_of_the_arrivals_of_all_runs_may_be_dropped() {
        let run = |shed| {
            let mut group = open(0.0, 0);
            group.open_loop = Some(Arrivals { arrivals: 10_000, begun: 10_000 - shed, shed });
            vec![group]
        };
        assert_eq!(codes(vec![run(150)]), [(ReasonCode::Overload, None)]);
        assert_eq!(codes(vec![run(150), run(0)]), []);
        assert_eq!(codes(vec![run(150), run(60)]), [(ReasonCode::Overload, None)]);
    }

    #[test]
    fn what_is_off_to_both_sides_is_not_off_in_the_mean() {
        let run = |in_step: f64| {
            let mut group = group("clients", 60_000, 0);
            group.beginning = Some(Beginning {
                cycle_s: 1.0,
                opened: 0.0,
                opening: 0.0,
                in_step,
                renews: false,
                enough_warmup_s: None,
                enough_s: (in_step != 0.0).then_some(100.0 * in_step.abs()),
            });
            vec![group]
        };
        assert_eq!(codes(vec![run(0.1)]), [(ReasonCode::Cycles, None)]);
        assert_eq!(codes(vec![run(0.1), run(-0.1)]), []);
        let found = together(vec![run(0.1), run(0.2)]).expect("there are runs").invalid;
        assert_eq!((found[0].code, found[0].enough.duration), (ReasonCode::Cycles, Some(20.0)));
    }

    #[test]
    fn windows_are_judged_by_the_mean_of_what_each_run_has() {
        let run = |fewer: f64| {
            let mut group = group("clients", 60_000, 0);
            let unsettled = fewer > 0.4;
            group.windows = Some(CongestionWindows {
                needed: 4.0,
                fewer,
                recovering: 1.0,
                slower: 1.5,
                effect: None,
                unsettled,
                enough_warmup_s: unsettled.then_some(60.0 + 100.0 * fewer),
            });
            vec![group]
        };
        assert_eq!(codes(vec![run(0.5)]), [(ReasonCode::Windows, None)]);
        assert_eq!(codes(vec![run(0.5), run(0.1), run(0.1)]), []);
        let found = together(vec![run(0.5), run(0.9), run(0.1)]).expect("there are runs").invalid;
        assert_eq!((found[0].code, found[0].enough.warmup), (ReasonCode::Windows, Some(150.0)));
    }

    #[test]
    fn a_warm_up_is_named_with_the_interval_after_it() {
        let found = together(vec![vec![group("clients", 10_000, 5)]]).expect("there is a run");
        let (censoring, said) = (found.censoring.expect("enough was seen"), &found.invalid[0]);
        assert_eq!(said.code, ReasonCode::Censored);
        let warmup = censoring.enough_warmup_s.expect("some warm-up is enough");
        assert!(warmup > 10.0 && 1.5 * (5.0 + censoring.enough_s.unwrap_or(7_200.0)) > 2.0 * warmup);
        assert_eq!(said.enough, Lengths { warmup: Some(warmup), duration: Some(warmup) });
    }

    #[test]
    fn an_interval_alone_is_named_where_it_takes_much_less_time() {
        let window = Window { warmup: 5.0, duration: 10.0, timeout: 60.0, closed: 1.0 };
        let found = together(vec![vec![group("clients", 10_000, 5)]]).and_then(|found| found.censoring);
        let found = found.expect("enough was seen");
        let lengths = |longer: Option<f64>, warmup: Option<f64>, slower_until: Option<f64>| {
            let found = Censoring { enough_s: longer, enough_warmup_s: warmup, ..found };
            let Lengths { warmup, duration } = found.lengths(&window, slower_until);
            (warmup, duration)
        };
        assert_eq!(lengths(Some(20.0), Some(20.0), None), (None, Some(20.0)));
        assert_eq!(lengths(Some(30.0), Some(20.0), None), (Some(20.0), Some(20.0)));
        assert_eq!(lengths(Some(20.0), None, None), (None, Some(20.0)));
        assert_eq!(lengths(None, Some(8.0), None), (Some(8.0), None));
        assert_eq!(lengths(None, None, Some(45.0)), (None, None));
        // What becomes slower is seen for as long as it does.
        assert_eq!(lengths(Some(20.0), Some(20.0), Some(45.0)), (Some(45.0), Some(45.0)));
        assert_eq!(lengths(Some(20.0), Some(60.0), Some(45.0)), (Some(60.0), Some(60.0)));
    }
}
