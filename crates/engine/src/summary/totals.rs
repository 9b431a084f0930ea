//! What network and modelled server have done, at the boundaries of the measured interval.

use crate::Model;
use wasp_host::TcpTotals;
use wasp_net::{Direction, LinkId, Network, Observer, Pair};
use wasp_units::{Duration, Instant};

/// Sums over the links of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DirectionTotals {
    pub(crate) packets: u64,
    pub(crate) lost: u64,
    pub(crate) dropped: u64,
    pub(crate) dropped_early: u64,
    pub(crate) corrupted: u64,
    pub(crate) duplicated: u64,
    pub(crate) held: u64,
    pub(crate) reordered: u64,
    /// Sum of the packets' conditional probabilities of loss.
    pub(crate) expected: f64,
    /// Sum of their q(1-q).
    pub(crate) variance: f64,
    /// Sum of the long-run rates of the loss models that they met.
    pub(crate) stationary: f64,
}

/// Both directions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) up: DirectionTotals,
    pub(crate) down: DirectionTotals,
}

impl Totals {
    pub(crate) fn of<O: Observer>(model: &Model<O>) -> Self {
        let (network, layout) = (&model.network, &model.layout);
        let mut totals = Self::default();
        for port in layout.hosts() {
            totals.up.add(network, port.out, true);
            totals.down.add(network, port.into, true);
        }
        totals.up.add(network, layout.server.into, false);
        totals.down.add(network, layout.server.out, false);
        for (Pair { forward, backward }, towards_server) in layout.links.iter().zip(&layout.towards_server) {
            let (up, down) = match towards_server {
                Direction::Forward => (forward, backward),
                Direction::Backward => (backward, forward),
            };
            totals.up.add(network, *up, false);
            totals.down.add(network, *down, false);
        }
        totals
    }
}

impl DirectionTotals {
    /// Adds a link. Every packet crosses one access link, so only there is it counted as a packet.
    fn add<O: Observer>(&mut self, network: &Network<O>, id: LinkId, access: bool) {
        let link = network.link(id);
        let (counters, loss) = (link.counters(), link.config().loss);
        let (expected, variance) = loss.expected(&counters.loss);
        self.packets += if access { counters.packets } else { 0 };
        self.lost += counters.loss.lost;
        self.dropped += counters.dropped;
        self.dropped_early += counters.dropped_early;
        self.corrupted += counters.corrupted;
        self.duplicated += counters.duplicated;
        self.held += counters.held;
        self.reordered += counters.reordered;
        self.expected += expected;
        self.variance += variance;
        self.stationary += loss.stationary_rate() * counters.loss.packets() as f64;
    }

    fn merge(&mut self, other: &Self) {
        self.packets += other.packets;
        self.lost += other.lost;
        self.dropped += other.dropped;
        self.dropped_early += other.dropped_early;
        self.corrupted += other.corrupted;
        self.duplicated += other.duplicated;
        self.held += other.held;
        self.reordered += other.reordered;
        self.expected += other.expected;
        self.variance += other.variance;
        self.stationary += other.stationary;
    }

    fn since(&self, earlier: &Self) -> Self {
        Self {
            packets: self.packets - earlier.packets,
            lost: self.lost - earlier.lost,
            dropped: self.dropped - earlier.dropped,
            dropped_early: self.dropped_early - earlier.dropped_early,
            corrupted: self.corrupted - earlier.corrupted,
            duplicated: self.duplicated - earlier.duplicated,
            held: self.held - earlier.held,
            reordered: self.reordered - earlier.reordered,
            expected: self.expected - earlier.expected,
            variance: self.variance - earlier.variance,
            stationary: self.stationary - earlier.stationary,
        }
    }
}

/// The account when the measured interval began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watch {
    totals: Totals,
    server_cpu: Duration,
    server_tcp: TcpTotals,
}

/// The account over the measured interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub(crate) totals: Totals,
    /// CPU time that the modelled server used, and its cores.
    pub(crate) server_cpu: Option<(Duration, usize)>,
    /// What the modelled server's TCP did.
    pub(crate) server_tcp: Option<TcpTotals>,
}

impl Measured {
    /// Adds the account of other clients before the same server.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.totals.up.merge(&other.totals.up);
        self.totals.down.merge(&other.totals.down);
    }
}

impl Watch {
    pub(crate) fn new<O: Observer>(model: &Model<O>, now: Instant) -> Self {
        let server_cpu = model.server_cpu(now).map_or(Duration::ZERO, |(used, _)| used);
        Self { totals: Totals::of(model), server_cpu, server_tcp: model.server_tcp().unwrap_or_default() }
    }

    /// What has been done since, the interval being over now.
    pub(crate) fn until<O: Observer>(&self, model: &Model<O>, now: Instant) -> Measured {
        let end = Totals::of(model);
        let used = |(used, cores): (Duration, usize)| (used.saturating_sub(self.server_cpu), cores);
        Measured {
            totals: Totals { up: end.up.since(&self.totals.up), down: end.down.since(&self.totals.down) },
            server_cpu: model.server_cpu(now).map(used),
            server_tcp: model.server_tcp().map(|end| end.since(&self.server_tcp)),
        }
    }
}
