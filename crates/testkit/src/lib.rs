//! Pair driver, packet scripts and topology builders for tests.

mod wan;

pub use wan::{Opening, Wan, WanEvent, WanHost};
