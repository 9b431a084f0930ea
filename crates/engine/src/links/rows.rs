//! What every link did.

use super::names::{NamedDirection, directions};
use crate::build::LinkKind;
use crate::cross::by_link;
use crate::scenario::Scenario;
use std::collections::BTreeMap;
use wasp_net::topology::Layout;
use wasp_net::{CrossCounters, Flow, Network, Observer};
use wasp_units::{Instant, Rate};

/// One direction of one link over the whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkRow {
    /// `shared` in a star, else `server` or the name of a link between nodes; or the group's name and the client's index in the run.
    pub link: String,
    /// `up` or `down`; of a link between nodes `forward` or `backward`.
    pub direction: &'static str,
    /// What it joins.
    pub kind: LinkKind,
    /// The node where the direction begins.
    pub from_node: String,
    /// The node where it ends.
    pub to_node: String,
    /// Its rate, or the mean rate of its trace, in bits a second; none is unlimited.
    pub rate_bps: Option<u64>,
    /// Packets that came to it. Those of an access link are the packets of its client's connections, [`Self::strays`] and [`Self::cross_packets`].
    pub packets: u64,
    /// Those of them that are neither of a connection of the run nor cross traffic; absent for a link that clients share, which keeps no account of connections.
    pub strays: Option<u64>,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of the packets, and of copies, whose transmission began.
    pub carried_bytes: u64,
    /// Packets lost at random.
    pub lost: u64,
    /// Packets dropped for another reason, copies among them: the sum of the next three.
    pub dropped: u64,
    /// Packets for which the queue had no room.
    pub dropped_full: u64,
    /// Packets that a queue discipline dropped early: although there was room.
    pub dropped_early: u64,
    /// Packets that were longer than the link carries, and not to be fragmented.
    pub dropped_too_big: u64,
    /// Packets that were longer than the link carries and in whose place fragments came, which alone are among the packets.
    pub fragmented: u64,
    /// Packets that the queue discipline marked (CE, RFC 3168).
    pub marked: u64,
    /// Packets of cross traffic among all that came.
    pub cross_packets: u64,
    /// Their bytes.
    pub cross_bytes: u64,
    /// Packets of cross traffic among those lost at random.
    pub cross_lost: u64,
    /// Packets of cross traffic among those dropped for another reason.
    pub cross_dropped: u64,
    /// Packets of cross traffic among those that a queue discipline dropped early.
    pub cross_dropped_early: u64,
    /// Packets in which a bit was flipped.
    pub corrupted: u64,
    /// Copies that were made.
    pub duplicated: u64,
    /// Packets that were held back so that others may overtake them.
    pub held: u64,
    /// Those of them that others have overtaken.
    pub reordered: u64,
    /// Most bytes that waited in the queue.
    pub max_queue_bytes: u64,
    /// Mean bytes that waited in the queue.
    pub mean_queue_bytes: f64,
}

impl LinkRow {
    /// Adds what other clients did to the same link.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.packets += other.packets;
        self.strays = self.strays.zip(other.strays).map(|(mine, theirs)| mine + theirs);
        self.bytes += other.bytes;
        self.carried_bytes += other.carried_bytes;
        self.lost += other.lost;
        self.dropped += other.dropped;
        self.dropped_full += other.dropped_full;
        self.dropped_early += other.dropped_early;
        self.dropped_too_big += other.dropped_too_big;
        self.fragmented += other.fragmented;
        self.marked += other.marked;
        self.cross_packets += other.cross_packets;
        self.cross_bytes += other.cross_bytes;
        self.cross_lost += other.cross_lost;
        self.cross_dropped += other.cross_dropped;
        self.cross_dropped_early += other.cross_dropped_early;
        self.corrupted += other.corrupted;
        self.duplicated += other.duplicated;
        self.held += other.held;
        self.reordered += other.reordered;
        self.max_queue_bytes = self.max_queue_bytes.max(other.max_queue_bytes);
        self.mean_queue_bytes += other.mean_queue_bytes;
    }
}

/// The rows of all links of a network, up to `end`; `strays` are the flows that are of no connection.
pub(crate) fn rows<O: Observer>(
    scenario: &Scenario,
    network: &mut Network<O>,
    layout: &Layout,
    end: Instant,
    strays: &[Flow],
) -> Vec<LinkRow> {
    let cross_traffic = by_link(network);
    let mut of_client: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for flow in strays {
        let (up, down) = of_client.entry(flow.host).or_default();
        *up += flow.forward.packets;
        *down += flow.backward.packets;
    }
    let strays = |name: &NamedDirection| {
        let (up, down) = of_client.get(&name.client?.0).copied().unwrap_or_default();
        Some(if name.direction == "up" { up } else { down })
    };
    let row = |name: NamedDirection| {
        let cross = cross_traffic.get(&name.id).copied().unwrap_or_default();
        row(network, strays(&name), name, &cross, end)
    };
    directions(scenario, layout).map(row).collect()
}

fn row<O: Observer>(
    network: &mut Network<O>,
    strays: Option<u64>,
    name: NamedDirection,
    cross: &CrossCounters,
    end: Instant,
) -> LinkRow {
    let view = network.look(name.id, end);
    let link = network.link(name.id);
    let counters = link.counters();
    LinkRow {
        link: name.link,
        direction: name.direction,
        kind: name.kind,
        from_node: name.from_node,
        to_node: name.to_node,
        rate_bps: link.config().mean_rate().map(Rate::bits_per_second),
        packets: counters.packets,
        strays,
        bytes: counters.bytes,
        carried_bytes: view.carried_bytes,
        lost: counters.loss.lost,
        dropped: counters.dropped,
        dropped_full: counters.dropped_full(),
        dropped_early: counters.dropped_early,
        dropped_too_big: counters.dropped_too_big,
        fragmented: counters.fragmented,
        marked: counters.marked,
        cross_packets: cross.packets,
        cross_bytes: cross.bytes,
        cross_lost: cross.loss.lost,
        cross_dropped: cross.dropped,
        cross_dropped_early: cross.dropped_early,
        corrupted: counters.corrupted,
        duplicated: counters.duplicated,
        held: counters.held,
        reordered: counters.reordered,
        max_queue_bytes: counters.queue_max,
        mean_queue_bytes: view.queue_integral as f64 / end.as_nanos().max(1) as f64,
    }
}
