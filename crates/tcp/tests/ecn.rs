//! Explicit congestion notification (RFC 3168) over whole connections.

use crate::common::*;
use proptest::prelude::*;
use wasp_tcp::{Config, CongestionKind, EcnMode, Endpoint, RecoveryKind, State};
use wasp_units::Duration;
use wasp_wire::{Ecn, Flags, SequenceNumber};

const LONG: Duration = Duration::from_secs(3_600);
const KINDS: [RecoveryKind; 4] =
    [RecoveryKind::Reno, RecoveryKind::NewReno, RecoveryKind::Sack, RecoveryKind::Rack];

fn ecn() -> Config {
    Config { ecn: EcnMode::Ask, ..Config::linux() }
}

/// Marks every `period`-th packet that may be marked.
fn mark_every(period: u64) -> Path {
    let mut seen = 0;
    Box::new(move |crossing| {
        seen += u64::from(crossing.ecn != Ecn::NotEct);
        let hit = crossing.ecn != Ecn::NotEct && seen.is_multiple_of(period);
        if hit { Fate::Mark } else { Fate::Deliver }
    })
}

/// What every segment of a connection must keep to, whatever happens to it.
fn keeps_the_rules(pair: &Pair, side: usize) {
    let mut next: Option<SequenceNumber> = None;
    for (crossing, _) in pair.log.iter().filter(|(crossing, _)| crossing.from == side) {
        let (header, flags) = (crossing.header, crossing.header.flags);
        let new = crossing.len > 0 && next.is_none_or(|next| header.sequence.at_or_after(next));
        if crossing.len > 0 {
            let end = header.sequence + crossing.len;
            next = Some(next.map_or(end, |next| next.max(end)));
        }
        assert_eq!(crossing.ecn == Ecn::Ect0, new, "only new data may be marked: {crossing:?}");
        assert!(matches!(crossing.ecn, Ecn::Ect0 | Ecn::NotEct), "{crossing:?}");
        let tells = flags.contains(Flags::CWR) && !flags.contains(Flags::SYN);
        assert!(!tells || new, "only new data says that the window is reduced: {crossing:?}");
    }
}

#[test]
fn the_client_must_ask_and_the_server_agree() {
    use EcnMode::{Agree, Ask, Off};
    for (client, server) in
        [Off, Agree, Ask].into_iter().flat_map(|client| [Off, Agree, Ask].map(|server| (client, server)))
    {
        let used = client == Ask && server != Off;
        let config = |ecn| Config { ecn, ..Config::linux() };
        let mut pair = Pair::established(config(client), config(server));
        assert_eq!(pair.client().uses_ecn(), used, "{client:?} {server:?}");
        assert_eq!(pair.server().uses_ecn(), used, "{client:?} {server:?}");
        pair.send(CLIENT, &pattern(20_000));
        pair.run_for(Duration::from_secs(1));
        assert_eq!(pair.sides[SERVER].received, pattern(20_000));
        let markable = pair.data_from(CLIENT).all(|(crossing, _)| crossing.ecn == Ecn::Ect0);
        assert_eq!(markable, used, "{client:?} {server:?}");
        pair.finish();
    }
}

#[test]
fn a_transfer_whose_packets_are_marked_loses_none_and_holds_its_window_down() {
    for recovery in KINDS {
        for congestion in [CongestionKind::Reno, CongestionKind::Cubic] {
            let config = Config { recovery, congestion, hystart: false, ..ecn() };
            let mut pair = Pair::established(config.clone(), config);
            pair.sides[CLIENT].keeping = false;
            pair.path = mark_every(100);
            pair.send_virtual(SERVER, 3_000_000);
            pair.run_to(LONG, |pair| pair.sides[CLIENT].received_len == 3_000_000);
            let statistics = *pair.server().statistics();
            assert_eq!(
                (statistics.retransmitted, statistics.timeouts),
                (0, 0),
                "{recovery:?} {congestion:?}"
            );
            // One mark in a hundred is a window of some tens of segments (as p = 1 % in Padhye's formula); without marks there are hundreds.
            assert!(
                pair.server().cwnd() < 60 * 1_448,
                "{recovery:?} {congestion:?}: {}",
                pair.server().cwnd()
            );
            let told = pair.data_from(SERVER).filter(|(c, _)| c.header.flags.contains(Flags::CWR)).count();
            let marks = pair.log.iter().filter(|(_, fate)| *fate == Fate::Mark).count();
            assert!(told > 5 && told <= marks, "{recovery:?} {congestion:?}: {told} for {marks}");
            keeps_the_rules(&pair, SERVER);
            keeps_the_rules(&pair, CLIENT);
            pair.finish();
        }
    }
}

