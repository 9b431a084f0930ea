//! Ground truth of each connection: what the emulator did to its packets, and the state of its loss chains.

use super::loss_events::LossCounter;
use crate::{Chain, Direction, LossEvents, Scope};
use rustc_hash::FxHashMap;
use wasp_kernel::prefetch;
use wasp_packet::{Body, Packet};
use wasp_random::Key;
use wasp_units::{Duration, Instant};
use wasp_wire::Flags;
use wasp_wire::protocol::{ICMP, TCP, UDP};

/// The place of a flow in the table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FlowId(u32);

/// What the packets of one connection (or of one UDP or ICMP exchange) met on the host's access link.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Protocol number, or 0 once the flow has ended.
    protocol: u8,
    /// The number of the host.
    pub host: u32,
    /// The host's port, or the identifier of an ICMP echo; 0 for fragments.
    pub port: u16,
    /// The host's initial sequence number; zero for what is not TCP, and for packets that come after their connection was forgotten.
    pub initial_sequence: u32,
    /// When its first packet came to the access link.
    pub since: Instant,
    /// From the host.
    pub forward: Passage,
    /// To the host.
    pub backward: Passage,
    pub(crate) key: Key,
}

/// One direction of a flow.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Passage {
    /// Packets that came to the access link.
    pub packets: u64,
    /// Packets that the loss model took.
    pub lost: u64,
    pub(crate) chain: Chain,
}

impl Flow {
    /// Whether it is of a TCP connection.
    #[must_use]
    pub const fn is_tcp(&self) -> bool {
        self.protocol == TCP
    }

    const fn name(&self) -> u64 {
        name(self.host, self.port, self.protocol)
    }

    /// The passage in this direction.
    pub(crate) fn passage_mut(&mut self, direction: Direction) -> &mut Passage {
        match direction {
            Direction::Forward => &mut self.forward,
            Direction::Backward => &mut self.backward,
        }
    }
}

/// What makes a link a host's access link: whose flows it keeps account of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meter {
    pub(crate) host: u32,
    pub(crate) direction: Direction,
    pub(crate) scope: Scope,
    /// The host's key for loss.
    key: Key,
    /// The host's round-trip time without queues.
    pub(crate) round_trip: Duration,
    /// The flow of the last packet; it may have ended.
    recent: Option<FlowId>,
}

impl Meter {
    pub(crate) const fn new(
        host: u32,
        direction: Direction,
        scope: Scope,
        key: Key,
        round_trip: Duration,
    ) -> Self {
        Self { host, direction, scope, key, round_trip, recent: None }
    }
}

/// Every flow that has an access link.
#[derive(Debug, Default)]
pub struct Flows {
    index: FxHashMap<u64, FlowId>,
    flows: Vec<Flow>,
    free: Vec<FlowId>,
    displaced: Vec<Flow>,
    /// Of the TCP connections of which data was lost or marked anywhere in the network, by their names: how often, in each direction.
    lost: FxHashMap<u64, [LossCounter; 2]>,
}

impl Flows {
    /// The flow of a packet on the access link that `meter` is of, made if it is new. A SYN with another initial sequence number than the flow
    /// of the same port begins a new connection, and the old one joins the strays.
    pub(crate) fn of_packet(&mut self, meter: &mut Meter, packet: &Packet, now: Instant) -> &mut Flow {
        let (protocol, port, opening) = identify(packet, meter.direction);
        let name = name(meter.host, port, protocol);
        let fits = |flow: &Flow| {
            flow.name() == name && opening.is_none_or(|sequence| sequence == flow.initial_sequence)
        };
        // Most packets are of the same flow as the one before on the link, which is found without a look into the table.
        let recent = meter.recent.filter(|id| fits(&self.flows[id.0 as usize]));
        let known =
            recent.or_else(|| self.index.get(&name).copied().filter(|id| fits(&self.flows[id.0 as usize])));
        let id = known.unwrap_or_else(|| self.begin(meter, name, (protocol, port, opening), now));
        meter.recent = Some(id);
        &mut self.flows[id.0 as usize]
    }

