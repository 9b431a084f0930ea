//! The model of one run: a network, and at each of its ports a modelled host or the place where a device is attached.

use crate::build::topology;
use crate::cross::CrossSources;
use crate::encode::content;
use crate::event::Event;
use crate::hosts::{Around, Host, Hosts, Server};
use crate::ledger::GroupKind;
use crate::population::clients;
use crate::scenario::{Group, Scenario};
use crate::{End, GroupLedger, Interval, Ledger, Mode, NamedLedger, Shard};
use std::collections::VecDeque;
use std::sync::Arc;
use wasp_app::{Browser, Cpu, FlatServer, ScheduledServer, Service, TcpTotals, WorkDone};
use wasp_kernel::{Process, Scheduler, Stage};
use wasp_net::topology::{Layout, Port};
use wasp_net::{Delivery, Fate, Network, NetworkEvent, Observer, is_cross_traffic};
use wasp_packet::{Packet, PayloadPool, cut};
use wasp_random::{Key, Purpose};
use wasp_stack::Identities;
use wasp_units::{Duration, Instant};
use wasp_workload::Sites;

/// Most bytes of payload that may wait in the model.
const POOL_LIMIT: usize = 2 << 30;

/// Everything that lives in virtual or wall time.
#[derive(Debug)]
pub struct Model<O = ()> {
    /// Links, packets, payload.
    pub network: Network<O>,
    /// Where everything is.
    pub layout: Layout,
    /// What was written down.
    pub ledger: Ledger,
    /// What loads links beside the clients.
    pub(crate) cross: CrossSources,
    hosts: Hosts,
    /// Packets for a device, with the times at which they were due.
    pub(crate) egress: VecDeque<(Instant, End, Packet)>,
    /// Packets from a device that have not entered the network, with the times at which they were read.
    pub(crate) inbox: VecDeque<(Instant, End, Packet)>,
}

/// The empty ledger of each group.
fn ledgers(scenario: &Scenario, sites: &Sites, clients: &[Host<Browser>]) -> Vec<GroupLedger> {
    let several = scenario.clients.len() > 1;
    let open = |group| clients.iter().any(|Host { app, .. }| app.group() == group && app.is_open());
    let groups = scenario.clients.iter().zip(0..);
    let ledger = |(group, index): (&Group, u16)| {
        let set = sites.of(usize::from(index)).named();
        let named = set.map(|set| set.requests()).unwrap_or_default().iter().map(NamedLedger::new).collect();
        let content = content(&group.http).unwrap_or_default();
        let sessions = set.is_some_and(|set| set.is_session());
        let kind = GroupKind { several, background: group.background, open: open(index), sessions };
        GroupLedger::new(kind, content, named)
    };
    groups.map(ledger).collect()
}

impl<O: Observer> Model<O> {
    /// The model of a checked scenario and its sites.
    #[must_use]
    pub fn new(scenario: &Scenario, sites: &Arc<Sites>, observer: O) -> Self {
        let root = Key::root(scenario.seed, scenario.run);
        let mut network = Network::new(PayloadPool::new(POOL_LIMIT), observer);
        let layout = topology(scenario, root).build(&mut network).expect("a checked network has routes");
        let interval = Interval::new(scenario.measure.warmup, scenario.measure.duration);
        let clients =
            if scenario.mode == Mode::Shim { Vec::new() } else { clients(scenario, sites, &layout, root) };
        Self {
            ledger: Ledger::new(interval, ledgers(scenario, sites, &clients), root.purpose(Purpose::Sample)),
            hosts: Hosts::new(clients, modelled_server(scenario, sites, &layout.server, root)),
            cross: CrossSources::new(scenario, &layout, &mut network, root),
            network,
            layout,
            egress: VecDeque::new(),
            inbox: VecDeque::new(),
        }
    }

    /// Each of the shard's clients begins, and with them what else loads their links.
    pub(crate) fn start(&mut self, shard: Shard, scheduler: &mut Scheduler<Event>) {
        self.cross.start(|client| shard.has(client), scheduler);
        for client in (0..self.hosts.clients.len() as u32).filter(|client| shard.has(*client)) {
            self.hosts.start(client, scheduler);
        }
    }

    /// The run has ended: records what is in progress.
    pub(crate) fn finish(&mut self, scheduler: &mut Scheduler<Event>) {
        self.ledger.settle(scheduler.now());
        let Self { hosts, network, ledger, .. } = self;
        hosts.finish(&mut Around { network, ledger, scheduler });
    }

    /// A frame was read from the device at this `end` at `now`: its packets wait in the inbox. Returns how many there were.
    pub(crate) fn take_in(&mut self, frame: &[u8], end: End, now: Instant) -> usize {
        let (network, inbox) = (&mut self.network, &mut self.inbox);
        let before = inbox.len();
        let result = cut(frame, None, &mut network.pool, &mut |packet| inbox.push_back((now, end, packet)));
        match result {
            Ok(cut) => network.stillborn(Fate::PoolExhausted, u64::from(cut.exhausted)),
            Err(error) => network.stillborn(error.into(), 1),
        }
        // All packets of a frame have the same addresses.
        if let Some((_, _, packet)) = self.inbox.get(before) {
            self.prepare_way(end, packet, Stage::First);
        }
        self.inbox.len() - before
    }

