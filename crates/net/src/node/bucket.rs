//! How often a router may send ICMP errors (RFC 1812 section 4.3.2.8: a token bucket, whose rate an administrator sets).

use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use wasp_units::{Frequency, Instant};

/// How often a router may send ICMP errors.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorRate {
    /// Errors in the long run.
    pub rate: Frequency,
    /// Errors that may be sent at once after a pause; 0 allows none, ever.
    pub burst: u32,
}

impl Default for ErrorRate {
    fn default() -> Self {
        const THOUSAND: NonZeroU32 = NonZeroU32::new(1_000).expect("not zero");
        Self { rate: Frequency::of_second(THOUSAND), burst: 100 }
    }
}

/// Tokens for errors, counted in the nanoseconds in which they come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    /// The time in which one token comes.
    token: u64,
    /// The most that the bucket holds.
    room: u64,
    held: u64,
    since: Instant,
}

impl Bucket {
    pub(super) fn new(ErrorRate { rate, burst }: ErrorRate) -> Self {
        let token = rate.time_of(1).as_nanos().max(1);
        let room = token.saturating_mul(u64::from(burst));
        Self { token, room, held: room, since: Instant::ZERO }
    }

    /// Takes a token, if there is one at `now`.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        let passed = now.saturating_since(self.since).as_nanos();
        self.since = now;
        self.held = self.held.saturating_add(passed).min(self.room);
        let is_enough = self.held >= self.token;
        if is_enough {
            self.held -= self.token;
        }
        is_enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(rate: &str, burst: u32) -> ErrorRate {
        ErrorRate { rate: rate.parse().unwrap(), burst }
    }

    /// How many of the errors that are due from one microsecond to another, so many apart, may be sent.
    fn allowed(bucket: &mut Bucket, (from, to): (u64, u64), step: usize) -> usize {
        (from..to).step_by(step).filter(|us| bucket.take(Instant::from_nanos(us * 1_000))).count()
    }

    #[test]
    fn a_burst_and_then_the_rate_are_allowed_and_never_more() {
        let mut bucket = Bucket::new(limit("1000/s", 100));
        assert_eq!(allowed(&mut bucket, (0, 1), 1), 1);
        // 99 are left, and 100 come in 100 ms; the one that comes at the end is not there yet.
        assert_eq!(allowed(&mut bucket, (1, 100_001), 10), 199 - 1);
        assert_eq!(allowed(&mut bucket, (100_001, 1_100_001), 10), 1_000);
        assert_eq!(allowed(&mut bucket, (10_000_000, 10_000_500), 1), 100);
    }

    #[test]
    fn a_low_rate_allows_one_burst_and_a_rate_without_a_burst_nothing() {
        let mut bucket = Bucket::new(limit("1/h", 10));
        assert_eq!(allowed(&mut bucket, (0, 1_000_000), 1_000), 10);
        let mut bucket = Bucket::new(limit("1000/s", 0));
        assert_eq!(allowed(&mut bucket, (0, 1_000_000), 1_000), 0);
    }

    #[test]
    fn the_highest_rate_and_burst_do_not_overflow() {
        for rate in ["4000000000/s", "1/h"] {
            let mut bucket = Bucket::new(limit(rate, u32::MAX));
            assert!(bucket.take(Instant::from_nanos(u64::MAX / 2)));
            assert!(bucket.take(Instant::from_nanos(u64::MAX)));
        }
    }
}
