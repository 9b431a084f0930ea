//! What a client of named requests has of its own: its draws, its cookies, and what it has captured in a session.

use super::behaviour::EncodedRequests;
use super::named::{NamedExchange, ValueSource};
use wasp_http::{Between, CookieJar, MOST_CAPTURED, Observer, Search, fields};
use wasp_random::Key;
use wasp_units::Instant;
use wasp_workload::named::Values;

/// What reading needs to know of the requests of a client.
#[derive(Debug)]
pub(super) struct Exchanges<'a> {
    pub(super) requests: &'a EncodedRequests,
    pub(super) visitor: Option<&'a mut Visitor>,
}

/// One client's part in named requests.
#[derive(Debug)]
pub(super) struct Visitor {
    /// Index of the client in the run.
    client: u32,
    /// The draws of the client, of which each request and each session has its own.
    key: Key,
    /// The number of the session in progress, if requests are in sessions.
    pub(super) session: Option<u64>,
    jar: CookieJar,
    /// What its sessions have captured, by place: the newest values. Those of steps that are made once serve later sessions, too.
    captured: Box<[Option<Box<[u8]>>]>,
    /// What has been found of the values that are captured from the response that is read. A session reads one at a time.
    finds: Vec<Find>,
}

/// What has been found of a value.
#[derive(Debug)]
enum Find {
    /// A header field, which was there or not.
    Header(Option<Box<[u8]>>),
    /// A text in the body.
    Text(Between),
}

impl Find {
    fn is_found(&self) -> bool {
        match self {
            Self::Header(value) => value.is_some(),
            Self::Text(between) => between.is_found(),
        }
    }

    fn value(self) -> Option<Box<[u8]>> {
        match self {
            Self::Header(value) => value,
            Self::Text(between) => between.into_value(),
        }
    }
}

impl Visitor {
    /// A client that has asked for nothing, whose sessions capture so many values.
    pub(super) fn new(client: u32, key: Key, captures: usize) -> Self {
        let captured = (0..captures).map(|_| None).collect();
        Self { client, key, session: None, jar: CookieJar::default(), captured, finds: Vec::new() }
    }

    /// The values of request number `request`, which has this line of cookies.
    pub(super) fn values<'a>(&'a self, request: u32, cookies: &'a [u8]) -> Values<'a> {
        let values = Values::new(self.client, self.key, request, self.session);
        Values { captured: &self.captured, cookies, ..values }
    }

    /// The line of the header field with the cookies for request number `request`.
    pub(super) fn cookies(&self, exchange: &NamedExchange, request: u32, now: Instant) -> Vec<u8> {
        let mut line = Vec::new();
        if exchange.cookies && !self.jar.is_empty() {
            self.jar.write(&self.target(exchange, request), now, &mut line);
        }
        line
    }

    fn target(&self, exchange: &NamedExchange, request: u32) -> Vec<u8> {
        let mut target = Vec::new();
        exchange.target.write(&self.values(request, &[]), &mut target);
        target
    }

    /// Whether the whole response that was read has all values that are captured from it.
    pub(super) fn has_found(&self, exchange: &NamedExchange) -> bool {
        self.finds.len() == exchange.captures.len() && self.finds.iter().all(Find::is_found)
    }

    /// Keeps the values of that response.
    pub(super) fn capture(&mut self, exchange: &NamedExchange) {
        for ((place, _), find) in exchange.captures.iter().zip(std::mem::take(&mut self.finds)) {
            self.captured[*place] = find.value();
        }
    }
}

/// Looks at a response for a text, for values, and for cookies.
pub(super) struct Looker<'a> {
    pub(super) exchange: &'a NamedExchange,
    pub(super) search: &'a mut Search,
    pub(super) visitor: &'a mut Visitor,
    /// The number of its request among those of the client.
    pub(super) request: u32,
    pub(super) now: Instant,
}

