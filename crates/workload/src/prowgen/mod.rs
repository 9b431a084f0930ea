//! ProWGen: a synthetic workload by popularity, sizes, one-timers and temporal locality.
//!
//! Source: Busari and Williamson, "ProWGen: A Synthetic Workload Generation Tool for Simulation Evaluation of Web Proxy
//! Caches" (Computer Networks 38, 2002), as Simmonds et al. (2003, section 5.2.2) parametrise it for a server.

mod examination;
mod options;
mod popularity;
mod set;
mod stack;

pub use options::{Body, Correlation, PopularLimit, Prowgen, ProwgenOptions, ProwgenPreset};
pub use set::ProwgenSet;
pub use stack::Stack;
