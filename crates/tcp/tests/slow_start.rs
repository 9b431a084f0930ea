//! A transfer without loss over an unlimited path takes exactly the round trips that slow start dictates.

use crate::common::*;
use wasp_tcp::{AckCounting, Config, Event, Nagle, ReceiveBuffer, SendBufferSize};
use wasp_units::{Duration, Instant};

const RTT: Duration = Duration::from_millis(100);
/// What an application that waited for room takes until it writes on.
const WAKING: Duration = Duration::from_micros(50);
const SIZES: [usize; 5] = [1, 1 << 10, 20 << 10, 64 << 10, 500 << 10];
const WINDOWS: [u32; 3] = [1, 2, 10];

/// When the last byte of a response of `size` arrives after the SYN left.
fn measure(config: Config, size: usize) -> (Duration, u32) {
    let mut pair = Pair::new(config.clone(), config);
    pair.connect();
    pair.run_to(RTT * 2, |pair| pair.sides[CLIENT].has(Event::Connected));
    assert_eq!(pair.now, Instant::ZERO + RTT);
    pair.send(CLIENT, b"GET / HTTP/1.1\r\n\r\n");
    pair.run_to(RTT * 2, |pair| pair.sides[SERVER].received_len > 0);
    pair.send_virtual(SERVER, size as u64);
    let mss = u32::from(pair.server().mss());
    pair.run_to(RTT * 1_000, |pair| pair.sides[CLIENT].received_len == size as u64);
    let elapsed = pair.sides[CLIENT].received_at - Instant::ZERO;
    assert_eq!(pair.server().statistics().retransmitted, 0);
    pair.finish();
    (elapsed, mss)
}

/// Rounds of a window that doubles: the least r with IW (2^r - 1) >= n.
fn doubling_rounds(segments: u32, initial: u32) -> u64 {
    (1..).find(|r| u64::from(initial) * ((1 << r) - 1) >= u64::from(segments)).expect("it doubles")
}

/// When the last of `segments` arrives after the first was sent, with an acknowledgment for every second segment and
/// `delay` for one left over, and growth of one segment an acknowledgment. Counts segments and flights only.
fn delayed_arrival(segments: u32, initial: u32, delay: Duration, per_segment: bool) -> Duration {
    let half = RTT / 2;
    let (mut window, mut sent, mut acked) = (initial, 0_u32, 0_u32);
    let (mut received, mut acknowledged) = (0_u32, 0_u32);
    // Acknowledgments on their way: (arrival, cumulative count); flights: (arrival, segments).
    let mut acks = std::collections::VecDeque::new();
    let mut flights = std::collections::VecDeque::new();
    let mut timer: Option<Duration> = None;
    let mut now = Duration::ZERO;
    loop {
        let burst = (window - (sent - acked)).min(segments - sent);
        if burst > 0 {
            sent += burst;
            flights.push_back((now + half, burst));
        }
        let flight = flights.front().map(|(at, _)| *at);
        let ack = acks.front().map(|(at, _): &(Duration, u32)| *at);
        now = [flight, ack, timer].into_iter().flatten().min().expect("not done");
        if flight == Some(now) {
            received += flights.pop_front().expect("a flight").1;
            if received == segments {
                return now;
            }
            timer = None;
            while received - acknowledged >= 2 {
                acknowledged += 2;
                acks.push_back((now + half, acknowledged));
            }
            if received > acknowledged {
                timer = Some(now + delay);
            }
        } else if ack == Some(now) {
            let (_, count) = acks.pop_front().expect("an acknowledgment");
            window += if per_segment { count - acked } else { 1 };
            acked = count;
        } else {
            timer = None;
            acknowledged = received;
            acks.push_back((now + half, acknowledged));
        }
    }
}

#[test]
fn acknowledging_every_segment_doubles_the_window_each_round() {
    let send_buffer = SendBufferSize::Fixed(1 << 20);
    for base in [
        Config::linux(),
        Config { send_buffer, ..Config::linux() },
        Config { send_buffer, receive_buffer: ReceiveBuffer::Fixed(65_535), ..Config::bsd1999() },
    ] {
        for initial_window in WINDOWS {
            for size in SIZES {
                if base.receive_buffer == ReceiveBuffer::Fixed(65_535) && size > 64 << 10 {
                    continue;
                }
                let config = Config {
                    initial_window,
                    delayed_ack: Duration::ZERO,
                    delayed_ack_sweep: false,
                    ..base.clone()
                };
                let config = Config { nagle: Nagle::Off, ..config };
                let (elapsed, mss) = measure(config, size);
                let rounds = doubling_rounds((size as u32).div_ceil(mss), initial_window);
                let waiting = if base.send_buffer == send_buffer { Duration::ZERO } else { WAKING * rounds };
                let more = elapsed - (RTT + RTT * rounds);
                assert!(more <= waiting, "IW {initial_window}, {size} bytes, MSS {mss}: {more:?} more");
            }
        }
    }
}

#[test]
fn delayed_acknowledgments_slow_the_growth_by_their_count() {
    let delay = Duration::from_millis(40);
    for (ack_counting, per_segment) in [(AckCounting::Acknowledgments, false), (AckCounting::Segments, true)]
    {
        for initial_window in WINDOWS {
            for size in SIZES {
                let config = Config {
                    initial_window,
                    ack_counting,
                    quickack_segments: 0,
                    delayed_ack: delay,
                    send_buffer: SendBufferSize::Fixed(1 << 20),
                    ..Config::linux()
                };
                let (elapsed, mss) = measure(config, size);
                let segments = (size as u32).div_ceil(mss);
                let expected = delayed_arrival(segments, initial_window, delay, per_segment);
                let request = RTT + RTT / 2;
                assert_eq!(
                    elapsed,
                    request + expected,
                    "IW {initial_window}, {size} bytes, {ack_counting:?}"
                );
            }
        }
    }
}

#[test]
fn quick_acknowledgments_start_as_fast_as_an_acknowledgment_for_each() {
    let quick = measure(Config { initial_window: 2, ..Config::linux() }, 20 << 10).0;
    let every =
        measure(Config { initial_window: 2, delayed_ack: Duration::ZERO, ..Config::linux() }, 20 << 10).0;
    assert_eq!(quick, every);
}
