//! Hosts at the edge of a star whose hub is a device: each runs one connection at a time and keeps what it receives.
//!
//! Where `wasp-app` has clients that measure, these are clients that are examined: a test opens, commands and forgets
//! connections, and reads every byte and event afterwards.

use std::collections::VecDeque;
use std::sync::Arc;
use wasp_kernel::{Process, Scheduler};
use wasp_net::topology::{AccessConfig, Block, Layout, Port, ServerConfig, star};
use wasp_net::{LinkConfig, Network, NetworkEvent, Pair, Scope};
use wasp_packet::{Body, Cut, FrameError, Packet, PayloadPool, View, cut};
use wasp_random::{Key, Purpose};
use wasp_stack::{Answer, Arrived, Identities, Stack};
use wasp_tcp::{Chunk, Config, Endpoint, Event, Identity, State};
use wasp_units::{Instant, Wakeup};
use wasp_wire::Address;

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
    /// Our port, an ephemeral one.
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
#[derive(Debug)]
pub struct WanHost {
    stack: Stack<()>,
    wakeup: Wakeup,
    /// What the server sent on the connection opened last.
    pub received: Vec<u8>,
    /// What happened to it, and when.
    pub events: Vec<(Instant, Event)>,
    /// Whether what arrives is read at once; see [`Wan::set_reading`].
    pub reading: bool,
    half_close: bool,
}

/// The slot of a host's connection: it has no other.
const SLOT: u32 = 0;

impl WanHost {
    fn new(stack: Stack<()>) -> Self {
        Self {
            stack,
            wakeup: Wakeup::default(),
            received: Vec::new(),
            events: Vec::new(),
            reading: true,
            half_close: false,
        }
    }

    /// The endpoint of the connection opened last.
    #[must_use]
    pub fn endpoint(&self) -> Option<&Endpoint> {
        Some(&self.stack.get(SLOT)?.endpoint)
    }

    fn endpoint_mut(&mut self) -> Option<&mut Endpoint> {
        Some(&mut self.stack.get_mut(SLOT)?.endpoint)
    }

    /// Whether this has happened to the connection opened last.
    #[must_use]
    pub fn has(&self, event: Event) -> bool {
        self.events.iter().any(|(_, seen)| *seen == event)
    }

    /// Whether nothing more will happen but TIME-WAIT.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.endpoint().is_none_or(|endpoint| matches!(endpoint.state(), State::Closed | State::TimeWait))
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
        let hosts = layout.hosts().iter().zip(0..).map(|(port, index)| {
            let identities = Identities::new(|purpose| Key::root(seed, 0).purpose(purpose).entity(index));
            WanHost::new(Stack::new(port.address, identities, &Config::linux()))
        });
        let hosts = hosts.collect();
        Self { network, egress: VecDeque::new(), hosts, resets: 0, layout }
    }

    /// Opens a connection of a host, with a stack that knows nothing of the ones before. A connection that it had is forgotten: the server is told nothing.
    pub fn open(&mut self, host: u32, opening: &Opening, scheduler: &mut Scheduler<WanEvent>) {
        self.forget(host);
        let Opening { config, port, server_port, identity, request, half_close } = opening;
        let address = self.layout.hosts()[host as usize].address;
        let place = &mut self.hosts[host as usize];
        place.received.clear();
        place.events.clear();
        place.half_close = *half_close;
        place.stack = Stack::new(address, Identities::starting_at(*port, *identity), config);
        let server = (self.layout.server.address, *server_port);
        place.stack.connect(config, server, |_| (), scheduler.now());
        if let Some(endpoint) = place.endpoint_mut() {
            endpoint.send(Chunk::Shared(Arc::clone(request)));
        }
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
        command(self.hosts[host as usize].endpoint_mut().expect("the host has a connection"));
        self.pump(host, scheduler);
    }

    /// Lets a host read, or not, what arrives.
    pub fn set_reading(&mut self, host: u32, reading: bool, scheduler: &mut Scheduler<WanEvent>) {
        self.hosts[host as usize].reading = reading;
        self.pump(host, scheduler);
    }

    /// A host forgets its connection, and fragments of packets, without a word to the server, as one that lost its power.
    pub fn forget(&mut self, host: u32) {
        let stack = &mut self.hosts[host as usize].stack;
        if let Some(socket) = stack.remove(SLOT) {
            socket.endpoint.release(&mut self.network.pool);
        }
        while let Some(given_up) = stack.ip().expire(Instant::MAX, &mut self.network.pool) {
            if let Answer::Packet(packet) = given_up.answer {
                self.network.pool.release(packet.payload);
            }
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

    fn receive(&mut self, host: u32, mut packet: Packet, scheduler: &mut Scheduler<WanEvent>) {
        let stack = &mut self.hosts[host as usize].stack;
        match stack.receive(&mut packet, scheduler.now(), &mut self.network.pool) {
            Arrived::Socket(_) => self.pump(host, scheduler),
            Arrived::Answer(Answer::Packet(answer)) => {
                self.resets += u32::from(matches!(answer.body, Body::Tcp(_)));
                self.network.send(self.layout.hosts()[host as usize].out, answer, scheduler);
            }
            Arrived::Answer(_) | Arrived::Dropped(_) | Arrived::Syn(_) => {}
        }
    }

    /// Handles events, reads, closes when the server has, sends, asks for a wake-up.
    fn pump(&mut self, host: u32, scheduler: &mut Scheduler<WanEvent>) {
        let (now, Port { node, out, .. }) = (scheduler.now(), self.layout.hosts()[host as usize]);
        let WanHost { stack, wakeup, received, events, reading, half_close } = &mut self.hosts[host as usize];
        let Some(endpoint) = stack.get_mut(SLOT).map(|socket| &mut socket.endpoint) else { return };
        if *reading {
            endpoint.read(now, u64::MAX, &mut self.network.pool, &mut |view| match view {
                View::Bytes(bytes) => received.extend_from_slice(bytes),
                View::Virtual(len) => received.resize(received.len() + len as usize, 0),
            });
        }
        while let Some(event) = endpoint.poll_event() {
            events.push((now, event));
            if event == Event::RemoteClosed || (event == Event::Connected && *half_close) {
                endpoint.close();
            }
        }
        stack.touch(SLOT);
        while let Some(packet) = stack.poll_transmit(now, &mut self.network.pool) {
            self.network.send(out, packet, scheduler);
        }
        while stack.pop_touched().is_some() {}
        let deadline = stack.get(SLOT).and_then(|socket| socket.endpoint.poll_timeout());
        scheduler.wake(wakeup, deadline, node, WanEvent::Timer(host));
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
                if !place.wakeup.fired(now) {
                    return;
                }
                let due = |endpoint: &&mut Endpoint| endpoint.poll_timeout().is_some_and(|at| at <= now);
                if let Some(endpoint) = place.endpoint_mut().filter(due) {
                    endpoint.handle_timeout(now);
                }
                self.pump(host, scheduler);
            }
        }
    }
}
