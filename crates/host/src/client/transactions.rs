//! How transactions begin, end, and are tried again.

use super::connection::Connection;
use super::queue::Queue;
use super::reading::Reading;
use super::schedule::Ask;
use super::transaction::Transaction;
use super::{Client, PAUSE_AFTER_FAILURE};
use crate::{Arrival, Outcome, World};
use wasp_http::Eof;
use wasp_net::Observer;
use wasp_tcp::Event as TcpEvent;
use wasp_units::Instant;

impl Client {
    /// Begins a transaction: queues it on the connection of `lane`, or opens one for it.
    pub(super) fn ask<O: Observer>(&mut self, lane: u8, ask: Ask, world: &mut World<'_, O>) {
        let transaction = Transaction::new(&self.place, self.requests, ask, world.now());
        self.requests += 1;
        if ask.arrival {
            world.journal.arrival(self.place.group, Arrival::Begun, world.now());
        }
        world.journal.transaction_began(world.now());
        let slot = self.lanes[usize::from(lane)].slot;
        match slot.and_then(|slot| self.connections[slot as usize].as_mut()) {
            Some(connection) => connection.push(transaction),
            None => {
                let mut queue = Queue::default();
                queue.push(transaction);
                self.open(lane, queue, world);
            }
        }
    }

    /// Reads as much as the application reads now, and handles what that completes.
    pub(super) fn read<O: Observer>(&mut self, connection: &mut Connection, world: &mut World<'_, O>) {
        let now = world.now();
        let max = connection.allowance(&self.behaviour, now);
        if max == 0 {
            return;
        }
        let arrived = connection.waiting_since.take().unwrap_or(now);
        let method = self.behaviour.requests.method;
        let Connection { socket, reader, queue, .. } = &mut *connection;
        let mut reading = Reading::up_to(self.behaviour.abort_bytes.unwrap_or(u64::MAX));
        let last_head = &mut *world.last_head;
        let taken = socket.endpoint.read(now, max, &mut world.network.pool, &mut |view| {
            reading.feed(queue, reader, last_head, method, view, (arrived, now));
        });
        if let Some(rate) = self.behaviour.read_rate {
            connection.read_at = now + rate.transmission_time(taken);
        }
        for _ in 0..reading.complete {
            self.complete(connection, world);
        }
        connection.forget_push();
        if reading.malformed {
            self.give_up(connection, Outcome::Malformed, world);
        } else if reading.last {
            self.leave(connection, world);
        } else if reading.enough {
            self.give_up(connection, Outcome::Aborted, world);
        }
        if connection.remote_closed && connection.socket.endpoint.readable() == 0 {
            self.handle_end(connection, world);
        }
    }

    /// The response to the first request of the connection is whole.
    fn complete<O: Observer>(&mut self, connection: &mut Connection, world: &mut World<'_, O>) {
        let Some(transaction) = connection.queue.pop() else { return };
        let outcome = transaction.verdict();
        self.end(connection.lane, transaction, outcome, world);
        if connection.queue.is_empty() && self.behaviour.is_last(connection.requests) {
            self.leave(connection, world);
        }
    }

    /// No response follows on the connection: it is left to the server to close it. Requests without a response move to a new one.
    fn leave<O: Observer>(&mut self, connection: &mut Connection, world: &mut World<'_, O>) {
        connection.linger_from(world.now());
        self.release(connection);
        self.strand(connection, Outcome::Truncated, false, world);
    }

    /// The lane takes another connection for its next request.
    pub(super) fn release(&mut self, connection: &mut Connection) {
        connection.spent = true;
        if !self.behaviour.await_close {
            self.clear_lane(connection);
        }
    }

