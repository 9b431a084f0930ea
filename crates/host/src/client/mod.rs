//! A client in a closed loop: it asks, waits for the whole response, and asks again.
//!
//! The life of a transaction:
//!
//! ```text
//!            begin                      request sent           response complete
//!   idle ───────────► (connecting) ───────────────► waiting ───────────────────────► idle, next begins after the think time
//!                          │                           │ closed or reset before the first byte of a kept connection: once more
//!                          └──────── fails ────────────┴──► recorded; the next begins after a pause
//! ```
//!
//! The connection of a transaction is `current`. A connection that is not needed any more (its last response is complete) lingers in its slot until
//! TCP is done with it.

mod connection;
mod transaction;

use crate::socket::Interface;
use crate::{Event, Identities, Outcome, World};
use connection::Connection;
use std::num::NonZeroU32;
use std::sync::Arc;
use transaction::Transaction;
use wasp_kernel::{NodeId, Timer};
use wasp_net::{LinkId, Observer};
use wasp_tcp::{Endpoint, Event as TcpEvent, State, reset_for};
use wasp_units::{Duration, Instant};
use wasp_wire::{Address, Packet, TcpHeader, Transport};
use wasp_workload::{OffTimes, Single};

/// How long a client waits after a failed transaction, so that a server that refuses everything is not hammered.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(100);

/// What the clients of a group have in common.
#[derive(Debug)]
pub struct Behaviour {
    /// Requests before a connection is closed; `None` keeps it for ever.
    pub requests_per_connection: Option<NonZeroU32>,
    /// How long a client waits for the end of a response, from the start of its transaction.
    pub request_timeout: Duration,
    /// The clients' TCP.
    pub tcp: Arc<wasp_tcp::Config>,
    /// What is asked for.
    pub workload: Single,
    /// The requests, encoded, for each file of the workload.
    pub requests: Vec<EncodedRequest>,
}

/// The bytes of a request, shared by all who send it.
#[derive(Clone, Debug)]
pub struct EncodedRequest {
    /// As sent on a connection that is to be kept.
    pub keep: Arc<[u8]>,
    /// As sent as the last one of a connection.
    pub close: Arc<[u8]>,
}

/// Where a client is.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Index of the client in the run.
    pub index: u32,
    /// Index of its group.
    pub group: u16,
    /// Its node.
    pub node: NodeId,
    /// Its address.
    pub address: Address,
    /// Its access link, upward.
    pub link: LinkId,
    /// The server it asks.
    pub server: Address,
    /// The server's port.
    pub port: u16,
}

/// One emulated client.
#[derive(Debug)]
pub struct Client {
    place: Place,
    interface: Interface,
    behaviour: Arc<Behaviour>,
    identities: Identities,
    /// The pauses between its requests.
    pauses: OffTimes,
    connections: Vec<Option<Box<Connection>>>,
    current: Option<u32>,
    opened: u32,
    transaction: Option<Transaction>,
    requests: u32,
    alarm: Timer,
    /// When the next transaction begins, or the one in progress is repeated.
    begin_at: Option<Instant>,
}

impl Client {
    /// A client that has not started.
    #[must_use]
    pub fn new(place: Place, behaviour: Arc<Behaviour>, identities: Identities, pauses: OffTimes) -> Self {
        let interface =
            Interface { node: place.node, link: place.link, address: place.address, identification: 0 };
        Self {
            place,
            interface,
            behaviour,
            identities,
            pauses,
            connections: Vec::new(),
            current: None,
            opened: 0,
            transaction: None,
            requests: 0,
            alarm: Timer::default(),
            begin_at: None,
        }
    }

    /// Index of the client's group.
    #[must_use]
    pub const fn group(&self) -> u16 {
        self.place.group
    }

    /// Begins the first transaction at `at`.
    pub fn start<O: Observer>(&mut self, at: Instant, world: &mut World<'_, O>) {
        self.begin_at = Some(at);
        self.arm_alarm(world);
    }

    /// A packet has arrived.
    pub fn handle_packet<O: Observer>(&mut self, packet: Packet, world: &mut World<'_, O>) {
        let Packet { source, transport: Transport::Tcp(header), payload, .. } = packet else {
            return world.network.pool.release(packet.payload);
        };
        let Some(slot) = self.find(&header) else {
            let reset = reset_for(&header, payload.len());
            world.network.pool.release(payload);
            if let Some(reset) = reset {
                self.interface.send(source, reset, wasp_wire::Payload::Empty, world);
            }
            return;
        };
        self.with_connection(slot, world, |client, connection, world| {
            let endpoint = &mut connection.socket.endpoint;
            let connecting = endpoint.state() == State::SynSent;
            endpoint.handle_segment(world.now(), &header, payload, &mut world.network.pool);
            if connecting {
                // A client's kernel acknowledges the SYN-ACK before the application gets to send its request.
                connection.socket.transmit(&mut client.interface, world);
            }
        });
    }

