//! What a router does with a packet: it forwards it, takes it, or tells its sender why it goes no further (RFC 792; RFC 1812 sections 4.3 and 5.3.1).

use super::{Network, RouterPort};
use crate::node::{RouterId, Stop};
use crate::store::PacketId;
use crate::{Fate, LinkEvent, LinkId, Observer};
use wasp_kernel::Scheduler;
use wasp_packet::{Body, IcmpError, Packet, may_be_answered};
use wasp_wire::IpHeader;
use wasp_wire::icmp::kind::{ECHO, ECHO_REPLY};

impl<O: Observer> Network<O> {
    /// A router decides about a packet: the link on which it goes on, or `None` if its way ends here.
    pub(super) fn forward<E: Copy + From<LinkEvent>>(
        &mut self,
        port: RouterPort,
        id: PacketId,
        scheduler: &mut Scheduler<E>,
    ) -> Option<LinkId> {
        let packet = self.packets.get_mut(id);
        let next = self.routers[port.0.0 as usize].routes.find(packet.ip.destination);
        if next.is_some() && packet.ip.ttl > 1 {
            packet.ip.ttl -= 1;
            return next;
        }
        self.end(port, id, next.is_some(), scheduler);
        None
    }

    /// The way of a packet ends at a router, for its time if there is a route.
    #[cold]
    fn end<E: Copy + From<LinkEvent>>(
        &mut self,
        port: RouterPort,
        id: PacketId,
        has_route: bool,
        scheduler: &mut Scheduler<E>,
    ) {
        let ip = self.packets.get(id).ip;
        let (fate, error) = match self.routers[port.0.0 as usize].routes.stop(ip.destination) {
            _ if has_route => (Fate::Ttl, IcmpError::TimeExceeded),
            Some(Stop::Local) => return self.take(port, id, scheduler),
            // No error about a broadcast (RFC 1122 section 3.2.2), which routers do not pass on (RFC 2644).
            Some(Stop::Nobody) => return self.drop_packet(id, Fate::NoRoute),
            // On the way into its own network a packet takes a hop like any other.
            Some(Stop::NoHost) if ip.ttl <= 1 => (Fate::Ttl, IcmpError::TimeExceeded),
            Some(Stop::NoHost) => (Fate::NoRoute, IcmpError::HostUnreachable),
            None => (Fate::NoRoute, IcmpError::NetworkUnreachable),
        };
        self.send_error(error, port, id, scheduler);
        self.drop_packet(id, fate);
    }

    /// A packet is for the router itself, which answers an echo, and has neither ports nor TCP.
    fn take<E: Copy + From<LinkEvent>>(
        &mut self,
        port: RouterPort,
        id: PacketId,
        scheduler: &mut Scheduler<E>,
    ) {
        let packet = self.packets.get(id);
        if packet.flipped.is_some() {
            return self.drop_packet(id, Fate::BadChecksum);
        }
        match packet.body {
            Body::Icmp { kind: ECHO, code: 0, rest } if may_be_answered(packet) => {
                return self.answer_echo(port.0, id, rest, scheduler);
            }
            Body::Icmp { .. } => {}
            Body::Udp { .. } => self.send_error(IcmpError::PortUnreachable, port, id, scheduler),
            Body::Tcp(_) => self.send_error(IcmpError::ProtocolUnreachable, port, id, scheduler),
        }
        self.drop_packet(id, Fate::Delivered);
    }

    /// The answer to an echo has its content and its differentiated services (RFC 1122 section 3.2.2.6).
    fn answer_echo<E: Copy + From<LinkEvent>>(
        &mut self,
        router: RouterId,
        id: PacketId,
        rest: [u8; 4],
        scheduler: &mut Scheduler<E>,
    ) {
        let Packet { ip, payload, .. } = self.packets.remove(id);
        self.fates.add(Fate::Delivered, 1);
        let identification = self.routers[router.0 as usize].next_identification();
        let answer = IpHeader {
            traffic_class: ip.traffic_class,
            ..IpHeader::new(ip.destination, ip.source, identification)
        };
        let body = Body::Icmp { kind: ECHO_REPLY, code: 0, rest };
        self.originate(router, Packet { ip: answer, body, payload, flipped: None }, scheduler);
    }

    /// A packet is longer than `link` carries. A router at which it came tells its sender, if it may not be fragmented.
    #[cold]
    pub(super) fn refuse_length<E: Copy + From<LinkEvent>>(
        &mut self,
        link: LinkId,
        id: PacketId,
        from: Option<RouterPort>,
        scheduler: &mut Scheduler<E>,
    ) {
        let mtu = self.links[link.0 as usize].mtu();
        if let (Some(port), Some(mtu), true) = (from, mtu, self.packets.get(id).ip.dont_fragment) {
            self.send_error(IcmpError::FragmentationNeeded { mtu }, port, id, scheduler);
        }
        self.lose_packet(link, id, Fate::TooBig, scheduler);
    }

    /// A router tells the sender of a packet why it goes no further, unless it has sent too many errors of late. Its address is that of the port by
    /// which the packet came.
    fn send_error<E: Copy + From<LinkEvent>>(
        &mut self,
        error: IcmpError,
        (router, link): RouterPort,
        id: PacketId,
        scheduler: &mut Scheduler<E>,
    ) {
        let state = &mut self.routers[router.0 as usize];
        let packet = self.packets.get(id);
        let Some(address) = state.address_at(link).filter(|_| may_be_answered(packet)) else { return };
        if !state.may_send_error(scheduler.now()) {
            return;
        }
        let identification = state.next_identification();
        match error.about(packet, address, identification, &mut self.pool, &mut self.scratch) {
            Some(message) => self.originate(router, message, scheduler),
            None => self.stillborn(Fate::PoolExhausted, 1),
        }
    }

    /// A router sends a packet of its own.
    fn originate<E: Copy + From<LinkEvent>>(
        &mut self,
        router: RouterId,
        packet: Packet,
        scheduler: &mut Scheduler<E>,
    ) {
        let routes = &self.routers[router.0 as usize].routes;
        if let Some(link) = routes.find(packet.ip.destination) {
            return self.send(link, packet, scheduler);
        }
        let is_own = routes.stop(packet.ip.destination) == Some(Stop::Local);
        self.pool.release(packet.payload);
        self.stillborn(if is_own { Fate::Delivered } else { Fate::NoRoute }, 1);
    }
}
