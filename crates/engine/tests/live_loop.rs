//! The live loop with a clock and a device that a test holds in its hands.

use crate::common::{group, independent, links_and_connections_agree, returned, scenario};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;
use wasp_engine::{
    Control, LinkSecond, MachineReport, Mark, Meters, ObservedLink, PacketPort, PortError, ReasonCode,
    RunOutput, Scenario, Shard, Share, Summary, Transmitted, drive, drive_share, sum_up,
};
use wasp_kernel::{Clock, VirtualClock};
use wasp_packet::{Body, MAX_FRAME_LEN, Packet, Payload, PayloadPool, cut, frame};
use wasp_tcp::reset_for;
use wasp_units::{Duration, Instant};
use wasp_wire::{Flags, FragmentField, IpHeader, TcpHeader};

/// A server that resets whatever comes, and a device that has room for so many packets.
struct Refuser {
    pool: PayloadPool,
    answers: VecDeque<Vec<u8>>,
    room: usize,
}

impl Refuser {
    fn new(room: usize) -> Self {
        Self { pool: PayloadPool::new(1 << 20), answers: VecDeque::new(), room }
    }
}

impl PacketPort for Refuser {
    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, PortError> {
        let Some(answer) = self.answers.pop_front() else { return Ok(None) };
        buffer[..answer.len()].copy_from_slice(&answer);
        Ok(Some(answer.len()))
    }

    fn transmit(&mut self, bytes: &[u8]) -> Result<Transmitted, PortError> {
        if self.room == 0 {
            return Ok(Transmitted::Full);
        }
        self.room -= 1;
        let mut packets = Vec::new();
        cut(bytes, None, &mut self.pool, &mut |packet| packets.push(packet))
            .expect("what leaves is a valid frame");
        for packet in packets {
            let Body::Tcp(header) = packet.body else {
                // The router says what its next link carries.
                assert_eq!(packet.body, Body::Icmp { kind: 3, code: 4, rest: [0, 0, 2, 64] });
                continue;
            };
            let Some(reset) = reset_for(&header, packet.payload.len()) else { continue };
            let answer = Packet {
                ip: returned(packet.ip),
                body: Body::Tcp(reset),
                payload: Payload::Empty,
                flipped: None,
            };
            let mut buffer = vec![0; MAX_FRAME_LEN];
            let len = frame(&answer, &self.pool, &mut buffer);
            buffer.truncate(len);
            self.answers.push_back(buffer);
        }
        Ok(Transmitted::Sent)
    }
}

/// A server that resets whatever comes, and before that sends what fits through no link and what belongs to no connection.
struct Shouter(Refuser);

impl Shouter {
    /// Sends a segment with so much content to where a packet came from; to another port if one is given.
    fn shout(&mut self, packet: &Packet, port: Option<u16>, content: u32) {
        let Body::Tcp(header) = packet.body else { panic!("only TCP leaves") };
        let answer = Packet {
            ip: returned(packet.ip),
            body: Body::Tcp(TcpHeader {
                source_port: header.destination_port,
                destination_port: port.unwrap_or(header.source_port),
                flags: Flags::ACK,
                acknowledgment: header.sequence,
                ..header
            }),
            payload: Payload::Virtual(content),
            flipped: None,
        };
        let mut buffer = vec![0; MAX_FRAME_LEN];
        let len = frame(&answer, &self.0.pool, &mut buffer);
        buffer.truncate(len);
        self.0.answers.push_back(buffer);
    }
}

impl PacketPort for Shouter {
    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, PortError> {
        self.0.receive(buffer)
    }

    fn transmit(&mut self, bytes: &[u8]) -> Result<Transmitted, PortError> {
        let mut packets = Vec::new();
        cut(bytes, None, &mut self.0.pool, &mut |packet| packets.push(packet)).expect("a valid frame");
        for packet in packets {
            let Body::Tcp(header) = packet.body else { continue };
            if header.flags.contains(Flags::SYN) {
                self.shout(&packet, None, 1_400);
                self.shout(&packet, Some(1), 10);
            }
        }
        self.0.transmit(bytes)
    }
}

