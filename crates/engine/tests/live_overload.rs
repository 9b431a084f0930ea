//! The live loop on a machine that takes its time: what an emulator says of itself below and above its capacity.

use crate::common::{NO_REASON, group, returned, scenario};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use wasp_engine::{
    Control, Counters, KernelCounters, MachineReport, Mark, Meters, PacketPort, PortError, ReasonCode,
    RunOutput, Scenario, Transmitted, drive,
};
use wasp_kernel::Clock;
use wasp_packet::{Body, MAX_FRAME_LEN, Packet, Payload, PayloadPool, cut, frame};
use wasp_units::{Duration, Instant};
use wasp_wire::{Flags, TcpHeader};

/// What the machine takes for a look at the clock, to read a frame or find none, to write a frame, and to gather, in nanoseconds.
const NOW: u64 = 100;
const RECEIVE: u64 = 4_000;
const TRANSMIT: u64 = 6_000;
const GATHER: u64 = 40_000;
/// What a transaction takes of a thread that is never idle: its response is read, its next request written.
const TRANSACTION: u64 = NOW + RECEIVE + NOW + TRANSMIT;

/// A machine: its clock, and a server whose answers wait in a queue.
struct Machine {
    now: Cell<u64>,
    /// How long the server takes for each answer, one after another, in nanoseconds.
    service: u64,
    /// How long the thread waits for its CPU when an answer wakes it, in nanoseconds.
    waking: u64,
    /// Answers in the order of their coming, with the times at which they are in the device.
    answers: RefCell<VecDeque<(u64, Vec<u8>)>>,
    pool: RefCell<PayloadPool>,
}

impl Machine {
    fn new(service: u64) -> Self {
        let pool = RefCell::new(PayloadPool::new(1 << 20));
        Self { now: Cell::new(0), service, waking: 0, answers: RefCell::default(), pool }
    }

    fn spend(&self, nanos: u64) {
        self.now.set(self.now.get() + nanos);
    }

    /// Answers a frame as a server without memory can: nothing is ever lost.
    fn answer(&self, bytes: &[u8]) {
        let mut pool = self.pool.borrow_mut();
        let mut packets = Vec::new();
        cut(bytes, None, &mut pool, &mut |packet| packets.push(packet))
            .expect("what leaves is a valid frame");
        for packet in packets {
            let Body::Tcp(header) = packet.body else { panic!("only TCP leaves") };
            let len = packet.payload.len();
            pool.release(packet.payload);
            let Some((flags, text)) = reply(header.flags, len) else { continue };
            let answer = Packet {
                ip: returned(packet.ip),
                body: Body::Tcp(TcpHeader {
                    source_port: header.destination_port,
                    destination_port: header.source_port,
                    sequence: header.acknowledgment,
                    acknowledgment: header.sequence + header.sequence_len(len),
                    flags,
                    window: 0xffff,
                    ..TcpHeader::default()
                }),
                payload: if text.is_empty() {
                    Payload::Empty
                } else {
                    pool.store(text).expect("there is room")
                },
                flipped: None,
            };
            let mut buffer = vec![0; MAX_FRAME_LEN];
            let len = frame(&answer, &pool, &mut buffer);
            buffer.truncate(len);
            pool.release(answer.payload);
            let mut answers = self.answers.borrow_mut();
            let free = answers.back().map_or(0, |(ready, _)| *ready).max(self.now.get());
            answers.push_back((free + self.service, buffer));
        }
    }
}

