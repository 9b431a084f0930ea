//! RACK-TLP (RFC 8985): a segment is lost when one sent after it has arrived and a reordering window has passed; the end of
//! a flight is probed before the timeout. Fast recovery is paced by [`super::prr`].
//!
//! Names are the RFC's. RACK.min_RTT and SRTT live with the retransmission timeout, RACK.fack and RACK.segs_sacked on the
//! scoreboard.

use super::prr::{Delivery, Prr};
use super::undo::Undo;
use super::{Context, Phase, Recovery, Verdict};
use crate::config::Config;
use crate::congestion::Congestion;
use crate::ranges::Range;
use crate::scoreboard::{Acked, Overdue, Scoreboard, Segment, Sent};
use crate::timers;
use wasp_units::{Duration, Instant};
use wasp_wire::SequenceNumber;

/// Recoveries without a D-SACK after which the reordering window is a quarter of the round trip again.
const REO_WND_PERSIST: u8 = 16;
/// TLP.max_ack_delay: how long the peer may delay the acknowledgment of a lone segment.
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);
/// PTO before the first round-trip sample.
const INITIAL_PTO: Duration = Duration::from_secs(1);

/// What only a connection that has met a loss, reordering or a probe needs.
#[derive(Debug)]
pub(super) struct Rack {
    /// RACK.xmit_ts and RACK.end_seq: of all segments that have arrived, the one sent last.
    newest: Option<Sent>,
    /// RACK.rtt: the round-trip time of what arrived last ([`Acked::timed`]).
    rtt: Duration,
    /// When the reordering timer fires; `Instant::MAX` for never.
    deadline: Instant,
    /// SND.NXT at the first D-SACK of the round trip.
    dsack_round: Option<SequenceNumber>,
    reo_wnd_mult: u8,
    reo_wnd_persist: u8,
    reordering_seen: bool,
    /// A segment was overtaken by as many as usually show a loss (Linux `tcp_may_raise_cwnd`).
    reordered_far: bool,
    /// SND.NXT after the tail loss probe in flight, and whether that was a retransmission.
    tlp_end_seq: Option<SequenceNumber>,
    tlp_is_retrans: bool,
    prr: Prr,
    /// The reduction that may yet turn out to have been needless.
    undo: Option<Box<Undo>>,
    /// What our timestamp clock showed at the first retransmission since none was known to be in flight; probes do not count.
    first_retransmission: Option<u32>,
    /// F-RTO (RFC 5682 section 3) watches whether the timeout was spurious, and wants new data to leave before anything is sent
    /// again.
    frto: bool,
    new_data_first: bool,
    /// The last acknowledgment left it open whether the reduction was needless ([`Judgment::Wait`]): nothing is sent again.
    holds_back: bool,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            newest: None,
            rtt: Duration::ZERO,
            deadline: Instant::MAX,
            dsack_round: None,
            reo_wnd_mult: 1,
            reo_wnd_persist: REO_WND_PERSIST,
            reordering_seen: false,
            reordered_far: false,
            tlp_end_seq: None,
            tlp_is_retrans: false,
            prr: Prr::default(),
            undo: None,
            first_retransmission: None,
            frto: false,
            new_data_first: false,
            holds_back: false,
        }
    }
}

impl Rack {
    pub(super) fn prr(&mut self) -> &mut Prr {
        &mut self.prr
    }

    /// Whether segments have been overtaken by many.
    pub(super) fn reordered_far(&self) -> bool {
        self.reordered_far
    }

    /// The reordering timer, if it runs.
    pub(super) fn deadline(&self) -> Option<Instant> {
        (self.deadline != Instant::MAX).then_some(self.deadline)
    }

    /// Sent at or before this, a segment is overdue: what a timeout takes for lost. It allows for no reordering (Linux
    /// `tcp_timeout_mark_lost`).
    pub(super) fn overdue_by(&self, now: Instant) -> Option<Instant> {
        self.newest?;
        Some(Instant::ZERO + now.saturating_since(Instant::ZERO + self.rtt))
    }

    /// Whether a probe is in flight.
    pub(super) fn is_probing(&self) -> bool {
        self.tlp_end_seq.is_some()
    }

    /// Whether a probe is in flight, and nothing has been sent for the first time since: `next` is SND.NXT.
    pub(super) fn ends_with_probe(&self, next: SequenceNumber) -> bool {
        self.tlp_end_seq == Some(next)
    }