impl Observer for Looker<'_> {
    fn head(&mut self, head: &[u8]) {
        *self.search = Search::default();
        let Self { exchange, visitor, .. } = self;
        let find = |name: &str| fields(head).find(|(field, _)| field.eq_ignore_ascii_case(name.as_bytes()));
        let finds = exchange.captures.iter().map(|(_, source)| match source {
            ValueSource::Between(..) => Find::Text(Between::default()),
            ValueSource::Header(name) => {
                let value = find(name).map(|(_, value)| value);
                Find::Header(value.filter(|value| value.len() <= MOST_CAPTURED).map(Box::from))
            }
        });
        visitor.finds = finds.collect();
        if exchange.cookies {
            let set: Vec<&[u8]> = fields(head)
                .filter(|(name, _)| name.eq_ignore_ascii_case(b"set-cookie"))
                .map(|(_, value)| value)
                .collect();
            if !set.is_empty() {
                let target = visitor.target(exchange, self.request);
                let date = find("date").map(|(_, date)| date);
                set.into_iter().for_each(|field| visitor.jar.set(field, &target, date, self.now));
            }
        }
    }

    fn body(&mut self, bytes: &[u8]) {
        if let Some(text) = &self.exchange.contains {
            self.search.handle(text, bytes);
        }
        for ((_, source), find) in self.exchange.captures.iter().zip(&mut self.visitor.finds) {
            if let (ValueSource::Between(after, before), Find::Text(between)) = (source, find) {
                between.handle(after, before, bytes);
            }
        }
    }

    fn counted(&mut self, _: u64) {
        if let Some(text) = &self.exchange.contains {
            self.search.skip(text);
        }
        for ((_, source), find) in self.exchange.captures.iter().zip(&mut self.visitor.finds) {
            if let (ValueSource::Between(after, _), Find::Text(between)) = (source, find) {
                between.skip(after);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;
    use crate::browser::{NamedForm, ValueSource};
    use wasp_http::{Event, LastHead, Method, Pattern, Piece, ResponseReader};
    use wasp_units::Duration;
    use wasp_workload::named::{Expectation, Template};

    /// A request for `/shop/cart`, whose response gives a session two values, and cookies to the client.
    fn exchange() -> NamedExchange {
        let form = || NamedForm::Fixed { pieces: Box::default(), content: 0 };
        let between = ValueSource::Between(Pattern::new(b"<"), Pattern::new(b">"));
        NamedExchange {
            method: Method::Get,
            keep: form(),
            close: form(),
            expect: Expectation { status: Vec::new(), contains: None, least: 0, most: u64::MAX },
            contains: None,
            target: Template::of_bytes(b"/shop/cart"),
            captures: vec![(0, ValueSource::Header("x-id".into())), (1, between)],
            cookies: true,
        }
    }

    fn visitor() -> Visitor {
        Visitor::new(7, Key::root(1, 0), 2)
    }

    /// How the exchange ends with a response that has these fields and this body.
    fn read(visitor: &mut Visitor, fields: &str, body: &[u8]) -> Outcome {
        let (exchange, mut search) = (exchange(), Search::default());
        let head = format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: {}\r\n\r\n", body.len());
        let (mut reader, mut last_head) = (ResponseReader::new(), LastHead::default());
        reader.begin(Method::Get);
        let stream = [head.as_bytes(), body].concat();
        let mut rest = &stream[..];
        loop {
            let (exchange, search) = (&exchange, &mut search);
            let mut looker = Looker { exchange, search, visitor, request: 0, now: Instant::ZERO };
            let piece = Piece::Bytes(&rest[..rest.len().min(5)]);
            let (used, event) = reader.handle_observed(piece, &mut last_head, &mut looker).unwrap();
            rest = &rest[used..];
            if event == Some(Event::Complete) {
                break;
            }
        }
        exchange.verdict((200, body.len() as u64), search, Some(visitor))
    }

    fn captured(visitor: &Visitor) -> Vec<Option<&str>> {
        let text = |value: &Option<Box<[u8]>>| {
            value.as_deref().map(|value| std::str::from_utf8(value).unwrap().to_owned().leak() as &str)
        };
        visitor.captured.iter().map(text).collect()
    }

    #[test]
    fn what_a_response_brings_is_kept_for_the_requests_behind_it() {
        let mut visitor = visitor();
        assert_eq!(
            read(
                &mut visitor,
                "X-ID: 9\r\nX-Id: 8\r\nset-cookie: a=1\r\nSet-Cookie: b=2; Path=/\r\n",
                b"to <x y>, <z>"
            ),
            Outcome::Ok
        );
        assert_eq!(captured(&visitor), [Some("9"), Some("x y")]);
        let later = Instant::ZERO + Duration::from_secs(1);
        assert_eq!(visitor.cookies(&exchange(), 1, later), b"Cookie: a=1; b=2\r\n");
        let top = NamedExchange { target: Template::of_bytes(b"/"), ..exchange() };
        assert_eq!(visitor.cookies(&top, 1, later), b"Cookie: b=2\r\n");
        let without = NamedExchange { cookies: false, ..exchange() };
        assert!(visitor.cookies(&without, 1, later).is_empty());
    }

    #[test]
    fn a_response_without_all_values_is_wrong_and_leaves_those_before() {
        let mut visitor = visitor();
        read(&mut visitor, "X-Id: 1\r\n", b"<one>");
        let long = "x".repeat(MOST_CAPTURED + 1);
        for (fields, body) in [
            ("", "<two>"),
            (
                "X-Id: 3
", "three",
            ),
            (
                &format!(
                    "X-Id: {long}
"
                ),
                &format!("<{long}>"),
            ),
            (
                "X-Id:
", "",
            ),
        ] {
            assert_eq!(read(&mut visitor, fields, body.as_bytes()), Outcome::Wrong, "{fields} {body}");
            assert_eq!(captured(&visitor), [Some("1"), Some("one")]);
        }
        assert_eq!(read(&mut visitor, "X-Id:\r\n", b"<>"), Outcome::Ok);
        assert_eq!(captured(&visitor), [Some(""), Some("")]);
    }
}
