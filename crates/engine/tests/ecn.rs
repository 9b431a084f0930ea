//! Explicit congestion notification in whole simulated runs: marks take the place of early drops where the client, the server and the queue
//! take part.

use crate::common::{run, scenario};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;
use wasp_engine::{Control, EcnTotals, LinkRow, RunOutput, Scenario, simulate};
use wasp_net::{LinkId, Observer, Sighting};
use wasp_packet::{Body, Packet, PayloadPool};
use wasp_units::{Duration, Instant};
use wasp_wire::Flags;

/// Bits a second of the link that all share.
const RATE: f64 = 10e6;

/// So many downloads without end over a shared link of 10 Mbit/s with this queue, from senders `reno`.
fn downloads(count: u32, rtt: &str, queue: &Value) -> Value {
    let mut scenario = scenario(count, "1GB");
    scenario["server"]["tcp"] = json!({"preset": "linux", "congestion": "reno"});
    scenario["network"]["shared"]["down"] = json!({"rate": "10Mbit/s", "queue": queue});
    scenario["clients"][0]["rtt"] = json!(rtt);
    scenario["clients"][0]["http"]["timeout"] = json!("1h");
    scenario
}

/// The row of the link that all share, towards the clients.
fn bottleneck(output: &RunOutput) -> &LinkRow {
    output.links.iter().find(|row| row.link == "shared" && row.direction == "down").expect("a star has it")
}

fn sent_again(output: &RunOutput) -> u64 {
    output.summary.server_tcp.expect("a modelled server").retransmitted
}

/// When segments left the bottleneck that tell of a reduced window (CWR, RFC 3168 section 6.1.2).
#[derive(Clone, Default)]
struct Told(Rc<RefCell<Vec<Instant>>>);

impl Observer for Told {
    fn observe(&mut self, at: Instant, link: LinkId, packet: &Packet, _: &PayloadPool, sighting: Sighting) {
        // The first pair of links is the server's; its second one leads from the server.
        if link != LinkId(1) || sighting != Sighting::Entered {
            return;
        }
        let Body::Tcp(header) = packet.body else { return };
        if header.flags.contains(Flags::CWR) && !header.flags.contains(Flags::SYN) {
            self.0.borrow_mut().push(at);
        }
    }
}

/// One download for 40 s over a round-trip time of 40 ms, whose client asks for ECN or not, and whose server is told so or not: the run, and
/// when the server told of a reduced window.
fn download(queue: &Value, client: Option<bool>, server: Option<bool>) -> (RunOutput, Vec<Instant>) {
    let mut scenario = downloads(1, "40ms", queue);
    if let Some(client) = client {
        scenario["clients"][0]["tcp"]["ecn"] = json!(client);
    }
    if let Some(server) = server {
        scenario["server"]["tcp"]["ecn"] = json!(server);
    }
    scenario["measure"] = json!({"warmup": "0ms", "duration": "40s"});
    let scenario = Scenario::from_json(&scenario.to_string()).expect("the scenario is valid");
    let sites = scenario.sites(None).expect("the sites are built");
    let told = Told::default();
    let output = simulate(&scenario, &sites, &Control::default(), told.clone());
    let times = told.0.borrow().clone();
    (output, times)
}

/// The share of the link's rate that carried packets used over 40 s.
fn utilization(output: &RunOutput) -> f64 {
    bottleneck(output).carried_bytes as f64 * 8.0 / RATE / 40.0
}

/// Disciplines that mark, with room for what slow start sends before it hears of the first mark.
fn disciplines() -> [Value; 4] {
    [
        json!({"kind": "pie"}),
        json!({"kind": "codel"}),
        json!({"kind": "fq-codel"}),
        json!({"kind": "red", "bytes": "1MB", "min": "10kB", "max": "100kB", "weight": "1%"}),
    ]
}

fn marking(queue: &Value) -> Value {
    let mut queue = queue.clone();
    queue["ecn"] = json!(true);
    queue
}

fn dropping(queue: &Value) -> Value {
    let mut queue = queue.clone();
    queue["ecn"] = json!(false);
    queue
}

