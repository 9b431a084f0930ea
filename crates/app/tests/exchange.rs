//! A browser and a server that hand their packets to each other over a line with a delay.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use wasp_app::{
    Application, Arrival, Behaviour, Browser, BrowserTimer, ConnectionEnd, Costs, Cpu, EncodedRequests,
    FlatServer, Journal, LossEvents, NamedExchange, NamedForm, Outcome, Place, Plan, ServerTimer, Service,
    SessionEnd, TransactionRecord, Turn, Untaken,
};
use wasp_http::{LastHead, Method, Pattern, Request};
use wasp_packet::{Packet, PayloadPool};
use wasp_random::{Key, Purpose};
use wasp_stack::{Answer, Arrived, Identities, Stack};
use wasp_tcp::{Chunk, Config, State};
use wasp_units::{Duration, Instant};
use wasp_wire::Address;
use wasp_workload::named::{Expectation, Status, Template};
use wasp_workload::{Deal, Delay, Inputs, OffTimes, Sites, Workload};

const PORT: u16 = 80;
const DELAY: Duration = Duration::from_millis(10);

fn address(last: u8) -> Address {
    format!("198.18.0.{last}").parse().unwrap()
}

fn identities(host: u64) -> Identities {
    Identities::new(|purpose: Purpose| Key::root(1, 0).purpose(purpose).entity(host))
}

/// What was written down.
#[derive(Default)]
struct Records {
    transactions: Vec<TransactionRecord>,
    connections: Vec<ConnectionEnd>,
    in_progress: usize,
}

impl Journal for Records {
    fn loss_events(&self, _: u32, _: u16) -> LossEvents {
        LossEvents { up: 3, down: 5 }
    }

    fn arrival(&mut self, _: u16, _: Arrival, _: Instant) {}

    fn transaction_began(&mut self, _: Instant) {
        self.in_progress += 1;
    }

    fn transaction_ended(&mut self, record: &TransactionRecord) {
        self.in_progress -= 1;
        self.transactions.push(*record);
    }

    fn session_ended(&mut self, _: &SessionEnd) {}

    fn connection_ended(&mut self, end: &ConnectionEnd) {
        self.connections.push(*end);
    }
}

/// Something that happens at one end.
enum Due {
    ToBrowser(Packet),
    ToServer(Packet),
    Browser(BrowserTimer),
    Server(ServerTimer),
}

/// What happens when, in the order in which it was asked for.
#[derive(Default)]
struct Agenda {
    due: BTreeMap<(Instant, u64), Due>,
    asked: u64,
    /// Of so many packets, one is lost.
    loses_one_of: Option<u64>,
    sent: u64,
}

impl Agenda {
    fn ask(&mut self, at: Instant, due: Due) {
        self.asked += 1;
        self.due.insert((at, self.asked), due);
    }

    fn send(&mut self, now: Instant, due: Due, pool: &mut PayloadPool) {
        self.sent += 1;
        if self.loses_one_of.is_some_and(|every| self.sent.is_multiple_of(every)) {
            return release(due, pool);
        }
        self.ask(now + DELAY, due);
    }
}

fn release(due: Due, pool: &mut PayloadPool) {
    if let Due::ToBrowser(packet) | Due::ToServer(packet) = due {
        pool.release(packet.payload);
    }
}

/// What is around the hosts.
struct World {
    pool: PayloadPool,
    records: Records,
    last_head: LastHead,
    now: Instant,
    agenda: Agenda,
    /// Packets that were refused.
    refused: usize,
}

impl World {
    fn turn(&mut self) -> Turn<'_> {
        let Self { pool, records, last_head, now, .. } = self;
        Turn { now: *now, pool, journal: records, last_head }
    }

    /// Does what an application asks for after it has acted.
    fn settle<A: Application>(
        &mut self,
        app: &mut A,
        untaken: Option<Untaken>,
        to_peer: fn(Packet) -> Due,
        wake: fn(A::Timer) -> Due,
    ) {
        let now = self.now;
        match untaken {
            Some(Untaken::Answer(Answer::Packet(answer))) => {
                self.agenda.send(now, to_peer(answer), &mut self.pool);
            }
            Some(Untaken::AcceptQueueFull | Untaken::SynQueueFull | Untaken::Dropped(_)) => self.refused += 1,
            Some(Untaken::Answer(_)) | None => {}
        }
        loop {
            while let Some(packet) = app.poll_transmit(now, &mut self.pool) {
                self.agenda.send(now, to_peer(packet), &mut self.pool);
            }
            if !app.is_waiting() {
                break;
            }
            app.go_on(&mut self.turn());
        }
        app.poll_timeouts(now, |timer, at| self.agenda.ask(at, wake(timer)));
    }
}

