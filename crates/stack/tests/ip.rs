//! What a host's IP layer answers, hands on and drops.

use wasp_packet::{
    Body, Checksums, Dropped, Packet, Payload, PayloadPool, QuotedSegment, Unassembled, View, emit, fragment,
};
use wasp_stack::{Answer, Ip, PathMtuDiscovery, Received, Report, Reported};
use wasp_units::{Duration, Instant};
use wasp_wire::{Address, IpHeader, Layer, ParseError, SequenceNumber, TcpHeader};

const NOW: Instant = Instant::ZERO;
const ECHO: Body = Body::Icmp { kind: 8, code: 0, rest: [1, 2, 3, 4] };
const DISCOVERY: PathMtuDiscovery = PathMtuDiscovery::On { least: 552 };
const UDP: Body = Body::Udp { source_port: 5, destination_port: 33_434 };

fn address(last: u8) -> Address {
    format!("198.18.0.{last}").parse().unwrap()
}

/// The host 198.18.0.2, and a pool.
fn host() -> (Ip, PayloadPool) {
    (Ip::new(address(2), DISCOVERY), PayloadPool::new(1 << 20))
}

/// A packet from 198.18.0.1 to the host.
fn to_host(body: Body, bytes: &[u8], pool: &mut PayloadPool) -> Packet {
    let payload = pool.store(bytes).unwrap();
    Packet { ip: IpHeader::new(address(1), address(2), 7), body, payload, flipped: None }
}

fn bytes(pool: &PayloadPool, payload: &Payload) -> Vec<u8> {
    match pool.view(payload) {
        View::Bytes(bytes) => bytes.to_vec(),
        View::Virtual(len) => vec![0; len as usize],
    }
}

fn fragments(packet: Packet, pool: &mut PayloadPool) -> Vec<Packet> {
    let mut pieces = Vec::new();
    fragment(&packet, 576, pool, &mut Vec::new(), &mut |piece| pieces.push(piece));
    pool.release(packet.payload);
    pieces
}

