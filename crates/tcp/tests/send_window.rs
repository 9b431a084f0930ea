//! Which segments' windows count (RFC 9293 section 3.10.7.4).

use crate::common::*;
use wasp_tcp::Config;
use wasp_units::Duration;
use wasp_wire::{SequenceNumber, TcpHeader};

/// A client of which six segments are in flight, and none of them arrives.
fn unanswered() -> Pair {
    let config = Config { window_scaling: false, timestamps: false, ..Config::linux() };
    let mut pair = Pair::established(config.clone(), config);
    pair.path = Box::new(|_| Fate::Drop);
    pair.send_virtual(CLIENT, 6 * 1_460);
    pair.run_for(Duration::from_millis(1));
    pair
}

/// A segment of the server's so far into its stream, that acknowledges so much of the client's and offers a window.
fn answer(pair: &mut Pair, first: SequenceNumber, offset: u32, segments: u32, window: u16) {
    let una = pair
        .log
        .iter()
        .find(|(sent, _)| sent.from == CLIENT && sent.len > 0)
        .expect("data")
        .0
        .header
        .sequence;
    let mut header = pair.template(SERVER);
    header.sequence = first + offset;
    header.acknowledgment = una + segments * 1_460;
    header.window = window;
    pair.inject(CLIENT, header, &[7; 100]);
}

#[test]
fn a_retransmission_that_acknowledges_something_new_brings_its_window() {
    let mut pair = unanswered();
    let first = pair.template(SERVER).sequence;
    answer(&mut pair, first, 2_000, 2, 2_048);
    assert_eq!(pair.client().send_window(), 2_048);
    // What the segment before lost is sent again, later: more is acknowledged, and less is offered. With the window of
    // before we would send beyond what was ever offered.
    answer(&mut pair, first, 0, 3, 1_024);
    assert_eq!(pair.client().send_window(), 1_024);
}

#[test]
fn a_late_segment_that_acknowledges_nothing_new_does_not_bring_its_window() {
    let mut pair = unanswered();
    let first = pair.template(SERVER).sequence;
    answer(&mut pair, first, 2_000, 2, 2_048);
    answer(&mut pair, first, 0, 2, 40_000);
    assert_eq!(pair.client().send_window(), 2_048);
}

#[test]
fn a_window_that_opens_lets_more_leave_while_something_is_in_flight() {
    let mut pair = unanswered();
    let first = pair.template(SERVER).sequence;
    answer(&mut pair, first, 0, 5, 1_460);
    pair.send_virtual(CLIENT, 2 * 1_460);
    assert_eq!(pair.client().flight(), 1_460, "the last of the six");
    let acknowledgment = pair.template(SERVER).acknowledgment - 1_460;
    let opened =
        TcpHeader { sequence: first + 100, acknowledgment, window: 3 * 1_460, ..pair.template(SERVER) };
    pair.inject(CLIENT, opened, &[]);
    assert_eq!(pair.client().flight(), 3 * 1_460);
}
