//! The cookies of one client and one host.
//!
//! Source: RFC 6265, sections 5.1.1 (dates), 5.1.4 (paths), 5.2 (`Set-Cookie`), 5.3 (storage) and 5.4 (`Cookie`). The client knows one host, so
//! `Domain` changes nothing; `Secure` and `HttpOnly` do not either, since an application may stand behind a proxy that ends TLS. If there are too
//! many cookies, the one goes that was set longest ago, whenever it was sent.

use wasp_units::{Duration, Instant};

/// Most cookies of a client; RFC 6265, section 6.1 asks for at least so many.
pub const MOST_COOKIES: usize = 50;
/// Most bytes of a cookie's name and value together, as in browsers. A longer one is not kept.
pub const MOST_COOKIE_BYTES: usize = 4_096;
/// Most bytes of a path, as in browsers. A longer one does not count.
const MOST_PATH: usize = 1_024;

/// Seconds from 1970 to a date that has passed, for responses that do not tell their own.
const YEAR_2000: i64 = 946_684_800;

/// Cookies in the order in which they are sent: those of longer paths first, of one length in the order in which they were first set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CookieJar {
    cookies: Vec<Cookie>,
    /// How often a cookie was set.
    count: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Cookie {
    /// `name=value`, as it is sent.
    pair: Box<[u8]>,
    /// Length of the name.
    name: usize,
    path: Box<[u8]>,
    /// When it is no longer sent.
    until: Instant,
    /// How many cookies had been set when it was.
    set: u64,
}

/// What a `Set-Cookie` field says.
#[derive(Debug, Default)]
struct SetCookie<'a> {
    name: &'a [u8],
    value: &'a [u8],
    path: Option<&'a [u8]>,
    /// Seconds.
    max_age: Option<i64>,
    /// Seconds from 1970.
    expires: Option<i64>,
}

impl CookieJar {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.cookies.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.cookies.is_empty()
    }

    /// Takes the value of a `Set-Cookie` field of the response to a request for `target`, which came at `now`; `date` is the value of its `Date`
    /// field. What is no cookie is passed over, as is one that is too long.
    pub fn set(&mut self, field: &[u8], target: &[u8], date: Option<&[u8]>, now: Instant) {
        let Some(set) = SetCookie::parse(field) else { return };
        let path = set.path.unwrap_or_else(|| default_path(target));
        if path.len() > MOST_PATH {
            return;
        }
        self.cookies.retain(|cookie| cookie.until > now);
        let is_it = |cookie: &Cookie| cookie.pair[..cookie.name] == *set.name && *cookie.path == *path;
        let known = self.cookies.iter().position(is_it);
        let Some(until) = set.until(date, now) else {
            known.map(|place| self.cookies.remove(place));
            return;
        };
        self.count += 1;
        let pair = [set.name, b"=", set.value].concat().into();
        let cookie = Cookie { pair, name: set.name.len(), path: path.into(), until, set: self.count };
        if let Some(place) = known {
            // It keeps its place (section 5.3, step 11.3).
            self.cookies[place] = cookie;
            return;
        }
        if self.cookies.len() == MOST_COOKIES {
            let oldest = self.cookies.iter().enumerate().min_by_key(|(_, cookie)| cookie.set);
            oldest.map(|(place, _)| place).map(|place| self.cookies.remove(place));
        }
        let place = self.cookies.partition_point(|cookie| cookie.path.len() >= path.len());
        self.cookies.insert(place, cookie);
    }

    /// Appends the line of the `Cookie` field of a request for `target` at `now`; nothing, if no cookie is for it.
    pub fn write(&self, target: &[u8], now: Instant, line: &mut Vec<u8>) {
        let path = path_of(target);
        let sent = self.cookies.iter().filter(|cookie| cookie.until > now && is_below(path, &cookie.path));
        let start = line.len();
        for cookie in sent {
            line.extend_from_slice(if line.len() == start { b"Cookie: " } else { b"; " });
            line.extend_from_slice(&cookie.pair);
        }
        if line.len() > start {
            line.extend_from_slice(b"\r\n");
        }
    }
}

impl<'a> SetCookie<'a> {
    /// Reads a field (section 5.2); nothing, if it has no name, cannot be sent back, or is too long.
    fn parse(field: &'a [u8]) -> Option<Self> {
        let mut parts = field.split(|byte| *byte == b';');
        let (name, value) = split_at(parts.next()?, b'=')?;
        // A field may have other bytes than ASCII (RFC 9110, section 5.5).
        let can_be_sent = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t' | 0x80..);
        let is_kept =
            name.iter().chain(value).all(can_be_sent) && name.len() + value.len() <= MOST_COOKIE_BYTES;
        if name.is_empty() || !is_kept {
            return None;
        }
        // Of several attributes of one name, the last counts.
        let mut set = Self { name, value, ..Self::default() };
        for part in parts {
            let (name, value) = split_at(part, b'=').unwrap_or((part.trim_ascii(), b""));
            if name.eq_ignore_ascii_case(b"path") {
                set.path = Some(value).filter(|path| path.starts_with(b"/") && path.len() <= MOST_PATH);
            } else if name.eq_ignore_ascii_case(b"max-age") {
                set.max_age = seconds(value).or(set.max_age);
            } else if name.eq_ignore_ascii_case(b"expires") {
                set.expires = date_of(value).or(set.expires);
            }
        }
        Some(set)
    }

