//! The modelled server on a machine: exact response times, accounting of its CPU, queues, workers and processes.

use crate::common::{independent, run, scenario};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::io::{BufRead, Cursor};
use wasp_engine::{Control, RunOutput, Scenario, Summary, simulate};

/// The costs that a test sets, nothing else costing anything.
fn machine(scenario: &mut Value, fields: &Value) {
    let mut model = json!({
        "cores": 1, "concurrency": "event", "fin_with_data": true,
        "per_connection": "0ms", "per_request": "0ms", "per_kib": "0ms",
    });
    for (name, value) in fields.as_object().unwrap() {
        model[name] = value.clone();
    }
    scenario["server"]["model"] = model;
}

/// How often, and for how many CPU seconds, work of a kind was done.
fn spent(summary: &Summary, kind: &str) -> (u64, f64) {
    let work = summary.server_work.as_ref().unwrap().iter().find(|work| work.kind == kind).unwrap();
    (work.number, work.cpu_s)
}

fn cpu(summary: &Summary) -> f64 {
    summary.server_work.as_ref().unwrap().iter().map(|work| work.cpu_s).sum()
}

fn conserved(summary: &Summary) -> bool {
    summary.packets.made == summary.fates.values().sum::<u64>() + summary.packets.in_flight
}

#[test]
fn a_response_waits_for_every_job_on_its_way() {
    let mut scenario = scenario(1, "1KB");
    scenario["clients"][0]["http"]["requests_per_connection"] = json!(null);
    let costs = json!({
        "per_request": "40us", "per_kib": "1024ns",
        "per_data": "3us", "per_ack": "2us", "per_syn": "5us", "per_interrupt": "6us", "per_frame": "7us",
        "per_segment": "1us", "per_wakeup": "11us", "wakeup_latency": "50us",
    });
    machine(&mut scenario, &costs);
    let output = run(&scenario);
    // The request, which interrupts, a program that wakes up late, the request's work and 1 us of body, and a frame of one segment.
    let expected = 100_000_000 + 6_000 + 3_000 + 50_000 + 11_000 + 40_000 + 1_000 + 7_000 + 1_000;
    let ok = output.ledger.transactions.iter().filter(|row| row.outcome == 0);
    let times: Vec<_> = ok.map(|row| row.last_byte_ns - row.start_ns).skip(3).collect();
    assert!(times.len() > 50 && times.iter().all(|time| *time == expected), "{:?}", &times[..3]);
}

#[test]
fn a_machine_without_costs_is_a_flat_server_without_costs() {
    let mut flat = scenario(20, "20KB");
    flat["clients"][0]["loss"] = independent("3%");
    flat["server"]["model"] =
        json!({"cores": 1, "per_connection": "0ms", "per_request": "0ms", "per_kib": "0ms"});
    let mut scheduled = flat.clone();
    machine(&mut scheduled, &json!({}));
    let times = |scenario| -> Vec<(u32, i64, i64)> {
        let output = run(scenario);
        let mut rows: Vec<_> =
            output.ledger.transactions.iter().map(|row| (row.client, row.start_ns, row.end_ns)).collect();
        rows.sort_unstable();
        rows
    };
    assert_eq!(times(&flat), times(&scheduled));
}

