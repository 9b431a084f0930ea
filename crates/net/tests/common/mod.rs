//! A star whose hosts only write down what reaches them.

use wasp_kernel::{LogicalProcess, NodeId, Process, Scheduler};
use wasp_net::topology::{self, AccessConfig, Block, Layout, SharedConfig};
use wasp_net::{Arrival, LinkConfig, Network, Pair};
use wasp_packet::{Body, Packet, Payload, PayloadPool};
use wasp_random::Key;
use wasp_units::Instant;
use wasp_wire::{Address, Flags, IpHeader, SequenceNumber, TcpHeader};

/// The network, and what came out of it: time, node, sequence number of the packet.
pub(crate) struct Model {
    pub(crate) network: Network,
    pub(crate) layout: Layout,
    pub(crate) delivered: Vec<(Instant, NodeId, u32)>,
}

/// Arrivals, and packets to send: client, towards the server or from it, sequence number, payload bytes.
#[derive(Clone, Copy)]
pub(crate) enum Event {
    Arrival(Arrival),
    Send { client: u32, up: bool, number: u32, bytes: u32 },
}

impl From<Arrival> for Event {
    fn from(arrival: Arrival) -> Self {
        Self::Arrival(arrival)
    }
}

impl Process for Model {
    type Event = Event;

    fn handle(&mut self, event: Event, scheduler: &mut Scheduler<Event>) {
        match event {
            Event::Arrival(arrival) => {
                if let Some(delivery) = self.network.arrive(arrival, scheduler) {
                    let Body::Tcp(header) = delivery.packet.body else { panic!("only TCP was sent") };
                    self.delivered.push((scheduler.now(), delivery.node, header.sequence.0));
                    self.network.pool.release(delivery.packet.payload);
                }
            }
            Event::Send { client, up, number, bytes } => {
                let packet = segment(&self.layout, client, up, number, bytes);
                let from = if up { self.layout.hosts()[client as usize] } else { self.layout.server };
                self.network.send(from.out, packet, scheduler);
            }
        }
    }
}

/// A TCP segment without options between a client and the server; the client's port is 1000.
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
            traffic_class: 0,
            identification: 0,
            dont_fragment: true,
        },
        body: Body::Tcp(header),
        payload: Payload::Virtual(bytes),
    }
}

/// A star of such clients behind a free shared link.
pub(crate) fn star(clients: &[AccessConfig], shared: LinkConfig) -> LogicalProcess<Model> {
    let mut network = Network::new(PayloadPool::new(1 << 20), ());
    let server: Address = "198.18.0.1".parse().unwrap();
    let block = Block { first: server.offset(1).unwrap(), hosts: clients.to_vec() };
    let directions = Pair { forward: shared, backward: shared };
    let shared = SharedConfig { directions, key: Key::root(1, 0) };
    let layout = topology::star(&mut network, server, &shared, &block);
    LogicalProcess::new(Model { network, layout, delivered: Vec::new() })
}
