//! The programs' part of a scheduled server: they accept, read requests, answer and close.

use super::programs::{After, Task};
use super::{Job, ScheduledServer, Socket, Work, WorkKind};
use crate::Turn;
use crate::server::conversation::NotARequest;
use wasp_units::{Duration, Instant};

impl ScheduledServer {
    /// A program's job begins: it accepts, or reads a request. Returns what the job costs.
    pub(super) fn begin_task(&mut self, mut task: Task, turn: &mut Turn<'_>) -> (Duration, Job) {
        let costs = self.config.costs;
        let others = self.programs.begin(&mut task);
        let mut cost = Duration::ZERO;
        if task.woken {
            cost += self.work_done.charge(WorkKind::Wakeup, 1, costs.per_wakeup);
        }
        cost += self.work_done.charge(WorkKind::Runnable, others, costs.per_runnable * others);
        cost += self.read(task.work, turn);
        (cost, Job::Program(task))
    }

    /// A program looks at a connection. Returns what it costs to do what is to be done.
    fn read(&mut self, work: Work, turn: &mut Turn<'_>) -> Duration {
        let costs = self.config.costs;
        let socket = self.stack.get_mut(work.slot).filter(|socket| socket.ordinal() == work.ordinal);
        let Some(Socket { endpoint, data: connection, .. }) = socket else { return Duration::ZERO };
        if !connection.accepted {
            connection.accepted = true;
            self.unaccepted -= 1;
            self.open += 1;
            return self.work_done.charge(WorkKind::Connection, 1, costs.per_connection);
        }
        if connection.writing.is_some() {
            return Duration::ZERO;
        }
        while connection.conversation.has_input(endpoint) {
            match connection.conversation.next(&self.service, endpoint, turn) {
                Ok(Some(request)) => {
                    let response = self.service.respond(&request);
                    let bytes = request.content + response.body;
                    connection.pending = Some(response);
                    let doublings = costs.doublings(self.open);
                    return self.work_done.charge(WorkKind::Request, 1, costs.per_request)
                        + self.work_done.charge(WorkKind::Body, bytes, costs.body(bytes))
                        + self.work_done.charge(
                            WorkKind::Doubling,
                            u64::from(!doublings.is_zero()),
                            doublings,
                        );
                }
                Ok(None) => {}
                Err(NotARequest) => {
                    connection.closed = true;
                    self.open -= 1;
                    endpoint.abort();
                    break;
                }
            }
        }
        Duration::ZERO
    }

    /// A program's job is done: it writes the response, or closes.
    pub(super) fn perform(&mut self, core: usize, work: Work, turn: &mut Turn<'_>) {
        let close_with_data = self.config.fin_with_data;
        let Some(Socket { endpoint, data: connection, .. }) = self.socket_of(work) else { return };
        if let Some(response) = connection.pending.take() {
            let keep_alive = response.keep_alive;
            response.write(endpoint);
            if !keep_alive && close_with_data {
                endpoint.close();
            }
            connection.writing = Some(keep_alive);
        } else if connection.is_finished(endpoint) {
            connection.writing = Some(false);
        }
        self.settle(core, work.slot, turn);
        self.end_write(core, work, turn);
    }

    /// If the send buffer has taken all of a response, its program goes on: it closes the connection, if that is not kept. The FIN leaves in a frame
    /// of its own, unless it was written with the data.
    fn end_write(&mut self, core: usize, work: Work, turn: &mut Turn<'_>) {
        let Some(Socket { endpoint, data: connection, .. }) = self.socket_of(work) else { return };
        if !endpoint.is_written() || connection.writing.take() != Some(false) {
            return;
        }
        connection.closed = true;
        endpoint.close();
        self.open -= 1;
        self.settle(core, work.slot, turn);
    }

    /// A program's job, its output included, is done: it goes on with the connection or another, or waits.
    pub(super) fn end_task(&mut self, task: Option<Task>, now: Instant) {
        let Some(task) = task else { return };
        let after = self.leave(task.work);
        let next = self.programs.end(task, after);
        self.submit(next, now);
    }

    /// What a program does with a connection next.
    fn leave(&mut self, work: Work) -> After {
        let Some(Socket { endpoint, data: connection, .. }) = self.socket_of(work) else {
            return After::Leave;
        };
        let after = if connection.closed {
            After::Leave
        } else if connection.writing.is_none() && connection.conversation.has_read() {
            After::Continue
        } else if connection.is_ready(endpoint) {
            After::Ready
        } else {
            After::Wait
        };
        connection.owned = matches!(after, After::Continue | After::Ready);
        after
    }
}
