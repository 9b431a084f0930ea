//! Workloads of more than one file: what is asked for in which order, and pages.

use crate::common::{Row, run, scenario, transactions};
use serde_json::{Value, json};
use std::io::{BufRead, Cursor};
use std::sync::Arc;
use wasp_engine::{Control, Scenario, simulate};
use wasp_random::Key;
use wasp_workload::{Deal, Inputs};

/// Clients 10 ms away that ask for this on a kept connection.
fn asking(count: u32, workload: Value) -> Value {
    let mut scenario = scenario(count, "1KB");
    scenario["server"]["model"] =
        json!({"cores": 1, "per_connection": "0ms", "per_request": "0ms", "per_kib": "0ms"});
    scenario["workload"] = workload;
    scenario["clients"][0]["rtt"] = json!("10ms");
    scenario["clients"][0]["http"]["requests_per_connection"] = json!(null);
    scenario
}

fn of_client(rows: &[Row], client: u32) -> Vec<Row> {
    rows.iter().copied().filter(|row| row.client == client && row.outcome != "unfinished").collect()
}

#[test]
fn each_client_asks_for_what_its_stream_says_however_requests_are_dealt() {
    for (deal, name) in [(Deal::Own, "own"), (Deal::Modulo, "modulo")] {
        for kind in ["surge", "prowgen"] {
            let text = asking(7, json!({"kind": kind, "deal": name})).to_string();
            let mut value: Value = serde_json::from_str(&text).unwrap();
            value["clients"][0]["think"] = json!({"model": "none"});
            let parsed = Scenario::from_json(&value.to_string()).unwrap();
            let sites = parsed.sites(None).unwrap();
            let requests = Arc::new(sites.of(0).site.requests(Key::root(1, 0)));
            let rows = transactions(&run(&value));
            for client in 0..7 {
                let rows = of_client(&rows, client);
                assert!(rows.len() > 20 && rows.iter().all(|row| row.outcome == "ok"));
                let mut stream = requests.stream(deal, "clients", client, 7);
                for row in rows {
                    let file = sites.files().get(stream.next_file().unwrap()).unwrap();
                    assert_eq!(
                        row.bytes,
                        file.size.get(),
                        "{kind} {name} client {client} request {}",
                        row.request
                    );
                }
            }
        }
    }
}

#[test]
fn a_page_is_its_base_then_its_embedded_files_over_all_connections_then_a_pause() {
    let many = json!({"model": "constant", "value": 5});
    let mut scenario = asking(3, json!({"kind": "surge", "active_off": {"model": "none"}, "embedded": many}));
    scenario["clients"][0]["http"]["connections"] = json!(3);
    scenario["clients"][0]["think"] = json!({"model": "constant", "value": "77ms"});
    scenario["clients"][0]["start"] = json!("together");
    let parsed = Scenario::from_json(&scenario.to_string()).unwrap();
    let requests = Arc::new(parsed.sites(None).unwrap().of(0).site.requests(Key::root(1, 0)));
    let rows = transactions(&run(&scenario));
    let mut parallel = 0;
    for client in 0..3 {
        let mut stream = requests.stream(Deal::Own, "clients", client, 3);
        let (mut rest, mut begins) = (&of_client(&rows, client)[..], None);
        while let Some(page) = stream.next_page().filter(|page| rest.len() > page.embedded.len()) {
            let (page, others) = rest.split_at(page.embedded.len() + 1);
            rest = others;
            let [base, embedded @ ..] = page else { unreachable!("a page has a base") };
            assert!(
                begins.is_none_or(|begins| base.start == begins),
                "client {client} request {}",
                base.request
            );
            assert!(embedded.iter().all(|row| row.start >= base.end));
            let at_once = embedded.iter().filter(|row| row.start == base.end).count();
            assert_eq!(at_once, embedded.len().min(3));
            parallel += usize::from(at_once == 3);
            begins = page.iter().map(|row| row.end).max().map(|end| end + 77_000_000);
        }
    }
    assert!(parallel > 10, "{parallel} pages with three embedded files or more");
}

#[test]
fn users_of_surge_pause_between_pages_and_between_the_files_of_a_page() {
    let off = json!({"kind": "surge", "inactive_off": {"model": "constant", "value": "900ms"},
        "active_off": {"model": "constant", "value": "35ms"}});
    let mut scenario = asking(4, off);
    scenario["clients"][0]["start"] = json!("together");
    let parsed = Scenario::from_json(&scenario.to_string()).unwrap();
    let requests = Arc::new(parsed.sites(None).unwrap().of(0).site.requests(Key::root(1, 0)));
    let rows = transactions(&run(&scenario));
    for client in 0..4 {
        let mut stream = requests.stream(Deal::Own, "clients", client, 4);
        let rows = of_client(&rows, client);
        let mut bases = vec![0];
        while *bases.last().unwrap() < rows.len() {
            bases.push(bases.last().unwrap() + 1 + stream.next_page().unwrap().embedded.len());
        }
        for place in 1..rows.len() {
            let expected = if bases.contains(&place) { 900_000_000 } else { 35_000_000 };
            assert_eq!(rows[place].start - rows[place - 1].end, expected, "client {client} request {place}");
        }
    }
}