#[test]
fn the_window_falls_once_a_round_trip_however_many_packets_are_marked() {
    for recovery in KINDS {
        let config = Config { recovery, congestion: CongestionKind::Reno, hystart: false, ..ecn() };
        let mut pair = Pair::established(config.clone(), config);
        // The first ten segments.
        let mut seen = 0;
        pair.path = Box::new(move |crossing| {
            seen += u32::from(crossing.ecn == Ecn::Ect0);
            if crossing.ecn == Ecn::Ect0 && seen <= 10 { Fate::Mark } else { Fate::Deliver }
        });
        pair.send(SERVER, &pattern(14 * 1_448));
        pair.run_for(Duration::from_millis(130));
        assert_eq!(pair.server().ssthresh(), 5 * 1_448, "{recovery:?}");
        pair.run_for(Duration::from_secs(1));
        assert_eq!(pair.server().ssthresh() / 1_448, 5, "{recovery:?}");
        assert_eq!(pair.sides[CLIENT].received, pattern(14 * 1_448));
        pair.finish();
    }
}

/// RFC 3168 would have it wait for the retransmission timer.
#[test]
fn a_window_of_one_segment_stays_and_goes_on() {
    let config = Config { ecn: EcnMode::Ask, ..Config::bsd1999() };
    let mut pair = Pair::established(config.clone(), config);
    pair.path = mark_every(1);
    pair.send(SERVER, &pattern(20_000));
    pair.run_to(LONG, |pair| pair.server().reductions_for_marks() == 1);
    assert_eq!(pair.server().cwnd(), u32::from(pair.server().mss()));
    pair.run_to(LONG, |pair| pair.sides[CLIENT].received.len() == 20_000);
    assert_eq!(pair.server().statistics().timeouts, 0);
    pair.finish();
}

#[test]
fn a_timeout_behind_a_mark_leaves_the_threshold_alone() {
    for recovery in KINDS {
        for base in [Config::linux(), Config::bsd1999()] {
            let config = Config {
                ecn: EcnMode::Ask,
                recovery,
                congestion: CongestionKind::Reno,
                hystart: false,
                initial_window: 10,
                initial_rto: Duration::from_secs(1),
                timer_granularity: Duration::from_millis(1),
                delayed_ack: Duration::ZERO,
                ..base
            };
            let bsd = config.bsd_ssthresh;
            let mut pair = Pair::established(config.clone(), config);
            let begin = pair.now;
            // The first segment is marked, and all others are lost until the timer has expired; a probe of the tail among them.
            let isn = pair.sides[SERVER].identity.isn;
            pair.path = Box::new(move |crossing| match crossing.len {
                0 => Fate::Deliver,
                _ if crossing.header.sequence.0 == isn.wrapping_add(1) && crossing.ecn != Ecn::NotEct => {
                    Fate::Mark
                }
                _ if crossing.at < begin + Duration::from_millis(900) => Fate::Drop,
                _ => Fate::Deliver,
            });
            let mss = u32::from(pair.server().mss());
            pair.send(SERVER, &pattern(10 * mss as usize));
            pair.run_to(LONG, |pair| pair.server().reductions_for_marks() == 1);
            assert_eq!(pair.server().ssthresh(), 5 * mss, "{recovery:?} {bsd}");
            pair.run_to(LONG, |pair| pair.server().statistics().timeouts == 1);
            assert_eq!(pair.server().ssthresh(), 5 * mss, "{recovery:?} {bsd}");
            pair.run_to(LONG, |pair| pair.sides[CLIENT].received.len() == 10 * mss as usize);
            keeps_the_rules(&pair, SERVER);
            pair.finish();
        }
    }
}

