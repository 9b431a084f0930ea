//! The sending side: timeouts, retransmissions, small segments, idle times, windows.

use crate::common::*;
use wasp_tcp::{
    Chunk, Config, CongestionKind, Endpoint, Event, IdleRestart, Nagle, ReceiveBuffer, RecoveryKind,
    SendBufferSize, State,
};
use wasp_units::Duration;
use wasp_wire::Flags;

const RTT: Duration = Duration::from_millis(100);
const VARIANTS: [RecoveryKind; 3] = [RecoveryKind::Reno, RecoveryKind::NewReno, RecoveryKind::Sack];

fn config(recovery: RecoveryKind) -> Config {
    Config {
        recovery,
        sack: recovery == RecoveryKind::Sack,
        congestion: CongestionKind::Reno,
        hystart: false,
        ..Config::linux()
    }
}

fn lose_data(from: usize, indices: &'static [u64]) -> Path {
    let mut seen = 0;
    Box::new(move |crossing| {
        if crossing.from != from || crossing.len == 0 {
            return Fate::Deliver;
        }
        seen += 1;
        if indices.contains(&(seen - 1)) { Fate::Drop } else { Fate::Deliver }
    })
}

fn data_times(pair: &Pair, from: usize) -> Vec<u64> {
    pair.data_from(from).map(|(crossing, _)| crossing.at.as_nanos() / 1_000_000).collect()
}

#[test]
fn an_endpoint_is_small_enough_for_tens_of_thousands() {
    assert!(size_of::<Endpoint>() <= 752, "{} bytes", size_of::<Endpoint>());
}

#[test]
fn a_lost_last_segment_waits_for_the_timer() {
    for kind in VARIANTS {
        let mut pair = Pair::established(config(kind), config(kind));
        pair.path = lose_data(SERVER, &[2]);
        pair.send(SERVER, &pattern(3 * 1_448));
        pair.run_for(Duration::from_secs(2));
        assert_eq!(pair.sides[CLIENT].received, pattern(3 * 1_448));
        // Sent at 150 ms; restarted by the acknowledgment at 250 ms; the RTO is 300 ms.
        assert_eq!(data_times(&pair, SERVER), [150, 150, 150, 550], "{kind:?}");
        assert_eq!(pair.server().statistics().timeouts, 1);
        pair.finish();
    }
}

#[test]
fn a_fast_retransmission_starts_the_timer_anew() {
    for kind in VARIANTS {
        let mut pair = Pair::established(config(kind), config(kind));
        // The first segment, and its retransmission at the third report.
        pair.path = lose_data(SERVER, &[0, 6]);
        let first = pair.template(SERVER).sequence;
        pair.send(SERVER, &pattern(6 * 1_448));
        pair.run_for(Duration::from_secs(2));
        assert_eq!(pair.sides[CLIENT].received, pattern(6 * 1_448));
        let of_first = pair.data_from(SERVER).filter(|(crossing, _)| crossing.header.sequence == first);
        let times: Vec<_> = of_first.map(|(crossing, _)| crossing.at.as_nanos() / 1_000_000).collect();
        // Reported after 100 ms; the RTO is 300 ms.
        assert_eq!(times, [150, 250, 550], "{kind:?}");
        pair.finish();
    }
}

#[test]
fn a_timeout_starts_again_from_one_segment() {
    for kind in VARIANTS {
        let mut pair = Pair::established(config(kind), config(kind));
        pair.path = lose_data(SERVER, &[0, 1, 2, 3, 4, 5]);
        pair.send(SERVER, &pattern(6 * 1_448));
        pair.run_for(Duration::from_millis(320));
        assert_eq!(pair.server().cwnd(), 1_448);
        assert_eq!(pair.server().ssthresh(), 5 * 1_448, "{kind:?}: half the window");
        assert_eq!(pair.server().rto(), Duration::from_millis(600));
        pair.run_for(Duration::from_secs(2));
        assert_eq!(
            data_times(&pair, SERVER)[6..],
            [450, 550, 550, 650, 650, 650],
            "{kind:?}: slow start, go-back-N"
        );
        assert_eq!(pair.sides[CLIENT].received, pattern(6 * 1_448));
        pair.finish();
    }
}

