//! The virtio network header that precedes each packet of a TUN device opened with `IFF_VNET_HDR`.
//!
//! Source: VIRTIO 1.2 section 5.1.6, and Linux `include/uapi/linux/virtio_net.h`. TUN uses the legacy form of ten bytes,
//! its fields in the machine's byte order.

/// The legacy virtio network header (`struct virtio_net_hdr`).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct VirtioNetHeader {
    /// [`Self::NEEDS_CSUM`] and [`Self::DATA_VALID`].
    pub flags: u8,
    /// [`Self::GSO_NONE`], or the kind of super-segment, perhaps with [`Self::GSO_ECN`].
    pub gso_type: u8,
    /// Length of all headers of the packet in bytes: a hint, never to be relied on.
    pub hdr_len: u16,
    /// Payload bytes in each segment to be cut from a super-segment.
    pub gso_size: u16,
    /// Where in the packet the text begins that the checksum covers.
    pub csum_start: u16,
    /// Where after `csum_start` the checksum is placed.
    pub csum_offset: u16,
}

impl VirtioNetHeader {
    /// Length in bytes.
    pub const LEN: usize = 10;

    /// Flag: the checksum field holds the sum of the pseudo header, the rest is to be added.
    pub const NEEDS_CSUM: u8 = 1;
    /// Flag: the checksum was found valid or need not be verified.
    pub const DATA_VALID: u8 = 2;

    /// GSO type: an ordinary packet.
    pub const GSO_NONE: u8 = 0;
    /// GSO type: a TCP super-segment over IPv4.
    pub const GSO_TCPV4: u8 = 1;
    /// GSO type bit: the super-segment has ECN's CWR set.
    pub const GSO_ECN: u8 = 0x80;

    /// Reads a header.
    #[inline]
    #[must_use]
    pub fn parse(bytes: &[u8; Self::LEN]) -> Self {
        let field = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Self {
            flags: bytes[0],
            gso_type: bytes[1],
            hdr_len: field(2),
            gso_size: field(4),
            csum_start: field(6),
            csum_offset: field(8),
        }
    }

    /// Writes the header.
    #[inline]
    #[must_use]
    pub fn emit(&self) -> [u8; Self::LEN] {
        let Self { flags, gso_type, hdr_len, gso_size, csum_start, csum_offset } = *self;
        let mut bytes = [0; Self::LEN];
        bytes[0] = flags;
        bytes[1] = gso_type;
        for (field, value) in bytes[2..].chunks_exact_mut(2).zip([hdr_len, gso_size, csum_start, csum_offset])
        {
            field.copy_from_slice(&value.to_ne_bytes());
        }
        bytes
    }
}