#[test]
fn a_saturated_machine_is_busy_and_its_jobs_add_up() {
    let mut scenario = scenario(200, "10KB");
    scenario["clients"][0]["loss"] = independent("2%");
    let costs = json!({
        "cores": 2, "per_connection": "200us", "per_request": "2ms", "per_kib": "10us",
        "per_data": "30us", "per_ack": "20us", "per_duplicate_ack": "25us", "per_syn": "50us", "per_timer": "10us",
        "per_interrupt": "12us", "per_frame": "15us", "per_segment": "10us", "per_retransmission": "5us", "per_wakeup": "20us",
        "per_doubling": "100us", "fin_with_data": false,
    });
    machine(&mut scenario, &costs);
    let summary = run(&scenario).summary;
    let busy = summary.server_cpu.busy.unwrap();
    assert!(busy > 0.95 && busy <= 1.0, "{busy}");
    // What began in the interval and what was done in it differ by the jobs at its edges.
    assert!((cpu(&summary) - busy * 2.0 * 10.0).abs() < 4.0 * 0.003, "{} of {}", cpu(&summary), busy * 20.0);
    assert!(conserved(&summary));
    assert_eq!(summary.little.integral_s, summary.little.records_s);
    let rate = |kind: &str, cost: f64| {
        let (number, seconds) = spent(&summary, kind);
        assert!(number > 10, "{kind}: {number}");
        assert!((seconds - number as f64 * cost).abs() < 1e-6, "{kind}: {seconds} for {number}");
    };
    for (kind, cost) in [
        ("data", 30e-6),
        ("ack", 20e-6),
        ("duplicate_ack", 25e-6),
        ("syn", 50e-6),
        ("interrupt", 12e-6),
        ("timer", 10e-6),
        ("frame", 15e-6),
        ("segment", 10e-6),
        ("retransmission", 5e-6),
        ("wakeup", 20e-6),
        ("connection", 200e-6),
        ("request", 2e-3),
    ] {
        rate(kind, cost);
    }
}

#[test]
fn what_tcp_did_is_counted_in_the_measured_interval() {
    let of = |warmup: &str| {
        let mut scenario = scenario(50, "20KB");
        scenario["clients"][0]["loss"] = independent("3%");
        scenario["measure"]["warmup"] = json!(warmup);
        machine(&mut scenario, &json!({"per_segment": "1us"}));
        let summary = run(&scenario).summary;
        (summary.server_tcp.unwrap(), spent(&summary, "segment").0, spent(&summary, "retransmission").0)
    };
    for warmup in ["0s", "20s"] {
        let (tcp, segments, again) = of(warmup);
        assert!(tcp.retransmitted > 100 && tcp.connections > 100, "{tcp:?}");
        assert_eq!((tcp.segments_sent, tcp.retransmitted), (segments, again), "{warmup}");
    }
}

#[test]
fn loss_costs_cpu_and_so_capacity() {
    let rate = |loss: &str| {
        let mut scenario = scenario(400, "20KB");
        scenario["clients"][0]["rtt"] = json!("10ms");
        scenario["clients"][0]["loss"] = independent(loss);
        let costs = json!({
            "per_connection": "300us", "per_request": "500us",
            "per_data": "50us", "per_ack": "30us", "per_syn": "50us", "per_timer": "50us", "per_segment": "60us",
            "per_retransmission": "60us", "per_duplicate_ack": "60us",
        });
        machine(&mut scenario, &costs);
        let summary = run(&scenario).summary;
        assert!(summary.server_cpu.busy.unwrap() > 0.97, "{:?}", summary.server_cpu);
        summary.throughput
    };
    let (none, some) = (rate("0%"), rate("6%"));
    assert!(some < 0.95 * none, "{some} of {none}");
}

#[test]
fn packets_that_wait_together_share_an_interrupt() {
    let of = |clients: u32, size: &str, interval: &str| {
        let mut scenario = scenario(clients, size);
        scenario["clients"][0]["http"]["requests_per_connection"] = json!(null);
        let costs = json!({
            "per_request": "20us", "per_data": "1us", "per_ack": "1us", "interrupt_interval": interval,
        });
        machine(&mut scenario, &costs);
        let summary = run(&scenario).summary;
        let packets = spent(&summary, "data").0 + spent(&summary, "ack").0;
        (spent(&summary, "interrupt").0, packets)
    };
    // The packets of one client find an idle CPU, or one that works for the program.
    let (interrupts, packets) = of(1, "1KB", "0us");
    assert!(packets > 50 && interrupts == packets, "{interrupts} of {packets}");
    // The acknowledgments of a window arrive together.
    let (interrupts, packets) = of(10, "100KB", "0us");
    assert!(packets > 1_000 && 2 * interrupts < packets, "{interrupts} of {packets}");
    // At most one interrupt in 50 ms of 10 s.
    let (interrupts, packets) = of(100, "1KB", "50ms");
    assert!(packets > 5_000 && (150..=200).contains(&interrupts), "{interrupts} of {packets}");
}

