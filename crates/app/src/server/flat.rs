//! A modelled server that handles packets at once and charges its CPU for what requests and connections cost.

use super::conversation::{Conversation, NotARequest, Response};
use super::{Cpu, ServerTimer, Service, TcpTotals, Work};
use crate::{Application, Turn, Untaken};
use std::collections::VecDeque;
use std::sync::Arc;
use wasp_packet::{Packet, PayloadPool};
use wasp_stack::{Arrived, Identities, Ip, Stack, Syn};
use wasp_tcp::{Event as TcpEvent, State};
use wasp_units::Instant;
use wasp_wire::Address;

/// A server that has the files of a site and answers each request for it after its CPU has done the work: an [`Application`].
#[derive(Debug)]
pub struct FlatServer {
    stack: Stack<Connection>,
    service: Service,
    cpu: Cpu,
    /// When the CPU will have accepted each connection that waits for it, in their order.
    accepting: VecDeque<Instant>,
    /// Of the connections that are over.
    tcp_totals: TcpTotals,
    /// A connection of those touched is over.
    ended: bool,
    /// A response that was handed to the CPU, and when it will be done.
    begun: Option<(Work, Instant)>,
}

type Socket = wasp_stack::Socket<Connection>;

/// What the server keeps for a socket.
#[derive(Debug, Default)]
struct Connection {
    conversation: Conversation,
    /// The response that the CPU is working on; requests behind it wait.
    pending: Option<Response>,
    /// The last response was sent: the server closes.
    closing: bool,
    remote_closed: bool,
    /// TCP is done with it.
    over: bool,
}

impl FlatServer {
    /// A server that listens at this address and port.
    #[must_use]
    pub fn new((address, port): (Address, u16), service: Service, cpu: Cpu, identities: Identities) -> Self {
        let mut stack = Stack::new(address, identities, &service.tcp);
        stack.listen(port, Arc::clone(&service.tcp));
        Self {
            stack,
            service,
            cpu,
            accepting: VecDeque::new(),
            tcp_totals: TcpTotals::default(),
            ended: false,
            begun: None,
        }
    }

    /// Its CPU.
    #[must_use]
    pub const fn cpu(&self) -> &Cpu {
        &self.cpu
    }

    /// Connections that it has.
    #[must_use]
    pub fn sockets(&self) -> usize {
        self.stack.sockets().count()
    }

    /// What its TCP has done.
    #[must_use]
    pub fn tcp_totals(&self) -> TcpTotals {
        let mut totals = self.tcp_totals;
        for socket in self.stack.sockets() {
            totals.add(&socket.endpoint);
        }
        totals
    }

    /// A deadline of the connection in `slot` may be due.
    fn handle_connection_timer(&mut self, slot: u32, turn: &mut Turn<'_>) {
        if self.stack.get_mut(slot).is_some_and(|socket| socket.wakeup.fired(turn.now)) {
            self.with_socket(slot, turn, |socket, turn| socket.endpoint.handle_timeout(turn.now));
        }
    }

    /// The CPU has finished a response.
    fn handle_work(&mut self, work: Work, turn: &mut Turn<'_>) {
        if self.stack.get(work.slot).is_none_or(|socket| socket.ordinal() != work.ordinal) {
            return;
        }
        self.with_socket(work.slot, turn, |socket, _| {
            let Socket { endpoint, data: connection, .. } = socket;
            let Some(response) = connection.pending.take() else { return };
            let keep_alive = response.keep_alive;
            response.write(endpoint);
            if !keep_alive {
                connection.closing = true;
                endpoint.close();
            }
        });
    }

    /// Whether as many connections wait to be accepted as may. Then a SYN is dropped, as Linux does (`tcp_conn_request`).
    fn has_backlog(&mut self, now: Instant) -> bool {
        let Some(limit) = self.service.accept_queue else { return false };
        while self.accepting.front().is_some_and(|done| *done <= now) {
            self.accepting.pop_front();
        }
        self.accepting.len() >= limit.get() as usize
    }

    fn accept(&mut self, syn: &Syn, turn: &mut Turn<'_>) -> Option<Untaken> {
        if let Some(slot) = syn.replaces {
            self.forget(slot, turn);
        }
        if self.has_backlog(turn.now) {
            return Some(Untaken::AcceptQueueFull);
        }
        let slot = self.stack.accept(syn, |_| Connection::default(), turn.now)?;
        self.with_socket(slot, turn, |_, _| {});
        None
    }

