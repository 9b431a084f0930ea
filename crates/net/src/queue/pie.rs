//! Proportional integral controller enhanced.
//!
//! Source: RFC 8033, "Proportional Integral Controller Enhanced (PIE): A Lightweight Control Scheme to Address the Bufferbloat Problem", section
//! 4 and appendix A, whose names the variables have. The queueing delay is measured by the packets' own times (section 4.3, the second
//! way): it is the waiting time of the packet that left last, and zero while no packet waits. Of the optional elements of section 5,
//! marking (5.1), derandomization (5.4) and the capped adjustment (5.5) can be chosen; PIE is always active (against 5.3).
//!
//! The probability is updated every T_UPDATE from the start of the run on. No event does so: the updates that are due are made up for
//! when the queue is next used, which is the same because nothing changes in between.

use super::config::{LONGEST, Limit, check_packet, ensure_time};
use super::fifo::Fifo;
use super::{DropReason, Item, Waiting};
use crate::option_error::{OptionError, ensure, within};
use serde::{Deserialize, Serialize};
use wasp_random::Key;
use wasp_units::{Bytes, Duration, Instant, Probability};

/// Parameters of PIE.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct PieConfig {
    /// Most packets that wait; 1,000 unless set, as in Linux (RFC 8033 names none).
    pub packets: Option<u32>,
    /// Most bytes that wait; `None` has no bound.
    pub bytes: Option<Bytes>,
    /// QDELAY_REF, the queueing delay to be held; 15 ms unless set.
    pub target: Duration,
    /// T_UPDATE, the time between two updates of the probability; 15 ms unless set, 1 ms at least.
    pub update: Duration,
    /// MAX_BURST, how long packets pass unharmed after a time without congestion; 150 ms unless set.
    pub max_burst: Duration,
    /// Weight of the distance from the target, a second; 0.125 unless set.
    pub alpha: f64,
    /// Weight of the change since the last update, a second; 1.25 unless set.
    pub beta: f64,
    /// MEAN_PKTSIZE: nothing is dropped while at most two of these wait; 1,500 bytes unless set, as Linux takes its MTU.
    pub mean_packet: Bytes,
    /// Whether ECN-capable packets are marked where others are dropped early; false unless set (section 5.1).
    pub ecn: bool,
    /// Probability from which on ECN-capable packets are dropped, too; 10 % unless set (section 5.1).
    pub ecn_threshold: Probability,
    /// Whether drops keep some distance from each other; false unless set (section 5.4).
    pub derandomize: bool,
    /// Whether an update adds at most 2 % where the probability is 10 % or more; false unless set (section 5.5).
    pub cap_adjustment: bool,
}

impl Default for PieConfig {
    fn default() -> Self {
        Self {
            packets: Some(1_000),
            bytes: None,
            target: Duration::from_millis(15),
            update: Duration::from_millis(15),
            max_burst: Duration::from_millis(150),
            alpha: 0.125,
            beta: 1.25,
            mean_packet: Bytes::new(1_500),
            ecn: false,
            ecn_threshold: Probability::from_f64(0.1).unwrap_or(Probability::ONE),
            derandomize: false,
            cap_adjustment: false,
        }
    }
}

impl PieConfig {
    /// Most that a weight may be; RFC 8033 needs some hundredths to some units.
    const MOST_WEIGHT: f64 = 1_000.0;
    /// Shorter times would cost a link thousands of updates a second.
    const LEAST_UPDATE: Duration = Duration::from_millis(1);

    pub(super) fn check(&self) -> Result<(), OptionError> {
        ensure_time("target", self.target)?;
        within("update", self.update, Self::LEAST_UPDATE, LONGEST)?;
        within("max_burst", self.max_burst, Duration::ZERO, LONGEST)?;
        for (field, weight) in [("alpha", self.alpha), ("beta", self.beta)] {
            ensure(weight > 0.0 && weight <= Self::MOST_WEIGHT, field, weight, "above 0 and at most 1000")?;
        }
        check_packet("mean_packet", self.mean_packet)?;
        ensure(
            self.ecn || self.ecn_threshold == Self::default().ecn_threshold,
            "ecn_threshold",
            self.ecn_threshold,
            "absent where ecn is false, because nothing is marked",
        )
    }
}

/// Accumulated probability below which derandomization drops nothing (section 5.4).
const LEAST_ACCUMULATED: f64 = 0.85;
/// Accumulated probability from which on derandomization drops for certain (section 5.4).
const MOST_ACCUMULATED: f64 = 8.5;
/// Probabilities below which an adjustment is divided, and by what (section 4.2).
const TUNING: [(f64, f64); 6] =
    [(0.000_001, 2_048.0), (0.000_01, 512.0), (0.000_1, 128.0), (0.001, 32.0), (0.01, 8.0), (0.1, 2.0)];
/// What is left of the probability after each update without delay (section 4.2).
const DECAY: f64 = 0.98;
/// Largest adjustment where it is capped, and the probability from which on it is (section 5.5).
const CAP: (f64, f64) = (0.02, 0.1);
/// Probability below which nothing is dropped while the delay is below half of the target (section 4.1).
const HARMLESS: f64 = 0.2;

/// What the updates change.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Control {
    drop_prob: f64,
    qdelay_old: Duration,
    burst_allowance: Duration,
}

