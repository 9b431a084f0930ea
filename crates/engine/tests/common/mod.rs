//! Scenarios for tests, as the JSON that the Python half would write.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use wasp_app::Outcome;
use wasp_engine::{Control, ReasonCode, ResponseTime, RunOutput, Scenario, TransactionRow, simulate};
use wasp_wire::IpHeader;

/// What is said against a run that is to be trusted.
pub(crate) const NO_REASON: [ReasonCode; 0] = [];

/// The IP header of an answer to a packet with this one: the addresses change places.
pub(crate) const fn returned(ip: IpHeader) -> IpHeader {
    IpHeader { source: ip.destination, destination: ip.source, ..ip }
}

/// A simulated scenario of one group over an unlimited star without loss; tests change what they are about.
pub(crate) fn scenario(count: u32, size: &str) -> Value {
    json!({
        "seed": 1, "run": 0, "mode": "sim",
        "server": {
            "address": "198.18.0.1", "port": 80, "tcp": {"preset": "linux"},
            "model": {"cores": 1, "per_connection": "20us", "per_request": "30us", "per_kib": "1us"},
        },
        "network": {"prefix": "198.18.0.0/17", "shared": {"up": {}, "down": {}}},
        "workload": {"kind": "single", "path": "/file", "size": size},
        "clients": [group("clients", count)],
        "measure": {"warmup": "2s", "duration": "10s"},
    })
}

/// A group of clients 100 ms away.
pub(crate) fn group(name: &str, count: u32) -> Value {
    json!({
        "name": name, "count": count, "rtt": "100ms",
        "loss": {}, "bandwidth": {}, "queue": {}, "mtu": 1500,
        "http": {"requests_per_connection": 1, "timeout": "60s"},
        "tcp": {"preset": "linux"},
    })
}

/// Independent loss in both directions.
pub(crate) fn independent(rate: &str) -> Value {
    json!({"up": {"model": "independent", "rate": rate}, "down": {"model": "independent", "rate": rate}})
}

/// Two-state loss with r = 65 % in both directions.
pub(crate) fn two_state(p: &str, scope: &str) -> Value {
    let model = json!({"model": "two-state", "p": p, "r": "65%"});
    json!({"up": model, "down": model, "scope": scope})
}

/// Runs a scenario to its end.
pub(crate) fn run(scenario: &Value) -> RunOutput {
    let scenario = Scenario::from_json(&scenario.to_string()).expect("the scenario is valid");
    simulate(&scenario, &scenario.sites(None).expect("the site is built"), &Control::default(), ())
}

/// A transaction, as the columns hold it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Row {
    pub(crate) client: u32,
    pub(crate) request: u32,
    pub(crate) file: u32,
    pub(crate) connection: u32,
    pub(crate) group: u16,
    pub(crate) intended: Option<i64>,
    pub(crate) start: i64,
    pub(crate) sent: Option<i64>,
    pub(crate) end: i64,
    pub(crate) status: u16,
    pub(crate) bytes: u64,
    pub(crate) outcome: &'static str,
    pub(crate) attempts: u8,
}

/// Every transaction, by client and request.
pub(crate) fn transactions(output: &RunOutput) -> Vec<Row> {
    let reached = |nanos: i64| (nanos != i64::MIN).then_some(nanos);
    let of_row = |row: &TransactionRow| Row {
        client: row.client,
        request: row.request,
        file: row.file,
        connection: row.connection,
        group: row.group,
        intended: reached(row.intended_ns),
        start: row.start_ns,
        sent: reached(row.sent_ns),
        end: row.end_ns,
        status: row.status,
        bytes: row.bytes,
        outcome: Outcome::ALL[usize::from(row.outcome)].name(),
        attempts: row.attempts,
    };
    let mut rows: Vec<Row> = output.ledger.transactions.iter().map(of_row).collect();
    rows.sort_unstable();
    rows
}

/// Fails unless the packets of every access link are those of its client's connections and its strays; returns the strays.
pub(crate) fn links_and_connections_agree(output: &RunOutput) -> u64 {
    let mut of_client: BTreeMap<(u32, &str), (u64, u64)> = BTreeMap::new();
    for row in output.ledger.connections.iter() {
        for (direction, packets, lost) in
            [("up", row.up_packets, row.up_lost), ("down", row.down_packets, row.down_lost)]
        {
            let counts = of_client.entry((row.client, direction)).or_default();
            *counts = (counts.0 + packets, counts.1 + lost);
        }
    }
    let mut all = 0;
    for link in output.links.iter().filter(|link| link.link != "shared") {
        let client: u32 = link.link.rsplit('/').next().unwrap().parse().unwrap();
        let (packets, lost) = of_client.get(&(client, link.direction)).copied().unwrap_or_default();
        let strays = link.strays.unwrap();
        assert_eq!(link.packets, packets + strays + link.cross_packets, "{} {}", link.link, link.direction);
        assert!(strays > 0 || link.lost == lost, "{} {}", link.link, link.direction);
        all += strays;
    }
    all
}

