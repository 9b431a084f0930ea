//! One host's network stack, sans-IO: it knows no network, no clock and no event.
//!
//! [`Ip`] takes in the packets of a host. It puts fragments together, answers echoes, refuses what no port is for, and hands on TCP segments. TCP stands
//! beside it still, in `wasp_host`.

mod ip;

pub use ip::{Answer, GivenUp, Ip, Received};
