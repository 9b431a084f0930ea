//! What the transactions of one group of clients did in the measured interval. Sums over the groups are those of the run.

use super::{Ages, BINS, Ends, History, Interval, NamedLedger, SessionLedger, Tally, merge};
use hdrhistogram::Histogram;
use wasp_app::{Arrival, Outcome, TransactionRecord};
use wasp_units::Instant;

/// Significant digits of a group's histograms: a value is off by 0.1 % at most, and a histogram takes 0.1 MB where one of the whole run's four
/// digits takes 3 MB.
const DIGITS: u8 = 3;

/// The transactions of one group that ended in the measured interval, or were in progress at some time of it.
#[derive(Debug, Default)]
pub struct GroupLedger {
    /// Response times; none for the only group, whose times are those of the run.
    pub times: Option<GroupTimes>,
    /// By the place of their file, if they are of named requests.
    pub named: Vec<NamedLedger>,
    /// What became of its sessions, if its clients make some.
    pub sessions: Option<Box<SessionLedger>>,
    /// Whether no sum over the groups has them.
    pub(crate) background: bool,
    /// How they ended.
    pub(crate) tally: Tally,
    /// Ages at the boundaries of the interval and at the end.
    pub(crate) ages: Ages,
    /// When `ok` transactions ended, in the interval and before.
    pub(crate) ends: Ends,
    /// `ok` transactions in each fortieth of the interval.
    pub(crate) bins: Bins,
    /// Sum of their response times, in nanoseconds, without the time that it took to open a connection for them.
    pub(crate) times_by_bin: Bins,
    /// By how many more were in progress, or waited as arrivals, at the end of each fortieth than at its beginning.
    pub(crate) backlog: Changes,
    /// Those of the `ok` transactions for which a connection was opened.
    pub(crate) opened: Opened,
    /// What the connections of the `ok` transactions had been through.
    pub(crate) history: History,
    /// Bytes of a request's content.
    content: u64,
    /// Body bytes of the `ok` transactions.
    pub(crate) body_bytes: u64,
    /// Sum of the response times of the `ok` transactions, in nanoseconds; from their intended start, if they have one.
    pub(crate) ok_sum: u128,
    /// The same sum of the other transactions that ended, until they ended otherwise.
    pub(crate) other_sum: u128,
    /// Sum over the transactions of their part inside the interval, in nanoseconds: the time integral of those in progress.
    pub(crate) in_progress: u128,
    /// How many arrivals came, were dropped, and began, by [`Arrival`]; in an open loop.
    arrivals: Option<[u64; 3]>,
}

/// What kind of group a ledger is of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupKind {
    /// It is one of several.
    pub(crate) several: bool,
    /// No sum over the groups has it.
    pub(crate) background: bool,
    /// Its requests come by themselves.
    pub(crate) open: bool,
    /// Its named requests are the steps of sessions.
    pub(crate) sessions: bool,
}

/// Counts by fortieths of the interval.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Bins(pub(crate) [u64; BINS]);

/// Changes of a number in the fortieths of the interval.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Changes(pub(crate) [i64; BINS]);

/// Transactions of the interval for which a connection was opened.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Opened {
    /// How many.
    pub(crate) count: u64,
    /// For how many of them it was the first connection of its place among its client's parallel ones: no other had been closed before.
    pub(crate) first: u64,
    /// Time that it took to open the connections, in nanoseconds.
    pub(crate) sum: u128,
}

impl Default for Changes {
    fn default() -> Self {
        Self([0; BINS])
    }
}

impl Changes {
    fn add(&mut self, interval: &Interval, at: Instant, change: i64) {
        if let Some(bin) = interval.bin(at, BINS) {
            self.0[bin] += change;
        }
    }
}

impl Default for Bins {
    fn default() -> Self {
        Self([0; BINS])
    }
}

impl GroupLedger {
    /// An empty ledger of a group, which sends requests of so many bytes of `content`, or these `named` ones.
    pub(crate) fn new(kind: GroupKind, content: u64, named: Vec<NamedLedger>) -> Self {
        let GroupKind { several, background, open, sessions } = kind;
        Self {
            content,
            sessions: sessions.then(|| Box::new(SessionLedger::new(&named))),
            named,
            times: several.then(GroupTimes::new),
            background,
            arrivals: open.then_some([0; 3]),
            ..Self::default()
        }
    }

    /// How many arrivals this became of, if the group has an open loop.
    pub(crate) fn arrivals(&self, arrival: Arrival) -> Option<u64> {
        Some(self.arrivals?[arrival as usize])
    }

    /// Whether requests came by themselves.
    pub(crate) const fn is_open(&self) -> bool {
        self.arrivals.is_some()
    }

    /// Something became of an arrival in the interval.
    pub(super) fn arrival(&mut self, interval: &Interval, arrival: Arrival, now: Instant) {
        self.arrivals.get_or_insert_default()[arrival as usize] += 1;
        // It waits, does not wait any more, or is a transaction from now on.
        self.backlog.add(interval, now, if arrival == Arrival::Generated { 1 } else { -1 });
    }

