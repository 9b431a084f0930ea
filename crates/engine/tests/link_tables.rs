//! The tables of links: what a row tells, and that the seconds and the waiting times of observed links add up to it.

use crate::common::{group, independent, run, scenario};
use serde_json::{Value, json};
use wasp_engine::{
    Control, LinkKind, LinkRow, LinkSecond, LinkSummary, ObservedLink, RunOutput, Scenario, simulate,
};

/// Two clients that fetch files over a shared link that loses, fills and drops; the run ends half a second after a whole one.
fn crowded(queue: &Value) -> Value {
    let mut found = scenario(2, "200KB");
    found["network"]["shared"] = json!({
        "up": {"rate": "1Mbit/s"},
        "down": {"rate": "2Mbit/s", "queue": queue, "loss": {"model": "independent", "rate": "1%"}},
    });
    found["measure"] = json!({"warmup": "2s", "duration": "6500ms"});
    found
}

fn row<'a>(output: &'a RunOutput, link: &str, direction: &str) -> &'a LinkRow {
    output.links.iter().find(|row| (row.link.as_str(), row.direction) == (link, direction)).unwrap()
}

fn observed<'a>(output: &'a RunOutput, link: &str, direction: &str) -> &'a ObservedLink {
    output.observed.iter().find(|row| (row.link.as_str(), row.direction) == (link, direction)).unwrap()
}

fn figures<'a>(output: &'a RunOutput, link: &str, direction: &str) -> &'a LinkSummary {
    let found = |row: &&LinkSummary| (row.link.as_str(), row.direction) == (link, direction);
    output.summary.observed.iter().find(found).unwrap()
}

/// The seconds of one link.
fn seconds(output: &RunOutput, link: &str, direction: &str) -> Vec<LinkSecond> {
    observed(output, link, direction).seconds.clone()
}

/// Packets and their mean wait in seconds.
fn waited(output: &RunOutput, link: &str, direction: &str) -> (u64, f64) {
    let waits = observed(output, link, direction).waits.as_ref().unwrap();
    (waits.len(), waits.mean() / 1e9)
}

fn ends(row: &LinkRow) -> (LinkKind, &str, &str) {
    (row.kind, row.from_node.as_str(), row.to_node.as_str())
}

#[test]
fn the_seconds_of_a_link_add_up_to_its_row() {
    for queue in
        [json!("20KB"), json!({"kind": "codel"}), json!({"kind": "red"}), json!({"kind": "fq-codel"})]
    {
        let mut asked = crowded(&queue);
        asked["clients"][0]["observe"] = json!(true);
        asked["clients"][0]["bandwidth"] = json!({"up": "1Mbit/s", "down": "3Mbit/s"});
        asked["clients"][0]["loss"] = independent("1%");
        let output = run(&asked);
        assert_eq!(output.observed.len(), output.links.len());
        for row in &output.links {
            let seconds = seconds(&output, &row.link, row.direction);
            assert_eq!(seconds.len(), 9, "{queue}");
            let sum = |value: fn(&LinkSecond) -> u64| seconds.iter().map(value).sum::<u64>();
            let sums = [
                sum(|second| second.packets),
                sum(|second| second.bytes),
                sum(|second| second.carried_bytes),
                sum(|second| second.lost),
                sum(|second| second.dropped),
                sum(|second| second.marked),
            ];
            let LinkRow { packets, bytes, carried_bytes, lost, dropped, marked, .. } = *row;
            assert_eq!(sums, [packets, bytes, carried_bytes, lost, dropped, marked], "{queue} {row:?}");
            assert_eq!(row.dropped, row.dropped_full + row.dropped_early + row.dropped_too_big);
            let most = seconds.iter().map(|second| second.max_queue_bytes).max();
            assert_eq!(most, Some(row.max_queue_bytes), "{queue} {row:?}");
            // The last is half a second.
            let integral: f64 = seconds.iter().map(|second| second.mean_queue_bytes).sum();
            let integral = integral - seconds[8].mean_queue_bytes / 2.0;
            assert!(
                (integral - 8.5 * row.mean_queue_bytes).abs() < 1e-6 * (1.0 + integral),
                "{queue} {row:?}"
            );
            assert!(seconds.iter().all(|second| second.queue_bytes <= second.max_queue_bytes));
        }
        let down = row(&output, "shared", "down");
        assert!(down.lost > 0 && down.dropped > 0, "{queue} {down:?}");
        assert_eq!(down.rate_bps, Some(2_000_000));
    }
}

