//! IPv4, TCP, UDP and ICMP headers: checked views and emitters, checksums, the virtio header, segmentation.
//!
//! A packet crosses the model as a [`Packet`]: parsed headers by value, and a [`Payload`] that is either a length alone or
//! a reference into a [`PayloadPool`]. Bytes are parsed once, at the device, and emitted once, at the device.

mod address;
mod packet;
mod payload;
mod sequence;
mod tcp;

pub use address::Address;
pub use packet::{Packet, Transport};
pub use payload::{Payload, PayloadPool, View};
pub use sequence::SequenceNumber;
pub use tcp::{Flags, SackBlocks, TcpHeader, Timestamps};