/// A browser, a server, and what is between them.
struct Line {
    browser: Browser,
    server: FlatServer,
    world: World,
}

/// What a test changes of its client.
struct Asks {
    size: &'static str,
    connections: u8,
    pipeline: u8,
    requests_per_connection: Option<u32>,
}

fn server(size: &str) -> FlatServer {
    let service = Service {
        sites: sites(size),
        answers: Arc::default(),
        tcp: Arc::new(Config::linux()),
        requests_per_connection: None,
        accept_queue: NonZeroU32::new(1),
    };
    let costs = Costs {
        per_connection: Duration::from_millis(2),
        per_request: Duration::from_millis(1),
        per_kib: Duration::ZERO,
        per_packet: Duration::ZERO,
    };
    FlatServer::new((address(1), PORT), service, Cpu::new(1, costs), identities(1))
}

impl Line {
    fn new(asks: &Asks) -> Self {
        Self::expecting(asks, None)
    }

    /// A line whose client has a named request that expects this of its response.
    fn expecting(asks: &Asks, expect: Option<Expectation>) -> Self {
        let request = |keep| -> Arc<[u8]> {
            Request::new(Method::Get, "/file", "server").unwrap().with_keep_alive(keep).encode().into()
        };
        let form = |keep| NamedForm::Fixed { pieces: [request(keep)].into(), content: 0 };
        let named = expect.map(|expect| NamedExchange {
            method: Method::Get,
            keep: form(true),
            close: form(false),
            contains: expect.contains.as_ref().map(|text| Pattern::new(text.as_bytes())),
            expect,
            target: Template::of_bytes(b"/file"),
            captures: Vec::new(),
            cookies: false,
        });
        let behaviour = Behaviour {
            connections: asks.connections,
            pipeline: asks.pipeline,
            requests_per_connection: asks.requests_per_connection.and_then(NonZeroU32::new),
            await_close: false,
            request_timeout: Duration::from_secs(60),
            abort_after: None,
            abort_bytes: None,
            read_rate: None,
            read_after: 20,
            tcp: Arc::new(Config::linux()),
            requests: EncodedRequests {
                method: Method::Get,
                content: 0,
                keep: vec![request(true)],
                close: vec![request(false)],
                named: named.into_iter().collect(),
                captures: 0,
            },
        };
        let root = Key::root(1, 0);
        let plan = Plan {
            requests: Arc::new(sites(asks.size).of(0).site.requests(root)).stream(Deal::Own, "clients", 0, 1),
            pauses: OffTimes::new(Delay::None {}, Delay::None {}, root, "clients", 0),
            start: None,
            warmed_up: Instant::ZERO,
            arrivals: None,
            values: root,
        };
        let place = Place { index: 0, group: 0, address: address(2), server: address(1), port: PORT };
        let world = World {
            pool: PayloadPool::new(1 << 24),
            records: Records::default(),
            last_head: LastHead::default(),
            now: Instant::ZERO,
            agenda: Agenda::default(),
            refused: 0,
        };
        Self {
            browser: Browser::new(place, Arc::new(behaviour), identities(2), plan),
            server: server(asks.size),
            world,
        }
    }

    /// Lets everything happen until `end`.
    fn run(&mut self, end: Instant) {
        let Self { browser, world, .. } = self;
        if let Some(at) = browser.start(world.now) {
            world.agenda.ask(at, Due::Browser(BrowserTimer::Alarm));
        }
        while let Some(next) = self.world.agenda.due.first_entry().filter(|entry| entry.key().0 < end) {
            self.world.now = next.key().0;
            let due = next.remove();
            self.handle(due);
        }
        self.world.now = end;
        self.browser.finish(&mut self.world.turn());
    }

