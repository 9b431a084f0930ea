//! Arbitrary segments at arbitrary moments: no panic, no leak, and the invariants hold.

use crate::common::*;
use proptest::prelude::*;
use wasp_tcp::{
    Chunk, Config, EcnMode, Endpoint, ReceiveBuffer, ReceivePolicy, RecoveryKind, SendBufferSize, State,
};
use wasp_units::Duration;
use wasp_wire::{Ecn, Flags, SackBlocks, TcpHeader, Timestamps};

/// A segment relative to what would be right, so that it often nearly is.
#[derive(Clone, Debug)]
struct Wild {
    sequence: i64,
    acknowledgment: i64,
    flags: u8,
    window: u16,
    timestamps: Option<(i32, i32)>,
    blocks: Vec<(i64, i64)>,
    options: bool,
    len: usize,
    ecn: u8,
}

#[derive(Clone, Debug)]
enum Action {
    Inject(usize, Wild),
    /// A router reports, of a segment so far from the last one, an MTU, or that the peer cannot be reached.
    Report(usize, i64, Option<u16>),
    Wait(u64),
    Send(usize, u16),
    SendVirtual(usize, u32),
    Read(usize, u16),
    Close(usize),
    Abort(usize),
    Policy(usize, bool),
}

fn near() -> impl Strategy<Value = i64> {
    prop_oneof![
        6 => Just(0_i64),
        4 => -3_000_i64..6_000,
        2 => -100_000_i64..100_000,
        1 => any::<u32>().prop_map(i64::from),
    ]
}

fn wild() -> impl Strategy<Value = Wild> {
    let flags = prop_oneof![
        8 => Just(Flags::ACK.0),
        2 => Just((Flags::ACK | Flags::FIN).0),
        1 => Just(Flags::RST.0),
        1 => Just(Flags::SYN.0),
        1 => Just((Flags::SYN | Flags::ACK).0),
        1 => any::<u8>(),
    ];
    let stamps = proptest::option::of((prop_oneof![Just(0), -2_000_i32..2_000], any::<i32>()));
    let blocks = proptest::collection::vec((near(), near()), 0..4);
    let window = prop_oneof![Just(0_u16), any::<u16>()];
    let len = prop_oneof![3 => Just(0_usize), 2 => 1_usize..3_000, 1 => Just(1_448_usize)];
    (near(), near(), flags, window, stamps, blocks, any::<bool>(), (len, any::<u8>())).prop_map(
        |(sequence, acknowledgment, flags, window, timestamps, blocks, options, (len, ecn))| Wild {
            sequence,
            acknowledgment,
            flags,
            window,
            timestamps,
            blocks,
            options,
            len,
            ecn,
        },
    )
}

fn action() -> impl Strategy<Value = Action> {
    let side = 0_usize..2;
    prop_oneof![
        10 => (side.clone(), wild()).prop_map(|(side, wild)| Action::Inject(side, wild)),
        1 => (side.clone(), near(), proptest::option::of(0_u16..1_600))
            .prop_map(|(side, quoted, mtu)| Action::Report(side, quoted, mtu)),
        6 => prop_oneof![0_u64..200, 0_u64..100_000].prop_map(Action::Wait),
        3 => (side.clone(), any::<u16>()).prop_map(|(side, len)| Action::Send(side, len)),
        3 => (side.clone(), 0_u32..300_000).prop_map(|(side, len)| Action::SendVirtual(side, len)),
        3 => (side.clone(), any::<u16>()).prop_map(|(side, max)| Action::Read(side, max)),
        1 => side.clone().prop_map(Action::Close),
        1 => side.clone().prop_map(Action::Abort),
        1 => (side, any::<bool>()).prop_map(|(side, counted)| Action::Policy(side, counted)),
    ]
}

