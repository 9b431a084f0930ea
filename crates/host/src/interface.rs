//! A host's place in the network, and its IP layer.

use crate::{Event, World};
use wasp_kernel::{NodeId, Timer};
use wasp_net::{Fate, LinkId, Observer};
use wasp_packet::{Body, Dropped, Packet, Payload};
use wasp_stack::{Answer, Ip, Received};
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

impl Interface {
    pub(crate) fn new((node, link): (NodeId, LinkId), address: Address, reassembly: Event) -> Self {
        Self { node, link, ip: Ip::new(address), reassembly: (reassembly, Timer::default()) }
    }

    /// Sends one TCP segment.
    pub(crate) fn send<O: Observer>(
        &mut self,
        destination: Address,
        header: TcpHeader,
        payload: Payload,
        world: &mut World<'_, O>,
    ) {
        let ip = self.ip.header(destination);
        let packet = Packet { ip, body: Body::Tcp(header), payload, flipped: None };
        world.network.send(self.link, packet, world.scheduler);
    }

    /// What the host's TCP gets of a packet that has arrived. Everything else is done here.
    #[cold]
    pub(crate) fn receive<O: Observer>(
        &mut self,
        packet: Packet,
        world: &mut World<'_, O>,
    ) -> Option<(IpHeader, TcpHeader, Payload)> {
        match self.ip.receive(packet, world.now(), &mut world.network.pool) {
            Received::Segment(ip, header, payload) => return Some((ip, header, payload)),
            Received::Answer(answer) => self.answer(answer, world),
            Received::Dropped(Dropped { packets, why }) => world.network.refuse(why.into(), packets),
        }
        self.arm(world);
        None
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
