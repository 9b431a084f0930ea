//! What a host is given with each call.

use crate::{Event, Journal};
use wasp_http::LastHead;
use wasp_kernel::Scheduler;
use wasp_net::Network;
use wasp_units::Instant;

/// The rest of the model, as a host sees it while it handles something.
pub struct World<'a, O> {
    /// Where packets go.
    pub network: &'a mut Network<O>,
    /// Where events go.
    pub scheduler: &'a mut Scheduler<Event>,
    /// Where records go.
    pub journal: &'a mut dyn Journal,
    /// The response head read last, by any client.
    pub last_head: &'a mut LastHead,
}

impl<O> World<'_, O> {
    /// The time of what is being handled.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.scheduler.now()
    }
}

impl<O> std::fmt::Debug for World<'_, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("now", &self.now()).finish_non_exhaustive()
    }
}
