//! Packets of a real Linux kernel, and one packet for each reason to refuse.

use crate::common::{Description, address, checksum, fix_header_checksum, pool};
use wasp_packet::{Body, Checksums, Packet, Payload, emit};
use wasp_wire::{Flags, IpHeader, Layer, ParseError, SequenceNumber, TcpHeader, Timestamps};

/// A SYN as Linux 6.18 gave it to a device with checksum offload: its TCP checksum is the pseudo header's sum.
const SYN: &str = "4500003c8fac400040061ee8c6120002c6120001\
                   9c410050d2e5738300000000a002faf08c560000\
                   020405b40402080a0c7506de000000000103030a";
/// What the device makes of that checksum field.
const SYN_CHECKSUM: u16 = 0xca96;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hex");
    digits.chunks(2).map(byte).collect()
}

fn syn() -> Packet {
    Packet {
        ip: IpHeader {
            source: address("198.18.0.2"),
            destination: address("198.18.0.1"),
            ttl: 64,
            traffic_class: 0,
            identification: 0x8fac,
            dont_fragment: true,
        },
        body: Body::Tcp(TcpHeader {
            source_port: 40_001,
            destination_port: 80,
            sequence: SequenceNumber(0xd2e5_7383),
            flags: Flags::SYN,
            window: 64_240,
            mss: Some(1_460),
            window_scale: Some(10),
            sack_permitted: true,
            timestamps: Some(Timestamps { value: 0x0c75_06de, echo: 0 }),
            ..TcpHeader::default()
        }),
        payload: Payload::Empty,
        flipped: None,
    }
}

#[test]
fn the_syn_of_linux_is_read_as_it_was_meant() {
    let frame = bytes(SYN);
    let parsed = Packet::parse(&frame, Checksums::Partial).expect("a packet");
    assert_eq!(parsed.packet, syn());
    assert_eq!(parsed.payload, []);
}

#[test]
fn the_syn_of_linux_is_written_byte_for_byte() {
    let mut buffer = [0; 60];
    assert_eq!(emit(&syn(), &pool(), &mut buffer, Checksums::Partial), 60);
    assert_eq!(buffer.as_slice(), bytes(SYN));
    emit(&syn(), &pool(), &mut buffer, Checksums::Complete);
    assert_eq!(u16::from_be_bytes([buffer[36], buffer[37]]), SYN_CHECKSUM);
}

#[test]
fn a_data_segment_of_linux_is_read_and_written() {
    let frame = bytes(
        "45000039909f400040061df8c6120001c6120002\
         00509c41eefa14fcd2e573848018004033520000\
         0101080a838bf5520c7506de68656c6c6f",
    );
    let mut pool = pool();
    let parsed = Packet::parse(&frame, Checksums::Complete).expect("a packet");
    let packet = parsed.store(&mut pool).expect("room in the pool");
    let Body::Tcp(header) = packet.body else { panic!("not TCP") };
    assert_eq!(header.flags, Flags::PSH | Flags::ACK);
    assert_eq!(header.acknowledgment, SequenceNumber(0xd2e5_7384));
    assert_eq!(header.timestamps, Some(Timestamps { value: 0x838b_f552, echo: 0x0c75_06de }));
    assert_eq!(Description::of(&packet, &pool).payload, b"hello");
    let mut buffer = [0; 57];
    emit(&packet, &pool, &mut buffer, Checksums::Complete);
    assert_eq!(buffer.as_slice(), frame);
}

/// The SYN with `edit` made to it and its IPv4 checksum set right again.
fn edited(edit: impl FnOnce(&mut Vec<u8>)) -> Result<(), ParseError> {
    let mut frame = bytes(SYN);
    frame[36..38].copy_from_slice(&SYN_CHECKSUM.to_be_bytes());
    edit(&mut frame);
    if frame.len() >= 20 {
        fix_header_checksum(&mut frame);
    }
    Packet::parse(&frame, Checksums::Complete).map(|_| ())
}

#[test]
fn a_refused_packet_names_its_reason() {
    use Layer::{Icmp, Ipv4, Tcp, Udp};
    use ParseError::*;
    let with = |place: usize, value: u8| edited(|frame| frame[place] = value);
    let protocol_of = |protocol: u8, len: u8| {
        edited(|frame| {
            frame[9] = protocol;
            frame[3] = len;
        })
    };
    assert_eq!(edited(|_| {}), Ok(()));
    assert_eq!(edited(Vec::clear), Err(Truncated(Ipv4)));
    assert_eq!(edited(|frame| frame.truncate(19)), Err(Truncated(Ipv4)));
    assert_eq!(edited(|frame| frame.truncate(59)), Err(Length(Ipv4)));
    assert_eq!(with(0, 0x65), Err(NotIpv4));
    assert_eq!(with(0, 0x44), Err(HeaderLength(Ipv4)));
    assert_eq!(with(3, 19), Err(Length(Ipv4)));
    assert_eq!(with(3, 61), Err(Length(Ipv4)));
    // A fragment, in which no checksum can be verified; one that ends past the longest packet.
    assert_eq!(edited(|frame| (frame[7], frame[59]) = (1, 0)), Ok(()));
    assert_eq!(edited(|frame| frame[6..8].copy_from_slice(&[0x1f, 0xff])), Err(Length(Ipv4)));
    assert_eq!(with(9, 132), Err(UnsupportedProtocol(132)));
    assert_eq!(with(3, 39), Err(Truncated(Tcp)));
    assert_eq!(with(32, 0x40), Err(HeaderLength(Tcp)));
    assert_eq!(with(32, 0xb0), Err(HeaderLength(Tcp)));
    assert_eq!(with(36, 0), Err(Checksum(Tcp)));
    assert_eq!(with(59, 0), Err(Checksum(Tcp)));
    assert_eq!(protocol_of(17, 27), Err(Truncated(Udp)));
    assert_eq!(protocol_of(17, 40), Err(Length(Udp)));
    assert_eq!(protocol_of(1, 27), Err(Truncated(Icmp)));
    assert_eq!(protocol_of(1, 40), Err(Checksum(Icmp)));
    let mut frame = bytes(SYN);
    frame[8] = 63;
    assert_eq!(Packet::parse(&frame, Checksums::Partial).map(|_| ()), Err(Checksum(Ipv4)));
}

