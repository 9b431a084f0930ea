//! The figures of one run.

mod beginning;
mod censoring;
mod chance;
mod figures;
mod first_losses;
mod losses;
mod observed;
mod part;
mod reason;
mod sender;
mod stability;
mod survival;
mod together;
mod totals;
mod transactions;
mod trend;
mod validity;
mod windows;

pub use beginning::Beginning;
pub use censoring::{Alike, Censoring, Unseen, alike};
pub use figures::{Course, GroupFigures, RunFigures};
pub use first_losses::FirstLosses;
pub use observed::{LinkSummary, WaitingTime};
pub use part::Part;
pub use reason::{Lengths, Reason, ReasonCode};
pub use stability::{Fortieths, Stability};
pub use survival::Window;
pub use together::{GroupTogether, Together};
pub(crate) use totals::{Measured, Watch};
pub use trend::Trend;
pub use windows::CongestionWindows;

use crate::build::{GroupPaths, group_paths};
use crate::lateness::Lateness;
use crate::ledger::{EcnTotals, GroupLedger, GroupTimes, NamedLedger, SessionLedger, TimedTally};
use crate::scenario::LoadedLink;
use crate::{Counters, CrossTraffic, Ledger, LinkRow, MachineReport, ObservedLink, RunError, Scenario};
use hdrhistogram::{Counter, Histogram};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use totals::DirectionTotals;
use wasp_app::{Arrival, Outcome, TcpTotals, WorkDone, WorkKind};
use wasp_net::{CrossCounters, Fate};

/// What a run leaves behind.
#[derive(Debug)]
pub struct RunOutput {
    /// The figures.
    pub summary: Summary,
    /// Every record.
    pub ledger: Ledger,
    /// Every link.
    pub links: Vec<LinkRow>,
    /// The links that are observed.
    pub observed: Vec<ObservedLink>,
    /// Why the run ended before its time, unless it was stopped.
    pub failure: Option<RunError>,
}

/// The figures of one run; a figure that does not exist is null.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Length of the measured interval in seconds.
    pub interval_s: f64,
    /// `ok` transactions a second.
    pub throughput: f64,
    /// Bits of `ok` bodies a second.
    pub goodput_bps: f64,
    /// Transactions by outcome.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Whole responses (`ok`, `http_error` and `wrong`) by status code.
    pub statuses: BTreeMap<u16, u64>,
    /// Each group by itself, in the order of their index.
    pub by_group: Vec<GroupSummary>,
    /// What the named requests of all groups that are no background did, by name.
    pub requests: Vec<RequestSummary>,
    /// What their sessions did; none if no group makes sessions.
    pub sessions: Option<SessionSummary>,
    /// Transactions among all of them that were made once more, on a new connection.
    pub retried: u64,
    /// Of the `ok` transactions; from their intended start, if they have one.
    pub response_time_ms: ResponseTime,
    /// Of all that ended, whatever their outcome.
    pub all_response_time_ms: ResponseTime,
    /// What transactions that the interval was too short for do to the mean; none for a run that was stopped, or of too few transactions.
    pub censoring: Option<Censoring>,
    /// Whether throughput had settled; none for a run that was stopped, or of too few transactions.
    pub trend: Option<Trend>,
    /// The open loop, if a group has one.
    pub open_loop: Option<OpenLoop>,
    /// Whether it offers what can be taken.
    pub stability: Option<Stability>,
    /// The server's CPUs.
    pub server_cpu: ServerCpu,
    /// What the jobs of the modelled server's machine cost in the measured interval, by kind of work; none of a flat server.
    pub server_work: Option<Vec<ServerWork>>,
    /// What connections did with ECN in the whole run, if a group asks for it.
    pub ecn: Option<EcnTotals>,
    /// The modelled server's TCP over the whole run.
    pub server_tcp: Option<TcpTotals>,
    /// The emulator, in a live run.
    pub emulator: Option<Emulator>,
    /// How long it kept the packets of each group waiting, in the order of the groups' index.
    pub lateness: Option<Vec<GroupLateness>>,
    /// The network's own account over the measured interval.
    pub network: NetworkSummary,
    /// What became of each cross traffic over the measured interval.
    pub cross_traffic: Vec<CrossSummary>,
    /// What links that are observed did in it; empty if it did not begin.
    pub observed: Vec<LinkSummary>,
    /// How far the device's counters grew in the measured interval of a live run.
    pub device: Option<Counters>,
    /// The same of the clients' device, where the clients are programs.
    pub client_device: Option<Counters>,
    /// The same of the kernel's TCP counters: `Tcp` and `TcpExt` (SNMP).
    pub tcpext: Option<Counters>,
    /// The same of the whole machine's packet backlog.
    pub softnet: Option<Counters>,
    /// Packets by fate over the whole run.
    pub fates: BTreeMap<&'static str, u64>,
    /// Packets over the whole run: made = sum of fates + in flight.
    pub packets: PacketSummary,
    /// Little's law over the measured interval.
    pub little: Little,
    /// Names of the groups, in the order of their index.
    pub groups: Vec<String>,
    /// The table of transactions holds one in so many: 1 if it holds all.
    pub transactions_kept_one_in: u64,
    /// Events that the kernel handled.
    pub events: u64,
    /// Why the run must not be trusted.
    pub invalid: Vec<Reason>,
}

