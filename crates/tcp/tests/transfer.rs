//! Whole transfers: the right bytes arrive, whatever the path does.

use crate::common::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use wasp_tcp::{Config, Event, ReceiveBuffer, RecoveryKind, State};
use wasp_units::Duration;
use wasp_wire::SequenceNumber;

const LONG: Duration = Duration::from_secs(3_600);

/// A request and its response over `pair`, with every byte that is sent held against what was sent before.
fn exchange(mut pair: Pair, up: usize, down: usize, path: Path) -> Pair {
    let (request, response) = (pattern(up), pattern(down));
    for (side, len) in [(CLIENT, up), (SERVER, down)] {
        pair.sides[side].watch = Some(Sent::new(pair.sides[side].identity.isn, len));
    }
    pair.path = path;
    pair.connect();
    pair.run_to(LONG, |pair| pair.sides[CLIENT].has(Event::Connected));
    pair.send(CLIENT, &request);
    pair.run_to(LONG, |pair| pair.sides[SERVER].received.len() >= up.max(1));
    pair.sides[CLIENT].closing = true;
    pair.send(SERVER, &response);
    pair.close(SERVER);
    pair.run_to(LONG, |pair| pair.sides[CLIENT].has(Event::RemoteClosed));
    for side in [CLIENT, SERVER] {
        retransmissions_end_where_segments_ended(&pair, side);
    }
    assert_eq!(sent(&pair, CLIENT).bytes(), request);
    assert_eq!(sent(&pair, SERVER).bytes(), response);
    assert_eq!(pair.sides[SERVER].received, request);
    assert_eq!(pair.sides[CLIENT].received, response);
    pair
}

fn sent(pair: &Pair, side: usize) -> &Sent {
    pair.sides[side].watch.as_ref().expect("it is watched")
}

/// Each data segment is new, or ends where an earlier one ended and begins no earlier than that.
fn retransmissions_end_where_segments_ended(pair: &Pair, side: usize) {
    let mut sent = BTreeMap::new();
    let mut next = None;
    for (crossing, _) in pair.data_from(side) {
        let (start, end) = (crossing.header.sequence, crossing.header.sequence + crossing.len);
        if next.is_none_or(|next| start == next) {
            sent.insert(end.0, start);
            next = Some(end);
        } else {
            assert!(sent.get(&end.0).is_some_and(|first| first.at_or_before(start)), "{crossing:?}");
        }
    }
}

#[test]
fn bytes_cross_both_ways_and_both_ends_close() {
    for config in [Config::linux(), Config::bsd1999()] {
        let pair = Pair::new(config.clone(), config);
        let mut pair = exchange(pair, 3_000, 200_000, Box::new(|_| Fate::Deliver));
        assert!(pair.run(LONG), "everything ends");
        assert_eq!(pair.sides[SERVER].state(), State::Closed);
        assert_eq!(pair.sides[CLIENT].state(), State::Closed);
        assert!(pair.sides[CLIENT].has(Event::Closed) && pair.sides[SERVER].has(Event::Closed));
        pair.finish();
    }
}

#[test]
fn every_recovery_sends_the_same_bytes_again_across_the_wrap() {
    let linux = |recovery| Config { recovery, ..Config::linux() };
    let kinds = [RecoveryKind::Reno, RecoveryKind::NewReno, RecoveryKind::Sack, RecoveryKind::Rack];
    for config in kinds.map(linux).into_iter().chain([Config::bsd1999()]) {
        let mut pair = Pair::new(config.clone(), config);
        pair.sides[SERVER].identity.isn = 50_000_u32.wrapping_neg();
        let path = |crossing: &Crossing| match crossing.index % 13 {
            5 | 6 if crossing.len > 0 => Fate::Drop,
            _ => Fate::Deliver,
        };
        let pair = exchange(pair, 3_000, 200_000, Box::new(path));
        let repeated = sent(&pair, SERVER).repeated;
        assert!(repeated > 10_000, "two of thirteen are lost, but only {repeated} bytes are sent again");
        pair.finish();
    }
}

#[test]
fn bytes_sent_again_are_found_however_they_are_cut() {
    let mut sent = Sent::new(0xffff_fffc, 8);
    for (sequence, bytes) in
        [(0xffff_fffd, "abcd"), (1, "ef"), (0xffff_ffff, "cdefg"), (0, "d"), (0, "defgh")]
    {
        sent.record(SequenceNumber(sequence), bytes.as_bytes());
    }
    assert_eq!((sent.bytes(), sent.repeated), (&b"abcdefgh"[..], 9));
}

#[test]
#[should_panic(expected = "byte 4 sent again")]
fn another_byte_in_a_segment_cut_otherwise_is_found() {
    let mut sent = Sent::new(0xffff_fffc, 8);
    for (sequence, bytes) in [(0xffff_fffd, "abcd"), (1, "ef"), (0, "dx")] {
        sent.record(SequenceNumber(sequence), bytes.as_bytes());
    }
}

#[derive(Clone, Debug)]
struct Storm {
    loss: u32,
    delay: u32,
    duplicate: u32,
    seed: u64,
}

impl Storm {
    /// A path that loses, delays and duplicates so many of 256 segments.
    fn path(&self) -> Path {
        let Self { loss, delay, duplicate, mut seed } = *self;
        Box::new(move |_| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (draw, time) = ((seed >> 56) as u32, Duration::from_micros(seed >> 40 & 0xffff));
            if draw < loss {
                Fate::Drop
            } else if draw < loss + delay {
                Fate::Delay(time)
            } else if draw < loss + delay + duplicate {
                Fate::Duplicate(time)
            } else {
                Fate::Deliver
            }
        })
    }
}

fn storm() -> impl Strategy<Value = Storm> {
    let rates = (0_u32..40, 0_u32..60, 0_u32..30);
    (rates, any::<u64>()).prop_map(|((loss, delay, duplicate), seed)| Storm { loss, delay, duplicate, seed })
}

fn variant() -> impl Strategy<Value = Config> {
    let base = prop_oneof![Just(Config::linux()), Just(Config::bsd1999())];
    let recovery = prop_oneof![
        Just(RecoveryKind::Reno),
        Just(RecoveryKind::NewReno),
        Just(RecoveryKind::Sack),
        Just(RecoveryKind::Rack)
    ];
    (base, recovery, any::<bool>(), any::<bool>(), prop_oneof![Just(0), 2_000_u32..70_000]).prop_map(
        |(base, recovery, sack, timestamps, buffer)| Config {
            recovery,
            sack,
            timestamps,
            receive_buffer: if buffer > 0 { ReceiveBuffer::Fixed(buffer) } else { base.receive_buffer },
            retries: 1_000,
            syn_retries: 1_000,
            syn_ack_retries: 1_000,
            max_rto: Duration::from_secs(5),
            ..base
        },
    )
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn loss_reordering_and_duplication_change_no_byte(
        client in variant(),
        server in variant(),
        storm in storm(),
        up in 1_usize..20_000,
        down in 1_usize..120_000,
        isn in prop_oneof![Just(0x7fff_fc00), u32::MAX - 120_000..=u32::MAX],
    ) {
        let mut pair = Pair::of(client, server);
        pair.sides[SERVER].identity.isn = isn;
        exchange(pair, up, down, storm.path()).finish();
    }
}
