//! Fast retransmit and fast recovery (RFC 5681 section 3.2), and 4.4BSD's form of it.
//!
//! Nothing remembers where recovery began: a second hole of the same window starts over with three more duplicates.

use super::{Context, Phase, Recovery, Verdict};

/// Any new acknowledgment ends fast recovery: the window deflates to ssthresh (step 6).
pub(super) fn on_ack(recovery: &mut Recovery, context: &mut Context<'_>) -> Verdict {
    if recovery.phase != Phase::Fast {
        recovery.duplicates = 0;
        return Verdict::OPEN;
    }
    let (config, mss) = (context.config, context.mss);
    let kept = config.bsd_duplicate_quirk && recovery.duplicates == config.duplicate_ack_threshold;
    if kept {
        // BSD tests for more than three duplicates, so after exactly three the inflated window stays.
        let inflated = i64::from(context.congestion.window()) + i64::from(recovery.inflation);
        context.congestion.set_window(mss, inflated.clamp(0, i64::from(u32::MAX)) as u32);
    }
    recovery.leave();
    // BSD grows the window by this acknowledgment too.
    if config.bsd_ssthresh { Verdict::OPEN } else { Verdict::RECOVERING }
}

/// The third duplicate retransmits and halves; each further one inflates by a segment (steps 2 to 4).
pub(super) fn on_duplicate(recovery: &mut Recovery, context: &mut Context<'_>) {
    // What arrives beside lost pieces of a cut is no sign of another loss (Linux's CA_Loss).
    if recovery.cut && recovery.phase == Phase::Loss {
        return;
    }
    recovery.duplicates += 1;
    let mss = context.mss as i32;
    if recovery.phase == Phase::Fast {
        recovery.inflation = recovery.inflation.saturating_add(mss);
    } else if recovery.duplicates == context.config.duplicate_ack_threshold {
        recovery.enter(context);
        recovery.inflation = recovery.duplicates as i32 * mss;
    }
}
