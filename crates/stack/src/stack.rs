//! A host's sockets: whom a segment is for, ports and identities of new connections, the port that listens.

use crate::{Answer, Identities, Ip, PathMtuDiscovery, Received, Report, Reported, Socket};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::Arc;
use wasp_packet::{Body, Dropped, Packet, Payload, PayloadPool};
use wasp_tcp::{Config, Endpoint, State, Transmit, reset_for};
use wasp_units::Instant;
use wasp_wire::{Address, Ecn, Flags, IpHeader, TcpHeader};

/// More slots than any host has.
const NO_SLOT: u32 = u32::MAX;

/// The network stack of one host, with an application's `T` beside each TCP socket. A socket keeps its slot for as long as it lives.
///
/// Hand every packet to [`Self::receive`], which takes its payload, and do what it says. An application [`take`](Self::take)s a socket to work on it
/// (endpoint, events, reading, writing) and [`put`](Self::put)s it back. Then send what [`Self::poll_transmit`] gives until it gives nothing more, and ask
/// for the wake-ups of the sockets that [`Self::pop_touched`] names, by [`Socket::wakeup`]. The application hands each deadline to the endpoint, and
/// [`remove`](Self::remove)s a socket when TCP is done with it: one whose endpoint is closed takes no segments.
///
/// A report of a narrow path changes the endpoints of all sockets to its address. Fragments wait in the [`Self::ip`] layer, which has a deadline of its own.
#[derive(Debug)]
pub struct Stack<T> {
    ip: Ip,
    identities: Identities,
    /// The ordinal of the next connection.
    next_ordinal: u32,
    // Most clients have one, which is in place.
    sockets: SmallVec<[Option<Box<Socket<T>>>; 1]>,
    /// The slot whose socket is taken, or [`NO_SLOT`]: it looks free, and is not.
    taken: u32,
    /// Slots of sockets to which something has happened since their wake-ups were asked for.
    touched: Vec<u32>,
    /// The first so many of them have nothing more to send.
    sent: usize,
    listener: Option<Box<Listener>>,
}

/// A port that accepts connections, so many that they are looked up in a table.
#[derive(Debug)]
struct Listener {
    port: u16,
    tcp: Arc<Config>,
    /// The slot of each of the host's sockets.
    slots: FxHashMap<(Address, Ports), u32>,
    /// Slots without a socket.
    free: Vec<u32>,
}

/// A connection's ports, as one number, which is hashed faster than two.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Ports(u32);

impl Ports {
    fn new(local: u16, remote: u16) -> Self {
        Self(u32::from(local) << 16 | u32::from(remote))
    }
}

/// What a packet means for the host's sockets.
#[derive(Debug)]
pub enum Arrived {
    /// The socket in this slot has taken a segment, or what an ICMP error reports of one.
    Socket(u32),
    /// A SYN for the port that listens: to be [accepted](Stack::accept), or dropped.
    Syn(Syn),
    /// Nothing, but the host may send an answer.
    Answer(Answer),
    /// Packets were dropped: this one, or fragments among which it is.
    Dropped(Dropped),
}

/// A SYN for the port that listens.
#[derive(Debug)]
pub struct Syn {
    /// Who sent it.
    pub source: Address,
    /// Its header.
    pub header: TcpHeader,
    /// The slot of a socket that makes way for it, one in TIME-WAIT (RFC 1122 section 4.2.2.13) or closed: [remove](Stack::remove) it first.
    pub replaces: Option<u32>,
}

impl<T> Stack<T> {
    /// The stack of the host with this address, whose connections have these identities. Its packets are as long as `tcp` lets them be.
    #[must_use]
    pub fn new(address: Address, identities: Identities, tcp: &Config) -> Self {
        let discovery = if tcp.path_mtu_discovery {
            PathMtuDiscovery::On { least: tcp.min_path_mtu }
        } else {
            PathMtuDiscovery::Off
        };
        let ip = Ip::new(address, discovery);
        let (sockets, touched) = (SmallVec::new(), Vec::new());
        Self { ip, identities, next_ordinal: 0, sockets, taken: NO_SLOT, touched, sent: 0, listener: None }
    }

