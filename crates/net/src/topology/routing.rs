//! Neighbours between routers: shortest paths (Dijkstra 1959) by least delay, then by fewest links, then by the order of the description.
//!
//! All of it is found from the far end: one tree for each router to which packets go, with the next link of every other router.

use super::{RouterLink, Topology, TopologyError};
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

    /// The links that packets cross between the routers `from` and `to`, in order.
    ///
    /// # Errors
    /// There is no path.
    pub fn path(&mut self, from: usize, to: usize) -> Result<Vec<Hop>, TopologyError> {
        let topology = self.topology;
        let tree = self.tree(to);
        let mut hops = Vec::new();
        let mut at = from;
        while at != to {
            let (link, direction) = tree.next(at).ok_or_else(|| topology.no_route(from, to))?;
            hops.push((link, direction));
            let ends = topology.links[link].ends;
            at = if direction == Direction::Forward { ends.1 } else { ends.0 };
        }
        Ok(hops)
    }

    /// Which direction of each link leads towards the server: the one whose far end is nearer to it, and forward where both are as far.
    pub(super) fn towards_server(&self) -> Vec<Direction> {
        let Topology { links, server, .. } = self.topology;
        let (_, distances) = self.neighbours.towards(server.at);
        let leads_away = |(first, second): (usize, usize)| distances[second] > distances[first];
        let direction =
            |link: &RouterLink| if leads_away(link.ends) { Direction::Backward } else { Direction::Forward };
        links.iter().map(direction).collect()
    }
}

impl Topology {
    /// What keeps a packet at the router `from` from reaching the router `to`.
    pub(super) fn no_route(&self, from: usize, to: usize) -> TopologyError {
        TopologyError::NoRoute { from: self.routers[from].clone(), to: self.routers[to].clone() }
    }
}
