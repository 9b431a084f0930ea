//! Addresses that a scenario names itself: of routers, of ports at the ends of links, and of the clients at a node.
//!
//! Each lies in the network's prefix, can be a host's there, belongs to one router, and lies in no subnet of another one. The prefix is what the testbed routes to the emulated network:
//! nobody would reach an address outside of it.

use super::place_of;
use crate::scenario::{Scenario, ScenarioError, prefix};
use std::collections::BTreeMap;
use wasp_net::topology::Subnet;
use wasp_wire::Address;

/// The addresses that a scenario names.
#[derive(Clone, Debug)]
pub(super) struct Named {
    /// Of each router.
    pub(super) routers: Vec<Option<Address>>,
    /// Of the clients at each router, from the network address to the broadcast address.
    pub(super) subnets: Vec<Option<Subnet>>,
    /// Of the ports at both ends of each link of a graph.
    pub(super) ports: Vec<(Option<Address>, Option<Address>)>,
    /// All of the hosts among them, and the server's.
    owners: BTreeMap<Address, Owner>,
}

/// Whose an address is.
#[derive(Clone, Debug)]
struct Owner {
    /// The field that names it.
    field: String,
    /// The router; the server is none.
    router: Option<usize>,
}

impl Named {
    /// # Errors
    /// The field of the first address that cannot be what it is to be.
    pub(super) fn of(scenario: &Scenario, block: Subnet) -> Result<Self, ScenarioError> {
        let names = scenario.network.router_names();
        let server = Owner { field: "server.address".to_owned(), router: None };
        let mut named = Self {
            routers: vec![None; names.len()],
            subnets: vec![None; names.len()],
            ports: Vec::new(),
            owners: BTreeMap::from([(Address::from(scenario.server.address), server)]),
        };
        let network = &scenario.network;
        let whole = (block, network.prefix.as_str());
        for (place, node) in network.nodes.iter().enumerate() {
            if let Some(text) = &node.subnet {
                named.subnets[place] =
                    Some(named.subnet(format!("network.nodes.{}.subnet", node.name), text, whole, &names)?);
            }
        }
        for (place, node) in network.nodes.iter().enumerate() {
            let field = format!("network.nodes.{}.address", node.name);
            if let Some(text) = node.address.as_deref() {
                named.routers[place] = Some(named.host(field, text, place, whole, &names)?);
            }
        }
        for link in &network.links {
            let mut port = |name: &str, text: Option<&str>, node: &String| {
                let Some(text) = text else { return Ok(None) };
                let field = format!("network.links.{}.{name}", link.name);
                named.host(field, text, place_of(&names, Some(node)), whole, &names).map(Some)
            };
            let first = port("from_address", link.from_address.as_deref(), &link.from)?;
            let second = port("to_address", link.to_address.as_deref(), &link.to)?;
            named.ports.push((first, second));
        }
        Ok(named)
    }

    /// All addresses that are not free: those of the hosts, and the subnets.
    pub(super) fn taken(&self) -> Vec<Subnet> {
        self.hosts().into_iter().chain(self.subnets.iter().copied().flatten()).collect()
    }

    /// The addresses of the hosts.
    pub(super) fn hosts(&self) -> Vec<Subnet> {
        self.owners.keys().copied().map(Subnet::of).collect()
    }

    fn subnet(
        &self,
        field: String,
        text: &str,
        (block, prefix_text): (Subnet, &str),
        names: &[String],
    ) -> Result<Subnet, ScenarioError> {
        let (base, room) = prefix(&field, text)?;
        let first = Address::from(base);
        let last = first.offset(room as u32 + 1).expect("a prefix ends within the address space");
        if !(block.contains(first) && block.contains(last)) {
            let message = format!("{text:?}; must lie in network.prefix, {prefix_text}");
            return Err(ScenarioError::new(field, message));
        }
        let other = self.subnets.iter().position(|other| {
            other.is_some_and(|other| other.contains(first) || (first <= other.first && other.first <= last))
        });
        match other {
            Some(other) => {
                let message = format!("{text:?}; overlaps network.nodes.{}.subnet", names[other]);
                Err(ScenarioError::new(field, message))
            }
            None => Ok(Subnet { first, last }),
        }
    }

    /// The address of a router or of one of its ports, which may be the same.
    fn host(
        &mut self,
        field: String,
        text: &str,
        router: usize,
        (block, prefix_text): (Subnet, &str),
        names: &[String],
    ) -> Result<Address, ScenarioError> {
        let refused =
            |message: String| Err(ScenarioError::new(field.clone(), format!("{text:?}; {message}")));
        let Ok(address) = text.parse::<Address>() else {
            return refused("must be an IPv4 address such as 198.18.4.1".to_owned());
        };
        if !block.contains(address) {
            return refused(format!("must lie in network.prefix, {prefix_text}"));
        }
        let subnets = self.subnets.iter().zip(names);
        let subnets = subnets.filter_map(|(subnet, name)| Some(((*subnet)?, Some(name))));
        for (subnet, node) in [(block, None)].into_iter().chain(subnets) {
            for (end, what) in [(subnet.first, "network"), (subnet.last, "broadcast")] {
                if address == end {
                    let of = node
                        .map_or("network.prefix".to_owned(), |name| format!("network.nodes.{name}.subnet"));
                    return refused(format!("is the {what} address of {of}; a host's would be valid"));
                }
            }
        }
        let elsewhere = self.subnets.iter().enumerate().find(|(place, subnet)| {
            *place != router && subnet.is_some_and(|subnet| subnet.contains(address))
        });
        if let Some((place, _)) = elsewhere {
            let node = &names[router];
            return refused(format!(
                "lies in network.nodes.{}.subnet, and this is at {node:?}; one outside of it would be valid",
                names[place]
            ));
        }
        if let Some(owner) = self.owners.get(&address)
            && owner.router != Some(router)
        {
            let same = match owner.router {
                None => "is the server's".to_owned(),
                Some(_) => format!("{} is the same", owner.field),
            };
            return refused(format!("{same}; addresses must differ"));
        }
        self.owners.entry(address).or_insert(Owner { field, router: Some(router) });
        Ok(address)
    }
}
