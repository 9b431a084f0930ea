//! Hosts at the edge of a star whose hub is a device: each runs one connection at a time and keeps what it receives.
//!
//! Where `wasp-host` has clients that measure, these are clients that are examined: a test opens, commands and forgets
//! connections, and reads every byte and event afterwards.

use std::collections::VecDeque;
use std::sync::Arc;
use wasp_kernel::{Process, Scheduler, Timer};
use wasp_net::topology::{AccessConfig, Block, Layout, Port, ServerConfig, star};
use wasp_net::{LinkConfig, Network, NetworkEvent, Pair, Scope};
use wasp_packet::{Body, Cut, FrameError, Packet, PayloadPool, View, cut};
use wasp_random::{Key, Purpose};
use wasp_tcp::{Chunk, Config, Endpoint, Event, Identity, State, Transmit, reset_for};
use wasp_units::Instant;
use wasp_wire::{Address, Ecn, IpHeader};

/// Most bytes of payload in the model.
const POOL_LIMIT: usize = 256 << 20;

/// What can happen.
#[derive(Clone, Copy, Debug)]
pub enum WanEvent {
    /// Something at a link.
    Link(NetworkEvent),
    /// The deadline of the host with this index.
    Timer(u32),
}

impl From<NetworkEvent> for WanEvent {
    fn from(event: NetworkEvent) -> Self {
        Self::Link(event)
    }
}

/// One connection to open.
#[derive(Clone, Debug)]
pub struct Opening {
    /// The constants of our end.
    pub config: Arc<Config>,
    /// Our port.
    pub port: u16,
    /// The server's port.
    pub server_port: u16,
    /// Who we are.
    pub identity: Identity,
    /// What is sent once connected.
    pub request: Arc<[u8]>,
    /// Whether a FIN follows the request; else it answers the server's.
    pub half_close: bool,
}

/// A host: its connection, and what became of it.
#[derive(Debug, Default)]
pub struct WanHost {
    endpoint: Option<Endpoint>,
    timer: Timer,
    identification: u16,
    /// What the server sent on the connection opened last.
    pub received: Vec<u8>,
    /// What happened to it, and when.
    pub events: Vec<(Instant, Event)>,
    /// Whether what arrives is read at once; see [`Wan::set_reading`].
    pub reading: bool,
    half_close: bool,
}

impl WanHost {
    /// The endpoint of the connection opened last.
    #[must_use]
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.endpoint.as_ref()
    }

    /// Whether this has happened to the connection opened last.
    #[must_use]
    pub fn has(&self, event: Event) -> bool {
        self.events.iter().any(|(_, seen)| *seen == event)
    }

    /// Whether nothing more will happen but TIME-WAIT.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.endpoint
            .as_ref()
            .is_none_or(|endpoint| matches!(endpoint.state(), State::Closed | State::TimeWait))
    }
}

/// The star and its hosts; what reaches the hub waits in `egress`.
#[derive(Debug)]
pub struct Wan {
    /// Links, packets, payload.
    pub network: Network,
    /// Packets for the device.
    pub egress: VecDeque<Packet>,
    /// The hosts: host i has the i-th address after the server's.
    pub hosts: Vec<WanHost>,
    /// Resets sent because no connection was there.
    pub resets: u32,
    layout: Layout,
}

impl Wan {
    /// A star of one host for each access link around the server at `server`, every draw from `seed`.
    ///
    /// # Panics
    /// If the address space ends before the last host.
    #[must_use]
    pub fn new(server: Address, access: &[(LinkConfig, LinkConfig)], seed: u64) -> Self {
        let root = Key::root(seed, 0).purpose(Purpose::Loss);
        let mut network = Network::new(PayloadPool::new(POOL_LIMIT), ());
        let hosts = access.iter().zip(0..).map(|((forward, backward), index)| AccessConfig {
            directions: Pair { forward: Arc::new(forward.clone()), backward: Arc::new(backward.clone()) },
            scope: Scope::Direction,
            key: root.entity(index),
        });
        let first = server.offset(1).expect("room for hosts");
        let block = Block { at: 0, first, hosts: hosts.collect() };
        let directions = Pair { forward: Arc::default(), backward: Arc::default() };
        let server = ServerConfig { at: 0, address: server, directions, key: root.name("") };
        let layout = star(server, block).build(&mut network).expect("a star has routes");
        let hosts = access.iter().map(|_| WanHost { reading: true, ..WanHost::default() }).collect();
        Self { network, egress: VecDeque::new(), hosts, resets: 0, layout }
    }

    /// Opens a connection of a host. A connection that it had is forgotten: the server is told nothing.
    pub fn open(&mut self, host: u32, opening: &Opening, scheduler: &mut Scheduler<WanEvent>) {
        self.forget(host);
        let Opening { config, port, server_port, identity, request, half_close } = opening;
        let mut endpoint = Endpoint::connect(config, *port, *server_port, *identity, scheduler.now());
        endpoint.send(Chunk::Shared(Arc::clone(request)));
        let place = &mut self.hosts[host as usize];
        place.received.clear();
        place.events.clear();
        place.half_close = *half_close;
        place.endpoint = Some(endpoint);
        self.pump(host, scheduler);
    }