    fn handle(&mut self, due: Due) {
        let Self { browser, server, world } = self;
        match due {
            Due::ToBrowser(mut packet) => {
                let untaken = browser.handle_packet(&mut packet, &mut world.turn());
                world.settle(browser, untaken, Due::ToServer, Due::Browser);
            }
            Due::Browser(timer) => {
                browser.handle_timer(timer, &mut world.turn());
                world.settle(browser, None, Due::ToServer, Due::Browser);
            }
            Due::ToServer(mut packet) => {
                let untaken = server.handle_packet(&mut packet, &mut world.turn());
                world.settle(server, untaken, Due::ToBrowser, Due::Server);
            }
            Due::Server(timer) => {
                server.handle_timer(timer, &mut world.turn());
                world.settle(server, None, Due::ToBrowser, Due::Server);
            }
        }
    }

    /// The transactions that ended well.
    fn ok(&self) -> impl Iterator<Item = &TransactionRecord> {
        self.world.records.transactions.iter().filter(|record| record.outcome == Outcome::Ok)
    }

    /// Payload that nobody has taken: what is on its way is let go.
    fn left_in_pool(&mut self) -> usize {
        let World { agenda, pool, .. } = &mut self.world;
        std::mem::take(&mut agenda.due).into_values().for_each(|due| release(due, pool));
        pool.in_use()
    }
}

