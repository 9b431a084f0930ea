//! Whole simulated runs: exact response times, conservation, Little's law, determinism.

use crate::common::{
    figures_and_rows_agree, group, independent, links_and_connections_agree, run, scenario, two_state,
};
use proptest::prelude::*;
use serde_json::json;
use wasp_engine::{RunOutput, Strata};

const OK: u8 = 0;
const MSS: u64 = 1448;

/// Everything that the rows of a group hold, as text.
fn rows(transactions: &Strata, group: u16) -> Vec<String> {
    let of_group = transactions.iter().filter(|row| row.group == group);
    let mut rows: Vec<String> = of_group
        .map(|row| {
            format!(
                "{} {} {} {} {} {} {} {} {} {} {}",
                row.client,
                row.connection,
                row.request,
                row.start_ns,
                row.connected_ns,
                row.sent_ns,
                row.first_byte_ns,
                row.last_byte_ns,
                row.bytes,
                row.outcome,
                row.attempts,
            )
        })
        .collect();
    rows.sort_unstable();
    rows
}

/// Response times of the `ok` transactions in nanoseconds, in the order of their ends.
fn response_times(output: &RunOutput) -> Vec<i64> {
    let ok = output.ledger.transactions.iter().filter(|row| row.outcome == OK);
    let mut times: Vec<_> = ok.map(|row| (row.end_ns, row.last_byte_ns - row.start_ns)).collect();
    times.sort_unstable();
    times.into_iter().map(|(_, time)| time).collect()
}

/// Rounds that slow start takes for `segments` when every segment is acknowledged: the window doubles each round.
fn rounds(segments: u64, initial_window: u64) -> u64 {
    let (mut sent, mut window, mut rounds) = (0, initial_window, 0);
    while sent < segments {
        sent += window;
        window *= 2;
        rounds += 1;
    }
    rounds
}

#[test]
fn without_loss_a_response_takes_the_round_trips_that_slow_start_dictates() {
    for initial_window in [1_u64, 2, 10] {
        for size in [1_u64, 1_000, 20_000, 64_000, 500_000] {
            let mut scenario = scenario(1, &format!("{size}B"));
            scenario["clients"][0]["tcp"] =
                json!({"preset": "linux", "delayed_ack": "0ms", "receive_buffer": "16MiB"});
            scenario["server"]["tcp"] =
                json!({"preset": "linux", "initial_window": initial_window, "send_buffer": "16MiB"});
            let output = run(&scenario);
            let times = response_times(&output);
            assert!(times.len() > 5, "{} responses", times.len());
            let head = format!(
                "HTTP/1.1 200 OK\r\nServer: wasp-model\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n"
            )
            .len() as u64;
            let rounds = rounds((head + size).div_ceil(MSS), initial_window);
            let service = 20_000 + 30_000 + 1_000 * size / 1_024;
            let expected = ((1 + rounds) * 100_000_000 + service) as i64;
            assert!(
                times.iter().all(|time| *time == expected),
                "{size} B, IW {initial_window}: {:?} instead of {expected}",
                times[0]
            );
        }
    }
}

/// The receive buffer of `linux` tunes itself, and its programs wake up a little after a burst: but not for the end of a response.
#[test]
fn waking_up_adds_no_time_to_a_response() {
    for (size, rounds) in [(1_000, 1), (14_000, 1), (20_000, 2)] {
        let output = run(&scenario(1, &format!("{size}B")));
        let rows: Vec<_> = output.ledger.transactions.iter().filter(|row| row.outcome == OK).collect();
        assert!(rows.len() > 5, "{} responses", rows.len());
        for row in rows {
            let service = 20_000 + 30_000 + 1_000 * size / 1_024;
            let (first, last) = (row.first_byte_ns - row.sent_ns, row.last_byte_ns - row.sent_ns);
            assert_eq!((first, last), (100_000_000 + service, rounds * 100_000_000 + service), "{size} B");
        }
    }
}

/// The server keeps the connection, so that neither a FIN nor a short segment tells of the end: the length does.
#[test]
fn waking_up_adds_no_time_to_a_response_that_ends_with_a_full_segment() {
    for segments in 1..=10 {
        let whole = segments * MSS;
        let head =
            |size: u64| format!("HTTP/1.1 200 OK\r\nServer: wasp-model\r\nContent-Length: {size}\r\n\r\n");
        let size = (0..whole).find(|&size| head(size).len() as u64 + size == whole).expect("a size");
        let mut scenario = scenario(1, &format!("{size}B"));
        scenario["clients"][0]["http"]["requests_per_connection"] = json!(null);
        let output = run(&scenario);
        let rows: Vec<_> = output.ledger.transactions.iter().filter(|row| row.outcome == OK).collect();
        assert!(rows.len() > 5, "{} responses", rows.len());
        assert!(rows.iter().all(|row| row.first_byte_ns == row.last_byte_ns), "{segments} segments");
    }
}

