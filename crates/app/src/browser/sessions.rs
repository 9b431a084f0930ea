//! A client's way through its sessions, whose steps are the files of a page: it takes them one by one.

use super::Place;
use super::schedule::{Ask, Progress, Schedule};
use crate::{Journal, Outcome, SessionEnd, TransactionRecord};
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
    /// When the session in progress began, or was to begin.
    start: Instant,
    /// Sum of the response times of its steps so far.
    response_time: Duration,
    /// Bytes of the bodies of its `ok` steps so far.
    bytes: u64,
}

impl Walk {
    /// The session in progress, which ends with this transaction of its last step.
    fn end(&self, record: &TransactionRecord) -> SessionEnd {
        SessionEnd {
            client: record.client,
            group: record.group,
            start: self.start,
            end: record.end,
            response_time: self.response_time,
            bytes: self.bytes,
            step: record.file,
            outcome: record.outcome,
            status: record.status,
        }
    }

    /// The session in progress, which the run cuts off at `now` in the step `file`, or in the pause after it.
    fn cut(&self, place: &Place, file: FileId, now: Instant) -> SessionEnd {
        SessionEnd {
            client: place.index,
            group: place.group,
            start: self.start,
            end: now,
            response_time: self.response_time,
            bytes: self.bytes,
            step: file,
            outcome: Outcome::Unfinished,
            status: 0,
        }
    }
}

impl Schedule {
    /// The next step of the session in progress, or the first one of the next session: when the step before has ended, and the pause after it.
    pub(super) fn take_step(&mut self, walk: Walk, now: Instant) -> Option<Ask> {
        if walk.waits || self.earliest > now {
            return None;
        }
        if let Some(page) = walk.page {
            // Only the first step was to be asked for at a certain time; the others follow from the one before.
            let intended = self.is_open().then_some(self.earliest);
            let ask = Ask { file: FileId(0), intended, arrival: false };
            return self.take(Walk { step: walk.step + 1, ..walk }, page, ask);
        }
        let (ask, page) = self.begin(now)?;
        let once = self.stream.requests().session().map_or(0, |session| session.once);
        let (step, start) = (if walk.introduced { once } else { 0 }, ask.intended.unwrap_or(now));
        let walk = Walk { step, start, response_time: Duration::ZERO, bytes: 0, ..walk };
        self.take(walk, page, ask)
    }

    /// Asks for the file of the step that `walk` has come to.
    fn take(&mut self, walk: Walk, page: PageId, ask: Ask) -> Option<Ask> {
        let file = self.file_of(page, walk.step)?;
        self.progress = Progress::Session(Walk { page: Some(page), waits: true, ..walk });
        Some(Ask { file, ..ask })
    }

    fn file_of(&self, page: PageId, step: u32) -> Option<FileId> {
        let (base, others) = self.stream.requests().files(page);
        step.checked_sub(1).map_or(Some(base), |other| others.get(other as usize).copied())
    }

    /// The step that was taken last has ended. Returns until when its connection pauses.
    pub(super) fn step_ended(
        &mut self,
        mut walk: Walk,
        record: &TransactionRecord,
        journal: &mut dyn Journal,
    ) -> Instant {
        let Some(session) = self.stream.requests().session() else { return record.end };
        let (step, number, now) = (walk.step, self.taken - 1, record.end);
        let ok = record.outcome == Outcome::Ok;
        let is_answered = matches!(record.outcome, Outcome::HttpError | Outcome::Wrong);
        walk.waits = false;
        walk.response_time += now - record.intended.unwrap_or(record.start);
        if ok {
            walk.bytes += record.bytes;
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
            journal.session_ended(&walk.end(record));
            walk.page = None;
            self.earliest = self.inactive(self.earliest, number);
        }
        self.progress = Progress::Session(walk);
        now
    }

    /// The session that the end of the run cuts off.
    pub(super) fn unfinished_session(&self, place: &Place, now: Instant) -> Option<SessionEnd> {
        let Progress::Session(walk) = self.progress else { return None };
        let file = self.file_of(walk.page?, walk.step)?;
        Some(walk.cut(place, file, now))
    }
}
