//! What is refused, and how it is said.

use crate::common::scenario;
use serde_json::{Value, json};
use wasp_engine::Scenario;

/// The message for a scenario with `value` at `pointer`, whose last step may be new.
fn refusal(pointer: &str, value: Value) -> String {
    let mut scenario = scenario(1, "1KB");
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    match scenario.pointer_mut(pointer) {
        Some(place) => *place = value,
        None => scenario.pointer_mut(parent).unwrap()[last] = value,
    }
    Scenario::from_json(&scenario.to_string()).unwrap_err().to_string()
}

#[test]
fn wrong_values_are_named_with_what_would_be_valid() {
    let cases = [
        ("/clients/0/count", json!(0), "clients.clients.count: 0; must be at least 1"),
        (
            "/clients/0/count",
            json!(40_000),
            "network.prefix: 198.18.0.0/17; has addresses for 32765 clients, and there are 40000",
        ),
        ("/clients/0/rtt", json!("100"), "clients[0].rtt: \"100\": unknown or missing unit"),
        ("/clients/0/rtt", json!("-1ms"), "clients[0].rtt: \"-1ms\": expected a duration"),
        (
            "/clients/0/loss",
            json!({"up": {"model": "independent", "rate": "100%"}}),
            "clients.clients.loss.up.rate: 100%; must be below 100%",
        ),
        (
            "/clients/0/loss",
            json!({"up": {"model": "two-state", "p": "2%", "r": "0%"}}),
            "clients.clients.loss.up.r: 0%; must be above zero",
        ),
        ("/clients/0/queue", json!({"up": "10KB"}), "clients.clients.queue.up: a queue never fills"),
        ("/clients/0/mtu", json!(60), "clients.clients.mtu: 60; must be from 128"),
        (
            "/clients/0/jitter",
            json!({"up": {"model": "pareto", "mean": "1ms", "shape": 0.5}}),
            "clients.clients.jitter.up.shape: 0.5; must be above 1",
        ),
        (
            "/clients/0/reorder",
            json!({"down": {"share": "51%"}}),
            "clients.clients.reorder.down.share: 51%; must be from 0% to 50%",
        ),
        (
            "/network/shared/up/trace",
            json!({"file": "a", "repeat": true, "start": "random", "opportunity": "1504B", "overhead": "4B"}),
            "network.shared.up.trace.file: a; no trace of this name is given",
        ),
        (
            "/network",
            json!({
                "prefix": "198.18.0.0/17",
                "shared": {
                    "up": {},
                    "down": {"trace": {
                        "file": "a", "repeat": false, "start": "1s", "opportunity": "1504B", "overhead": "4B",
                    }},
                },
                "traces": {"a": "2000\n"},
            }),
            "network.shared.down.trace.repeat: false; the trace ends 1s after the start of the run, which takes",
        ),
        (
            "/network/traces",
            json!({"a": "1\nx\n"}),
            "network.traces.a: line 2: \"x\"; must be a whole number",
        ),
        (
            "/network/shared/up/corrupt",
            json!({"share": "100%"}),
            "network.shared.up.corrupt.share: 100%; must be below 100%",
        ),
        (
            "/network/shared/down/duplicate",
            json!({"share": "2"}),
            "network.shared.down.duplicate.share: \"2\"",
        ),
        (
            "/clients/0/http",
            json!({"requests_per_connection": 0, "timeout": "1s"}),
            "clients[0].http.requests_per_connection",
        ),
        (
            "/clients/0/tcp",
            json!({"preset": "linux", "mss": 9_000}),
            "clients.clients.tcp.mss: 9000; must be at most 1460",
        ),
        ("/measure/duration", json!("0s"), "measure.duration: 0ms; must be above zero"),
        ("/workload/path", json!("no slash"), "workload.files.0.path: no slash; must begin"),
        ("/network/prefix", json!("198.18.0.0"), "network.prefix"),
        ("/server/address", json!("198.18.0.7"), "server.address: 198.18.0.7; must be the first host"),
        ("/server/address", json!("127.0.0.1"), "server.address: 127.0.0.1; must be the first host"),
        ("/server/host", json!("a b"), "server.host: "),
        ("/server/congestion", json!("cubic"), "server.congestion: is of a server that runs"),
        ("/clients", json!([]), "clients: none"),
    ];
    for (pointer, value, expected) in cases {
        let message = refusal(pointer, value);
        assert!(message.contains(expected), "{pointer}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn a_live_server_may_be_outside_of_the_clients_network_but_not_elsewhere_in_it() {
    let with_address = |address: &str| {
        let mut live = scenario(1, "1KB");
        live["mode"] = json!("live");
        live["server"] = json!({"address": address, "port": 8080, "host": "localhost:8080"});
        Scenario::from_json(&live.to_string())
    };
    for outside in ["127.0.0.1", "198.17.255.255", "198.18.128.0", "198.18.0.1"] {
        assert!(with_address(outside).is_ok(), "{outside}");
    }
    for inside in ["198.18.0.0", "198.18.0.2", "198.18.127.255"] {
        assert_eq!(with_address(inside).unwrap_err().field, "server.address", "{inside}");
    }
}

#[test]
fn impossible_behaviour_is_named_with_what_would_be_possible() {
    let http = "/clients/0/http/";
    let cases = [
        ("connections", json!(9), "clients.clients.http.connections: 9; must be from 1 to 8"),
        ("pipeline", json!(0), "clients.clients.http.pipeline: 0; must be from 1 to 64"),
        ("pipeline", json!(2), "clients.clients.http.pipeline: 2; must be at most requests_per_connection"),
        ("version", json!("2"), "clients[0].http.version: unknown variant `2`, expected `1.0` or `1.1`"),
        ("method", json!("PUT"), "clients[0].http.method: unknown variant `PUT`"),
        ("body", json!("1KiB"), "clients.clients.http.body: only a POST has a body"),
        ("headers", json!({"a b": "x"}), "clients.clients.http.headers: header name \"a b\""),
        ("headers", json!({"Host": "x"}), "clients.clients.http.headers: header Host: is set by the client"),
        ("abort", json!({}), "clients.clients.http.abort: empty; give after, bytes or both"),
        (
            "abort",
            json!({"after": "60s"}),
            "http.abort.after: 60s; must be above zero and below timeout, which is 60s",
        ),
        ("abort", json!({"bytes": "0B"}), "http.abort.bytes: 0B; must be at least 1B"),
        ("read_rate", json!("0bit/s"), "clients[0].http.read_rate: \"0bit/s\""),
    ];
    for (field, value, expected) in cases {
        let message = refusal(&format!("{http}{field}"), value);
        assert!(message.contains(expected), "{field}: {message}");
    }
    let both = [
        (
            json!({"method": "HEAD", "abort": {"bytes": "1B"}}),
            "http.abort.bytes: 1B; the answer to a HEAD has no body",
        ),
        (
            json!({"conditional": true, "headers": {"if-modified-since": "x"}}),
            "http.headers: if-modified-since contradicts conditional",
        ),
    ];
    for (mut http, expected) in both {
        http["timeout"] = json!("60s");
        let message = refusal("/clients/0/http", http);
        assert!(message.contains(expected), "{message}");
    }
    let cases = [
        ("/workload/files", json!([]), "workload.files: given; not beside path and size"),
        ("/workload/deal", json!("turns"), "workload.deal: unknown variant `turns`"),
        (
            "/clients/0/think",
            json!({"model": "pareto", "shape": 0, "scale": "1s"}),
            "clients.clients.think.shape: 0",
        ),
    ];
    for (pointer, value, expected) in cases {
        let message = refusal(pointer, value);
        assert!(message.contains(expected), "{pointer}: {message}");
    }
}

#[test]
fn unknown_fields_are_refused_everywhere() {
    let places = [
        "",
        "/server",
        "/server/tcp",
        "/server/model",
        "/network",
        "/network/shared",
        "/network/shared/up",
        "/workload",
        "/clients/0",
        "/clients/0/loss",
        "/clients/0/bandwidth",
        "/clients/0/queue",
        "/clients/0/http",
        "/clients/0/tcp",
        "/measure",
    ];
    for pointer in places {
        let mut scenario = scenario(1, "1KB");
        scenario.pointer_mut(pointer).unwrap()["surprise"] = json!(1);
        let message = Scenario::from_json(&scenario.to_string()).unwrap_err().to_string();
        assert!(message.contains("unknown field `surprise`"), "{pointer}: {message}");
    }
}

#[test]
fn two_groups_with_one_name_are_refused() {
    let mut scenario = scenario(1, "1KB");
    scenario["clients"] = json!([scenario["clients"][0], scenario["clients"][0]]);
    assert!(
        Scenario::from_json(&scenario.to_string())
            .unwrap_err()
            .to_string()
            .contains("two groups have this name")
    );
}
