//! Queue disciplines before whole TCP connections.

use crate::common::{NO_REASON, run, scenario};
use serde_json::{Value, json};
use wasp_engine::{LinkRow, RunOutput};

/// Clients that download without end over a shared link of 10 Mbit/s towards them with this queue.
fn downloads(count: u32, preset: &Value, queue: &Value) -> Value {
    let mut scenario = scenario(count, "1GB");
    scenario["server"]["tcp"] = preset.clone();
    scenario["network"]["shared"]["down"] = json!({"rate": "10Mbit/s", "queue": queue});
    scenario
}

fn shared_down(output: &RunOutput) -> &LinkRow {
    output.links.iter().find(|link| (link.link.as_str(), link.direction) == ("shared", "down")).unwrap()
}

/// The mean time in seconds that a byte waits at 10 Mbit/s between 60 and 120 s after the start: what a run of 120 s has beyond one of 60 s, which
/// is its beginning.
fn late_delay(scenario: &Value) -> f64 {
    let byte_seconds = [58, 118].map(|duration| {
        let mut scenario = scenario.clone();
        scenario["measure"] = json!({"warmup": "2s", "duration": format!("{duration}s")});
        let output = run(&scenario);
        shared_down(&output).mean_queue_bytes * f64::from(duration + 2)
    });
    (byte_seconds[1] - byte_seconds[0]) / 60.0 / 1.25e6
}

#[test]
fn pie_holds_the_delay_of_twenty_reno_connections() {
    let scenario = downloads(20, &json!({"preset": "linux", "congestion": "reno"}), &json!({"kind": "pie"}));
    let delay = late_delay(&scenario);
    assert!((0.010..0.020).contains(&delay), "{delay} s");
}

#[test]
fn what_waits_stays_near_the_target_and_the_link_stays_busy() {
    let linux = json!({"preset": "linux"});
    let cases = [("codel", 0.012), ("fq-codel", 0.020), ("pie", 0.030), ("red", 0.030)];
    let full = late_delay(&downloads(8, &linux, &json!("1MB")));
    for (kind, most) in cases {
        let scenario = downloads(8, &linux, &json!({"kind": kind}));
        let delay = late_delay(&scenario);
        assert!(delay < most && delay < full / 10.0, "{kind}: {delay} s, and {full} s without");
        let mut long = scenario.clone();
        long["measure"] = json!({"warmup": "10s", "duration": "40s"});
        let output = run(&long);
        let link = shared_down(&output);
        let utilisation = link.bytes as f64 / 50.0 / 1.25e6;
        assert!(utilisation > 0.9, "{kind}: the link is busy for {utilisation} of the time");
        assert_eq!(link.dropped, output.summary.fates["queue early"] + output.summary.fates["queue full"]);
        assert_eq!(link.dropped_early, output.summary.fates["queue early"]);
        let network = &output.summary.network;
        assert!(network.down.dropped_early > 0 && network.down.dropped_early <= link.dropped_early);
    }
}

#[test]
fn a_fair_run_before_a_discipline_is_valid() {
    let mut scenario = scenario(20, "100KB");
    scenario["network"]["shared"]["down"] = json!({"rate": "10Mbit/s", "queue": {"kind": "fq-codel"}});
    scenario["measure"] = json!({"warmup": "30s", "duration": "120s"});
    let output = run(&scenario);
    let codes: Vec<_> = output.summary.invalid.iter().map(|reason| reason.code).collect();
    assert_eq!(codes, NO_REASON, "{:?}", output.summary.invalid);
}
