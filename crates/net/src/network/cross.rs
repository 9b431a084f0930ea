//! Cross traffic: packets that load one direction of a link beside what hosts send, and end at its far end.
//!
//! They are UDP between two reserved addresses (RFC 1112 section 4), which no host, device or router of a network has. Their destination ports tell the
//! sources of a link apart, and their source ports the flows of a source.

use super::{Entrance, Network};
use crate::store::PacketId;
use crate::{Chain, Fate, LinkCounters, LinkId, LossTally, NetworkEvent, Observer, Scope};
use rustc_hash::FxHashMap;
use std::net::Ipv4Addr;
use std::num::NonZeroU16;
use wasp_kernel::Scheduler;
use wasp_packet::{Body, Packet, Payload};
use wasp_random::{Key, Purpose};
use wasp_units::Bytes;
use wasp_wire::{Address, IpHeader, ipv4, udp};

/// From whom and to whom cross traffic goes.
const ENDS: (Ipv4Addr, Ipv4Addr) = (Ipv4Addr::new(240, 0, 0, 1), Ipv4Addr::new(240, 0, 0, 2));
/// It takes a hop of no router.
const TTL: u8 = 1;

/// A source of cross traffic.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CrossSource(u32);

/// What a source sends.
#[derive(Clone, Copy, Debug)]
pub struct CrossConfig {
    /// Length of each packet, headers included.
    pub packet: Bytes,
    /// Among how many flows the packets are dealt at random.
    pub flows: NonZeroU16,
    /// For the flow of each packet, the port that stands for the source (the next one if another source of the link has it), and its losses on an
    /// access link.
    pub key: Key,
}

/// All sources of a network.
#[derive(Debug, Default)]
pub(super) struct CrossSources {
    sources: Vec<Loaded>,
    /// Their numbers by the link that they load and the port to which they send.
    numbers: FxHashMap<(LinkId, u16), u32>,
}

/// A source and the link that it loads.
#[derive(Debug)]
struct Loaded {
    link: LinkId,
    port: u16,
    /// Bytes of a packet behind the headers of IP and UDP.
    payload: u32,
    config: CrossConfig,
    /// Its chain of loss on an access link, where each connection has one.
    chain: Chain,
    counters: CrossCounters,
}

/// What became of the packets of one source, or of several.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct CrossCounters {
    /// Packets that came to the link's entrance.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What the loss model did.
    pub loss: LossTally,
    /// Packets dropped for another reason than random loss, copies among them.
    pub dropped: u64,
    /// Those of them that the queue dropped early: although there was room.
    pub dropped_early: u64,
    /// Packets in which a bit was flipped.
    pub corrupted: u64,
    /// Copies that the link made.
    pub duplicated: u64,
    /// Packets and copies that came to the link's far end.
    pub arrived: u64,
}

impl CrossCounters {
    /// Adds what others count.
    pub const fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.loss.from_good += other.loss.from_good;
        self.loss.from_bad += other.loss.from_bad;
        self.loss.lost += other.loss.lost;
        self.dropped += other.dropped;
        self.dropped_early += other.dropped_early;
        self.corrupted += other.corrupted;
        self.duplicated += other.duplicated;
        self.arrived += other.arrived;
    }

    /// What has been counted since these counted less.
    #[must_use]
    pub const fn since(&self, before: &Self) -> Self {
        Self {
            packets: self.packets - before.packets,
            bytes: self.bytes - before.bytes,
            loss: LossTally {
                from_good: self.loss.from_good - before.loss.from_good,
                from_bad: self.loss.from_bad - before.loss.from_bad,
                lost: self.loss.lost - before.loss.lost,
            },
            dropped: self.dropped - before.dropped,
            dropped_early: self.dropped_early - before.dropped_early,
            corrupted: self.corrupted - before.corrupted,
            duplicated: self.duplicated - before.duplicated,
            arrived: self.arrived - before.arrived,
        }
    }

    /// Adds what one packet did at a link's entrance, where these counters became those. Drops are counted where packets end.
    const fn note_entrance(&mut self, before: &LinkCounters, after: &LinkCounters) {
        self.packets += after.packets - before.packets;
        self.bytes += after.bytes - before.bytes;
        self.loss.from_good += after.loss.from_good - before.loss.from_good;
        self.loss.from_bad += after.loss.from_bad - before.loss.from_bad;
        self.loss.lost += after.loss.lost - before.loss.lost;
        self.corrupted += after.corrupted - before.corrupted;
        self.duplicated += after.duplicated - before.duplicated;
    }
}

impl CrossSource {
    /// Shortest packet, in bytes: the headers of IP and UDP.
    pub const LEAST_PACKET: u16 = (ipv4::HEADER_LEN + udp::HEADER_LEN) as u16;
}

impl CrossSources {
    pub(super) const fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// The source of a packet on a link.
    fn of(&mut self, link: LinkId, packet: &Packet) -> Option<&mut Loaded> {
        let Body::Udp { destination_port, .. } = packet.body else { return None };
        let number = *self.numbers.get(&(link, destination_port))?;
        self.sources.get_mut(number as usize)
    }
}

