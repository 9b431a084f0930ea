//! A host of ours in virtual time, whose stack has one connection.

use super::numbers::IDENTITY;
use super::{Obstacle, Quantity, Script, Sent, Stack, Value};
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::Arc;
use wasp_packet::{Body, IcmpError, Packet, Payload, PayloadPool, View};
use wasp_stack::{Answer, Arrived, Identities};
use wasp_tcp::{Chunk, Config, ConfigError, Endpoint, Event, State, TimerSlack};
use wasp_units::{Duration, Instant};
use wasp_wire::{Address, Ecn, IpHeader, TcpHeader};

/// The port of a connection that the host opens.
const LOCAL_PORT: u16 = 10_000;
/// The port of its peer, and of the host where it listens.
const PORT: u16 = 80;

/// The endpoint's host.
fn host() -> Address {
    Address::from(Ipv4Addr::new(198, 18, 0, 1))
}

/// The host of its peer.
fn peer() -> Address {
    Address::from(Ipv4Addr::new(198, 18, 0, 2))
}

/// More than any script holds at once.
const POOL_LIMIT: usize = 256 << 20;

/// A host with `wasp-stack`, its application, and a clock of its own.
#[derive(Debug)]
pub struct Simulated {
    config: Arc<Config>,
    now: Instant,
    stack: wasp_stack::Stack<()>,
    /// The slot of its connection.
    slot: Option<u32>,
    /// Without what a script does not ask for.
    events: Vec<Event>,
    sent: VecDeque<Sent>,
    pool: PayloadPool,
}

impl Simulated {
    /// The host of `script`, before anything has happened to it. Its timers are on Linux's wheel only where the script asks for it:
    /// else one could not tell the times that a specification asks for.
    ///
    /// # Errors
    /// The script's options are no stack; [`Script::parse`] has looked at that.
    pub fn new(script: &Script) -> Result<Self, ConfigError> {
        let mut config = script.options.resolve()?;
        if config.timer_slack == TimerSlack::Wheel && script.options.timer_slack.is_none() {
            config.timer_slack = TimerSlack::None;
        }
        let identities = Identities::starting_at(LOCAL_PORT, IDENTITY);
        Ok(Self {
            // Not zero, so that no timer is right by accident.
            now: Instant::ZERO + Duration::from_secs(10),
            stack: wasp_stack::Stack::new(host(), identities, &config),
            slot: None,
            events: Vec::new(),
            sent: VecDeque::new(),
            pool: PayloadPool::new(POOL_LIMIT),
            config: Arc::new(config),
        })
    }

    fn endpoint(&self) -> Option<&Endpoint> {
        Some(&self.stack.get(self.slot?)?.endpoint)
    }

    fn endpoint_mut(&mut self) -> Option<&mut Endpoint> {
        Some(&mut self.stack.get_mut(self.slot?)?.endpoint)
    }

    /// The endpoint, if there is a connection.
    fn live(&mut self) -> Result<&mut Endpoint, String> {
        let live = self.endpoint_mut().filter(|endpoint| endpoint.state() != State::Closed);
        live.ok_or_else(|| "there is no connection".to_owned())
    }

    /// Forgets the connection.
    fn forget(&mut self) {
        let socket = self.slot.take().and_then(|slot| self.stack.remove(slot));
        if let Some(socket) = socket {
            socket.endpoint.release(&mut self.pool);
        }
    }

    /// Lets everything out.
    fn flush(&mut self) {
        loop {
            while let Some(event) = self.endpoint_mut().and_then(Endpoint::poll_event) {
                if event != Event::Readable {
                    self.events.push(event);
                }
            }
            if let Some(slot) = self.slot {
                self.stack.touch(slot);
            }
            let Some(packet) = self.stack.poll_transmit(self.now, &mut self.pool) else { break };
            self.note(packet);
        }
        while self.stack.pop_touched().is_some() {}
    }

    /// A packet leaves the host.
    fn note(&mut self, packet: Packet) {
        let Packet { ip, body, payload, .. } = packet;
        let bytes = match self.pool.view(&payload) {
            View::Bytes(bytes) => bytes.to_vec(),
            View::Virtual(len) => vec![0; len as usize],
        };
        self.pool.release(payload);
        if let Body::Tcp(header) = body {
            let ecn = Ecn::of(ip.traffic_class);
            self.sent.push_back(Sent { at: self.now, header, ecn, payload: bytes });
        }
    }

    /// A packet reaches the host.
    fn receive(&mut self, mut packet: Packet) {
        match self.stack.receive(&mut packet, self.now, &mut self.pool) {
            Arrived::Syn(syn) => {
                self.forget();
                self.slot = self.stack.accept(&syn, |_| (), self.now);
            }
            Arrived::Answer(Answer::Packet(packet)) => self.note(packet),
            Arrived::Socket(_) | Arrived::Answer(_) | Arrived::Dropped(_) => {}
        }
        self.flush();
    }
}

/// A segment between the host and its peer.
fn packet(
    (source, destination): (Address, Address),
    header: TcpHeader,
    ecn: Ecn,
    payload: Payload,
) -> Packet {
    let ip = IpHeader { traffic_class: ecn.bits(), ..IpHeader::new(source, destination, 0) };
    Packet { ip, body: Body::Tcp(header), payload, flipped: None }
}

