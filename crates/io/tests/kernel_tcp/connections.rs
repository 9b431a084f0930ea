//! How connections begin and end beside the real kernel: stale ones, unknown segments, resets, TIME-WAIT.

use super::rig::{Rig, opening, path};
use super::server::{Action, Command, Ending, listen};
use crate::common::in_a_namespace;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use wasp_net::LinkConfig;
use wasp_tcp::{Config, Event, Options, State};
use wasp_testkit::Opening;
use wasp_units::{Duration, Instant};

const RTT: Duration = Duration::from_millis(10);
/// Much longer than anything takes here.
const PATIENCE: Duration = Duration::from_secs(60);

fn with_timestamps(timestamps: bool) -> Arc<Config> {
    let options = Options { timestamps: Some(timestamps), ..Options::default() };
    Arc::new(options.resolve().expect("a stack"))
}

fn both() -> [Arc<Config>; 2] {
    [with_timestamps(true), with_timestamps(false)]
}

/// One host at a path without loss, and its wall clock.
fn one_host() -> Rig {
    let link: (LinkConfig, LinkConfig) = path(RTT, 0.0);
    Rig::new(&[link])
}

/// An opening from port 20,000 with a command and some content that the server need not expect.
fn ask(config: &Arc<Config>, isn: u32, action: Action, seed: u64) -> Opening {
    let mut request = Command { action, size: 3_000, seed }.encode();
    request.extend([0; 100]);
    opening(config, 20_000, isn, request)
}

fn established(rig: &mut Rig) -> Instant {
    assert!(
        rig.run_until(PATIENCE, |wan| wan.hosts[0].has(Event::Connected)),
        "{:?}",
        rig.hosts().hosts[0].events
    );
    // The request and its acknowledgment.
    rig.run_for(RTT * 5);
    assert_eq!(state(rig), Some(State::Established));
    rig.now()
}

fn state(rig: &Rig) -> Option<State> {
    rig.hosts().hosts[0].endpoint().map(wasp_tcp::Endpoint::state)
}

fn events(rig: &Rig) -> Vec<Event> {
    rig.hosts().hosts[0].events.iter().map(|(_, event)| *event).collect()
}

/// The error with which the connection of this command ended on the kernel's side.
fn kernel_saw(endings: &Receiver<Ending>, seed: u64) -> Option<ErrorKind> {
    let ending = endings.recv_timeout(std::time::Duration::from_secs(60)).expect("the connection ended");
    assert_eq!(ending.seed, seed);
    ending.error
}

/// Opens anew from a port whose last connection the kernel still believes in.
fn meet_a_stale_connection(config: &Arc<Config>, distance: u32, closing: bool) {
    let mut rig = one_host();
    let endings = listen(2);
    let mut stale = ask(config, 1_000_000_000, Action::Hold, 1);
    stale.half_close = false;
    rig.open(0, &stale);
    let mut now = established(&mut rig);
    if closing {
        // The kernel acknowledges our FIN, but its application has not closed yet.
        rig.wan.inject(now, |wan, scheduler| wan.command(0, scheduler, wasp_tcp::Endpoint::close));
        now = rig.now();
        rig.wan.inject(now, |wan, _| wan.forget(0));
    }
    rig.open(0, &ask(config, 1_000_000_000_u32.wrapping_add(distance), Action::Send, 2));
    // The kernel challenges the SYN; the reset that answers the challenge ends the old connection; the SYN is repeated.
    assert!(rig.run_until(PATIENCE, |wan| wan.hosts[0].has(Event::RemoteClosed)), "{:?}", events(&rig));
    let host = &rig.hosts().hosts[0];
    let statistics = host.endpoint().expect("a connection").statistics();
    assert_eq!(statistics.timeouts, 1, "one repetition of the SYN is enough");
    assert_eq!(host.received.len(), 3_000);
    let old = kernel_saw(&endings, 1);
    assert!(closing || old == Some(ErrorKind::ConnectionReset), "{old:?}");
    rig.finish();
}

#[test]
fn a_syn_that_meets_a_stale_connection_recovers() {
    for config in both() {
        // Beyond the kernel's window, inside it, and before it.
        for distance in [1 << 30, 5_000, (-5_000_i32) as u32] {
            let config = Arc::clone(&config);
            in_a_namespace(move || meet_a_stale_connection(&config, distance, false));
        }
    }
}