#[test]
fn packets_of_no_connection_are_strays_and_all_others_are_in_the_account_of_one() {
    let mut scenario = scenario(3, "1KB");
    scenario["clients"][0]["loss"] = independent("20%");
    let (refused, _) = live(&scenario, usize::MAX);
    assert_eq!(links_and_connections_agree(&refused), 0);
    scenario["clients"][0]["mtu"] = json!(576);
    let port = Shouter(Refuser::new(usize::MAX));
    let (output, _) = live_with(&scenario, &Control::default(), VirtualClock::default(), port);
    assert!(output.summary.fates["too big"] > 20, "{:?}", output.summary.fates);
    // What came to a port that no client opened, and the resets that answered it.
    let strays = links_and_connections_agree(&output);
    let came = output.links.iter().filter(|link| link.direction == "down").filter_map(|link| link.strays);
    let came: u64 = came.sum();
    assert!(came > 20 && strays > came && strays <= 2 * came, "{came} of {strays}");
}

/// A server's machine that sends packets of its own beside what its server does, and notes what is no TCP.
struct Asker {
    server: Refuser,
    heard: Rc<RefCell<Vec<Body>>>,
}

impl Asker {
    /// One that sends these frames first.
    fn new(frames: Vec<Vec<u8>>, heard: &Rc<RefCell<Vec<Body>>>) -> Self {
        let mut server = Refuser::new(usize::MAX);
        server.answers.extend(frames);
        Self { server, heard: Rc::clone(heard) }
    }
}

impl PacketPort for Asker {
    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, PortError> {
        self.server.receive(buffer)
    }

    fn transmit(&mut self, bytes: &[u8]) -> Result<Transmitted, PortError> {
        let mut bodies = Vec::new();
        cut(bytes, None, &mut self.server.pool, &mut |packet| bodies.push(packet.body))
            .expect("a valid frame");
        if bodies.iter().all(|body| matches!(body, Body::Tcp(_))) {
            return self.server.transmit(bytes);
        }
        self.heard.borrow_mut().extend(bodies);
        Ok(Transmitted::Sent)
    }
}

#[test]
fn clients_answer_echoes_and_refuse_datagrams_also_in_fragments_and_tell_of_those_that_miss_some() {
    let mut scenario = scenario(2, "1KB");
    (scenario["clients"][0]["mtu"], scenario["measure"]["duration"]) = (json!(576), json!("40s"));
    let mut frames = Vec::new();
    let mut put = |packet: &Packet| {
        let mut buffer = vec![0; MAX_FRAME_LEN];
        let len = frame(packet, &PayloadPool::new(0), &mut buffer);
        buffer.truncate(len);
        frames.push(buffer);
    };
    let to_first = |body, identification, bytes| Packet {
        ip: IpHeader::new("198.18.0.1".parse().unwrap(), "198.18.0.2".parse().unwrap(), identification),
        body,
        payload: Payload::Virtual(bytes),
        flipped: None,
    };
    let echo = Body::Icmp { kind: 8, code: 0, rest: [7; 4] };
    let datagram = Body::Udp { source_port: 9, destination_port: 10 };
    put(&to_first(echo, 1, 56));
    put(&to_first(datagram, 2, 56));
    // The device's packets are longer than the client's link carries: the router cuts them, and the client cuts its answer.
    put(&to_first(echo, 3, 1_000));
    let field = FragmentField { offset: 0, more: true };
    put(&to_first(Body::Fragment { protocol: 17, field }, 4, 80));
    let heard = Rc::default();
    let port = Asker::new(frames, &heard);
    let (output, _) = live_with(&scenario, &Control::default(), VirtualClock::default(), port);
    let error = |kind, code| Body::Icmp { kind, code, rest: [0; 4] };
    let piece = |offset, more| Body::Fragment { protocol: 1, field: FragmentField { offset, more } };
    let reply = Body::Icmp { kind: 0, code: 0, rest: [7; 4] };
    assert_eq!(*heard.borrow(), [reply, error(3, 3), piece(0, true), piece(69, false), error(11, 1)]);
    let fates = &output.summary.fates;
    assert_eq!((fates["fragmented"], fates["reassembly timeout"], fates["too big"]), (2, 1, 0), "{fates:?}");
    let packets = &output.summary.packets;
    assert_eq!(packets.made, fates.values().sum::<u64>() + packets.in_flight);
    // None of these packets is one of a connection.
    let others = output.links.iter().map(|link| (link.direction, link.strays.unwrap_or_default()));
    let others: Vec<_> = others.filter(|(_, packets)| *packets > 0).collect();
    assert_eq!(others, [("up", 5), ("down", 5)]);
}

