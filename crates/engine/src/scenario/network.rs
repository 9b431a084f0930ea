//! The network between clients and server.

use super::{CrossTraffic, QueueOption, TraceOption};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wasp_net::{Corrupt, Duplicate, ErrorRate, Jitter, Loss, Reorder, Trace};
use wasp_units::{Duration, Rate};

/// The network between clients and server. Which fields it has depends on its kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Internetwork {
    /// Addresses of server, clients and routers, `address/length`.
    pub prefix: String,
    /// What joins the access links and the server.
    #[serde(default)]
    pub kind: NetworkKind,
    /// The link of a star that all clients share.
    #[serde(default)]
    pub shared: SharedLink,
    /// The number of routers of a backbone.
    #[serde(default)]
    pub subnetworks: Option<u32>,
    /// Every link between two routers of a backbone; forward is away from the server. Its delay is that between the server and the first router, too.
    #[serde(default)]
    pub link: LinkDirections,
    /// The nodes of a graph, which are routers.
    #[serde(default)]
    pub nodes: Vec<GraphNode>,
    /// The links of a graph.
    #[serde(default)]
    pub links: Vec<NamedLink>,
    /// How often each router may send ICMP errors.
    #[serde(default)]
    pub icmp: ErrorRate,
    /// Traffic beside that of the clients.
    #[serde(default)]
    pub cross_traffic: Vec<CrossTraffic>,
    /// The rate traces that links ask for, by the paths of their files.
    #[serde(default)]
    pub traces: BTreeMap<String, Trace>,
}

/// What joins the clients' access links and the server.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum NetworkKind {
    /// One router.
    #[default]
    Star,
    /// Routers in series, with the server before the first.
    Backbone,
    /// Nodes and links with names.
    Graph,
}

/// Both directions of the shared link.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedLink {
    /// Towards the server.
    pub up: LinkDirection,
    /// From the server.
    pub down: LinkDirection,
}

/// Both directions of a link between two nodes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkDirections {
    /// From the first end to the second.
    pub forward: LinkDirection,
    /// From the second end to the first.
    pub backward: LinkDirection,
}

/// A node of a graph.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphNode {
    /// Its name.
    pub name: String,
    /// Its address; the next free one of the prefix unless given.
    #[serde(default)]
    pub address: Option<String>,
    /// Addresses of the clients at this node, `address/length`; the next free ones of the prefix unless given.
    #[serde(default)]
    pub subnet: Option<String>,
    /// Routes in place of the shortest paths.
    #[serde(default)]
    pub routes: Vec<StaticRoute>,
}

/// A route of one node.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct StaticRoute {
    /// `server`, or the name of a group of clients: where packets are to arrive.
    pub to: String,
    /// The name of the link over which they go.
    pub via: String,
}

/// A link between two nodes of a graph.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedLink {
    /// Its name.
    pub name: String,
    /// The node at its first end.
    pub from: String,
    /// The address of the port there; that of the node unless given.
    #[serde(default)]
    pub from_address: Option<String>,
    /// The node at its second end.
    pub to: String,
    /// The address of the port there; that of the node unless given.
    #[serde(default)]
    pub to_address: Option<String>,
    /// From the first end to the second.
    pub forward: LinkDirection,
    /// From the second end to the first.
    pub backward: LinkDirection,
}

/// What one direction of a link does: the same for access links, shared links, and links between nodes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkDirection {
    /// Serialisation rate; none is infinite.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// A recorded rate in its place.
    #[serde(default)]
    pub trace: Option<TraceOption>,
    /// What waits, and what of it is dropped; none lets all wait.
    #[serde(default)]
    pub queue: Option<QueueOption>,
    /// Propagation delay.
    #[serde(default)]
    pub delay: Duration,
    /// The longest IP packet that it carries, in bytes; none carries any. Before the server it is the MTU of the server's network device, too.
    #[serde(default)]
    pub mtu: Option<u16>,
    /// Random loss: on an access link of each connection, elsewhere one chain for all that crosses the link.
    #[serde(default)]
    pub loss: Option<Loss>,
    /// Variation of the delay.
    #[serde(default)]
    pub jitter: Option<Jitter>,
    /// Packets that others overtake.
    #[serde(default)]
    pub reorder: Option<Reorder>,
    /// Packets that a copy follows.
    #[serde(default)]
    pub duplicate: Option<Duplicate>,
    /// Packets in which a bit is flipped.
    #[serde(default)]
    pub corrupt: Option<Corrupt>,
}

