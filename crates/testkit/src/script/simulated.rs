//! Our endpoint in virtual time, behind a listener.

use super::numbers::IDENTITY;
use super::{Obstacle, Quantity, Script, Sent, Stack, Value};
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::Arc;
use wasp_packet::{Payload, PayloadPool, View};
use wasp_stack::{Ip, PathMtuDiscovery};
use wasp_tcp::{Chunk, Config, ConfigError, Endpoint, Event, State, TimerSlack, Transmit, reset_for};
use wasp_units::{Duration, Instant};
use wasp_wire::{Address, Ecn, Flags, TcpHeader};

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

/// An endpoint of `wasp-tcp`, its application, and a clock of its own.
#[derive(Debug)]
pub struct Simulated {
    config: Arc<Config>,
    now: Instant,
    endpoint: Option<Endpoint>,
    listening: bool,
    /// The IP layer of the endpoint's host.
    ip: Ip,
    /// Without what a script does not ask for.
    events: Vec<Event>,
    sent: VecDeque<Sent>,
    pool: PayloadPool,
}

impl Simulated {
    /// The endpoint of `script`, before anything has happened to it. Its timers are on Linux's wheel only where the script asks for it:
    /// else one could not tell the times that a specification asks for.
    ///
    /// # Errors
    /// The script's options are no stack; [`Script::parse`] has looked at that.
    pub fn new(script: &Script) -> Result<Self, ConfigError> {
        let mut config = script.options.resolve()?;
        if config.timer_slack == TimerSlack::Wheel && script.options.timer_slack.is_none() {
            config.timer_slack = TimerSlack::None;
        }
        Ok(Self {
            // Not zero, so that no timer is right by accident.
            now: Instant::ZERO + Duration::from_secs(10),
            endpoint: None,
            listening: false,
            ip: Ip::new(host(), PathMtuDiscovery::On { least: config.min_path_mtu }),
            events: Vec::new(),
            sent: VecDeque::new(),
            pool: PayloadPool::new(POOL_LIMIT),
            config: Arc::new(config),
        })
    }

    /// The endpoint, if there is a connection.
    fn live(&mut self) -> Result<&mut Endpoint, String> {
        let live = self.endpoint.as_mut().filter(|endpoint| endpoint.state() != State::Closed);
        live.ok_or_else(|| "there is no connection".to_owned())
    }

    fn replace(&mut self, endpoint: Endpoint) {
        if let Some(old) = self.endpoint.replace(endpoint) {
            old.release(&mut self.pool);
        }
    }

    /// Lets everything out.
    fn flush(&mut self) {
        let Self { endpoint: Some(endpoint), events, sent, pool, now: at, .. } = self else { return };
        loop {
            while let Some(event) = endpoint.poll_event() {
                if event != Event::Readable {
                    events.push(event);
                }
            }
            let Some(Transmit { header, payload, ecn }) = endpoint.poll_transmit(*at, pool) else { return };
            let bytes = match pool.view(&payload) {
                View::Bytes(bytes) => bytes.to_vec(),
                View::Virtual(len) => vec![0; len as usize],
            };
            pool.release(payload);
            sent.push_back(Sent { at: *at, header, ecn, payload: bytes });
        }
    }
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
            let due = self.endpoint.as_ref().and_then(Endpoint::poll_timeout);
            let Some((due, endpoint)) = due.filter(|due| *due <= until).zip(self.endpoint.as_mut()) else {
                self.now = self.now.max(until);
                return None;
            };
            self.now = self.now.max(due);
            endpoint.handle_timeout(self.now);
            self.flush();
        }
    }

    fn inject(&mut self, header: &TcpHeader, ecn: Ecn, payload: &[u8]) {
        let given_up = |endpoint: &Endpoint| endpoint.state() == State::Closed || endpoint.yields_to(header);
        let gone = self.endpoint.as_ref().is_none_or(given_up);
        let opens = header.flags.contains(Flags::SYN) && !header.flags.intersects(Flags::ACK | Flags::RST);
        let payload_len = payload.len() as u32;
        if !gone && let Some(endpoint) = &mut self.endpoint {
            let payload = self.pool.store(payload).unwrap_or(Payload::Empty);
            endpoint.handle_segment(self.now, header, ecn, payload, &mut self.pool);
        } else if opens && self.listening {
            let (config, port) = (Arc::clone(&self.config), header.destination_port);
            self.replace(Endpoint::accept(&config, header, port, IDENTITY, self.now));
        } else if let Some(reset) = reset_for(header, payload_len) {
            let ecn = Ecn::NotEct;
            self.sent.push_back(Sent { at: self.now, header: reset, ecn, payload: Vec::new() });
        }
        self.flush();
    }

    fn report(&mut self, obstacle: Obstacle, quoted: &TcpHeader) {
        let Some(endpoint) = self.endpoint.as_mut().filter(|endpoint| endpoint.is_in_flight(quoted.sequence))
        else {
            return;
        };
        match obstacle {
            Obstacle::TooBig(mtu) => {
                if let Some(mtu) = self.ip.learn_path_mtu(peer(), mtu, self.now) {
                    endpoint.handle_fragmentation_needed(mtu, self.now);
                }
            }
            Obstacle::Network | Obstacle::Host | Obstacle::Port => endpoint.handle_unreachable(),
        }
        self.flush();
    }

    fn open(&mut self, active: bool) -> Result<(), String> {
        self.listening |= !active;
        if active {
            let endpoint = Endpoint::connect(&self.config, 80, 40_000, IDENTITY, self.now);
            self.replace(endpoint);
            self.flush();
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.live()?.send(Chunk::Shared(bytes.into()));
        self.flush();
        Ok(())
    }

    fn read(&mut self, count: usize) -> Result<Vec<u8>, String> {
        let endpoint = self.endpoint.as_mut().ok_or("there is no connection")?;
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
        let Some(tcp) = &self.endpoint else {
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
        if let Some(endpoint) = self.endpoint.take() {
            endpoint.release(&mut self.pool);
        }
        // A failing test may leave anything behind.
        if !std::thread::panicking() {
            assert_eq!(self.pool.in_use(), 0, "payload was never given back");
        }
    }
}
