//! Why a run must not be trusted.

use super::reason::Said;
use super::transactions::Judged;
use super::{GroupLateness, Part, Reason, ReasonCode, Summary, Waits};
use crate::build::GroupPaths;
use crate::ledger::GroupLedger;
use crate::{Counters, Mode, Scenario};
use wasp_net::Fate;

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

/// Every reason, most telling first, with those that the transactions and the network's losses are.
pub(super) fn reasons(
    scenario: &Scenario,
    part: &Part,
    whole: &GroupLedger,
    summary: &Summary,
    together: Vec<Reason>,
) -> Vec<Reason> {
    let transactions = Judged::new(scenario, part, whole);
    let little = if scenario.mode == Mode::Shim {
        no_packet(summary).map(Said::from)
    } else {
        transactions.too_few(summary.interval_s, part.is_stopped(scenario))
    };
    let silent = if part.is_stopped(scenario) { Vec::new() } else { transactions.silent(summary.interval_s) };
    let all = |code, message: Option<String>| {
        message.map(|message| Reason::of_all(code, message)).into_iter().collect::<Vec<_>>()
    };
    [
        all(ReasonCode::Failed, part.failure.as_ref().map(ToString::to_string)),
        all(ReasonCode::Stopped, stopped(scenario, part)),
        transactions.errors(),
        Vec::from_iter(little.map(|said| Reason::of_all(ReasonCode::TooFew, said))),
        silent,
        together,
        Vec::from_iter(lag(summary)),
        Vec::from_iter(unread(summary)),
        all(ReasonCode::EmulatorBusy, emulator_busy(summary)),
        all(ReasonCode::DeviceFull, device_full(part)),
        all(ReasonCode::DeviceDrops, device_drops(summary)),
        all(ReasonCode::ServerQueue, server_queue(summary)),
        all(ReasonCode::Pool, pool(part)),
        all(ReasonCode::Others, others(summary)),
        all(ReasonCode::RunDelay, run_delay(summary)),
        all(ReasonCode::Steal, steal(summary)),
    ]
    .concat()
}

fn stopped(scenario: &Scenario, part: &Part) -> Option<String> {
    let (measured, asked) = (part.ledger.interval().duration(), scenario.measure.duration);
    part.is_stopped(scenario)
        .then(|| format!("stopped after {:.1} s of {asked} measured", measured.as_secs_f64()))
}

/// Where the clients are programs, of whose transactions nothing is known.
fn no_packet(summary: &Summary) -> Option<String> {
    let crossed = summary.network.up.packets + summary.network.down.packets;
    (crossed == 0).then(|| "no packet of a program came to the network".to_owned())
}

/// Microseconds that the packets of a group, or the frames for it, may wait in the emulator (p99): 1 ms or 1 % of its least round-trip time, whichever
/// is more.
pub(super) fn lateness_limit_us(paths: &GroupPaths) -> f64 {
    (paths.propagation().as_nanos() as f64 / 1e3 * LATENESS).max(LEAST_LATENESS_US)
}

/// Packets left too late.
fn lag(summary: &Summary) -> Option<Reason> {
    let (group, p99, limit) = latest(summary, |group| group.lag_us)?;
    let message = format!(
        "the emulator fell behind: lag p99 of group {group} is {p99:.0} us; at most {limit:.0} us is allowed"
    );
    Some(about(ReasonCode::Lag, summary, group, message))
}

/// Frames may have waited too long before they were read: the wait is part of response times, and no lag.
fn unread(summary: &Summary) -> Option<Reason> {
    let (group, p99, limit) = latest(summary, |group| group.unread_us)?;
    let message = format!(
        "the emulator did not keep up with reading: frames for group {group} may have waited p99 {p99:.0} us; at most \
         {limit:.0} us is allowed"
    );
    Some(about(ReasonCode::Unread, summary, group, message))
}

/// A reason whose message names the group that it is about, if that is one of several.
fn about(code: ReasonCode, summary: &Summary, group: &str, message: String) -> Reason {
    let group = (summary.by_group.len() > 1).then(|| group.to_owned());
    Reason { group, ..Reason::of_all(code, message) }
}