fn sites(size: &str) -> Arc<Sites> {
    let json = format!(r#"{{"kind": "single", "path": "/file", "size": "{size}"}}"#);
    let workload: Workload = serde_json::from_str(&json).unwrap();
    let mut sites = Sites::default();
    let only = sites.add(workload.build(1, Inputs::default()).unwrap(), "").unwrap();
    sites.assign(only);
    Arc::new(sites)
}

#[test]
fn a_transaction_takes_two_round_trips_and_the_servers_work_on_a_new_connection_and_one_on_a_kept_one() {
    let asks = Asks { size: "1KiB", connections: 1, pipeline: 1, requests_per_connection: Some(4) };
    let mut line = Line::new(&asks);
    line.run(Instant::ZERO + Duration::from_secs(1));
    let Records { transactions, connections, in_progress } = &line.world.records;
    assert_eq!((*in_progress, line.world.refused), (0, 0));
    let whole = &transactions[..transactions.len() - 1];
    assert!(
        whole.len() > 30 && whole.iter().all(|record| record.outcome == Outcome::Ok && record.bytes == 1_024)
    );
    for record in whole {
        // Accepting takes 2 ms of the core, answering 1 ms.
        let expected = if record.request % 4 == 0 { 43 } else { 21 };
        assert_eq!(record.end - record.start, Duration::from_millis(expected), "{record:?}");
        assert_eq!((record.connection, record.requests_before), (record.request / 4, record.request % 4));
        assert_eq!(record.loss_events, LossEvents { up: 3, down: 5 });
    }
    assert_eq!(transactions.last().unwrap().outcome, Outcome::Unfinished);
    let opened = transactions.last().unwrap().connection + 1;
    assert_eq!(connections.len(), opened as usize);
    assert_eq!(line.server.tcp_totals().connections, u64::from(opened));
}

#[test]
fn a_whole_response_that_is_not_as_its_request_expects_it_is_wrong() {
    let asks = Asks { size: "1KiB", connections: 1, pipeline: 1, requests_per_connection: Some(4) };
    let outcomes = |expect: Expectation| {
        let mut line = Line::expecting(&asks, Some(expect));
        line.run(Instant::ZERO + Duration::from_secs(1));
        let records = &line.world.records.transactions;
        assert!(records.len() > 30 && records.iter().all(|record| record.attempts == 1));
        let mut found: Vec<_> = records.iter().map(|record| record.outcome).collect();
        found.pop();
        found.dedup();
        found
    };
    let anything = Expectation { status: Vec::new(), contains: None, least: 0, most: u64::MAX };
    let status = |code| vec![Status { least: code, most: code }];
    assert_eq!(outcomes(anything.clone()), [Outcome::Ok]);
    assert_eq!(outcomes(Expectation { status: status(200), ..anything.clone() }), [Outcome::Ok]);
    assert_eq!(outcomes(Expectation { status: status(201), ..anything.clone() }), [Outcome::Wrong]);
    assert_eq!(outcomes(Expectation { least: 1_024, most: 1_024, ..anything.clone() }), [Outcome::Ok]);
    assert_eq!(outcomes(Expectation { least: 1_025, ..anything.clone() }), [Outcome::Wrong]);
    assert_eq!(outcomes(Expectation { most: 1_023, ..anything.clone() }), [Outcome::Wrong]);
    // The bytes of the file have no values.
    assert_eq!(outcomes(Expectation { contains: Some("x".into()), ..anything }), [Outcome::Wrong]);
}

#[test]
fn parallel_connections_with_pipelined_requests_go_on_when_packets_are_lost() {
    for requests_per_connection in [Some(1), Some(5), None] {
        let asks = Asks { size: "30KiB", connections: 3, pipeline: 2, requests_per_connection };
        let mut line = Line::new(&asks);
        line.world.agenda.loses_one_of = Some(37);
        line.run(Instant::ZERO + Duration::from_secs(60));
        assert!(line.ok().all(|record| record.bytes == 30 << 10));
        let (ok, records) = (line.ok().count(), &line.world.records);
        assert!(ok > 300, "{ok} transactions with {requests_per_connection:?}");
        // What is not well is what the end of the run cut off.
        assert!(records.transactions.len() - ok <= 6 && records.in_progress == 0);
        let lanes = line.ok().map(|record| record.connection).collect::<std::collections::BTreeSet<_>>();
        assert!(lanes.len() >= 3);
        // The server may be about to send a head once more.
        assert!(line.left_in_pool() < 3 * 2 * 4_096);
    }
}

#[test]
fn syns_that_find_the_accept_queue_full_are_refused_and_come_again() {
    let asks = Asks { size: "1KiB", connections: 40, pipeline: 1, requests_per_connection: Some(1) };
    let mut line = Line::new(&asks);
    line.run(Instant::ZERO + Duration::from_secs(10));
    assert!(line.world.refused > 0);
    assert!(
        line.ok().count() > 100 && line.ok().any(|record| record.end - record.start > Duration::from_secs(1))
    );
}

#[test]
fn a_connection_on_which_something_else_than_a_request_comes_is_reset_and_forgotten() {
    let asks = Asks { size: "1KiB", connections: 1, pipeline: 1, requests_per_connection: None };
    let mut line = Line::new(&asks);
    let Line { server, world, .. } = &mut line;
    let tcp = Arc::new(Config::linux());
    let mut peer: Stack<()> = Stack::new(address(2), identities(2), &tcp);
    let slot = peer.connect(&tcp, (address(1), PORT), |_| (), world.now);
    peer.get_mut(slot).unwrap().endpoint.send(Chunk::Shared(b"no request\r\n\r\n".repeat(1_000).into()));
    for _ in 0..10 {
        peer.touch(slot);
        let packets: Vec<Packet> =
            std::iter::from_fn(|| peer.poll_transmit(world.now, &mut world.pool)).collect();
        while peer.pop_touched().is_some() {}
        for mut packet in packets {
            let untaken = server.handle_packet(&mut packet, &mut world.turn());
            world.settle(server, untaken, Due::ToBrowser, Due::Server);
        }
        for due in std::mem::take(&mut world.agenda.due).into_values() {
            let Due::ToBrowser(mut packet) = due else { continue };
            let arrived = peer.receive(&mut packet, world.now, &mut world.pool);
            assert!(matches!(arrived, Arrived::Socket(_) | Arrived::Answer(Answer::Nothing)), "{arrived:?}");
        }
        world.now += DELAY;
    }
    let socket = peer.remove(slot).unwrap();
    assert_eq!(socket.endpoint.state(), State::Closed);
    socket.endpoint.release(&mut world.pool);
    assert_eq!((server.sockets(), world.pool.in_use()), (0, 0));
}
