//! From a checked scenario to what a run is made of.

mod addresses;
mod named;
mod paths;
mod report;
mod topology;

pub(crate) use addresses::Addresses;
pub(crate) use paths::{GroupPaths, group_paths};
pub use report::{
    GroupReport, HopReport, LinkKind, LinkReport, NodeReport, PathReport, TopologyReport, topology_report,
};
pub(crate) use topology::{check_paths, topology};

pub(crate) use topology::place_of;
