//! One connection of a client.

use crate::socket::Socket;
use wasp_http::ResponseReader;
use wasp_tcp::{Endpoint, State};
use wasp_units::{Duration, Instant};
use wasp_wire::Address;

/// How long the client leaves it to the server to close first, as the last request of a connection asks it to (RFC 9112 section 9.6).
const LINGER: Duration = Duration::from_secs(2);

/// A connection that serves a transaction, or that lingers after its last one.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) socket: Socket,
    pub(super) reader: ResponseReader,
    /// Ordinal among the client's connections.
    pub(super) ordinal: u32,
    pub(super) initial_sequence: u32,
    pub(super) opened: Instant,
    /// When it was established.
    pub(super) established: Option<Instant>,
    /// Requests sent on it.
    pub(super) requests: u32,
    /// When the client stops waiting for the server to close.
    linger: Option<Instant>,
}

impl Connection {
    pub(super) fn new(
        endpoint: Endpoint,
        server: Address,
        ordinal: u32,
        initial_sequence: u32,
        now: Instant,
    ) -> Self {
        Self {
            socket: Socket::new(endpoint, server),
            reader: ResponseReader::new(),
            ordinal,
            initial_sequence,
            opened: now,
            established: None,
            requests: 0,
            linger: None,
        }
    }

    /// The last response is complete: the server is expected to close.
    pub(super) fn begin_linger(&mut self, now: Instant) {
        self.linger = Some(now + LINGER);
    }

    pub(super) fn linger_deadline(&self) -> Option<Instant> {
        self.linger
    }

    /// The server has not closed in time: the client does, and gives up when that leads nowhere either.
    pub(super) fn handle_linger(&mut self, now: Instant) {
        if self.linger.is_none_or(|linger| linger > now) {
            return;
        }
        self.linger = match self.socket.endpoint.state() {
            State::Established | State::CloseWait => {
                self.socket.endpoint.close();
                Some(now + LINGER * 5)
            }
            State::TimeWait | State::Closed => None,
            _ => {
                self.socket.endpoint.abort();
                None
            }
        };
    }
}