/// Notes when it was read.
#[derive(Default)]
struct Marks(Vec<(Mark, Instant)>);

impl Meters for Marks {
    fn mark(&mut self, mark: Mark, at: Instant) {
        self.0.push((mark, at));
    }

    fn server_busy(&mut self) -> Option<f64> {
        Some(0.25)
    }

    fn report(&self) -> MachineReport {
        MachineReport { server_busy: Some(0.5), ..MachineReport::default() }
    }
}

/// The scenario of a live run.
fn of_live_run(scenario: &Value) -> Scenario {
    let mut scenario = scenario.clone();
    scenario["mode"] = json!("live");
    Scenario::from_json(&scenario.to_string()).expect("the scenario is valid")
}

/// A live run with this clock and this device.
fn live_with(
    scenario: &Value,
    control: &Control,
    mut clock: impl Clock,
    port: impl PacketPort,
) -> (RunOutput, Marks) {
    let scenario = of_live_run(scenario);
    let sites = scenario.sites(None).expect("the sites are built");
    let mut marks = Marks::default();
    let output = drive(&scenario, &sites, control, (), &mut clock, &mut [port], &mut marks);
    (output, marks)
}

/// A live run before a device with room for so many packets.
fn live(scenario: &Value, room: usize) -> (RunOutput, Marks) {
    live_with(scenario, &Control::default(), VirtualClock::default(), Refuser::new(room))
}

#[test]
fn a_refusal_takes_one_round_trip_and_a_pause_follows() {
    let (output, marks) = live(&scenario(3, "1KB"), usize::MAX);
    assert!(output.ledger.transactions.iter().all(|row| row.end_ns - row.start_ns <= 100_000_000));
    // A round trip and the pause of 100 ms: five a second from each client.
    assert_eq!(output.summary.outcomes["refused"], 3 * 5 * 10);
    assert_eq!(output.summary.server_cpu.busy, Some(0.5));
    assert_eq!(output.summary.emulator.unwrap().lag_us.max, 0.0);
    let expected = [(Mark::MeasureStart, 2_000_000_000), (Mark::MeasureEnd, 12_000_000_000)];
    assert_eq!(marks.0, expected.map(|(mark, nanos)| (mark, Instant::from_nanos(nanos))));
    let gauges: Vec<_> = output.ledger.seconds.iter().filter_map(|second| second.gauges).collect();
    assert!(gauges.len() >= 11 && gauges.iter().all(|gauges| gauges.server_busy == Some(0.25)));
}

#[test]
fn packets_that_the_device_refuses_are_counted_and_make_the_run_invalid() {
    let (output, _) = live(&scenario(3, "1KB"), 10);
    let summary = &output.summary;
    // Ten packets go out and are answered; nothing is after them.
    assert_eq!(summary.fates["delivered"], 20, "{:?}", summary.fates);
    assert!(summary.fates["device full"] > 0);
    assert_eq!(summary.packets.made, summary.fates.values().sum::<u64>() + summary.packets.in_flight);
    assert!(summary.invalid.iter().any(|reason| reason.code == ReasonCode::DeviceFull));
}

