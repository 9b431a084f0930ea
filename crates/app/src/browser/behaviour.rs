//! What the clients of a group have in common.

use super::named::NamedExchange;
use std::num::NonZeroU32;
use std::sync::Arc;
use wasp_http::Method;
use wasp_tcp::ReceiveBuffer;
use wasp_units::{Duration, Rate};
use wasp_wire::Address;
use wasp_workload::FileId;

/// What the clients of a group have in common.
#[derive(Debug)]
pub struct Behaviour {
    /// Parallel connections of a client, 255 at most.
    pub connections: u8,
    /// Requests on a connection that wait for their responses, one at least.
    pub pipeline: u8,
    /// Requests before a connection is closed; `None` keeps it for ever.
    pub requests_per_connection: Option<NonZeroU32>,
    /// Whether a connection that is not kept must be closed by both sides before the next request.
    pub await_close: bool,
    /// How long a client waits for the end of a response, from the start of its transaction.
    pub request_timeout: Duration,
    /// So long after its start, a client gives a transaction up by itself.
    pub abort_after: Option<Duration>,
    /// So many bytes into the body, a client gives a transaction up by itself.
    pub abort_bytes: Option<u64>,
    /// How fast the application reads; `None` reads at once.
    pub read_rate: Option<Rate>,
    /// Segments that wait after which a program reads, although it has not yet woken up.
    pub read_after: u8,
    /// The clients' TCP.
    pub tcp: Arc<wasp_tcp::Config>,
    /// The requests.
    pub requests: EncodedRequests,
}

impl Behaviour {
    /// Whether a connection with so many requests takes no more.
    pub(super) fn is_last(&self, requests: u32) -> bool {
        self.requests_per_connection.is_some_and(|limit| requests >= limit.get())
    }

    /// Whether a program takes time to wake up for data. It matters where the window follows from what is read: there an
    /// acknowledgment that would narrow the window waits until then (Linux `__tcp_ack_snd_check`).
    pub(super) fn wakes_up(&self) -> bool {
        self.read_rate.is_none() && matches!(self.tcp.receive_buffer, ReceiveBuffer::Tuned { .. })
    }
}

/// The requests of a group as bytes, shared by all who send them.
#[derive(Debug)]
pub struct EncodedRequests {
    /// The method of all that have no name.
    pub method: Method,
    /// The content without values that follows each that has no name, in bytes.
    pub content: u64,
    /// Those without a name as sent on a connection that is to be kept, for each file of the site; empty where no connection is.
    pub keep: Vec<Arc<[u8]>>,
    /// As sent as the last one of a connection; empty where every connection is kept.
    pub close: Vec<Arc<[u8]>>,
    /// Those with a name, for each file of the site.
    pub named: Box<[NamedExchange]>,
    /// How many values a session captures.
    pub captures: usize,
}

impl EncodedRequests {
    /// The head of a request for `file`.
    pub(super) fn head(&self, file: FileId, last: bool) -> Arc<[u8]> {
        let heads = if last { &self.close } else { &self.keep };
        Arc::clone(&heads[file.0 as usize])
    }

    /// The named request for `file`, if it is one.
    #[inline]
    pub(super) fn named(&self, file: FileId) -> Option<&NamedExchange> {
        self.named.get(file.0 as usize)
    }

    /// The method of the request for `file`.
    #[inline]
    pub(super) fn method_of(&self, file: FileId) -> Method {
        self.named(file).map_or(self.method, |named| named.method)
    }
}

/// Where a client is.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Index of the client in the run.
    pub index: u32,
    /// Index of its group.
    pub group: u16,
    /// Its address.
    pub address: Address,
    /// The server it asks.
    pub server: Address,
    /// The server's port.
    pub port: u16,
}
