//! Our TCP against the real kernel's, through an emulated path that loses packets, beside a TUN device in a network
//! namespace of its own. Needs root; says so loudly where it is not.
#![expect(clippy::disallowed_methods, reason = "tests of system calls")]

#[path = "../common/mod.rs"]
mod common;
mod connections;
mod receivers;
mod rig;
mod server;
mod transfers;
