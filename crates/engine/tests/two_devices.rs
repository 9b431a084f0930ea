//! A network with a device at each end: programs behind the clients' addresses, and a server that resets whatever comes.

use crate::common::{NO_REASON, independent, scenario};
use serde_json::{Value, json};
use std::collections::VecDeque;
use wasp_engine::{
    Control, MachineReport, Mark, Meters, PacketPort, PortError, ReasonCode, RunOutput, Scenario,
    Transmitted, drive,
};
use wasp_kernel::VirtualClock;
use wasp_packet::{Body, MAX_FRAME_LEN, Packet, Payload, PayloadPool, cut, frame};
use wasp_tcp::reset_for;
use wasp_units::Instant;
use wasp_wire::{Address, Flags, IpHeader, SequenceNumber, TcpHeader};

/// A device whose other side answers some packets at once.
struct Device {
    waiting: VecDeque<Vec<u8>>,
    answer: fn(&Packet) -> Option<Packet>,
    pool: PayloadPool,
}

impl Device {
    fn new(first: impl IntoIterator<Item = Packet>, answer: fn(&Packet) -> Option<Packet>) -> Self {
        let mut device = Self { waiting: VecDeque::new(), answer, pool: PayloadPool::new(1 << 20) };
        first.into_iter().for_each(|packet| device.put(&packet));
        device
    }

    fn put(&mut self, packet: &Packet) {
        let mut buffer = vec![0; MAX_FRAME_LEN];
        let len = frame(packet, &self.pool, &mut buffer);
        buffer.truncate(len);
        self.waiting.push_back(buffer);
    }
}

impl PacketPort for Device {
    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, PortError> {
        let Some(frame) = self.waiting.pop_front() else { return Ok(None) };
        buffer[..frame.len()].copy_from_slice(&frame);
        Ok(Some(frame.len()))
    }

    fn transmit(&mut self, bytes: &[u8]) -> Result<Transmitted, PortError> {
        let mut packets = Vec::new();
        cut(bytes, None, &mut self.pool, &mut |packet| packets.push(packet)).expect("a valid frame leaves");
        for answer in packets.iter().filter_map(self.answer) {
            self.put(&answer);
        }
        Ok(Transmitted::Sent)
    }
}

struct NoMeters;

impl Meters for NoMeters {
    fn mark(&mut self, _: Mark, _: Instant) {}

    fn server_busy(&mut self) -> Option<f64> {
        None
    }

    fn report(&self) -> MachineReport {
        MachineReport::default()
    }
}

const SERVER: &str = "198.18.0.1";

fn syn(from: Address, port: u16) -> Packet {
    let header = TcpHeader {
        source_port: port,
        destination_port: 80,
        sequence: SequenceNumber(u32::from(port) << 8),
        flags: Flags::SYN,
        ..TcpHeader::default()
    };
    Packet {
        ip: IpHeader {
            source: from,
            destination: SERVER.parse().unwrap(),
            ttl: 64,
            traffic_class: 0,
            identification: 0,
            dont_fragment: true,
        },
        body: Body::Tcp(header),
        payload: Payload::Empty,
        flipped: None,
    }
}

/// The client number `index`.
fn client(index: u32) -> Address {
    SERVER.parse::<Address>().unwrap().offset(index + 1).unwrap()
}

fn tcp(packet: &Packet) -> TcpHeader {
    let Body::Tcp(header) = packet.body else { panic!("only TCP was sent") };
    header
}

fn refuse(packet: &Packet) -> Option<Packet> {
    let body = Body::Tcp(reset_for(&tcp(packet), 0)?);
    let (source, destination) = (packet.ip.destination, packet.ip.source);
    Some(Packet {
        ip: IpHeader { source, destination, ..syn(client(0), 1).ip },
        body,
        payload: Payload::Empty,
        flipped: None,
    })
}

/// A program that is refused opens the next connection.
fn try_again(packet: &Packet) -> Option<Packet> {
    Some(syn(packet.ip.destination, tcp(packet).destination_port + 1))
}

fn of_programs(scenario: &Value) -> Scenario {
    let mut scenario = scenario.clone();
    scenario["mode"] = json!("shim");
    scenario["server"]["congestion"] = json!("cubic");
    Scenario::from_json(&scenario.to_string()).expect("the scenario is valid")
}

/// A run of programs that first send these packets and then answer so.
fn run(
    scenario: &Value,
    first: impl IntoIterator<Item = Packet>,
    answer: fn(&Packet) -> Option<Packet>,
) -> RunOutput {
    let scenario = of_programs(scenario);
    let sites = scenario.sites(None).expect("the sites are built");
    let mut ports = [Device::new([], refuse), Device::new(first, answer)];
    let mut clock = VirtualClock::default();
    drive(&scenario, &sites, &Control::default(), (), &mut clock, &mut ports, &mut NoMeters)
}

fn codes(output: &RunOutput) -> Vec<ReasonCode> {
    output.summary.invalid.iter().map(|reason| reason.code).collect()
}

