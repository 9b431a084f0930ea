//! What drives a run: virtual time, or the wall clock behind this trait.

use wasp_units::{Duration, Instant};

/// A source of time that an executor follows.
///
/// Call order: `now` at any time, never decreasing; when nothing is due before the deadline, `gather`, and if that brought nothing
/// either, `wait_until`, then `woken_late`.
pub trait Clock {
    /// The present instant, counted from the start of the run.
    fn now(&mut self) -> Instant;

    /// Lets input and events gather for a moment before they are looked at, as network cards moderate their interrupts; not when
    /// `deadline` has passed. It may end a moment after the deadline, which is lag. Without a need for it, it returns at once.
    fn gather(&mut self, _deadline: Instant) {}

    /// Returns at `deadline`, or earlier when input from outside may be waiting. Without a deadline it returns when
    /// input may be waiting. Returning too early is allowed; returning late is lag. What is waiting when it returns came
    /// within [`Self::woken_late`] before, however early the deadline was, if nothing was waiting before.
    fn wait_until(&mut self, deadline: Option<Instant>);

    /// The most that input can have waited when the last `wait_until` returned, because the thread was woken and then waited for its CPU.
    fn woken_late(&mut self) -> Duration {
        Duration::ZERO
    }
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
