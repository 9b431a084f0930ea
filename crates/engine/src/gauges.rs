//! What is read once a second: the network's counts, the server's CPU, the worst lag.

use crate::links::{LinkSampler, NamedDirection};
use crate::{Gauges, Model, ObservedLink};
use wasp_net::{Crossings, Direction, Observer};
use wasp_units::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

/// Turns running totals into one entry a second.
#[derive(Debug)]
pub(crate) struct Sampler {
    next: Instant,
    crossed: [Crossings; 2],
    server_cpu: Duration,
    links: LinkSampler,
}

impl Sampler {
    /// `observed` are the links of the model that are observed.
    pub(crate) fn new<O: Observer>(observed: Vec<NamedDirection>, model: &mut Model<O>) -> Self {
        let links = LinkSampler::new(observed, model);
        Self { next: Instant::ZERO + SECOND, crossed: Default::default(), server_cpu: Duration::ZERO, links }
    }

    /// The next boundary between seconds.
    pub(crate) const fn next(&self) -> Instant {
        self.next
    }

    /// Closes the second that has ended by `now`, if one has; everything before its end has happened, and nothing since. `machine` reads the server's busy share since its last call and the worst lag.
    pub(crate) fn sample<O: Observer>(
        &mut self,
        now: Instant,
        model: &mut Model<O>,
        machine: impl FnOnce() -> (Option<f64>, Option<u64>),
    ) {
        if now < self.next {
            return;
        }
        let (busy, lag_max_ns) = machine();
        let [up, down] = Direction::BOTH.map(|direction| model.network.crossed(direction));
        let modelled = model.server_cpu(self.next).map(|(used, cores)| {
            let share = used.saturating_sub(self.server_cpu).as_secs_f64() / cores as f64;
            self.server_cpu = used;
            share
        });
        let gauges = Gauges {
            up: since(up, self.crossed[0]),
            down: since(down, self.crossed[1]),
            server_busy: modelled.or(busy),
            lag_max_ns,
        };
        model.ledger.note_gauges(self.next, gauges);
        self.links.sample(self.next, model);
        self.crossed = [up, down];
        self.next += SECOND;
    }

    /// The measured interval begins `now`, before which everything has happened.
    pub(crate) fn mark_start<O: Observer>(&mut self, now: Instant, model: &mut Model<O>) {
        self.links.mark_start(now, model);
    }

    /// Closes what is left of a second at the `end` of the run, and returns the links that were observed.
    pub(crate) fn finish<O: Observer>(self, end: Instant, model: &mut Model<O>) -> Vec<ObservedLink> {
        self.links.finish(end, model)
    }
}

fn since(now: Crossings, before: Crossings) -> Crossings {
    Crossings { packets: now.packets - before.packets, lost: now.lost - before.lost }
}
