//! Named requests of a group: how they are sent, and what is looked for in their responses.

use super::visitor::Visitor;
use crate::Outcome;
use std::sync::Arc;
use wasp_http::{Method, Pattern, Search};
use wasp_tcp::{Chunk, Endpoint};
use wasp_units::Instant;
use wasp_workload::named::{CaptureSource, Expectation, Sink, Template, Values};

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
    /// Its target.
    pub target: Template,
    /// Values that are captured from its response: the place of each in the session, and where it stands.
    pub captures: Vec<(usize, ValueSource)>,
    /// Whether it is sent with the client's cookies, and its response sets some.
    pub cookies: bool,
}

/// Where a value stands that is captured.
#[derive(Debug)]
pub enum ValueSource {
    /// In the first header field of this name.
    Header(Box<str>),
    /// In the body, behind the one text and before the other.
    Between(Pattern, Pattern),
}

impl From<&CaptureSource> for ValueSource {
    fn from(source: &CaptureSource) -> Self {
        match source {
            CaptureSource::Header(name) => Self::Header(name.as_str().into()),
            CaptureSource::Between { after, before } => {
                Self::Between(Pattern::new(after.as_bytes()), Pattern::new(before.as_bytes()))
            }
        }
    }
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

impl NamedExchange {
    /// Whether its responses are looked at while they are read.
    #[inline]
    pub(super) fn looks(&self) -> bool {
        self.cookies || self.contains.is_some() || !self.captures.is_empty()
    }

    /// Sends it, as number `request` of the visitor's, and as the `last` one of the connection or not.
    #[cold]
    #[inline(never)]
    pub(super) fn send(
        &self,
        visitor: &Visitor,
        (request, last): (u32, bool),
        endpoint: &mut Endpoint,
        now: Instant,
    ) {
        let content = match if last { &self.close } else { &self.keep } {
            NamedForm::Fixed { pieces, content } => {
                pieces.iter().for_each(|piece| endpoint.send(Chunk::Shared(Arc::clone(piece))));
                *content
            }
            NamedForm::Made(made) => {
                let cookies = visitor.cookies(self, request, now);
                made.send(&visitor.values(request, &cookies), endpoint);
                made.content
            }
        };
        if content > 0 {
            endpoint.send(Chunk::Virtual(content));
        }
    }

    /// How a whole response with this status and so many bytes ends its transaction; `search` and the visitor have seen it.
    #[cold]
    pub(super) fn verdict(
        &self,
        (status, bytes): (u16, u64),
        search: Search,
        visitor: Option<&mut Visitor>,
    ) -> Outcome {
        if self.expect.status.is_empty() && status >= 400 {
            return Outcome::HttpError;
        }
        let holds = self.contains.as_ref().is_none_or(|text| search.is_found(text));
        if !holds || !self.expect.has_status(status) || !self.expect.has_length(bytes) {
            return Outcome::Wrong;
        }
        match visitor.filter(|_| !self.captures.is_empty()) {
            Some(visitor) if !visitor.has_found(self) => return Outcome::Wrong,
            Some(visitor) => visitor.capture(self),
            None => {}
        }
        Outcome::Ok
    }
}

impl NamedForm {
    /// What is sent for these values, without a body that means nothing.
    #[must_use]
    pub fn text(&self, values: &Values<'_>) -> Vec<u8> {
        let mut text = Vec::new();
        match self {
            Self::Fixed { pieces, .. } => pieces.iter().for_each(|piece| text.extend_from_slice(piece)),
            Self::Made(made) => made.write(values, &mut text),
        }
        text
    }
}

impl MadeForm {
    fn send(&self, values: &Values<'_>, endpoint: &mut Endpoint) {
        let mut writer = Writer { text: Vec::with_capacity(USUAL), endpoint };
        self.write(values, &mut writer);
        writer.flush();
    }

    fn write(&self, values: &Values<'_>, sink: &mut impl Sink) {
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
