//! One host's stack.

mod ip;
