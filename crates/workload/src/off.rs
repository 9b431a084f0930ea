//! OFF times of a user: SURGE's model of a person who reads a page before asking for the next.

use crate::Delay;
use wasp_random::{Key, Purpose};
use wasp_units::Duration;

/// The OFF times of one user (a "user equivalent"). Each is a function of its number, whatever was drawn before.
///
/// ```text
/// page 0: base, active OFF, embedded, active OFF, embedded ── inactive OFF ── page 1: base ...
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OffTimes {
    inactive: Delay,
    active: Delay,
    inactive_key: Key,
    active_key: Key,
    step_key: Key,
}

impl OffTimes {
    /// The OFF times of user number `user` of the group with this name, in the run with this root key.
    #[must_use]
    pub fn new(inactive: Delay, active: Delay, run: Key, group: &str, user: u32) -> Self {
        let key = run.purpose(Purpose::Think).name(group).entity(u64::from(user));
        Self {
            inactive,
            active,
            inactive_key: key.name("inactive"),
            active_key: key.name("active"),
            step_key: key.name("step"),
        }
    }

    /// The time between page number `page` and the next.
    #[must_use]
    pub fn inactive(&self, page: u64) -> Duration {
        self.inactive.draw(self.inactive_key, page)
    }

    /// The time before embedded file number `file`, counted from 0, of page number `page`.
    #[must_use]
    pub fn active(&self, page: u64, file: u64) -> Duration {
        self.active.draw(self.active_key.entity(page), file)
    }

    /// The pause after step number `step` of session number `session`, which has this law.
    #[must_use]
    pub fn after_step(&self, law: Delay, session: u64, step: u64) -> Duration {
        law.draw(self.step_key.entity(session), step)
    }
}
