//! The requests of a group of clients as bytes.

use crate::scenario::{Http, Method, Version};
use std::sync::Arc;
use wasp_app::{EncodedRequests, NamedExchange};
use wasp_http::{InvalidRequest, Pattern, Request};
use wasp_units::Bytes;
use wasp_workload::Located;
use wasp_workload::named::{Body, NamedRequest};

/// The requests of a group for everything that its site has, in the forms that are used.
pub(crate) fn encode(http: &Http, located: &Located, host: &str) -> EncodedRequests {
    let limit = http.requests_per_connection.map(u32::from);
    let all = |wanted: bool, keep_alive: bool| {
        if wanted { heads(http, located, host, keep_alive) } else { Vec::new() }
    };
    let named = located.named().map(|set| set.requests()).unwrap_or_default();
    EncodedRequests {
        method: method(http.method),
        content: content(http).unwrap_or_default(),
        keep: all(limit != Some(1), true),
        close: all(limit.is_some(), false),
        named: named.iter().map(exchange).collect(),
    }
}

fn heads(http: &Http, located: &Located, host: &str, keep_alive: bool) -> Vec<Arc<[u8]>> {
    let head = |request: Result<Request, InvalidRequest>| {
        let request = request.expect("a checked scenario and its site have valid requests");
        request.with_keep_alive(keep_alive).encode()
    };
    if let Some(set) = located.named() {
        let whole = |request: &NamedRequest| {
            let text = if let Some(Body::Text(text)) = &request.body { text.as_str() } else { "" };
            [&head(named_request(http, request, host)), text.as_bytes()].concat().into()
        };
        return set.requests().iter().map(whole).collect();
    }
    let files = located.site.files().files().iter();
    files.map(|file| head(request(http, &located.path(file), host)).into()).collect()
}

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

/// A named request of a group. Its header fields replace those of the group.
pub(crate) fn named_request(
    http: &Http,
    named: &NamedRequest,
    host: &str,
) -> Result<Request, InvalidRequest> {
    let method = method_of(named);
    let mut request = plain(http, method, &named.path, host)?;
    let replaces = |name: &str| named.headers.keys().any(|own| own.eq_ignore_ascii_case(name));
    let of_group = http.headers.iter().filter(|(name, _)| !replaces(name));
    for (name, value) in of_group.chain(&named.headers) {
        request = request.with_header(name, value)?;
    }
    let tells_length = named.body.is_some() || method.has_content();
    Ok(if tells_length { request.with_content(content_of(named)) } else { request })
}

/// A request without header fields of the user's.
fn plain(http: &Http, method: wasp_http::Method, path: &str, host: &str) -> Result<Request, InvalidRequest> {
    let request = Request::new(method, path, host)?;
    Ok(request.with_version(match http.version {
        Version::Http10 => wasp_http::Version::Http10,
        Version::Http11 => wasp_http::Version::Http11,
    }))
}

/// What a client needs of a named request beside its bytes.
fn exchange(named: &NamedRequest) -> NamedExchange {
    NamedExchange {
        method: method_of(named),
        content: if let Some(Body::Size(size)) = named.body { size.get() } else { 0 },
        contains: named.expect.contains.as_ref().map(|text| Pattern::new(text.as_bytes())),
        expect: named.expect.clone(),
    }
}

/// The method of a checked request.
pub(crate) fn method_of(named: &NamedRequest) -> wasp_http::Method {
    wasp_http::Method::from_token(&named.method).expect("a checked request has a known method")
}

/// Bytes of its content.
pub(crate) fn content_of(named: &NamedRequest) -> u64 {
    match &named.body {
        None => 0,
        Some(Body::Text(text)) => text.len() as u64,
        Some(Body::Size(size)) => size.get(),
    }
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