#[test]
fn a_udp_length_below_its_header_is_refused() {
    let udp = |len: u8| {
        edited(|frame| {
            frame[9] = 17;
            frame[24..28].copy_from_slice(&[0, len, 0, 0]);
        })
    };
    assert_eq!(udp(7), Err(ParseError::Length(Layer::Udp)));
    assert_eq!(udp(8), Ok(()), "a checksum of zero means that there is none");
    assert_eq!(udp(41), Err(ParseError::Length(Layer::Udp)));
}

#[test]
fn errors_read_as_fates() {
    assert_eq!(ParseError::Checksum(Layer::Tcp).to_string(), "bad TCP checksum");
    assert_eq!(ParseError::Truncated(Layer::Ipv4).to_string(), "truncated IPv4 header");
    assert_eq!(ParseError::NotIpv4.to_string(), "not IPv4");
    assert_eq!(ParseError::UnsupportedProtocol(132).to_string(), "unsupported protocol 132");
}

#[test]
fn ipv4_options_and_trailing_bytes_are_skipped() {
    // A timestamp option of four bytes after the header, and padding of a link behind the packet.
    let mut frame = bytes(SYN);
    frame.splice(20..20, [0x44, 4, 5, 0]);
    frame[0] = 0x46;
    frame[3] += 4;
    fix_header_checksum(&mut frame);
    frame.extend([0xff; 6]);
    let parsed = Packet::parse(&frame, Checksums::Partial).expect("a packet");
    assert_eq!(parsed.packet, syn());
    assert_eq!((parsed.ipv4_header_len, parsed.payload.len()), (24, 0));
}

/// The header of a segment with these options.
fn with_options(options: &[u8]) -> TcpHeader {
    let mut frame = bytes(SYN)[..40].to_vec();
    frame.extend(options);
    frame.resize(frame.len().next_multiple_of(4), 0);
    frame[3] = frame.len() as u8;
    frame[32] = ((frame.len() - 20) / 4 * 16) as u8;
    fix_header_checksum(&mut frame);
    let parsed = Packet::parse(&frame, Checksums::Partial).expect("a packet");
    let Body::Tcp(header) = parsed.packet.body else { panic!("not TCP") };
    header
}

#[test]
fn options_are_read_as_linux_reads_them() {
    let mss = [2, 4, 5, 180];
    assert_eq!(with_options(&mss).mss, Some(1_460));
    assert_eq!(with_options(&[254, 4, 0, 0, 2, 4, 5, 180]).mss, Some(1_460), "an unknown kind is skipped");
    assert_eq!(with_options(&[2, 3, 5, 2, 4, 5, 180]).mss, Some(1_460), "a wrong length is skipped");
    assert_eq!(with_options(&[0, 2, 4, 5, 180]).mss, None, "nothing follows the end of the list");
    assert_eq!(with_options(&[2, 4, 5, 180, 3, 0, 1, 1]).mss, Some(1_460), "length 0 ends the reading");
    assert_eq!(with_options(&[2, 4, 5, 180, 8, 10, 1, 1]).timestamps, None, "so does one past the header");
    assert_eq!(with_options(&[2, 4, 0, 1, 2, 4, 5, 180]).mss, Some(1_460), "the last of a kind holds");
    assert_eq!(with_options(&[1, 1, 1, 8]), with_options(&[]), "so does a kind without a length");
    let unaligned = [8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    assert_eq!(with_options(&unaligned).timestamps, Some(Timestamps { value: 1, echo: 2 }));
    assert!(with_options(&[5, 2]).sack.is_empty());
    assert!(with_options(&[5, 6, 1, 2, 3, 4]).sack.is_empty());
    let block_and_a_half = [5, 14, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3];
    assert!(with_options(&block_and_a_half).sack.is_empty());
}

#[test]
fn a_udp_checksum_that_sums_to_zero_is_sent_as_all_ones() {
    // The second payload word is chosen so that the complement of the sum is zero.
    let mut pool = pool();
    let mut emitted = |word: [u8; 2]| {
        let packet = Packet {
            body: Body::Udp { source_port: 1, destination_port: 2 },
            payload: pool.store(&word).expect("room in the pool"),
            ..syn()
        };
        let mut buffer = [0; 30];
        emit(&packet, &pool, &mut buffer, Checksums::Complete);
        buffer
    };
    let zero = emitted([0, 0]);
    let buffer = emitted([zero[26], zero[27]]);
    assert_eq!(buffer[26..28], [0xff, 0xff]);
    assert_eq!(checksum(&[&buffer[12..20], &[0, 17, 0, 10], &buffer[20..]]), 0);
}
