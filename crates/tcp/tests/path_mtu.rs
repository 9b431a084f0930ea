//! What ICMP errors report: a path that carries only short packets (RFC 1191), and a peer that cannot be reached (RFC 1122 section 4.2.3.9).

use crate::common::*;
use proptest::prelude::*;
use wasp_tcp::{Config, CongestionKind, Event, RecoveryKind, State};
use wasp_units::{Duration, Instant};
use wasp_wire::SequenceNumber;

const LONG: Duration = Duration::from_secs(3_600);
const RTT: Duration = Duration::from_millis(100);
const KINDS: [RecoveryKind; 4] =
    [RecoveryKind::Reno, RecoveryKind::NewReno, RecoveryKind::Sack, RecoveryKind::Rack];

fn config(recovery: RecoveryKind) -> Config {
    Config { recovery, congestion: CongestionKind::Reno, hystart: false, ..Config::linux() }
}

/// A connection whose path takes packets of `mtu` bytes.
fn narrow(config: &Config, mtu: u16) -> Pair {
    let mut pair = Pair::established(config.clone(), config.clone());
    pair.mtus[0] = mtu;
    pair
}

/// The longest packet of `side` from its `from`-th segment on, bytes.
fn longest(pair: &Pair, side: usize) -> usize {
    let crossed = pair.log.iter().filter(|(crossing, fate)| crossing.from == side && *fate != Fate::Drop);
    crossed.map(|(crossing, _)| crossing.packet_len()).max().expect("something was sent")
}

#[test]
fn a_download_across_each_mtu_arrives_and_only_the_first_flight_is_lost() {
    for recovery in KINDS {
        for mtu in [1_499, 1_400, 1_280, 1_006, 576, 552] {
            let mut pair = narrow(&config(recovery), mtu);
            pair.sides[SERVER].watch = Some(Sent::new(pair.sides[SERVER].identity.isn, 64_000));
            pair.send(SERVER, &pattern(64_000));
            pair.run_to(LONG, |pair| pair.sides[CLIENT].received.len() == 64_000);
            assert_eq!(pair.sides[CLIENT].received, pattern(64_000), "{recovery:?} {mtu}");
            assert_eq!(longest(&pair, SERVER), usize::from(mtu), "{recovery:?}");
            assert_eq!(pair.server().mss(), mtu - 52);
            let statistics = *pair.server().statistics();
            assert_eq!((statistics.timeouts, statistics.fast_retransmits), (0, 0), "{recovery:?} {mtu}");
            assert_eq!(pair.server().ssthresh(), u32::MAX, "no congestion");
            let lost = pair.log.iter().filter(|(_, fate)| *fate == Fate::Drop).count();
            assert_eq!(lost, 10, "{recovery:?} {mtu}: the initial window");
            pair.finish();
        }
    }
}

#[test]
fn small_segments_before_long_ones_do_not_hold_them_up() {
    for recovery in KINDS {
        let mut pair = narrow(&Config { nagle: wasp_tcp::Nagle::Off, ..config(recovery) }, 1_000);
        let begin = pair.now;
        pair.send(SERVER, &pattern(100));
        pair.send(SERVER, &pattern(1_448));
        pair.run_for(RTT * 2);
        let sent: Vec<_> = pair
            .data_from(SERVER)
            .map(|(crossing, _)| ((crossing.at - begin).as_millis(), crossing.len))
            .collect();
        // The report comes half a round trip after the segment left.
        assert_eq!(sent, [(0, 100), (0, 1_448), (50, 948), (50, 500)], "{recovery:?}");
        assert_eq!(pair.server().statistics().retransmitted, 2);
        pair.finish();
    }
}

#[test]
fn a_fin_stays_with_the_last_piece() {
    for recovery in KINDS {
        let mut pair = narrow(&config(recovery), 1_000);
        pair.command(SERVER, |tcp, _| {
            tcp.send(wasp_tcp::Chunk::Shared(pattern(1_440).into()));
            tcp.close();
        });
        pair.sides[CLIENT].closing = true;
        assert!(pair.run(LONG), "{recovery:?}");
        assert_eq!(pair.sides[CLIENT].received, pattern(1_440));
        assert!(pair.sides[SERVER].has(Event::Closed) && pair.sides[CLIENT].has(Event::Closed));
        let statistics = pair.data_from(SERVER).count();
        assert_eq!(statistics, 3, "the segment, and its two pieces");
        pair.finish();
    }
}

