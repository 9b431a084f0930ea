//! Paths between routers: shortest paths (Dijkstra 1959) by least delay, then by fewest links, then by the order of the description, where no
//! static route says otherwise.
//!
//! All of it is found from the far end: one tree for each router to which packets go, with the next link of every other router.

use super::{RouteTo, RouterLink, Topology, TopologyError};
use crate::Direction;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::num::NonZeroU32;

/// A link by its place, and the direction in which it is crossed.
pub type Hop = (usize, Direction);

/// How far a router is, in one number that is quick to compare: nanoseconds of propagation delay, and in the lowest 32 bits links.
type Distance = u128;

/// A link that leads to a router: its place and direction, the router where it begins, and its delay in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Arriving {
    hop: PackedHop,
    from: u32,
    delay: u64,
}

/// A hop in four bytes, because there is one for each router in each tree: those of an earlier link are less.
type PackedHop = NonZeroU32;

fn packed((link, direction): Hop) -> PackedHop {
    NonZeroU32::MIN.saturating_add(2 * link as u32 + direction as u32)
}

fn unpacked(hop: PackedHop) -> Hop {
    let bits = hop.get() - 1;
    (bits as usize / 2, Direction::BOTH[bits as usize % 2])
}

/// The next hop of each router towards one of them.
#[derive(Clone, Debug)]
pub(super) struct Tree(Vec<Option<PackedHop>>);

impl Tree {
    /// The next hop from a router; `None` from the far end itself and from where no path leads to it.
    pub(super) fn next(&self, from: usize) -> Option<Hop> {
        self.0[from].map(unpacked)
    }
}

/// Links by the router to which they lead.
#[derive(Clone, Debug)]
pub(super) struct Neighbours(Vec<Vec<Arriving>>);

impl Neighbours {
    pub(super) fn of(topology: &Topology) -> Self {
        let mut found = vec![Vec::new(); topology.routers.len()];
        for (place, RouterLink { ends: (first, second), directions, .. }) in topology.links.iter().enumerate()
        {
            for direction in Direction::BOTH {
                let (from, to, config) = match direction {
                    Direction::Forward => (*first, *second, &directions.forward),
                    Direction::Backward => (*second, *first, &directions.backward),
                };
                let (hop, delay) = (packed((place, direction)), config.delay.as_nanos());
                found[to].push(Arriving { hop, from: from as u32, delay });
            }
        }
        Self(found)
    }

    /// The next hops towards the router `to`, and how far it is from each router.
    fn towards(&self, to: usize) -> (Tree, Vec<Distance>) {
        let mut nearest: Vec<Distance> = vec![Distance::MAX; self.0.len()];
        let mut next: Vec<Option<PackedHop>> = vec![None; self.0.len()];
        nearest[to] = 0;
        // Below the distance, the router: the nearest comes first.
        let mut open = BinaryHeap::from([Reverse(to as u128)]);
        while let Some(Reverse(key)) = open.pop() {
            let (distance, at) = (key >> 32, key as u32 as usize);
            if distance > nearest[at] {
                continue; // a shorter way was found since
            }
            for arriving in &self.0[at] {
                let from = arriving.from as usize;
                let further = distance + (u128::from(arriving.delay) << 32) + 1;
                if further < nearest[from] {
                    nearest[from] = further;
                    next[from] = Some(arriving.hop);
                    open.push(Reverse((further << 32) | from as u128));
                } else if further == nearest[from] {
                    next[from] = next[from].min(Some(arriving.hop));
                }
            }
        }
        (Tree(next), nearest)
    }
}

/// The paths of packets through an internetwork. The tree of a router is made when the first path to it is asked for.
#[derive(Clone, Debug)]
pub struct Paths<'a> {
    topology: &'a Topology,
    neighbours: Neighbours,
    trees: BTreeMap<usize, Tree>,
}

impl<'a> Paths<'a> {
    /// The paths of an internetwork.
    #[must_use]
    pub fn of(topology: &'a Topology) -> Self {
        Self { topology, neighbours: Neighbours::of(topology), trees: BTreeMap::new() }
    }

    /// The next hops towards the router `to`.
    pub(super) fn tree(&mut self, to: usize) -> &Tree {
        self.trees.entry(to).or_insert_with(|| self.neighbours.towards(to).0)
    }

    /// The next hop of packets from a router; `None` where they arrive, and where no path leads there.
    fn next(&mut self, at: usize, to: RouteTo) -> Option<Hop> {
        let topology = self.topology;
        let place = topology.place_of(to);
        if at == place {
            return None;
        }
        topology.static_hop(at, to).or_else(|| self.tree(place).next(at))
    }

