//! Cross traffic on every kind of link: what it does there, what is counted, and what is refused.

use crate::common::{
    NO_REASON, group, independent, links_and_connections_agree, run, scenario, transactions,
};
use serde_json::{Value, json};
use wasp_engine::{CrossSummary, LinkRow, RunOutput, Scenario, topology_report};

/// Poisson traffic of packets of 1,000 bytes.
fn load(name: &str, link: &str, direction: &str, rate: &str) -> Value {
    json!({
        "name": name, "link": link, "direction": direction, "rate": rate, "packet": "1000B",
        "model": {"kind": "poisson"},
    })
}

/// Two groups behind a shared link on which a packet of 1,000 bytes takes a millisecond.
fn loaded(cross_traffic: &Value) -> Value {
    let mut found = scenario(2, "1KB");
    let slow = || json!({"rate": "8Mbit/s", "queue": "20KB"});
    found["network"]["shared"] = json!({"up": slow(), "down": slow()});
    found["network"]["cross_traffic"] = cross_traffic.clone();
    let mut homes = group("homes", 3);
    homes["bandwidth"] = json!({"up": "8Mbit/s", "down": "8Mbit/s"});
    found["clients"].as_array_mut().unwrap().push(homes);
    found
}

/// A backbone of three routers whose links take a packet of 1,000 bytes in a millisecond.
fn backbone(cross_traffic: &Value) -> Value {
    let mut found = scenario(10, "1KB");
    let slow = || json!({"rate": "8Mbit/s", "delay": "1ms"});
    found["network"] = json!({
        "prefix": "198.18.0.0/17", "kind": "backbone", "subnetworks": 3,
        "link": {"forward": slow(), "backward": slow()}, "cross_traffic": cross_traffic,
    });
    found["clients"][0]["at"] = json!("r3");
    found
}

fn row<'a>(output: &'a RunOutput, link: &str, direction: &str) -> &'a LinkRow {
    output.links.iter().find(|row| (row.link.as_str(), row.direction) == (link, direction)).unwrap()
}

fn refused(scenario: &Value) -> String {
    Scenario::from_json(&scenario.to_string()).unwrap_err().to_string()
}

/// Packets that a source sends in so many seconds at so many a second, within five standard deviations.
fn is_poisson(packets: u64, a_second: f64, seconds: f64) -> bool {
    let mean = a_second * seconds;
    (packets as f64 - mean).abs() < 5.0 * mean.sqrt()
}

#[test]
fn every_link_can_be_loaded_in_both_directions() {
    let star = loaded(&json!([
        load("a", "shared", "up", "2Mbit/s"),
        load("b", "shared", "down", "2Mbit/s"),
        load("c", "homes", "up", "800kbit/s"),
        load("d", "homes", "down", "800kbit/s"),
    ]));
    let output = run(&star);
    assert_eq!(output.summary.invalid.iter().map(|reason| reason.code).collect::<Vec<_>>(), NO_REASON);
    for direction in ["up", "down"] {
        let shared = row(&output, "shared", direction);
        assert!(is_poisson(shared.cross_packets, 250.0, 12.0), "{shared:?}");
        assert_eq!(shared.cross_bytes, 1_000 * shared.cross_packets);
        for client in 2..5 {
            let access = row(&output, &format!("homes/{client}"), direction);
            assert!(is_poisson(access.cross_packets, 100.0, 12.0), "{access:?}");
            assert_eq!(access.strays, Some(0));
        }
        assert_eq!(row(&output, "clients/0", direction).cross_packets, 0);
    }
    links_and_connections_agree(&output);
    let offered: Vec<(&str, f64)> = output
        .summary
        .cross_traffic
        .iter()
        .map(|each| (each.name.as_str(), each.offered_bps / 1e6))
        .collect();
    let expected = [("a", 2.0), ("b", 2.0), ("c", 2.4), ("d", 2.4)];
    assert!(
        offered.iter().zip(expected).all(|(one, two)| one.0 == two.0 && (one.1 / two.1 - 1.0).abs() < 0.1),
        "{offered:?}"
    );
}

