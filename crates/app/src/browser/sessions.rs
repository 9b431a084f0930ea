//! A client's way through its sessions, whose steps are the files of a page: it takes them one by one.

use super::schedule::{Ask, Progress, Schedule};
use crate::{Outcome, TransactionRecord};
use wasp_units::{Duration, Instant};
use wasp_workload::{FileId, PageId};

/// Where a client is in its sessions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Walk {
    /// The page of the session in progress.
    page: Option<PageId>,
    /// The step that was taken last.
    step: u32,
    /// That step has not ended.
    pub(super) waits: bool,
    /// The steps that are made once have been made.
    introduced: bool,
}

impl Schedule {
    /// The next step of the session in progress, or the first one of the next session: when the step before has ended, and the pause after it.
    pub(super) fn take_step(&mut self, walk: Walk, now: Instant) -> Option<Ask> {
        if walk.waits || self.earliest > now {
            return None;
        }
        let (ask, page, step) = match walk.page {
            Some(page) => {
                // Only the first step was to be asked for at a certain time; the others follow from the one before.
                let intended = self.is_open().then_some(self.earliest);
                (Ask { file: FileId(0), intended, arrival: false }, page, walk.step + 1)
            }
            None => {
                let (ask, page) = self.begin(now)?;
                let once = self.stream.requests().session().map_or(0, |session| session.once);
                (ask, page, if walk.introduced { once } else { 0 })
            }
        };
        let (base, others) = self.stream.requests().files(page);
        let file = step.checked_sub(1).map_or(Some(base), |other| others.get(other as usize).copied())?;
        self.progress = Progress::Session(Walk { page: Some(page), step, waits: true, ..walk });
        Some(Ask { file, ..ask })
    }

    /// The step that was taken last has ended. Returns until when its connection pauses.
    pub(super) fn step_ended(&mut self, mut walk: Walk, record: &TransactionRecord) -> Instant {
        let Some(session) = self.stream.requests().session() else { return record.end };
        let (step, number, now) = (walk.step, self.taken - 1, record.end);
        let ok = record.outcome == Outcome::Ok;
        let is_answered = matches!(record.outcome, Outcome::HttpError | Outcome::Wrong);
        walk.waits = false;
        if ok {
            walk.introduced |= step + 1 == session.once;
        } else if is_answered && (step == session.once || matches!(record.status, 401 | 403)) {
            // The server does not know the client any more, as it seems.
            walk.introduced = false;
        }
        let think = session.thinks[step as usize];
        let is_last = !ok || step as usize + 1 == session.thinks.len();
        let pause = if ok { self.pauses.after_step(think, number, u64::from(step)) } else { Duration::ZERO };
        self.earliest = now.saturating_add(pause);
        if is_last {
            walk.page = None;
            self.earliest = self.inactive(self.earliest, number);
        }
        self.progress = Progress::Session(walk);
        now
    }
}
