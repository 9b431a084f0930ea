//! Named requests: what is sent, what comes of the responses, and how they are counted.

use crate::common::{Row, group, run, scenario, transactions};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use wasp_engine::{Control, RunOutput, Scenario, sample_requests, simulate};
use wasp_net::{LinkId, Observer, Sighting};
use wasp_packet::{Packet, PayloadPool, View};
use wasp_units::Instant;

/// One group of five clients on kept connections, 10 ms from a server that takes no time.
fn named(requests: Value) -> Value {
    let mut scenario = scenario(5, "1KB");
    scenario["server"]["model"] =
        json!({"cores": 1, "per_connection": "0ms", "per_request": "0ms", "per_kib": "0ms"});
    scenario["clients"][0]["rtt"] = json!("10ms");
    scenario["clients"][0]["http"]["requests_per_connection"] = json!(null);
    scenario["measure"] = json!({"warmup": "100ms", "duration": "2s"});
    scenario["workload"] = json!({"kind": "requests", "requests": requests});
    scenario
}

/// Two requests by weight: a list, and an item that is made.
fn shop() -> Value {
    json!([
        {"name": "list", "path": "/items?page=1", "weight": 3, "size": "2KiB"},
        {"name": "create", "method": "POST", "path": "/items", "size": "100B",
         "headers": {"Content-Type": "application/json"}, "body": {"text": "{\"item\": 7}"},
         "expect": {"status": ["201", "2xx"], "contains": "made", "length": ">= 10"}},
    ])
}

/// Group, name and outcome of each transaction that ended in the measured interval or with the run.
fn names(output: &RunOutput) -> BTreeMap<(u16, String), u64> {
    let mut counts = BTreeMap::new();
    for row in output.ledger.transactions.iter().filter(|row| row.measured) {
        let named = output.ledger.groups[usize::from(row.group)].named.get(row.file as usize);
        let name = named.map_or("none", |named| &named.name).to_owned();
        *counts.entry((row.group, name)).or_default() += 1;
    }
    counts
}

fn ended(rows: &[Row]) -> impl Iterator<Item = &Row> {
    rows.iter().filter(|row| row.outcome != "unfinished")
}

fn all_ok(output: &RunOutput) -> bool {
    ended(&transactions(output)).all(|row| row.outcome == "ok")
}

fn refusal(requests: Value, change: impl FnOnce(&mut Value)) -> String {
    let mut scenario = named(requests);
    change(&mut scenario);
    Scenario::from_json(&scenario.to_string()).unwrap_err().to_string()
}

#[test]
fn requests_are_drawn_by_weight_and_counted_by_name() {
    let output = run(&named(shop()));
    let rows = transactions(&output);
    assert!(ended(&rows).count() > 800 && all_ok(&output), "{:?}", output.summary.outcomes);
    let [list, create] = &output.summary.by_group[0].requests[..] else { panic!("two requests") };
    assert_eq!((list.name.as_str(), create.name.as_str()), ("list", "create"));
    let (lists, creates) = (list.timed.outcomes["ok"], create.timed.outcomes["ok"]);
    assert_eq!(lists + creates, output.summary.outcomes["ok"]);
    assert_eq!(
        names(&output),
        BTreeMap::from([((0, "list".into()), lists), ((0, "create".into()), creates)])
    );
    // Three of four, with a standard deviation of 1.4 % of 900 requests.
    let share = lists as f64 / (lists + creates) as f64;
    assert!((0.69..0.81).contains(&share), "{share}");
    assert_eq!(
        (&list.timed.statuses, &create.timed.statuses),
        (&BTreeMap::from([(200, lists)]), &BTreeMap::from([(201, creates)]))
    );
    assert!((list.timed.throughput - lists as f64 / 2.0).abs() < 1e-9);
    assert!((list.timed.goodput_bps - lists as f64 * 2_048.0 * 8.0 / 2.0).abs() < 1e-6);
    for (named, summary) in output.ledger.groups[0].named.iter().zip([list, create]) {
        assert_eq!(named.timed.times().unwrap().ok.len(), summary.timed.outcomes["ok"]);
        assert!(summary.timed.response_time_ms.p50.is_some_and(|p50| (10.0..12.0).contains(&p50)));
    }
}

/// The text of each packet that reached the server, of requests that fit into one.
#[derive(Clone, Default)]
struct Texts(Rc<RefCell<Vec<String>>>);

