//! Frames of the device become packets: super-segments are cut as Linux would cut them.

use crate::common::{
    Description, address, any_fitting_tcp, any_packet_of, bytes_of, config, pool, transport_checksum,
};
use proptest::prelude::*;
use std::num::NonZeroU16;
use wasp_packet::{Body, Checksums, Cut, FrameError, Packet, Payload, PayloadPool, cut, emit};
use wasp_wire::{Flags, IpHeader, Layer, ParseError, TcpHeader, VirtioNetHeader};

const TSO: VirtioNetHeader = VirtioNetHeader {
    flags: VirtioNetHeader::NEEDS_CSUM,
    gso_type: VirtioNetHeader::GSO_TCPV4,
    hdr_len: 0,
    gso_size: 1_448,
    csum_start: 20,
    csum_offset: 16,
};

/// A frame of this virtio header and packet, its checksums as given.
fn frame_of(header: VirtioNetHeader, description: &Description, checksums: Checksums) -> Vec<u8> {
    let mut pool = pool();
    let packet = description.packet(&mut pool);
    let mut frame = header.emit().to_vec();
    frame.resize(VirtioNetHeader::LEN + packet.wire_len() as usize, 0);
    emit(&packet, &pool, &mut frame[VirtioNetHeader::LEN..], checksums);
    frame
}

fn segment(flags: Flags, payload: Vec<u8>) -> Description {
    Description {
        ip: IpHeader {
            source: address("198.18.0.1"),
            destination: address("198.18.0.2"),
            ttl: 64,
            traffic_class: 2,
            identification: 0xfffe,
            dont_fragment: true,
        },
        body: Body::Tcp(TcpHeader { flags, ..TcpHeader::default() }),
        payload,
    }
}

fn cut_all(
    frame: &[u8],
    limit: Option<u16>,
    pool: &mut PayloadPool,
) -> (Result<Cut, FrameError>, Vec<Packet>) {
    let mut packets = Vec::new();
    let result = cut(frame, limit.and_then(NonZeroU16::new), pool, &mut |packet| packets.push(packet));
    (result, packets)
}

fn refused(header: VirtioNetHeader, description: &Description) -> FrameError {
    let frame = frame_of(header, description, Checksums::Partial);
    let (result, packets) = cut_all(&frame, None, &mut pool());
    assert!(packets.is_empty());
    result.expect_err("an error")
}

