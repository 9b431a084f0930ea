//! Groups of clients are judged one by one: what a total hides is said of the group that has it.

use crate::common::{figures_and_rows_agree, group, independent, run, scenario};
use serde_json::{Value, json};
use wasp_engine::{ReasonCode, RunOutput, Summary};

/// 16 clients 20 ms away beside others.
fn beside(other: &Value) -> Value {
    let mut scenario = scenario(16, "20KB");
    scenario["clients"][0]["rtt"] = json!("20ms");
    scenario["clients"] = json!([scenario["clients"][0], other]);
    scenario["measure"]["max_errors"] = json!("10%");
    scenario
}

/// The codes of what speaks against a run, and the messages.
fn said(output: &RunOutput) -> Vec<(ReasonCode, &str)> {
    output.summary.invalid.iter().map(|reason| (reason.code, reason.message.as_str())).collect()
}

#[test]
fn a_group_in_which_nothing_ends_is_silent() {
    let mut far = group("far", 16);
    far["rtt"] = json!("600ms");
    far["bandwidth"]["down"] = json!("1kbit/s");
    let output = run(&beside(&far));
    figures_and_rows_agree(&output);
    let wanted =
        "group far: no transaction ended in the 10.0 s of the interval; 16 were in progress at its end";
    assert_eq!(said(&output), [(ReasonCode::Silent, wanted)]);
    // One group alone is `too_few`.
    let mut alone = beside(&far);
    alone["clients"] = json!([far]);
    assert_eq!(said(&run(&alone)), [(ReasonCode::TooFew, "0 ok transactions; at least 100 are needed")]);
}

#[test]
fn a_total_with_few_errors_does_not_hide_a_group_with_many() {
    let mut far = group("far", 1);
    far["rtt"] = json!("600ms");
    far["http"]["timeout"] = json!("500ms");
    let output = run(&beside(&far));
    figures_and_rows_agree(&output);
    let Summary { outcomes, by_group, .. } = &output.summary;
    let timed_out = by_group[1].outcomes["timed_out"];
    assert!(timed_out < 100 && 100 * timed_out < outcomes["ok"], "{outcomes:?}");
    let wanted = format!(
        "group far: 100.0 % of the {timed_out} transactions that ended were not ok (timed_out {timed_out}); at most 10% is allowed \
         (measure.max_errors)"
    );
    assert_eq!(said(&output), [(ReasonCode::Errors, wanted.as_str())]);
}

#[test]
fn a_group_of_few_of_whom_none_comes_through_has_no_figure() {
    // One of 16 clients ends, by its timeout of 10 s in the last second; the others begin later.
    let mut far = group("far", 16);
    far["rtt"] = json!("20s");
    far["http"]["timeout"] = json!("10s");
    let mut scenario = beside(&far);
    scenario["measure"]["warmup"] = json!("1s");
    scenario["measure"]["duration"] = json!("9030ms");
    let output = run(&scenario);
    let outcomes = &output.summary.by_group[1].outcomes;
    let ended = outcomes["timed_out"];
    assert!((1..3).contains(&ended) && outcomes["ok"] == 0, "{outcomes:?}");
    let wanted = format!("group far: none of the {ended} transactions that ended was ok (timed_out {ended})");
    // What 15 of them lack, all clients together lack too.
    let codes = |output: &RunOutput| said(output).iter().map(|(code, _)| *code).collect::<Vec<_>>();
    assert_eq!(
        (said(&output)[0], codes(&output)),
        ((ReasonCode::Silent, wanted.as_str()), vec![ReasonCode::Silent, ReasonCode::Censored])
    );
    scenario["measure"]["max_errors"] = json!("100%");
    assert_eq!(codes(&run(&scenario)), [ReasonCode::Censored]);
}

#[test]
fn a_group_that_asks_for_nothing_is_silent_in_other_words() {
    let mut rare = group("rare", 1);
    rare["arrivals"] = json!({"model": "constant", "rate": "60/h"});
    let found = run(&beside(&rare));
    let wanted = "group rare: its clients asked for nothing in the 10.0 s of the interval";
    assert_eq!(said(&found), [(ReasonCode::Silent, wanted)]);
    let open = found.summary.by_group[1].open_loop.unwrap();
    assert_eq!((open.arrivals, open.begun, open.shed), (0, 0, 0));
}

