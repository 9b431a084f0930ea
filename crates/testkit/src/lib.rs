//! Pair driver, packet scripts and topology builders for tests.

pub mod any_network;
mod header;
pub mod script;
mod wan;

pub use header::set_header_checksum;
pub use wan::{Opening, Wan, WanEvent, WanHost};
