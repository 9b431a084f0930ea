//! One TCP endpoint, sans-IO: handshake to close, loss recovery, congestion control.
//!
//! [`Endpoint`] serves as client and server. It reads no clock, draws nothing and touches no network: time, identity and
//! segments are handed in, segments and deadlines are polled out. Read RFC 9293 (the protocol), 5681, 6582, 6675, 8985
//! and 9937 (loss), 9438 and 9406 (the window), 1191 (the path's MTU), 6298 (timeouts), 7323 and 2018 (options), 5961 and 5927 (blind attacks)
//! before a change.

mod acknowledgment;
mod close;
mod complete;
mod config;
mod congestion;
mod endpoint;
mod fifo;
mod handshake;
mod options;
mod path;
mod ranges;
mod reassembly;
mod receiver;
mod recovery;
mod rto;
mod scoreboard;
mod segment;
mod send_buffer;
mod sender;
mod timers;
mod transmit;
mod tuning;
mod types;

pub use config::{
    AckCounting, Config, CongestionKind, CubicKind, EcnMode, IdleRestart, Nagle, ReceiveBuffer, RecoveryKind,
    RttEstimator, SendBufferSize, TimerSlack, WindowUpdate,
};
pub use endpoint::Endpoint;
pub use options::{ConfigError, Counting, Options, Preset};
pub use types::{Chunk, Event, Identity, ReceivePolicy, State, Statistics, Transmit, reset_for};
