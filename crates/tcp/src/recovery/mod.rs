//! Loss recovery: which segments are taken for lost, and when they are sent again.
//!
//! One state for all variants; each variant is a file of transitions on it. The order of calls for an arriving
//! acknowledgment is: the scoreboard takes it in, then `on_ack` or `on_duplicate`, then [`Recovery::next`] and
//! [`Recovery::window`] decide what the endpoint sends.

#[cfg(test)]
mod bench;
mod ecn;
mod newreno;
mod prr;
mod rack;
mod reno;
mod sack;
mod undo;

use self::ecn::Reduction;
use crate::config::{Config, RecoveryKind};
use crate::congestion::{Congestion, LossEvent};
use crate::rto::Rto;
use crate::scoreboard::{Acked, Scoreboard, Segment};
use wasp_units::{Duration, Instant};
use wasp_wire::SequenceNumber;

/// Where a connection stands with regard to losses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    /// Nothing is known to be lost.
    Open,
    /// Fast recovery.
    Fast,
    /// After a timeout, until what was in flight then is acknowledged.
    Loss,
}

/// What both ends agreed on in the handshake, as far as loss recovery goes by it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Agreed {
    /// Selective acknowledgments.
    pub(crate) sack: bool,
    /// Explicit congestion notification.
    pub(crate) ecn: bool,
}

/// What a transition may see and change.
pub(crate) struct Context<'a> {
    pub(crate) config: &'a Config,
    pub(crate) mss: u32,
    pub(crate) now: Instant,
    /// The timestamp that the acknowledgment echoes.
    pub(crate) echo: Option<u32>,
    /// SND.NXT.
    pub(crate) next: SequenceNumber,
    /// The peer's window in bytes.
    pub(crate) send_window: u32,
    /// There is new data, and room for some of it in the peer's window.
    pub(crate) may_send_new: bool,
    pub(crate) rto: &'a Rto,
    pub(crate) scoreboard: &'a mut Scoreboard,
    pub(crate) congestion: &'a mut Congestion,
}

impl Context<'_> {
    fn flight(&self) -> u32 {
        self.next.since(self.scoreboard.una())
    }
}

/// What an acknowledgment of new data means for the window and the timer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Verdict {
    /// Congestion control may grow the window.
    pub(crate) grow: bool,
    /// The retransmission timer starts anew.
    pub(crate) restart_timer: bool,
}

impl Verdict {
    const OPEN: Self = Self { grow: true, restart_timer: true };
    const RECOVERING: Self = Self { grow: false, restart_timer: true };
}

/// What to send next, as far as recovery has a say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Next {
    /// The segment at this index again, whatever the window.
    Forced(usize),
    /// The segment at this index again, if the window allows.
    Retransmit(usize),
    /// The same, by RFC 6675's NextSeg rule 4.
    Rescue(usize),
    /// New data, if the windows allow.
    New,
}

/// The loss recovery of one connection.
#[derive(Debug)]
pub(crate) struct Recovery {
    kind: RecoveryKind,
    phase: Phase,
    /// The first segment is to be sent at once.
    forced: bool,
    /// A partial acknowledgment has restarted the timer (RFC 6582's impatient variant).
    partial_seen: bool,
    /// The rescue retransmission of this recovery is spent (RFC 6675 NextSeg rule 4).
    rescued: bool,
    /// Duplicate acknowledgments in a row.
    duplicates: u32,
    /// Bytes sent by limited transmit.
    limited: u32,
    /// SND.NXT when recovery began: RFC 6582's `recover` plus one, RFC 6675's RecoveryPoint.
    recover: SequenceNumber,
    /// What fast recovery adds to the congestion window, bytes: segments that have left the network.
    inflation: i32,
    /// What is lost was too long for the path, in the phase `Loss`. It is sent again although shorter segments before it are not lost.
    cut: bool,
    /// Both ends have agreed on ECN.
    ecn: bool,
    reduction: Reduction,
    /// `rack`'s own state; made at the first loss, reordering, probe or mark.
    rack: Option<Box<rack::Rack>>,
}