#[test]
fn live_and_simulated_runs_meet_the_same_losses() {
    let mut scenario = scenario(20, "1KB");
    scenario["clients"][0]["loss"] = json!({"up": {"model": "independent", "rate": "20%"}});
    let (live, _) = live(&scenario, usize::MAX);
    let simulated = crate::common::run(&scenario);
    // Live, a connection is refused when its SYN arrives; in simulation it is opened then.
    let connections = live.ledger.connections.iter();
    let refused_late = connections.filter(|row| row.connection == 0 && row.retransmitted > 0);
    let transactions = simulated.ledger.transactions.iter();
    let opened_late =
        transactions.filter(|row| row.request == 0 && row.connected_ns - row.start_ns > 1_000_000_000);
    let refused_late: BTreeSet<u32> = refused_late.map(|row| row.client).collect();
    assert!(!refused_late.is_empty() && refused_late.len() < 20, "{refused_late:?}");
    assert_eq!(refused_late, opened_late.map(|row| row.client).collect());
}

#[test]
fn a_run_that_is_stopped_keeps_what_it_measured_and_says_so() {
    let control = Control::default();
    control.stop();
    let port = Refuser::new(usize::MAX);
    let (output, _) = live_with(&scenario(3, "1KB"), &control, VirtualClock::default(), port);
    assert!(output.summary.invalid.iter().any(|reason| reason.code == ReasonCode::Stopped));
    assert_eq!(output.summary.interval_s, 0.0);
    assert!(output.summary.observed.is_empty());
}

/// A device that is gone after so many packets.
struct Vanishing(Refuser, usize);

impl PacketPort for Vanishing {
    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, PortError> {
        self.0.receive(buffer)
    }

    fn transmit(&mut self, bytes: &[u8]) -> Result<Transmitted, PortError> {
        self.1 = self.1.checked_sub(1).ok_or_else(|| PortError("it is gone".to_owned()))?;
        self.0.transmit(bytes)
    }
}

#[test]
fn what_was_measured_before_the_device_failed_is_kept() {
    // Five packets a second from each of three clients: gone after the 100th, in the seventh second.
    let port = Vanishing(Refuser::new(usize::MAX), 100);
    let (output, marks) = live_with(&scenario(3, "1KB"), &Control::default(), VirtualClock::default(), port);
    let summary = &output.summary;
    assert_eq!(output.failure.unwrap().to_string(), "the packet device failed: it is gone");
    let codes: Vec<_> = summary.invalid.iter().map(|reason| reason.code).collect();
    assert_eq!(codes[..2], [ReasonCode::Failed, ReasonCode::Stopped]);
    assert!(summary.interval_s > 3.0 && summary.interval_s < 7.0, "{}", summary.interval_s);
    assert!(summary.outcomes["refused"] > 50);
    assert!((summary.little.integral_s - summary.little.records_s).abs() < 1e-6);
    assert_eq!(marks.0.last().unwrap().0, Mark::MeasureEnd);
    let shared = &output.summary.observed[0];
    assert!(shared.packets > 0 && shared.carried_bps.is_finite(), "{shared:?}");
}

#[test]
fn a_device_may_fail_at_any_time() {
    // The interval begins in the third second.
    for packets in 20..60 {
        let port = Vanishing(Refuser::new(usize::MAX), packets);
        let (output, _) = live_with(&scenario(3, "1KB"), &Control::default(), VirtualClock::default(), port);
        assert!(output.failure.is_some());
        let measured = output.summary.interval_s > 0.0;
        assert_eq!(output.summary.observed.is_empty(), !measured, "{packets}");
        assert!(output.summary.observed.iter().all(|link| link.carried_bps.is_finite()));
    }
}

/// End, client, request of a transaction.
type EndedTransaction = (i64, u32, u32);
/// End, client, packets up and lost of a connection.
type EndedConnection = (i64, u32, u64, u64);

/// All transactions and connections, in the order of the tables.
fn rows(output: &RunOutput) -> (Vec<EndedTransaction>, Vec<EndedConnection>) {
    let transactions = output.ledger.transactions.iter().map(|row| (row.end_ns, row.client, row.request));
    let connections = output.ledger.connections.iter();
    let connections = connections.map(|row| (row.closed_ns, row.client, row.up_packets, row.up_lost));
    (transactions.collect(), connections.collect())
}

