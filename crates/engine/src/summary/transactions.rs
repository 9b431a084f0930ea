//! What the transactions of a run say against it. Each group of several is judged by itself, because a thousand quick transactions hide one slow one
//! that never ends; all together are judged where nothing is said of any group.

use super::beginning::Asked;
use super::censoring::{Alike, LENGTHS};
use super::chance::at_least;
use super::figures::Course;
use super::reason::{Said, groups_or_all};
use super::{Beginning, Lengths, Part, Reason, ReasonCode, Window};
use crate::build::GroupPaths;
use crate::ledger::{GroupLedger, Tally};
use crate::scenario::{Group, NextAfter};
use crate::{Mode, Scenario};
use std::num::NonZeroU32;
use wasp_app::Outcome;
use wasp_units::Probability;
use wasp_workload::Workload;

/// Least `ok` transactions for a figure to mean anything.
const LEAST_TRANSACTIONS: u64 = 100;
/// How many more are aimed at.
const MORE: f64 = 1.5;
/// Chance with which a group of those of a run may have so many errors though it keeps the limit.
const CHANCE: f64 = 1e-3;

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
        code: ReasonCode,
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
        self.said(ReasonCode::Errors, of_group, |whole| too_many(limit, &whole.tally))
    }

    /// Whether a group that keeps the limit may have so many errors.
    fn fails_by_chance(&self, limit: Probability, tally: &Tally) -> bool {
        at_least(tally.errors(), tally.ended(), limit.as_f64()) >= CHANCE / self.groups.len() as f64
    }

    /// Too few `ok` transactions of all groups. A longer interval helps unless others failed, or the run ended before its time.
    pub(super) fn too_few(&self, interval_s: f64, is_stopped: bool) -> Option<Said> {
        let tally = &self.whole.tally;
        let ok = tally.outcome(Outcome::Ok);
        let enough = if is_stopped || ok == 0 || tally.errors() > ok {
            Lengths::default()
        } else {
            longer(interval_s * MORE * LEAST_TRANSACTIONS as f64 / ok as f64)
        };
        (ok < LEAST_TRANSACTIONS).then(|| {
            Said::with(format!("{ok} ok transactions; at least {LEAST_TRANSACTIONS} are needed"), enough)
        })
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
            // How long its transactions take is not known.
            let unheard = longer(4.0 * interval_s);
            let enough =
                if ended > 0 { Lengths::default() } else { Lengths { warmup: unheard.duration, ..unheard } };
            Some(Reason::of_group(ReasonCode::Silent, &group.name, Said::with(said?, enough)))
        };
        self.groups.iter().filter_map(told).collect()
    }
}

/// An interval of so many seconds.
fn longer(seconds: f64) -> Lengths {
    Lengths::duration(LENGTHS.into_iter().find(|length| *length >= seconds))
}

/// The groups that are no background.
fn measured<'a>(
    scenario: &'a Scenario,
    part: &'a Part,
) -> impl Iterator<Item = (&'a Group, &'a GroupLedger)> {
    scenario.clients.iter().zip(&part.ledger.groups).filter(|(group, _)| !group.background)
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

/// The outcomes other than `ok` with their counts, and the status codes behind `http_error`, where every code of 400 or above is one of these: a
/// named request may expect one, or find one wrong.
fn failures(tally: &Tally) -> String {
    let listed = |counts: Vec<(String, u64)>| {
        let counts = counts.into_iter().filter(|(_, count)| *count > 0);
        counts.map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
    };
    let failed = |outcome: &Outcome| !matches!(outcome, Outcome::Ok | Outcome::Unfinished);
    let outcomes = Outcome::ALL.into_iter().filter(failed);
    let outcomes = listed(outcomes.map(|outcome| (outcome.to_string(), tally.outcome(outcome))).collect());
    let statuses: Vec<_> = tally.statuses().into_iter().filter(|(status, _)| *status >= 400).collect();
    let are_errors =
        statuses.iter().map(|(_, count)| count).sum::<u64>() == tally.outcome(Outcome::HttpError);
    let statuses = statuses.into_iter().filter(|_| are_errors);
    let statuses = listed(statuses.map(|(status, count)| (format!("status {status}:"), count)).collect());
    if statuses.is_empty() { outcomes } else { format!("{outcomes}; {statuses}") }
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

/// When its transactions ended; none likewise.
pub(super) fn course_of_group(
    scenario: &Scenario,
    part: &Part,
    group: &Group,
    found: &GroupLedger,
) -> Option<Course> {
    if part.is_stopped(scenario) { None } else { Some(Course::of(found, group.arrivals.is_none())) }
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

/// How the clients of a group began; none where the run was stopped, or the clients are programs.
pub(super) fn beginning_of_group(
    scenario: &Scenario,
    part: &Part,
    (group, paths): (&Group, &GroupPaths),
    found: &GroupLedger,
) -> Option<Beginning> {
    if part.is_stopped(scenario) || scenario.mode == Mode::Shim {
        return None;
    }
    let each = if found.is_open() { 1 } else { group.http.connections };
    let has_pages = matches!(scenario.workload_of(group).options, Workload::Surge(_));
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
        rtt: paths.round_trip().as_secs_f64(),
        warmup: scenario.measure.warmup.as_secs_f64(),
        duration: scenario.measure.duration.as_secs_f64(),
    };
    Beginning::of(found, &asked)
}
