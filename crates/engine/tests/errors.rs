//! Transactions that end otherwise than `ok`: how they are counted, and from which share on a run must not be trusted.

use crate::common::{figures_and_rows_agree, group, independent, run, scenario};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use wasp_engine::{ReasonCode, RunOutput, Scenario};

/// A group without errors, and one whose requests time out now and then.
fn lossy(max_errors: &Value) -> RunOutput {
    let mut scenario = scenario(10, "1KB");
    let mut far = group("far", 20);
    far["loss"] = independent("12%");
    far["http"]["timeout"] = json!("450ms");
    scenario["clients"] = json!([scenario["clients"][0], far]);
    scenario["measure"]["max_errors"] = max_errors.clone();
    run(&scenario)
}

fn message(output: &RunOutput) -> Option<&str> {
    let reason = output.summary.invalid.iter().find(|reason| reason.code == ReasonCode::Errors);
    reason.map(|reason| reason.message.as_str())
}

#[test]
fn outcomes_and_status_codes_are_counted_by_group_and_add_up() {
    let output = lossy(&json!(null));
    figures_and_rows_agree(&output);
    let summary = &output.summary;
    let [near, far] = &summary.by_group[..] else { panic!("two groups") };
    assert_eq!((near.name.as_str(), far.name.as_str()), ("clients", "far"));
    assert!(far.outcomes["timed_out"] > 50 && near.outcomes["timed_out"] == 0, "{far:?}");
    for group in [near, far] {
        assert_eq!(group.statuses, BTreeMap::from([(200, group.outcomes["ok"])]));
    }
    for (outcome, count) in &summary.outcomes {
        assert_eq!(near.outcomes[outcome] + far.outcomes[outcome], *count, "{outcome}");
    }
    assert_eq!(summary.statuses, BTreeMap::from([(200, summary.outcomes["ok"])]));
}

#[test]
fn a_run_with_more_errors_than_are_allowed_is_not_valid() {
    assert_eq!(message(&lossy(&json!(null))), None);
    let output = lossy(&json!("0.05"));
    let outcomes = &output.summary.by_group[1].outcomes;
    let (ok, timed_out) = (outcomes["ok"], outcomes["timed_out"]);
    let share = 100.0 * timed_out as f64 / (ok + timed_out) as f64;
    assert!((10.0..60.0).contains(&share), "{share}");
    let said = format!(
        "group far: {share:.1} % of the {} transactions that ended were not ok (timed_out {timed_out}); at most 5% is allowed \
         (measure.max_errors)",
        ok + timed_out
    );
    assert_eq!(message(&output), Some(said.as_str()));
    assert_eq!(message(&lossy(&json!("100%"))), None);
    // What is allowed is no error: only above it a run is not valid.
    let exact = json!(format!("{:.10}", timed_out as f64 / (ok + timed_out) as f64 + 1e-9));
    assert_eq!(message(&lossy(&exact)), None);
}

#[test]
fn a_share_of_errors_is_from_none_to_all() {
    let mut scenario = scenario(1, "1KB");
    scenario["measure"]["max_errors"] = json!("101%");
    let error = Scenario::from_json(&scenario.to_string()).unwrap_err();
    assert_eq!(error.field, "measure.max_errors");
}

#[test]
fn what_comes_when_its_client_has_gone_is_lost_by_chance() {
    // A SYN-ACK that is lost is sent again when its client has given up and forgotten the connection.
    let mut scenario = scenario(256, "1KB");
    scenario["clients"][0]["loss"]["down"] = json!({"model": "independent", "rate": "10%"});
    scenario["clients"][0]["http"]["timeout"] = json!("300ms");
    let summary = run(&scenario).summary;
    let down = summary.network.down;
    let deviation = (0.1 * 0.9 / down.packets as f64).sqrt();
    let (rate, expected) = (down.loss_rate.unwrap(), down.expected_loss_rate.unwrap());
    assert!((rate - 0.1).abs() < 5.0 * deviation && (expected - 0.1).abs() < 1e-9, "{rate} +- {deviation}");
    assert!(!summary.invalid.iter().any(|reason| reason.code == ReasonCode::Loss), "{:?}", summary.invalid);
}