#[test]
fn sack_resends_after_a_timeout_only_what_is_missing() {
    let mut pair = Pair::established(config(RecoveryKind::Sack), config(RecoveryKind::Sack));
    // The last four of a window, of which two are held: too few to recover fast.
    pair.path = lose_data(SERVER, &[0, 2, 4, 5]);
    pair.send(SERVER, &pattern(6 * 1_448));
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.sides[CLIENT].received, pattern(6 * 1_448));
    let statistics = *pair.server().statistics();
    assert_eq!((statistics.timeouts, statistics.fast_retransmits, statistics.retransmitted), (1, 0, 4));
    pair.finish();
}

#[test]
fn repeated_timeouts_double_the_rto_and_a_sample_resets_it() {
    let mut pair = Pair::established(config(RecoveryKind::Sack), config(RecoveryKind::Sack));
    pair.path = lose_data(SERVER, &[0, 1, 2]);
    pair.send(SERVER, b"x");
    pair.run_for(Duration::from_secs(5));
    assert_eq!(data_times(&pair, SERVER), [150, 450, 1_050, 2_250]);
    let statistics = *pair.server().statistics();
    let first = (statistics.first_timeouts, statistics.first_timeouts_ms);
    assert_eq!((statistics.timeouts, first), (3, (1, 300)));
    pair.send(SERVER, b"y");
    pair.run_for(Duration::from_secs(1));
    assert!(pair.server().rto() < Duration::from_millis(320));
    pair.finish();
}

#[test]
fn without_timestamps_a_retransmitted_segment_gives_no_sample() {
    let plain = Config { timestamps: false, ..config(RecoveryKind::Sack) };
    let mut pair = Pair::established(plain.clone(), plain);
    pair.path = lose_data(SERVER, &[0]);
    pair.send(SERVER, b"x");
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.server().unacknowledged(), 0);
    assert_eq!(pair.server().srtt(), Some(RTT), "Karn's algorithm");
    assert_eq!(pair.server().rto(), Duration::from_millis(600), "still backed off");
    pair.finish();
}

#[test]
fn bsd_times_one_segment_in_ticks_and_sends_again_after_one_to_two() {
    let mut pair = Pair::established(Config::bsd1999(), Config::bsd1999());
    pair.send(SERVER, b"x");
    pair.run_for(Duration::from_secs(1));
    pair.path = lose_data(SERVER, &[0]);
    let begin = pair.now;
    pair.send(SERVER, b"y");
    pair.run_for(Duration::from_secs(5));
    let again = pair.data_from(SERVER).last().unwrap().0.at;
    assert_eq!(again.as_nanos() / 1_000_000 % 500, 123, "at a tick");
    let waited = again - begin;
    assert!(
        waited > Duration::from_secs(1) && waited <= Duration::from_millis(1_500),
        "three ticks: {waited}"
    );
    pair.finish();
}

#[test]
fn a_transfer_larger_than_the_sequence_space_wraps() {
    let wide = |base: Config| Config {
        mss: 60_000,
        receive_buffer: ReceiveBuffer::Fixed(1 << 26),
        send_buffer: SendBufferSize::Fixed(1 << 26),
        ..base
    };
    for config in
        [wide(Config::linux()), Config { nagle: Nagle::Classic, ..wide(config(RecoveryKind::NewReno)) }]
    {
        let mut pair = Pair::established(config.clone(), config);
        (pair.sides[CLIENT].keeping, pair.logging) = (false, false);
        let mut count = 0_u64;
        pair.path = Box::new(move |crossing| {
            count += u64::from(crossing.len > 0);
            if crossing.len > 0 && count.is_multiple_of(5_003) { Fate::Drop } else { Fate::Deliver }
        });
        let total = (1_u64 << 32) + (1 << 31) + 12_345;
        pair.send_virtual(SERVER, total);
        pair.close(SERVER);
        pair.run_to(Duration::from_secs(10_000), |pair| pair.sides[CLIENT].has(Event::RemoteClosed));
        assert_eq!(pair.sides[CLIENT].received_len, total);
        assert!(pair.server().statistics().fast_retransmits > 10);
        pair.finish();
    }
}