fn any_super_segment() -> impl Strategy<Value = Description> {
    let header = any_fitting_tcp().prop_map(|mut header| {
        header.flags = header.flags.without(Flags::SYN | Flags::RST);
        Body::Tcp(header)
    });
    let payload = (1_usize..65_000, any::<u8>())
        .prop_map(|(len, first)| (0..len).map(|place| (place as u8).wrapping_mul(31) ^ first).collect());
    any_packet_of(header, payload)
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn the_cuts_of_a_super_segment_are_that_segment(
        description in any_super_segment(),
        gso_size in 100_u16..9_000,
        limit in proptest::option::of(100_u16..9_000),
        ecn in any::<bool>(),
        hdr_len in any::<u16>(),
    ) {
        let gso_type = VirtioNetHeader::GSO_TCPV4 | if ecn { VirtioNetHeader::GSO_ECN } else { 0 };
        let header = VirtioNetHeader { gso_type, gso_size, hdr_len, ..TSO };
        let frame = frame_of(header, &description, Checksums::Partial);
        let mut pool = pool();
        let (result, packets) = cut_all(&frame, limit, &mut pool);

        let size = usize::from(limit.unwrap_or(gso_size).min(gso_size));
        let count = description.payload.len().div_ceil(size);
        prop_assert_eq!(result, Ok(Cut { packets: count as u32, exhausted: 0 }));
        prop_assert_eq!(packets.len(), count);
        let Body::Tcp(whole) = description.body else { panic!("not TCP") };
        let mut payload: Vec<u8> = Vec::new();
        for (number, packet) in packets.into_iter().enumerate() {
            let mut flags = whole.flags.0;
            if number > 0 {
                flags &= !0x80;
            }
            if number + 1 < count {
                flags &= !0x09;
            }
            let header = TcpHeader { sequence: whole.sequence + payload.len() as u32, flags: Flags(flags), ..whole };
            let expected = Description {
                body: Body::Tcp(header),
                ip: IpHeader {
                    identification: description.ip.identification.wrapping_add(number as u16),
                    ..description.ip
                },
                payload: bytes_of(&pool, &packet.payload),
            };
            prop_assert!(number + 1 == count || expected.payload.len() == size);
            payload.extend(&expected.payload);
            prop_assert_eq!(Description::of(&packet, &pool), expected);

            let mut buffer = vec![0; packet.wire_len() as usize];
            emit(&packet, &pool, &mut buffer, Checksums::Complete);
            prop_assert_eq!(transport_checksum(&buffer), 0);
            prop_assert_eq!(Packet::parse(&buffer, Checksums::Complete).map(|parsed| parsed.payload.len()),
                Ok(packet.payload.len() as usize));
            pool.release(packet.payload);
        }
        prop_assert_eq!(payload, description.payload);
        prop_assert_eq!(pool.in_use(), 0);
    }

    #[test]
    fn arbitrary_frames_never_panic(
        virtio in proptest::array::uniform10(any::<u8>()),
        known in any::<bool>(),
        description in any_super_segment(),
        kept in any::<prop::sample::Index>(),
        limit in any::<Option<u16>>(),
    ) {
        let mut frame = frame_of(TSO, &description, Checksums::Partial);
        let fields = if known { 2..6 } else { 0..10 };
        frame[fields.clone()].copy_from_slice(&virtio[fields]);
        let mut pool = pool();
        let (result, packets) = cut_all(&frame, limit, &mut pool);
        prop_assert_eq!(result.map_or(0, |cut| cut.packets) as usize, packets.len());
        frame.truncate(kept.index(frame.len()));
        prop_assert!(cut_all(&frame, limit, &mut pool).0.is_err());
    }
}

#[test]
fn fin_and_psh_go_with_the_last_cut_and_cwr_with_the_first() {
    let flags = Flags::ACK | Flags::FIN | Flags::PSH | Flags::CWR | Flags::ECE;
    let frame = frame_of(TSO, &segment(flags, vec![7; 3_000]), Checksums::Partial);
    let (_, packets) = cut_all(&frame, None, &mut pool());
    let seen = packets.iter().map(|packet| match packet.body {
        Body::Tcp(header) => {
            (packet.ip.identification, header.sequence.0, header.flags, packet.payload.len())
        }
        _ => panic!("not TCP"),
    });
    assert_eq!(
        seen.collect::<Vec<_>>(),
        [
            (0xfffe, 0, Flags::ACK | Flags::ECE | Flags::CWR, 1_448),
            (0xffff, 1_448, Flags::ACK | Flags::ECE, 1_448),
            (0x0000, 2_896, Flags::ACK | Flags::ECE | Flags::FIN | Flags::PSH, 104),
        ]
    );
}

#[test]
fn a_super_segment_that_fits_one_cut_stays_whole() {
    let frame = frame_of(TSO, &segment(Flags::ACK | Flags::PSH, vec![7; 1_448]), Checksums::Partial);
    let (result, packets) = cut_all(&frame, None, &mut pool());
    assert_eq!(result, Ok(Cut { packets: 1, exhausted: 0 }));
    assert_eq!(packets[0].payload.len(), 1_448);
}

