//! The cookies of a client: what it keeps, and what it sends with which request (RFC 6265).

use proptest::prelude::*;
use wasp_http::{CookieJar, MOST_COOKIE_BYTES, MOST_COOKIES};
use wasp_units::{Duration, Instant};

const DATE: &[u8] = b"Mon, 30 Nov 2026 12:00:00 GMT";

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

/// The cookies after responses to requests for `/shop/cart?x` with these fields.
fn jar(fields: &[&str]) -> CookieJar {
    let mut jar = CookieJar::default();
    fields.iter().for_each(|field| jar.set(field.as_bytes(), b"/shop/cart?x=/y", Some(DATE), at(0)));
    jar
}

/// What is sent with a request for `target`, without the name of the field.
fn sent(jar: &CookieJar, target: &str, now: Instant) -> String {
    let mut line = Vec::new();
    jar.write(target.as_bytes(), now, &mut line);
    let line = String::from_utf8(line).unwrap();
    let inner = line.strip_prefix("Cookie: ").and_then(|rest| rest.strip_suffix("\r\n"));
    inner.map_or_else(|| if line.is_empty() { String::new() } else { panic!("{line:?}") }, String::from)
}

#[test]
fn a_cookie_is_sent_until_another_value_or_its_end_comes() {
    let mut kept = jar(&["id=1; Path=/; HttpOnly; Secure; SameSite=Lax", "b=x y"]);
    assert_eq!((kept.len(), kept.is_empty()), (2, false));
    assert_eq!(sent(&kept, "/shop/", at(9)), "b=x y; id=1");
    kept.set(b"id=2; path=/", b"/", None, at(10));
    assert_eq!(sent(&kept, "/", at(11)), "id=2");
    kept.set(b"id=; Path=/; Max-Age=0", b"/", None, at(12));
    assert_eq!((sent(&kept, "/", at(13)), kept.len()), (String::new(), 1));
}

#[test]
fn a_cookie_is_for_its_path_and_what_is_below() {
    let kept = jar(&[
        "a=1; Path=/",
        "b=2; Path=/shop",
        "c=3; Path=/shop/",
        "d=4",
        "e=5; Path=cart",
        "f=6; Path=/shop",
    ]);
    // Longer paths come first; those without a path, or with one that is none, have that of the request that brought them.
    for (target, expected) in [
        ("/", "a=1"),
        ("/shop", "b=2; d=4; e=5; f=6; a=1"),
        ("/shop/", "c=3; b=2; d=4; e=5; f=6; a=1"),
        ("/shop/x?y", "c=3; b=2; d=4; e=5; f=6; a=1"),
        ("/shopping", "a=1"),
        ("/?of=/shop", "a=1"),
    ] {
        assert_eq!(sent(&kept, target, at(1)), expected, "{target}");
    }
    let mut top = CookieJar::default();
    top.set(b"a=1", b"/login", None, at(0));
    assert_eq!(sent(&top, "/anything", at(1)), "a=1");
}

#[test]
fn a_lifetime_counts_from_the_response_and_a_date_by_the_servers_clock() {
    let kept = jar(&[
        "age=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
        "date=1; Expires=Mon, 30 Nov 2026 12:00:30 GMT",
        "old=1; Expires=Mon, 30 Nov 2026 11:59:59 GMT",
        "gone=1; Max-Age=-1",
        "odd=1; Max-Age=soon; Expires=later",
        "last=1; Max-Age=1; max-age=90; Max-Age=",
        "long=1; Max-Age=99999999999999999999; Expires=Thu, 1 Jan 1970 00:00:00 GMT",
    ]);
    assert_eq!(sent(&kept, "/shop/", at(29)), "age=1; date=1; odd=1; last=1; long=1");
    assert_eq!(sent(&kept, "/shop/", at(30)), "age=1; odd=1; last=1; long=1");
    assert_eq!(sent(&kept, "/shop/", at(89)), "odd=1; last=1; long=1");
    assert_eq!(sent(&kept, "/shop/", at(90)), "odd=1; long=1");
    // Without the response's own date, what was over long ago is over.
    let mut undated = CookieJar::default();
    undated.set(b"a=1; Expires=Thu, 01-Jan-1970 00:00:00 GMT", b"/", None, at(0));
    undated.set(b"b=1; Expires=Thu, 01 Jan 2027 00:00:00 GMT", b"/", Some(b"today"), at(0));
    assert_eq!(sent(&undated, "/", at(3_600)), "b=1");
}

