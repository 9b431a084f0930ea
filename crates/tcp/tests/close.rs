//! Closing a connection in every order, resets, and what protects against forged ones.

use crate::common::*;
use wasp_packet::Payload;
use wasp_tcp::{Config, Event, State};
use wasp_units::Duration;
use wasp_wire::{Ecn, Flags, TcpHeader};

const RTT: Duration = Duration::from_millis(100);

fn established() -> Pair {
    Pair::established(Config::linux(), Config::linux())
}

fn flags_from(pair: &Pair, side: usize) -> Vec<Flags> {
    pair.log
        .iter()
        .filter(|(crossing, _)| crossing.from == side)
        .map(|(crossing, _)| crossing.header.flags)
        .collect()
}

#[test]
fn the_active_closer_passes_through_fin_wait_to_time_wait() {
    let mut pair = established();
    pair.close(CLIENT);
    assert_eq!(pair.client().state(), State::FinWait1);
    pair.run_for(RTT / 2);
    assert_eq!(pair.server().state(), State::CloseWait);
    assert!(pair.sides[SERVER].has(Event::RemoteClosed));
    pair.run_for(RTT / 2);
    assert_eq!(pair.client().state(), State::FinWait2);
    pair.close(SERVER);
    assert_eq!(pair.server().state(), State::LastAck);
    pair.run_for(RTT / 2);
    assert_eq!(pair.client().state(), State::TimeWait);
    let begin = pair.now;
    pair.run_for(RTT / 2);
    assert_eq!(pair.sides[SERVER].state(), State::Closed);
    assert!(pair.run(Duration::from_secs(100)));
    assert_eq!(pair.sides[CLIENT].when(Event::Closed), Some(begin + Duration::from_secs(60)));
    pair.finish();
}

#[test]
fn both_closing_at_once_pass_through_closing() {
    let mut pair = established();
    pair.close(CLIENT);
    pair.close(SERVER);
    pair.run_for(RTT / 2);
    assert_eq!(pair.client().state(), State::Closing);
    assert_eq!(pair.server().state(), State::Closing);
    pair.run_for(RTT / 2);
    assert_eq!(pair.client().state(), State::TimeWait);
    assert_eq!(pair.server().state(), State::TimeWait);
    pair.finish();
}

#[test]
fn a_fin_with_the_fin_it_answers_goes_straight_to_time_wait() {
    let mut pair = established();
    pair.sides[SERVER].closing = true;
    pair.close(CLIENT);
    pair.run_for(RTT);
    assert_eq!(pair.client().state(), State::TimeWait);
    assert_eq!(pair.sides[SERVER].state(), State::LastAck);
    pair.finish();
}

#[test]
fn the_fin_rides_on_the_last_data() {
    let mut pair = established();
    let before = pair.log.len();
    pair.command(CLIENT, |tcp, _| {
        tcp.send(wasp_tcp::Chunk::Shared((*b"last words").into()));
        tcp.close();
    });
    let sent: Vec<_> =
        pair.log[before..].iter().map(|(crossing, _)| (crossing.len, crossing.header.flags)).collect();
    assert_eq!(sent, [(10, Flags::FIN | Flags::PSH | Flags::ACK)]);
    pair.finish();
}

#[test]
fn data_still_flows_to_a_side_that_has_closed() {
    let mut pair = established();
    pair.close(CLIENT);
    pair.run_for(RTT);
    pair.send(SERVER, &pattern(50_000));
    pair.close(SERVER);
    pair.run_for(RTT * 5);
    assert_eq!(pair.sides[CLIENT].received, pattern(50_000));
    assert_eq!(pair.client().state(), State::TimeWait);
    pair.finish();
}

#[test]
fn a_lost_fin_is_repeated() {
    let mut pair = established();
    let first = pair.now;
    pair.path = Box::new(move |crossing| if crossing.at == first { Fate::Drop } else { Fate::Deliver });
    pair.close(CLIENT);
    pair.run_for(Duration::from_millis(400));
    assert_eq!(pair.client().state(), State::FinWait2);
    assert_eq!(pair.client().statistics().retransmitted, 1);
    pair.finish();
}

#[test]
fn a_fin_that_overtakes_data_waits_for_it() {
    let mut pair = established();
    let begin = pair.now;
    pair.path = Box::new(move |crossing| {
        let delayed = crossing.at == begin && crossing.len > 0 && !crossing.header.flags.contains(Flags::FIN);
        if delayed { Fate::Delay(Duration::from_millis(5)) } else { Fate::Deliver }
    });
    pair.command(CLIENT, |tcp, _| {
        tcp.send(wasp_tcp::Chunk::Shared(pattern(2_000).into()));
        tcp.close();
    });
    pair.run_for(RTT / 2);
    assert_eq!(pair.server().state(), State::Established);
    assert!(!pair.sides[SERVER].has(Event::RemoteClosed));
    pair.run_for(Duration::from_millis(5));
    assert_eq!(pair.server().state(), State::CloseWait);
    assert_eq!(pair.sides[SERVER].received, pattern(2_000));
    pair.finish();
}

