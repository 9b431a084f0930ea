//! Pair driver, packet scripts and topology builders for tests.

pub mod script;
mod wan;

pub use wan::{Opening, Wan, WanEvent, WanHost};
