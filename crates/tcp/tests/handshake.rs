//! Opening a connection: SYN-SENT and SYN-RECEIVED, event by event.

use crate::common::*;
use wasp_tcp::{Config, Endpoint, Event, Identity, RttEstimator, State};
use wasp_units::{Duration, Instant};
use wasp_wire::{Flags, TcpHeader};

const RTT: Duration = Duration::from_millis(100);

fn seconds(time: Instant) -> f64 {
    time.as_secs_f64()
}

fn linux() -> Pair {
    Pair::new(Config::linux(), Config::linux())
}

/// Drops the first `count` segments of `side`.
fn lose_first(side: usize, count: u64) -> Path {
    Box::new(
        move |crossing| {
            if crossing.from == side && crossing.index < count { Fate::Drop } else { Fate::Deliver }
        },
    )
}

#[test]
fn the_handshake_takes_one_round_trip_and_agrees_on_options() {
    let mut pair = linux();
    pair.connect();
    pair.run_for(RTT * 2);
    assert_eq!(pair.sides[CLIENT].when(Event::Connected), Some(Instant::ZERO + RTT));
    assert_eq!(pair.sides[SERVER].when(Event::Connected), Some(Instant::ZERO + RTT + RTT / 2));
    let [syn, syn_ack, ack] = [0, 1, 2].map(|index| pair.log[index].0.header);
    assert_eq!(syn.flags, Flags::SYN);
    assert_eq!(
        (syn.mss, syn.sack_permitted, syn.window, syn.window_scale),
        (Some(1_460), true, 64_240, Some(10))
    );
    assert_eq!(syn_ack.flags, Flags::SYN | Flags::ACK);
    assert_eq!(syn_ack.timestamps.unwrap().echo, syn.timestamps.unwrap().value);
    assert_eq!(ack.flags, Flags::ACK);
    assert_eq!((ack.mss, ack.window_scale, ack.sack_permitted), (None, None, false));
    // The first window in steps of its scale, a segment of the buffer held back.
    assert_eq!(u32::from(ack.window) << 10, 64_088_u32.next_multiple_of(1 << 10));
    assert_eq!(pair.client().srtt(), Some(RTT));
    assert_eq!(pair.client().rto(), Duration::from_millis(300));
    assert_eq!(pair.client().mss(), 1_448);
    pair.finish();
}

#[test]
fn options_that_one_side_leaves_out_are_not_used() {
    let plain = Config { sack: false, timestamps: false, window_scaling: false, ..Config::linux() };
    for (client, server) in [(plain.clone(), Config::linux()), (Config::linux(), plain)] {
        let mut pair = Pair::established(client, server);
        let syn_ack = pair.log[1].0.header;
        assert_eq!((syn_ack.window_scale, syn_ack.sack_permitted, syn_ack.timestamps), (None, false, None));
        assert_eq!((pair.client().mss(), pair.client().send_window()), (1_460, 64_240));
        pair.send(CLIENT, &pattern(5_000));
        pair.run_for(RTT);
        assert!(pair.log[2..].iter().all(|(crossing, _)| crossing.header.timestamps.is_none()));
        assert_eq!(pair.sides[SERVER].received, pattern(5_000));
        pair.finish();
    }
}

#[test]
fn segments_have_the_smaller_mss_and_536_without_the_option() {
    let small = Config { mss: 600, timestamps: false, ..Config::linux() };
    let mut pair = Pair::established(Config { timestamps: false, ..Config::linux() }, small.clone());
    assert_eq!(pair.client().mss(), 600);
    assert_eq!(pair.server().mss(), 600);
    pair.send(CLIENT, &pattern(1_300));
    assert_eq!(pair.data_from(CLIENT).map(|(crossing, _)| crossing.len).collect::<Vec<_>>(), [600, 600, 100]);
    pair.finish();
    let syn = TcpHeader {
        source_port: 1,
        destination_port: 2,
        flags: Flags::SYN,
        window: 100,
        ..Default::default()
    };
    let config = std::sync::Arc::new(Config::linux());
    let endpoint = Endpoint::accept(&config, &syn, 2, Identity::default(), Instant::ZERO);
    assert_eq!(endpoint.mss(), 536);
}

