//! What the server's TCP did, over all its connections.

use serde::Serialize;
use wasp_tcp::Endpoint;

/// Sums over the connections of a server, from its start or over an interval.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct TcpTotals {
    /// Connections that began, with a SYN.
    pub connections: u64,
    /// Segments sent, all kinds.
    pub segments_sent: u64,
    /// Segments sent again.
    pub retransmitted: u64,
    /// Entries into fast recovery.
    pub fast_retransmits: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Those of data that had not timed out before.
    pub first_timeouts: u64,
    /// The sum of the waits that these ended, milliseconds.
    pub first_timeouts_ms: u64,
    /// Reductions of a congestion window for marks that a client echoed.
    pub reduced_for_marks: u64,
}

impl TcpTotals {
    /// Adds a connection's counters.
    pub(super) fn add(&mut self, endpoint: &Endpoint) {
        let statistics = endpoint.statistics();
        self.connections += 1;
        self.segments_sent += u64::from(statistics.segments_sent);
        self.retransmitted += u64::from(statistics.retransmitted);
        self.fast_retransmits += u64::from(statistics.fast_retransmits);
        self.timeouts += u64::from(statistics.timeouts);
        self.first_timeouts += u64::from(statistics.first_timeouts);
        self.first_timeouts_ms += u64::from(statistics.first_timeouts_ms);
        self.reduced_for_marks += u64::from(endpoint.reductions_for_marks());
    }

    /// What came after `earlier`.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            connections: self.connections - earlier.connections,
            segments_sent: self.segments_sent - earlier.segments_sent,
            retransmitted: self.retransmitted - earlier.retransmitted,
            fast_retransmits: self.fast_retransmits - earlier.fast_retransmits,
            timeouts: self.timeouts - earlier.timeouts,
            first_timeouts: self.first_timeouts - earlier.first_timeouts,
            first_timeouts_ms: self.first_timeouts_ms - earlier.first_timeouts_ms,
            reduced_for_marks: self.reduced_for_marks - earlier.reduced_for_marks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TcpTotals;

    #[test]
    fn what_came_after_is_the_difference_of_each_count() {
        let of = |n: u64| TcpTotals {
            connections: n,
            segments_sent: n * n,
            retransmitted: 7 * n,
            fast_retransmits: 3 * n,
            timeouts: 5 * n,
            first_timeouts: 4 * n,
            first_timeouts_ms: 900 * n,
            reduced_for_marks: 6 * n,
        };
        let since = TcpTotals {
            connections: 2,
            segments_sent: 25 - 9,
            retransmitted: 14,
            fast_retransmits: 6,
            timeouts: 10,
            first_timeouts: 8,
            first_timeouts_ms: 1_800,
            reduced_for_marks: 12,
        };
        assert_eq!(of(5).since(&of(3)), since);
    }
}
