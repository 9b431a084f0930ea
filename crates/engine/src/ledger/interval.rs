//! The measured interval.

use wasp_units::{Duration, Instant};

/// From the end of the warm-up to the end of the run, the end not included.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Interval {
    start: Instant,
    end: Instant,
}

impl Interval {
    /// The interval of `duration` after `warmup`.
    #[must_use]
    pub fn new(warmup: Duration, duration: Duration) -> Self {
        let start = Instant::ZERO + warmup;
        Self { start, end: start + duration }
    }

    /// When the warm-up ends.
    #[must_use]
    pub const fn start(&self) -> Instant {
        self.start
    }

    /// When the run ends.
    #[must_use]
    pub const fn end(&self) -> Instant {
        self.end
    }

    /// The same interval cut off at `end`, for a run that was stopped.
    #[must_use]
    pub fn stopped_at(&self, end: Instant) -> Self {
        Self { start: self.start.min(end), end: self.end.min(end) }
    }

    /// Its length.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.end - self.start
    }

    /// Whether `at` lies in it.
    #[must_use]
    pub fn contains(&self, at: Instant) -> bool {
        self.start <= at && at < self.end
    }

    /// The part of the time from `from` to `to` that lies in it.
    #[must_use]
    pub fn part(&self, from: Instant, to: Instant) -> Duration {
        to.min(self.end).saturating_since(from.max(self.start))
    }

    /// Which of `bins` equal parts `at` lies in.
    #[must_use]
    pub fn bin(&self, at: Instant, bins: usize) -> Option<usize> {
        if !self.contains(at) {
            return None;
        }
        Some(place(at - self.start, self.duration(), bins))
    }

    /// Which of `parts` equal parts `at` lies in of the interval and the half of an interval, or the whole warm-up, before it.
    #[must_use]
    pub fn watched_part(&self, at: Instant, parts: usize) -> Option<usize> {
        let half = Duration::from_nanos(self.duration().as_nanos() / 2);
        let before = half.min(self.start - Instant::ZERO);
        let first = self.start - before;
        (first <= at && at < self.end).then(|| place(at - first, self.end - first, parts))
    }
}

/// Which of `parts` equal parts of a time `elapsed` lies in.
fn place(elapsed: Duration, time: Duration, parts: usize) -> usize {
    let place = u128::from(elapsed.as_nanos()) * parts as u128;
    (place / u128::from(time.as_nanos())) as usize
}
