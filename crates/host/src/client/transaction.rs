//! Transactions: beginning, reading the response, ending, retrying.

use super::{Client, Connection, PAUSE_AFTER_FAILURE};
use crate::{ConnectionRecord, Outcome, TransactionRecord, World};
use wasp_http::{Eof, Event as HttpEvent, Head, Malformed, Method, Piece, ResponseReader};
use wasp_net::{Observer, Passage};
use wasp_tcp::{Chunk, Event as TcpEvent};
use wasp_units::Instant;
use wasp_wire::View;

/// A transaction in progress: the record so far, and the response's head.
#[derive(Debug)]
pub(super) struct Transaction {
    record: TransactionRecord,
    head: Option<Head>,
    complete: bool,
}

impl Transaction {
    fn new(client: &Client, now: Instant) -> Self {
        let record = TransactionRecord {
            client: client.place.index,
            group: client.place.group,
            connection: client.opened,
            request: client.requests,
            start: now,
            connected: None,
            sent: None,
            first_byte: None,
            last_byte: None,
            end: now,
            status: 0,
            bytes: 0,
            outcome: Outcome::Unfinished,
            attempts: 1,
        };
        Self { record, head: None, complete: false }
    }

    /// When it began.
    pub(super) fn start(&self) -> Instant {
        self.record.start
    }

    /// Reads one piece of the response.
    fn feed(&mut self, reader: &mut ResponseReader, view: View<'_>, now: Instant) -> Result<(), Malformed> {
        self.record.first_byte.get_or_insert(now);
        let (mut rest, counted) = match view {
            View::Bytes(bytes) => (bytes, 0),
            View::Virtual(count) => (&[][..], u64::from(count)),
        };
        let mut counted = counted;
        while !self.complete {
            let piece = if counted > 0 { Piece::Counted(counted) } else { Piece::Bytes(rest) };
            let (used, event) = reader.handle(piece)?;
            if counted > 0 {
                counted -= used as u64;
            } else {
                rest = &rest[used..];
            }
            match event {
                Some(HttpEvent::Head(head)) => self.head = Some(head),
                Some(HttpEvent::Complete) => self.complete = true,
                None => break,
            }
        }
        Ok(())
    }
}

impl Client {
    /// Begins the next transaction, or repeats the one in progress, on the kept connection if there is one.
    pub(super) fn begin<O: Observer>(&mut self, world: &mut World<'_, O>) {
        if self.transaction.is_none() {
            self.transaction = Some(Transaction::new(self, world.now()));
            self.requests += 1;
            world.journal.transaction_began(world.now());
        }
        match self.current {
            Some(slot) => self.with_connection(slot, world, |client, connection, world| {
                client.send_request(connection, world.now());
            }),
            None => self.open(world),
        }
    }

    /// The connection of the transaction is established.
    pub(super) fn connected<O: Observer>(&mut self, connection: &mut Connection, world: &mut World<'_, O>) {
        connection.established = Some(world.now());
        self.send_request(connection, world.now());
    }

    fn send_request(&mut self, connection: &mut Connection, now: Instant) {
        let Some(transaction) = &mut self.transaction else { return };
        let request = transaction.record.request;
        connection.requests += 1;
        if connection.requests == 1 {
            transaction.record.connected = connection.established;
        }
        transaction.record.connection = connection.ordinal;
        transaction.record.sent = Some(now);
        let file = self.behaviour.workload.request(u64::from(request));
        let encoded = &self.behaviour.requests[file.0 as usize];
        let last =
            self.behaviour.requests_per_connection.is_some_and(|limit| connection.requests >= limit.get());
        let bytes = if last { &encoded.close } else { &encoded.keep };
        connection.socket.endpoint.send(Chunk::Shared(bytes.clone()));
        connection.reader.begin(Method::Get);
    }

    /// Reads what has arrived. Bytes that belong to no transaction are thrown away.
    pub(super) fn read<O: Observer>(
        &mut self,
        current: bool,
        connection: &mut Connection,
        world: &mut World<'_, O>,
    ) {
        let now = world.now();
        let (endpoint, reader) = (&mut connection.socket.endpoint, &mut connection.reader);
        let mut transaction = self.transaction.as_mut().filter(|_| current);
        let mut malformed = false;
        endpoint.read(u64::MAX, &mut world.network.pool, &mut |view| {
            if let Some(transaction) = transaction.as_deref_mut() {
                malformed |= !malformed && transaction.feed(reader, view, now).is_err();
            }
        });
        if malformed {
            connection.socket.endpoint.abort();
            self.fail(Outcome::Malformed, world);
        } else if transaction.is_some_and(|transaction| transaction.complete) {
            self.complete(connection, true, world);
        }
    }

