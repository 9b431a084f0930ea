//! Cycles of links that take no time, on which routes could lead a packet round and round at one instant.
//!
//! Shortest paths do not, since each link brings a packet nearer; but nothing in a network that is built should depend on that. A packet goes
//! round in one direction of each link, so the two directions count apart; there and back over the same link is no cycle. Links that are free both ways join routers into clusters. Within a
//! cluster without a cycle there is one way between two routers. What remains is to find a cycle of one-way links between clusters.

use super::{RouterLink, Topology, TopologyError};
use crate::Pair;
use std::collections::VecDeque;

/// Which routers are joined by links that are free both ways.
#[derive(Debug)]
struct Clusters {
    /// The cluster of each router, by a router in it: itself, or one that is nearer to that.
    parent: Vec<usize>,
    /// Of each router, those at the other ends of such links.
    neighbours: Vec<Vec<usize>>,
}

/// A link that is free in one direction: the routers from which and to which.
type OneWay = (usize, usize);

impl Topology {
    /// The places of routers joined in a cycle by links without delay, if there are any, in the order of the cycle.
    pub(super) fn cycle_without_delay(&self) -> Option<Vec<usize>> {
        let mut clusters = Clusters::new(self.routers.len());
        let mut ways: Vec<OneWay> = Vec::new();
        for RouterLink { ends: (a, b), directions, .. } in &self.links {
            match (directions.forward.least_delay().is_zero(), directions.backward.least_delay().is_zero()) {
                (true, true) if clusters.of(*a) == clusters.of(*b) => {
                    return Some(clusters.path(*a, *b));
                }
                (true, true) => clusters.join(*a, *b),
                (true, false) => ways.push((*a, *b)),
                (false, true) => ways.push((*b, *a)),
                (false, false) => {}
            }
        }
        let cycle = clusters.cycle(&ways)?;
        // From where a link ends to where the next one begins.
        let before = cycle.iter().cycle().skip(cycle.len() - 1);
        let within = before.zip(&cycle).flat_map(|((_, from), (to, _))| clusters.path(*from, *to));
        Some(within.collect())
    }

    /// That these routers are joined in such a cycle.
    pub(super) fn no_delay(&self, cycle: &[usize]) -> TopologyError {
        let steps: Vec<OneWay> = cycle.iter().copied().zip(cycle.iter().copied().cycle().skip(1)).collect();
        let is_free = |link: &&RouterLink| {
            let (first, second) = link.ends;
            let Pair { forward, backward } = &link.directions;
            (forward.least_delay().is_zero() && steps.contains(&(first, second)))
                || (backward.least_delay().is_zero() && steps.contains(&(second, first)))
        };
        TopologyError::NoDelay {
            nodes: cycle.iter().map(|place| self.routers[*place].name.clone()).collect(),
            links: self.links.iter().filter(is_free).map(|link| link.name.clone()).collect(),
        }
    }
}

impl Clusters {
    fn new(routers: usize) -> Self {
        Self { parent: (0..routers).collect(), neighbours: vec![Vec::new(); routers] }
    }

    /// The cluster of a router.
    fn of(&mut self, mut place: usize) -> usize {
        while self.parent[place] != place {
            self.parent[place] = self.parent[self.parent[place]];
            place = self.parent[place];
        }
        place
    }

    fn join(&mut self, a: usize, b: usize) {
        let (first, second) = (self.of(a), self.of(b));
        self.parent[first] = second;
        self.neighbours[a].push(b);
        self.neighbours[b].push(a);
    }

    /// The routers on the way from one to another of the same cluster, both included.
    fn path(&self, from: usize, to: usize) -> Vec<usize> {
        let mut next: Vec<Option<usize>> = vec![None; self.neighbours.len()];
        next[to] = Some(to);
        let mut open = VecDeque::from([to]);
        while let Some(at) = open.pop_front() {
            for before in &self.neighbours[at] {
                if next[*before].is_none() {
                    next[*before] = Some(at);
                    open.push_back(*before);
                }
            }
        }
        let mut found = vec![from];
        let mut at = from;
        while at != to {
            at = next[at].expect("a cluster joins its routers");
            found.push(at);
        }
        found
    }

    /// One-way links that follow each other in a cycle of clusters, none of which it meets twice.
    fn cycle(&mut self, ways: &[OneWay]) -> Option<Vec<OneWay>> {
        let mut leaving: Vec<Vec<OneWay>> = vec![Vec::new(); self.parent.len()];
        let mut arriving = vec![0_usize; self.parent.len()];
        for (from, to) in ways {
            leaving[self.of(*from)].push((*from, *to));
            arriving[self.of(*to)] += 1;
        }
        // Clusters to which no link leads are on no cycle, and neither is what only they lead to (Kahn 1962).
        let mut open: Vec<usize> = (0..arriving.len()).filter(|place| arriving[*place] == 0).collect();
        while let Some(cluster) = open.pop() {
            for (_, to) in std::mem::take(&mut leaving[cluster]) {
                let next = self.of(to);
                arriving[next] -= 1;
                if arriving[next] == 0 {
                    open.push(next);
                }
            }
        }
        // A link that is left leads to each cluster that is left: whoever goes back along them comes to a cycle.
        let mut into: Vec<Option<OneWay>> = vec![None; self.parent.len()];
        for way in leaving.into_iter().flatten() {
            let cluster = self.of(way.1);
            into[cluster] = Some(way);
        }
        let start = into.iter().position(Option::is_some)?;
        let mut seen = vec![None; self.parent.len()];
        let mut back = Vec::new();
        let mut at = start;
        while seen[at].is_none() {
            seen[at] = Some(back.len());
            let way = into[at].expect("a link leads to each cluster that is left");
            back.push(way);
            at = self.of(way.0);
        }
        let mut cycle = back.split_off(seen[at].expect("the way came back to it"));
        cycle.reverse();
        Some(cycle)
    }
}