#[test]
fn requests_that_arrive_together_share_a_wakeup() {
    let of = |pipeline: u32| {
        let mut scenario = scenario(8, "1KB");
        let http = &mut scenario["clients"][0]["http"];
        http["requests_per_connection"] = json!(8);
        http["pipeline"] = json!(pipeline);
        machine(&mut scenario, &json!({"per_request": "50us", "per_wakeup": "50us"}));
        let summary = run(&scenario).summary;
        spent(&summary, "wakeup").0 as f64 / spent(&summary, "request").0 as f64
    };
    let (alone, eight) = (of(1), of(8));
    assert!(alone > 0.9 && eight < 0.5, "{alone} {eight}");
}

#[test]
fn a_worker_that_always_finds_more_to_do_pays_for_no_wakeup() {
    let of = |per_request: &str| {
        let mut scenario = scenario(4, "1KB");
        scenario["clients"][0]["rtt"] = json!("1ms");
        scenario["clients"][0]["http"]["requests_per_connection"] = json!(null);
        machine(&mut scenario, &json!({"per_request": per_request, "per_wakeup": "50us"}));
        let summary = run(&scenario).summary;
        (summary.server_cpu.busy.unwrap(), spent(&summary, "wakeup").0, spent(&summary, "request").0)
    };
    let (busy, wakeups, requests) = of("2ms");
    assert!(busy > 0.999 && requests > 4_000, "{busy} {requests}");
    assert_eq!(wakeups, 0);
    // With time to spare it sleeps after each request.
    let (busy, wakeups, requests) = of("20us");
    assert!(busy < 0.6 && wakeups * 3 > requests, "{busy} {wakeups} {requests}");
}

#[test]
fn cores_tick_whatever_is_asked_for() {
    let mut scenario = scenario(1, "1KB");
    machine(&mut scenario, &json!({"cores": 3, "per_tick": "100us"}));
    let summary = run(&scenario).summary;
    assert_eq!(spent(&summary, "tick").0, 3 * 10_000);
    assert!((summary.server_cpu.busy.unwrap() - 0.1).abs() < 1e-3, "{:?}", summary.server_cpu);
}

#[test]
fn open_connections_beyond_the_caches_make_requests_dearer() {
    let each = |clients: u32| {
        let mut scenario = scenario(clients, "1KB");
        scenario["clients"][0]["http"]["requests_per_connection"] = json!(null);
        machine(&mut scenario, &json!({"per_doubling": "10us"}));
        let (number, seconds) = spent(&run(&scenario).summary, "doubling");
        (number > 0).then(|| (seconds / number as f64 * 1e6).round() as u64)
    };
    // Of 256, 512 and 2,048 connections.
    assert_eq!((each(256), each(512), each(2_048)), (None, Some(10), Some(30)));
}

#[test]
fn offloaded_segments_of_a_response_share_frames() {
    let of = |offload: bool| {
        let mut scenario = scenario(1, "14KB");
        scenario["server"]["tcp"] = json!({"preset": "linux", "segmentation_offload": offload});
        scenario["clients"][0]["http"]["requests_per_connection"] = json!(null);
        machine(&mut scenario, &json!({"per_frame": "1us"}));
        let summary = run(&scenario).summary;
        let of_each = |kind: &str| spent(&summary, kind).0 as f64 / spent(&summary, "request").0 as f64;
        (of_each("frame"), of_each("segment"))
    };
    // The initial window is ten segments. A path as long gives frames of two, the least (Linux `tcp_tso_autosize`).
    assert_eq!((of(false), of(true)), ((10.0, 10.0), (5.0, 10.0)));
}

