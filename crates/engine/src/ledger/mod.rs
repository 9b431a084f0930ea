//! The journal of a run: records as rows, and the running figures that need no second pass.

mod ages;
mod interval;
mod merge;
mod populations;
mod rows;
mod strata;
mod strays;
mod tally;

pub use ages::Ages;
pub(crate) use ages::{BINS_OF_AGE, ByAge, edge};
pub use interval::Interval;
pub use populations::GroupTimes;
pub use rows::{ConnectionRow, Rows, TransactionRow};
pub use strata::Strata;
pub use tally::Tally;

use hdrhistogram::Histogram;
use wasp_host::{Arrival, ConnectionRecord, Journal, Outcome, TransactionRecord};
use wasp_net::Crossings;
use wasp_random::Key;
use wasp_units::{Duration, Instant};

/// Response times in the histogram: 1 us to 1 h at four significant digits, in nanoseconds.
const HISTOGRAM: (u64, u64, u8) = (1_000, 3_600_000_000_000, 4);

/// Bins of the measured interval by which the end of the warm-up is judged.
pub(crate) const BINS: usize = 40;

/// What happened in one second of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Second {
    /// `ok` transactions that ended in it.
    pub ok: u32,
    /// Other transactions that ended in it.
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

/// The arrivals of an open loop over the measured interval.
#[derive(Debug)]
pub(crate) struct ArrivalTimes {
    /// How many came, were dropped, and began, by [`Arrival`].
    counts: [u64; 3],
    /// Response times of the `ok` transactions from their actual start, in nanoseconds.
    pub(crate) from_start: Histogram<u64>,
    /// Their sum.
    pub(crate) sum: u128,
}

impl ArrivalTimes {
    /// How many arrivals this became of.
    pub(crate) const fn count(&self, arrival: Arrival) -> u64 {
        self.counts[arrival as usize]
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
    /// Their sum.
    response_sum: u128,
    /// The same times of the other transactions that ended in the interval, until they ended otherwise.
    pub other_times: Histogram<u64>,
    /// Their sum.
    other_sum: u128,
    /// Response times by the index of the group; empty where there is one group, whose times are those of the run.
    pub groups: Vec<GroupTimes>,
    /// Ages at the boundaries of the interval and at the end.
    ages: Ages,
    /// What became of the arrivals of an open loop.
    arrivals: Option<Box<ArrivalTimes>>,
    /// How they ended, by the index of their group.
    tallies: Vec<Tally>,
    /// Those among them that took a second attempt.
    retried: u64,
    body_bytes: u64,
    bins: [u64; BINS],
    completed: u64,
    errors: u64,
    in_progress: u64,
    progress_integral: u128,
    overlap: u128,
    last_change: Instant,
}

impl Ledger {
    /// An empty ledger for a run of so many groups with this measured interval; `sample` decides which transactions are kept when there are too many.
    #[must_use]
    pub fn new(interval: Interval, groups: usize, sample: Key) -> Self {
        Self {
            interval,
            sample,
            transactions: Strata::default(),
            connections: Rows::default(),
            seconds: Vec::with_capacity(interval.end().as_secs_f64() as usize + 2),
            response_times: histogram(),
            response_sum: 0,
            other_times: histogram(),
            other_sum: 0,
            groups: (0..groups).filter(|_| groups > 1).map(|_| GroupTimes::new()).collect(),
            ages: Ages::default(),
            arrivals: None,
            tallies: Vec::new(),
            retried: 0,
            body_bytes: 0,
            bins: [0; BINS],
            completed: 0,
            errors: 0,
            in_progress: 0,
            progress_integral: 0,
            overlap: 0,
            last_change: Instant::ZERO,
        }
    }

    /// The measured interval.
    #[must_use]
    pub const fn interval(&self) -> &Interval {
        &self.interval
    }

    /// Transactions that ended in the measured interval with this outcome; for `unfinished`, those in progress when the run ended.
    #[must_use]
    pub fn outcome(&self, outcome: Outcome) -> u64 {
        self.tallies.iter().map(|tally| tally.outcome(outcome)).sum()
    }

    /// How the transactions of all groups ended.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let mut all = Tally::default();
        self.tallies.iter().for_each(|tally| all.merge(tally));
        all
    }

    /// How those of the group with this index ended.
    #[must_use]
    pub fn tally_of(&self, group: usize) -> Tally {
        self.tallies.get(group).cloned().unwrap_or_default()
    }

    /// Transactions of all outcomes that were made once more, on a new connection.
    #[must_use]
    pub const fn retried(&self) -> u64 {
        self.retried
    }

