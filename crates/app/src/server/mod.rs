//! The modelled servers of simulated runs: our TCP, one listening port, and a CPU.
//!
//! There are two models of the CPU. [`FlatServer`] handles each packet when it arrives, and a response waits until the CPU has done the work for it.
//! [`ScheduledServer`] makes a job of everything that a machine does (packets, timers, output, the work of programs), and each waits for a core.

mod conversation;
mod cpu;
mod flat;
mod machine;
mod scheduled;
mod tcp_totals;

pub use cpu::{Costs, Cpu};
pub use flat::FlatServer;
pub use machine::{Class, Machine};
pub use scheduled::{Concurrency, JobCosts, MachineConfig, ScheduledServer, Spent, WorkDone, WorkKind};
use std::num::NonZeroU32;
use std::sync::Arc;
pub use tcp_totals::TcpTotals;
use wasp_workload::Sites;
use wasp_workload::named::Answers;

/// What a server does.
#[derive(Clone, Debug)]
pub struct Service {
    /// The files that it has.
    pub sites: Arc<Sites>,
    /// What it answers to named requests.
    pub answers: Arc<Answers>,
    /// Its TCP.
    pub tcp: Arc<wasp_tcp::Config>,
    /// Requests before it closes a connection; `None` keeps it as long as the client wants.
    pub requests_per_connection: Option<NonZeroU32>,
    /// Connections that may wait to be accepted; `None` has no limit.
    pub accept_queue: Option<NonZeroU32>,
}

/// Which deadline of a server a wake-up is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ServerTimer {
    /// TCP's of the connection in this slot.
    Connection(u32),
    /// The CPU of a flat server has finished a response.
    Work(Work),
    /// A job of a scheduled server is done, or a program is awake, or a tick is due.
    Alarm,
}

/// A connection for which a server works.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Work {
    /// The connection's slot.
    slot: u32,
    /// Which of the server's connections it is: another may use the slot when the work is done.
    ordinal: u32,
}
