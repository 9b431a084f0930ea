//! Codecs: IPv4, TCP, UDP, ICMP and virtio headers as checked views and emitters, and checksums.
//!
//! A view ([`Ipv4View`], [`TcpView`], [`UdpView`], [`IcmpView`]) borrows bytes whose lengths its `new_checked` has verified, so
//! that its accessors cannot fail. What a view does not check (checksums, fragments, protocols) is for `wasp_packet`, which puts
//! the headers of a packet together. No bytes that are read make anything here panic.

mod address;
mod checksum;
mod ecn;
mod error;
pub mod icmp;
pub mod ipv4;
pub mod protocol;
mod sequence;
pub mod tcp;
mod tcp_header;
pub mod udp;
mod virtio;

pub use address::Address;
pub use checksum::Checksum;
pub use ecn::Ecn;
pub use error::{Layer, ParseError};
pub use icmp::IcmpView;
pub use ipv4::{FragmentField, IpHeader, Ipv4View};
pub use sequence::SequenceNumber;
pub use tcp::TcpView;
pub use tcp_header::{Flags, SackBlocks, TcpHeader, Timestamps};
pub use udp::UdpView;
pub use virtio::VirtioNetHeader;
