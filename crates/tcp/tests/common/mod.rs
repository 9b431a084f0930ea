//! Two endpoints in virtual time: a client, a server that accepts, and a path between them that each test bends.

mod sent;

pub(crate) use sent::Sent;

use std::collections::BTreeMap;
use std::sync::Arc;
use wasp_packet::{Payload, PayloadPool, View};
use wasp_tcp::{Chunk, Config, Endpoint, Event, Identity, State, TimerSlack, Transmit, reset_for};
use wasp_units::{Duration, Instant};
use wasp_wire::{Ecn, Flags, SequenceNumber, TcpHeader};

pub(crate) const CLIENT: usize = 0;
pub(crate) const SERVER: usize = 1;

/// One segment on its way, and what became of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossing {
    pub(crate) at: Instant,
    pub(crate) from: usize,
    /// How many segments that side has sent before.
    pub(crate) index: u64,
    pub(crate) header: TcpHeader,
    pub(crate) len: u32,
    pub(crate) ecn: Ecn,
}

impl Crossing {
    /// Length of the packet, bytes.
    pub(crate) fn packet_len(&self) -> usize {
        40 + self.header.options_len() + self.len as usize
    }
}

/// What the path does with a segment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fate {
    Deliver,
    /// Deliver with the mark of a queue.
    Mark,
    Drop,
    /// Deliver so much later.
    Delay(Duration),
    /// Deliver, and again so much later.
    Duplicate(Duration),
}

pub(crate) type Path = Box<dyn FnMut(&Crossing) -> Fate>;

/// One end with a simple application: it reads at once and remembers.
pub(crate) struct Side {
    pub(crate) config: Arc<Config>,
    pub(crate) identity: Identity,
    pub(crate) endpoint: Option<Endpoint>,
    /// All events but `Readable`.
    pub(crate) events: Vec<(Instant, Event)>,
    pub(crate) received: Vec<u8>,
    pub(crate) received_len: u64,
    pub(crate) received_at: Instant,
    /// Read whatever arrives.
    pub(crate) reading: bool,
    /// Keep `received`.
    pub(crate) keeping: bool,
    /// Close as soon as the peer has.
    pub(crate) closing: bool,
    /// Hold what it sends again against what it sent; for transfers of bytes, of a known length.
    pub(crate) watch: Option<Sent>,
    sent: u64,
}

impl Side {
    fn new(config: Config, isn: u32) -> Self {
        let identity =
            Identity { isn, timestamp_offset: 0x8000_0000, timer_phase: Duration::from_millis(123) };
        Self {
            config: Arc::new(config),
            identity,
            endpoint: None,
            events: Vec::new(),
            received: Vec::new(),
            received_len: 0,
            received_at: Instant::ZERO,
            reading: true,
            keeping: true,
            closing: false,
            watch: None,
            sent: 0,
        }
    }

    pub(crate) fn has(&self, event: Event) -> bool {
        self.events.iter().any(|(_, seen)| *seen == event)
    }

    pub(crate) fn when(&self, event: Event) -> Option<Instant> {
        self.events.iter().find(|(_, seen)| *seen == event).map(|(at, _)| *at)
    }

    /// The endpoint.
    pub(crate) fn tcp(&self) -> &Endpoint {
        self.endpoint.as_ref().expect("an endpoint")
    }

    pub(crate) fn state(&self) -> State {
        self.endpoint.as_ref().map_or(State::Closed, Endpoint::state)
    }

    fn record(&mut self, header: &TcpHeader, payload: &Payload, pool: &PayloadPool) {
        if let Some(watch) = &mut self.watch
            && !payload.is_empty()
        {
            let View::Bytes(bytes) = pool.view(payload) else { panic!("a side that is watched sends bytes") };
            watch.record(header.sequence, bytes);
        }
    }
}

pub(crate) struct Pair {
    pub(crate) now: Instant,
    pub(crate) sides: [Side; 2],
    pub(crate) pool: PayloadPool,
    /// One way.
    pub(crate) delay: Duration,
    pub(crate) path: Path,
    /// The largest packets that cross the first and the second half of the path, bytes. The router before drops a longer one, and reports it.
    pub(crate) mtus: [u16; 2],
    pub(crate) listening: bool,
    pub(crate) log: Vec<(Crossing, Fate)>,
    /// Keep `log`.
    pub(crate) logging: bool,
    queue: BTreeMap<(Instant, u64), (usize, Transmit)>,
    /// Reports on their way: to whom, which sequence number they quote, and the MTU.
    reports: BTreeMap<(Instant, u64), (usize, SequenceNumber, u16)>,
    order: u64,
}