#[test]
fn a_lost_last_acknowledgment_is_repeated_out_of_time_wait() {
    let mut pair = established();
    pair.sides[SERVER].closing = true;
    pair.close(CLIENT);
    pair.run_for(RTT / 2);
    let lost = pair.now + RTT / 2;
    pair.path =
        Box::new(
            move |crossing| {
                if crossing.from == CLIENT && crossing.at == lost { Fate::Drop } else { Fate::Deliver }
            },
        );
    pair.run_for(RTT);
    assert_eq!(pair.sides[SERVER].state(), State::LastAck);
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.sides[SERVER].state(), State::Closed);
    let fin = pair.log.iter().rfind(|(c, _)| c.from == SERVER && c.header.flags.contains(Flags::FIN));
    let restarted = fin.unwrap().0.at + RTT / 2;
    pair.run(Duration::from_secs(100));
    assert_eq!(pair.sides[CLIENT].when(Event::Closed), Some(restarted + Duration::from_secs(60)));
    pair.finish();
}

#[test]
fn time_wait_of_no_length_still_acknowledges() {
    let config = Config { time_wait: Duration::ZERO, ..Config::linux() };
    let mut pair = Pair::established(config.clone(), config);
    pair.sides[SERVER].closing = true;
    pair.close(CLIENT);
    assert!(pair.run(Duration::from_secs(1)));
    assert!(pair.sides[CLIENT].has(Event::Closed) && pair.sides[SERVER].has(Event::Closed));
    pair.finish();
}

#[test]
fn fin_wait_2_ends_when_the_peer_says_nothing() {
    let mut pair = established();
    let begin = pair.now;
    pair.close(CLIENT);
    pair.run(Duration::from_secs(100));
    // A round trip acknowledges the FIN.
    assert_eq!(pair.sides[CLIENT].when(Event::Closed), Some(begin + RTT + Duration::from_secs(60)));
    pair.finish();
}

#[test]
fn fin_wait_2_lasts_while_the_peer_speaks() {
    let mut pair = established();
    pair.close(CLIENT);
    for round in 1..=5 {
        pair.run_for(Duration::from_secs(40));
        pair.send(SERVER, b"still here ");
        pair.run_for(RTT);
        assert_eq!(pair.sides[CLIENT].received_len, 11 * round);
    }
    assert_eq!(pair.client().state(), State::FinWait2);
    pair.finish();
}

#[test]
fn an_abort_resets_the_peer() {
    let mut pair = established();
    pair.command(CLIENT, |tcp, _| tcp.abort());
    assert_eq!(flags_from(&pair, CLIENT).last(), Some(&(Flags::RST | Flags::ACK)));
    assert!(pair.sides[CLIENT].has(Event::Closed));
    pair.run_for(RTT);
    assert!(pair.sides[SERVER].has(Event::Reset));
    pair.finish();
}

#[test]
fn a_vanished_peer_resets_what_still_talks_to_it() {
    let mut pair = established();
    let gone = pair.sides[SERVER].endpoint.take().unwrap();
    gone.release(&mut pair.pool);
    pair.send(CLIENT, b"anyone there?");
    pair.run_for(RTT);
    assert!(pair.sides[CLIENT].has(Event::Reset));
    pair.finish();
}

#[test]
fn a_reset_counts_only_at_exactly_the_next_number() {
    let mut pair = established();
    let exact = TcpHeader { flags: Flags::RST, timestamps: None, ..pair.template(CLIENT) };
    let sent = pair.log.len();
    pair.inject(SERVER, TcpHeader { sequence: exact.sequence + 100, ..exact }, b"");
    assert_eq!(pair.server().state(), State::Established);
    assert_eq!(pair.log.len(), sent + 1, "RFC 5961 section 3.2: a challenge");
    assert_eq!(pair.log[sent].0.header.flags, Flags::ACK);
    pair.inject(SERVER, TcpHeader { sequence: exact.sequence - 1, ..exact }, b"");
    pair.inject(SERVER, TcpHeader { sequence: exact.sequence + (4 << 20), ..exact }, b"");
    assert_eq!(pair.server().state(), State::Established);
    assert_eq!(pair.log.len(), sent + 1, "out of the window a reset is ignored");
    pair.inject(SERVER, exact, b"");
    assert!(pair.sides[SERVER].has(Event::Reset));
    pair.finish();
}

/// With data queued and in flight, an acknowledgment due, a loss under repair: whatever was to leave stays, and no timer runs. Segments that
/// were on their way meet a closed port, which answers with resets.
#[test]
fn nothing_leaves_after_a_reset() {
    for repairing in [false, true] {
        let mut pair = established();
        if repairing {
            pair.path = Box::new(|crossing: &Crossing| {
                let lost = crossing.from == SERVER && crossing.len > 0 && crossing.index < 4;
                if lost { Fate::Drop } else { Fate::Deliver }
            });
        }
        pair.send_virtual(SERVER, 1 << 20);
        pair.send(CLIENT, b"one more");
        pair.run_for(RTT * 5 / 2);
        let reset = TcpHeader { flags: Flags::RST, timestamps: None, ..pair.template(CLIENT) };
        pair.inject(SERVER, reset, b"");
        assert!(pair.sides[SERVER].has(Event::Reset), "{repairing}");
        let sent = flags_from(&pair, SERVER).len();
        pair.run_for(Duration::from_secs(300));
        let after = flags_from(&pair, SERVER).split_off(sent);
        assert!(after.iter().all(|flags| flags.contains(Flags::RST)), "{repairing}: {after:?}");
        assert!(pair.sides[SERVER].endpoint.as_ref().is_none_or(|tcp| tcp.poll_timeout().is_none()));
        pair.finish();
    }
}