impl Recovery {
    /// Recovery of a connection that begins with `initial`.
    pub(crate) fn new(config: &Config, agreed: Agreed, initial: SequenceNumber) -> Self {
        Self {
            kind: config.recovery.agreed(agreed.sack),
            phase: Phase::Open,
            forced: false,
            partial_seen: false,
            rescued: false,
            duplicates: 0,
            limited: 0,
            recover: initial,
            inflation: 0,
            cut: false,
            ecn: agreed.ecn,
            reduction: Reduction::none(initial),
            rack: None,
        }
    }

    /// Whether the retransmission timer starts anew whenever the first segment is sent again (Linux `tcp_xmit_retransmit_queue`).
    pub(crate) fn first_restarts_timer(&self) -> bool {
        self.kind == RecoveryKind::Rack
    }

    /// Whether selective acknowledgments are used.
    pub(crate) fn uses_sack(&self) -> bool {
        matches!(self.kind, RecoveryKind::Sack | RecoveryKind::Rack)
    }

    /// In fast recovery, or after a timeout.
    pub(crate) fn is_repairing_loss(&self) -> bool {
        self.phase != Phase::Open
    }

    /// Whether an acknowledgment that reports a duplicate segment, and nothing else, matters.
    pub(crate) fn heeds_duplicates(&self) -> bool {
        self.kind == RecoveryKind::Rack
    }

    /// Whether the window may grow by what is delivered out of order, since that is usual here (Linux `tcp_may_raise_cwnd`).
    pub(crate) fn grows_by_reports(&self) -> bool {
        self.phase != Phase::Fast && self.rack.as_ref().is_some_and(|rack| rack.reordered_far())
    }

    /// Whether new data, where there is any, goes before what is taken for lost.
    pub(crate) fn prefers_new_data(&self) -> bool {
        self.rack.as_ref().is_some_and(|rack| rack.prefers_new_data())
    }

    /// Whether a tail loss probe is in flight.
    #[inline]
    pub(crate) fn is_probing(&self) -> bool {
        self.rack.as_ref().is_some_and(|rack| rack.is_probing())
    }

    /// Whether a tail loss probe is in flight, and nothing new has left since: `next` is SND.NXT.
    #[inline]
    pub(crate) fn ends_with_probe(&self, next: SequenceNumber) -> bool {
        self.rack.as_ref().is_some_and(|rack| rack.ends_with_probe(next))
    }

    /// SND.NXT when the present recovery, or the last one, began.
    pub(crate) fn high(&self) -> SequenceNumber {
        self.recover
    }

    /// In fast recovery.
    pub(crate) fn is_fast(&self) -> bool {
        self.phase == Phase::Fast
    }

    /// An acknowledgment of new data.
    #[inline]
    pub(crate) fn on_ack(&mut self, context: &mut Context<'_>, acked: &Acked) -> Verdict {
        let una = context.scoreboard.una();
        if self.ecn {
            self.end_reduction(context);
        }
        if self.phase == Phase::Open && una.after(self.recover) {
            self.drag_along(una);
        }
        let quiet = acked.sacked == 0 && acked.duplicate.is_none() && !self.is_probing();
        if self.phase == Phase::Open && self.duplicates == 0 && quiet {
            if let Some(rack) = &mut self.rack {
                rack.stop_timer();
                rack.forget_retransmissions(context.scoreboard);
            }
            return Verdict::OPEN;
        }
        if self.phase == Phase::Loss && una.at_or_after(self.recover) && self.kind != RecoveryKind::Rack {
            self.phase = Phase::Open;
            self.cut = false;
        }
        let verdict = match self.kind {
            RecoveryKind::Reno => reno::on_ack(self, context),
            RecoveryKind::NewReno => newreno::on_ack(self, context, acked),
            RecoveryKind::Sack => sack::on_ack(self, context, acked),
            RecoveryKind::Rack => rack::on_ack(self, context, acked),
        };
        self.limited = 0;
        verdict
    }

    /// What is remembered of numbers below `una` must not look new again when the numbers have gone half around.
    #[inline]
    fn drag_along(&mut self, una: SequenceNumber) {
        self.recover = una - 1;
        if let Some(rack) = &mut self.rack {
            rack.end_round(una);
        }
    }

