//! How pauses begin: as if they had been going on for ever.

use crate::Delay;
use wasp_random::Key;
use wasp_units::{Duration, Instant};

/// Pauses are short of which so many take as long as the warm-up.
const SHORT: u64 = 8;

/// The start of a user whose requests and pauses alternate, as though the run had been going on long before.
///
/// In the long run, the share of users who pause is E[pause] / (E[pause] + E[response]) whatever the law of the pauses (the station of
/// the thinking users is insensitive to it: Baskett, Chandy, Muntz and Palacios, J. ACM 22, 1975), and what is left of a pause has
/// the law of residual life (Cox, "Renewal Theory", 1962, section 5.2). So the run need not know how long responses take:
///
/// ```text
/// 0 ───────────────────────── end of the warm-up ──────────────►
///  pauses are exponential       │ of each pause that lasts till here, a residual is left;
///                               │ those that begin here have the law
/// ```
///
/// Exponential pauses of the same mean bring the share about within one pause or one response, whichever is shorter.
///
/// Where pauses are short beside the warm-up, all users ask in its first half, so that they do not all begin at once; its second half
/// brings the share about. Where they are longer that would take too long, and users begin in a pause.
#[derive(Clone, Copy, Debug)]
pub struct Equilibrium {
    law: Delay,
    mean: Duration,
    warmup: Duration,
    key: Key,
}

impl Equilibrium {
    /// The start of the user with this key, whose pauses have this `law` when the warm-up is over.
    #[must_use]
    pub fn new(law: Delay, warmup: Duration, key: Key) -> Self {
        Self { law, mean: law.mean(), warmup, key }
    }

    /// When the user asks for the first time on its connection number `lane`.
    #[must_use]
    pub fn first(&self, lane: u64) -> Instant {
        if self.mean > self.warmup / SHORT {
            return self.memoryless(Instant::ZERO, self.key.name("first"), lane);
        }
        let offset = (u128::from((self.warmup / 2).as_nanos()) * u128::from(self.key.draw(lane))) >> 64;
        Instant::ZERO + Duration::from_nanos(offset as u64)
    }

    /// Until when pause number `index` lasts if it begins at `now`; `None` if it has the law, since the warm-up is over by then.
    #[must_use]
    pub fn pause(&self, now: Instant, index: u64) -> Option<Instant> {
        let in_warmup = !self.mean.is_zero() && now < Instant::ZERO + self.warmup;
        in_warmup.then(|| self.memoryless(now, self.key.name("pause"), index))
    }

    /// The end of a pause that begins at `now`. It has no memory, so what is left of it at the end of the warm-up may be drawn at once.
    fn memoryless(&self, now: Instant, key: Key, index: u64) -> Instant {
        let end = Instant::ZERO + self.warmup;
        let until = now.saturating_add(Delay::Exponential { mean: self.mean }.draw(key, index));
        if until < end { until } else { end.saturating_add(self.law.residual(key.name("residual"), index)) }
    }
}