    /// The response is whole; the next transaction begins after the think time.
    fn complete<O: Observer>(&mut self, connection: &mut Connection, open: bool, world: &mut World<'_, O>) {
        let Some(transaction) = &mut self.transaction else { return };
        let head = transaction.head;
        transaction.record.last_byte = Some(world.now());
        transaction.record.bytes = connection.reader.body_received();
        let limit = self.behaviour.requests_per_connection;
        let last = limit.is_some_and(|limit| connection.requests >= limit.get());
        let keep = open && !last && head.is_some_and(|head| head.keep_alive);
        let outcome =
            if head.is_some_and(|head| head.status < 400) { Outcome::Ok } else { Outcome::HttpError };
        if !keep {
            self.current = None;
            connection.begin_linger(world.now());
        }
        let pause = self.pauses.inactive(u64::from(transaction.record.request));
        self.record(outcome, world);
        self.begin_at = Some(world.now() + pause);
    }

    /// The server has closed the connection of the transaction.
    pub(super) fn remote_closed<O: Observer>(
        &mut self,
        connection: &mut Connection,
        world: &mut World<'_, O>,
    ) {
        if self.transaction.is_none() {
            self.current = None;
            return;
        }
        match connection.reader.handle_eof() {
            Eof::Complete => self.complete(connection, false, world),
            Eof::NothingReceived => self.retry_or_fail(connection, Outcome::Truncated, world),
            Eof::Truncated => self.fail(Outcome::Truncated, world),
        }
    }

    /// The connection of the transaction is over.
    pub(super) fn connection_lost<O: Observer>(
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
        let begun =
            self.transaction.as_ref().is_some_and(|transaction| transaction.record.first_byte.is_some());
        if self.transaction.is_none() {
            self.current = None;
        } else if begun || event == TcpEvent::TimedOut {
            self.fail(outcome, world);
        } else {
            self.retry_or_fail(connection, outcome, world);
        }
    }

    /// A kept connection was closed before the response began: the request is made once more on a new one, as if it had only now found the
    /// connection closed (RFC 9112 section 9.3.1).
    fn retry_or_fail<O: Observer>(
        &mut self,
        connection: &Connection,
        outcome: Outcome,
        world: &mut World<'_, O>,
    ) {
        let Some(transaction) = self
            .transaction
            .as_mut()
            .filter(|transaction| transaction.record.attempts == 1 && connection.requests > 1)
        else {
            return self.fail(outcome, world);
        };
        transaction.record.attempts = 2;
        self.current = None;
        self.begin_at = Some(world.now());
    }

    /// The client does not wait any longer.
    pub(super) fn give_up<O: Observer>(&mut self, outcome: Outcome, world: &mut World<'_, O>) {
        let slot = self.current;
        self.fail(outcome, world);
        if let Some(slot) = slot {
            self.with_connection(slot, world, |_, connection, _| connection.socket.endpoint.abort());
        }
    }

    fn fail<O: Observer>(&mut self, outcome: Outcome, world: &mut World<'_, O>) {
        self.current = None;
        self.record(outcome, world);
        self.begin_at = Some(world.now() + PAUSE_AFTER_FAILURE);
    }

    /// Ends the transaction in progress with this outcome.
    pub(super) fn record<O>(&mut self, outcome: Outcome, world: &mut World<'_, O>) {
        let Some(Transaction { mut record, head, .. }) = self.transaction.take() else { return };
        record.status = head.map_or(0, |head| head.status);
        record.end = world.now();
        record.outcome = outcome;
        world.journal.transaction_ended(&record);
    }

    /// Writes down a connection that is over, or whose run is, and gives back what it holds.
    pub(super) fn record_connection<O: Observer>(
        &mut self,
        connection: Connection,
        closed: Option<Instant>,
        world: &mut World<'_, O>,
    ) {
        let endpoint = connection.socket.endpoint;
        let flow =
            world.network.flows.finish(self.place.index, endpoint.local_port(), connection.initial_sequence);
        let (up, down) = flow.map_or((Passage::default(), Passage::default()), |flow| (flow.up, flow.down));
        world.journal.connection_ended(&ConnectionRecord {
            client: self.place.index,
            group: self.place.group,
            connection: connection.ordinal,
            opened: connection.opened,
            closed,
            up,
            down,
            retransmitted: endpoint.statistics().retransmitted,
        });
        endpoint.release(&mut world.network.pool);
    }
}
