//! Nodes joined by links: how a packet moves, and where it ends.

mod cross;
mod router;
#[cfg(test)]
mod tests;

use crate::account::Meter;
use crate::link::{Admission, Altered, Settled};
use crate::node::{ErrorRate, Node, Route, Router, RouterId, Routes};
use crate::queue::{DropReason, Item};
use crate::store::{PacketId, PacketStore};
use crate::{Direction, Fate, Fates, Flow, Flows, Link, LinkConfig, LinkView, Observer, Scope, Sighting};
use hdrhistogram::Histogram;
use std::sync::Arc;
use wasp_kernel::{NodeId, Scheduler, Stage, prefetch};
use wasp_packet::{Body, Packet, PayloadPool, View};
use wasp_random::Key;
use wasp_units::{Duration, Instant};
use wasp_wire::{Address, ipv4};

use cross::CrossSources;
pub use cross::{CrossConfig, CrossCounters, CrossSource, is_cross_traffic};

/// Bytes of a payload that are fetched ahead: a request or the head of a response. The processor itself fetches what is read one after the other.
const HEAD: usize = 256;

/// One direction of a link.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct LinkId(pub u32);

/// A packet that reached its host.
#[derive(Debug)]
pub struct Delivery {
    /// The host.
    pub node: NodeId,
    /// The packet, out of the network.
    pub packet: Packet,
}

/// What happens at a link or a router; the model wraps it in its own event type.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NetworkEvent {
    /// A packet reaches the far end.
    Arrival {
        /// The link.
        link: LinkId,
        /// The packet. On a link that keeps order it serves only to fetch it ahead: which one arrives is what the link says.
        packet: PacketId,
    },
    /// A packet leaves the transmitter, or one that was held back is due.
    Departure {
        /// The link.
        link: LinkId,
    },
    /// Fragments that came to a router for itself may have waited for too long.
    Reassembly {
        /// The router.
        router: RouterId,
    },
}

/// Links, the routers between them, and the packets in flight.
#[derive(Debug)]
pub struct Network<O = ()> {
    /// Where payload waits; the hosts use the same pool.
    pub pool: PayloadPool,
    /// The account of each connection.
    pub flows: Flows,
    /// Sees every packet at both ends of every link.
    pub observer: O,
    links: Vec<Link>,
    routers: Vec<Router>,
    /// The links to the hosts whose packets are counted.
    metered: Routes,
    /// What loads links beside what hosts send.
    cross: CrossSources,
    packets: PacketStore,
    made: u64,
    fates: Fates,
    crossed: [Crossings; 2],
    /// What queues decided and is not carried out yet. It is kept so that no event allocates.
    settled: Settled,
    /// The bytes of a packet that a router tells its sender of, or that is cut into fragments.
    scratch: Vec<u8>,
}

/// Packets of one direction, over all access links.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Crossings {
    /// Packets that came to an access link.
    pub packets: u64,
    /// Those lost there at random.
    pub lost: u64,
}

/// What a link made of a packet that came to its entrance.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Entrance {
    /// It is at the far end already.
    Through,
    /// It is on its way, or has met its fate.
    Over,
    /// It is longer than the link carries, and still where it was. It counts at the link if it must not be fragmented.
    TooBig,
}

/// The port of a router by which a packet came: the router, and the link that leads there.
type RouterPort = (RouterId, LinkId);

impl<O: Observer> Network<O> {
    /// A network without links.
    #[must_use]
    pub fn new(pool: PayloadPool, observer: O) -> Self {
        Self {
            pool,
            flows: Flows::default(),
            observer,
            links: Vec::new(),
            routers: Vec::new(),
            metered: Routes::default(),
            cross: CrossSources::default(),
            packets: PacketStore::default(),
            made: 0,
            fates: Fates::default(),
            crossed: Default::default(),
            settled: Settled::default(),
            scratch: Vec::new(),
        }
    }

