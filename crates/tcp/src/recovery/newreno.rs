//! NewReno (RFC 6582): a partial acknowledgment retransmits the next hole and stays in recovery.

use super::{Context, Phase, Recovery, Verdict};
use crate::config::RecoveryKind;
use crate::scoreboard::Acked;

pub(super) fn on_ack(recovery: &mut Recovery, context: &mut Context<'_>, acked: &Acked) -> Verdict {
    if recovery.phase != Phase::Fast {
        recovery.duplicates = 0;
        return Verdict::OPEN;
    }
    if context.scoreboard.una().at_or_after(recovery.recover) {
        full(recovery, context)
    } else {
        partial(recovery, context, acked)
    }
}

/// `rack`, where the peer has no selective acknowledgments, makes Linux's choices of those that RFC 6582 leaves.
fn chooses_as_linux(context: &Context<'_>) -> bool {
    context.config.recovery == RecoveryKind::Rack
}

/// `cwnd = min(ssthresh, max(FlightSize, SMSS) + SMSS)` (section 3.2 step 3, first option): no burst. Linux takes the second option, ssthresh
/// (`tcp_end_cwnd_reduction`).
fn full(recovery: &mut Recovery, context: &mut Context<'_>) -> Verdict {
    let mss = context.mss;
    let ssthresh = context.congestion.ssthresh();
    let room = context.flight().max(mss).saturating_add(mss);
    let window = if chooses_as_linux(context) { ssthresh } else { ssthresh.min(room) };
    context.congestion.set_window(mss, window);
    recovery.leave();
    Verdict::RECOVERING
}

/// Retransmit the first segment; deflate by what was acknowledged, add a segment back if it was at least one; restart the
/// timer only for the first (the impatient variant), or for each as Linux does (section 4, slow-but-steady; `tcp_clean_rtx_queue`).
fn partial(recovery: &mut Recovery, context: &mut Context<'_>, acked: &Acked) -> Verdict {
    recovery.forced = true;
    context.scoreboard.lose_first();
    recovery.inflation = recovery.inflation.saturating_sub_unsigned(acked.bytes);
    if acked.bytes >= context.mss {
        recovery.inflation = recovery.inflation.saturating_add_unsigned(context.mss);
    }
    let restart_timer = chooses_as_linux(context) || !recovery.partial_seen;
    recovery.partial_seen = true;
    Verdict { grow: false, restart_timer }
}

/// As Reno, but not for data that was in flight when the last recovery began or the last timeout happened (section 3.2
/// step 1).
pub(super) fn on_duplicate(recovery: &mut Recovery, context: &mut Context<'_>) {
    recovery.duplicates += 1;
    let mss = context.mss as i32;
    if recovery.phase == Phase::Fast {
        recovery.inflation = recovery.inflation.saturating_add(mss);
    } else if recovery.duplicates == context.config.duplicate_ack_threshold
        && context.scoreboard.una().after(recovery.recover)
    {
        recovery.enter(context);
        recovery.inflation = recovery.duplicates as i32 * mss;
    }
}