#[test]
fn a_syn_that_meets_a_connection_in_close_wait_recovers() {
    for config in both() {
        in_a_namespace(move || meet_a_stale_connection(&config, 65_536, true));
    }
}

#[test]
fn a_segment_of_a_connection_that_we_forgot_is_reset() {
    in_a_namespace(|| {
        let mut rig = one_host();
        let endings = listen(1);
        let request = Command { action: Action::Send, size: 10 << 20, seed: 1 }.encode();
        rig.open(0, &opening(&with_timestamps(true), 20_000, 5, request));
        assert!(rig.run_until(PATIENCE, |wan| wan.hosts[0].received.len() > 10_000));
        rig.wan.process.forget(0);
        rig.run_until(PATIENCE, |wan| wan.resets > 0);
        rig.run_for(RTT * 3);
        let error = kernel_saw(&endings, 1);
        assert!(matches!(error, Some(ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)), "{error:?}");
        rig.finish();
    });
}

#[test]
fn a_closed_port_refuses() {
    in_a_namespace(|| {
        for config in both() {
            let mut rig = one_host();
            rig.open(0, &ask(&config, 7, Action::Hold, 1));
            assert!(rig.run_until(PATIENCE, |wan| wan.hosts[0].is_over()));
            assert_eq!(events(&rig), [Event::Refused]);
            rig.finish();
        }
    });
}

#[test]
fn our_abort_resets_the_kernels_connection() {
    in_a_namespace(|| {
        let mut rig = one_host();
        let endings = listen(1);
        rig.open(0, &ask(&with_timestamps(true), 7, Action::Hold, 1));
        let now = established(&mut rig);
        rig.wan.inject(now, |wan, scheduler| wan.command(0, scheduler, wasp_tcp::Endpoint::abort));
        rig.run_for(RTT * 3);
        assert_eq!(kernel_saw(&endings, 1), Some(ErrorKind::ConnectionReset));
        assert_eq!(events(&rig).last(), Some(&Event::Closed));
        rig.finish();
    });
}

#[test]
fn the_kernels_reset_is_an_event() {
    in_a_namespace(|| {
        let mut rig = one_host();
        let _endings = listen(1);
        rig.open(0, &ask(&with_timestamps(true), 7, Action::Reset, 1));
        assert!(rig.run_until(PATIENCE, |wan| wan.hosts[0].is_over()));
        assert_eq!(events(&rig), [Event::Connected, Event::Reset]);
        rig.finish();
    });
}

/// Lets the kernel close first, which leaves it in TIME-WAIT, then opens from the same port with a sequence number so
/// much higher; returns how often the SYN had to be repeated.
fn reuse(config: &Arc<Config>, distance: u32) -> u32 {
    let mut rig = one_host();
    let _endings = listen(2);
    let request = Command { action: Action::Send, size: 3_000, seed: 1 }.encode();
    rig.open(0, &opening(config, 20_000, u32::MAX - 20, request.clone()));
    assert!(rig.run_until(PATIENCE, |wan| wan.hosts[0].is_over()), "{:?}", events(&rig));
    assert_eq!(state(&rig), Some(State::Closed), "the kernel closed first, so the wait is its own");
    rig.run_for(RTT * 3);
    rig.open(0, &opening(config, 20_000, (u32::MAX - 20).wrapping_add(distance), request));
    assert!(rig.run_until(PATIENCE, |wan| wan.hosts[0].is_over()), "{:?}", events(&rig));
    let host = &rig.hosts().hosts[0];
    assert_eq!((host.received.len(), host.events[0].1), (3_000, Event::Connected));
    let repetitions = host.endpoint().expect("a connection").statistics().timeouts;
    rig.finish();
    repetitions
}

#[test]
fn the_kernels_time_wait_gives_way_to_a_higher_sequence_number() {
    for config in both() {
        // As far apart as an emulated host's connections are, and as far as comparison reaches.
        for distance in [65_536, 30_000 * 65_536] {
            let config = Arc::clone(&config);
            in_a_namespace(move || assert_eq!(reuse(&config, distance), 0));
        }
    }
}

#[test]
fn the_kernels_time_wait_and_a_lower_sequence_number_cost_one_repetition_of_the_syn() {
    in_a_namespace(|| {
        assert_eq!(reuse(&with_timestamps(false), (-1_000_000_i32) as u32), 1);
    });
}
