//! How long packets wait at a link that is observed, and the most that waits there.

use hdrhistogram::Histogram;
use std::collections::VecDeque;
use wasp_units::{Duration, Instant};

/// Significant decimal digits of the waiting times.
const DIGITS: u8 = 2;
/// Longest wait that is told from longer ones: 1,000 s, in nanoseconds.
const LONGEST: u64 = 1_000_000_000_000;

/// What is kept of a link that is observed.
#[derive(Debug)]
pub(super) struct Observed {
    since: Instant,
    waits: Option<Histogram<u32>>,
    /// Packets whose transmission is still to begin, where that is known when they come: when it begins, and after which wait.
    pending: VecDeque<(Instant, Duration)>,
    /// The most bytes that waited since the last look.
    peak: u64,
}

impl Observed {
    /// Waiting times are kept of packets whose transmission begins from `since` on, where there is a transmitter that takes time.
    pub(super) fn new(since: Instant, takes_time: bool) -> Self {
        let waits = || Histogram::new_with_bounds(1, LONGEST, DIGITS).expect("constant bounds are valid");
        Self { since, waits: takes_time.then(waits), pending: VecDeque::new(), peak: 0 }
    }

    /// A packet that came at `entered` begins transmission at `start`, which may be later than `now`.
    #[inline(never)]
    pub(super) fn note_wait(&mut self, entered: Instant, start: Instant, now: Instant) {
        let wait = start - entered;
        if start > now {
            self.begin_before(now);
            self.pending.push_back((start, wait));
        } else {
            self.record(start, wait);
        }
    }

    /// What was to begin transmission before `now` has begun.
    fn begin_before(&mut self, now: Instant) {
        while let Some(&(start, wait)) = self.pending.front().filter(|(start, _)| *start < now) {
            self.pending.pop_front();
            self.record(start, wait);
        }
    }

    fn record(&mut self, start: Instant, wait: Duration) {
        if let Some(waits) = self.waits.as_mut().filter(|_| start >= self.since) {
            waits.saturating_record(wait.as_nanos());
        }
    }

    /// So many bytes wait.
    pub(super) fn note_queue(&mut self, bytes: u64) {
        self.peak = self.peak.max(bytes);
    }

    /// The most bytes that waited since the last call, `waiting` of which wait now.
    pub(super) fn take_peak(&mut self, waiting: u64) -> u64 {
        std::mem::replace(&mut self.peak, waiting)
    }

    /// The waiting times in nanoseconds of packets whose transmission began before `now`.
    pub(super) fn waits(&mut self, now: Instant) -> Option<&Histogram<u32>> {
        self.begin_before(now);
        self.waits.as_ref()
    }
}