#[test]
fn a_window_of_thousands_of_segments_recovers_many_holes() {
    let config = Config {
        receive_buffer: ReceiveBuffer::Fixed(1 << 24),
        send_buffer: SendBufferSize::Fixed(1 << 24),
        ..Config::linux()
    };
    let mut pair = Pair::established(config.clone(), config);
    pair.sides[CLIENT].keeping = false;
    let mut count = 0_u64;
    pair.path = Box::new(move |crossing| {
        count += u64::from(crossing.len > 0);
        if (8_000..12_000).contains(&count) && count.is_multiple_of(7) { Fate::Drop } else { Fate::Deliver }
    });
    pair.send_virtual(SERVER, 60_000_000);
    pair.run_to(Duration::from_secs(100), |pair| pair.sides[CLIENT].received_len == 60_000_000);
    assert_eq!(pair.server().statistics().timeouts, 0);
    pair.finish();
}

#[test]
fn after_an_idle_time_the_window_restarts() {
    for (idle_restart, segments) in
        [(IdleRestart::Keep, 80), (IdleRestart::RestartWindow, 10), (IdleRestart::Decay, 20)]
    {
        let config = Config { idle_restart, ..Config::linux() };
        let mut pair = Pair::established(config.clone(), config);
        pair.send(SERVER, &pattern(70 * 1_448));
        pair.run_for(Duration::from_millis(500));
        assert_eq!(pair.server().cwnd(), 80 * 1_448);
        // Last sent at 350 ms, RTO 300 ms: two of them by 1,050 ms.
        pair.run_for(Duration::from_millis(400));
        pair.send(SERVER, b"x");
        assert_eq!(pair.server().cwnd() / 1_448, segments, "{idle_restart:?}");
        pair.finish();
    }
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let used = |congestion_window_validation| {
        let config = Config { congestion_window_validation, ..Config::linux() };
        let mut pair = Pair::established(config.clone(), config);
        for _ in 0..20 {
            pair.send(SERVER, &pattern(1_000));
            pair.run_for(RTT);
        }
        let cwnd = pair.server().cwnd() / 1_448;
        pair.finish();
        cwnd
    };
    assert_eq!(used(true), 10);
    assert!(used(false) >= 28);
}

#[test]
fn nagle_holds_a_second_small_segment_back_and_never_a_fin() {
    for (nagle, expected) in [(Nagle::Off, 2), (Nagle::Minshall, 1), (Nagle::Classic, 1)] {
        let config = Config { nagle, ..Config::linux() };
        let mut pair = Pair::established(config.clone(), config.clone());
        pair.send(CLIENT, b"one");
        pair.send(CLIENT, b"two");
        assert_eq!(pair.data_from(CLIENT).count(), expected, "{nagle:?}");
        pair.run_for(RTT * 2);
        assert_eq!(pair.sides[SERVER].received, b"onetwo");
        pair.send(CLIENT, b"three");
        pair.command(CLIENT, |tcp, _| {
            tcp.send(Chunk::Shared((*b"four").into()));
            tcp.close();
        });
        pair.run_for(RTT / 2);
        assert_eq!(pair.sides[SERVER].received, b"onetwothreefour");
        pair.finish();
    }
}

#[test]
fn minshall_lets_a_small_segment_follow_full_ones_where_nagle_does_not() {
    for (nagle, sent) in [(Nagle::Minshall, 3), (Nagle::Classic, 2)] {
        let config = Config { nagle, ..Config::linux() };
        let mut pair = Pair::established(config.clone(), config);
        pair.send(SERVER, &pattern(2 * 1_448 + 100));
        assert_eq!(pair.data_from(SERVER).count(), sent, "{nagle:?}");
        pair.finish();
    }
}

