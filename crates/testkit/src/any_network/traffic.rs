//! Packets out of bytes: of every kind, whole and in pieces, to whoever is there and to others.

use super::graph::{PORTS, ROUTERS, address};
use arbitrary::{Result, Unstructured};
use std::net::Ipv4Addr;
use wasp_packet::{Body, Checksums, Packet, Payload, PayloadPool, emit, fragment};
use wasp_units::Duration;
use wasp_wire::ipv4::{self, FRAGMENT_UNIT};
use wasp_wire::{Address, Flags, FragmentField, IpHeader, SequenceNumber, TcpHeader, protocol};

/// Most bytes above IP.
const MOST: usize = u16::MAX as usize - ipv4::HEADER_LEN;
/// Most bytes of payload that all packets have together, without quotes and pieces that are sent again. It bounds the fragments and the segments, and so
/// the time that an input takes.
const BUDGET: usize = 200_000;

/// The source of packets.
pub(super) struct Traffic {
    /// The addresses of the hosts.
    pub(super) hosts: Vec<Address>,
    /// Bytes that are left to be sent.
    budget: usize,
    /// Fragments of packets that were cut here, and that are still to be sent.
    pieces: Vec<Packet>,
}

impl Traffic {
    pub(super) const fn new(hosts: Vec<Address>) -> Self {
        Self { hosts, budget: BUDGET, pieces: Vec::new() }
    }

    /// The time before the next packet: none or microseconds, up to 65 ms, and rarely longer than fragments wait for each other.
    pub(super) fn pause(bytes: &mut Unstructured<'_>) -> Result<Duration> {
        Ok(match bytes.int_in_range(0..=31_u8)? {
            0..=15 => Duration::from_micros(bytes.int_in_range(0..=7)?),
            16..=30 => Duration::from_micros(bytes.arbitrary::<u16>()?.into()),
            _ => Duration::from_millis(bytes.int_in_range(0..=40_000)?),
        })
    }

    /// The next packet of the host with this address.
    pub(super) fn packet(
        &mut self,
        from: Address,
        pool: &mut PayloadPool,
        bytes: &mut Unstructured<'_>,
    ) -> Result<Packet> {
        if !self.pieces.is_empty() && bytes.arbitrary()? {
            return self.piece(pool, bytes);
        }
        let packet = self.whole(from, pool, bytes)?;
        let mtu = bytes.int_in_range(68..=600)?;
        let is_short = packet.wire_len() <= u32::from(mtu);
        if is_short || matches!(packet.body, Body::Fragment { .. }) || bytes.arbitrary()? {
            return Ok(packet);
        }
        let before = self.pieces.len();
        fragment(&packet, mtu, pool, &mut Vec::new(), &mut |piece| self.pieces.push(piece));
        // A pool without room for its pieces sends it whole.
        if self.pieces.len() == before {
            return Ok(packet);
        }
        pool.release(packet.payload);
        self.piece(pool, bytes)
    }

    /// Gives back the payload of the packets that were not sent.
    pub(super) fn end(&mut self, pool: &mut PayloadPool) {
        self.pieces.drain(..).for_each(|piece| pool.release(piece.payload));
    }

    /// One of the fragments that are still to be sent, of any packet and in any order: as it is, again later, or at another place than it belongs.
    fn piece(&mut self, pool: &mut PayloadPool, bytes: &mut Unstructured<'_>) -> Result<Packet> {
        let place = bytes.choose_index(self.pieces.len())?;
        let choice = bytes.int_in_range(0..=7_u8)?;
        if choice == 0 {
            let Packet { ip, body, payload, flipped } = &self.pieces[place];
            return Ok(Packet { ip: *ip, body: *body, payload: pool.share(payload), flipped: *flipped });
        }
        let mut piece = self.pieces.swap_remove(place);
        if let (Body::Fragment { field, .. }, 1) = (&mut piece.body, choice) {
            // What begins at 0 and has no more is no fragment.
            let least = u16::from(!field.more);
            field.offset = field.offset.saturating_sub(bytes.int_in_range(1..=3)?).max(least);
        }
        Ok(piece)
    }

    fn whole(
        &mut self,
        from: Address,
        pool: &mut PayloadPool,
        bytes: &mut Unstructured<'_>,
    ) -> Result<Packet> {
        let ip = IpHeader {
            ttl: if bytes.arbitrary()? { 64 } else { bytes.int_in_range(0..=4)? },
            traffic_class: bytes.int_in_range(0..=3)?,
            identification: bytes.int_in_range(0..=3)?,
            dont_fragment: bytes.arbitrary()?,
            source: if bytes.ratio(7, 8)? { from } else { self.address(bytes)? },
            destination: self.address(bytes)?,
        };
        let len = len(bytes)?.min(self.budget);
        let (body, payload) = content(&ip, len, pool, bytes)?;
        self.budget -= len.min(payload.len() as usize);
        Ok(Packet { ip, body, payload, flipped: None })
    }

