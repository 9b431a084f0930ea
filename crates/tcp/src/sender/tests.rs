//! Tests of what the wire shows late or not at all.

use super::*;
use crate::config::{CongestionKind, Nagle, SendBufferSize};
use crate::types::Chunk;
use wasp_wire::{SackBlocks, Timestamps};

/// So near to the end of the numbers that they wrap.
const ISS: SequenceNumber = SequenceNumber(u32::MAX - 2_500);
const PEER: SequenceNumber = SequenceNumber(7_000);
const MSS: u32 = 1_000;
const WINDOW: u32 = 60_000;
const RTT: Duration = Duration::from_millis(100);

fn config() -> Config {
    Config {
        mss: MSS as u16,
        congestion: CongestionKind::Reno,
        hystart: false,
        segmentation_offload: false,
        ..Config::linux()
    }
}

fn now(config: &Config, millis: u64) -> Now<'_> {
    let clocks = Clocks { phase: Duration::ZERO, timestamp_offset: 0x8000_0000 };
    Now::new(config, clocks, Instant::ZERO + Duration::from_millis(millis))
}

/// A connection at time zero that knows a round-trip time, with a congestion window of ten segments.
fn sender(config: &Config) -> Sender {
    let mut sender = Sender::new(config, ISS);
    sender.rto.note_rtt(RTT);
    sender.rto.sample(config, RTT, ISS, ISS);
    sender.establish(&now(config, 0), ISS, Agreed { sack: config.sack, ecn: false }, config.initial_window);
    sender.set_window(&answer(0, &[]), 0);
    sender
}

/// Where a segment of the stream starts.
fn start(segment: u32) -> SequenceNumber {
    ISS + 1 + segment * MSS
}

/// An acknowledgment of the first `acked` segments that reports these ranges of segments.
fn answer(acked: u32, ranges: &[(u32, u32)]) -> TcpHeader {
    let mut sack = SackBlocks::default();
    for (left, right) in ranges {
        sack.push(start(*left), start(*right));
    }
    TcpHeader {
        sequence: PEER,
        acknowledgment: start(acked),
        flags: Flags::ACK,
        window: WINDOW as u16,
        sack,
        ..TcpHeader::default()
    }
}

fn send(sender: &mut Sender, now: &Now<'_>, segments: u32) {
    sender.send(now.config, Chunk::Virtual(u64::from(segments * MSS)));
    for _ in 0..segments {
        sender.on_new_sent(now, MSS, false);
    }
}

#[test]
fn a_window_that_opens_ends_the_row_of_probes() {
    let config = config();
    let mut sender = sender(&config);
    sender.probes = 3;
    sender.update_window(&TcpHeader { window: 0, ..answer(0, &[]) }, 0);
    assert_eq!(sender.probes, 3);
    sender.update_window(&TcpHeader { window: 1, ..answer(0, &[]) }, 0);
    assert_eq!(sender.probes, 0);
}

#[test]
fn a_repeated_acknowledgment_shows_life_only_where_the_window_has_shrunk() {
    let config = config();
    let timeouts = |window| {
        let mut sender = sender(&config);
        send(&mut sender, &now(&config, 0), 2);
        sender.timeouts = 2;
        sender.acknowledge(&now(&config, 100), &TcpHeader { window, ..answer(0, &[]) }, 0);
        sender.timeouts
    };
    assert_eq!((timeouts(2_000), timeouts(1_999)), (2, 0));
}

/// Linux `tcp_process_tlp_ack`: only an acknowledgment without news, `FLAG_DATA_SACKED` among them, shows that both have arrived.
#[test]
fn a_probe_is_settled_by_a_repetition_that_reports_nothing() {
    let config = config();
    for (ranges, probing) in [(&[][..], false), (&[(3, 4)], true)] {
        let mut sender = sender(&config);
        send(&mut sender, &now(&config, 0), 2);
        sender.on_probe_timeout();
        sender.on_resent(&now(&config, 200), 1, false);
        sender.acknowledge(&now(&config, 210), &answer(2, &[]), 0);
        send(&mut sender, &now(&config, 210), 4);
        assert!(sender.recovery.is_probing());
        sender.acknowledge(&now(&config, 310), &answer(2, ranges), 0);
        assert_eq!(sender.recovery.is_probing(), probing, "{ranges:?}");
    }
}

#[test]
fn a_probe_is_settled_by_a_repetition_with_nothing_in_flight() {
    let config = config();
    let mut sender = sender(&config);
    send(&mut sender, &now(&config, 0), 2);
    sender.on_probe_timeout();
    sender.on_resent(&now(&config, 200), 1, false);
    sender.acknowledge(&now(&config, 210), &answer(2, &[]), 0);
    sender.acknowledge_nothing(&answer(2, &[]), 1);
    assert!(sender.recovery.is_probing(), "data is no repetition");
    sender.acknowledge_nothing(&answer(2, &[]), 0);
    assert!(!sender.recovery.is_probing());
}