#[test]
fn programs_reach_the_server_and_back_in_one_round_trip_each_by_its_own_link() {
    let mut scenario = scenario(3, "1KB");
    scenario["clients"] = json!([crate::common::group("near", 1), crate::common::group("far", 2)]);
    scenario["clients"][0]["rtt"] = json!("50ms");
    let output = run(&scenario, (0..3).map(|index| syn(client(index), 1_000)), try_again);
    let summary = &output.summary;
    // In the 10 s of the interval 200 round trips of the near one, 100 of each of the others.
    assert_eq!((summary.network.up.packets, summary.network.down.packets), (400, 400));
    let up: Vec<_> = output.links.iter().filter(|row| row.direction == "up").collect();
    let packets: Vec<_> = up.iter().map(|row| (row.link.as_str(), row.packets)).collect();
    assert_eq!(packets, [("shared", 480), ("near/0", 240), ("far/1", 120), ("far/2", 120)]);
    assert_eq!(summary.emulator.unwrap().lag_us.max, 0.0);
    assert_eq!(summary.packets.made, summary.fates.values().sum::<u64>() + summary.packets.in_flight);
    assert_eq!((summary.throughput, codes(&output)), (0.0, vec![]));
}

#[test]
fn what_programs_send_meets_the_loss_of_the_scenario_keyed_by_connection() {
    let mut scenario = scenario(4, "1KB");
    scenario["clients"][0]["loss"] = independent("20%");
    scenario["measure"] = json!({"warmup": "0ms", "duration": "1s"});
    let syns = || (0..20_000_u32).map(|number| syn(client(number % 4), 1_000 + (number / 4) as u16));
    let output = run(&scenario, syns(), |_| None);
    let up = output.summary.network.up;
    assert_eq!(up.packets, 20_000);
    // A standard error is 57.
    assert!(up.lost.abs_diff(4_000) < 5 * 57, "{} lost", up.lost);
    assert_eq!(codes(&output), NO_REASON);
    let again = run(&scenario, syns(), |_| None);
    assert_eq!(again.links, output.links);
    // What a connection loses does not depend on the others, so the two halves of the connections lose what all do.
    let half = |part: u16| {
        let of_half = move |packet: &Packet| tcp(packet).source_port % 2 == part;
        run(&scenario, syns().filter(of_half), |_| None)
    };
    let lost = |output: &RunOutput| output.links.iter().map(|link| link.lost).collect::<Vec<_>>();
    let sums: Vec<_> =
        lost(&half(0)).into_iter().zip(lost(&half(1))).map(|(one, other)| one + other).collect();
    assert_eq!(sums, lost(&output));
    scenario["run"] = json!(1);
    assert_ne!(run(&scenario, syns(), |_| None).links, output.links);
}

#[test]
fn a_packet_from_an_address_of_no_client_has_no_route() {
    let stranger = client(3);
    let output = run(&scenario(3, "1KB"), [syn(client(0), 1_000), syn(stranger, 1_000)], try_again);
    assert_eq!(output.summary.fates["no route"], 1);
    let summary = &output.summary;
    assert_eq!(summary.packets.made, summary.fates.values().sum::<u64>() + summary.packets.in_flight);
}

#[test]
fn a_run_whose_programs_send_nothing_is_not_valid() {
    assert_eq!(codes(&run(&scenario(3, "1KB"), [], |_| None)), [ReasonCode::TooFew]);
}

#[test]
fn programs_need_a_device_and_one_thread_and_emulated_clients_have_none() {
    let programs = of_programs(&scenario(3, "1KB"));
    assert_eq!(programs.check_client_device(false).unwrap_err().field, "client_device");
    assert_eq!(programs.check_client_device(true), Ok(()));
    assert_eq!(programs.check_threads(2).unwrap_err().field, "emulator_cpus");
    let mut emulated = scenario(3, "1KB");
    emulated["mode"] = json!("live");
    let emulated = Scenario::from_json(&emulated.to_string()).unwrap();
    assert_eq!(emulated.check_client_device(true).unwrap_err().field, "client_device");
    assert_eq!(emulated.check_client_device(false), Ok(()));
}

#[test]
fn nobody_outside_has_the_addresses_of_cross_traffic() {
    let mut scenario = scenario(2, "1KB");
    scenario["network"]["shared"]["down"] = json!({"rate": "10kbit/s", "queue": "1KB"});
    scenario["network"]["cross_traffic"] = json!([{
        "name": "others", "link": "shared", "direction": "up", "packet": "500B", "rate": "100kbit/s",
        "model": {"kind": "constant"},
    }]);
    let forged = |port: u16| Packet {
        ip: IpHeader::new("240.0.0.1".parse().unwrap(), "240.0.0.2".parse().unwrap(), 1),
        body: Body::Udp { source_port: 0, destination_port: port },
        payload: Payload::Virtual(400),
        flipped: None,
    };
    let scenario = of_programs(&scenario);
    let sites = scenario.sites(None).expect("the sites are built");
    // More than the queue takes.
    let mut ports = [Device::new((0..100).map(forged), refuse), Device::new([], try_again)];
    let mut clock = VirtualClock::default();
    let output = drive(&scenario, &sites, &Control::default(), (), &mut clock, &mut ports, &mut NoMeters);
    assert_eq!(output.summary.fates["no route"], 100);
    let [others] = &output.summary.cross_traffic[..] else { panic!("one source") };
    assert_eq!((others.packets, others.dropped), (250, 0));
    let made: u64 = output.summary.fates.values().sum();
    assert_eq!(output.summary.packets.made, made + output.summary.packets.in_flight);
}
