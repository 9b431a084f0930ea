//! The modelled server of simulated runs: our TCP, one listening port, and a CPU with fixed costs.

mod cpu;
mod tcp_totals;

use crate::interface::{Interface, Received};
use crate::socket::Socket;
use crate::{Event, Identities, World};
pub use cpu::{Costs, Cpu};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::fmt::Write;
use std::num::NonZeroU32;
use std::sync::Arc;
pub use tcp_totals::TcpTotals;
use wasp_http::{Method, RequestHead, RequestReader, Version};
use wasp_kernel::NodeId;
use wasp_net::{Fate, LinkId, Observer};
use wasp_packet::{Body, Packet, Payload, View};
use wasp_stack::Report;
use wasp_tcp::{Chunk, Endpoint, Event as TcpEvent, Transmit, reset_for};
use wasp_units::Instant;
use wasp_wire::{Address, Ecn, Flags, IpHeader, TcpHeader};
use wasp_workload::Site;

/// Where the server is.
#[derive(Clone, Copy, Debug)]
pub struct ServerPlace {
    /// Its node.
    pub node: NodeId,
    /// Its address.
    pub address: Address,
    /// The port it listens on.
    pub port: u16,
    /// Its link, towards the clients.
    pub link: LinkId,
}

/// What a server does.
#[derive(Clone, Debug)]
pub struct Service {
    /// The files that it has.
    pub site: Arc<Site>,
    /// Its TCP.
    pub tcp: Arc<wasp_tcp::Config>,
    /// Requests before it closes a connection; `None` keeps it as long as the client wants.
    pub requests_per_connection: Option<NonZeroU32>,
    /// Connections that may wait to be accepted; `None` has no limit.
    pub accept_queue: Option<NonZeroU32>,
}

/// A server that has the files of a site and answers each request for it after its CPU has done the work.
#[derive(Debug)]
pub struct Server {
    port: u16,
    interface: Interface,
    service: Service,
    cpu: Cpu,
    identities: Identities,
    accepted: u32,
    /// When the CPU will have accepted each connection that waits for it, in their order.
    accepting: VecDeque<Instant>,
    /// Of the connections that are over.
    tcp_totals: TcpTotals,
    slots: Vec<Option<Box<Connection>>>,
    free: Vec<u32>,
    by_peer: FxHashMap<(Address, u16), u32>,
}

#[derive(Debug)]
struct Connection {
    socket: Socket,
    reader: RequestReader,
    generation: u32,
    /// Bytes that were read and belong to later requests.
    unparsed: Vec<u8>,
    /// A request whose content has not arrived whole, and how much of it is still to come.
    incomplete: Option<(RequestHead, u64)>,
    /// Requests read.
    requests: u32,
    /// The response that the CPU is working on; requests behind it wait.
    pending: Option<Response>,
    /// The last response was sent: the server closes.
    closing: bool,
    remote_closed: bool,
}

#[derive(Debug)]
struct Response {
    head: Arc<[u8]>,
    /// Bytes of the body.
    body: u64,
    keep_alive: bool,
}

impl Server {
    /// A server that listens at `place`.
    #[must_use]
    pub fn new(place: ServerPlace, service: Service, cpu: Cpu, identities: Identities) -> Self {
        let at = (place.node, place.link);
        let interface = Interface::new(at, place.address, &service.tcp, Event::ServerReassembly);
        Self {
            port: place.port,
            interface,
            service,
            cpu,
            identities,
            accepted: 0,
            accepting: VecDeque::new(),
            tcp_totals: TcpTotals::default(),
            slots: Vec::new(),
            free: Vec::new(),
            by_peer: FxHashMap::default(),
        }
    }

    /// Its CPU.
    #[must_use]
    pub const fn cpu(&self) -> &Cpu {
        &self.cpu
    }

    /// What its TCP has done.
    #[must_use]
    pub fn tcp_totals(&self) -> TcpTotals {
        let mut totals = self.tcp_totals;
        for connection in self.slots.iter().flatten() {
            totals.add(&connection.socket.endpoint);
        }
        totals
    }

