//! The star: each host on an access link of its own to one router, and the server on one link that all hosts share.

use super::{Block, ServerConfig, Topology};

/// A star. The router has place 0.
#[must_use]
pub fn star(server: ServerConfig, hosts: Block) -> Topology {
    Topology {
        routers: vec!["router".to_owned()],
        links: Vec::new(),
        server: ServerConfig { at: 0, ..server },
        blocks: vec![Block { at: 0, ..hosts }],
    }
}