#[test]
fn a_fixed_send_buffer_bounds_what_is_in_flight() {
    let config = Config { send_buffer: SendBufferSize::Fixed(5_000), ..Config::linux() };
    let mut pair = Pair::established(config.clone(), config);
    pair.send_virtual(CLIENT, 20_000);
    assert_eq!((pair.client().flight(), pair.client().unsent()), (3 * 1_448, 20_000 - 3 * 1_448));
    pair.run_for(RTT * 6);
    assert_eq!(pair.sides[SERVER].received_len, 20_000);
    pair.finish();
}

/// Linux `tcp_sndbuf_expand`, `sk_stream_is_writeable`: what is not written yet does not leave, and neither does the FIN behind it.
#[test]
fn the_application_writes_on_after_the_acknowledgments_that_came_together() {
    let send_buffer = SendBufferSize::Tuned { overhead: 576, most: 4 << 20 };
    let config = Config { hystart: false, send_buffer, ..Config::linux() };
    let mut pair = Pair::established(config.clone(), config);
    pair.send_virtual(SERVER, 200_000);
    pair.command(SERVER, |tcp, _| tcp.close());
    pair.run_for(RTT * 8);
    let mut bursts = std::collections::BTreeMap::<u64, u32>::new();
    for (crossing, _) in pair.data_from(SERVER) {
        *bursts.entry(crossing.at.as_nanos() / 1_000 - 150_000).or_default() += 1;
    }
    // 32 segments are written at first: half the client's window, of which ten leave, and ten more in their place. At 200 ms the window has
    // room for more than the two that are left, so that the buffer grows. What leaves 50 us later is acknowledged as much later.
    let expected = [(0, 10), (100_000, 20), (200_000, 2), (200_050, 38), (300_000, 4), (300_050, 65)];
    assert_eq!(bursts.into_iter().collect::<Vec<_>>(), expected);
    assert_eq!(pair.sides[CLIENT].received_len, 200_000);
    assert_eq!(pair.sides[CLIENT].endpoint.as_ref().map(Endpoint::state), Some(State::CloseWait));
    pair.finish();
}

#[test]
fn nothing_is_written_after_the_connection_has_ended() {
    let send_buffer = SendBufferSize::Tuned { overhead: 576, most: 4 << 20 };
    let config = Config { hystart: false, send_buffer, ..Config::linux() };
    let mut pair = Pair::established(config.clone(), config);
    pair.send_virtual(SERVER, 200_000);
    // The application has been told of room, and has not written.
    pair.run_for(RTT * 2 + Duration::from_micros(20));
    let waiting = pair.server().unwritten();
    assert!(waiting > 0 && pair.server().poll_timeout() == Some(pair.now + Duration::from_micros(30)));
    pair.command(SERVER, |tcp, _| tcp.abort());
    assert!(pair.run(Duration::from_secs(1)), "nothing is due any more");
    pair.finish();
}

/// What waits for room leaves when the peer's window opens again, and the FIN behind it.
#[test]
fn a_closed_window_holds_back_what_waits_for_room() {
    let send_buffer = SendBufferSize::Tuned { overhead: 576, most: 50_000 };
    let config = Config { send_buffer, ..Config::linux() };
    let client = Config { receive_buffer: ReceiveBuffer::Fixed(60_000), ..Config::linux() };
    let mut pair = Pair::established(client, config);
    pair.sides[CLIENT].reading = false;
    pair.send_virtual(SERVER, 300_000);
    pair.command(SERVER, |tcp, _| tcp.close());
    pair.run_for(Duration::from_secs(20));
    assert_eq!(pair.server().send_window(), 0);
    assert!(pair.server().unwritten() > 150_000);
    pair.sides[CLIENT].reading = true;
    pair.read(CLIENT, u64::MAX);
    pair.run_for(Duration::from_secs(60));
    assert_eq!((pair.sides[CLIENT].received_len, pair.server().unwritten()), (300_000, 0));
    assert_eq!(pair.sides[CLIENT].endpoint.as_ref().map(Endpoint::state), Some(State::CloseWait));
    pair.finish();
}