#[test]
fn a_response_that_fits_into_the_send_buffer_is_one_job() {
    for concurrency in ["event", "process"] {
        let mut scenario = scenario(1, "60KB");
        scenario["clients"][0]["http"]["requests_per_connection"] = json!(null);
        machine(&mut scenario, &json!({"concurrency": concurrency, "per_wakeup": "1us"}));
        let summary = run(&scenario).summary;
        let (wakeups, requests) = (spent(&summary, "wakeup").0, spent(&summary, "request").0);
        assert!(requests > 20 && wakeups <= requests + 1, "{concurrency}: {wakeups} of {requests}");
    }
}

#[test]
fn a_fin_of_its_own_is_a_frame_more() {
    let of = |with_data: bool| {
        let mut scenario = scenario(8, "1KB");
        machine(&mut scenario, &json!({"fin_with_data": with_data}));
        let summary = run(&scenario).summary;
        spent(&summary, "frame").0 as f64 / summary.outcomes["ok"] as f64
    };
    let (with, without) = (of(true), of(false));
    assert!((without - with - 1.0).abs() < 0.05, "{without} {with}");
}

#[test]
fn processes_hold_connections_and_others_wait() {
    let of = |processes: u32| {
        let mut scenario = scenario(64, "1KB");
        scenario["clients"][0]["http"] = json!({"requests_per_connection": 4, "timeout": "60s"});
        machine(
            &mut scenario,
            &json!({
                "concurrency": "process", "processes": processes, "fin_with_data": false,
                "per_runnable": "1us", "per_request": "100us",
            }),
        );
        let summary = run(&scenario).summary;
        assert!(conserved(&summary));
        let ended = summary.outcomes["ok"] + summary.outcomes["unfinished"];
        assert_eq!(ended, summary.outcomes.values().sum::<u64>());
        summary.throughput
    };
    // A connection of four requests holds its process for the three round trips between them.
    let (few, enough) = (of(8), of(128));
    assert!((few / (8.0 * 4.0 / 0.3) - 1.0).abs() < 0.1, "{few}");
    assert!((enough / (64.0 * 4.0 / 0.5) - 1.0).abs() < 0.1, "{enough}");
}

#[test]
fn a_writer_of_more_than_the_send_buffer_holds_its_process() {
    let of = |size: &str| {
        let mut scenario = scenario(2, size);
        scenario["server"]["tcp"] = json!({"preset": "linux", "send_buffer": "64KiB"});
        scenario["clients"][0]["http"]["requests_per_connection"] = json!(null);
        machine(&mut scenario, &json!({"concurrency": "process", "processes": 1}));
        scenario["measure"]["warmup"] = json!("0s");
        let summary = run(&scenario).summary;
        let work = |kind: &str| spent(&summary, kind).0;
        (work("connection"), work("wakeup") as f64 / work("request") as f64)
    };
    // The only process keeps the first client's connection for ever, so the second one is never accepted. It wakes up for each request, and once
    // more where a response does not fit.
    let ((connections, once), (others, twice)) = (of("1KB"), of("200KB"));
    assert_eq!((connections, others), (1, 1));
    assert!((once - 1.0).abs() < 0.05 && (twice - 2.0).abs() < 0.25, "{once} {twice}");
}

#[test]
fn a_process_is_free_when_the_send_buffer_has_taken_its_response() {
    for with_data in [true, false] {
        let mut scenario = scenario(2, "1MB");
        scenario["server"]["tcp"] = json!({"preset": "linux", "send_buffer": "64KiB"});
        let fields = json!({"concurrency": "process", "processes": 1, "fin_with_data": with_data});
        machine(&mut scenario, &fields);
        let output = run(&scenario);
        let ok = output.ledger.transactions.iter().filter(|row| row.outcome == 0);
        let sending: i64 = ok.map(|row| row.last_byte_ns - row.first_byte_ns).sum();
        // Two clients always ask, and one is served: the next when all but the last 64 KiB have left.
        let together = sending as f64 / 10e9;
        assert!((together - 1.0).abs() < 0.35, "{with_data}: {together}");
    }
}