#[test]
fn linux_repeats_its_syn_linearly_then_doubling_and_gives_up() {
    let mut pair = linux();
    pair.path = lose_first(CLIENT, u64::MAX);
    pair.connect();
    assert!(pair.run(Duration::from_secs(300)));
    let sent: Vec<_> = pair.log.iter().map(|(crossing, _)| seconds(crossing.at)).collect();
    // Six retransmissions (tcp_syn_retries) and four at the initial interval (tcp_syn_linear_timeouts).
    assert_eq!(sent, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 11.0, 19.0, 35.0, 67.0]);
    assert_eq!(pair.sides[CLIENT].events, [(Instant::from_nanos(131_000_000_000), Event::TimedOut)]);
    pair.finish();
}

#[test]
fn bsd_repeats_its_syn_after_3_6_12_and_24_seconds_of_ticks() {
    let mut pair = Pair::new(Config::bsd1999(), Config::bsd1999());
    pair.path = lose_first(CLIENT, u64::MAX);
    pair.connect();
    assert!(pair.run(Duration::from_secs(300)));
    let sent: Vec<_> = pair.log.iter().map(|(crossing, _)| seconds(crossing.at)).collect();
    // The clock ticks at 0.123 s and every 0.5 s: the first timer of six ticks ends early, the others on a tick.
    assert_eq!(sent, [0.0, 2.623, 8.623, 20.623, 44.623]);
    assert_eq!(pair.sides[CLIENT].events, [(Instant::from_nanos(92_623_000_000), Event::TimedOut)]);
    pair.finish();
}

#[test]
fn a_lost_syn_ack_is_repeated_by_whoever_is_first() {
    let mut pair = linux();
    pair.path = lose_first(SERVER, 1);
    pair.connect();
    pair.run_for(Duration::from_secs(2));
    // The client's SYN of second 1 brings a SYN-ACK at 1.05; the server's own timer brings another at the same time.
    assert_eq!(pair.sides[CLIENT].when(Event::Connected), Some(Instant::ZERO + Duration::from_millis(1_100)));
    assert_eq!(pair.server().state(), State::Established);
    pair.finish();
}

#[test]
fn a_lost_last_acknowledgment_is_made_up_for_by_the_request() {
    let mut pair = linux();
    pair.path =
        Box::new(
            |crossing| {
                if crossing.from == CLIENT && crossing.index == 1 { Fate::Drop } else { Fate::Deliver }
            },
        );
    pair.connect();
    pair.run_for(RTT);
    pair.send(CLIENT, b"request");
    pair.run_for(RTT);
    assert_eq!(pair.sides[SERVER].when(Event::Connected), Some(Instant::ZERO + RTT * 3 / 2));
    assert_eq!(pair.sides[SERVER].received, b"request");
    pair.finish();
}

#[test]
fn without_a_request_the_server_repeats_its_syn_ack_and_the_client_its_acknowledgment() {
    let mut pair = linux();
    pair.path =
        Box::new(
            |crossing| {
                if crossing.from == CLIENT && crossing.index == 1 { Fate::Drop } else { Fate::Deliver }
            },
        );
    pair.connect();
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.server().state(), State::SynReceived);
    pair.run_for(Duration::from_millis(200));
    assert_eq!(pair.server().state(), State::Established);
    pair.finish();
}

#[test]
fn a_half_open_server_gives_up_after_its_syn_ack_retries() {
    let mut pair = linux();
    pair.path =
        Box::new(
            |crossing| if crossing.from == CLIENT && crossing.index > 0 { Fate::Drop } else { Fate::Deliver },
        );
    pair.connect();
    pair.run_for(Duration::from_secs(70));
    let syn_acks = pair.log.iter().filter(|(crossing, _)| crossing.header.flags == Flags::SYN | Flags::ACK);
    assert_eq!(
        syn_acks.map(|(crossing, _)| seconds(crossing.at)).collect::<Vec<_>>(),
        [0.05, 1.05, 3.05, 7.05, 15.05, 31.05]
    );
    assert!(pair.sides[SERVER].has(Event::TimedOut));
    pair.finish();
}