/// What the transactions of one group of clients did.
#[derive(Clone, Debug, Serialize)]
pub struct GroupSummary {
    /// The group's name.
    pub name: String,
    /// Whether the figures of all groups together leave it out.
    pub background: bool,
    /// `ok` transactions a second.
    pub throughput: f64,
    /// Bits of `ok` bodies a second.
    pub goodput_bps: f64,
    /// Transactions by outcome.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Whole responses by status code.
    pub statuses: BTreeMap<u16, u64>,
    /// Of the `ok` transactions; from their intended start, if they have one.
    pub response_time_ms: ResponseTime,
    /// Of all that ended, whatever their outcome.
    pub all_response_time_ms: ResponseTime,
    /// Those of its transactions that were in progress in the interval; none in a run that was stopped.
    pub ages: Option<Alike>,
    /// When they ended; none likewise.
    pub course: Option<Course>,
    /// By named request; none where its requests have no names.
    pub requests: Vec<RequestSummary>,
    /// Of its whole sessions; none where its clients make none.
    pub sessions: Option<SessionSummary>,
    /// As for all groups together.
    pub censoring: Option<Censoring>,
    /// Whether throughput had settled; none for a run that was stopped, or of too few transactions.
    pub trend: Option<Trend>,
    /// How its clients began; none for a run that was stopped, or of too few transactions.
    pub beginning: Option<Beginning>,
    /// What losses had done to the congestion windows of its connections; none where that decides nothing.
    pub windows: Option<CongestionWindows>,
    /// What became of its arrivals, if it has an open loop.
    pub open_loop: Option<Arrivals>,
    /// Whether that offers what can be taken.
    pub stability: Option<Stability>,
}

/// What the transactions of one named request did.
#[derive(Clone, Debug, Serialize)]
pub struct RequestSummary {
    /// The request's name.
    pub name: String,
    /// What they did.
    #[serde(flatten)]
    pub timed: TimedSummary,
}

/// What whole sessions did, from their first step to their last, or to the first that failed.
#[derive(Clone, Debug, Serialize)]
pub struct SessionSummary {
    /// What they did: a session ended as its last step did, and its response time is the sum of those of its steps. In the response times of all
    /// that ended, one that failed counts with an hour, longer than any other, and there is no mean.
    #[serde(flatten)]
    pub timed: TimedSummary,
    /// How long the `ok` ones lasted on average, pauses included, in seconds; from their intended start, if they have one.
    pub duration_s: Option<f64>,
    /// With which step those ended that failed, by its name.
    pub failed_at: BTreeMap<String, u64>,
}

/// Counts and response times of the transactions of one named request, or of whole sessions.
#[derive(Clone, Debug, Serialize)]
pub struct TimedSummary {
    /// `ok` ones a second.
    pub throughput: f64,
    /// Bits of the bodies of the `ok` ones a second.
    pub goodput_bps: f64,
    /// How many there were by outcome.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Whole responses by status code.
    pub statuses: BTreeMap<u16, u64>,
    /// Of the `ok` ones.
    pub response_time_ms: ResponseTime,
    /// Of all that ended.
    pub all_response_time_ms: ResponseTime,
}

/// Response times in milliseconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct ResponseTime {
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Longest.
    pub max: Option<f64>,
}

/// The arrivals of an open loop over the measured interval.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Arrivals {
    /// Arrivals that came.
    pub arrivals: u64,
    /// Arrivals that began, those that had waited included.
    pub begun: u64,
    /// Arrivals that were dropped, because as many as may wait did.
    pub shed: u64,
}

