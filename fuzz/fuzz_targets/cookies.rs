//! Whatever responses set, a client keeps few cookies, and what it sends is one line that a head may have; a cookie that was just set is sent
//! below its path, and one that is set to end is gone.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wasp_http::{CookieJar, MOST_COOKIE_BYTES, MOST_COOKIES, fields};
use wasp_units::{Duration, Instant};

fn line_of(jar: &CookieJar, target: &[u8], now: Instant) -> Vec<u8> {
    let mut line = Vec::new();
    jar.write(target, now, &mut line);
    line
}

fuzz_target!(|data: &[u8]| {
    // A head with fields, and the target of its request.
    let end = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    let (target, head) = (&data[..end], &data[end..]);
    let mut jar = CookieJar::default();
    let date = fields(head).find(|(name, _)| name.eq_ignore_ascii_case(b"date")).map(|(_, value)| value);
    let mut now = Instant::ZERO;
    for (name, value) in fields(head) {
        assert!(!name.contains(&b'\n') && !value.contains(&b'\n'));
        now += Duration::from_secs(1);
        jar.set(value, target, date, now);
        assert!(jar.len() <= MOST_COOKIES);
        let line = line_of(&jar, target, now);
        assert!(line.len() <= MOST_COOKIES * (MOST_COOKIE_BYTES + 3) + 10);
        if !line.is_empty() {
            let text = line.strip_prefix(b"Cookie: ").and_then(|rest| rest.strip_suffix(b"\r\n"));
            let text = text.expect("a line of one field");
            assert!(text.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | 0x80..)));
        }
    }
    let mut plain = jar.clone();
    plain.set(b"fuzzed=1; Path=/", b"/", None, now);
    let is_sent = |jar: &CookieJar| line_of(jar, b"/", now).windows(8).any(|part| part == b"fuzzed=1");
    assert!(is_sent(&plain));
    plain.set(b"fuzzed=1; Path=/; Max-Age=0", b"/", None, now);
    assert!(!is_sent(&plain) || is_sent(&jar));
});
