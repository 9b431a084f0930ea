//! Discrete-event kernel: the order of events, channels between nodes, clocks.
//!
//! Nodes own their state and meet only through events. Events have a total order, [`EventKey`]: time, then the node that
//! made the event, then that node's own sequence number; it depends on nothing else, so neither the number of threads nor
//! the order of insertion changes a run. A model implements [`Process`]; [`LogicalProcess`] holds it together with its
//! pending events and handles them up to a safe time that its caller grants: the end of the run, the wall clock, or later the
//! promise of neighbouring logical processes, whose messages travel through a [`Channel`] with lookahead.

mod channel;
mod clock;
mod event;
mod heap;
mod prefetch;
mod process;
mod queue;
mod wheel;

pub use channel::Channel;
pub use clock::{Clock, VirtualClock};
pub use event::{EventKey, NodeId};
pub use prefetch::prefetch;
pub use process::{LogicalProcess, Process, Scheduler, Stage, Stalled};
pub use queue::EventQueue;
