//! Fixed simulations whose instructions are counted from outside (`benches/instructions.py`): the same ones on a quiet and on a busy machine.
//!
//! `cargo run --release -p wasp-benches --bin instructions -- NAME` runs one; with `none` nothing but the start of a process, to be subtracted.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use serde_json::{Value, json};
use wasp_engine::{Control, Scenario, simulate};

fn main() {
    let name = std::env::args().nth(1).unwrap_or_default();
    let scenario = match name.as_str() {
        "bulk" => Some(bulk()),
        "web" => Some(web()),
        "site" => Some(site()),
        _ => None,
    };
    let Some(scenario) = scenario else { return println!("{{}}") };
    let scenario = Scenario::from_json(&scenario.to_string()).expect("the scenario is valid");
    let sites = scenario.sites(None).expect("the sites are built");
    let output = simulate(&scenario, &sites, &Control::default(), ());
    let delivered = output.summary.fates["delivered"];
    println!("{}", json!({"delivered": delivered, "events": output.summary.events}));
}

/// Sixteen endless downloads, each over 10 Mbit/s and 50 ms each way.
fn bulk() -> Value {
    let mut scenario = base(16, "100GB");
    scenario["clients"][0]["bandwidth"] = json!({"up": "10Mbit/s", "down": "10Mbit/s"});
    scenario["clients"][0]["queue"] = json!({"up": "125KB", "down": "125KB"});
    scenario
}

/// Clients that ask for a small file again and again over paths with loss, eight times a connection.
fn web() -> Value {
    let mut scenario = base(100, "1KiB");
    let loss = json!({"model": "independent", "rate": "3%"});
    scenario["clients"][0]["loss"] = json!({"up": loss, "down": loss});
    scenario["clients"][0]["http"]["requests_per_connection"] = json!(8);
    scenario
}

/// Clients that ask for the files of a small site, each with a head of its own.
fn site() -> Value {
    let mut scenario = base(100, "1KiB");
    scenario["workload"] =
        json!({"kind": "surge", "files": 200, "inactive_off": {"model": "constant", "value": "100ms"}});
    scenario
}

fn base(clients: u32, size: &str) -> Value {
    json!({
        "seed": 1, "run": 0, "mode": "sim",
        "server": {
            "address": "198.18.0.1", "port": 80, "tcp": {"preset": "linux"},
            "model": {"cores": 1, "per_connection": "0ms", "per_request": "10us", "per_kib": "0ms"},
        },
        "network": {"prefix": "198.18.0.0/17", "shared": {"up": {}, "down": {}}},
        "workload": {"kind": "single", "path": "/file", "size": size},
        "clients": [{
            "name": "clients", "count": clients, "rtt": "100ms", "loss": {}, "bandwidth": {}, "queue": {}, "mtu": 1500,
            "http": {"requests_per_connection": null, "timeout": "60s"}, "tcp": {"preset": "linux"},
        }],
        "measure": {"warmup": "1s", "duration": "4s"},
    })
}