impl Observer for Texts {
    fn observe(&mut self, _: Instant, link: LinkId, packet: &Packet, pool: &PayloadPool, sighting: Sighting) {
        // The first link leads to the server.
        if link != LinkId(0) || sighting != Sighting::Entered || packet.payload.is_empty() {
            return;
        }
        let View::Bytes(bytes) = pool.view(&packet.payload) else { panic!("a text") };
        self.0.borrow_mut().push(String::from_utf8(bytes.to_vec()).unwrap());
    }
}

fn texts_sent(scenario: &Value) -> Vec<String> {
    let scenario = Scenario::from_json(&scenario.to_string()).expect("the scenario is valid");
    let sites = scenario.sites(None).expect("the sites are built");
    let texts = Texts::default();
    let output = simulate(&scenario, &sites, &Control::default(), texts.clone());
    assert!(all_ok(&output), "{:?}", output.summary.outcomes);
    texts.0.take()
}

/// A client's requests of one template, to a server that is told them, in the order in which they were sent.
fn sent(change: impl FnOnce(&mut Value)) -> Vec<String> {
    let requests = json!([{
        "name": "order", "method": "POST", "path": "/orders/{client}?of={line:users.csv:1}&n={request}",
        "headers": {"X-Id": "{uuid}", "X-Text": "{{client}}"}, "body": {"text": "{\"item\": {int:1-1000}}"},
        "expect": {"status": ["201"]},
    }]);
    let mut scenario = named(requests);
    scenario["workload"]["folder"] = json!("data");
    // ann,1 and bob,2.
    scenario["files"] = json!({"data/users.csv": "YW5uLDEKYm9iLDIK"});
    scenario["clients"][0]["http"]["headers"] = json!({"X-Group": "{client}"});
    change(&mut scenario);
    texts_sent(&scenario)
}

#[test]
fn requests_are_made_from_templates() {
    let texts = sent(|_| ());
    assert!(texts.len() > 100);
    for text in &texts {
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("POST /orders/"), "{head}");
        assert!(head.contains("of=ann&n=") || head.contains("of=bob&n="), "{head}");
        assert!(head.contains("\r\nX-Text: {client}") && head.contains("\r\nX-Group: {client}"), "{head}");
        assert!(head.ends_with(&format!("\r\nContent-Length: {}", body.len())), "{head}");
        let number = body.strip_prefix("{\"item\": ").and_then(|rest| rest.strip_suffix('}')).unwrap();
        assert!((1..=1_000).contains(&number.parse::<u32>().unwrap()));
    }
    let ids: BTreeSet<&str> =
        texts.iter().filter_map(|text| text.split_once("X-Id: ")).map(|(_, id)| &id[..36]).collect();
    assert_eq!(ids.len(), texts.len());
}

#[test]
fn what_a_request_is_made_of_follows_from_the_seed_and_its_number_alone() {
    let slow = sent(|scenario| scenario["clients"][0]["rtt"] = json!("50ms"));
    let (fast, slow): (BTreeSet<_>, BTreeSet<_>) =
        (sent(|_| ()).into_iter().collect(), slow.into_iter().collect());
    assert!(slow.is_subset(&fast) && slow.len() < fast.len());
    let other = sent(|scenario| scenario["seed"] = json!(99));
    assert!(other.iter().all(|text| !fast.contains(text)));
    // The last request of a connection says so, and is the same otherwise.
    let closed = sent(|scenario| scenario["clients"][0]["http"]["requests_per_connection"] = json!(1));
    assert!(closed.iter().all(|text| text.contains("Connection: close\r\n")));
    let kept: BTreeSet<String> =
        closed.into_iter().map(|text| text.replace("Connection: close\r\n", "")).collect();
    assert!(!kept.is_empty() && kept.is_subset(&fast));
}

#[test]
fn other_groups_change_nothing() {
    let alone: BTreeSet<String> = sent(|_| ()).into_iter().collect();
    let beside = sent(|scenario| {
        scenario["clients"].as_array_mut().unwrap().push(group("others", 3));
        scenario["clients"][1]["workload"] = json!({"kind": "single", "path": "/file", "size": "1KB"});
    });
    let orders: BTreeSet<String> = beside.into_iter().filter(|text| text.starts_with("POST")).collect();
    assert!(orders.len() > 100 && (orders.is_subset(&alone) || alone.is_subset(&orders)));
}

