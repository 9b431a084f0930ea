//! A star whose hosts only write down what reaches them whole.

use std::sync::Arc;
use wasp_kernel::{LogicalProcess, NodeId, Process, Scheduler};
use wasp_net::topology::{self, AccessConfig, Block, Layout, ServerConfig};
use wasp_net::{CrossSource, Delivery, Fate, LinkConfig, Network, NetworkEvent, Pair};
use wasp_packet::{Body, Checksums, Packet, Payload, PayloadPool, emit};
use wasp_random::Key;
use wasp_units::Instant;
use wasp_wire::{Address, Flags, IpHeader, ParseError, SequenceNumber, TcpHeader, ipv4};

/// The network, and what came out of it: time, node, sequence number of the packet.
pub(crate) struct Model {
    pub(crate) network: Network,
    pub(crate) layout: Layout,
    pub(crate) delivered: Vec<(Instant, NodeId, u32)>,
    /// The nodes that packets reached in which a link had flipped a bit, which they refused.
    pub(crate) refused: Vec<NodeId>,
    /// The sequence numbers of delivered packets that bear the mark CE.
    pub(crate) marked: Vec<u32>,
}

/// What happens at links, and packets to send: client, towards the server or from it, sequence number, payload bytes; or a source of cross traffic.
#[derive(Clone, Copy)]
pub(crate) enum Event {
    Link(NetworkEvent),
    Send { client: u32, up: bool, number: u32, bytes: u32 },
    Cross(CrossSource),
}

impl From<NetworkEvent> for Event {
    fn from(event: NetworkEvent) -> Self {
        Self::Link(event)
    }
}

impl Process for Model {
    type Event = Event;

    fn handle(&mut self, event: Event, scheduler: &mut Scheduler<Event>) {
        match event {
            Event::Link(event) => {
                let Some(Delivery { node, packet }) = self.network.handle(event, scheduler) else { return };
                check_bytes(&packet, &self.network.pool);
                let Packet { ip, body: Body::Tcp(header), payload, flipped } = packet else {
                    panic!("only TCP was sent")
                };
                self.network.pool.release(payload);
                if flipped.is_some() {
                    self.refused.push(node);
                    self.network.refuse(Fate::BadChecksum, 1);
                } else {
                    self.delivered.push((scheduler.now(), node, header.sequence.0));
                    if ip.traffic_class & ipv4::ECN == ipv4::ECN {
                        self.marked.push(header.sequence.0);
                    }
                }
            }
            Event::Cross(source) => self.network.send_cross_packet(source, scheduler),
            Event::Send { client, up, number, bytes } => {
                let packet = segment(&self.layout, client, up, number, bytes);
                let from = if up { self.layout.hosts()[client as usize] } else { self.layout.server };
                self.network.send(from.out, packet, scheduler);
            }
        }
    }
}

/// The bytes of a packet have a wrong checksum if and only if a link flipped a bit.
fn check_bytes(packet: &Packet, pool: &PayloadPool) {
    let mut bytes = vec![0; packet.wire_len() as usize];
    let len = emit(packet, pool, &mut bytes, Checksums::Complete);
    let parsed = Packet::parse(&bytes[..len], Checksums::Complete).map(|_| ());
    match packet.flipped {
        None => assert_eq!(parsed, Ok(())),
        // A flip in the length of the TCP header makes the segment malformed, which is found before its checksum.
        Some(_) => assert!(!matches!(parsed, Ok(()) | Err(ParseError::NotIpv4)), "{parsed:?}"),
    }
}

/// A TCP segment without options between a client and the server; the client's port is 1000. Those with odd numbers may be marked: ECT(0).
pub(crate) fn segment(layout: &Layout, client: u32, up: bool, number: u32, bytes: u32) -> Packet {
    let (host, server) = (layout.hosts()[0].address.offset(client).unwrap(), layout.server.address);
    let (source, destination) = if up { (host, server) } else { (server, host) };
    let (source_port, destination_port) = if up { (1000, 80) } else { (80, 1000) };
    let sequence = SequenceNumber(number);
    let header =
        TcpHeader { source_port, destination_port, sequence, flags: Flags::ACK, ..TcpHeader::default() };
    Packet {
        ip: IpHeader {
            source,
            destination,
            ttl: 64,
            traffic_class: (number as u8 & 1) << 1,
            identification: 0,
            dont_fragment: true,
        },
        body: Body::Tcp(header),
        payload: Payload::Virtual(bytes),
        flipped: None,
    }
}

/// What both directions of a link do.
pub(crate) fn pair(forward: &LinkConfig, backward: &LinkConfig) -> Pair<Arc<LinkConfig>> {
    Pair { forward: Arc::new(forward.clone()), backward: Arc::new(backward.clone()) }
}

/// A star of such clients behind a free shared link.
pub(crate) fn star(clients: &[AccessConfig], shared: &LinkConfig) -> LogicalProcess<Model> {
    let mut network = Network::new(PayloadPool::new(1 << 20), ());
    let address: Address = "198.18.0.1".parse().unwrap();
    let block = Block { at: 0, first: address.offset(1).unwrap(), hosts: clients.to_vec() };
    let server = ServerConfig { at: 0, address, directions: pair(shared, shared), key: Key::root(1, 0) };
    let layout = topology::star(server, block).build(&mut network).unwrap();
    LogicalProcess::new(Model {
        network,
        layout,
        delivered: Vec::new(),
        refused: Vec::new(),
        marked: Vec::new(),
    })
}
