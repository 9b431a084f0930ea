//! Bodies in both directions over a path with a narrow link: path MTU discovery, fragments where there is none, and routers that say nothing.

use crate::common::{run, scenario, transactions};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use wasp_engine::{LinkRow, RunOutput, Scenario, topology_report};
use wasp_tcp::Config;

/// Bytes of the body in each direction.
const BODY: u64 = 64 * 1_024;

/// Clients that send and receive a body over a graph whose first link has this MTU. Both ends have this TCP.
fn narrow(mtu: u16, tcp: &Value) -> Value {
    let mut scenario = scenario(4, "64KiB");
    let link = json!({"delay": "5ms", "mtu": mtu});
    scenario["network"] = json!({
        "prefix": "198.18.0.0/17", "kind": "graph",
        "nodes": [{"name": "far"}, {"name": "between"}, {"name": "near"}],
        "links": [
            {"name": "narrow", "from": "far", "to": "between", "forward": link, "backward": link},
            {"name": "wide", "from": "between", "to": "near", "forward": {}, "backward": {}},
        ],
    });
    scenario["server"]["at"] = json!("near");
    scenario["server"]["tcp"] = tcp.clone();
    let group = &mut scenario["clients"][0];
    group["tcp"] = tcp.clone();
    group["at"] = json!("far");
    group["rtt"] = json!("10ms");
    group["http"]["method"] = json!("POST");
    group["http"]["body"] = json!("64KiB");
    scenario
}

/// A direction of the narrow link.
fn row<'a>(output: &'a RunOutput, direction: &str) -> &'a LinkRow {
    output
        .links
        .iter()
        .find(|row| row.link == "narrow" && row.direction == direction)
        .expect("the link has rows")
}

fn fate(output: &RunOutput, name: &str) -> u64 {
    output.summary.fates[name]
}

#[test]
fn bodies_arrive_over_every_mtu_with_and_without_discovery() {
    let tcp = |more: Value| {
        let mut tcp = json!({"preset": "linux"});
        tcp.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        tcp
    };
    let (usual, least) = (tcp(json!({})), tcp(json!({"min_path_mtu": 88})));
    let (off, old) = (tcp(json!({"path_mtu_discovery": false})), json!({"preset": "bsd1999"}));
    for (mtu, tcp, too_big, fragmented) in [
        (1_500, &usual, false, false),
        (1_500, &off, false, false),
        (576, &usual, true, false),
        (576, &off, false, true),
        (576, &old, true, false),
        // No segments are shortened for a path below 552 bytes, as in Linux: routers fragment them.
        (296, &usual, true, true),
        (296, &least, true, false),
        (296, &off, false, true),
        (296, &old, true, false),
        (128, &least, true, false),
    ] {
        let output = run(&narrow(mtu, tcp));
        let rows = transactions(&output);
        let ended: Vec<_> = rows.iter().filter(|row| row.outcome != "unfinished").collect();
        assert!(ended.len() > 30, "{mtu} {tcp}: {} transactions", ended.len());
        // The modelled server answers a POST when all of its body has come.
        assert!(
            ended.iter().all(|row| (row.outcome, row.status, row.bytes) == ("ok", 200, BODY)),
            "{mtu} {tcp}"
        );
        assert_eq!(fate(&output, "too big") > 0, too_big, "{mtu} {tcp}");
        assert_eq!(fate(&output, "fragmented") > 0, fragmented, "{mtu} {tcp}");
        assert_eq!(fate(&output, "bad checksum"), 0);
        for direction in ["forward", "backward"] {
            assert!(row(&output, direction).bytes > BODY * ended.len() as u64, "{mtu} {tcp} {direction}");
        }
        let (fates, packets) = (&output.summary.fates, output.summary.packets);
        assert_eq!(packets.made, fates.values().sum::<u64>() + packets.in_flight);
    }
}

#[test]
fn hosts_remember_a_path_from_connection_to_connection() {
    let output = run(&narrow(576, &json!({"preset": "linux"})));
    let connections = output.ledger.connections.len() as u64;
    // The server learns the way to each of four clients, and each of these that to the server, by the segments of one flight.
    let flight = u64::from(Config::linux().initial_window);
    assert!((8..=8 * flight).contains(&fate(&output, "too big")), "{} too big", fate(&output, "too big"));
    assert!(connections > 100, "{connections} connections");
    // Nothing else is lost, and no connection takes the report for congestion.
    let lost = [row(&output, "forward").lost, row(&output, "backward").lost];
    assert_eq!((lost, fate(&output, "queue full")), ([0, 0], 0));
    let server = output.summary.server_tcp.expect("a modelled server");
    assert_eq!((server.timeouts, server.fast_retransmits), (0, 0));
}

#[test]
fn routers_that_send_no_errors_make_a_black_hole() {
    let mut scenario = narrow(576, &json!({"preset": "linux"}));
    scenario["network"]["icmp"] = json!({"rate": "1000/s", "burst": 0});
    scenario["clients"][0]["http"]["timeout"] = json!("3s");
    let output = run(&scenario);
    let outcomes: BTreeSet<&str> = transactions(&output).iter().map(|row| row.outcome).collect();
    assert!(outcomes.is_subset(&BTreeSet::from(["timed_out", "unfinished"])), "{outcomes:?}");
    assert!(fate(&output, "too big") > 0);
}

#[test]
fn a_shared_link_is_the_servers_own_and_tells_its_mss() {
    let mut scenario = scenario(2, "64KiB");
    scenario["network"]["shared"] = json!({"up": {}, "down": {"mtu": 1_000}});
    let report = topology_report(&Scenario::from_json(&scenario.to_string()).unwrap());
    let mtus: Vec<_> =
        report.links.iter().map(|link| (link.link.as_str(), link.direction, link.mtu)).collect();
    let expected = [
        ("shared", "up", Some(1_000)),
        ("shared", "down", Some(1_000)),
        ("clients", "up", Some(1_500)),
        ("clients", "down", Some(1_500)),
    ];
    assert_eq!(mtus, expected);
    assert_eq!(report.groups[0].mtu, 1_000);
    let output = run(&scenario);
    // Both ends know it from the handshake.
    assert_eq!((fate(&output, "too big"), fate(&output, "fragmented")), (0, 0));
    let down = output.links.iter().find(|row| row.link == "shared" && row.direction == "down").unwrap();
    assert!(down.packets > 100 && down.bytes / down.packets > 900, "{down:?}");
}
