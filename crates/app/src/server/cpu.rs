//! The CPU of the modelled server: first come, first served, at fixed costs.

use serde::{Deserialize, Serialize};
use wasp_units::{Duration, Instant};

/// What work costs, in CPU time.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// Accepting a connection.
    pub per_connection: Duration,
    /// Answering a request.
    pub per_request: Duration,
    /// Each 1,024 bytes of a request's or a response's body, pro rata.
    pub per_kib: Duration,
    /// Each packet that arrives.
    pub per_packet: Duration,
}

/// Cores that share one queue of jobs.
#[derive(Debug)]
pub struct Cpu {
    costs: Costs,
    /// When each core is done with the jobs it has.
    free_at: Vec<Instant>,
    /// All work given so far.
    work: Duration,
}

impl Cpu {
    /// A CPU with so many cores (one at least).
    #[must_use]
    pub fn new(cores: usize, costs: Costs) -> Self {
        Self { costs, free_at: vec![Instant::ZERO; cores.max(1)], work: Duration::ZERO }
    }

    /// What work costs.
    #[must_use]
    pub const fn costs(&self) -> &Costs {
        &self.costs
    }

    /// Queues a job at `now`; returns when it will be done.
    pub fn work(&mut self, now: Instant, cost: Duration) -> Instant {
        self.work += cost;
        let core = self.free_at.iter_mut().min().expect("a CPU has a core");
        *core = (*core).max(now) + cost;
        *core
    }

    /// Queues the work of the network stack for a packet. What TCP does about it does not wait for that.
    pub fn receive(&mut self, now: Instant) {
        if !self.costs.per_packet.is_zero() {
            self.work(now, self.costs.per_packet);
        }
    }

    /// Queues the job of answering a request with `body` bytes; returns when it will be done.
    pub fn serve(&mut self, now: Instant, body: u64) -> Instant {
        let per_body = u128::from(self.costs.per_kib.as_nanos()) * u128::from(body) / 1024;
        self.work(now, self.costs.per_request + Duration::from_nanos(per_body as u64))
    }

    /// CPU time used up to `now`, over all cores. Each core works without a gap until it is free.
    #[must_use]
    pub fn used(&self, now: Instant) -> Duration {
        let ahead: Duration = self.free_at.iter().map(|free| free.saturating_since(now)).sum();
        self.work.saturating_sub(ahead)
    }

    /// Number of cores.
    #[must_use]
    pub const fn cores(&self) -> usize {
        self.free_at.len()
    }
}
