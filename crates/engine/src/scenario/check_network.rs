//! What the network of a scenario must satisfy beyond its types.

use super::check::ensure;
use super::{GraphNode, Group, Internetwork, NamedLink, NetworkKind, Scenario, ScenarioError, StaticRoute};
use crate::build::{Addresses, check_paths};
use std::collections::BTreeSet;
use wasp_wire::ipv4::TTL;

/// Names that say where groups stand, or that links of every network have.
const RESERVED: [&str; 3] = ["all", "server", "shared"];
/// Most routers of a backbone: packets live through no more.
const MOST_SUBNETWORKS: u32 = TTL as u32 - 1;
/// Most nodes of a graph.
const MOST_NODES: usize = 1_024;

impl Scenario {
    /// Everything but the options of links, which [`Self::check`] looks at.
    pub(super) fn check_network(&self) -> Result<(), ScenarioError> {
        self.check_kind()?;
        self.check_names()?;
        let nodes = Nodes(self.network.router_names());
        self.check_links(&nodes)?;
        self.check_places(&nodes)?;
        self.check_routes()?;
        Addresses::of(self)?;
        check_paths(self)?;
        self.check_cross_traffic()
    }

    /// Fields of other kinds of network are errors, not ignored.
    fn check_kind(&self) -> Result<(), ScenarioError> {
        let Internetwork { kind, shared, subnetworks, link, nodes, links, .. } = &self.network;
        let only = |is_given: bool, field: &str, of: NetworkKind| {
            let message = format!("is for kind = {:?}, and this is {:?}", of.name(), kind.name());
            ensure(!is_given || *kind == of, field, message)
        };
        let given = |directions: [&super::LinkDirection; 2]| directions.iter().any(|each| each.is_given());
        only(given([&shared.up, &shared.down]), "network.shared", NetworkKind::Star)?;
        only(subnetworks.is_some(), "network.subnetworks", NetworkKind::Backbone)?;
        only(given([&link.forward, &link.backward]), "network.link", NetworkKind::Backbone)?;
        only(!nodes.is_empty(), "network.nodes", NetworkKind::Graph)?;
        only(!links.is_empty(), "network.links", NetworkKind::Graph)?;
        only(self.server.at.is_some(), "server.at", NetworkKind::Graph)?;
        if *kind == NetworkKind::Backbone {
            let count = subnetworks.unwrap_or(0);
            let message = format!("{count}; must be from 1 to {MOST_SUBNETWORKS}");
            ensure((1..=MOST_SUBNETWORKS).contains(&count), "network.subnetworks", message)?;
        }
        let message = format!("{}; must be from 1 to {MOST_NODES}", nodes.len());
        ensure(
            *kind != NetworkKind::Graph || (1..=MOST_NODES).contains(&nodes.len()),
            "network.nodes",
            message,
        )
    }

    /// What tables and paths of fields call by its name has one of its own.
    fn check_names(&self) -> Result<(), ScenarioError> {
        let network = &self.network;
        let link_names = network.link_names();
        let links: BTreeSet<&str> = link_names.iter().map(String::as_str).collect();
        if network.kind != NetworkKind::Star {
            for Group { name, .. } in &self.clients {
                let field = format!("clients.{name}.name");
                ensure(
                    !RESERVED.contains(&name.as_str()),
                    field.clone(),
                    taken(name, "is reserved", "clients"),
                )?;
                ensure(
                    !links.contains(name.as_str()),
                    field,
                    taken(name, "is the name of a link", "clients"),
                )?;
            }
        }
        let mut names = BTreeSet::new();
        for GraphNode { name, .. } in &network.nodes {
            let field = format!("network.nodes.{name}");
            ensure(!name.is_empty(), "network.nodes", "a node without a name; each needs one")?;
            ensure(!RESERVED.contains(&name.as_str()), field.clone(), taken(name, "is reserved", "node"))?;
            ensure(names.insert(name), field, "two nodes have this name; names must differ")?;
        }
        let mut names = BTreeSet::new();
        for NamedLink { name, .. } in &network.links {
            let field = format!("network.links.{name}");
            ensure(!name.is_empty(), "network.links", "a link without a name; each needs one")?;
            ensure(!RESERVED.contains(&name.as_str()), field.clone(), taken(name, "is reserved", "link"))?;
            ensure(names.insert(name), field, "two links have this name; names must differ")?;
        }
        Ok(())
    }

