//! Frames and packets.

mod common;
mod payload_pool;
mod round_trip;
mod segmentation;
mod tshark;
mod vectors;
