//! The receiving side: acknowledgments, their delay, what they report; windows.

use crate::common::*;
use wasp_tcp::{Config, Event, ReceiveBuffer, ReceivePolicy, State};
use wasp_units::{Duration, Instant};
use wasp_wire::{Flags, SequenceNumber, TcpHeader};

const RTT: Duration = Duration::from_millis(100);

fn delayed() -> Config {
    Config { quickack_segments: 0, receive_buffer: ReceiveBuffer::Fixed(3 << 20), ..Config::linux() }
}

/// Acknowledgments without data that `side` sent since `from`.
fn pure_acks(pair: &Pair, side: usize, from: usize) -> Vec<(Instant, TcpHeader)> {
    let sent = pair.log[from..].iter().filter(|(c, _)| c.from == side && c.len == 0);
    sent.map(|(crossing, _)| (crossing.at, crossing.header)).collect()
}

/// A server that is sent segments by hand: number `n` carries a thousand bytes of the stream.
struct Hand {
    pair: Pair,
    base: TcpHeader,
}

impl Hand {
    fn new(config: Config) -> Self {
        let pair = Pair::established(config.clone(), config);
        let base = pair.template(CLIENT);
        Self { pair, base }
    }

    fn number(&self, n: u32) -> SequenceNumber {
        self.base.sequence + n * 1_000
    }

    /// Hands over segments `n..n + count` as one, and returns what comes back at once.
    fn data(&mut self, n: u32, count: u32) -> Option<TcpHeader> {
        let sent = self.pair.log.len();
        let header = TcpHeader { sequence: self.number(n), ..self.base };
        let bytes = pattern(100_000);
        self.pair.inject(SERVER, header, &bytes[n as usize * 1_000..][..count as usize * 1_000]);
        self.pair.log.get(sent).map(|(crossing, _)| crossing.header)
    }

    /// SACK blocks of an acknowledgment as segment numbers.
    fn blocks(&self, ack: &TcpHeader) -> Vec<(u32, u32)> {
        let number = |n: SequenceNumber| n.since(self.base.sequence) / 1_000;
        ack.sack.as_slice().iter().map(|(left, right)| (number(*left), number(*right))).collect()
    }
}

#[test]
fn a_single_segment_is_acknowledged_after_the_delay() {
    let mut pair = Pair::established(delayed(), delayed());
    let from = pair.log.len();
    pair.send(CLIENT, b"request");
    let arrival = pair.now + RTT / 2;
    pair.run_for(RTT * 3);
    let acks = pure_acks(&pair, SERVER, from);
    assert_eq!(acks.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [arrival + Duration::from_millis(40)]);
    pair.finish();
}

#[test]
fn every_second_full_segment_is_acknowledged_at_once() {
    let mut hand = Hand::new(delayed());
    assert_eq!(hand.data(0, 1), None);
    assert_eq!(hand.data(1, 1).unwrap().acknowledgment, hand.number(2));
    assert_eq!(hand.data(2, 1), None);
    hand.pair.finish();
}

#[test]
fn the_first_segments_of_linux_are_acknowledged_quickly() {
    let mut hand = Hand::new(Config::linux());
    for n in 0..16 {
        assert!(hand.data(n, 1).is_some(), "segment {n}");
    }
    assert!(hand.data(16, 1).is_none());
    hand.pair.finish();
}

#[test]
fn an_answer_carries_the_acknowledgment_and_ends_quick_ones() {
    let mut pair = Pair::established(Config::linux(), Config::linux());
    pair.send(CLIENT, b"one");
    pair.run_for(RTT / 2);
    assert!(pair.log.last().unwrap().0.len == 0, "a quick acknowledgment");
    pair.send(SERVER, b"answer");
    pair.run_for(RTT);
    let from = pair.log.len();
    pair.send(CLIENT, b"two");
    pair.run_for(RTT / 2);
    assert!(pure_acks(&pair, SERVER, from).is_empty(), "interactive now");
    pair.send(SERVER, b"answer");
    assert!(pure_acks(&pair, SERVER, from).is_empty());
    pair.finish();
}

