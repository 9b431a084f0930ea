//! The star: each host on an access link of its own to one router, and the server on one link that all hosts share.

use super::{Block, RouterConfig, ServerConfig, Topology};
use crate::ErrorRate;

/// A star. The router has place 0.
#[must_use]
pub fn star(server: ServerConfig, hosts: Block) -> Topology {
    Topology {
        routers: vec![RouterConfig { name: "router".to_owned(), ..RouterConfig::default() }],
        errors: ErrorRate::default(),
        links: Vec::new(),
        server: ServerConfig { at: 0, ..server },
        blocks: vec![Block { at: 0, ..hosts }],
    }
}
