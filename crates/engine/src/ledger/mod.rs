//! The journal of a run: records as rows, and the running figures that need no second pass.

mod ages;
mod course;
mod ecn;
mod group;
mod history;
mod interval;
mod merge;
mod named;
mod rows;
mod sessions;
mod strata;
mod strays;
mod tally;
mod timed;

pub use ages::Ages;
pub(crate) use ages::{BINS_OF_AGE, edge};
pub(crate) use course::{Ends, PARTS_OF_RUN, numbers, watched_before};
pub use ecn::EcnTotals;
pub(crate) use group::{Bins, GroupKind};
pub use group::{GroupLedger, GroupTimes};
pub(crate) use history::{CLASSES, History, Timed};
#[cfg(test)]
pub(crate) use history::{OfSize, PARTS, SIZES};
pub use interval::Interval;
pub use named::NamedLedger;
pub(crate) use rows::ConnectionRecord;
pub use rows::{ConnectionRow, Rows, TransactionRow};
pub use sessions::SessionLedger;
pub use strata::Strata;
pub use tally::Tally;
pub use timed::TimedTally;

use hdrhistogram::Histogram;
use wasp_app::{Arrival, Outcome, SessionEnd, TransactionRecord};
use wasp_net::Crossings;
use wasp_random::Key;
use wasp_units::{Duration, Instant};

/// Response times in the histogram: 1 us to 1 h at four significant digits, in nanoseconds. Longer ones count with an hour.
const HISTOGRAM: (u64, u64, u8) = (1_000, 3_600_000_000_000, 4);

/// Bins of the measured interval by which its queue, and the phases of its clients, are judged.
pub(crate) const BINS: usize = 40;

/// What happened in one second of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Second {
    /// `ok` transactions that ended in it, those of background groups left out.
    pub ok: u32,
    /// Other transactions that ended in it, likewise.
    pub errors: u32,
    /// Body bytes of the `ok` ones.
    pub bytes: u64,
    /// Transactions in progress at its end.
    pub in_flight: u32,
    /// What the network and the machine did in it; absent for the second in which a run was stopped.
    pub gauges: Option<Gauges>,
}

/// What the network and the machine did in one second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gauges {
    /// Packets from the clients.
    pub up: Crossings,
    /// Packets to the clients.
    pub down: Crossings,
    /// Busy share (0 to 1) of the server's CPUs.
    pub server_busy: Option<f64>,
    /// The latest that a packet was handed to the device, in nanoseconds; in a live run.
    pub lag_max_ns: Option<u64>,
}

/// Response times of the `ok` transactions of an open loop from their actual start: what a closed loop would have measured.
#[derive(Debug)]
pub(crate) struct FromStart {
    /// In nanoseconds.
    pub(crate) times: Histogram<u64>,
    /// Their sum.
    pub(crate) sum: u128,
}

impl FromStart {
    fn of_nothing() -> Box<Self> {
        Box::new(Self { times: histogram(), sum: 0 })
    }
}

fn histogram() -> Histogram<u64> {
    let (least, most, digits) = HISTOGRAM;
    Histogram::new_with_bounds(least, most, digits).expect("constant bounds are valid")
}

/// Everything that the hosts of a run wrote down.
#[derive(Debug)]
pub struct Ledger {
    interval: Interval,
    /// Decides which transactions are kept when there are too many.
    sample: Key,
    /// Every transaction, or a sample of them, in the order of their end.
    pub transactions: Strata,
    /// Every connection, in the order of its end.
    pub connections: Rows<ConnectionRow>,
    /// One entry a second from the start of the run.
    pub seconds: Vec<Second>,
    /// Response times of the `ok` transactions of the measured interval, in nanoseconds; from their intended start, if they have one.
    pub response_times: Histogram<u64>,
    /// The same times of the other transactions that ended in the interval, until they ended otherwise.
    pub other_times: Histogram<u64>,
    /// What each group did in the interval, by its index.
    pub groups: Vec<GroupLedger>,
    /// Of the open loops, if there is one.
    from_start: Option<Box<FromStart>>,
    /// What connections did with ECN whose clients ask for it.
    ecn: EcnTotals,
    /// Transactions of all outcomes that took a second attempt.
    retried: u64,
    completed: u64,
    errors: u64,
    in_progress: u64,
    progress_integral: u128,
    last_change: Instant,
}