#[test]
fn the_bsd_sweep_acknowledges_at_its_ticks() {
    let mut pair = Pair::established(Config::bsd1999(), Config::bsd1999());
    let from = pair.log.len();
    pair.send(CLIENT, b"request");
    pair.run_for(RTT * 5);
    // Phase 123 ms, period 200 ms; the request arrives at 200 ms.
    let acks = pure_acks(&pair, SERVER, from);
    assert_eq!(acks.iter().map(|(at, _)| at.as_nanos() / 1_000_000).collect::<Vec<_>>(), [323]);
    pair.finish();
}

#[test]
fn a_segment_above_a_gap_and_one_that_fills_it_are_acknowledged_at_once() {
    let mut hand = Hand::new(delayed());
    assert_eq!(hand.data(1, 1).unwrap().acknowledgment, hand.number(0));
    assert_eq!(hand.data(2, 1).unwrap().acknowledgment, hand.number(0));
    assert_eq!(hand.data(0, 1).unwrap().acknowledgment, hand.number(3));
    assert_eq!(hand.pair.sides[SERVER].received, pattern(3_000));
    hand.pair.finish();
}

#[test]
fn sack_blocks_come_latest_first_and_at_most_three_beside_timestamps() {
    let mut hand = Hand::new(Config { comp_sack_nr: 0, ..Config::linux() });
    let blocks = |hand: &mut Hand, n| {
        let ack = hand.data(n, 1).unwrap();
        hand.blocks(&ack)
    };
    assert_eq!(blocks(&mut hand, 2), [(2, 3)]);
    assert_eq!(blocks(&mut hand, 4), [(4, 5), (2, 3)]);
    assert_eq!(blocks(&mut hand, 6), [(6, 7), (4, 5), (2, 3)]);
    assert_eq!(blocks(&mut hand, 8), [(8, 9), (6, 7), (4, 5)]);
    assert_eq!(blocks(&mut hand, 3), [(2, 5), (8, 9), (6, 7)]);
    assert_eq!(blocks(&mut hand, 0), [(2, 5), (8, 9), (6, 7)]);
    assert_eq!(blocks(&mut hand, 1), [(8, 9), (6, 7)]);
    assert_eq!(blocks(&mut hand, 5), [(8, 9)]);
    hand.pair.finish();
}

#[test]
fn four_sack_blocks_fit_without_timestamps_and_none_leave_unless_permitted() {
    let mut hand = Hand::new(Config { timestamps: false, comp_sack_nr: 0, ..Config::linux() });
    for n in [2, 4, 6] {
        hand.data(n, 1);
    }
    let ack = hand.data(8, 1).unwrap();
    assert_eq!(hand.blocks(&ack), [(8, 9), (6, 7), (4, 5), (2, 3)]);
    hand.pair.finish();
    let mut hand = Hand::new(Config { sack: false, ..Config::linux() });
    assert!(hand.data(2, 1).unwrap().sack.is_empty());
    hand.pair.finish();
}

#[test]
fn data_received_twice_is_reported_as_d_sack() {
    let mut hand = Hand::new(Config::linux());
    hand.data(0, 2);
    let ack = hand.data(0, 1).unwrap();
    assert_eq!(
        (ack.acknowledgment, hand.blocks(&ack)),
        (hand.number(2), vec![(0, 1)]),
        "RFC 2883 section 4.1.1"
    );
    hand.data(4, 2);
    let ack = hand.data(4, 1).unwrap();
    assert_eq!(hand.blocks(&ack), [(4, 5), (4, 6)], "RFC 2883 section 4.2.2");
    let ack = hand.data(3, 2).unwrap();
    assert_eq!(hand.blocks(&ack), [(4, 5), (3, 6)], "RFC 2883 section 4.2.1");
    let ack = hand.data(6, 1).unwrap();
    assert_eq!(hand.blocks(&ack), [(3, 7)], "reported once");
    hand.pair.finish();
}