/// The same stack, whose timers are on no wheel, so that times can be told.
fn exact(config: Config) -> Config {
    let wheel = config.timer_slack == TimerSlack::Wheel;
    Config { timer_slack: if wheel { TimerSlack::None } else { config.timer_slack }, ..config }
}

impl Pair {
    /// Two stacks without a timer wheel.
    pub(crate) fn new(client: Config, server: Config) -> Self {
        Self::of(exact(client), exact(server))
    }

    /// Two stacks as they are.
    pub(crate) fn of(client: Config, server: Config) -> Self {
        Self {
            now: Instant::ZERO,
            sides: [Side::new(client, 0xffff_f000), Side::new(server, 0x7fff_fc00)],
            pool: PayloadPool::new(64 << 20),
            delay: Duration::from_millis(50),
            path: Box::new(|_| Fate::Deliver),
            mtus: [u16::MAX; 2],
            listening: true,
            log: Vec::new(),
            logging: true,
            queue: BTreeMap::new(),
            reports: BTreeMap::new(),
            order: 0,
        }
    }

    pub(crate) fn client(&self) -> &Endpoint {
        self.sides[CLIENT].tcp()
    }

    pub(crate) fn server(&self) -> &Endpoint {
        self.sides[SERVER].tcp()
    }

    /// Opens from the client.
    pub(crate) fn connect(&mut self) {
        let side = &mut self.sides[CLIENT];
        side.endpoint = Some(Endpoint::connect(&side.config, 40_000, 80, side.identity, self.now));
        self.flush(CLIENT);
    }

    /// Opens from both sides at once.
    pub(crate) fn connect_both(&mut self) {
        self.connect();
        let side = &mut self.sides[SERVER];
        side.endpoint = Some(Endpoint::connect(&side.config, 80, 40_000, side.identity, self.now));
        self.flush(SERVER);
    }

    /// Connects and waits until both sides know.
    #[track_caller]
    pub(crate) fn established(client: Config, server: Config) -> Self {
        let mut pair = Self::new(client, server);
        pair.connect();
        pair.run_for(pair.delay * 3);
        assert_eq!(pair.client().state(), State::Established);
        assert_eq!(pair.server().state(), State::Established);
        pair
    }

    /// A command to one endpoint, and everything that follows at this instant.
    pub(crate) fn command<T>(
        &mut self,
        side: usize,
        command: impl FnOnce(&mut Endpoint, &mut PayloadPool) -> T,
    ) -> T {
        let result = command(self.sides[side].endpoint.as_mut().expect("an endpoint"), &mut self.pool);
        self.flush(side);
        result
    }

    pub(crate) fn send(&mut self, side: usize, bytes: &[u8]) {
        self.command(side, |tcp, _| tcp.send(Chunk::Shared(bytes.into())));
    }

    pub(crate) fn send_virtual(&mut self, side: usize, len: u64) {
        self.command(side, |tcp, _| tcp.send(Chunk::Virtual(len)));
    }

    pub(crate) fn close(&mut self, side: usize) {
        self.command(side, |tcp, _| tcp.close());
    }

    /// Puts a segment on its way to `to`, to arrive now.
    pub(crate) fn inject(&mut self, to: usize, header: TcpHeader, payload: &[u8]) {
        self.inject_with(to, header, Ecn::NotEct, payload);
    }

    /// The same in a packet with the ECN field `ecn`.
    pub(crate) fn inject_with(&mut self, to: usize, header: TcpHeader, ecn: Ecn, payload: &[u8]) {
        let payload = self.pool.store(payload).expect("room");
        self.arrive(to, Transmit { header, payload, ecn });
    }

    /// A segment that `from` could send now.
    pub(crate) fn template(&self, from: usize) -> TcpHeader {
        let tcp = self.sides[from].tcp();
        let last = |side: usize| {
            let sent = self.log.iter().rev().find(|(crossing, _)| crossing.from == side);
            sent.map(|(crossing, _)| *crossing).expect("it has sent something")
        };
        let (own, other) = (last(from), last(1 - from));
        TcpHeader {
            source_port: tcp.local_port(),
            destination_port: tcp.remote_port(),
            sequence: own.header.sequence + own.header.sequence_len(own.len),
            acknowledgment: other.header.sequence + other.header.sequence_len(other.len),
            flags: Flags::ACK,
            window: own.header.window,
            timestamps: own.header.timestamps,
            ..TcpHeader::default()
        }
    }

