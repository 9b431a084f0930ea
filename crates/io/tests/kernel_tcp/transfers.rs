//! Content in both directions, compared byte for byte.

use super::rig::{Rig, opening, path};
use super::server::{Action, Command, Ending, content, listen};
use crate::common::{in_a_namespace, in_a_namespace_with, ip, run};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use wasp_tcp::{Config, Endpoint, Event, Options, Preset, ReceiveBuffer};
use wasp_testkit::Opening;
use wasp_units::{Bytes, Duration};

const RTT: Duration = Duration::from_millis(6);
/// What a test takes on a machine that is busy otherwise, and much more than on one that is not.
const LIMIT: Duration = Duration::from_secs(150);
const LOSSES: [f64; 4] = [0.0, 1.0, 3.0, 10.0];
const SIZES: [usize; 7] = [1, 100, 1_000, 20_000, 64 << 10, 1 << 20, 10 << 20];

/// Named stacks of ours. Their timers are as short as the path and they do not give up, so that much can be lost, and
/// many times in a row, in little time.
fn stacks() -> Vec<(&'static str, Arc<Config>)> {
    let patient = Options {
        max_rto: Some(Duration::from_millis(500)),
        syn_retries: Some(20),
        retries: Some(30),
        ..Options::default()
    };
    let linux = Options {
        min_rto: Some(Duration::from_millis(30)),
        initial_rto: Some(Duration::from_millis(300)),
        delayed_ack: Some(Duration::from_millis(5)),
        ..patient.clone()
    };
    let plain = Options { sack: Some(false), timestamps: Some(false), ..linux.clone() };
    let bsd1999 = Options {
        preset: Preset::Bsd1999,
        min_rto: Some(Duration::from_millis(50)),
        timer_granularity: Some(Duration::from_millis(10)),
        initial_rto: Some(Duration::from_millis(500)),
        ..patient
    };
    let options = [
        ("linux", linux.clone()),
        ("linux without SACK", Options { sack: Some(false), ..linux.clone() }),
        ("linux without timestamps", Options { timestamps: Some(false), ..linux }),
        ("linux without either", Options { window_scaling: Some(false), ..plain }),
        ("bsd1999", bsd1999),
    ];
    options.map(|(name, options)| (name, Arc::new(options.resolve().expect("a stack")))).into()
}

/// With a buffer that does not size itself.
fn with_a_fixed_buffer(config: &Config) -> Arc<Config> {
    let receive_buffer = match config.receive_buffer {
        ReceiveBuffer::Tuned { .. } => ReceiveBuffer::Fixed(3 << 20),
        fixed => fixed,
    };
    Arc::new(Config { receive_buffer, ..config.clone() })
}

/// Bytes that a fixed buffer holds.
fn buffer(endpoint: &Endpoint) -> u64 {
    match endpoint.config().receive_buffer {
        ReceiveBuffer::Fixed(bytes) => u64::from(bytes),
        tuned => panic!("{tuned:?}"),
    }
}

struct Transfer {
    name: String,
    command: Command,
    opening: Opening,
    loss: f64,
}

impl Transfer {
    fn expected(&self) -> Vec<u8> {
        match self.command.action {
            Action::Send | Action::Echo => content(self.command.size, self.command.seed),
            _ => b"right".to_vec(),
        }
    }
}

/// Whether a transfer is worth its time: ten megabytes at the greatest loss, or without SACK at much of it, take minutes.
fn is_short(stack: &str, loss: f64, size: usize) -> bool {
    match size {
        0..1_000_000 => true,
        1_000_000..10_000_000 => loss <= 3.0 || stack == "linux",
        _ => loss <= if stack == "linux" { 3.0 } else { 0.0 },
    }
}

fn transfer(number: usize, stack: &(&str, Arc<Config>), loss: f64, size: usize, action: Action) -> Transfer {
    let command = Command { action, size, seed: number as u64 + 1 };
    let mut request = command.encode();
    if action != Action::Send {
        request.extend(content(size, command.seed));
    }
    // Sequence numbers that wrap in the middle of the longer transfers.
    let isn = u32::MAX - (size / 2) as u32;
    let mut opening = opening(&stack.1, 10_000 + number as u16, isn, request);
    // A FIN of ours after the request, before or after the content that comes: both orders.
    opening.half_close = action == Action::Receive || (action == Action::Send && number % 2 == 1);
    let name = format!("{}, {loss} % loss, {size} B, {action:?} (number {number})", stack.0);
    Transfer { name, command, opening, loss }
}

