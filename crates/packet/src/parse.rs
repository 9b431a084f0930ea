//! From bytes to a packet.

use crate::{Body, Checksums, Packet, Payload, PayloadPool};
use wasp_wire::{IcmpView, Ipv4View, Layer, ParseError, TcpView, UdpView, protocol};

/// A packet whose headers have been parsed and whose payload is still where it was read.
#[derive(Debug, Eq, PartialEq)]
pub struct Parsed<'a> {
    /// The packet, its payload empty.
    pub packet: Packet,
    /// The bytes of the payload.
    pub payload: &'a [u8],
    /// Length of the IPv4 header as read, options included.
    pub ipv4_header_len: usize,
}

impl Parsed<'_> {
    /// Copies the payload into `pool` and returns the whole packet; `None` when the pool is exhausted.
    #[must_use]
    pub fn store(self, pool: &mut PayloadPool) -> Option<Packet> {
        Some(Packet { payload: pool.store(self.payload)?, ..self.packet })
    }
}

impl Packet {
    /// Parses one IPv4 packet. The IPv4 checksum is always verified, that of the protocol above only if `checksums` are
    /// complete.
    ///
    /// # Errors
    /// Why these bytes are no packet that the model can carry; no bytes make it panic.
    #[inline]
    pub fn parse(bytes: &[u8], checksums: Checksums) -> Result<Parsed<'_>, ParseError> {
        let ip = Ipv4View::new_checked(bytes)?;
        if !ip.checksum_is_valid() {
            return Err(ParseError::Checksum(Layer::Ipv4));
        }
        if ip.is_fragment() {
            return Err(ParseError::Fragment);
        }
        let (body, payload) = parse_body(&ip, checksums)?;
        let packet = Self { ip: ip.header(), body, payload: Payload::Empty, flipped: None };
        Ok(Parsed { packet, payload, ipv4_header_len: ip.header_len() })
    }
}

#[inline]
fn parse_body<'a>(ip: &Ipv4View<'a>, checksums: Checksums) -> Result<(Body, &'a [u8]), ParseError> {
    let verify = |layer, is_valid: &dyn Fn() -> bool| match checksums {
        Checksums::Complete if !is_valid() => Err(ParseError::Checksum(layer)),
        Checksums::Complete | Checksums::Partial => Ok(()),
    };
    match ip.protocol() {
        protocol::TCP => {
            let tcp = TcpView::new_checked(ip.payload())?;
            verify(Layer::Tcp, &|| tcp.checksum_is_valid(ip.source(), ip.destination()))?;
            Ok((Body::Tcp(tcp.header()), tcp.payload()))
        }
        protocol::UDP => {
            let udp = UdpView::new_checked(ip.payload())?;
            verify(Layer::Udp, &|| udp.checksum_is_valid(ip.source(), ip.destination()))?;
            let (source_port, destination_port) = (udp.source_port(), udp.destination_port());
            Ok((Body::Udp { source_port, destination_port }, udp.payload()))
        }
        protocol::ICMP => {
            let icmp = IcmpView::new_checked(ip.payload())?;
            verify(Layer::Icmp, &|| icmp.checksum_is_valid())?;
            Ok((Body::Icmp { kind: icmp.kind(), code: icmp.code(), rest: icmp.rest() }, icmp.payload()))
        }
        other => Err(ParseError::UnsupportedProtocol(other)),
    }
}