    /// What became of the arrivals of an open loop, if there were any.
    pub(crate) fn arrivals(&self) -> Option<&ArrivalTimes> {
        self.arrivals.as_deref()
    }

    /// Body bytes of the `ok` transactions of the measured interval.
    #[must_use]
    pub const fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// `ok` transactions in each fortieth of the measured interval.
    #[must_use]
    pub const fn bins(&self) -> &[u64; BINS] {
        &self.bins
    }

    /// Transactions that ended since the start of the run.
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

    /// The sum of those response times, in nanoseconds.
    pub(crate) const fn response_sum(&self) -> u128 {
        self.response_sum
    }

    /// Response times of all transactions that ended in the measured interval, whatever their outcome, in nanoseconds.
    #[must_use]
    pub fn all_times(&self) -> Histogram<u64> {
        let mut all = self.response_times.clone();
        all.add(&self.other_times).expect("both have the same bounds");
        all
    }

    /// The sum of those, in nanoseconds.
    pub(crate) const fn all_sum(&self) -> u128 {
        self.response_sum + self.other_sum
    }

    /// Ages at the boundaries of the interval and at the end.
    pub(crate) const fn ages(&self) -> &Ages {
        &self.ages
    }

    /// The time integral of the transactions in progress over the measured interval up to `now`, and the sum over the records of their part
    /// inside it, both in nanoseconds: Little's law demands that they are equal.
    #[must_use]
    pub fn little(&self) -> (u128, u128) {
        (self.progress_integral, self.overlap)
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

    fn tally_mut(&mut self, group: u16) -> &mut Tally {
        let place = usize::from(group);
        if place >= self.tallies.len() {
            self.tallies.resize_with(place + 1, Tally::default);
        }
        &mut self.tallies[place]
    }

    fn measure(&mut self, record: &TransactionRecord) {
        self.tally_mut(record.group).count(record.outcome, record.status);
        self.retried += u64::from(record.attempts > 1);
        if record.outcome == Outcome::Unfinished {
            return;
        }
        let response_time = (record.end - record.intended.unwrap_or(record.start)).as_nanos();
        let group = self.groups.get_mut(usize::from(record.group));
        if record.outcome != Outcome::Ok {
            self.other_times.saturating_record(response_time);
            self.other_sum += u128::from(response_time);
            if let Some(times) = group {
                times.other.saturating_record(response_time);
            }
            return;
        }
        if let Some(times) = group {
            times.ok.saturating_record(response_time);
        }
        if let Some(arrivals) = &mut self.arrivals {
            let from_start = (record.end - record.start).as_nanos();
            arrivals.from_start.saturating_record(from_start);
            arrivals.sum += u128::from(from_start);
        }
        self.response_times.saturating_record(response_time);
        self.response_sum += u128::from(response_time);
        self.body_bytes += record.bytes;
        if let Some(bin) = self.interval.bin(record.end, BINS) {
            self.bins[bin] += 1;
        }
    }
}

impl Journal for Ledger {
    fn arrival(&mut self, arrival: Arrival, now: Instant) {
        let arrivals = self.arrivals.get_or_insert_with(|| {
            Box::new(ArrivalTimes { counts: [0; 3], from_start: histogram(), sum: 0 })
        });
        if self.interval.contains(now) {
            arrivals.counts[arrival as usize] += 1;
        }
    }

    fn transaction_began(&mut self, now: Instant) {
        self.settle(now);
        self.in_progress += 1;
        self.note_in_flight(now);
    }

    fn transaction_ended(&mut self, record: &TransactionRecord) {
        self.settle(record.end);
        self.in_progress -= 1;
        self.overlap += u128::from(self.interval.part(record.start, record.end).as_nanos());
        let measured = self.interval.contains(record.end);
        let unfinished = record.outcome == Outcome::Unfinished;
        self.ages.note(&self.interval, record.start, record.end, unfinished);
        if measured || unfinished {
            self.measure(record);
        }
        if !unfinished {
            self.note_in_flight(record.end);
            self.completed += 1;
            let ok = record.outcome == Outcome::Ok;
            self.errors += u64::from(!ok);
            let second = self.second(record.end);
            second.ok += u32::from(ok);
            second.errors += u32::from(!ok);
            second.bytes += if ok { record.bytes } else { 0 };
        }
        let draw = self.sample.entity(u64::from(record.client)).draw(u64::from(record.request));
        self.transactions.push(record, measured, draw);
    }

    fn connection_ended(&mut self, record: &ConnectionRecord) {
        self.connections.push(ConnectionRow::new(record));
    }
}