#[test]
fn a_closed_port_refuses() {
    let mut pair = linux();
    pair.listening = false;
    pair.connect();
    pair.run(RTT * 2);
    assert_eq!(pair.sides[CLIENT].events, [(Instant::ZERO + RTT, Event::Refused)]);
    pair.finish();
}

#[test]
fn both_ends_may_open_at_once() {
    let mut pair = linux();
    pair.connect_both();
    pair.run_for(RTT * 2);
    for side in [CLIENT, SERVER] {
        assert_eq!(pair.sides[side].state(), State::Established, "RFC 9293 figure 7");
        assert!(pair.sides[side].has(Event::Connected));
    }
    pair.send(CLIENT, b"from the client");
    pair.send(SERVER, b"from the server");
    pair.run_for(RTT);
    assert_eq!(pair.sides[SERVER].received, b"from the client");
    assert_eq!(pair.sides[CLIENT].received, b"from the server");
    pair.finish();
}

#[test]
fn a_syn_that_meets_a_stale_connection_resets_it_and_succeeds() {
    let mut pair = Pair::established(Config::linux(), Config::linux());
    // The client forgets, and opens again from the same port with other numbers.
    let old = pair.sides[CLIENT].endpoint.take().unwrap();
    old.release(&mut pair.pool);
    pair.sides[CLIENT].identity.isn = 0x1234_5678;
    let begin = pair.now;
    pair.connect();
    pair.run_for(Duration::from_secs(2));
    assert!(pair.sides[SERVER].has(Event::Reset), "RFC 9293 figure 9");
    assert_eq!(pair.client().state(), State::Established);
    let connected = pair.sides[CLIENT].events.last().unwrap();
    assert_eq!(connected.0 - begin, Duration::from_millis(1_100), "at the second SYN");
    pair.finish();
}

#[test]
fn a_syn_that_meets_time_wait_opens_anew_when_its_timestamp_is_later() {
    let mut pair = Pair::established(Config::linux(), Config::linux());
    pair.sides[CLIENT].closing = true;
    pair.close(SERVER);
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.server().state(), State::TimeWait);
    assert_eq!(pair.sides[CLIENT].state(), State::Closed);
    pair.sides[CLIENT].identity.isn = 5;
    let begin = pair.now;
    pair.connect();
    pair.run_for(RTT * 2);
    assert_eq!(pair.client().state(), State::Established);
    assert_eq!(pair.sides[CLIENT].events.last().unwrap(), &(begin + RTT, Event::Connected));
    pair.finish();
}

#[test]
fn an_old_syn_in_time_wait_is_only_acknowledged() {
    let plain = Config { timestamps: false, ..Config::linux() };
    let mut pair = Pair::established(plain.clone(), plain);
    pair.sides[CLIENT].closing = true;
    pair.close(SERVER);
    pair.run_for(Duration::from_secs(1));
    let syn = |sequence| TcpHeader {
        source_port: 40_000,
        destination_port: 80,
        sequence,
        flags: Flags::SYN,
        ..Default::default()
    };
    let next = pair.log.iter().rev().find(|(c, _)| c.from == SERVER).unwrap().0.header.acknowledgment;
    assert!(!pair.server().yields_to(&syn(next - 1)));
    assert!(pair.server().yields_to(&syn(next + 1)));
    pair.inject(SERVER, syn(next - 1), b"");
    let last = pair.log.last().unwrap().0;
    assert_eq!((last.from, last.header.flags), (SERVER, Flags::ACK));
    assert_eq!(pair.server().state(), State::TimeWait);
    pair.finish();
}

#[test]
fn a_repeated_syn_in_syn_received_is_answered_again() {
    let mut pair = linux();
    pair.connect();
    pair.run_for(RTT / 2);
    let syn = pair.log[0].0.header;
    pair.inject(SERVER, syn, b"");
    assert_eq!(pair.log.last().unwrap().0.header.flags, Flags::SYN | Flags::ACK);
    assert_eq!(pair.server().state(), State::SynReceived);
    pair.finish();
}