#[test]
fn a_link_between_nodes_is_loaded_alone_and_in_its_own_direction() {
    let output = run(&backbone(&json!([load("a", "b2", "forward", "4Mbit/s")])));
    assert_eq!(output.summary.invalid.iter().map(|reason| reason.code).collect::<Vec<_>>(), NO_REASON);
    for (link, direction) in [("b1", "forward"), ("b1", "backward"), ("b2", "backward"), ("server", "down")] {
        assert_eq!(row(&output, link, direction).cross_packets, 0, "{link} {direction}");
    }
    assert!(is_poisson(row(&output, "b2", "forward").cross_packets, 500.0, 12.0));
    let quiet = run(&backbone(&json!([])));
    // Forward leads away from the server. Nothing of it counts as packets of clients, which come a little later.
    let packets = [&output, &quiet].map(|output| output.summary.network.down.packets);
    assert!(packets[0] < packets[1] && packets[0] > packets[1] * 98 / 100, "{packets:?}");
    // A round trip meets the wait of M/D/1 at half load, half a millisecond, two or three times.
    let mean = |output: &RunOutput| output.summary.response_time_ms.mean.unwrap();
    let waits = mean(&output) - mean(&quiet);
    assert!((0.5..3.0).contains(&waits), "{waits} ms");
}

#[test]
fn a_queue_of_cross_traffic_is_that_of_m_d_1() {
    // The mean queue is the arrival rate times the mean wait, L_q = rho^2 / 2 (1 - rho), in packets; clients add a packet in 10 s.
    let mut scenario = loaded(&json!([load("a", "shared", "down", "4800kbit/s")]));
    scenario["network"]["shared"]["down"]["queue"] = json!("1MB");
    for group in scenario["clients"].as_array_mut().unwrap() {
        group["count"] = json!(1);
        group["think"] = json!({"model": "constant", "value": "60s"});
        group["background"] = json!(group["name"] == "homes");
    }
    scenario["measure"] = json!({"warmup": "0s", "duration": "400s"});
    let queues: Vec<f64> = (0..10)
        .map(|number| {
            scenario["run"] = json!(number);
            row(&run(&scenario), "shared", "down").mean_queue_bytes / 1_000.0
        })
        .collect();
    let mean = queues.iter().sum::<f64>() / 10.0;
    let variance = queues.iter().map(|queue| (queue - mean).powi(2)).sum::<f64>() / 9.0;
    let error = (variance / 10.0).sqrt();
    // Student's t for 9 degrees of freedom: the interval at 99 % is narrow, and that at 99.9 % holds the theory's value.
    assert!(3.25 * error < 0.02 * 0.45 && (mean - 0.45).abs() < 4.781 * error, "{mean} +- {error}");
}

#[test]
fn what_happens_to_cross_traffic_is_not_told_of_the_clients() {
    let mut scenario =
        loaded(&json!([load("a", "shared", "down", "12Mbit/s"), load("b", "homes", "up", "800kbit/s"),]));
    scenario["network"]["shared"]["down"]["loss"] = json!({"model": "independent", "rate": "5%"});
    scenario["network"]["shared"]["down"]["corrupt"] = json!({"share": "1%"});
    scenario["network"]["shared"]["down"]["duplicate"] = json!({"share": "1%"});
    scenario["clients"][1]["loss"] = independent("10%");
    let output = run(&scenario);
    let network = output.summary.network;
    let [a, b] = &output.summary.cross_traffic[..] else { panic!("two sources") };
    let share = |count: u64, of: &CrossSummary| count as f64 / of.packets as f64;
    // 8 of 12 Mbit/s pass, and of what is left after loss the queue drops the rest.
    assert!((share(a.lost, a) - 0.05).abs() < 0.01 && (share(a.dropped, a) - 0.3).abs() < 0.05, "{a:?}");
    assert!((share(b.lost, b) - 0.1).abs() < 0.03 && b.dropped == 0, "{b:?}");
    assert!(network.down.packets < 2_000 && a.packets > 14_000, "{network:?} {a:?}");
    for direction in [network.up, network.down] {
        let (loss, expected) = (direction.loss_rate.unwrap(), direction.expected_loss_rate.unwrap());
        let error = direction.expected_standard_error.unwrap();
        assert!((loss - expected).abs() < 4.0 * error, "{direction:?}");
        assert!(direction.corrupted + direction.duplicated < direction.packets / 10, "{direction:?}");
    }
    let shared = row(&output, "shared", "down");
    assert!(shared.cross_lost < shared.lost && shared.cross_dropped < shared.dropped, "{shared:?}");
    let fates: u64 = output.summary.fates.values().sum();
    assert_eq!(output.summary.packets.made, fates + output.summary.packets.in_flight);
    assert!(output.summary.fates["bad checksum"] > 0);
}

