//! The links between each group's clients and the server.

use super::topology;
use crate::Scenario;
use std::sync::Arc;
use wasp_net::topology::{Hop, Paths, RouteTo, Topology};
use wasp_net::{Direction, LinkConfig, Pair};
use wasp_random::Key;
use wasp_units::Duration;

/// The links that the packets of a group's clients cross. Forward is towards the server.
#[derive(Clone, Debug)]
pub(crate) struct GroupPaths {
    /// The access link of a client.
    pub(crate) own: Pair<Arc<LinkConfig>>,
    /// The links between routers, in the order in which they are crossed.
    pub(crate) hops: Pair<Vec<Hop>>,
    /// What these and the link before the server do, likewise: the links that clients share.
    pub(crate) shared: Pair<Vec<Arc<LinkConfig>>>,
}

/// The paths of each group in a checked scenario.
pub(crate) fn group_paths(scenario: &Scenario) -> Vec<GroupPaths> {
    let topology = topology(scenario, Key::root(0, 0));
    let mut paths = Paths::of(&topology);
    (0..topology.blocks.len()).map(|group| GroupPaths::of(&topology, &mut paths, group)).collect()
}

impl GroupPaths {
    /// The paths of the group with this place in a checked internetwork.
    pub(super) fn of(topology: &Topology, paths: &mut Paths<'_>, group: usize) -> Self {
        let block = &topology.blocks[group];
        let mut path = |from, to| paths.path(from, to).expect("a checked network has routes");
        let hops = Pair {
            forward: path(block.at, RouteTo::Server),
            backward: path(topology.server.at, RouteTo::Block(group)),
        };
        let config = |(link, direction): &Hop| Arc::clone(topology.links[*link].directions.get(*direction));
        let server = topology.server.directions.clone();
        let forward = hops.forward.iter().map(config).chain([server.forward]).collect();
        let backward = [server.backward].into_iter().chain(hops.backward.iter().map(config)).collect();
        let own = block.hosts.first().expect("a checked group has clients").directions.clone();
        Self { own, hops, shared: Pair { forward, backward } }
    }

    /// The links in one direction, in the order in which they are crossed.
    pub(super) fn links(&self, direction: Direction) -> Vec<&LinkConfig> {
        let own = [self.own.get(direction)].into_iter();
        let shared = self.shared.get(direction).iter();
        match direction {
            Direction::Forward => own.chain(shared).map(Arc::as_ref).collect(),
            Direction::Backward => shared.chain(own).map(Arc::as_ref).collect(),
        }
    }

    /// Mean time of a round trip without queues and serialisation.
    pub(crate) fn round_trip(&self) -> Duration {
        self.sum(LinkConfig::mean_delay)
    }

    /// Time of a round trip without queues, serialisation and jitter.
    pub(crate) fn propagation(&self) -> Duration {
        self.sum(|config| config.delay)
    }

    fn sum(&self, time: impl Fn(&LinkConfig) -> Duration) -> Duration {
        let links = Direction::BOTH.into_iter().flat_map(|direction| self.links(direction));
        links.fold(Duration::ZERO, |sum, config| sum + time(config))
    }
}