    /// A packet has arrived.
    pub fn handle_packet<O: Observer>(&mut self, packet: Packet, world: &mut World<'_, O>) {
        self.cpu.receive(world.now());
        match packet {
            // What the IP layer would say. References: neither header is copied.
            Packet { ref ip, body: Body::Tcp(ref header), payload, flipped: None } => {
                self.handle_segment(ip, header, payload, world);
            }
            other => match self.interface.receive(other, world) {
                Received::Segment(ip, header, payload) => self.handle_segment(&ip, &header, payload, world),
                Received::Report(report) => self.handle_report(&report, world),
                Received::Nothing => {}
            },
        }
    }

    fn handle_segment<O: Observer>(
        &mut self,
        ip: &IpHeader,
        header: &TcpHeader,
        payload: Payload,
        world: &mut World<'_, O>,
    ) {
        let opens = header.flags.contains(Flags::SYN) && !header.flags.intersects(Flags::ACK | Flags::RST);
        let known = self.by_peer.get(&(ip.source, header.source_port)).copied();
        let known = known.filter(|slot| !(opens && self.makes_way(*slot, header, world)));
        match known {
            Some(slot) => self.with_connection(slot, world, |connection, world| {
                connection.socket.endpoint.handle_segment(
                    world.now(),
                    header,
                    Ecn::of(ip.traffic_class),
                    payload,
                    &mut world.network.pool,
                );
            }),
            None if opens && header.destination_port == self.port => {
                world.network.pool.release(payload);
                if self.has_backlog(world.now()) {
                    return world.network.refuse(Fate::AcceptQueueFull, 1);
                }
                self.accept(ip.source, header, world);
            }
            None => {
                let reset = reset_for(header, payload.len());
                world.network.pool.release(payload);
                if let Some(reset) = reset {
                    self.interface.send(ip.source, Transmit::empty(reset), world);
                }
            }
        }
    }

    /// An ICMP error reports of a segment.
    #[cold]
    fn handle_report<O: Observer>(&mut self, report: &Report, world: &mut World<'_, O>) {
        let segment = &report.segment;
        if segment.source_port != self.port {
            return;
        }
        let Some(slot) = self.by_peer.get(&(segment.destination, segment.destination_port)).copied() else {
            return;
        };
        let Some(connection) = &mut self.slots[slot as usize] else { return };
        if let Some(mtu) = self.interface.heed(report, &mut connection.socket, world.now()) {
            let to_same_address = |((address, _), slot): (&(Address, u16), &u32)| {
                (*address == segment.destination).then_some(*slot)
            };
            for slot in self.by_peer.iter().filter_map(to_same_address) {
                if let Some(connection) = &mut self.slots[slot as usize] {
                    connection.socket.endpoint.set_path_mtu(mtu);
                }
            }
        }
        self.with_connection(slot, world, |_, _| {});
    }

    /// Fragments may have waited for too long.
    pub fn handle_reassembly<O: Observer>(&mut self, world: &mut World<'_, O>) {
        self.interface.handle_reassembly(world);
    }

    /// A deadline of the connection in `slot` may be due.
    pub fn handle_connection_timer<O: Observer>(&mut self, slot: u32, world: &mut World<'_, O>) {
        let now = world.now();
        let connection = self.slots.get_mut(slot as usize).and_then(Option::as_mut);
        if connection.is_some_and(|connection| connection.socket.timer.fired(now)) {
            self.with_connection(slot, world, |connection, world| {
                connection.socket.endpoint.handle_timeout(world.now())
            });
        }
    }

