//! What the transactions of a run say against it. Each group of several is judged by itself, because a thousand quick transactions hide one slow one
//! that never ends; all together are judged where nothing is said of any group.

use super::beginning::Asked;
use super::censoring::Alike;
use super::chance::at_least;
use super::together::as_if_alike;
use super::{Beginning, Part, Reason, Stability, Summary, Window};
use crate::ledger::{BINS, Bins, GroupLedger, Tally};
use crate::scenario::{Group, NextAfter};
use crate::{Mode, Scenario};
use std::num::NonZeroU32;
use wasp_host::{Arrival, Outcome};
use wasp_units::Probability;
use wasp_workload::Workload;

/// Least `ok` transactions for a figure to mean anything.
const LEAST_TRANSACTIONS: u64 = 100;
/// Distance in standard errors that chance does not explain.
const STANDARD_ERRORS: f64 = 5.0;
/// Chance with which a group of those of a run may have so many errors though it keeps the limit.
const CHANCE: f64 = 1e-3;
/// Share of the measured interval whose throughput is held against the rest.
pub(super) const FIRST: usize = BINS / 4;
/// Difference between the two that is let pass, as a share of the rest's.
const SETTLED: f64 = 0.10;
/// Share of the arrivals that may be dropped.
const MOST_SHED: f64 = 0.01;

/// The transactions of a run that is to be judged.
pub(super) struct Judged<'a> {
    scenario: &'a Scenario,
    /// The groups that are no background.
    groups: Vec<(&'a Group, &'a GroupLedger)>,
    /// All of them together.
    whole: &'a GroupLedger,
}

impl<'a> Judged<'a> {
    pub(super) fn new(scenario: &'a Scenario, part: &'a Part, whole: &'a GroupLedger) -> Self {
        Self { scenario, groups: measured(scenario, part).collect(), whole }
    }

    /// What is said of groups; where nothing is, or there is one only, what is said of all together.
    fn said(
        &self,
        code: &'static str,
        of_group: impl Fn(&GroupLedger) -> Option<String>,
        of_all: impl Fn(&GroupLedger) -> Option<String>,
    ) -> Vec<Reason> {
        let groups = self.groups.iter().map(|(group, found)| (group.name.as_str(), of_group(found)));
        groups_or_all(code, groups, || of_all(self.whole))
    }

    /// More of the transactions that ended were not `ok` than the scenario allows; of a group, more than chance explains.
    pub(super) fn errors(&self) -> Vec<Reason> {
        let Some(limit) = self.scenario.measure.max_errors else { return Vec::new() };
        let of_group = |found: &GroupLedger| {
            too_many(limit, &found.tally).filter(|_| !self.fails_by_chance(limit, &found.tally))
        };
        self.said("errors", of_group, |whole| too_many(limit, &whole.tally))
    }

    /// Whether a group that keeps the limit may have so many errors.
    fn fails_by_chance(&self, limit: Probability, tally: &Tally) -> bool {
        at_least(tally.errors(), tally.ended(), limit.as_f64()) >= CHANCE / self.groups.len() as f64
    }

    pub(super) fn too_few(&self) -> Option<String> {
        let ok = self.whole.tally.outcome(Outcome::Ok);
        (ok < LEAST_TRANSACTIONS)
            .then(|| format!("{ok} ok transactions; at least {LEAST_TRANSACTIONS} are needed"))
    }

    /// Groups of several of which no transaction is in any figure.
    pub(super) fn silent(&self, interval_s: f64) -> Vec<Reason> {
        if self.scenario.mode == Mode::Shim || self.groups.len() == 1 {
            return Vec::new();
        }
        // What `errors` does not say.
        let by_chance = |tally: &Tally| {
            let limit = self.scenario.measure.max_errors;
            limit.is_some_and(|limit| limit.as_f64() < 1.0 && self.fails_by_chance(limit, tally))
        };
        let told = |(group, found): &(&Group, &GroupLedger)| {
            let (ended, left) = (found.tally.ended(), found.tally.outcome(Outcome::Unfinished));
            let said = if ended > 0 {
                let none = found.tally.outcome(Outcome::Ok) == 0 && by_chance(&found.tally);
                none.then(|| {
                    format!("none of the {ended} transactions that ended was ok ({})", failures(&found.tally))
                })
            } else if left > 0 {
                Some(format!(
                    "no transaction ended in the {interval_s:.1} s of the interval; {left} were in progress at its end"
                ))
            } else {
                Some(format!("its clients asked for nothing in the {interval_s:.1} s of the interval"))
            };
            Some(Reason::of_group("silent", &group.name, &said?))
        };
        self.groups.iter().filter_map(told).collect()
    }

    /// Throughput of the interval's first quarter differs from the rest's; of a group, if it has enough transactions for figures of its own.
    pub(super) fn unsettled(&self) -> Vec<Reason> {
        let enough = |found: &GroupLedger| found.tally.outcome(Outcome::Ok) >= LEAST_TRANSACTIONS;
        self.said(
            "warmup",
            |found| if enough(found) { unsettled(&found.bins) } else { None },
            |whole| unsettled(&whole.bins),
        )
    }

