//! What a router does with a packet: it forwards it, takes it, or tells its sender why it goes no further (RFC 792; RFC 1812 sections 4.3 and 5.3.1).

use super::{Network, RouterPort};
use crate::node::{RouterId, Stop};
use crate::store::PacketId;
use crate::{Fate, LinkId, NetworkEvent, Observer};
use wasp_kernel::Scheduler;
use wasp_packet::{Body, Dropped, IcmpError, Packet, Reassembled, echo_reply, fragment, may_be_answered};
use wasp_wire::Address;
use wasp_wire::icmp::kind::ECHO;

impl<O: Observer> Network<O> {
    /// A router decides about a packet: the link on which it goes on, or `None` if its way ends here.
    pub(super) fn forward<E: Copy + From<NetworkEvent>>(
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
    fn end<E: Copy + From<NetworkEvent>>(
        &mut self,
        port: RouterPort,
        id: PacketId,
        has_route: bool,
        scheduler: &mut Scheduler<E>,
    ) {
        if self.end_cross_packet(port.1, id) {
            return;
        }
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
        let packet = self.packets.remove(id);
        self.fates.add(fate, 1);
        self.refuse_packet(error, port, packet, scheduler);
    }

    /// A packet is for the router itself.
    fn take<E: Copy + From<NetworkEvent>>(
        &mut self,
        port: RouterPort,
        id: PacketId,
        scheduler: &mut Scheduler<E>,
    ) {
        let packet = self.packets.remove(id);
        self.fates.add(Fate::Delivered, 1);
        match packet {
            Packet { body: Body::Fragment { .. }, .. } => self.reassemble(port, packet, scheduler),
            Packet { flipped: Some(_), payload, .. } => {
                self.refuse(Fate::BadChecksum, 1);
                self.pool.release(payload);
            }
            whole => self.answer(port, whole, scheduler),
        }
    }

    /// A router answers an echo. It has neither ports nor TCP.
    fn answer<E: Copy + From<NetworkEvent>>(
        &mut self,
        port: RouterPort,
        packet: Packet,
        scheduler: &mut Scheduler<E>,
    ) {
        match packet.body {
            Body::Icmp { kind: ECHO, code: 0, rest } if may_be_answered(&packet, &self.pool) => {
                let identification = self.routers[port.0.0 as usize].next_identification();
                let reply = echo_reply(&packet.ip, rest, packet.payload, identification);
                self.originate(port.0, reply, scheduler);
            }
            Body::Udp { .. } => self.refuse_packet(IcmpError::PortUnreachable, port, packet, scheduler),
            Body::Tcp(_) => self.refuse_packet(IcmpError::ProtocolUnreachable, port, packet, scheduler),
            Body::Icmp { .. } | Body::Fragment { .. } => self.pool.release(packet.payload),
        }
    }

    /// A fragment is for the router itself, which puts it together with others as a host does.
    fn reassemble<E: Copy + From<NetworkEvent>>(
        &mut self,
        port: RouterPort,
        fragment: Packet,
        scheduler: &mut Scheduler<E>,
    ) {
        let reassembly = &mut self.routers[port.0.0 as usize].reassembly;
        match reassembly.add(fragment, scheduler.now(), &mut self.pool) {
            Reassembled::Whole(packet) => self.answer(port, packet, scheduler),
            Reassembled::Dropped(Dropped { packets, why }) => self.refuse(why.into(), packets),
            Reassembled::Waiting => {}
        }
        self.arm_reassembly(port.0, scheduler);
    }

    /// Fragments for the router itself may have waited for too long. It tells their sender.
    #[cold]
    pub(super) fn expire<E: Copy + From<NetworkEvent>>(
        &mut self,
        id: RouterId,
        scheduler: &mut Scheduler<E>,
    ) {
        let now = scheduler.now();
        if !self.routers[id.0 as usize].reassembly_wakeup.fired(now) {
            return;
        }
        while let Some(expired) = self.routers[id.0 as usize].reassembly.expire(now, &mut self.pool) {
            self.refuse(Fate::ReassemblyTimeout, expired.fragments);
            let Some(first) = expired.first else { continue };
            // By this address the sender knows the router.
            let from = Some(first.ip.destination);
            self.send_error(IcmpError::ReassemblyTimeExceeded, (id, from), &first, scheduler);
            self.pool.release(first.payload);
        }
        self.arm_reassembly(id, scheduler);
    }

    fn arm_reassembly<E: Copy + From<NetworkEvent>>(&mut self, id: RouterId, scheduler: &mut Scheduler<E>) {
        let router = &mut self.routers[id.0 as usize];
        let event = NetworkEvent::Reassembly { router: id };
        let deadline = router.reassembly.poll_timeout();
        scheduler.wake(&mut router.reassembly_wakeup, deadline, router.node, event.into());
    }

    /// A packet is longer than `link` carries. It is fragmented, by its sender or by the router at which it came, if it may be. If not it goes no further, and
    /// a router tells its sender.
    #[cold]
    pub(super) fn cut_or_refuse<E: Copy + From<NetworkEvent>>(
        &mut self,
        link: LinkId,
        id: PacketId,
        from: Option<RouterPort>,
        scheduler: &mut Scheduler<E>,
    ) {
        let mtu = self.links[link.0 as usize].mtu().expect("only a link with an MTU refuses a length");
        if !self.packets.get(id).ip.dont_fragment {
            return self.fragment((link, mtu), id, scheduler);
        }
        self.note_loss_event(link, id, scheduler.now());
        let packet = self.turned_away(link, id, Fate::TooBig, scheduler);
        match from {
            Some(port) => {
                self.refuse_packet(IcmpError::FragmentationNeeded { mtu }, port, packet, scheduler);
            }
            // A host knows the MTU of its own link.
            None => self.pool.release(packet.payload),
        }
    }

    /// Fragments take the place of a packet that is longer than a link carries.
    fn fragment<E: Copy + From<NetworkEvent>>(
        &mut self,
        (link, mtu): (LinkId, u16),
        id: PacketId,
        scheduler: &mut Scheduler<E>,
    ) {
        let packet = self.packets.remove(id);
        let mut fragments = Vec::new();
        let exhausted = fragment(&packet, mtu, &mut self.pool, &mut self.scratch, &mut |fragment| {
            fragments.push(fragment);
        });
        self.pool.release(packet.payload);
        self.fates.add(Fate::Fragmented, 1);
        self.links[link.0 as usize].account.counters.fragmented += 1;
        self.stillborn(Fate::PoolExhausted, exhausted.into());
        for fragment in fragments {
            self.made += 1;
            let id = self.packets.insert(fragment);
            self.travel(link, id, scheduler);
        }
    }

    /// A router does not take a packet, and tells its sender why. Its address is that of the port by which the packet came.
    fn refuse_packet<E: Copy + From<NetworkEvent>>(
        &mut self,
        error: IcmpError,
        (router, link): RouterPort,
        packet: Packet,
        scheduler: &mut Scheduler<E>,
    ) {
        let from = self.routers[router.0 as usize].address_at(link);
        self.send_error(error, (router, from), &packet, scheduler);
        self.pool.release(packet.payload);
    }

    /// A router that has this address sends an error about a packet, unless it has sent too many of late.
    fn send_error<E: Copy + From<NetworkEvent>>(
        &mut self,
        error: IcmpError,
        (router, address): (RouterId, Option<Address>),
        packet: &Packet,
        scheduler: &mut Scheduler<E>,
    ) {
        let Some(address) = address.filter(|_| may_be_answered(packet, &self.pool)) else { return };
        let state = &mut self.routers[router.0 as usize];
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
    fn originate<E: Copy + From<NetworkEvent>>(
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