    /// The CPU has finished the pending response of the connection.
    pub fn handle_response<O: Observer>(&mut self, slot: u32, generation: u32, world: &mut World<'_, O>) {
        let connection = self.slots.get(slot as usize).and_then(Option::as_ref);
        if connection.is_none_or(|connection| connection.generation != generation) {
            return;
        }
        self.with_connection(slot, world, |connection, _| {
            let Some(response) = connection.pending.take() else { return };
            connection.socket.endpoint.send(Chunk::Shared(response.head));
            if response.body > 0 {
                connection.socket.endpoint.send(Chunk::Virtual(response.body));
            }
            if !response.keep_alive {
                connection.closing = true;
                connection.socket.endpoint.close();
            }
        });
    }

    /// Frees a slot in TIME-WAIT for a SYN that may take its place.
    fn makes_way<O: Observer>(&mut self, slot: u32, syn: &TcpHeader, world: &mut World<'_, O>) -> bool {
        let connection =
            self.slots[slot as usize].take_if(|connection| connection.socket.endpoint.yields_to(syn));
        let Some(connection) = connection else { return false };
        self.forget(slot, *connection, world);
        true
    }

    /// Whether as many connections wait to be accepted as may. Then a SYN is dropped, as Linux does (`tcp_conn_request`).
    fn has_backlog(&mut self, now: Instant) -> bool {
        let Some(limit) = self.service.accept_queue else { return false };
        while self.accepting.front().is_some_and(|done| *done <= now) {
            self.accepting.pop_front();
        }
        self.accepting.len() >= limit.get() as usize
    }

    fn accept<O: Observer>(&mut self, source: Address, syn: &TcpHeader, world: &mut World<'_, O>) {
        let identity = self.identities.identity(self.accepted);
        let endpoint = Endpoint::accept(&self.service.tcp, syn, self.port, identity, world.now());
        let connection = Connection {
            socket: self.interface.socket(endpoint, source, world.now()),
            reader: RequestReader::default(),
            unparsed: Vec::new(),
            incomplete: None,
            requests: 0,
            generation: self.accepted,
            pending: None,
            closing: false,
            remote_closed: false,
        };
        self.accepted = self.accepted.wrapping_add(1);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        self.slots[slot as usize] = Some(Box::new(connection));
        self.by_peer.insert((source, syn.source_port), slot);
        self.with_connection(slot, world, |_, _| {});
    }