#[test]
fn segments_that_are_too_long_end_the_fall_of_the_window() {
    for recovery in KINDS {
        let config = Config { recovery, congestion: CongestionKind::Reno, hystart: false, ..ecn() };
        let mut pair = Pair::established(config.clone(), config);
        let mut first = true;
        pair.path = Box::new(move |crossing| {
            let marked = std::mem::take(&mut first) && crossing.ecn == Ecn::Ect0;
            if marked { Fate::Mark } else { Fate::Deliver }
        });
        pair.send(SERVER, &pattern(40 * 1_448));
        pair.run_to(LONG, |pair| pair.server().reductions_for_marks() == 1);
        let quoted = pair.data_from(SERVER).last().expect("data").0.header.sequence;
        pair.report(SERVER, quoted, 576);
        let server = pair.server();
        assert_eq!(
            (server.cwnd(), server.ssthresh()),
            (server.ssthresh(), 5 * u32::from(server.mss())),
            "{recovery:?}"
        );
        let least = server.ssthresh();
        for _ in 0..10 {
            pair.run_for(Duration::from_millis(10));
            assert!(pair.server().cwnd() >= least, "{recovery:?}: {} from {least}", pair.server().cwnd());
        }
        pair.run_to(LONG, |pair| pair.sides[CLIENT].received.len() == 40 * 1_448);
        pair.finish();
    }
}

#[test]
fn a_segment_that_is_not_for_the_window_does_not_stop_the_echo() {
    let mut pair = Pair::established(ecn(), ecn());
    pair.path = mark_every(1);
    pair.send(SERVER, b"marked");
    pair.run_for(Duration::from_millis(200));
    let echoes = |pair: &Pair| {
        let last = pair.log.iter().rev().find(|(crossing, _)| crossing.from == CLIENT).expect("it answered");
        last.0.header.flags.contains(Flags::ECE)
    };
    assert!(echoes(&pair));
    // Beyond the window, and then right.
    pair.path = Box::new(|_| Fate::Deliver);
    let mut forged = pair.template(SERVER);
    forged.flags = Flags::ACK | Flags::CWR;
    forged.sequence += 1 << 30;
    pair.inject_with(CLIENT, forged, Ecn::Ect0, b"forged");
    pair.send(CLIENT, b"still");
    assert!(echoes(&pair));
    pair.send(SERVER, b"told");
    pair.run_for(Duration::from_millis(200));
    assert!(!echoes(&pair));
    pair.finish();
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn whatever_is_marked_or_lost_the_right_bytes_arrive_and_the_rules_hold(
        kind in 0_usize..4,
        cubic in any::<bool>(),
        sack in any::<bool>(),
        timestamps in any::<bool>(),
        fates in prop::collection::vec(0_u8..20, 1..200),
        size in 1_usize..200_000,
    ) {
        let congestion = if cubic { CongestionKind::Cubic } else { CongestionKind::Reno };
        let config =
            Config { recovery: KINDS[kind], congestion, hystart: cubic, sack, timestamps, ..ecn() };
        let mut pair = Pair::established(config.clone(), config);
        pair.sides[SERVER].watch = Some(Sent::new(pair.sides[SERVER].identity.isn, size));
        pair.path = Box::new(move |crossing| match fates[crossing.index as usize % fates.len()] {
            0 if crossing.len > 0 && crossing.index.is_multiple_of(3) => Fate::Drop,
            1..=6 if crossing.ecn == Ecn::Ect0 => Fate::Mark,
            7 => Fate::Delay(Duration::from_millis(15)),
            8 => Fate::Duplicate(Duration::from_millis(7)),
            _ => Fate::Deliver,
        });
        pair.send(SERVER, &pattern(size));
        pair.run_to(LONG, |pair| pair.sides[CLIENT].received.len() >= size);
        prop_assert!(pair.sides[CLIENT].received == pattern(size));
        prop_assert_eq!(pair.server().state(), State::Established);
        let least = |tcp: &Endpoint| 2 * u32::from(tcp.mss());
        prop_assert!(pair.server().ssthresh() >= least(pair.server()));
        keeps_the_rules(&pair, SERVER);
        keeps_the_rules(&pair, CLIENT);
        pair.finish();
    }
}