    /// A probe has left; `end` is SND.NXT.
    pub(super) fn on_probe(&mut self, end: SequenceNumber, retransmission: bool) {
        self.tlp_end_seq = Some(end);
        self.tlp_is_retrans = retransmission;
    }

    /// Stops the reordering timer.
    pub(super) fn stop_timer(&mut self) {
        self.deadline = Instant::MAX;
    }

    /// Forgets the round of a D-SACK once all of it is acknowledged.
    pub(super) fn end_round(&mut self, una: SequenceNumber) {
        if self.dsack_round.is_some_and(|round| una.at_or_after(round)) {
            self.dsack_round = None;
        }
        if self.undo.as_ref().is_some_and(|undo| undo.is_stale(una)) {
            self.undo = None;
        }
    }

    /// A timeout in `phase`, before the window falls: no timer, no probe. `reduces` says whether ssthresh falls with it, `first` whether
    /// it is the first of its segment (Linux `tcp_enter_loss`). Call it after segments are taken for lost, since the retransmissions of
    /// those are no longer in flight.
    pub(super) fn on_timeout(&mut self, context: &Context<'_>, phase: Phase, reduces: bool, first: bool) {
        if reduces {
            self.remember(context);
        }
        if phase == Phase::Open {
            let threshold = context.config.duplicate_ack_threshold;
            self.doubt_reordering(context.scoreboard.sacked_segments(), threshold);
        }
        // F-RTO does not judge a timeout that ends a fast recovery.
        self.frto = phase == Phase::Open || !first;
        self.new_data_first = false;
        self.deadline = Instant::MAX;
        self.tlp_end_seq = None;
    }

    /// A timeout outside recovery, with `sacked` segments held: where as many as usually show a loss had arrived, those that overtook
    /// others were no sign that these would come.
    fn doubt_reordering(&mut self, sacked: u32, threshold: u32) {
        self.reordered_far &= sacked < threshold;
    }

    /// Fast recovery begins. It reduces the window, so that the answer to a probe in flight must not reduce it again (RFC 8985 section
    /// 7.1; Linux `tcp_init_cwnd_reduction`).
    fn on_fast_retransmit(&mut self, context: &Context<'_>) {
        self.forget_retransmissions(context.scoreboard);
        self.remember(context);
        self.tlp_end_seq = None;
    }

    /// Fast recovery begins while the window falls for a mark. The window would have fallen without the loss, so it is not restored if the
    /// recovery turns out to have been needless.
    fn on_take_over(&mut self, context: &Context<'_>) {
        self.forget_retransmissions(context.scoreboard);
        self.remember(context);
        self.keep_window();
    }

    /// The window is about to be reduced.
    fn remember(&mut self, context: &Context<'_>) {
        let probed = self.is_probing() && self.tlp_is_retrans;
        let retransmissions = context.scoreboard.retransmissions().max(u32::from(probed));
        self.undo = Some(Box::new(Undo::new(context, retransmissions)));
    }

    /// Forgets the first retransmission, unless one may be in flight (Linux `tcp_retrans_stamp_cleanup`). Call it after each acknowledgment
    /// outside recovery.
    #[inline]
    pub(super) fn forget_retransmissions(&mut self, scoreboard: &Scoreboard) {
        let remembers = self.first_retransmission.is_some();
        if remembers && !scoreboard.first_was_resent() && !scoreboard.any_outstanding(Segment::RETRANSMITTED)
        {
            self.first_retransmission = None;
        }
    }

    /// Whether an acknowledgment that echoes the timestamp `echo` answers an original, or nothing has been sent again (Linux
    /// `tcp_packet_delayed`).
    fn answers_an_original(&self, echo: Option<u32>) -> bool {
        match (self.first_retransmission, echo) {
            (None, _) => true,
            (Some(first), Some(echo)) => (echo.wrapping_sub(first) as i32) < 0,
            (Some(_), None) => false,
        }
    }

    /// A segment has been sent again that is no probe.
    pub(super) fn note_retransmission(&mut self, timestamp: u32) {
        self.first_retransmission.get_or_insert(timestamp);
        if let Some(undo) = &mut self.undo {
            undo.on_retransmitted();
        }
    }

    /// Whether new data, where there is any, goes before what is taken for lost.
    pub(super) fn prefers_new_data(&self) -> bool {
        self.new_data_first
    }