impl Arrivals {
    /// Those of both.
    fn and(self, other: Self) -> Self {
        Self {
            arrivals: self.arrivals.saturating_add(other.arrivals),
            begun: self.begun.saturating_add(other.begun),
            shed: self.shed.saturating_add(other.shed),
        }
    }
}

/// The open loops of all groups.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OpenLoop {
    /// What became of their arrivals.
    #[serde(flatten)]
    pub counts: Arrivals,
    /// Of the `ok` transactions, from their actual start: what a closed loop would have measured.
    pub from_start_ms: ResponseTime,
}

/// The server's CPUs over the measured interval.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ServerCpu {
    /// Busy share, 0 to 1.
    pub busy: Option<f64>,
    /// Share that threads of others than the run took, 0 to 1.
    pub others: Option<f64>,
    /// Share that the hypervisor took, 0 to 1; of the emulator's CPUs too.
    pub steal: Option<f64>,
    /// CPU seconds of the server's processes.
    pub processes_s: Option<f64>,
    /// How often threads of the server's processes were put on a CPU.
    pub switches: Option<u64>,
}

/// Work of one kind that the modelled server did.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ServerWork {
    /// Its name.
    pub kind: &'static str,
    /// How often, in jobs that began in the interval; of `byte`, how many bytes.
    pub number: u64,
    /// CPU seconds that these cost.
    pub cpu_s: f64,
}

/// The emulator over the measured interval.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Emulator {
    /// Busy share of its thread, 0 to 1; of the busiest if there are several.
    pub cpu: Option<f64>,
    /// Share of the time of its CPUs that threads of others than the run took, 0 to 1.
    pub others: Option<f64>,
    /// Share of the interval in which its thread was ready to run and waited for its CPU, 0 to 1; the longest of its threads' shares.
    pub run_delay: Option<f64>,
    /// Share of the interval in which it waited so while others had its CPU, 0 to 1.
    pub run_delay_by_others: Option<f64>,
    /// How many threads it had.
    pub threads: u32,
    /// How late packets left, in microseconds.
    pub lag_us: Waits,
    /// The most that frames can have waited before they were read, in microseconds.
    pub unread_us: Waits,
}

/// How long the emulator kept the packets of one group's clients waiting.
#[derive(Clone, Debug, Serialize)]
pub struct GroupLateness {
    /// The group's name.
    pub group: String,
    /// What is allowed at the 99th percentile of both, in microseconds: 1 ms or 1 % of the group's least round-trip time, whichever is more.
    pub limit_us: f64,
    /// How late packets left, in microseconds.
    pub lag_us: Waits,
    /// The most that frames can have waited before they were read, in microseconds.
    pub unread_us: Waits,
}

/// How long something waited.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Waits {
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Most.
    pub max: f64,
}

/// Both directions.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct NetworkSummary {
    /// From the clients.
    pub up: DirectionSummary,
    /// To the clients.
    pub down: DirectionSummary,
}

/// One cross traffic over the measured interval. What crosses several access links is counted on all of them together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CrossSummary {
    /// Its name.
    pub name: String,
    /// The link that it loads: its name, or the group whose access links it loads.
    pub link: String,
    /// The direction of the link.
    pub direction: String,
    /// How many links those are.
    pub links: u32,
    /// Packets that came to their entrances.
    pub packets: u64,
    /// Bits of them a second, headers included.
    pub offered_bps: f64,
    /// Packets lost at random.
    pub lost: u64,
    /// Packets dropped for another reason, copies among them.
    pub dropped: u64,
    /// Those of them that a queue discipline dropped early: although there was room.
    pub dropped_early: u64,
}

/// One direction of the network over the measured interval, without cross traffic (but `held` and `reordered` include it).
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct DirectionSummary {
    /// Packets that came to the access links.
    pub packets: u64,
    /// Packets lost at random.
    pub lost: u64,
    /// `lost` / `packets`.
    pub loss_rate: Option<f64>,
    /// Packets dropped for another reason.
    pub dropped: u64,
    /// Those of them that queue disciplines dropped early: although there was room. Results of older versions do not know it, nor the next
    /// five; runs are not judged by them.
    #[serde(skip_deserializing)]
    pub dropped_early: u64,
    /// Packets that queue disciplines marked.
    #[serde(skip_deserializing)]
    pub marked: u64,
    /// Packets in which a link flipped a bit.
    #[serde(skip_deserializing)]
    pub corrupted: u64,
    /// Copies that links made.
    #[serde(skip_deserializing)]
    pub duplicated: u64,
    /// Packets that were held back so that others may overtake them.
    #[serde(skip_deserializing)]
    pub held: u64,
    /// Those of them that others have overtaken.
    #[serde(skip_deserializing)]
    pub reordered: u64,
    /// The sum of the packets' conditional probabilities of loss, over `packets`.
    pub expected_loss_rate: Option<f64>,
    /// Standard error of `loss_rate` about that.
    pub expected_standard_error: Option<f64>,
    /// The long-run rate of the loss models, weighted by the packets that met them.
    pub stationary_loss_rate: Option<f64>,
}

