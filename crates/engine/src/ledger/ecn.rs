//! What the connections of a run did with explicit congestion notification (RFC 3168).

use serde::Serialize;
use wasp_app::EcnUse;

/// Sums over the connections of clients that ask for ECN, over the whole run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct EcnTotals {
    /// Connections that were established.
    pub connections: u64,
    /// Those of them for which the server agreed to ECN.
    pub agreed: u64,
    /// Data segments that reached the clients with a mark.
    pub marked: u64,
    /// Reductions of a client's window for marks of its own data.
    pub reduced: u64,
}

impl EcnTotals {
    pub(super) fn add(&mut self, used: &EcnUse) {
        self.connections += 1;
        self.agreed += u64::from(used.agreed);
        self.marked += u64::from(used.marked);
        self.reduced += u64::from(used.reduced);
    }

    pub(super) const fn merge(&mut self, other: &Self) {
        let Self { connections, agreed, marked, reduced } = other;
        self.connections += *connections;
        self.agreed += *agreed;
        self.marked += *marked;
        self.reduced += *reduced;
    }
}