    /// Begins to fetch from memory what the packets of the inbox need.
    pub(crate) fn prepare_inbox(&self) {
        let mut last = None;
        for (_, end, packet) in &self.inbox {
            let ends = Some((packet.ip.source, packet.ip.destination));
            if std::mem::replace(&mut last, ends) != ends {
                self.prepare_way(*end, packet, Stage::Second);
            }
        }
    }

    fn prepare_way(&self, end: End, packet: &Packet, stage: Stage) {
        if let Some(port) = self.entrance(end, packet) {
            self.network.prepare_entry(port.out, stage);
            self.network.prepare_route(port.router, packet.ip.destination, stage);
        }
    }

    /// The port at which a packet from the device at this end enters the network: one of the clients' by its source.
    fn entrance(&self, end: End, packet: &Packet) -> Option<&Port> {
        match end {
            End::Server => Some(&self.layout.server),
            End::Clients => {
                self.layout.host_with(packet.ip.source).map(|host| &self.layout.hosts()[host as usize])
            }
        }
    }

    /// A packet of the inbox enters the network at this end.
    pub(crate) fn ingress(&mut self, end: End, packet: Packet, scheduler: &mut Scheduler<Event>) {
        match self.entrance(end, &packet) {
            Some(&Port { out, .. }) if !is_cross_traffic(&packet) => {
                self.network.send(out, packet, scheduler);
            }
            // Nobody outside has the addresses of cross traffic.
            Some(_) | None => {
                self.network.pool.release(packet.payload);
                self.network.stillborn(Fate::NoRoute, 1);
            }
        }
    }

    /// CPU time that the modelled server has used by `now`.
    pub(crate) fn server_cpu(&self, now: Instant) -> Option<(Duration, usize)> {
        self.hosts.server_cpu(now)
    }

    /// What the jobs of the modelled server cost by kind, if it has jobs.
    pub(crate) fn server_work(&self) -> Option<WorkDone> {
        self.hosts.server_work()
    }

    /// What the modelled server's TCP has done.
    pub(crate) fn server_tcp(&self) -> Option<TcpTotals> {
        self.hosts.server_tcp()
    }

    #[inline]
    fn deliver(&mut self, mut delivery: Delivery, scheduler: &mut Scheduler<Event>) {
        let now = scheduler.now();
        let Self { hosts, network, ledger, layout, egress, .. } = self;
        let mut around = Around { network, ledger, scheduler };
        match layout.host_at(delivery.node) {
            Some(client) if (client as usize) < hosts.clients.len() => {
                hosts.reach_client(client, &mut delivery.packet, &mut around);
            }
            Some(_) => egress.push_back((now, End::Clients, delivery.packet)),
            None => {
                debug_assert_eq!(delivery.node, layout.server.node, "no other port has a host");
                if hosts.server.is_some() {
                    hosts.reach_server(&mut delivery.packet, &mut around);
                } else {
                    egress.push_back((now, End::Server, delivery.packet));
                }
            }
        }
    }
}

impl<O: Observer> Process for Model<O> {
    type Event = Event;

    fn prepare(&self, event: Event, stage: Stage) {
        let client = match event {
            Event::Network(event) => {
                self.network.prepare(event, stage);
                match event {
                    NetworkEvent::Arrival { link, .. } => self.layout.host_reached_by(link),
                    NetworkEvent::Departure { .. } | NetworkEvent::Reassembly { .. } => None,
                }
            }
            Event::ClientConnection { client, .. }
            | Event::ClientReading { client, .. }
            | Event::ClientReassembly { client }
            | Event::ClientAlarm { client } => Some(client),
            Event::ServerConnection { .. }
            | Event::ServerWork(_)
            | Event::ServerAlarm
            | Event::ServerReassembly
            | Event::CrossTraffic { .. } => None,
        };
        if let Some(client) = client {
            self.hosts.prepare(client, stage, &self.network);
        }
    }

    fn handle(&mut self, event: Event, scheduler: &mut Scheduler<Event>) {
        match event {
            Event::Network(event) => {
                if let Some(delivery) = self.network.handle(event, scheduler) {
                    self.deliver(delivery, scheduler);
                }
            }
            Event::CrossTraffic { source } => self.cross.handle(source, &mut self.network, scheduler),
            event => {
                let Self { hosts, network, ledger, .. } = self;
                hosts.handle(event, &mut Around { network, ledger, scheduler });
            }
        }
    }
}

fn modelled_server(scenario: &Scenario, sites: &Arc<Sites>, at: &Port, root: Key) -> Option<Server> {
    if scenario.mode != Mode::Sim {
        return None;
    }
    let model = scenario.server.model?;
    let place = (at.address, scenario.server.port);
    let tcp = Arc::new(scenario.server_tcp_config().expect("a checked scenario has valid TCP options"));
    let identities = Identities::new(|purpose| root.purpose(purpose).name(""));
    let service = Service {
        answers: Arc::new(sites.answers().expect("the named requests of a simulation have answers")),
        sites: Arc::clone(sites),
        tcp,
        requests_per_connection: model.requests_per_connection,
        accept_queue: model.accept_queue,
    };
    let port = (at.node, at.out);
    Some(match model.machine() {
        None => {
            let cpu = Cpu::new(model.cores as usize, model.flat_costs());
            let app = FlatServer::new(place, service, cpu, identities);
            Server::Flat(Box::new(Host::new(port, app)))
        }
        Some(machine) => {
            let app = ScheduledServer::new(place, service, machine, identities);
            Server::Scheduled(Box::new(Host::new(port, app)))
        }
    })
}
