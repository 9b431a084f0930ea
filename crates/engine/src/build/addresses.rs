//! Who has which address.

use super::named::Named;
use super::place_of;
use crate::scenario::{NetworkKind, Scenario, ScenarioError, prefix};
use std::net::Ipv4Addr;
use wasp_net::topology::Subnet;
use wasp_wire::Address;

/// The addresses of a scenario.
#[derive(Clone, Debug)]
pub(crate) struct Addresses {
    /// The server's.
    pub(crate) server: Address,
    /// All that the prefix has.
    pub(crate) prefix: Subnet,
    /// Of the clients of each group, in the order of the scenario: the first, and how many.
    pub(crate) groups: Vec<(Address, u32)>,
    /// Of each router; a star whose clients take all there are has none left.
    pub(crate) routers: Vec<Option<Address>>,
    /// Those of the clients at each router, where the scenario names them.
    pub(crate) subnets: Vec<Option<Subnet>>,
    /// Of the ports at both ends of each link of a graph, where the scenario names them.
    pub(crate) ports: Vec<(Option<Address>, Option<Address>)>,
}

impl Addresses {
    /// Hands addresses out: what the scenario names, and otherwise the first free ones. The server has the first of the prefix, and a router with a
    /// subnet the first of that. Then come the groups, and last the other routers.
    ///
    /// # Errors
    /// The prefix or a subnet is too small or is none; or an address that the scenario names lies outside of them, is no host's, or is given twice.
    pub(crate) fn of(scenario: &Scenario) -> Result<Self, ScenarioError> {
        let (base, room) = prefix("network.prefix", &scenario.network.prefix)?;
        let block = Subnet { first: Address::from(base), last: address(base.to_bits() + room as u32 + 1) };
        let named = Named::of(scenario, block)?;
        // The first host of the prefix is the server, or nobody where the server has an address elsewhere.
        let server = Subnet::of(address(base.to_bits() + 1));
        let taken = |others: Vec<Subnet>| others.into_iter().chain([server]).collect();
        let mut shared = FreeAddresses::of(block, taken(named.taken()));
        let own = |subnet| FreeAddresses::of(subnet, taken(named.hosts()));
        let mut own: Vec<Option<FreeAddresses>> =
            named.subnets.iter().map(|subnet| subnet.map(own)).collect();
        let names = scenario.network.router_names();
        let mut routers = named.routers.clone();
        for ((router, free), name) in routers.iter_mut().zip(&mut own).zip(&names) {
            let Some(free) = free.as_mut().filter(|_| router.is_none()) else { continue };
            let field = || format!("network.nodes.{name}.subnet");
            let message = "has no address left for the node itself; a larger one would be valid";
            *router = Some(free.take(1).ok_or_else(|| ScenarioError::new(field(), message))?);
        }
        let mut groups = Vec::new();
        for group in &scenario.clients {
            let place = place_of(&names, group.at.as_ref());
            let (free, of) = match own.get_mut(place) {
                Some(Some(free)) => (free, format!("the subnet of node {:?}", names[place])),
                _ => (&mut shared, scenario.network.prefix.clone()),
            };
            let first = free.take(group.count).ok_or_else(|| {
                let message = format!(
                    "{} clients; {of} has {} addresses left that follow each other; a larger one would be valid",
                    group.count,
                    free.room()
                );
                ScenarioError::new(format!("clients.{}.count", group.name), message)
            })?;
            groups.push((first, group.count));
        }
        let needed = scenario.network.kind != NetworkKind::Star;
        for router in routers.iter_mut().filter(|router| router.is_none()) {
            *router = shared.take(1);
            if router.is_none() && needed {
                let message = format!(
                    "{}; the server and {} clients leave no address for the {} routers; a larger one would be valid",
                    scenario.network.prefix,
                    scenario.client_count(),
                    names.len()
                );
                return Err(ScenarioError::new("network.prefix", message));
            }
        }
        Ok(Self {
            server: Address::from(scenario.server.address),
            prefix: block,
            groups,
            routers,
            subnets: named.subnets,
            ports: named.ports,
        })
    }
}

