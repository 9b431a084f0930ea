//! What a client asks for next, and when.
//!
//! ```text
//! closed loop, files:   ask ─ response ─ think ─ ask ...              (each connection by itself)
//! closed loop, pages:   base ─ response ─ embedded files ... ─ all complete ─ think ─ next base ...
//! sessions:             step ─ response ─ its pause ─ next step ... ─ think ─ first step ...      (after a failure no other step)
//! open loop:            an arrival waits until a connection (with pages and sessions: the one before it) is free
//! ```

use super::arrivals::{Admission, ArrivalSource, Arrivals};
use super::sessions::Walk;
use crate::{Journal, Outcome, TransactionRecord};
use wasp_random::Key;
use wasp_units::{Duration, Instant};
use wasp_workload::{Equilibrium, FileId, OffTimes, PageId, RequestStream};

/// What a client is to do over the run: its requests, its pauses, and its arrivals if it has some.
#[derive(Debug)]
pub struct Plan {
    /// What it asks for.
    pub requests: RequestStream,
    /// The pauses between its pages, and between the files of a page.
    pub pauses: OffTimes,
    /// How it begins in a closed loop; without, it asks at once.
    pub start: Option<Equilibrium>,
    /// When it has come into the state of the long run.
    pub warmed_up: Instant,
    /// When it asks, and how many arrivals may wait; without, when it has what it asked for before.
    pub arrivals: Option<(ArrivalSource, u32)>,
    /// Draws for the values of placeholders in them.
    pub values: Key,
}

/// Something to ask for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask {
    pub(super) file: FileId,
    /// When it was to be asked for, in an open loop. A page is an arrival; its embedded files would have been asked for as much
    /// earlier as the page was late.
    pub(super) intended: Option<Instant>,
    /// An arrival begins with it.
    pub(super) arrival: bool,
}

/// Decides what a client asks for next.
#[derive(Debug)]
pub(super) struct Schedule {
    pub(super) stream: RequestStream,
    pub(super) pauses: OffTimes,
    start: Option<Equilibrium>,
    warmed_up: Instant,
    arrivals: Option<Box<Arrivals>>,
    pub(super) progress: Progress,
    /// Pages or files that have been taken.
    pub(super) taken: u64,
    /// No page, file or step is taken before.
    pub(super) earliest: Instant,
}

/// What is in progress.
#[derive(Clone, Copy, Debug)]
pub(super) enum Progress {
    /// Nothing: each page is one file.
    File,
    Page(Page),
    Session(Walk),
}

/// A page in progress, or none yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page {
    id: Option<PageId>,
    /// How long its arrival waited, in an open loop.
    late: Option<Duration>,
    /// The base file has not arrived yet.
    base: bool,
    /// The next embedded file.
    next: u32,
    /// Requests without a response.
    open: u32,
    /// Pauses between its files so far.
    pauses: u64,
}

impl Schedule {
    pub(super) fn new(plan: Plan) -> Self {
        let Plan { mut requests, pauses, start, warmed_up, arrivals, values: _ } = plan;
        let arrivals = arrivals.map(|(source, limit)| Box::new(Arrivals::new(source, limit, &mut requests)));
        let progress = if requests.requests().session().is_some() {
            Progress::Session(Walk::default())
        } else if requests.requests().has_embedded() {
            Progress::Page(Page { id: None, late: None, base: false, next: 0, open: 0, pauses: 0 })
        } else {
            Progress::File
        };
        let paused = start.filter(|_| arrivals.is_none() && !matches!(progress, Progress::File));
        let earliest = paused.map_or(Instant::ZERO, |start| start.first(0));
        Self { stream: requests, pauses, start, warmed_up, arrivals, progress, taken: 0, earliest }
    }

    /// Whether the client is still to come into the state of the long run.
    pub(super) fn warms_up(&self, now: Instant) -> bool {
        now < self.warmed_up
    }

    /// When connection number `lane` may begin: where a page is one file, each pauses by itself.
    pub(super) fn first(&self, lane: u8) -> Instant {
        let is_file = matches!(self.progress, Progress::File);
        let start = self.start.as_ref().filter(|_| self.arrivals.is_none() && is_file);
        start.map_or(Instant::ZERO, |start| start.first(u64::from(lane)))
    }