#[test]
fn a_request_that_is_made_once_more_is_the_same() {
    let scenario = |pipeline: u32| {
        let mut scenario = named(json!([
            {"name": "a", "path": "/{client}/{request}", "headers": {"X-Id": "{uuid}", "X-Line": "{int:1-1000000}"}},
        ]));
        scenario["server"]["model"]["requests_per_connection"] = json!(5);
        scenario["clients"][0]["http"]["pipeline"] = json!(pipeline);
        scenario
    };
    // The server closes with requests unanswered behind the fifth one of a connection.
    let texts = texts_sent(&scenario(3));
    let mut requests: Vec<&str> = texts.iter().flat_map(|text| text.split_inclusive("\r\n\r\n")).collect();
    let count = requests.len();
    requests.sort_unstable();
    requests.dedup();
    assert!(count > requests.len() + 20, "{count} {}", requests.len());
    let targets: BTreeSet<&str> = requests.iter().map(|text| text.split(' ').nth(1).unwrap()).collect();
    assert_eq!(targets.len(), requests.len(), "one text for each target");
}

#[test]
fn long_bodies_are_whole_whatever_in_them_differs() {
    let long = "x".repeat(5_000);
    for (text, version) in [
        (long.clone(), "1.1"),
        (format!("{{client}}{long}{{uuid}}{long}"), "1.1"),
        (format!("{long}{{request}}"), "1.0"),
    ] {
        let mut scenario =
            named(json!([{"name": "a", "method": "PUT", "path": "/", "body": {"text": text}}]));
        scenario["clients"][0]["http"]["version"] = json!(version);
        let output = run(&scenario);
        // A body that is shorter than its head says would wait for the rest, a longer one begins another request.
        assert!(all_ok(&output) && output.summary.outcomes["ok"] > 100, "{:?}", output.summary.outcomes);
    }
}

#[test]
fn samples_are_what_first_clients_send_first() {
    let mut scenario = named(shop());
    scenario["workload"]["requests"][0]["path"] = json!("/{client}/{request}/{uuid}");
    scenario["workload"]["requests"][1]["weight"] = json!(0);
    scenario["clients"].as_array_mut().unwrap().push(group("others", 1));
    let texts = texts_sent(&scenario);
    let parsed = Scenario::from_json(&scenario.to_string()).unwrap();
    let samples = sample_requests(&parsed, &parsed.sites(None).unwrap());
    let found: Vec<Vec<&str>> =
        samples.iter().map(|group| group.iter().map(|(name, _)| name.as_str()).collect()).collect();
    assert_eq!(found, [["list", "create"], ["list", "create"]]);
    for (group, client) in samples.iter().zip([0, 5]) {
        let list = String::from_utf8(group[0].1.clone()).unwrap();
        assert!(list.starts_with(&format!("GET /{client}/0/")), "{list}");
        assert!(texts.contains(&list), "{list}");
        assert!(String::from_utf8_lossy(&group[1].1).ends_with("{\"item\": 7}"));
    }
}

#[test]
fn a_file_that_is_missing_or_of_no_use_is_refused() {
    let requests = json!([{"name": "a", "path": "/{line:users.csv:2}"}]);
    let with = |files: Value| {
        let files = files.clone();
        refusal(requests.clone(), move |scenario| {
            scenario["files"] = files;
        })
    };
    assert!(
        with(json!({}))
            .starts_with("workload.requests.a.path: {line:users.csv:2}; must name a file that was read")
    );
    assert!(with(json!({"users.csv": "YQ=="})).starts_with(
        "workload.requests.a.path: {line:users.csv:2}; must name a field from 1 to 1: line 1 of users.csv"
    ));
    assert!(with(json!({"users.csv": "?"})).contains("nvalid"), "no base64");
}

#[test]
fn a_repeated_run_is_the_same() {
    let table = || {
        let output = run(&named(shop()));
        (transactions(&output), names(&output), output.summary.packets.made)
    };
    assert_eq!(table(), table());
}

#[test]
fn pipelined_responses_are_read_by_the_methods_of_their_requests() {
    let requests = json!([
        {"name": "get", "path": "/a", "size": "2KiB", "expect": {"contains": "begins", "length": "== 2KiB"}},
        {"name": "head", "method": "HEAD", "path": "/a", "size": "3KiB"},
        {"name": "put", "method": "PUT", "path": "/a", "body": {"text": "x"}, "size": "5B", "expect": {"contains": "put", "length": "== 5"}},
        {"name": "delete", "method": "DELETE", "path": "/a", "expect": {"status": ["204"]}},
        {"name": "upload", "method": "PUT", "path": "/b", "body": {"size": "20KiB"}, "expect": {"status": ["201"]}},
    ]);
    let mut scenario = named(requests);
    scenario["clients"][0]["http"]["pipeline"] = json!(4);
    scenario["clients"][0]["http"]["connections"] = json!(2);
    let output = run(&scenario);
    assert!(all_ok(&output), "{:?}", output.summary.outcomes);
    assert!(output.summary.by_group[0].requests.iter().all(|request| request.timed.outcomes["ok"] > 150));
}

