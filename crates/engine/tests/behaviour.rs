//! What clients do: pauses, pages, parallel connections, pipelining, giving up, reading slowly.

use crate::common::{Row, figures_and_rows_agree, run, scenario, transactions};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use wasp_engine::RunOutput;

#[test]
fn a_think_time_passes_between_a_response_and_the_next_request() {
    let mut scenario = scenario(1, "1KB");
    scenario["clients"][0]["http"]["requests_per_connection"] = json!(null);
    scenario["clients"][0]["think"] = json!({"model": "constant", "value": "250ms"});
    scenario["clients"][0]["start"] = json!("together");
    let rows = transactions(&run(&scenario));
    assert!(rows.len() > 20, "{} transactions", rows.len());
    for pair in rows.windows(2) {
        assert_eq!(pair[1].start - pair[0].end, 250_000_000);
    }
}

/// The pause after each transaction, by client and request.
fn pauses(output: &RunOutput) -> BTreeMap<(u32, u32), i64> {
    let rows = transactions(output);
    let pairs = rows.windows(2).filter(|pair| pair[0].client == pair[1].client);
    pairs.map(|pair| ((pair[0].client, pair[0].request), pair[1].start - pair[0].end)).collect()
}

#[test]
fn think_times_have_their_mean_and_belong_to_a_client_and_a_request() {
    let mut scenario = scenario(50, "1KB");
    scenario["clients"][0]["think"] = json!({"model": "exponential", "mean": "1s"});
    scenario["clients"][0]["start"] = json!("together");
    scenario["measure"] = json!({"warmup": "2s", "duration": "60s"});
    let far = pauses(&run(&scenario));
    let (n, mean) = (far.len() as f64, far.values().sum::<i64>() as f64 / far.len() as f64 / 1e9);
    // The mean of n exponential times has a standard error of 1/sqrt(n); 3.3 of them is one in a thousand.
    assert!((mean - 1.0).abs() < 3.3 / n.sqrt(), "{mean} s over {n}");
    scenario["clients"][0]["rtt"] = json!("10ms");
    let near = pauses(&run(&scenario));
    assert!(far.iter().all(|(key, pause)| near[key] == *pause), "think times depend on the network");
}

/// One client 100 ms away from a server without costs that asks for 1 KB on a kept connection, with this changed.
fn asking(http: Value) -> Value {
    let mut scenario = scenario(1, "1KB");
    scenario["server"]["model"] =
        json!({"cores": 1, "per_connection": "0ms", "per_request": "0ms", "per_kib": "0ms"});
    let defaults = &mut scenario["clients"][0]["http"];
    defaults["requests_per_connection"] = json!(null);
    for (field, value) in http.as_object().unwrap() {
        defaults[field] = value.clone();
    }
    scenario
}

/// Asserts that every transaction but the unfinished ones ended so, and that there are so many at least.
#[track_caller]
fn assert_all(rows: &[Row], outcome: &str, least: usize) {
    let ended: Vec<_> = rows.iter().filter(|row| row.outcome != "unfinished").collect();
    assert!(ended.len() >= least, "{} transactions", ended.len());
    assert!(
        ended.iter().all(|row| row.outcome == outcome),
        "{:?}",
        ended.iter().find(|row| row.outcome != outcome)
    );
}

/// Most transactions that are in progress at once.
fn most_at_once(rows: &[Row]) -> usize {
    let at = |time| rows.iter().filter(|row| row.start <= time && time < row.end).count();
    rows.iter().map(|row| at(row.start)).max().unwrap_or(0)
}

#[test]
fn parallel_connections_are_so_many_loops() {
    let output = run(&asking(json!({"connections": 4})));
    let rows = transactions(&output);
    assert_all(&rows, "ok", 400);
    assert_eq!(most_at_once(&rows), 4);
    assert_eq!(output.ledger.connections.len(), 4);
    assert!((output.summary.throughput - 40.0).abs() < 0.5, "{}", output.summary.throughput);
}

#[test]
fn pipelined_requests_leave_before_the_responses_before_them_and_are_answered_in_order() {
    let output = run(&asking(json!({"pipeline": 8})));
    let rows = transactions(&output);
    assert_all(&rows, "ok", 800);
    assert_eq!(output.ledger.connections.len(), 1);
    assert_eq!(most_at_once(&rows), 8);
    for pair in rows.windows(2) {
        assert!(pair[0].sent <= pair[1].sent && pair[0].end <= pair[1].end);
    }
    // The first request opens the connection; the others join as soon as it is there.
    assert!(
        rows[1..8].iter().all(|row| row.sent == rows[0].sent && row.end > rows[0].start + 200_000_000 - 1)
    );
}

