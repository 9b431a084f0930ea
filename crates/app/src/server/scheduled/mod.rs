//! A modelled server whose packets, timers, output and programs wait for the cores of one machine.
//!
//! ```text
//! packet, timer ─► job of the network ─► stack ─► (its output) ─► packets leave
//!                                          │ something to read, or to accept
//!                                          ▼
//!                          worker or process ─► job of a program ─► response ─► (its output) ─► packets leave
//! ```
//!
//! A packet of a flow is a job on the flow's core, before the jobs of programs there; what it costs is looked up when it begins, and the stack
//! gets the packet when it is done. Segments that then leave are made at once, and are on the wire after the work on them, which nothing interrupts. A
//! program reads a request when the job for it begins, and writes the response when the job is done.

mod connection;
mod costs;
mod kernel;
mod output;
mod program;
mod programs;

use super::{Class, Machine, ServerTimer, Service, TcpTotals, Work};
use crate::{Application, Turn, Untaken};
use connection::Connection;
pub use costs::{JobCosts, Spent, WorkDone, WorkKind};
use output::Output;
pub use programs::Concurrency;
use programs::{Programs, Task};
use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::sync::Arc;
use wasp_packet::{Body, Packet, PayloadPool};
use wasp_stack::{Identities, Ip, Stack};
use wasp_units::{Duration, Instant};
use wasp_wire::Address;

/// Time from one tick of a core to the next.
const TICK: Duration = Duration::from_millis(1);

/// The machine of a scheduled server, and how its programs use it.
#[derive(Clone, Copy, Debug)]
pub struct MachineConfig {
    /// Cores.
    pub cores: usize,
    /// What work costs.
    pub costs: JobCosts,
    /// The server's programs.
    pub concurrency: Concurrency,
    /// The FIN leaves with the last data; otherwise in a frame of its own.
    pub fin_with_data: bool,
    /// Connections whose handshake may be open; `None` has no limit.
    pub syn_queue: Option<NonZeroU32>,
    /// From the moment when a program that slept has something to do to that when it wants a core; it takes no CPU time.
    pub wakeup_latency: Duration,
    /// Least time between two interrupts of a core. A packet that comes sooner needs none, and is not held back for that.
    pub interrupt_interval: Duration,
}

/// A server on a machine that does one thing after the other: an [`Application`].
#[derive(Debug)]
pub struct ScheduledServer {
    stack: Stack<Connection>,
    service: Service,
    config: MachineConfig,
    machine: Machine<Job>,
    programs: Programs,
    /// Programs that are waking up, with the times when they are awake.
    waking: VecDeque<(Instant, Task)>,
    /// When the cores have their next tick; none before the first packet.
    tick: Option<Instant>,
    work_done: WorkDone,
    /// Of each core.
    outputs: Vec<Output>,
    /// Of each core: it handles packets one after the other, and the next one needs no interrupt (Linux NAPI).
    polling: Vec<bool>,
    /// Of each core: from when on a packet interrupts it again.
    next_interrupt: Vec<Instant>,
    /// What leaves now.
    leaving: VecDeque<Packet>,
    untaken: VecDeque<Untaken>,
    /// Moments at which something happens, for which no wake-up has been asked for.
    alarms: Vec<Instant>,
    /// A connection whose timer moved, and when it is due.
    rearmed: Option<(u32, Instant)>,
    /// Connections whose handshake is open.
    half_open: u32,
    /// Connections that no program has accepted.
    unaccepted: u32,
    /// Connections that a program has.
    open: u32,
    /// Of the connections that are over.
    tcp_totals: TcpTotals,
}

type Socket = wasp_stack::Socket<Connection>;

#[derive(Debug)]
enum Job {
    /// A packet has arrived.
    Packet(Packet),
    /// A timer of a connection has fired.
    Timer(Work),
    /// A core does what it does whatever is asked for.
    Tick,
    /// A program goes on.
    Program(Task),
    /// A frame goes to the wire; after the last one the program goes on that wrote them.
    Output(Option<Task>),
}

