use super::*;
use wasp_units::Duration;

const SEGMENT: u16 = 1_448;
const MOST: u32 = 6 << 20;
/// 160 / 256 of that.
const GROWN_CLAMP: u32 = 3_932_160;
const START: Instant = Instant::from_nanos(3_000_000_000);
const FIRST: SequenceNumber = SequenceNumber(0xffff_8000);

fn established() -> Tuning {
    let mut tuning = Tuning::new(MOST, SEGMENT);
    tuning.establish(START, SEGMENT, FIRST, 7);
    tuning
}

/// The same, with the window of a connection that has grown: all of the largest buffer is free, and segments of 1,448 bytes have come.
fn grown(threshold: u32) -> Tuning {
    let mut tuning = established();
    tuning.on_larger_segment(1_448);
    (tuning.buffer, tuning.clamp, tuning.threshold) = (MOST, GROWN_CLAMP, threshold);
    tuning
}

#[test]
fn a_gap_makes_room_for_what_waits_above_it() {
    let mut tuning = established();
    // Twice ten segments and what waits, at half the memory for payload.
    tuning.on_gap(36_576, MOST);
    assert_eq!(tuning.buffer, INITIAL_BUFFER);
    tuning.on_gap(40_000, MOST);
    assert_eq!((tuning.buffer, tuning.clamp), (2 * (28_960 + 40_000), 28_960 + 40_000));
    tuning.on_gap(MOST, MOST);
    assert_eq!(tuning.buffer, MOST);
}

#[test]
fn the_least_time_in_which_a_window_arrives_is_the_round_trip() {
    let mut tuning = established();
    let (mut now, mut next) = (START, FIRST);
    tuning.time_window(now, next);
    for (millis, expected) in [(50, 50_000), (80, 50_000), (30, 30_000)] {
        now += Duration::from_millis(millis);
        let before = tuning.rtt();
        tuning.time_window(now, next + (tuning.offered() - 1));
        assert_eq!(tuning.rtt(), before, "a byte of the window is missing");
        next += tuning.offered();
        tuning.time_window(now, next);
        assert_eq!(tuning.rtt(), expected);
    }
}

/// Linux `tcp_select_initial_window`, then `tcp_init_buffer_space`; payload takes half the memory.
#[test]
fn the_first_window_is_of_whole_segments_and_leaves_one_in_reserve() {
    // (memory, segment, scale), (offered, clamp, threshold, space).
    let cases = [
        // 131,072 / 2 = 65,536 = 45 x 1,448 + 376; 65,536 - 1,448 = 64,088; ten segments.
        ((MOST, 1_448, 7), (65_160, 64_088, 64_088, 14_480)),
        ((MOST, 1_448, 0), (65_160, 64_088, 64_088, 14_480)),
        // Three segments and a half, and one of them in reserve.
        ((7_000, 1_000, 7), (3_000, 2_500, 2_500, 2_500)),
        // Of two and a half, two stay; two or less stay as they are.
        ((5_000, 1_000, 7), (2_000, 2_000, 2_000, 2_000)),
        ((4_000, 1_000, 7), (2_000, 2_000, 2_000, 2_000)),
        ((3_000, 1_000, 7), (1_000, 1_500, 1_000, 1_000)),
        ((1_600, 1_000, 7), (800, 800, 800, 800)),
    ];
    for ((most, segment, scale), expected) in cases {
        let mut tuning = Tuning::new(most, segment);
        tuning.establish(START, segment, FIRST, scale);
        let found = (tuning.offered, tuning.clamp, tuning.threshold, tuning.space);
        assert_eq!(found, expected, "{segment} of {most}");
    }
}

/// Linux `__tcp_select_window` with a scale: the buffer holds 65,536 bytes, the clamp is 64,088.
#[test]
fn a_scaled_window_is_rounded_up_while_half_is_free_and_closes_at_a_sixteenth() {
    // (free, largest segment), (window, tight).
    let cases = [
        // 501 x 128 holds the threshold of 64,088.
        ((65_536, 1_448), (64_128, false)),
        // Half of 64,088 is 32,044 = 250 x 128 + 44.
        ((32_044, 1_448), (32_128, false)),
        ((32_043, 1_448), (32_000, true)),
        // A sixteenth of 65,536 is 4,096 = 32 x 128.
        ((4_096, 1_448), (4_096, true)),
        ((4_095, 1_448), (0, true)),
        // The segments are large: 39 x 128 = 4,992.
        ((5_000, 4_992), (4_992, true)),
        ((5_000, 4_993), (0, true)),
        ((0, 1_448), (0, true)),
    ];
    for ((free, mss), (bytes, tight)) in cases {
        let tuning = Tuning { taken: 2 * (65_536 - free), ..established() };
        assert_eq!(tuning.select(mss, 7), Window { bytes, tight }, "{free} free, segments of {mss}");
    }
}