#[test]
fn threads_that_share_the_clients_find_what_one_would() {
    let mut scenario = scenario(20, "1KB");
    scenario["clients"][0]["loss"] = independent("20%");
    let mut open = group("open", 7);
    open["arrivals"] = json!({"model": "poisson", "rate": "50/s"});
    scenario["clients"] = json!([scenario["clients"][0], open]);
    threads_find_what_one_would(&scenario);
    // Each client shares its access link with others.
    scenario["network"]["cross_traffic"] = json!([{
        "name": "others", "link": "open", "direction": "up", "rate": "200kbit/s", "packet": "500B",
        "model": {"kind": "poisson"},
    }]);
    scenario["clients"][1]["bandwidth"] = json!({"up": "300kbit/s"});
    scenario["clients"][1]["observe"] = json!(true);
    threads_find_what_one_would(&scenario);
    // The same clients along a backbone, whose links only take time.
    let delay = json!({"delay": "3ms"});
    scenario["network"] = json!({
        "prefix": "198.18.0.0/17", "kind": "backbone", "subnetworks": 3, "link": {"forward": delay, "backward": delay},
    });
    scenario["clients"][0]["at"] = json!("r3");
    scenario["clients"][1]["at"] = json!("r2");
    threads_find_what_one_would(&scenario);
}

#[test]
fn threads_deal_the_workload_of_some_groups_as_one_would() {
    let mut scenario = scenario(7, "1KB");
    let files = json!([{"path": "/a", "size": "1KB", "weight": 3}, {"path": "/b", "size": "2KB"}]);
    scenario["workload"] = json!({"kind": "single", "files": files, "deal": "modulo"});
    let mut own = group("own", 4);
    own["workload"] = json!({"kind": "surge", "files": 20, "requests": 200, "deal": "modulo"});
    own["think"] = json!({"model": "none"});
    let mut named = group("named", 4);
    let requests =
        json!([{"name": "a", "path": "/a"}, {"name": "b", "method": "PUT", "path": "/b", "weight": 2}]);
    named["workload"] = json!({"kind": "requests", "requests": requests});
    scenario["clients"] = json!([scenario["clients"][0], own, named, group("last", 5)]);
    threads_find_what_one_would(&scenario);
}

fn threads_find_what_one_would(scenario: &Value) {
    let (whole, _) = live(scenario, usize::MAX);
    let scenario = of_live_run(scenario);
    let sites = scenario.sites(None).expect("the sites are built");
    let part = |index| {
        let (mut clock, mut marks) = (VirtualClock::default(), Marks::default());
        let mut ports = [Refuser::new(usize::MAX)];
        let share = Share { scenario: &scenario, sites: &sites, shard: Shard::new(index, 3) };
        drive_share(&share, &Control::default(), (), &mut clock, &mut ports, &mut marks)
    };
    let parts = sum_up(&scenario, (0..3).map(part).collect());
    let sorted = |output: &RunOutput| {
        let (mut transactions, mut connections) = rows(output);
        transactions.sort_unstable();
        connections.sort_unstable();
        (transactions, connections)
    };
    assert_eq!(sorted(&parts), sorted(&whole));
    let (_, connections) = rows(&parts);
    assert!(
        connections.is_sorted_by_key(|row| (row.0 == i64::MIN, *row)),
        "in the order of (time, client, connection)"
    );
    let (one, three) = (&whole.summary, &parts.summary);
    assert_eq!(
        (three.throughput, &three.outcomes, &three.fates),
        (one.throughput, &one.outcomes, &one.fates)
    );
    assert_eq!(format!("{:?}", three.by_group), format!("{:?}", one.by_group));
    assert_eq!(format!("{:?}", three.requests), format!("{:?}", one.requests));
    assert_eq!(format!("{:?}", three.open_loop), format!("{:?}", one.open_loop));
    assert_eq!(format!("{:?}", three.censoring), format!("{:?}", one.censoring));
    assert_eq!((three.packets.made, three.network.up.lost), (one.packets.made, one.network.up.lost));
    assert_eq!(three.cross_traffic, one.cross_traffic);
    // The parts are added up in another order.
    let expected = |summary: &Summary| summary.network.up.expected_loss_rate.expect("packets went up");
    assert!((expected(three) - expected(one)).abs() < 1e-12);
    assert_eq!(one.emulator.unwrap().threads, 1);
    assert_eq!(three.emulator.unwrap().threads, 3);
    assert_eq!(parts.links, whole.links);
    let by_name = |output: &RunOutput| {
        let mut observed = output.observed.clone();
        observed.sort_by(|one, two| (&one.link, one.direction).cmp(&(&two.link, two.direction)));
        observed
    };
    assert_eq!(by_name(&parts), by_name(&whole));
    let in_flight =
        |output: &RunOutput| output.ledger.seconds.iter().map(|second| second.in_flight).collect::<Vec<_>>();
    assert_eq!(in_flight(&parts), in_flight(&whole));
}

