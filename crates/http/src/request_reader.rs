//! Requests as a server reads them: heads, and how much content follows each.

use crate::{LINE_LIMIT, Method, Version};

/// Incremental reader of the requests on one connection.
///
/// Call order: [`Self::handle`] with each piece of the stream, again with the rest of the piece after each request. The content of a
/// request ([`RequestHead::content`] bytes after its head) is the caller's to take out of the stream.
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
    /// The version.
    pub version: Version,
    /// Whether the client wants the connection to persist.
    pub keep_alive: bool,
    /// Whether the client has the file and only asks if it is still there (`If-None-Match: *`, RFC 9110 section 13.1.2).
    pub conditional: bool,
    /// Bytes of content that follow the head.
    pub content: u64,
}

/// Why bytes are not a request that this reader knows.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum BadRequest {
    /// Not the syntax of RFC 9112.
    #[error("not a request: {0}")]
    Syntax(httparse::Error),
    /// The method is unknown.
    #[error("method {0} is not known here")]
    Method(String),
    /// The content has no length, or an impossible one.
    #[error("the length of the content is not told by one decimal Content-Length")]
    Content,
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
    let token = request.method.unwrap_or_default();
    let method = Method::from_token(token).ok_or_else(|| BadRequest::Method(token.to_owned()))?;
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
    let conditional = request
        .headers
        .iter()
        .any(|header| header.name.eq_ignore_ascii_case("if-none-match") && header.value.trim_ascii() == b"*");
    let content = content(request.headers)?;
    Ok(Some((len, RequestHead { method, target, version, keep_alive, conditional, content })))
}

/// The length of the content; none without a field (RFC 9112 section 6.3, rule 7). Transfer codings are not known here.
fn content(headers: &[httparse::Header<'_>]) -> Result<u64, BadRequest> {
    let fields =
        |name: &'static str| headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name));
    if fields("transfer-encoding").next().is_some() {
        return Err(BadRequest::Content);
    }
    let mut lengths = fields("content-length");
    let Some(length) = lengths.next() else { return Ok(0) };
    let digits = length.value.trim_ascii();
    if lengths.next().is_some() || digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(BadRequest::Content);
    }
    let text = std::str::from_utf8(digits).map_err(|_| BadRequest::Content)?;
    text.parse().map_err(|_| BadRequest::Content)
}
