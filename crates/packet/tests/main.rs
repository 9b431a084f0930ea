//! Frames and packets.

mod common;
mod fragments;
mod payload_pool;
mod round_trip;
mod segmentation;
mod tshark;
mod vectors;