#[test]
fn a_named_request_for_a_file_of_another_group_has_that_file() {
    let sites = |expect: Value| {
        let mut scenario = named(json!([{"name": "a", "path": "/file", "expect": expect}]));
        scenario["clients"].as_array_mut().unwrap().push(group("files", 1));
        scenario["clients"][1]["workload"] = json!({"kind": "single", "path": "/file", "size": "1KB"});
        let parsed = Scenario::from_json(&scenario.to_string()).unwrap();
        parsed.sites(None).map(|_| scenario).map_err(|error| error.to_string())
    };
    let output = run(&sites(json!({"length": "== 1KB"})).unwrap());
    assert!(all_ok(&output) && ended(&transactions(&output)).all(|row| row.bytes == 1_000));
    let refused = sites(json!({"length": "> 1KB"})).unwrap_err();
    assert!(refused.starts_with("workload.requests.a.size: 1000B; must be at least 1001B"), "{refused}");
}

#[test]
fn a_group_may_have_named_requests_of_its_own() {
    let mut scenario = named(shop());
    scenario["workload"] = json!({"kind": "single", "path": "/file", "size": "1KB"});
    for name in ["buyers", "sellers"] {
        scenario["clients"].as_array_mut().unwrap().push(group(name, 2));
    }
    scenario["clients"][1]["workload"] = json!({"kind": "requests", "requests": shop()});
    scenario["clients"][2]["workload"] =
        json!({"kind": "requests", "requests": [{"name": "list", "method": "DELETE", "path": "/items"}]});
    let output = run(&scenario);
    assert!(all_ok(&output), "{:?}", output.summary.outcomes);
    let found: Vec<_> = names(&output).into_keys().collect();
    let expected = [(0, "none"), (1, "create"), (1, "list"), (2, "list")];
    assert_eq!(found, expected.map(|(group, name)| (group, name.to_owned())));
    let counts: Vec<_> = output.summary.by_group.iter().map(|group| group.requests.len()).collect();
    assert_eq!(counts, [0, 2, 1]);
    let [list, create] = &output.summary.requests[..] else { panic!("two names") };
    let of =
        |group: usize, request: usize| output.summary.by_group[group].requests[request].timed.outcomes["ok"];
    assert_eq!((list.timed.outcomes["ok"], create.timed.outcomes["ok"]), (of(1, 0) + of(2, 0), of(1, 1)));
    assert_eq!(list.timed.statuses.keys().copied().collect::<Vec<_>>(), [200]);
}

#[test]
fn requests_that_no_answer_can_meet_are_refused_in_simulation() {
    let scenario = named(json!([
        {"name": "a", "path": "/", "expect": {"status": ["200"]}}, {"name": "b", "path": "/", "expect": {"status": ["404"]}},
    ]));
    let sites = |mode: &str| {
        let mut scenario = scenario.clone();
        scenario["mode"] = json!(mode);
        Scenario::from_json(&scenario.to_string()).unwrap().sites(None).map(drop)
    };
    let refused = sites("sim").unwrap_err().to_string();
    assert!(refused.starts_with("workload.requests.b.expect.status: 404; "), "{refused}");
    assert!(sites("live").is_ok(), "an application may answer as it likes");
}

#[test]
fn what_contradicts_named_requests_is_refused() {
    let http = |name: &'static str, value: Value| {
        refusal(shop(), move |scenario| scenario["clients"][0]["http"][name] = value)
    };
    assert!(
        http("method", json!("POST")).starts_with("clients.clients.http.method: given; each named request")
    );
    assert!(http("conditional", json!(true)).starts_with("clients.clients.http.conditional: true; "));
    assert!(
        http("pipeline", json!(4)).starts_with("clients.clients.http.pipeline: 4; the POST create must not")
    );
    let target = |scenario: &mut Value| scenario["workload"]["requests"][0]["path"] = json!("/a b");
    assert!(refusal(shop(), target).starts_with("workload.requests.list.path: request target"));
    let header = |scenario: &mut Value| scenario["workload"]["requests"][1]["headers"]["Host"] = json!("x");
    assert!(
        refusal(shop(), header)
            .starts_with("workload.requests.create.headers: header Host: is set by the client")
    );
    let unknown =
        |scenario: &mut Value| scenario["workload"]["requests"][1]["expect"]["status"] = json!(["abc"]);
    assert!(
        refusal(shop(), unknown)
            .starts_with("workload.requests.create.expect.status: \"abc\"; must be a status")
    );
}

