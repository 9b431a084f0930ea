//! Any small internetwork with any traffic, out of bytes: for a property test and for a fuzz target.

mod account;
mod case;
mod frame;
mod graph;
#[cfg(test)]
mod tests;
mod traffic;

pub use case::{Case, Cases};

use account::Seen;
use arbitrary::{Result, Unstructured};
use frame::Frame;
use std::num::NonZeroU16;
use traffic::Traffic;
use wasp_kernel::{LogicalProcess, NodeId, Process, Scheduler, Stage};
use wasp_net::topology::{Layout, Port};
use wasp_net::{CrossConfig, CrossSource, Delivery, Fate, Fates, Network, NetworkEvent};
use wasp_packet::{Body, Dropped, Packet, PayloadPool, Unassembled, cut};
use wasp_random::Key;
use wasp_stack::{Answer, Ip, PathMtuDiscovery, Received};
use wasp_units::{Bytes, Instant};

/// Bytes that the graph is made of. A larger one ends with the least of everything.
const GRAPH: usize = 600;
/// Most packets and frames that are sent.
const MOST_SENT: usize = 300;
/// After so many packets of hosts a source of cross traffic sends one, each in its turn.
const CROSS_TRAFFIC: usize = 3;
/// More events than any input needs, and fewer than at which the kernel says that the clock stands still.
const MOST_EVENTS: u64 = 5_000_000;

/// What became of the packets of one input.
#[derive(Clone, Copy, Debug)]
pub struct Checked {
    /// Their fates.
    pub fates: Fates,
    /// What was met beside.
    pub cases: Cases,
}

/// A network, and a host at each of its ports; that of the server is the last.
struct Model {
    network: Network<Seen>,
    layout: Layout,
    hosts: Vec<Ip>,
    /// One for each direction of each link.
    sources: Vec<CrossSource>,
    /// Packets that came to hosts.
    handed_over: u64,
    /// Those of them that the hosts refused.
    refused: u64,
    cases: Cases,
    /// The last packet was sent: only answers follow.
    is_over: bool,
}

type Kernel = LogicalProcess<Model>;

impl Model {
    fn port(&self, host: usize) -> Port {
        self.layout.hosts().get(host).copied().unwrap_or(self.layout.server)
    }

    fn host_at(&self, node: NodeId) -> usize {
        self.layout.host_at(node).map_or(self.hosts.len() - 1, |host| host as usize)
    }

    fn send(&mut self, host: usize, packet: Packet, scheduler: &mut Scheduler<NetworkEvent>) {
        self.network.send(self.port(host).out, packet, scheduler);
    }

    fn receive(&mut self, host: usize, packet: Packet, scheduler: &mut Scheduler<NetworkEvent>) {
        let is_fragment = matches!(packet.body, Body::Fragment { .. });
        let received = self.hosts[host].receive(packet, scheduler.now(), &mut self.network.pool);
        let is_taken = !matches!(received, Received::Answer(Answer::Nothing) | Received::Dropped(_));
        self.cases.note(Case::Reassembled, is_fragment && is_taken);
        match received {
            Received::Segment(.., payload) => self.network.pool.release(payload),
            Received::Answer(answer) => self.answer(host, answer, scheduler),
            Received::Dropped(Dropped { packets, why }) => {
                self.cases.note(Case::Contradiction, why == Unassembled::Inconsistent && packets > 1);
                self.refuse(why.into(), packets);
            }
            Received::Reported(_) => {}
        }
    }

    fn answer(&mut self, host: usize, answer: Answer, scheduler: &mut Scheduler<NetworkEvent>) {
        match answer {
            Answer::Packet(packet) => self.send(host, packet, scheduler),
            Answer::NoRoom => self.network.stillborn(Fate::PoolExhausted, 1),
            Answer::Nothing => {}
        }
    }

    fn refuse(&mut self, fate: Fate, packets: u32) {
        self.refused += u64::from(packets);
        self.network.refuse(fate, packets);
    }

    fn check_account(&self) {
        account::check(&self.network, &self.layout, (self.handed_over, self.refused));
    }

    /// Each host gives up the fragments that have waited for too long.
    fn expire(&mut self, scheduler: &mut Scheduler<NetworkEvent>) {
        for host in 0..self.hosts.len() {
            while let Some(given_up) = self.hosts[host].expire(scheduler.now(), &mut self.network.pool) {
                self.cases.note(Case::GivenUp, !self.is_over);
                self.refuse(Fate::ReassemblyTimeout, given_up.fragments);
                self.answer(host, given_up.answer, scheduler);
            }
        }
    }

    /// A device that stands in the place of a host has sent a frame.
    fn take_in(&mut self, host: usize, frame: &Frame, scheduler: &mut Scheduler<NetworkEvent>) {
        let mut packets = Vec::new();
        match cut(&frame.bytes, None, &mut self.network.pool, &mut |packet| packets.push(packet)) {
            Ok(cut) => self.network.stillborn(Fate::PoolExhausted, cut.exhausted.into()),
            Err(error) => self.network.stillborn(error.into(), 1),
        }
        self.cases.note(Case::Options, frame.has_options && !packets.is_empty());
        self.cases.note(Case::SuperSegment, packets.len() > 1);
        for packet in packets {
            self.send(host, packet, scheduler);
        }
    }

