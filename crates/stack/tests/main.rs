//! One host's stack.

mod ip;
mod sockets;