#[test]
fn the_window_keeps_its_segments() {
    let mut pair = narrow(&config(RecoveryKind::Rack), 776);
    pair.send(SERVER, &pattern(100_000));
    assert_eq!(pair.server().cwnd(), 10 * 1_448);
    pair.run_for(Duration::from_millis(60));
    assert_eq!((pair.server().cwnd(), pair.server().mss()), (10 * 724, 724));
    assert_eq!(pair.server().pipe(), 10 * 724, "the window is used at once");
    pair.run_to(LONG, |pair| pair.sides[CLIENT].received.len() == 100_000);
    assert_eq!(pair.server().statistics().timeouts, 0);
    pair.finish();
}

#[test]
fn a_report_counts_only_for_what_is_in_flight() {
    let mut pair = Pair::established(config(RecoveryKind::Rack), config(RecoveryKind::Rack));
    pair.send(SERVER, &pattern(2_000));
    let first = pair.data_from(SERVER).next().expect("data").0.header.sequence;
    let report = |pair: &mut Pair, quoted: SequenceNumber, mtu| {
        pair.report(SERVER, quoted, mtu);
        pair.server().mss()
    };
    // SND.UNA =< SEG.SEQ < SND.NXT.
    assert_eq!(report(&mut pair, first - 1, 600), 1_448);
    assert_eq!(report(&mut pair, first + 2_000, 600), 1_448);
    assert_eq!(report(&mut pair, first + (1 << 31), 600), 1_448);
    assert_eq!(pair.server().statistics().retransmitted, 0);
    assert_eq!(report(&mut pair, first + 1_999, 600), 548);
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.sides[CLIENT].received, pattern(2_000));
    assert_eq!(report(&mut pair, first, 560), 548, "nothing is in flight");
    pair.finish();
}

#[test]
fn a_forged_report_costs_no_more_than_short_segments() {
    for recovery in KINDS {
        let mut pair = Pair::established(config(recovery), config(recovery));
        pair.send(SERVER, &pattern(100_000));
        let first = pair.data_from(SERVER).next().expect("data").0.header.sequence;
        pair.run_for(Duration::from_millis(20));
        // Nothing was lost: what is sent again arrives twice.
        pair.report(SERVER, first, 576);
        pair.run_to(LONG, |pair| pair.sides[CLIENT].received.len() == 100_000);
        assert_eq!(pair.sides[CLIENT].received, pattern(100_000), "{recovery:?}");
        pair.finish();
    }
}

#[test]
fn what_the_receiver_holds_is_not_sent_again_when_the_others_are_cut() {
    let mut pair = Pair::established(config(RecoveryKind::Sack), config(RecoveryKind::Sack));
    pair.path =
        Box::new(|crossing| if crossing.len > 0 && crossing.index == 1 { Fate::Drop } else { Fate::Deliver });
    pair.send(SERVER, &pattern(3 * 1_448));
    pair.run_for(Duration::from_millis(101));
    let first = pair.data_from(SERVER).next().expect("data").0.header.sequence;
    let again =
        |pair: &Pair| pair.data_from(SERVER).skip(3).map(|(crossing, _)| crossing.len).collect::<Vec<_>>();
    for quoted in [first, first + 1_448] {
        pair.report(SERVER, quoted, 1_000);
        assert_eq!((pair.server().mss(), again(&pair)), (948, vec![948, 500]));
    }
    pair.run_to(LONG, |pair| pair.sides[CLIENT].received.len() == 3 * 1_448);
    assert_eq!(pair.sides[CLIENT].received, pattern(3 * 1_448));
    pair.finish();
}

