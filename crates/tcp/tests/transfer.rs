//! Whole transfers: the right bytes arrive, whatever the path does.

mod common;

use common::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use wasp_tcp::{Config, Event, RecoveryKind, State};
use wasp_units::Duration;

const LONG: Duration = Duration::from_secs(3_600);

fn exchange(client: Config, server: Config, up: usize, down: usize, path: Path) -> Pair {
    let (request, response) = (pattern(up), pattern(down));
    let mut pair = Pair::new(client, server);
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
        retransmissions_repeat_what_was_sent(&pair, side);
    }
    assert_eq!(pair.sides[SERVER].received, request);
    assert_eq!(pair.sides[CLIENT].received, response);
    pair
}

/// Each data segment is new, or ends where an earlier one ended and begins no earlier than that.
fn retransmissions_repeat_what_was_sent(pair: &Pair, side: usize) {
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
        let mut pair = exchange(config.clone(), config, 3_000, 200_000, Box::new(|_| Fate::Deliver));
        assert!(pair.run(LONG), "everything ends");
        assert_eq!(pair.sides[SERVER].state(), State::Closed);
        assert_eq!(pair.sides[CLIENT].state(), State::Closed);
        assert!(pair.sides[CLIENT].has(Event::Closed) && pair.sides[SERVER].has(Event::Closed));
        pair.finish();
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
            receive_buffer: if buffer > 0 { buffer } else { base.receive_buffer },
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
    ) {
        exchange(client, server, up, down, storm.path()).finish();
    }
}