/// The flags and the content of the answer, if there is one.
fn reply(flags: Flags, len: u32) -> Option<(Flags, &'static [u8])> {
    if flags.contains(Flags::SYN) {
        return Some((Flags::SYN | Flags::ACK, b""));
    }
    (len > 0).then_some((Flags::PSH | Flags::ACK, b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"))
}

impl PacketPort for &Machine {
    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, PortError> {
        self.spend(RECEIVE);
        let mut answers = self.answers.borrow_mut();
        if answers.front().is_none_or(|(ready, _)| *ready > self.now.get()) {
            return Ok(None);
        }
        let (_, answer) = answers.pop_front().expect("there is one");
        buffer[..answer.len()].copy_from_slice(&answer);
        Ok(Some(answer.len()))
    }

    fn transmit(&mut self, bytes: &[u8]) -> Result<Transmitted, PortError> {
        self.spend(TRANSMIT);
        self.answer(bytes);
        Ok(Transmitted::Sent)
    }
}

impl Clock for &Machine {
    fn now(&mut self) -> Instant {
        self.spend(NOW);
        Instant::from_nanos(self.now.get())
    }

    fn gather(&mut self, deadline: Instant) {
        if self.now.get() < deadline.as_nanos() {
            self.spend(GATHER);
        }
    }

    fn wait_until(&mut self, deadline: Option<Instant>) {
        let deadline = deadline.expect("the run has an end").as_nanos();
        let ready = self.answers.borrow().front().map_or(u64::MAX, |(ready, _)| *ready);
        let woken = self.now.get().max(deadline.min(ready));
        self.now.set(woken + if ready < deadline { self.waking } else { 0 });
    }

    fn woken_late(&mut self) -> Duration {
        Duration::from_nanos(self.waking)
    }
}

/// Meters that show this.
struct Shown(MachineReport);

impl Meters for Shown {
    fn mark(&mut self, _: Mark, _: Instant) {}

    fn server_busy(&mut self) -> Option<f64> {
        None
    }

    fn report(&self) -> MachineReport {
        self.0.clone()
    }
}

/// Eleven groups of as many clients each at 50, 60 ... 150 ms, who together offer this part of what the emulator can do.
fn offering(load: f64) -> Value {
    let rtts = (50..=150).step_by(10);
    let per_client: f64 = rtts.clone().map(|rtt| 1e3 / f64::from(rtt)).sum();
    let count = (load * 1e9 / TRANSACTION as f64 / per_client) as u32;
    let mut asked = scenario(1, "1B");
    asked["mode"] = json!("live");
    asked["clients"] = rtts
        .map(|rtt| {
            let mut group = group(&format!("g{rtt}"), count);
            group["rtt"] = json!(format!("{rtt}ms"));
            group["http"] = json!({"timeout": "60s"});
            group
        })
        .collect();
    asked["measure"] = json!({"warmup": "1s", "duration": "1s"});
    asked
}

fn live(asked: &Value, service: u64, busy: Option<f64>) -> RunOutput {
    metered(asked, service, MachineReport { emulator_cpu: busy, ..MachineReport::default() })
}

fn metered(asked: &Value, service: u64, shown: MachineReport) -> RunOutput {
    on(&Machine::new(service), asked, shown)
}

fn on(machine: &Machine, asked: &Value, shown: MachineReport) -> RunOutput {
    let scenario = Scenario::from_json(&asked.to_string()).expect("the scenario is valid");
    let sites = scenario.sites(None).expect("the sites are built");
    drive(&scenario, &sites, &Control::default(), (), &mut &*machine, &mut [machine], &mut Shown(shown))
}

fn codes(output: &RunOutput) -> Vec<ReasonCode> {
    output.summary.invalid.iter().map(|reason| reason.code).collect()
}

/// The mean response time of each group's transactions that began in the measured interval, in milliseconds.
fn means(output: &RunOutput) -> Vec<f64> {
    let mut sums = vec![(0.0, 0_u32); output.summary.groups.len()];
    let start = output.ledger.interval().start().as_nanos() as i64;
    for row in output.ledger.transactions.iter().filter(|row| row.start_ns >= start && row.bytes > 0) {
        let (sum, count) = &mut sums[usize::from(row.group)];
        *sum += (row.end_ns - row.start_ns) as f64 / 1e6;
        *count += 1;
    }
    sums.into_iter().map(|(sum, count)| sum / f64::from(count)).collect()
}

#[test]
fn below_its_capacity_a_run_is_valid_and_its_response_times_are_right() {
    let output = live(&offering(0.8), 0, Some(0.85));
    assert_eq!(codes(&output), NO_REASON);
    for (mean, rtt) in means(&output).into_iter().zip((50..=150).step_by(10)) {
        let extra = mean - f64::from(rtt);
        assert!((0.0..0.3).contains(&extra), "{mean} ms at an RTT of {rtt} ms");
    }
    let emulator = output.summary.emulator.expect("a live run");
    assert!(emulator.unread_us.p99 >= GATHER as f64 / 1e3 && emulator.unread_us.p99 < 500.0, "{emulator:?}");
}

#[test]
fn a_slow_server_is_no_fault_of_the_emulator() {
    // The server makes half of what the emulator could.
    let output = live(&offering(0.8), 2 * TRANSACTION, Some(0.6));
    assert_eq!(codes(&output), NO_REASON);
    let slowest = means(&output).into_iter().fold(0.0, f64::max);
    assert!(slowest > 170.0, "{slowest} ms");
}

#[test]
fn from_its_capacity_on_a_run_is_not_valid_wherever_packets_wait() {
    for load in [1.0, 1.2, 2.0] {
        let output = live(&offering(load), 0, None);
        assert!(codes(&output).contains(&ReasonCode::Unread), "{load}: {:?}", output.summary.invalid);
        let emulator = output.summary.emulator.expect("a live run");
        let waited = emulator.lag_us.p99.max(emulator.unread_us.p99);
        assert!(waited > 10_000.0, "{load}: {emulator:?}");
    }
}

#[test]
fn what_comes_while_a_woken_thread_waits_for_its_cpu_waits_too() {
    for waking in [0, 3_000_000] {
        let machine = Machine { waking, ..Machine::new(100_000) };
        let output = on(&machine, &offering(0.005), MachineReport::default());
        let unread = output.summary.emulator.expect("a live run").unread_us.p99;
        assert_eq!(codes(&output).contains(&ReasonCode::Unread), waking > 0, "{:?}", output.summary.invalid);
        assert!(unread >= waking as f64 / 1e3 && unread < waking as f64 / 1e3 + 500.0, "{unread} us");
    }
}

#[test]
fn an_emulator_that_is_busy_nine_tenths_of_the_time_is_the_bottleneck_at_any_distance() {
    let codes_when = |busy| codes(&live(&offering(0.3), 0, Some(busy))).contains(&ReasonCode::EmulatorBusy);
    assert!(codes_when(0.9));
    assert!(!codes_when(0.89));
}

/// What is said against a run of so many seconds in which the meters showed this.
fn said_of(seconds: u32, shown: MachineReport) -> Vec<String> {
    let mut asked = offering(0.02);
    asked["measure"]["duration"] = json!(format!("{seconds}s"));
    let output = metered(&asked, 0, shown);
    output
        .summary
        .invalid
        .into_iter()
        .map(|reason| format!("{}: {}", reason.code.name(), reason.message))
        .collect()
}

#[test]
fn a_hypervisor_may_take_two_hundredths_of_the_cpus() {
    let shown = |share| MachineReport { steal: Some(share), ..MachineReport::default() };
    assert_eq!(said_of(1, shown(0.02)), [""; 0]);
    assert_eq!(
        said_of(1, shown(0.021)),
        ["steal: the hypervisor took 2.1 % of the CPUs; at most 2 % is allowed"]
    );
}

/// What is said of kernel counters, all of which grew by `grown` under this name.
fn said_of_counters(name: &str, grown: u64) -> Vec<String> {
    let counted = || Some(Counters::from([(name.to_owned(), grown), ("other".to_owned(), 7)]));
    let counters =
        KernelCounters { device: counted(), client_device: counted(), tcp: counted(), softnet: counted() };
    said_of(1, MachineReport { counters, ..MachineReport::default() })
}

#[test]
fn one_packet_that_is_lost_outside_the_network_is_one_too_many() {
    let lost = "device_drops: packets were lost outside the emulated network";
    assert_eq!(said_of_counters("rx_dropped", 0), [""; 0]);
    for name in ["rx_dropped", "tx_dropped", "rx_errors", "tx_errors"] {
        assert_eq!(said_of_counters(name, 1), [format!("{lost}: {name} 1, clients' {name} 1")]);
    }
    assert_eq!(said_of_counters("dropped", 1), [format!("{lost}: softnet dropped 1")]);
}

#[test]
fn one_connection_that_the_servers_kernel_turns_away_is_one_too_many() {
    assert_eq!(said_of_counters("ListenDrops", 0), [""; 0]);
    for name in [
        "ListenDrops",
        "ListenOverflows",
        "SyncookiesSent",
        "TCPBacklogDrop",
        "TCPReqQFullDoCookies",
        "TCPReqQFullDrop",
        "TCPTimeWaitOverflow",
        "TWOverflow",
    ] {
        let said = format!("server_queue: the server's kernel turned connections away: {name} 1");
        assert_eq!(said_of_counters(name, 1), [said]);
    }
}

#[test]
fn others_may_have_three_hundredths_of_the_servers_and_of_the_emulators_cpus() {
    let shown = |server, emulator| MachineReport {
        others_server: Some(server),
        others_emulator: Some(emulator),
        ..MachineReport::default()
    };
    assert_eq!(said_of(10, shown(0.03, 0.03)), [""; 0]);
    assert_eq!(
        said_of(10, shown(0.031, 0.0)),
        ["others: other programs took 3.1 % of the server's CPUs; at most 3 % is allowed"]
    );
    assert_eq!(
        said_of(10, shown(0.25, 0.5)),
        [
            "others: other programs took 25.0 % of the server's and 50.0 % of the emulator's CPUs; at most 3 % is allowed"
        ]
    );
    // The kernel's ticks say little of a short time.
    assert_eq!(said_of(9, shown(0.25, 0.5)), [""; 0]);
    // A server that ran already has no CPUs of its own.
    let emulators = MachineReport { others_emulator: Some(0.5), ..MachineReport::default() };
    assert_eq!(
        said_of(10, emulators),
        ["others: other programs took 50.0 % of the emulator's CPUs; at most 3 % is allowed"]
    );
}

#[test]
fn the_emulator_may_wait_a_hundredth_of_the_time_for_others() {
    let shown = |all, by_others| MachineReport {
        run_delay: Some(all),
        run_delay_by_others: Some(by_others),
        ..MachineReport::default()
    };
    assert_eq!(said_of(5, shown(0.01, 0.01)), [""; 0]);
    // Some ticks say little.
    assert_eq!(said_of(1, shown(0.2, 0.05)), [""; 0]);
    assert_eq!(
        said_of(5, shown(0.2, 0.011)),
        [
            "run_delay: the emulator waited 1.1 % of the time for its CPU while other programs had it; at most 1 % is allowed"
        ]
    );
    // What the run's own threads kept it from is no evidence from outside.
    assert_eq!(said_of(5, shown(0.5, 0.0)), [""; 0]);
}