/// The group that is no background and whose waits are the most too long, if those of any are: its name, p99 and limit.
fn latest(summary: &Summary, waits: impl Fn(&GroupLateness) -> Waits) -> Option<(&str, f64, f64)> {
    let groups = summary.lateness.iter().flatten().zip(&summary.by_group);
    groups
        .filter(|(_, group)| !group.background)
        .map(|(lateness, _)| lateness)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Tally;
    use crate::run::Run;
    use crate::summary::Together;
    use crate::summary::together::of_stopped;
    use crate::{Control, MachineReport, Shard, Share, sum_up};
    use serde_json::{Value, json};
    use wasp_app::Outcome;
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
        let (sites, control) = (scenario.sites(None).expect("the sites are built"), Control::default());
        let mut run = Run::new(&Share { scenario, sites: &sites, shard: Shard::WHOLE }, &control, ());
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
        let together = summary.figures().and_then(|figures| Together::of(vec![figures]));
        let together = together.map_or_else(|| of_stopped(&summary), |together| together.invalid);
        reasons(&scenario, &part, &part.ledger.whole(), &summary, together)
    }

    fn codes(asked: &Value, change: impl Fn(&mut Part, &mut Summary)) -> Vec<ReasonCode> {
        said(asked, change).into_iter().map(|reason| reason.code).collect()
    }

    #[test]
    fn throughput_that_still_grows_has_not_settled() {
        // 2,000 clients keep the server busy at 1,000 a second from their first requests on, which come after 300 ms.
        let settled = |warmup| {
            let mut asked = scenario(2_000, "2s");
            asked["server"]["model"]["per_request"] = json!("1ms");
            asked["measure"]["warmup"] = json!(warmup);
            !codes(&asked, |_, _| ()).contains(&ReasonCode::Warmup)
        };
        assert!(!settled("0s"));
        assert!(settled("4s"));
    }

    #[test]
    fn a_group_may_exceed_the_errors_that_are_allowed_by_chance_and_all_together_may_not() {
        let mut asked = scenario(2_000, "3s");
        asked["measure"]["max_errors"] = json!("10%");
        let mut group = asked["clients"][0].clone();
        group["name"] = json!("failing");
        group["count"] = json!(1);
        asked["clients"].as_array_mut().expect("a list of groups").push(group);
        let with = |place: usize, ok: u64, failed: u64| {
            let found = said(&asked, |part, _| {
                let tally = &mut part.ledger.groups[place].tally;
                *tally = Tally::default();
                (0..ok).for_each(|_| tally.count(Outcome::Ok, 200));
                (0..failed).for_each(|_| tally.count(Outcome::TimedOut, 0));
            });
            found.into_iter().map(|reason| (reason.code, reason.group)).collect::<Vec<_>>()
        };
        // With two groups, each of them may fail so once in 2,000 runs: 3.29 standard deviations of 9.49 above 100.
        assert_eq!(with(1, 870, 130), []);
        assert_eq!(with(1, 866, 134), [(ReasonCode::Errors, Some("failing".to_owned()))]);
        // Two of two that fail are chance, and there is no figure.
        assert_eq!(with(1, 0, 2), [(ReasonCode::Silent, Some("failing".to_owned()))]);
        // The other group makes up all but a few.
        assert_eq!(with(0, 8_999, 1_010), [(ReasonCode::Errors, None)]);
    }

    #[test]
    fn fewer_than_a_hundred_transactions_tell_too_little() {
        // Each client ends one every 600 ms.
        let few = said(&scenario(19, "3s"), |_, _| ());
        assert_eq!(few[0].message, "95 ok transactions; at least 100 are needed");
        assert_eq!((few.len(), few[0].code), (1, ReasonCode::TooFew));
        assert_eq!(said(&scenario(21, "3s"), |_, _| ()), []);
    }

    #[test]
    fn the_packets_of_a_background_group_may_be_late() {
        let mut asked = scenario(400, "3s");
        let mut group = asked["clients"][0].clone();
        group["name"] = json!("near");
        asked["clients"].as_array_mut().expect("a list of groups").push(group);
        let late = |background: bool| {
            let found = said(&asked, |_, summary| {
                let waits = |p99| Waits { p50: 0.0, p99, max: p99 };
                let of = |group: &str, p99| GroupLateness {
                    group: group.to_owned(),
                    limit_us: 1_000.0,
                    lag_us: waits(p99),
                    unread_us: waits(0.0),
                };
                summary.lateness = Some(vec![of("clients", 900.0), of("near", 2_000.0)]);
                summary.by_group[1].background = background;
            });
            found.into_iter().map(|reason| (reason.code, reason.group)).collect::<Vec<_>>()
        };
        assert_eq!(late(false), [(ReasonCode::Lag, Some("near".to_owned()))]);
        assert_eq!(late(true), []);
    }

    #[test]
    fn a_packet_for_which_there_is_no_memory_is_one_too_many() {
        assert_eq!(codes(&scenario(21, "3s"), |part, _| part.exhausted = 1), [ReasonCode::Pool]);
    }
}