    /// Mostly the address of a host; else one that a router, a port or nobody has, or that is no host's.
    fn address(&self, bytes: &mut Unstructured<'_>) -> Result<Address> {
        Ok(match bytes.int_in_range(0..=7_u8)? {
            0..=4 => *bytes.choose(&self.hosts)?,
            5 | 6 => {
                let third = *bytes.choose(&[ROUTERS, PORTS, PORTS + 1, 0, 1, 2, 50])?;
                address(third, *bytes.choose(&[1, 2, 3, 77, 0, 255])?)
            }
            _ => Address::from(*bytes.choose(&[
                Ipv4Addr::UNSPECIFIED,
                Ipv4Addr::BROADCAST,
                Ipv4Addr::LOCALHOST,
                Ipv4Addr::new(224, 0, 0, 1),
                Ipv4Addr::new(203, 0, 113, 9),
            ])?),
        })
    }
}

/// How many bytes a packet has above its own header: few or as many as a link carries, rarely more, and very rarely as many as IP can carry.
fn len(bytes: &mut Unstructured<'_>) -> Result<usize> {
    let most = match bytes.arbitrary::<u8>()? {
        0..64 => 0,
        64..128 => 100,
        128..240 => 1_500,
        240..255 => 4_000,
        255 => MOST,
    };
    bytes.int_in_range(0..=most)
}

/// What a packet with this header carries: at most `len` bytes follow the header of the body.
fn content(
    ip: &IpHeader,
    len: usize,
    pool: &mut PayloadPool,
    bytes: &mut Unstructured<'_>,
) -> Result<(Body, Payload)> {
    let body = match bytes.int_in_range(0..=15_u8)? {
        0..=3 => Body::Udp { source_port: 7, destination_port: bytes.int_in_range(0..=15)? },
        4..=6 => Body::Icmp { kind: 8, code: 0, rest: [0, 1, 0, 2] },
        7..=9 => {
            let (kind, code) = *bytes.choose(&[(3, 0), (3, 1), (3, 4), (11, 0), (11, 1)])?;
            let [high, low] = bytes.arbitrary::<u16>()?.to_be_bytes();
            let about = quote(ip.destination, bytes)?;
            let payload = pool.store(&about).unwrap_or(Payload::Virtual(about.len() as u32));
            return Ok((Body::Icmp { kind, code, rest: [0, 0, high, low] }, payload));
        }
        10 => Body::Icmp { kind: bytes.arbitrary()?, code: bytes.arbitrary()?, rest: bytes.arbitrary()? },
        11..=14 => segment(bytes)?,
        _ => return fragment_alone(len, pool, bytes),
    };
    let len = len.min(MOST - body.header_len());
    Ok((body, payload(len, pool, bytes)?))
}

fn segment(bytes: &mut Unstructured<'_>) -> Result<Body> {
    Ok(Body::Tcp(TcpHeader {
        source_port: bytes.int_in_range(0..=3)?,
        destination_port: 80,
        sequence: SequenceNumber(bytes.int_in_range(0..=3)?),
        flags: Flags(bytes.arbitrary()?),
        ..TcpHeader::default()
    }))
}

/// A fragment of a packet of which there is nothing else.
fn fragment_alone(
    len: usize,
    pool: &mut PayloadPool,
    bytes: &mut Unstructured<'_>,
) -> Result<(Body, Payload)> {
    let protocol = *bytes.choose(&[protocol::ICMP, protocol::TCP, protocol::UDP])?;
    let more: bool = bytes.arbitrary()?;
    let offset = bytes.int_in_range(u16::from(!more)..=8_000)?;
    let len = len.min(MOST - usize::from(offset) * FRAGMENT_UNIT);
    let len = if more { (len / FRAGMENT_UNIT).max(1) * FRAGMENT_UNIT } else { len };
    Ok((Body::Fragment { protocol, field: FragmentField { offset, more } }, payload(len, pool, bytes)?))
}

/// Bytes in the pool, or ones that only count.
fn payload(len: usize, pool: &mut PayloadPool, bytes: &mut Unstructured<'_>) -> Result<Payload> {
    let counted = if len == 0 { Payload::Empty } else { Payload::Virtual(len as u32) };
    if bytes.arbitrary()? {
        return Ok(counted);
    }
    let pattern: Vec<u8> = (0..len).map(|place| place as u8).collect();
    Ok(pool.store(&pattern).unwrap_or(counted))
}

/// The beginning of a packet of the host with this address, as an ICMP error to that host quotes it.
fn quote(host: Address, bytes: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let body = match bytes.int_in_range(0..=2_u8)? {
        0 => segment(bytes)?,
        1 => Body::Udp { source_port: 1, destination_port: 2 },
        _ => Body::Icmp { kind: *bytes.choose(&[8, 3, 11])?, code: 0, rest: [0; 4] },
    };
    let ip = IpHeader::new(host, address(0, 1), 1);
    let packet = Packet { ip, body, payload: Payload::Virtual(bytes.int_in_range(0..=8)?), flipped: None };
    let mut quoted = vec![0; packet.wire_len() as usize];
    emit(&packet, &PayloadPool::new(0), &mut quoted, Checksums::Complete);
    if bytes.ratio(1, 8)? {
        quoted.truncate(bytes.choose_index(quoted.len())?);
    }
    Ok(quoted)
}