#[test]
fn a_list_is_asked_for_by_weight() {
    let files = json!([{"path": "/a", "size": "1KB", "weight": 3}, {"path": "/b", "size": "2KB"}]);
    let rows = transactions(&run(&asking(20, json!({"kind": "single", "files": files}))));
    let ok: Vec<_> = rows.iter().filter(|row| row.outcome == "ok").collect();
    let share = ok.iter().filter(|row| row.bytes == 1_000).count() as f64 / ok.len() as f64;
    // Binomial: 3.3 standard deviations are one in a thousand.
    assert!((share - 0.75).abs() < 3.3 * (0.75 * 0.25 / ok.len() as f64).sqrt(), "{share} of {}", ok.len());
}

#[test]
fn another_seed_of_the_set_gives_other_files_and_another_run_only_another_order() {
    let mut scenario = asking(3, json!({"kind": "prowgen", "seed": 5}));
    let total = |scenario: &Value| {
        Scenario::from_json(&scenario.to_string()).unwrap().sites(None).unwrap().files().total()
    };
    let first = total(&scenario);
    scenario["run"] = json!(3);
    scenario["seed"] = json!(9);
    assert_eq!(total(&scenario), first);
    scenario["workload"]["seed"] = json!(6);
    assert_ne!(total(&scenario), first);
}

fn reader(log: &str) -> Box<dyn BufRead> {
    Box::new(Cursor::new(log.to_owned()))
}

fn replay(scenario: &Value, log: &str) -> Vec<Row> {
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
    let sites = scenario.sites(Some(&mut |_| Ok(reader(log)))).unwrap();
    transactions(&simulate(&scenario, &sites, &Control::default(), ()))
}