    /// Lets something happen to a socket, then handles all that follows from it.
    fn with_socket(&mut self, slot: u32, turn: &mut Turn<'_>, act: impl FnOnce(&mut Socket, &mut Turn<'_>)) {
        let Some(mut socket) = self.stack.take(slot) else { return };
        act(&mut socket, turn);
        self.handle_tcp(&mut socket, turn);
        if !socket.data.over {
            self.serve(slot, &mut socket, turn);
            // The server may have reset it, and TCP's word of that is still to come.
            socket.data.over = socket.endpoint.state() == State::Closed;
        }
        self.ended |= socket.data.over;
        self.stack.put(slot, socket);
    }

    /// Handles what TCP says of a connection.
    #[inline]
    fn handle_tcp(&mut self, socket: &mut Socket, turn: &Turn<'_>) {
        while let Some(event) = socket.endpoint.poll_event() {
            match event {
                TcpEvent::Connected => {
                    let done = self.cpu.work(turn.now, self.cpu.costs().per_connection);
                    if self.service.accept_queue.is_some() {
                        self.accepting.push_back(done);
                    }
                }
                TcpEvent::RemoteClosed => socket.data.remote_closed = true,
                TcpEvent::Readable => {}
                TcpEvent::Closed | TcpEvent::Reset | TcpEvent::Refused | TcpEvent::TimedOut => {
                    socket.data.over = true;
                }
            }
        }
    }

    /// Reads requests while no response is pending, and starts the work for one.
    fn serve(&mut self, slot: u32, socket: &mut Socket, turn: &mut Turn<'_>) {
        let ordinal = socket.ordinal();
        let Socket { endpoint, data: connection, .. } = socket;
        while connection.pending.is_none()
            && !connection.closing
            && connection.conversation.has_input(endpoint)
        {
            match connection.conversation.next(&self.service, endpoint, turn) {
                Ok(Some(request)) => {
                    let response = self.service.respond(&request);
                    let done = self.cpu.serve(turn.now, request.content + response.body);
                    connection.pending = Some(response);
                    debug_assert!(self.begun.is_none(), "each is asked for before the next begins");
                    self.begun = Some((Work { slot, ordinal }, done));
                }
                Ok(None) => {}
                Err(NotARequest) => {
                    connection.closing = true;
                    endpoint.abort();
                }
            }
        }
        if connection.remote_closed && connection.pending.is_none() && !connection.closing {
            connection.closing = true;
            endpoint.close();
        }
    }

    fn forget(&mut self, slot: u32, turn: &mut Turn<'_>) {
        let Some(socket) = self.stack.remove(slot) else { return };
        self.tcp_totals.add(&socket.endpoint);
        socket.endpoint.release(turn.pool);
    }
}

impl Application for FlatServer {
    type Timer = ServerTimer;

    fn ip(&mut self) -> &mut Ip {
        self.stack.ip()
    }

    #[inline]
    fn handle_packet(&mut self, packet: &mut Packet, turn: &mut Turn<'_>) -> Option<Untaken> {
        self.cpu.receive(turn.now);
        match self.stack.receive(packet, turn.now, turn.pool) {
            Arrived::Socket(slot) => {
                self.with_socket(slot, turn, |_, _| {});
                None
            }
            Arrived::Syn(syn) => self.accept(&syn, turn),
            Arrived::Answer(answer) => Some(Untaken::Answer(answer)),
            Arrived::Dropped(dropped) => Some(Untaken::Dropped(dropped)),
        }
    }

    fn handle_timer(&mut self, timer: ServerTimer, turn: &mut Turn<'_>) {
        match timer {
            ServerTimer::Connection(slot) => self.handle_connection_timer(slot, turn),
            ServerTimer::Work(work) => self.handle_work(work, turn),
            ServerTimer::Alarm => {}
        }
    }

    #[inline]
    fn poll_transmit(&mut self, now: Instant, pool: &mut PayloadPool) -> Option<Packet> {
        self.stack.poll_transmit(now, pool)
    }

    #[inline]
    fn is_waiting(&self) -> bool {
        self.ended
    }

    /// Ends connections.
    fn go_on(&mut self, turn: &mut Turn<'_>) {
        self.ended = false;
        for index in 0..self.stack.touched().len() {
            let slot = self.stack.touched()[index];
            if self.stack.get(slot).is_some_and(|socket| socket.data.over) {
                self.forget(slot, turn);
            }
        }
    }

    #[inline]
    fn poll_timeouts(&mut self, now: Instant, mut ask: impl FnMut(ServerTimer, Instant)) {
        debug_assert!(!self.is_waiting(), "nothing waits to go on");
        if let Some((work, at)) = self.begun.take() {
            ask(ServerTimer::Work(work), at);
        }
        while let Some(slot) = self.stack.pop_touched() {
            let Some(socket) = self.stack.get_mut(slot) else { continue };
            if let Some(at) = socket.wakeup.ask(socket.endpoint.poll_timeout(), now) {
                ask(ServerTimer::Connection(slot), at);
            }
        }
    }
}
