//! One host's network stack, sans-IO: it knows no network, no clock and no event.
//!
//! [`Stack`] has the TCP sockets of a host: it finds the one that a segment is for, opens connections, and accepts them. Beneath it, [`Ip`] takes in the packets.
//! It puts fragments together, answers echoes, refuses what no port is for, and hands on TCP segments and what ICMP errors report of the host's own. It
//! knows how long the packets are that paths carry.

mod identity;
mod ip;
mod path;
mod report;
mod socket;
mod stack;

pub use identity::Identities;
pub use ip::{Answer, GivenUp, Ip, Received};
pub use path::PathMtuDiscovery;
pub use report::{Report, Reported};
pub use socket::{Pushed, Socket};
pub use stack::{Arrived, Stack, Syn};