    fn check_links(&self, nodes: &Nodes) -> Result<(), ScenarioError> {
        for NamedLink { name, from, to, .. } in &self.network.links {
            let field = format!("network.links.{name}");
            nodes.check(&format!("{field}.from"), from)?;
            nodes.check(&format!("{field}.to"), to)?;
            ensure(from != to, field, format!("both ends are at {to:?}; a link joins two nodes"))?;
        }
        Ok(())
    }

    /// The node at which the server or a group is.
    fn place_of(&self, name: &str) -> Option<&String> {
        let group = self.clients.iter().find(|group| group.name == name);
        group.map_or(self.server.at.as_ref(), |group| group.at.as_ref())
    }

    /// Each route goes to the server or to a group, over a link of its node.
    fn check_routes(&self) -> Result<(), ScenarioError> {
        let destinations: Vec<String> = ["server".to_owned()]
            .into_iter()
            .chain(self.clients.iter().map(|group| group.name.clone()))
            .collect();
        for GraphNode { name, routes, .. } in &self.network.nodes {
            let at_node = |link: &&NamedLink| link.from == *name || link.to == *name;
            let links: Vec<String> =
                self.network.links.iter().filter(at_node).map(|link| link.name.clone()).collect();
            let mut seen = BTreeSet::new();
            for StaticRoute { to, via } in routes {
                let field = format!("network.nodes.{name}.routes.{to}");
                let valid = names(&destinations);
                let message = format!(
                    "a route is to the server or to a group, and there is none of this name; valid here: {valid}"
                );
                ensure(destinations.contains(to), field.clone(), message)?;
                ensure(seen.insert(to), field.clone(), "two routes go to it; one would be valid")?;
                let message = format!("is at {name:?} itself, which needs no route to it; leave it out");
                ensure(self.place_of(to) != Some(name), field.clone(), message)?;
                let valid = if links.is_empty() { "none".to_owned() } else { names(&links) };
                let message = format!("{via:?}; the node {name:?} has no such link; valid here: {valid}");
                ensure(links.contains(via), field, message)?;
            }
        }
        Ok(())
    }

    /// The server of a graph is at a node, and so is each group of a network that is no star.
    fn check_places(&self, nodes: &Nodes) -> Result<(), ScenarioError> {
        let kind = self.network.kind;
        if kind == NetworkKind::Graph {
            let missing =
                format!("missing; the server of a graph is at one of its nodes: {}", names(&nodes.0));
            let at = self.server.at.as_ref().ok_or_else(|| ScenarioError::new("server.at", missing))?;
            nodes.check("server.at", at)?;
        }
        for Group { name, at, .. } in &self.clients {
            let field = format!("clients.{name}.at");
            match (at, kind) {
                (None, NetworkKind::Star) => {}
                (Some(at), NetworkKind::Star) => {
                    let message =
                        format!("{at:?}; a star has one router, at which all clients are; leave it out");
                    return Err(ScenarioError::new(field, message));
                }
                (None, NetworkKind::Backbone | NetworkKind::Graph) => {
                    let message = format!(
                        "missing; clients of a {} are at one of its nodes: {}",
                        kind.name(),
                        names(&nodes.0)
                    );
                    return Err(ScenarioError::new(field, message));
                }
                (Some(at), NetworkKind::Backbone | NetworkKind::Graph) => nodes.check(&field, at)?,
            }
        }
        Ok(())
    }
}

/// The names of all nodes.
struct Nodes(Vec<String>);

impl Nodes {
    /// Fails with the field if there is no such node.
    fn check(&self, field: &str, name: &str) -> Result<(), ScenarioError> {
        let Self(known) = self;
        let message = || format!("{name:?}; there is no such node; valid here: {}", names(known));
        if known.iter().any(|node| node == name) { Ok(()) } else { Err(ScenarioError::new(field, message())) }
    }
}

/// Some of these names, as part of a message.
pub(super) fn names(of: &[String]) -> String {
    const MOST: usize = 8;
    let some = of.iter().take(MOST).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = of.len().saturating_sub(MOST);
    if more > 0 { format!("{some} and {more} more") } else { some }
}

/// Why something cannot have this name, and which one it could have.
pub(super) fn taken(name: &str, why: &str, what: &str) -> String {
    format!("{name:?}; the name {why}; {name}-{what} would be valid")
}
