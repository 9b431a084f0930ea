//! The heads of requests, encoded to bytes (RFC 9112, section 3).

use crate::{Method, Version};

/// Fields that the client itself derives, or that need behaviour it does not have.
const RESERVED: [&str; 9] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Why a request cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRequest {
    /// The target is not in origin form (RFC 9112, section 3.2.1).
    #[error("request target {0:?}: must start with / and hold only visible ASCII characters other than #")]
    Target(String),
    /// The host is empty or could not stand in a `Host` field.
    #[error(
        "host {0:?}: must be a name or address, with :port if needed, in visible ASCII characters without / ? # @"
    )]
    Host(String),
    /// The field's name is no token (RFC 9110, section 5.6.2).
    #[error("header name {0:?}: must consist of letters, digits and !#$%&'*+-.^_`|~")]
    HeaderName(String),
    /// The field's value would end its line, or begin or end with a blank.
    #[error("header {name}: value {value:?}: must be visible ASCII with blanks and tabs only inside")]
    HeaderValue {
        /// The field's name.
        name: String,
        /// The value refused.
        value: String,
    },
    /// The field is the client's own.
    #[error("header {0}: is set by the client itself")]
    ReservedHeader(String),
}

/// One request, valid by construction: no part of it can end a line early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    method: Method,
    target: String,
    host: String,
    version: Version,
    headers: Vec<(String, String)>,
    keep_alive: bool,
    content: Option<u64>,
    cookies: bool,
}

impl Request {
    /// An HTTP/1.1 request that keeps the connection, with no headers of the caller's. `target` is an absolute path with
    /// an optional query; `host` is what the `Host` field says.
    ///
    /// # Errors
    /// `target` or `host` could not be sent as it is.
    pub fn new(method: Method, target: &str, host: &str) -> Result<Self, InvalidRequest> {
        if !target.starts_with('/') || !target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#') {
            return Err(InvalidRequest::Target(target.to_owned()));
        }
        if host.is_empty() || !host.bytes().all(|byte| byte.is_ascii_graphic() && !b"/?#@".contains(&byte)) {
            return Err(InvalidRequest::Host(host.to_owned()));
        }
        Ok(Self {
            method,
            target: target.to_owned(),
            host: host.to_owned(),
            version: Version::Http11,
            headers: Vec::new(),
            keep_alive: true,
            content: None,
            cookies: false,
        })
    }

    /// The same request in another version.
    #[must_use]
    pub fn with_version(self, version: Version) -> Self {
        Self { version, ..self }
    }

    /// The same request, asking to keep the connection or, as the last on its connection, to close it.
    #[must_use]
    pub fn with_keep_alive(self, keep_alive: bool) -> Self {
        Self { keep_alive, ..self }
    }

    /// The same request, followed by content of this length, which its caller sends.
    #[must_use]
    pub fn with_content(self, length: u64) -> Self {
        Self { content: Some(length), ..self }
    }

    /// The same request with one more header field. `User-Agent` and `Accept` replace the client's own.
    ///
    /// # Errors
    /// The name or value could not be sent as it is, or the field is one that the client derives.
    pub fn with_header(mut self, name: &str, value: &str) -> Result<Self, InvalidRequest> {
        if name.is_empty() || !name.bytes().all(is_token_byte) {
            return Err(InvalidRequest::HeaderName(name.to_owned()));
        }
        if RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)) {
            return Err(InvalidRequest::ReservedHeader(name.to_owned()));
        }
        let printable = value.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t'));
        if !printable || value.trim_ascii() != value {
            return Err(InvalidRequest::HeaderValue { name: name.to_owned(), value: value.to_owned() });
        }
        self.headers.push((name.to_owned(), value.to_owned()));
        Ok(self)
    }

    /// The same request with a place for the field with the cookies of whoever sends it ([`HeadPart::Cookies`]).
    #[must_use]
    pub fn with_cookies(self) -> Self {
        Self { cookies: true, ..self }
    }

    /// The method, which [`ResponseReader::begin`](crate::ResponseReader::begin) needs.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Whether the request asks to keep the connection.
    pub fn keep_alive(&self) -> bool {
        self.keep_alive
    }

    /// The head of the request on the wire, without cookies. It never changes: encode once and share the bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut text = Vec::new();
        self.parts(&mut |part| match part {
            HeadPart::Text(part) | HeadPart::Target(part) | HeadPart::Value { value: part, .. } => {
                text.extend_from_slice(part.as_bytes());
            }
            HeadPart::Length(length) => text.extend_from_slice(length.to_string().as_bytes()),
            HeadPart::Cookies => {}
        });
        text
    }

    /// The same head part by part.
    pub fn parts(&self, each: &mut dyn FnMut(HeadPart<'_>)) {
        let Self { method, target, host, version, headers, keep_alive, content, cookies } = self;
        let first = [HeadPart::Text(method.as_str()), HeadPart::Text(" "), HeadPart::Target(target)];
        first.into_iter().for_each(&mut *each);
        for text in [" ", version.as_str(), "\r\nHost: ", host, "\r\n"] {
            each(HeadPart::Text(text));
        }
        let given = |name: &str| headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        if !given("user-agent") {
            each(HeadPart::Text(concat!("User-Agent: wasp/", env!("CARGO_PKG_VERSION"), "\r\n")));
        }
        if !given("accept") {
            each(HeadPart::Text("Accept: */*\r\n"));
        }
        for (name, value) in headers {
            each(HeadPart::Text(name));
            each(HeadPart::Text(": "));
            each(HeadPart::Value { name, value });
            each(HeadPart::Text("\r\n"));
        }
        if *cookies {
            each(HeadPart::Cookies);
        }
        if let Some(length) = content {
            each(HeadPart::Text("Content-Length: "));
            each(HeadPart::Length(*length));
            each(HeadPart::Text("\r\n"));
        }
        each(HeadPart::Text(match (keep_alive, version) {
            (false, _) => "Connection: close\r\n\r\n",
            (true, Version::Http10) => "Connection: keep-alive\r\n\r\n",
            (true, Version::Http11) => "\r\n",
        }));
    }
}