    /// The server has closed, and all that it sent is read.
    pub(super) fn handle_end<O: Observer>(&mut self, connection: &mut Connection, world: &mut World<'_, O>) {
        self.release(connection);
        match connection.reader.handle_eof() {
            Eof::Complete if !connection.queue.is_empty() => {
                if let Some(transaction) = connection.queue.get_mut(0) {
                    transaction.record.last_byte = Some(world.now());
                    transaction.record.bytes = connection.reader.body_received();
                }
                self.complete(connection, world);
            }
            _ => {}
        }
        self.strand(connection, Outcome::Truncated, false, world);
        connection.socket.endpoint.close();
    }

    /// The connection is over.
    pub(super) fn handle_loss<O: Observer>(
        &mut self,
        connection: &mut Connection,
        event: TcpEvent,
        world: &mut World<'_, O>,
    ) {
        let outcome = match event {
            TcpEvent::Refused => Outcome::Refused,
            TcpEvent::TimedOut => Outcome::TimedOut,
            _ => Outcome::Reset,
        };
        self.strand(connection, outcome, event == TcpEvent::TimedOut, world);
        connection.spent = true;
        self.clear_lane(connection);
    }

    /// Gives the first request of the connection up, and with it the connection.
    pub(super) fn give_up<O: Observer>(
        &mut self,
        connection: &mut Connection,
        outcome: Outcome,
        world: &mut World<'_, O>,
    ) {
        self.strand(connection, outcome, true, world);
        connection.spent = true;
        self.clear_lane(connection);
        connection.socket.endpoint.abort();
    }

    /// No response will come to the requests of the connection. Those whose response had not begun, behind another request on a
    /// kept connection, are made once more on a new connection, in their order, as if they had only now found it closed (RFC 9112
    /// sections 9.3.1 and 9.3.2); a POST that was sent is not, since it is not idempotent (RFC 9110 section 9.2.2). `fails` says that the
    /// first of them fails in any case.
    fn strand<O: Observer>(
        &mut self,
        connection: &mut Connection,
        outcome: Outcome,
        mut fails: bool,
        world: &mut World<'_, O>,
    ) {
        fails |= !connection.has_answered();
        connection.unsent = 0;
        while let Some(mut transaction) = connection.queue.pop() {
            let record = &mut transaction.record;
            let sent_once = record.sent.is_some() && !self.behaviour.requests.method.is_idempotent();
            if fails || sent_once || record.first_byte.is_some() || record.attempts > 1 {
                self.end(connection.lane, transaction, outcome, world);
            } else {
                record.attempts += 1;
                self.due = true;
                self.lanes[usize::from(connection.lane)].again.get_or_insert_default().push(transaction);
            }
            fails = false;
        }
    }

    /// Ends a transaction and lets its lane pause as long as the schedule says, at least a while after a failure.
    fn end<O>(&mut self, lane: u8, transaction: Transaction, outcome: Outcome, world: &mut World<'_, O>) {
        let now = world.now();
        let record = transaction.end(outcome, now);
        let (mut until, all) = self.schedule.ended(outcome == Outcome::Ok, record.request, now);
        world.journal.transaction_ended(&record);
        if all {
            for lane in &mut self.lanes {
                lane.pause_until = self.schedule.pause(now);
            }
        }
        if !matches!(outcome, Outcome::Ok | Outcome::HttpError) && !self.schedule.is_open() {
            until = until.max(now + PAUSE_AFTER_FAILURE);
        }
        self.lanes[usize::from(lane)].pause_until = until;
        self.due = true;
    }

    /// Deadlines of a connection that are not TCP's.
    pub(super) fn handle_deadlines<O: Observer>(
        &mut self,
        connection: &mut Connection,
        world: &mut World<'_, O>,
    ) {
        let now = world.now();
        connection.handle_linger(now);
        let Some(transaction) = connection.queue.front() else { return };
        let passed = |limit| -> bool {
            let deadline: Instant = transaction.record.start.saturating_add(limit);
            deadline <= now
        };
        if passed(self.behaviour.request_timeout) {
            self.give_up(connection, Outcome::TimedOut, world);
        } else if self.behaviour.abort_after.is_some_and(passed) {
            self.give_up(connection, Outcome::Aborted, world);
        }
    }
}