    /// A source of cross traffic sends a packet.
    fn load(&mut self, turn: usize, scheduler: &mut Scheduler<NetworkEvent>) {
        self.network.send_cross_packet(self.sources[turn % self.sources.len()], scheduler);
    }

    fn note_cases(&mut self, packet: &Packet) {
        let is_error = matches!(packet.body, Body::Icmp { kind: 3 | 11, .. });
        self.cases.note(Case::NoTimeToLive, packet.ip.ttl == 0);
        self.cases.note(Case::ToItself, packet.ip.source == packet.ip.destination);
        self.cases.note(Case::ErrorWithoutTime, is_error && packet.ip.ttl <= 1);
    }
}

impl Process for Model {
    type Event = NetworkEvent;

    fn prepare(&self, event: NetworkEvent, stage: Stage) {
        self.network.prepare(event, stage);
    }

    fn handle(&mut self, event: NetworkEvent, scheduler: &mut Scheduler<NetworkEvent>) {
        if let Some(Delivery { node, packet }) = self.network.handle(event, scheduler) {
            self.handed_over += 1;
            self.receive(self.host_at(node), packet, scheduler);
        }
    }
}

/// Builds a graph out of the first bytes, and lets the others be traffic. Returns what became of its packets; `None` if there is no
/// such graph.
///
/// # Panics
/// The account of packets does not hold in all or at a link, or packets or their payload do not end.
#[must_use]
pub fn check(bytes: &[u8]) -> Option<Checked> {
    let (graph, traffic) = bytes.split_at(bytes.len().min(GRAPH));
    let (mut kernel, mut source) = begin(&mut Unstructured::new(graph))?;
    let mut bytes = Unstructured::new(traffic);
    let mut now = Instant::ZERO;
    for number in 0..MOST_SENT {
        if bytes.is_empty() {
            break;
        }
        send(&mut kernel, &mut source, &mut now, &mut bytes)
            .expect("there is always something to choose from");
        if number % CROSS_TRAFFIC == 0 {
            kernel.inject(now, |model, scheduler| model.load(number / CROSS_TRAFFIC, scheduler));
        }
        kernel.process.check_account();
    }
    source.end(&mut kernel.process.network.pool);
    Some(finish(kernel))
}

fn begin(bytes: &mut Unstructured<'_>) -> Option<(Kernel, Traffic)> {
    let (topology, room) = graph::network(bytes).expect("there is always something to choose from");
    let mut network = Network::new(PayloadPool::new(room), Seen::default());
    let layout = topology.build(&mut network).ok()?;
    let addresses: Vec<_> = account::ports(&layout).map(|port| port.address).collect();
    let hosts = addresses.iter().map(|address| Ip::new(*address, PathMtuDiscovery::Off)).collect();
    let cases = Cases::default();
    let links: Vec<_> = account::links(&layout).collect();
    let sources = links.into_iter().zip(0..);
    let sources = sources.map(|(link, number)| {
        let packet = Bytes::new(28 + 90 * (number % 8));
        network.add_cross_source(link, CrossConfig { packet, flows: NonZeroU16::MIN, key: Key::root(1, 0) })
    });
    let sources = sources.collect();
    let model = Model { network, layout, hosts, sources, handed_over: 0, refused: 0, cases, is_over: false };
    Some((LogicalProcess::new(model), Traffic::new(addresses)))
}

/// Sends the next packet or frame from some host, after a pause.
fn send(
    kernel: &mut Kernel,
    source: &mut Traffic,
    now: &mut Instant,
    bytes: &mut Unstructured<'_>,
) -> Result<()> {
    *now += Traffic::pause(bytes)?;
    advance(kernel, *now);
    let host = bytes.choose_index(source.hosts.len())?;
    let packet = source.packet(source.hosts[host], &mut kernel.process.network.pool, bytes)?;
    kernel.process.note_cases(&packet);
    if bytes.ratio(1, 4)? {
        let frame = Frame::of(packet, &mut kernel.process.network.pool, bytes)?;
        kernel.inject(*now, |model, scheduler| model.take_in(host, &frame, scheduler));
    } else {
        kernel.inject(*now, |model, scheduler| model.send(host, packet, scheduler));
    }
    Ok(())
}

/// Handles all events and expiries up to this time.
fn advance(kernel: &mut Kernel, until: Instant) {
    loop {
        let timeouts = kernel.process.hosts.iter().filter_map(Ip::poll_timeout);
        let expiry = timeouts.min().filter(|expiry| *expiry <= until);
        if kernel.step(expiry.unwrap_or(until)).expect("fewer events than that").is_some() {
            assert!(kernel.handled() < MOST_EVENTS, "packets do not end, or the clock stands still");
        } else if let Some(expiry) = expiry {
            kernel.inject(expiry, Model::expire);
            let is_later = |timeout| timeout > expiry;
            assert!(kernel.process.hosts.iter().filter_map(Ip::poll_timeout).all(is_later), "fragments stay");
        } else {
            return;
        }
    }
}

/// Lets all packets end.
fn finish(mut kernel: Kernel) -> Checked {
    kernel.process.is_over = true;
    advance(&mut kernel, Instant::MAX);
    kernel.process.check_account();
    let Model { network, layout, cases, .. } = &kernel.process;
    account::check_end(network, layout);
    Checked { fates: *network.fates(), cases: *cases }
}
