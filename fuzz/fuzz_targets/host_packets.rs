//! No packets, in whatever order and at whatever times, make a host's IP layer panic, hold payload for ever, or lose count of fragments; what it answers
//! survives emission and parsing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wasp_packet::{Body, Checksums, Dropped, Packet, Payload, PayloadPool, emit};
use wasp_stack::{Answer, Ip, PathMtuDiscovery, Received, Report, Reported};
use wasp_units::{Duration, Instant};
use wasp_wire::{Address, FragmentField, IpHeader, TcpHeader, protocol};

/// Bytes of a description of one packet.
const LEN: usize = 8;

fuzz_target!(|input: &[u8]| {
    let (descriptions, content) = input.split_at(input.len() / 2);
    let mut pool = PayloadPool::new(1 << 18);
    let discovery = match input.first() {
        Some(0..128) | None => PathMtuDiscovery::On { least: 552 },
        Some(_) => PathMtuDiscovery::Off,
    };
    let mut host = Ip::new(address(2), discovery);
    let mut now = Instant::ZERO;
    // Fragments that came, and those that were dropped or given up. Others were duplicates, or are whole.
    let (mut came, mut ended) = (0, 0);
    for description in descriptions.as_chunks::<LEN>().0 {
        now += Duration::from_millis(u64::from(description[0]) * 50);
        ended += expire(&mut host, now, &mut pool);
        let Some(packet) = packet(description, content, &mut pool) else { continue };
        let is_fragment = matches!(packet.body, Body::Fragment { .. });
        came += u64::from(is_fragment);
        match host.receive(packet, now, &mut pool) {
            Received::Segment(.., payload) => pool.release(payload),
            Received::Answer(answer) => check(answer, &mut pool),
            Received::Reported(report) => learn(&report, discovery, &mut host, now),
            Received::Dropped(Dropped { packets, .. }) if is_fragment => ended += u64::from(packets),
            Received::Dropped(Dropped { packets, .. }) => assert_eq!(packets, 1),
        }
        assert!(ended <= came);
    }
    ended += expire(&mut host, Instant::MAX, &mut pool);
    assert!(ended <= came);
    assert_eq!((host.poll_timeout(), pool.in_use()), (None, 0));
});

fn address(last: u8) -> Address {
    Address::from(std::net::Ipv4Addr::new(198, 18, 0, last))
}

/// Gives up what has waited for too long; returns how many fragments.
fn expire(host: &mut Ip, now: Instant, pool: &mut PayloadPool) -> u64 {
    let mut fragments = 0;
    while let Some(given_up) = host.expire(now, pool) {
        fragments += u64::from(given_up.fragments);
        check(given_up.answer, pool);
    }
    assert!(host.poll_timeout().is_none_or(|end| end > now));
    fragments
}

/// Believes a report. What is known of a path never grows before its time.
fn learn(report: &Report, discovery: PathMtuDiscovery, host: &mut Ip, now: Instant) {
    let (remote, Reported::TooLong { mtu }) = (report.segment.destination, report.reported) else { return };
    assert_eq!(report.segment.source, address(2));
    let before = host.path_mtu(remote, now);
    let after = host.learn_path_mtu(remote, mtu, now);
    assert_eq!(after, host.path_mtu(remote, now));
    assert_eq!(after.is_some(), discovery != PathMtuDiscovery::Off);
    assert!(after.is_none_or(|after| after >= 552 && before.is_none_or(|before| after <= before)));
    assert!(discovery != PathMtuDiscovery::Off || !host.header(remote, now).dont_fragment);
}

/// The packet of a description: its kind, where a fragment lies, its identification, and how much content it has.
fn packet(description: &[u8; LEN], content: &[u8], pool: &mut PayloadPool) -> Option<Packet> {
    let [_, kind, place, len, identification, bits, source, class] = *description;
    let bytes = content.get(..usize::from(len).min(content.len()))?;
    let payload = if bits & 2 == 0 { pool.store(bytes)? } else { Payload::Virtual(len.into()) };
    let body = match kind % 8 {
        0 => Body::Icmp { kind: place % 20, code: bits >> 7, rest: [bits; 4] },
        1 => Body::Udp { source_port: place.into(), destination_port: bits.into() },
        2 => Body::Tcp(TcpHeader::default()),
        _ => {
            let protocol = [protocol::ICMP, protocol::TCP, protocol::UDP][usize::from(kind >> 3) % 3];
            let offset = u16::from(place) << (bits >> 5);
            Body::Fragment { protocol, field: FragmentField { offset: offset % 8_000, more: bits & 1 == 0 } }
        }
    };
    let from = if source == 0 { "224.0.0.1".parse().expect("an address") } else { address(source % 3) };
    let ip = IpHeader {
        traffic_class: class % 4,
        ..IpHeader::new(from, address(2), (identification % 80).into())
    };
    Some(Packet { ip, body, payload, flipped: (bits & 12 == 12).then_some(u32::from(place)) })
}

/// What leaves the host is a valid packet.
fn check(answer: Answer, pool: &mut PayloadPool) {
    let Answer::Packet(packet) = answer else { return };
    let mut buffer = vec![0; packet.wire_len() as usize];
    let len = emit(&packet, pool, &mut buffer, Checksums::Complete);
    let parsed = Packet::parse(&buffer[..len], Checksums::Complete).expect("an emitted packet");
    assert_eq!((parsed.packet.ip, parsed.packet.body), (packet.ip, packet.body));
    pool.release(packet.payload);
}
