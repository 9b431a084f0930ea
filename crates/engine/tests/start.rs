//! How clients begin: as in the long run, or all at once.

use crate::common::{NO_REASON, run, scenario, transactions};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use wasp_engine::{Beginning, Lengths, Reason, ReasonCode, RunOutput, Scenario};

/// 400 clients 100 ms away from a server that costs next to nothing.
fn clients(think: Value) -> Value {
    let mut scenario = scenario(400, "1KB");
    scenario["clients"][0]["http"]["requests_per_connection"] = json!(null);
    scenario["clients"][0]["think"] = think;
    scenario["measure"] = json!({"warmup": "5s", "duration": "10s"});
    scenario
}

/// Whether as many transactions ended in ten seconds as where `rate` do in one, but for five of these standard deviations.
fn is_near(output: &RunOutput, rate: f64, deviation: f64) -> bool {
    (output.summary.throughput - rate).abs() * 10.0 < 5.0 * deviation
}

#[test]
fn pauses_longer_than_the_run_have_their_share_of_it() {
    let mut scenario = clients(json!({"model": "constant", "value": "12s"}));
    let rate = 400.0 / 12.1;
    // A client ends one with the probability of 10 / 12.1, or none.
    let deviation = (400.0_f64 * (10.0 / 12.1) * (2.1 / 12.1)).sqrt();
    let output = run(&scenario);
    assert!(is_near(&output, rate, deviation), "{}", output.summary.throughput);
    scenario["clients"][0]["start"] = json!("together");
    // Their second requests come in the measured interval, all at once.
    let output = run(&scenario);
    assert!(!is_near(&output, rate, deviation), "{}", output.summary.throughput);
}

#[test]
fn pauses_with_a_heavy_tail_have_theirs_beside_long_responses() {
    // 32 KB over 256 kbit/s take a second, and the mean pause is 3 s less what the longest of a day take from it.
    let mut scenario = clients(json!({"model": "pareto", "shape": 1.5, "scale": "1s"}));
    scenario["workload"]["size"] = json!("30KB");
    scenario["clients"][0]["bandwidth"] = json!({"down": "256kbit/s"});
    scenario["measure"]["warmup"] = json!("20s");
    let mean = 3.0 * (1.0 - (1.0_f64 / 86_400.0).sqrt());
    let output = run(&scenario);
    let response = output.summary.response_time_ms.mean.unwrap() / 1e3;
    assert!((1.0..1.3).contains(&response), "{response}");
    // Of so many clients, the counts are nearly those of a Poisson process.
    let rate = 400.0 / (mean + response);
    assert!(is_near(&output, rate, (rate * 10.0).sqrt()), "{} of {rate}", output.summary.throughput);
}

#[test]
fn connections_of_a_client_begin_each_by_itself() {
    let mut scenario = clients(json!({"model": "constant", "value": "12s"}));
    scenario["clients"][0]["http"]["connections"] = json!(3);
    let output = run(&scenario);
    let deviation = (1_200.0_f64 * (10.0 / 12.1) * (2.1 / 12.1)).sqrt();
    assert!(is_near(&output, 1_200.0 / 12.1, deviation), "{}", output.summary.throughput);
}

#[test]
fn arrivals_come_to_every_client_once_before_they_come_to_one_twice() {
    let mut scenario = clients(Value::Null);
    scenario["clients"][0]["arrivals"] = json!({"model": "poisson", "rate": "100/s"});
    let output = run(&scenario);
    let rows = transactions(&output);
    let early: Vec<_> = rows.iter().filter(|row| row.intended.unwrap() < 4_000_000_000).collect();
    let clients: BTreeSet<_> = early.iter().map(|row| row.client).collect();
    assert_eq!((early.len(), clients.len()), (400, 400));
    // So nobody opens a connection in the measured interval, where the count of arrivals is that of a Poisson process.
    assert!(rows.iter().all(|row| row.connection == 0));
    let late = rows.iter().filter(|row| row.start >= 5_000_000_000).count();
    assert!((late as f64 - 1_000.0).abs() < 5.0 * 1_000_f64.sqrt(), "{late}");
    let mean = output.summary.response_time_ms.mean.unwrap();
    // One in forty arrivals finds its client busy for 50 ms more.
    assert!((mean - 101.3).abs() < 1.0, "{mean}");
}

#[test]
fn together_all_ask_at_the_very_beginning() {
    let mut scenario = clients(json!({"model": "constant", "value": "1s"}));
    scenario["clients"][0]["start"] = json!("together");
    let rows = transactions(&run(&scenario));
    assert_eq!(rows.iter().filter(|row| row.start == 0).count(), 400);
    let second = rows.iter().filter(|row| row.request == 1).map(|row| row.start);
    assert!(second.clone().count() == 400 && second.max().unwrap() < 1_300_000_000);
}

#[test]
fn whoever_asks_when_something_arrives_does_not_begin_together() {
    let mut scenario = clients(Value::Null);
    scenario["clients"][0]["start"] = json!("together");
    scenario["clients"][0]["arrivals"] = json!({"model": "constant", "rate": "100/s"});
    let refusal = Scenario::from_json(&scenario.to_string()).unwrap_err().to_string();
    assert!(refusal.contains("clients.clients.start: \"together\"; clients with arrivals ask"), "{refusal}");
}

/// The codes of the reasons against a run, and the beginning of its only group.
fn judged(scenario: &Value) -> (Vec<ReasonCode>, Beginning) {
    let summary = run(scenario).summary;
    let codes = summary.invalid.iter().map(|reason| reason.code).collect();
    (codes, summary.by_group[0].beginning.expect("enough transactions ended"))
}