#[test]
fn a_response_in_pieces_wakes_its_program_for_each() {
    let mut scenario = scenario(1, "3MB");
    scenario["server"]["tcp"] = json!({"preset": "linux", "send_buffer_max": "512KiB"});
    scenario["clients"][0]["http"]["requests_per_connection"] = json!(null);
    machine(&mut scenario, &json!({"per_wakeup": "1us", "per_timer": "1us"}));
    let summary = run(&scenario).summary;
    let [wakeups, requests, timers] = ["wakeup", "request", "timer"].map(|kind| spent(&summary, kind).0);
    assert!(requests > 5 && wakeups > 3 * requests, "{wakeups} of {requests}");
    assert!(timers <= requests, "TCP has next to no timers of its own to handle: {timers} of {requests}");
}

#[test]
fn no_segment_of_a_connection_overtakes_another() {
    for concurrency in ["event", "process"] {
        let mut scenario = scenario(6, "400KB");
        scenario["clients"][0]["rtt"] = json!("1ms");
        let fields = json!({
            "concurrency": concurrency, "cores": 4, "fin_with_data": false,
            "per_segment": "60us", "per_ack": "1us", "per_data": "1us",
        });
        machine(&mut scenario, &fields);
        let summary = run(&scenario).summary;
        assert_eq!(
            (spent(&summary, "retransmission").0, spent(&summary, "duplicate_ack").0),
            (0, 0),
            "{concurrency}"
        );
        assert!(summary.outcomes["ok"] > 200, "{:?}", summary.outcomes);
    }
}

#[test]
fn what_programs_read_may_make_segments_due_while_timers_move() {
    let mut scenario = scenario(8, "20KB");
    scenario["clients"][0]["rtt"] = json!("1ms");
    scenario["clients"][0]["http"] = json!({
        "requests_per_connection": 8, "timeout": "60s", "method": "POST", "body": "9KB",
    });
    machine(&mut scenario, &json!({"per_request": "10ms", "per_wakeup": "1us"}));
    let summary = run(&scenario).summary;
    assert_eq!(summary.server_tcp.unwrap().retransmitted, 0);
    let [up, down] = [&summary.network.up, &summary.network.down].map(|way| way.packets);
    let sent = spent(&summary, "segment").0;
    assert!(
        up > 0 && sent.abs_diff(down) <= 32,
        "{sent} segments were made, {down} packets crossed the network"
    );
}

#[test]
fn full_queues_drop_what_opens_connections() {
    let of = |fields: Value| {
        let mut scenario = scenario(64, "1KB");
        machine(&mut scenario, &fields);
        let summary = run(&scenario).summary;
        assert!(conserved(&summary), "{:?}", summary.fates);
        (summary.fates["accept queue full"], summary.fates["syn queue full"], summary.throughput)
    };
    let slow = json!({"per_connection": "5ms"});
    let (accept, syn, free) = of(slow);
    assert_eq!((accept, syn), (0, 0));
    let (accept, syn, bounded) = of(json!({"per_connection": "5ms", "accept_queue": 8}));
    assert!(accept > 100 && syn == 0 && bounded > 0.5 * free, "{accept} {syn} {bounded} {free}");
    let (accept, syn, _) = of(json!({"syn_queue": 4}));
    assert!(accept == 0 && syn > 10, "{accept} {syn}");
}

