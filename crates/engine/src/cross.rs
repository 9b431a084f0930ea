//! Cross traffic: when each source sends, and on which link.

use crate::event::Event;
use crate::scenario::{CrossTraffic, LoadedLink, Scenario};
use std::collections::BTreeMap;
use wasp_kernel::{NodeId, Scheduler};
use wasp_net::topology::Layout;
use wasp_net::{CrossConfig, CrossCounters, CrossSource, LinkId, Network, Observer};
use wasp_random::{Key, Purpose};
use wasp_workload::PacketTimes;

/// All sources of a run. Cross traffic on the access links of a group has one for each client, the others one each.
#[derive(Debug, Default)]
pub(crate) struct CrossSources {
    sources: Vec<Source>,
    /// How many each cross traffic of the scenario has, in its order.
    counts: Vec<usize>,
}

#[derive(Debug)]
struct Source {
    node: NodeId,
    id: CrossSource,
    /// The client whose access link it loads.
    client: Option<u32>,
    /// Those of its packets; none for a source that sends nothing.
    times: Option<PacketTimes>,
}

impl CrossSources {
    /// The sources of a checked scenario, which are added to its network.
    pub(crate) fn new<O: Observer>(
        scenario: &Scenario,
        layout: &Layout,
        network: &mut Network<O>,
        root: Key,
    ) -> Self {
        let mut all = Self::default();
        let root = root.purpose(Purpose::CrossTraffic);
        for traffic in &scenario.network.cross_traffic {
            let CrossTraffic { name, packet, flows, rate, model, .. } = traffic;
            let link = scenario.loaded_link(&traffic.link).expect("a checked scenario has the link");
            let is_first = traffic.direction == link.directions()[0];
            let loaded = link.ids(is_first, scenario, layout);
            all.counts.push(loaded.len());
            for ((id, client), index) in loaded.into_iter().zip(0..) {
                let key = root.name(name).entity(index);
                let node = NodeId(layout.next_node.0 + all.sources.len() as u32);
                let times = rate.map(|rate| PacketTimes::new(model, *packet, rate, key));
                all.sources.push(Source {
                    node,
                    id: network.add_cross_source(id, CrossConfig { packet: *packet, flows: *flows, key }),
                    client,
                    times,
                });
            }
        }
        all
    }

    /// Each source begins that loads the link of all clients, or of one that `has_client`.
    pub(crate) fn start(&mut self, has_client: impl Fn(u32) -> bool, scheduler: &mut Scheduler<Event>) {
        for (source, place) in self.sources.iter_mut().zip(0..) {
            if source.client.is_none_or(&has_client) {
                source.schedule(place, scheduler);
            }
        }
    }

    /// A packet of a source is due.
    pub(crate) fn handle<O: Observer>(
        &mut self,
        place: u32,
        network: &mut Network<O>,
        scheduler: &mut Scheduler<Event>,
    ) {
        let source = &mut self.sources[place as usize];
        network.send_cross_packet(source.id, scheduler);
        source.schedule(place, scheduler);
    }

    /// What became of the packets of each cross traffic of the scenario so far.
    pub(crate) fn counters<O: Observer>(&self, network: &Network<O>) -> Vec<CrossCounters> {
        let mut of_sources = network.cross_traffic();
        let sum = |count: &usize| {
            let mut sum = CrossCounters::default();
            of_sources.by_ref().take(*count).for_each(|(_, more)| sum.add(more));
            sum
        };
        self.counts.iter().map(sum).collect()
    }
}

/// What became of the packets of all sources of each link that has one.
pub(crate) fn by_link<O: Observer>(network: &Network<O>) -> BTreeMap<LinkId, CrossCounters> {
    let mut found: BTreeMap<LinkId, CrossCounters> = BTreeMap::new();
    for (link, counters) in network.cross_traffic() {
        found.entry(link).or_default().add(counters);
    }
    found
}

impl Source {
    fn schedule(&mut self, place: u32, scheduler: &mut Scheduler<Event>) {
        if let Some(times) = &mut self.times {
            scheduler.schedule(self.node, times.next_time(), Event::CrossTraffic { source: place });
        }
    }
}

impl LoadedLink {
    /// Its first or its second direction in the network: those of access links with their clients.
    fn ids(self, is_first: bool, scenario: &Scenario, layout: &Layout) -> Vec<(LinkId, Option<u32>)> {
        let one = |first, second| vec![(if is_first { first } else { second }, None)];
        match self {
            Self::Server => one(layout.server.into, layout.server.out),
            Self::Between(place) => one(layout.links[place].forward, layout.links[place].backward),
            Self::Access(group) => {
                let before: u32 = scenario.clients[..group].iter().map(|group| group.count).sum();
                let count = scenario.clients[group].count;
                let hosts = layout.hosts().iter().zip(0..).skip(before as usize).take(count as usize);
                hosts
                    .map(|(port, client)| (if is_first { port.out } else { port.into }, Some(client)))
                    .collect()
            }
        }
    }
}
