//! The internetwork: nodes, ports and links.
//!
//! A packet made by a host enters a [`Network`], crosses [`Link`]s (MTU, loss, corruption, duplication, queue, serialisation, reordering,
//! propagation with jitter, in this order), is forwarded by routers, and ends with exactly one [`Fate`]. At any moment packets made = sum of
//! fates + packets in flight.

mod account;
mod direction;
mod impairment;
mod link;
mod network;
mod node;
mod observer;
mod option_error;
pub mod queue;
mod store;
pub mod topology;

pub use account::{Fate, Fates, Flow, FlowId, Flows, LossEvents, Passage};
pub use direction::{Direction, Pair};
pub use impairment::{
    ArrivalOrder, Chain, Corrupt, Corrupter, Duplicate, Duplicator, Jitter, JitterProcess, Loss, LossTally,
    Pass, RateTrace, Released, Reorder, Reorderer, Scope, Start, Trace, TraceError, TraceOptions, TraceStart,
    TraceTransmitter,
};
pub use link::{Link, LinkConfig, LinkCounters, LinkView};
pub use network::{
    CrossConfig, CrossCounters, CrossSource, Crossings, Delivery, LinkId, Network, NetworkEvent,
    is_cross_traffic,
};
pub use node::{ErrorRate, RouterId};
pub use observer::{Observer, Sighting};
pub use option_error::OptionError;
pub use store::PacketId;