#[test]
fn a_kept_connection_asks_again_after_one_round_trip() {
    let mut scenario = scenario(1, "1KB");
    scenario["clients"][0]["http"]["requests_per_connection"] = json!(null);
    let times = response_times(&run(&scenario));
    assert_eq!(times[0], 200_000_000 + 20_000 + 30_000 + 976);
    assert!(times[1..].iter().all(|time| *time == 100_000_000 + 30_000 + 976), "{:?}", &times[1..3]);
}

#[test]
fn littles_law_holds_to_rounding_and_as_n_equals_x_times_r() {
    let mut scenario = scenario(256, "20KB");
    scenario["clients"][0]["loss"] = two_state("2%", "direction");
    scenario["measure"] = json!({"warmup": "10s", "duration": "60s"});
    let output = run(&scenario);
    let (integral, records) = output.ledger.little();
    assert_eq!(integral, records);
    assert!(integral > 0);
    let summary = &output.summary;
    let n = summary.throughput * summary.response_time_ms.mean.unwrap() / 1e3;
    assert!((n / 256.0 - 1.0).abs() < 0.01, "N = {n}");
    assert_eq!(summary.invalid, []);
}

#[test]
fn the_servers_tcp_is_counted_over_the_measured_interval() {
    let mut scenario = scenario(64, "20KB");
    scenario["measure"] = json!({"warmup": "30s", "duration": "10s"});
    let summary = run(&scenario).summary;
    let (tcp, packets) = (summary.server_tcp.unwrap(), summary.network.down.packets);
    assert_eq!(tcp.segments_sent, packets, "what the server sends is what crosses the links to the clients");
    let begun = summary.outcomes["ok"].abs_diff(tcp.connections);
    assert!(
        begun <= 64,
        "a connection a transaction, but for those that the ends of the interval cut in two"
    );
    assert_eq!((tcp.retransmitted, tcp.timeouts), (0, 0));
}

#[test]
fn a_saturated_server_works_without_pause_and_paces_its_clients() {
    let mut scenario = scenario(64, "1KB");
    scenario["server"]["model"]["per_request"] = json!("5ms");
    let output = run(&scenario);
    assert!(output.summary.server_cpu.busy.unwrap() > 0.999);
    let capacity = 1.0 / (0.005 + 0.000_020 + 0.000_000_976);
    assert!((output.summary.throughput / capacity - 1.0).abs() < 0.01, "{}", output.summary.throughput);
}

#[test]
fn a_server_with_a_full_accept_queue_drops_syns_and_they_come_again() {
    let mut scenario = scenario(64, "1KB");
    scenario["server"]["model"]["per_connection"] = json!("5ms");
    let unbounded = run(&scenario).summary;
    scenario["server"]["model"]["accept_queue"] = json!(8);
    let bounded = run(&scenario).summary;
    assert_eq!(unbounded.fates["accept queue full"], 0);
    assert!(bounded.fates["accept queue full"] > 100, "{}", bounded.fates["accept queue full"]);
    assert_eq!(bounded.packets.made, bounded.fates.values().sum::<u64>() + bounded.packets.in_flight);
    // 64 clients could make 320 connections a second; the CPU accepts 200. Who finds the queue full sends its SYN again after a second.
    let slowest = |summary: &wasp_engine::Summary| summary.response_time_ms.max.unwrap();
    assert!(
        slowest(&unbounded) < 500.0 && slowest(&bounded) > 1_000.0,
        "{} {}",
        slowest(&unbounded),
        slowest(&bounded)
    );
}

#[test]
fn every_packet_is_delivered_lost_dropped_or_in_flight() {
    for scope in ["direction", "connection", "link"] {
        let mut scenario = scenario(20, "64KB");
        scenario["clients"][0]["loss"] = two_state("4%", scope);
        scenario["clients"][0]["bandwidth"] = json!({"down": "2Mbit/s", "up": "256kbit/s"});
        scenario["clients"][0]["queue"] = json!({"down": "10KB", "up": "10KB"});
        let output = run(&scenario);
        let summary = &output.summary;
        assert_eq!(summary.packets.made, summary.fates.values().sum::<u64>() + summary.packets.in_flight);
        assert!(summary.fates["queue full"] > 0 && summary.fates["random loss"] > 0);
        let lost: u64 = output.links.iter().map(|link| link.lost).sum();
        assert_eq!(lost, summary.fates["random loss"]);
        let by_connection: u64 = output
            .ledger
            .connections
            .iter()
            .map(|connection| connection.up_lost + connection.down_lost)
            .sum();
        assert!(
            by_connection <= lost && by_connection as f64 > 0.98 * lost as f64,
            "{by_connection} of {lost}"
        );
    }
}