impl NetworkKind {
    /// Its name in a scenario.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Star => "star",
            Self::Backbone => "backbone",
            Self::Graph => "graph",
        }
    }
}

impl Internetwork {
    /// The names of its routers, in order.
    pub(crate) fn router_names(&self) -> Vec<String> {
        match self.kind {
            NetworkKind::Star => vec!["router".to_owned()],
            NetworkKind::Backbone => {
                (1..=self.subnetworks.unwrap_or(0)).map(|number| format!("r{number}")).collect()
            }
            NetworkKind::Graph => self.nodes.iter().map(|node| node.name.clone()).collect(),
        }
    }

    /// The names of the links between its routers, in order.
    pub(crate) fn link_names(&self) -> Vec<String> {
        match self.kind {
            NetworkKind::Star => Vec::new(),
            NetworkKind::Backbone => {
                (1..self.subnetworks.unwrap_or(0)).map(|number| format!("b{number}")).collect()
            }
            NetworkKind::Graph => self.links.iter().map(|link| link.name.clone()).collect(),
        }
    }

    /// The names of the routers at both ends of those, in the same order.
    pub(crate) fn link_ends(&self) -> Vec<(String, String)> {
        match self.kind {
            NetworkKind::Star | NetworkKind::Backbone => {
                let names = self.router_names();
                names.windows(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
            }
            NetworkKind::Graph => {
                self.links.iter().map(|link| (link.from.clone(), link.to.clone())).collect()
            }
        }
    }

    /// The name of the link between a router and the server.
    pub(crate) const fn server_link_name(&self) -> &'static str {
        match self.kind {
            NetworkKind::Star => "shared",
            NetworkKind::Backbone | NetworkKind::Graph => "server",
        }
    }

    /// Each direction of each link that connections share, with the field that holds it; those of a backbone once.
    pub(crate) fn directions(&self) -> Vec<(String, &LinkDirection)> {
        let Self { shared, link, links, .. } = self;
        let named = links.iter().flat_map(|NamedLink { name, forward, backward, .. }| {
            [
                (format!("network.links.{name}.forward"), forward),
                (format!("network.links.{name}.backward"), backward),
            ]
        });
        let others = [
            ("network.shared.up", &shared.up),
            ("network.shared.down", &shared.down),
            ("network.link.forward", &link.forward),
            ("network.link.backward", &link.backward),
        ];
        others.into_iter().map(|(field, direction)| (field.to_owned(), direction)).chain(named).collect()
    }

    /// The same without those of which there is no link: a backbone of one router has none between routers.
    pub(crate) fn emulated_directions(&self) -> Vec<(String, &LinkDirection)> {
        let is_empty = self.kind == NetworkKind::Backbone && self.link_names().is_empty();
        if is_empty { Vec::new() } else { self.directions() }
    }
}

impl LinkDirection {
    /// Whether what crosses it changes what the rest meets: a rate, a queue, or anything that is drawn for all packets in turn.
    pub(crate) const fn has_state(&self) -> bool {
        let Self { rate, trace, queue, delay: _, mtu: _, loss, jitter, reorder, duplicate, corrupt } = self;
        let limits = rate.is_some() || trace.is_some() || queue.is_some() || loss.is_some();
        limits || jitter.is_some() || reorder.is_some() || duplicate.is_some() || corrupt.is_some()
    }

    /// Whether it says anything.
    pub(crate) fn is_given(&self) -> bool {
        self.has_state() || !self.delay.is_zero() || self.mtu.is_some()
    }
}