#[test]
fn sources_draw_by_name_and_client_and_disturb_nobody_elsewhere() {
    let alone = run(&loaded(&json!([])));
    let no_rate = json!({
        "name": "a", "link": "shared", "direction": "down", "packet": "1000B", "model": {"kind": "poisson"},
    });
    let silent = run(&loaded(&json!([no_rate])));
    assert_eq!(transactions(&alone), transactions(&silent));
    assert_eq!(
        (silent.summary.cross_traffic[0].packets, silent.summary.cross_traffic[0].offered_bps),
        (0, 0.0)
    );
    let one = |traffic: Value| row(&run(&loaded(&traffic)), "homes/3", "down").cross_packets;
    let homes = || load("homes", "homes", "down", "300kbit/s");
    let counts = [
        one(json!([homes()])),
        one(json!([load("first", "shared", "up", "1Mbit/s"), homes()])),
        one(json!([load("other", "homes", "down", "300kbit/s")])),
    ];
    assert!(counts[0] == counts[1] && counts[0] != counts[2], "{counts:?}");
    let mut fewer = loaded(&json!([homes()]));
    fewer["clients"][0]["count"] = json!(1);
    assert_eq!(
        row(&run(&fewer), "homes/2", "down").cross_packets,
        counts[0],
        "the second client of the group"
    );
}

#[test]
fn a_report_of_the_network_has_the_mean_rate() {
    let mut bursts = load("a", "homes", "up", "2Mbit/s");
    let lengths = |mean: &str| json!({"model": "exponential", "mean": mean});
    bursts["model"] = json!({"kind": "on-off", "on": lengths("100ms"), "off": lengths("300ms")});
    let scenario = Scenario::from_json(&loaded(&json!([bursts])).to_string()).unwrap();
    let report = topology_report(&scenario).cross_traffic;
    assert!((report[0].mean_bps - 5e5).abs() < 1.0 && report[0].packet_bytes == 1_000, "{report:?}");
}

#[test]
fn what_no_link_can_carry_is_refused() {
    let with = |change: &dyn Fn(&mut Value)| {
        let mut traffic = load("a", "shared", "down", "1Mbit/s");
        change(&mut traffic);
        refused(&loaded(&json!([traffic])))
    };
    let field = "network.cross_traffic.a";
    let cases = [
        (
            with(&|traffic| traffic["link"] = json!("core")),
            format!("{field}.link: \"core\"; there is no such link; valid here: shared, clients, homes"),
        ),
        (
            with(&|traffic| traffic["direction"] = json!("forward")),
            format!("{field}.direction: \"forward\"; must be \"up\" or \"down\""),
        ),
        (
            with(&|traffic| traffic["packet"] = json!("27B")),
            format!(
                "{field}.packet: 27B; must be from 28B, the headers of IP and UDP, to 1500B, the MTU of the link"
            ),
        ),
        (
            with(&|traffic| {
                let short = json!({"model": "constant", "value": "7ms"});
                traffic["model"] = json!({"kind": "on-off", "on": short, "off": short});
            }),
            format!(
                "{field}.on: 7ms; the mean of a burst must be at least 8ms, which a packet of 1000B takes at 1Mbit/s"
            ),
        ),
    ];
    for (said, expected) in cases {
        assert_eq!(said, expected);
    }
    let two = json!([load("a", "shared", "up", "1Mbit/s"), load("a", "shared", "down", "1Mbit/s")]);
    assert_eq!(refused(&loaded(&two)), format!("{field}: two have this name; names must differ"));
    let forward = refused(&backbone(&json!([load("a", "b1", "down", "1Mbit/s")])));
    assert_eq!(forward, format!("{field}.direction: \"down\"; must be \"forward\" or \"backward\""));
    let mut long = load("a", "b1", "forward", "1Mbit/s");
    long["packet"] = json!("64KiB");
    let said = refused(&backbone(&json!([long])));
    assert_eq!(
        said,
        format!("{field}.packet: 64KiB; must be from 28B, the headers of IP and UDP, to 65535B")
    );
    let before_server = json!([load("a", "server", "down", "1Mbit/s")]);
    assert!(Scenario::from_json(&backbone(&before_server).to_string()).is_ok());
}

#[test]
fn threads_share_the_sources_of_access_links_alone() {
    let threads = |traffic: Value| {
        let mut scenario = loaded(&json!([traffic]));
        scenario["network"]["shared"] = json!({"up": {}, "down": {}});
        let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
        scenario.check_threads(2).map_err(|error| error.to_string())
    };
    assert_eq!(threads(load("a", "homes", "up", "1Mbit/s")), Ok(()));
    let said = threads(load("a", "shared", "up", "1Mbit/s")).unwrap_err();
    assert!(
        said.starts_with("emulator_cpus: 2 CPUs; network.cross_traffic.a loads a link that all clients"),
        "{said}"
    );
}
