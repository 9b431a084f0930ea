//! Packets over the links of a star.

mod common;
mod link;
mod loss;