    /// Adds a router, which knows no route. It sends at most so many errors, and without an address no packets at all.
    pub(crate) fn add_router(
        &mut self,
        node: NodeId,
        address: Option<Address>,
        errors: ErrorRate,
    ) -> RouterId {
        self.routers.push(Router::new(node, address, errors));
        RouterId(self.routers.len() as u32 - 1)
    }

    /// Gives a port of a router an address of its own.
    pub(crate) fn number_port(&mut self, (router, link): RouterPort, address: Address) {
        debug_assert_eq!(self.links[link.0 as usize].to, Node::Router(router));
        self.routers[router.0 as usize].number_port(link, address);
    }

    /// Adds one direction of a link; `key` is for what is drawn for all that crosses it. A trace starts at `random` where it asks for a random
    /// start.
    pub(crate) fn add_link(
        &mut self,
        (from, to): (Node, Node),
        config: Arc<LinkConfig>,
        key: Key,
        random: Duration,
    ) -> LinkId {
        let from = match from {
            Node::Host(node) => node,
            Node::Router(router) => self.routers[router.0 as usize].node,
        };
        let id = LinkId(self.links.len() as u32);
        self.links.push(Link::new(id, (from, to), config, key, random));
        id
    }

    /// Makes `link` one direction of the access link of the host that `meter` is of.
    pub(crate) fn meter(&mut self, link: LinkId, meter: Meter) {
        self.links[link.0 as usize].meter = Some(meter);
    }

    /// Gives a router its routes.
    pub(crate) fn set_routes(&mut self, router: RouterId, routes: Routes) {
        self.routers[router.0 as usize].routes = routes;
    }

    /// Says over which links the hosts are reached whose packets are counted: those that have a meter.
    pub(crate) fn set_metered(&mut self, routes: &[Route]) {
        self.metered = Routes::new(routes);
    }

    /// Begins to fetch from memory what an event that is to come needs.
    pub fn prepare(&self, event: NetworkEvent, stage: Stage) {
        match (event, stage) {
            (NetworkEvent::Departure { link }, Stage::First) => prefetch(&self.links[link.0 as usize]),
            (NetworkEvent::Departure { .. }, Stage::Second) | (NetworkEvent::Reassembly { .. }, _) => {}
            (NetworkEvent::Arrival { link, packet }, Stage::First) => {
                prefetch(&self.links[link.0 as usize]);
                self.packets.prepare(packet);
            }
            (NetworkEvent::Arrival { link, packet }, Stage::Second) => {
                // A host is likely to answer on the same connection.
                let meter = self.links[link.0 as usize].meter.as_ref();
                self.flows.prepare(meter.filter(|meter| meter.direction == Direction::Backward));
                if let View::Bytes(bytes) = self.pool.view(&self.packets.get(packet).payload) {
                    prefetch(&bytes[..bytes.len().min(HEAD)]);
                }
            }
        }
    }

    /// Begins to fetch from memory what a packet that is to come to this router needs.
    pub fn prepare_route(&self, router: RouterId, destination: Address, stage: Stage) {
        if let Some(next) = self.routers[router.0 as usize].routes.find(destination) {
            self.prepare_entry(next, stage);
        }
    }

    /// Begins to fetch from memory what a packet that is to enter this link needs.
    pub fn prepare_entry(&self, link: LinkId, stage: Stage) {
        let link = &self.links[link.0 as usize];
        match stage {
            Stage::First => prefetch(link),
            Stage::Second => self.flows.prepare(link.meter.as_ref()),
        }
    }

    /// Observes a link. Waiting times are kept of packets whose transmission begins from `since` on, if the link has a rate or a trace.
    pub fn observe(&mut self, link: LinkId, since: Instant) {
        self.links[link.0 as usize].observe(since);
    }

    /// The times from a packet's entrance to the beginning of its transmission, in nanoseconds, of packets that began before `now`; `None` of a link
    /// that is not observed, or that takes no time.
    pub fn waits(&mut self, link: LinkId, now: Instant) -> Option<&Histogram<u32>> {
        self.links[link.0 as usize].waits(now)
    }