#[test]
fn figures_of_the_measured_interval_are_exact_wherever_it_begins_and_ends() {
    let mut asked = crowded(&json!("20KB"));
    asked["clients"][0]["observe"] = json!(true);
    asked["clients"][0]["bandwidth"] = json!({"up": "1Mbit/s", "down": "3Mbit/s"});
    // Otherwise clients begin in the course of the warm-up.
    asked["clients"][0]["start"] = json!("together");
    let of = |warmup: &str, duration: &str| {
        let mut asked = asked.clone();
        asked["measure"] = json!({"warmup": warmup, "duration": duration});
        run(&asked)
    };
    // What happens does not depend on what is measured: the whole is the sum of its parts.
    let (whole, first, second) = (of("0s", "8200ms"), of("0s", "2700ms"), of("2700ms", "5500ms"));
    for (link, direction) in [("shared", "up"), ("shared", "down"), ("clients", "up"), ("clients", "down")] {
        let [whole, first, second] = [&whole, &first, &second].map(|output| figures(output, link, direction));
        assert_eq!(whole.packets, first.packets + second.packets, "{link} {direction}");
        assert_eq!((whole.lost, whole.dropped), (first.lost + second.lost, first.dropped + second.dropped));
        assert_eq!(whole.max_queue_bytes, first.max_queue_bytes.max(second.max_queue_bytes));
        for value in [|row: &LinkSummary| row.carried_bps, |row: &LinkSummary| row.mean_queue_bytes] {
            let parts = (2.7 * value(first) + 5.5 * value(second)) / 8.2;
            assert!((value(whole) - parts).abs() <= 1e-9 * parts, "{link} {direction}");
        }
        assert!(whole.utilization.unwrap() <= 1.001);
    }
    let (shared, homes) = (figures(&whole, "shared", "down"), figures(&whole, "clients", "down"));
    assert_eq!((shared.links, homes.links), (1, 2));
    assert!(shared.utilization.unwrap() > 0.8, "{shared:?}");
    assert!((shared.carried_bps / (2.0 * homes.carried_bps) - 1.0).abs() < 0.05, "{shared:?} {homes:?}");
    // By Little's law, as packets are nearly all of one length.
    let wait = shared.waiting_ms.mean.unwrap() / 1e3;
    assert!((wait * shared.carried_bps / 8.0 / shared.mean_queue_bytes - 1.0).abs() < 0.05, "{shared:?}");
    assert_eq!(figures(&whole, "shared", "up").waiting_ms.max.map(|wait| wait > 0.0), Some(true));
}

#[test]
fn a_run_that_is_stopped_before_its_interval_has_no_figures_of_links() {
    let asked = crowded(&json!({"kind": "codel"}));
    let scenario = Scenario::from_json(&asked.to_string()).unwrap();
    let control = Control::default();
    control.stop();
    let output = simulate(&scenario, &scenario.sites(None).unwrap(), &control, ());
    assert!(output.summary.observed.is_empty());
    assert!(output.observed.iter().all(|link| link.seconds.is_empty()));
}

#[test]
fn a_recorded_rate_has_no_utilization() {
    let mut asked = scenario(1, "20KB");
    asked["network"]["traces"] = json!({"a": "5\n10\n"});
    let trace =
        json!({"file": "a", "repeat": true, "start": "0ms", "opportunity": "1504B", "overhead": "4B"});
    asked["network"]["shared"]["down"] = json!({"trace": trace});
    let output = run(&asked);
    let down = figures(&output, "shared", "down");
    assert_eq!((down.rate_bps, down.utilization), (Some(2_400_000), None));
    assert!(down.waiting_ms.p99.unwrap() > 0.0 && down.carried_bps > 0.0);
    assert_eq!(figures(&output, "shared", "up").waiting_ms.p99, None);
}

#[test]
fn waiting_times_are_those_of_the_queue() {
    // Poisson traffic at a load of 0.6: the mean wait of M/D/1 is 0.75 services of a millisecond; the standard error of 300 s is 1 % of it.
    let mut asked = scenario(1, "1KB");
    asked["network"]["shared"]["down"] = json!({"rate": "8Mbit/s"});
    asked["network"]["cross_traffic"] = json!([{
        "name": "load", "link": "shared", "direction": "down", "rate": "4800kbit/s", "packet": "1000B",
        "model": {"kind": "poisson"},
    }]);
    asked["clients"][0]["think"] = json!({"model": "constant", "value": "60s"});
    asked["measure"] = json!({"warmup": "10s", "duration": "300s"});
    let output = run(&asked);
    let (packets, wait) = waited(&output, "shared", "down");
    assert!((wait / 0.75e-3 - 1.0).abs() < 0.05, "{wait} s");
    // By Little's law the mean queue is the rate of arrivals times that.
    let row = row(&output, "shared", "down");
    let queue = row.mean_queue_bytes / 1_000.0;
    assert!((queue / (wait * row.packets as f64 / 310.0) - 1.0).abs() < 0.03, "{queue} packets");
    let expected = row.packets as f64 * 300.0 / 310.0;
    assert!((packets as f64 - expected).abs() < 5.0 * expected.sqrt(), "{packets} of {expected}");
    // A link that takes no time keeps nothing waiting.
    assert!(
        output
            .observed
            .iter()
            .all(|link| link.waits.is_some() == (link.link == "shared" && link.direction == "down"))
    );
}

