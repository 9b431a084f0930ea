//! No frame from the device makes cutting panic, leak payload or invent bytes, and every packet cut from it survives
//! emission and parsing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::num::NonZeroU16;
use wasp_packet::{Checksums, Packet, PayloadPool, View, cut, emit, frame};
use wasp_testkit::set_header_checksum;
use wasp_wire::VirtioNetHeader;

fuzz_target!(|input: &[u8]| {
    // The first bytes are the limit and whether the IPv4 checksum is set right, without which little gets past it.
    let Some(([high, low, choice], bytes)) = input.split_first_chunk() else { return };
    let mut bytes = bytes.to_vec();
    if choice % 8 != 0 {
        let packet = bytes.get_mut(VirtioNetHeader::LEN..).unwrap_or_default();
        set_header_checksum(packet);
    }
    let limit = NonZeroU16::new(u16::from_be_bytes([*high, *low]));
    let mut pool = PayloadPool::new(if choice % 16 == 1 { 64 << 10 } else { 1 << 24 });
    let mut packets = Vec::new();
    let result = cut(&bytes, limit, &mut pool, &mut |packet| packets.push(packet));
    assert_eq!(result.map_or(0, |cut| cut.packets) as usize, packets.len());
    let payload: usize = packets.iter().map(|packet| packet.payload.len() as usize).sum();
    assert!(payload < bytes.len().max(1));
    for packet in packets {
        check(&packet, &mut pool);
        pool.release(packet.payload);
    }
    assert_eq!(pool.in_use(), 0);
});

/// What is emitted must parse back to the same packet, bare and as a frame.
fn check(packet: &Packet, pool: &mut PayloadPool) {
    let mut buffer = vec![0; VirtioNetHeader::LEN + packet.wire_len() as usize];
    let len = emit(packet, pool, &mut buffer, Checksums::Complete);
    let parsed = Packet::parse(&buffer[..len], Checksums::Complete).expect("an emitted packet");
    assert_eq!((parsed.packet.ip, parsed.packet.body), (packet.ip, packet.body));
    assert_eq!(View::Bytes(parsed.payload), pool.view(&packet.payload));

    let len = frame(packet, pool, &mut buffer);
    let mut own = PayloadPool::new(1 << 20);
    let read = cut(&buffer[..len], None, &mut own, &mut |again| {
        assert_eq!((again.ip, again.body), (packet.ip, packet.body));
        assert_eq!(again.payload.len(), packet.payload.len());
    });
    assert_eq!(read.map(|cut| cut.packets), Ok(1));
}
