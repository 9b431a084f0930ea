//! The head of a response: status, version, and what its fields say about the body's length and the connection's reuse
//! (RFC 9112, sections 6 and 9.3).

use std::mem::MaybeUninit;

use httparse::{Error, Header, ParserConfig, Response, Status};

use crate::{Malformed, Method, Version};

/// Fields parsed without allocating; a head with more of them is legal and takes a second pass.
const USUAL_FIELDS: usize = 48;

/// How a response's body ends (RFC 9112, section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// There is no body, whatever the fields say: the answer to HEAD, and status 204 and 304.
    None,
    /// After this many bytes.
    Length(u64),
    /// With a chunk of size zero and a trailer section.
    Chunked,
    /// When the connection closes.
    Close,
}

/// What a final response's head says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The status code, from 200 to 999 in an event: interim responses are skipped.
    pub status: u16,
    /// The version of the sender.
    pub version: Version,
    /// How the body ends.
    pub framing: Framing,
    /// Whether the connection can carry another response after this one.
    pub keep_alive: bool,
}

impl Head {
    /// Parses a complete head, blank line included, of the response to a request made with `method`.
    pub(crate) fn parse(bytes: &[u8], method: Method) -> Result<Self, Malformed> {
        let mut usual = [const { MaybeUninit::uninit() }; USUAL_FIELDS];
        let parsed = match Self::parse_with(&mut usual, bytes, method) {
            Err(Error::TooManyHeaders) => {
                let lines = bytes.iter().filter(|&&byte| byte == b'\n').count();
                Self::parse_with(&mut vec![MaybeUninit::uninit(); lines], bytes, method)
            }
            parsed => parsed,
        };
        match parsed {
            Ok((length, head)) if length == bytes.len() => head,
            Ok(_) => Err(Malformed::LineEnding),
            Err(error) => Err(refusal(error)),
        }
    }

    /// Parses the head that `bytes` begin with, if it is complete and nothing is unusual about it; returns also its length.
    fn parse_prefix(bytes: &[u8], method: Method) -> Option<(usize, Self)> {
        let mut usual = [const { MaybeUninit::uninit() }; USUAL_FIELDS];
        let (length, head) = Self::parse_with(&mut usual, bytes, method).ok()?;
        Some((length, head.ok()?))
    }

    /// The length of the head and what it says. The outer error is the parser's, the inner one ours.
    fn parse_with<'b>(
        fields: &mut [MaybeUninit<Header<'b>>],
        bytes: &'b [u8],
        method: Method,
    ) -> Result<(usize, Result<Self, Malformed>), Error> {
        let mut response = Response::new(&mut []);
        // A user agent replaces a folded line by a space (RFC 9112, section 5.2).
        let parsed = ParserConfig::default()
            .allow_obsolete_multiline_headers_in_responses(true)
            .parse_response_with_uninit_headers(&mut response, bytes, fields)?;
        let Status::Complete(length) = parsed else { return Err(Error::NewLine) };
        let (Some(status @ 100..), Some(minor)) = (response.code, response.version) else {
            return Err(Error::Status);
        };
        let version = if minor == 0 { Version::Http10 } else { Version::Http11 };
        let head = Fields::collect(response.headers).and_then(|fields| fields.head(status, version, method));
        Ok((length, head))
    }
}

/// The head that was read last, by any of the readers that share it. While clients ask for one file the server sends the same head again
/// and again, with another `Date` once a second, and to compare costs less than to parse.
#[derive(Debug, Default)]
pub struct LastHead {
    bytes: Vec<u8>,
    says: Option<(Method, Head)>,
}

impl LastHead {
    /// The length and the meaning of the head that `bytes` begin with, if it is complete and nothing is unusual about it.
    #[inline]
    pub(crate) fn read(&mut self, bytes: &[u8], method: Method) -> Option<(usize, Head)> {
        if let Some((of, head)) = self.says
            && of == method
            && bytes.starts_with(&self.bytes)
        {
            return Some((self.bytes.len(), head));
        }
        self.read_anew(bytes, method)
    }