#[test]
fn pipelining_respects_the_limit_of_requests_on_a_connection() {
    let rows = transactions(&run(&asking(json!({"pipeline": 3, "requests_per_connection": 8}))));
    assert_all(&rows, "ok", 200);
    let mut requests = BTreeMap::<u32, u32>::new();
    rows.iter().for_each(|row| *requests.entry(row.connection).or_default() += 1);
    let last = *requests.keys().last().unwrap();
    assert!(requests.iter().all(|(connection, count)| *count == 8 || *connection == last), "{requests:?}");
    assert!(rows.iter().all(|row| row.attempts == 1));
}

#[test]
fn requests_behind_one_that_the_server_closes_on_are_made_once_more_in_order() {
    let mut scenario = asking(json!({"pipeline": 4}));
    scenario["server"]["model"]["requests_per_connection"] = json!(6);
    let output = run(&scenario);
    let rows = transactions(&output);
    assert_all(&rows, "ok", 150);
    assert!(output.summary.retried > 50);
    figures_and_rows_agree(&output);
    let mut requests = BTreeMap::<u32, Vec<u8>>::new();
    rows.iter().for_each(|row| requests.entry(row.connection).or_default().push(row.attempts));
    let last = *requests.keys().last().unwrap();
    for (connection, attempts) in requests.iter().filter(|(connection, _)| **connection != last) {
        assert_eq!(attempts.len(), 6);
        let again = if *connection == 0 { [1, 1, 1] } else { [2, 2, 2] };
        assert_eq!((&attempts[..3], &attempts[3..]), (&again[..], &[1, 1, 1][..]), "connection {connection}");
    }
}

#[test]
fn a_server_that_keeps_no_connection_is_asked_on_a_new_one_each_time() {
    let mut scenario = asking(json!({}));
    scenario["server"]["model"]["requests_per_connection"] = json!(1);
    let rows = transactions(&run(&scenario));
    assert_all(&rows, "ok", 50);
    assert!(rows.iter().all(|row| row.connection == row.request && row.attempts == 1));
}

#[test]
fn http_1_0_keeps_a_connection_only_if_asked_to() {
    let old = json!({"version": "1.0", "requests_per_connection": 1});
    let rows = transactions(&run(&asking(old)));
    assert_all(&rows, "ok", 50);
    assert!(rows.iter().all(|row| row.connection == row.request));
    let kept = run(&asking(json!({"version": "1.0"})));
    assert_all(&transactions(&kept), "ok", 100);
    assert_eq!(kept.ledger.connections.len(), 1);
}

#[test]
fn a_head_has_no_body_and_a_conditional_request_is_answered_304() {
    for (http, status) in [(json!({"method": "HEAD"}), 200), (json!({"conditional": true}), 304)] {
        for pipeline in [1, 4] {
            let mut http = http.clone();
            http["pipeline"] = json!(pipeline);
            let rows = transactions(&run(&asking(http)));
            assert_all(&rows, "ok", 100 * pipeline);
            assert!(
                rows.iter()
                    .filter(|row| row.outcome == "ok")
                    .all(|row| (row.status, row.bytes) == (status, 0))
            );
        }
    }
}

#[test]
fn the_body_of_a_post_crosses_the_network() {
    let mut post = asking(json!({"method": "POST", "body": "100KB"}));
    post["clients"][0]["bandwidth"] = json!({"up": "1Mbit/s"});
    post["measure"]["duration"] = json!("30s");
    let output = run(&post);
    let rows = transactions(&output);
    assert_all(&rows, "ok", 20);
    assert!(rows.iter().filter(|row| row.outcome == "ok").all(|row| (row.status, row.bytes) == (200, 1_000)));
    // 100,000 bytes in packets of 1,448 and their headers take 829 ms at 1 Mbit/s.
    assert!(rows.iter().filter(|row| row.outcome == "ok").all(|row| row.end - row.start > 829_000_000));
    let up: u64 =
        output.links.iter().find(|link| link.link == "clients/0" && link.direction == "up").unwrap().bytes;
    let responses = rows.iter().filter(|row| row.outcome == "ok").count() as u64;
    assert!(up > responses * 100_000);
}

#[test]
fn the_next_request_waits_for_the_close_if_it_is_to() {
    let once = |next_after: &str| {
        let http = json!({"requests_per_connection": 1, "next_after": next_after});
        transactions(&run(&asking(http)))
    };
    let rows = once("response");
    assert_all(&rows, "ok", 50);
    assert!(rows.windows(2).all(|pair| pair[1].start == pair[0].end));
    let rows = once("close");
    assert_all(&rows, "ok", 30);
    // The server's FIN comes with the response; ours goes and is acknowledged: a round trip.
    assert!(rows.windows(2).all(|pair| pair[1].start == pair[0].end + 100_000_000), "{:?}", &rows[..3]);
}

