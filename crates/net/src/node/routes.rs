//! Routes by longest prefix, that is shortest range, resolved to ranges of addresses that do not overlap.

use crate::LinkId;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use wasp_wire::Address;

/// Where packets for some addresses go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Target {
    /// Over one link.
    Link(LinkId),
    /// Each address over a link of its own: the first over this one, and each further address over the link so many places on.
    Links {
        /// The link of the first address.
        first: LinkId,
        /// Places from the link of one address to that of the next.
        step: u32,
    },
}

/// A range of addresses and where packets for them go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Route {
    /// The first address.
    pub(crate) first: Address,
    /// The last address.
    pub(crate) last: Address,
    /// Where packets for them go.
    pub(crate) target: Target,
}

/// The routes of one router: ranges that do not overlap, in the order of their addresses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes {
    /// First addresses, apart from the rest so that a search stays within few lines of memory.
    firsts: Vec<Address>,
    ranges: Vec<Range>,
}

#[derive(Clone, Copy, Debug)]
struct Range {
    last: Address,
    /// The first address of the route that this is a part of: links are counted from there.
    base: Address,
    target: Target,
}

/// Ranges among which a search from the end is faster than one by halves.
const FEW: usize = 4;

impl Routes {
    /// Of two routes that share addresses the shorter range (the longer prefix) has them; of two equal ones the first.
    pub(crate) fn new(routes: &[Route]) -> Self {
        // The longest range first, and the first of equal ones last: each is painted over what was there.
        let mut order: Vec<&Route> = routes.iter().rev().collect();
        order.sort_by_key(|route| Reverse(route.last.distance_from(route.first)));
        let mut painted: BTreeMap<Address, Range> = BTreeMap::new();
        for route in order {
            debug_assert!(route.first <= route.last, "a route has an address");
            paint(&mut painted, route);
        }
        let (firsts, ranges) = painted.into_iter().unzip();
        Self { firsts, ranges }
    }

    /// The link towards `destination`; `None` if its network is unknown.
    pub(crate) fn find(&self, destination: Address) -> Option<LinkId> {
        let place = if self.firsts.len() <= FEW {
            self.firsts.iter().rposition(|first| *first <= destination)?
        } else {
            self.firsts.partition_point(|first| *first <= destination).checked_sub(1)?
        };
        let range = &self.ranges[place];
        if destination > range.last {
            return None;
        }
        match range.target {
            Target::Link(link) => Some(link),
            Target::Links { first, step } => {
                Some(LinkId(first.0 + step * destination.distance_from(range.base)?))
            }
        }
    }
}

/// Puts a route over the ranges that are there: what it covers of them goes, and what it covers the middle of is cut in two.
fn paint(painted: &mut BTreeMap<Address, Range>, route: &Route) {
    let Route { first, last, target } = *route;
    let before = painted.range(..first).next_back().map(|(start, range)| (*start, *range));
    if let Some((start, range)) = before.filter(|(_, range)| range.last >= first) {
        let end = first.predecessor().expect("an earlier range begins before");
        painted.insert(start, Range { last: end, ..range });
        if range.last > last {
            painted.insert(last.offset(1).expect("the earlier range goes on"), range);
        }
    }
    let covered: Vec<Address> = painted.range(first..=last).map(|(start, _)| *start).collect();
    for start in covered {
        let range = painted.remove(&start).expect("a key just read");
        if range.last > last {
            painted.insert(last.offset(1).expect("the range goes on"), range);
        }
    }
    painted.insert(first, Range { last, base: first, target });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::Ipv4Addr;

    fn address(bits: u32) -> Address {
        Address::from(Ipv4Addr::from_bits(bits))
    }

    fn route(first: u32, count: u32, target: Target) -> Route {
        Route { first: address(first), last: address(first + count - 1), target }
    }

    #[test]
    fn a_block_has_a_link_for_each_address_also_where_one_is_taken_out_of_it() {
        let block = route(100, 50, Target::Links { first: LinkId(3), step: 2 });
        let network = route(0, 1_000, Target::Link(LinkId(1)));
        let routes = Routes::new(&[block, route(120, 1, Target::Link(LinkId(7))), network]);
        let found = |bits| routes.find(address(bits));
        assert_eq!(found(99), Some(LinkId(1)));
        assert_eq!(found(100), Some(LinkId(3)));
        assert_eq!(found(119), Some(LinkId(41)));
        assert_eq!(found(120), Some(LinkId(7)));
        assert_eq!(found(121), Some(LinkId(45)));
        assert_eq!(found(149), Some(LinkId(101)));
        assert_eq!(found(150), Some(LinkId(1)));
        assert_eq!(found(1_000), None);
    }

    #[test]
    fn routes_reach_both_ends_of_the_address_space() {
        let [lowest, highest] = [0, u32::MAX].map(address);
        let default = Route { first: lowest, last: highest, target: Target::Link(LinkId(1)) };
        let block = Target::Links { first: LinkId(10), step: 2 };
        let last = Route { first: address(u32::MAX - 4), last: highest, target: block };
        let routes = Routes::new(&[default, route(0, 2, Target::Link(LinkId(2))), last]);
        let found = [0, 1, 2, u32::MAX - 5, u32::MAX - 4, u32::MAX].map(|bits| routes.find(address(bits)));
        assert_eq!(found, [2, 2, 1, 1, 10, 18].map(|link| Some(LinkId(link))));
    }

    proptest! {
        #[test]
        fn every_address_goes_where_the_shortest_range_says(
            ranges in proptest::collection::vec((0_u32..200, 1_u32..80, any::<bool>()), 1..12)
        ) {
            // Of range n, all links are from n thousand on.
            let target = |place: u32, block| match LinkId(1_000 * place) {
                first if block => Target::Links { first, step: 2 },
                link => Target::Link(link),
            };
            let numbered = || ranges.iter().zip(0..);
            let routes: Vec<Route> =
                numbered().map(|((first, count, block), place)| route(*first, *count, target(place, *block))).collect();
            let table = Routes::new(&routes);
            for bits in 0..300 {
                let expected = numbered()
                    .filter(|((first, count, _), _)| (*first..first + count).contains(&bits))
                    .min_by_key(|((_, count, _), place)| (*count, *place))
                    .map(|((first, _, block), place)| LinkId(1_000 * place + if *block { 2 * (bits - first) } else { 0 }));
                prop_assert_eq!(table.find(address(bits)), expected);
            }
        }
    }
}