#[test]
fn a_replayed_log_is_asked_for_in_its_order_and_ends() {
    let log = "/a 0 1000\n/b 0.5 2000\n/c 0.7 3000\n/a 4 1000\n";
    let options =
        json!({"kind": "replay", "log": "urls", "format": "urls", "deal": "modulo", "repeat": false});
    let mut scenario = asking(1, options);
    let bytes = |rows: &[Row]| rows.iter().map(|row| row.bytes).collect::<Vec<_>>();
    let rows = replay(&scenario, log);
    assert_eq!(bytes(&rows), [1_000, 2_000, 3_000, 1_000]);
    assert!(rows.iter().all(|row| row.intended.is_none()));

    scenario["workload"]["times"] = json!(true);
    let rows = replay(&scenario, log);
    assert_eq!(bytes(&rows), [1_000, 2_000, 3_000, 1_000]);
    let times: Vec<_> = rows.iter().map(|row| row.intended.unwrap()).collect();
    assert_eq!(times, [0, 500_000_000, 700_000_000, 4_000_000_000]);
    assert!(rows.iter().all(|row| row.start == row.intended.unwrap()));

    scenario["clients"][0]["count"] = json!(2);
    assert_eq!(replay(&scenario, log).len(), 4, "two clients share the log out");
    scenario["workload"]["deal"] = json!("own");
    let refusal = Scenario::from_json(&scenario.to_string()).unwrap_err().to_string();
    assert!(
        refusal.contains(r#"workload.deal: "own"; each of the 2 clients would ask for the whole log"#),
        "{refusal}"
    );
    scenario["clients"][0]["count"] = json!(1);

    scenario["clients"][0]["think"] = json!({"model": "none"});
    let refusal = Scenario::from_json(&scenario.to_string()).unwrap_err().to_string();
    assert!(refusal.contains("clients.clients.think: the times of the replayed log say when"), "{refusal}");
}

#[test]
fn a_replay_needs_its_log() {
    let scenario = asking(1, json!({"kind": "replay", "log": "urls", "format": "urls"}));
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
    let missing = scenario.sites(None).unwrap_err().to_string();
    assert!(missing.contains("urls: the log was not handed over"), "{missing}");
}

/// Two groups that ask for files of a list, and one with a workload of its own, before a server that takes no time.
fn with_own(own: Value) -> Value {
    let files = json!([{"path": "/a", "size": "1KB", "weight": 3}, {"path": "/b", "size": "2KB"}]);
    let mut scenario = asking(3, json!({"kind": "single", "files": files}));
    let group = |name: &str| {
        let mut group = scenario["clients"][0].clone();
        group["name"] = json!(name);
        group
    };
    scenario["clients"] = json!([group("first"), group("own"), group("last")]);
    scenario["clients"][1]["workload"] = own;
    scenario
}

fn of_group(rows: &[Row], group: u16) -> Vec<Row> {
    rows.iter().copied().filter(|row| row.group == group && row.outcome == "ok").collect()
}

#[test]
fn a_group_asks_for_what_its_own_workload_says_by_keys_of_its_own() {
    let surge = json!({"kind": "surge", "files": 50, "requests": 1000});
    let mut scenario = with_own(surge.clone());
    scenario["clients"][1]["think"] = json!({"model": "none"});
    let parsed = Scenario::from_json(&scenario.to_string()).unwrap();
    let sites = parsed.sites(None).unwrap();
    let located = sites.of(1);
    assert_eq!(located.directory, "/own");
    let workload = wasp_workload::Workload::from_json(&surge.to_string()).unwrap();
    let total = |seed| workload.build(seed, Inputs::default()).unwrap().files().total();
    assert_eq!(located.site.files().total(), total(wasp_workload::seed_of_group(1, "own")));
    assert_ne!(total(wasp_workload::seed_of_group(1, "own")), total(1));
    let own = Arc::new(located.site.requests(Key::root(1, 0).name("own")));
    let rows = of_group(&transactions(&run(&scenario)), 1);
    for client in 3..6 {
        let rows = of_client(&rows, client);
        assert!(rows.len() > 20);
        let mut stream = own.stream(Deal::Own, "own", client - 3, 3);
        for row in rows {
            let file = located.site.files().get(stream.next_file().unwrap()).unwrap();
            assert_eq!(row.bytes, file.size.get(), "client {client} request {}", row.request);
        }
    }
}

#[test]
fn what_a_group_asks_for_changes_nothing_for_groups_that_share_a_workload() {
    for deal in ["own", "modulo"] {
        let with = |own: Value| {
            let mut scenario = with_own(own);
            scenario["workload"]["deal"] = json!(deal);
            transactions(&run(&scenario))
        };
        let one = with(json!({"kind": "single", "path": "/c", "size": "9KB"}));
        let other = with(json!({"kind": "prowgen", "objects": 100}));
        for group in [0, 2] {
            assert_eq!(of_group(&one, group), of_group(&other, group), "{deal}");
        }
        assert!(of_group(&one, 1).iter().all(|row| row.bytes == 9_000));
        assert_ne!(of_group(&one, 1), of_group(&other, 1));
    }
}

#[test]
fn one_sequence_is_dealt_to_the_groups_that_share_it_and_to_nobody_else() {
    let log = "/a 0 1000\n/b 0 2000\n/c 0 3000\n/d 0 4000\n/e 0 5000\n/f 0 6000\n/g 0 7000\n/h 0 8000\n";
    let mut scenario = with_own(json!({"kind": "single", "path": "/own", "size": "9KB"}));
    scenario["workload"] =
        json!({"kind": "replay", "log": "urls", "format": "urls", "deal": "modulo", "repeat": false});
    let rows = replay(&scenario, log);
    let mut bytes: Vec<u64> = rows.iter().filter(|row| row.group != 1).map(|row| row.bytes).collect();
    bytes.sort_unstable();
    assert_eq!(bytes, (1..=8).map(|size| size * 1_000).collect::<Vec<_>>());
    assert!(of_group(&rows, 1).iter().all(|row| row.bytes == 9_000));
}

#[test]
fn every_group_needs_one_workload_and_none_may_stand_without_a_group() {
    let refusal = |scenario: &Value| Scenario::from_json(&scenario.to_string()).unwrap_err().to_string();
    let mut scenario = with_own(json!({"kind": "single", "path": "/c", "size": "9KB"}));
    scenario.as_object_mut().unwrap().remove("workload");
    assert_eq!(refusal(&scenario), "workload: absent; a group without a workload of its own needs it");
    let mut scenario = with_own(json!({"kind": "single", "path": "/c", "size": "9KB"}));
    scenario["clients"][0]["workload"] = scenario["workload"].clone();
    scenario["clients"][2]["workload"] = scenario["workload"].clone();
    assert!(
        refusal(&scenario).starts_with("workload: given; each group of clients has a workload of its own")
    );
    scenario.as_object_mut().unwrap().remove("workload");
    assert!(Scenario::from_json(&scenario.to_string()).is_ok());
    scenario["clients"][1]["workload"] = json!({"kind": "surge", "files": 0});
    assert!(refusal(&scenario).starts_with("clients.own.workload.files: "), "{}", refusal(&scenario));
    scenario["clients"][1]["workload"] = json!({"kind": "surge", "filse": 3});
    assert!(refusal(&scenario).starts_with("clients.own.workload.filse: "), "{}", refusal(&scenario));
    scenario["clients"][1]["workload"] =
        json!({"kind": "surge", "inactive_off": {"model": "constant", "value": "1s"}});
    scenario["clients"][1]["think"] = json!({"model": "none"});
    assert!(
        refusal(&scenario).starts_with("clients.own.workload.inactive_off: no group of clients pauses so")
    );
}

#[test]
fn workloads_that_contradict_each_other_are_refused() {
    let scenario = with_own(json!({"kind": "single", "path": "/a", "size": "9KB"}));
    let clash = Scenario::from_json(&scenario.to_string()).unwrap().sites(None).unwrap_err().to_string();
    let expected = "clients.own.workload: /a has 9000B here and 1000B in another workload";
    assert!(clash.starts_with(expected), "{clash}");
}
