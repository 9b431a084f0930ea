//! Why a run must not be trusted.

use super::{Censoring, DirectionSummary, GroupLateness, OpenLoop, Part, Reason, Summary, Waits, Window};
use crate::ledger::{BINS, Tally};
use crate::scenario::{Group, SharedLink};
use crate::{Counters, Mode, Scenario};
use wasp_host::Outcome;
use wasp_net::Fate;

/// Least `ok` transactions for a figure to mean anything.
const LEAST_TRANSACTIONS: u64 = 100;
/// Distance in standard errors that chance does not explain.
const STANDARD_ERRORS: f64 = 5.0;
/// Least expected losses for their number to be judged.
const LEAST_LOSSES: f64 = 10.0;
/// Share of the measured interval whose throughput is held against the rest.
const FIRST: usize = BINS / 4;
/// Difference between the two that is let pass, as a share of the rest's.
const SETTLED: f64 = 0.10;
/// Share of the arrivals that may wait longer at the end of the interval than at its beginning, and a number of them that says nothing.
const ACHIEVED: f64 = 0.01;
const LEAST_BEHIND: f64 = 20.0;
/// Share of a group's round-trip time that its packets may wait in the emulator, and microseconds that they always may.
const LATENESS: f64 = 0.01;
const LEAST_LATENESS_US: f64 = 1_000.0;
/// Share of its CPU above which the emulator may be the bottleneck.
const EMULATOR_BUSY: f64 = 0.90;
/// Steal above which a machine is no measuring device.
const STEAL: f64 = 0.02;
/// Share of the server's or the emulator's CPUs that others may take, and the shortest interval (seconds) in which the kernel's ticks of 10 ms can
/// tell.
const OTHERS: f64 = 0.03;
const OTHERS_INTERVAL_S: f64 = 10.0;
/// Share of the interval in which the emulator's thread may wait for others to leave its CPU, and seconds that it may always: the time of own threads,
/// which is taken off, is known in ticks.
const RUN_DELAY: f64 = 0.01;
const RUN_DELAY_S: f64 = 0.05;

/// Counters of the packet device that tell of packets lost without the emulator's knowledge.
const DEVICE_DROPS: [&str; 4] = ["rx_dropped", "tx_dropped", "rx_errors", "tx_errors"];
/// Counters of the server's kernel (`TcpExt`) that tell of connections turned away by its queues or limits.
const TCP_DROPS: [&str; 8] = [
    "ListenDrops",
    "ListenOverflows",
    "SyncookiesSent",
    "TCPBacklogDrop",
    "TCPReqQFullDoCookies",
    "TCPReqQFullDrop",
    "TCPTimeWaitOverflow",
    "TWOverflow",
];
/// Counters of the machine's packet backlog that do.
const SOFTNET_DROPS: [&str; 1] = ["dropped"];

/// Every reason, most telling first.
pub(super) fn reasons(scenario: &Scenario, part: &Part, summary: &Summary) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let mut check =
        |code, message: Option<String>| reasons.extend(message.map(|message| Reason { code, message }));
    check("failed", part.failure.as_ref().map(ToString::to_string));
    check("stopped", stopped(scenario, part));
    check("errors", errors(scenario, part));
    let little = if scenario.mode == Mode::Shim { no_packet(summary) } else { too_few(part) };
    check("too_few", little);
    if stopped(scenario, part).is_none() {
        check("warmup", unsettled(part.ledger.bins()));
    }
    check("censored", censored(summary));
    check("overload", overload(summary));
    check("lag", lag(summary));
    check("unread", unread(summary));
    check("emulator_busy", emulator_busy(summary));
    check("device_full", device_full(part));
    check("device_drops", device_drops(summary));
    check("server_queue", server_queue(summary));
    check("pool", pool(part));
    check("others", others(summary));
    check("run_delay", run_delay(summary));
    check("steal", steal(summary));
    for (name, direction) in [("up", &summary.network.up), ("down", &summary.network.down)] {
        check("loss", loss(name, direction));
    }
    reasons
}

fn stopped(scenario: &Scenario, part: &Part) -> Option<String> {
    let (measured, asked) = (part.ledger.interval().duration(), scenario.measure.duration);
    (measured < asked).then(|| format!("stopped after {:.1} s of {asked} measured", measured.as_secs_f64()))
}