/// What arrives at one moment is answered together: here first data, whose acknowledgment is due, and then the connection's end.
#[test]
fn no_acknowledgment_leaves_after_the_end() {
    for reset in [false, true] {
        let mut pair = established();
        let data = TcpHeader { flags: Flags::PSH | Flags::ACK, ..pair.template(CLIENT) };
        let end = TcpHeader { flags: Flags::RST, sequence: data.sequence + 8, timestamps: None, ..data };
        let (now, sent) = (pair.now, flags_from(&pair, SERVER).len());
        pair.command(SERVER, |tcp, pool| {
            let bytes = pool.store(b"one more").expect("room");
            tcp.handle_segment(now, &data, Ecn::NotEct, bytes, pool);
            if reset {
                tcp.handle_segment(now, &end, Ecn::NotEct, Payload::Empty, pool);
            } else {
                tcp.abort();
            }
        });
        pair.run_for(RTT);
        let left = flags_from(&pair, SERVER).split_off(sent);
        assert!(left.iter().all(|flags| flags.contains(Flags::RST)), "{reset}: {left:?}");
        assert_eq!(left.len(), usize::from(!reset));
        pair.finish();
    }
}

#[test]
fn a_syn_in_a_synchronised_state_is_challenged_at_a_limited_rate() {
    let mut pair = established();
    let syn = TcpHeader { flags: Flags::SYN, ..pair.template(CLIENT) };
    let sent = pair.log.len();
    for _ in 0..20 {
        pair.inject(SERVER, syn, b"");
    }
    assert_eq!(pair.log.len(), sent + 1);
    pair.run_for(Duration::from_millis(500));
    pair.inject(SERVER, syn, b"");
    assert_eq!(pair.log.len(), sent + 2);
    assert_eq!(pair.server().state(), State::Established);
    pair.finish();
}

#[test]
fn an_acknowledgment_of_what_was_never_sent_is_challenged_and_its_data_dropped() {
    let mut pair = established();
    let good = pair.template(CLIENT);
    let sent = pair.log.len();
    pair.inject(SERVER, TcpHeader { acknowledgment: good.acknowledgment + 1_000, ..good }, b"forged");
    assert_eq!(pair.log.len(), sent + 1);
    assert!(pair.sides[SERVER].received.is_empty());
    pair.inject(SERVER, good, b"true");
    assert_eq!(pair.sides[SERVER].received, b"true");
    pair.finish();
}

#[test]
fn an_old_timestamp_is_refused() {
    let mut pair = established();
    pair.run_for(Duration::from_secs(10));
    pair.send(CLIENT, b"now");
    pair.run_for(RTT);
    let mut old = pair.template(CLIENT);
    old.timestamps.as_mut().unwrap().value -= 5_000;
    let sent = pair.log.len();
    pair.inject(SERVER, old, b"then");
    assert_eq!(pair.sides[SERVER].received, b"now", "RFC 7323 section 5: PAWS");
    assert_eq!(pair.log.len(), sent + 1, "and acknowledged");
    pair.finish();
}

#[test]
fn nothing_is_sent_after_the_end() {
    let mut pair = established();
    pair.command(CLIENT, |tcp, _| {
        tcp.close();
        tcp.send(wasp_tcp::Chunk::Virtual(1_000));
    });
    pair.run_for(RTT);
    assert_eq!(pair.client().unsent(), 0);
    assert_eq!(pair.sides[SERVER].received_len, 0);
    pair.finish();
}

#[test]
fn retransmissions_of_a_peer_that_has_gone_silent_end_the_connection() {
    let config = Config { retries: 3, ..Config::linux() };
    let mut pair = Pair::established(config.clone(), config);
    pair.path = Box::new(|_| Fate::Drop);
    let begin = pair.now;
    pair.send(CLIENT, b"hello?");
    assert!(pair.run(Duration::from_secs(60)));
    let sent: Vec<_> =
        pair.data_from(CLIENT).map(|(crossing, _)| (crossing.at - begin).as_millis()).collect();
    // The first is a tail loss probe, which restarts the timer in the place of a timeout.
    assert_eq!(sent, [0, 300, 600, 1_200, 2_400]);
    assert_eq!(pair.sides[CLIENT].when(Event::TimedOut), Some(begin + Duration::from_millis(4_800)));
    assert!(!pair.sides[CLIENT].has(Event::Closed), "one last event");
    pair.finish();
}
