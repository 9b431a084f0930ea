//! TUN devices, the wall clock, meters of the machine: every system call of a live run.
//!
//! [`Tun`] is the engine's `PacketPort`, [`WallClock`] the kernel's `Clock`, [`MachineMeters`] the engine's `Meters`; [`LiveRun`] has a thread for each queue of the device. What
//! is read from files is parsed by pure functions of text ([`cpu`], [`census`], [`counters`]). Needs Linux 5.11 or later.

mod affinity;
pub mod census;
mod clock;
pub mod counters;
pub mod cpu;
mod files;
mod log;
mod meters;
mod queues;
mod sampler;
mod sys;
mod tun;

pub use affinity::{AffinityError, pin_current_thread, prefer_current_thread};
pub use clock::{ClockError, Stopper, WallClock};
pub use log::open_log;
pub use meters::{MachineMeters, MeterTargets};
pub use queues::{LiveError, LiveRun};
pub use tun::{MAX_FRAME, Tun, TunError};