/// Packets of the whole run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PacketSummary {
    /// Packets made.
    pub made: u64,
    /// Packets whose fate was open when the run ended.
    pub in_flight: u64,
}

/// Both sides of Little's law in seconds; equal to rounding.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Little {
    /// Time integral of the transactions in progress.
    pub integral_s: f64,
    /// Sum over the records of their part inside the interval.
    pub records_s: f64,
}

/// Sums a run up out of the parts of its threads.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn sum_up(scenario: &Scenario, parts: Vec<Part>) -> RunOutput {
    let whole = |mut whole: Part, part: Part| {
        whole.merge(part);
        whole
    };
    let part = parts.into_iter().reduce(whole).expect("a run has a thread");
    let ledger = &part.ledger;
    let seconds = ledger.interval().duration().as_secs_f64();
    let (integral, overlap) = ledger.little();
    let whole = ledger.whole();
    let ok_times = response_time(&ledger.response_times, whole.ok_sum);
    let all_times = response_time(&ledger.all_times(), whole.all_sum());
    let paths = group_paths(scenario);
    let by_group = by_group(scenario, &paths, &part, [ok_times, all_times]);
    let mut summary = Summary {
        interval_s: seconds,
        throughput: per_second(whole.tally.outcome(Outcome::Ok), seconds),
        goodput_bps: per_second(whole.body_bytes * 8, seconds),
        outcomes: whole.tally.outcomes(),
        statuses: whole.tally.statuses(),
        retried: ledger.retried(),
        response_time_ms: ok_times,
        all_response_time_ms: all_times,
        censoring: None,
        trend: None,
        open_loop: open_loop(ledger, &whole),
        stability: None,
        by_group,
        requests: ledger.named().iter().map(|named| by_name(named, seconds)).collect(),
        sessions: ledger.sessions().map(|found| of_sessions(&found, seconds)),
        server_cpu: server_cpu(&part.measured, &part.machine, seconds),
        server_work: part.measured.server_work.as_ref().map(server_work),
        ecn: scenario.asks_for_ecn().then(|| ledger.ecn()),
        server_tcp: part.measured.server_tcp,
        emulator: part.lateness.as_ref().map(|lateness| emulator(lateness, &part)),
        lateness: part.lateness.as_ref().map(|lateness| waits_by_group(scenario, &paths, lateness)),
        network: NetworkSummary {
            up: direction(&part.measured.totals.up),
            down: direction(&part.measured.totals.down),
        },
        cross_traffic: cross_traffic(scenario, &part.measured.totals.cross, seconds),
        observed: observed::observed(scenario, &part.observed, seconds),
        device: part.machine.counters.device.clone(),
        client_device: part.machine.counters.client_device.clone(),
        tcpext: part.machine.counters.tcp.clone(),
        softnet: part.machine.counters.softnet.clone(),
        fates: Fate::ALL.iter().map(|fate| (fate.name(), part.fates.get(*fate))).collect(),
        packets: PacketSummary { made: part.packets.0, in_flight: part.packets.1 },
        little: Little { integral_s: integral as f64 / 1e9, records_s: overlap as f64 / 1e9 },
        groups: scenario.clients.iter().map(|group| group.name.clone()).collect(),
        transactions_kept_one_in: ledger.transactions.one_in(),
        events: part.events,
        invalid: Vec::new(),
    };
    let together = summary.figures().and_then(|figures| Together::of(vec![figures]));
    let said = match together {
        Some(together) => summary.take(together),
        None => together::of_stopped(&summary),
    };
    summary.invalid = validity::reasons(scenario, &part, &whole, &summary, said);
    let Part { links, observed, ledger, failure, .. } = part;
    RunOutput { summary, links, observed, ledger, failure }
}

impl Summary {
    /// What is judged of it; none of a run that was stopped.
    fn figures(&self) -> Option<RunFigures> {
        let groups = self.by_group.iter().map(GroupSummary::figures).collect::<Option<_>>()?;
        Some(RunFigures { groups, network: self.network })
    }