#[test]
fn what_all_clients_share_cannot_be_shared_by_threads() {
    let mut limited = scenario(2, "1KB");
    let check = |scenario: &Value, threads| {
        Scenario::from_json(&scenario.to_string()).unwrap().check_threads(threads)
    };
    assert_eq!(check(&limited, 2), Ok(()));
    limited["network"]["traces"] = json!({"a": "1\n"});
    limited["network"]["shared"]["down"] = json!({"delay": "5ms"});
    assert_eq!(check(&limited, 2), Ok(()));
    for down in [
        json!({"rate": "10Mbit/s"}),
        json!({"rate": "10Mbit/s", "queue": "10KB"}),
        json!({"trace": {"file": "a", "repeat": true, "start": "0ms", "opportunity": "1504B", "overhead": "4B"}}),
        json!({"loss": {"model": "independent", "rate": "1%"}}),
        json!({"jitter": {"model": "normal", "deviation": "1ms"}}),
        json!({"reorder": {"share": "1%"}}),
        json!({"duplicate": {"share": "1%"}}),
        json!({"corrupt": {"share": "1%"}}),
    ] {
        limited["network"]["shared"]["down"] = down;
        assert_eq!(check(&limited, 1), Ok(()));
        let error = check(&limited, 2).unwrap_err();
        assert_eq!(error.field, "emulator_cpus");
        assert!(error.message.contains("network.shared.down"), "{error}");
    }
}

/// A clock on which every reading takes its time, as on a busy machine.
struct SlowClock(Instant);

impl Clock for SlowClock {
    fn now(&mut self) -> Instant {
        self.0 += Duration::from_micros(700);
        self.0
    }

    fn wait_until(&mut self, deadline: Option<Instant>) {
        self.0 = self.0.max(deadline.expect("the run has an end"));
    }
}

#[test]
fn a_frame_that_waits_at_the_end_of_the_run_is_not_read_after_it() {
    let mut busy = scenario(200, "1KB");
    busy["clients"][0]["rtt"] = json!("0ms");
    for duration in ["500ms", "510ms", "523ms", "537ms"] {
        busy["measure"] = json!({"warmup": "100ms", "duration": duration});
        let (clock, port) = (SlowClock(Instant::ZERO), Refuser::new(usize::MAX));
        let (output, _) = live_with(&busy, &Control::default(), clock, port);
        let summary = &output.summary;
        assert_eq!(summary.packets.made, summary.fates.values().sum::<u64>() + summary.packets.in_flight);
        assert!((summary.little.integral_s - summary.little.records_s).abs() < 1e-6);
    }
}

/// A clock on which the run stalls for three seconds, once.
struct Stalling(VirtualClock, bool);

impl Clock for Stalling {
    fn now(&mut self) -> Instant {
        let now = self.0.now();
        if now >= Instant::ZERO + Duration::from_millis(1_500) && !std::mem::replace(&mut self.1, true) {
            self.0.wait_until(Some(now + Duration::from_secs(3)));
        }
        self.0.now()
    }

    fn wait_until(&mut self, deadline: Option<Instant>) {
        self.0.wait_until(deadline);
    }
}