    /// The offered load was not achieved, and would not be in a longer run.
    pub(super) fn overload(&self, summary: &Summary) -> Vec<Reason> {
        let (seconds, of_all) = (summary.interval_s, summary.stability);
        let of_groups = self.stabilities(summary);
        let groups = self.groups.iter().zip(of_groups);
        let groups = groups.map(|((group, found), stability)| {
            (group.name.as_str(), not_achieved(found, stability, seconds))
        });
        groups_or_all("overload", groups, || not_achieved(self.whole, of_all, seconds))
    }

    /// What is offered is nearly all that can be taken, so that the run is too short to know the queue. Nothing is said of those that are in `overload`.
    pub(super) fn near_capacity(&self, summary: &Summary, overload: &[Reason]) -> Vec<Reason> {
        if overload.iter().any(|reason| reason.group.is_none()) {
            return Vec::new();
        }
        let overloaded = |name: &str| overload.iter().any(|reason| reason.group.as_deref() == Some(name));
        let groups = self.groups.iter().zip(self.stabilities(summary));
        let groups = groups.map(|((group, _), stability)| {
            let name = group.name.as_str();
            (name, stability.filter(|_| !overloaded(name)).and_then(|stability| remembers(&stability)))
        });
        let whole = summary.stability.filter(|_| overload.is_empty());
        groups_or_all("near_capacity", groups, || whole.and_then(|stability| remembers(&stability)))
    }

    /// Those of the groups that are no background.
    fn stabilities(&self, summary: &Summary) -> Vec<Option<Stability>> {
        let measured = summary.by_group.iter().filter(|group| !group.background);
        measured.map(|group| group.stability).collect()
    }
}

/// The groups that are no background.
fn measured<'a>(
    scenario: &'a Scenario,
    part: &'a Part,
) -> impl Iterator<Item = (&'a Group, &'a GroupLedger)> {
    scenario.clients.iter().zip(&part.ledger.groups).filter(|(group, _)| !group.background)
}

/// What is said of groups; what is said of all together where there is one group only, or nothing is said of any.
pub(super) fn groups_or_all<'a>(
    code: &'static str,
    groups: impl Iterator<Item = (&'a str, Option<String>)>,
    all: impl Fn() -> Option<String>,
) -> Vec<Reason> {
    let groups: Vec<_> = groups.collect();
    let several = groups.len() > 1;
    let said = groups.into_iter().filter_map(|(name, said)| Some(Reason::of_group(code, name, &said?)));
    let said: Vec<_> = said.filter(|_| several).collect();
    if said.is_empty() {
        all().map(|message| Reason::of_all(code, message)).into_iter().collect()
    } else {
        said
    }
}

fn too_many(limit: Probability, tally: &Tally) -> Option<String> {
    let share = tally.errors() as f64 / tally.ended().max(1) as f64;
    (share > limit.as_f64()).then(|| {
        format!(
            "{:.1} % of the {} transactions that ended were not ok ({}); at most {limit} is allowed (measure.max_errors)",
            100.0 * share,
            tally.ended(),
            failures(tally)
        )
    })
}

/// The outcomes other than `ok` with their counts, and the status codes behind `http_error`.
fn failures(tally: &Tally) -> String {
    let listed = |counts: Vec<(String, u64)>| {
        let counts = counts.into_iter().filter(|(_, count)| *count > 0);
        counts.map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
    };
    let failed = |outcome: &Outcome| !matches!(outcome, Outcome::Ok | Outcome::Unfinished);
    let outcomes = Outcome::ALL.into_iter().filter(failed);
    let outcomes = listed(outcomes.map(|outcome| (outcome.to_string(), tally.outcome(outcome))).collect());
    let statuses = tally.statuses().into_iter().filter(|(status, _)| *status >= 400);
    let statuses = listed(statuses.map(|(status, count)| (format!("status {status}:"), count)).collect());
    if statuses.is_empty() { outcomes } else { format!("{outcomes}; {statuses}") }
}

/// Whether the throughput of the interval's first quarter differs from the rest's by more than 10 % and by more than five standard errors.
pub(super) fn unsettled(Bins(bins): &Bins) -> Option<String> {
    let (first, first_error) = mean(&bins[..FIRST]);
    let (rest, rest_error) = mean(&bins[FIRST..]);
    let difference = (first - rest).abs();
    let error = first_error.hypot(rest_error);
    let settled = difference <= SETTLED * rest || difference <= STANDARD_ERRORS * error;
    (!settled).then(|| {
        format!(
            "the warm-up had not settled: {first:.1} transactions a fortieth of the interval in its first quarter, \
             {rest:.1} in the rest"
        )
    })
}

/// Mean and its standard error.
fn mean(bins: &[u64]) -> (f64, f64) {
    let n = bins.len() as f64;
    let mean = bins.iter().sum::<u64>() as f64 / n;
    let squares: f64 = bins.iter().map(|bin| (*bin as f64 - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0) / n).sqrt())
}

/// The transactions of one group; none in a run that was stopped.
pub(super) fn ages_of_group(
    scenario: &Scenario,
    part: &Part,
    group: &Group,
    found: &GroupLedger,
) -> Option<Alike> {
    if part.is_stopped(scenario) { None } else { Some(alike(scenario, group, found)) }
}

