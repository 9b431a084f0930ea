//! What is known of the transactions of some clients, from one run or from all runs of one point.

use super::beginning::Beginning;
use super::censoring::Alike;
use super::stability::Fortieths;
use super::trend::Trend;
use super::windows::CongestionWindows;
use super::{Arrivals, NetworkSummary};
use crate::ledger::{Ends, GroupLedger};
use serde::{Deserialize, Serialize};

/// Least `ok` transactions in the intervals for the throughput of a group to be judged.
const LEAST_TRANSACTIONS: f64 = 100.0;

/// What is judged of one run.
#[derive(Clone, Debug, Deserialize)]
pub struct RunFigures {
    /// Its groups of clients.
    pub groups: Vec<GroupFigures>,
    /// Its network.
    pub network: NetworkSummary,
}

/// What is judged of the transactions of one group of clients in one run.
#[derive(Clone, Debug, Deserialize)]
pub struct GroupFigures {
    /// The group's name.
    pub name: String,
    /// Whether the figures of all groups together leave it out.
    pub background: bool,
    /// How old its transactions were.
    pub ages: Alike,
    /// When they ended.
    pub course: Course,
    /// How its clients began.
    pub beginning: Option<Beginning>,
    /// The congestion windows of its connections.
    pub windows: Option<CongestionWindows>,
    /// What became of its arrivals, in an open loop.
    pub open_loop: Option<Arrivals>,
}

/// When the transactions of a group ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Course {
    /// The `ok` ones, by equal parts of the whole run.
    pub(super) ok: Ends,
    /// Those of an open loop, by fortieths of the interval.
    pub(super) fortieths: Option<Fortieths>,
}

impl Course {
    /// That of clients who replay the times of a log or do not.
    pub(super) fn of(found: &GroupLedger, replays: bool) -> Self {
        Self { ok: found.ends.clone(), fortieths: Fortieths::of(found, replays) }
    }
}

/// The transactions of a group in all runs.
#[derive(Debug)]
pub(super) struct Clients {
    pub(super) name: String,
    pub(super) background: bool,
    pub(super) ages: Alike,
    ends: Ends,
    /// Of each run, in an open loop.
    pub(super) fortieths: Vec<Fortieths>,
    pub(super) beginning: Option<Beginning>,
    pub(super) windows: Option<CongestionWindows>,
    pub(super) arrivals: Option<Arrivals>,
}

impl Clients {
    /// Those of each group. None where there is no run, or the runs differ in their groups, or in the lengths of warm-up or interval.
    pub(super) fn by_group(runs: Vec<Vec<GroupFigures>>) -> Option<Vec<Self>> {
        let groups = runs.first()?.len();
        let mut by_group: Vec<Vec<GroupFigures>> = (0..groups).map(|_| Vec::new()).collect();
        for run in runs {
            if run.len() != groups {
                return None;
            }
            by_group.iter_mut().zip(run).for_each(|(group, figures)| group.push(figures));
        }
        by_group.into_iter().map(Self::of).collect()
    }

    fn of(runs: Vec<GroupFigures>) -> Option<Self> {
        let first = runs.first()?;
        let (name, background) = (first.name.clone(), first.background);
        let lengths = |figures: &GroupFigures| (figures.ages.window.warmup, figures.ages.window.duration);
        let alike = |run: &GroupFigures| {
            run.name == name && run.background == background && lengths(run) == lengths(first)
        };
        if !runs.iter().all(alike) {
            return None;
        }
        let beginnings: Vec<_> = runs.iter().filter_map(|run| run.beginning).collect();
        let windows: Vec<_> = runs.iter().filter_map(|run| run.windows).collect();
        Some(Self {
            ends: sum(runs.iter().map(|run| &run.course.ok)),
            fortieths: runs.iter().filter_map(|run| run.course.fortieths.clone()).collect(),
            beginning: Beginning::mean(&beginnings),
            windows: CongestionWindows::mean(&windows),
            arrivals: runs.iter().filter_map(|run| run.open_loop).reduce(Arrivals::and),
            ages: runs.into_iter().map(|run| run.ages).reduce(Alike::merge)?,
            name,
            background,
        })
    }

    /// How throughput went; none where too few transactions ended to tell.
    pub(super) fn trend(&self) -> Option<Trend> {
        let window = self.ages.window;
        let trend = Trend::of(&self.ends.0, window.warmup, window.duration)?;
        (trend.measured >= LEAST_TRANSACTIONS).then_some(trend)
    }

    /// All groups as if all clients were alike: how throughput went.
    pub(super) fn trend_of_all(groups: &[&Self]) -> Option<Trend> {
        let window = groups.first()?.ages.window;
        Trend::of(&sum(groups.iter().map(|group| &group.ends)).0, window.warmup, window.duration)
    }

    /// Those that have open loops, as if all clients were alike.
    pub(super) fn open(groups: &[&Self]) -> Option<OpenLoops> {
        let open: Vec<_> = groups.iter().filter(|group| !group.fortieths.is_empty()).collect();
        let arrivals = open.iter().filter_map(|group| group.arrivals).reduce(Arrivals::and)?;
        let together = |mine: Vec<Fortieths>, more: Vec<Fortieths>| {
            mine.into_iter().zip(&more).map(|(mine, more)| mine.and(more)).collect()
        };
        let fortieths = open.iter().map(|group| group.fortieths.clone()).reduce(together)?;
        let ages = open.iter().map(|group| group.ages.clone()).reduce(Alike::merge)?;
        Some(OpenLoops { fortieths, ages, arrivals })
    }
}

/// The open loops of several groups.
#[derive(Debug)]
pub(super) struct OpenLoops {
    /// Of each run.
    pub(super) fortieths: Vec<Fortieths>,
    pub(super) ages: Alike,
    pub(super) arrivals: Arrivals,
}

fn sum<'a>(ends: impl Iterator<Item = &'a Ends>) -> Ends {
    ends.fold(Ends::default(), |mut sum, more| {
        sum.merge(more);
        sum
    })
}