#[test]
fn marks_slow_a_sender_down_once_a_window_and_nothing_is_lost() {
    for queue in disciplines() {
        let (output, told) = download(&marking(&queue), Some(true), None);
        let row = bottleneck(&output);
        assert!(row.marked >= 10, "{queue}: {} marks", row.marked);
        // In slow start PIE's probability exceeds the threshold up to which it marks.
        if queue["kind"] != "pie" {
            assert_eq!((row.dropped, row.lost, sent_again(&output)), (0, 0, 0), "{queue}");
        }
        let ecn = output.summary.ecn.expect("the client asks");
        assert_eq!(output.summary.network.down.marked, row.marked, "{queue}");
        let reduced = output.summary.server_tcp.expect("a modelled server").reduced_for_marks;
        if row.dropped == 0 {
            // The last reduction may not have been told.
            assert!(reduced == told.len() as u64 || reduced == told.len() as u64 + 1, "{queue}: {reduced}");
        }
        let in_flight = row.marked - ecn.marked;
        assert_eq!(ecn, EcnTotals { connections: 1, agreed: 1, marked: ecn.marked, reduced: 0 }, "{queue}");
        assert!(in_flight <= 2, "{queue}: {in_flight} marks of {} have not arrived", row.marked);
        // Each reduction is told once; no window, which takes a round trip at least, sees two.
        assert!(told.len() >= 5, "{queue}: {} reductions", told.len());
        let reasons = row.marked + row.dropped;
        assert!(told.len() as u64 <= reasons, "{queue}: {} for {reasons}", told.len());
        let least = told.windows(2).map(|pair| pair[1] - pair[0]).min();
        assert!(least.is_some_and(|least| least >= Duration::from_millis(40)), "{queue}: {least:?}");
        let used = utilization(&output);
        assert!(used > 0.8, "{queue}: {used} of the link's rate");
    }
}

#[test]
fn where_one_does_not_take_part_the_queue_drops() {
    for queue in disciplines() {
        let (with_marks, _) = download(&marking(&queue), Some(true), None);
        let cases = [
            (dropping(&queue), Some(true), None),
            (marking(&queue), None, Some(true)),
            (marking(&queue), Some(false), Some(true)),
            (marking(&queue), Some(true), Some(false)),
        ];
        for (queue, client, server) in cases {
            let (output, told) = download(&queue, client, server);
            let case = format!("{queue}, client {client:?}, server {server:?}");
            let row = bottleneck(&output);
            assert_eq!(row.marked, 0, "{case}");
            assert!(row.dropped_early >= 5, "{case}: {}", row.dropped_early);
            let asks = client == Some(true);
            let agreed = asks && server != Some(false);
            assert_eq!(output.summary.ecn.map(|ecn| ecn.agreed), asks.then_some(u64::from(agreed)), "{case}");
            // A sender with ECN tells of a window reduced for a loss, too.
            assert_eq!(told.is_empty(), !agreed, "{case}");
            assert!(sent_again(&output) >= row.dropped_early, "{case}: {}", sent_again(&output));
            // A mark costs about as much as a drop: both halve the window.
            let (marked, dropped) = (utilization(&with_marks), utilization(&output));
            assert!(marked > 0.95 * dropped, "{case}: {marked} beside {dropped}");
        }
    }
}

#[test]
fn pie_marks_only_below_its_threshold_and_drops_above() {
    // RFC 8033 section 5.1. Twenty senders need a probability of some per cent; slow start is over after 15 s.
    let with_threshold = |threshold: &str| {
        let mut scenario =
            downloads(20, "100ms", &json!({"kind": "pie", "ecn": true, "ecn_threshold": threshold}));
        scenario["clients"][0]["tcp"]["ecn"] = json!(true);
        let counts = [14, 59].map(|duration| {
            scenario["measure"] = json!({"warmup": "1s", "duration": format!("{duration}s")});
            let output = run(&scenario);
            let row = bottleneck(&output);
            (row.marked, row.dropped)
        });
        (counts[1].0 - counts[0].0, counts[1].1 - counts[0].1)
    };
    let (marked, dropped) = with_threshold("10%");
    assert!(marked >= 500 && dropped * 5 < marked, "10 %: {marked} marks and {dropped} drops");
    let (marked, dropped) = with_threshold("7%");
    assert!(marked >= 200 && dropped >= 100, "7 %: {marked} marks and {dropped} drops");
    let (marked, dropped) = with_threshold("0.001%");
    assert!(marked * 50 < dropped && dropped >= 250, "{marked} marks and {dropped} drops");
}

#[test]
fn clients_that_send_reduce_their_windows_and_are_counted() {
    let mut scenario = scenario(2, "1KiB");
    scenario["network"]["shared"]["up"] =
        json!({"rate": "10Mbit/s", "queue": {"kind": "codel", "ecn": true}});
    scenario["clients"][0]["rtt"] = json!("40ms");
    scenario["clients"][0]["tcp"] = json!({"ecn": true});
    scenario["clients"][0]["http"]["method"] = json!("POST");
    scenario["clients"][0]["http"]["body"] = json!("5MB");
    scenario["measure"] = json!({"warmup": "1s", "duration": "20s"});
    let output = run(&scenario);
    let row = output.links.iter().find(|row| row.link == "shared" && row.direction == "up").expect("a link");
    let ecn = output.summary.ecn.expect("clients ask");
    assert_eq!((ecn.agreed, ecn.marked, row.dropped), (ecn.connections, 0, 0));
    assert!(ecn.reduced >= 5 && ecn.reduced <= row.marked, "{ecn:?} for {} marks", row.marked);
}
