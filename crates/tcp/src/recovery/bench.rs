//! A recovery with all that surrounds it, for the tests of its transitions.

use super::{Agreed, Context, Recovery, Verdict};
use crate::config::{Config, EcnMode};
use crate::congestion::Congestion;
use crate::ranges::Range;
use crate::rto::Rto;
use crate::scoreboard::{Acked, Scoreboard};
use wasp_units::{Duration, Instant};
use wasp_wire::SequenceNumber;

pub(super) const MSS: u32 = 1_000;
/// The path's, and the only round-trip time that the estimate knows.
pub(super) const RTT: Duration = Duration::from_millis(100);
pub(super) const START: Instant = Instant::from_nanos(5_000_000_000);
pub(super) const FIRST: SequenceNumber = SequenceNumber(u32::MAX - 2_500);

/// An acknowledgment of which only this is known.
pub(super) fn acked(fill: impl FnOnce(&mut Acked)) -> Acked {
    let mut acked = Acked::default();
    fill(&mut acked);
    acked
}

pub(super) struct Bench {
    pub(super) config: Config,
    pub(super) recovery: Recovery,
    pub(super) scoreboard: Scoreboard,
    pub(super) congestion: Congestion,
    pub(super) rto: Rto,
    pub(super) next: SequenceNumber,
    pub(super) now: Instant,
    pub(super) may_send_new: bool,
}

impl Bench {
    /// A connection that has sent so many segments at [`START`], in a window of twice as many.
    pub(super) fn new(config: Config, segments: u32) -> Self {
        let mut scoreboard = Scoreboard::default();
        scoreboard.reset(FIRST);
        let mut rto = Rto::new(&config);
        rto.sample(&config, RTT, FIRST, FIRST);
        rto.note_rtt(RTT);
        let mut bench = Self {
            recovery: Recovery::new(&config, Agreed { sack: true, ecn: config.ecn == EcnMode::Ask }, FIRST),
            congestion: Congestion::new(&config, MSS, 2 * segments),
            config,
            scoreboard,
            rto,
            next: FIRST,
            now: START,
            may_send_new: false,
        };
        bench.send(segments);
        bench
    }

    /// Sends so many segments.
    pub(super) fn send(&mut self, segments: u32) {
        for _ in 0..segments {
            self.next += MSS;
            self.scoreboard.push(self.next, false, self.now);
            self.recovery.on_new_data(MSS);
        }
    }

    /// The numbers of the segments from `first` to before `end`, counted from the first one sent.
    pub(super) fn range(&self, first: u32, end: u32) -> Range {
        (FIRST + first * MSS, FIRST + end * MSS)
    }

    /// The recovery and its surroundings.
    pub(super) fn context(&mut self) -> (&mut Recovery, Context<'_>) {
        let context = Context {
            config: &self.config,
            mss: MSS,
            now: self.now,
            echo: None,
            next: self.next,
            send_window: u32::MAX,
            may_send_new: self.may_send_new,
            rto: &self.rto,
            scoreboard: &mut self.scoreboard,
            congestion: &mut self.congestion,
        };
        (&mut self.recovery, context)
    }

    fn acked(&self) -> Acked {
        Acked::new(self.scoreboard.fack(), Instant::MAX, self.recovery.high())
    }

    /// An acknowledgment of the first so many segments that were sent, and of a range above them.
    pub(super) fn acknowledge(&mut self, segments: u32, held: Option<(u32, u32)>) -> Verdict {
        let mut acked = self.acked();
        self.scoreboard.acknowledge(FIRST + segments * MSS, &mut acked);
        self.hold(held, &mut acked);
        let (recovery, mut context) = self.context();
        recovery.on_ack(&mut context, &acked)
    }

    /// A duplicate acknowledgment that reports the segments from `first` to before `end`.
    pub(super) fn report(&mut self, first: u32, end: u32) {
        let mut acked = self.acked();
        self.hold(Some((first, end)), &mut acked);
        self.repeat(&acked);
    }

    /// A duplicate acknowledgment that says nothing else.
    pub(super) fn repeat(&mut self, acked: &Acked) {
        let (recovery, mut context) = self.context();
        recovery.on_duplicate(&mut context, acked);
    }

    fn hold(&mut self, held: Option<(u32, u32)>, acked: &mut Acked) {
        if let Some((first, end)) = held {
            let (left, right) = self.range(first, end);
            self.scoreboard.sack(left, right, acked);
        }
    }

    /// The retransmission timer expires for the first time.
    pub(super) fn time_out(&mut self) {
        let (recovery, mut context) = self.context();
        recovery.on_timeout(&mut context, true);
    }
}