    /// When there may be something to ask for though nothing has happened.
    pub(super) fn wake(&self) -> Option<Instant> {
        match &self.arrivals {
            Some(arrivals) => arrivals.next(),
            None => Some(self.earliest),
        }
    }

    /// When the next step of a session may be taken, or the next session of an arrival that waits.
    pub(super) fn next_step(&self) -> Option<Instant> {
        matches!(self.progress, Progress::Session(walk) if !walk.waits).then_some(self.earliest)
    }

    /// The number of the session in progress, or of the last one, among those of the client.
    pub(super) fn session(&self) -> Option<u64> {
        matches!(self.progress, Progress::Session(_)).then(|| self.taken.saturating_sub(1))
    }

    /// Lets the next arrival come, if it is due.
    pub(super) fn arrive(&mut self, now: Instant) -> Option<Admission> {
        self.arrivals.as_mut()?.arrive(now, &mut self.stream)
    }

    /// What to ask for now.
    pub(super) fn next(&mut self, now: Instant) -> Option<Ask> {
        match self.progress {
            Progress::File => self.begin(now).map(|(ask, _)| ask),
            Progress::Page(page) => self.next_of_page(page, now),
            Progress::Session(walk) => self.take_step(walk, now),
        }
    }

    /// The next file of the page in progress, or the base of the next one.
    fn next_of_page(&mut self, page: Page, now: Instant) -> Option<Ask> {
        let Some(id) = page.id else {
            let (ask, id) = self.begin(now)?;
            let late = ask.intended.map(|intended| now - intended);
            self.progress =
                Progress::Page(Page { id: Some(id), late, base: true, next: 0, open: 1, pauses: 0 });
            return Some(ask);
        };
        if page.base {
            return None;
        }
        let file = *self.stream.requests().files(id).1.get(page.next as usize)?;
        self.progress = Progress::Page(Page { next: page.next + 1, open: page.open + 1, ..page });
        Some(Ask { file, intended: page.late.map(|late| now - late), arrival: false })
    }

    /// The next page or file of the stream, or the arrival that has waited longest.
    pub(super) fn begin(&mut self, now: Instant) -> Option<(Ask, PageId)> {
        if self.earliest > now {
            return None;
        }
        let (page, intended) = match &mut self.arrivals {
            Some(arrivals) => arrivals.take().map(|waiting| (waiting.page, Some(waiting.intended)))?,
            None => (self.stream.next_step()?.page, None),
        };
        self.taken += 1;
        let file = self.stream.requests().files(page).0;
        Some((Ask { file, intended, arrival: intended.is_some() }, page))
    }

    /// Whether requests come by themselves, and not when the client has what it asked for before.
    pub(super) fn is_open(&self) -> bool {
        self.arrivals.is_some()
    }

    /// A transaction has ended now. Returns until when its connection pauses, and whether the other connections are to pause, too, since a
    /// page's embedded files begin.
    pub(super) fn ended(&mut self, record: &TransactionRecord, journal: &mut dyn Journal) -> (Instant, bool) {
        let now = record.end;
        let page = match &mut self.progress {
            Progress::File => return (self.inactive(now, u64::from(record.request)), false),
            Progress::Page(page) => page,
            Progress::Session(walk) => {
                let walk = *walk;
                return (self.step_ended(walk, record, journal), false);
            }
        };
        page.open -= 1;
        let base = std::mem::take(&mut page.base);
        if base && record.outcome != Outcome::Ok {
            page.next = u32::MAX;
        }
        let embedded = page.id.map_or(0, |id| self.stream.requests().files(id).1.len());
        if page.open > 0 || (page.next as usize) < embedded {
            return (self.pause(now), base);
        }
        page.id = None;
        self.earliest = self.inactive(now, self.taken - 1);
        (now, false)
    }

    /// Until when the pause after page or request number `index` lasts that begins now; in an open loop there is none.
    pub(super) fn inactive(&self, now: Instant, index: u64) -> Instant {
        if self.arrivals.is_some() {
            return now;
        }
        let beginning = self.start.as_ref().and_then(|start| start.pause(now, index));
        beginning.unwrap_or_else(|| now.saturating_add(self.pauses.inactive(index)))
    }

    /// Until when a connection pauses before the next file of the page.
    pub(super) fn pause(&mut self, now: Instant) -> Instant {
        let Progress::Page(page) = &mut self.progress else { return now };
        page.pauses += 1;
        now + self.pauses.active(self.taken - 1, page.pauses - 1)
    }
}
