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
    hosts: Vec<Port>,
    first: Option<Port>,
}

impl Layout {
    /// Places of links from the one to a host to the one to the next host.
    const STEP: u32 = 2;

    /// The layout of a server and of hosts that come last: after the first host's, each node and each pair of links is the next host's. So which host
    /// an event is of follows from its link by subtraction, without a look at the network. The addresses of the hosts are consecutive, too.
    ///
    /// # Panics
    /// If addresses, nodes or links have gaps.
    pub(super) fn new(
        server: Port,
        hosts: Vec<Port>,
        links: Vec<Pair<LinkId>>,
        towards_server: Vec<Direction>,
    ) -> Self {
        let next = |port: &Port| (port.address.offset(1), port.node.0 + 1, port.into.0 + Self::STEP);
        let follows =
            |pair: &[Port]| next(&pair[0]) == (Some(pair[1].address), pair[1].node.0, pair[1].into.0);
        assert!(hosts.windows(2).all(follows), "the hosts are consecutive");
        Self { server, links, towards_server, first: hosts.first().copied(), hosts }
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
        let number = address.distance_from(self.first?.address)?;
        ((number as usize) < self.hosts.len()).then_some(number)
    }

    /// The route from their router to the hosts with these numbers, if there are any.
    pub(super) fn route_to_hosts(&self, numbers: Range<usize>) -> Option<Route> {
        let hosts = &self.hosts[numbers];
        let (first, last) = (hosts.first()?, hosts.last()?);
        let target = Target::Links { first: first.into, step: Self::STEP };
        Some(Route { first: first.address, last: last.address, target })
    }
}
