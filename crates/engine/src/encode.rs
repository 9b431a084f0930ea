//! The requests of a group of clients as bytes.

use crate::scenario::{Http, Method, Version};
use std::sync::Arc;
use wasp_app::{EncodedRequests, MadeForm, NamedExchange, NamedForm};
use wasp_http::{HeadPart, InvalidRequest, Pattern, Request};
use wasp_random::Key;
use wasp_units::Bytes;
use wasp_workload::Located;
use wasp_workload::named::{Body, NamedRequest, NamedSet, Template, Values};

/// The requests of a group for everything that its site has, in the forms that are used.
pub(crate) fn encode(http: &Http, located: &Located, host: &str) -> EncodedRequests {
    let limit = http.requests_per_connection.map(u32::from);
    let all = |wanted: bool, keep_alive: bool| {
        if wanted { heads(http, located, host, keep_alive) } else { Vec::new() }
    };
    let exchanges = |set: &NamedSet| -> Box<[NamedExchange]> {
        set.requests().iter().map(|named| exchange(http, (set, named), host)).collect()
    };
    EncodedRequests {
        method: method(http.method),
        content: content(http).unwrap_or_default(),
        keep: all(limit != Some(1), true),
        close: all(limit.is_some(), false),
        named: located.named().map(exchanges).unwrap_or_default(),
        captures: located.named().map_or(0, NamedSet::captures),
    }
}

/// What a client of a group with this index and these draws would send, by name: the steps of its first session, or each named request as its
/// first one.
pub(crate) fn samples(
    http: &Http,
    located: &Located,
    host: &str,
    (client, key): (u32, Key),
) -> Vec<(String, Vec<u8>)> {
    let Some(set) = located.named() else { return Vec::new() };
    let is_last = http.requests_per_connection.is_some_and(|limit| limit.get() == 1);
    let sample = |(place, named): (u32, &NamedRequest)| {
        let (request, session) = if set.is_session() { (place, Some(0)) } else { (0, None) };
        let exchange = exchange(http, (set, named), host);
        let form = if is_last { exchange.close } else { exchange.keep };
        (named.name.clone(), form.text(&Values::new(client, key, request, session)))
    };
    (0..).zip(set.requests()).map(sample).collect()
}

/// The requests for the files of a site.
fn heads(http: &Http, located: &Located, host: &str, keep_alive: bool) -> Vec<Arc<[u8]>> {
    let files = located.site.files().files().iter().filter(|_| located.named().is_none());
    let head = |request: Request| request.with_keep_alive(keep_alive).encode().into();
    files.map(|file| head(request(http, &located.path(file), host).expect(CHECKED))).collect()
}

const CHECKED: &str = "a checked scenario and its site have valid requests";

/// A request of a group for what is at `path`.
pub(crate) fn request(http: &Http, path: &str, host: &str) -> Result<Request, InvalidRequest> {
    let mut request = plain(http, method(http.method), path, host)?;
    for (name, value) in &http.headers {
        request = request.with_header(name, value)?;
    }
    if http.conditional {
        request = request.with_header("If-None-Match", "*")?;
    }
    Ok(match content(http) {
        Some(length) => request.with_content(length),
        None => request,
    })
}

/// A named request of a group, with a sample of each template in its place. Its header fields replace those of the group.
pub(crate) fn named_request(
    http: &Http,
    named: &NamedRequest,
    host: &str,
) -> Result<Request, InvalidRequest> {
    let method = method_of(named);
    let mut request = plain(http, method, &named.target.sample(), host)?;
    let replaces = |name: &str| named.headers.keys().any(|own| own.eq_ignore_ascii_case(name));
    for (name, value) in http.headers.iter().filter(|(name, _)| !replaces(name)) {
        request = request.with_header(name, value)?;
    }
    for (name, value) in &named.headers {
        request = request.with_header(name, &value.sample())?;
    }
    let tells_length = named.body.is_some() || method.has_content();
    Ok(if tells_length { request.with_content(named.content_length()) } else { request })
}

/// A request without header fields of the user's.
fn plain(http: &Http, method: wasp_http::Method, path: &str, host: &str) -> Result<Request, InvalidRequest> {
    let request = Request::new(method, path, host)?;
    Ok(request.with_version(match http.version {
        Version::Http10 => wasp_http::Version::Http10,
        Version::Http11 => wasp_http::Version::Http11,
    }))
}

/// What a client needs of a named request.
fn exchange(http: &Http, (set, named): (&NamedSet, &NamedRequest), host: &str) -> NamedExchange {
    let request = named_request(http, named, host).expect(CHECKED);
    let request = if set.keeps_cookies() { request.with_cookies() } else { request };
    let form = |keep_alive: bool| form(named, &request.clone().with_keep_alive(keep_alive));
    NamedExchange {
        method: method_of(named),
        keep: form(true),
        close: form(false),
        contains: named.expect.contains.as_ref().map(|text| Pattern::new(text.as_bytes())),
        expect: named.expect.clone(),
        target: named.target.clone(),
        captures: named.captures.iter().map(|capture| (capture.place, (&capture.source).into())).collect(),
        cookies: set.keeps_cookies(),
    }
}

/// How a named request is sent, whose head is that of `request` but for its templates.
fn form(named: &NamedRequest, request: &Request) -> NamedForm {
    let (text, content) = match &named.body {
        None => (None, 0),
        Some(Body::Size(size)) => (None, *size),
        Some(Body::Text(text)) => (Some(text), 0),
    };
    let made = text.filter(|text| text.fixed().is_none());
    let (mut before, mut after, mut is_behind) = (Template::default(), Template::default(), false);
    request.parts(&mut |part| {
        let template = if is_behind { &mut after } else { &mut before };
        match part {
            HeadPart::Text(text) => template.push_text(text.as_bytes()),
            HeadPart::Target(_) => template.push(&named.target),
            HeadPart::Value { name, value } => match named.headers.get(name) {
                Some(own) => template.push(own),
                None => template.push_text(value.as_bytes()),
            },
            HeadPart::Cookies => template.push_cookies(),
            HeadPart::Length(_) if made.is_some() => is_behind = true,
            HeadPart::Length(length) => template.push_text(length.to_string().as_bytes()),
        }
    });
    if let Some(text) = text.filter(|_| made.is_none()) {
        before.push(text);
    }
    match before.fixed().filter(|_| made.is_none()) {
        Some(pieces) => NamedForm::Fixed { pieces: pieces.into(), content },
        None => NamedForm::Made(Box::new(MadeForm {
            before,
            after: made.map(|body| (after, body.clone())),
            content,
        })),
    }
}

/// The method of a checked request.
pub(crate) fn method_of(named: &NamedRequest) -> wasp_http::Method {
    wasp_http::Method::from_token(&named.method).expect("a checked request has a known method")
}

const fn method(method: Method) -> wasp_http::Method {
    match method {
        Method::Get => wasp_http::Method::Get,
        Method::Head => wasp_http::Method::Head,
        Method::Post => wasp_http::Method::Post,
    }
}

/// Bytes of the content of a request without a name; a POST tells its length even if that is zero.
pub(crate) fn content(http: &Http) -> Option<u64> {
    (http.method == Method::Post).then(|| http.body.map_or(0, Bytes::get))
}