#[test]
fn overlapping_segments_keep_the_first_copy_of_each_byte() {
    let mut hand = Hand::new(Config::linux());
    for (n, count) in [(3, 2), (1, 3), (0, 2), (4, 3), (6, 1), (2, 9)] {
        hand.data(n, count);
    }
    assert_eq!(hand.pair.sides[SERVER].received, pattern(11_000));
    assert_eq!(hand.pair.server().readable(), 0);
    hand.pair.finish();
}

#[test]
fn counted_payload_holds_nothing_and_counts_everything() {
    let mut hand = Hand::new(Config::linux());
    hand.pair.command(SERVER, |tcp, _| tcp.set_receive_policy(ReceivePolicy::Counted));
    for n in [5, 3, 1, 7] {
        hand.data(n, 1);
        assert_eq!(hand.pair.pool.in_use(), 0);
    }
    hand.data(0, 1);
    assert_eq!(hand.pair.sides[SERVER].received, [0; 2_000]);
    hand.data(2, 6);
    assert_eq!(hand.pair.sides[SERVER].received, [0; 8_000]);
    hand.pair.finish();
}

#[test]
fn a_full_buffer_closes_the_window_and_reading_opens_it() {
    let config = Config { receive_buffer: ReceiveBuffer::Fixed(10_000), ..Config::linux() };
    let mut pair = Pair::established(Config::linux(), config);
    pair.sides[SERVER].reading = false;
    pair.send(CLIENT, &pattern(30_000));
    // The last part of the window is less than a segment: it waits for the sender's override.
    pair.run_for(RTT * 8);
    assert_eq!(pair.server().readable(), 10_000);
    assert_eq!(pair.client().send_window(), 0);
    let from = pair.log.len();
    assert_eq!(pair.read(SERVER, 1_000), 1_000);
    pair.command(SERVER, |_, _| ());
    assert_eq!(pair.log.len(), from, "less than a segment is not worth telling");
    pair.sides[SERVER].reading = true;
    pair.read(SERVER, u64::MAX);
    pair.command(SERVER, |_, _| ());
    assert_eq!(pair.log[from].0.header.window, 10_000, "a window update");
    pair.run_for(RTT * 10);
    assert_eq!(pair.sides[SERVER].received, pattern(30_000));
    assert_eq!(pair.client().statistics().retransmitted, 0);
    pair.finish();
}

#[test]
fn a_zero_window_is_probed_with_back_off_until_it_opens() {
    let config = Config { receive_buffer: ReceiveBuffer::Fixed(5_000), ..Config::linux() };
    let mut pair = Pair::established(Config::linux(), config);
    pair.sides[SERVER].reading = false;
    pair.send(CLIENT, &pattern(9_000));
    pair.run_for(Duration::from_secs(1));
    let from = pair.log.len();
    let begin = pair.now;
    pair.run_for(Duration::from_secs(20));
    // The update that opens the window is lost: only a probe can bring it.
    let opens = pair.now;
    pair.path =
        Box::new(
            move |crossing| {
                if crossing.from == SERVER && crossing.at == opens { Fate::Drop } else { Fate::Deliver }
            },
        );
    let probes: Vec<_> =
        pure_acks(&pair, CLIENT, from).iter().map(|(at, _)| (*at - begin).as_millis()).collect();
    assert!(probes.len() >= 4, "{probes:?}");
    for pair in probes.windows(3) {
        assert_eq!((pair[2] - pair[1]), 2 * (pair[1] - pair[0]), "{probes:?}");
    }
    assert_eq!(pair.client().state(), State::Established);
    pair.sides[SERVER].reading = true;
    pair.read(SERVER, u64::MAX);
    pair.command(SERVER, |_, _| ());
    pair.run_for(Duration::from_millis(100));
    assert!(pair.sides[SERVER].received.len() < 9_000, "the update is lost");
    pair.run_for(Duration::from_secs(120));
    assert_eq!(pair.sides[SERVER].received, pattern(9_000));
    pair.finish();
}