    /// Lets something happen to a connection, then handles all that follows from it.
    fn with_connection<O: Observer>(
        &mut self,
        slot: u32,
        world: &mut World<'_, O>,
        act: impl FnOnce(&mut Connection, &mut World<'_, O>),
    ) {
        let Some(mut connection) = self.slots[slot as usize].take() else { return };
        act(&mut connection, world);
        let mut over = false;
        while let Some(event) = connection.socket.endpoint.poll_event() {
            match event {
                TcpEvent::Connected => {
                    let done = self.cpu.work(world.now(), self.cpu.costs().per_connection);
                    if self.service.accept_queue.is_some() {
                        self.accepting.push_back(done);
                    }
                }
                TcpEvent::RemoteClosed => connection.remote_closed = true,
                TcpEvent::Readable => {}
                TcpEvent::Closed | TcpEvent::Reset | TcpEvent::Refused | TcpEvent::TimedOut => over = true,
            }
        }
        if over {
            connection.socket.transmit(&mut self.interface, world);
            return self.forget(slot, *connection, world);
        }
        self.serve(slot, &mut connection, world);
        connection.socket.transmit(&mut self.interface, world);
        connection.socket.arm(None, self.interface.node, Event::ServerConnection { slot }, world);
        self.slots[slot as usize] = Some(connection);
    }

    /// Reads requests while no response is pending, and starts the work for one.
    fn serve<O: Observer>(&mut self, slot: u32, connection: &mut Connection, world: &mut World<'_, O>) {
        while connection.pending.is_none() && !connection.closing && connection.has_input() {
            match connection.read_request(world) {
                Ok(Some(mut request)) => {
                    connection.requests += 1;
                    let limit = self.service.requests_per_connection;
                    request.keep_alive &= limit.is_none_or(|limit| connection.requests < limit.get());
                    let response = self.respond(&request);
                    let done = self.cpu.serve(world.now(), request.content + response.body);
                    connection.pending = Some(response);
                    let event = Event::ServerResponse { slot, generation: connection.generation };
                    world.scheduler.schedule(self.interface.node, done, event);
                }
                Ok(None) => {}
                Err(NotARequest) => {
                    connection.closing = true;
                    connection.socket.endpoint.abort();
                }
            }
        }
        if connection.remote_closed && connection.pending.is_none() && !connection.closing {
            connection.closing = true;
            connection.socket.endpoint.close();
        }
    }

    /// The answer to a request: a POST is answered with the file, too, as by a program that has read its content.
    fn respond(&self, request: &RequestHead) -> Response {
        let files = self.service.site.files();
        let file = files.find(&request.target).and_then(|id| files.get(id));
        let (status, length) = match file {
            None => ("404 Not Found", Some(0)),
            Some(_) if request.conditional && request.method != Method::Post => ("304 Not Modified", None),
            Some(file) => ("200 OK", Some(file.size.get())),
        };
        let mut head = String::with_capacity(128);
        for part in ["HTTP/1.1 ", status, "\r\nServer: wasp-model\r\n"] {
            head.push_str(part);
        }
        if let Some(length) = length {
            let _ = write!(head, "Content-Length: {length}\r\n");
        }
        head.push_str(match (request.keep_alive, request.version) {
            (true, Version::Http11) => "\r\n",
            (true, Version::Http10) => "Connection: keep-alive\r\n\r\n",
            (false, _) => "Connection: close\r\n\r\n",
        });
        let body = if request.method == Method::Head { 0 } else { length.unwrap_or_default() };
        Response { head: head.into_bytes().into(), body, keep_alive: request.keep_alive }
    }

    fn forget<O: Observer>(&mut self, slot: u32, connection: Connection, world: &mut World<'_, O>) {
        let endpoint = connection.socket.endpoint;
        self.tcp_totals.add(&endpoint);
        self.by_peer.remove(&(connection.socket.remote, endpoint.remote_port()));
        self.free.push(slot);
        endpoint.release(&mut world.network.pool);
    }
}

impl Connection {
    /// The next request, if it has arrived whole, its content included.
    fn read_request<O>(&mut self, world: &mut World<'_, O>) -> Result<Option<RequestHead>, NotARequest> {
        if self.unparsed.is_empty() {
            self.receive(world);
        }
        if self.incomplete.is_none() {
            let (used, request) = self.reader.handle(&self.unparsed).map_err(|_| NotARequest)?;
            self.unparsed.drain(..used);
            self.incomplete = request.map(|request| {
                let left = request.content;
                (request, left)
            });
        }
        let Some((_, left)) = &mut self.incomplete else { return Ok(None) };
        let used = self.unparsed.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
        self.unparsed.drain(..used);
        *left -= used as u64;
        Ok(self.incomplete.take_if(|(_, left)| *left == 0).map(|(request, _)| request))
    }

    /// Takes what has arrived. Bytes without values are content; where no content is due they read as zeros, which are no request.
    fn receive<O>(&mut self, world: &mut World<'_, O>) {
        let Self { socket, unparsed, incomplete, .. } = self;
        socket.endpoint.read(world.now(), u64::MAX, &mut world.network.pool, &mut |view| match (
            view,
            &mut *incomplete,
        ) {
            (View::Bytes(bytes), _) => unparsed.extend_from_slice(bytes),
            (View::Virtual(count), Some((_, left))) if unparsed.is_empty() && u64::from(count) <= *left => {
                *left -= u64::from(count);
            }
            (View::Virtual(count), _) => unparsed.resize(unparsed.len() + count as usize, 0),
        });
    }

    /// Whether there may be a request to read.
    fn has_input(&self) -> bool {
        !self.unparsed.is_empty() || self.socket.endpoint.readable() > 0
    }
}

/// The client sent something else than a request: the server resets the connection.
#[derive(Debug)]
struct NotARequest;