/// Clients sign in once, look at a list, and order something: what is captured comes back.
fn steps() -> Value {
    json!([
        {"name": "sign-in", "method": "POST", "path": "/sessions", "body": {"text": "{line:users.csv}"}, "once": true,
         "capture": {"token": {"header": "X-Token"}}, "expect": {"status": ["201"]}},
        {"name": "list", "path": "/items?of={line:users.csv}", "headers": {"Authorization": "Bearer {token}"},
         "capture": {"item": {"after": "\"id\": ", "before": ","}}, "think": {"model": "constant", "value": "100ms"}},
        {"name": "order", "method": "POST", "path": "/orders/{item}", "headers": {"Authorization": "Bearer {token}"},
         "body": {"text": "{line:users.csv}"}, "capture": {"place": {"header": "Location"}}},
        {"name": "look", "path": "{place}", "headers": {"X-Id": "{uuid}"}, "think": {"model": "constant", "value": "50ms"}},
    ])
}

fn session(steps: Value) -> Value {
    let mut scenario = named(steps);
    scenario["workload"]["order"] = json!("session");
    // ann, bob, cleo and dan.
    scenario["files"] = json!({"users.csv": "YW5uCmJvYgpjbGVvCmRhbgo="});
    scenario
}

#[test]
fn a_session_makes_its_steps_in_their_order_with_what_it_captured() {
    let scenario = session(steps());
    let output = run(&scenario);
    assert!(all_ok(&output), "{:?}", output.summary.outcomes);
    for client in 0..5 {
        let mut rows: Vec<Row> =
            transactions(&output).into_iter().filter(|row| row.client == client).collect();
        rows.sort_by_key(|row| row.request);
        let files: Vec<u32> = rows.iter().map(|row| row.file).collect();
        let expected: Vec<u32> =
            [0].into_iter().chain([1, 2, 3].into_iter().cycle()).take(files.len()).collect();
        assert!(files.len() > 20 && files == expected, "{files:?}");
        // One after the other, with the pauses between them: 100 ms after the list, 50 ms at the end.
        for pair in rows.windows(2) {
            let pause = [0, 100_000_000, 0, 50_000_000][pair[0].file as usize];
            assert!(pair[1].start - pair[0].end >= pause, "{pair:?}");
        }
    }
    let texts = texts_sent(&scenario);
    let count = |begin: &str| texts.iter().filter(|text| text.starts_with(begin)).count();
    assert_eq!(count("POST /sessions "), 5, "each client signs in once");
    assert!(count("POST /orders/0 ") > 30 && count("GET /0 ") > 30);
    let others =
        texts.iter().filter(|text| text.starts_with("GET /items") || text.starts_with("POST /orders"));
    assert!(others.clone().all(|text| text.contains("\r\nAuthorization: Bearer 0\r\n")));
    // Who signs in stays: as many clients are one user in all requests.
    let users = |begin: &str, user: fn(&str) -> Option<&str>| -> BTreeMap<String, usize> {
        let of_step = texts.iter().filter(|text| text.starts_with(begin));
        let mut counts = BTreeMap::new();
        of_step.for_each(|text| *counts.entry(user(text).unwrap().to_owned()).or_default() += 1);
        counts
    };
    let body: fn(&str) -> Option<&str> = |text| text.lines().last();
    let query: fn(&str) -> Option<&str> = |text| text.strip_prefix("GET /items?of=")?.split(' ').next();
    let (signed_in, listed, ordered) =
        (users("POST /sessions", body), users("GET /items", query), users("POST /orders", body));
    assert!(
        signed_in.keys().eq(listed.keys()) && signed_in.keys().eq(ordered.keys()),
        "{signed_in:?} {listed:?}"
    );
    for (user, clients) in &signed_in {
        assert!(listed[user].abs_diff(ordered[user]) <= *clients, "a session more for each at most");
    }
}

#[test]
fn the_pause_of_the_group_is_between_sessions() {
    let mut scenario = session(json!([
        {"name": "a", "path": "/a", "think": {"model": "constant", "value": "20ms"}}, {"name": "b", "path": "/b", "think": {"model": "constant", "value": "30ms"}},
    ]));
    scenario["clients"][0]["think"] = json!({"model": "constant", "value": "300ms"});
    scenario["clients"][0]["start"] = json!("together");
    let mut rows = transactions(&run(&scenario));
    rows.retain(|row| row.client == 1);
    rows.sort_by_key(|row| row.request);
    let pauses: Vec<i64> = rows.windows(2).map(|pair| (pair[1].start - pair[0].end) / 1_000_000).collect();
    assert!(pauses.len() >= 9 && pauses.chunks_exact(2).all(|pair| pair == [20, 330]), "{pauses:?}");
}

