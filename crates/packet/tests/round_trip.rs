//! What is emitted parses back to the same packet, and nothing that arrives makes a parser panic.

use crate::common::{
    Description, any_packet, any_tcp, bytes_of, checksum, config, fix_header_checksum, pool,
    transport_checksum,
};
use proptest::prelude::*;
use wasp_packet::{Body, Checksums, Packet, Payload, cut, emit, frame};
use wasp_wire::{IcmpView, IpHeader, Ipv4View, TcpHeader, TcpView, UdpView, VirtioNetHeader};

proptest! {
    #![proptest_config(config(1_024))]

    #[test]
    fn an_emitted_packet_parses_back_to_itself(description in any_packet()) {
        let mut pool = pool();
        let packet = description.packet(&mut pool);
        let mut buffer = vec![0xaa; packet.wire_len() as usize + 7];
        let len = emit(&packet, &pool, &mut buffer, Checksums::Complete);
        prop_assert_eq!(len, packet.wire_len() as usize);
        prop_assert_eq!(checksum(&[&buffer[..20]]), 0);
        prop_assert_eq!(transport_checksum(&buffer[..len]), 0);
        prop_assert_eq!(&buffer[len..], [0xaa; 7]);

        let parsed = Packet::parse(&buffer, Checksums::Complete).expect("a packet");
        let parsed = parsed.store(&mut pool).expect("room in the pool");
        prop_assert_eq!(Description::of(&parsed, &pool), description);
        pool.release(packet.payload);
        pool.release(parsed.payload);
        prop_assert_eq!(pool.in_use(), 0);
    }

    #[test]
    fn a_frame_written_reads_back_to_its_packet(description in any_packet()) {
        let mut pool = pool();
        let packet = description.packet(&mut pool);
        let mut buffer = vec![0; packet.wire_len() as usize + VirtioNetHeader::LEN];
        prop_assert_eq!(frame(&packet, &pool, &mut buffer), buffer.len());
        let mut read = Vec::new();
        cut(&buffer, None, &mut pool, &mut |packet| read.push(packet)).expect("a packet");
        prop_assert_eq!(read.len(), 1);
        prop_assert_eq!(Description::of(&read[0], &pool), description);
    }

    /// What the receiving kernel does with `NEEDS_CSUM`: it sums from `csum_start` on, and stores the complement.
    #[test]
    fn a_partial_checksum_is_completed_by_the_device_rule(description in any_packet()) {
        let mut pool = pool();
        let packet = description.packet(&mut pool);
        let mut buffer = vec![0; packet.wire_len() as usize + VirtioNetHeader::LEN];
        frame(&packet, &pool, &mut buffer);
        let (header, packet) = buffer.split_first_chunk_mut().expect("a virtio header");
        let header = VirtioNetHeader::parse(header);
        if header.flags & VirtioNetHeader::NEEDS_CSUM != 0 {
            let start = usize::from(header.csum_start);
            let place = start + usize::from(header.csum_offset);
            let sum = checksum(&[&packet[start..]]);
            packet[place..place + 2].copy_from_slice(&sum.to_be_bytes());
        }
        prop_assert_eq!(transport_checksum(packet), 0);
    }

    /// A device that completed the checksum of a packet with a flipped bit would make it right.
    #[test]
    fn a_flipped_bit_is_flipped_in_a_frame_whose_checksum_is_that_of_the_packet_before(
        description in any_packet(), place in any::<prop::sample::Index>(),
    ) {
        let mut pool = pool();
        let mut packet = description.packet(&mut pool);
        let mut whole = vec![0; packet.wire_len() as usize];
        emit(&packet, &pool, &mut whole, Checksums::Complete);
        let bit = place.index(8 * (whole.len() - 20));
        packet.flipped = Some(bit as u32);
        let mut buffer = vec![0; whole.len() + VirtioNetHeader::LEN];
        prop_assert_eq!(frame(&packet, &pool, &mut buffer), buffer.len());
        let (header, flipped) = buffer.split_first_chunk().expect("a virtio header");
        prop_assert_eq!(VirtioNetHeader::parse(header), VirtioNetHeader::default());
        prop_assert!(transport_checksum(flipped) != 0);
        whole[20 + bit / 8] ^= 0x80 >> (bit % 8);
        prop_assert_eq!(flipped, &whole[..]);
    }

    #[test]
    fn a_virtual_payload_is_zeros_on_the_wire(len in 0_u32..5_000, mut description in any_packet()) {
        description.payload = vec![0; len as usize];
        let mut pool = pool();
        let mut packet = description.packet(&mut pool);
        let mut stored = vec![0; packet.wire_len() as usize];
        emit(&packet, &pool, &mut stored, Checksums::Complete);
        pool.release(std::mem::replace(&mut packet.payload, Payload::Virtual(len)));
        let mut emitted = vec![0xaa; packet.wire_len() as usize];
        emit(&packet, &pool, &mut emitted, Checksums::Complete);
        prop_assert_eq!(emitted, stored);
    }

    #[test]
    fn options_never_exceed_the_header_and_keep_the_first_sack_blocks(header in any_tcp()) {
        prop_assert!(header.options_len() <= TcpHeader::MAX_OPTIONS_LEN);
        let pool = pool();
        let packet = Packet {
            ip: IpHeader {
                source: crate::common::address("198.18.0.1"),
                destination: crate::common::address("198.18.0.2"),
                ttl: 64,
                traffic_class: 0,
                identification: 0,
                dont_fragment: true,
            },
            body: Body::Tcp(header),
            payload: Payload::Empty,
            flipped: None,
        };
        let mut buffer = [0; 80];
        let len = emit(&packet, &pool, &mut buffer, Checksums::Complete);
        let parsed = Packet::parse(&buffer[..len], Checksums::Complete).expect("a packet");
        let Body::Tcp(parsed) = parsed.packet.body else { panic!("not TCP") };
        let kept = header.sack_blocks_emitted();
        prop_assert_eq!(parsed.sack.as_slice(), &header.sack.as_slice()[..kept]);
        prop_assert_eq!(TcpHeader { sack: header.sack, ..parsed }, header);
    }

    #[test]
    fn arbitrary_bytes_panic_no_parser(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        exercise(&bytes);
    }

    /// A packet damaged in a few places, its IPv4 checksum set right again, reaches what lies behind the first checks.
    #[test]
    fn damaged_packets_panic_no_parser(
        description in any_packet(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        kept in any::<prop::sample::Index>(),
    ) {
        let mut pool = pool();
        let packet = description.packet(&mut pool);
        let mut buffer = vec![0; packet.wire_len() as usize];
        emit(&packet, &pool, &mut buffer, Checksums::Complete);
        for (place, value) in damage {
            let place = place.index(buffer.len().min(80));
            buffer[place] = value;
        }
        fix_header_checksum(&mut buffer);
        exercise(&buffer);
        buffer.truncate(kept.index(buffer.len() + 1));
        exercise(&buffer);
    }
}

/// Runs every parser over `bytes`; what parses must also survive emission.
fn exercise(bytes: &[u8]) {
    let (source, destination) = (crate::common::address("198.18.0.1"), crate::common::address("198.18.0.2"));
    if let Ok(view) = Ipv4View::new_checked(bytes) {
        let _ = (view.checksum_is_valid(), view.header_len(), view.payload(), view.fragment());
    }
    if let Ok(view) = TcpView::new_checked(bytes) {
        let _ = (view.checksum_is_valid(source, destination), view.header(), view.payload());
    }
    if let Ok(view) = UdpView::new_checked(bytes) {
        let _ = (view.checksum_is_valid(source, destination), view.payload());
    }
    if let Ok(view) = IcmpView::new_checked(bytes) {
        let _ = (view.checksum_is_valid(), view.payload());
    }
    let mut pool = pool();
    for checksums in [Checksums::Complete, Checksums::Partial] {
        if let Ok(parsed) = Packet::parse(bytes, checksums) {
            let packet = parsed.store(&mut pool).expect("room in the pool");
            let mut buffer = vec![0; packet.wire_len() as usize];
            emit(&packet, &pool, &mut buffer, Checksums::Complete);
            let again = Packet::parse(&buffer, Checksums::Complete).expect("what was emitted");
            assert_eq!(again.payload, bytes_of(&pool, &packet.payload));
            pool.release(packet.payload);
        }
    }
}