/// Linux `tcp_may_raise_cwnd`: what is selectively acknowledged counts (`FLAG_FORWARD_PROGRESS`), a D-SACK does not.
#[test]
fn where_reordering_is_usual_reports_of_arrivals_grow_the_window_and_duplicates_do_not() {
    let config = config();
    let grown_by = |range| {
        let mut sender = sender(&config);
        // Two overtake a segment, which shows reordering. Then five do, which are more than usually show a loss.
        for (begin, first, end) in [(0, 0, 3), (200, 3, 9)] {
            send(&mut sender, &now(&config, begin), end - first);
            sender.acknowledge(&now(&config, begin + 100), &answer(first, &[(first + 1, end)]), 0);
            sender.acknowledge(&now(&config, begin + 110), &answer(end, &[]), 0);
        }
        send(&mut sender, &now(&config, 400), 3);
        sender.limited = true;
        sender.note_resent();
        let before = sender.congestion.window();
        let outcome = sender.acknowledge(&now(&config, 500), &answer(9, &[range]), 0);
        assert!(outcome.duplicate && !sender.recovery.is_fast());
        sender.congestion.window() - before
    };
    assert_eq!((grown_by((10, 11)), grown_by((8, 9))), (MSS, 0));
}

/// Linux `tcp_ack_update_rtt`: an echo counts where something new is acknowledged.
#[test]
fn a_repeated_acknowledgment_gives_no_sample_of_the_round_trip_time() {
    let config = config();
    let mut sender = sender(&config);
    send(&mut sender, &now(&config, 0), 2);
    sender.on_resent(&now(&config, 400), 1, false);
    let timestamps = Some(Timestamps { value: 1, echo: now(&config, 0).timestamp() });
    // The report of a retransmission, with the echo of what came before the gap.
    sender.acknowledge(&now(&config, 500), &TcpHeader { timestamps, ..answer(0, &[(1, 2)]) }, 0);
    assert_eq!(sender.rto.srtt(&config), Some(RTT));
    sender.acknowledge(&now(&config, 500), &TcpHeader { timestamps, ..answer(1, &[]) }, 0);
    assert_eq!(sender.rto.srtt(&config), Some(RTT * 12 / 8), "an eighth of 500 ms");
}

/// Linux `tcp_clean_rtx_queue`: the round trip of what is reported must be longer than the time since the first segment last left.
#[test]
fn a_report_restarts_the_timer_where_it_tells_of_what_left_before_the_first_segment_did() {
    let config = config();
    let restarts = |steps: &[(&str, u64)]| {
        let mut sender = sender(&config);
        send(&mut sender, &now(&config, 10), 2);
        for (step, at) in steps {
            match *step {
                "first" => sender.on_resent(&now(&config, *at), 0, false),
                _ => send(&mut sender, &now(&config, *at), 1),
            }
        }
        sender.acknowledge(&now(&config, 120), &answer(0, &[(2, 3)]), 0).restart_timer
    };
    assert!(!restarts(&[("reported", 10)]) && !restarts(&[("reported", 20)]));
    assert!(!restarts(&[("first", 20), ("reported", 21)]));
    assert!(restarts(&[("reported", 20), ("first", 21)]));
    assert!(restarts(&[("reported", 20), ("first", 20)]), "at the same time, and after it");
    assert!(!restarts(&[("first", 20), ("reported", 20)]));
}

/// Linux `tcp_may_update_window`, `FLAG_NOT_DUP`.
#[test]
fn a_repetition_has_no_data_acknowledges_nothing_new_and_brings_no_window() {
    let config = config();
    let mut sender = sender(&config);
    sender.scale = 2;
    send(&mut sender, &now(&config, 0), 2);
    let base = TcpHeader { window: 1_000, ..answer(0, &[]) };
    sender.update_window(&base, 2);
    let cases = [
        (base, 0, true),
        (base, 1, false),
        (TcpHeader { acknowledgment: start(1), ..base }, 0, false),
        (TcpHeader { window: 1_001, ..base }, 0, false),
        (TcpHeader { window: 999, ..base }, 0, true),
        (TcpHeader { window: 0, ..base }, 0, false),
        (TcpHeader { sequence: PEER + 1, ..base }, 0, false),
        (TcpHeader { sequence: PEER - 1, window: 1_001, ..base }, 0, true),
    ];
    for (header, len, expected) in cases {
        assert_eq!(sender.is_repeated(&header, len), expected, "{header:?}, {len}");
    }
}