#[test]
fn a_step_that_is_not_as_expected_ends_its_session() {
    // The server answers for /a, which has not what the second step looks for.
    let mut steps = json!([
        {"name": "a", "path": "/a", "once": true}, {"name": "b", "path": "{line:users.csv}", "expect": {"contains": "found"}}, {"name": "c", "path": "/c"},
    ]);
    let with = |steps: &Value| {
        let mut scenario = session(steps.clone());
        // The line is /a.
        scenario["files"] = json!({"users.csv": "L2EK"});
        run(&scenario)
    };
    let output = with(&steps);
    let counts = |output: &RunOutput| -> Vec<u64> {
        let [a, b, c] = &output.summary.by_group[0].requests[..] else { panic!("three") };
        vec![a.timed.outcomes["ok"], b.timed.outcomes["wrong"], c.timed.outcomes["ok"]]
    };
    let found = counts(&output);
    assert!(found[0] > 200 && found[1] > 200 && found[2] == 0, "{found:?}");
    // A step that is made once is made again until it is ok.
    steps[0]["path"] = json!("{line:users.csv}");
    steps[0]["expect"] = json!({"contains": "else"});
    steps[1] = json!({"name": "b", "path": "/a"});
    let rows = transactions(&with(&steps));
    assert!(rows.len() > 500 && rows.iter().all(|row| row.file == 0));
}

#[test]
fn arrivals_are_sessions() {
    let mut scenario = session(json!([
        {"name": "a", "path": "/a", "think": {"model": "constant", "value": "400ms"}}, {"name": "b", "path": "/b", "think": {"model": "constant", "value": "1s"}},
    ]));
    scenario["clients"][0]["arrivals"] = json!({"model": "constant", "rate": "20/s"});
    let output = run(&scenario);
    assert!(all_ok(&output));
    // Five clients, each of which is busy with a session for 1.42 s: 3.5 sessions a second are served, and the others wait.
    let [a, b] = &output.summary.by_group[0].requests[..] else { panic!("two") };
    assert!(
        a.timed.outcomes["ok"].abs_diff(7) <= 5 && b.timed.outcomes["ok"].abs_diff(7) <= 5,
        "{:?}",
        output.summary.by_group[0].requests
    );
    let mut rows = transactions(&output);
    rows.retain(|row| row.outcome == "ok");
    let late = |file: u32| {
        rows.iter().filter(|row| row.file == file).map(|row| row.start - row.intended.unwrap()).max()
    };
    // Only the beginning of a session can be late.
    assert!(late(0) > Some(300_000_000) && late(1) == Some(0), "{:?} {:?}", late(0), late(1));
}

#[test]
fn a_client_signs_in_again_when_the_server_does_not_know_it() {
    // The line is /a, for which the server answers, without what the second step looks for.
    let mut scenario = session(json!([
        {"name": "a", "path": "/a", "once": true}, {"name": "b", "path": "{line:users.csv}", "expect": {"status": ["404"]}}, {"name": "c", "path": "/c"},
    ]));
    scenario["files"] = json!({"users.csv": "L2EK"});
    for open in [false, true] {
        if open {
            scenario["clients"][0]["arrivals"] = json!({"model": "constant", "rate": "20/s"});
        }
        let rows = transactions(&run(&scenario));
        let of_client: Vec<(u32, &str)> =
            rows.iter().filter(|row| row.client == 2).map(|row| (row.file, row.outcome)).collect();
        assert!(
            of_client.len() > 10 && of_client[..6] == [(0, "ok"), (1, "wrong")].repeat(3)[..],
            "{of_client:?}"
        );
    }
}

#[test]
fn a_client_signs_in_again_after_401_in_any_step() {
    // The line is /d, which answers with 401 because its own step expects that.
    let mut scenario = session(json!([
        {"name": "a", "path": "/a", "once": true}, {"name": "b", "path": "/b"}, {"name": "c", "path": "{line:users.csv}"},
        {"name": "d", "path": "/d", "expect": {"status": ["401"]}},
    ]));
    scenario["files"] = json!({"users.csv": "L2QK"});
    let files = |scenario: &Value| -> Vec<u32> {
        transactions(&run(scenario)).iter().filter(|row| row.client == 2).map(|row| row.file).collect()
    };
    assert_eq!(files(&scenario)[..6], [0, 1, 2, 0, 1, 2]);
    // Other failures of later steps leave a client signed in.
    scenario["workload"]["requests"][3]["expect"]["status"] = json!(["500"]);
    assert_eq!(files(&scenario)[..6], [0, 1, 2, 1, 2, 1]);
}

