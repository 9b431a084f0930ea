//! Simulated bulk transfers: packets delivered end to end per second on one core, beside a fixed calibration loop.
//!
//! `cargo run --release -p wasp-benches --bin bulk -- FLOWS [VIRTUAL_SECONDS]` prints one JSON object. Each flow downloads without end over an access
//! link of 10 Mbit/s and 50 ms each way with a queue of one bandwidth-delay product; the shared link is the second hop.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a benchmark reads the clock and prints"
)]

use serde_json::json;
use std::time::Instant;
use wasp_engine::{Control, Scenario, simulate};

fn main() {
    let mut arguments = std::env::args().skip(1).filter_map(|argument| argument.parse::<u32>().ok());
    let flows = arguments.next().unwrap_or(64);
    let seconds = arguments.next().unwrap_or(20);
    let scenario = Scenario::from_json(&scenario(flows, seconds)).expect("the scenario is valid");
    let calibration = calibrate();
    let start = Instant::now();
    let sites = scenario.sites(None).expect("the sites are built");
    let output = simulate(&scenario, &sites, &Control::default(), ());
    let wall = start.elapsed().as_secs_f64();
    let delivered = output.summary.fates["delivered"];
    let report = json!({
        "flows": flows,
        "virtual_s": seconds,
        "wall_s": wall,
        "delivered": delivered,
        "delivered_per_s": delivered as f64 / wall,
        "events": output.summary.events,
        "queue_full": output.summary.fates["queue full"],
        "peak_memory_kib": peak_memory_kib(),
        "calibration_s": calibration,
        "delivered_per_calibration": delivered as f64 / wall * calibration,
    });
    println!("{report}");
}

fn scenario(flows: u32, seconds: u32) -> String {
    let tcp = json!({"preset": "linux", "receive_buffer": "4MiB"});
    json!({
        "seed": 1, "run": 0, "mode": "sim",
        "server": {
            "address": "198.18.0.1", "port": 80, "tcp": {"preset": "linux", "send_buffer": "4MiB"},
            "model": {"cores": 1, "per_connection": "0ms", "per_request": "0ms", "per_kib": "0ms"},
        },
        "network": {"prefix": "198.18.0.0/17", "shared": {"up": {}, "down": {}}},
        "workload": {"kind": "single", "path": "/bulk", "size": "100GB"},
        "clients": [{
            "name": "bulk", "count": flows, "rtt": "100ms", "loss": {},
            "bandwidth": {"up": "10Mbit/s", "down": "10Mbit/s"}, "queue": {"up": "125KB", "down": "125KB"}, "mtu": 1500,
            "http": {"requests_per_connection": null, "timeout": "24h"}, "tcp": tcp,
        }],
        "measure": {"warmup": "0s", "duration": format!("{seconds}s")},
    })
    .to_string()
}

/// Seconds that a fixed amount of integer work takes: the yardstick for comparing machines.
fn calibrate() -> f64 {
    let start = Instant::now();
    let mut state = 1_u64;
    for _ in 0..200_000_000_u64 {
        state = std::hint::black_box(state).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    }
    std::hint::black_box(state);
    start.elapsed().as_secs_f64()
}

/// The process's largest resident set.
fn peak_memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