/// Linux `tcp_process_loss`: `tcp_send_head(sk) && after(tcp_wnd_end(tp), tp->snd_nxt)`.
#[test]
fn new_data_may_leave_where_the_peers_window_has_room() {
    let config = config();
    let may_send_new = |unsent, fin, window| {
        let mut sender = sender(&config);
        send(&mut sender, &now(&config, 0), 2);
        sender.send(&config, Chunk::Virtual(unsent));
        sender.fin = fin;
        sender.window = window;
        sender.context(&now(&config, 0), None).1.may_send_new
    };
    assert!(may_send_new(1, Fin::Open, 2_001) && may_send_new(0, Fin::Queued, 2_001));
    assert!(!may_send_new(1, Fin::Open, 2_000) && !may_send_new(0, Fin::Queued, 2_000));
    assert!(!may_send_new(0, Fin::Open, 2_001) && !may_send_new(0, Fin::Sent, 2_001));
}

/// Linux `tcp_is_sackblock_valid`.
#[test]
fn ranges_that_cannot_be_are_ignored() {
    let config = config();
    let held = |acked, range| {
        let mut sender = sender(&config);
        send(&mut sender, &now(&config, 0), 5);
        sender.acknowledge(&now(&config, 100), &answer(acked, &[range]), 0);
        sender.scoreboard.sacked_segments()
    };
    assert_eq!((held(0, (1, 3)), held(0, (4, 5))), (2, 1));
    assert_eq!(held(0, (4, 6)), 0, "it ends behind what was sent");
    assert_eq!((held(0, (3, 2)), held(0, (3, 3))), (0, 0), "it ends before it starts, or there");
    assert_eq!(held(0, (0, 2)), 0, "it starts with what is not acknowledged");
    assert_eq!(held(2, (1, 4)), 0, "it starts with what is acknowledged");
}

/// Linux `tcp_is_cwnd_limited`: in slow start the window may be twice what was in flight.
#[test]
fn a_window_is_in_use_that_is_limited_or_in_slow_start_less_than_twice_the_flight() {
    let config = config();
    let in_use = |limited, packets, ssthresh| {
        let config = Config { initial_ssthresh: ssthresh, ..config.clone() };
        let mut sender = sender(&config);
        (sender.limited, sender.max_packets) = (limited, packets);
        sender.window_in_use(&config)
    };
    assert!(in_use(false, 6, u32::MAX) && !in_use(false, 5, u32::MAX));
    assert!(!in_use(false, 10, 10 * MSS) && in_use(true, 0, 10 * MSS));
}

/// Linux `tcp_write_xmit`, `tcp_cwnd_validate`: `is_cwnd_limited`, `max_packets_out` and `cwnd_usage_seq`.
#[test]
fn the_use_of_the_window_is_noted_where_it_is_the_strongest_of_the_round_trip() {
    let config = config();
    // Six segments were in flight, and the window limited them or not; the round trip ends with the segment `end`. Now there are
    // `flight`, after something was sent or not.
    let noted = |limited, end: u32, flight, sent| {
        let mut sender = sender(&config);
        send(&mut sender, &now(&config, 0), flight);
        sender.send(&config, Chunk::Virtual(1));
        (sender.limited, sender.max_packets, sender.usage_end) = (limited, 6, start(end));
        sender.note_usage(sent);
        (sender.limited, sender.max_packets, sender.usage_end.since(start(0)) / MSS)
    };
    // The round trip is over: whatever it is.
    assert_eq!(noted(true, 0, 5, true), (false, 5, 5));
    // The window limits: always, with nothing sent too. One segment of room is room.
    assert_eq!(noted(false, 20, 10, true), (true, 10, 10));
    assert_eq!(noted(true, 20, 10, true), (true, 10, 10));
    assert_eq!(noted(false, 20, 10, false), (true, 10, 10));
    assert_eq!(noted(false, 20, 9, true), (false, 9, 9));
    // More in flight counts, as long as the window has not limited; with nothing sent it does not.
    assert_eq!(noted(false, 20, 7, true), (false, 7, 7));
    assert_eq!(noted(false, 20, 6, true), (false, 6, 20));
    assert_eq!(noted(false, 20, 5, true), (false, 6, 20));
    assert_eq!(noted(true, 20, 7, true), (true, 6, 20));
    assert_eq!(noted(false, 0, 7, false), (false, 6, 0));
}

/// A sender of which two segments left at 100 ms, and only the second has arrived by 200 ms.
fn overtaken(config: &Config) -> Sender {
    let mut sender = sender(config);
    send(&mut sender, &now(config, 100), 2);
    sender.acknowledge(&now(config, 200), &answer(0, &[(1, 2)]), 0);
    sender
}