#[test]
fn what_is_no_cookie_or_cannot_be_sent_is_passed_over() {
    let long = format!("a={}", "x".repeat(MOST_COOKIE_BYTES));
    for field in ["", "a", "=b", ";", "; Path=/", "a=\u{1}", "a=x\ry", &long] {
        assert!(jar(&[field]).is_empty(), "{field:?}");
    }
    // Other bytes than ASCII are the application's.
    assert_eq!(sent(&jar(&["\u{e4}=\u{f6}"]), "/shop/", at(0)), "\u{e4}=\u{f6}");
    let mut kept = CookieJar::default();
    kept.set(b"a=\xff", b"/", None, at(0));
    assert_eq!(kept.len(), 1);
    let longest = format!("a={}", "x".repeat(MOST_COOKIE_BYTES - 1));
    assert_eq!(sent(&jar(&[&longest]), "/shop/", at(0)), longest);
}

#[test]
fn the_oldest_cookie_makes_room() {
    let names: Vec<String> = (0..MOST_COOKIES).map(|name| format!("c{name}={name}; Path=/")).collect();
    let mut kept = jar(&["long=1; Path=/shop/cart/all"]);
    names.iter().for_each(|field| kept.set(field.as_bytes(), b"/", None, at(0)));
    assert_eq!(kept.len(), MOST_COOKIES);
    assert!(sent(&kept, "/shop/cart/all", at(0)).starts_with("c0=0; c1=1; "));
    // One that is set again is the newest, and keeps its place.
    kept.set(b"c0=new; Path=/", b"/", None, at(0));
    kept.set(b"more=1; Path=/", b"/", None, at(0));
    assert!(sent(&kept, "/", at(0)).starts_with("c0=new; c2=2; "));
    // One that is over makes room before.
    kept.set(b"brief=1; Max-Age=1", b"/", None, at(1));
    kept.set(b"new=1", b"/", None, at(2));
    let line = sent(&kept, "/", at(2));
    assert!(
        line.starts_with("c0=new; c3=3; ") && line.ends_with("; new=1") && !line.contains("brief"),
        "{line}"
    );
}

#[test]
fn a_long_path_does_not_count() {
    let long = format!("/{}", "x".repeat(2_000));
    let kept = jar(&[&format!("a=1; Path={long}")]);
    assert_eq!(sent(&kept, "/shop/", at(0)), "a=1", "the path of the request counts");
    let mut below = CookieJar::default();
    below.set(b"a=1", format!("{long}/y").as_bytes(), None, at(0));
    assert!(below.is_empty());
}

proptest! {
    #[test]
    fn any_fields_leave_a_line_that_can_be_sent(
        fields in prop::collection::vec("[a-c=; /\u{e4}\u{1}-]{0,12}(Path=[/a]{0,3}|Max-Age=[0-9-]{0,20}|Expires=.{0,9})?", 0..60),
        target in "/[a/?]{0,5}",
    ) {
        let mut jar = CookieJar::default();
        for (second, field) in (0..).zip(&fields) {
            jar.set(field.as_bytes(), target.as_bytes(), Some(field.as_bytes()), at(second));
            prop_assert!(jar.len() <= MOST_COOKIES);
        }
        let mut line = Vec::new();
        jar.write(target.as_bytes(), at(60), &mut line);
        let text = line.strip_suffix(b"\r\n").unwrap_or(&line);
        prop_assert!(text.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | 0x80..)));
        prop_assert_eq!(line.is_empty(), text.is_empty());
    }
}