#[test]
fn a_row_tells_what_the_link_joins_and_why_packets_ended_there() {
    let output = run(&scenario(1, "1KB"));
    assert_eq!(ends(row(&output, "shared", "up")), (LinkKind::Server, "router", "server"));
    assert_eq!(ends(row(&output, "shared", "down")), (LinkKind::Server, "server", "router"));
    assert_eq!(ends(row(&output, "clients/0", "up")), (LinkKind::Access, "clients/0", "router"));

    let mut backbone = scenario(1, "20KB");
    backbone["network"] = json!({
        "prefix": "198.18.0.0/17", "kind": "backbone", "subnetworks": 3,
        "link": {"forward": {"mtu": 700}, "backward": {"delay": "1ms"}},
    });
    backbone["clients"][0]["at"] = json!("r3");
    backbone["server"]["tcp"]["path_mtu_discovery"] = json!(false);
    let output = run(&backbone);
    assert_eq!(ends(row(&output, "b2", "forward")), (LinkKind::Between, "r2", "r3"));
    assert_eq!(ends(row(&output, "b2", "backward")), (LinkKind::Between, "r3", "r2"));
    assert_eq!(ends(row(&output, "server", "down")), (LinkKind::Server, "server", "r1"));
    assert_eq!(ends(row(&output, "clients/0", "down")), (LinkKind::Access, "r3", "clients/0"));
    // Packets of the server are cut at the first narrow link; none of them counts there.
    let narrow = row(&output, "b1", "forward");
    assert!(narrow.fragmented > 0 && narrow.packets > 2 * narrow.fragmented, "{narrow:?}");
    assert_eq!((narrow.dropped, row(&output, "b2", "forward").fragmented), (0, 0));

    backbone["server"]["tcp"]["path_mtu_discovery"] = json!(true);
    let output = run(&backbone);
    let narrow = row(&output, "b1", "forward");
    assert!(narrow.dropped > 0 && narrow.fragmented == 0, "{narrow:?}");
    assert_eq!((narrow.dropped_too_big, narrow.dropped_full), (narrow.dropped, 0));

    let mut graph = scenario(1, "1KB");
    graph["network"] = json!({
        "prefix": "198.18.0.0/17", "kind": "graph", "nodes": [{"name": "far"}, {"name": "near"}],
        "links": [{"name": "wan", "from": "far", "to": "near", "forward": {"delay": "1ms"}, "backward": {"delay": "1ms"}}],
    });
    graph["server"]["at"] = json!("near");
    graph["clients"][0]["at"] = json!("far");
    let output = run(&graph);
    assert_eq!(ends(row(&output, "wan", "backward")), (LinkKind::Between, "near", "far"));
    assert_eq!(ends(row(&output, "server", "up")), (LinkKind::Server, "near", "server"));
    assert_eq!(ends(row(&output, "clients/0", "up")), (LinkKind::Access, "clients/0", "far"));
}

#[test]
fn access_links_are_observed_where_their_group_asks_for_it() {
    let mut asked = scenario(2, "1KB");
    let slow = || json!({"up": "1Mbit/s", "down": "1Mbit/s"});
    let mut watched = group("watched", 2);
    watched["bandwidth"] = slow();
    watched["observe"] = json!(true);
    asked["clients"][0]["bandwidth"] = slow();
    asked["clients"].as_array_mut().unwrap().push(watched);
    let output = run(&asked);
    let names: Vec<_> =
        output.observed.iter().map(|link| format!("{} {}", link.link, link.direction)).collect();
    let shared = ["shared up", "shared down"];
    let access = ["watched/2 up", "watched/2 down", "watched/3 up", "watched/3 down"];
    assert_eq!(names, [&shared[..], &access].concat());
    assert!(waited(&output, "watched/3", "down").0 > 0);
    assert!(waited(&output, "watched/2", "up").0 > 0);
}

#[test]
fn the_access_links_of_many_clients_cannot_be_observed() {
    let mut asked = scenario(600, "1KB");
    let mut others = group("others", 401);
    for group in [&mut asked["clients"][0], &mut others] {
        group["observe"] = json!(true);
    }
    asked["clients"].as_array_mut().unwrap().push(others);
    let error = Scenario::from_json(&asked.to_string()).unwrap_err().to_string();
    assert_eq!(
        error,
        "clients.clients.observe: true; groups with observe have 1001 clients, and at most 1000 would be valid in runs \
         of 12 s"
    );
    asked["clients"][1]["count"] = json!(400);
    assert!(Scenario::from_json(&asked.to_string()).is_ok());
    asked["measure"]["duration"] = json!("1h");
    let error = Scenario::from_json(&asked.to_string()).unwrap_err().to_string();
    assert!(
        error.ends_with("have 1000 clients, and at most 277 would be valid in runs of 3602 s"),
        "{error}"
    );
    asked["measure"] = json!({"warmup": "24h", "duration": "24h"});
    let error = Scenario::from_json(&asked.to_string()).unwrap_err().to_string();
    assert!(error.ends_with("at most 5 would be valid in runs of 172800 s"), "{error}");
    asked["measure"] = json!({"warmup": "2s", "duration": "10s"});
    asked["clients"][1]["name"] = json!("shared");
    let error = Scenario::from_json(&asked.to_string()).unwrap_err().to_string();
    assert!(
        error.starts_with("clients.shared.observe: true; the link before the server has the same"),
        "{error}"
    );
}