    /// Takes in what is said of it, and returns the reasons.
    fn take(&mut self, together: Together) -> Vec<Reason> {
        let Together { censoring, trend, stability, by_group, invalid } = together;
        (self.censoring, self.trend, self.stability) = (censoring, trend, stability);
        for (group, found) in self.by_group.iter_mut().zip(by_group) {
            (group.censoring, group.stability, group.trend) = (found.censoring, found.stability, found.trend);
        }
        invalid
    }
}

impl GroupSummary {
    fn figures(&self) -> Option<GroupFigures> {
        Some(GroupFigures {
            name: self.name.clone(),
            background: self.background,
            ages: self.ages.clone()?,
            course: self.course.clone()?,
            beginning: self.beginning,
            windows: self.windows,
            open_loop: self.open_loop,
        })
    }
}

fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

fn response_time<C: Counter>(times: &Histogram<C>, sum: u128) -> ResponseTime {
    if times.is_empty() {
        return ResponseTime::default();
    }
    let ms = |nanos: u64| Some(nanos as f64 / 1e6);
    ResponseTime {
        mean: ms((sum / u128::from(times.len())) as u64),
        p50: ms(times.value_at_quantile(0.5)),
        p90: ms(times.value_at_quantile(0.9)),
        p99: ms(times.value_at_quantile(0.99)),
        max: ms(times.max()),
    }
}

/// The figures of each group. The response times of the only one are `those_of_run`: of the `ok` transactions, and of all.
fn by_group(
    scenario: &Scenario,
    paths: &[GroupPaths],
    part: &Part,
    those_of_run: [ResponseTime; 2],
) -> Vec<GroupSummary> {
    let ledger = &part.ledger;
    let seconds = ledger.interval().duration().as_secs_f64();
    let groups = scenario.clients.iter().zip(paths).zip(&ledger.groups);
    groups
        .map(|((group, paths), found)| {
            let own = |times: &GroupTimes| {
                [response_time(&times.ok, found.ok_sum), response_time(&times.all(), found.all_sum())]
            };
            let [ok, all] = found.times.as_ref().map_or(those_of_run, own);
            GroupSummary {
                name: group.name.clone(),
                background: group.background,
                throughput: per_second(found.tally.outcome(Outcome::Ok), seconds),
                goodput_bps: per_second(found.body_bytes * 8, seconds),
                outcomes: found.tally.outcomes(),
                statuses: found.tally.statuses(),
                response_time_ms: ok,
                all_response_time_ms: all,
                ages: transactions::ages_of_group(scenario, part, group, found),
                course: transactions::course_of_group(scenario, part, group, found),
                censoring: None,
                trend: None,
                beginning: transactions::beginning_of_group(scenario, part, (group, paths), found),
                windows: CongestionWindows::of_group(scenario, part, (group, paths), found),
                requests: found.named.iter().map(|named| by_name(named, seconds)).collect(),
                sessions: found.sessions.as_ref().map(|found| of_sessions(found, seconds)),
                open_loop: arrivals(found),
                stability: None,
            }
        })
        .collect()
}

fn by_name(named: &NamedLedger, seconds: f64) -> RequestSummary {
    RequestSummary { name: named.name.to_string(), timed: timed(&named.timed, seconds) }
}

fn of_sessions(found: &SessionLedger, seconds: f64) -> SessionSummary {
    let ok = found.timed.tally.outcome(Outcome::Ok);
    let failed = found.failed_at.iter().filter(|(_, count)| *count > 0);
    let mut timed = timed(&found.timed, seconds);
    // A session that failed counts with the most that a histogram has.
    timed.all_response_time_ms.mean = None;
    SessionSummary {
        timed,
        duration_s: (ok > 0).then(|| found.ok_duration_sum as f64 / 1e9 / ok as f64),
        failed_at: failed.map(|(name, count)| (name.to_string(), *count)).collect(),
    }
}

fn timed(tally: &TimedTally, seconds: f64) -> TimedSummary {
    let of = |times: &GroupTimes| {
        [response_time(&times.ok, tally.ok_sum), response_time(&times.all(), tally.all_sum())]
    };
    let [ok, all] = tally.times().map(of).unwrap_or_default();
    TimedSummary {
        throughput: per_second(tally.tally.outcome(Outcome::Ok), seconds),
        goodput_bps: per_second(tally.body_bytes * 8, seconds),
        outcomes: tally.tally.outcomes(),
        statuses: tally.tally.statuses(),
        response_time_ms: ok,
        all_response_time_ms: all,
    }
}

