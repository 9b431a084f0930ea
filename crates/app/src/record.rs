//! What hosts write down: transactions, sessions and connections.

use std::fmt;
use wasp_units::{Duration, Instant};
use wasp_workload::FileId;

/// How a transaction ended.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Outcome {
    /// A whole response with a status below 400; to a named request, a whole response as it expects it.
    Ok,
    /// A whole response with status 400 or above, to a request that expects no status.
    HttpError,
    /// A whole response that is not as its named request expects it.
    Wrong,
    /// No valid HTTP.
    Malformed,
    /// The connection was refused.
    Refused,
    /// The connection was reset.
    Reset,
    /// The request's timeout passed, or TCP gave up.
    TimedOut,
    /// The server closed before the response was whole.
    Truncated,
    /// The client gave up by itself.
    Aborted,
    /// The run ended first.
    Unfinished,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Self; 10] = [
        Self::Ok,
        Self::HttpError,
        Self::Wrong,
        Self::Malformed,
        Self::Refused,
        Self::Reset,
        Self::TimedOut,
        Self::Truncated,
        Self::Aborted,
        Self::Unfinished,
    ];

    /// The name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::HttpError => "http_error",
            Self::Wrong => "wrong",
            Self::Malformed => "malformed",
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::TimedOut => "timed_out",
            Self::Truncated => "truncated",
            Self::Aborted => "aborted",
            Self::Unfinished => "unfinished",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What becomes of an arrival of an open loop.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Arrival {
    /// It came.
    Generated,
    /// It came when too many waited, and was dropped.
    Shed,
    /// Its transaction began.
    Begun,
}

/// How often data of a connection was lost or marked, by the direction of the data. What a congestion window answers once counts once.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct LossEvents {
    /// On the way from the client.
    pub up: u32,
    /// On the way to the client.
    pub down: u32,
}

/// One HTTP request and its response, as the client saw it. Response time = end - start, or end - intended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TransactionRecord {
    /// Index of the client in the run.
    pub client: u32,
    /// Index of the client's group.
    pub group: u16,
    /// Ordinal of the connection among the client's, from 0.
    pub connection: u32,
    /// Ordinal of the request among the client's, from 0.
    pub request: u32,
    /// What was asked for, as its place in the set of files.
    pub file: FileId,
    /// When it was to start, if it is an arrival of an open loop. Response time then counts from here.
    pub intended: Option<Instant>,
    /// `connect()` for the first request of a connection, else the moment the client wanted to send.
    pub start: Instant,
    /// When the connection was established, if it was opened for this request.
    pub connected: Option<Instant>,
    /// Whether the connection was the first of its place among the client's parallel ones.
    pub first_of_place: bool,
    /// Requests that the connection had carried before this one.
    pub requests_before: u32,
    /// How often data of the connection had been lost or marked when the request was handed to TCP.
    pub loss_events: LossEvents,
    /// When the request was handed to TCP.
    pub sent: Option<Instant>,
    /// When the first byte of the response was there to be read.
    pub first_byte: Option<Instant>,
    /// When the last byte of the response was read; only for a whole response.
    pub last_byte: Option<Instant>,
    /// When the transaction ended, whatever its outcome.
    pub end: Instant,
    /// Status of the response, 0 without one.
    pub status: u16,
    /// Bytes of the response's body.
    pub bytes: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// 2 if the request was repeated because a kept connection was closed before the response began.
    pub attempts: u8,
}

/// One session of a client that is over, or whose run is. It is over with its last step, or with the first that is not `ok`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SessionEnd {
    /// Index of the client in the run.
    pub client: u32,
    /// Index of the client's group.
    pub group: u16,
    /// When it began, or was to begin, if it is an arrival of an open loop.
    pub start: Instant,
    /// When its last step ended, or the run.
    pub end: Instant,
    /// Sum of the response times of its steps that ended.
    pub response_time: Duration,
    /// Bytes of the bodies of those of them that were `ok`.
    pub bytes: u64,
    /// The step that was taken last, as its place in the set of files: that of its request among the named ones.
    pub step: FileId,
    /// How that step ended, or `unfinished`.
    pub outcome: Outcome,
    /// Status of the response to it, 0 without one.
    pub status: u16,
}

/// One connection of a client that is over, or whose run is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ConnectionEnd {
    /// Index of the client in the run.
    pub client: u32,
    /// Index of the client's group.
    pub group: u16,
    /// Ordinal among the client's connections, from 0.
    pub connection: u32,
    /// The client's port.
    pub port: u16,
    /// The client's initial sequence number, which tells connections from the same port apart.
    pub initial_sequence: u32,
    /// When `connect()` was called.
    pub opened: Instant,
    /// When nothing was left of it; `None` if the run ended first.
    pub closed: Option<Instant>,
    /// Segments that the client sent again.
    pub retransmitted: u32,
    /// What it did with ECN (RFC 3168), if the client asked for that and the connection was established.
    pub ecn: Option<EcnUse>,
}

/// What a connection did with explicit congestion notification.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct EcnUse {
    /// The server agreed to it.
    pub agreed: bool,
    /// Data segments that reached the client with a mark.
    pub marked: u32,
    /// Reductions of the client's window for marks of its own data.
    pub reduced: u32,
}

/// Takes records as they are made, and tells what only the emulator knows.
pub trait Journal {
    /// How often data of the connection from this port of a client has been lost or marked.
    fn loss_events(&self, client: u32, port: u16) -> LossEvents;
    /// Something became of an arrival at a client of `group`.
    fn arrival(&mut self, group: u16, arrival: Arrival, now: Instant);
    /// A transaction began at `now`.
    fn transaction_began(&mut self, now: Instant);
    /// A transaction ended.
    fn transaction_ended(&mut self, record: &TransactionRecord);
    /// A session ended: just before the end of its last step is told, or after that of all transactions where the run cuts it off.
    fn session_ended(&mut self, end: &SessionEnd);
    /// A connection ended.
    fn connection_ended(&mut self, end: &ConnectionEnd);
}
