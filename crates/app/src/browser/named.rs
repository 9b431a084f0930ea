//! Named requests of a group: how they are sent, and what is looked for in their responses.

use crate::Outcome;
use std::sync::Arc;
use wasp_http::{Method, Observer, Pattern, Search};
use wasp_random::Key;
use wasp_tcp::{Chunk, Endpoint};
use wasp_workload::named::{Expectation, Sink, Template, Values};

/// One of the named requests of a group.
#[derive(Debug)]
pub struct NamedExchange {
    /// The method.
    pub method: Method,
    /// As sent on a connection that is to be kept.
    pub keep: NamedForm,
    /// As sent as the last one of a connection.
    pub close: NamedForm,
    /// What its response must be.
    pub expect: Expectation,
    /// The text that the body of its response must hold.
    pub contains: Option<Pattern>,
}

/// A form in which a named request is sent.
#[derive(Debug)]
pub enum NamedForm {
    /// It is always the same.
    Fixed {
        /// Its head, and a body that means something, in pieces that all share.
        pieces: Box<[Arc<[u8]>]>,
        /// Bytes of a body that means nothing.
        content: u64,
    },
    /// It is made anew each time.
    Made(Box<MadeForm>),
}

/// A form of a request that is made anew each time.
#[derive(Debug)]
pub struct MadeForm {
    /// All that is sent; where the body has placeholders, the head before the length of the body.
    pub before: Template,
    /// The head behind the length of a body with placeholders, and that body.
    pub after: Option<(Template, Template)>,
    /// Bytes of a body that means nothing.
    pub content: u64,
}

/// Who makes a request, for what differs from client to client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visitor {
    /// Index of the client in the run.
    pub(super) client: u32,
    /// The draws of the client, of which each request has its own.
    pub(super) key: Key,
}

impl NamedExchange {
    /// Sends it, as number `request` of the client's, and as the `last` one of the connection or not.
    #[cold]
    #[inline(never)]
    pub(super) fn send(&self, visitor: Visitor, request: u32, last: bool, endpoint: &mut Endpoint) {
        let content = match if last { &self.close } else { &self.keep } {
            NamedForm::Fixed { pieces, content } => {
                pieces.iter().for_each(|piece| endpoint.send(Chunk::Shared(Arc::clone(piece))));
                *content
            }
            NamedForm::Made(made) => {
                let key = visitor.key.entity(u64::from(request));
                made.send(&Values { client: visitor.client, request, key }, endpoint);
                made.content
            }
        };
        if content > 0 {
            endpoint.send(Chunk::Virtual(content));
        }
    }

    /// How a whole response with this status and so many bytes ends its transaction; `search` has seen its body.
    #[cold]
    pub(super) fn verdict(&self, status: u16, bytes: u64, search: Search) -> Outcome {
        if self.expect.status.is_empty() && status >= 400 {
            return Outcome::HttpError;
        }
        let holds = self.contains.as_ref().is_none_or(|text| search.is_found(text));
        if holds && self.expect.has_status(status) && self.expect.has_length(bytes) {
            Outcome::Ok
        } else {
            Outcome::Wrong
        }
    }
}

impl NamedForm {
    /// What is sent for these values, without a body that means nothing.
    #[must_use]
    pub fn text(&self, values: &Values) -> Vec<u8> {
        let mut text = Vec::new();
        match self {
            Self::Fixed { pieces, .. } => pieces.iter().for_each(|piece| text.extend_from_slice(piece)),
            Self::Made(made) => made.write(values, &mut text),
        }
        text
    }
}

impl MadeForm {
    fn send(&self, values: &Values, endpoint: &mut Endpoint) {
        let mut writer = Writer { text: Vec::with_capacity(USUAL), endpoint };
        self.write(values, &mut writer);
        writer.flush();
    }

    fn write(&self, values: &Values, sink: &mut impl Sink) {
        self.before.write(values, sink);
        if let Some((head, body)) = &self.after {
            sink.bytes(itoa::Buffer::new().format(body.length(values)).as_bytes());
            head.write(values, sink);
            body.write(values, sink);
        }
    }
}

/// Bytes of a usual request.
const USUAL: usize = 512;

/// Hands a request to TCP.
struct Writer<'a> {
    /// What has not been handed over.
    text: Vec<u8>,
    endpoint: &'a mut Endpoint,
}

impl Writer<'_> {
    fn flush(&mut self) {
        if !self.text.is_empty() {
            self.endpoint.send(Chunk::Shared(self.text.as_slice().into()));
            self.text.clear();
        }
    }
}

impl Sink for Writer<'_> {
    fn bytes(&mut self, bytes: &[u8]) {
        self.text.extend_from_slice(bytes);
    }

    fn shared(&mut self, bytes: &Arc<[u8]>) {
        self.flush();
        self.endpoint.send(Chunk::Shared(Arc::clone(bytes)));
    }
}

/// Looks for a text in one response after the other.
#[derive(Debug)]
pub(super) struct Looker<'a> {
    pub(super) text: &'a Pattern,
    pub(super) search: &'a mut Search,
}

impl Observer for Looker<'_> {
    fn head(&mut self, _: &[u8]) {
        *self.search = Search::default();
    }

    fn body(&mut self, bytes: &[u8]) {
        self.search.handle(self.text, bytes);
    }

    fn counted(&mut self, _: u64) {
        self.search.skip(self.text);
    }
}
