//! Scenarios through the whole engine: simulated, and live with a clock and devices that a test holds in its hands.

mod addresses;
mod behaviour;
mod common;
mod cross_traffic;
mod ecn;
mod errors;
mod groups;
mod link_tables;
mod live_loop;
mod live_overload;
mod named;
mod narrow_paths;
mod networks;
mod open_loop;
mod queues;
mod scenario;
mod scheduled_server;
mod simmonds2003;
mod simulation;
mod sites;
mod start;
mod together;
mod two_devices;
mod windows;