#[test]
fn probes_that_nobody_answers_end_the_connection() {
    let config = Config { retries: 4, ..Config::linux() };
    let mut pair =
        Pair::established(config.clone(), Config { receive_buffer: ReceiveBuffer::Fixed(5_000), ..config });
    pair.sides[SERVER].reading = false;
    pair.send(CLIENT, &pattern(9_000));
    pair.run_for(Duration::from_secs(1));
    let from = pair.log.len();
    pair.path = Box::new(|_| Fate::Drop);
    pair.run_for(Duration::from_secs(200));
    assert!(pair.sides[CLIENT].has(Event::TimedOut));
    assert_eq!(pure_acks(&pair, CLIENT, from).len(), 4, "as many as retries");
    pair.finish();
}

#[test]
fn a_two_kilobyte_buffer_that_is_read_slowly_still_gets_everything() {
    let slow = Config { receive_buffer: ReceiveBuffer::Fixed(2_048), ..Config::linux() };
    let mut pair = Pair::established(slow, Config::linux());
    pair.sides[CLIENT].reading = false;
    pair.send(SERVER, &pattern(20_000));
    for _ in 0..400 {
        pair.run_for(Duration::from_millis(50));
        pair.read(CLIENT, 100);
        pair.command(CLIENT, |_, _| ());
    }
    assert_eq!(pair.sides[CLIENT].received, pattern(20_000));
    let tiny = pair.data_from(SERVER).filter(|(crossing, _)| crossing.len < 500).count();
    assert!(tiny <= 1, "no silly windows: {tiny} small segments");
    assert_eq!(pair.server().statistics().retransmitted, 0);
    pair.finish();
}

#[test]
fn the_window_never_moves_back_and_is_never_overrun() {
    let config = Config { receive_buffer: ReceiveBuffer::Fixed(300_000), ..Config::linux() };
    let mut pair = Pair::established(config.clone(), config);
    pair.sides[CLIENT].reading = false;
    pair.send_virtual(SERVER, 2_000_000);
    let mut edge = None;
    for round in 0..2_000_u64 {
        pair.run_for(Duration::from_millis(7));
        pair.read(CLIENT, 500 * (round % 13));
        pair.command(CLIENT, |_, _| ());
        assert!(pair.client().readable() <= 300_000 + 64);
    }
    for (crossing, _) in
        pair.log.iter().filter(|(c, _)| c.from == CLIENT && !c.header.flags.contains(Flags::SYN))
    {
        let now = crossing.header.acknowledgment + (u32::from(crossing.header.window) << 3);
        assert!(edge.is_none_or(|last: SequenceNumber| last.at_or_before(now)));
        edge = Some(now);
    }
    pair.finish();
}

#[test]
fn data_beyond_the_window_is_cut_and_answered() {
    let mut hand = Hand::new(Config { receive_buffer: ReceiveBuffer::Fixed(2_500), ..Config::linux() });
    hand.pair.sides[SERVER].reading = false;
    let ack = hand.data(0, 4).unwrap();
    assert_eq!(ack.acknowledgment, hand.base.sequence + 2_500);
    assert_eq!(ack.window, 0);
    let probe = hand.data(3, 1).unwrap();
    assert_eq!(probe.acknowledgment, hand.base.sequence + 2_500);
    hand.pair.finish();
}

#[test]
fn a_stored_payload_is_shared_not_copied_by_a_short_read() {
    let mut hand = Hand::new(Config::linux());
    hand.pair.sides[SERVER].reading = false;
    hand.data(0, 3);
    for _ in 0..30 {
        assert_eq!(hand.pair.read(SERVER, 100), 100);
    }
    assert_eq!(hand.pair.sides[SERVER].received, pattern(3_000));
    assert_eq!(hand.pair.pool.in_use(), 0);
    hand.pair.finish();
}