#[test]
fn background_groups_are_judged_by_nothing_and_counted_in_nothing() {
    // One whose requests come too fast and time out, and one whose transactions take longer than the interval.
    let mut failing = group("failing", 2);
    failing["arrivals"] = json!({"model": "constant", "rate": "1000/s"});
    failing["http"]["timeout"] = json!("150ms");
    let mut slow = group("slow", 200);
    slow["loss"] = independent("25%");
    let with = |background: bool| {
        let mut scenario = beside(&failing);
        let groups = scenario["clients"].as_array_mut().unwrap();
        groups.push(slow.clone());
        groups[1]["background"] = json!(background);
        groups[2]["background"] = json!(background);
        run(&scenario)
    };
    let judged = with(false);
    let codes: Vec<_> = said(&judged).into_iter().map(|(code, _)| code).collect();
    assert_eq!(codes, [ReasonCode::Errors, ReasonCode::Overload, ReasonCode::Censored]);
    let output = with(true);
    assert_eq!(said(&output), []);
    let summary = &output.summary;
    let [near, failing, slow] = &summary.by_group[..] else { panic!("three groups") };
    assert!(!near.background && failing.background && slow.background);
    // Each has its own figures, which are those that it has if it is measured.
    assert_eq!(format!("{:?}", slow.ages), format!("{:?}", judged.summary.by_group[2].ages));
    assert_eq!(failing.outcomes, judged.summary.by_group[1].outcomes);
    assert_eq!((&summary.outcomes, summary.throughput), (&near.outcomes, near.throughput));
    let (all, own) = (summary.all_response_time_ms.max.unwrap(), near.all_response_time_ms.max.unwrap());
    assert!((all / own - 1.0).abs() < 1e-3, "{all} {own}");
    assert!(summary.open_loop.is_none() && summary.censoring.is_some_and(|found| !found.censored));
    let ledger = &output.ledger;
    assert_eq!(ledger.seconds.iter().map(|second| second.errors).sum::<u32>(), 0);
    assert_eq!((ledger.errors(), ledger.other_times.len()), (0, 0));
    assert!(ledger.completed() >= near.outcomes["ok"]);
}

#[test]
fn a_closed_loop_beside_an_open_one_is_not_among_its_times() {
    let mut open = group("open", 4);
    open["arrivals"] = json!({"model": "constant", "rate": "20/s"});
    let output = run(&beside(&open));
    let (loops, groups) = (output.summary.open_loop.unwrap(), &output.summary.by_group);
    // 20 ms away, the others take 60 ms; from their start, those of the open loop take 300 ms.
    assert!(loops.from_start_ms.p50.unwrap() > 250.0, "{loops:?}");
    assert_eq!(groups[0].open_loop.map(|found| found.arrivals), None);
    assert_eq!(groups[1].open_loop.map(|found| found.arrivals), Some(loops.counts.arrivals));
}

#[test]
fn chance_does_not_speak_against_a_group_of_few() {
    // One client that does not come through once in a while.
    let mut lossy = group("lossy", 1);
    lossy["loss"] = independent("3%");
    lossy["http"]["timeout"] = json!("350ms");
    let output = run(&beside(&lossy));
    let outcomes = &output.summary.by_group[1].outcomes;
    let (ok, timed_out) = (outcomes["ok"], outcomes["timed_out"]);
    assert!(ok + timed_out < 100 && 10 * timed_out > ok + timed_out, "{outcomes:?}");
    assert_eq!(said(&output), []);
}

#[test]
fn the_advice_of_a_run_does_for_its_most_demanding_group() {
    // Transactions of 0.3 s to a minute.
    let mut slow = group("slow", 200);
    slow["loss"] = independent("25%");
    let output = run(&beside(&slow));
    let Summary { by_group, censoring, .. } = &output.summary;
    let (quick, slow) = (by_group[0].censoring.unwrap(), by_group[1].censoring.unwrap());
    assert!(!quick.censored && slow.censored, "{quick:?} {slow:?}");
    let whole = censoring.unwrap();
    assert!(whole.censored && whole.enough_s.is_some() && whole.enough_s == slow.enough_s, "{whole:?}");
    assert!(quick.lacking < whole.lacking && whole.lacking < slow.lacking, "{whole:?}");
    let found = said(&output);
    let [(ReasonCode::Censored, message)] = found[..] else { panic!("{found:?}") };
    assert!(message.starts_with("group slow: the interval was too short"), "{message}");
}

#[test]
fn a_group_that_cannot_take_its_arrivals_is_overloaded() {
    // One connection a client carries a request in a round trip: 10 a second.
    let mut queued = group("queued", 2);
    queued["arrivals"] = json!({"model": "constant", "rate": "30/s", "outstanding": 1_000_000});
    queued["http"]["requests_per_connection"] = json!(1_000);
    let mut scenario = beside(&queued);
    scenario["clients"][0]["arrivals"] =
        json!({"model": "constant", "rate": "200/s", "outstanding": 1_000_000});
    let output = run(&scenario);
    figures_and_rows_agree(&output);
    let [quick, queued] = &output.summary.by_group[..] else { panic!("two groups") };
    let (quick, queued) = (quick.open_loop.unwrap(), queued.open_loop.unwrap());
    assert_eq!((quick.arrivals, queued.arrivals), (2_000, 300));
    assert!(quick.begun.abs_diff(2_000) <= 16 && queued.begun <= 201, "{quick:?} {queued:?}");
    let found = said(&output);
    assert!(found.iter().all(|(_, message)| message.starts_with("group queued: ")), "{found:?}");
    assert!(found.iter().any(|(code, _)| *code == ReasonCode::Overload), "{found:?}");
}
