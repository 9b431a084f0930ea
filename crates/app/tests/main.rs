//! Applications without a network or a kernel.

mod exchange;
mod machine;