/// A quarter of the round trip, and Linux's `TCP_TIMEOUT_MIN_US` (`tcp_rack_mark_lost`).
#[test]
fn the_reordering_timer_waits_for_two_milliseconds_more() {
    let config = config();
    let sender = overtaken(&config);
    assert_eq!(sender.reordering_wait(&now(&config, 200)), Some(Duration::from_millis(25 + 2)));
}

#[test]
fn the_reordering_timer_begins_a_recovery_once() {
    let config = config();
    let mut sender = overtaken(&config);
    assert!(!sender.on_reordering_timeout(&now(&config, 201)), "nothing is overdue");
    assert!(sender.on_reordering_timeout(&now(&config, 227)));
    assert!(!sender.on_reordering_timeout(&now(&config, 227)), "it has begun");
}

/// Linux `tcp_skb_spurious_retrans`: what left while our clock showed the value that is echoed may be what is acknowledged.
#[test]
fn an_echo_answers_what_left_before_the_clock_went_on() {
    let config = config();
    let last = |echo| {
        let timestamps = Some(Timestamps { value: 1, echo });
        let now = Now { at: Instant::ZERO + Duration::from_micros(250_400), ..now(&config, 0) };
        credible_by_echo(&now, &TcpHeader { timestamps, ..answer(0, &[]) })
    };
    assert_eq!(last(now(&config, 200).timestamp()), Instant::from_nanos(200_999_999));
    assert_eq!(last(now(&config, 250).timestamp()), Instant::from_nanos(250_999_999));
    assert_eq!(last(0), Instant::MAX, "no echo");
}

#[test]
fn the_persist_timer_is_for_what_waits_with_nothing_in_flight() {
    let config = config();
    let needs = |in_flight, unsent, fin| {
        let mut sender = sender(&config);
        send(&mut sender, &now(&config, 0), in_flight);
        sender.send(&config, Chunk::Virtual(unsent));
        sender.fin = fin;
        sender.needs_persist()
    };
    assert!(needs(0, 1, Fin::Open) && needs(0, 0, Fin::Queued));
    assert!(!needs(0, 0, Fin::Open) && !needs(1, 1, Fin::Open) && !needs(1, 0, Fin::Queued));
}

/// What leaves of `unsent` bytes with 200 in flight, where the peer has never offered more than `window`.
fn second(config: &Config, unsent: u64, window: u32, probe: Probe) -> Plan {
    let mut sender = sender(config);
    sender.send(config, Chunk::Virtual(200));
    sender.on_new_sent(&now(config, 0), 200, false);
    sender.send(config, Chunk::Virtual(unsent));
    (sender.window, sender.max_window, sender.probe) = (window, window, probe);
    sender.plan(&now(config, 0), MSS)
}

#[test]
fn half_of_the_peers_window_is_not_small() {
    let config = Config { nagle: Nagle::Classic, ..config() };
    let plan = |unsent| second(&config, unsent, 1_600, Probe::None);
    assert_eq!((plan(799), plan(800)), (Plan::Nothing, Plan::New { len: 800, fin: false }));
}

/// Linux `tcp_send_loss_probe`: `TCP_NAGLE_OFF`.
#[test]
fn a_small_segment_that_waits_is_a_probe() {
    let config = Config { nagle: Nagle::Classic, ..config() };
    let plan = |probe| second(&config, 100, WINDOW, probe);
    assert_eq!((plan(Probe::None), plan(Probe::Tail)), (Plan::Nothing, Plan::New { len: 100, fin: false }));
}

#[test]
fn the_send_buffer_may_be_filled() {
    let plan = |bytes| {
        let config = Config { send_buffer: SendBufferSize::Fixed(bytes), ..config() };
        second(&config, 1_000, WINDOW, Probe::None)
    };
    assert_eq!((plan(1_199), plan(1_200)), (Plan::Nothing, Plan::New { len: 1_000, fin: false }));
}

/// 4.4BSD's `tcp_xmit_timer` for a first sample of three: it counts from one, and two ticks follow.
#[test]
fn bsd_times_what_is_sent() {
    let config = Config { mss: MSS as u16, ..Config::bsd1999() };
    let mut sender = Sender::new(&config, ISS);
    sender.establish(&now(&config, 0), ISS, Agreed::default(), config.initial_window);
    send(&mut sender, &now(&config, 100), 1);
    sender.acknowledge(&now(&config, 1_300), &answer(1, &[]), 0);
    assert_eq!(sender.rto.srtt(&config), Some(config.timer_granularity * 3));
    assert_eq!(sender.rto.current(&config), config.timer_granularity * (3 + 6));
}