/// The receiver discards what it reported to hold (RFC 2018 section 8), which was not cut with the others.
#[test]
fn what_was_held_and_is_not_any_more_is_cut_when_it_is_sent_again() {
    for recovery in [RecoveryKind::Sack, RecoveryKind::Rack] {
        let mut pair = Pair::established(config(recovery), config(recovery));
        pair.path = Box::new(|crossing| {
            let lost = crossing.from == SERVER && crossing.len > 0;
            if lost { Fate::Drop } else { Fate::Deliver }
        });
        pair.send(SERVER, &pattern(3 * 1_448));
        let first = pair.data_from(SERVER).next().expect("data").0.header.sequence;
        pair.run_for(RTT);
        let mut held = pair.template(CLIENT);
        held.acknowledgment = first;
        held.sack.push(first + 1_448, first + 3 * 1_448);
        pair.inject(SERVER, held, &[]);
        pair.report(SERVER, first, 1_000);
        // The first arrives, and then nothing more is held.
        let mut more = pair.template(CLIENT);
        more.acknowledgment = first + 1_448;
        pair.inject(SERVER, more, &[]);
        let before = pair.data_from(SERVER).count();
        pair.run_for(LONG / 60);
        let later: Vec<_> = pair.data_from(SERVER).skip(before).map(|(crossing, _)| crossing.len).collect();
        assert!(!later.is_empty() && later.iter().all(|len| *len <= 948), "{recovery:?}: {later:?}");
    }
}

/// Another connection of the host has learnt of the path, and no router reports to this one.
#[test]
fn a_timeout_cuts_what_is_longer_than_the_known_path() {
    for recovery in KINDS {
        let mut pair = Pair::established(config(recovery), config(recovery));
        pair.path = Box::new(|crossing| if crossing.packet_len() > 576 { Fate::Drop } else { Fate::Deliver });
        pair.send(SERVER, &pattern(30_000));
        pair.command(SERVER, |tcp, _| tcp.set_path_mtu(576));
        pair.run_to(LONG, |pair| pair.sides[CLIENT].received.len() == 30_000);
        assert_eq!(pair.sides[CLIENT].received, pattern(30_000), "{recovery:?}");
        let long = pair.data_from(SERVER).filter(|(_, fate)| *fate == Fate::Drop).count();
        assert_eq!((long, pair.server().statistics().timeouts <= 1), (10, true), "{recovery:?}");
        pair.finish();
    }
}

/// Reports of what is missing make segments shorter, but not those that are on their way again.
#[test]
fn a_repeated_report_cuts_nothing_that_was_cut_although_blocks_take_room() {
    let mut pair = Pair::established(config(RecoveryKind::Rack), config(RecoveryKind::Rack));
    pair.path = Box::new(|crossing| {
        let hit = crossing.from == CLIENT && crossing.len > 0 && crossing.index == 2;
        if hit { Fate::Drop } else { Fate::Deliver }
    });
    pair.send(SERVER, &pattern(2 * 1_448));
    let first = pair.data_from(SERVER).next().expect("data").0.header.sequence;
    pair.report(SERVER, first, 1_000);
    let sent = pair.data_from(SERVER).count();
    pair.send(CLIENT, &pattern(3 * 1_448));
    pair.run_for(Duration::from_millis(51));
    pair.report(SERVER, first + 1_448, 1_000);
    let again = pair
        .data_from(SERVER)
        .skip(sent)
        .filter(|(crossing, _)| crossing.header.sequence.before(first + 2 * 1_448));
    assert_eq!(again.count(), 0);
    pair.run_to(LONG, |pair| pair.sides[CLIENT].received.len() == 2 * 1_448);
    pair.finish();
}

/// Reports need not keep to the bounds of segments, nor pieces to those of reports.
#[test]
fn a_piece_that_is_reported_in_part_of_a_segment_is_held() {
    let mut pair = Pair::established(config(RecoveryKind::Rack), config(RecoveryKind::Rack));
    pair.path =
        Box::new(
            |crossing| if crossing.from == SERVER && crossing.len > 0 { Fate::Drop } else { Fate::Deliver },
        );
    pair.send(SERVER, &pattern(3 * 1_448));
    let first = pair.data_from(SERVER).next().expect("data").0.header.sequence;
    pair.run_for(RTT);
    let mut odd = pair.template(CLIENT);
    odd.acknowledgment = first;
    odd.sack.push(first + 1_448, first + 4_000);
    pair.inject(SERVER, odd, &[]);
    let before = pair.data_from(SERVER).count();
    pair.report(SERVER, first, 552);
    let again: Vec<_> = pair
        .data_from(SERVER)
        .skip(before)
        .map(|(crossing, _)| crossing.header.sequence.since(first))
        .collect();
    assert_eq!(again, [0, 500, 1_000, 3_896], "2,896 to 3,896 are held");
    pair.finish();
}