#[test]
fn a_checksum_is_verified_only_where_the_frame_does_not_vouch_for_it() {
    let description = segment(Flags::ACK, vec![7; 100]);
    let plain = VirtioNetHeader::default();
    let valid = VirtioNetHeader { flags: VirtioNetHeader::DATA_VALID, ..plain };
    let partial = VirtioNetHeader { gso_type: 0, gso_size: 0, ..TSO };
    for (header, damaged, verdict) in [
        (plain, false, None),
        (plain, true, Some(FrameError::Packet(ParseError::Checksum(Layer::Tcp)))),
        (valid, true, None),
        (partial, true, None),
    ] {
        let mut frame = frame_of(header, &description, Checksums::Complete);
        *frame.last_mut().expect("a byte") ^= u8::from(damaged);
        assert_eq!(cut_all(&frame, None, &mut pool()).0.err(), verdict);
    }
}

#[test]
fn an_inconsistent_frame_is_refused() {
    let data = segment(Flags::ACK, vec![7; 3_000]);
    let udp = Description { body: Body::Udp { source_port: 1, destination_port: 2 }, ..data.clone() };
    assert_eq!(cut_all(&[0; 9], None, &mut pool()).0, Err(FrameError::Truncated));
    assert_eq!(
        refused(VirtioNetHeader { csum_start: 24, ..TSO }, &data),
        FrameError::ChecksumPlace { start: 24, offset: 16 }
    );
    assert_eq!(
        refused(VirtioNetHeader { csum_offset: 6, ..TSO }, &data),
        FrameError::ChecksumPlace { start: 20, offset: 6 }
    );
    for gso_type in [2, 3, 4, 5, VirtioNetHeader::GSO_ECN] {
        assert_eq!(refused(VirtioNetHeader { gso_type, ..TSO }, &data), FrameError::UnsupportedGso(gso_type));
    }
    assert_eq!(refused(VirtioNetHeader { csum_offset: 6, ..TSO }, &udp), FrameError::GsoNotTcp);
    assert_eq!(refused(VirtioNetHeader { gso_size: 0, ..TSO }, &data), FrameError::GsoSize);
    for flags in [Flags::SYN, Flags::RST] {
        assert_eq!(refused(TSO, &segment(flags, vec![7; 3_000])), FrameError::GsoFlags);
    }
    let frame = frame_of(VirtioNetHeader { flags: 0, ..TSO }, &data, Checksums::Complete);
    assert_eq!(cut_all(&frame, None, &mut pool()).0, Err(FrameError::GsoChecksum));
}

#[test]
fn a_frame_that_is_not_ipv4_says_so() {
    let mut frame = VirtioNetHeader::default().emit().to_vec();
    frame.extend([0x60, 0, 0, 0, 0, 8, 0x3a, 0xff]);
    assert_eq!(cut_all(&frame, None, &mut pool()).0, Err(FrameError::Packet(ParseError::NotIpv4)));
}

#[test]
fn an_exhausted_pool_drops_the_cuts_it_cannot_hold_and_counts_them() {
    // Room for one chunk of 64 slabs of 2 KiB; 100 bytes go to a class of their own, which no longer fits.
    let mut pool = PayloadPool::new(64 * 2_048);
    let frame = frame_of(
        VirtioNetHeader { gso_size: 1_000, ..TSO },
        &segment(Flags::ACK, vec![7; 60_100]),
        Checksums::Partial,
    );
    let (result, packets) = cut_all(&frame, None, &mut pool);
    assert_eq!(result, Ok(Cut { packets: 61, exhausted: 0 }));
    let (result, more) = cut_all(&frame, None, &mut pool);
    assert_eq!(result, Ok(Cut { packets: 3, exhausted: 58 }));
    assert_eq!(pool.exhausted(), 58);
    for packet in packets.into_iter().chain(more) {
        pool.release(packet.payload);
    }
    let acknowledgment =
        frame_of(VirtioNetHeader::default(), &segment(Flags::ACK, vec![]), Checksums::Complete);
    let (result, packets) = cut_all(&acknowledgment, None, &mut PayloadPool::new(0));
    assert_eq!(result, Ok(Cut { packets: 1, exhausted: 0 }), "what carries nothing needs no room");
    assert_eq!(packets[0].payload, Payload::Empty);
}
