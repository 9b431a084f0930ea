//! Lazy wake-ups: a deadline that moves later costs nothing until the old wake-up comes.

use crate::Instant;

/// Which wake-up has been asked for, if any. The owner keeps the deadline itself.
///
/// Ask after every change of the deadline. When a wake-up comes, [`Self::fired`] tells whether it is the one that counts, for asking for an earlier one
/// leaves the later behind. The owner then looks at its deadline, and asks again if that moved later.
#[derive(Clone, Copy, Debug)]
pub struct Wakeup {
    /// [`Instant::MAX`] is none.
    pending: Instant,
}

impl Default for Wakeup {
    fn default() -> Self {
        Self { pending: Instant::MAX }
    }
}

impl Wakeup {
    /// The time of the wake-up that must now be asked for so that one comes no later than `deadline`; `None` if one does,
    /// or if the deadline is [`Instant::MAX`], which never comes.
    #[inline]
    pub fn ask(&mut self, deadline: Option<Instant>, now: Instant) -> Option<Instant> {
        let deadline = deadline?.max(now);
        if self.pending <= deadline {
            return None;
        }
        self.pending = deadline;
        Some(deadline)
    }

    /// A wake-up has come at `now`; `false` if an earlier one took its place.
    #[inline]
    pub fn fired(&mut self, now: Instant) -> bool {
        let current = self.pending == now;
        if current {
            self.pending = Instant::MAX;
        }
        current
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn only_an_earlier_deadline_asks_again() {
        let mut wakeup = Wakeup::default();
        assert_eq!((wakeup.ask(None, at(0)), wakeup.ask(Some(Instant::MAX), at(0))), (None, None));
        assert_eq!(wakeup.ask(Some(at(10)), at(0)), Some(at(10)));
        assert_eq!(wakeup.ask(Some(at(10)), at(0)), None);
        assert_eq!(wakeup.ask(Some(at(12)), at(0)), None);
        assert_eq!(wakeup.ask(Some(at(4)), at(0)), Some(at(4)));
        assert!(wakeup.fired(at(4)));
        assert!(!wakeup.fired(at(10)), "the one that was asked for first was left behind");
    }

    #[test]
    fn a_deadline_that_has_passed_is_due_now() {
        assert_eq!(Wakeup::default().ask(Some(at(3)), at(5)), Some(at(5)));
    }
}
