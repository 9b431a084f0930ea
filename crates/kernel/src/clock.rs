//! What drives a run: virtual time, or the wall clock behind this trait.

use wasp_units::Instant;

/// A source of time that an executor follows.
///
/// Call order: `now` at any time, never decreasing; `wait_until` when nothing is due before its deadline.
pub trait Clock {
    /// The present instant, counted from the start of the run.
    fn now(&mut self) -> Instant;

    /// Returns at `deadline`, or earlier when input from outside may be waiting. Without a deadline it returns when
    /// input may be waiting. Returning too early is allowed; returning late is lag.
    fn wait_until(&mut self, deadline: Option<Instant>);
}

/// Virtual time: jumps to the next event.
#[derive(Debug, Default)]
pub struct VirtualClock {
    now: Instant,
}

impl Clock for VirtualClock {
    fn now(&mut self) -> Instant {
        self.now
    }

    fn wait_until(&mut self, deadline: Option<Instant>) {
        if let Some(deadline) = deadline {
            debug_assert!(deadline >= self.now, "virtual time went back");
            self.now = deadline;
        }
    }
}
