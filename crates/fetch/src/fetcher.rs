//! The event loop over epoll.

use crate::response::Response;
use crate::{Config, FetchError, Fetched};
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, sockopt};
use rustix::time::{ClockId, clock_gettime};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;

/// Bytes that one read takes at most.
const BUFFER: usize = 256 << 10;
/// Events that are taken from the kernel at once.
const EVENTS: usize = 256;
/// Nanoseconds that a lane rests after a failure.
const REST: u64 = 100_000_000;

/// Fetches until the end that the configuration names; returns what has come to an end by then.
///
/// # Errors
/// [`FetchError`]: sockets or addresses are missing. A connection that fails is a result like another.
pub fn fetch(config: &Config) -> Result<Vec<Fetched>, FetchError> {
    let mut fetcher = Fetcher::new(config)?;
    let mut events = vec![epoll::Event { flags: epoll::EventFlags::empty(), data: data(0) }; EVENTS];
    loop {
        let now = monotonic();
        if now >= config.end {
            return Ok(fetcher.done);
        }
        fetcher.begin_due(now)?;
        let next = fetcher.resting.peek().map_or(config.end, |Reverse((at, _))| *at);
        let timeout = timespec(next.min(config.end).saturating_sub(monotonic()));
        let count = match epoll::wait(&fetcher.epoll, &mut events[..], Some(&timeout)) {
            Ok(count) => count,
            Err(Errno::INTR) => 0,
            Err(error) => return Err(FetchError::Sockets(error.into())),
        };
        for event in &events[..count] {
            let place = event.data.u64() as usize;
            fetcher.handle(place)?;
        }
        // Not before: a later event of the batch may be of a connection that has ended.
        fetcher.free.append(&mut fetcher.ended);
    }
}

/// What a connection is doing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    Connecting,
    Reading,
    /// Its last response is whole, and its lane has another connection: the server is to close it.
    Left,
}

#[derive(Debug)]
struct Connection {
    socket: OwnedFd,
    phase: Phase,
    lane: u32,
    /// Requests sent.
    requests: u32,
    /// Of the present request.
    start: u64,
    response: Response,
}

struct Fetcher<'a> {
    config: &'a Config,
    epoll: OwnedFd,
    connections: Vec<Option<Connection>>,
    /// Places of connections that have ended, to be used again, and those of the present batch of events.
    free: Vec<usize>,
    ended: Vec<usize>,
    /// Lanes without a connection, by when they begin one.
    resting: BinaryHeap<Reverse<(u64, u32)>>,
    buffer: Box<[u8]>,
    done: Vec<Fetched>,
    random: SplitMix,
}

impl<'a> Fetcher<'a> {
    fn new(config: &'a Config) -> Result<Self, FetchError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(sockets)?;
        let begin = |lane| config.begin + config.spread * u64::from(lane) / u64::from(config.lanes);
        Ok(Self {
            config,
            epoll,
            connections: Vec::new(),
            free: Vec::new(),
            ended: Vec::new(),
            resting: (0..config.lanes).map(|lane| Reverse((begin(lane), lane))).collect(),
            buffer: vec![0; BUFFER].into_boxed_slice(),
            done: Vec::new(),
            random: SplitMix(config.begin),
        })
    }

    /// Opens the connections of lanes that have rested.
    fn begin_due(&mut self, now: u64) -> Result<(), FetchError> {
        while let Some(Reverse((at, lane))) = self.resting.peek().copied() {
            if at > now {
                break;
            }
            self.resting.pop();
            self.open(lane)?;
        }
        Ok(())
    }

