//! A packet as the model carries it, and the way from bytes and back.
//!
//! A packet crosses the model as a [`Packet`]: its headers parsed, and a [`Payload`] that is either a length alone or a
//! reference into a [`PayloadPool`]. Bytes are parsed once, at the device, and emitted once, at the device.
//! [`Packet::parse`] checks what the views of `wasp_wire` do not (checksums, fragments, protocols), and [`emit`] writes a
//! packet. [`cut`] turns a frame that was read from the device into packets, and [`frame`] turns a packet into a frame to
//! write. [`fragment`] cuts a packet for a link that does not carry it whole, and [`Reassembly`] puts the fragments together again. [`IcmpError`] makes a packet that says why another did not arrive. Whatever arrives, nothing here panics: what cannot be carried is a [`ParseError`](wasp_wire::ParseError) or a
//! [`FrameError`].

mod emit;
mod fragment;
mod frame;
mod icmp;
mod packet;
mod parse;
mod payload;
mod quoted;
mod reassembly;
mod segmentation;

pub use emit::{Checksums, emit};
pub use fragment::fragment;
pub use frame::{MAX_FRAME_LEN, complete_frame, frame};
pub use icmp::{IcmpError, echo_reply, may_be_answered};
pub use packet::{Body, Packet};
pub use parse::Parsed;
pub use payload::{Payload, PayloadPool, Stored, View};
pub use quoted::QuotedSegment;
pub use reassembly::{Dropped, Expired, REASSEMBLY_TIME, Reassembled, Reassembly, Unassembled};
pub use segmentation::{Cut, FrameError, cut};