    fn next_time(&self) -> Option<Instant> {
        let arrival = self.queue.keys().chain(self.reports.keys()).map(|(at, _)| *at).min();
        let timers = self.sides.iter().filter_map(|side| side.endpoint.as_ref()?.poll_timeout());
        timers.chain(arrival).min()
    }

    /// Runs the next event. Returns whether there was one.
    pub(crate) fn step(&mut self) -> bool {
        let Some(next) = self.next_time() else { return false };
        self.now = self.now.max(next);
        if let Some((&key, &(to, quoted, mtu))) = self.reports.iter().next()
            && key.0 <= self.now
        {
            self.reports.remove(&key);
            self.report(to, quoted, mtu);
            return true;
        }
        if let Some((&key, _)) = self.queue.iter().next()
            && key.0 <= self.now
        {
            let (to, segment) = self.queue.remove(&key).expect("it is there");
            self.arrive(to, segment);
            return true;
        }
        for side in [CLIENT, SERVER] {
            let now = self.now;
            if let Some(tcp) = &mut self.sides[side].endpoint
                && tcp.poll_timeout().is_some_and(|at| at <= now)
            {
                tcp.handle_timeout(now);
                assert!(tcp.poll_timeout().is_none_or(|at| at > now || tcp.state() == State::TimeWait));
                self.flush(side);
            }
        }
        true
    }

    /// Runs until `until`, inclusive.
    pub(crate) fn run_until(&mut self, until: Instant) {
        while self.next_time().is_some_and(|at| at <= until) {
            self.step();
        }
        self.now = self.now.max(until);
    }

    pub(crate) fn run_for(&mut self, time: Duration) {
        self.run_until(self.now + time);
    }

    /// Runs until nothing is left to happen or `limit` has passed; returns whether nothing is left.
    pub(crate) fn run(&mut self, limit: Duration) -> bool {
        let end = self.now + limit;
        while self.next_time().is_some_and(|at| at <= end) {
            self.step();
        }
        self.next_time().is_none()
    }

    /// Runs until `done`; panics after `limit`.
    #[track_caller]
    pub(crate) fn run_to(&mut self, limit: Duration, mut done: impl FnMut(&Self) -> bool) {
        let end = self.now + limit;
        while !done(self) {
            assert!(self.now <= end, "not done after {limit}");
            assert!(self.step(), "nothing left to happen, and not done");
        }
    }

    /// A router's report reaches `to`.
    pub(crate) fn report(&mut self, to: usize, quoted: SequenceNumber, mtu: u16) {
        let now = self.now;
        if let Some(tcp) = &mut self.sides[to].endpoint
            && tcp.is_in_flight(quoted)
        {
            tcp.handle_fragmentation_needed(mtu, now);
            self.flush(to);
        }
    }

    fn arrive(&mut self, to: usize, segment: Transmit) {
        let Transmit { header, payload, ecn } = segment;
        let now = self.now;
        let side = &mut self.sides[to];
        if side.endpoint.as_ref().is_some_and(|tcp| tcp.yields_to(&header))
            && let Some(old) = side.endpoint.take()
        {
            old.release(&mut self.pool);
        }
        if let Some(tcp) = &mut side.endpoint {
            tcp.handle_segment(now, &header, ecn, payload, &mut self.pool);
            self.flush(to);
            return;
        }
        let len = payload.len();
        self.pool.release(payload);
        let syn = header.flags.contains(Flags::SYN) && !header.flags.intersects(Flags::ACK | Flags::RST);
        if syn && self.listening && to == SERVER {
            side.endpoint =
                Some(Endpoint::accept(&side.config, &header, header.destination_port, side.identity, now));
            self.flush(to);
        } else if let Some(reset) = reset_for(&header, len) {
            self.transmit(to, Transmit::empty(reset));
        }
    }

    /// Lets everything out that a side has to say.
    fn flush(&mut self, from: usize) {
        loop {
            let now = self.now;
            let Some(tcp) = &mut self.sides[from].endpoint else { return };
            if let Some(event) = tcp.poll_event() {
                self.react(from, event);
                continue;
            }
            let Some(segment) = tcp.poll_transmit(now, &mut self.pool) else { break };
            self.transmit(from, segment);
        }
        let ended = [Event::Closed, Event::Reset, Event::Refused, Event::TimedOut];
        let side = &mut self.sides[from];
        if side.events.last().is_some_and(|(_, event)| ended.contains(event))
            && side.state() == State::Closed
            && let Some(tcp) = side.endpoint.take()
        {
            tcp.release(&mut self.pool);
        }
    }