#[test]
fn two_narrow_links_in_series_are_no_congestion() {
    for recovery in KINDS {
        for timestamps in [true, false] {
            let mut pair = narrow(&Config { timestamps, ..config(recovery) }, 1_000);
            pair.mtus[1] = 640;
            pair.send(SERVER, &pattern(200_000));
            pair.run_to(LONG, |pair| pair.sides[CLIENT].received.len() == 200_000);
            assert_eq!(pair.sides[CLIENT].received, pattern(200_000));
            assert_eq!(longest(&pair, SERVER), 640);
            let statistics = *pair.server().statistics();
            assert_eq!(
                (statistics.timeouts, statistics.fast_retransmits),
                (0, 0),
                "{recovery:?} {timestamps}"
            );
            assert_eq!(pair.server().ssthresh(), u32::MAX, "{recovery:?} {timestamps}");
            pair.finish();
        }
    }
}

/// Long and short segments in turn: what is lost stands before and behind what is not.
#[test]
fn lost_pieces_behind_segments_that_arrive_do_not_wait_for_a_timeout() {
    for recovery in KINDS {
        let config = Config { nagle: wasp_tcp::Nagle::Off, segmentation_offload: false, ..config(recovery) };
        let mut pair = narrow(&config, 640);
        let sizes = [1_448, 1_448, 1_448, 1_448, 1_448, 1_448, 100, 100, 100, 1_448];
        for size in sizes {
            pair.send(SERVER, &pattern(size));
        }
        let all: Vec<u8> = sizes.into_iter().flat_map(pattern).collect();
        pair.run_to(LONG, |pair| pair.sides[CLIENT].received.len() == all.len());
        assert_eq!(pair.sides[CLIENT].received, all, "{recovery:?}");
        let statistics = *pair.server().statistics();
        assert_eq!((statistics.timeouts, statistics.fast_retransmits), (0, 0), "{recovery:?}");
        pair.finish();
    }
}

/// The blocks of what the sender itself misses make its packets longer.
#[test]
fn a_segment_that_is_too_long_with_its_sack_blocks_is_cut() {
    for recovery in [RecoveryKind::Sack, RecoveryKind::Rack] {
        let mut pair = Pair::established(config(recovery), config(recovery));
        // Of the client's first segments one is missing, so that the server reports a block.
        pair.path = Box::new(|crossing| {
            let hit = crossing.from == CLIENT && crossing.len > 0 && crossing.index == 2;
            if hit { Fate::Drop } else { Fate::Deliver }
        });
        pair.send(CLIENT, &pattern(3 * 1_448));
        pair.run_for(Duration::from_millis(50));
        pair.send(SERVER, &pattern(4_000));
        let (sent, _) = *pair.data_from(SERVER).next().expect("data");
        assert!(sent.packet_len() == 1_500 && sent.len < 1_448, "{}", sent.len);
        pair.report(SERVER, sent.header.sequence, 1_490);
        let again =
            pair.data_from(SERVER).filter(|(crossing, _)| crossing.header.sequence == sent.header.sequence);
        assert_eq!(again.count(), 2, "{recovery:?}: it is sent again at once");
        assert!(pair.data_from(SERVER).skip(3).all(|(crossing, _)| crossing.packet_len() <= 1_490));
        pair.run_to(LONG, |pair| pair.sides[CLIENT].received.len() == 4_000);
        assert_eq!(pair.sides[CLIENT].received, pattern(4_000));
        pair.finish();
    }
}

#[test]
fn a_syn_offers_what_the_path_carries() {
    let mut pair = Pair::new(config(RecoveryKind::Rack), config(RecoveryKind::Rack));
    pair.connect();
    assert_eq!(pair.log[0].0.header.mss, Some(1_460));
    for (mtu, mss) in [(1_500, 1_460), (1_000, 960), (576, 536), (200, 256)] {
        let mut endpoint = wasp_tcp::Endpoint::connect(
            &pair.sides[CLIENT].config,
            1,
            2,
            pair.sides[CLIENT].identity,
            pair.now,
        );
        endpoint.set_path_mtu(mtu);
        let syn = endpoint.poll_transmit(pair.now, &mut pair.pool).expect("a SYN");
        assert_eq!(syn.header.mss, Some(mss), "{mtu}");
    }
    pair.finish();
}