    /// When it is over (section 5.3, step 3); `None`, if it is over already. The server's own clock says when a date is.
    fn until(&self, date: Option<&[u8]>, now: Instant) -> Option<Instant> {
        let since = |expires: i64| expires - date.and_then(date_of).unwrap_or(YEAR_2000);
        let Some(lifetime) = self.max_age.or(self.expires.map(since)) else { return Some(Instant::MAX) };
        let lifetime = u64::try_from(lifetime).ok().filter(|lifetime| *lifetime > 0)?;
        Some(now.saturating_add(Duration::from_nanos(lifetime.saturating_mul(1_000_000_000))))
    }
}

/// The texts before and behind the first such byte, without blanks around them.
fn split_at(text: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let place = memchr::memchr(byte, text)?;
    Some((text[..place].trim_ascii(), text[place + 1..].trim_ascii()))
}

/// A whole number of seconds (section 5.2.2); one that is too large is as long as can be.
fn seconds(text: &[u8]) -> Option<i64> {
    let (sign, digits) = text.strip_prefix(b"-").map_or((1, text), |digits| (-1, digits));
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| {
        sign * std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok()).unwrap_or(i64::MAX)
    })
}

/// Seconds from 1970 to a date in any of the forms that servers use (section 5.1.1).
fn date_of(text: &[u8]) -> Option<i64> {
    const MONTHS: [&[u8; 3]; 12] =
        [b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec"];
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b':' || *byte >= 0x7f;
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in text.split(|byte| !is_part(byte)).filter(|token| !token.is_empty()) {
        let named = || {
            MONTHS
                .iter()
                .position(|month| token.get(..3).is_some_and(|begin| begin.eq_ignore_ascii_case(*month)))
        };
        if time.is_none() && time_in(token).is_some() {
            time = time_in(token);
        } else if day.is_none() && number_in(token, 1..=2).is_some() {
            day = number_in(token, 1..=2);
        } else if month.is_none() && named().is_some() {
            month = named();
        } else if year.is_none() {
            year = number_in(token, 2..=4);
        }
    }
    let (seconds, day, month) = (time?, day?, month? as i64);
    let year = match year? {
        year @ 70..=99 => year + 1_900,
        year @ 0..=69 => year + 2_000,
        year => year,
    };
    let (next_year, next_month) = if month == 11 { (year + 1, 1) } else { (year, month + 2) };
    let length = days(next_year, next_month, 1) - days(year, month + 1, 1);
    let is_date = year >= 1_601 && (1..=length).contains(&day);
    is_date.then(|| days(year, month + 1, day) * 86_400 + seconds)
}

/// The number that a token begins with, if that has so many digits.
fn number_in(token: &[u8], digits: std::ops::RangeInclusive<usize>) -> Option<i64> {
    let length = token.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let text = std::str::from_utf8(&token[..length]).ok().filter(|_| digits.contains(&length))?;
    text.parse().ok()
}

/// Seconds of the day in a token such as `12:30:00`, behind which other characters may stand.
fn time_in(token: &[u8]) -> Option<i64> {
    let mut parts = token.splitn(3, |byte| *byte == b':');
    let whole = |part: &[u8]| number_in(part, 1..=2).filter(|_| part.iter().all(u8::is_ascii_digit));
    let (hour, minute) = (whole(parts.next()?)?, whole(parts.next()?)?);
    let second = number_in(parts.next()?, 1..=2)?;
    (hour <= 23 && minute <= 59 && second <= 59).then_some((hour * 60 + minute) * 60 + second)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar (Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The path of a target, without its query.
fn path_of(target: &[u8]) -> &[u8] {
    &target[..memchr::memchr(b'?', target).unwrap_or(target.len())]
}

/// The path of cookies that do not tell it, from the target of the request that brought them (section 5.1.4).
fn default_path(target: &[u8]) -> &[u8] {
    let path = path_of(target);
    match memchr::memrchr(b'/', path) {
        None | Some(0) => b"/",
        Some(last) => &path[..last],
    }
}

/// Whether cookies of the path `above` are for `path` (section 5.1.4).
fn is_below(path: &[u8], above: &[u8]) -> bool {
    path.strip_prefix(above)
        .is_some_and(|rest| rest.is_empty() || above.ends_with(b"/") || rest.starts_with(b"/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_in_all_forms_that_servers_use() {
        for (text, seconds) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thu, 1 Jan 1970 00:00:01 UTC", 1),
            ("Thu, 01-Jan-70 00:00:10 GMT", 10),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777),
            ("Sun, 06 Nov 1994 08:49:37 +0000", 784_111_777),
            ("Tue, 29 February 2000 12:00:00 GMT", 951_825_600),
            ("Mon, 30 Nov 2026 12:00:00 GMT", 1_796_040_000),
            ("1 Jan 1970 00:00:07.5 GMT", 7),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
            ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
            ("30 Nov 69 00:00:00", 3_152_995_200),
        ] {
            assert_eq!(date_of(text.as_bytes()), Some(seconds), "{text}");
        }
        for text in [
            "",
            "soon",
            "0",
            "01 Jan 1970",
            "01 Foo 1970 00:00:00",
            "32 Jan 1970 00:00:00",
            "31 Apr 2026 00:00:00",
            "29 Feb 2026 00:00:00",
            "0 Jan 2026 00:00:00",
            "01 Jan 1970 0x:00:00",
            "01 Jan 1600 00:00:00",
            "01 Jan 1970 24:00:00",
            "01 Jan 1970 00:60:00",
            "01 Jan 1970 00:00",
            "Jan 1970 00:00:00",
            "01 Jan 00:00:00",
        ] {
            assert_eq!(date_of(text.as_bytes()), None, "{text}");
        }
    }
}
