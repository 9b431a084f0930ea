//! A closed-loop HTTP client over the kernel's TCP: what the emulated clients are held to. It shares no code with them, and has one thread.
//!
//! Every lane asks for one path again and again: it opens a connection, sends a request, reads the response as fast as it comes, and begins anew. After
//! the last request of a connection, which says `Connection: close`, the lane leaves it to the server to close, pauses, and opens another.

mod fetcher;
mod response;

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::num::NonZeroU32;

pub use fetcher::fetch;

/// What to fetch, from where, and when. Instants are nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Clone, Debug)]
pub struct Config {
    /// The server.
    pub server: SocketAddrV4,
    /// The path in every request.
    pub path: String,
    /// The address of the first lane's connections; the following lanes have the following ones.
    pub first_source: Ipv4Addr,
    /// How many addresses there are; more lanes take turns.
    pub sources: NonZeroU32,
    /// Connections at once, those left out that only the server has not yet closed.
    pub lanes: u32,
    /// Requests on a connection; none keeps it as long as the server does.
    pub requests_per_connection: Option<NonZeroU32>,
    /// Mean of the pauses between two connections of a lane, which are exponentially distributed, in nanoseconds; 0 for none.
    pub pause: u64,
    /// When the first lane begins.
    pub begin: u64,
    /// In how many nanoseconds from then all lanes begin, one after the other.
    pub spread: u64,
    /// When all end: what is in progress is given up.
    pub end: u64,
}

/// A request that has come to its end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Fetched {
    /// Before `connect` for the first request of a connection, else before the request was sent; in nanoseconds of `CLOCK_MONOTONIC`.
    pub start: u64,
    /// When the last byte had been read.
    pub end: u64,
    /// The status code; 0 if there is no whole response.
    pub status: u16,
    /// Bytes of the body.
    pub bytes: u64,
}

/// Why nothing can be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The kernel gives no event queue, or no socket.
    #[error("sockets cannot be had: {0}")]
    Sockets(#[source] io::Error),
    /// An address is not one of this network namespace.
    #[error("connections cannot come from {address}: {source}")]
    Source {
        /// The address.
        address: Ipv4Addr,
        /// What the kernel says.
        source: io::Error,
    },
}