impl Loaded {
    /// Its next packet.
    fn packet(&mut self) -> Packet {
        let CrossConfig { flows, key, .. } = self.config;
        let number = self.counters.packets;
        let flow = key.name("flow").draw(number) % u64::from(flows.get());
        let ip = IpHeader {
            source: Address::from(ENDS.0),
            destination: Address::from(ENDS.1),
            ttl: TTL,
            traffic_class: 0,
            identification: number as u16,
            dont_fragment: true,
        };
        let body = Body::Udp { source_port: flow as u16, destination_port: self.port };
        Packet { ip, body, payload: Payload::Virtual(self.payload), flipped: None }
    }
}

/// Whether a packet has the addresses of cross traffic, which none from outside may have.
#[inline]
#[must_use]
pub fn is_cross_traffic(packet: &Packet) -> bool {
    let ends = (packet.ip.source, packet.ip.destination);
    ends == (Address::from(ENDS.0), Address::from(ENDS.1))
}

impl<O: Observer> Network<O> {
    /// Adds a source that loads `link`.
    ///
    /// # Panics
    /// If a packet is shorter than its headers, or longer than IP packets are; or if the link has more sources than there are ports.
    pub fn add_cross_source(&mut self, link: LinkId, config: CrossConfig) -> CrossSource {
        let bytes = config.packet.get();
        let payload = bytes.checked_sub(CrossSource::LEAST_PACKET.into());
        let payload = payload.filter(|_| bytes <= u16::MAX.into()).expect("a packet that IP carries");
        let CrossSources { sources, numbers } = &mut self.cross;
        let first = config.key.purpose(Purpose::Port).draw(0) as u16;
        let mut ports = (0..=u16::MAX).map(|further| first.wrapping_add(further));
        let port = ports.find(|port| !numbers.contains_key(&(link, *port))).expect("a port that is free");
        let number = sources.len() as u32;
        numbers.insert((link, port), number);
        let (chain, counters) = (Chain::default(), CrossCounters::default());
        sources.push(Loaded { link, port, payload: payload as u32, config, chain, counters });
        CrossSource(number)
    }

    /// The link that each source loads, and what became of its packets, in the order in which they were added.
    pub fn cross_traffic(&self) -> impl Iterator<Item = (LinkId, &CrossCounters)> {
        self.cross.sources.iter().map(|source| (source.link, &source.counters))
    }

    /// A source sends a packet onto its link, whatever this one leads to.
    pub fn send_cross_packet<E: Copy + From<NetworkEvent>>(
        &mut self,
        source: CrossSource,
        scheduler: &mut Scheduler<E>,
    ) {
        let loaded = &mut self.cross.sources[source.0 as usize];
        let (link, packet) = (loaded.link, loaded.packet());
        let bytes = packet.wire_len();
        self.made += 1;
        let id = self.packets.insert(packet);
        let before = self.links[link.0 as usize].account.counters;
        match self.enter(link, id, scheduler) {
            Entrance::Through => self.links[link.0 as usize].postpone(id, bytes, scheduler),
            Entrance::Over => {}
            Entrance::TooBig => self.cut_or_refuse(link, id, None, scheduler),
        }
        let after = &self.links[link.0 as usize].account.counters;
        self.cross.sources[source.0 as usize].counters.note_entrance(&before, after);
    }

    /// Steps the loss process that a packet of cross traffic meets on a host's access link, whose account does not have it.
    #[cold]
    pub(super) fn lose_cross_packet(&mut self, id: LinkId, packet: PacketId, scope: Scope) -> bool {
        let link = &mut self.links[id.0 as usize];
        let own = if scope == Scope::Link { None } else { self.cross.of(id, self.packets.get(packet)) };
        match own {
            Some(Loaded { chain, config, .. }) => {
                link.loss().lose(chain, config.key.purpose(Purpose::Loss), &mut link.account.counters.loss)
            }
            None => link.lose(),
        }
    }

    /// Whether this packet is of cross traffic. In a network without any nobody looks at the packet.
    #[inline]
    pub(super) fn has_cross_packet(&self, id: PacketId) -> bool {
        !self.cross.is_empty() && is_cross_traffic(self.packets.get(id))
    }

    /// Takes a packet out of the network at the end of this link if it is of cross traffic, whatever is there; whether it is.
    #[inline]
    pub(super) fn end_cross_packet(&mut self, link: LinkId, id: PacketId) -> bool {
        let is_one = self.has_cross_packet(id);
        if is_one {
            self.discard(link, id);
        }
        is_one
    }

    #[cold]
    fn discard(&mut self, link: LinkId, id: PacketId) {
        let packet = self.packets.remove(id);
        self.note_end(link, &packet, Fate::Delivered);
        self.fates.add(if packet.flipped.is_some() { Fate::BadChecksum } else { Fate::Delivered }, 1);
        self.pool.release(packet.payload);
    }

    /// If a packet that ends at this link is of cross traffic, its source counts that.
    pub(super) fn note_end(&mut self, link: LinkId, packet: &Packet, fate: Fate) {
        let source = is_cross_traffic(packet).then(|| self.cross.of(link, packet)).flatten();
        let Some(Loaded { counters, .. }) = source else { return };
        match fate {
            Fate::Delivered => counters.arrived += 1,
            // The tally of the loss model has it.
            Fate::RandomLoss => {}
            fate => {
                counters.dropped += 1;
                counters.dropped_early += u64::from(fate == Fate::QueueEarly);
            }
        }
    }
}