    /// Begins a flow; another of the same name joins the strays.
    ///
    /// Its draws follow from what it is. A connection that is first heard of on the way to its host is one that its host has left: its draws
    /// follow from the time, too, so that they are not those of its beginning once more.
    fn begin(
        &mut self,
        meter: &Meter,
        name: u64,
        (protocol, port, opening): (u8, u16, Option<u32>),
        since: Instant,
    ) -> FlowId {
        let initial_sequence = opening.unwrap_or(0);
        let identity = u64::from(protocol) << 48 | u64::from(port) << 32 | u64::from(initial_sequence);
        let (forward, backward) = (Passage::default(), Passage::default());
        let mut key = meter.key.entity(identity);
        if opening.is_some() && meter.direction == Direction::Backward {
            key = key.entity(since.as_nanos());
        }
        let host = meter.host;
        let id = self.insert(Flow { protocol, host, port, initial_sequence, since, forward, backward, key });
        if let Some(old) = self.index.insert(name, id) {
            self.lost.remove(&name);
            let old = self.remove(old);
            self.displaced.push(old);
        }
        id
    }

    /// How often data of the TCP connection from this port was lost or marked.
    #[must_use]
    pub fn loss_events(&self, host: u32, port: u16) -> LossEvents {
        if self.lost.is_empty() {
            return LossEvents::default();
        }
        let counters = self.lost.get(&name(host, port, TCP)).copied().unwrap_or_default();
        let [forward, backward] = counters.map(LossCounter::events);
        LossEvents { forward, backward }
    }

    /// Data of the TCP connection from this port was lost or marked on its way in this direction; a round trip of the host takes so long.
    pub(crate) fn note_loss_event(
        &mut self,
        host: u32,
        port: u16,
        direction: Direction,
        now: Instant,
        round_trip: Duration,
    ) {
        let name = name(host, port, TCP);
        if self.index.contains_key(&name) {
            self.lost.entry(name).or_default()[direction as usize].note(now, round_trip);
        }
    }

    /// Ends the flow of a TCP connection and returns its counts, if any packet of it was seen.
    pub fn finish(&mut self, host: u32, port: u16, initial_sequence: u32) -> Option<Flow> {
        let name = name(host, port, TCP);
        let id = *self.index.get(&name)?;
        if self.flows[id.0 as usize].initial_sequence != initial_sequence {
            return None;
        }
        self.index.remove(&name);
        self.lost.remove(&name);
        Some(self.remove(id))
    }

    /// Begins to fetch from memory the flow that the next packet on a link is likely to be of.
    pub(crate) fn prepare(&self, meter: Option<&Meter>) {
        if let Some(id) = meter.and_then(|meter| meter.recent) {
            prefetch(&self.flows[id.0 as usize]);
        }
    }

    /// Ends every flow that no connection ended: packets that came after their connection was forgotten, or are of none.
    pub fn take_strays(&mut self) -> Vec<Flow> {
        self.index.clear();
        self.lost.clear();
        self.free.clear();
        let left = std::mem::take(&mut self.flows).into_iter().filter(|flow| flow.protocol != 0);
        std::mem::take(&mut self.displaced).into_iter().chain(left).collect()
    }

    fn insert(&mut self, flow: Flow) -> FlowId {
        if let Some(id) = self.free.pop() {
            self.flows[id.0 as usize] = flow;
            return id;
        }
        self.flows.push(flow);
        FlowId(self.flows.len() as u32 - 1)
    }

    fn remove(&mut self, id: FlowId) -> Flow {
        self.free.push(id);
        let flow = &mut self.flows[id.0 as usize];
        let ended = *flow;
        flow.protocol = 0;
        ended
    }
}

/// What tells the flows that there are at a time apart.
const fn name(host: u32, port: u16, protocol: u8) -> u64 {
    (host as u64) << 24 | (port as u64) << 8 | protocol as u64
}

/// Protocol, the host's port, and the host's initial sequence number if the packet opens a connection.
fn identify(packet: &Packet, direction: Direction) -> (u8, u16, Option<u32>) {
    match &packet.body {
        Body::Tcp(header) => {
            let (port, opening) = match direction {
                Direction::Forward => {
                    let opens = header.flags.contains(Flags::SYN) && !header.flags.contains(Flags::ACK);
                    (header.source_port, opens.then_some(header.sequence.0))
                }
                Direction::Backward => {
                    let opens = header.flags.contains(Flags::SYN | Flags::ACK);
                    (header.destination_port, opens.then(|| header.acknowledgment.0.wrapping_sub(1)))
                }
            };
            (TCP, port, opening)
        }
        Body::Udp { source_port, destination_port } => {
            (UDP, if direction == Direction::Forward { *source_port } else { *destination_port }, None)
        }
        Body::Icmp { rest, .. } => (ICMP, u16::from_be_bytes([rest[0], rest[1]]), None),
        Body::Fragment { protocol, .. } => (*protocol, 0, None),
    }
}