    /// A duplicate acknowledgment: for `sack` and `rack` one with new selective acknowledgments (RFC 6675 section 2) or,
    /// for `rack`, with a D-SACK; otherwise one by RFC 5681's definition.
    pub(crate) fn on_duplicate(&mut self, context: &mut Context<'_>, acked: &Acked) {
        match self.kind {
            RecoveryKind::Reno => reno::on_duplicate(self, context),
            RecoveryKind::NewReno => newreno::on_duplicate(self, context),
            RecoveryKind::Sack => sack::on_news(self, context),
            RecoveryKind::Rack => rack::on_news(self, context, acked),
        }
    }

    /// An acknowledgment of `una` came with nothing in flight: perhaps the answer to a probe, or a D-SACK.
    pub(crate) fn on_repeated(
        &mut self,
        congestion: &mut Congestion,
        mss: u32,
        una: SequenceNumber,
        acked: &Acked,
    ) {
        if let Some(rack) = &mut self.rack
            && rack::on_repeated(rack, congestion, mss, una, acked)
        {
            self.withdraw_reduction();
        }
    }

    /// Whether there has been a loss, reordering or a probe: else an acknowledgment with nothing in flight says nothing.
    #[inline]
    pub(crate) fn has_rack_state(&self) -> bool {
        self.rack.is_some()
    }

    /// An acknowledgment of `una` that brings no news: perhaps it answers a probe. Returns whether what was held back may be sent again.
    pub(crate) fn note_repetition(&mut self, una: SequenceNumber, acked: &Acked) -> bool {
        self.rack.as_mut().is_some_and(|rack| rack.on_repetition(una, acked))
    }

    /// How long to wait from now before the end of the flight is probed; `None` when it is not to be.
    #[inline]
    pub(crate) fn probe_timeout(
        &self,
        config: &Config,
        rto: &Rto,
        scoreboard: &Scoreboard,
    ) -> Option<Duration> {
        let may_probe = self.kind == RecoveryKind::Rack && rack::may_probe(self, scoreboard);
        may_probe.then(|| rack::probe_timeout(config, rto.srtt(config), scoreboard.len()))
    }

    /// A tail loss probe has left; `end` is SND.NXT.
    pub(crate) fn on_probe(&mut self, end: SequenceNumber, retransmission: bool) {
        self.rack.get_or_insert_default().on_probe(end, retransmission);
    }

    /// When the reordering timer fires.
    #[inline]
    pub(crate) fn reordering_deadline(&self) -> Option<Instant> {
        self.rack.as_ref().and_then(|rack| rack.deadline())
    }

    /// The reordering timer fired.
    pub(crate) fn on_reordering_timeout(&mut self, context: &mut Context<'_>) {
        rack::on_reordering_timeout(self, context);
    }

    /// BSD: an acknowledgment repeated with data or with another window breaks a run of duplicates.
    pub(crate) fn break_run(&mut self) {
        if self.phase != Phase::Fast && !self.uses_sack() {
            self.duplicates = 0;
        }
    }

    /// The retransmission timer expired; `first` for this segment.
    pub(crate) fn on_timeout(&mut self, context: &mut Context<'_>, first: bool) {
        let event = self.loss_event(context);
        // With RACK the window has already been reduced for this flight (Linux `tcp_enter_loss`).
        let recovering = self.kind == RecoveryKind::Rack && self.phase == Phase::Fast;
        let fallen = self.fallen_at(context).is_some();
        let reduces = first && !recovering && !fallen;
        // BSD reduces it at each timeout.
        let lowers = reduces || (context.config.bsd_ssthresh && !fallen);
        let limit = self.rack.as_ref().and_then(|rack| rack.overdue_by(context.now));
        match limit {
            Some(limit) => context.scoreboard.lose_first_and_sent_by(limit),
            None => context.scoreboard.lose_all(),
        }
        if self.kind == RecoveryKind::Rack {
            self.rack.get_or_insert_default().on_timeout(context, self.phase, reduces, first);
        }
        context.congestion.on_timeout(context.config, context.mss, context.now, event, lowers);
        self.phase = Phase::Loss;
        self.recover = context.next;
        self.duplicates = 0;
        self.inflation = 0;
        self.limited = 0;
        // What is not yet overdue may fill the window of one segment.
        self.forced = limit.is_some();
        self.rescued = false;
        // What is not yet overdue may stand before pieces that are lost.
        self.cut &= limit.is_some();
        self.note_loss(context.next);
    }