/// More of the transactions that ended were not `ok` than the scenario allows.
fn errors(scenario: &Scenario, part: &Part) -> Option<String> {
    let (limit, tally) = (scenario.measure.max_errors?, part.ledger.tally());
    let share = tally.errors() as f64 / tally.ended().max(1) as f64;
    (share > limit.as_f64()).then(|| {
        format!(
            "{:.1} % of the {} transactions that ended were not ok ({}); at most {limit} is allowed (measure.max_errors)",
            100.0 * share,
            tally.ended(),
            failures(&tally)
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

fn too_few(part: &Part) -> Option<String> {
    let ok = part.ledger.outcome(Outcome::Ok);
    (ok < LEAST_TRANSACTIONS)
        .then(|| format!("{ok} ok transactions; at least {LEAST_TRANSACTIONS} are needed"))
}

/// Where the clients are programs, of whose transactions nothing is known.
fn no_packet(summary: &Summary) -> Option<String> {
    let crossed = summary.network.up.packets + summary.network.down.packets;
    (crossed == 0).then(|| "no packet of a program came to the network".to_owned())
}

/// Whether the throughput of the interval's first quarter differs from the rest's by more than 10 % and by more than five standard errors.
fn unsettled(bins: &[u64; BINS]) -> Option<String> {
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

/// What is missing of the transactions that take longer than the interval can show.
pub(super) fn censoring(scenario: &Scenario, part: &Part) -> Option<Censoring> {
    if stopped(scenario, part).is_some() {
        return None;
    }
    let measure = &scenario.measure;
    let in_progress = part.ledger.little().0 as f64 / 1e9;
    let open =
        scenario.clients.iter().any(|group| group.arrivals.is_some()) || part.ledger.arrivals().is_some();
    let places = |group: &Group| {
        f64::from(group.count) * f64::from(group.http.connections) * f64::from(group.http.pipeline)
    };
    let room = scenario.clients.iter().map(places).sum::<f64>() * measure.duration.as_secs_f64();
    let timeout =
        |group: &Group| group.http.abort.and_then(|abort| abort.after).unwrap_or(group.http.timeout);
    let window = Window {
        warmup: measure.warmup.as_secs_f64(),
        duration: measure.duration.as_secs_f64(),
        timeout: scenario.clients.iter().map(timeout).max()?.as_secs_f64(),
        closed: if open { 0.0 } else { (in_progress / room).min(1.0) },
    };
    Censoring::of(part.ledger.ages(), &window, in_progress)
}

fn censored(summary: &Summary) -> Option<String> {
    let Censoring { lacking, excess, censored, enough_s, enough_warmup_s } = summary.censoring?;
    censored.then(|| {
        let seen = match excess {
            Some(excess) if excess > lacking => {
                format!("those that did not end took {:.0} % more time than those that did", excess * 100.0)
            }
            _ => format!("the mean of those that ended lacks about {:.0} %", lacking * 100.0),
        };
        let advice = [
            enough_s.map(|seconds| format!("measure for at least {}", length(seconds))),
            enough_warmup_s.map(|seconds| {
                let (warmup, interval) = (length(seconds), length(seconds.max(summary.interval_s)));
                format!("for {interval} after a warm-up of {warmup}")
            }),
        ];
        let advice = advice.into_iter().flatten().collect::<Vec<_>>().join(", or ");
        let advice = if advice.is_empty() { "even 2 h are not enough".to_owned() } else { advice };
        format!("the interval was too short for the longest transactions: {seen}; {advice}")
    })
}

/// A length of time as people say it, without digits that mean nothing.
fn length(seconds: f64) -> String {
    match seconds {
        3600.0.. => format!("{} h", seconds / 3600.0),
        120.0.. => format!("{} min", seconds / 60.0),
        _ => format!("{seconds} s"),
    }
}

/// An open loop whose arrivals were dropped, or began less often than they came.
fn overload(summary: &Summary) -> Option<String> {
    let OpenLoop { arrivals, begun, shed, .. } = summary.open_loop?;
    let behind = arrivals.saturating_sub(begun + shed);
    let kept_up = shed == 0 && behind as f64 <= (ACHIEVED * arrivals as f64).max(LEAST_BEHIND);
    (!kept_up).then(|| {
        let rate = |count: u64| count as f64 / summary.interval_s;
        format!(
            "the offered load was not achieved: {:.1} arrivals/s, of which {:.1}/s began; {shed} were dropped, and {behind} more \
             waited at the end than at the beginning",
            rate(arrivals),
            rate(begun)
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

/// Microseconds that the packets of a group, or the frames for it, may wait in the emulator (p99): 1 ms or 1 % of its least round-trip time, of which
/// the shared link's delay is a part, whichever is more.
pub(super) fn lateness_limit_us(shared: &SharedLink, group: &Group) -> f64 {
    let rtt = group.rtt.as_nanos() + shared.up.delay.as_nanos() + shared.down.delay.as_nanos();
    (rtt as f64 / 1e3 * LATENESS).max(LEAST_LATENESS_US)
}

/// Packets left too late.
fn lag(summary: &Summary) -> Option<String> {
    let (group, p99, limit) = latest(summary, |group| group.lag_us)?;
    Some(format!(
        "the emulator fell behind: lag p99 of group {group} is {p99:.0} us; at most {limit:.0} us is allowed"
    ))
}

/// Frames may have waited too long before they were read: the wait is part of response times, and no lag.
fn unread(summary: &Summary) -> Option<String> {
    let (group, p99, limit) = latest(summary, |group| group.unread_us)?;
    Some(format!(
        "the emulator did not keep up with reading: frames for group {group} may have waited p99 {p99:.0} us; at most \
         {limit:.0} us is allowed"
    ))
}

/// The group whose waits are the most too long, if those of any are: its name, p99 and limit.
fn latest(summary: &Summary, waits: impl Fn(&GroupLateness) -> Waits) -> Option<(&str, f64, f64)> {
    let groups = summary.lateness.iter().flatten();
    groups
        .map(|group| (group.group.as_str(), waits(group).p99, group.limit_us))
        .filter(|(_, p99, limit)| p99 > limit)
        .max_by(|(_, p99, limit), (_, other, others)| (p99 / limit).total_cmp(&(other / others)))
}

/// The emulator's thread must have time to spare.
fn emulator_busy(summary: &Summary) -> Option<String> {
    let cpu = summary.emulator?.cpu?;
    (cpu >= EMULATOR_BUSY).then(|| {
        format!(
            "the emulator was the bottleneck: its thread was {:.0} % busy; below {:.0} % is needed",
            cpu * 100.0,
            EMULATOR_BUSY * 100.0
        )
    })
}

fn device_full(part: &Part) -> Option<String> {
    let full = part.fates.get(Fate::DeviceFull);
    (full > 0).then(|| format!("the packet device had no room for {full} packets"))
}

fn device_drops(summary: &Summary) -> Option<String> {
    let device = increases("", summary.device.as_ref(), &DEVICE_DROPS);
    let clients = increases("clients' ", summary.client_device.as_ref(), &DEVICE_DROPS);
    let drops = device.chain(clients).chain(increases("softnet ", summary.softnet.as_ref(), &SOFTNET_DROPS));
    let drops = drops.collect::<Vec<_>>().join(", ");
    (!drops.is_empty()).then(|| format!("packets were lost outside the emulated network: {drops}"))
}

fn server_queue(summary: &Summary) -> Option<String> {
    let drops = increases("", summary.tcpext.as_ref(), &TCP_DROPS).collect::<Vec<_>>().join(", ");
    (!drops.is_empty()).then(|| format!("the server's kernel turned connections away: {drops}"))
}

/// Those of the counters `names` that grew, as text.
fn increases<'a>(
    prefix: &'a str,
    counters: Option<&'a Counters>,
    names: &'a [&str],
) -> impl Iterator<Item = String> + 'a {
    names.iter().filter_map(move |name| {
        let grown = counters?.get(*name).filter(|grown| **grown > 0)?;
        Some(format!("{prefix}{name} {grown}"))
    })
}

fn pool(part: &Part) -> Option<String> {
    let exhausted = part.exhausted;
    (exhausted > 0).then(|| format!("the emulator had no memory left for {exhausted} packets"))
}

/// Others had the CPUs: their time counts as the server's, and the server waits for it.
fn others(summary: &Summary) -> Option<String> {
    if summary.interval_s < OTHERS_INTERVAL_S {
        return None;
    }
    let shares = [("server", summary.server_cpu.others), ("emulator", summary.emulator?.others)];
    let too_much = shares.map(|(whose, share)| Some((whose, share.filter(|share| *share > OTHERS)?)));
    let told = too_much
        .into_iter()
        .flatten()
        .map(|(whose, share)| format!("{:.1} % of the {whose}'s", share * 100.0));
    let told = told.collect::<Vec<_>>().join(" and ");
    (!told.is_empty())
        .then(|| format!("other programs took {told} CPUs; at most {:.0} % is allowed", OTHERS * 100.0))
}

/// The emulator was ready to run, and another program had its CPU.
fn run_delay(summary: &Summary) -> Option<String> {
    let delay = summary.emulator?.run_delay_by_others?;
    (delay > RUN_DELAY && delay * summary.interval_s > RUN_DELAY_S).then(|| {
        format!(
            "the emulator waited {:.1} % of the time for its CPU while other programs had it; at most {:.0} % is allowed",
            delay * 100.0,
            RUN_DELAY * 100.0
        )
    })
}

fn steal(summary: &Summary) -> Option<String> {
    let steal = summary.server_cpu.steal?;
    (steal > STEAL).then(|| {
        format!(
            "the hypervisor took {:.1} % of the CPUs; at most {:.0} % is allowed",
            steal * 100.0,
            STEAL * 100.0
        )
    })
}

/// Injected loss far from the sum of its own conditional probabilities: the emulator is wrong. A handful of losses is not normally distributed, so
/// from fewer than ten expected ones nothing is concluded, except where none could happen.
fn loss(name: &str, direction: &DirectionSummary) -> Option<String> {
    let (rate, expected) = (direction.loss_rate?, direction.expected_loss_rate?);
    let error = direction.expected_standard_error?;
    let losses = expected * direction.packets as f64;
    if losses > 0.0 && losses < LEAST_LOSSES {
        return None;
    }
    ((rate - expected).abs() > STANDARD_ERRORS * error + f64::EPSILON).then(|| {
        format!(
            "{name}: loss rate {rate:.5} is more than {STANDARD_ERRORS} standard errors from {expected:.5}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Run;
    use crate::{Control, MachineReport, Shard, Share, sum_up};
    use serde_json::{Value, json};
    use wasp_units::Duration;

    /// So many clients, 300 ms away, who ask for a small file again and again, and are watched for so long.
    fn scenario(clients: u32, duration: &str) -> Value {
        json!({
            "seed": 1, "run": 0, "mode": "sim",
            "server": {
                "address": "198.18.0.1", "port": 80, "tcp": {"preset": "linux"},
                "model": {"cores": 1, "per_connection": "20us", "per_request": "30us", "per_kib": "1us"},
            },
            "network": {"prefix": "198.18.0.0/17", "shared": {"up": {}, "down": {}}},
            "workload": {"kind": "single", "path": "/file", "size": "1KB"},
            "clients": [{
                "name": "clients", "count": clients, "rtt": "300ms", "loss": {}, "bandwidth": {}, "queue": {}, "mtu": 1500,
                "http": {"requests_per_connection": 1, "timeout": "60s"}, "tcp": {"preset": "linux"},
            }],
            "measure": {"warmup": "3s", "duration": duration},
        })
    }

    /// A run of the scenario, as its thread leaves it, from its start on.
    fn part(scenario: &Scenario) -> Part {
        let (site, control) = (scenario.site(None).expect("the site is built"), Control::default());
        let mut run = Run::new(&Share { scenario, site: &site, shard: Shard::WHOLE }, &control, ());
        let end = run.kernel.process.ledger.interval().end();
        run.kernel.advance(end - Duration::from_nanos(1)).expect("time passes");
        run.finish(end, None, None, MachineReport::default())
    }

    /// What is said against a run, after a `change` of what was found.
    fn said(asked: &Value, change: impl Fn(&mut Part, &mut Summary)) -> Vec<Reason> {
        let scenario = Scenario::from_json(&asked.to_string()).expect("the scenario is valid");
        // The summary takes a part with it, so there are two of the same.
        let (mut part, mut summary) = (part(&scenario), sum_up(&scenario, vec![part(&scenario)]).summary);
        change(&mut part, &mut summary);
        reasons(&scenario, &part, &summary)
    }

    fn codes(asked: &Value, change: impl Fn(&mut Part, &mut Summary)) -> Vec<&'static str> {
        said(asked, change).into_iter().map(|reason| reason.code).collect()
    }

    #[test]
    fn throughput_that_still_grows_has_not_settled() {
        // 2,000 clients keep the server busy at 1,000 a second from their first requests on, which come after 300 ms.
        let settled = |warmup| {
            let mut asked = scenario(2_000, "2s");
            asked["server"]["model"]["per_request"] = json!("1ms");
            asked["measure"]["warmup"] = json!(warmup);
            !codes(&asked, |_, _| ()).contains(&"warmup")
        };
        assert!(!settled("0s"));
        assert!(settled("4s"));
    }

    #[test]
    fn the_first_quarter_may_differ_by_a_tenth_or_by_five_standard_errors() {
        let settled = |first: u64, rest: u64, apart: u64| {
            // Bins that lie as far above their mean as below it.
            let bin =
                |place: usize, mean: u64| if place.is_multiple_of(2) { mean + apart } else { mean - apart };
            unsettled(&std::array::from_fn(|place| bin(place, if place < FIRST { first } else { rest })))
                .is_none()
        };
        assert!(settled(1_100, 1_000, 0) && settled(900, 1_000, 0));
        assert!(!settled(1_101, 1_000, 0) && !settled(899, 1_000, 0));
        // The standard errors of the two means are 316 / 3 and 316 / sqrt(29), that of their difference is 121.
        assert!(settled(1_590, 1_000, 316) && !settled(1_620, 1_000, 316));
    }

    #[test]
    fn fewer_than_a_hundred_transactions_tell_too_little() {
        // Each client ends one every 600 ms.
        let few = said(&scenario(19, "3s"), |_, _| ());
        assert_eq!(few[0].message, "95 ok transactions; at least 100 are needed");
        assert_eq!((few.len(), few[0].code), (1, "too_few"));
        assert_eq!(said(&scenario(21, "3s"), |_, _| ()), []);
    }

    #[test]
    fn what_is_censored_is_said() {
        let found = |lacking: f64, censored| {
            let found =
                Censoring { lacking, excess: None, censored, enough_s: Some(60.0), enough_warmup_s: None };
            said(&scenario(21, "3s"), |_, summary| summary.censoring = Some(found))
        };
        assert_eq!(found(0.9, false), []);
        let message = "the interval was too short for the longest transactions: the mean of those that ended lacks about 3 %; \
                       measure for at least 60 s";
        assert_eq!(found(0.03, true), [Reason { code: "censored", message: message.to_owned() }]);
    }

    #[test]
    fn a_packet_for_which_there_is_no_memory_is_one_too_many() {
        assert_eq!(codes(&scenario(21, "3s"), |part, _| part.exhausted = 1), ["pool"]);
    }

    #[test]
    fn injected_loss_is_within_five_standard_errors_of_what_is_expected() {
        let lost = |packets, rate, expected, error| {
            let set = |direction: &mut DirectionSummary| {
                direction.packets = packets;
                direction.loss_rate = Some(rate);
                direction.expected_loss_rate = Some(expected);
                direction.expected_standard_error = Some(error);
            };
            let up = codes(&scenario(21, "3s"), |_, summary| set(&mut summary.network.up));
            let down = codes(&scenario(21, "3s"), |_, summary| set(&mut summary.network.down));
            assert_eq!(up, down);
            up
        };
        for (rate, said) in [(0.0149, &[][..]), (0.0151, &["loss"]), (0.0051, &[]), (0.0049, &["loss"])] {
            assert_eq!(lost(10_000, rate, 0.01, 0.001), said, "{rate}");
        }
        // A handful of losses is not normally distributed.
        assert_eq!(lost(900, 0.05, 0.01, 0.003), [""; 0]);
        // Where nothing may be lost, one loss is too many.
        assert_eq!(lost(900, 1.0 / 900.0, 0.0, 0.0), ["loss"]);
    }
}