fn arrivals(found: &GroupLedger) -> Option<Arrivals> {
    let count = |arrival| found.arrivals(arrival);
    Some(Arrivals {
        arrivals: count(Arrival::Generated)?,
        begun: count(Arrival::Begun)?,
        shed: count(Arrival::Shed)?,
    })
}

fn open_loop(ledger: &Ledger, whole: &GroupLedger) -> Option<OpenLoop> {
    let from_start = ledger.times_from_start();
    Some(OpenLoop {
        counts: arrivals(whole)?,
        from_start_ms: from_start.map(|found| response_time(&found.times, found.sum)).unwrap_or_default(),
    })
}

fn server_cpu(measured: &Measured, machine: &MachineReport, seconds: f64) -> ServerCpu {
    let modelled = measured.server_cpu.filter(|_| seconds > 0.0);
    let modelled = modelled.map(|(used, cores)| used.as_secs_f64() / (seconds * cores as f64));
    ServerCpu {
        busy: modelled.or(machine.server_busy),
        others: machine.others_server,
        steal: machine.steal,
        processes_s: machine.server_processes_s,
        switches: machine.server_switches,
    }
}

fn server_work(work: &WorkDone) -> Vec<ServerWork> {
    let of = |kind: WorkKind| {
        let spent = work.of(kind);
        ServerWork { kind: kind.name(), number: spent.number, cpu_s: spent.time.as_secs_f64() }
    };
    WorkKind::ALL.into_iter().map(of).collect()
}

fn emulator(lateness: &Lateness, part: &Part) -> Emulator {
    let all = lateness.all();
    Emulator {
        cpu: part.machine.emulator_cpu,
        others: part.machine.others_emulator,
        run_delay: part.machine.run_delay,
        run_delay_by_others: part.machine.run_delay_by_others,
        threads: part.threads,
        lag_us: waits(&all.lag),
        unread_us: waits(&all.unread),
    }
}

fn waits_by_group(scenario: &Scenario, paths: &[GroupPaths], lateness: &Lateness) -> Vec<GroupLateness> {
    let groups = scenario.clients.iter().zip(paths).zip(lateness.groups());
    groups
        .map(|((group, paths), found)| GroupLateness {
            group: group.name.clone(),
            limit_us: validity::lateness_limit_us(paths),
            lag_us: waits(&found.lag),
            unread_us: waits(&found.unread),
        })
        .collect()
}

fn waits(nanos: &Histogram<u32>) -> Waits {
    let us = |nanos: u64| nanos as f64 / 1e3;
    Waits {
        p50: us(nanos.value_at_quantile(0.5)),
        p99: us(nanos.value_at_quantile(0.99)),
        max: us(nanos.max()),
    }
}

fn direction(totals: &DirectionTotals) -> DirectionSummary {
    let rate = |count: f64| (totals.packets > 0).then(|| count / totals.packets as f64);
    DirectionSummary {
        packets: totals.packets,
        lost: totals.lost,
        loss_rate: rate(totals.lost as f64),
        dropped: totals.dropped,
        dropped_early: totals.dropped_early,
        marked: totals.marked,
        corrupted: totals.corrupted,
        duplicated: totals.duplicated,
        held: totals.held,
        reordered: totals.reordered,
        expected_loss_rate: rate(totals.expected),
        expected_standard_error: rate(totals.variance.max(0.0).sqrt()),
        stationary_loss_rate: rate(totals.stationary),
    }
}

/// What became of each cross traffic of the scenario in so many seconds.
fn cross_traffic(scenario: &Scenario, counters: &[CrossCounters], seconds: f64) -> Vec<CrossSummary> {
    let summary = |(traffic, counters): (&CrossTraffic, &CrossCounters)| CrossSummary {
        name: traffic.name.clone(),
        link: traffic.link.clone(),
        direction: traffic.direction.clone(),
        links: match scenario.loaded_link(&traffic.link) {
            Some(LoadedLink::Access(group)) => scenario.clients[group].count,
            _ => 1,
        },
        packets: counters.packets,
        offered_bps: per_second(counters.bytes * 8, seconds),
        lost: counters.loss.lost,
        dropped: counters.dropped,
        dropped_early: counters.dropped_early,
    };
    scenario.network.cross_traffic.iter().zip(counters).map(summary).collect()
}
