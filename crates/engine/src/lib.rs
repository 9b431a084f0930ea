//! Scenario to model to run to records: the only crate with policy.

mod port;

pub use port::{Mark, Meters, PacketPort, PortError, Transmitted};