    /// Opens a connection for a lane.
    fn open(&mut self, lane: u32) -> Result<(), FetchError> {
        let first = self.config.first_source.to_bits();
        let address = Ipv4Addr::from_bits(first + lane % self.config.sources);
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None);
        let socket = socket.map_err(sockets)?;
        rustix::net::bind(&socket, &SocketAddrV4::new(address, 0))
            .map_err(|error| FetchError::Source { address, source: error.into() })?;
        let start = monotonic();
        match rustix::net::connect(&socket, &self.config.server) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(_) => {
                self.fail(lane, start);
                return Ok(());
            }
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        epoll::add(&self.epoll, &socket, data(place), epoll::EventFlags::OUT).map_err(sockets)?;
        let response = Response::default();
        self.connections[place] =
            Some(Connection { socket, phase: Phase::Connecting, lane, requests: 0, start, response });
        Ok(())
    }

    /// Something has happened to the connection at this place.
    fn handle(&mut self, place: usize) -> Result<(), FetchError> {
        let Some(mut connection) = self.connections[place].take() else { return Ok(()) };
        let alive = match connection.phase {
            Phase::Connecting => self.connected(&mut connection, place)?,
            Phase::Reading | Phase::Left => self.read(&mut connection)?,
        };
        if alive {
            self.connections[place] = Some(connection);
            return Ok(());
        }
        if connection.phase != Phase::Left {
            self.fail(connection.lane, connection.start);
        }
        self.ended.push(place);
        Ok(())
    }

    /// The connection is there, or there will be none; returns whether it is.
    fn connected(&mut self, connection: &mut Connection, place: usize) -> Result<bool, FetchError> {
        if !matches!(sockopt::socket_error(&connection.socket), Ok(Ok(()))) {
            return Ok(false);
        }
        connection.phase = Phase::Reading;
        epoll::modify(&self.epoll, &connection.socket, data(place), epoll::EventFlags::IN)
            .map_err(sockets)?;
        Ok(self.request(connection))
    }

    /// Sends a request; returns whether the kernel takes it.
    fn request(&self, connection: &mut Connection) -> bool {
        connection.requests += 1;
        let Config { path, server, .. } = self.config;
        let close = if self.is_last(connection) { "Connection: close\r\n" } else { "" };
        let host = server.ip();
        let text =
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: fetch\r\nAccept: */*\r\n{close}\r\n");
        // A request fits into any socket's buffer, which is empty.
        let sent = rustix::net::send(&connection.socket, text.as_bytes(), SendFlags::NOSIGNAL);
        sent == Ok(text.len())
    }

    /// Whether the connection's present request is its last.
    fn is_last(&self, connection: &Connection) -> bool {
        self.config.requests_per_connection.is_some_and(|most| connection.requests >= most.get())
    }

    /// Reads all that is there; returns whether the connection goes on.
    fn read(&mut self, connection: &mut Connection) -> Result<bool, FetchError> {
        loop {
            let count = match rustix::io::read(&connection.socket, &mut self.buffer[..]) {
                Ok(0) => return Ok(false),
                Ok(count) => count,
                Err(Errno::AGAIN) => return Ok(true),
                Err(Errno::INTR) => continue,
                Err(_) => return Ok(false),
            };
            if connection.phase == Phase::Reading {
                match connection.response.take(&self.buffer[..count]) {
                    Ok(Some((status, bytes))) => {
                        if !self.complete(connection, status, bytes)? {
                            return Ok(false);
                        }
                    }
                    Ok(None) => {}
                    Err(_) => return Ok(false),
                }
            }
            if count < BUFFER {
                return Ok(true);
            }
        }
    }

    /// A response is whole: the lane goes on, on this connection or on another. Returns whether this one is still of use.
    fn complete(&mut self, connection: &mut Connection, status: u16, bytes: u64) -> Result<bool, FetchError> {
        let now = monotonic();
        self.done.push(Fetched { start: connection.start, end: now, status, bytes });
        if self.is_last(connection) {
            connection.phase = Phase::Left;
            if self.config.pause > 0 {
                let pause = self.config.pause as f64 * self.random.exponential();
                self.resting.push(Reverse((now + pause as u64, connection.lane)));
            } else {
                self.open(connection.lane)?;
            }
            return Ok(true);
        }
        connection.response = Response::default();
        connection.start = now;
        Ok(self.request(connection))
    }

    /// A request of this lane has failed.
    fn fail(&mut self, lane: u32, start: u64) {
        let end = monotonic();
        self.done.push(Fetched { start, end, status: 0, bytes: 0 });
        self.resting.push(Reverse((end + REST, lane)));
    }
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A draw from the exponential distribution with mean 1.
    fn exponential(&mut self) -> f64 {
        // Above zero and at most one.
        let uniform = ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        -libm::log(uniform)
    }
}

fn sockets(error: Errno) -> FetchError {
    FetchError::Sockets(io::Error::from(error))
}

fn data(place: usize) -> epoll::EventData {
    epoll::EventData::new_u64(place as u64)
}

/// `CLOCK_MONOTONIC` in nanoseconds.
fn monotonic() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn timespec(nanos: u64) -> Timespec {
    Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as _ }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_exponential() {
        let mut random = SplitMix(1);
        let draws: Vec<_> = (0..100_000).map(|_| random.exponential()).collect();
        // Mean and the share above it, within five standard errors: 1 / sqrt(n), and sqrt(q (1 - q) / n).
        let mean = draws.iter().sum::<f64>() / 1e5;
        assert!((mean - 1.0).abs() < 0.016, "{mean}");
        let above = draws.iter().filter(|draw| **draw > 1.0).count() as f64 / 1e5;
        assert!((above - libm::exp(-1.0)).abs() < 0.008, "{above}");
    }
}