impl Stack for Simulated {
    fn now(&mut self) -> Instant {
        self.now
    }

    fn tolerance(&self, _: &Script) -> Duration {
        Duration::ZERO
    }

    fn leeway(&self) -> u32 {
        0
    }

    fn run_until(&mut self, until: Instant) -> Option<Sent> {
        loop {
            if let Some(sent) = self.sent.pop_front() {
                return Some(sent);
            }
            let due = self.endpoint().and_then(Endpoint::poll_timeout).filter(|due| *due <= until);
            self.now = self.now.max(due.unwrap_or(until));
            due?;
            let now = self.now;
            if let Some(endpoint) = self.endpoint_mut() {
                endpoint.handle_timeout(now);
            }
            self.flush();
        }
    }

    fn inject(&mut self, header: &TcpHeader, ecn: Ecn, payload: &[u8]) {
        let payload = self.pool.store(payload).unwrap_or(Payload::Empty);
        self.receive(packet((peer(), host()), *header, ecn, payload));
    }

    fn report(&mut self, obstacle: Obstacle, quoted: &TcpHeader) {
        let error = match obstacle {
            Obstacle::TooBig(mtu) => IcmpError::FragmentationNeeded { mtu },
            Obstacle::Network => IcmpError::NetworkUnreachable,
            Obstacle::Host => IcmpError::HostUnreachable,
            Obstacle::Port => IcmpError::PortUnreachable,
        };
        let quoted = packet((host(), peer()), *quoted, Ecn::NotEct, Payload::Empty);
        let report = error.about(&quoted, peer(), 0, &mut self.pool, &mut Vec::new());
        if let Some(report) = report {
            self.receive(report);
        }
    }

    fn open(&mut self, active: bool) -> Result<(), String> {
        if active {
            self.forget();
            self.slot = Some(self.stack.connect(&self.config, (peer(), PORT), |_| (), self.now));
            self.flush();
        } else {
            self.stack.listen(PORT, Arc::clone(&self.config));
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.live()?.send(Chunk::Shared(bytes.into()));
        self.flush();
        Ok(())
    }

    fn read(&mut self, count: usize) -> Result<Vec<u8>, String> {
        let slot = self.slot.ok_or("there is no connection")?;
        let endpoint = &mut self.stack.get_mut(slot).ok_or("there is no connection")?.endpoint;
        let readable = endpoint.readable();
        if readable < count as u64 {
            return Err(format!("only {readable} bytes can be read"));
        }
        let mut bytes = Vec::with_capacity(count);
        endpoint.read(self.now, count as u64, &mut self.pool, &mut |view| match view {
            View::Bytes(part) => bytes.extend_from_slice(part),
            View::Virtual(len) => bytes.resize(bytes.len() + len as usize, 0),
        });
        self.flush();
        Ok(bytes)
    }

    fn close(&mut self) -> Result<(), String> {
        self.live()?.close();
        self.flush();
        Ok(())
    }

    fn abort(&mut self) -> Result<(), String> {
        self.live()?.abort();
        self.flush();
        Ok(())
    }

    fn observe(&mut self, quantity: Quantity) -> Option<Value> {
        if quantity == Quantity::Events {
            return Some(Value::Events(std::mem::take(&mut self.events)));
        }
        let Some(tcp) = self.endpoint() else {
            return (quantity == Quantity::State).then_some(Value::State(State::Closed));
        };
        let statistics = tcp.statistics();
        let count = match quantity {
            Quantity::State => return Some(Value::State(tcp.state())),
            Quantity::Rto => return Some(Value::Time(tcp.rto())),
            Quantity::Srtt => return Some(Value::Time(tcp.srtt().unwrap_or(Duration::ZERO))),
            Quantity::Events => return None,
            Quantity::Cwnd => u64::from(tcp.cwnd()),
            Quantity::Ssthresh => u64::from(tcp.ssthresh()),
            Quantity::Flight => u64::from(tcp.flight()),
            Quantity::Pipe => u64::from(tcp.pipe()),
            Quantity::Readable => tcp.readable(),
            Quantity::Unsent => tcp.unsent(),
            Quantity::Unwritten => tcp.unwritten(),
            Quantity::Unacknowledged => tcp.unacknowledged(),
            Quantity::SendWindow => u64::from(tcp.send_window()),
            Quantity::ReceiveWindow => u64::from(tcp.receive_window()),
            Quantity::Retransmitted => u64::from(statistics.retransmitted),
            Quantity::Timeouts => u64::from(statistics.timeouts),
            Quantity::FastRetransmits => u64::from(statistics.fast_retransmits),
            Quantity::DuplicateAcks => u64::from(statistics.duplicate_acks),
            Quantity::DuplicatesReceived => u64::from(statistics.duplicates_received),
            Quantity::OutOfOrder => u64::from(statistics.out_of_order),
        };
        Some(Value::Count(count))
    }
}

impl Drop for Simulated {
    fn drop(&mut self) {
        self.forget();
        // A failing test may leave anything behind.
        if !std::thread::panicking() {
            assert_eq!(self.pool.in_use(), 0, "payload was never given back");
        }
    }
}