/// A part of the head of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HeadPart<'a> {
    /// What depends on neither of the others.
    Text(&'a str),
    /// The target.
    Target(&'a str),
    /// The value of a field that the caller gave.
    Value {
        /// The field's name, as it was given.
        name: &'a str,
        /// The value.
        value: &'a str,
    },
    /// The length of the content, in decimal digits.
    Length(u64),
    /// Where the line of the field with cookies belongs, if there are some.
    Cookies,
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get() -> Request {
        Request::new(Method::Get, "/1024", "198.18.0.1:8080").unwrap()
    }

    fn text(request: &Request) -> String {
        String::from_utf8(request.encode()).unwrap()
    }

    #[test]
    fn a_request_has_host_agent_and_accept_and_keeps_the_connection() {
        let agent = env!("CARGO_PKG_VERSION");
        assert_eq!(
            text(&get()),
            format!(
                "GET /1024 HTTP/1.1\r\nHost: 198.18.0.1:8080\r\nUser-Agent: wasp/{agent}\r\nAccept: */*\r\n\r\n"
            )
        );
    }

    #[test]
    fn the_last_request_says_close_in_both_versions() {
        assert!(text(&get().with_keep_alive(false)).ends_with("\r\nConnection: close\r\n\r\n"));
        let old = get().with_version(Version::Http10).with_keep_alive(false);
        assert!(text(&old).starts_with("GET /1024 HTTP/1.0\r\n"));
        assert!(text(&old).ends_with("\r\nConnection: close\r\n\r\n"));
    }

    #[test]
    fn http_1_0_must_ask_to_keep_the_connection() {
        let request = get().with_version(Version::Http10);
        assert!(text(&request).ends_with("\r\nConnection: keep-alive\r\n\r\n"));
    }

    #[test]
    fn a_post_tells_the_length_of_its_content() {
        let post = Request::new(Method::Post, "/form", "h").unwrap().with_content(1_024);
        assert!(text(&post).starts_with("POST /form HTTP/1.1\r\n"));
        assert!(text(&post).ends_with("\r\nContent-Length: 1024\r\n\r\n"));
    }

    #[test]
    fn given_headers_replace_the_clients_own() {
        let request = get().with_header("user-agent", "probe 1").unwrap().with_header("X-Id", "7").unwrap();
        assert!(text(&request).ends_with("\r\nAccept: */*\r\nuser-agent: probe 1\r\nX-Id: 7\r\n\r\n"));
        assert!(!text(&request).contains("wasp/"));
    }

    #[test]
    fn a_target_that_could_end_its_line_is_refused() {
        for target in ["", "1024", "/a b", "/a\r\nX: y", "/a\n", "/ä", "/a#b", "/\0"] {
            let refused = Request::new(Method::Get, target, "h").unwrap_err();
            assert_eq!(refused, InvalidRequest::Target(target.to_owned()));
        }
        assert!(Request::new(Method::Get, "/a?b=%20&c[]={}", "h").is_ok());
    }

    #[test]
    fn a_host_that_could_end_its_line_is_refused() {
        for host in ["", "a b", "a\r\n", "a/b", "user@a", "ä"] {
            let refused = Request::new(Method::Head, "/", host).unwrap_err();
            assert_eq!(refused, InvalidRequest::Host(host.to_owned()));
        }
        assert!(Request::new(Method::Head, "/", "[2001:db8::1]:80").is_ok());
    }

    #[test]
    fn a_header_that_could_end_its_line_or_that_the_client_derives_is_refused() {
        for name in ["", "a b", "a:", "a\r\n", "ä"] {
            assert!(matches!(get().with_header(name, "x"), Err(InvalidRequest::HeaderName(_))), "{name:?}");
        }
        for value in ["a\r\nb", "a\n", "\0", " a", "a\t", "ä"] {
            assert!(
                matches!(get().with_header("a", value), Err(InvalidRequest::HeaderValue { .. })),
                "{value:?}"
            );
        }
        for name in RESERVED {
            let name = name.to_uppercase();
            assert!(
                matches!(get().with_header(&name, "x"), Err(InvalidRequest::ReservedHeader(_))),
                "{name}"
            );
        }
    }
}
