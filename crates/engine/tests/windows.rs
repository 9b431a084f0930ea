//! Congestion windows that tell of their beginning, and those that do not.

use crate::common::{independent, run, scenario};
use serde_json::{Value, json};
use wasp_engine::{CongestionWindows, ReasonCode};

/// 64 clients with kept connections, which ask for 30 KB again and again.
fn kept(rtt: &str, loss: Value) -> Value {
    let mut scenario = scenario(64, "30KB");
    let clients = &mut scenario["clients"][0];
    clients["rtt"] = json!(rtt);
    clients["loss"] = loss;
    clients["http"]["requests_per_connection"] = json!(null);
    scenario["measure"] = json!({"warmup": "5s", "duration": "10s"});
    scenario
}

/// What is found of the windows, and the messages that say so.
fn judged(scenario: &Value) -> (Option<CongestionWindows>, Vec<String>) {
    let summary = run(scenario).summary;
    let said = summary.invalid.into_iter().filter(|reason| reason.code == ReasonCode::Windows);
    (summary.by_group[0].windows, said.map(|reason| reason.message).collect())
}

fn is_unsettled(scenario: &Value) -> bool {
    let (found, said) = judged(scenario);
    assert_eq!(found.is_some_and(|found| found.unsettled), !said.is_empty());
    !said.is_empty()
}

#[test]
fn a_connection_needs_a_few_losses_to_forget_its_beginning() {
    let mut scenario = kept("300ms", independent("0.3%"));
    let (found, said) = judged(&scenario);
    let found = found.expect("data was lost");
    assert!(found.needed > 3.0 && found.needed < 4.0 && found.fewer > 0.95, "{found:?}");
    let [message] = said.as_slice() else { panic!("{said:?}") };
    let said = "on connections that had lost data fewer than 4 times before, so that how a connection begins still decided how fast it was";
    assert!(
        message.starts_with("congestion windows had not converged: 9") && message.contains(said),
        "{message}"
    );
    scenario["measure"]["warmup"] =
        json!(format!("{}s", found.enough_warmup_s.expect("some warm-up is enough")));
    assert!(!is_unsettled(&scenario));
}

#[test]
fn windows_that_are_not_kept_or_lose_nothing_have_nothing_to_forget() {
    assert_eq!(judged(&kept("300ms", json!({}))).0, None);
    let mut scenario = kept("300ms", independent("0.3%"));
    scenario["clients"][0]["http"]["requests_per_connection"] = json!(1);
    assert_eq!(judged(&scenario).0, None);
    // Connections of ten requests have been opened anew by the time of the interval.
    scenario["clients"][0]["http"]["requests_per_connection"] = json!(10);
    assert!(!is_unsettled(&scenario));
}

#[test]
fn a_small_response_does_not_need_the_window_that_is_lost() {
    let mut scenario = kept("300ms", independent("0.3%"));
    scenario["workload"]["size"] = json!("1KB");
    assert!(!is_unsettled(&scenario));
}

#[test]
fn after_pauses_a_response_of_two_round_trips_takes_two() {
    let mut scenario = kept("100ms", independent("1%"));
    scenario["clients"][0]["think"] = json!({"model": "constant", "value": "2s"});
    assert!(!is_unsettled(&scenario));
    // 28 segments take two round trips in slow start, and three where a loss has ended it.
    scenario["workload"]["size"] = json!("40KB");
    assert!(is_unsettled(&scenario));
}

#[test]
fn what_a_full_queue_of_its_own_leaves_of_a_window_is_enough() {
    // The queue is full each time that a window has grown beyond it, and 200 KB take as long as the link needs for them.
    let mut scenario = kept("50ms", json!({}));
    scenario["workload"]["size"] = json!("200KB");
    scenario["clients"][0]["bandwidth"] = json!({"down": "10Mbit/s"});
    scenario["clients"][0]["queue"] = json!({"down": "128KB"});
    let found = judged(&scenario).0.expect("data was lost");
    let effect = found.effect.expect("there are connections with many losses");
    assert!(effect.longer.abs() < 0.01 && effect.standard_error < 0.01, "{effect:?}");
    assert!(
        found.fewer > 0.4 && found.recovering > 0.5 && found.slower < 1.005 && !found.unsettled,
        "{found:?}"
    );
}

#[test]
fn losses_that_have_no_effect_are_no_reason() {
    // The link that all share could be what loses the data, and is not.
    let mut scenario = kept("50ms", json!({}));
    scenario["workload"]["size"] = json!("200KB");
    scenario["clients"][0]["bandwidth"] = json!({"down": "10Mbit/s"});
    scenario["clients"][0]["queue"] = json!({"down": "85KB"});
    scenario["network"]["shared"]["down"] = json!({"rate": "10Gbit/s", "queue": "10MB"});
    let found = judged(&scenario).0.expect("data was lost");
    let effect = found.effect.expect("there are connections with many losses");
    assert!(effect.longer.abs() < 0.01 && effect.standard_error < 0.01, "{effect:?}");
    assert!(
        found.fewer > 0.8 && found.recovering > 0.5 && found.slower > 1.05 && !found.unsettled,
        "{found:?}"
    );
}

#[test]
fn it_does_not_matter_which_link_loses_the_data() {
    let own = judged(&kept("300ms", json!({"down": {"model": "independent", "rate": "0.3%"}}))).0;
    let mut scenario = kept("300ms", json!({}));
    scenario["network"]["shared"]["down"]["loss"] = json!({"model": "independent", "rate": "0.3%"});
    let shared = judged(&scenario).0;
    let [own, shared] = [own, shared].map(|found| found.expect("data was lost"));
    assert!((own.recovering / shared.recovering - 1.0).abs() < 0.1, "{own:?} {shared:?}");
    assert!(own.unsettled && shared.unsettled);
}

#[test]
fn only_what_is_lost_on_the_way_of_the_data_makes_a_window_smaller() {
    let lossy = |direction: &str| json!({direction: {"model": "independent", "rate": "3%"}});
    assert!(is_unsettled(&kept("300ms", lossy("down"))));
    // What is lost on the way up are requests and acknowledgments.
    assert_eq!(judged(&kept("300ms", lossy("up"))).0, None);
    let mut scenario = kept("300ms", lossy("up"));
    scenario["workload"]["size"] = json!("1KB");
    let http = &mut scenario["clients"][0]["http"];
    (http["method"], http["body"]) = (json!("POST"), json!("30KB"));
    assert!(is_unsettled(&scenario));
    scenario["clients"][0]["loss"] = lossy("down");
    assert_eq!(judged(&scenario).0, None);
}

#[test]
fn each_group_is_judged_by_itself() {
    let mut scenario = kept("300ms", independent("0.3%"));
    let mut group = scenario["clients"][0].clone();
    (group["name"], group["loss"]) = (json!("near"), json!({}));
    scenario["clients"].as_array_mut().expect("a list of groups").push(group);
    let said = run(&scenario).summary.invalid.into_iter().filter(|reason| reason.code == ReasonCode::Windows);
    let groups: Vec<_> = said.map(|reason| reason.group).collect();
    assert_eq!(groups, [Some("clients".to_owned())]);
}