#[test]
fn contradictions_are_refused() {
    let refused = |fields: Value, expected: &str| {
        let mut scenario = scenario(1, "1KB");
        machine(&mut scenario, &fields);
        let message = Scenario::from_json(&scenario.to_string()).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{message}");
    };
    let process = "process";
    refused(json!({"per_packet": "1us"}), "server.model.per_packet: 1us; needs a server without concurrency");
    refused(
        json!({"processes": 8}),
        "server.model.processes: 8; needs server.model.concurrency = \"process\"",
    );
    refused(
        json!({"concurrency": process, "workers": 8}),
        "server.model.workers: 8; needs server.model.concurrency",
    );
    refused(
        json!({"per_runnable": "1us"}),
        "server.model.per_runnable: 1us; needs server.model.concurrency = \"process\"",
    );
    refused(json!({"workers": 100_000}), "server.model.workers: 100000; must be from 1 to 65536");
    refused(json!({"per_tick": "1ms"}), "server.model.per_tick: 1ms; must be less than 1ms");
    refused(json!({"per_ack": "61s"}), "server.model.per_ack: 61s; must be at most 60s");
    let flat = |fields: Value| {
        json!({"concurrency": null, "fin_with_data": null, "per_data": null}).as_object().map(|none| {
            let mut all = none.clone();
            all.extend(fields.as_object().unwrap().clone());
            Value::Object(all)
        })
    };
    let needs = "needs server.model.concurrency, event or process";
    refused(flat(json!({"per_ack": "1us"})).unwrap(), &format!("server.model.per_ack: 1us; {needs}"));
    refused(flat(json!({"syn_queue": 3})).unwrap(), &format!("server.model.syn_queue: 3; {needs}"));
    refused(
        flat(json!({"fin_with_data": false})).unwrap(),
        &format!("server.model.fin_with_data: false; {needs}"),
    );
}

/// Clients that ask once for what a list has, each for its part, and for nothing then: when the run ends, nothing is left to do.
fn drained(scenario: &mut Value, sizes: &[u32]) -> RunOutput {
    scenario["workload"] =
        json!({"kind": "replay", "log": "list", "format": "urls", "repeat": false, "deal": "modulo"});
    scenario["measure"] = json!({"warmup": "0s", "duration": "30s"});
    let line = |(number, size): (usize, &u32)| format!("/{number} 0 {size}\n");
    let list: String = sizes.iter().enumerate().map(line).collect();
    let parsed = Scenario::from_json(&scenario.to_string()).expect("the scenario is valid");
    let mut open = |_: &str| -> std::io::Result<Box<dyn BufRead>> { Ok(Box::new(Cursor::new(list.clone()))) };
    let sites = parsed.sites(Some(&mut open)).expect("the list can be replayed");
    simulate(&parsed, &sites, &Control::default(), ())
}