impl Scenario {
    /// The address of the first client.
    ///
    /// # Panics
    /// If the scenario was not checked.
    #[must_use]
    pub fn first_client(&self) -> Ipv4Addr {
        let addresses = Addresses::of(self).expect("a checked scenario has addresses for all");
        let (first, _) = addresses.groups.first().expect("a checked scenario has a group of clients");
        first.v4()
    }
}

impl Addresses {
    /// Whether those of all clients follow each other.
    pub(crate) fn are_consecutive(&self) -> bool {
        self.groups.windows(2).all(|pair| pair[0].0.offset(pair[0].1) == Some(pair[1].0))
    }
}

/// The addresses of a block that nobody has.
#[derive(Clone, Debug)]
struct FreeAddresses(
    /// The first and the last of each range of them, in order.
    Vec<(u64, u64)>,
);

impl FreeAddresses {
    /// All hosts of `block`, its first and its last address being none, but for those that are taken.
    fn of(block: Subnet, mut taken: Vec<Subnet>) -> Self {
        let bits = |address: Address| u64::from(address.v4().to_bits());
        taken.sort_by_key(|range| range.first);
        let mut free = Vec::new();
        let (mut next, last) = (bits(block.first) + 1, bits(block.last) - 1);
        for (low, high) in taken.into_iter().map(|range| (bits(range.first), bits(range.last))) {
            if next < low.min(last + 1) {
                free.push((next, low.min(last + 1) - 1));
            }
            next = next.max(high + 1);
        }
        if next <= last {
            free.push((next, last));
        }
        Self(free)
    }

    /// Takes the first so many addresses that follow each other; returns the first of them.
    fn take(&mut self, count: u32) -> Option<Address> {
        let count = u64::from(count);
        let (first, _) = self.0.iter_mut().find(|(first, last)| last + 1 - *first >= count)?;
        let found = address(*first as u32);
        *first += count;
        // An empty range is none, and the next one may follow it.
        self.0.retain(|(first, last)| first <= last);
        Some(found)
    }

    /// The most addresses that [`Self::take`] could hand out at once.
    fn room(&self) -> u64 {
        self.0.iter().map(|(first, last)| last + 1 - first).max().unwrap_or(0)
    }
}

fn address(bits: u32) -> Address {
    Address::from(Ipv4Addr::from_bits(bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: u32, last: u32) -> Subnet {
        Subnet { first: address(first), last: address(last) }
    }

    #[test]
    fn what_is_taken_is_stepped_over_and_what_lies_before_it_is_handed_out_later() {
        // Hosts 101 to 114; taken are 103, 105 to 108, within them 106, and what lies over the ends.
        let taken = vec![range(105, 108), range(103, 103), range(106, 106), range(90, 95), range(114, 130)];
        let mut free = FreeAddresses::of(range(100, 115), taken);
        assert_eq!(free.0, [(101, 102), (104, 104), (109, 113)]);
        assert_eq!((free.room(), free.take(6)), (5, None));
        assert_eq!(free.take(3), Some(address(109)));
        assert_eq!(free.take(1), Some(address(101)));
        assert_eq!(free.take(2), Some(address(112)));
        assert_eq!((free.take(1), free.take(1)), (Some(address(102)), Some(address(104))));
        assert_eq!((free.room(), free.take(1)), (0, None));
    }

    #[test]
    fn a_block_without_a_free_host_has_none() {
        for taken in [vec![range(101, 102)], vec![range(0, 200)], vec![range(101, 101), range(102, 102)]] {
            assert!(FreeAddresses::of(range(100, 103), taken).0.is_empty());
        }
        assert_eq!(FreeAddresses::of(range(0, u32::MAX), Vec::new()).room(), (1 << 32) - 2);
    }
}