#[test]
fn a_session_that_is_given_up_is_followed_by_the_next() {
    let mut scenario = session(
        json!([{"name": "a", "path": "/a", "once": true}, {"name": "b", "path": "/b", "size": "1MiB"}, {"name": "c", "path": "/c"}]),
    );
    scenario["clients"][0]["http"]["abort"] = json!({"bytes": "5KiB"});
    let rows = transactions(&run(&scenario));
    let of_client: Vec<(u32, &str)> =
        rows.iter().filter(|row| row.client == 2).map(|row| (row.file, row.outcome)).collect();
    // After a failure a client waits for 100 ms, and the server still knows it.
    assert!(
        of_client.len() > 10 && of_client[..3] == [(0, "ok"), (1, "aborted"), (1, "aborted")],
        "{of_client:?}"
    );
}

#[test]
fn samples_of_a_session_are_the_steps_of_the_first_one() {
    let scenario = session(steps());
    let texts = texts_sent(&scenario);
    let parsed = Scenario::from_json(&scenario.to_string()).unwrap();
    let samples = &sample_requests(&parsed, &parsed.sites(None).unwrap())[0];
    let text = |place: usize| String::from_utf8(samples[place].1.clone()).unwrap();
    assert!(texts.contains(&text(0)), "{}", text(0));
    let list = text(1);
    assert!(list.contains("Authorization: Bearer {token}\r\n"), "{list}");
    assert!(texts.contains(&list.replace("{token}", "0")), "{list}");
    assert!(text(3).starts_with("GET {place} HTTP/1.1"), "{}", text(3));
}

#[test]
fn what_contradicts_a_session_is_refused() {
    for (field, value, refused) in [
        (
            "connections",
            json!(2),
            "clients.clients.http.connections: 2; a session makes one request at a time",
        ),
        ("pipeline", json!(2), "clients.clients.http.pipeline: 2; "),
        (
            "headers",
            json!({"COOKIE": "a=b"}),
            "clients.clients.http.headers: COOKIE contradicts cookies of the workload",
        ),
    ] {
        let mut scenario = session(json!([{"name": "a", "path": "/a", "capture": {"x": {"header": "X"}}}]));
        scenario["workload"]["cookies"] = json!(true);
        scenario["clients"][0]["http"][field] = value;
        let found = Scenario::from_json(&scenario.to_string()).unwrap_err().to_string();
        assert!(found.starts_with(refused), "{found}");
    }
    let mut scenario = session(json!([{"name": "a", "path": "/a"}]));
    scenario["workload"]["deal"] = json!("modulo");
    let found = Scenario::from_json(&scenario.to_string()).unwrap_err().to_string();
    assert!(found.starts_with("workload.deal: \"modulo\"; each client goes through all steps"), "{found}");
}

/// What the sessions of one client were, from its transactions in their order: for each that ended with step `last`, or before it with a failure,
/// when it began and ended, and the response time and the bytes of its steps.
fn sessions_of(rows: &[Row], client: u32, last: u32) -> Vec<[i64; 4]> {
    let mut rows: Vec<&Row> = ended(rows).filter(|row| row.client == client).collect();
    rows.sort_by_key(|row| row.request);
    let is_last = |row: &&Row| row.outcome != "ok" || row.file == last;
    let of = |steps: &[&Row]| {
        let end = steps.last().filter(|row| is_last(row))?;
        let begun = |row: &Row| row.intended.unwrap_or(row.start);
        let times = steps.iter().map(|row| row.end - begun(row)).sum();
        let bytes = steps.iter().map(|row| row.bytes as i64).sum();
        Some([begun(steps[0]), end.end, times, bytes])
    };
    rows.split_inclusive(is_last).filter_map(of).collect()
}