#[test]
fn a_client_gives_up_after_a_time_or_a_number_of_bytes() {
    let mut scenario = asking(json!({"abort": {"after": "150ms"}}));
    scenario["workload"]["size"] = json!("1MB");
    scenario["clients"][0]["bandwidth"] = json!({"down": "1Mbit/s"});
    let rows = transactions(&run(&scenario));
    assert_all(&rows, "aborted", 40);
    let ended = |row: &&Row| row.outcome == "aborted";
    assert!(rows.iter().filter(ended).all(|row| row.end - row.start == 150_000_000));
    // After a failure, 100 ms pass.
    assert!(rows.windows(2).all(|pair| pair[1].start - pair[0].end == 100_000_000));

    scenario["clients"][0]["http"]["abort"] = json!({"bytes": "10KiB"});
    let rows = transactions(&run(&scenario));
    assert_all(&rows, "aborted", 20);
    assert!(rows.iter().filter(ended).all(|row| row.status == 200 && row.end - row.start < 400_000_000));
}

#[test]
fn a_body_that_comes_in_one_piece_is_too_much_all_the_same() {
    // A body of 1,000 bytes is one segment.
    for (limit, outcome) in [("1B", "aborted"), ("1000B", "aborted"), ("1001B", "ok")] {
        let rows = transactions(&run(&asking(json!({"abort": {"bytes": limit}}))));
        assert_all(&rows, outcome, 30);
    }
    let rows = transactions(&run(&asking(json!({"abort": {"bytes": "500B"}, "pipeline": 4}))));
    let ended = |outcome| rows.iter().filter(|row| row.outcome == outcome).count();
    assert!(ended("aborted") > 30 && ended("ok") == 0, "{} ok", ended("ok"));
}

#[test]
fn a_slow_reader_takes_the_time_of_its_rate_and_its_window_closes() {
    let mut scenario = asking(json!({"read_rate": "64kbit/s"}));
    scenario["workload"]["size"] = json!("40KB");
    scenario["measure"]["duration"] = json!("60s");
    scenario["clients"][0]["tcp"] = json!({"preset": "linux", "receive_buffer": "2KiB"});
    let rows = transactions(&run(&scenario));
    assert_all(&rows, "ok", 8);
    for row in rows.iter().filter(|row| row.outcome == "ok") {
        let seconds = (row.end - row.start) as f64 / 1e9;
        // 40,000 bytes at 64 kbit/s are 5 s; connecting, asking and the window's round trips come on top.
        assert!((5.0..7.0).contains(&seconds), "{seconds} s");
    }
}

/// Behaviour of any kind that is possible.
fn behaviour() -> impl Strategy<Value = Value> {
    let connection = (1..=8_u8, 1..=8_u8, prop_oneof![Just(None), (8..20_u32).prop_map(Some)], any::<bool>());
    let giving_up = (
        prop_oneof![Just(None), (10..900_u64).prop_map(Some)],
        prop_oneof![Just(None), (1..40_000_u64).prop_map(Some)],
    );
    let reading = prop_oneof![Just(None), (64..5_000_u64).prop_map(Some)];
    (connection, giving_up, reading, any::<bool>()).prop_map(|(connection, (after, bytes), reading, head)| {
        let (connections, pipeline, requests, close) = connection;
        let after = after.map(|after| format!("{after}ms"));
        let bytes = bytes.filter(|_| !head).map(|bytes| format!("{bytes}B"));
        let abort = (after.is_some() || bytes.is_some()).then(|| json!({"after": after, "bytes": bytes}));
        json!({
            "connections": connections, "pipeline": pipeline, "requests_per_connection": requests, "timeout": "2s",
            "next_after": if close { "close" } else { "response" }, "method": if head { "HEAD" } else { "GET" },
            "abort": abort, "read_rate": reading.map(|rate| format!("{rate}kbit/s")),
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_behaviour_conserves_packets_and_transactions(
        http in behaviour(), paged in any::<bool>(), open in any::<bool>(), loss in 0..20_u64, kept in 1..9_u32, seed in any::<u64>(),
    ) {
        let mut scenario = scenario(4, "20KB");
        scenario["seed"] = json!(seed);
        if paged {
            scenario["workload"] = json!({"kind": "surge", "files": 200, "active_off": {"model": "constant", "value": "5ms"}});
        }
        scenario["server"]["model"]["requests_per_connection"] = json!(kept);
        let group = &mut scenario["clients"][0];
        group["http"] = http;
        group["rtt"] = json!("20ms");
        let loss = json!({"model": "independent", "rate": format!("{loss}%")});
        group["loss"] = json!({"up": loss, "down": loss});
        if open {
            group["arrivals"] = json!({"model": "poisson", "rate": "60/s", "outstanding": 40});
        }
        scenario["measure"] = json!({"warmup": "1s", "duration": "4s"});
        let output = run(&scenario);
        let summary = &output.summary;
        prop_assert_eq!(summary.packets.made, summary.fates.values().sum::<u64>() + summary.packets.in_flight);
        let (integral, records) = output.ledger.little();
        prop_assert_eq!(integral, records);
        figures_and_rows_agree(&output);
        for row in transactions(&output) {
            prop_assert!(row.end >= row.start && row.attempts <= 2);
            prop_assert!(row.intended.is_none_or(|intended| open && intended <= row.start));
        }
    }
}
