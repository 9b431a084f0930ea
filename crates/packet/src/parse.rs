//! From bytes to a packet.

use crate::{Body, Checksums, Packet, Payload, PayloadPool};
use wasp_wire::ipv4::{self, FRAGMENT_UNIT};
use wasp_wire::{
    FragmentField, IcmpView, IpHeader, Ipv4View, Layer, ParseError, TcpHeader, TcpView, UdpView, protocol,
};

/// The most bytes above IP of a packet without IP options.
pub(crate) const MOST_CONTENT: usize = u16::MAX as usize - ipv4::HEADER_LEN;

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
    /// Parses one IPv4 packet, or a fragment. The IPv4 checksum is always verified, that of the protocol above only if `checksums` are
    /// complete, and never in a fragment.
    ///
    /// # Errors
    /// Why these bytes are no packet that the model can carry; no bytes make it panic.
    #[inline]
    pub fn parse(bytes: &[u8], checksums: Checksums) -> Result<Parsed<'_>, ParseError> {
        let ip = Ipv4View::new_checked(bytes)?;
        if !ip.checksum_is_valid() {
            return Err(ParseError::Checksum(Layer::Ipv4));
        }
        let (header, field) = (ip.header(), ip.fragment());
        let (body, payload) = if field == FragmentField::default() {
            parse_body(&header, ip.protocol(), ip.payload(), checksums)?
        } else {
            (parse_fragment(&ip, field)?, ip.payload())
        };
        let packet = Self { ip: header, body, payload: Payload::Empty, flipped: None };
        Ok(Parsed { packet, payload, ipv4_header_len: ip.header_len() })
    }
}

#[cold]
fn parse_fragment(ip: &Ipv4View<'_>, field: FragmentField) -> Result<Body, ParseError> {
    if usize::from(field.offset) * FRAGMENT_UNIT + ip.payload().len() > MOST_CONTENT {
        return Err(ParseError::Length(Layer::Ipv4));
    }
    match ip.protocol() {
        protocol @ (protocol::TCP | protocol::UDP | protocol::ICMP) => Ok(Body::Fragment { protocol, field }),
        other => Err(ParseError::UnsupportedProtocol(other)),
    }
}

/// The header that begins the content of a whole packet, and what follows it. Together they are no longer than an IPv4 packet can carry.
#[inline]
pub(crate) fn parse_body<'a>(
    ip: &IpHeader,
    protocol: u8,
    content: &'a [u8],
    checksums: Checksums,
) -> Result<(Body, &'a [u8]), ParseError> {
    let parsed = parse_content(ip, protocol, content, checksums)?;
    // Options are emitted each with its padding, which may take more room than they had.
    let is_long = content.len() > MOST_CONTENT - TcpHeader::MAX_OPTIONS_LEN;
    if is_long && parsed.0.header_len() + parsed.1.len() > MOST_CONTENT {
        return Err(ParseError::Length(Layer::Ipv4));
    }
    Ok(parsed)
}

#[inline]
fn parse_content<'a>(
    ip: &IpHeader,
    protocol: u8,
    content: &'a [u8],
    checksums: Checksums,
) -> Result<(Body, &'a [u8]), ParseError> {
    let verify = |layer, is_valid: &dyn Fn() -> bool| match checksums {
        Checksums::Complete if !is_valid() => Err(ParseError::Checksum(layer)),
        Checksums::Complete | Checksums::Partial => Ok(()),
    };
    match protocol {
        protocol::TCP => {
            let tcp = TcpView::new_checked(content)?;
            verify(Layer::Tcp, &|| tcp.checksum_is_valid(ip.source, ip.destination))?;
            Ok((Body::Tcp(tcp.header()), tcp.payload()))
        }
        protocol::UDP => {
            let udp = UdpView::new_checked(content)?;
            verify(Layer::Udp, &|| udp.checksum_is_valid(ip.source, ip.destination))?;
            let (source_port, destination_port) = (udp.source_port(), udp.destination_port());
            Ok((Body::Udp { source_port, destination_port }, udp.payload()))
        }
        protocol::ICMP => {
            let icmp = IcmpView::new_checked(content)?;
            verify(Layer::Icmp, &|| icmp.checksum_is_valid())?;
            Ok((Body::Icmp { kind: icmp.kind(), code: icmp.code(), rest: icmp.rest() }, icmp.payload()))
        }
        other => Err(ParseError::UnsupportedProtocol(other)),
    }
}