    /// Whether nothing is to be sent again until the next acknowledgment.
    pub(super) fn holds_back(&self) -> bool {
        self.holds_back
    }

    /// Whether the D-SACK of an acknowledgment tells that the reordering window was too narrow: reordering has been seen, and it does
    /// not report a tail loss probe, which no window gave rise to (Linux `tcp_dsack_seen`). Ask before the answer to a probe is taken.
    fn was_hasty(&self, acked: &Acked, mss: u32) -> bool {
        let probe = |range: Range| self.tlp_end_seq == Some(range.1) && range.1.since(range.0) <= mss;
        self.reordering_seen && acked.duplicate.is_some_and(|range| !probe(range))
    }

    /// Something leaves again. F-RTO ends where that was to be new data, and none could leave (Linux `tcp_xmit_recovery`).
    pub(super) fn note_old_data(&mut self) {
        self.frto &= !self.new_data_first;
        self.new_data_first = false;
    }

    /// The peer has received `range` twice. Returns whether that proves the last reduction to have been needless.
    fn note_duplicate(&mut self, range: Range, mss: u32) -> bool {
        self.undo.as_mut().is_some_and(|undo| undo.on_duplicate(range, mss))
    }

    /// Takes the last reduction back. Returns whether the window is what it was before.
    fn take_back(&mut self, congestion: &mut Congestion) -> bool {
        let prior = self.undo.take().and_then(|undo| undo.prior);
        let restores = prior.is_some();
        if let Some(prior) = prior {
            congestion.restore(prior);
        }
        self.frto = false;
        self.new_data_first = false;
        restores
    }

    /// The window stays as it is, even where the last reduction turns out to have been needless.
    pub(super) fn keep_window(&mut self) {
        if let Some(undo) = &mut self.undo {
            undo.prior = None;
        }
    }

    /// The last reduction is not taken back, whatever comes.
    pub(super) fn let_stand(&mut self) {
        self.undo = None;
    }

    /// Segments in flight were too long for the path: no timer, no probe, and no reduction that might be taken back.
    pub(super) fn on_cut(&mut self) {
        self.let_stand();
        self.frto = false;
        self.new_data_first = false;
        self.holds_back = false;
        self.deadline = Instant::MAX;
        self.tlp_end_seq = None;
    }

    /// Step 2 (RACK_update); the filter against acknowledgments of the original is [`Acked`]'s.
    fn update(&mut self, acked: &Acked, now: Instant) {
        if let Some(newest) = acked.newest
            && self.newest.is_none_or(|known| newest.after(known))
        {
            self.newest = Some(newest);
        }
        if let Some(sent) = acked.timed {
            self.rtt = now.saturating_since(sent);
        }
    }

    /// Step 4, first half (RACK_update_reo_wnd): reports that it was too narrow widen the window, recoveries without them narrow it.
    fn adapt(&mut self, una: SequenceNumber, next: SequenceNumber, hasty: bool, exiting: bool) {
        self.end_round(una);
        if self.dsack_round.is_none() && hasty {
            self.dsack_round = Some(next);
            self.reo_wnd_mult = self.reo_wnd_mult.saturating_add(1);
            self.reo_wnd_persist = REO_WND_PERSIST;
        } else if exiting {
            self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
            if self.reo_wnd_persist == 0 {
                self.reo_wnd_mult = 1;
            }
        }
    }

    /// Step 4, second half: RACK.reo_wnd.
    fn reo_wnd(&self, context: &Context<'_>, recovering: bool) -> Duration {
        let threshold = context.config.duplicate_ack_threshold;
        if !self.reordering_seen && (recovering || context.scoreboard.sacked_segments() >= threshold) {
            return Duration::ZERO;
        }
        let share = context.rto.min_rtt() * u64::from(self.reo_wnd_mult) / 4;
        context.rto.srtt(context.config).map_or(share, |srtt| share.min(srtt))
    }

    /// Step 5 (RACK_detect_loss_and_arm_timer). Returns whether anything was found lost.
    fn detect_loss(&mut self, context: &mut Context<'_>, recovering: bool) -> bool {
        let Some(newest) = self.newest else { return false };
        let wait = self.rtt + self.reo_wnd(context, recovering);
        let Overdue { lost, next } = context.scoreboard.lose_overdue(newest, wait, context.now);
        self.deadline = next.unwrap_or(Instant::MAX);
        lost
    }

