//! What became of packets: fates, and the account of each flow.

mod fate;
mod flow;
mod loss_events;

pub use fate::{Fate, Fates};
pub(crate) use flow::Meter;
pub use flow::{Flow, FlowId, Flows, Passage};
pub use loss_events::LossEvents;
