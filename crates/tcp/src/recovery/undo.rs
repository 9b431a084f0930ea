//! What tells a needless reduction of the window (Linux `tcp_may_undo`): every retransmission since is reported to have been received
//! twice (D-SACK, RFC 3708), or the acknowledgment answers a transmission older than the first of them (Eifel, RFC 3522).

use super::Context;
use crate::congestion::Snapshot;
use crate::ranges::Range;
use wasp_wire::SequenceNumber;

/// After so many numbers a reduction stands, so that none looks new again when they have gone half around.
const LIFETIME: u32 = 1 << 30;

/// A reduction of the window, and what has been sent again since.
#[derive(Debug)]
pub(super) struct Undo {
    /// SND.UNA when it happened.
    marker: SequenceNumber,
    /// Retransmissions that are not reported as duplicates; `None` before the first.
    unproved: Option<u32>,
    /// What congestion control was before; `None` where the window stays as it is in any case, because a mark would have reduced it, too
    /// (Linux `prior_ssthresh` = 0).
    pub(super) prior: Option<Snapshot>,
}

impl Undo {
    /// The window is about to be reduced, with so many retransmissions in flight.
    pub(super) fn new(context: &Context<'_>, retransmissions: u32) -> Self {
        Self {
            marker: context.scoreboard.una(),
            unproved: (retransmissions > 0).then_some(retransmissions),
            prior: Some(context.congestion.snapshot()),
        }
    }

    /// A segment was sent again.
    pub(super) fn on_retransmitted(&mut self) {
        self.unproved = Some(self.unproved.unwrap_or(0) + 1);
    }

    /// The peer reports to have received `range` twice. Returns whether no retransmission is left that is not.
    pub(super) fn on_duplicate(&mut self, range: Range, mss: u32) -> bool {
        let Some(unproved) = self.unproved.as_mut().filter(|_| range.1.after(self.marker)) else {
            return false;
        };
        let segments = range.1.since(range.0).div_ceil(mss).max(1);
        *unproved = unproved.saturating_sub(segments);
        *unproved == 0
    }

    /// Whether the reduction is too old to be judged.
    pub(super) fn is_stale(&self, una: SequenceNumber) -> bool {
        una.since(self.marker) > LIFETIME
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::{Bench, FIRST};
    use super::*;
    use crate::config::Config;

    #[test]
    fn a_reduction_stands_after_a_quarter_of_all_numbers() {
        let mut bench = Bench::new(Config::linux(), 2);
        let undo = Undo::new(&bench.context().1, 0);
        for (since, stale) in [(0, false), (LIFETIME, false), (LIFETIME + 1, true)] {
            assert_eq!(undo.is_stale(FIRST + since), stale, "{since}");
        }
    }
}
