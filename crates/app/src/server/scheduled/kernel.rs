//! The kernel's part of a scheduled server: packets, timers and output.

use super::{Connection, ScheduledServer, Socket, Work, WorkKind};
use crate::{Turn, Untaken};
use wasp_packet::{Body, Packet};
use wasp_stack::{Answer, Arrived, Syn};
use wasp_tcp::{Event as TcpEvent, State};
use wasp_units::{Duration, Instant};
use wasp_wire::Flags;

impl ScheduledServer {
    /// What kind of work a packet is that arrives.
    pub(super) fn kind_of(&self, packet: &Packet) -> WorkKind {
        let Body::Tcp(header) = &packet.body else { return WorkKind::Data };
        if header.flags.contains(Flags::SYN) && !header.flags.contains(Flags::ACK) {
            return WorkKind::Syn;
        }
        if !packet.payload.is_empty() || header.flags.contains(Flags::FIN) {
            return WorkKind::Data;
        }
        let socket = self.stack.socket_for(packet);
        if socket.is_some_and(|socket| socket.endpoint.repeats_acknowledgment(header)) {
            WorkKind::DuplicateAck
        } else {
            WorkKind::Ack
        }
    }

    /// The stack gets a packet.
    pub(super) fn receive(&mut self, core: usize, mut packet: Packet, turn: &mut Turn<'_>) {
        if self.has_backlog() && self.completes_handshake(&packet) {
            turn.pool.release(packet.payload);
            return self.untaken.push_back(Untaken::AcceptQueueFull);
        }
        match self.stack.receive(&mut packet, turn.now, turn.pool) {
            Arrived::Socket(slot) => self.settle(core, slot, turn),
            Arrived::Syn(syn) => match self.admit(&syn, turn) {
                Ok(Some(slot)) => self.settle(core, slot, turn),
                Ok(None) => {}
                Err(refused) => self.untaken.push_back(refused),
            },
            Arrived::Answer(Answer::Packet(packet)) => self.outputs[core].push(packet),
            Arrived::Answer(answer) => self.untaken.push_back(Untaken::Answer(answer)),
            Arrived::Dropped(dropped) => self.untaken.push_back(Untaken::Dropped(dropped)),
        }
    }

    /// What the job for a connection's timers costs. Output may have made one needless since the job was queued. A program that is told of room in
    /// the send buffer wakes up to write on.
    pub(super) fn price_timer(&mut self, work: Work, now: Instant) -> Duration {
        let costs = self.config.costs;
        let endpoint =
            |socket: &mut Socket| (socket.endpoint.is_timer_due(now), socket.endpoint.is_writer_due(now));
        let (timers, writers) = self.socket_of(work).map(endpoint).unwrap_or_default();
        let mut charge = |kind, cost, is_due| {
            let number = u64::from(is_due);
            self.work_done.charge(kind, number, cost * number)
        };
        charge(WorkKind::Timer, costs.per_timer, timers) + charge(WorkKind::Wakeup, costs.per_wakeup, writers)
    }

    /// The timers of a connection that are still due are handled.
    pub(super) fn time_out(&mut self, core: usize, work: Work, turn: &mut Turn<'_>) {
        let Some(socket) = self.socket_of(work) else { return };
        socket.data.timer_queued = false;
        socket.data.awake = socket.endpoint.is_writer_due(turn.now);
        socket.endpoint.handle_timeout(turn.now);
        self.settle(core, work.slot, turn);
        if let Some(socket) = self.socket_of(work) {
            socket.data.awake = false;
        }
    }

    /// Whether as many connections wait to be accepted as may.
    fn has_backlog(&self) -> bool {
        self.service.accept_queue.is_some_and(|limit| self.unaccepted >= limit.get())
    }

    /// Whether a segment ends a handshake. Where the accept queue is full Linux ignores it, so that the SYN-ACK is sent again
    /// (`tcp_v4_syn_recv_sock`).
    fn completes_handshake(&self, packet: &Packet) -> bool {
        let Body::Tcp(header) = &packet.body else { return false };
        let opens = |socket: &Socket| socket.endpoint.state() == State::SynReceived;
        self.stack.socket_for(packet).is_some_and(opens)
            && packet.flipped.is_none()
            && header.flags.contains(Flags::ACK)
            && !header.flags.contains(Flags::RST)
    }

    /// A SYN opens a connection unless a queue is full (Linux `tcp_conn_request`).
    fn admit(&mut self, syn: &Syn, turn: &mut Turn<'_>) -> Result<Option<u32>, Untaken> {
        if let Some(slot) = syn.replaces {
            self.forget(slot, turn);
        }
        if self.has_backlog() {
            return Err(Untaken::AcceptQueueFull);
        }
        if self.config.syn_queue.is_some_and(|limit| self.half_open >= limit.get()) {
            return Err(Untaken::SynQueueFull);
        }
        let slot = self.stack.accept(syn, |_| Connection::default(), turn.now);
        self.half_open += u32::from(slot.is_some());
        Ok(slot)
    }

    /// Something has happened to a socket: programs hear of it, and its segments are made.
    pub(super) fn settle(&mut self, core: usize, slot: u32, turn: &mut Turn<'_>) {
        self.stack.touch(slot);
        let over = self.handle_events(slot, turn.now);
        self.make_segments(core, slot, turn);
        if over {
            self.forget(slot, turn);
        } else {
            self.wake(slot, turn.now);
        }
    }

    /// Handles what TCP says of a connection, which is to be accepted if its handshake is complete. Returns whether it is over.
    fn handle_events(&mut self, slot: u32, now: Instant) -> bool {
        let Some(socket) = self.stack.get_mut(slot) else { return false };
        let work = Work { slot, ordinal: socket.ordinal() };
        let Socket { endpoint, data: connection, .. } = socket;
        let mut over = false;
        let mut arrived = false;
        while let Some(event) = endpoint.poll_event() {
            match event {
                TcpEvent::Connected => arrived = true,
                TcpEvent::RemoteClosed => connection.remote_closed = true,
                TcpEvent::Readable => {}
                TcpEvent::Closed | TcpEvent::Reset | TcpEvent::Refused | TcpEvent::TimedOut => over = true,
            }
        }
        if arrived {
            connection.established = true;
            connection.owned = true;
            self.half_open -= 1;
            self.unaccepted += 1;
            let task = self.programs.arrive(work);
            self.submit(task, now);
        }
        over
    }

    /// Wakes the program that waits for a connection, if it has something to do now.
    fn wake(&mut self, slot: u32, now: Instant) {
        let Some(socket) = self.stack.get_mut(slot) else { return };
        let work = Work { slot, ordinal: socket.ordinal() };
        if socket.data.is_due(&socket.endpoint) {
            socket.data.owned = true;
            let awake = socket.data.awake;
            let mut task = self.programs.wake(work);
            if let Some(task) = &mut task {
                task.woken &= !awake;
            }
            self.submit(task, now);
        }
    }

    /// A connection is over.
    pub(super) fn forget(&mut self, slot: u32, turn: &mut Turn<'_>) {
        let Some(socket) = self.stack.remove(slot) else { return };
        self.tcp_totals.add(&socket.endpoint);
        let Connection { established, accepted, owned, closed, .. } = socket.data;
        self.half_open -= u32::from(!established);
        self.unaccepted -= u32::from(established && !accepted);
        self.open -= u32::from(accepted && !closed);
        socket.endpoint.release(turn.pool);
        // A program whose job is under way notices by itself.
        if accepted && !closed && !owned {
            let next = self.programs.release();
            self.submit(next, turn.now);
        }
    }
}
