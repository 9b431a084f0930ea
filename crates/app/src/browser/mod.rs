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
mod named;
mod queue;
mod reading;
mod schedule;
mod sessions;
mod transaction;
mod transactions;
mod visitor;

pub use arrivals::ArrivalSource;
pub use behaviour::{Behaviour, EncodedRequests, Place};
pub use named::{MadeForm, NamedExchange, NamedForm, ValueSource};
pub use schedule::Plan;

use crate::{Application, Arrival, ConnectionEnd, Outcome, Turn, Untaken};
use arrivals::Admission;
use connection::{Connection, Socket, is_closed, reads_at_once};
use queue::Queue;
use schedule::Schedule;
use smallvec::SmallVec;
use std::sync::Arc;
use visitor::Visitor;
use wasp_packet::{Packet, PayloadPool};
use wasp_stack::{Arrived, Identities, Ip, Stack};
use wasp_tcp::Event as TcpEvent;
use wasp_units::{Duration, Instant, Wakeup};

/// How long a client in a closed loop waits after a failed transaction, so that a server that refuses everything is not hammered.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(100);

/// One emulated client: an [`Application`], to be [started](Self::start) at the beginning of a run and [finished](Self::finish) at its end.
#[derive(Debug)]
pub struct Browser {
    place: Place,
    /// What it has of its own for named requests.
    visitor: Option<Box<Visitor>>,
    stack: Stack<Connection>,
    behaviour: Arc<Behaviour>,
    schedule: Schedule,
    // Most clients have one, which is in place.
    lanes: SmallVec<[Lane; 1]>,
    /// Transactions begun so far.
    requests: u32,
    /// Something has happened that may let the client ask for more.
    due: bool,
    /// A connection of those touched is over, or closed.
    ended: bool,
    alarm: Wakeup,
    /// The alarm is to be asked for.
    alarm_due: bool,
}

/// Which deadline of a client a wake-up is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BrowserTimer {
    /// Its own: its start, the end of a pause, an arrival.
    Alarm,
    /// That of the connection in this slot: TCP's, a request's timeout.
    Connection(u32),
    /// The application of the connection in this slot reads what waits.
    Reading(u32),
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