#[test]
fn injected_loss_agrees_with_its_conditional_probabilities_in_every_scope_and_model() {
    for scope in ["direction", "connection", "link"] {
        for loss in [two_state("7%", scope), {
            let mut loss = independent("3%");
            loss["scope"] = json!(scope);
            loss
        }] {
            let mut scenario = scenario(50, "20KB");
            scenario["clients"][0]["loss"] = loss;
            let output = run(&scenario);
            for direction in [output.summary.network.up, output.summary.network.down] {
                let error = direction.expected_standard_error.unwrap();
                let distance = (direction.loss_rate.unwrap() - direction.expected_loss_rate.unwrap()) / error;
                assert!(distance.abs() < 5.0, "{scope}: {distance} standard errors");
            }
        }
    }
}

#[test]
fn one_seed_gives_one_run() {
    let mut scenario = scenario(30, "20KB");
    scenario["clients"][0]["loss"] = two_state("4%", "direction");
    let text = |output: &RunOutput| rows(&output.ledger.transactions, 0);
    let first = text(&run(&scenario));
    assert_eq!(first, text(&run(&scenario)));
    scenario["run"] = json!(1);
    assert_ne!(first, text(&run(&scenario)));
}

#[test]
fn another_group_changes_nothing_of_the_first_where_they_share_nothing_that_costs() {
    let mut alone = scenario(20, "20KB");
    alone["server"]["model"] =
        json!({"cores": 1, "per_connection": "0ms", "per_request": "0ms", "per_kib": "0ms"});
    alone["clients"][0]["loss"] = two_state("4%", "direction");
    let mut before = group("others", 10);
    before["loss"] = independent("5%");
    let mut together = alone.clone();
    together["clients"] = json!([before, alone["clients"][0]]);
    let strip = |rows: Vec<String>| {
        rows.iter().map(|row| row.split_once(' ').unwrap().1.to_owned()).collect::<Vec<_>>()
    };
    let mut first = strip(rows(&run(&alone).ledger.transactions, 0));
    let mut second = strip(rows(&run(&together).ledger.transactions, 1));
    first.sort_unstable();
    second.sort_unstable();
    assert_eq!(first, second);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_scenario_conserves_packets_and_transactions(
        count in 1..12_u32, size in 0..200_000_u64, rtt in 0..300_u64, p in 0..30_u64, r in 5..100_u64,
        requests in prop_oneof![Just(None), (1..9_u32).prop_map(Some)],
        rate in prop_oneof![Just(None), (64..20_000_u64).prop_map(Some)],
        queue in 2_000..100_000_u64, preset in prop_oneof![Just("linux"), Just("bsd1999")], seed in any::<u64>(),
    ) {
        let mut scenario = scenario(count, &format!("{size}B"));
        scenario["seed"] = json!(seed);
        let group = &mut scenario["clients"][0];
        group["rtt"] = json!(format!("{rtt}ms"));
        let loss = json!({"model": "two-state", "p": format!("{p}%"), "r": format!("{r}%")});
        group["loss"] = json!({"up": loss, "down": loss});
        group["http"]["requests_per_connection"] = json!(requests);
        group["http"]["timeout"] = json!("5s");
        group["tcp"] = json!({"preset": preset});
        if let Some(rate) = rate {
            group["bandwidth"] = json!({"up": format!("{rate}kbit/s"), "down": format!("{rate}kbit/s")});
            group["queue"] = json!({"up": format!("{queue}B"), "down": format!("{queue}B")});
        }
        scenario["server"]["tcp"] = json!({"preset": preset});
        scenario["measure"] = json!({"warmup": "1s", "duration": "5s"});
        let output = run(&scenario);
        let summary = &output.summary;
        prop_assert_eq!(summary.packets.made, summary.fates.values().sum::<u64>() + summary.packets.in_flight);
        let (integral, records) = output.ledger.little();
        prop_assert_eq!(integral, records);
        figures_and_rows_agree(&output);
        for row in output.ledger.transactions.iter() {
            prop_assert!(row.outcome != OK || row.bytes == size);
            prop_assert!(row.end_ns >= row.start_ns);
        }
    }
}

