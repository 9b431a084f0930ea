//! Conservative loss recovery based on selective acknowledgments (RFC 6675).

use super::{Context, Next, Phase, Recovery, Verdict};
use crate::scoreboard::{Acked, Scoreboard};

pub(super) fn on_ack(recovery: &mut Recovery, context: &mut Context<'_>, acked: &Acked) -> Verdict {
    let done = context.scoreboard.una().at_or_after(recovery.recover);
    let was_fast = recovery.phase == Phase::Fast;
    if was_fast && done {
        recovery.leave();
    }
    if recovery.phase != Phase::Fast {
        recovery.duplicates = 0;
    }
    if acked.sacked > 0 {
        on_news(recovery, context);
    }
    if was_fast || recovery.phase == Phase::Fast { Verdict::RECOVERING } else { Verdict::OPEN }
}

/// Selective acknowledgments have brought news, which makes a duplicate acknowledgment whatever else it says (section 2).
///
/// Recovery begins with the DupThresh-th of them or when the first segment is lost by IsLost (section 5, steps 1 and 2),
/// but not before what was in flight at a timeout is acknowledged (section 5.1).
pub(super) fn on_news(recovery: &mut Recovery, context: &mut Context<'_>) {
    recovery.duplicates += 1;
    let threshold = context.config.duplicate_ack_threshold;
    context.scoreboard.update_lost(threshold, context.mss);
    let lost = recovery.duplicates >= threshold || context.scoreboard.first_is_lost();
    if recovery.phase == Phase::Open && lost {
        recovery.enter(context);
    }
}

/// NextSeg rules 3 and 4: a hole that is not yet lost, then, once a recovery, the end of the window.
///
/// The rescue retransmission leaves out what this recovery has already retransmitted, so that a window that lost one
/// segment and has no successor does not send it twice.
pub(super) fn without_new_data(
    recovery: &Recovery,
    scoreboard: &Scoreboard,
    candidate: Option<usize>,
) -> Next {
    match candidate {
        Some(index) if scoreboard.below_highest_sacked(index) => Next::Retransmit(index),
        Some(_) if !recovery.rescued => Next::Rescue(scoreboard.len() - 1),
        _ => Next::New,
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::Bench;
    use super::*;
    use crate::config::{Config, RecoveryKind};

    fn bench(segments: u32) -> Bench {
        Bench::new(Config { recovery: RecoveryKind::Sack, ..Config::linux() }, segments)
    }

    #[test]
    fn only_reports_in_a_row_add_up() {
        let mut bench = bench(10);
        bench.report(1, 2);
        bench.report(2, 3);
        bench.acknowledge(3, None);
        bench.report(4, 5);
        assert!(!bench.recovery.is_fast());
        bench.report(5, 6);
        bench.report(6, 7);
        assert!(bench.recovery.is_fast());
    }

    /// RFC 6675 section 5: DupThresh reports, or more bytes than two segments above the first.
    #[test]
    fn recovery_begins_with_three_reports_or_with_one_of_as_much() {
        let mut bench = bench(10);
        for segment in 1..=3 {
            assert!(!bench.recovery.is_fast(), "{segment}");
            bench.report(segment, segment + 1);
        }
        assert!(bench.recovery.is_fast());

        let mut bench = self::bench(10);
        bench.report(1, 4);
        assert!(bench.recovery.is_fast());
    }

    #[test]
    fn a_report_counts_where_the_acknowledgment_brings_progress_too() {
        let mut bench = bench(10);
        let begin = bench.acknowledge(1, Some((2, 5)));
        assert!(bench.recovery.is_fast());
        let end = bench.acknowledge(10, None);
        assert!(!bench.recovery.is_fast());
        assert!(!begin.grow && !end.grow, "nor does either of them grow the window");
    }

    /// NextSeg rule 3.
    #[test]
    fn a_hole_is_filled_also_where_nothing_is_taken_for_lost_any_more() {
        let mut bench = bench(5);
        bench.report(1, 2);
        bench.report(3, 4);
        bench.report(4, 5);
        let now = bench.now;
        bench.scoreboard.retransmit(0, now);
        bench.recovery.on_retransmitted(false);
        bench.acknowledge(2, None);
        assert!(!bench.scoreboard.has_lost());
        assert_eq!(bench.recovery.next(&mut bench.scoreboard, false), Next::Retransmit(0));
        assert_eq!(bench.recovery.next(&mut bench.scoreboard, true), Next::New);
    }
}
