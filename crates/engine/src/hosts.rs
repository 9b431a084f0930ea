//! The modelled hosts at the ports of the network: what they are handed, and what becomes of what they ask for.

use crate::event::Event;
use crate::{ConnectionRecord, Ledger};
use wasp_app::{
    Application, Arrival, Browser, BrowserTimer, ConnectionEnd, FlatServer, Journal, LossEvents,
    ScheduledServer, ServerTimer, SessionEnd, TcpTotals, TransactionRecord, Turn, Untaken, WorkDone,
};
use wasp_http::LastHead;
use wasp_kernel::{NodeId, Scheduler, Stage, prefetch};
use wasp_net::{Fate, Flows, LinkId, Network, Observer};
use wasp_packet::{Dropped, Packet};
use wasp_stack::Answer;
use wasp_units::{Duration, Instant, Wakeup};

/// An application with its stack, at its place in the network.
#[derive(Debug)]
pub(crate) struct Host<A> {
    port: Port,
    pub(crate) app: A,
}

/// Where a host's packets enter the network, and the wake-up for fragments that wait in it.
#[derive(Debug)]
struct Port {
    node: NodeId,
    /// Its link, towards the network.
    out: LinkId,
    reassembly: Wakeup,
}

/// Every modelled host of a run.
#[derive(Debug)]
pub(crate) struct Hosts {
    /// Empty where a device is attached instead.
    pub(crate) clients: Vec<Host<Browser>>,
    /// Absent where a device is attached instead.
    pub(crate) server: Option<Server>,
    last_head: LastHead,
}

/// The modelled server, by the model of its CPU.
#[derive(Debug)]
pub(crate) enum Server {
    Flat(Box<Host<FlatServer>>),
    Scheduled(Box<Host<ScheduledServer>>),
}

/// The rest of the model, as hosts need it.
pub(crate) struct Around<'a, O> {
    pub(crate) network: &'a mut Network<O>,
    pub(crate) ledger: &'a mut Ledger,
    pub(crate) scheduler: &'a mut Scheduler<Event>,
}

/// Writes down what applications report, with the emulator's own account of their packets.
struct Writer<'a> {
    ledger: &'a mut Ledger,
    flows: &'a mut Flows,
}

impl Journal for Writer<'_> {
    fn loss_events(&self, client: u32, port: u16) -> LossEvents {
        let wasp_net::LossEvents { forward, backward } = self.flows.loss_events(client, port);
        LossEvents { up: forward, down: backward }
    }

    fn arrival(&mut self, group: u16, arrival: Arrival, now: Instant) {
        self.ledger.arrival(group, arrival, now);
    }

    fn transaction_began(&mut self, now: Instant) {
        self.ledger.transaction_began(now);
    }

    fn transaction_ended(&mut self, record: &TransactionRecord) {
        self.ledger.transaction_ended(record);
    }

    fn session_ended(&mut self, end: &SessionEnd) {
        self.ledger.session_ended(end);
    }

    fn connection_ended(&mut self, end: &ConnectionEnd) {
        let flow = self.flows.finish(end.client, end.port, end.initial_sequence);
        let (up, down) = flow.map(|flow| (flow.forward, flow.backward)).unwrap_or_default();
        self.ledger.connection_ended(&ConnectionRecord { end: *end, up, down });
    }
}

/// The events of the server's wake-ups: those that it asks for, and that of fragments that wait.
const SERVER_EVENTS: (fn(ServerTimer) -> Event, Event) = (Event::of_server, Event::ServerReassembly);

impl<O: Observer> Around<'_, O> {
    /// Lets an application act.
    #[inline]
    fn turn<R>(&mut self, last_head: &mut LastHead, act: impl FnOnce(&mut Turn<'_>) -> R) -> R {
        let journal = &mut Writer { ledger: self.ledger, flows: &mut self.network.flows };
        act(&mut Turn { now: self.scheduler.now(), pool: &mut self.network.pool, journal, last_head })
    }

    fn answer(&mut self, port: &Port, answer: Answer) {
        match answer {
            Answer::Packet(packet) => self.network.send(port.out, packet, self.scheduler),
            Answer::NoRoom => self.network.stillborn(Fate::PoolExhausted, 1),
            Answer::Nothing => {}
        }
    }

    /// A packet that no socket has taken is answered or counted.
    #[cold]
    fn dispose(&mut self, port: &Port, untaken: Untaken) {
        match untaken {
            Untaken::Answer(answer) => self.answer(port, answer),
            Untaken::Dropped(Dropped { packets, why }) => self.network.refuse(why.into(), packets),
            Untaken::AcceptQueueFull => self.network.refuse(Fate::AcceptQueueFull, 1),
            Untaken::SynQueueFull => self.network.refuse(Fate::SynQueueFull, 1),
        }
    }
}