/// Fails unless the figures of a simulated run, all of whose rows are kept, are those that its rows give.
pub(crate) fn figures_and_rows_agree(output: &RunOutput) {
    let (summary, ledger) = (&output.summary, &output.ledger);
    assert_eq!(summary.transactions_kept_one_in, 1);
    let rows = transactions(output);
    let mut seen = BTreeSet::new();
    assert!(rows.iter().all(|row| seen.insert((row.client, row.request))), "a row is there twice");

    let interval = ledger.interval().start().as_nanos() as i64..ledger.interval().end().as_nanos() as i64;
    let counted = |row: &&Row| interval.contains(&row.end) || row.outcome == "unfinished";
    let rows: Vec<&Row> = rows.iter().filter(counted).collect();
    assert_eq!(summary.retried, rows.iter().filter(|row| row.attempts > 1).count() as u64);
    ended_as(&rows, &summary.outcomes, &summary.statuses);
    for (index, group) in summary.by_group.iter().enumerate() {
        let of_group: Vec<&Row> =
            rows.iter().filter(|row| usize::from(row.group) == index).copied().collect();
        ended_as(&of_group, &group.outcomes, &group.statuses);
        took(&group.all_response_time_ms, times(&of_group, |outcome| outcome != "unfinished"), 1e-3);
        took(&group.response_time_ms, times(&of_group, |outcome| outcome == "ok"), 1e-3);
        rates(&of_group, group.throughput, group.goodput_bps, summary.interval_s);
    }
    let (all, ok) =
        (times(&rows, |outcome| outcome != "unfinished"), times(&rows, |outcome| outcome == "ok"));
    assert_eq!((ledger.all_times().len(), ledger.response_times.len()), (all.len() as u64, ok.len() as u64));
    took(&summary.all_response_time_ms, all, 1e-4);
    took(&summary.response_time_ms, ok, 1e-4);
    rates(&rows, summary.throughput, summary.goodput_bps, summary.interval_s);
}

/// The response times of some rows in nanoseconds.
fn times(rows: &[&Row], counts: impl Fn(&str) -> bool) -> Vec<i64> {
    let counted = rows.iter().filter(|row| counts(row.outcome));
    counted.map(|row| row.end - row.intended.unwrap_or(row.start)).collect()
}

/// Fails unless the `ok` rows are so many a second, and their bodies have so many bits.
fn rates(rows: &[&Row], throughput: f64, goodput_bps: f64, seconds: f64) {
    let ok = rows.iter().filter(|row| row.outcome == "ok");
    let (count, bytes) = ok.fold((0, 0), |(count, bytes), row| (count + 1, bytes + row.bytes));
    assert_eq!((throughput, goodput_bps), (count as f64 / seconds, (8 * bytes) as f64 / seconds));
}

/// Fails unless the rows have these outcomes and statuses.
fn ended_as(rows: &[&Row], outcomes: &BTreeMap<&str, u64>, statuses: &BTreeMap<u16, u64>) {
    let mut found: (BTreeMap<&str, u64>, BTreeMap<u16, u64>) = Default::default();
    for row in rows {
        *found.0.entry(row.outcome).or_default() += 1;
        if ["ok", "http_error"].contains(&row.outcome) {
            *found.1.entry(row.status).or_default() += 1;
        }
    }
    let seen = outcomes.iter().filter(|(_, count)| **count > 0).map(|(name, count)| (*name, *count));
    assert_eq!((seen.collect(), statuses.clone()), found);
}

/// Fails unless these are the figures of response times in nanoseconds, of which percentiles may be off by this share.
fn took(shown: &ResponseTime, mut times: Vec<i64>, off: f64) {
    times.sort_unstable();
    // The q-quantile of n times is the smallest with at least q n of them at or below it.
    let rank = |quantile: f64| times.get(((times.len() as f64 * quantile).ceil() as usize).max(1) - 1);
    let ms = |nanos: Option<&i64>| nanos.map(|nanos| *nanos as f64 / 1e6);
    let mean = (!times.is_empty()).then(|| times.iter().sum::<i64>() as f64 / times.len() as f64 / 1e6);
    assert_eq!(shown.mean.is_some(), mean.is_some());
    // The mean is a whole number of nanoseconds.
    assert!(shown.mean.zip(mean).is_none_or(|(shown, mean)| (shown - mean).abs() < 2e-6));
    for (name, shown, found) in [
        ("p50", shown.p50, ms(rank(0.5))),
        ("p90", shown.p90, ms(rank(0.9))),
        ("p99", shown.p99, ms(rank(0.99))),
        ("max", shown.max, ms(times.last())),
    ] {
        assert_eq!(shown.is_some(), found.is_some(), "{name}");
        // The histogram tells apart what differs by 512 ns and by a ten-thousandth; that of a group, by a thousandth.
        let same = |(shown, found): (f64, f64)| (shown - found).abs() <= (off * found).max(512e-6);
        assert!(shown.zip(found).is_none_or(same), "{name}: {shown:?} for {found:?} ms");
    }
}