/// Fails unless the seconds of each observed link add up to its row, each is possible, and there is one for each second of the run.
fn seconds_and_rows_agree(output: &RunOutput, length: f64) {
    for ObservedLink { link, direction, seconds, .. } in &output.observed {
        let row = output.links.iter().find(|row| (&row.link, row.direction) == (link, *direction)).unwrap();
        assert_eq!(seconds.len(), length.ceil() as usize, "{link} {direction}");
        let sum = |value: fn(&LinkSecond) -> u64| seconds.iter().map(value).sum::<u64>();
        assert_eq!(sum(|second| second.packets), row.packets, "{link} {direction}");
        assert_eq!(sum(|second| second.carried_bytes), row.carried_bytes, "{link} {direction}");
        assert_eq!(sum(|second| second.dropped), row.dropped, "{link} {direction}");
        let (last, others) = seconds.split_last().unwrap();
        let mean: f64 = others.iter().map(|second| second.mean_queue_bytes).sum();
        let mean = mean + last.mean_queue_bytes * (length - others.len() as f64);
        assert!((mean - length * row.mean_queue_bytes).abs() < 1e-6 * (1.0 + mean), "{link} {direction}");
        for second in seconds {
            assert!(
                second.mean_queue_bytes <= second.max_queue_bytes as f64,
                "{link} {direction} {second:?}"
            );
            let rate = row.rate_bps.unwrap_or(u64::MAX);
            assert!(second.carried_bytes <= rate / 8 + 1_500, "{link} {direction} {second:?}");
        }
    }
}

#[test]
fn seconds_of_links_are_whole_on_any_clock() {
    for queue in [json!("20KB"), json!({"kind": "codel"})] {
        let mut asked = scenario(200, "1KB");
        asked["clients"][0]["rtt"] = json!("20ms");
        // Each client asks for a connection that is refused, pauses, and asks again: far more than the link carries.
        asked["network"]["shared"] = json!({"up": {"rate": "100kbit/s", "queue": queue}, "down": {}});
        // The stall passes the beginning of some intervals.
        for (warmup, duration, length) in
            [("1s", "5s", 6.0), ("1s", "5300ms", 6.3), ("2700ms", "4s", 6.7), ("2s", "4s", 6.0)]
        {
            asked["measure"] = json!({"warmup": warmup, "duration": duration});
            let slow =
                live_with(&asked, &Control::default(), SlowClock(Instant::ZERO), Refuser::new(usize::MAX));
            let clock = Stalling(VirtualClock::default(), false);
            let stalled = live_with(&asked, &Control::default(), clock, Refuser::new(usize::MAX));
            for (output, _) in [slow, stalled] {
                let up = output.observed.iter().find(|link| link.direction == "up").unwrap();
                assert!(up.seconds.iter().any(|second| second.mean_queue_bytes > 0.0), "{queue}");
                seconds_and_rows_agree(&output, length);
            }
        }
    }
}

/// A run on a slow clock with a group of 20 clients at each of these round-trip times, beyond a shared link with this delay in each direction.
fn slow_run(rtts: &[&str], shared: &str) -> RunOutput {
    let mut asked = scenario(1, "1KB");
    let group = |rtt: &&str| {
        let mut group = group(&format!("at-{rtt}"), 20);
        group["rtt"] = json!(rtt);
        group
    };
    asked["clients"] = rtts.iter().map(group).collect();
    asked["network"]["shared"] = json!({"up": {"delay": shared}, "down": {"delay": shared}});
    asked["measure"] = json!({"warmup": "1s", "duration": "2s"});
    let (clock, port) = (SlowClock(Instant::ZERO), Refuser::new(usize::MAX));
    live_with(&asked, &Control::default(), clock, port).0
}

/// What the reason with this code says, if there is one.
fn message(output: &RunOutput, code: ReasonCode) -> Option<&str> {
    output.summary.invalid.iter().find(|reason| reason.code == code).map(|reason| reason.message.as_str())
}