impl<A: Application> Host<A> {
    /// The host whose link leads `out` of this node.
    pub(crate) fn new((node, out): (NodeId, LinkId), app: A) -> Self {
        Self { port: Port { node, out, reassembly: Wakeup::default() }, app }
    }

    /// A packet reaches the host. `event` makes the events of its wake-ups, `reassembly` is that of fragments that have waited for too long.
    #[inline]
    fn handle_packet<O: Observer>(
        &mut self,
        packet: &mut Packet,
        (event, reassembly): (impl Fn(A::Timer) -> Event, Event),
        last_head: &mut LastHead,
        around: &mut Around<'_, O>,
    ) {
        if let Some(untaken) = around.turn(last_head, |turn| self.app.handle_packet(packet, turn)) {
            self.dispose(untaken, reassembly, around);
        }
        self.settle((event, reassembly), last_head, around);
    }

    /// A wake-up comes that the host asked for.
    #[inline]
    fn handle_timer<O: Observer>(
        &mut self,
        timer: A::Timer,
        events: (impl Fn(A::Timer) -> Event, Event),
        last_head: &mut LastHead,
        around: &mut Around<'_, O>,
    ) {
        around.turn(last_head, |turn| self.app.handle_timer(timer, turn));
        self.settle(events, last_head, around);
    }

    /// Does what the host asks for after it has acted.
    #[inline]
    fn settle<O: Observer>(
        &mut self,
        (event, reassembly): (impl Fn(A::Timer) -> Event, Event),
        last_head: &mut LastHead,
        around: &mut Around<'_, O>,
    ) {
        while let Some(untaken) = self.app.poll_untaken() {
            self.dispose(untaken, reassembly, around);
        }
        let Self { port, app } = self;
        let now = around.scheduler.now();
        loop {
            while let Some(packet) = app.poll_transmit(now, &mut around.network.pool) {
                around.network.send(port.out, packet, around.scheduler);
            }
            if !app.is_waiting() {
                break;
            }
            around.turn(last_head, |turn| app.go_on(turn));
        }
        app.poll_timeouts(now, |timer, at| around.scheduler.schedule(port.node, at, event(timer)));
    }

    /// A packet that no socket has taken is answered or counted. It may be a fragment, which waits for the others.
    #[cold]
    fn dispose<O: Observer>(&mut self, untaken: Untaken, reassembly: Event, around: &mut Around<'_, O>) {
        around.dispose(&self.port, untaken);
        self.await_fragments(reassembly, around);
    }

    /// Fragments in the host's IP layer may have waited for too long.
    #[cold]
    fn expire<O: Observer>(&mut self, reassembly: Event, around: &mut Around<'_, O>) {
        if !self.port.reassembly.fired(around.scheduler.now()) {
            return;
        }
        while let Some(given_up) = self.app.ip().expire(around.scheduler.now(), &mut around.network.pool) {
            around.network.refuse(Fate::ReassemblyTimeout, given_up.fragments);
            around.answer(&self.port, given_up.answer);
        }
        self.await_fragments(reassembly, around);
    }

    #[cold]
    fn await_fragments<O: Observer>(&mut self, reassembly: Event, around: &mut Around<'_, O>) {
        let Self { port, app } = self;
        around.scheduler.wake(&mut port.reassembly, app.ip().poll_timeout(), port.node, reassembly);
    }
}

impl Hosts {
    /// These hosts, none of which has done anything.
    pub(crate) fn new(clients: Vec<Host<Browser>>, server: Option<Server>) -> Self {
        Self { clients, server, last_head: LastHead::default() }
    }

    /// A client begins.
    pub(crate) fn start(&mut self, client: u32, scheduler: &mut Scheduler<Event>) {
        let Host { port, app } = &mut self.clients[client as usize];
        if let Some(at) = app.start(scheduler.now()) {
            scheduler.schedule(port.node, at, Event::ClientAlarm { client });
        }
    }

