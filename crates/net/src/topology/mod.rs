//! Descriptions of internetworks, and where everything is in a network that was built of one.
//!
//! A [`Topology`] says which routers there are, how links join them, and which hosts stand at which of them. Star and backbone are ways to make one.

mod backbone;
mod build;
mod cycle;
mod layout;
mod routing;
mod star;
#[cfg(test)]
mod tests;

pub use backbone::{Backbone, backbone};
pub use layout::{Layout, Port};
pub use routing::{Hop, Paths};
pub use star::star;

use crate::{LinkConfig, Pair, Scope};
use std::sync::Arc;
use wasp_random::Key;
use wasp_wire::Address;

/// An internetwork: routers, links between them, a server, and hosts.
#[derive(Clone, Debug)]
pub struct Topology {
    /// The names of the routers.
    pub routers: Vec<String>,
    /// The links between them.
    pub links: Vec<RouterLink>,
    /// The server.
    pub server: ServerConfig,
    /// The hosts. Their addresses are consecutive over all blocks.
    pub blocks: Vec<Block>,
}

/// A link between two routers.
#[derive(Clone, Debug)]
pub struct RouterLink {
    /// Its name.
    pub name: String,
    /// The places of the routers at its first and its second end.
    pub ends: (usize, usize),
    /// What each direction does; forward is from the first end to the second.
    pub directions: Pair<Arc<LinkConfig>>,
    /// For what is drawn for all that crosses it.
    pub key: Key,
}

/// The server, or the device before it, and its link.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The place of its router.
    pub at: usize,
    /// Its address.
    pub address: Address,
    /// What each direction of its link does; forward is towards the server.
    pub directions: Pair<Arc<LinkConfig>>,
    /// For what is drawn for all that crosses the link.
    pub key: Key,
}

/// The link of one host to its router.
#[derive(Clone, Debug)]
pub struct AccessConfig {
    /// What each direction does; forward is from the host.
    pub directions: Pair<Arc<LinkConfig>>,
    /// What shares a loss chain.
    pub scope: Scope,
    /// The host's key for loss and what else its link does.
    pub key: Key,
}

/// Hosts with consecutive addresses at one router.
#[derive(Clone, Debug)]
pub struct Block {
    /// The place of the router.
    pub at: usize,
    /// The address of the first host.
    pub first: Address,
    /// The access link of each host.
    pub hosts: Vec<AccessConfig>,
}

/// Why an internetwork cannot be built.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TopologyError {
    /// No way leads from one router to another.
    #[error("no route from {from:?} to {to:?}")]
    NoRoute {
        /// The name of the router at which the way would begin.
        from: String,
        /// The name of the router that it does not reach.
        to: String,
    },
    /// Links that take no time join routers in a cycle.
    #[error("the links {} take no time and join the nodes {} in a cycle", links.join(", "), nodes.join(", "))]
    NoDelay {
        /// The names of the routers, in the order of the cycle.
        nodes: Vec<String>,
        /// The names of the links between them that take no time, in the order of the description.
        links: Vec<String>,
    },
}