#[test]
fn psh_marks_the_last_byte_written_and_the_end_of_a_frame() {
    for (segmentation_offload, expected) in [(false, [false; 4]), (true, [false, true, false, true])] {
        let mut pair = Pair::established(Config::linux(), Config { segmentation_offload, ..Config::linux() });
        pair.send(SERVER, &pattern(5 * 1_448));
        let pushed: Vec<_> =
            pair.data_from(SERVER).map(|(crossing, _)| crossing.header.flags.contains(Flags::PSH)).collect();
        assert_eq!((&pushed[..4], pushed[4]), (&expected[..], true));
        pair.finish();
    }
}

/// Half of the window is a segment (Linux `tcp_cwnd_test`), and a segment alone is not pushed.
#[test]
fn a_window_of_three_has_no_frames() {
    let pushed_of = |initial_window| {
        let mut pair = Pair::established(Config::linux(), Config { initial_window, ..Config::linux() });
        pair.send(SERVER, &pattern(10 * 1_448));
        let pushed = |(crossing, _): &(Crossing, _)| crossing.header.flags.contains(Flags::PSH);
        pair.data_from(SERVER).map(pushed).collect::<Vec<_>>()
    };
    assert_eq!(pushed_of(3), [false; 3]);
    assert_eq!(pushed_of(4), [false, true, false, true]);
}

/// A SYN-ACK that was sent twice times nothing: the least round-trip time is that of the echoed timestamp.
#[test]
fn a_repeated_syn_ack_does_not_make_the_path_short() {
    let mut pair = Pair::new(Config::linux(), Config::linux());
    pair.path = Box::new(|crossing| {
        let first = crossing.from == SERVER && crossing.index == 0;
        if first { Fate::Drop } else { Fate::Deliver }
    });
    pair.connect();
    pair.run_for(RTT * 30);
    pair.send(SERVER, &pattern(5 * 1_448));
    let pushed = |(crossing, _): &(Crossing, _)| crossing.header.flags.contains(Flags::PSH);
    let found: Vec<_> = pair.data_from(SERVER).map(pushed).collect();
    assert_eq!(found, [false, true, false, true, true]);
}

#[test]
fn a_pool_without_room_loses_the_segment_and_the_timer_brings_it_back() {
    let mut pair = Pair::established(Config::linux(), Config::linux());
    let full = std::mem::replace(&mut pair.pool, wasp_packet::PayloadPool::new(0));
    pair.send(SERVER, &pattern(5_000));
    assert_eq!(pair.data_from(SERVER).count(), 0);
    assert_eq!(pair.server().flight(), 5_000, "it counts as sent");
    assert_eq!(pair.pool.exhausted(), 4);
    pair.pool = full;
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.sides[CLIENT].received, pattern(5_000));
    assert_eq!(pair.server().state(), State::Established);
    pair.finish();
}

#[test]
fn segments_with_sack_blocks_still_fit_the_mss() {
    let mut pair = Pair::established(Config::linux(), Config::linux());
    let mut count = 0;
    pair.path = Box::new(move |crossing| {
        count += u32::from(crossing.from == CLIENT && crossing.len > 0);
        if crossing.from == CLIENT && crossing.len > 0 && count % 3 == 1 { Fate::Drop } else { Fate::Deliver }
    });
    pair.send(CLIENT, &pattern(40_000));
    pair.send(SERVER, &pattern(40_000));
    pair.run_for(Duration::from_secs(20));
    assert_eq!(pair.sides[SERVER].received, pattern(40_000));
    assert_eq!(pair.sides[CLIENT].received, pattern(40_000));
    let mixed = pair.log.iter().filter(|(crossing, _)| crossing.len > 0 && !crossing.header.sack.is_empty());
    assert!(mixed.clone().count() > 0);
    for (crossing, _) in &pair.log {
        assert!(crossing.header.wire_len() as u32 + crossing.len <= 1_480, "{crossing:?}");
    }
    pair.finish();
}