impl Browser {
    /// A client that has not started.
    #[must_use]
    pub fn new(place: Place, behaviour: Arc<Behaviour>, identities: Identities, plan: Plan) -> Self {
        let requests = &behaviour.requests;
        let visitor = (!requests.named.is_empty())
            .then(|| Box::new(Visitor::new(place.index, plan.values, requests.captures)));
        let schedule = Schedule::new(plan);
        Self {
            place,
            visitor,
            stack: Stack::new(place.address, identities, &behaviour.tcp),
            lanes: (0..behaviour.connections.max(1)).map(|lane| Lane::new(schedule.first(lane))).collect(),
            schedule,
            behaviour,
            requests: 0,
            due: false,
            ended: false,
            alarm: Wakeup::default(),
            alarm_due: false,
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

    /// The run begins: the first transactions will when the plan says. Returns when the first wake-up for [`BrowserTimer::Alarm`] is to come.
    pub fn start(&mut self, now: Instant) -> Option<Instant> {
        let lane = self.lanes.iter().map(|lane| lane.pause_until).min().unwrap_or_default();
        let at = self.schedule.wake().map(|at| at.max(lane));
        self.alarm.ask(at, now)
    }

    /// A deadline of the connection in `slot` may be due.
    fn handle_connection_timer(&mut self, slot: u32, turn: &mut Turn<'_>) {
        if self.stack.get_mut(slot).is_some_and(|socket| socket.wakeup.fired(turn.now)) {
            self.with_socket(slot, turn, |browser, socket, turn| {
                socket.endpoint.handle_timeout(turn.now);
                browser.handle_deadlines(socket, turn);
            });
        }
    }

    /// The application of the connection in `slot` may be about to read.
    fn handle_reading(&mut self, slot: u32, turn: &mut Turn<'_>) {
        if self.stack.get_mut(slot).is_some_and(|socket| socket.data.reading.fired(turn.now)) {
            self.with_socket(slot, turn, |browser, socket, turn| {
                let reads_at = socket.data.reads_at(&socket.endpoint, &browser.behaviour);
                if reads_at.is_some_and(|at| at <= turn.now) {
                    browser.read(socket, turn);
                }
            });
        }
    }

    /// The end of a pause or an arrival may be due.
    fn handle_alarm(&mut self, turn: &mut Turn<'_>) {
        if !self.alarm.fired(turn.now) {
            return;
        }
        while let Some(admission) = self.schedule.arrive(turn.now) {
            turn.journal.arrival(self.place.group, Arrival::Generated, turn.now);
            if admission == Admission::Shed {
                turn.journal.arrival(self.place.group, Arrival::Shed, turn.now);
            }
        }
        self.due = true;
    }

    /// The run has ended: records what is in progress.
    pub fn finish(&mut self, turn: &mut Turn<'_>) {
        for slot in 0..self.stack.slots() {
            let Some(mut socket) = self.stack.remove(slot) else { continue };
            while let Some(transaction) = socket.data.queue.pop() {
                turn.journal.transaction_ended(&transaction.end(Outcome::Unfinished, turn.now));
            }
            self.record_connection(*socket, None, turn);
        }
        if let Some(session) = self.schedule.unfinished_session(&self.place, turn.now) {
            turn.journal.session_ended(&session);
        }
    }

    /// Where the state of the first connection is, to fetch it from memory ahead.
    #[must_use]
    pub fn first_connection(&self) -> Option<&impl Sized> {
        self.stack.get(0)
    }

    /// Lets something happen to a socket, then handles what TCP says of it.
    fn with_socket(
        &mut self,
        slot: u32,
        turn: &mut Turn<'_>,
        act: impl FnOnce(&mut Self, &mut Socket, &mut Turn<'_>),
    ) {
        let Some(mut socket) = self.stack.take(slot) else { return };
        act(self, &mut socket, turn);
        while let Some(event) = socket.endpoint.poll_event() {
            self.handle_tcp(&mut socket, event, turn);
        }
        self.ended |= socket.data.over || socket.data.spent && is_closed(&socket.endpoint);
        self.stack.put(slot, socket);
    }

    /// Ends what is over of a socket that was touched: TCP is done with it, or both sides have closed and its lane may go on.
    fn settle(&mut self, slot: u32, turn: &mut Turn<'_>) {
        let Some(socket) = self.stack.get(slot) else { return };
        if !socket.data.over {
            if socket.data.spent && is_closed(&socket.endpoint) {
                self.clear_lane(socket.data.lane, slot);
            }
        } else if let Some(socket) = self.stack.remove(slot) {
            self.record_connection(*socket, Some(turn.now), turn);
        }
    }

    /// Handles an event of a connection.
    fn handle_tcp(&mut self, socket: &mut Socket, event: TcpEvent, turn: &mut Turn<'_>) {
        match event {
            TcpEvent::Connected => {
                socket.data.established = Some(turn.now);
                self.due = true;
            }
            TcpEvent::Readable => {
                if reads_at_once(socket, &self.behaviour, turn) {
                    self.read(socket, turn);
                }
            }
            TcpEvent::RemoteClosed => {
                socket.data.remote_closed = true;
                if socket.data.waiting_since.is_some() {
                    self.read(socket, turn);
                } else if socket.endpoint.readable() == 0 {
                    self.handle_end(socket, turn);
                }
            }
            TcpEvent::Closed | TcpEvent::Reset | TcpEvent::Refused | TcpEvent::TimedOut => {
                if socket.data.waiting_since.is_some() {
                    self.read(socket, turn);
                }
                self.handle_loss(&mut socket.data, event, turn);
                socket.data.over = true;
            }
        }
    }

    /// Makes requests once more that are to be, then takes whatever the schedule has for lanes with room. What a connection can send
    /// at once leaves together.
    fn ask_for_more(&mut self, turn: &mut Turn<'_>) {
        let now = turn.now;
        for lane in 0..self.lanes.len() {
            if let Some(queue) = self.lanes[lane].again.take() {
                self.open(lane as u8, *queue, turn);
            }
        }
        while let Some(lane) = self.free_lane(now)
            && let Some(ask) = self.schedule.next(now)
        {
            self.ask(lane, ask, turn);
        }
        for lane in 0..self.lanes.len() {
            let Some(slot) = self.lanes[lane].slot else { continue };
            let Some(socket) = self.stack.get_mut(slot).filter(|socket| socket.data.may_send()) else {
                continue;
            };
            let port = socket.endpoint.local_port();
            let sent = (socket.ordinal(), turn.journal.loss_events(self.place.index, port));
            let asker = (&*self.behaviour, self.visitor.as_deref());
            socket.data.send_requests(&mut socket.endpoint, asker, sent, now);
            self.stack.touch(slot);
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
            let connection = &self.stack.get(slot)?.data;
            connection.has_room(&self.behaviour).then(|| connection.queue.len())
        };
        let order = |(lane, index): (&Lane, u8)| Some((load(lane)?, opens && lane.slot.is_some(), index));
        self.lanes.iter().zip(0..).filter_map(order).min().map(|(_, _, index)| index)
    }

    /// The connection in `slot`, if it is the lane's, is so no longer.
    fn clear_lane(&mut self, lane: u8, slot: u32) {
        let current = &mut self.lanes[usize::from(lane)].slot;
        *current = current.filter(|current| *current != slot);
        self.due = true;
    }

    /// Opens a connection for these transactions.
    fn open(&mut self, lane: u8, queue: Queue, turn: &mut Turn<'_>) {
        let first_of_place = !std::mem::replace(&mut self.lanes[usize::from(lane)].was_opened, true);
        let remote = (self.place.server, self.place.port);
        let data = |slot| Connection::new((lane, slot), queue, first_of_place, turn.now);
        let slot = self.stack.connect(&self.behaviour.tcp, remote, data, turn.now);
        if let Some(socket) = self.stack.get_mut(slot) {
            let connection = socket.ordinal();
            for transaction in socket.data.queue.iter_mut_from(0) {
                transaction.record.connection = connection;
            }
        }
        self.lanes[usize::from(lane)].slot = Some(slot);
    }

    /// Whatever is due has been done, so only what lies ahead needs a wake-up.
    fn next_alarm(&self, now: Instant) -> Option<Instant> {
        let pauses = self.lanes.iter().map(|lane| lane.pause_until);
        let ahead = |at: &Instant| *at > now;
        let at = pauses.chain(self.schedule.wake()).filter(ahead).min();
        if self.is_open() { at.into_iter().chain(self.schedule.next_step().filter(ahead)).min() } else { at }
    }

    /// Writes down a connection that is over, or whose run is, and gives back what it holds.
    fn record_connection(&self, socket: Socket, closed: Option<Instant>, turn: &mut Turn<'_>) {
        turn.journal.connection_ended(&ConnectionEnd {
            client: self.place.index,
            group: self.place.group,
            connection: socket.ordinal(),
            port: socket.endpoint.local_port(),
            initial_sequence: socket.initial_sequence(),
            opened: socket.data.opened,
            closed,
            retransmitted: socket.endpoint.statistics().retransmitted,
            ecn: socket.data.ecn(&socket.endpoint),
        });
        socket.endpoint.release(turn.pool);
    }
}

impl Application for Browser {
    type Timer = BrowserTimer;

    fn ip(&mut self) -> &mut Ip {
        self.stack.ip()
    }

    #[inline]
    fn handle_packet(&mut self, packet: &mut Packet, turn: &mut Turn<'_>) -> Option<Untaken> {
        match self.stack.receive(packet, turn.now, turn.pool) {
            Arrived::Socket(slot) => {
                self.with_socket(slot, turn, |_, _, _| {});
                None
            }
            Arrived::Answer(answer) => Some(Untaken::Answer(answer)),
            Arrived::Dropped(dropped) => Some(Untaken::Dropped(dropped)),
            Arrived::Syn(_) => unreachable!("a client has no port that listens"),
        }
    }

    #[inline]
    fn handle_timer(&mut self, timer: BrowserTimer, turn: &mut Turn<'_>) {
        match timer {
            BrowserTimer::Alarm => self.handle_alarm(turn),
            BrowserTimer::Connection(slot) => self.handle_connection_timer(slot, turn),
            BrowserTimer::Reading(slot) => self.handle_reading(slot, turn),
        }
    }

    #[inline]
    fn poll_transmit(&mut self, now: Instant, pool: &mut PayloadPool) -> Option<Packet> {
        self.stack.poll_transmit(now, pool)
    }

    #[inline]
    fn is_waiting(&self) -> bool {
        self.due | self.ended
    }

    /// Ends connections, and asks for more: an acknowledgment that was due has left before the next request, or leaves with it.
    fn go_on(&mut self, turn: &mut Turn<'_>) {
        if std::mem::take(&mut self.ended) {
            for index in 0..self.stack.touched().len() {
                self.settle(self.stack.touched()[index], turn);
            }
        }
        if std::mem::take(&mut self.due) {
            self.ask_for_more(turn);
            self.alarm_due = true;
        }
    }

    #[inline]
    fn poll_timeouts(&mut self, now: Instant, mut ask: impl FnMut(BrowserTimer, Instant)) {
        debug_assert!(!self.is_waiting(), "nothing waits to go on");
        if std::mem::take(&mut self.alarm_due)
            && let Some(at) = self.alarm.ask(self.next_alarm(now), now)
        {
            ask(BrowserTimer::Alarm, at);
        }
        while let Some(slot) = self.stack.pop_touched() {
            let Some(Socket { endpoint, data, wakeup, .. }) = self.stack.get_mut(slot) else { continue };
            let deadline =
                [endpoint.poll_timeout(), data.deadline(&self.behaviour)].into_iter().flatten().min();
            if let Some(at) = wakeup.ask(deadline, now) {
                ask(BrowserTimer::Connection(slot), at);
            }
            let reads_at = data.reads_at(endpoint, &self.behaviour);
            if let Some(at) = data.reading.ask(reads_at, now) {
                ask(BrowserTimer::Reading(slot), at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_with_an_idle_connection_takes_less_than_two_kib() {
        let sizes = [size_of::<Browser>(), size_of::<Socket>()];
        assert!(sizes.iter().sum::<usize>() <= 2_048, "{sizes:?}");
    }
}