    /// The run has ended: records what is in progress.
    pub(crate) fn finish<O: Observer>(&mut self, around: &mut Around<'_, O>) {
        for host in &mut self.clients {
            around.turn(&mut self.last_head, |turn| host.app.finish(turn));
        }
    }

    /// A packet reaches a client.
    pub(crate) fn reach_client<O: Observer>(
        &mut self,
        client: u32,
        packet: &mut Packet,
        around: &mut Around<'_, O>,
    ) {
        let events = (Event::of_client(client), Event::ClientReassembly { client });
        self.clients[client as usize].handle_packet(packet, events, &mut self.last_head, around);
    }

    /// A packet reaches the server.
    pub(crate) fn reach_server<O: Observer>(&mut self, packet: &mut Packet, around: &mut Around<'_, O>) {
        match &mut self.server {
            Some(Server::Flat(host)) => {
                host.handle_packet(packet, SERVER_EVENTS, &mut self.last_head, around);
            }
            Some(Server::Scheduled(host)) => {
                host.handle_packet(packet, SERVER_EVENTS, &mut self.last_head, around);
            }
            None => {}
        }
    }

    /// A wake-up has come.
    pub(crate) fn handle<O: Observer>(&mut self, event: Event, around: &mut Around<'_, O>) {
        match event {
            Event::ClientConnection { client, slot } => {
                self.wake_client(client, BrowserTimer::Connection(slot), around);
            }
            Event::ClientReading { client, slot } => {
                self.wake_client(client, BrowserTimer::Reading(slot), around);
            }
            Event::ClientAlarm { client } => self.wake_client(client, BrowserTimer::Alarm, around),
            Event::ClientReassembly { client } => self.clients[client as usize].expire(event, around),
            Event::ServerConnection { slot } => self.wake_server(ServerTimer::Connection(slot), around),
            Event::ServerWork(work) => self.wake_server(ServerTimer::Work(work), around),
            Event::ServerAlarm => self.wake_server(ServerTimer::Alarm, around),
            Event::ServerReassembly => match &mut self.server {
                Some(Server::Flat(host)) => host.expire(event, around),
                Some(Server::Scheduled(host)) => host.expire(event, around),
                None => {}
            },
            Event::Network(_) | Event::CrossTraffic { .. } => {}
        }
    }

    fn wake_client<O: Observer>(&mut self, client: u32, timer: BrowserTimer, around: &mut Around<'_, O>) {
        let host = &mut self.clients[client as usize];
        let events = (Event::of_client(client), Event::ClientReassembly { client });
        host.handle_timer(timer, events, &mut self.last_head, around);
    }

    fn wake_server<O: Observer>(&mut self, timer: ServerTimer, around: &mut Around<'_, O>) {
        match &mut self.server {
            Some(Server::Flat(host)) => host.handle_timer(timer, SERVER_EVENTS, &mut self.last_head, around),
            Some(Server::Scheduled(host)) => {
                host.handle_timer(timer, SERVER_EVENTS, &mut self.last_head, around);
            }
            None => {}
        }
    }

    /// CPU time that the modelled server has used by `now`, and its cores.
    pub(crate) fn server_cpu(&self, now: Instant) -> Option<(Duration, usize)> {
        Some(match self.server.as_ref()? {
            Server::Flat(host) => (host.app.cpu().used(now), host.app.cpu().cores()),
            Server::Scheduled(host) => (host.app.used(now), host.app.cores()),
        })
    }

    /// What the jobs of the modelled server cost by kind, if it has jobs.
    pub(crate) fn server_work(&self) -> Option<WorkDone> {
        match self.server.as_ref()? {
            Server::Flat(_) => None,
            Server::Scheduled(host) => Some(*host.app.work_done()),
        }
    }

    /// What the modelled server's TCP has done.
    pub(crate) fn server_tcp(&self) -> Option<TcpTotals> {
        self.server.as_ref().map(|server| match server {
            Server::Flat(host) => host.app.tcp_totals(),
            Server::Scheduled(host) => host.app.tcp_totals(),
        })
    }

    /// Begins to fetch from memory what an event of a client is likely to need.
    pub(crate) fn prepare<O: Observer>(&self, client: u32, stage: Stage, network: &Network<O>) {
        let Some(host) = self.clients.get(client as usize) else { return };
        if stage == Stage::First {
            return prefetch(host);
        }
        if let Some(connection) = host.app.first_connection() {
            prefetch(connection);
        }
        network.prepare_entry(host.port.out, Stage::First);
    }
}
