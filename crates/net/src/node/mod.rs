//! Nodes: hosts, of which the network knows no more than where they are, and routers with their routes.

mod bucket;
mod router;
mod routes;

pub use bucket::ErrorRate;
pub(crate) use router::Router;
pub(crate) use routes::{Ranges, Route, Routes, Stop, Target};

use wasp_kernel::NodeId;

/// The place of a router among those of a network.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RouterId(pub(crate) u32);

/// What stands at the end of a link.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Node {
    /// A host or a device: packets that come to it leave the network.
    Host(NodeId),
    /// A router: packets that come to it go on.
    Router(RouterId),
}
