//! IPv4, TCP, UDP and ICMP headers: checked views and emitters, checksums, the virtio header, segmentation.
//!
//! A packet crosses the model as a [`Packet`]: parsed headers by value, and a [`Payload`] that is either a length alone or
//! a reference into a [`PayloadPool`]. Bytes are parsed once, at the device, and emitted once, at the device.
//!
//! There are two levels. A view ([`Ipv4View`], [`TcpView`], [`UdpView`], [`IcmpView`]) borrows bytes whose lengths its
//! `new_checked` has verified, so that its accessors cannot fail. A [`Packet`] is the meaning of those bytes:
//! [`Packet::parse`] checks what a view does not (checksums, fragments, protocols) and [`emit`] writes them.
//! Between the two lies the device: [`cut`] turns a frame read into packets, [`frame`] a packet into a frame to write.
//! Whatever arrives, nothing here panics; what cannot be carried is a [`ParseError`] or a [`FrameError`].

mod address;
mod checksum;
mod emit;
mod error;
mod icmp;
mod ipv4;
mod packet;
mod parse;
mod payload;
mod protocol;
mod segmentation;
mod sequence;
mod tcp;
mod tcp_view;
mod udp;
mod virtio;

pub use address::Address;
pub use checksum::Checksum;
pub use emit::{Checksums, emit};
pub use error::{Layer, ParseError};
pub use icmp::IcmpView;
pub use ipv4::Ipv4View;
pub use packet::{Packet, Transport};
pub use parse::Parsed;
pub use payload::{Payload, PayloadPool, Stored, View};
pub use segmentation::{Cut, FrameError, cut};
pub use sequence::SequenceNumber;
pub use tcp::{Flags, SackBlocks, TcpHeader, Timestamps};
pub use tcp_view::TcpView;
pub use udp::UdpView;
pub use virtio::{MAX_FRAME_LEN, VirtioNetHeader, complete_frame, frame};
