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
    /// They stop here.
    Stop(Stop),
}

/// Why packets for some addresses stop at a router.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Stop {
    /// They are for the router itself.
    Local,
    /// The network of their destination is the router's, and has no such host.
    NoHost,
    /// It is the network or broadcast address of the router's network.
    Nobody,
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

/// Ranges of addresses that do not overlap, in the order of their addresses, and what each is for.
#[derive(Clone, Debug)]
pub(crate) struct Ranges<T>(Vec<(Address, Range<T>)>);

/// The routes of one router: ranges that do not overlap, in the order of their addresses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes {
    /// First addresses, apart from the rest so that a search stays within few lines of memory.
    firsts: Vec<Address>,
    ranges: Vec<Range<Target>>,
    /// Ranges to which no link leads, apart from the others: only packets that stop here are looked for among them.
    stops: Vec<(Address, Range<Stop>)>,
}

#[derive(Clone, Copy, Debug)]
struct Range<T> {
    last: Address,
    /// The first address of the range that this is a part of: links are counted from there.
    base: Address,
    target: T,
}

/// Ranges among which a search from the end is faster than one by halves.
const FEW: usize = 4;

impl<T: Copy> Ranges<T> {
    /// Of two ranges (first and last address, and what they are for) that share addresses the shorter one (the longer prefix) has them; of two
    /// equal ones the first.
    pub(crate) fn new(ranges: impl IntoIterator<Item = (Address, Address, T)>) -> Self {
        let mut order: Vec<(Address, Address, T)> = ranges.into_iter().collect();
        // The longest range first, and the first of equal ones last: each is painted over what was there.
        order.reverse();
        order.sort_by_key(|(first, last, _)| Reverse(last.distance_from(*first)));
        let mut painted: BTreeMap<Address, Range<T>> = BTreeMap::new();
        for range in order {
            debug_assert!(range.0 <= range.1, "a range has an address");
            paint(&mut painted, range);
        }
        Self(painted.into_iter().collect())
    }
}

impl Routes {
    /// Of two routes that share addresses the shorter range (the longer prefix) has them; of two equal ones the first.
    pub(crate) fn new(routes: &[Route]) -> Self {
        let ranges = routes.iter().map(|route| (route.first, route.last, route.target));
        Self::of(&Ranges::new(ranges), |target| target)
    }

    /// Routes for ranges that are the same at many routers; `target` says where each of them leads at this one. Neighbours over one link become
    /// one.
    pub(crate) fn of<T: Copy>(ranges: &Ranges<T>, target: impl Fn(T) -> Target) -> Self {
        let mut routes = Self::default();
        for (first, range) in &ranges.0 {
            let Range { last, base, .. } = *range;
            let target = target(range.target);
            if let Target::Stop(stop) = target {
                routes.stops.push((*first, Range { last, base, target: stop }));
                continue;
            }
            match routes.ranges.last_mut() {
                Some(before) if before.goes_on_with(*first, target) => before.last = last,
                _ => {
                    routes.firsts.push(*first);
                    routes.ranges.push(Range { last, base, target });
                }
            }
        }
        routes
    }

    /// The link towards `destination`; `None` if it stops here: see [`Self::stop`].
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
            Target::Stop(_) => None,
        }
    }

    /// Why no link leads to `destination`; `None` if its network is unknown.
    pub(crate) fn stop(&self, destination: Address) -> Option<Stop> {
        let place = self.stops.partition_point(|(first, _)| *first <= destination).checked_sub(1)?;
        let (_, range) = &self.stops[place];
        (destination <= range.last).then_some(range.target)
    }
}

impl Range<Target> {
    /// Whether a range that begins at `first` is one with this one. What counts its links from its base is not.
    fn goes_on_with(&self, first: Address, target: Target) -> bool {
        let is_counted = matches!(target, Target::Links { .. });
        self.target == target && !is_counted && self.last.offset(1) == Some(first)
    }
}

/// Puts a range over those that are there: what it covers of them goes, and what it covers the middle of is cut in two.
fn paint<T: Copy>(painted: &mut BTreeMap<Address, Range<T>>, (first, last, target): (Address, Address, T)) {
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
        let absent = route(0, 2_000, Target::Stop(Stop::NoHost));
        let routes = Routes::new(&[block, route(120, 1, Target::Link(LinkId(7))), network, absent]);
        let found = |bits| routes.find(address(bits));
        assert_eq!(found(99), Some(LinkId(1)));
        assert_eq!(found(100), Some(LinkId(3)));
        assert_eq!(found(119), Some(LinkId(41)));
        assert_eq!(found(120), Some(LinkId(7)));
        assert_eq!(found(121), Some(LinkId(45)));
        assert_eq!(found(149), Some(LinkId(101)));
        assert_eq!(found(150), Some(LinkId(1)));
        assert_eq!((found(1_000), routes.stop(address(1_000))), (None, Some(Stop::NoHost)));
        assert_eq!((found(2_000), routes.stop(address(2_000))), (None, None));
    }

    #[test]
    fn neighbours_over_one_link_are_one_range_and_blocks_are_not() {
        let to = |link| Target::Link(LinkId(link));
        let routes = |second: u32, targets: [Target; 2]| {
            Routes::new(&[route(0, 10, targets[0]), route(second, 10, targets[1])])
        };
        let ranges = |second, targets| routes(second, targets).firsts.len();
        assert_eq!([ranges(10, [to(1); 2]), ranges(11, [to(1); 2]), ranges(10, [to(1), to(2)])], [1, 2, 2]);
        let block = Target::Links { first: LinkId(1), step: 2 };
        assert_eq!(routes(10, [block; 2]).find(address(10)), Some(LinkId(1)));
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
