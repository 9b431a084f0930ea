//! The share of a run's clients that one of several threads has.

use crate::Sites;
use crate::build::Addresses;
use crate::scenario::{CrossTraffic, LoadedLink, Mode, Scenario, ScenarioError};
use std::sync::Arc;

/// Every `count`th client, from the one with this index. The parts of a run meet only in the device: see [`Scenario::check_threads`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Shard {
    index: u32,
    count: u32,
}

impl Shard {
    /// All clients.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// Share number `index` of `count`.
    ///
    /// # Panics
    /// If there is no such share.
    #[must_use]
    pub fn new(index: u32, count: u32) -> Self {
        assert!(index < count, "share {index} of {count}");
        Self { index, count }
    }

    /// Which share of `count` has the client with this index.
    #[must_use]
    pub const fn of_client(client: u32, count: u32) -> u32 {
        client % count
    }

    /// Whether it has the client with this index.
    #[must_use]
    pub const fn has(self, client: u32) -> bool {
        Self::of_client(client, self.count) == self.index
    }
}

/// What one thread runs: its shard of the clients of a checked scenario, whose files are those of `sites`.
#[derive(Clone, Copy, Debug)]
pub struct Share<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Its files.
    pub sites: &'a Arc<Sites>,
    /// The thread's clients.
    pub shard: Shard,
}

impl Scenario {
    /// Whether so many threads can share the clients.
    ///
    /// # Errors
    /// Something that all clients share has a state: a link with a rate, a queue or an impairment. Or their addresses have gaps.
    pub fn check_threads(&self, threads: usize) -> Result<(), ScenarioError> {
        for (field, direction) in self.network.emulated_directions() {
            if threads > 1 && direction.has_state() {
                return Err(ScenarioError::new(
                    "emulator_cpus",
                    format!(
                        "{threads} CPUs; {field} has a rate, a queue, loss or another impairment, which all \
                         clients share, so that one thread must have them all: one CPU would be valid"
                    ),
                ));
            }
        }
        let shared =
            |traffic: &&CrossTraffic| !matches!(self.loaded_link(&traffic.link), Some(LoadedLink::Access(_)));
        if let Some(traffic) = self.network.cross_traffic.iter().find(shared).filter(|_| threads > 1) {
            return Err(ScenarioError::new(
                "emulator_cpus",
                format!(
                    "{threads} CPUs; network.cross_traffic.{} loads a link that all clients share, so that one thread must \
                     have them all: one CPU would be valid",
                    traffic.name
                ),
            ));
        }
        if threads > 1 && !Addresses::of(self)?.are_consecutive() {
            return Err(ScenarioError::new(
                "emulator_cpus",
                format!(
                    "{threads} CPUs; the addresses of the groups do not follow each other, because of a subnet or an address \
                     that network.nodes or network.links names, and threads share the clients by consecutive \
                     addresses: one CPU would be valid"
                ),
            ));
        }
        if threads > 1 && self.mode == Mode::Shim {
            return Err(ScenarioError::new(
                "emulator_cpus",
                format!(
                    "{threads} CPUs; one thread must have the device of all clients: one CPU would be valid"
                ),
            ));
        }
        Ok(())
    }

    /// Whether there is a device for the clients where they are programs, and none where they are emulated.
    ///
    /// # Errors
    /// It is missing, or it would have no effect.
    pub fn check_client_device(&self, given: bool) -> Result<(), ScenarioError> {
        let wanted = self.mode == Mode::Shim;
        let error = |message: &str| Err(ScenarioError::new("client_device", message));
        match (wanted, given) {
            (true, false) => error("absent; mode shim needs a device for the clients"),
            (false, true) => error("given; only mode shim has a device for the clients"),
            _ => Ok(()),
        }
    }
}
