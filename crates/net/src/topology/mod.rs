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

use crate::{ErrorRate, LinkConfig, Pair, Scope};
use std::sync::Arc;
use wasp_random::Key;
use wasp_wire::Address;

/// An internetwork: routers, links between them, a server, and hosts. Where several of them have one address, packets for it reach the server; else
/// the first host; else the first router or port.
#[derive(Clone, Debug)]
pub struct Topology {
    /// The routers.
    pub routers: Vec<RouterConfig>,
    /// How often each of them may send ICMP errors.
    pub errors: ErrorRate,
    /// The links between them.
    pub links: Vec<RouterLink>,
    /// The server.
    pub server: ServerConfig,
    /// The hosts.
    pub blocks: Vec<Block>,
}

/// A router.
#[derive(Clone, Debug, Default)]
pub struct RouterConfig {
    /// Its name.
    pub name: String,
    /// The address of those of its ports that have none of their own. A router without any sends no packets itself.
    pub address: Option<Address>,
    /// The networks of the router. Their first and their last address are nobody's (network and broadcast address). For another one that nobody
    /// has the router answers "host unreachable".
    pub subnets: Vec<Subnet>,
    /// Routes in place of the shortest paths: where packets are to arrive, and the place of the link over which they go, one end of which is here.
    /// One to what is at this router itself has no effect.
    pub routes: Vec<(RouteTo, usize)>,
}

/// Where packets are to arrive.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum RouteTo {
    /// At the server.
    Server,
    /// At the hosts of the block with this place.
    Block(usize),
}

/// Addresses from one to another.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Subnet {
    /// The first address.
    pub first: Address,
    /// The last address.
    pub last: Address,
}

impl Subnet {
    /// One address.
    #[must_use]
    pub const fn of(address: Address) -> Self {
        Self { first: address, last: address }
    }

    /// Whether the address is among them.
    #[must_use]
    pub fn contains(&self, address: Address) -> bool {
        (self.first..=self.last).contains(&address)
    }
}

impl Topology {
    /// The place of the router at which packets arrive.
    fn place_of(&self, to: RouteTo) -> usize {
        match to {
            RouteTo::Server => self.server.at,
            RouteTo::Block(block) => self.blocks[block].at,
        }
    }
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
    /// The addresses of the ports at its first and its second end; a port without one has that of its router.
    pub addresses: (Option<Address>, Option<Address>),
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
    /// Routes in place of the shortest paths lead packets round in a loop.
    #[error("packets go round the nodes {}", nodes.join(", "))]
    RoutingLoop {
        /// Where they do not arrive.
        to: RouteTo,
        /// The names of the routers, in the order of the loop; the first has such a route.
        nodes: Vec<String>,
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
