//! How transactions begin, end, and are tried again.

use super::connection::{Connection, Socket};
use super::queue::Queue;
use super::reading::Reading;
use super::schedule::Ask;
use super::transaction::Transaction;
use super::visitor::Exchanges;
use super::{Browser, PAUSE_AFTER_FAILURE};
use crate::{Arrival, Outcome, Turn};
use wasp_http::Eof;
use wasp_tcp::Event as TcpEvent;

impl Browser {
    /// Begins a transaction: queues it on the connection of `lane`, or opens one for it.
    pub(super) fn ask(&mut self, lane: u8, ask: Ask, turn: &mut Turn<'_>) {
        let transaction = Transaction::new(&self.place, self.requests, ask, turn.now);
        self.requests += 1;
        if let Some(visitor) = &mut self.visitor {
            visitor.session = self.schedule.session();
        }
        if ask.arrival {
            turn.journal.arrival(self.place.group, Arrival::Begun, turn.now);
        }
        turn.journal.transaction_began(turn.now);
        let slot = self.lanes[usize::from(lane)].slot;
        match slot.and_then(|slot| self.stack.get_mut(slot)) {
            Some(socket) => socket.data.push(transaction),
            None => {
                let mut queue = Queue::default();
                queue.push(transaction);
                self.open(lane, queue, turn);
            }
        }
    }

    /// Reads as much as the application reads now, and handles what that completes.
    pub(super) fn read(&mut self, socket: &mut Socket, turn: &mut Turn<'_>) {
        let now = turn.now;
        let Socket { endpoint, data: connection, .. } = &mut *socket;
        let max = connection.allowance(&self.behaviour, now);
        if max == 0 {
            return;
        }
        let arrived = connection.waiting_since.take().unwrap_or(now);
        let mut reading = Reading::up_to(self.behaviour.abort_bytes.unwrap_or(u64::MAX));
        let (requests, last_head) = (&self.behaviour.requests, &mut *turn.last_head);
        let mut exchanges = Exchanges { requests, visitor: self.visitor.as_deref_mut() };
        let taken = endpoint.read(now, max, turn.pool, &mut |view| {
            reading.feed(connection, &mut exchanges, last_head, view, (arrived, now));
        });
        if let Some(rate) = self.behaviour.read_rate {
            connection.read_at = now + rate.transmission_time(taken);
        }
        for _ in 0..reading.complete {
            self.complete(connection, turn);
        }
        socket.forget_push();
        if reading.malformed {
            self.give_up(socket, Outcome::Malformed, turn);
        } else if reading.last {
            self.leave(&mut socket.data, turn);
        } else if reading.enough {
            self.give_up(socket, Outcome::Aborted, turn);
        }
        if socket.data.remote_closed && socket.endpoint.readable() == 0 {
            self.handle_end(socket, turn);
        }
    }

    /// The response to the first request of the connection is whole.
    fn complete(&mut self, connection: &mut Connection, turn: &mut Turn<'_>) {
        let Some(transaction) = connection.queue.pop() else { return };
        let outcome = transaction.record.outcome;
        self.end(connection.lane, transaction, outcome, turn);
        if connection.queue.is_empty() && self.behaviour.is_last(connection.requests) {
            self.leave(connection, turn);
        }
    }

    /// No response follows on the connection: it is left to the server to close it. Requests without a response move to a new one.
    fn leave(&mut self, connection: &mut Connection, turn: &mut Turn<'_>) {
        connection.linger_from(turn.now);
        self.release(connection);
        self.strand(connection, Outcome::Truncated, false, turn);
    }

    /// The lane takes another connection for its next request.
    pub(super) fn release(&mut self, connection: &mut Connection) {
        connection.spent = true;
        if !self.behaviour.await_close {
            self.clear_lane(connection.lane, connection.slot);
        }
    }

