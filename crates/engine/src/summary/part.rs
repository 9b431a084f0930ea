//! What one thread of a run leaves behind, and how the parts become one.

use crate::lateness::Lateness;
use crate::links::rows;
use crate::summary::totals::Measured;
use crate::{Ledger, LinkRow, MachineReport, Model, ObservedLink, RunError, Scenario};
use wasp_net::{Fates, Observer};

/// The records and counts of the clients that one thread had; [`super::sum_up`] makes figures of them.
#[derive(Debug)]
pub struct Part {
    pub(super) ledger: Ledger,
    pub(super) links: Vec<LinkRow>,
    pub(super) observed: Vec<ObservedLink>,
    pub(super) measured: Measured,
    pub(super) fates: Fates,
    /// Packets made, and those whose fate is open.
    pub(super) packets: (u64, u64),
    /// How often the payload pool was exhausted.
    pub(super) exhausted: u64,
    /// Of a live run.
    pub(super) lateness: Option<Lateness>,
    pub(super) machine: MachineReport,
    pub(super) events: u64,
    pub(super) failure: Option<RunError>,
    pub(super) threads: u32,
}

impl Part {
    pub(crate) fn new<O: Observer>(
        scenario: &Scenario,
        mut model: Model<O>,
        (measured, observed): (Measured, Vec<ObservedLink>),
        lateness: Option<Lateness>,
        machine: MachineReport,
        events: u64,
        failure: Option<RunError>,
    ) -> Self {
        let strays = model.ledger.attribute(model.network.flows.take_strays());
        let network = &mut model.network;
        Self {
            links: rows(scenario, network, &model.layout, model.ledger.interval().end(), &strays),
            observed,
            measured,
            fates: *network.fates(),
            packets: (network.made(), network.in_flight()),
            exhausted: network.pool.exhausted(),
            ledger: model.ledger,
            lateness,
            machine,
            events,
            failure,
            threads: 1,
        }
    }

    /// Whether the run ended before its time because something failed.
    #[must_use]
    pub const fn failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Whether the run ended before the measured interval was over.
    pub(super) fn is_stopped(&self, scenario: &Scenario) -> bool {
        self.ledger.interval().duration() < scenario.measure.duration
    }

    /// Adds the part of another thread of the same run.
    pub(super) fn merge(&mut self, other: Self) {
        self.ledger.merge(other.ledger);
        for (row, more) in self.links.iter_mut().zip(&other.links) {
            row.merge(more);
        }
        ObservedLink::merge(&mut self.observed, other.observed);
        self.measured.merge(&other.measured);
        self.fates.merge(&other.fates);
        self.packets = (self.packets.0 + other.packets.0, self.packets.1 + other.packets.1);
        self.exhausted += other.exhausted;
        if let (Some(lateness), Some(more)) = (&mut self.lateness, &other.lateness) {
            lateness.merge(more);
        }
        self.machine.merge(other.machine);
        self.events += other.events;
        self.failure = self.failure.take().or(other.failure);
        self.threads += other.threads;
    }
}
