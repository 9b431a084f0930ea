//! Where everything is in a network that was built.

use crate::node::{Route, Target};
use crate::{Direction, LinkId, Pair, RouterId};
use std::ops::Range;
use wasp_kernel::NodeId;
use wasp_wire::Address;

/// Where a host, or a device in its place, meets its link.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Port {
    /// The host's node.
    pub node: NodeId,
    /// The host's address.
    pub address: Address,
    /// The direction of its link that leads away from it.
    pub out: LinkId,
    /// The direction of its link that leads to it.
    pub into: LinkId,
    /// The router at the other end of its link.
    pub router: RouterId,
}

/// Where everything is in a network that was built.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The port of the server.
    pub server: Port,
    /// The links between routers, in the order of the description.
    pub links: Vec<Pair<LinkId>>,
    /// Which direction of each of those leads towards the server.
    pub towards_server: Vec<Direction>,
    /// The first number that no node has.
    pub next_node: NodeId,
    hosts: Vec<Port>,
    first: Option<Port>,
    /// The hosts in the order of their addresses.
    runs: Vec<Run>,
}

/// Hosts with consecutive addresses.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: Address,
    /// The number of the first of them.
    number: u32,
    count: u32,
}

impl Layout {
    /// Places of links from the one to a host to the one to the next host.
    const STEP: u32 = 2;

    /// The layout of a server and of hosts that come last: after the first host's, each node and each pair of links is the next host's. So which host
    /// an event is of follows from its link by subtraction, without a look at the network.
    ///
    /// # Panics
    /// If nodes or links have gaps.
    pub(super) fn new(
        server: Port,
        hosts: Vec<Port>,
        links: Vec<Pair<LinkId>>,
        towards_server: Vec<Direction>,
        next_node: NodeId,
    ) -> Self {
        let next = |port: &Port| (port.node.0 + 1, port.into.0 + Self::STEP);
        let follows = |pair: &[Port]| next(&pair[0]) == (pair[1].node.0, pair[1].into.0);
        assert!(hosts.windows(2).all(follows), "the hosts are consecutive");
        let mut runs = runs(&hosts, 0);
        runs.sort_by_key(|run| run.first);
        Self { server, links, towards_server, next_node, first: hosts.first().copied(), hosts, runs }
    }

    /// The ports of the hosts, in the order of their addresses.
    #[must_use]
    pub fn hosts(&self) -> &[Port] {
        &self.hosts
    }

    /// The number of the host that stands on this node.
    #[must_use]
    pub fn host_at(&self, node: NodeId) -> Option<u32> {
        node.0.checked_sub(self.first?.node.0)
    }

    /// The number of the host at the far end of this link.
    #[must_use]
    pub fn host_reached_by(&self, link: LinkId) -> Option<u32> {
        let places = link.0.checked_sub(self.first?.into.0)?;
        places.is_multiple_of(Self::STEP).then_some(places / Self::STEP)
    }

    /// The number of the host with this address.
    #[must_use]
    pub fn host_with(&self, address: Address) -> Option<u32> {
        let place = self.runs.partition_point(|run| run.first <= address).checked_sub(1)?;
        let Run { first, number, count } = self.runs[place];
        let further = address.distance_from(first).filter(|further| *further < count)?;
        Some(number + further)
    }

    /// The routes from their router to the hosts with these numbers: one for each run of consecutive addresses.
    pub(super) fn routes_to_hosts(&self, numbers: Range<usize>) -> Vec<Route> {
        let route = |Run { number, count, .. }: Run| {
            let (first, last) = (&self.hosts[number as usize], &self.hosts[(number + count - 1) as usize]);
            let target = Target::Links { first: first.into, step: Self::STEP };
            Route { first: first.address, last: last.address, target }
        };
        let start = numbers.start as u32;
        runs(&self.hosts[numbers], start).into_iter().map(route).collect()
    }
}

/// Runs of consecutive addresses among these hosts, of which the first has the number `start`.
fn runs(hosts: &[Port], start: u32) -> Vec<Run> {
    let mut number = start;
    let follows = |one: &Port, next: &Port| one.address.offset(1) == Some(next.address);
    let run = |run: &[Port]| {
        let found = Run { first: run[0].address, number, count: run.len() as u32 };
        number += found.count;
        found
    };
    hosts.chunk_by(follows).map(run).collect()
}
