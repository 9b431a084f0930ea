//! A TCP endpoint with its place in the network and its timer.

use crate::{Event, World};
use wasp_kernel::{NodeId, Timer};
use wasp_net::{LinkId, Observer};
use wasp_packet::{Body, Packet, Payload};
use wasp_tcp::Endpoint;
use wasp_units::Instant;
use wasp_wire::ipv4::TTL;
use wasp_wire::{Address, IpHeader, TcpHeader};

/// Where a host's packets go, and what they carry of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interface {
    pub(crate) node: NodeId,
    pub(crate) link: LinkId,
    pub(crate) address: Address,
    /// The next IPv4 identification.
    pub(crate) identification: u16,
}

impl Interface {
    /// Sends one TCP segment.
    pub(crate) fn send<O: Observer>(
        &mut self,
        destination: Address,
        header: TcpHeader,
        payload: Payload,
        world: &mut World<'_, O>,
    ) {
        self.identification = self.identification.wrapping_add(1);
        let packet = Packet {
            ip: IpHeader {
                source: self.address,
                destination,
                ttl: TTL,
                traffic_class: 0,
                identification: self.identification,
                dont_fragment: true,
            },
            body: Body::Tcp(header),
            payload,
            flipped: None,
        };
        world.network.send(self.link, packet, world.scheduler);
    }
}

/// One connection's endpoint.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) endpoint: Endpoint,
    pub(crate) remote: Address,
    pub(crate) timer: Timer,
}

impl Socket {
    pub(crate) fn new(endpoint: Endpoint, remote: Address) -> Self {
        Self { endpoint, remote, timer: Timer::default() }
    }

    /// Sends everything that the endpoint has to send.
    pub(crate) fn transmit<O: Observer>(&mut self, interface: &mut Interface, world: &mut World<'_, O>) {
        while let Some((header, payload)) = self.endpoint.poll_transmit(world.now(), &mut world.network.pool)
        {
            interface.send(self.remote, header, payload, world);
        }
    }

    /// Makes sure that `event` comes no later than the endpoint's deadline and `other`.
    pub(crate) fn arm<O>(
        &mut self,
        other: Option<Instant>,
        node: NodeId,
        event: Event,
        world: &mut World<'_, O>,
    ) {
        let deadline = [self.endpoint.poll_timeout(), other].into_iter().flatten().min();
        self.timer.arm(deadline, node, event, world.scheduler);
    }
}