    /// F-RTO's steps 2 and 3 (RFC 5682 section 3.1; Linux `tcp_process_loss`) for an acknowledgment that shows nothing of originals: after
    /// the first one new data shall leave, in the place of what is taken for lost. Without new data F-RTO ends.
    fn watch_timeout(&mut self, context: &Context<'_>, acked: &Acked, recover: &mut SequenceNumber) {
        if !self.frto {
            return;
        }
        if context.next.after(*recover) {
            self.frto = acked.sacked == 0;
        } else if acked.bytes > 0 && context.scoreboard.una().before(*recover) {
            *recover = context.next;
            self.new_data_first = context.may_send_new;
            self.frto = context.may_send_new;
        }
    }

    /// An acknowledgment of `una` that brings no news: perhaps it answers a probe. Returns whether what was held back may be sent again.
    pub(super) fn on_repetition(&mut self, una: SequenceNumber, acked: &Acked) -> bool {
        self.process_probe(una, acked);
        std::mem::take(&mut self.holds_back)
    }

    /// What the acknowledgment `ack` means for the probe in flight (TLP_process_ack). Returns whether the probe has
    /// repaired a loss, to which congestion control must respond. Where it repeats the last acknowledgment, both the original and
    /// the probe have arrived.
    pub(super) fn process_probe(&mut self, ack: SequenceNumber, acked: &Acked) -> bool {
        let Some(end) = self.tlp_end_seq.filter(|end| ack.at_or_after(*end)) else { return false };
        let reported = acked.duplicate.is_some_and(|range| range.1 == end);
        let settled = !self.tlp_is_retrans || reported || acked.repeated;
        if settled || ack.after(end) {
            self.tlp_end_seq = None;
        }
        !settled && ack.after(end)
    }
}

/// How long to wait for an acknowledgment before the end of the flight is probed (TLP_calc_PTO).
pub(super) fn probe_timeout(config: &Config, srtt: Option<Duration>, segments: usize) -> Duration {
    match srtt {
        None => INITIAL_PTO,
        Some(srtt) if segments == 1 => srtt * 2 + MAX_ACK_DELAY,
        Some(srtt) => srtt * 2 + timers::slack(config),
    }
}

/// Whether a probe may be scheduled: nothing held above SND.UNA, no recovery. A probe in flight is no reason against it (Linux
/// `tcp_schedule_loss_probe`).
pub(super) fn may_probe(recovery: &Recovery, scoreboard: &Scoreboard) -> bool {
    recovery.phase == Phase::Open && !scoreboard.is_empty() && scoreboard.sacked_segments() == 0
}

/// An acknowledgment of something new.
pub(super) fn on_ack(recovery: &mut Recovery, context: &mut Context<'_>, acked: &Acked) -> Verdict {
    let una = context.scoreboard.una();
    let was_fast = recovery.phase == Phase::Fast;
    let hasty = recovery.rack.as_ref().is_some_and(|rack| rack.was_hasty(acked, context.mss));
    let exiting = recovery.phase != Phase::Open && una.at_or_after(recovery.recover);
    let judged = judge(recovery, context, acked, exiting);
    if was_fast && exiting && judged != Judgment::Needless {
        // RFC 9937 section 6.2: "On completion of recovery".
        let ssthresh = context.congestion.ssthresh();
        context.congestion.set_window(context.mss, ssthresh);
    }
    if exiting || recovery.phase == Phase::Open {
        leave(recovery, context.scoreboard);
    }
    let repaired = recovery.rack.as_mut().is_some_and(|rack| rack.process_probe(una, acked));
    if repaired && recovery.phase == Phase::Open {
        let event = recovery.loss_event(context);
        context.congestion.on_fast_retransmit(context.config, context.mss, context.now, event);
        recovery.note_loss(context.next);
    }
    process(recovery, context, acked, Findings { exiting, hasty, detect: judged != Judgment::Wait });
    // The acknowledgment that ends recovery grows the window (Linux `tcp_cong_control`).
    if recovery.phase == Phase::Fast { Verdict::RECOVERING } else { Verdict::OPEN }
}