    /// Segments in flight have been cut, in whichever phase.
    pub(crate) fn repair_cut(&mut self) {
        self.cut = true;
    }

    /// Segments hold `to` bytes in the place of `from`, which is more. A reduction before that is not taken back, since its window was in longer ones.
    pub(crate) fn shorten_segments(&mut self, from: u32, to: u32) {
        self.inflation = (i64::from(self.inflation) * i64::from(to) / i64::from(from)) as i32;
        if let Some(rack) = &mut self.rack {
            rack.let_stand();
        }
    }

    /// Segments in flight were too long for the path, and have been cut. They are lost, but not by congestion: they are sent again as far as the
    /// window allows, which stays (RFC 1191 section 6.4; Linux `tcp_simple_retransmit`).
    pub(crate) fn on_cut(&mut self, congestion: &mut Congestion, next: SequenceNumber) {
        self.stop_spreading(congestion);
        if let Some(rack) = &mut self.rack {
            rack.on_cut();
        }
        self.phase = Phase::Loss;
        self.recover = next;
        self.cut = true;
        self.duplicates = 0;
        self.inflation = 0;
        self.limited = 0;
        self.forced = false;
        self.rescued = false;
    }

    /// What to send next.
    #[inline]
    pub(crate) fn next(&mut self, scoreboard: &mut Scoreboard, new_data: bool) -> Next {
        if self.phase == Phase::Open && !scoreboard.has_lost() {
            return Next::New;
        }
        if self.forced {
            return Next::Forced(0);
        }
        if new_data && self.prefers_new_data() {
            return Next::New;
        }
        if self.rack.as_ref().is_some_and(|rack| rack.holds_back()) {
            return Next::New;
        }
        let candidate = scoreboard.next_candidate();
        if let Some(index) = candidate
            && scoreboard.get(index).is_some_and(|(_, segment)| segment.has(Segment::LOST))
        {
            return Next::Retransmit(index);
        }
        if self.cut
            && self.phase == Phase::Loss
            && let Some(index) = scoreboard.first_lost()
        {
            return Next::Retransmit(index);
        }
        if !new_data && self.phase == Phase::Fast && self.kind == RecoveryKind::Sack {
            return sack::without_new_data(self, scoreboard, candidate);
        }
        Next::New
    }

    /// A segment has been sent again.
    pub(crate) fn on_retransmitted(&mut self, rescue: bool) {
        self.forced = false;
        self.rescued |= rescue;
        if let Some(rack) = &mut self.rack {
            rack.note_old_data();
        }
    }

    /// A segment has been sent again that is no probe, when our timestamp clock showed `timestamp`.
    pub(crate) fn note_retransmission(&mut self, timestamp: u32) {
        if let Some(rack) = &mut self.rack {
            rack.note_retransmission(timestamp);
        }
        self.pace();
    }

    fn pace(&mut self) {
        if (self.phase == Phase::Fast || self.spreads())
            && let Some(rack) = &mut self.rack
        {
            rack.prr().on_sent();
        }
    }

    /// `len` bytes have been sent for the first time.
    #[inline]
    pub(crate) fn on_new_data(&mut self, len: u32) {
        if self.phase == Phase::Open && self.duplicates > 0 {
            self.limited += len;
        }
        self.pace();
    }

    /// The window that `pipe` is held to, bytes.
    #[inline]
    pub(crate) fn window(&self, config: &Config, congestion: &Congestion, mss: u32) -> u32 {
        let cwnd = congestion.window();
        if self.phase == Phase::Open && self.duplicates == 0 {
            return cwnd;
        }
        let mut window = i64::from(cwnd) + i64::from(self.inflation);
        if self.phase == Phase::Open && config.limited_transmit && !self.uses_sack() {
            window += i64::from(self.duplicates.min(2) * mss);
        }
        window.clamp(i64::from(mss), i64::from(u32::MAX)) as u32
    }

