//! Internetworks that are put into an empty [`Network`](crate::Network), and where everything is in them.

mod layout;
mod star;

pub use layout::{Layout, Port};
pub use star::{AccessConfig, Block, SharedConfig, star};