/// An acknowledgment of nothing new whose SACK blocks bring news.
pub(super) fn on_news(recovery: &mut Recovery, context: &mut Context<'_>, acked: &Acked) {
    if acked.sacked > 0 {
        recovery.duplicates += 1;
    }
    let hasty = recovery.rack.as_ref().is_some_and(|rack| rack.was_hasty(acked, context.mss));
    recovery.note_repetition(context.scoreboard.una(), acked);
    judge(recovery, context, acked, false);
    process(recovery, context, acked, Findings { exiting: false, hasty, detect: true });
}

/// What an acknowledgment says of the last reduction.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Judgment {
    /// Nothing.
    Stands,
    /// It was needless, and has been taken back.
    Needless,
    /// It was needless so far, but retransmissions are still in flight: nothing more is to be taken for lost, or sent again.
    Wait,
}

/// Whether the last reduction was needless (Linux `tcp_fastretrans_alert`, `tcp_process_loss`).
fn judge(recovery: &mut Recovery, context: &mut Context<'_>, acked: &Acked, exiting: bool) -> Judgment {
    let Some(rack) = &mut recovery.rack else { return Judgment::Stands };
    let proved = acked.duplicate.is_some_and(|range| rack.note_duplicate(range, context.mss));
    let progress = acked.bytes > 0;
    let delayed = progress && rack.undo.is_some() && rack.answers_an_original(context.echo);
    rack.new_data_first = false;
    rack.holds_back = false;
    match recovery.phase {
        Phase::Fast if delayed && !exiting => {
            // `tcp_try_undo_partial`: the hole was filled by the original, which had been overtaken.
            let overtaken_by = context.scoreboard.fack().since(context.scoreboard.una() - acked.bytes);
            rack.reordering_seen = true;
            rack.reordered_far |= overtaken_by > context.config.duplicate_ack_threshold * context.mss;
            if context.scoreboard.any_outstanding(Segment::RETRANSMITTED) {
                rack.holds_back = true;
                return Judgment::Wait;
            }
            context.scoreboard.lose_nothing();
        }
        Phase::Fast if proved || delayed => {}
        Phase::Open if proved => {}
        Phase::Loss if progress && (proved || delayed) => context.scoreboard.lose_nothing(),
        Phase::Loss if rack.frto && acked.original => context.scoreboard.lose_nothing(),
        Phase::Loss => {
            rack.watch_timeout(context, acked, &mut recovery.recover);
            return Judgment::Stands;
        }
        Phase::Open | Phase::Fast => return Judgment::Stands,
    }
    if proved {
        // As in Linux's `tcp_try_undo_dsack` the wider reordering window lasts for one more recovery.
        rack.reo_wnd_persist = rack.reo_wnd_persist.saturating_add(1).min(REO_WND_PERSIST);
    }
    let restored = rack.take_back(context.congestion);
    let was_fast = recovery.phase == Phase::Fast;
    leave(recovery, context.scoreboard);
    if restored {
        recovery.withdraw_reduction();
    } else if was_fast {
        recovery.resume_reduction(context);
    }
    Judgment::Needless
}

/// Outside recovery. While segments are held no acknowledgment is uneventful.
fn leave(recovery: &mut Recovery, scoreboard: &Scoreboard) {
    recovery.leave();
    recovery.duplicates = u32::from(scoreboard.sacked_segments() > 0);
}

/// What steps 4 and 5 are to know of an acknowledgment.
struct Findings {
    /// It ends recovery.
    exiting: bool,
    /// Its D-SACK tells that the reordering window was too narrow.
    hasty: bool,
    /// It may show losses.
    detect: bool,
}

/// Steps 2 to 5 for an acknowledgment.
fn process(recovery: &mut Recovery, context: &mut Context<'_>, acked: &Acked, findings: Findings) {
    let Findings { exiting, hasty, detect } = findings;
    let recovering = recovery.phase != Phase::Open;
    let mut rack = recovery.rack.take().unwrap_or_default();
    rack.update(acked, context.now);
    rack.reordering_seen |= acked.reordered;
    rack.reordered_far |= acked.displaced >= context.config.duplicate_ack_threshold * context.mss;
    rack.adapt(context.scoreboard.una(), context.next, hasty, exiting);
    // What tells of no arrival shows no loss (Linux `rack.advanced`).
    let mut lost = detect && acked.timed.is_some() && rack.detect_loss(context, recovering);
    if !detect {
        // The retransmission timer takes the place of the reordering timer (Linux `tcp_rearm_rto`).
        rack.deadline = Instant::MAX;
    }
    recovery.rack = Some(rack);
    if recovery.phase == Phase::Open && context.scoreboard.has_lost() {
        // What a recovery that was taken back has left behind.
        lost |= context.scoreboard.any_outstanding(Segment::LOST);
    }
    pace(recovery, context, acked, lost);
    if recovery.phase == Phase::Open
        && let Some(rack) = &mut recovery.rack
    {
        rack.forget_retransmissions(context.scoreboard);
    }
}