impl ScheduledServer {
    /// A server that listens at this address and port.
    #[must_use]
    pub fn new(
        (address, port): (Address, u16),
        service: Service,
        config: MachineConfig,
        identities: Identities,
    ) -> Self {
        let machine = Machine::new(config.cores);
        let mut stack = Stack::new(address, identities, &service.tcp);
        stack.listen(port, Arc::clone(&service.tcp));
        Self {
            stack,
            service,
            programs: Programs::new(config.concurrency),
            waking: VecDeque::new(),
            tick: None,
            work_done: WorkDone::default(),
            outputs: (0..machine.cores()).map(|_| Output::default()).collect(),
            polling: vec![false; machine.cores()],
            next_interrupt: vec![Instant::default(); machine.cores()],
            leaving: VecDeque::new(),
            untaken: VecDeque::new(),
            alarms: Vec::new(),
            rearmed: None,
            half_open: 0,
            unaccepted: 0,
            open: 0,
            tcp_totals: TcpTotals::default(),
            config,
            machine,
        }
    }

    /// CPU time used up to `now`, over all cores.
    #[must_use]
    pub fn used(&self, now: Instant) -> Duration {
        self.machine.used(now)
    }

    /// Number of cores.
    #[must_use]
    pub const fn cores(&self) -> usize {
        self.machine.cores()
    }

    /// What the jobs that have begun were, by kind of work, and what they cost.
    #[must_use]
    pub const fn work_done(&self) -> &WorkDone {
        &self.work_done
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

    /// The wake-up of a connection's timer has come: if it is due, the kernel has a job.
    fn handle_connection_timer(&mut self, slot: u32, now: Instant) {
        let Some(socket) = self.stack.get_mut(slot) else { return };
        if !socket.wakeup.fired(now) || socket.data.timer_queued {
            return;
        }
        let due = socket.endpoint.poll_timeout();
        if due.is_none_or(|due| due > now) {
            self.rearmed = socket.wakeup.ask(due, now).map(|at| (slot, at));
            return;
        }
        socket.data.timer_queued = true;
        let flow = flow(socket.remote(), socket.endpoint.remote_port());
        let work = Work { slot, ordinal: socket.ordinal() };
        self.machine.submit(Class::Network(flow), Job::Timer(work));
    }

    /// Time has passed: programs are awake, the cores tick.
    fn advance(&mut self, now: Instant) {
        while self.waking.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, task)) = self.waking.pop_front() else { break };
            self.machine.submit(Class::Application, Job::Program(task));
        }
        if self.tick.is_some_and(|tick| tick <= now) {
            for core in 0..self.machine.cores() as u64 {
                self.machine.submit(Class::Network(core), Job::Tick);
            }
            self.tick_at(now + TICK);
        }
    }

    fn tick_at(&mut self, at: Instant) {
        self.tick = Some(at);
        self.alarms.push(at);
    }

    /// Ends the jobs that are done, and begins those that find a core.
    fn run(&mut self, turn: &mut Turn<'_>) {
        loop {
            while let Some((core, job)) = self.machine.poll_start() {
                self.begin(core, job, turn);
            }
            let Some((core, job)) = self.machine.poll_done(turn.now) else { break };
            self.finish(core, job, turn);
        }
    }

    fn begin(&mut self, core: usize, job: Job, turn: &mut Turn<'_>) {
        let (cost, job) = self.price(core, job, turn);
        let end = self.machine.begin(core, cost, job, turn.now);
        // What costs nothing is done at once.
        if end > turn.now {
            self.alarms.push(end);
        }
    }

    /// A job begins: what it costs.
    fn price(&mut self, core: usize, job: Job, turn: &mut Turn<'_>) -> (Duration, Job) {
        let costs = self.config.costs;
        let (kind, cost) = match job {
            Job::Program(task) => return self.begin_task(task, turn),
            Job::Timer(work) => return (self.price_timer(work, turn.now), job),
            Job::Output(_) => return (self.price_frame(core), job),
            Job::Tick => (WorkKind::Tick, costs.per_tick),
            Job::Packet(ref packet) => match self.kind_of(packet) {
                WorkKind::Syn => (WorkKind::Syn, costs.per_syn),
                WorkKind::Ack => (WorkKind::Ack, costs.per_ack),
                WorkKind::DuplicateAck => (WorkKind::DuplicateAck, costs.per_duplicate_ack),
                _ => (WorkKind::Data, costs.per_data),
            },
        };
        let mut cost = self.work_done.charge(kind, 1, cost);
        if matches!(job, Job::Packet(_)) && self.is_interrupted(core, turn.now) {
            cost += self.work_done.charge(WorkKind::Interrupt, 1, costs.per_interrupt);
        }
        (cost, job)
    }

    /// A core begins with a packet: whether it was interrupted for that.
    fn is_interrupted(&mut self, core: usize, now: Instant) -> bool {
        if std::mem::replace(&mut self.polling[core], true) || now < self.next_interrupt[core] {
            return false;
        }
        self.next_interrupt[core] = now + self.config.interrupt_interval;
        true
    }

    /// A job is done: what follows from it, and then, on the same core, its output, a frame after the other.
    fn finish(&mut self, core: usize, job: Job, turn: &mut Turn<'_>) {
        let task = match job {
            Job::Packet(packet) => {
                self.receive(core, packet, turn);
                None
            }
            Job::Timer(work) => {
                self.time_out(core, work, turn);
                None
            }
            Job::Tick => None,
            Job::Program(task) => {
                self.perform(core, task.work, turn);
                Some(task)
            }
            Job::Output(task) => {
                self.send_frame(core);
                task
            }
        };
        if self.outputs[core].is_empty() {
            self.polling[core] &= self.machine.is_network_waiting(core);
            self.end_task(task, turn.now);
        } else {
            self.begin(core, Job::Output(task), turn);
        }
    }

    /// A program wants a core: at once, or when it is awake.
    fn submit(&mut self, task: Option<Task>, now: Instant) {
        let Some(task) = task else { return };
        if task.woken && !self.config.wakeup_latency.is_zero() {
            let awake = now + self.config.wakeup_latency;
            self.waking.push_back((awake, task));
            self.alarms.push(awake);
        } else {
            self.machine.submit(Class::Application, Job::Program(task));
        }
    }

    fn socket_of(&mut self, work: Work) -> Option<&mut Socket> {
        self.stack.get_mut(work.slot).filter(|socket| socket.ordinal() == work.ordinal)
    }
}

