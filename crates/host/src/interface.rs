//! A host's place in the network, and its IP layer.

use crate::socket::Socket;
use crate::{Event, World};
use wasp_kernel::{NodeId, Timer};
use wasp_net::{Fate, LinkId, Observer};
use wasp_packet::{Body, Dropped, Packet, Payload};
use wasp_stack::{Answer, Ip, PathMtuDiscovery, Report, Reported};
use wasp_tcp::{Config, Endpoint, Transmit};
use wasp_units::Instant;
use wasp_wire::{Address, IpHeader, TcpHeader};

/// Where a host's packets go and come from, and its IP layer.
#[derive(Debug)]
pub(crate) struct Interface {
    pub(crate) node: NodeId,
    link: LinkId,
    ip: Ip,
    /// The event at which fragments may have waited for too long, and its timer.
    reassembly: (Event, Timer),
}

/// What the host's TCP gets of a packet.
#[derive(Debug)]
pub(crate) enum Received {
    /// A segment.
    Segment(IpHeader, TcpHeader, Payload),
    /// What an ICMP error says of a segment of the host's.
    Report(Report),
    /// Nothing.
    Nothing,
}

impl Interface {
    /// The interface of a host with this TCP.
    pub(crate) fn new(
        (node, link): (NodeId, LinkId),
        address: Address,
        tcp: &Config,
        reassembly: Event,
    ) -> Self {
        let discovery = if tcp.path_mtu_discovery {
            PathMtuDiscovery::On { least: tcp.min_path_mtu }
        } else {
            PathMtuDiscovery::Off
        };
        Self { node, link, ip: Ip::new(address, discovery), reassembly: (reassembly, Timer::default()) }
    }

    /// The socket of a new connection, which knows what the host knows of the path.
    pub(crate) fn socket(&self, mut endpoint: Endpoint, remote: Address, now: Instant) -> Socket {
        if let Some(mtu) = self.ip.path_mtu(remote, now) {
            endpoint.set_path_mtu(mtu);
        }
        Socket::new(endpoint, remote)
    }

    /// Sends one TCP segment.
    pub(crate) fn send<O: Observer>(
        &mut self,
        destination: Address,
        segment: Transmit,
        world: &mut World<'_, O>,
    ) {
        let Transmit { header, payload, ecn } = segment;
        let ip = IpHeader { traffic_class: ecn.bits(), ..self.ip.header(destination, world.now()) };
        let packet = Packet { ip, body: Body::Tcp(header), payload, flipped: None };
        world.network.send(self.link, packet, world.scheduler);
    }

    /// What the host's TCP gets of a packet that has arrived. Everything else is done here.
    #[cold]
    pub(crate) fn receive<O: Observer>(&mut self, packet: Packet, world: &mut World<'_, O>) -> Received {
        match self.ip.receive(packet, world.now(), &mut world.network.pool) {
            wasp_stack::Received::Segment(ip, header, payload) => {
                return Received::Segment(ip, header, payload);
            }
            wasp_stack::Received::Reported(report) => return Received::Report(report),
            wasp_stack::Received::Answer(answer) => self.answer(answer, world),
            wasp_stack::Received::Dropped(Dropped { packets, why }) => {
                world.network.refuse(why.into(), packets)
            }
        }
        self.arm(world);
        Received::Nothing
    }

    /// Tells a socket what is reported of a segment that it has in flight (RFC 5927 section 4.1: any other report may be forged). Returns the MTU of the
    /// path if that is news for the host's other sockets to the same address.
    pub(crate) fn heed(&mut self, report: &Report, socket: &mut Socket, now: Instant) -> Option<u16> {
        if !socket.endpoint.is_in_flight(report.segment.sequence) {
            return None;
        }
        let Reported::TooLong { mtu } = report.reported else {
            socket.endpoint.handle_unreachable();
            return None;
        };
        let known = self.ip.path_mtu(socket.remote, now);
        let mtu = self.ip.learn_path_mtu(socket.remote, mtu, now)?;
        socket.endpoint.handle_fragmentation_needed(mtu, now);
        (known != Some(mtu)).then_some(mtu)
    }

    /// Fragments may have waited for too long.
    #[cold]
    pub(crate) fn handle_reassembly<O: Observer>(&mut self, world: &mut World<'_, O>) {
        if !self.reassembly.1.fired(world.now()) {
            return;
        }
        while let Some(given_up) = self.ip.expire(world.now(), &mut world.network.pool) {
            world.network.refuse(Fate::ReassemblyTimeout, given_up.fragments);
            self.answer(given_up.answer, world);
        }
        self.arm(world);
    }

    fn answer<O: Observer>(&self, answer: Answer, world: &mut World<'_, O>) {
        match answer {
            Answer::Packet(packet) => world.network.send(self.link, packet, world.scheduler),
            Answer::NoRoom => world.network.stillborn(Fate::PoolExhausted, 1),
            Answer::Nothing => {}
        }
    }

    fn arm<O>(&mut self, world: &mut World<'_, O>) {
        let (event, timer) = &mut self.reassembly;
        timer.arm(self.ip.poll_timeout(), self.node, *event, world.scheduler);
    }
}