impl Ledger {
    /// An empty ledger for a run of these groups with this measured interval; `sample` decides which transactions are kept when there are too many.
    #[must_use]
    pub(crate) fn new(interval: Interval, groups: Vec<GroupLedger>, sample: Key) -> Self {
        Self {
            interval,
            sample,
            transactions: Strata::default(),
            connections: Rows::default(),
            seconds: Vec::with_capacity(interval.end().as_secs_f64() as usize + 2),
            response_times: histogram(),
            other_times: histogram(),
            groups,
            from_start: None,
            ecn: EcnTotals::default(),
            retried: 0,
            completed: 0,
            errors: 0,
            in_progress: 0,
            progress_integral: 0,
            last_change: Instant::ZERO,
        }
    }

    /// The measured interval.
    #[must_use]
    pub const fn interval(&self) -> &Interval {
        &self.interval
    }

    /// What all groups that are no background did together in the interval.
    #[must_use]
    pub fn whole(&self) -> GroupLedger {
        let mut whole = GroupLedger::default();
        self.groups.iter().filter(|group| !group.background).for_each(|group| whole.add_counts(group));
        whole
    }

    /// What the named requests of all groups that are no background did in the interval.
    #[must_use]
    pub fn named(&self) -> Vec<NamedLedger> {
        let groups = self.groups.iter().filter(|group| !group.background);
        NamedLedger::together(groups.map(|group| &group.named[..]))
    }

    /// What the sessions of all groups that are no background did in the interval; none if no group makes sessions.
    #[must_use]
    pub fn sessions(&self) -> Option<SessionLedger> {
        let groups = self.groups.iter().filter(|group| !group.background);
        groups.filter_map(|group| group.sessions.as_deref()).fold(None, |together, more| {
            let mut together = together.unwrap_or_default();
            SessionLedger::merge(&mut together, more);
            Some(together)
        })
    }

    /// Transactions of all outcomes that were made once more, on a new connection.
    #[must_use]
    pub const fn retried(&self) -> u64 {
        self.retried
    }

    /// What connections did with ECN whose clients ask for it.
    #[must_use]
    pub const fn ecn(&self) -> EcnTotals {
        self.ecn
    }

    /// Response times of the open loops from their actual start, if there was one that ended.
    pub(crate) fn times_from_start(&self) -> Option<&FromStart> {
        self.from_start.as_deref()
    }

    /// Transactions that ended since the start of the run, those of background groups left out.
    #[must_use]
    pub const fn completed(&self) -> u64 {
        self.completed
    }

    /// Those of them that were not `ok`.
    #[must_use]
    pub const fn errors(&self) -> u64 {
        self.errors
    }

    /// Transactions in progress.
    #[must_use]
    pub const fn in_progress(&self) -> u64 {
        self.in_progress
    }

    /// Response times of all transactions that ended in the measured interval, whatever their outcome, in nanoseconds.
    #[must_use]
    pub fn all_times(&self) -> Histogram<u64> {
        let mut all = self.response_times.clone();
        all.add(&self.other_times).expect("both have the same bounds");
        all
    }

    /// The time integral of the transactions in progress over the measured interval up to `now`, and the sum over the records of their part
    /// inside it, both in nanoseconds: Little's law demands that they are equal.
    #[must_use]
    pub fn little(&self) -> (u128, u128) {
        (self.progress_integral, self.groups.iter().map(|group| group.in_progress).sum())
    }

    /// The run was stopped before its end: what was measured so far is the interval.
    pub(crate) fn stop_at(&mut self, now: Instant) {
        self.interval = self.interval.stopped_at(now);
    }