impl Application for ScheduledServer {
    type Timer = ServerTimer;

    fn ip(&mut self) -> &mut Ip {
        self.stack.ip()
    }

    /// The packet waits for its core. What becomes of it is known later, and told by [`Application::poll_untaken`].
    fn handle_packet(&mut self, packet: &mut Packet, turn: &mut Turn<'_>) -> Option<Untaken> {
        let packet = Packet { payload: std::mem::take(&mut packet.payload), ..*packet };
        let port = match &packet.body {
            Body::Tcp(header) => header.source_port,
            _ => 0,
        };
        let flow = flow(packet.ip.source, port);
        self.machine.submit(Class::Network(flow), Job::Packet(packet));
        if self.tick.is_none() && !self.config.costs.per_tick.is_zero() {
            self.tick_at(turn.now + TICK);
        }
        self.run(turn);
        None
    }

    fn poll_untaken(&mut self) -> Option<Untaken> {
        self.untaken.pop_front()
    }

    fn handle_timer(&mut self, timer: ServerTimer, turn: &mut Turn<'_>) {
        match timer {
            ServerTimer::Alarm => self.advance(turn.now),
            ServerTimer::Connection(slot) => self.handle_connection_timer(slot, turn.now),
            ServerTimer::Work(_) => {}
        }
        self.run(turn);
    }

    fn poll_transmit(&mut self, _now: Instant, _pool: &mut PayloadPool) -> Option<Packet> {
        self.leaving.pop_front()
    }

    fn is_waiting(&self) -> bool {
        false
    }

    fn go_on(&mut self, _turn: &mut Turn<'_>) {}

    fn poll_timeouts(&mut self, now: Instant, mut ask: impl FnMut(ServerTimer, Instant)) {
        while let Some(slot) = self.stack.pop_touched() {
            if let Some(socket) = self.stack.get_mut(slot)
                && !socket.data.timer_queued
                && let Some(at) = socket.wakeup.ask(socket.endpoint.poll_timeout(), now)
            {
                ask(ServerTimer::Connection(slot), at);
            }
        }
        if let Some((slot, at)) = self.rearmed.take() {
            ask(ServerTimer::Connection(slot), at);
        }
        for at in self.alarms.drain(..) {
            ask(ServerTimer::Alarm, at);
        }
    }
}

/// What decides which core handles the packets of a flow.
fn flow(remote: Address, port: u16) -> u64 {
    let [high, low] = remote.words();
    let mixed = (high ^ low.rotate_left(17) ^ u64::from(port)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed >> 32
}
