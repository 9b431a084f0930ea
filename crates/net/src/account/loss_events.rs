//! How often data of a connection was lost or marked, as its congestion windows see it.

use wasp_units::{Duration, Instant};

/// How often data of a connection was lost, or marked (RFC 3168), by the direction of the data. What is lost or marked within a round trip of
/// the first makes a congestion window smaller once (RFC 5681 section 4.3, RFC 6675 section 5, RFC 3168 section 6.1.2), and counts once.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct LossEvents {
    /// On the way from the host.
    pub forward: u32,
    /// On the way to the host.
    pub backward: u32,
}

/// Counts the loss events of one direction of a connection.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct LossCounter {
    events: u32,
    /// What is lost or marked before this belongs to the last event.
    until: Instant,
}

impl LossCounter {
    /// Data was lost or marked at `now`; the connection's round trip takes so long.
    pub(crate) fn note(&mut self, now: Instant, round_trip: Duration) {
        if self.events == 0 || now >= self.until {
            self.events += 1;
            self.until = now.saturating_add(round_trip);
        }
    }

    /// How many there were.
    pub(crate) const fn events(self) -> u32 {
        self.events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_within_a_round_trip_of_the_first_are_one_event() {
        let mut counter = LossCounter::default();
        let counts = [0, 40, 99, 100, 160, 205].map(|at| {
            counter.note(Instant::ZERO + Duration::from_millis(at), Duration::from_millis(100));
            counter.events()
        });
        assert_eq!(counts, [1, 1, 1, 2, 2, 3]);
    }
}
