//! Lazy timers: a deadline that moves costs nothing until its old event fires.

use crate::{NodeId, Scheduler};
use wasp_units::Instant;

/// The kernel's side of one deadline: which event is pending for it, if any.
///
/// The owner keeps the deadline itself. `arm` after every change; when the event fires, `fired` tells whether it was this
/// timer's (an earlier arming may have left one behind), and the owner looks at its deadline and arms again if that moved later.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timer {
    pending: Option<Instant>,
}

impl Timer {
    /// Makes sure that an event comes no later than `deadline`.
    pub fn arm<E: Copy>(
        &mut self,
        deadline: Option<Instant>,
        owner: NodeId,
        event: E,
        scheduler: &mut Scheduler<E>,
    ) {
        let Some(deadline) = deadline else { return };
        let deadline = deadline.max(scheduler.now());
        if self.pending.is_none_or(|pending| deadline < pending) {
            scheduler.schedule(owner, deadline, event);
            self.pending = Some(deadline);
        }
    }

    /// Called when the event fires; `false` for one that a later `arm` replaced by an earlier event.
    pub fn fired(&mut self, now: Instant) -> bool {
        let current = self.pending == Some(now);
        if current {
            self.pending = None;
        }
        current
    }
}