    /// What there is to see of a link before anything happens at `now`; everything before has happened.
    pub fn look(&mut self, link: LinkId, now: Instant) -> LinkView {
        self.links[link.0 as usize].look(now)
    }

    /// The link with this identifier.
    #[must_use]
    pub fn link(&self, id: LinkId) -> &Link {
        &self.links[id.0 as usize]
    }

    /// Packets made so far, by hosts, devices and routers, as fragments, and as copies: always the sum of [`Self::fates`] and [`Self::in_flight`].
    #[must_use]
    pub const fn made(&self) -> u64 {
        self.made
    }

    /// How many packets met each fate.
    #[must_use]
    pub const fn fates(&self) -> &Fates {
        &self.fates
    }

    /// Packets of this direction so far.
    #[must_use]
    pub const fn crossed(&self, direction: Direction) -> Crossings {
        self.crossed[direction as usize]
    }

    /// Packets on a link or in a queue.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.packets.len() as u64
    }

    /// Sends a packet that a host made onto its link.
    pub fn send<E: Copy + From<NetworkEvent>>(
        &mut self,
        link: LinkId,
        packet: Packet,
        scheduler: &mut Scheduler<E>,
    ) {
        self.made += 1;
        let id = self.packets.insert(packet);
        self.travel(link, id, scheduler);
    }

    /// Counts a packet that met its fate before it entered any link, or after it left the last one (`delivered` packets whose device refused
    /// them: see [`Self::refuse`]).
    pub fn stillborn(&mut self, fate: Fate, packets: u64) {
        self.made += packets;
        self.fates.add(fate, packets);
    }

    /// The device, the host or the router did not take so many delivered packets: their fate was another.
    pub fn refuse(&mut self, fate: Fate, packets: u32) {
        self.fates.reclassify(Fate::Delivered, fate, packets.into());
    }

    /// Handles what happens at a link or a router: a packet that arrives is forwarded, or returned if this is its host.
    pub fn handle<E: Copy + From<NetworkEvent>>(
        &mut self,
        event: NetworkEvent,
        scheduler: &mut Scheduler<E>,
    ) -> Option<Delivery> {
        match event {
            NetworkEvent::Arrival { link, packet } => {
                let id = self.links[link.0 as usize].arrive(packet, scheduler)?;
                debug_assert_eq!(id, packet, "the event of another packet");
                self.reach(link, id, scheduler)
            }
            NetworkEvent::Departure { link } => {
                self.links[link.0 as usize].depart(scheduler, &mut self.settled);
                self.settle(link, scheduler);
                None
            }
            NetworkEvent::Reassembly { router } => {
                self.expire(router, scheduler);
                None
            }
        }
    }

    /// A packet is at the far end of a link.
    fn reach<E: Copy + From<NetworkEvent>>(
        &mut self,
        link: LinkId,
        id: PacketId,
        scheduler: &mut Scheduler<E>,
    ) -> Option<Delivery> {
        let mut link = link;
        loop {
            self.sight(link, id, Sighting::Left, scheduler);
            let router = match self.links[link.0 as usize].to {
                Node::Router(router) => router,
                Node::Host(node) => {
                    if self.end_cross_packet(link, id) {
                        return None;
                    }
                    self.fates.add(Fate::Delivered, 1);
                    return Some(Delivery { node, packet: self.packets.remove(id) });
                }
            };
            let next = self.forward((router, link), id, scheduler)?;
            match self.enter(next, id, scheduler) {
                Entrance::Through => {}
                Entrance::Over => return None,
                Entrance::TooBig => {
                    self.cut_or_refuse(next, id, Some((router, link)), scheduler);
                    return None;
                }
            }
            link = next;
        }
    }

    /// Puts a packet onto a link. Transparent links into a router are crossed at once; the last link into a host always ends in an event, so that
    /// hosts never call each other.
    #[inline]
    fn travel<E: Copy + From<NetworkEvent>>(
        &mut self,
        link: LinkId,
        id: PacketId,
        scheduler: &mut Scheduler<E>,
    ) {
        let (mut link, mut from) = (link, None);
        loop {
            match self.enter(link, id, scheduler) {
                Entrance::Through => {}
                Entrance::Over => return,
                Entrance::TooBig => return self.cut_or_refuse(link, id, from, scheduler),
            }
            let crossed = &mut self.links[link.0 as usize];
            let Node::Router(router) = crossed.to else {
                return crossed.postpone(id, self.packets.get(id).wire_len(), scheduler);
            };
            self.sight(link, id, Sighting::Left, scheduler);
            from = Some((router, link));
            match self.forward((router, link), id, scheduler) {
                Some(next) => link = next,
                None => return,
            }
        }
    }

    /// The entrance of a link, in the order in which a packet meets it: MTU, loss, corruption, duplication, queue. What the link could never carry meets
    /// no loss model, and what is lost is not altered and takes no room.
    fn enter<E: Copy + From<NetworkEvent>>(
        &mut self,
        id: LinkId,
        packet: PacketId,
        scheduler: &mut Scheduler<E>,
    ) -> Entrance {
        let bytes = self.packets.get(packet).wire_len();
        let too_big = self.links[id.0 as usize].is_too_big(bytes);
        if too_big && !self.packets.get(packet).ip.dont_fragment {
            return Entrance::TooBig;
        }
        let lost = self.lose(id, packet, too_big, scheduler.now());
        let link = &mut self.links[id.0 as usize];
        link.account.counters.packets += 1;
        link.account.counters.bytes += u64::from(bytes);
        if too_big {
            return Entrance::TooBig;
        }
        if lost {
            self.lose_packet(id, packet, Fate::RandomLoss, scheduler);
            return Entrance::Over;
        }
        match link.admit(packet, bytes, scheduler) {
            Admission::Through => {
                self.sight(id, packet, Sighting::Entered, scheduler);
                Entrance::Through
            }
            Admission::Taken => {
                self.sight(id, packet, Sighting::Entered, scheduler);
                Entrance::Over
            }
            Admission::Full => {
                self.lose_packet(id, packet, Fate::QueueFull, scheduler);
                Entrance::Over
            }
            Admission::QueuedPath => {
                self.alter(id, packet, bytes, scheduler);
                Entrance::Over
            }
        }
    }

    /// The entrance, behind loss, of a link that is more than a drop-tail FIFO. A copy is one of the packet as it came: no bit of it is flipped here.
    #[inline(never)]
    fn alter<E: Copy + From<NetworkEvent>>(
        &mut self,
        link: LinkId,
        id: PacketId,
        bytes: u32,
        scheduler: &mut Scheduler<E>,
    ) {
        let Altered { flipped, duplicated } = self.links[link.0 as usize].alter(bytes);
        let copy = duplicated.then(|| self.copy(id));
        if let Some(bit) = flipped {
            self.packets.get_mut(id).flipped.get_or_insert(bit);
        }
        let refused = self.offer(link, id, bytes, scheduler);
        let copied = copy.map(|copy| (copy, self.offer(link, copy, bytes, scheduler)));
        // To its receiver a packet with a flipped bit is lost, unless a copy comes whole.
        let is_whole = refused.is_none() && flipped.is_none();
        if !is_whole && copied.is_none_or(|(_, refused)| refused.is_some()) {
            self.note_loss_event(link, id, scheduler.now());
        }
        for (id, refused) in [(id, refused)].into_iter().chain(copied) {
            if let Some(reason) = refused {
                self.turn_away(link, id, fate(reason), scheduler);
            }
        }
        self.settle(link, scheduler);
    }

    /// Offers a packet to the queue of a link. The reason is why the queue refused it.
    fn offer<E: Copy + From<NetworkEvent>>(
        &mut self,
        link: LinkId,
        id: PacketId,
        bytes: u32,
        scheduler: &mut Scheduler<E>,
    ) -> Option<DropReason> {
        let (packet, state) = (self.packets.get(id), &mut self.links[link.0 as usize]);
        let flow = state.flow_key().map_or(0, |key| flow_hash(packet, key));
        let ecn_capable = packet.ip.traffic_class & ipv4::ECN != 0;
        state.offer(Item { handle: id, bytes, flow, ecn_capable }, scheduler, &mut self.settled);
        let dropped = &mut self.settled.dropped;
        let refused = dropped.iter().position(|(other, _)| *other == id).map(|place| dropped.remove(place).1);
        if refused.is_none() {
            self.sight(link, id, Sighting::Entered, scheduler);
        }
        refused
    }

    /// Carries out what a link's queue decided of packets that had entered before.
    fn settle<E: Copy>(&mut self, link: LinkId, scheduler: &Scheduler<E>) {
        let mut settled = std::mem::take(&mut self.settled);
        for id in settled.marked.drain(..) {
            let class = &mut self.packets.get_mut(id).ip.traffic_class;
            if *class & ipv4::ECN != ipv4::ECN {
                *class |= ipv4::ECN;
                self.links[link.0 as usize].account.counters.marked += 1;
                if self.packets.get(id).flipped.is_none() {
                    self.note_loss_event(link, id, scheduler.now());
                }
            }
        }
        for (id, reason) in settled.dropped.drain(..) {
            // To its receiver a packet with a flipped bit was lost before. A packet of which there is a copy counts as lost, too.
            if self.packets.get(id).flipped.is_none() {
                self.note_loss_event(link, id, scheduler.now());
            }
            self.turn_away(link, id, fate(reason), scheduler);
        }
        self.settled = settled;
    }

    /// A packet ends at a link's entrance, and its receiver gets no other like it.
    fn lose_packet<E: Copy>(&mut self, link: LinkId, id: PacketId, fate: Fate, scheduler: &Scheduler<E>) {
        self.note_loss_event(link, id, scheduler.now());
        self.turn_away(link, id, fate, scheduler);
    }

    /// A packet ends at a link's entrance, or in its queue.
    fn turn_away<E: Copy>(&mut self, link: LinkId, id: PacketId, fate: Fate, scheduler: &Scheduler<E>) {
        let packet = self.turned_away(link, id, fate, scheduler);
        self.pool.release(packet.payload);
    }

    /// The packet that ends at a link's entrance, or in its queue.
    fn turned_away<E: Copy>(
        &mut self,
        link: LinkId,
        id: PacketId,
        fate: Fate,
        scheduler: &Scheduler<E>,
    ) -> Packet {
        let counters = &mut self.links[link.0 as usize].account.counters;
        counters.dropped += u64::from(fate != Fate::RandomLoss);
        counters.dropped_early += u64::from(fate == Fate::QueueEarly);
        counters.dropped_too_big += u64::from(fate == Fate::TooBig);
        counters.discarded_bytes += u64::from(self.packets.get(id).wire_len());
        self.sight(link, id, Sighting::Dropped(fate), scheduler);
        self.fates.add(fate, 1);
        let packet = self.packets.remove(id);
        self.note_end(link, &packet, fate);
        packet
    }

    /// A second packet like this one.
    fn copy(&mut self, id: PacketId) -> PacketId {
        let Packet { ip, body, payload, flipped } = self.packets.get(id);
        let (ip, body, flipped) = (*ip, *body, *flipped);
        let payload = self.pool.share(payload);
        self.made += 1;
        self.packets.insert(Packet { ip, body, payload, flipped })
    }

    /// Takes account of a packet at a link's entrance, and steps the loss process that it meets there, unless it is too big for the link.
    fn lose(&mut self, id: LinkId, packet: PacketId, too_big: bool, now: Instant) -> bool {
        let link = &mut self.links[id.0 as usize];
        let Some(meter) = &mut link.meter else { return !too_big && link.lose() };
        if !self.cross.is_empty() && is_cross_traffic(self.packets.get(packet)) {
            let scope = meter.scope;
            return !too_big && self.lose_cross_packet(id, packet, scope);
        }
        let flow = self.flows.of_packet(meter, self.packets.get(packet), now);
        let (direction, scope) = (meter.direction, meter.scope);
        let lost = !too_big && lose(link, flow, direction, scope);
        let passage = flow.passage_mut(direction);
        passage.packets += 1;
        passage.lost += u64::from(lost);
        let crossed = &mut self.crossed[direction as usize];
        crossed.packets += 1;
        crossed.lost += u64::from(lost);
        lost
    }

    /// Takes account of a packet that a link loses or marks: if it has data, its sender will make its congestion window smaller.
    fn note_loss_event(&mut self, link: LinkId, id: PacketId, now: Instant) {
        let packet = self.packets.get(id);
        let Body::Tcp(header) = &packet.body else { return };
        if packet.payload.is_empty() {
            return;
        }
        let ends = [
            (packet.ip.destination, header.destination_port, Direction::Backward),
            (packet.ip.source, header.source_port, Direction::Forward),
        ];
        let met = ends
            .into_iter()
            .find_map(|(host, port, direction)| Some((self.meter_of(host)?, port, direction)));
        if let Some((meter, port, direction)) = met {
            let round_trip = meter.round_trip + self.links[link.0 as usize].waiting_time(now);
            self.flows.note_loss_event(meter.host, port, direction, now, round_trip);
        }
    }

    /// The account of the host with this address, if its packets are counted.
    fn meter_of(&self, host: Address) -> Option<&Meter> {
        self.links[self.metered.find(host)?.0 as usize].meter.as_ref()
    }

    fn drop_packet(&mut self, id: PacketId, fate: Fate) {
        let packet = self.packets.remove(id);
        self.pool.release(packet.payload);
        self.fates.add(fate, 1);
    }

    fn sight<E: Copy>(&mut self, link: LinkId, id: PacketId, sighting: Sighting, scheduler: &Scheduler<E>) {
        self.observer.observe(scheduler.now(), link, self.packets.get(id), &self.pool, sighting);
    }
}