/// Linux `__tcp_select_window` without a scale.
#[test]
fn an_unscaled_window_stays_until_a_segment_more_is_free_or_less_than_it() {
    // (free, offered), window.
    let cases = [
        ((40_500, 39_500), 40_000),
        ((40_500, 39_501), 39_501),
        ((40_500, 40_500), 40_500),
        ((40_500, 40_501), 40_000),
        // The threshold of 64,088 bounds it.
        ((65_536, 63_088), 64_000),
        ((65_536, 63_089), 63_089),
        // Nothing is rounded down although less than half is free.
        ((32_043, 32_043), 32_043),
    ];
    for ((free, offered), expected) in cases {
        let tuning = Tuning { taken: 2 * (65_536 - free), offered, ..established() };
        assert_eq!(tuning.select(1_000, 0).bytes, expected, "{free} free, {offered} offered");
    }
}

#[test]
fn a_window_of_more_than_half_the_clamp_cannot_double() {
    // Half of 64,088.
    let tuning = established();
    assert_eq!(
        [0, 32_044, 32_045, u32::MAX].map(|window| tuning.may_double(window)),
        [true, true, false, false]
    );
}

/// Linux `tcp_measure_rcv_mss` and `tcp_set_window_clamp`, with 131,072 bytes of memory.
#[test]
fn a_larger_segment_shows_how_much_of_the_memory_is_payload() {
    let mut tuning = established();
    // length, (ratio, clamp, threshold).
    let cases = [
        // 256 x 1,448 / (2,048 + 256) = 160.9; the window already offered, 65,160, is within the clamp.
        (1_448, (160, 81_920, 65_160)),
        // 256 x 8,948 / (16,384 + 256) = 137.7: the clamp falls, and stays above the threshold.
        (8_948, (137, 70_144, 65_160)),
        // 256 x 16,000 / (32,768 + 256) = 124.03: the clamp falls below the threshold.
        (16_000, (124, 63_488, 63_488)),
        // 256 x 16,100 / (32,768 + 256) = 124.8: nothing changes.
        (16_100, (124, 63_488, 63_488)),
    ];
    for (len, expected) in cases {
        tuning.on_larger_segment(len);
        assert_eq!((tuning.ratio, tuning.clamp, tuning.threshold), expected, "{len} bytes");
    }
}

#[test]
fn a_clamp_that_stays_does_not_widen_the_window() {
    let mut tuning = Tuning::new(4_096, 1_100);
    tuning.establish(START, 1_100, FIRST, 7);
    // 256 x 1 / (512 + 256) is nothing, so one; 4,096 / 256 = 16, and the clamp is at its least.
    tuning.on_larger_segment(1);
    assert_eq!((tuning.ratio, tuning.clamp, tuning.threshold), (1, 1_152, 1_100));
    // 1,100 in units of 128.
    tuning.advertise(1_152);
    // 256 x 6 / 768 = 2; Linux leaves the threshold where the clamp does not change.
    tuning.on_larger_segment(6);
    assert_eq!((tuning.ratio, tuning.clamp, tuning.threshold), (2, 1_152, 1_100));
}

/// Linux `tcp_grow_window`. The ratio is 160 of 256, which 1,448 bytes in 2,304 of memory gave.
#[test]
fn the_window_grows_by_two_segments_or_twice_what_came_while_there_is_room() {
    // (length, threshold), growth.
    let cases = [
        // 2,304 x 160 / 256 = 1,440 is less than the payload.
        ((1_448, 100_000), 2 * 1_448),
        // A frame of ten segments, in 16,384 + 256 bytes: 10,400.
        ((14_480, 100_000), 2 * 14_480),
        ((1_448, GROWN_CLAMP - 1_000), 1_000),
        ((1_448, GROWN_CLAMP), 0),
        // 128 bytes take 1,024 + 256, which stand for 800: two segments of the peer's, of 1,000 bytes so far.
        ((128, 100_000), 2 * 1_000),
    ];
    for ((len, threshold), expected) in cases {
        let mut tuning = grown(threshold);
        assert_eq!(tuning.grow(len, 1_000, MOST), expected > 0, "{len} bytes at {threshold}");
        assert_eq!(tuning.threshold - threshold, expected, "{len} bytes at {threshold}");
    }
}

