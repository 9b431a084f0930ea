//! What a sender does about marks (RFC 3168 section 6.1.2): its window falls as for a loss, once a round trip, and new data tells the peer
//! so (CWR).
//!
//! With `rack` the window falls evenly over that round trip, by [`super::prr`] (Linux `TCP_CA_CWR`); otherwise at once. The round trip lasts
//! until something is acknowledged that was sent after the mark was heard of. What may come while older data is in flight:
//!
//! | event | consequence |
//! | --- | --- |
//! | another echo | none |
//! | a loss | fast recovery takes the reduction over, without another one; with `rack` it ends with that data |
//! | a timeout | the window falls to a segment, and the threshold stays |
//! | segments turn out to be too long for the path, outside recovery | the window falls to the threshold at once |
//!
//! In the round trip of a reduction for a loss, an echo does not reduce the window again either, but the reduction then stands. Linux reduces
//! the window again for an echo that comes after the recovery.

use super::{Context, Phase, Recovery, rack};
use crate::config::RecoveryKind;
use crate::congestion::Congestion;
use crate::scoreboard::Acked;
use wasp_wire::SequenceNumber;

/// What bars another reduction of the window, for a round trip.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Cause {
    /// Nothing does.
    None,
    /// The window falls for a mark.
    Mark,
    /// The window fell for a loss; or a recovery, a timeout or a cut of segments has taken over what fell for a mark.
    Loss,
}

/// What a sender with ECN remembers of the last reduction of its window.
#[derive(Debug)]
pub(super) struct Reduction {
    cause: Cause,
    /// SND.NXT when the window fell. It means something as long as there is a cause.
    at: SequenceNumber,
    /// The next new data is to tell the peer by CWR.
    cwr_due: bool,
    /// Reductions for marks so far.
    for_marks: u32,
}

impl Reduction {
    /// Of a connection that begins with `initial`.
    pub(super) const fn none(initial: SequenceNumber) -> Self {
        Self { cause: Cause::None, at: initial, cwr_due: false, for_marks: 0 }
    }

    fn note(&mut self, cause: Cause, next: SequenceNumber) {
        (self.cause, self.at, self.cwr_due) = (cause, next, true);
    }
}

impl Recovery {
    /// Whether the connection uses ECN.
    #[inline]
    pub(crate) fn uses_ecn(&self) -> bool {
        self.ecn
    }

    /// How many times the window fell for a mark.
    pub(crate) fn reductions_for_marks(&self) -> u32 {
        self.reduction.for_marks
    }

    /// Whether the new data that leaves now is to bear CWR.
    pub(crate) fn take_cwr(&mut self) -> bool {
        std::mem::take(&mut self.reduction.cwr_due)
    }

    /// An acknowledgment echoes a mark: the window stays reduced, even if that turns out to have been needless (Linux
    /// `tcp_fastretrans_alert`). Call it before the acknowledgment is taken in.
    pub(crate) fn note_echo(&mut self) {
        if let Some(rack) = &mut self.rack {
            rack.keep_window();
        }
    }

    /// Whether the window falls, or has fallen, for a mark, and nothing has taken that over.
    #[inline]
    fn is_marked(&self) -> bool {
        self.reduction.cause == Cause::Mark
    }

    /// SND.NXT when the window fell for a mark, if that was in this round trip: a loss does not let it fall again.
    pub(super) fn fallen_at(&self, context: &Context<'_>) -> Option<SequenceNumber> {
        let at = self.reduction.at;
        (self.is_marked() && context.scoreboard.una().before(at)).then_some(at)
    }

    /// Fast recovery begins, and takes over a reduction for a mark of this round trip. Returns SND.NXT when the window fell.
    pub(super) fn take_over(&mut self, context: &Context<'_>) -> Option<SequenceNumber> {
        let at = self.fallen_at(context)?;
        self.reduction.cause = Cause::Loss;
        Some(at)
    }

    /// A recovery turns out to have been needless whose window stays reduced for a mark: if that window has not fallen to the threshold, it
    /// goes on falling.
    pub(super) fn resume_reduction(&mut self, context: &Context<'_>) {
        let open = context.scoreboard.una().before(self.reduction.at);
        if self.reduction.cause == Cause::Loss && open {
            self.reduction.cause = Cause::Mark;
        }
    }

    /// The window has fallen for a loss.
    pub(super) fn note_loss(&mut self, next: SequenceNumber) {
        if self.ecn {
            self.reduction.note(Cause::Loss, next);
        }
    }

    /// The window is what it was before it fell for a loss: the peer need not be told of that any more (Linux `tcp_ecn_withdraw_cwr`).
    pub(super) fn withdraw_reduction(&mut self) {
        self.reduction.cause = Cause::None;
        self.reduction.cwr_due = false;
    }

    /// Something new is acknowledged. If that was sent after the window fell, the next mark is a new one. As in Linux, an acknowledgment
    /// of all that was in flight then is not enough: the data that tells of the reduction may not have arrived.
    pub(super) fn end_reduction(&mut self, context: &mut Context<'_>) {
        if self.reduction.cause == Cause::None || !context.scoreboard.una().after(self.reduction.at) {
            return;
        }
        if self.spreads() {
            let ssthresh = context.congestion.ssthresh();
            context.congestion.set_window(context.mss, ssthresh);
        }
        self.reduction.cause = Cause::None;
    }

    /// Takes in what an acknowledgment says of marks, after [`Self::on_ack`] or its like. Returns whether the window may grow with it.
    pub(crate) fn heed_marks(&mut self, context: &mut Context<'_>, acked: &Acked, echoed: bool) -> bool {
        if echoed {
            self.on_echo(context);
        }
        if self.spreads() {
            rack::pace_window(self, context, acked, false);
        }
        !self.is_marked()
    }

    /// The peer echoes a mark. The window falls unless it has fallen in this round trip, or a recovery is under way (section 6.1.2).
    fn on_echo(&mut self, context: &mut Context<'_>) {
        // A recovery that the same acknowledgment has begun.
        self.note_echo();
        if self.reduction.cause != Cause::None || self.phase != Phase::Open {
            return;
        }
        let event = self.loss_event(context);
        context.congestion.on_mark(context.config, context.mss, context.now, event);
        self.reduction.note(Cause::Mark, context.next);
        self.reduction.for_marks += 1;
        if self.spreads() {
            rack::on_mark(self, context);
        } else {
            context.congestion.fall_to_threshold();
        }
    }

    /// Segments in flight were too long for the path and are sent again within the window: the rest of its fall for a mark comes at once.
    /// Further echoes of this round trip have no effect, as before.
    pub(super) fn stop_spreading(&mut self, congestion: &mut Congestion) {
        if self.is_marked() {
            congestion.fall_to_threshold();
            self.reduction.cause = Cause::Loss;
        }
    }

    /// Whether the window is falling for a mark, over a round trip and outside recovery.
    #[inline]
    pub(super) fn spreads(&self) -> bool {
        debug_assert!(!self.is_marked() || self.phase == Phase::Open, "what follows a mark takes it over");
        self.is_marked() && self.kind == RecoveryKind::Rack
    }
}
