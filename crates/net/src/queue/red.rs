//! Random early detection.
//!
//! Source: Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance" (IEEE/ACM Transactions on Networking, 1993), figure 2,
//! whose names the variables have; `gentle` as in Floyd, "Recommendation on using the gentle_ variant of RED" (2000). Lengths are
//! bytes, but a packet's probability does not depend on its length (RFC 7141). A packet that finds the transmitter idle is admitted, as in ns-2:
//! to drop it would tell nobody of congestion, and could keep a link idle whose average is high.

use super::config::{Limit, check_packet};
use super::fifo::Fifo;
use super::{DropReason, Item, Waiting};
use crate::option_error::{OptionError, ensure};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use wasp_random::Key;
use wasp_units::{Bytes, Duration, Instant, Probability, Rate};

/// Parameters of RED.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct RedConfig {
    /// Most bytes that wait; 150 kB unless set: 100 packets of 1,500 bytes, the buffer of the paper's simulations.
    pub bytes: Bytes,
    /// Most packets that wait; `None` has no bound.
    pub packets: Option<u32>,
    /// min_th, the average queue from which on packets are dropped; 5 % of `bytes` unless set. That is five packets where `bytes` is not
    /// set, which Floyd's "RED: Discussions of Setting Parameters" (1997) advises.
    pub min: Threshold,
    /// max_th, the average queue at which the probability is `max_probability`; 15 % of `bytes` unless set, three times `min` by the same
    /// source.
    pub max: Threshold,
    /// w_q, the weight of the present queue in the average, one arrival long; 0.002 unless set (section 6 of the paper).
    pub weight: Probability,
    /// max_p, the value of p_b at `max`; 10 % unless set (Floyd 1997). A packet is dropped with p_a, which is larger the more packets were not dropped
    /// since the last that was.
    pub max_probability: Probability,
    /// Whether p_b rises from `max_probability` at `max` to 1 at twice `max`, instead of being 1 from `max` on; true unless set.
    pub gentle: bool,
    /// The packet whose transmission time is the step by which the average ages while the transmitter is idle; 500 bytes unless set. The
    /// paper's s is the time of a *small* packet, and 500 is the default of ns-2, so that results compare.
    pub mean_packet: Bytes,
    /// Whether ECN-capable packets are marked where others are dropped early; false unless set. From the upper end of the average on all
    /// packets are dropped, so that senders who ignore marks are held, too.
    pub ecn: bool,
}

impl Default for RedConfig {
    fn default() -> Self {
        let percent = |hundredths: f64| Probability::from_f64(hundredths / 100.0).unwrap_or(Probability::ONE);
        Self {
            bytes: Bytes::new(150_000),
            packets: None,
            min: Threshold::Share(percent(5.0)),
            max: Threshold::Share(percent(15.0)),
            weight: percent(0.2),
            max_probability: percent(10.0),
            gentle: true,
            mean_packet: Bytes::new(500),
            ecn: false,
        }
    }
}

impl RedConfig {
    pub(super) fn check(&self) -> Result<(), OptionError> {
        let (min, max) = (self.min.of(self.bytes), self.max.of(self.bytes));
        ensure(self.bytes.get() > 0, "bytes", self.bytes, "above zero")?;
        ensure(min < max, "min", self.min, format_args!("below max, {}", self.max.told(self.bytes)))?;
        ensure(
            max <= self.bytes.get() as f64,
            "max",
            self.max,
            format_args!("at most bytes, {}", self.bytes),
        )?;
        ensure(self.weight > Probability::ZERO, "weight", self.weight, "above 0%")?;
        ensure(
            self.max_probability > Probability::ZERO,
            "max_probability",
            self.max_probability,
            "above 0%",
        )?;
        ensure(self.mean_packet.get() > 0, "mean_packet", self.mean_packet, "above zero")?;
        check_packet("mean_packet", self.mean_packet)
    }
}

/// A length of queue: bytes, or a share of the most that may wait.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum Threshold {
    /// So many bytes.
    Bytes(Bytes),
    /// Such a share of `bytes` of the queue.
    Share(Probability),
}

impl Threshold {
    /// A share with what it is of.
    fn told(self, limit: Bytes) -> String {
        match self {
            Self::Bytes(bytes) => bytes.to_string(),
            Self::Share(share) => format!("{share} of {limit}"),
        }
    }

    /// The threshold in bytes where `limit` bytes may wait.
    pub(super) fn of(self, limit: Bytes) -> f64 {
        match self {
            Self::Bytes(bytes) => bytes.get() as f64,
            Self::Share(share) => share.as_f64() * limit.get() as f64,
        }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Share(share) => share.fmt(f),
        }
    }
}

impl FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let share = || text.parse().map(Self::Share);
        let expected =
            || format!("{text:?}: expected bytes such as 30KB, or a share of the queue such as 25%");
        text.parse().map(Self::Bytes).or_else(|_| share()).map_err(|_| expected())
    }
}

