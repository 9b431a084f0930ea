//! What the server reads of one connection, and what it answers.

use super::Service;
use crate::Turn;
use std::sync::Arc;
use wasp_http::{Method, RequestHead, RequestReader, Version};
use wasp_packet::View;
use wasp_tcp::{Chunk, Endpoint};

/// The requests of one connection.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    reader: RequestReader,
    /// Bytes that were read and belong to later requests.
    unparsed: Vec<u8>,
    /// A request whose content has not arrived whole, and how much of it is still to come.
    incomplete: Option<(RequestHead, u64)>,
    /// Requests read.
    requests: u32,
}

#[derive(Debug)]
pub(super) struct Response {
    head: Arc<[u8]>,
    /// Bytes of the body.
    pub(super) body: u64,
    pub(super) keep_alive: bool,
}

/// The client sent something else than a request: the server resets the connection.
#[derive(Debug)]
pub(super) struct NotARequest;

impl Conversation {
    /// The next request, if it has arrived whole, its content included. If the connection is not kept after it, it says so.
    pub(super) fn next(
        &mut self,
        service: &Service,
        endpoint: &mut Endpoint,
        turn: &mut Turn<'_>,
    ) -> Result<Option<RequestHead>, NotARequest> {
        let Some(mut request) = self.read_request(endpoint, turn)? else { return Ok(None) };
        self.requests += 1;
        let limit = service.requests_per_connection;
        request.keep_alive &= limit.is_none_or(|limit| self.requests < limit.get());
        Ok(Some(request))
    }

    fn read_request(
        &mut self,
        endpoint: &mut Endpoint,
        turn: &mut Turn<'_>,
    ) -> Result<Option<RequestHead>, NotARequest> {
        if self.unparsed.is_empty() {
            self.receive(endpoint, turn);
        }
        if self.incomplete.is_none() {
            let (used, request) = self.reader.handle(&self.unparsed).map_err(|_| NotARequest)?;
            self.unparsed.drain(..used);
            self.incomplete = request.map(|request| {
                let left = request.content;
                (request, left)
            });
        }
        let Some((_, left)) = &mut self.incomplete else { return Ok(None) };
        let used = self.unparsed.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
        self.unparsed.drain(..used);
        *left -= used as u64;
        Ok(self.incomplete.take_if(|(_, left)| *left == 0).map(|(request, _)| request))
    }

    /// Takes what has arrived. Bytes without values are content; where no content is due they read as zeros, which are no request.
    fn receive(&mut self, endpoint: &mut Endpoint, turn: &mut Turn<'_>) {
        let Self { unparsed, incomplete, .. } = self;
        endpoint.read(turn.now, u64::MAX, turn.pool, &mut |view| match (view, &mut *incomplete) {
            (View::Bytes(bytes), _) => unparsed.extend_from_slice(bytes),
            (View::Virtual(count), Some((_, left))) if unparsed.is_empty() && u64::from(count) <= *left => {
                *left -= u64::from(count);
            }
            (View::Virtual(count), _) => unparsed.resize(unparsed.len() + count as usize, 0),
        });
    }

    /// Whether bytes were read of which none has been looked at.
    pub(super) fn has_read(&self) -> bool {
        !self.unparsed.is_empty()
    }

    /// Whether there may be a request to read.
    pub(super) fn has_input(&self, endpoint: &Endpoint) -> bool {
        !self.unparsed.is_empty() || endpoint.readable() > 0
    }
}

impl Service {
    /// The answer to a request: a file that is asked for by GET, HEAD or POST (as by a program that has read what was sent), or what a named request
    /// expects.
    pub(super) fn respond(&self, request: &RequestHead) -> Response {
        let asks_for_files = matches!(request.method, Method::Get | Method::Head | Method::Post);
        let files = self.sites.files();
        let file = files.find(&request.target).filter(|_| asks_for_files).and_then(|id| files.get(id));
        match file {
            None => self.respond_without_file(request),
            Some(_) if request.conditional && request.method != Method::Post => {
                respond(request, "304 Not Modified", None, ("", ""))
            }
            Some(file) => respond(request, "200 OK", Some(file.size.get()), ("", "")),
        }
    }

    /// The answer to a request for which there is no file. Most workloads ask for files only: it stays out of their way.
    #[cold]
    #[inline(never)]
    fn respond_without_file(&self, request: &RequestHead) -> Response {
        let Some(answer) = self.answers.find(request.method.as_str(), &request.target) else {
            return respond(request, "404 Not Found", Some(0), ("", ""));
        };
        let status = if answer.status == 200 { "200 OK".to_owned() } else { format!("{} ", answer.status) };
        let fields: String =
            answer.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let length = answer.has_body().then_some(answer.size);
        respond(request, &status, length, (&fields, &answer.text))
    }
}

/// A response with this status and the lines of these `fields`, and a body of this `length` that begins with a `text`, unless it has none.
fn respond(
    request: &RequestHead,
    status: &str,
    length: Option<u64>,
    (fields, text): (&str, &str),
) -> Response {
    let mut head = String::with_capacity(128 + fields.len() + text.len());
    for part in ["HTTP/1.1 ", status, "\r\n", fields, "Server: wasp-model\r\n"] {
        head.push_str(part);
    }
    if let Some(length) = length {
        for part in ["Content-Length: ", itoa::Buffer::new().format(length), "\r\n"] {
            head.push_str(part);
        }
    }
    head.push_str(match (request.keep_alive, request.version) {
        (true, Version::Http11) => "\r\n",
        (true, Version::Http10) => "Connection: keep-alive\r\n\r\n",
        (false, _) => "Connection: close\r\n\r\n",
    });
    let mut body = 0;
    if request.method != Method::Head {
        head.push_str(text);
        body = length.unwrap_or_default() - text.len() as u64;
    }
    Response { head: head.into_bytes().into(), body, keep_alive: request.keep_alive }
}

impl Response {
    /// Hands the response to TCP.
    pub(super) fn write(self, endpoint: &mut Endpoint) {
        endpoint.send(Chunk::Shared(self.head));
        if self.body > 0 {
            endpoint.send(Chunk::Virtual(self.body));
        }
    }
}