fn config() -> impl Strategy<Value = Config> {
    let base = prop_oneof![Just(Config::linux()), Just(Config::bsd1999())];
    let recovery = prop_oneof![
        Just(RecoveryKind::Reno),
        Just(RecoveryKind::NewReno),
        Just(RecoveryKind::Sack),
        Just(RecoveryKind::Rack)
    ];
    let buffer = prop_oneof![
        Just(2_048_u32).prop_map(ReceiveBuffer::Fixed),
        prop_oneof![Just(20_000_u32), Just(200_000), Just(3 << 20)].prop_map(ReceiveBuffer::Fixed),
        prop_oneof![Just(4_096_u32), Just(200_000), Just(32 << 20)]
            .prop_map(|most| ReceiveBuffer::Tuned { most }),
    ];
    let send_buffer = prop_oneof![
        Just(SendBufferSize::Fixed(20_000)),
        Just(SendBufferSize::Tuned { overhead: 640, most: 4 << 20 }),
        Just(SendBufferSize::Tuned { overhead: 576, most: 5_000 }),
        Just(SendBufferSize::Tuned { overhead: 1, most: 1 }),
    ];
    let buffers = (buffer, send_buffer);
    let ecn = prop_oneof![Just(EcnMode::Off), Just(EcnMode::Agree), Just(EcnMode::Ask)];
    (base, recovery, any::<bool>(), any::<bool>(), buffers, any::<bool>(), (any::<bool>(), ecn)).prop_map(
        |(base, recovery, sack, timestamps, buffers, limited_transmit, (segmentation_offload, ecn))| Config {
            ecn,
            recovery,
            sack,
            timestamps,
            receive_buffer: buffers.0,
            send_buffer: buffers.1,
            limited_transmit,
            segmentation_offload,
            ..base
        },
    )
}

/// The template that a right segment to `to` would have: what the endpoint itself would expect next.
fn expected(pair: &Pair, to: usize) -> Option<TcpHeader> {
    let tcp = pair.sides[to].endpoint.as_ref()?;
    let last = |side: usize| pair.log.iter().rev().find(|(c, _)| c.from == side).map(|(c, _)| *c);
    let (own, peer) = (last(to)?, last(1 - to));
    Some(TcpHeader {
        source_port: tcp.remote_port(),
        destination_port: tcp.local_port(),
        sequence: own.header.acknowledgment,
        acknowledgment: own.header.sequence + own.header.sequence_len(own.len),
        timestamps: peer.and_then(|peer| peer.header.timestamps),
        ..TcpHeader::default()
    })
}

fn build(base: TcpHeader, wild: &Wild) -> TcpHeader {
    let mut sack = SackBlocks::default();
    for (left, right) in &wild.blocks {
        sack.push(base.acknowledgment + *left as u32, base.acknowledgment + *right as u32);
    }
    let timestamps = match (base.timestamps, wild.timestamps) {
        (Some(right), Some((value, echo))) => {
            Some(Timestamps { value: right.value.wrapping_add(value as u32), echo: echo as u32 })
        }
        (right, _) => right,
    };
    TcpHeader {
        sequence: base.sequence + wild.sequence as u32,
        acknowledgment: base.acknowledgment + wild.acknowledgment as u32,
        flags: Flags(wild.flags),
        window: wild.window,
        mss: wild.options.then_some(wild.window),
        window_scale: wild.options.then_some((wild.window >> 8) as u8),
        sack_permitted: wild.options,
        timestamps,
        sack,
        ..base
    }
}

fn check(tcp: &Endpoint, sent: u64) {
    assert!(tcp.cwnd() >= u32::from(tcp.mss()) || tcp.state() == State::Closed, "cwnd is at least a segment");
    assert!(tcp.unsent() <= tcp.unacknowledged() && tcp.unacknowledged() <= sent);
    assert!(tcp.unwritten() <= tcp.unsent());
    let waits = tcp.unwritten() > 0 && tcp.state() != State::Closed;
    assert!(!waits || tcp.poll_timeout().is_some(), "what waits for room is written at some time");
    assert!(tcp.ssthresh() >= 2 * u32::from(tcp.mss()), "ssthresh is at least two segments");
    assert!(u64::from(tcp.pipe()) <= 2 * u64::from(tcp.flight()), "each segment is in flight at most twice");
}