#[test]
fn each_group_has_a_limit_of_its_own_for_what_the_emulator_keeps_waiting() {
    let output = slow_run(&["0ms", "100ms", "5s"], "0ms");
    let lateness = output.summary.lateness.as_ref().expect("a live run");
    let limits: Vec<_> = lateness.iter().map(|group| (group.group.as_str(), group.limit_us)).collect();
    assert_eq!(limits, [("at-0ms", 1_000.0), ("at-100ms", 1_000.0), ("at-5s", 50_000.0)]);
    for group in lateness {
        assert!(group.lag_us.p99 > 1_000.0 && group.lag_us.p99 < 50_000.0, "{group:?}");
        assert!(group.unread_us.p99 > 1_000.0, "{group:?}");
    }
    for (code, words) in
        [(ReasonCode::Lag, "lag p99 of group at-"), (ReasonCode::Unread, "frames for group at-")]
    {
        let message = message(&output, code).expect("it was slow");
        assert!(message.contains(words) && message.contains("at most 1000 us"), "{message}");
        assert!(!message.contains("at-5s"), "{message}");
    }
    let far = slow_run(&["5s"], "0ms");
    assert_eq!((message(&far, ReasonCode::Lag), message(&far, ReasonCode::Unread)), (None, None));
}

#[test]
fn the_delay_of_the_shared_link_counts_for_the_limit() {
    let limit = |output: &RunOutput| output.summary.lateness.as_ref().expect("a live run")[0].limit_us;
    let near = slow_run(&["0ms"], "20ms");
    assert_eq!(limit(&near), 1_000.0);
    assert!(message(&near, ReasonCode::Lag).is_some_and(|message| message.contains("at-0ms")));
    let far = slow_run(&["0ms"], "2500ms");
    assert_eq!(limit(&far), 50_000.0);
    assert_eq!(message(&far, ReasonCode::Lag), None);
}

/// A server that answers a request by a segment that it does not push, and resets the connection at once.
struct Hasty(Refuser);

impl Hasty {
    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";

    fn answer(&mut self, packet: &Packet, header: TcpHeader, content: &[u8]) {
        let pool = &mut self.0.pool;
        let payload =
            if content.is_empty() { Payload::Empty } else { pool.store(content).expect("there is room") };
        let answer = Packet { ip: returned(packet.ip), body: Body::Tcp(header), payload, flipped: None };
        let mut buffer = vec![0; MAX_FRAME_LEN];
        let len = frame(&answer, pool, &mut buffer);
        buffer.truncate(len);
        pool.release(answer.payload);
        self.0.answers.push_back(buffer);
    }
}

impl PacketPort for Hasty {
    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, PortError> {
        self.0.receive(buffer)
    }

    fn transmit(&mut self, bytes: &[u8]) -> Result<Transmitted, PortError> {
        let mut packets = Vec::new();
        cut(bytes, None, &mut self.0.pool, &mut |packet| packets.push(packet))
            .expect("what leaves is a valid frame");
        for packet in packets {
            let Body::Tcp(asked) = packet.body else { panic!("only TCP leaves") };
            let len = packet.payload.len();
            let header = TcpHeader {
                source_port: asked.destination_port,
                destination_port: asked.source_port,
                sequence: asked.acknowledgment,
                acknowledgment: asked.sequence + asked.sequence_len(len),
                flags: Flags::ACK,
                window: 0xffff,
                ..TcpHeader::default()
            };
            if asked.flags.contains(Flags::SYN) {
                self.answer(&packet, TcpHeader { flags: Flags::SYN | Flags::ACK, ..header }, b"");
            } else if len > 0 {
                self.answer(&packet, header, Self::ANSWER);
                let sequence = header.sequence + Self::ANSWER.len() as u32;
                self.answer(&packet, TcpHeader { flags: Flags::RST, sequence, ..header }, b"");
            }
            self.0.pool.release(packet.payload);
        }
        Ok(Transmitted::Sent)
    }
}

#[test]
fn what_has_arrived_before_a_reset_is_read() {
    let mut asked = scenario(1, "2B");
    asked["clients"][0]["http"]["requests_per_connection"] = json!(null);
    let (output, _) = live_with(&asked, &Control::default(), VirtualClock::default(), Hasty(Refuser::new(0)));
    let (ended, _) = rows(&output);
    assert!(ended.len() > 5, "{} transactions", ended.len());
    let outcomes = &output.summary.outcomes;
    assert_eq!(outcomes["reset"], 0, "{outcomes:?}");
    assert!(outcomes["ok"] > 5, "{outcomes:?}");
}
