//! Packets over two routers.

use super::*;
use crate::node::Target;
use std::net::Ipv4Addr;
use wasp_kernel::{LogicalProcess, Process};
use wasp_packet::Payload;
use wasp_units::Duration;
use wasp_wire::IpHeader;

/// A network, and what reached a host: when, which one, and with what TTL.
struct Model {
    network: Network,
    delivered: Vec<(Instant, NodeId, u8)>,
}

impl Process for Model {
    type Event = NetworkEvent;

    fn handle(&mut self, event: NetworkEvent, scheduler: &mut Scheduler<NetworkEvent>) {
        if let Some(Delivery { node, packet }) = self.network.handle(event, scheduler) {
            self.delivered.push((scheduler.now(), node, packet.ip.ttl));
        }
    }
}

const HOSTS: [NodeId; 2] = [NodeId(0), NodeId(3)];

fn address(host: u8) -> Address {
    Address::from(Ipv4Addr::new(10, 0, 0, host))
}

/// Two hosts, 10.0.0.0 and 10.0.0.1, each behind a router of its own. The links from the first host to the second take so many milliseconds each.
fn two_routers(delays: [u64; 3]) -> (LogicalProcess<Model>, LinkId) {
    let mut network = Network::new(PayloadPool::new(0), ());
    let routers = [NodeId(1), NodeId(2)].map(|node| network.add_router(node, None, ErrorRate::default()));
    let nodes =
        [Node::Host(HOSTS[0]), Node::Router(routers[0]), Node::Router(routers[1]), Node::Host(HOSTS[1])];
    let links = [0, 1, 2].map(|hop| {
        let config = LinkConfig { delay: Duration::from_millis(delays[hop]), ..LinkConfig::default() };
        let ends = (nodes[hop], nodes[hop + 1]);
        network.add_link(ends, Arc::new(config), Key::root(1, 0), Duration::ZERO)
    });
    for (router, link) in routers.into_iter().zip(&links[1..]) {
        let route = Route { first: address(1), last: address(1), target: Target::Link(*link) };
        network.set_routes(router, Routes::new(&[route]));
    }
    (LogicalProcess::new(Model { network, delivered: Vec::new() }), links[0])
}

/// Sends a packet from the first host to this address.
fn send(kernel: &mut LogicalProcess<Model>, link: LinkId, destination: Address, ttl: u8) {
    let ip = IpHeader {
        source: address(0),
        destination,
        ttl,
        traffic_class: 0,
        identification: 0,
        dont_fragment: true,
    };
    let body = Body::Udp { source_port: 1, destination_port: 2 };
    let packet = Packet { ip, body, payload: Payload::Virtual(10), flipped: None };
    kernel.inject(Instant::ZERO, |model, scheduler| model.network.send(link, packet, scheduler));
}

#[test]
fn each_router_on_the_way_lowers_the_ttl_over_links_with_and_without_delay() {
    for delays in [[0, 0, 0], [0, 0, 5], [0, 5, 0], [5, 0, 0], [1, 2, 3]] {
        let (mut kernel, link) = two_routers(delays);
        send(&mut kernel, link, address(1), 64);
        kernel.advance(Instant::MAX).unwrap();
        let at = Instant::ZERO + Duration::from_millis(delays.iter().sum());
        assert_eq!(kernel.process.delivered, [(at, HOSTS[1], 62)], "{delays:?}");
    }
}

#[test]
fn a_packet_ends_where_its_ttl_does_or_no_route_goes_on() {
    for delays in [[0, 0, 0], [1, 2, 3]] {
        let (mut kernel, link) = two_routers(delays);
        send(&mut kernel, link, address(1), 1);
        send(&mut kernel, link, address(1), 2);
        send(&mut kernel, link, address(2), 64);
        send(&mut kernel, link, address(1), 3);
        kernel.advance(Instant::MAX).unwrap();
        let network = &kernel.process.network;
        assert_eq!((network.fates().get(Fate::Ttl), network.fates().get(Fate::NoRoute)), (2, 1));
        assert_eq!((network.made(), network.in_flight()), (4, 0));
        let crossed = [0, 1, 2].map(|link| network.link(LinkId(link)).counters().packets);
        assert_eq!(crossed, [4, 2, 1], "{delays:?}");
        assert_eq!(kernel.process.delivered.len(), 1);
    }
}
