//! What network and modelled server have done, at the boundaries of the measured interval.

use crate::Model;
use crate::cross::by_link;
use wasp_app::{TcpTotals, WorkDone};
use wasp_net::{CrossCounters, Direction, LinkCounters, LinkId, Loss, Observer, Pair};
use wasp_units::{Duration, Instant};

/// Sums over the links of one direction. What cross traffic did there is left out, but from `held` and `reordered`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DirectionTotals {
    pub(crate) packets: u64,
    pub(crate) lost: u64,
    pub(crate) dropped: u64,
    pub(crate) dropped_early: u64,
    pub(crate) marked: u64,
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
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) up: DirectionTotals,
    pub(crate) down: DirectionTotals,
    /// What became of each cross traffic of the scenario.
    pub(crate) cross: Vec<CrossCounters>,
}

impl Totals {
    pub(crate) fn of<O: Observer>(model: &Model<O>) -> Self {
        let (network, layout) = (&model.network, &model.layout);
        let mut totals = Self::default();
        let cross = by_link(network);
        let link = |id: &LinkId| {
            let link = network.link(*id);
            let counters = cross.get(id).map_or(*link.counters(), |cross| link.counters().without(cross));
            (counters, link.config().loss)
        };
        for port in layout.hosts() {
            totals.up.add_access(link(&port.out));
            totals.down.add_access(link(&port.into));
        }
        totals.up.add(link(&layout.server.into));
        totals.down.add(link(&layout.server.out));
        for (Pair { forward, backward }, towards_server) in layout.links.iter().zip(&layout.towards_server) {
            let (up, down) = match towards_server {
                Direction::Forward => (forward, backward),
                Direction::Backward => (backward, forward),
            };
            totals.up.add(link(up));
            totals.down.add(link(down));
        }
        totals.cross = model.cross.counters(network);
        totals
    }

    /// What has been done since an earlier time.
    fn since(&self, earlier: &Self) -> Self {
        // Of a run that was stopped before the interval nothing was counted earlier.
        let before = |place: usize| earlier.cross.get(place).copied().unwrap_or_default();
        let cross = self.cross.iter().enumerate();
        Self {
            up: self.up.since(&earlier.up),
            down: self.down.since(&earlier.down),
            cross: cross.map(|(place, now)| now.since(&before(place))).collect(),
        }
    }

    fn merge(&mut self, other: &Self) {
        self.up.merge(&other.up);
        self.down.merge(&other.down);
        for (mine, theirs) in self.cross.iter_mut().zip(&other.cross) {
            mine.add(theirs);
        }
    }
}

impl DirectionTotals {
    /// Adds an access link. Every packet crosses one, so only there is it counted as a packet.
    fn add_access(&mut self, (counters, loss): (LinkCounters, Loss)) {
        self.packets += counters.packets;
        self.add((counters, loss));
    }

    fn add(&mut self, (counters, loss): (LinkCounters, Loss)) {
        let (expected, variance) = loss.expected(&counters.loss);
        self.lost += counters.loss.lost;
        self.dropped += counters.dropped;
        self.dropped_early += counters.dropped_early;
        self.marked += counters.marked;
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
        self.marked += other.marked;
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
            marked: self.marked - earlier.marked,
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
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    totals: Totals,
    server_cpu: Duration,
    server_tcp: TcpTotals,
    server_work: WorkDone,
}

/// The account over the measured interval.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) totals: Totals,
    /// CPU time that the modelled server used, and its cores.
    pub(crate) server_cpu: Option<(Duration, usize)>,
    /// What the modelled server's TCP did.
    pub(crate) server_tcp: Option<TcpTotals>,
    /// What the jobs of the modelled server cost, if it has jobs.
    pub(crate) server_work: Option<WorkDone>,
}

impl Measured {
    /// Adds the account of other clients before the same server.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.totals.merge(&other.totals);
    }
}

impl Watch {
    pub(crate) fn new<O: Observer>(model: &Model<O>, now: Instant) -> Self {
        let server_cpu = model.server_cpu(now).map_or(Duration::ZERO, |(used, _)| used);
        Self {
            totals: Totals::of(model),
            server_cpu,
            server_tcp: model.server_tcp().unwrap_or_default(),
            server_work: model.server_work().unwrap_or_default(),
        }
    }

    /// What has been done since, the interval being over now.
    pub(crate) fn until<O: Observer>(&self, model: &Model<O>, now: Instant) -> Measured {
        let end = Totals::of(model);
        let used = |(used, cores): (Duration, usize)| (used.saturating_sub(self.server_cpu), cores);
        Measured {
            totals: end.since(&self.totals),
            server_cpu: model.server_cpu(now).map(used),
            server_tcp: model.server_tcp().map(|end| end.since(&self.server_tcp)),
            server_work: model.server_work().map(|end| end.since(&self.server_work)),
        }
    }
}
