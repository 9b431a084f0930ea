//! Cutting a packet that is longer than a link carries into fragments (RFC 791 section 3.2, "Fragmentation and Reassembly").

use crate::{Body, Checksums, Packet, PayloadPool, emit};
use wasp_wire::FragmentField;
use wasp_wire::ipv4::{self, FRAGMENT_UNIT};

/// Cuts `packet` into fragments of at most `mtu` bytes and hands them to `sink` in their order. A fragment may be cut again. The payload of `packet` stays
/// held. `scratch` is overwritten.
///
/// Checksums are complete in the fragments, for no device could complete them. A bit that a link has flipped is flipped in their bytes.
///
/// Returns how many fragments found no room in `pool`. They are not handed over.
///
/// # Panics
/// If `mtu` has no room for a header and eight bytes (every link must carry 68: RFC 791), or if `packet` is longer than an IPv4 packet can be.
pub fn fragment(
    packet: &Packet,
    mtu: u16,
    pool: &mut PayloadPool,
    scratch: &mut Vec<u8>,
    sink: &mut dyn FnMut(Packet),
) -> u32 {
    let room = usize::from(mtu).saturating_sub(ipv4::HEADER_LEN) / FRAGMENT_UNIT * FRAGMENT_UNIT;
    assert!(room > 0, "an MTU of {mtu} bytes carries no fragment");
    scratch.resize(packet.wire_len() as usize, 0);
    emit(packet, pool, scratch, Checksums::Complete);
    let content = &scratch[ipv4::HEADER_LEN..];
    let (protocol, whole) = (packet.body.protocol(), packet.body.fragment_field());
    let last = content.len().saturating_sub(1) / room;
    let mut exhausted = 0;
    for (number, bytes) in content.chunks(room).enumerate() {
        let Some(payload) = pool.store(bytes) else {
            exhausted += 1;
            continue;
        };
        let field = FragmentField {
            offset: whole.offset + (number * room / FRAGMENT_UNIT) as u16,
            more: whole.more || number != last,
        };
        sink(Packet { ip: packet.ip, body: Body::Fragment { protocol, field }, payload, flipped: None });
    }
    exhausted
}