/// Nanoseconds of a figure that is the quotient of a number of them; what floats lose is far below one.
fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn the_costs_of_all_jobs_are_the_busy_time_to_the_nanosecond(
        count in 1..20_u32, sizes in prop::collection::vec(1..60_000_u32, 1..60), cores in 1..5_u32,
        requests in prop_oneof![Just(None), (1..9_u32).prop_map(Some)], process in any::<bool>(),
        programs in 20..40_u32, with_data in any::<bool>(), costs in prop::collection::vec(0..70_000_u64, 13),
    ) {
        // Each client has a part of the list.
        let count = count.min(sizes.len() as u32);
        let mut scenario = scenario(count, "1KB");
        scenario["clients"][0]["rtt"] = json!("20ms");
        scenario["clients"][0]["http"]["requests_per_connection"] = json!(requests);
        let text = |place: usize| json!(format!("{}ns", costs[place]));
        let mut fields = json!({
            "per_data": text(0), "per_ack": text(1), "per_duplicate_ack": text(2), "per_syn": text(3),
            "per_timer": text(4), "per_frame": text(5), "per_segment": text(6), "per_wakeup": text(7),
            "per_doubling": text(8), "fin_with_data": with_data, "cores": cores,
            "per_connection": text(10), "per_request": text(11), "per_kib": text(12),
            "concurrency": if process { "process" } else { "event" },
        });
        fields[if process { "processes" } else { "workers" }] = json!(programs);
        if process {
            fields["per_runnable"] = text(9);
        }
        machine(&mut scenario, &fields);
        let output = drained(&mut scenario, &sizes);
        let summary = &output.summary;
        prop_assert_eq!(summary.outcomes["ok"], sizes.len() as u64);
        let (work, number) = (summary.server_work.as_ref().unwrap(), |kind: &str| spent(summary, kind).0);
        let busy = nanos(summary.server_cpu.busy.unwrap() * 30.0 * f64::from(cores));
        prop_assert_eq!(work.iter().map(|each| nanos(each.cpu_s)).sum::<u64>(), busy);
        // Second by second it is the same time.
        let seconds = output.ledger.seconds.iter().filter_map(|second| second.gauges?.server_busy);
        prop_assert_eq!(seconds.map(|share| nanos(share * f64::from(cores))).sum::<u64>(), busy);
        for (kind, place) in [("data", 0), ("ack", 1), ("syn", 3), ("frame", 5), ("segment", 6), ("connection", 10), ("request", 11)] {
            prop_assert_eq!(nanos(spent(summary, kind).1), number(kind) * costs[place], "{}", kind);
        }
        prop_assert_eq!((number("request"), number("connection")), (sizes.len() as u64, number("syn")));
        prop_assert_eq!(number("byte"), sizes.iter().map(|size| u64::from(*size)).sum::<u64>());
        // Everything has arrived, and so has every packet.
        prop_assert!(conserved(summary));
        prop_assert_eq!(summary.packets.in_flight, 0);
        let (integral, records) = output.ledger.little();
        prop_assert_eq!(integral, records);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_machine_conserves_packets_and_time(
        count in 1..40_u32, size in 0..100_000_u64, cores in 1..5_u32, loss in 0..10_u64,
        requests in prop_oneof![Just(None), (1..9_u32).prop_map(Some)], pipeline in 1..4_u32,
        process in any::<bool>(), programs in 1..20_u32, with_data in any::<bool>(),
        queues in prop_oneof![Just(None), (1..20_u32).prop_map(Some)],
        preset in prop_oneof![Just("linux"), Just("bsd1999")], micros in 0..400_u64, timeout in 20..5_000_u64, seed in any::<u64>(),
    ) {
        let mut scenario = scenario(count, &format!("{size}B"));
        scenario["seed"] = json!(seed);
        let group = &mut scenario["clients"][0];
        group["rtt"] = json!("20ms");
        group["loss"] = independent(&format!("{loss}%"));
        group["http"]["requests_per_connection"] = json!(requests);
        group["http"]["pipeline"] = json!(requests.map_or(pipeline, |limit| pipeline.min(limit)));
        group["http"]["timeout"] = json!(format!("{timeout}ms"));
        group["tcp"] = json!({"preset": preset});
        scenario["server"]["tcp"] = json!({"preset": preset});
        let cost = format!("{micros}us");
        let mut fields = json!({
            "per_data": cost, "per_ack": cost, "per_duplicate_ack": cost, "per_syn": cost, "per_timer": cost,
            "per_frame": cost, "per_segment": cost, "per_wakeup": cost, "fin_with_data": with_data,
            "cores": cores, "per_request": cost, "per_connection": cost, "per_tick": cost, "wakeup_latency": cost,
            "accept_queue": queues, "syn_queue": queues, "concurrency": if process { "process" } else { "event" },
        });
        fields[if process { "processes" } else { "workers" }] = json!(programs);
        if process {
            fields["per_runnable"] = json!(cost);
        }
        machine(&mut scenario, &fields);
        scenario["measure"] = json!({"warmup": "0s", "duration": "5s"});
        let output = run(&scenario);
        let summary = &output.summary;
        prop_assert!(conserved(summary));
        let (integral, records) = output.ledger.little();
        prop_assert_eq!(integral, records);
        let busiest = output.ledger.seconds.iter().filter_map(|second| second.gauges?.server_busy);
        prop_assert!(busiest.fold(0.0, f64::max) <= 1.0 + 1e-9);
        // At most the job that each core is at is paid for and not done.
        let (paid, used) = (cpu(summary), summary.server_cpu.busy.unwrap() * 5.0 * f64::from(cores));
        let longest = 60.0 * 400e-6 * f64::from(cores);
        prop_assert!(paid >= used - 1e-6 && paid - used <= longest, "paid {} used {}", paid, used);
        prop_assert!(spent(summary, "connection").0 <= spent(summary, "syn").0);
        for row in output.ledger.transactions.iter() {
            prop_assert!(row.outcome != 0 || row.bytes == size);
        }
    }
}
