//! What a link does to packets beside carrying them: loss, corruption, duplication, reordering, jitter; and recorded rates.
//!
//! Each impairment is a state machine of its own that knows neither the link nor the network. It owns its model, its state and its key, and
//! decides the n-th packet that it meets by draw n of that key, so no impairment moves the draws of another. All impairments of one direction of
//! a link may be given the same key, from which each derives its own. A rate trace draws only where it starts.

mod corrupt;
mod duplicate;
mod jitter;
mod loss;
mod rate_trace;
mod reorder;

pub use corrupt::{Corrupt, Corrupter};
pub use duplicate::{Duplicate, Duplicator};
pub use jitter::{ArrivalOrder, Jitter, JitterProcess};
pub use loss::{Chain, Loss, LossTally, Scope, Start};
pub(crate) use rate_trace::random_start;
pub use rate_trace::{RateTrace, Trace, TraceError, TraceOptions, TraceStart, TraceTransmitter};
pub use reorder::{Pass, Released, Reorder, Reorderer};

use wasp_units::Duration;

/// Longest delay that an impairment may add: two minutes, the maximum segment lifetime of TCP (RFC 9293, section 3.4.1). No packet of a
/// connection is expected to live longer.
const LONGEST: Duration = Duration::from_secs(120);
