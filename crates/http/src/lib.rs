//! HTTP/1.x as a client needs it, sans-IO: requests are encoded to bytes once, responses are framed from an in-order
//! byte stream that arrives in pieces. Nothing here knows a connection, a clock or a file.
//!
//! A transaction, as its caller drives it:
//!
//! ```text
//! Request::encode ──> bytes, sent by the caller, shared by every transaction that repeats the request
//! ResponseReader::begin(method)
//!        │  handle(piece) … None          more of the stream is needed
//!        ├─ handle(piece) … Head          status, framing and reuse are known
//!        │  handle(piece) … None
//!        ├─ handle(piece) … Complete      the rest of the piece belongs to the next response
//!        └─ handle_eof()                  how the stream's end leaves the response
//! ```
//!
//! `handle` is also given the head that was read last, by any connection: a head that repeats is not parsed again.
//!
//! [`ResponseReader::handle_observed`] shows heads and bodies to an [`Observer`] as they are read; a [`Search`] finds a text in a body as its
//! bytes pass, and keeps none of them; [`Between`] keeps what stands between two texts. A [`CookieJar`] has the cookies of a client.
//!
//! Sources: RFC 9110 (semantics), RFC 9112 (message syntax and framing).

mod block;
mod chunked;
mod cookies;
mod head;
mod malformed;
mod observer;
mod request;
mod request_reader;
mod response;
mod search;

pub use cookies::{CookieJar, MOST_COOKIE_BYTES, MOST_COOKIES};
pub use head::{Framing, Head, LastHead};
pub use malformed::Malformed;
pub use observer::{Observer, fields};
pub use request::{HeadPart, InvalidRequest, Request};
pub use request_reader::{BadRequest, RequestHead, RequestReader};
pub use response::{Eof, Event, Piece, ResponseReader};
pub use search::{Between, MOST_CAPTURED, Pattern, Search};

/// The longest head, trailer section or chunk-size line that is read, in bytes.
pub const LINE_LIMIT: usize = 64 * 1024;

/// Request methods (RFC 9110, section 9.3; `Patch`: RFC 5789).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Asks for a representation.
    Get,
    /// As `Get`, but the response ends with its head.
    Head,
    /// Sends content with the request.
    Post,
    /// Sends what the target is to be.
    Put,
    /// Sends a change of the target.
    Patch,
    /// Removes the target.
    Delete,
}

impl Method {
    /// Every method.
    pub const ALL: [Self; 6] = [Self::Get, Self::Head, Self::Post, Self::Put, Self::Patch, Self::Delete];

    /// The method with this token, which is case-sensitive.
    pub fn from_token(token: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.as_str() == token)
    }

    /// The method's token on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Whether the target of its requests expects content, so that they tell its length even if that is zero (RFC 9110, section 8.6).
    pub fn has_content(self) -> bool {
        matches!(self, Self::Post | Self::Put | Self::Patch)
    }

    /// Whether a request made twice has the effect of one, so that a client may repeat it by itself (RFC 9110, section 9.2.2).
    pub fn is_idempotent(self) -> bool {
        !matches!(self, Self::Post | Self::Patch)
    }
}

/// HTTP versions with the message syntax of RFC 9112.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Version {
    /// HTTP/1.0: a connection closes after each response unless both sides say `keep-alive`.
    Http10,
    /// HTTP/1.1: a connection persists unless either side says `close`.
    Http11,
}

impl Version {
    /// The version's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
        }
    }
}