    /// A deadline of the connection in `slot` may be due.
    pub fn handle_connection_timer<O: Observer>(&mut self, slot: u32, world: &mut World<'_, O>) {
        let now = world.now();
        let connection = self.connections.get_mut(slot as usize).and_then(Option::as_mut);
        if !connection.is_some_and(|connection| connection.socket.timer.fired(now)) {
            return;
        }
        self.with_connection(slot, world, |_, connection, world| {
            connection.socket.endpoint.handle_timeout(world.now());
            connection.handle_linger(world.now());
        });
    }

    /// The client's own deadline may be due.
    pub fn handle_alarm<O: Observer>(&mut self, world: &mut World<'_, O>) {
        let now = world.now();
        if !self.alarm.fired(now) {
            return;
        }
        if self.begin_at.is_some_and(|at| at <= now) {
            self.begin_at = None;
            self.begin(world);
        } else if self.transaction.as_ref().is_some_and(|transaction| self.deadline(transaction) <= now) {
            self.give_up(Outcome::TimedOut, world);
        }
        self.arm_alarm(world);
    }

    /// The run has ended: records what is in progress.
    pub fn finish<O: Observer>(&mut self, world: &mut World<'_, O>) {
        if self.transaction.is_some() {
            self.record(Outcome::Unfinished, world);
        }
        for slot in 0..self.connections.len() {
            if let Some(connection) = self.connections[slot].take() {
                self.record_connection(*connection, None, world);
            }
        }
    }

    fn find(&self, header: &TcpHeader) -> Option<u32> {
        let of_packet = |connection: &Option<Box<Connection>>| {
            connection.as_ref().is_some_and(|connection| {
                connection.socket.endpoint.local_port() == header.destination_port
                    && connection.socket.endpoint.remote_port() == header.source_port
            })
        };
        self.connections.iter().position(of_packet).map(|slot| slot as u32)
    }

    /// Lets something happen to a connection, then handles all that follows from it.
    fn with_connection<O: Observer>(
        &mut self,
        slot: u32,
        world: &mut World<'_, O>,
        act: impl FnOnce(&mut Self, &mut Connection, &mut World<'_, O>),
    ) {
        let Some(mut connection) = self.connections[slot as usize].take() else { return };
        act(self, &mut connection, world);
        let mut over = false;
        while let Some(event) = connection.socket.endpoint.poll_event() {
            over |= self.handle_tcp(slot, &mut connection, event, world);
        }
        connection.socket.transmit(&mut self.interface, world);
        if over {
            self.record_connection(*connection, Some(world.now()), world);
        } else {
            let event = Event::ClientConnection { client: self.place.index, slot };
            let linger = connection.linger_deadline();
            connection.socket.arm(linger, self.place.node, event, world);
            self.connections[slot as usize] = Some(connection);
        }
        if self.begin_at.is_some_and(|at| at <= world.now()) {
            self.begin_at = None;
            self.begin(world);
        }
        self.arm_alarm(world);
    }

    /// Handles an event of the connection in `slot`; returns whether the connection is over.
    fn handle_tcp<O: Observer>(
        &mut self,
        slot: u32,
        connection: &mut Connection,
        event: TcpEvent,
        world: &mut World<'_, O>,
    ) -> bool {
        let current = self.current == Some(slot);
        match event {
            TcpEvent::Connected => {
                if current {
                    self.connected(connection, world);
                }
            }
            TcpEvent::Readable => self.read(current, connection, world),
            TcpEvent::RemoteClosed => {
                if current {
                    self.remote_closed(connection, world);
                }
                connection.socket.endpoint.close();
            }
            TcpEvent::SendSpace => {}
            TcpEvent::Closed | TcpEvent::Reset | TcpEvent::Refused | TcpEvent::TimedOut => {
                if current {
                    self.connection_lost(connection, event, world);
                }
                return true;
            }
        }
        false
    }

    /// Opens a connection for the transaction in progress.
    fn open<O: Observer>(&mut self, world: &mut World<'_, O>) {
        let (port, identity) = self.identities.connection(self.opened);
        let endpoint = Endpoint::connect(&self.behaviour.tcp, port, self.place.port, identity, world.now());
        let connection = Connection::new(endpoint, self.place.server, self.opened, identity.isn, world.now());
        self.opened += 1;
        let slot = self.connections.iter().position(Option::is_none).unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        self.connections[slot] = Some(Box::new(connection));
        self.current = Some(slot as u32);
        self.with_connection(slot as u32, world, |_, _, _| {});
    }

    fn deadline(&self, transaction: &Transaction) -> Instant {
        transaction.start().saturating_add(self.behaviour.request_timeout)
    }

    fn arm_alarm<O>(&mut self, world: &mut World<'_, O>) {
        let deadline =
            self.transaction.as_ref().map(|transaction| self.deadline(transaction)).or(self.begin_at);
        let event = Event::ClientAlarm { client: self.place.index };
        self.alarm.arm(deadline, self.place.node, event, world.scheduler);
    }
}
