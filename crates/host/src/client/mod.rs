//! An emulated client: what a person's browser does, or a load generator.
//!
//! ```text
//! Schedule (what next, and when) ─► Lane (a parallel connection's place) ─► Connection ─► Queue of Transactions
//! ```
//!
//! A client has as many lanes as it may have parallel connections. A lane that does not pause and whose connection has room takes
//! what the schedule has to ask for next, and opens a connection if it has none. A connection serves its transactions in their
//! order and is left when it takes no more; it then lingers in its slot until TCP is done with it, while its lane goes on.
//!
//! The life of a transaction:
//!
//! ```text
//!          ask                      request sent           response complete
//!   lane ───────────► (connecting) ───────────────► waiting ──────────────────► recorded; the lane pauses as the schedule says
//!                          │                           │ closed or reset before its first byte, behind others: once more
//!                          └──────── fails ────────────┴──► recorded; the lane pauses, in a closed loop for a while at least
//! ```

mod arrivals;
mod behaviour;
mod connection;
mod queue;
mod reading;
mod schedule;
mod transaction;
mod transactions;

pub use arrivals::ArrivalSource;
pub use behaviour::{Behaviour, EncodedRequests, Place};
pub use schedule::Plan;

use crate::interface::{Interface, Received};
use crate::{Arrival, ConnectionRecord, Event, Identities, Outcome, World};
use arrivals::Admission;
use connection::Connection;
use queue::Queue;
use schedule::Schedule;
use smallvec::SmallVec;
use std::sync::Arc;
use wasp_kernel::{Stage, Timer, prefetch};
use wasp_net::{Network, Observer, Passage};
use wasp_packet::{Body, Packet, Payload};
use wasp_stack::Report;
use wasp_tcp::{Endpoint, Event as TcpEvent, State, Transmit, reset_for};
use wasp_units::{Duration, Instant};
use wasp_wire::{Ecn, IpHeader, TcpHeader};

/// How long a client in a closed loop waits after a failed transaction, so that a server that refuses everything is not hammered.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(100);

/// One emulated client.
#[derive(Debug)]
pub struct Client {
    place: Place,
    interface: Interface,
    behaviour: Arc<Behaviour>,
    identities: Identities,
    schedule: Schedule,
    // Most clients have one of each, which is in place (of a connection, where it is).
    lanes: SmallVec<[Lane; 1]>,
    connections: SmallVec<[Option<Box<Connection>>; 1]>,
    /// Connections opened so far.
    opened: u32,
    /// Transactions begun so far.
    requests: u32,
    /// Something has happened that may let the client ask for more.
    due: bool,
    alarm: Timer,
    /// Slots of connections to which something has happened since their timers were armed.
    unarmed: Vec<u32>,
}

/// The place of one of a client's parallel connections.
#[derive(Debug, Default)]
struct Lane {
    /// Slot of its connection.
    slot: Option<u32>,
    /// It has had a connection.
    was_opened: bool,
    /// It takes nothing before.
    pause_until: Instant,
    /// Requests that are to be made once more, on a new connection.
    again: Option<Box<Queue>>,
}

impl Lane {
    /// A lane that takes nothing before `first`.
    fn new(first: Instant) -> Self {
        Self { pause_until: first, ..Self::default() }
    }
}

impl Client {
    /// A client that has not started.
    #[must_use]
    pub fn new(place: Place, behaviour: Arc<Behaviour>, identities: Identities, plan: Plan) -> Self {
        let event = Event::ClientReassembly { client: place.index };
        let interface = Interface::new((place.node, place.link), place.address, &behaviour.tcp, event);
        let schedule = Schedule::new(plan);
        Self {
            place,
            interface,
            identities,
            lanes: (0..behaviour.connections.max(1)).map(|lane| Lane::new(schedule.first(lane))).collect(),
            schedule,
            behaviour,
            connections: SmallVec::new(),
            opened: 0,
            requests: 0,
            due: false,
            alarm: Timer::default(),
            unarmed: Vec::new(),
        }
    }

    /// Index of the client's group.
    #[must_use]
    pub const fn group(&self) -> u16 {
        self.place.group
    }

