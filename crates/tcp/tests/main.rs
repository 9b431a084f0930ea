//! Endpoints in virtual time.

mod arbitrary;
mod close;
mod common;
mod ecn;
mod handshake;
mod kernel_times;
mod options;
mod path_mtu;
mod rack;
mod receiving;
mod send_window;
mod sending;
mod slow_start;
mod transfer;
mod vectors;