/// The first reason.
fn first(scenario: &Value) -> Reason {
    run(scenario).summary.invalid.into_iter().next().expect("there is a reason")
}

#[test]
fn connections_that_are_opened_in_the_interval_must_not_matter() {
    // Each of 400 clients asks every 27 s, and 75 of them have in the warm-up.
    let mut scenario = clients(Value::Null);
    scenario["clients"][0]["arrivals"] = json!({"model": "poisson", "rate": "15/s"});
    let (codes, found) = judged(&scenario);
    assert_eq!(codes, [ReasonCode::Opening]);
    assert!(found.opened > 0.6 && found.opening > 0.3, "{found:?}");
    assert!((found.cycle_s - 400.0 / 15.0).abs() < 10.0, "{found:?}");
    let said = first(&scenario);
    assert!(said.message.contains("mean response time is 6"), "{said:?}");
    assert_eq!(said.enough, Lengths { warmup: Some(45.0), duration: None });
    // The advice is good.
    scenario["measure"]["warmup"] = json!("45s");
    let (codes, found) = judged(&scenario);
    assert_eq!(codes, NO_REASON);
    assert_eq!((found.opened, found.opening, found.enough_warmup_s), (0.0, 0.0, None));
}

#[test]
fn a_connection_for_each_request_is_opened_in_every_interval() {
    let mut scenario = clients(json!({"model": "constant", "value": "12s"}));
    scenario["clients"][0]["http"]["requests_per_connection"] = json!(1);
    let (codes, found) = judged(&scenario);
    assert_eq!(codes, NO_REASON);
    assert_eq!((found.opened, found.opening), (1.0, 0.0));
}

#[test]
fn connections_that_the_server_closes_are_opened_again_for_ever() {
    let mut scenario = clients(json!({"model": "constant", "value": "1s"}));
    scenario["server"]["model"]["requests_per_connection"] = json!(2);
    let (codes, found) = judged(&scenario);
    assert_eq!(codes, NO_REASON);
    assert!((found.opened - 0.5).abs() < 0.1 && found.opening.abs() < 1e-3, "{found:?}");
}

#[test]
fn connections_that_the_server_closes_while_a_client_pauses_are_no_beginning() {
    // More than half of the connections are the first of their client, and yet no transaction will ever find one open.
    let mut scenario = clients(json!({"model": "constant", "value": "12s"}));
    scenario["server"]["model"]["requests_per_connection"] = json!(1);
    let (codes, found) = judged(&scenario);
    assert_eq!(codes, NO_REASON);
    assert_eq!((found.opened, found.opening), (1.0, 0.0));
}

#[test]
fn connections_may_come_to_their_last_request_too_often() {
    // Those of 15 requests that are opened in the first second are so again in the sixteenth.
    let mut scenario = clients(Value::Null);
    scenario["clients"][0]["http"]["requests_per_connection"] = json!(15);
    scenario["clients"][0]["rtt"] = json!("1s");
    scenario["measure"]["warmup"] = json!("15s");
    let (codes, found) = judged(&scenario);
    assert_eq!(codes, [ReasonCode::Opening]);
    assert!((found.opening - 0.035).abs() < 0.01, "{found:?}");
    assert!(first(&scenario).message.contains("too many connections"), "{}", first(&scenario).message);
}

#[test]
fn of_connections_that_end_after_so_many_requests_as_many_must_begin() {
    // The first of them end after 20 s.
    let mut scenario = clients(json!({"model": "constant", "value": "2s"}));
    scenario["clients"][0]["http"]["requests_per_connection"] = json!(10);
    let (codes, found) = judged(&scenario);
    assert_eq!(codes, [ReasonCode::Opening]);
    assert!((found.opening + 0.1).abs() < 0.03, "{found:?}");
    let said = first(&scenario).message;
    assert!(said.contains("too few connections happened to come to their last request"), "{said}");
    scenario["measure"]["duration"] = json!(format!("{}s", found.enough_s.unwrap()));
    assert_eq!(judged(&scenario).0, NO_REASON);
}

#[test]
fn clients_in_step_make_no_throughput() {
    let mut scenario = clients(Value::Null);
    scenario["workload"]["size"] = json!("92KB");
    scenario["clients"][0]["bandwidth"] = json!({"down": "64kbit/s"});
    let (codes, found) = judged(&scenario);
    assert!(codes.contains(&ReasonCode::Cycles) && found.in_step > 0.15, "{codes:?} {found:?}");
    let said = run(&scenario)
        .summary
        .invalid
        .into_iter()
        .find(|reason| reason.code == ReasonCode::Cycles)
        .unwrap()
        .message;
    assert!(said.contains("the clients go in step: each ends a transaction about every 12 s"), "{said}");
    scenario["measure"]["duration"] = json!(format!("{}s", found.enough_s.unwrap()));
    let output = run(&scenario);
    assert_eq!(output.summary.invalid, []);
    let cycle = output.summary.response_time_ms.mean.unwrap() / 1e3;
    assert!((output.summary.throughput * cycle / 400.0 - 1.0).abs() < 0.025, "{}", output.summary.throughput);
}

#[test]
fn a_herd_is_in_step_until_its_pauses_have_scattered_it() {
    let mut scenario = clients(json!({"model": "constant", "value": "2s"}));
    assert_eq!(judged(&scenario).0, NO_REASON);
    scenario["clients"][0]["start"] = json!("together");
    assert!(judged(&scenario).0.contains(&ReasonCode::Cycles));
    scenario["clients"][0]["think"] = json!({"model": "exponential", "mean": "1s"});
    assert_eq!(judged(&scenario).0, NO_REASON);
}