    fn react(&mut self, from: usize, event: Event) {
        let side = &mut self.sides[from];
        if event == Event::Readable {
            if side.reading {
                self.read(from, u64::MAX);
            }
            return;
        }
        side.events.push((self.now, event));
        let side = &mut self.sides[from];
        if event == Event::RemoteClosed && side.closing {
            side.endpoint.as_mut().expect("an endpoint").close();
        }
    }

    /// The application of `at` reads.
    pub(crate) fn read(&mut self, at: usize, max: u64) -> u64 {
        let Side { endpoint, received, received_len, keeping, received_at, .. } = &mut self.sides[at];
        let mut sink = |view: View<'_>| {
            match view {
                View::Bytes(bytes) if *keeping => received.extend_from_slice(bytes),
                View::Virtual(len) if *keeping => received.resize(received.len() + len as usize, 0),
                _ => {}
            }
            *received_len += match view {
                View::Bytes(bytes) => bytes.len() as u64,
                View::Virtual(len) => u64::from(len),
            };
        };
        let taken = endpoint.as_mut().expect("an endpoint").read(self.now, max, &mut self.pool, &mut sink);
        *received_at = self.now;
        taken
    }

    fn transmit(&mut self, from: usize, segment: Transmit) {
        let Transmit { header, ref payload, ecn } = segment;
        let index = self.sides[from].sent;
        self.sides[from].sent += 1;
        self.sides[from].record(&header, payload, &self.pool);
        let crossing = Crossing { at: self.now, from, index, header, len: payload.len(), ecn };
        let is_too_long = |place: &usize| crossing.packet_len() > usize::from(self.mtus[*place]);
        let stopped = (0..2).find(is_too_long);
        if let Some(place) = stopped {
            // There and back: half of the way, or all of it.
            let back = self.now + self.delay * (place as u64 + 1);
            self.order += 1;
            self.reports.insert((back, self.order), (from, header.sequence, self.mtus[place]));
        }
        let fate = if stopped.is_some() { Fate::Drop } else { (self.path)(&crossing) };
        if self.logging {
            self.log.push((crossing, fate));
        }
        let arrival = self.now + self.delay;
        match fate {
            Fate::Drop => self.pool.release(segment.payload),
            Fate::Deliver => self.enqueue(arrival, 1 - from, segment),
            Fate::Mark => {
                assert_ne!(ecn, Ecn::NotEct, "a queue marks only what may be marked");
                self.enqueue(arrival, 1 - from, Transmit { ecn: Ecn::Ce, ..segment });
            }
            Fate::Delay(more) => self.enqueue(arrival + more, 1 - from, segment),
            Fate::Duplicate(more) => {
                let payload = self.pool.share(&segment.payload);
                self.enqueue(arrival, 1 - from, segment);
                self.enqueue(arrival + more, 1 - from, Transmit { header, payload, ecn });
            }
        }
    }

    fn enqueue(&mut self, at: Instant, to: usize, segment: Transmit) {
        self.order += 1;
        self.queue.insert((at, self.order), (to, segment));
    }

    /// Ends the test: everything is released, and nothing may be left in the pool.
    #[track_caller]
    pub(crate) fn finish(mut self) {
        for (_, (_, Transmit { payload, .. })) in std::mem::take(&mut self.queue) {
            self.pool.release(payload);
        }
        for side in &mut self.sides {
            if let Some(tcp) = side.endpoint.take() {
                tcp.release(&mut self.pool);
            }
        }
        assert_eq!(self.pool.in_use(), 0, "no payload is leaked");
    }

    /// Data segments that a side sent, with their fates.
    pub(crate) fn data_from(&self, from: usize) -> impl Iterator<Item = &(Crossing, Fate)> {
        self.log.iter().filter(move |(crossing, _)| crossing.from == from && crossing.len > 0)
    }
}

/// Bytes that tell their place.
pub(crate) fn pattern(len: usize) -> Vec<u8> {
    (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// A property draws so many cases.
pub(crate) fn cases(cases: u32) -> proptest::test_runner::Config {
    proptest::test_runner::Config { cases, ..Default::default() }
}
