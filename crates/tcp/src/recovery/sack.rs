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