    /// Response times of all that ended, in nanoseconds.
    pub(crate) const fn all_sum(&self) -> u128 {
        self.ok_sum + self.other_sum
    }

    /// Notes a transaction of the run, whenever it ended.
    pub(super) fn note(&mut self, interval: &Interval, record: &TransactionRecord) {
        let unfinished = record.outcome == Outcome::Unfinished;
        self.in_progress += u128::from(interval.part(record.start, record.end).as_nanos());
        self.ages.note(interval, record.start, record.end, unfinished);
        if self.is_open() {
            self.backlog.add(interval, record.start, 1);
            self.backlog.add(interval, record.end, if unfinished { 0 } else { -1 });
        }
        if record.outcome == Outcome::Ok {
            self.ends.note(interval, record.end);
        }
        let counts = interval.contains(record.end) || unfinished;
        if counts {
            self.tally.count(record.outcome, record.status);
        }
        if let Some(named) = self.named.get_mut(record.file.0 as usize) {
            named.timed.prepare();
            if counts {
                named.timed.tally.count(record.outcome, record.status);
            }
        }
    }

    /// Notes the response time (nanoseconds) of a transaction that ended in the interval.
    pub(super) fn measure(&mut self, interval: &Interval, record: &TransactionRecord, response_time: u64) {
        let ok = record.outcome == Outcome::Ok;
        let mut content = self.content;
        if let Some(named) = self.named.get_mut(record.file.0 as usize) {
            named.timed.measure(record.outcome, record.bytes, response_time);
            content = named.content;
        }
        if let Some(times) = &mut self.times {
            let histogram = if ok { &mut times.ok } else { &mut times.other };
            histogram.saturating_record(response_time);
        }
        if !ok {
            self.other_sum += u128::from(response_time);
            return;
        }
        self.ok_sum += u128::from(response_time);
        self.body_bytes += record.bytes;
        self.history.note(record, content);
        if let Some(bin) = interval.bin(record.end, BINS) {
            self.bins.0[bin] += 1;
            self.times_by_bin.0[bin] += response_time.saturating_sub(self.note_opening(record));
        }
    }

    /// Notes that a connection was opened for a transaction, if one was; returns how long it took, in nanoseconds.
    fn note_opening(&mut self, record: &TransactionRecord) -> u64 {
        let Some(connected) = record.connected else { return 0 };
        let opening = (connected - record.start).as_nanos();
        self.opened.count += 1;
        self.opened.first += u64::from(record.first_of_place);
        self.opened.sum += u128::from(opening);
        opening
    }

    /// Adds everything about other transactions but their response times, of which there is no histogram of several groups, and what is known of
    /// named requests and of sessions.
    pub(crate) fn add_counts(&mut self, other: &Self) {
        let Self {
            times: _,
            named: _,
            sessions: _,
            background: _,
            tally,
            ages,
            ends,
            bins,
            times_by_bin,
            backlog,
            opened,
            history,
            content: _,
            body_bytes,
            ok_sum,
            other_sum,
            in_progress,
            arrivals,
        } = other;
        self.tally.merge(tally);
        self.ages.merge(ages);
        self.ends.merge(ends);
        merge::add(&mut self.bins.0, &bins.0);
        merge::add(&mut self.times_by_bin.0, &times_by_bin.0);
        self.backlog.0.iter_mut().zip(&backlog.0).for_each(|(change, more)| *change += more);
        self.opened.count += opened.count;
        self.opened.first += opened.first;
        self.opened.sum += opened.sum;
        self.history.merge(history);
        self.body_bytes += body_bytes;
        self.ok_sum += ok_sum;
        self.other_sum += other_sum;
        self.in_progress += in_progress;
        if let Some(arrivals) = arrivals {
            merge::add(self.arrivals.get_or_insert_default(), arrivals);
        }
    }

    /// Adds the transactions of other clients of the same group.
    pub(super) fn merge(&mut self, other: &Self) {
        self.add_counts(other);
        if let (Some(times), Some(more)) = (&mut self.times, &other.times) {
            times.merge(more);
        }
        for (mine, theirs) in self.named.iter_mut().zip(&other.named) {
            mine.timed.merge(&theirs.timed);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.sessions, &other.sessions) {
            mine.merge(theirs);
        }
    }
}

/// Response times of the transactions of one group that ended in the measured interval, in nanoseconds.
#[derive(Debug)]
pub struct GroupTimes {
    /// Those of the `ok` ones.
    pub ok: Histogram<u32>,
    /// Those of the others, until they ended otherwise.
    pub other: Histogram<u32>,
}

impl GroupTimes {
    /// Histograms of no transactions.
    pub(super) fn new() -> Self {
        let (least, most, _) = super::HISTOGRAM;
        let empty = || Histogram::new_with_bounds(least, most, DIGITS).expect("constant bounds are valid");
        Self { ok: empty(), other: empty() }
    }

    /// Those of all.
    #[must_use]
    pub fn all(&self) -> Histogram<u32> {
        let mut all = self.ok.clone();
        all.add(&self.other).expect("both have the same bounds");
        all
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.ok.add(&other.ok).expect("all have the same bounds");
        self.other.add(&other.other).expect("all have the same bounds");
    }
}