    /// The bytes that count against [`Self::window`]. Without limited transmit, selectively acknowledged data make no
    /// room before recovery begins. While what was cut is sent again each segment counts as a full one, as in Linux: the pieces are more
    /// segments than were sent at first.
    #[inline]
    pub(crate) fn outstanding(&self, config: &Config, scoreboard: &Scoreboard, flight: u32, mss: u32) -> u32 {
        if self.cut && self.phase == Phase::Loss {
            return scoreboard.packets_in_flight().saturating_mul(mss);
        }
        let held_back = self.phase == Phase::Open && !config.limited_transmit;
        if held_back { flight } else { scoreboard.pipe() }
    }

    fn loss_event(&self, context: &Context<'_>) -> LossEvent {
        let flight = context.flight().saturating_sub(self.limited);
        LossEvent { next: context.next, flight, send_window: context.send_window }
    }

    /// Begins fast recovery: halve, unless a mark has done so in this round trip; remember the end, and send the first segment again.
    fn enter(&mut self, context: &mut Context<'_>) {
        if self.take_over(context).is_none() {
            let event = self.loss_event(context);
            context.congestion.on_fast_retransmit(context.config, context.mss, context.now, event);
            self.note_loss(context.next);
        }
        self.begin(context.next);
        self.forced = true;
        context.scoreboard.lose_first();
    }

    /// Fast recovery lasts until `recover` is acknowledged.
    fn begin(&mut self, recover: SequenceNumber) {
        self.phase = Phase::Fast;
        self.cut = false;
        self.recover = recover;
        self.limited = 0;
        self.partial_seen = false;
        self.rescued = false;
    }

    fn leave(&mut self) {
        self.phase = Phase::Open;
        self.cut = false;
        self.duplicates = 0;
        self.inflation = 0;
        self.forced = false;
    }
}

#[cfg(test)]
mod tests {
    use super::bench::{Bench, FIRST, MSS};
    use super::*;
    use crate::config::CongestionKind;

    fn of(recovery: RecoveryKind) -> Config {
        Config { recovery, ..Config::linux() }
    }

    #[test]
    fn the_end_of_the_last_recovery_follows_what_is_acknowledged() {
        let mut bench = Bench::new(Config::linux(), 3);
        bench.acknowledge(2, None);
        assert_eq!(bench.recovery.high(), FIRST + (2 * MSS - 1));
    }

    #[test]
    fn a_run_of_duplicates_is_broken_before_recovery_and_not_where_reports_tell_them() {
        for (kind, phase, left) in [
            (RecoveryKind::Reno, Phase::Open, 0),
            (RecoveryKind::NewReno, Phase::Loss, 0),
            (RecoveryKind::Reno, Phase::Fast, 3),
            (RecoveryKind::Sack, Phase::Open, 3),
        ] {
            let mut recovery = Recovery::new(&of(kind), Agreed { sack: true, ecn: false }, FIRST);
            (recovery.phase, recovery.duplicates) = (phase, 3);
            recovery.break_run();
            assert_eq!(recovery.duplicates, left, "{kind:?} {phase:?}");
        }
    }

    /// RFC 5681 section 3.1: only the first timeout of a segment lowers the threshold. BSD lowers it at each.
    #[test]
    fn each_timeout_lowers_the_threshold_of_bsd_alone() {
        for (config, lowers) in [(Config::bsd1999(), true), (of(RecoveryKind::NewReno), false)] {
            let mut bench = Bench::new(Config { congestion: CongestionKind::Reno, ..config }, 16);
            let thresholds = [true, false].map(|first| {
                let (recovery, mut context) = bench.context();
                recovery.on_timeout(&mut context, first);
                bench.congestion.ssthresh()
            });
            assert_eq!(thresholds[1] < thresholds[0], lowers, "{thresholds:?}");
        }
    }

    /// RFC 5681 section 3.2 step 2: the segments of limited transmit are no part of FlightSize.
    #[test]
    fn what_limited_transmit_has_sent_does_not_count_as_flight() {
        let config = Config {
            congestion: CongestionKind::Reno,
            congestion_window_validation: false,
            ..of(RecoveryKind::NewReno)
        };
        let mut bench = Bench::new(config, 10);
        bench.acknowledge(1, None);
        for sent in [1, 1, 0] {
            bench.repeat(&Acked::default());
            bench.send(sent);
        }
        assert!(bench.recovery.is_fast());
        // Half of nine segments.
        assert_eq!(bench.congestion.ssthresh(), 9 * MSS / 2);
    }
}
