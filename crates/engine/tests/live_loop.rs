//! The live loop with a clock and a device that a test holds in its hands.

mod common;

use common::{independent, scenario};
use serde_json::{Value, json};
use std::collections::VecDeque;
use wasp_engine::{
    Control, MachineReport, Mark, Meters, PacketPort, PortError, RunOutput, Scenario, Transmitted, drive,
};
use wasp_kernel::{Clock, VirtualClock};
use wasp_tcp::reset_for;
use wasp_units::{Duration, Instant};
use wasp_wire::{MAX_FRAME_LEN, Packet, Payload, PayloadPool, Transport, cut, frame};

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
            let Transport::Tcp(header) = packet.transport else { panic!("only TCP leaves") };
            let Some(reset) = reset_for(&header, packet.payload.len()) else { continue };
            let answer = Packet {
                source: packet.destination,
                destination: packet.source,
                transport: Transport::Tcp(reset),
                payload: Payload::Empty,
                ..packet
            };
            let mut buffer = vec![0; MAX_FRAME_LEN];
            let len = frame(&answer, &self.pool, &mut buffer);
            buffer.truncate(len);
            self.answers.push_back(buffer);
        }
        Ok(Transmitted::Sent)
    }
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

fn live(scenario: &Value, room: usize) -> (RunOutput, Marks) {
    let mut scenario = scenario.clone();
    scenario["mode"] = json!("live");
    let scenario = Scenario::from_json(&scenario.to_string()).expect("the scenario is valid");
    let (mut clock, mut port, mut marks) = (VirtualClock::default(), Refuser::new(room), Marks::default());
    let output = drive(
        &scenario,
        &scenario.site(None).expect("the site is built"),
        &Control::default(),
        (),
        &mut clock,
        &mut port,
        &mut marks,
    )
    .expect("the run succeeds");
    (output, marks)
}

#[test]
fn a_refusal_takes_one_round_trip_and_a_pause_follows() {
    let (output, marks) = live(&scenario(3, "1KB"), usize::MAX);
    let chunk = output.ledger.transactions.chunks().next().unwrap();
    assert!((0..chunk.client.len()).all(|row| chunk.end_ns[row] - chunk.start_ns[row] <= 100_000_000));
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
    assert!(summary.fates["device full"] > 0);
    assert_eq!(summary.packets.made, summary.fates.values().sum::<u64>() + summary.packets.in_flight);
    assert!(summary.invalid.iter().any(|reason| reason.code == "device_full"));
}

#[test]
fn live_and_simulated_runs_meet_the_same_losses() {
    let mut scenario = scenario(20, "1KB");
    scenario["clients"][0]["loss"] = independent("20%");
    let (live, _) = live(&scenario, usize::MAX);
    let simulated = common::run(&scenario);
    let first_syn_lost = |output: &RunOutput| -> Vec<u32> {
        let mut clients: Vec<u32> = output
            .ledger
            .connections
            .chunks()
            .iter()
            .flat_map(|chunk| {
                (0..chunk.client.len())
                    .filter(|row| {
                        chunk.connection[*row] == 0
                            && chunk.retransmitted[*row] > 0
                            && chunk.up_lost[*row] > 0
                    })
                    .map(|row| chunk.client[row])
            })
            .collect();
        clients.sort_unstable();
        clients
    };
    // A refused connection ends with its first packet that arrives, so every client that lost its first packet live lost it in simulation too.
    let (live, simulated) = (first_syn_lost(&live), first_syn_lost(&simulated));
    assert!(!live.is_empty());
    assert!(live.iter().all(|client| simulated.contains(client)), "{live:?} {simulated:?}");
}

#[test]
fn a_run_that_is_stopped_keeps_what_it_measured_and_says_so() {
    let scenario = {
        let mut scenario = scenario(3, "1KB");
        scenario["mode"] = json!("live");
        Scenario::from_json(&scenario.to_string()).unwrap()
    };
    let control = Control::default();
    control.stop();
    let (mut clock, mut port, mut marks) =
        (VirtualClock::default(), Refuser::new(usize::MAX), Marks::default());
    let output = drive(
        &scenario,
        &scenario.site(None).expect("the site is built"),
        &control,
        (),
        &mut clock,
        &mut port,
        &mut marks,
    )
    .unwrap();
    assert!(output.summary.invalid.iter().any(|reason| reason.code == "stopped"));
    assert_eq!(output.summary.interval_s, 0.0);
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
    busy["mode"] = json!("live");
    busy["clients"][0]["rtt"] = json!("0ms");
    for duration in ["500ms", "510ms", "523ms", "537ms"] {
        busy["measure"] = json!({"warmup": "100ms", "duration": duration});
        let scenario = Scenario::from_json(&busy.to_string()).expect("the scenario is valid");
        let (mut port, mut marks) = (Refuser::new(usize::MAX), Marks::default());
        let mut clock = SlowClock(Instant::ZERO);
        let output = drive(
            &scenario,
            &scenario.site(None).expect("the site is built"),
            &Control::default(),
            (),
            &mut clock,
            &mut port,
            &mut marks,
        )
        .expect("the run succeeds");
        let summary = &output.summary;
        assert_eq!(summary.packets.made, summary.fates.values().sum::<u64>() + summary.packets.in_flight);
        assert!((summary.little.integral_s - summary.little.records_s).abs() < 1e-6);
    }
}