    /// Whether its requests come by themselves, and not when it has what it asked for before.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.schedule.is_open()
    }

    /// The run begins: the first transactions will when the plan says.
    pub fn start<O: Observer>(&mut self, world: &mut World<'_, O>) {
        let lane = self.lanes.iter().map(|lane| lane.pause_until).min().unwrap_or_default();
        let at = self.schedule.wake().map(|at| at.max(lane));
        let event = Event::ClientAlarm { client: self.place.index };
        self.alarm.arm(at, self.place.node, event, world.scheduler);
    }

    /// A packet has arrived.
    pub fn handle_packet<O: Observer>(&mut self, packet: Packet, world: &mut World<'_, O>) {
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
        let Some(slot) = self.find(header.destination_port, header.source_port) else {
            let reset = reset_for(header, payload.len());
            world.network.pool.release(payload);
            if let Some(reset) = reset {
                self.interface.send(ip.source, Transmit::empty(reset), world);
            }
            return;
        };
        self.with_connection(slot, world, |client, connection, world| {
            connection.note_push(header, payload.len());
            let endpoint = &mut connection.socket.endpoint;
            let connecting = endpoint.state() == State::SynSent;
            let ecn = Ecn::of(ip.traffic_class);
            endpoint.handle_segment(world.now(), header, ecn, payload, &mut world.network.pool);
            if connecting {
                // A client's kernel acknowledges the SYN-ACK before the application gets to send its request.
                connection.socket.transmit(&mut client.interface, world);
            }
        });
        self.go_on(world);
    }

    /// An ICMP error reports of a segment.
    #[cold]
    fn handle_report<O: Observer>(&mut self, report: &Report, world: &mut World<'_, O>) {
        let segment = &report.segment;
        if segment.destination != self.place.server {
            return;
        }
        let Some(slot) = self.find(segment.source_port, segment.destination_port) else { return };
        let mut news = None;
        self.with_connection(slot, world, |client, connection, world| {
            news = client.interface.heed(report, &mut connection.socket, world.now());
        });
        if let Some(mtu) = news {
            for connection in self.connections.iter_mut().flatten() {
                connection.socket.endpoint.set_path_mtu(mtu);
            }
        }
        self.go_on(world);
    }

    /// Fragments may have waited for too long.
    pub fn handle_reassembly<O: Observer>(&mut self, world: &mut World<'_, O>) {
        self.interface.handle_reassembly(world);
    }

    /// A deadline of the connection in `slot` may be due.
    pub fn handle_connection_timer<O: Observer>(&mut self, slot: u32, world: &mut World<'_, O>) {
        let now = world.now();
        let connection = self.connections.get_mut(slot as usize).and_then(Option::as_mut);
        if !connection.is_some_and(|connection| connection.socket.timer.fired(now)) {
            return;
        }
        self.with_connection(slot, world, |client, connection, world| {
            connection.socket.endpoint.handle_timeout(world.now());
            client.handle_deadlines(connection, world);
        });
        self.go_on(world);
    }

    /// The application of the connection in `slot` may be about to read.
    pub fn handle_reading<O: Observer>(&mut self, slot: u32, world: &mut World<'_, O>) {
        let now = world.now();
        let connection = self.connections.get_mut(slot as usize).and_then(Option::as_mut);
        if !connection.is_some_and(|connection| connection.reading.fired(now)) {
            return;
        }
        self.with_connection(slot, world, |client, connection, world| {
            if connection.reads_at(&client.behaviour).is_some_and(|at| at <= world.now()) {
                client.read(connection, world);
            }
        });
        self.go_on(world);
    }

    /// The end of a pause or an arrival may be due.
    pub fn handle_alarm<O: Observer>(&mut self, world: &mut World<'_, O>) {
        let now = world.now();
        if !self.alarm.fired(now) {
            return;
        }
        while let Some(admission) = self.schedule.arrive(now) {
            world.journal.arrival(self.place.group, Arrival::Generated, now);
            if admission == Admission::Shed {
                world.journal.arrival(self.place.group, Arrival::Shed, now);
            }
        }
        self.due = true;
        self.go_on(world);
    }

    /// The run has ended: records what is in progress.
    pub fn finish<O: Observer>(&mut self, world: &mut World<'_, O>) {
        for slot in 0..self.connections.len() {
            let Some(mut connection) = self.connections[slot].take() else { continue };
            while let Some(transaction) = connection.queue.pop() {
                world.journal.transaction_ended(&transaction.end(Outcome::Unfinished, world.now()));
            }
            self.record_connection(*connection, None, world);
        }
    }

    /// Begins to fetch from memory what an event of a connection is likely to need.
    pub fn prepare<O: Observer>(&self, stage: Stage, network: &Network<O>) {
        if stage == Stage::First {
            return prefetch(self);
        }
        if let [Some(connection), ..] = self.connections.as_slice() {
            prefetch(&**connection);
        }
        network.prepare_entry(self.place.link, Stage::First);
    }

    /// The slot of the connection between these ports.
    fn find(&self, local: u16, remote: u16) -> Option<u32> {
        let of_packet = |connection: &Option<Box<Connection>>| {
            connection.as_ref().is_some_and(|connection| {
                connection.socket.endpoint.local_port() == local
                    && connection.socket.endpoint.remote_port() == remote
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
            over |= self.handle_tcp(&mut connection, event, world);
        }
        connection.socket.transmit(&mut self.interface, world);
        if over {
            self.record_connection(*connection, Some(world.now()), world);
            return;
        }
        if connection.spent && connection.is_closed() {
            self.clear_lane(&connection);
        }
        self.connections[slot as usize] = Some(connection);
        if self.unarmed.last() != Some(&slot) {
            self.unarmed.push(slot);
        }
    }

    /// Handles an event of a connection; returns whether the connection is over.
    fn handle_tcp<O: Observer>(
        &mut self,
        connection: &mut Connection,
        event: TcpEvent,
        world: &mut World<'_, O>,
    ) -> bool {
        match event {
            TcpEvent::Connected => {
                connection.established = Some(world.now());
                self.due = true;
            }
            TcpEvent::Readable => {
                let (now, pool) = (world.now(), &world.network.pool);
                if connection.reads_at_once(&self.behaviour, now, pool, world.last_head) {
                    self.read(connection, world);
                }
            }
            TcpEvent::RemoteClosed => {
                connection.remote_closed = true;
                if connection.waiting_since.is_some() {
                    self.read(connection, world);
                } else if connection.socket.endpoint.readable() == 0 {
                    self.handle_end(connection, world);
                }
            }
            TcpEvent::Closed | TcpEvent::Reset | TcpEvent::Refused | TcpEvent::TimedOut => {
                if connection.waiting_since.is_some() {
                    self.read(connection, world);
                }
                self.handle_loss(connection, event, world);
                return true;
            }
        }
        false
    }

    /// Asks for more if something has happened that may let the client, then arms the timers: an acknowledgment that was due is likely
    /// to have left with the next request, and needs none.
    fn go_on<O: Observer>(&mut self, world: &mut World<'_, O>) {
        if std::mem::take(&mut self.due) {
            self.ask_for_more(world);
            self.arm_alarm(world);
        }
        while let Some(slot) = self.unarmed.pop() {
            let Some(connection) = &mut self.connections[slot as usize] else { continue };
            let event = Event::ClientConnection { client: self.place.index, slot };
            let deadline = connection.deadline(&self.behaviour);
            connection.socket.arm(deadline, self.place.node, event, world);
            let event = Event::ClientReading { client: self.place.index, slot };
            let reads_at = connection.reads_at(&self.behaviour);
            connection.reading.arm(reads_at, self.place.node, event, world.scheduler);
        }
    }

    /// Makes requests once more that are to be, then takes whatever the schedule has for lanes with room. What a connection can send
    /// at once leaves together.
    fn ask_for_more<O: Observer>(&mut self, world: &mut World<'_, O>) {
        let now = world.now();
        for lane in 0..self.lanes.len() {
            if let Some(queue) = self.lanes[lane].again.take() {
                self.open(lane as u8, *queue, world);
            }
        }
        while let Some(lane) = self.free_lane(now)
            && let Some(ask) = self.schedule.next(now)
        {
            self.ask(lane, ask, world);
        }
        for lane in 0..self.lanes.len() {
            let Some(slot) = self.lanes[lane].slot else { continue };
            if self.connections[slot as usize].as_ref().is_some_and(|connection| connection.may_send()) {
                self.with_connection(slot, world, |client, connection, world| {
                    let port = connection.socket.endpoint.local_port();
                    let loss_events = world.network.flows.loss_events(client.place.index, port);
                    connection.send_requests(&client.behaviour, loss_events, world.now());
                });
            }
        }
    }

    /// The lane with the fewest requests of those that may take another. In the warm-up, connections that will be kept are opened rather than used again:
    /// in the long run all are open.
    fn free_lane(&self, now: Instant) -> Option<u8> {
        let opens = self.behaviour.requests_per_connection.is_none() && self.schedule.warms_up(now);
        let load = |lane: &Lane| -> Option<usize> {
            if lane.pause_until > now {
                return None;
            }
            let Some(slot) = lane.slot else { return Some(0) };
            let connection = self.connections[slot as usize].as_ref()?;
            connection.has_room(&self.behaviour).then(|| connection.queue.len())
        };
        let order = |(lane, index): (&Lane, u8)| Some((load(lane)?, opens && lane.slot.is_some(), index));
        self.lanes.iter().zip(0..).filter_map(order).min().map(|(_, _, index)| index)
    }

    /// The connection, if it is its lane's, is so no longer.
    fn clear_lane(&mut self, connection: &Connection) {
        let slot = &mut self.lanes[usize::from(connection.lane)].slot;
        *slot = slot.filter(|slot| *slot != connection.slot);
        self.due = true;
    }

    /// Opens a connection for these transactions.
    fn open<O: Observer>(&mut self, lane: u8, mut queue: Queue, world: &mut World<'_, O>) {
        let slot = self.connections.iter().position(Option::is_none).unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        let (port, identity) = self.identities.connection(self.opened);
        let endpoint = Endpoint::connect(&self.behaviour.tcp, port, self.place.port, identity, world.now());
        let socket = self.interface.socket(endpoint, self.place.server, world.now());
        let place = (lane, slot as u32);
        let mut connection = Connection::new(socket, place, self.opened, identity.isn, world.now());
        for transaction in queue.iter_mut_from(0) {
            transaction.record.connection = self.opened;
        }
        connection.first_of_place = !std::mem::replace(&mut self.lanes[usize::from(lane)].was_opened, true);
        connection.unsent = queue.len() as u8;
        connection.queue = queue;
        self.opened += 1;
        self.connections[slot] = Some(Box::new(connection));
        self.lanes[usize::from(lane)].slot = Some(slot as u32);
        self.with_connection(slot as u32, world, |_, _, _| {});
    }

    /// Whatever is due has been done, so only what lies ahead needs a wake-up.
    fn arm_alarm<O>(&mut self, world: &mut World<'_, O>) {
        let now = world.now();
        let pauses = self.lanes.iter().map(|lane| lane.pause_until);
        let deadline = pauses.chain(self.schedule.wake()).filter(|at| *at > now).min();
        let event = Event::ClientAlarm { client: self.place.index };
        self.alarm.arm(deadline, self.place.node, event, world.scheduler);
    }

    /// Writes down a connection that is over, or whose run is, and gives back what it holds.
    fn record_connection<O: Observer>(
        &mut self,
        connection: Connection,
        closed: Option<Instant>,
        world: &mut World<'_, O>,
    ) {
        let endpoint = &connection.socket.endpoint;
        let flow =
            world.network.flows.finish(self.place.index, endpoint.local_port(), connection.initial_sequence);
        let (up, down) =
            flow.map_or((Passage::default(), Passage::default()), |flow| (flow.forward, flow.backward));
        world.journal.connection_ended(&ConnectionRecord {
            client: self.place.index,
            group: self.place.group,
            connection: connection.ordinal,
            port: endpoint.local_port(),
            opened: connection.opened,
            closed,
            up,
            down,
            retransmitted: endpoint.statistics().retransmitted,
            ecn: connection.ecn(),
        });
        connection.socket.endpoint.release(&mut world.network.pool);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_with_an_idle_connection_takes_less_than_two_kib() {
        let sizes = [size_of::<Client>(), size_of::<Connection>()];
        assert!(sizes.iter().sum::<usize>() <= 2_048, "{sizes:?}");
    }
}