fn act(pair: &mut Pair, action: &Action, sent: &mut [u64; 2]) {
    match action {
        Action::Inject(to, wild) => {
            if let Some(base) = expected(pair, *to) {
                let bytes = pattern(wild.len);
                pair.inject_with(*to, build(base, wild), Ecn::of(wild.ecn), &bytes);
            }
        }
        Action::Wait(time) => pair.run_for(Duration::from_millis(*time)),
        Action::Report(to, quoted, mtu) => report(pair, *to, *quoted, *mtu),
        other => command(pair, other, sent),
    }
}

fn report(pair: &mut Pair, to: usize, quoted: i64, mtu: Option<u16>) {
    let Some(base) = expected(pair, to) else { return };
    let quoted = base.acknowledgment - 1 + quoted as u32;
    match mtu {
        Some(mtu) => pair.report(to, quoted, mtu),
        None => pair.command(to, |tcp, _| {
            if tcp.is_in_flight(quoted) {
                tcp.handle_unreachable();
            }
        }),
    }
}

fn command(pair: &mut Pair, action: &Action, sent: &mut [u64; 2]) {
    let (Action::Send(side, _)
    | Action::SendVirtual(side, _)
    | Action::Read(side, _)
    | Action::Close(side)
    | Action::Abort(side)
    | Action::Policy(side, _)) = action
    else {
        return;
    };
    if pair.sides[*side].endpoint.is_none() {
        return;
    }
    if let Action::Read(side, max) = action {
        pair.read(*side, u64::from(*max));
    }
    let total = &mut sent[*side];
    let mut command = |tcp: &mut Endpoint| match action {
        Action::Send(_, len) => {
            *total += u64::from(*len);
            tcp.send(Chunk::Shared(pattern(usize::from(*len)).into()));
        }
        Action::SendVirtual(_, len) => {
            *total += u64::from(*len);
            tcp.send(Chunk::Virtual(u64::from(*len)));
        }
        Action::Close(_) => tcp.close(),
        Action::Abort(_) => tcp.abort(),
        Action::Policy(_, true) => tcp.set_receive_policy(ReceivePolicy::Counted),
        Action::Policy(_, false) => tcp.set_receive_policy(ReceivePolicy::Bytes),
        _ => {}
    };
    pair.command(*side, |tcp, _| command(tcp));
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn no_sequence_of_segments_and_commands_breaks_an_endpoint(
        client in config(),
        server in config(),
        reading in any::<bool>(),
        both in any::<bool>(),
        marking in 1_u64..8,
        actions in proptest::collection::vec(action(), 1..80),
    ) {
        let mut pair = Pair::of(client, server);
        for side in &mut pair.sides {
            (side.reading, side.keeping) = (reading, false);
        }
        pair.path = Box::new(move |crossing| {
            let marked = crossing.ecn != Ecn::NotEct && crossing.index.is_multiple_of(marking);
            if marked { Fate::Mark } else { Fate::Deliver }
        });
        if both {
            pair.connect_both();
        } else {
            pair.connect();
        }
        let mut sent = [0; 2];
        for action in &actions {
            act(&mut pair, action, &mut sent);
            for side in [CLIENT, SERVER] {
                if let Some(tcp) = &pair.sides[side].endpoint {
                    check(tcp, sent[side]);
                }
            }
        }
        // Whatever happened, the two ends come to rest. What was on its way may open another connection, which ends then.
        for _ in 0..2 {
            for side in [CLIENT, SERVER] {
                if pair.sides[side].endpoint.is_some() {
                    pair.command(side, |tcp, _| tcp.abort());
                }
            }
            prop_assert!(pair.run(Duration::from_secs(10)));
        }
        for side in &pair.sides {
            prop_assert!(side.endpoint.is_none(), "{:?}", side.events);
        }
        pair.finish();
    }
}
