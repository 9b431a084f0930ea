//! Our TCP against the real kernel's, through an emulated path that loses packets, beside a TUN device in a network
//! namespace of its own.

mod connections;
mod receivers;
mod rig;
mod server;
mod transfers;