/// The fate of a packet that a queue dropped for this reason.
const fn fate(reason: DropReason) -> Fate {
    match reason {
        DropReason::Full => Fate::QueueFull,
        DropReason::Early => Fate::QueueEarly,
    }
}

/// What tells flows apart for a queue: a draw from the link's key at the place that addresses, protocol and ports name.
fn flow_hash(packet: &Packet, key: Key) -> u32 {
    let (source, destination) = match packet.body {
        Body::Tcp(header) => (header.source_port, header.destination_port),
        Body::Udp { source_port, destination_port } => (source_port, destination_port),
        // All fragments of a packet are of one flow: only the first tells its ports.
        Body::Icmp { .. } | Body::Fragment { .. } => (0, 0),
    };
    let ports = u64::from(source) << 16 | u64::from(destination);
    let words = packet.ip.source.words().into_iter().chain(packet.ip.destination.words());
    let key = words.fold(key, Key::entity);
    key.draw(u64::from(packet.body.protocol()) << 32 | ports) as u32
}

/// Decides the packet by the chain that the scope names.
fn lose(link: &mut Link, flow: &mut Flow, direction: Direction, scope: Scope) -> bool {
    let loss = link.loss();
    let tally = &mut link.account.counters.loss;
    match scope {
        Scope::Direction => {
            let key = flow.key.entity(direction as u64);
            loss.lose(&mut flow.passage_mut(direction).chain, key, tally)
        }
        Scope::Connection => loss.lose(&mut flow.forward.chain, flow.key, tally),
        Scope::Link => link.lose(),
    }
}