#[derive(Debug)]
pub(super) struct Pie<T> {
    config: PieConfig,
    queue: Fifo<T>,
    key: Key,
    /// Packets that arrived: the number of the next, and the index of its draw.
    arrivals: u64,
    control: Control,
    accu_prob: f64,
    /// Waiting time of the packet that left last.
    last_wait: Duration,
    next_update: Instant,
}

impl<T: Copy> Pie<T> {
    pub(super) fn new(config: &PieConfig, key: Key) -> Self {
        let control =
            Control { drop_prob: 0.0, qdelay_old: Duration::ZERO, burst_allowance: config.max_burst };
        Self {
            config: *config,
            queue: Fifo::new(Limit { packets: config.packets, bytes: config.bytes }),
            key,
            arrivals: 0,
            control,
            accu_prob: 0.0,
            last_wait: Duration::ZERO,
            next_update: Instant::ZERO.saturating_add(config.update),
        }
    }

    pub(super) fn enqueue(&mut self, item: Item<T>, now: Instant, dropped: &mut impl FnMut(T, DropReason)) {
        self.catch_up(now);
        self.renew_burst_allowance();
        let index = self.arrivals;
        self.arrivals += 1;
        let mut packet = Waiting::new(item, now);
        if !self.queue.has_room(item.bytes) {
            self.accu_prob = 0.0;
            dropped(item.handle, DropReason::Full);
        } else if self.control.burst_allowance.is_zero() && self.drop_early(index) {
            self.accu_prob = 0.0;
            let may_mark = self.config.ecn && self.control.drop_prob < self.config.ecn_threshold.as_f64();
            if may_mark && packet.mark() {
                self.queue.push(packet);
            } else {
                dropped(item.handle, DropReason::Early);
            }
        } else {
            self.queue.push(packet);
        }
    }

    pub(super) fn dequeue(
        &mut self,
        now: Instant,
        _dropped: &mut impl FnMut(T, DropReason),
    ) -> Option<Waiting<T>> {
        self.catch_up(now);
        let packet = self.queue.take(now)?;
        self.last_wait = packet.waited(now);
        Some(packet)
    }

    pub(super) fn packets(&self) -> usize {
        self.queue.packets()
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    pub(super) const fn drop_probability(&self) -> f64 {
        self.control.drop_prob
    }

    /// The queueing delay now.
    fn current_qdelay(&self) -> Duration {
        if self.queue.packets() == 0 { Duration::ZERO } else { self.last_wait }
    }

    /// Section 4.4: bursts are allowed again when there is no congestion.
    fn renew_burst_allowance(&mut self) {
        let low = |qdelay: Duration| qdelay < self.config.target / 2;
        let calm =
            self.control.drop_prob == 0.0 && low(self.control.qdelay_old) && low(self.current_qdelay());
        if calm {
            self.control.burst_allowance = self.config.max_burst;
        }
    }

    /// Section 4.1: whether chance has it that the packet of this number is dropped.
    fn drop_early(&mut self, index: u64) -> bool {
        let Control { drop_prob, qdelay_old, .. } = self.control;
        let harmless = qdelay_old < self.config.target / 2 && drop_prob < HARMLESS;
        if harmless || self.queue.bytes() <= 2 * self.config.mean_packet.get() {
            return false;
        }
        if !self.config.derandomize {
            return self.key.unit(index) < drop_prob;
        }
        if drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += drop_prob;
        match self.accu_prob {
            few if few < LEAST_ACCUMULATED => false,
            many if many >= MOST_ACCUMULATED => true,
            _ => self.key.unit(index) < drop_prob,
        }
    }

    /// Makes all updates that are due by `now`.
    fn catch_up(&mut self, now: Instant) {
        while self.next_update <= now && self.next_update < Instant::MAX {
            let before = self.control;
            self.control = self.updated();
            // Where an update changes nothing, the others that are due change nothing either.
            let step = self.config.update.as_nanos().max(1);
            let due = if self.control == before { (now - self.next_update).as_nanos() / step } else { 0 };
            self.next_update =
                self.next_update.saturating_add(Duration::from_nanos(step.saturating_mul(due + 1)));
        }
    }

    /// Section 4.2: the state after one update.
    fn updated(&self) -> Control {
        let PieConfig { target, update, alpha, beta, cap_adjustment, .. } = self.config;
        let Control { drop_prob, qdelay_old, burst_allowance } = self.control;
        let current_qdelay = self.current_qdelay();
        let (current, old) = (current_qdelay.as_secs_f64(), qdelay_old.as_secs_f64());
        let p = alpha * (current - target.as_secs_f64()) + beta * (current - old);
        let divisor =
            TUNING.iter().find(|(below, _)| drop_prob < *below).map_or(1.0, |(_, divisor)| *divisor);
        let mut p = p / divisor;
        let (most, from) = CAP;
        if cap_adjustment && drop_prob >= from {
            p = p.min(most);
        }
        let mut drop_prob = drop_prob + p;
        if current_qdelay.is_zero() && qdelay_old.is_zero() {
            drop_prob *= DECAY;
        }
        Control {
            drop_prob: drop_prob.clamp(0.0, 1.0),
            qdelay_old: current_qdelay,
            burst_allowance: burst_allowance.saturating_sub(update),
        }
    }
}
