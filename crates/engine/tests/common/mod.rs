//! Scenarios for tests, as the JSON that the Python half would write.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use wasp_engine::{Control, RunOutput, Scenario, TransactionRow, simulate};
use wasp_host::Outcome;

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
    simulate(&scenario, &scenario.site(None).expect("the site is built"), &Control::default(), ())
}

/// A transaction, as the columns hold it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Row {
    pub(crate) client: u32,
    pub(crate) request: u32,
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
        assert_eq!(link.packets, packets + strays, "{} {}", link.link, link.direction);
        assert!(strays > 0 || link.lost == lost, "{} {}", link.link, link.direction);
        all += strays;
    }
    all
}