/// An acknowledgment arrived with nothing in flight; `una` is SND.UNA and SND.NXT. Returns whether it took the last reduction back.
pub(super) fn on_repeated(
    rack: &mut Rack,
    congestion: &mut Congestion,
    mss: u32,
    una: SequenceNumber,
    acked: &Acked,
) -> bool {
    let hasty = rack.was_hasty(acked, mss);
    rack.process_probe(una, acked);
    let proved = acked.duplicate.is_some_and(|range| rack.note_duplicate(range, mss));
    let restored = proved && rack.take_back(congestion);
    rack.adapt(una, una, hasty, false);
    restored
}

/// The reordering timer fired: what was given the benefit of the doubt is lost.
pub(super) fn on_reordering_timeout(recovery: &mut Recovery, context: &mut Context<'_>) {
    let recovering = recovery.phase != Phase::Open;
    let Some(mut rack) = recovery.rack.take() else { return };
    let lost = rack.detect_loss(context, recovering);
    recovery.rack = Some(rack);
    if lost && recovery.phase == Phase::Open {
        enter(recovery, context);
        set_window(recovery, context, 1, false);
    }
}

/// Enters fast recovery if something was lost, and sets its window.
fn pace(recovery: &mut Recovery, context: &mut Context<'_>, acked: &Acked, lost: bool) {
    if recovery.phase == Phase::Open && lost {
        enter(recovery, context);
    }
    if recovery.phase == Phase::Fast {
        pace_window(recovery, context, acked, lost);
    }
}

/// The threshold has fallen for a mark, and the window is to follow (Linux `tcp_enter_cwr`). What a probe in flight repairs has been answered
/// for with this.
pub(super) fn on_mark(recovery: &mut Recovery, context: &Context<'_>) {
    let rack = recovery.rack.get_or_insert_default();
    rack.let_stand();
    rack.prr = Prr::new(context.congestion.window(), context.mss);
    rack.tlp_end_seq = None;
}

/// The window until the next acknowledgment, while it falls to the threshold; `lost` says whether something was found lost.
pub(super) fn pace_window(recovery: &mut Recovery, context: &mut Context<'_>, acked: &Acked, lost: bool) {
    let delivered = acked.delivered_segments();
    if delivered > 0 {
        set_window(recovery, context, delivered, acked.bytes > 0 && !lost);
    }
}

/// Fast recovery begins. The window stays until something is delivered. Where the window falls for a mark of this round trip, it goes on
/// falling as before, and recovery lasts as long (Linux `tcp_enter_recovery`).
fn enter(recovery: &mut Recovery, context: &mut Context<'_>) {
    if let Some(at) = recovery.take_over(context) {
        recovery.rack.get_or_insert_default().on_take_over(context);
        recovery.begin(at);
        return;
    }
    let cwnd = context.congestion.window();
    recovery.rack.get_or_insert_default().on_fast_retransmit(context);
    let event = recovery.loss_event(context);
    context.congestion.on_fast_retransmit(context.config, context.mss, context.now, event);
    context.congestion.set_window(context.mss, cwnd);
    recovery.note_loss(context.next);
    recovery.begin(context.next);
    if let Some(rack) = &mut recovery.rack {
        rack.prr = Prr::new(cwnd, context.mss);
    }
}

/// The window of fast recovery when so many segments have been delivered, which is `safe` to answer with more where that was progress
/// without another loss.
fn set_window(recovery: &mut Recovery, context: &mut Context<'_>, delivered: u32, safe: bool) {
    let delivery = Delivery {
        delivered,
        safe,
        inflight: context.scoreboard.pipe(),
        packets: context.scoreboard.packets_in_flight(),
        ssthresh: context.congestion.ssthresh(),
        mss: context.mss,
    };
    if let Some(rack) = &mut recovery.rack {
        let window = rack.prr.window(delivery);
        context.congestion.set_window(context.mss, window);
    }
}

#[cfg(test)]
mod tests;