#[test]
fn a_wrong_acknowledgment_in_syn_received_is_reset_and_changes_nothing() {
    let mut pair = linux();
    pair.connect();
    pair.run_for(RTT / 2);
    let (syn, syn_ack) = (pair.log[0].0.header, pair.log[1].0.header);
    let wrong = TcpHeader {
        sequence: syn.sequence + 1,
        acknowledgment: syn_ack.sequence + 77,
        flags: Flags::ACK,
        mss: None,
        window_scale: None,
        sack_permitted: false,
        ..syn
    };
    pair.inject(SERVER, wrong, b"");
    let reset = pair.log.last().unwrap().0.header;
    assert_eq!((reset.flags, reset.sequence), (Flags::RST, wrong.acknowledgment));
    assert_eq!(pair.server().state(), State::SynReceived);
    pair.finish();
}

#[test]
fn a_reset_ends_syn_received() {
    let mut pair = linux();
    pair.connect();
    pair.run_for(RTT / 2);
    let syn = pair.log[0].0.header;
    let reset = TcpHeader { sequence: syn.sequence + 1, flags: Flags::RST, timestamps: None, ..syn };
    pair.inject(SERVER, reset, b"");
    assert!(pair.sides[SERVER].has(Event::Reset));
    pair.finish();
}

#[test]
fn a_reset_without_an_acknowledgment_does_not_end_syn_sent() {
    let mut pair = linux();
    pair.connect();
    let syn = pair.log[0].0.header;
    let reset = TcpHeader { source_port: 80, destination_port: 40_000, flags: Flags::RST, ..syn };
    pair.inject(CLIENT, reset, b"");
    assert_eq!(pair.client().state(), State::SynSent);
    pair.finish();
}

#[test]
fn closing_in_syn_sent_ends_at_once() {
    let mut pair = linux();
    pair.connect();
    pair.close(CLIENT);
    assert_eq!(pair.sides[CLIENT].events, [(Instant::ZERO, Event::Closed)]);
    pair.finish();
}

#[test]
fn a_fin_queued_in_syn_received_follows_the_handshake() {
    let mut pair = linux();
    pair.connect();
    pair.run_for(RTT / 2);
    pair.send(SERVER, b"greeting");
    pair.close(SERVER);
    assert_eq!(pair.server().state(), State::SynReceived);
    pair.run_for(RTT * 2);
    assert_eq!(pair.sides[CLIENT].received, b"greeting");
    assert!(pair.sides[CLIENT].has(Event::RemoteClosed));
    assert_eq!(pair.server().state(), State::FinWait2);
    pair.finish();
}

#[test]
fn two_lost_syns_cost_the_initial_window_and_without_a_sample_the_rto() {
    let config = Config { timestamps: false, rtt_estimator: RttEstimator::Rfc6298, ..Config::linux() };
    for (lost, segments) in [(0, 10), (1, 10), (2, 1)] {
        let mut pair = Pair::new(config.clone(), config.clone());
        pair.path = lose_first(CLIENT, lost);
        pair.connect();
        pair.run_to(Duration::from_secs(9), |pair| pair.sides[CLIENT].has(Event::Connected));
        assert_eq!(pair.client().cwnd(), segments * 1_460, "{lost} lost");
        let rto = if lost == 0 { Duration::from_millis(300) } else { Duration::from_secs(3) };
        assert_eq!(pair.client().rto(), rto, "RFC 6298 rule 5.7");
        pair.finish();
    }
}

#[test]
fn aborting_in_syn_sent_says_nothing_and_in_syn_received_resets() {
    let mut pair = linux();
    pair.connect();
    pair.run_for(RTT / 2);
    pair.command(SERVER, |tcp, _| tcp.abort());
    assert!(pair.log.last().unwrap().0.header.flags.contains(Flags::RST));
    let sent = pair.log.len();
    pair.command(CLIENT, |tcp, _| tcp.abort());
    assert_eq!(pair.log.len(), sent);
    pair.finish();
}
