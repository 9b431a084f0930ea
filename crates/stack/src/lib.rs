//! One host's network stack, sans-IO: it knows no network, no clock and no event.
//!
//! [`Ip`] takes in the packets of a host. It puts fragments together, answers echoes, refuses what no port is for, and hands on TCP segments and what ICMP
//! errors report of the host's own. It knows how long the packets are that paths carry. TCP stands beside it still, in `wasp_host`.

mod ip;
mod path;
mod report;

pub use ip::{Answer, GivenUp, Ip, Received};
pub use path::PathMtuDiscovery;
pub use report::{Report, Reported};