/// Linux `__tcp_grow_window`: both what the segment takes and the largest window, 3,932,160, are halved, once and then until the
/// payload is the larger; the threshold must not exceed what the window is then.
#[test]
fn small_segments_widen_the_window_to_a_share_of_the_most() {
    // length, the largest threshold that still grows.
    let cases = [
        // 1,024 + 256 bytes of memory stand for 800: 400, 200 and 100 after one, two and three halves.
        (400, GROWN_CLAMP / 2),
        (399, GROWN_CLAMP / 4),
        (200, GROWN_CLAMP / 4),
        (199, GROWN_CLAMP / 8),
        (128, GROWN_CLAMP / 8),
        // 2,048 + 256 stand for 1,440: 720 after one.
        (720, GROWN_CLAMP / 2),
        (719, GROWN_CLAMP / 4),
    ];
    for (len, last) in cases {
        let step = |threshold| {
            let mut tuning = grown(threshold);
            tuning.grow(len, 1_000, MOST);
            tuning.threshold - threshold
        };
        assert_eq!([step(100_000), step(last), step(last + 1)], [2_000, 2_000, 0], "{len} bytes");
    }
}

/// Linux `tcp_rcvbuf_grow`: 2 x (14,480 + 18,288) = 65,536 is what the buffer is for already.
#[test]
fn the_clamp_follows_only_a_larger_buffer() {
    let mut tuning = established();
    tuning.on_gap(36_576, MOST);
    assert_eq!((tuning.buffer, tuning.clamp), (INITIAL_BUFFER, 64_088));
    tuning.on_gap(36_577, MOST);
    assert_eq!((tuning.buffer, tuning.clamp), (INITIAL_BUFFER + 2, 65_537));
}

/// Linux `tcp_rcv_space_adjust`, with a round-trip time of 50 ms.
#[test]
fn a_round_trip_in_which_more_is_read_than_in_any_before_enlarges_the_buffer() {
    // (microseconds, read, waiting, beyond), (space, buffer, where the next measurement begins).
    let cases = [
        // A microsecond is missing.
        ((49_999, 100_000, 0, 0), (14_480, INITIAL_BUFFER, 0)),
        // 200,000 x (100,000 - 14,480) / 14,480 = 1,181,215; 200,000 + 2 x that, at half the memory.
        ((50_000, 100_000, 0, 0), (100_000, 2 * 2_562_430, 100_000)),
        // What waits is not read yet.
        ((50_000, 104_000, 4_000, 0), (100_000, 2 * 2_562_430, 104_000)),
        // As much as before, which is no reason to look at what is out of order.
        ((50_000, 14_480, 0, 60_000), (14_480, INITIAL_BUFFER, 14_480)),
        // 28,962 + 2 x (28,962 x 1 / 14,480) + 60,000.
        ((50_000, 14_481, 0, 60_000), (14_481, 2 * 88_966, 14_481)),
    ];
    for ((micros, read, waiting, beyond), expected) in cases {
        let mut tuning = established();
        tuning.time_echo(50_000, false);
        tuning.on_read(START + Duration::from_micros(micros), FIRST + read, waiting, beyond, MOST);
        let found = (tuning.space, tuning.buffer, tuning.space_from.since(FIRST));
        assert_eq!(found, expected, "{read} bytes in {micros} microseconds");
    }
}

/// Linux `tcp_rcv_rtt_update` compares eighths of microseconds.
#[test]
fn a_window_in_the_round_trip_time_rounded_down_is_faster() {
    let mut tuning = established();
    // 400,000 - 50,000 + 50,007 = 400,007 eighths are 50,000 microseconds and 7 eighths.
    tuning.time_echo(50_000, false);
    tuning.time_echo(50_007, false);
    assert_eq!((tuning.rtt, tuning.rtt()), (400_007, 50_000));
    tuning.time_window(START, FIRST);
    tuning.time_window(START + Duration::from_micros(50_000), FIRST + tuning.offered());
    assert_eq!(tuning.rtt, 400_000);
}