    /// Notes what the network and the machine did in the second before `boundary`.
    pub(crate) fn note_gauges(&mut self, boundary: Instant, gauges: Gauges) {
        self.second(boundary - Duration::from_nanos(1)).gauges = Some(gauges);
    }

    /// Brings the time integral up to `now`.
    pub fn settle(&mut self, now: Instant) {
        let elapsed = self.interval.part(self.last_change, now);
        self.progress_integral += u128::from(self.in_progress) * u128::from(elapsed.as_nanos());
        self.last_change = now;
    }

    fn second(&mut self, at: Instant) -> &mut Second {
        let index = (at.as_nanos() / 1_000_000_000) as usize;
        while self.seconds.len() <= index {
            let in_flight = self.in_progress as u32;
            self.seconds.push(Second { in_flight, ..Second::default() });
        }
        &mut self.seconds[index]
    }

    fn note_in_flight(&mut self, now: Instant) {
        let in_flight = self.in_progress as u32;
        self.second(now).in_flight = in_flight;
    }

    /// Measures the response time of a transaction that ended in the interval.
    fn measure(&mut self, record: &TransactionRecord) {
        let response_time = (record.end - record.intended.unwrap_or(record.start)).as_nanos();
        let group = &mut self.groups[usize::from(record.group)];
        group.measure(&self.interval, record, response_time);
        if group.background {
            return;
        }
        if record.outcome != Outcome::Ok {
            self.other_times.saturating_record(response_time);
            return;
        }
        self.response_times.saturating_record(response_time);
        if record.intended.is_some() {
            let from_start = self.from_start.get_or_insert_with(FromStart::of_nothing);
            let response_time = (record.end - record.start).as_nanos();
            from_start.times.saturating_record(response_time);
            from_start.sum += u128::from(response_time);
        }
    }

    /// Something became of an arrival at a client of `group`.
    pub(crate) fn arrival(&mut self, group: u16, arrival: Arrival, now: Instant) {
        if self.interval.contains(now) {
            self.groups[usize::from(group)].arrival(&self.interval, arrival, now);
        }
    }

    /// A transaction began at `now`.
    pub(crate) fn transaction_began(&mut self, now: Instant) {
        self.settle(now);
        self.in_progress += 1;
        self.note_in_flight(now);
    }

    /// A transaction ended.
    pub(crate) fn transaction_ended(&mut self, record: &TransactionRecord) {
        self.settle(record.end);
        self.in_progress -= 1;
        let measured = self.interval.contains(record.end);
        let unfinished = record.outcome == Outcome::Unfinished;
        let group = &mut self.groups[usize::from(record.group)];
        group.note(&self.interval, record);
        let background = group.background;
        if (measured || unfinished) && !background {
            self.retried += u64::from(record.attempts > 1);
        }
        if !unfinished {
            if measured {
                self.measure(record);
            }
            self.note_in_flight(record.end);
            if !background {
                self.completed += 1;
                let ok = record.outcome == Outcome::Ok;
                self.errors += u64::from(!ok);
                let second = self.second(record.end);
                second.ok += u32::from(ok);
                second.errors += u32::from(!ok);
                second.bytes += if ok { record.bytes } else { 0 };
            }
        }
        let draw = self.sample.entity(u64::from(record.client)).draw(u64::from(record.request));
        self.transactions.push(record, measured, draw);
    }

    /// A session ended.
    pub(crate) fn session_ended(&mut self, end: &SessionEnd) {
        if let Some(sessions) = &mut self.groups[usize::from(end.group)].sessions {
            sessions.note(&self.interval, end);
        }
    }

    /// A connection ended.
    pub(crate) fn connection_ended(&mut self, record: &ConnectionRecord) {
        self.connections.push(ConnectionRow::new(record));
        if let Some(used) = &record.end.ecn {
            self.ecn.add(used);
        }
    }
}
