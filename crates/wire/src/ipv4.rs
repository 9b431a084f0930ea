//! The IPv4 header (RFC 791).

use crate::{Address, Checksum, Layer, ParseError};

/// Length of an IPv4 header without options, in bytes.
pub const HEADER_LEN: usize = 20;
/// The ECN field of the traffic class, and its value "congestion experienced" (RFC 3168 section 5).
pub const ECN: u8 = 0b11;

/// Time to live with which hosts send packets (RFC 1700; Linux and BSD).
pub const TTL: u8 = 64;

/// The fields of an IP header that the model keeps: none that follow from the packet (lengths, protocol, place of a fragment, checksum), and no options.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct IpHeader {
    /// Sender.
    pub source: Address,
    /// Receiver.
    pub destination: Address,
    /// Time to live: hops left.
    pub ttl: u8,
    /// Differentiated services and ECN bits (RFC 2474, RFC 3168).
    pub traffic_class: u8,
    /// IPv4 identification (RFC 6864).
    pub identification: u16,
    /// IPv4 "do not fragment".
    pub dont_fragment: bool,
}

impl IpHeader {
    /// The header of a packet that a host or router sends of itself, of which routers may make fragments.
    #[must_use]
    pub const fn new(source: Address, destination: Address, identification: u16) -> Self {
        Self { source, destination, ttl: TTL, traffic_class: 0, identification, dont_fragment: false }
    }
}

const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const OFFSET: u16 = 0x1fff;

/// Bytes that the offset of a fragment counts in.
pub const FRAGMENT_UNIT: usize = 8;

/// Where the content of a fragment belongs in that of its packet (RFC 791 section 3.1). The default is the field of a whole packet.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct FragmentField {
    /// Where it begins, in units of [`FRAGMENT_UNIT`] bytes, 8,191 at most.
    pub offset: u16,
    /// Whether another fragment follows.
    pub more: bool,
}

/// A view of an IPv4 packet whose lengths have been checked, so that no accessor can fail.
///
/// Options are accepted and skipped. Bytes after the total length are not part of the packet.
#[derive(Clone, Copy, Debug)]
pub struct Ipv4View<'a> {
    header: &'a [u8; HEADER_LEN],
    options: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Ipv4View<'a> {
    /// Checks version and lengths; the checksum is left to [`Self::checksum_is_valid`].
    ///
    /// # Errors
    /// [`ParseError::NotIpv4`], or `Truncated`, `HeaderLength` or `Length` of IPv4.
    #[inline]
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let first = *bytes.first().ok_or(ParseError::Truncated(Layer::Ipv4))?;
        if first >> 4 != 4 {
            return Err(ParseError::NotIpv4);
        }
        let (header, _) = bytes.split_first_chunk().ok_or(ParseError::Truncated(Layer::Ipv4))?;
        let header_len = usize::from(first & 0x0f) * 4;
        if header_len < HEADER_LEN {
            return Err(ParseError::HeaderLength(Layer::Ipv4));
        }
        let total_len = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let packet = bytes.get(..total_len).ok_or(ParseError::Length(Layer::Ipv4))?;
        let options = packet.get(HEADER_LEN..header_len).ok_or(ParseError::Length(Layer::Ipv4))?;
        Ok(Self { header, options, payload: &packet[header_len..] })
    }

    /// A view of the front of a packet, as ICMP errors quote it: its total length may reach beyond `bytes`. `None` if they end within the header, or
    /// if it is none of IPv4.
    #[must_use]
    pub fn new_truncated(bytes: &'a [u8]) -> Option<Self> {
        let (header, _) = bytes.split_first_chunk()?;
        let header_len = usize::from(header[0] & 0x0f) * 4;
        let options = bytes.get(HEADER_LEN..header_len)?;
        let total_len = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let payload = bytes.get(header_len..total_len.min(bytes.len()))?;
        (header[0] >> 4 == 4).then_some(Self { header, options, payload })
    }

    /// Length of the header with its options, in bytes.
    #[must_use]
    pub fn header_len(&self) -> usize {
        HEADER_LEN + self.options.len()
    }

    /// The fields that the model keeps.
    #[inline]
    #[must_use]
    pub fn header(&self) -> IpHeader {
        IpHeader {
            source: self.source(),
            destination: self.destination(),
            ttl: self.header[8],
            traffic_class: self.header[1],
            identification: u16::from_be_bytes([self.header[4], self.header[5]]),
            dont_fragment: self.flags_and_offset() & DONT_FRAGMENT != 0,
        }
    }

    /// Which part of a packet this is.
    #[inline]
    #[must_use]
    pub fn fragment(&self) -> FragmentField {
        let field = self.flags_and_offset();
        FragmentField { offset: field & OFFSET, more: field & MORE_FRAGMENTS != 0 }
    }

    /// The number of the protocol above.
    #[must_use]
    pub fn protocol(&self) -> u8 {
        self.header[9]
    }

    /// The sender.
    #[must_use]
    pub fn source(&self) -> Address {
        address([self.header[12], self.header[13], self.header[14], self.header[15]])
    }

    /// The receiver.
    #[must_use]
    pub fn destination(&self) -> Address {
        address([self.header[16], self.header[17], self.header[18], self.header[19]])
    }

    /// What follows the header, up to the total length.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Whether the header checksum matches.
    #[inline]
    #[must_use]
    pub fn checksum_is_valid(&self) -> bool {
        let mut checksum = Checksum::new();
        checksum.add(self.header);
        checksum.add(self.options);
        checksum.finish() == 0
    }

    fn flags_and_offset(&self) -> u16 {
        u16::from_be_bytes([self.header[6], self.header[7]])
    }
}

fn address(octets: [u8; 4]) -> Address {
    Address::from(std::net::Ipv4Addr::from(octets))
}

/// Writes the header of a packet, or of a fragment, that is `total_len` bytes long and carries `protocol`.
pub fn emit(
    ip: &IpHeader,
    fragment: FragmentField,
    protocol: u8,
    total_len: u16,
    header: &mut [u8; HEADER_LEN],
) {
    *header = [0; HEADER_LEN];
    header[0] = 0x45;
    header[1] = ip.traffic_class;
    header[2..4].copy_from_slice(&total_len.to_be_bytes());
    header[4..6].copy_from_slice(&ip.identification.to_be_bytes());
    let dont_fragment = u16::from(ip.dont_fragment) * DONT_FRAGMENT;
    let more = u16::from(fragment.more) * MORE_FRAGMENTS;
    header[6..8].copy_from_slice(&(dont_fragment | more | (fragment.offset & OFFSET)).to_be_bytes());
    header[8] = ip.ttl;
    header[9] = protocol;
    header[12..16].copy_from_slice(&ip.source.v4().octets());
    header[16..20].copy_from_slice(&ip.destination.v4().octets());
    let mut checksum = Checksum::new();
    checksum.add(header);
    header[10..12].copy_from_slice(&checksum.finish().to_be_bytes());
}