#[test]
fn the_series_adds_up_to_the_run() {
    let mut scenario = scenario(20, "20KB");
    scenario["clients"][0]["loss"] = two_state("4%", "direction");
    let output = run(&scenario);
    let seconds = &output.ledger.seconds;
    let sum = |of: fn(&wasp_engine::Gauges) -> u64| -> u64 {
        seconds[..12].iter().map(|second| of(&second.gauges.unwrap())).sum()
    };
    let links = |direction, of: fn(&wasp_engine::LinkRow) -> u64| -> u64 {
        let links = output.links.iter().filter(|link| link.direction == direction && link.link != "shared");
        links.map(of).sum()
    };
    assert_eq!(sum(|gauges| gauges.up.packets), links("up", |link| link.packets));
    assert_eq!(sum(|gauges| gauges.down.lost), links("down", |link| link.lost));
    let ok: u32 = seconds.iter().map(|second| second.ok).sum();
    assert_eq!(u64::from(ok), output.ledger.completed() - output.ledger.errors());
    let busy: f64 =
        seconds[2..12].iter().map(|second| second.gauges.unwrap().server_busy.unwrap()).sum::<f64>() / 10.0;
    assert!((busy - output.summary.server_cpu.busy.unwrap()).abs() < 1e-9);
}

#[test]
fn every_packet_of_an_access_link_is_in_the_account_of_a_connection() {
    for (preset, requests, timeout, size) in [
        ("linux", json!(1), "60s", "1KB"),
        ("bsd1999", json!(1), "60s", "20KB"),
        // Clients give up while responses are on their way, and reset what still comes.
        ("linux", json!(null), "400ms", "100KB"),
    ] {
        let mut scenario = scenario(20, size);
        let group = &mut scenario["clients"][0];
        group["loss"] = independent("4%");
        group["http"] = json!({"requests_per_connection": requests, "timeout": timeout});
        group["tcp"] = json!({"preset": preset});
        scenario["server"]["tcp"] = json!({"preset": preset});
        scenario["measure"]["duration"] = json!("20s");
        let output = run(&scenario);
        assert_eq!(links_and_connections_agree(&output), 0, "{preset} {timeout}");
        let network = &output.links.iter().map(|link| link.packets).sum::<u64>();
        assert!(*network > 1_000, "{network} packets");
    }
}

#[test]
fn impaired_links_bring_every_response_and_account_for_every_packet() {
    let both = |value: serde_json::Value| json!({"up": value, "down": value});
    let mut scenario = scenario(20, "30KB");
    let group = &mut scenario["clients"][0];
    group["jitter"] = both(json!({"model": "normal", "deviation": "3ms", "order": "free"}));
    group["reorder"] = both(json!({"share": "2%"}));
    group["duplicate"] = both(json!({"share": "1%"}));
    group["corrupt"] = both(json!({"share": "1%"}));
    scenario["network"]["shared"]["down"] =
        json!({"duplicate": {"share": "2%"}, "corrupt": {"share": "0.5%"}});
    let output = run(&scenario);
    assert!(output.summary.outcomes["ok"] > 200, "{:?}", output.summary.outcomes);
    assert_eq!(output.ledger.errors(), 0);
    links_and_connections_agree(&output);
    let sum = |of: fn(&wasp_engine::LinkRow) -> u64| output.links.iter().map(of).sum::<u64>();
    let (corrupted, fates) = (sum(|link| link.corrupted), &output.summary.fates);
    let in_flight = output.summary.packets.in_flight;
    // A copy of a corrupted packet that another link made is corrupted, too, and one that another link corrupts again is counted twice.
    assert!(fates["bad checksum"].abs_diff(corrupted) <= corrupted / 20 + in_flight, "{corrupted} {fates:?}");
    assert!(sum(|link| link.reordered) > 100 && sum(|link| link.duplicated) > 100);
    let made = output.summary.packets.made;
    assert_eq!(made, fates.values().sum::<u64>() + in_flight);
    let shared = output.links.iter().find(|link| (link.link.as_str(), link.direction) == ("shared", "down"));
    let to_clients: u64 =
        output.links[2..].iter().filter(|link| link.direction == "down").map(|link| link.packets).sum();
    let shared = shared.unwrap();
    assert_eq!(shared.packets + shared.duplicated, to_clients);
}

#[test]
fn a_receiver_acknowledges_every_second_segment_also_after_losses() {
    let mut scenario = scenario(4, "20MB");
    scenario["clients"][0]["loss"] = json!({"down": {"model": "independent", "rate": "0.5%"}});
    scenario["clients"][0]["rtt"] = json!("20ms");
    let share = |scenario| {
        let network = run(&scenario).summary.network;
        network.up.packets as f64 / network.down.packets as f64
    };
    let mut slow = scenario.clone();
    slow["clients"][0]["bandwidth"] = json!({"down": "100Mbit/s"});
    let (together, apart) = (share(scenario), share(slow));
    assert!(apart > 0.45, "{apart} acknowledgments a segment that comes alone");
    assert!(
        (0.1..0.2).contains(&together),
        "{together} acknowledgments a segment where a burst is read together, twenty at most"
    );
}
