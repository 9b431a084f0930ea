//! One TCP endpoint, sans-IO: handshake to close, loss recovery, congestion control.