#[test]
fn an_echo_is_answered_with_what_it_brought() {
    let (mut host, mut pool) = host();
    let mut echo = to_host(ECHO, b"ping", &mut pool);
    echo.ip.traffic_class = 0x20;
    let Received::Answer(Answer::Packet(reply)) = host.receive(echo, NOW, &mut pool) else {
        panic!("no answer")
    };
    let expected = IpHeader { traffic_class: 0x20, ..IpHeader::new(address(2), address(1), 1) };
    assert_eq!((reply.ip, reply.body), (expected, Body::Icmp { kind: 0, code: 0, rest: [1, 2, 3, 4] }));
    assert_eq!(bytes(&pool, &reply.payload), b"ping");
    pool.release(reply.payload);
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn a_datagram_is_refused_and_the_refusal_quotes_it() {
    let (mut host, mut pool) = host();
    let datagram = to_host(UDP, b"hello", &mut pool);
    let Received::Answer(Answer::Packet(answer)) = host.receive(datagram, NOW, &mut pool) else {
        panic!("no answer")
    };
    assert_eq!((answer.ip.source, answer.ip.destination), (address(2), address(1)));
    assert_eq!(answer.body, Body::Icmp { kind: 3, code: 3, rest: [0; 4] });
    let quoted = bytes(&pool, &answer.payload);
    assert_eq!((&quoted[20..24], &quoted[28..]), (&[0, 5, 130, 154][..], &b"hello"[..]));
    pool.release(answer.payload);
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn segments_are_handed_on_whole_or_in_fragments() {
    let (mut host, mut pool) = host();
    let header = TcpHeader { source_port: 9, ..TcpHeader::default() };
    let body = Body::Tcp(header);
    let whole = to_host(body, &[1; 1_000], &mut pool);
    let mut pieces = fragments(to_host(body, &[1; 1_000], &mut pool), &mut pool);
    pieces.insert(0, whole);
    let mut came = 0;
    for piece in pieces {
        if let Received::Segment(ip, tcp, payload) = host.receive(piece, NOW, &mut pool) {
            assert_eq!((ip.source, tcp, payload.len()), (address(1), header, 1_000));
            pool.release(payload);
            came += 1;
        }
    }
    assert_eq!((came, pool.in_use(), host.poll_timeout()), (2, 0, None));
}

#[test]
fn a_long_echo_in_fragments_has_one_answer_whose_length_is_the_links_to_care_for() {
    let (mut host, mut pool) = host();
    let content: Vec<u8> = (0..4_000_u32).map(|place| place as u8).collect();
    let mut pieces = fragments(to_host(ECHO, &content, &mut pool), &mut pool);
    let last = pieces.pop().unwrap();
    for piece in pieces {
        assert!(matches!(host.receive(piece, NOW, &mut pool), Received::Answer(Answer::Nothing)));
    }
    assert_eq!(host.poll_timeout(), Some(NOW + Duration::from_secs(30)));
    let Received::Answer(Answer::Packet(reply)) = host.receive(last, NOW, &mut pool) else {
        panic!("no answer")
    };
    assert_eq!((bytes(&pool, &reply.payload), reply.ip.dont_fragment), (content, false));
    pool.release(reply.payload);
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn fragments_that_wait_for_too_long_are_told_of_if_the_first_is_among_them() {
    for (missing, is_told) in [(1, true), (0, false)] {
        let (mut host, mut pool) = host();
        let mut pieces = fragments(to_host(UDP, &[0; 1_500], &mut pool), &mut pool);
        pool.release(pieces.remove(missing).payload);
        for piece in pieces {
            assert!(matches!(host.receive(piece, NOW, &mut pool), Received::Answer(Answer::Nothing)));
        }
        let end = host.poll_timeout().expect("fragments wait");
        let given_up = host.expire(end, &mut pool).expect("they have waited for too long");
        match (given_up.answer, is_told) {
            (Answer::Packet(error), true) => {
                assert_eq!(error.body, Body::Icmp { kind: 11, code: 1, rest: [0; 4] });
                pool.release(error.payload);
            }
            (answer, is_told) => assert!(matches!(answer, Answer::Nothing) && !is_told),
        }
        assert_eq!(given_up.fragments, 2);
        assert!(host.expire(end, &mut pool).is_none());
        assert_eq!((pool.in_use(), host.poll_timeout()), (0, None));
    }
}

#[test]
fn what_is_not_to_be_answered_is_not() {
    let (mut host, mut pool) = host();
    let from = |source: &str, body, pool: &mut PayloadPool| {
        let mut packet = to_host(body, b"x", pool);
        packet.ip.source = source.parse().unwrap();
        packet
    };
    let silent = [
        from("224.0.0.1", ECHO, &mut pool),
        from("0.0.0.0", UDP, &mut pool),
        to_host(Body::Icmp { kind: 3, code: 3, rest: [0; 4] }, b"x", &mut pool),
        to_host(Body::Icmp { kind: 0, code: 0, rest: [0; 4] }, b"x", &mut pool),
        to_host(Body::Icmp { kind: 13, code: 0, rest: [0; 4] }, b"x", &mut pool),
        to_host(Body::Icmp { kind: 8, code: 1, rest: [0; 4] }, b"x", &mut pool),
    ];
    for packet in silent {
        assert!(matches!(host.receive(packet, NOW, &mut pool), Received::Answer(Answer::Nothing)));
    }
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn a_flipped_bit_is_found() {
    let (mut host, mut pool) = host();
    let bodies = [(ECHO, Layer::Icmp), (UDP, Layer::Udp), (Body::Tcp(TcpHeader::default()), Layer::Tcp)];
    for (body, layer) in bodies {
        let broken = Packet { flipped: Some(3), ..to_host(body, b"bits", &mut pool) };
        let why = Unassembled::Invalid(ParseError::Checksum(layer));
        let Received::Dropped(dropped) = host.receive(broken, NOW, &mut pool) else { panic!("taken") };
        assert_eq!(dropped, Dropped { packets: 1, why });
    }
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn an_error_for_which_the_pool_has_no_room_is_told() {
    let (mut host, mut pool) = (Ip::new(address(2), DISCOVERY), PayloadPool::new(0));
    let packet = Packet { payload: Payload::Virtual(9), ..to_host(UDP, b"", &mut pool) };
    assert!(matches!(host.receive(packet, NOW, &mut pool), Received::Answer(Answer::NoRoom)));
}

/// An ICMP error to the host about its segment to `remote` with the sequence number 1,000.
fn error(kind: u8, code: u8, mtu: u16, remote: u8, pool: &mut PayloadPool) -> Packet {
    let header = TcpHeader {
        source_port: 80,
        destination_port: 40_000,
        sequence: SequenceNumber(1_000),
        ..TcpHeader::default()
    };
    let about = Packet {
        ip: IpHeader::new(address(2), address(remote), 9),
        body: Body::Tcp(header),
        payload: Payload::Virtual(1_400),
        flipped: None,
    };
    let mut bytes = vec![0; about.wire_len() as usize];
    emit(&about, pool, &mut bytes, Checksums::Complete);
    let [high, low] = mtu.to_be_bytes();
    to_host(Body::Icmp { kind, code, rest: [0, 0, high, low] }, &bytes[..28], pool)
}

#[test]
fn errors_about_segments_of_the_hosts_own_are_handed_on() {
    let (mut host, mut pool) = host();
    let segment = QuotedSegment {
        source: address(2),
        destination: address(3),
        source_port: 80,
        destination_port: 40_000,
        sequence: SequenceNumber(1_000),
    };
    for (kind, code, reported) in [
        (3, 4, Reported::TooLong { mtu: 1_006 }),
        (3, 0, Reported::Unreachable),
        (3, 1, Reported::Unreachable),
        (3, 3, Reported::Unreachable),
        (3, 13, Reported::Unreachable),
        (11, 0, Reported::Unreachable),
    ] {
        let packet = error(kind, code, 1_006, 3, &mut pool);
        let Received::Reported(report) = host.receive(packet, NOW, &mut pool) else {
            panic!("{kind} {code}")
        };
        assert_eq!(report, Report { segment, reported }, "{kind} {code}");
    }
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn other_errors_are_ignored() {
    let (mut host, mut pool) = host();
    let quench = error(4, 0, 0, 3, &mut pool);
    let redirect = error(5, 1, 0, 3, &mut pool);
    let edited = |place: usize, byte: u8, pool: &mut PayloadPool| {
        let whole = error(3, 4, 1_006, 3, pool);
        let mut quoted = bytes(pool, &whole.payload);
        quoted[place] = byte;
        pool.release(whole.payload);
        let payload = pool.store(&quoted).unwrap();
        Packet { payload, ..whole }
    };
    let of_another = edited(15, 4, &mut pool);
    let no_tcp = edited(9, 17, &mut pool);
    let later_fragment = edited(7, 1, &mut pool);
    let no_ipv4 = edited(0, 0x65, &mut pool);
    let no_header = edited(0, 0x44, &mut pool);
    let options_to_the_end = edited(0, 0x4f, &mut pool);
    let broken = Packet { flipped: Some(3), ..error(3, 4, 1_006, 3, &mut pool) };
    let no_bytes = {
        let whole = error(3, 4, 1_006, 3, &mut pool);
        pool.release(whole.payload);
        Packet { payload: Payload::Virtual(28), ..whole }
    };
    let short = {
        let whole = error(3, 4, 1_006, 3, &mut pool);
        let quoted = bytes(&pool, &whole.payload);
        pool.release(whole.payload);
        Packet { payload: pool.store(&quoted[..27]).unwrap(), ..whole }
    };
    let ignored = [
        quench,
        redirect,
        of_another,
        no_tcp,
        later_fragment,
        no_ipv4,
        no_header,
        options_to_the_end,
        broken,
        no_bytes,
        short,
    ];
    for (place, packet) in ignored.into_iter().enumerate() {
        let received = host.receive(packet, NOW, &mut pool);
        let ignored = matches!(received, Received::Answer(Answer::Nothing) | Received::Dropped(_));
        assert!(ignored, "{place}: {received:?}");
    }
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn paths_are_as_narrow_as_the_last_reports_say_for_ten_minutes() {
    let (mut host, _) = host();
    let after = |seconds| NOW + Duration::from_secs(seconds);
    let known = |host: &mut Ip, remote, at| {
        (host.path_mtu(address(remote), at), host.header(address(remote), at).dont_fragment)
    };
    assert_eq!(known(&mut host, 3, NOW), (None, true));
    assert_eq!(host.learn_path_mtu(address(3), 1_006, NOW), Some(1_006));
    assert_eq!(known(&mut host, 3, NOW), (Some(1_006), true));
    assert_eq!(known(&mut host, 4, NOW), (None, true), "the path to another host");
    assert_eq!(host.learn_path_mtu(address(3), 1_400, after(1)), Some(1_006), "a wider link of the path");
    assert_eq!(known(&mut host, 3, after(599)), (Some(1_006), true));
    assert_eq!(known(&mut host, 3, after(600)), (None, true));
    assert_eq!(
        host.learn_path_mtu(address(3), 1_400, after(601)),
        Some(1_400),
        "what was known is forgotten"
    );
}

#[test]
fn what_is_sent_over_a_path_below_the_least_mtu_may_be_fragmented() {
    for (least, reported, mtu, dont_fragment) in [
        (552, 552, 552, true),
        (552, 551, 552, false),
        (552, 0, 552, false),
        (68, 296, 296, true),
        (68, 67, 68, false),
    ] {
        let mut host = Ip::new(address(2), PathMtuDiscovery::On { least });
        assert_eq!(host.learn_path_mtu(address(3), reported, NOW), Some(mtu), "{least} {reported}");
        assert_eq!(host.header(address(3), NOW).dont_fragment, dont_fragment, "{least} {reported}");
        assert!(host.header(address(4), NOW).dont_fragment);
        // Open connections go on making packets of the least MTU.
        let later = NOW + Duration::from_secs(3_600);
        assert_eq!(host.header(address(3), later).dont_fragment, dont_fragment || reported >= least);
    }
}

#[test]
fn a_link_that_carries_the_least_mtu_does_not_hide_a_narrower_one() {
    let (mut host, _) = host();
    for (reported, dont_fragment) in [(552, true), (296, false), (552, false), (1_006, false)] {
        assert_eq!(host.learn_path_mtu(address(3), reported, NOW), Some(552));
        assert_eq!(host.header(address(3), NOW).dont_fragment, dont_fragment, "{reported}");
    }
}

#[test]
fn without_discovery_everything_may_be_fragmented_and_reports_teach_nothing() {
    let mut host = Ip::new(address(2), PathMtuDiscovery::Off);
    assert!(!host.header(address(3), NOW).dont_fragment);
    assert_eq!((host.learn_path_mtu(address(3), 576, NOW), host.path_mtu(address(3), NOW)), (None, None));
}
