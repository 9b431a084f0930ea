//! What the server's TCP did, over all its connections.

use serde::Serialize;
use wasp_tcp::Statistics;

/// Sums over the connections of a server.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct TcpTotals {
    /// Connections.
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
}

impl TcpTotals {
    /// Adds a connection's counters.
    pub(super) fn add(&mut self, statistics: &Statistics) {
        self.connections += 1;
        self.segments_sent += u64::from(statistics.segments_sent);
        self.retransmitted += u64::from(statistics.retransmitted);
        self.fast_retransmits += u64::from(statistics.fast_retransmits);
        self.timeouts += u64::from(statistics.timeouts);
        self.first_timeouts += u64::from(statistics.first_timeouts);
        self.first_timeouts_ms += u64::from(statistics.first_timeouts_ms);
    }
}
