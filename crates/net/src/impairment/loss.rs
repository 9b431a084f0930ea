//! Random loss: independent, periodic, and the two-state model of Nahum et al., "The Effects of Wide-Area Conditions on WWW Server
//! Performance" (SIGMETRICS 2001), section 3.4.

use serde::{Deserialize, Serialize};
use wasp_random::Key;
use wasp_units::Probability;

/// How packets are lost at random.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(tag = "model", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Loss {
    /// None is.
    #[default]
    None,
    /// Each packet with the same probability.
    Independent {
        /// The probability.
        rate: Probability,
    },
    /// Exactly one of so many packets: the last of each period. For comparisons with formulas, and without chance.
    Periodic {
        /// The period, packets.
        every: u64,
    },
    /// A chain that steps once a packet and loses every packet that finds it in `bad` after the step.
    TwoState {
        /// Probability of leaving `good`: that a packet is lost although the one before was not.
        p: Probability,
        /// Probability of leaving `bad`: that a packet is not lost although the one before was.
        r: Probability,
        /// The state before the first packet.
        #[serde(default)]
        start: Start,
    },
}

/// The state of a two-state chain before its first packet.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// `good`, as in the paper.
    #[default]
    Good,
    /// Drawn from the stationary distribution, p / (p + r) for `bad`.
    Stationary,
}

/// What shares one chain.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Each direction of each connection has its own.
    #[default]
    Direction,
    /// Each connection has one for both directions.
    Connection,
    /// Each direction of the link has one for all that crosses it.
    Link,
}

/// The state of one loss process: a two-state chain, or just the number of the next packet.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Chain {
    packets: u64,
    bad: bool,
}

/// Packets that met a loss model, by the conditional probability they met.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct LossTally {
    /// Packets that found the chain in `good` (all, if loss is independent).
    pub from_good: u64,
    /// Packets that found it in `bad`.
    pub from_bad: u64,
    /// Packets that were lost.
    pub lost: u64,
}

impl LossTally {
    /// Packets that met the model.
    #[must_use]
    pub const fn packets(&self) -> u64 {
        self.from_good + self.from_bad
    }
}

impl Loss {
    /// Decides the next packet of `chain`, whose draws belong to `key`.
    pub fn lose(self, chain: &mut Chain, key: Key, tally: &mut LossTally) -> bool {
        let (leave_good, stay_bad) = match self {
            Self::None => return false,
            Self::Independent { rate } => (rate, rate),
            Self::Periodic { every } => return lose_periodically(every, chain, tally),
            Self::TwoState { p, r, start } => {
                if chain.packets == 0 && start == Start::Stationary {
                    chain.bad = key.happens(u64::MAX, stationary(p, r));
                }
                (p, r.complement())
            }
        };
        let independent = matches!(self, Self::Independent { .. });
        let from_bad = chain.bad && !independent;
        let lost = key.happens(chain.packets, if from_bad { stay_bad } else { leave_good });
        *(if from_bad { &mut tally.from_bad } else { &mut tally.from_good }) += 1;
        tally.lost += u64::from(lost);
        chain.packets += 1;
        chain.bad = lost;
        lost
    }

    /// The sum over the packets of `tally` of their conditional probabilities of loss q, and of q(1-q): the expectation and the variance of
    /// the number lost.
    #[must_use]
    pub fn expected(self, tally: &LossTally) -> (f64, f64) {
        let (good, bad) = match self {
            Self::None => (0.0, 0.0),
            Self::Independent { rate } => (rate.as_f64(), 0.0),
            Self::Periodic { .. } => (0.0, 1.0),
            Self::TwoState { p, r, .. } => (p.as_f64(), r.complement().as_f64()),
        };
        let (from_good, from_bad) = (tally.from_good as f64, tally.from_bad as f64);
        (from_good * good + from_bad * bad, from_good * good * (1.0 - good) + from_bad * bad * (1.0 - bad))
    }

    /// The long-run rate at which runs of losses begin: of all packets, the share that is lost after one that was not. Of independent losses each begins one.
    #[must_use]
    pub fn event_rate(self) -> f64 {
        match self {
            Self::TwoState { r, .. } => self.stationary_rate() * r.as_f64(),
            _ => self.stationary_rate(),
        }
    }

    /// The long-run loss rate: p / (p + r) for two states.
    #[must_use]
    pub fn stationary_rate(self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Independent { rate } => rate.as_f64(),
            Self::Periodic { every } => 1.0 / every.max(1) as f64,
            Self::TwoState { p, r, .. } => stationary(p, r).as_f64(),
        }
    }
}

/// The packet that ends a period has found the state in which all are lost.
fn lose_periodically(every: u64, chain: &mut Chain, tally: &mut LossTally) -> bool {
    chain.packets += 1;
    chain.bad = chain.packets.is_multiple_of(every);
    *(if chain.bad { &mut tally.from_bad } else { &mut tally.from_good }) += 1;
    tally.lost += u64::from(chain.bad);
    chain.bad
}

/// The stationary probability of `bad`; zero for a chain that never moves.
fn stationary(p: Probability, r: Probability) -> Probability {
    let (p, r) = (p.as_f64(), r.as_f64());
    if p + r == 0.0 {
        Probability::ZERO
    } else {
        Probability::from_f64(p / (p + r)).unwrap_or(Probability::ONE)
    }
}