    /// The server has closed, and all that it sent is read.
    pub(super) fn handle_end(&mut self, socket: &mut Socket, turn: &mut Turn<'_>) {
        let connection = &mut socket.data;
        self.release(connection);
        match connection.reader.handle_eof() {
            Eof::Complete if !connection.queue.is_empty() => {
                if let Some(transaction) = connection.queue.get_mut(0) {
                    let found = (connection.reader.body_received(), connection.search);
                    let (requests, visitor) = (&self.behaviour.requests, self.visitor.as_deref_mut());
                    transaction.complete(&mut Exchanges { requests, visitor }, found, turn.now);
                }
                self.complete(connection, turn);
            }
            _ => {}
        }
        self.strand(connection, Outcome::Truncated, false, turn);
        socket.endpoint.close();
    }

    /// The connection is over.
    pub(super) fn handle_loss(&mut self, connection: &mut Connection, event: TcpEvent, turn: &mut Turn<'_>) {
        let outcome = match event {
            TcpEvent::Refused => Outcome::Refused,
            TcpEvent::TimedOut => Outcome::TimedOut,
            _ => Outcome::Reset,
        };
        self.strand(connection, outcome, event == TcpEvent::TimedOut, turn);
        connection.spent = true;
        self.clear_lane(connection.lane, connection.slot);
    }

    /// Gives the first request of the connection up, and with it the connection.
    pub(super) fn give_up(&mut self, socket: &mut Socket, outcome: Outcome, turn: &mut Turn<'_>) {
        let connection = &mut socket.data;
        self.strand(connection, outcome, true, turn);
        connection.spent = true;
        self.clear_lane(connection.lane, connection.slot);
        socket.endpoint.abort();
    }

    /// No response will come to the requests of the connection. Those whose response had not begun, behind another request on a
    /// kept connection, are made once more on a new connection, in their order, as if they had only now found it closed (RFC 9112
    /// sections 9.3.1 and 9.3.2); a POST or PATCH that was sent is not, since these are not idempotent (RFC 9110 section 9.2.2). `fails` says that the
    /// first of them fails in any case.
    fn strand(
        &mut self,
        connection: &mut Connection,
        outcome: Outcome,
        mut fails: bool,
        turn: &mut Turn<'_>,
    ) {
        fails |= !connection.has_answered();
        connection.unsent = 0;
        while let Some(mut transaction) = connection.queue.pop() {
            let record = &mut transaction.record;
            let method = self.behaviour.requests.method_of(record.file);
            let sent_once = record.sent.is_some() && !method.is_idempotent();
            if fails || sent_once || record.first_byte.is_some() || record.attempts > 1 {
                self.end(connection.lane, transaction, outcome, turn);
            } else {
                record.attempts += 1;
                self.due = true;
                self.lanes[usize::from(connection.lane)].again.get_or_insert_default().push(transaction);
            }
            fails = false;
        }
    }

    /// Ends a transaction and lets its lane pause as long as the schedule says, at least a while after a failure.
    fn end(&mut self, lane: u8, transaction: Transaction, outcome: Outcome, turn: &mut Turn<'_>) {
        let now = turn.now;
        let record = transaction.end(outcome, now);
        let (mut until, all) = self.schedule.ended(&record, turn.journal);
        turn.journal.transaction_ended(&record);
        if all {
            for lane in &mut self.lanes {
                lane.pause_until = self.schedule.pause(now);
            }
        }
        if !matches!(outcome, Outcome::Ok | Outcome::HttpError | Outcome::Wrong) && !self.schedule.is_open() {
            until = until.max(now + PAUSE_AFTER_FAILURE);
        }
        self.lanes[usize::from(lane)].pause_until = until;
        self.due = true;
    }

    /// Deadlines of a connection that are not TCP's.
    pub(super) fn handle_deadlines(&mut self, socket: &mut Socket, turn: &mut Turn<'_>) {
        let now = turn.now;
        let Socket { endpoint, data: connection, .. } = &mut *socket;
        connection.handle_linger(endpoint, now);
        let Some(transaction) = connection.queue.front() else { return };
        let start = transaction.record.start;
        let passed = |limit| start.saturating_add(limit) <= now;
        if passed(self.behaviour.request_timeout) {
            self.give_up(socket, Outcome::TimedOut, turn);
        } else if self.behaviour.abort_after.is_some_and(passed) {
            self.give_up(socket, Outcome::Aborted, turn);
        }
    }
}
