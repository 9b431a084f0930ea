//! The internetwork: links, queues, loss, routers, and the star that joins clients to a server.
//!
//! A packet made by a host enters a [`Network`], crosses [`Link`]s (impairment, queue, serialisation, propagation, in this
//! order), is forwarded by routers, and ends with exactly one [`Fate`]. At any moment packets made = sum of fates + packets in flight.

mod fate;
mod flow;
mod link;
mod loss;
mod loss_events;
mod network;
mod observer;
mod star;
mod store;

pub use fate::{Fate, Fates};
pub use flow::{Flow, FlowId, Flows, Passage};
pub use link::{Link, LinkConfig, LinkCounters};
pub use loss::{Chain, Loss, LossTally, Scope, Start};
pub use loss_events::LossEvents;
pub use network::{Arrival, Crossings, Delivery, Direction, LinkId, Network};
pub use observer::{Observer, Sighting};
pub use star::{Access, AccessConfig, Star};