    /// Gives a command to a host's endpoint, and lets all that follows happen.
    ///
    /// # Panics
    /// If the host has no connection.
    pub fn command(
        &mut self,
        host: u32,
        scheduler: &mut Scheduler<WanEvent>,
        command: impl FnOnce(&mut Endpoint),
    ) {
        command(self.hosts[host as usize].endpoint.as_mut().expect("the host has a connection"));
        self.pump(host, scheduler);
    }

    /// Lets a host read, or not, what arrives.
    pub fn set_reading(&mut self, host: u32, reading: bool, scheduler: &mut Scheduler<WanEvent>) {
        self.hosts[host as usize].reading = reading;
        self.pump(host, scheduler);
    }

    /// A host forgets its connection without a word to the server, as one that lost its power.
    pub fn forget(&mut self, host: u32) {
        if let Some(endpoint) = self.hosts[host as usize].endpoint.take() {
            endpoint.release(&mut self.network.pool);
        }
    }

    /// A frame was read from the device.
    ///
    /// # Errors
    /// The frame gives no packets.
    pub fn ingress(&mut self, frame: &[u8], scheduler: &mut Scheduler<WanEvent>) -> Result<Cut, FrameError> {
        let mut packets = Vec::new();
        let result = cut(frame, None, &mut self.network.pool, &mut |packet| packets.push(packet));
        for packet in packets {
            self.network.send(self.layout.server.out, packet, scheduler);
        }
        result
    }

    fn receive(&mut self, host: u32, packet: Packet, scheduler: &mut Scheduler<WanEvent>) {
        let Body::Tcp(header) = packet.body else {
            return self.network.pool.release(packet.payload);
        };
        let (now, place) = (scheduler.now(), &mut self.hosts[host as usize]);
        let endpoint = place.endpoint.as_mut().filter(|endpoint| {
            endpoint.state() != State::Closed
                && endpoint.local_port() == header.destination_port
                && endpoint.remote_port() == header.source_port
        });
        if let Some(endpoint) = endpoint {
            let ecn = Ecn::of(packet.ip.traffic_class);
            endpoint.handle_segment(now, &header, ecn, packet.payload, &mut self.network.pool);
            return self.pump(host, scheduler);
        }
        let reset = reset_for(&header, packet.payload.len());
        self.network.pool.release(packet.payload);
        if let Some(reset) = reset {
            self.resets += 1;
            self.send(host, Transmit::empty(reset), scheduler);
        }
    }

    /// Handles events, reads, closes when the server has, sends, arms the timer.
    fn pump(&mut self, host: u32, scheduler: &mut Scheduler<WanEvent>) {
        let now = scheduler.now();
        let place = &mut self.hosts[host as usize];
        let Some(mut endpoint) = place.endpoint.take() else { return };
        if place.reading {
            let received = &mut place.received;
            endpoint.read(now, u64::MAX, &mut self.network.pool, &mut |view| match view {
                View::Bytes(bytes) => received.extend_from_slice(bytes),
                View::Virtual(len) => received.resize(received.len() + len as usize, 0),
            });
        }
        while let Some(event) = endpoint.poll_event() {
            place.events.push((now, event));
            if event == Event::RemoteClosed || (event == Event::Connected && place.half_close) {
                endpoint.close();
            }
        }
        while let Some(segment) = endpoint.poll_transmit(now, &mut self.network.pool) {
            self.send(host, segment, scheduler);
        }
        let place = &mut self.hosts[host as usize];
        let node = self.layout.hosts()[host as usize].node;
        place.timer.arm(endpoint.poll_timeout(), node, WanEvent::Timer(host), scheduler);
        place.endpoint = Some(endpoint);
    }

    fn send(&mut self, host: u32, segment: Transmit, scheduler: &mut Scheduler<WanEvent>) {
        let Transmit { header, payload, ecn } = segment;
        let Port { address, out, .. } = self.layout.hosts()[host as usize];
        let place = &mut self.hosts[host as usize];
        place.identification = place.identification.wrapping_add(1);
        let packet = Packet {
            ip: IpHeader {
                source: address,
                destination: self.layout.server.address,
                ttl: 64,
                traffic_class: ecn.bits(),
                identification: place.identification,
                dont_fragment: true,
            },
            body: Body::Tcp(header),
            payload,
            flipped: None,
        };
        self.network.send(out, packet, scheduler);
    }
}

impl Process for Wan {
    type Event = WanEvent;

    fn handle(&mut self, event: WanEvent, scheduler: &mut Scheduler<WanEvent>) {
        match event {
            WanEvent::Link(event) => {
                let Some(delivery) = self.network.handle(event, scheduler) else { return };
                match self.layout.host_at(delivery.node) {
                    Some(host) => self.receive(host, delivery.packet, scheduler),
                    None => self.egress.push_back(delivery.packet),
                }
            }
            WanEvent::Timer(host) => {
                let now = scheduler.now();
                let place = &mut self.hosts[host as usize];
                if !place.timer.fired(now) {
                    return;
                }
                let due = |endpoint: &&mut Endpoint| endpoint.poll_timeout().is_some_and(|at| at <= now);
                if let Some(endpoint) = place.endpoint.as_mut().filter(due) {
                    endpoint.handle_timeout(now);
                }
                self.pump(host, scheduler);
            }
        }
    }
}