    /// The same of a head that is not the last one again.
    #[inline(never)]
    fn read_anew(&mut self, bytes: &[u8], method: Method) -> Option<(usize, Head)> {
        let (length, head) = Head::parse_prefix(bytes, method)?;
        self.bytes.clear();
        self.bytes.extend_from_slice(&bytes[..length]);
        self.says = Some((method, head));
        Some((length, head))
    }
}

fn refusal(error: Error) -> Malformed {
    match error {
        Error::Version => Malformed::Version,
        Error::Status | Error::Token => Malformed::StatusLine,
        Error::HeaderName | Error::HeaderValue | Error::TooManyHeaders => Malformed::Field,
        Error::NewLine => Malformed::LineEnding,
    }
}

/// The fields that decide framing and reuse.
#[derive(Debug, Default)]
struct Fields {
    length: Option<Result<u64, Malformed>>,
    codings: Option<Codings>,
    close: bool,
    keep_alive: bool,
}

impl Fields {
    fn collect(headers: &[Header<'_>]) -> Result<Self, Malformed> {
        let mut fields = Self::default();
        for header in headers {
            let name = header.name;
            if name.eq_ignore_ascii_case("content-length") {
                fields.content_length(header.value);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                fields.codings.get_or_insert_default().extend(header.value)?;
            } else if name.eq_ignore_ascii_case("connection") {
                for option in list(header.value) {
                    fields.close |= option.eq_ignore_ascii_case(b"close");
                    fields.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            }
        }
        Ok(fields)
    }

    /// Repeated values must agree, in one field or in several (RFC 9112, section 6.3, rule 5).
    fn content_length(&mut self, value: &[u8]) {
        for element in value.split(|&byte| byte == b',') {
            let length = decimal(trim(element)).ok_or(Malformed::ContentLength);
            self.length = Some(match (self.length, length) {
                (None, length) => length,
                (Some(Ok(first)), Ok(length)) if first != length => Err(Malformed::ContentLengthsDiffer),
                (Some(Ok(_)), length) => length,
                (Some(Err(malformed)), _) => Err(malformed),
            });
        }
    }

    /// The rules of RFC 9112, section 6.3, in their order; a field that a rule overrides is not judged.
    fn head(self, status: u16, version: Version, method: Method) -> Result<Head, Malformed> {
        let persists = !self.close && (version == Version::Http11 || self.keep_alive);
        let (framing, sound) = if method == Method::Head || matches!(status, 100..=199 | 204 | 304) {
            (Framing::None, true)
        } else if let Some(codings) = self.codings {
            // Both fields, or a transfer coding before HTTP/1.1, may be an attempt to confuse (section 6.1): what
            // follows on the connection cannot be trusted.
            (codings.framing()?, self.length.is_none() && version == Version::Http11)
        } else if let Some(length) = self.length {
            (Framing::Length(length?), true)
        } else {
            (Framing::Close, true)
        };
        let keep_alive = persists && sound && framing != Framing::Close;
        Ok(Head { status, version, framing, keep_alive })
    }
}

/// The transfer codings of a message, in the order applied (RFC 9112, section 7).
#[derive(Debug, Default)]
struct Codings {
    any: bool,
    chunked: bool,
    chunked_last: bool,
}

impl Codings {
    fn extend(&mut self, value: &[u8]) -> Result<(), Malformed> {
        for coding in list(value) {
            let name = coding.split(|&byte| byte == b';').next().map(trim).unwrap_or_default();
            let chunked = name.eq_ignore_ascii_case(b"chunked");
            if chunked && (self.chunked || name.len() != coding.len()) {
                return Err(Malformed::TransferEncoding);
            }
            self.any = true;
            self.chunked |= chunked;
            self.chunked_last = chunked;
        }
        Ok(())
    }

    fn framing(&self) -> Result<Framing, Malformed> {
        match (self.any, self.chunked_last) {
            (false, _) => Err(Malformed::TransferEncoding),
            (true, true) => Ok(Framing::Chunked),
            (true, false) => Ok(Framing::Close),
        }
    }
}

/// The elements of a comma-separated list, empty ones left out (RFC 9110, section 5.6.1).
fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(trim).filter(|element| !element.is_empty())
}

/// Folded lines leave CR and LF inside a value, so these count as blanks too.
fn trim(bytes: &[u8]) -> &[u8] {
    bytes.trim_ascii()
}

fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, &byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}
