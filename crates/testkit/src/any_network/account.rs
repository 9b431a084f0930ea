//! The account of packets, in all and at each link.

use wasp_net::topology::{Layout, Port};
use wasp_net::{CrossCounters, Direction, Fate, LinkCounters, LinkId, Network, Observer, Sighting};
use wasp_packet::{Packet, PayloadPool};
use wasp_units::Instant;

/// How often packets were seen at each link.
#[derive(Default)]
pub(super) struct Seen(Vec<Sightings>);

#[derive(Clone, Copy, Default)]
struct Sightings {
    entered: u64,
    left: u64,
    /// Dropped at the entrance or from the queue.
    dropped: u64,
}

impl Seen {
    fn at(&self, link: LinkId) -> Sightings {
        self.0.get(link.0 as usize).copied().unwrap_or_default()
    }
}

impl Observer for Seen {
    fn observe(&mut self, _: Instant, link: LinkId, _: &Packet, _: &PayloadPool, sighting: Sighting) {
        let place = link.0 as usize;
        if self.0.len() <= place {
            self.0.resize(place + 1, Sightings::default());
        }
        let Sightings { entered, left, dropped } = &mut self.0[place];
        *match sighting {
            Sighting::Entered => entered,
            Sighting::Left => left,
            Sighting::Dropped(_) => dropped,
        } += 1;
    }
}

/// The ports of all hosts, and the server's, which is the last.
pub(super) fn ports(layout: &Layout) -> impl Iterator<Item = &Port> {
    layout.hosts().iter().chain([&layout.server])
}

/// Each direction of each link.
pub(super) fn links(layout: &Layout) -> impl Iterator<Item = LinkId> {
    let of_ports = ports(layout).flat_map(|port| [port.out, port.into]);
    of_ports.chain(layout.links.iter().flat_map(|link| [link.forward, link.backward]))
}

/// Packets on a link: of those that came and the copies that it made, those that neither left nor were dropped.
fn in_flight_at(network: &Network<Seen>, link: LinkId) -> u64 {
    let (counters, Sightings { left, dropped, .. }) =
        (network.link(link).counters(), network.observer.at(link));
    let came = counters.packets + counters.duplicated;
    came.checked_sub(left + dropped)
        .unwrap_or_else(|| panic!("{link:?} let out more than came: {counters:?}"))
}

/// Holds what was made, was dropped and is on its way against each other. So many packets were handed to hosts, and so many of those they refused.
pub(super) fn check(network: &Network<Seen>, layout: &Layout, (handed_over, refused_by_hosts): (u64, u64)) {
    let fates = network.fates();
    assert_eq!(network.made(), fates.total() + network.in_flight(), "packets in all");
    let (mut in_flight, mut lost, mut fragmented) = (0, 0, 0);
    let mut dropped_as = [0; 3];
    for link in links(layout) {
        let counters = network.link(link).counters();
        let Sightings { entered, left, dropped } = network.observer.at(link);
        assert_eq!(dropped, counters.loss.lost + counters.dropped, "packets dropped at {link:?}");
        let still_here = in_flight_at(network, link);
        let most = counters.packets + counters.duplicated;
        assert!((left + still_here..=most).contains(&entered), "{entered} entered {link:?}: {counters:?}");
        in_flight += still_here;
        lost += counters.loss.lost;
        fragmented += counters.fragmented;
        let LinkCounters { dropped_early, dropped_too_big, .. } = *counters;
        for (sum, count) in
            dropped_as.iter_mut().zip([counters.dropped_full(), dropped_early, dropped_too_big])
        {
            *sum += count;
        }
    }
    assert_eq!(in_flight, network.in_flight(), "packets on links");
    let met = |fate| fates.get(fate);
    let ends = [Fate::RandomLoss, Fate::Fragmented].map(met);
    assert_eq!([lost, fragmented], ends, "packets lost, and in whose place fragments came");
    let drops = [Fate::QueueFull, Fate::QueueEarly, Fate::TooBig].map(met);
    assert_eq!(dropped_as, drops, "packets dropped, by reason");
    let to_hosts = |port: &Port| network.observer.at(port.into).left - cross_at(network, port.into).arrived;
    let arrived: u64 = ports(layout).map(to_hosts).sum();
    assert_eq!(arrived, handed_over, "packets handed to hosts");
    // Routers take packets, too.
    assert!(met(Fate::Delivered) + refused_by_hosts >= handed_over, "packets that hosts took");
    check_crossings(network, layout);
    check_cross_traffic(network);
}

/// Of each source, what ended is at most what came and was copied.
fn check_cross_traffic(network: &Network<Seen>) {
    for (link, counters) in network.cross_traffic() {
        assert!(cross_in_flight(counters).is_some(), "{counters:?} at {link:?}");
        assert!(counters.packets <= network.link(link).counters().packets, "{counters:?} at {link:?}");
    }
}

/// Packets of a source on its link.
fn cross_in_flight(counters: &CrossCounters) -> Option<u64> {
    let CrossCounters { packets, duplicated, dropped, arrived, loss, .. } = counters;
    (packets + duplicated).checked_sub(loss.lost + dropped + arrived)
}

/// What became of cross traffic on a link.
fn cross_at(network: &Network<Seen>, link: LinkId) -> CrossCounters {
    let mut sum = CrossCounters::default();
    network.cross_traffic().filter(|(other, _)| *other == link).for_each(|(_, more)| sum.add(more));
    sum
}

/// Holds the sums over the links of hosts against those links.
fn check_crossings(network: &Network<Seen>, layout: &Layout) {
    for direction in Direction::BOTH {
        let link = |port: &Port| if direction == Direction::Forward { port.out } else { port.into };
        let links = || layout.hosts().iter().map(link);
        let own = |link| (network.link(link).counters(), cross_at(network, link));
        let crossed = network.crossed(direction);
        assert_eq!(
            crossed.packets,
            links().map(own).map(|(all, cross)| all.packets - cross.packets).sum::<u64>(),
            "packets {direction:?}"
        );
        assert_eq!(
            crossed.lost,
            links().map(own).map(|(all, cross)| all.loss.lost - cross.loss.lost).sum::<u64>(),
            "lost {direction:?}"
        );
    }
}

/// When nothing happens any more, no packet is on its way and no payload is held, but for those before a trace that does not repeat.
pub(super) fn check_end(network: &Network<Seen>, layout: &Layout) {
    for link in links(layout) {
        let may_end = network.link(link).config().trace.as_ref().is_some_and(|trace| !trace.options.repeat);
        assert!(may_end || in_flight_at(network, link) == 0, "packets stay on {link:?}");
    }
    if network.in_flight() == 0 {
        assert_eq!(network.pool.in_use(), 0, "payload of packets that have ended");
        for (link, counters) in network.cross_traffic() {
            assert_eq!(cross_in_flight(counters), Some(0), "{counters:?} at {link:?}");
        }
    }
}