#[test]
fn sessions_are_the_sums_of_their_steps() {
    let pause = |value: &str| json!({"model": "constant", "value": value});
    let mut scenario = session(json!([
        {"name": "sign-in", "path": "/a", "once": true},
        {"name": "list", "path": "/b", "size": "100KB", "think": pause("100ms")},
        {"name": "order", "path": "/c", "think": pause("70ms")},
    ]));
    scenario["clients"][0]["loss"] = json!({"down": {"model": "independent", "rate": "3%"}});
    for arrivals in [false, true] {
        if arrivals {
            scenario["clients"][0]["arrivals"] = json!({"model": "poisson", "rate": "60/s"});
        }
        let output = run(&scenario);
        let rows = transactions(&output);
        let found: Vec<_> = (0..5)
            .flat_map(|client| sessions_of(&rows, client, 2))
            .filter(|[_, end, ..]| (100_000_000..2_100_000_000).contains(end))
            .collect();
        let mean = |of: fn(&[i64; 4]) -> i64| {
            found.iter().map(|session| of(session) as f64).sum::<f64>() / found.len() as f64
        };
        let sessions = output.summary.sessions.as_ref().expect("clients make sessions");
        assert!(found.len() > 30 && all_ok(&output), "{}", found.len());
        assert_eq!(sessions.timed.outcomes["ok"], found.len() as u64);
        assert!((sessions.timed.throughput - found.len() as f64 / 2.0).abs() < 1e-9);
        let duration = mean(|session| session[1] - session[0]) / 1e9;
        assert!(sessions.duration_s.is_some_and(|told| (told - duration).abs() < 1e-9), "{duration}");
        let time = mean(|session| session[2]) / 1e6;
        let told = sessions.timed.response_time_ms;
        assert!(told.mean.is_some_and(|mean| (mean - time).abs() < 1e-5), "{time} {told:?}");
        assert!(told.max >= told.p99 && told.p99 >= told.p50 && told.p50 > Some(20.0), "{told:?}");
        // The others pause after their last step when the run ends, or wait for an arrival.
        let unfinished = sessions.timed.outcomes["unfinished"];
        assert!((1..=5).contains(&unfinished), "{unfinished}");
        assert!(sessions.failed_at.is_empty());
        let goodput = mean(|session| session[3]) * 8.0 * found.len() as f64 / 2.0;
        assert!((sessions.timed.goodput_bps - goodput).abs() < 1e-3, "{goodput}");
        let group = output.summary.by_group[0].sessions.as_ref();
        assert_eq!(format!("{group:?}"), format!("{:?}", Some(sessions)));
    }
}

#[test]
fn sessions_that_fail_are_counted_by_the_step_that_ended_them() {
    // The server answers for /a, which has not what the second step looks for.
    let steps = json!([
        {"name": "a", "path": "/a", "once": true}, {"name": "b", "path": "{line:users.csv}", "expect": {"contains": "found"}}, {"name": "c", "path": "/c"},
    ]);
    let mut scenario = session(steps);
    scenario["files"] = json!({"users.csv": "L2EK"});
    // Clients of another group, with steps of other names, and some of a third, which no sum counts.
    let mut other = scenario["clients"][0].clone();
    other["name"] = json!("others");
    other["workload"] = json!({"kind": "requests", "order": "session", "requests": [{"name": "x", "path": "/x"}, {"name": "c", "path": "/c"}]});
    let mut aside = other.clone();
    aside["name"] = json!("aside");
    aside["background"] = json!(true);
    scenario["clients"].as_array_mut().unwrap().extend([other, aside]);
    let output = run(&scenario);
    let of = |sessions: &Option<wasp_engine::SessionSummary>| {
        let sessions = sessions.as_ref().expect("clients make sessions");
        (sessions.timed.outcomes["ok"], sessions.timed.outcomes["wrong"], sessions.failed_at.clone())
    };
    let [first, second, third] = &output.summary.by_group[..] else { panic!("three groups") };
    let wrong = first.requests[1].timed.outcomes["wrong"];
    assert!(wrong > 200);
    assert_eq!(of(&first.sessions), (0, wrong, BTreeMap::from([("b".into(), wrong)])));
    let failing = first.sessions.as_ref().unwrap();
    assert_eq!((failing.duration_s, failing.timed.goodput_bps), (None, 0.0));
    assert_eq!(failing.timed.statuses, BTreeMap::from([(200, wrong)]));
    // One that failed counts as longer than any other.
    let all = failing.timed.all_response_time_ms;
    assert!(all.mean.is_none() && all.p50.is_some_and(|p50| p50 > 3.59e6), "{all:?}");
    let (ok, none, nowhere) = of(&second.sessions);
    assert!(ok > 200 && none == 0 && nowhere.is_empty());
    assert!(of(&third.sessions).0 > 200);
    assert_eq!(of(&output.summary.sessions), (ok, wrong, BTreeMap::from([("b".into(), wrong)])));
}

#[test]
fn requests_by_weight_are_no_sessions() {
    assert!(run(&named(shop())).summary.sessions.is_none());
}
