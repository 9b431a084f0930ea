//! The star: each client on an access link of its own to one router, and one shared link from there to the server.

use crate::flow::Meter;
use crate::{Direction, LinkConfig, LinkId, Network, Observer, Scope};
use wasp_kernel::NodeId;
use wasp_random::Key;
use wasp_wire::Address;

/// The access link of one client.
#[derive(Clone, Copy, Debug)]
pub struct AccessConfig {
    /// From the client.
    pub up: LinkConfig,
    /// To the client.
    pub down: LinkConfig,
    /// What shares a loss chain.
    pub scope: Scope,
    /// The client's key for loss.
    pub key: Key,
}

/// The two directions of a link in the network.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Access {
    /// From the client.
    pub up: LinkId,
    /// To the client.
    pub down: LinkId,
}

/// Where everything is in a star: node 0 is the server, node 1 the router, node 2 + i client i; client i has the address `first_client` + i.
#[derive(Clone, Debug)]
pub struct Star {
    /// The server's address.
    pub server: Address,
    /// The first client's address.
    pub first_client: Address,
    /// Each client's access link.
    pub access: Vec<Access>,
    /// The link between router and server; `up` is towards the server.
    pub shared: Access,
}

impl Star {
    /// The server's node.
    pub const SERVER: NodeId = NodeId(0);
    /// The router's node.
    pub const ROUTER: NodeId = NodeId(1);
    /// The link down to the first client: the shared link has two, and each client first its way up.
    const FIRST_DOWN: u32 = 3;

    /// The node of the client with this index.
    #[must_use]
    pub const fn client_node(index: u32) -> NodeId {
        NodeId(index + 2)
    }

    /// The index of the client that lives on this node.
    #[must_use]
    pub const fn client_index(node: NodeId) -> Option<u32> {
        node.0.checked_sub(2)
    }

    /// The index of the client at the far end of this link, if it is the way down of an access link.
    #[must_use]
    pub const fn client_reached_by(link: LinkId) -> Option<u32> {
        match link.0.checked_sub(Self::FIRST_DOWN) {
            Some(place) if place.is_multiple_of(2) => Some(place / 2),
            _ => None,
        }
    }

    /// The access link of the client with this address.
    #[must_use]
    pub fn access_of(&self, client: Address) -> Option<Access> {
        self.access.get(client.distance_from(self.first_client)? as usize).copied()
    }

    /// Builds the star into an empty network. `shared` is the link between router and server, first towards the server; `key` is for its loss.
    pub fn build<O: Observer>(
        network: &mut Network<O>,
        server: Address,
        first_client: Address,
        clients: &[AccessConfig],
        shared: (LinkConfig, LinkConfig),
        key: Key,
    ) -> Self {
        let shared = Access {
            up: network.add_link(Self::ROUTER, Self::SERVER, shared.0, key.entity(Direction::Up as u64)),
            down: network.add_link(Self::SERVER, Self::ROUTER, shared.1, key.entity(Direction::Down as u64)),
        };
        let access: Vec<_> = clients
            .iter()
            .zip(0..)
            .map(|(config, index)| Self::attach(network, config, index, shared))
            .collect();
        let down = access.iter().map(|access| access.down).collect();
        network.route(Self::ROUTER, first_client, down, server, shared.up);
        Self { server, first_client, access, shared }
    }

    fn attach<O: Observer>(
        network: &mut Network<O>,
        config: &AccessConfig,
        index: u32,
        shared: Access,
    ) -> Access {
        let node = Self::client_node(index);
        let up = network.add_link(node, Self::ROUTER, config.up, config.key.entity(Direction::Up as u64));
        let down =
            network.add_link(Self::ROUTER, node, config.down, config.key.entity(Direction::Down as u64));
        let delay = |link: LinkId| network.link(link).config().delay;
        let round_trip = [up, down, shared.up, shared.down].into_iter().map(delay).sum();
        for (link, direction) in [(up, Direction::Up), (down, Direction::Down)] {
            network.meter(link, Meter::new(index, direction, config.scope, config.key, round_trip));
        }
        Access { up, down }
    }
}
