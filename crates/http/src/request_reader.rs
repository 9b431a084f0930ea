//! Requests as a server reads them: heads only, for requests without content.

use crate::{LINE_LIMIT, Method, Version};

/// Incremental reader of the requests on one connection.
///
/// Call order: [`Self::handle`] with each piece of the stream, again with the rest of the piece after each request.
#[derive(Debug, Default)]
pub struct RequestReader {
    /// The beginning of a head that has not ended yet.
    partial: Vec<u8>,
}

/// What a request asks for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RequestHead {
    /// The method.
    pub method: Method,
    /// The target as sent.
    pub target: String,
    /// Whether the client wants the connection to persist.
    pub keep_alive: bool,
}

/// Why bytes are not a request that this reader knows.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum BadRequest {
    /// Not the syntax of RFC 9112.
    #[error("not a request: {0}")]
    Syntax(httparse::Error),
    /// A method that carries content, or an unknown one.
    #[error("method {0} is not known here")]
    Method(String),
    /// The head does not end.
    #[error("a request head is longer than {LINE_LIMIT} bytes")]
    TooLong,
}

impl RequestReader {
    /// Reads from `bytes`; returns how many of them belong to what was read so far, and the request if its head is whole.
    ///
    /// # Errors
    /// [`BadRequest`]; the connection cannot be used further.
    pub fn handle(&mut self, bytes: &[u8]) -> Result<(usize, Option<RequestHead>), BadRequest> {
        if self.partial.is_empty() {
            if let Some((len, head)) = parse(bytes)? {
                return Ok((len, Some(head)));
            }
            self.partial.extend_from_slice(bytes);
        } else {
            let before = self.partial.len();
            self.partial.extend_from_slice(bytes);
            if let Some((len, head)) = parse(&self.partial)? {
                self.partial.clear();
                return Ok((len - before, Some(head)));
            }
        }
        if self.partial.len() > LINE_LIMIT {
            return Err(BadRequest::TooLong);
        }
        Ok((bytes.len(), None))
    }
}

/// The head at the start of `bytes` and its length, if it is whole.
fn parse(bytes: &[u8]) -> Result<Option<(usize, RequestHead)>, BadRequest> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(len) = request.parse(bytes).map_err(BadRequest::Syntax)? else {
        return Ok(None);
    };
    let method = match request.method.unwrap_or_default() {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        other => return Err(BadRequest::Method(other.to_owned())),
    };
    let version = if request.version == Some(0) { Version::Http10 } else { Version::Http11 };
    let connection = |token: &str| {
        let fields = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("connection"));
        fields
            .flat_map(|header| header.value.split(|byte| *byte == b','))
            .any(|value| value.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
    };
    let keep_alive = match version {
        Version::Http10 => connection("keep-alive"),
        Version::Http11 => !connection("close"),
    };
    let target = request.path.unwrap_or_default().to_owned();
    Ok(Some((len, RequestHead { method, target, keep_alive })))
}
