//! What the tests of this crate share: an Internet checksum written from the definition, and arbitrary packets.

use proptest::prelude::*;
use std::net::Ipv4Addr;
use wasp_packet::{Body, Packet, Payload, PayloadPool, View};
use wasp_wire::{Address, Flags, IpHeader, SackBlocks, SequenceNumber, TcpHeader, Timestamps};

/// A property draws so many cases.
pub(crate) fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, ..ProptestConfig::default() }
}

/// The Internet checksum byte by byte (RFC 1071 section 1): independent of the crate's.
pub(crate) fn checksum(parts: &[&[u8]]) -> u16 {
    let bytes = parts.iter().flat_map(|part| part.iter());
    let sum = bytes.enumerate().fold(0_u64, |sum, (place, byte)| {
        sum + if place % 2 == 0 { u64::from(*byte) * 256 } else { u64::from(*byte) }
    });
    !((sum % 65_535) as u16 + if sum != 0 && sum % 65_535 == 0 { 65_535 } else { 0 })
}

/// The checksum of an emitted packet's transport, read and computed from its bytes alone; zero if it is right.
pub(crate) fn transport_checksum(packet: &[u8]) -> u16 {
    let header_len = usize::from(packet[0] & 0x0f) * 4;
    let segment = &packet[header_len..];
    if packet[9] == 1 {
        return checksum(&[segment]);
    }
    checksum(&[&packet[12..20], &[0, packet[9]], &(segment.len() as u16).to_be_bytes(), segment])
}

/// Writes the IPv4 header checksum that belongs into `packet`.
pub(crate) fn fix_header_checksum(packet: &mut [u8]) {
    let header_len = (usize::from(packet[0] & 0x0f) * 4).clamp(20, packet.len());
    packet[10..12].fill(0);
    let sum = checksum(&[&packet[..header_len]]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// A pool that no test fills.
pub(crate) fn pool() -> PayloadPool {
    PayloadPool::new(64 << 20)
}

/// The bytes of a payload.
pub(crate) fn bytes_of(pool: &PayloadPool, payload: &Payload) -> Vec<u8> {
    match pool.view(payload) {
        View::Bytes(bytes) => bytes.to_vec(),
        View::Virtual(len) => vec![0; len as usize],
    }
}

/// Everything about a packet but where its payload lies.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Description {
    pub(crate) ip: IpHeader,
    pub(crate) body: Body,
    pub(crate) payload: Vec<u8>,
}

impl Description {
    pub(crate) fn of(packet: &Packet, pool: &PayloadPool) -> Self {
        Self { ip: packet.ip, body: packet.body, payload: bytes_of(pool, &packet.payload) }
    }

    pub(crate) fn packet(&self, pool: &mut PayloadPool) -> Packet {
        Packet {
            ip: self.ip,
            body: self.body,
            payload: pool.store(&self.payload).expect("room in the pool"),
            flipped: None,
        }
    }
}

pub(crate) fn address(text: &str) -> Address {
    text.parse().expect("an address")
}

fn any_address() -> impl Strategy<Value = Address> {
    any::<u32>().prop_map(|bits| Address::from(Ipv4Addr::from_bits(bits)))
}

fn any_sack() -> impl Strategy<Value = SackBlocks> {
    proptest::collection::vec(any::<(u32, u32)>(), 0..=SackBlocks::CAPACITY).prop_map(|edges| {
        let mut blocks = SackBlocks::default();
        for (left, right) in edges {
            assert!(blocks.push(SequenceNumber(left), SequenceNumber(right)));
        }
        blocks
    })
}

/// Any header, also one with more SACK blocks than fit beside its other options.
pub(crate) fn any_tcp() -> impl Strategy<Value = TcpHeader> {
    let fixed = any::<(u16, u16, u32, u32, u8, u16)>();
    let options =
        (any::<Option<u16>>(), any::<Option<u8>>(), any::<bool>(), any::<Option<(u32, u32)>>(), any_sack());
    (fixed, options).prop_map(|(fixed, (mss, window_scale, sack_permitted, timestamps, sack))| TcpHeader {
        source_port: fixed.0,
        destination_port: fixed.1,
        sequence: SequenceNumber(fixed.2),
        acknowledgment: SequenceNumber(fixed.3),
        flags: Flags(fixed.4),
        window: fixed.5,
        mss,
        window_scale,
        sack_permitted,
        timestamps: timestamps.map(|(value, echo)| Timestamps { value, echo }),
        sack,
    })
}

/// A header whose SACK blocks all fit.
pub(crate) fn any_fitting_tcp() -> impl Strategy<Value = TcpHeader> {
    any_tcp().prop_map(|mut header| {
        let others = [(header.mss.is_some(), 4), (header.window_scale.is_some(), 4)];
        let mut room = 40 - others.iter().filter(|(present, _)| *present).map(|(_, len)| len).sum::<usize>();
        room -= match (header.timestamps, header.sack_permitted) {
            (Some(_), _) => 12,
            (None, true) => 4,
            (None, false) => 0,
        };
        let mut kept = SackBlocks::default();
        for (left, right) in header.sack.as_slice().iter().take((room - 4) / 8) {
            kept.push(*left, *right);
        }
        header.sack = kept;
        header
    })
}

fn any_body() -> impl Strategy<Value = Body> {
    prop_oneof![
        any_fitting_tcp().prop_map(Body::Tcp),
        any::<(u16, u16)>()
            .prop_map(|(source_port, destination_port)| Body::Udp { source_port, destination_port }),
        any::<(u8, u8, [u8; 4])>().prop_map(|(kind, code, rest)| Body::Icmp { kind, code, rest }),
    ]
}

/// A packet with this body and payload.
pub(crate) fn any_packet_of(
    body: impl Strategy<Value = Body>,
    payload: impl Strategy<Value = Vec<u8>>,
) -> impl Strategy<Value = Description> {
    let header = (any_address(), any_address(), any::<(u8, u8, u16, bool)>());
    (header, body, payload).prop_map(|((source, destination, rest), body, payload)| Description {
        ip: IpHeader {
            source,
            destination,
            ttl: rest.0,
            traffic_class: rest.1,
            identification: rest.2,
            dont_fragment: rest.3,
        },
        body,
        payload,
    })
}

/// Any packet, most of them short.
pub(crate) fn any_packet() -> impl Strategy<Value = Description> {
    let payload = prop_oneof![
        4 => proptest::collection::vec(any::<u8>(), 0..64),
        1 => proptest::collection::vec(any::<u8>(), 0..3_000),
    ];
    any_packet_of(any_body(), payload)
}