    /// The links that packets cross from the router `from` on, in order.
    ///
    /// # Errors
    /// There is no path, or static routes lead in a loop.
    pub fn path(&mut self, from: usize, to: RouteTo) -> Result<Vec<Hop>, TopologyError> {
        let topology = self.topology;
        let place = topology.place_of(to);
        let mut hops = Vec::new();
        let mut at = from;
        while at != place {
            let hop = self.next(at, to).ok_or_else(|| topology.no_route(from, place))?;
            hops.push(hop);
            at = topology.far_end(hop);
            if hops.len() == topology.routers.len() {
                // Without a loop every router is met once.
                return Err(self.loop_towards(to).unwrap_or_else(|| topology.no_route(from, place)));
            }
        }
        Ok(hops)
    }

    /// The loop in which static routes would send packets, if there is one.
    pub(super) fn loop_towards(&mut self, to: RouteTo) -> Option<TopologyError> {
        let topology = self.topology;
        let count = topology.routers.len();
        let next: Vec<Option<usize>> =
            (0..count).map(|at| self.next(at, to).map(|hop| topology.far_end(hop))).collect();
        // From which start each router was first met.
        let mut met: Vec<Option<usize>> = vec![None; count];
        for start in 0..count {
            let mut at = Some(start);
            while let Some(place) = at.filter(|place| met[*place].is_none()) {
                met[place] = Some(start);
                at = next[place];
            }
            if let Some(place) = at.filter(|place| met[*place] == Some(start)) {
                let further = |at: &usize| next[*at].filter(|next| *next != place);
                let around: Vec<usize> = std::iter::successors(Some(place), further).collect();
                return Some(topology.routing_loop(&around, to));
            }
        }
        None
    }

    /// Which direction of each link leads towards the server: the one that packets to it cross, or the other one than packets from it cross. Where that
    /// says nothing, or both, it is the direction whose far end is nearer to the server, and forward where both are as far.
    pub(super) fn towards_server(&mut self) -> Result<Vec<Direction>, TopologyError> {
        let Topology { links, server, blocks, .. } = self.topology;
        let mut leads = vec![[false; 2]; links.len()];
        for (place, block) in blocks.iter().enumerate() {
            for (link, direction) in self.path(block.at, RouteTo::Server)? {
                leads[link][direction as usize] = true;
            }
            for (link, direction) in self.path(server.at, RouteTo::Block(place))? {
                leads[link][direction.reversed() as usize] = true;
            }
        }
        let (_, distances) = self.neighbours.towards(server.at);
        let direction = |(link, leads): (&RouterLink, [bool; 2])| match (leads, link.ends) {
            ([true, false], _) => Direction::Forward,
            ([false, true], _) => Direction::Backward,
            (_, (first, second)) if distances[second] > distances[first] => Direction::Backward,
            _ => Direction::Forward,
        };
        Ok(links.iter().zip(leads).map(direction).collect())
    }
}

impl Topology {
    /// The hop that a static route of the router `at` says.
    fn static_hop(&self, at: usize, to: RouteTo) -> Option<Hop> {
        let (_, link) = self.routers[at].routes.iter().find(|(other, _)| *other == to)?;
        Some((*link, self.direction_from(at, *link)))
    }

    /// The direction of a link that leads away from the router at one of its ends.
    pub(super) fn direction_from(&self, router: usize, link: usize) -> Direction {
        if self.links[link].ends.0 == router { Direction::Forward } else { Direction::Backward }
    }

    /// The router to which a hop leads.
    fn far_end(&self, (link, direction): Hop) -> usize {
        let (first, second) = self.links[link].ends;
        if direction == Direction::Forward { second } else { first }
    }

    /// What keeps packets from their destination that come to these routers again and again.
    fn routing_loop(&self, routers: &[usize], to: RouteTo) -> TopologyError {
        // Shortest paths alone lead in no loop: one of its routers has a static route.
        let first = routers.iter().position(|router| self.static_hop(*router, to).is_some());
        let order = routers.iter().cycle().skip(first.unwrap_or(0)).take(routers.len());
        let nodes = order.map(|router| self.routers[*router].name.clone()).collect();
        TopologyError::RoutingLoop { to, nodes }
    }

    /// What keeps a packet at the router `from` from reaching the router `to`.
    pub(super) fn no_route(&self, from: usize, to: usize) -> TopologyError {
        TopologyError::NoRoute { from: self.routers[from].name.clone(), to: self.routers[to].name.clone() }
    }
}
