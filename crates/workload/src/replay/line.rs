//! One line of an access log, or of a list of URLs.

use super::date;

/// What a line asks for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Entry<'a> {
    /// The target of the request, from its slash.
    pub(super) target: &'a str,
    /// The status of the response; 200 in a list of URLs.
    pub(super) status: u16,
    /// Whether it was a GET.
    pub(super) get: bool,
    /// Bytes of the body, where they are known.
    pub(super) bytes: Option<u64>,
    /// When, in nanoseconds since any origin.
    pub(super) nanos: Option<i64>,
}

/// Why a line makes no sense.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Problem {
    /// It has more than 64 KiB.
    #[error("longer than 64 KiB")]
    TooLong,
    /// No time in brackets where one belongs.
    #[error("no time such as [10/Oct/2000:13:55:36 -0700]")]
    NoTime,
    /// No quoted request after the time.
    #[error("no request such as \"GET /index.html HTTP/1.0\"")]
    NoRequest,
    /// The target is not a path or an HTTP URL of visible characters.
    #[error("no path or http URL of visible ASCII characters")]
    BadTarget,
    /// No status of three digits after the request.
    #[error("no status from 100 to 599")]
    NoStatus,
    /// No number of bytes, and no `-` for none, after the status.
    #[error("no number of bytes, and no - for none")]
    NoBytes,
    /// The time of a URL is not a decimal number of seconds.
    #[error("the time is no number of seconds such as 1.25, from 0 to 1000000000")]
    BadSeconds,
    /// More fields than a URL, a time and a size.
    #[error("more than a URL, a time and a size")]
    TooManyFields,
    /// Only some lines of the list have a time.
    #[error("a time is missing here or on the lines before")]
    MixedTimes,
    /// The line is earlier than the one before.
    #[error("earlier than the line before")]
    Backwards,
}

/// Parses a line in the common log format or in one that continues it, such as the combined one:
///
/// ```text
/// host ident user [10/Oct/2000:13:55:36 -0700] "GET /index.html HTTP/1.0" 200 2326 "referer" "agent"
/// ```
///
/// # Errors
/// The first part that is missing.
pub(super) fn parse_log(line: &[u8]) -> Result<Entry<'_>, Problem> {
    let (_, rest) = split_once(line, b" [").ok_or(Problem::NoTime)?;
    let (time, rest) = split_once(rest, b"] ").ok_or(Problem::NoTime)?;
    let nanos = date::seconds(time).ok_or(Problem::NoTime)? * 1_000_000_000;
    let (request, rest) = quoted(rest).ok_or(Problem::NoRequest)?;
    let rest = rest.strip_prefix(b" ").ok_or(Problem::NoStatus)?;
    let (status, rest) = word(rest);
    let status = number(status).filter(|status| (100..600).contains(status)).ok_or(Problem::NoStatus)?;
    let bytes = match word(rest).0 {
        b"-" => None,
        digits => Some(number(digits).ok_or(Problem::NoBytes)?),
    };
    let (method, rest) = word(request);
    if method.is_empty() || !method.iter().all(u8::is_ascii_uppercase) {
        return Err(Problem::NoRequest);
    }
    let get = method == b"GET";
    let (uri, version) = word(rest);
    if !(version.is_empty() || version.starts_with(b"HTTP/")) {
        return Err(Problem::NoRequest);
    }
    // Other methods are not asked for again, so their targets may be what they like (OPTIONS *, CONNECT host).
    let target = if get { target(uri).ok_or(Problem::BadTarget)? } else { "/" };
    Ok(Entry { target, status: status as u16, get, bytes, nanos: Some(nanos) })
}

/// Parses a line of a list of URLs: `URL`, `URL SECONDS` or `URL SECONDS BYTES`, where `-` stands for seconds that are not
/// known.
///
/// # Errors
/// The first field that makes no sense.
pub(super) fn parse_url(line: &[u8]) -> Result<Entry<'_>, Problem> {
    let mut fields = line.split(|byte| byte.is_ascii_whitespace()).filter(|field| !field.is_empty());
    let target = fields.next().and_then(target).ok_or(Problem::BadTarget)?;
    let nanos = match fields.next() {
        None | Some(b"-") => None,
        Some(seconds) => Some(nanos(seconds).ok_or(Problem::BadSeconds)?),
    };
    let bytes = fields.next().map(|bytes| number(bytes).ok_or(Problem::NoBytes)).transpose()?;
    if fields.next().is_some() {
        return Err(Problem::TooManyFields);
    }
    Ok(Entry { target, status: 200, get: true, bytes, nanos })
}

/// The path and query of a URL, as they go into a request.
fn target(url: &[u8]) -> Option<&str> {
    let path = match url.first()? {
        b'/' => url,
        _ => {
            let scheme = url.iter().position(|&byte| byte == b':')?;
            let (scheme, rest) = url.split_at(scheme);
            if !(scheme.eq_ignore_ascii_case(b"http") || scheme.eq_ignore_ascii_case(b"https")) {
                return None;
            }
            let authority = rest.strip_prefix(b"://")?;
            match authority.iter().position(|byte| b"/?#".contains(byte)) {
                Some(0) => return None,
                Some(end) if authority[end] == b'/' => &authority[end..],
                Some(_) => return None,
                None if authority.is_empty() => return None,
                None => b"/",
            }
        }
    };
    // A fragment is not sent.
    let end = path.iter().position(|&byte| byte == b'#').unwrap_or(path.len());
    let path = &path[..end];
    path.iter().all(u8::is_ascii_graphic).then(|| std::str::from_utf8(path).ok()).flatten()
}

/// A decimal number of seconds in nanoseconds, up to a billion seconds; digits beyond nanoseconds are cut off.
fn nanos(text: &[u8]) -> Option<i64> {
    let point = text.iter().position(|&byte| byte == b'.').unwrap_or(text.len());
    let fraction = text.get(point + 1..).unwrap_or_default();
    if point < text.len() && fraction.is_empty() || !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let whole = number(&text[..point]).filter(|&whole| whole <= 1_000_000_000)?;
    let digits = fraction.iter().chain(std::iter::repeat(&b'0')).take(9);
    let part = digits.fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    Some(whole as i64 * 1_000_000_000 + part)
}

fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(digits.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')))
}

fn split_once<'a>(text: &'a [u8], separator: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let place = text.windows(separator.len()).position(|window| window == separator)?;
    Some((&text[..place], &text[place + separator.len()..]))
}

/// The text between quotes and what follows them. A quote inside has a backslash before it.
fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.strip_prefix(b"\"")?;
    let mut escaped = false;
    for (place, &byte) in text.iter().enumerate() {
        match byte {
            b'"' if !escaped => return Some((&text[..place], &text[place + 1..])),
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    None
}

/// The text before the first space and what follows it.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    split_once(text, b" ").unwrap_or((text, b""))
}
