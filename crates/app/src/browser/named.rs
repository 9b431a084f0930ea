//! Named requests of a group: what differs from one to the next, and what is looked for in their responses.

use crate::Outcome;
use wasp_http::{Method, Observer, Pattern, Search};
use wasp_workload::named::Expectation;

/// One of the named requests of a group, beside its bytes.
#[derive(Debug)]
pub struct NamedExchange {
    /// The method.
    pub method: Method,
    /// Bytes of content without values, which follow the bytes of the request.
    pub content: u64,
    /// What its response must be.
    pub expect: Expectation,
    /// The text that the body of its response must hold.
    pub contains: Option<Pattern>,
}

impl NamedExchange {
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