#[test]
fn what_is_known_of_the_path_limits_segments_from_the_first() {
    for timestamps in [true, false] {
        let config = Config { timestamps, ..config(RecoveryKind::Rack) };
        let mut pair = Pair::new(config.clone(), config);
        pair.connect();
        pair.command(CLIENT, |tcp, _| tcp.set_path_mtu(576));
        pair.run_for(RTT);
        pair.send(CLIENT, &pattern(20_000));
        pair.run_to(LONG, |pair| pair.sides[SERVER].received.len() == 20_000);
        assert_eq!(longest(&pair, CLIENT), 576);
        assert_eq!(pair.client().mss(), if timestamps { 524 } else { 536 });
        assert_eq!(pair.client().statistics().retransmitted, 0);
        assert_eq!(pair.server().mss(), if timestamps { 1_448 } else { 1_460 }, "its SYN had been sent");
        pair.finish();
    }
}

#[test]
fn a_path_is_never_taken_for_wider_nor_for_narrower_than_the_least_segment() {
    let mut pair = narrow(&config(RecoveryKind::Rack), 1_500);
    pair.send(SERVER, &pattern(100));
    let first = pair.data_from(SERVER).next().expect("data").0.header.sequence;
    for (mtu, mss) in [(1_500, 1_448), (1_000, 948), (1_400, 948), (0, 36), (68, 36)] {
        pair.report(SERVER, first, mtu);
        assert_eq!(pair.server().mss(), mss, "{mtu}");
    }
    pair.run_to(LONG, |pair| pair.sides[CLIENT].received.len() == 100);
    pair.finish();
}

#[test]
fn a_connection_is_given_up_when_an_error_answers_its_syn_and_only_then() {
    let mut pair = Pair::new(Config::linux(), Config::linux());
    pair.connect();
    pair.run_for(RTT / 2);
    pair.command(SERVER, |tcp, _| tcp.handle_unreachable());
    assert_eq!(pair.server().state(), State::SynReceived, "a SYN-ACK is sent again");
    pair.run_for(RTT);
    pair.command(CLIENT, |tcp, _| tcp.handle_unreachable());
    pair.command(SERVER, |tcp, _| tcp.handle_unreachable());
    pair.send(CLIENT, &pattern(1_000));
    pair.run_for(RTT);
    assert_eq!(pair.sides[SERVER].received, pattern(1_000));
    pair.finish();

    let mut pair = Pair::new(Config::linux(), Config::linux());
    pair.path = Box::new(|_| Fate::Drop);
    pair.connect();
    let syn = pair.log[0].0.header.sequence;
    assert!(pair.client().is_in_flight(syn) && !pair.client().is_in_flight(syn + 1));
    pair.command(CLIENT, |tcp, _| tcp.handle_unreachable());
    assert_eq!(pair.sides[CLIENT].events, [(Instant::ZERO, Event::Refused)]);
    assert!(pair.run(LONG), "nothing is sent any more");
    assert_eq!(pair.log.len(), 1);
    pair.finish();
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn whatever_is_lost_on_a_narrow_path_the_right_bytes_arrive(
        kind in 0_usize..4,
        sack in any::<bool>(),
        timestamps in any::<bool>(),
        first in 100_u16..1_500,
        second in 100_u16..1_500,
        lost in prop::collection::vec(any::<bool>(), 1..100),
        size in 1_usize..100_000,
    ) {
        let config = Config { sack, timestamps, nagle: wasp_tcp::Nagle::Off, ..config(KINDS[kind]) };
        let mut pair = narrow(&config, first.max(second));
        for side in [CLIENT, SERVER] {
            pair.sides[side].watch = Some(Sent::new(pair.sides[side].identity.isn, size));
        }
        pair.path = Box::new(move |crossing| {
            let index = crossing.index as usize;
            let hit = lost[index % lost.len()] && index.is_multiple_of(5) && crossing.len > 0;
            if hit { Fate::Drop } else { Fate::Deliver }
        });
        pair.send(SERVER, &pattern(size));
        pair.send(CLIENT, &pattern(size / 3));
        pair.run_for(Duration::from_millis(250));
        // The path changes.
        pair.mtus[0] = first.min(second);
        let done = |pair: &Pair| {
            pair.sides[CLIENT].received.len() == size && pair.sides[SERVER].received.len() == size / 3
        };
        pair.run_to(LONG, done);
        prop_assert!(pair.sides[CLIENT].received == pattern(size));
        prop_assert!(pair.sides[SERVER].received == pattern(size / 3));
        pair.finish();
    }
}