fn alike(scenario: &Scenario, group: &Group, found: &GroupLedger) -> Alike {
    let measure = &scenario.measure;
    let (warmup, duration) = (measure.warmup.as_secs_f64(), measure.duration.as_secs_f64());
    let timeout = group.http.abort.and_then(|abort| abort.after).unwrap_or(group.http.timeout).as_secs_f64();
    let in_progress = found.in_progress as f64 / 1e9;
    let closed = if found.is_open() { 0.0 } else { (in_progress / (places(group) * duration)).min(1.0) };
    Alike { ages: found.ages.clone(), window: Window { warmup, duration, timeout, closed }, in_progress }
}

/// Most transactions that a group's clients have in progress.
fn places(group: &Group) -> f64 {
    f64::from(group.count) * f64::from(group.http.connections) * f64::from(group.http.pipeline)
}

/// A length of time as people say it, without digits that mean nothing.
pub(super) fn length(seconds: f64) -> String {
    match seconds {
        3600.0.. => format!("{} h", seconds / 3600.0),
        120.0.. => format!("{} min", seconds / 60.0),
        _ => format!("{seconds} s"),
    }
}

/// How the clients of a group began; none where the run was stopped, or the clients are programs.
pub(super) fn beginning_of_group(
    scenario: &Scenario,
    part: &Part,
    group: &Group,
    found: &GroupLedger,
) -> Option<Beginning> {
    if part.is_stopped(scenario) || scenario.mode == Mode::Shim {
        return None;
    }
    let shared = &scenario.network.shared;
    let each = if found.is_open() { 1 } else { group.http.connections };
    let has_pages = matches!(scenario.workload.options, Workload::Surge(_));
    let http = &group.http;
    let is_plain =
        !found.is_open() && !has_pages && http.pipeline == 1 && http.next_after == NextAfter::Response;
    let pause = group.think.map_or(0.0, |think| think.mean().as_secs_f64());
    let asked = Asked {
        connections: f64::from(group.count) * f64::from(each),
        // Arrivals come to each client within a cycle, which is known to about a tenth. Clients that pause ask in the first half of a warm-up of four pauses;
        // those of pages, whose files come together, in one of two cycles of all their connections.
        cycles: if found.is_open() {
            1.2
        } else if has_pages {
            2.0
        } else {
            4.0
        },
        pause: is_plain.then_some(pause),
        requests: group.http.requests_per_connection.map(NonZeroU32::get),
        rtt: (group.rtt + shared.up.delay + shared.down.delay).as_secs_f64(),
        warmup: scenario.measure.warmup.as_secs_f64(),
        duration: scenario.measure.duration.as_secs_f64(),
    };
    Beginning::of(found, &asked)
}

/// Whether the open loop of a group offers what can be taken; none where there is no open loop, or the run was stopped.
pub(super) fn stability_of_group(
    scenario: &Scenario,
    part: &Part,
    group: &Group,
    found: &GroupLedger,
) -> Option<Stability> {
    if part.is_stopped(scenario) {
        return None;
    }
    Stability::of(found, &alike(scenario, group, found), group.arrivals.is_none())
}

/// The same of all open loops, as if all clients were alike.
pub(super) fn stability(scenario: &Scenario, part: &Part) -> Option<Stability> {
    let open: Vec<_> = measured(scenario, part).filter(|(_, found)| found.is_open()).collect();
    let mut whole = GroupLedger::default();
    open.iter().for_each(|(_, found)| whole.add_counts(found));
    let replays = open.iter().any(|(group, _)| group.arrivals.is_none());
    let alike = as_if_alike(open.iter().map(|(group, found)| alike(scenario, group, found)).collect())?;
    if part.is_stopped(scenario) { None } else { Stability::of(&whole, &alike, replays) }
}

/// An open loop whose arrivals were dropped, or came faster than they ended.
fn not_achieved(found: &GroupLedger, stability: Option<Stability>, interval_s: f64) -> Option<String> {
    let (arrivals, shed) = (found.arrivals(Arrival::Generated)?, found.arrivals(Arrival::Shed)?);
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
            "the offered load was not achieved: {:.1} arrivals/s came, and {seen}; {help}lower the rate, or give clients more connections",
            arrivals as f64 / interval_s
        )
    })
}

/// A queue whose length says what it was a long time before.
fn remembers(stability: &Stability) -> Option<String> {
    let (correlation, error) = stability.serial_correlation.zip(stability.standard_error)?;
    stability.is_near_capacity().then(|| {
        let doubt = if stability.may_grow() { ", or above it" } else { "" };
        let longer = stability.enough_s.map_or_else(
            || "even 2 h are not enough".to_owned(),
            |seconds| format!("measure for at least {}", length(seconds)),
        );
        format!(
            "the interval was too short for a queue that seems to be near its capacity{doubt}: the mean response time is known to {:.0} % only, since that of \
             each fortieth of the interval follows the one before (correlation {correlation:.2}); {longer}, or offer less",
            100.0 * error
        )
    })
}
