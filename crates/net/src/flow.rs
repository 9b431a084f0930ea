//! Ground truth of each connection: what the emulator did to its packets, and the state of its loss chains.

use crate::{Chain, Direction};
use rustc_hash::FxHashMap;
use wasp_random::Key;
use wasp_wire::{Flags, Packet, Transport};

/// The place of a flow in the table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FlowId(u32);

/// What the packets of one connection (or of one UDP or ICMP exchange) met on the client's access link.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Index of the client.
    pub client: u32,
    /// The client's port, or the identifier of an ICMP echo.
    pub port: u16,
    /// The client's initial sequence number; zero for what is not TCP, and for packets that come after their connection was forgotten.
    pub initial_sequence: u32,
    /// Upward, away from the client.
    pub up: Passage,
    /// Downward, to the client.
    pub down: Passage,
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
    /// The passage in this direction.
    pub(crate) fn passage_mut(&mut self, direction: Direction) -> &mut Passage {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }
}

/// Every flow that has an access link.
#[derive(Debug, Default)]
pub struct Flows {
    index: FxHashMap<u64, FlowId>,
    flows: Vec<Flow>,
    free: Vec<FlowId>,
    strays: [Passage; 2],
}

impl Flows {
    /// The flow of a packet on the access link of `client`, made if it is new. A SYN with another initial sequence number than the flow of the
    /// same port begins a new connection, and the old one joins the strays. `key` is the client's.
    pub(crate) fn of_packet(
        &mut self,
        client: u32,
        direction: Direction,
        key: Key,
        packet: &Packet,
    ) -> FlowId {
        let (protocol, port, opening) = identify(packet, direction);
        let name = u64::from(client) << 24 | u64::from(port) << 8 | u64::from(protocol);
        if let Some(id) = self.index.get(&name) {
            let flow = &self.flows[id.0 as usize];
            if opening.is_none_or(|sequence| sequence == flow.initial_sequence) {
                return *id;
            }
        }
        let initial_sequence = opening.unwrap_or(0);
        let identity = u64::from(protocol) << 48 | u64::from(port) << 32 | u64::from(initial_sequence);
        let (up, down) = (Passage::default(), Passage::default());
        let id = self.insert(Flow { client, port, initial_sequence, up, down, key: key.entity(identity) });
        if let Some(old) = self.index.insert(name, id) {
            let old = self.remove(old);
            for (sum, passage) in self.strays.iter_mut().zip([old.up, old.down]) {
                sum.packets += passage.packets;
                sum.lost += passage.lost;
            }
        }
        id
    }

    /// Ends the flow of a TCP connection and returns its counts, if any packet of it was seen.
    pub fn finish(&mut self, client: u32, port: u16, initial_sequence: u32) -> Option<Flow> {
        let name = u64::from(client) << 24 | u64::from(port) << 8 | u64::from(TCP);
        let id = *self.index.get(&name)?;
        if self.flows[id.0 as usize].initial_sequence != initial_sequence {
            return None;
        }
        self.index.remove(&name);
        Some(self.remove(id))
    }

    pub(crate) fn get_mut(&mut self, id: FlowId) -> &mut Flow {
        &mut self.flows[id.0 as usize]
    }

    /// Packets (up, down) of displaced flows: those that came after their connection was forgotten.
    #[must_use]
    pub const fn strays(&self) -> [Passage; 2] {
        self.strays
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
        self.flows[id.0 as usize]
    }
}

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Protocol, the client's port, and the client's initial sequence number if the packet opens a connection.
fn identify(packet: &Packet, direction: Direction) -> (u8, u16, Option<u32>) {
    match &packet.transport {
        Transport::Tcp(header) => {
            let (port, opening) = match direction {
                Direction::Up => {
                    let opens = header.flags.contains(Flags::SYN) && !header.flags.contains(Flags::ACK);
                    (header.source_port, opens.then_some(header.sequence.0))
                }
                Direction::Down => {
                    let opens = header.flags.contains(Flags::SYN | Flags::ACK);
                    (header.destination_port, opens.then(|| header.acknowledgment.0.wrapping_sub(1)))
                }
            };
            (TCP, port, opening)
        }
        Transport::Udp { source_port, destination_port } => {
            (UDP, if direction == Direction::Up { *source_port } else { *destination_port }, None)
        }
        Transport::Icmp { rest, .. } => (ICMP, u16::from_be_bytes([rest[0], rest[1]]), None),
    }
}