    /// Accepts connections at `port` from now on, and at no other.
    pub fn listen(&mut self, port: u16, tcp: Arc<Config>) {
        debug_assert_eq!(self.taken, NO_SLOT, "no socket is taken");
        let (mut slots, mut free) = (FxHashMap::default(), Vec::new());
        for (socket, slot) in self.sockets.iter().zip(0..) {
            match socket {
                Some(socket) => {
                    slots.insert(ends(socket), slot);
                }
                None => free.push(slot),
            }
        }
        self.listener = Some(Box::new(Listener { port, tcp, slots, free }));
    }

    /// The IP layer.
    pub const fn ip(&mut self) -> &mut Ip {
        &mut self.ip
    }

    /// The ordinal of the next connection, if its port is free.
    #[must_use]
    pub const fn next_ordinal(&self) -> u32 {
        self.next_ordinal
    }

    /// The sockets.
    pub fn sockets(&self) -> impl Iterator<Item = &Socket<T>> {
        self.sockets.iter().flatten().map(|socket| &**socket)
    }

    /// Number of slots, free ones included.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.sockets.len() as u32
    }

    /// The socket in this slot.
    #[inline]
    #[must_use]
    pub fn get(&self, slot: u32) -> Option<&Socket<T>> {
        self.sockets.get(slot as usize)?.as_deref()
    }

    /// The socket in this slot. [Touch](Self::touch) it if something happens to it.
    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> Option<&mut Socket<T>> {
        self.sockets.get_mut(slot as usize)?.as_deref_mut()
    }

    /// The socket that a packet is for, if it is a whole segment for one.
    #[must_use]
    pub fn socket_for(&self, packet: &Packet) -> Option<&Socket<T>> {
        let Body::Tcp(header) = &packet.body else { return None };
        let slot = self.find(packet.ip.source, (header.destination_port, header.source_port))?;
        self.get(slot)
    }

    /// Takes the socket in this slot to work on it. [`Self::put`] it back before another is taken.
    #[inline]
    pub fn take(&mut self, slot: u32) -> Option<Box<Socket<T>>> {
        debug_assert_eq!(self.taken, NO_SLOT, "no other socket is taken");
        let socket = self.sockets.get_mut(slot as usize)?.take()?;
        self.taken = slot;
        Some(socket)
    }

    /// Puts a socket back where it was taken. It is touched.
    #[inline]
    pub fn put(&mut self, slot: u32, socket: Box<Socket<T>>) {
        debug_assert_eq!(self.taken, slot, "the socket was taken from this slot");
        self.taken = NO_SLOT;
        let before = self.sockets[slot as usize].replace(socket);
        debug_assert!(before.is_none(), "nothing else uses a slot whose socket is taken");
        // Dropping it would be code in the way of every packet.
        std::mem::forget(before);
        self.touch(slot);
    }

    /// Takes the socket in this slot for good. Its endpoint is to be released.
    pub fn remove(&mut self, slot: u32) -> Option<Box<Socket<T>>> {
        let socket = self.sockets.get_mut(slot as usize)?.take()?;
        if let Some(listener) = &mut self.listener {
            if listener.slots.get(&ends(&socket)) == Some(&slot) {
                listener.slots.remove(&ends(&socket));
            }
            listener.free.push(slot);
        }
        Some(socket)
    }

    /// The socket in this slot may have something to send, and other deadlines.
    #[inline]
    pub fn touch(&mut self, slot: u32) {
        if self.touched.last() == Some(&slot) {
            self.sent = self.sent.min(self.touched.len() - 1);
        } else {
            debug_assert!(self.sent <= self.touched.len(), "all that was touched has been popped");
            self.touched.push(slot);
        }
    }

    /// Slots of sockets that were touched since their wake-ups were asked for. A slot may be there twice, or be free.
    #[must_use]
    pub fn touched(&self) -> &[u32] {
        &self.touched
    }

    /// One of the slots that were touched, for whose socket a wake-up is to be asked for. Call when there is nothing more to send, until there is none:
    /// nothing may be touched in between.
    #[inline]
    pub fn pop_touched(&mut self) -> Option<u32> {
        debug_assert!(self.sent >= self.touched.len(), "everything has been sent");
        let slot = self.touched.pop();
        if slot.is_none() {
            self.sent = 0;
        }
        slot
    }

    /// The next packet of the sockets that were touched.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant, pool: &mut PayloadPool) -> Option<Packet> {
        while let Some(&slot) = self.touched.get(self.sent) {
            if let Some(socket) = self.sockets[slot as usize].as_deref_mut()
                && let Some(transmit) = socket.endpoint.poll_transmit(now, pool)
            {
                return Some(packet(&mut self.ip, socket.remote(), transmit, now));
            }
            self.sent += 1;
        }
        None
    }

    /// Opens a connection, for which `data` makes the application's part for its slot. Returns the slot.
    ///
    /// Its port is the next that no other connection to the same address and port has, that of a socket which is taken excepted. It is the next one if
    /// all are in use.
    pub fn connect(
        &mut self,
        tcp: &Arc<Config>,
        (remote, port): (Address, u16),
        data: impl FnOnce(u32) -> T,
        now: Instant,
    ) -> u32 {
        for _ in 0..Identities::PORTS {
            let (local, _) = self.identities.connection(self.next_ordinal);
            if self.find(remote, (local, port)).is_none() {
                break;
            }
            self.next_ordinal = self.next_ordinal.wrapping_add(1);
        }
        let (local, identity) = self.identities.connection(self.next_ordinal);
        let endpoint = Endpoint::connect(tcp, local, port, identity, now);
        self.insert(endpoint, remote, identity.isn, data, now)
    }

    /// Accepts the connection that a SYN opens; `data` is as with [`Self::connect`]. Returns the slot, `None` if no port listens.
    pub fn accept(&mut self, syn: &Syn, data: impl FnOnce(u32) -> T, now: Instant) -> Option<u32> {
        debug_assert!(
            syn.replaces.is_none_or(|slot| self.get(slot).is_none()),
            "what makes way is removed first"
        );
        let listener = self.listener.as_ref()?;
        let identity = self.identities.identity(self.next_ordinal);
        let endpoint = Endpoint::accept(&listener.tcp, &syn.header, listener.port, identity, now);
        Some(self.insert(endpoint, syn.source, identity.isn, data, now))
    }

    /// Gives a new endpoint a slot, and tells it what the host knows of the path.
    fn insert(
        &mut self,
        mut endpoint: Endpoint,
        remote: Address,
        sequence: u32,
        data: impl FnOnce(u32) -> T,
        now: Instant,
    ) -> u32 {
        if let Some(mtu) = self.ip.path_mtu(remote, now) {
            endpoint.set_path_mtu(mtu);
        }
        let slot = self.vacant().unwrap_or_else(|| {
            self.sockets.push(None);
            self.sockets.len() as u32 - 1
        });
        let ordinal = self.next_ordinal;
        self.next_ordinal = self.next_ordinal.wrapping_add(1);
        let socket = Socket::new(endpoint, remote, (ordinal, sequence), data(slot));
        if let Some(listener) = &mut self.listener {
            listener.slots.insert(ends(&socket), slot);
        }
        self.sockets[slot as usize] = Some(Box::new(socket));
        self.touch(slot);
        slot
    }

    /// A slot without a socket: the first, of a host that does not listen.
    fn vacant(&mut self) -> Option<u32> {
        if let Some(listener) = &mut self.listener {
            return listener.free.pop();
        }
        let taken = self.taken;
        let mut slots = self.sockets.iter().zip(0..);
        slots.find(|(socket, slot)| socket.is_none() && taken != *slot).map(|(_, slot)| slot)
    }

    /// A packet has arrived at `now`. Its payload is taken. (A reference: the packet is not copied.)
    #[inline]
    pub fn receive(&mut self, packet: &mut Packet, now: Instant, pool: &mut PayloadPool) -> Arrived {
        debug_assert_eq!(self.taken, NO_SLOT, "no socket is taken");
        let whole;
        let payload = std::mem::take(&mut packet.payload);
        let (ip, header, payload) = match packet {
            // The IP layer would say no more, but move all of it.
            Packet { ip, body: Body::Tcp(header), flipped: None, .. } => (&*ip, &*header, payload),
            other => match self.receive_other(Packet { payload, ..*other }, now, pool) {
                Ok((ip, header, payload)) => {
                    whole = (ip, header);
                    (&whole.0, &whole.1, payload)
                }
                Err(arrived) => return arrived,
            },
        };
        let found = self.find(ip.source, (header.destination_port, header.source_port));
        if let Some(slot) = found
            && let Some(socket) = self.sockets[slot as usize].as_deref_mut()
            && match socket.endpoint.state() {
                State::Closed => false,
                State::TimeWait => {
                    let listens = |listener: &Listener| listener.port == header.destination_port;
                    !(self.listener.as_deref().is_some_and(listens) && socket.endpoint.yields_to(header))
                }
                _ => true,
            }
        {
            socket.note_push(header, payload.len());
            socket.endpoint.handle_segment(now, header, Ecn::of(ip.traffic_class), payload, pool);
            return Arrived::Socket(slot);
        }
        let len = payload.len();
        pool.release(payload);
        self.answer_segment(ip.source, header, (len, found), now)
    }

    /// A packet other than a whole TCP segment may complete one.
    #[cold]
    fn receive_other(
        &mut self,
        packet: Packet,
        now: Instant,
        pool: &mut PayloadPool,
    ) -> Result<(IpHeader, TcpHeader, Payload), Arrived> {
        Err(match self.ip.receive(packet, now, pool) {
            Received::Segment(ip, header, payload) => return Ok((ip, header, payload)),
            Received::Reported(report) => match self.heed(&report, now) {
                Some(slot) => Arrived::Socket(slot),
                None => Arrived::Answer(Answer::Nothing),
            },
            Received::Answer(answer) => Arrived::Answer(answer),
            Received::Dropped(dropped) => Arrived::Dropped(dropped),
        })
    }

    /// A segment that no socket takes opens a connection, or is answered by a reset (RFC 9293 section 3.10.7.1).
    #[cold]
    fn answer_segment(
        &mut self,
        source: Address,
        header: &TcpHeader,
        (len, replaces): (u32, Option<u32>),
        now: Instant,
    ) -> Arrived {
        let opens = header.flags.contains(Flags::SYN) && !header.flags.intersects(Flags::ACK | Flags::RST);
        if opens && self.listener.as_ref().is_some_and(|listener| listener.port == header.destination_port) {
            return Arrived::Syn(Syn { source, header: *header, replaces });
        }
        let reset = |segment| Answer::Packet(packet(&mut self.ip, source, Transmit::empty(segment), now));
        Arrived::Answer(reset_for(header, len).map_or(Answer::Nothing, reset))
    }

    #[inline]
    fn find(&self, remote: Address, (local_port, remote_port): (u16, u16)) -> Option<u32> {
        if let Some(listener) = &self.listener {
            return listener.slots.get(&(remote, Ports::new(local_port, remote_port))).copied();
        }
        let of_segment = |socket: &Option<Box<Socket<T>>>| {
            socket.as_ref().is_some_and(|socket| {
                socket.endpoint.local_port() == local_port
                    && socket.endpoint.remote_port() == remote_port
                    && socket.remote() == remote
            })
        };
        self.sockets.iter().position(of_segment).map(|slot| slot as u32)
    }

    /// Tells the socket what is reported of a segment that it has in flight (RFC 5927 section 4.1: any other report may be forged). What that says of the
    /// path is news for the host's other sockets to the same address, too. Returns the socket's slot.
    fn heed(&mut self, report: &Report, now: Instant) -> Option<u32> {
        let Report { segment, reported } = report;
        let remote = segment.destination;
        let slot = self.find(remote, (segment.source_port, segment.destination_port))?;
        let endpoint = &mut self.sockets[slot as usize].as_deref_mut()?.endpoint;
        if !endpoint.is_in_flight(segment.sequence) {
            return None;
        }
        let Reported::TooLong { mtu } = *reported else {
            endpoint.handle_unreachable();
            return Some(slot);
        };
        let known = self.ip.path_mtu(remote, now);
        let mtu = self.ip.learn_path_mtu(remote, mtu, now)?;
        endpoint.handle_fragmentation_needed(mtu, now);
        if known != Some(mtu) {
            for socket in self.sockets.iter_mut().flatten().filter(|socket| socket.remote() == remote) {
                socket.endpoint.set_path_mtu(mtu);
            }
        }
        Some(slot)
    }
}

/// What tells a socket from the host's others: its peer's address, and the ports.
fn ends<T>(socket: &Socket<T>) -> (Address, Ports) {
    (socket.remote(), Ports::new(socket.endpoint.local_port(), socket.endpoint.remote_port()))
}

/// A segment as the packet that leaves.
#[inline]
fn packet(ip: &mut Ip, destination: Address, segment: Transmit, now: Instant) -> Packet {
    let Transmit { header, payload, ecn } = segment;
    let ip = IpHeader { traffic_class: ecn.bits(), ..ip.header(destination, now) };
    Packet { ip, body: Body::Tcp(header), payload, flipped: None }
}