fn transfers(stacks: &[(&'static str, Arc<Config>)], losses: &[f64]) -> Vec<Transfer> {
    let mut all = Vec::new();
    for stack in stacks {
        for &loss in losses {
            for size in SIZES.into_iter().filter(|&size| is_short(stack.0, loss, size)) {
                for action in [Action::Send, Action::Receive, Action::Echo] {
                    if action != Action::Echo || (20_000..2_000_000).contains(&size) {
                        all.push(transfer(all.len(), stack, loss, size, action));
                    }
                }
            }
        }
    }
    all
}

/// Makes the kernel as quick and as patient as our stacks. Where it cannot set its longest timeout (before Linux 6.15) bad luck
/// only takes longer.
fn lose_much_in_little_time() {
    ip(
        "route replace 198.18.0.0/17 dev wasp0 proto kernel scope link src 198.18.0.1 rto_min 30ms congctl cubic",
    );
    let _ = std::fs::write("/proc/sys/net/ipv4/tcp_rto_max_ms", "1000");
    // A kernel gives a closed socket up at its longest timeout, without a word, unless told how often to try.
    for setting in ["tcp_orphan_retries", "tcp_retries2"] {
        std::fs::write(format!("/proc/sys/net/ipv4/{setting}"), "30").expect("a setting of the namespace");
    }
}

/// Makes all transfers at once and compares everything that came; returns how many super-segments there were.
fn all_arrive(transfers: &[Transfer], offloads: bool, limit: Duration) -> u64 {
    let mut rig = Rig::new(&transfers.iter().map(|transfer| path(RTT, transfer.loss)).collect::<Vec<_>>());
    lose_much_in_little_time();
    ip("link set wasp0 txqueuelen 20000");
    if !offloads {
        run("ethtool", "-K wasp0 tx off tso off gso off gro off");
    }
    let endings = listen(transfers.len());
    for (transfer, host) in transfers.iter().zip(0..) {
        rig.open(host, &transfer.opening);
    }
    rig.run_until(limit, |wan| wan.hosts.iter().all(|host| host.is_over()));
    let problems: Vec<_> =
        transfers.iter().zip(0..).filter_map(|(one, host)| problem(&rig, one, host)).collect();
    assert!(problems.is_empty(), "{} of {}:\n{}", problems.len(), transfers.len(), problems.join("\n"));
    all_ended_well(transfers, &endings);
    rig.finish();
    rig.super_segments
}

/// What is wrong with a transfer, if anything.
fn problem(rig: &Rig, transfer: &Transfer, host: usize) -> Option<String> {
    let place = &rig.hosts().hosts[host];
    let mut events: Vec<_> = place.events.iter().map(|(_, event)| *event).collect();
    events.dedup();
    let last = place.events.last().map_or(0.0, |(at, _)| at.as_secs_f64());
    let expected = transfer.expected();
    let same = place.received.iter().zip(&expected).take_while(|(a, b)| a == b).count();
    let complete = place.received.len() == expected.len() && same == expected.len();
    let lost = [Event::Reset, Event::Refused, Event::TimedOut].iter().any(|event| events.contains(event));
    if complete && place.is_over() && !lost {
        return None;
    }
    let endpoint = place.endpoint();
    Some(format!(
        "{}: {} of {} B received, the first {same} right; {events:?} until {last:.1} s, {:?}, {:?}",
        transfer.name,
        place.received.len(),
        expected.len(),
        endpoint.map(|endpoint| (endpoint.state(), endpoint.unacknowledged(), endpoint.rto())),
        endpoint.map(|endpoint| *endpoint.statistics()),
    ))
}

/// The kernel's side saw the end of each connection too, without an error.
fn all_ended_well(transfers: &[Transfer], endings: &Receiver<Ending>) {
    let mut open: BTreeSet<u64> = transfers.iter().map(|transfer| transfer.command.seed).collect();
    while !open.is_empty() {
        let ending = endings.recv_timeout(std::time::Duration::from_secs(60));
        let ending = ending.unwrap_or_else(|_| panic!("the kernel never saw the end of transfers {open:?}"));
        assert_eq!(ending.error, None, "transfer {}", ending.seed - 1);
        open.remove(&ending.seed);
    }
}

#[test]
fn every_byte_arrives_both_ways_whatever_is_lost() {
    in_a_namespace(|| {
        let super_segments = all_arrive(&transfers(&stacks(), &LOSSES), true, LIMIT);
        assert!(super_segments > 100, "offloads were on: {super_segments}");
    });
}

#[test]
fn every_byte_arrives_both_ways_without_offloads() {
    in_a_namespace_with("ethtool", || {
        let stacks = stacks();
        let ends = [stacks[0].clone(), stacks[4].clone()];
        let super_segments = all_arrive(&transfers(&ends, &[0.0, 3.0]), false, LIMIT);
        assert_eq!(super_segments, 0, "offloads were off");
    });
}

#[test]
fn a_kernel_that_does_not_read_stops_us_and_starts_us_again() {
    in_a_namespace(|| {
        let late = |stack: &(&'static str, Arc<Config>), number| {
            let mut transfer = transfer(number, stack, 1.0, 4 << 20, Action::ReceiveLate);
            transfer.opening.half_close = true;
            transfer
        };
        let all: Vec<_> = stacks().iter().zip(0..).map(|(stack, number)| late(stack, number)).collect();
        all_arrive(&all[..4], true, LIMIT);
    });
}

#[test]
fn a_kernel_fills_a_small_window_again_and_again() {
    in_a_namespace(|| {
        let small = Options { receive_buffer: Some(Bytes::new(2_048)), ..Options::default() };
        let small = ("2 KiB receive buffer", Arc::new(small.resolve().expect("a stack")));
        let all: Vec<_> = (0..4).map(|number| transfer(number, &small, 1.0, 50_000, Action::Send)).collect();
        all_arrive(&all, true, LIMIT);
    });
}

#[test]
fn a_host_that_stops_reading_stops_the_kernel_and_starts_it_again() {
    in_a_namespace(|| {
        let stacks = stacks().into_iter().map(|(name, config)| (name, with_a_fixed_buffer(&config)));
        let stacks: Vec<_> = stacks.collect();
        let transfers: Vec<_> = (0..5).map(|n| transfer(n, &stacks[n], 0.0, 8 << 20, Action::Send)).collect();
        let mut rig = Rig::new(&transfers.iter().map(|_| path(RTT, 0.0)).collect::<Vec<_>>());
        let _endings = listen(transfers.len());
        for (transfer, host) in transfers.iter().zip(0..) {
            rig.wan.process.hosts[host as usize].reading = false;
            rig.open(host, &transfer.opening);
        }
        // Each fills the buffer, as far as a window that may not be silly lets it, and no more.
        let full =
            |endpoint: &Endpoint| endpoint.readable() + 2 * u64::from(endpoint.mss()) > buffer(endpoint);
        rig.run_until(LIMIT, |wan| wan.hosts.iter().all(|host| host.endpoint().is_some_and(full)));
        rig.run_for(Duration::from_millis(500));
        for (host, transfer) in rig.hosts().hosts.iter().zip(&transfers) {
            let endpoint = host.endpoint().expect("a connection");
            let buffer = buffer(endpoint);
            // With window scaling each acknowledgment may round the window up, as Linux does, rather than take a part back.
            let granule = u64::from(endpoint.config().window_scaling) << 6;
            let most = buffer + granule * u64::from(endpoint.statistics().segments_sent);
            assert!(full(endpoint), "{}: {} of {buffer}", transfer.name, endpoint.readable());
            assert!(endpoint.readable() <= most, "{}: {} of {buffer}", transfer.name, endpoint.readable());
        }
        let now = rig.now();
        for host in 0..transfers.len() as u32 {
            rig.wan.inject(now, |wan, scheduler| wan.set_reading(host, true, scheduler));
        }
        rig.run_until(LIMIT, |wan| wan.hosts.iter().all(|host| host.is_over()));
        for (transfer, host) in transfers.iter().zip(0..) {
            assert_eq!(problem(&rig, transfer, host), None);
        }
        rig.finish();
    });
}