impl TryFrom<String> for Threshold {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Threshold> for String {
    fn from(threshold: Threshold) -> Self {
        threshold.to_string()
    }
}

/// What is decided of a packet on its arrival.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Verdict {
    Admit,
    Mark,
    Drop,
}

#[derive(Debug)]
pub(super) struct Red<T> {
    queue: Fifo<T>,
    min_th: f64,
    max_th: f64,
    w_q: f64,
    max_p: f64,
    gentle: bool,
    ecn: bool,
    /// s, the transmission time of the mean packet; `None` where transmission takes no time.
    step: Option<Duration>,
    key: Key,
    /// Packets that arrived: the number of the next, and the index of its draw.
    arrivals: u64,
    /// The average queue, bytes.
    avg: f64,
    /// Packets since the last that was dropped or marked early; -1 while the average is below `min_th`.
    count: i64,
    /// p_a of the last packet to arrive.
    p_a: f64,
}

impl<T: Copy> Red<T> {
    pub(super) fn new(config: &RedConfig, rate: Option<Rate>, key: Key) -> Self {
        let RedConfig { bytes, packets, min, max, weight, max_probability, gentle, mean_packet, ecn } =
            *config;
        Self {
            queue: Fifo::new(Limit { packets, bytes: Some(bytes) }),
            min_th: min.of(bytes),
            max_th: max.of(bytes),
            w_q: weight.as_f64(),
            max_p: max_probability.as_f64(),
            gentle,
            ecn,
            step: rate.map(|rate| rate.transmission_time(mean_packet.get())).filter(|step| !step.is_zero()),
            key,
            arrivals: 0,
            avg: 0.0,
            count: -1,
            p_a: 0.0,
        }
    }

    pub(super) fn enqueue(&mut self, item: Item<T>, now: Instant, dropped: &mut impl FnMut(T, DropReason)) {
        let idle_since = self.queue.idle_since();
        self.update_average(idle_since, now);
        let verdict = self.decide(item.ecn_capable, idle_since.is_some());
        if verdict == Verdict::Drop {
            dropped(item.handle, DropReason::Early);
        } else if self.queue.has_room(item.bytes) {
            self.queue.push(Waiting { marked: verdict == Verdict::Mark, ..Waiting::new(item, now) });
        } else {
            dropped(item.handle, DropReason::Full);
        }
    }

    pub(super) fn dequeue(
        &mut self,
        now: Instant,
        _dropped: &mut impl FnMut(T, DropReason),
    ) -> Option<Waiting<T>> {
        self.queue.take(now)
    }

    pub(super) fn packets(&self) -> usize {
        self.queue.packets()
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    pub(super) const fn average(&self) -> f64 {
        self.avg
    }

    pub(super) const fn drop_probability(&self) -> f64 {
        self.p_a
    }

    /// Brings the average to an arrival at `now`: one step towards the present queue, or, if the transmitter has been idle, as many steps
    /// towards zero as mean packets could have been sent.
    fn update_average(&mut self, idle_since: Option<Instant>, now: Instant) {
        self.avg = match (idle_since, self.step) {
            (None, _) => (1.0 - self.w_q) * self.avg + self.w_q * self.queue.bytes() as f64,
            (Some(_), None) => 0.0,
            (Some(q_time), Some(s)) => {
                let m = now.saturating_since(q_time).as_secs_f64() / s.as_secs_f64();
                self.avg * libm::pow(1.0 - self.w_q, m)
            }
        };
    }

    /// Decides by the average what becomes of the packet that arrives.
    fn decide(&mut self, ecn_capable: bool, is_idle: bool) -> Verdict {
        let index = self.arrivals;
        self.arrivals += 1;
        if self.avg < self.min_th {
            (self.count, self.p_a) = (-1, 0.0);
            return Verdict::Admit;
        }
        if is_idle {
            (self.count, self.p_a) = (self.count + 1, 0.0);
            return Verdict::Admit;
        }
        let Some(p_b) = self.base_probability() else {
            (self.count, self.p_a) = (0, 1.0);
            return Verdict::Drop;
        };
        self.count += 1;
        let left = 1.0 - self.count as f64 * p_b;
        self.p_a = if left > p_b { p_b / left } else { 1.0 };
        if self.key.unit(index) >= self.p_a {
            return Verdict::Admit;
        }
        self.count = 0;
        if self.ecn && ecn_capable { Verdict::Mark } else { Verdict::Drop }
    }

    /// p_b: the probability from `min_th` on, before the packets since the last drop are counted in; `None` where every packet is dropped.
    fn base_probability(&self) -> Option<f64> {
        let Self { avg, min_th, max_th, max_p, .. } = *self;
        if avg < max_th {
            Some(max_p * (avg - min_th) / (max_th - min_th))
        } else if self.gentle && avg < 2.0 * max_th {
            Some(max_p + (1.0 - max_p) * (avg - max_th) / max_th)
        } else {
            None
        }
    }
}
