//! What is cut into fragments is put together again, whatever happens to them on their way, and nothing else ever is.

use crate::common::{
    Description, address, any_packet, any_packet_of, checksum, config, fix_header_checksum, pool,
    transport_checksum,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use wasp_packet::{
    Body, Checksums, Dropped, IcmpError, Packet, Payload, PayloadPool, REASSEMBLY_TIME, Reassembled,
    Reassembly, Unassembled, cut, emit, fragment, frame, may_be_answered,
};
use wasp_units::{Duration, Instant};
use wasp_wire::{FragmentField, IpHeader, Layer, ParseError, VirtioNetHeader, protocol};

const START: Instant = Instant::ZERO;
const ECHO: Body = Body::Icmp { kind: 8, code: 0, rest: [0; 4] };

fn any_fragment() -> impl Strategy<Value = Description> {
    let field = (0..=8_000_u16, any::<bool>()).prop_map(|(offset, more)| FragmentField { offset, more });
    let body = (prop::sample::select(vec![protocol::TCP, protocol::UDP, protocol::ICMP]), field)
        .prop_filter("a fragment", |(_, field)| *field != FragmentField::default())
        .prop_map(|(protocol, field)| Body::Fragment { protocol, field });
    any_packet_of(body, prop::collection::vec(any::<u8>(), 0..1_480))
}

/// The fragments of a packet, which is released.
fn fragments(packet: Packet, mtu: u16, pool: &mut PayloadPool) -> Vec<Packet> {
    let mut fragments = Vec::new();
    let exhausted = fragment(&packet, mtu, pool, &mut Vec::new(), &mut |fragment| fragments.push(fragment));
    assert_eq!(exhausted, 0);
    pool.release(packet.payload);
    fragments
}

/// What comes of these fragments, one after the other.
fn put_together(fragments: impl IntoIterator<Item = Packet>, pool: &mut PayloadPool) -> Vec<Reassembled> {
    let mut reassembly = Reassembly::default();
    fragments.into_iter().map(|fragment| reassembly.add(fragment, START, pool)).collect()
}

fn release(all: Vec<Reassembled>, pool: &mut PayloadPool) {
    for reassembled in all {
        if let Reassembled::Whole(packet) = reassembled {
            pool.release(packet.payload);
        }
    }
}

fn field_of(packet: &Packet) -> FragmentField {
    let Body::Fragment { field, .. } = packet.body else { panic!("{packet:?} is whole") };
    field
}

/// A fragment that begins at this byte of an echo, of so many bytes, each the number of its place.
fn piece(start: usize, len: usize, more: bool, pool: &mut PayloadPool) -> Packet {
    let field = FragmentField { offset: (start / 8) as u16, more };
    let bytes: Vec<u8> = (start..start + len).map(|place| place as u8).collect();
    Packet {
        ip: IpHeader::new(address("198.18.0.1"), address("198.18.0.2"), 7),
        body: Body::Fragment { protocol: protocol::ICMP, field },
        payload: pool.store(&bytes).unwrap(),
        flipped: None,
    }
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn fragments_in_any_order_some_twice_and_some_cut_again_are_the_packet(
        description in any_packet(), mtus in (68..1_000_u16, 68..600_u16), order in any::<[u64; 8]>(),
        twice in any::<prop::sample::Index>(),
    ) {
        let mut pool = pool();
        let whole = description.packet(&mut pool);
        let len = whole.wire_len();
        let mut pieces = Vec::new();
        for (number, piece) in fragments(whole, mtus.0, &mut pool).into_iter().enumerate() {
            prop_assert!(piece.wire_len() <= u32::from(mtus.0));
            if number % 2 == 0 {
                pieces.push(piece);
            } else {
                pieces.extend(fragments(piece, mtus.1, &mut pool));
            }
        }
        prop_assert_eq!(pieces.iter().map(|piece| piece.payload.len()).sum::<u32>(), len - 20);
        let again = &pieces[twice.index(pieces.len())];
        let again = Packet { payload: pool.share(&again.payload), ip: again.ip, body: again.body, flipped: None };
        let count = pieces.len();
        pieces.push(again);
        pieces.sort_by_key(|piece| order[usize::from(field_of(piece).offset) % 8]);
        let mut reassembly = Reassembly::default();
        let results: Vec<_> = pieces.into_iter().map(|piece| reassembly.add(piece, START, &mut pool)).collect();
        let wholes = results.iter().filter(|result| matches!(result, Reassembled::Whole(_))).count();
        // A packet of one fragment is whole twice.
        prop_assert_eq!(wholes, 1 + usize::from(count == 1));
        for result in &results {
            match result {
                Reassembled::Whole(packet) => prop_assert_eq!(&Description::of(packet, &pool), &description),
                Reassembled::Waiting => {}
                Reassembled::Dropped(dropped) => prop_assert!(false, "{:?}", dropped),
            }
        }
        // A duplicate of what has just become whole waits for others.
        release(results, &mut pool);
        while let Some(expired) = reassembly.expire(Instant::MAX, &mut pool) {
            expired.first.into_iter().for_each(|first| pool.release(first.payload));
        }
        prop_assert_eq!(pool.in_use(), 0);
    }

    #[test]
    fn an_emitted_fragment_parses_back_to_itself(description in any_fragment()) {
        let mut pool = pool();
        let packet = description.packet(&mut pool);
        let mut bytes = vec![0; packet.wire_len() as usize];
        emit(&packet, &pool, &mut bytes, Checksums::Complete);
        prop_assert_eq!(checksum(&[&bytes[..20]]), 0);
        let parsed = Packet::parse(&bytes, Checksums::Complete).expect("a fragment").store(&mut pool).unwrap();
        prop_assert_eq!(Description::of(&parsed, &pool), description.clone());
        // No device completes a checksum that is in a fragment.
        let mut buffer = vec![0; VirtioNetHeader::LEN + bytes.len()];
        frame(&packet, &pool, &mut buffer);
        let (header, rest) = buffer.split_first_chunk().unwrap();
        prop_assert_eq!((VirtioNetHeader::parse(header).flags, rest), (0, &bytes[..]));
        let mut read = Vec::new();
        cut(&buffer, None, &mut pool, &mut |packet| read.push(packet)).expect("a fragment");
        prop_assert_eq!(Description::of(&read[0], &pool), description);
    }

    /// Against a list of the bytes of each packet.
    #[test]
    fn any_fragments_are_whole_as_the_bytes_say_and_each_has_one_end(
        came in prop::collection::vec((0..3_u16, 0..6_usize, 1..6_usize, any::<bool>(), 0..12_u64), 0..80),
    ) {
        let (mut pool, mut reassembly, mut naive) = (pool(), Reassembly::default(), Naive::default());
        let (mut now, mut ended) = (START, 0);
        for (identification, start, len, more, wait) in came {
            now += Duration::from_secs(wait);
            while let Some(expired) = reassembly.expire(now, &mut pool) {
                ended += u64::from(expired.fragments);
                if let Some(first) = expired.first {
                    prop_assert_eq!(field_of(&first).offset, 0);
                    pool.release(first.payload);
                }
            }
            naive.expire(now);
            let bytes = 8 * start..8 * (start + len) - if more { 0 } else { 3 };
            let mut packet = piece(bytes.start, bytes.len(), more, &mut pool);
            packet.ip.identification = identification;
            let expected = naive.add(identification, bytes, more, now);
            match reassembly.add(packet, now, &mut pool) {
                Reassembled::Waiting => prop_assert!(matches!(expected, Expected::Waits | Expected::Duplicate)),
                Reassembled::Dropped(Dropped { packets, why: Unassembled::Inconsistent }) => {
                    prop_assert_eq!(expected, Expected::Dropped);
                    ended += u64::from(packets);
                }
                // The bytes of an echo are none: its checksum is wrong.
                Reassembled::Dropped(Dropped { packets, why: Unassembled::Invalid(_) }) => {
                    prop_assert_eq!(expected, Expected::Whole);
                    ended += u64::from(packets);
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
        let waiting = naive.added - ended;
        let mut left = 0;
        while let Some(expired) = reassembly.expire(Instant::MAX, &mut pool) {
            left += u64::from(expired.fragments);
            expired.first.into_iter().for_each(|first| pool.release(first.payload));
        }
        prop_assert_eq!((left, reassembly.poll_timeout(), pool.in_use()), (waiting, None, 0));
    }
}

/// Which bytes of each packet are there.
#[derive(Default)]
struct Naive {
    packets: BTreeMap<u16, Bytes>,
    /// Fragments that were no duplicates.
    added: u64,
}

struct Bytes {
    since: Instant,
    there: [bool; 128],
    end: Option<usize>,
    is_spoilt: bool,
}

#[derive(Debug, Eq, PartialEq)]
enum Expected {
    Waits,
    Duplicate,
    Dropped,
    Whole,
}

impl Naive {
    fn expire(&mut self, now: Instant) {
        self.packets.retain(|_, packet| packet.since + REASSEMBLY_TIME > now);
    }

    fn add(&mut self, name: u16, bytes: std::ops::Range<usize>, more: bool, now: Instant) -> Expected {
        let fresh = || Bytes { since: now, there: [false; 128], end: None, is_spoilt: false };
        let packet = self.packets.entry(name).or_insert_with(fresh);
        let furthest = packet.there.iter().rposition(|there| *there).map_or(0, |last| last + 1);
        let end = if more { packet.end } else { Some(bytes.end) };
        let agrees = end.is_none_or(|end| furthest.max(bytes.end) <= end)
            && packet.end.is_none_or(|known| end == Some(known));
        let there = packet.there[bytes.clone()].iter().filter(|there| **there).count();
        if packet.is_spoilt || !agrees || (there > 0 && there < bytes.len()) {
            packet.is_spoilt = true;
            self.added += 1;
            return Expected::Dropped;
        }
        packet.end = end;
        self.added += u64::from(there == 0);
        packet.there[bytes].fill(true);
        if packet.end.is_some_and(|end| packet.there[..end].iter().all(|there| *there)) {
            self.packets.remove(&name);
            return Expected::Whole;
        }
        if there == 0 { Expected::Waits } else { Expected::Duplicate }
    }
}

#[test]
fn fragments_that_contradict_each_other_throw_their_packet_away() {
    let cases: [&[(usize, usize, bool)]; 8] = [
        // One overlaps the one before, or the one behind.
        &[(0, 16, true), (8, 16, true)],
        &[(8, 16, true), (0, 16, true)],
        // One that holds another.
        &[(8, 8, true), (0, 24, true)],
        // Two ends, bytes behind the end, or an end before bytes.
        &[(16, 8, false), (24, 8, false)],
        &[(16, 8, false), (32, 8, true)],
        &[(32, 8, true), (16, 8, false)],
        // Bytes that no offset can name, or none.
        &[(0, 8, true), (8, 7, true)],
        &[(0, 8, true), (8, 0, true)],
    ];
    for case in cases {
        let mut pool = pool();
        let mut pieces: Vec<Packet> =
            case.iter().map(|(start, len, more)| piece(*start, *len, *more, &mut pool)).collect();
        // What still comes of it is dropped, too.
        pieces.push(piece(40, 8, false, &mut pool));
        let dropped = |packets| Reassembled::Dropped(Dropped { packets, why: Unassembled::Inconsistent });
        let mut reassembly = Reassembly::default();
        let ends: Vec<_> = pieces.into_iter().map(|piece| reassembly.add(piece, START, &mut pool)).collect();
        assert_eq!(ends, [Reassembled::Waiting, dropped(2), dropped(1)], "{case:?}");
        // In silence (RFC 5722): when the time is over there is nothing to tell.
        assert!(reassembly.expire(Instant::MAX, &mut pool).is_none());
        assert_eq!((pool.in_use(), reassembly.poll_timeout()), (0, None));
    }
}

#[test]
fn fragments_wait_thirty_seconds_for_the_others_from_the_first_that_came() {
    let (mut pool, mut reassembly) = (pool(), Reassembly::default());
    let at = |seconds| START + Duration::from_secs(seconds);
    for (second, start) in [(0, 16), (20, 0)] {
        let piece = piece(start, 8, true, &mut pool);
        assert_eq!(reassembly.add(piece, at(second), &mut pool), Reassembled::Waiting);
    }
    let mut other = piece(8, 8, true, &mut pool);
    other.ip.identification = 8;
    assert_eq!(reassembly.add(other, at(25), &mut pool), Reassembled::Waiting);
    assert_eq!(reassembly.poll_timeout(), Some(at(30)));
    assert!(reassembly.expire(Instant::from_nanos(29_999_999_999), &mut pool).is_none());
    let expired = reassembly.expire(at(30), &mut pool).expect("it is over");
    let first = expired.first.expect("the first came");
    assert_eq!((expired.fragments, field_of(&first).offset), (2, 0));
    let error =
        IcmpError::ReassemblyTimeExceeded.about(&first, first.ip.destination, 1, &mut pool, &mut Vec::new());
    let error = error.unwrap();
    assert_eq!(error.body, Body::Icmp { kind: 11, code: 1, rest: [0; 4] });
    pool.release(error.payload);
    pool.release(first.payload);
    // Without the first fragment there is nothing to quote.
    assert_eq!(reassembly.poll_timeout(), Some(at(55)));
    let expired = reassembly.expire(at(60), &mut pool).expect("it is over");
    assert_eq!((expired.fragments, expired.first, reassembly.poll_timeout()), (1, None, None));
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn fragments_have_four_mebibytes_as_linux_counts_and_none_of_another_packet_comes_beside_more() {
    let (mut pool, mut reassembly) = (pool(), Reassembly::default());
    let mut add = |identification, start, more, at: u64, pool: &mut PayloadPool| {
        let mut piece = piece(start, 1_480, more, pool);
        piece.ip.identification = identification;
        reassembly.add(piece, START + Duration::from_secs(at), pool)
    };
    // A packet of 1,500 bytes takes 2,048 and 256.
    let most = (4_u32 << 20).div_ceil(2_304) as u16;
    for identification in 0..most {
        assert_eq!(add(identification, 0, true, 0, &mut pool), Reassembled::Waiting);
    }
    let full = Reassembled::Dropped(Dropped { packets: 1, why: Unassembled::Full });
    assert_eq!(add(most, 0, true, 0, &mut pool), full);
    // A packet that is known goes on, and makes room: whole, spoilt, or over.
    assert!(matches!(add(5, 1_480, false, 0, &mut pool), Reassembled::Dropped(Dropped { packets: 2, .. })));
    assert_eq!(add(most, 0, true, 1, &mut pool), Reassembled::Waiting);
    assert_eq!(add(most + 1, 0, true, 1, &mut pool), full);
    assert!(matches!(add(6, 8, true, 1, &mut pool), Reassembled::Dropped(Dropped { packets: 2, .. })));
    assert_eq!(add(most + 1, 0, true, 1, &mut pool), Reassembled::Waiting);
    assert_eq!(add(most + 2, 0, true, 1, &mut pool), full);
    while let Some(expired) = reassembly.expire(START + REASSEMBLY_TIME, &mut pool) {
        pool.release(expired.first.expect("only firsts").payload);
    }
    for identification in 0..most - 2 {
        let mut piece = piece(0, 1_480, true, &mut pool);
        piece.ip.identification = identification;
        assert_eq!(reassembly.add(piece, START + REASSEMBLY_TIME, &mut pool), Reassembled::Waiting);
    }
}

#[test]
fn fragments_of_other_packets_stay_apart() {
    let mut pool = pool();
    let first = piece(0, 8, true, &mut pool);
    let others = [
        IpHeader { source: address("198.18.0.3"), ..first.ip },
        IpHeader { destination: address("198.18.0.4"), ..first.ip },
        IpHeader { identification: 8, ..first.ip },
    ];
    let mut pieces: Vec<Packet> = others.map(|ip| Packet { ip, ..piece(8, 8, false, &mut pool) }).into();
    let mut udp = piece(8, 8, false, &mut pool);
    udp.body = Body::Fragment { protocol: protocol::UDP, field: field_of(&udp) };
    pieces.extend([udp, first]);
    let results = put_together(pieces, &mut pool);
    assert!(results.iter().all(|result| *result == Reassembled::Waiting), "{results:?}");
}

/// The echo of so many bytes in two fragments.
fn echo(marks: [u8; 2], pool: &mut PayloadPool) -> Vec<Packet> {
    let ip = IpHeader::new(address("198.18.0.1"), address("198.18.0.2"), 7);
    let payload = pool.store(&[9; 1_000]).unwrap();
    let mut pieces = fragments(Packet { ip, body: ECHO, payload, flipped: None }, 576, pool);
    pieces.iter_mut().zip(marks).for_each(|(piece, mark)| piece.ip.traffic_class = mark);
    pieces
}

#[test]
fn a_mark_on_a_fragment_marks_the_whole_unless_the_sender_knows_none() {
    let mut pool = pool();
    for (marks, whole) in
        [([2, 2], Some(2)), ([3, 2], Some(3)), ([2, 3], Some(3)), ([0, 0], Some(0)), ([0, 3], None)]
    {
        let pieces = echo(marks, &mut pool);
        let last = put_together(pieces, &mut pool).pop().unwrap();
        match (last, whole) {
            (Reassembled::Whole(packet), Some(class)) => {
                assert_eq!(packet.ip.traffic_class, class, "{marks:?}");
                pool.release(packet.payload);
            }
            (Reassembled::Dropped(Dropped { packets: 2, why: Unassembled::Inconsistent }), None) => {}
            (other, _) => panic!("{marks:?}: {other:?}"),
        }
    }
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn a_bit_flipped_before_or_after_the_cut_is_found_in_the_whole() {
    let mut pool = pool();
    let wrong = Unassembled::Invalid(ParseError::Checksum(Layer::Icmp));
    let mut after = echo([0; 2], &mut pool);
    after[1].flipped = Some(3);
    let ip = after[0].ip;
    let payload = pool.store(&[9; 1_000]).unwrap();
    let before = fragments(Packet { ip, body: ECHO, payload, flipped: Some(4_444) }, 576, &mut pool);
    for pieces in [before, after] {
        let last = put_together(pieces, &mut pool).pop();
        assert_eq!(last, Some(Reassembled::Dropped(Dropped { packets: 2, why: wrong })));
    }
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn a_whole_for_which_the_pool_has_no_room_is_dropped() {
    let mut pool = PayloadPool::new(256 << 10);
    let payload = pool.store(&[9; 1_000]).unwrap();
    let ip = IpHeader::new(address("198.18.0.1"), address("198.18.0.2"), 7);
    let pieces = fragments(Packet { ip, body: ECHO, payload, flipped: None }, 68, &mut pool);
    let count = pieces.len() as u32;
    let fill = |pool: &mut PayloadPool| {
        [2_000, 500, 1].iter().for_each(|len| while pool.store(&vec![0; *len]).is_some() {});
    };
    fill(&mut pool);
    let last = put_together(pieces, &mut pool).pop();
    assert_eq!(last, Some(Reassembled::Dropped(Dropped { packets: count, why: Unassembled::NoRoom })));
    // Nor can a packet be cut.
    let whole = Packet { ip, body: ECHO, payload: Payload::Virtual(2_000), flipped: None };
    fill(&mut pool);
    let mut none = |piece: Packet| panic!("{piece:?}");
    assert_eq!(fragment(&whole, 576, &mut pool, &mut Vec::new(), &mut none), 4);
}

#[test]
fn bytes_past_the_longest_packet_and_unknown_protocols_are_no_fragment() {
    let mut pool = pool();
    let mut parse = |protocol, offset, len: usize| {
        let field = FragmentField { offset, more: false };
        let payload = pool.store(&vec![0; len]).unwrap();
        let packet =
            Packet { body: Body::Fragment { protocol, field }, payload, ..piece(0, 8, true, &mut pool) };
        let mut bytes = vec![0; packet.wire_len() as usize];
        emit(&packet, &pool, &mut bytes, Checksums::Complete);
        Packet::parse(&bytes, Checksums::Complete).err()
    };
    assert_eq!(parse(protocol::ICMP, 8_000, 1_515), None);
    assert_eq!(parse(protocol::ICMP, 8_000, 1_516), Some(ParseError::Length(Layer::Ipv4)));
    assert_eq!(parse(50, 8_000, 8), Some(ParseError::UnsupportedProtocol(50)));
}

#[test]
fn there_are_errors_about_first_fragments_but_not_of_errors() {
    let mut pool = pool();
    let mut first_of = |body, mark: usize| {
        let ip = IpHeader::new(address("198.18.0.1"), address("198.18.0.2"), 7);
        let payload = pool.store(&[0; 1_000]).unwrap();
        let piece = fragments(Packet { ip, body, payload, flipped: None }, 576, &mut pool).swap_remove(mark);
        may_be_answered(&piece, &pool)
    };
    let udp = Body::Udp { source_port: 1, destination_port: 2 };
    let error = Body::Icmp { kind: 3, code: 3, rest: [0; 4] };
    assert_eq!([udp, ECHO, error].map(|body| first_of(body, 0)), [true, true, false]);
    assert_eq!([udp, ECHO, error].map(|body| first_of(body, 1)), [false; 3]);
}

/// A segment whose options take 20 bytes as they came, and 24 as they are emitted, and which is as long as an IPv4 packet can be.
#[test]
fn a_packet_that_would_be_emitted_longer_than_it_may_be_is_refused_whole_and_in_fragments() {
    let whole = |bytes: usize| {
        let mut packet = vec![0; 20 + bytes];
        packet[..10].copy_from_slice(&[0x45, 0, 0, 0, 0, 7, 0, 0, 64, protocol::TCP]);
        let len = (packet.len() as u16).to_be_bytes();
        packet[2..4].copy_from_slice(&len);
        packet[12..20].copy_from_slice(&[198, 18, 0, 1, 198, 18, 0, 2]);
        packet[32] = 0xa0;
        packet[40..42].copy_from_slice(&[8, 10]);
        packet[50..52].copy_from_slice(&[5, 10]);
        fix_header_checksum(&mut packet);
        let sum = transport_checksum(&packet);
        packet[36..38].copy_from_slice(&sum.to_be_bytes());
        packet
    };
    let refused = ParseError::Length(Layer::Ipv4);
    for (bytes, error) in [(65_511, None), (65_512, Some(refused)), (65_515, Some(refused))] {
        let packet = whole(bytes);
        assert_eq!(Packet::parse(&packet, Checksums::Complete).err(), error, "{bytes}");
        let mut pool = pool();
        let pieces: Vec<Packet> = packet[20..]
            .chunks(1_480)
            .enumerate()
            .map(|(number, bytes)| Packet {
                payload: pool.store(bytes).unwrap(),
                body: Body::Fragment {
                    protocol: protocol::TCP,
                    field: FragmentField {
                        offset: (number * 185) as u16,
                        more: number * 1_480 + bytes.len() < packet.len() - 20,
                    },
                },
                ip: IpHeader::new(address("198.18.0.1"), address("198.18.0.2"), 7),
                flipped: None,
            })
            .collect();
        match (put_together(pieces, &mut pool).pop(), error) {
            (Some(Reassembled::Whole(packet)), None) => assert_eq!(packet.wire_len(), 65_535),
            (Some(Reassembled::Dropped(dropped)), Some(error)) => {
                assert_eq!(dropped.why, Unassembled::Invalid(error))
            }
            (other, _) => panic!("{other:?}"),
        }
    }
}
