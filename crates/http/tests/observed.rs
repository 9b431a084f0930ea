//! What is looked for in responses while they are read: the same whatever the pieces, and nothing from outside breaks it.

use proptest::prelude::*;
use wasp_http::{
    Between, Event, LastHead, MOST_CAPTURED, Method, Observer, Pattern, Piece, ResponseReader, Search,
};

/// Keeps what it is shown.
#[derive(Debug, Default, PartialEq, Eq)]
struct Kept {
    head: Vec<u8>,
    body: Vec<u8>,
    counted: u64,
}

impl Observer for Kept {
    fn head(&mut self, bytes: &[u8]) {
        self.head.extend_from_slice(bytes);
    }
    fn body(&mut self, bytes: &[u8]) {
        self.body.extend_from_slice(bytes);
    }
    fn counted(&mut self, count: u64) {
        self.counted += count;
    }
}

/// What an observer is shown of one response that comes in pieces of so many bytes.
fn shown(stream: &[u8], piece: usize) -> Kept {
    let (mut reader, mut last_head, mut kept) = (ResponseReader::new(), LastHead::default(), Kept::default());
    reader.begin(Method::Get);
    for mut rest in stream.chunks(piece) {
        loop {
            let (used, event) =
                reader.handle_observed(Piece::Bytes(rest), &mut last_head, &mut kept).unwrap();
            rest = &rest[used..];
            match event {
                Some(Event::Complete) => assert!(rest.is_empty()),
                Some(Event::Head(_)) => {}
                None => break,
            }
        }
    }
    assert!(reader.is_idle());
    kept
}

#[test]
fn an_observer_is_shown_the_final_head_and_the_body_without_framing() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunked =
        format!("HTTP/1.1 103 Early\r\nLink: a\r\n\r\n{head}3\r\nabc\r\n2;x\r\nde\r\n0\r\nT: 1\r\n\r\n");
    let plain = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    for piece in 1..chunked.len() + 1 {
        let kept = shown(chunked.as_bytes(), piece);
        assert_eq!((kept.head, kept.body, kept.counted), (head.into(), b"abcde".to_vec(), 0), "{piece}");
        let kept = shown(format!("{plain}abcde").as_bytes(), piece);
        assert_eq!((kept.head, kept.body, kept.counted), (plain.into(), b"abcde".to_vec(), 0), "{piece}");
    }
}

#[test]
fn a_counted_body_is_shown_as_counted() {
    let (mut reader, mut last_head, mut kept) = (ResponseReader::new(), LastHead::default(), Kept::default());
    reader.begin(Method::Get);
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    reader.handle_observed(Piece::Bytes(head), &mut last_head, &mut kept).unwrap();
    reader.handle_observed(Piece::Counted(5), &mut last_head, &mut kept).unwrap();
    assert_eq!((kept.counted, kept.body.len()), (5, 0));
}

/// Texts of few letters, so that they have beginnings in common with themselves.
fn text(longest: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(b"ab".to_vec()), 1..=longest)
}

fn find(body: &[u8], text: &[u8]) -> Option<usize> {
    body.windows(text.len()).position(|window| window == text)
}

proptest! {
    #[test]
    fn a_text_is_found_over_every_split(body in text(60), wanted in text(6), piece in 1_usize..20) {
        let pattern = Pattern::new(&wanted);
        let (mut search, mut end, mut before) = (Search::default(), None, 0);
        for bytes in body.chunks(piece) {
            end = end.or(search.handle(&pattern, bytes).map(|place| before + place));
            before += bytes.len();
        }
        prop_assert_eq!(end, find(&body, &wanted).map(|place| place + wanted.len()));
        prop_assert_eq!(search.is_found(&pattern), end.is_some());
    }
}

/// What stands between two texts in a body that comes in pieces of so many bytes.
fn between(body: &[u8], texts: (&[u8], &[u8]), piece: usize) -> Option<Vec<u8>> {
    let (after, before) = (Pattern::new(texts.0), Pattern::new(texts.1));
    let mut between = Between::default();
    body.chunks(piece).for_each(|bytes| between.handle(&after, &before, bytes));
    between.into_value().map(Vec::from)
}

proptest! {
    #[test]
    fn a_value_between_texts_is_found_over_every_split(
        body in text(60), after in text(4), before in text(4), piece in 1_usize..20,
    ) {
        let start = find(&body, &after).map(|place| place + after.len());
        let expected = start.and_then(|start| {
            let end = find(&body[start..], &before)?;
            Some(body[start..start + end].to_vec())
        });
        prop_assert_eq!(between(&body, (&after, &before), piece), expected);
    }
}

#[test]
fn a_value_has_so_many_bytes_at_most() {
    let body = |length: usize| [b"id=<", &vec![b'x'; length][..], b">>, id=<y>>"].concat();
    for piece in [1, 1_000, 10_000] {
        let found = between(&body(MOST_CAPTURED), (b"<", b">>"), piece);
        assert_eq!(found.map(|value| value.len()), Some(MOST_CAPTURED));
        assert_eq!(between(&body(MOST_CAPTURED + 1), (b"<", b">>"), piece), None);
    }
    assert_eq!(between(b"id=<>>", (b"<", b">>"), 2), Some(Vec::new()));
    assert_eq!(between(b"id=<abc", (b"<", b">>"), 2), None);
}

#[test]
fn no_value_reaches_over_bytes_that_nobody_kept() {
    let (after, before) = (Pattern::new(b"ab"), Pattern::new(b"c"));
    let value = |begin: &[u8], end: &[u8]| {
        let mut between = Between::default();
        between.handle(&after, &before, begin);
        between.skip(&after);
        between.handle(&after, &before, end);
        between.into_value().map(Vec::from)
    };
    assert_eq!(value(b"ab1", b"2c ab3c"), None);
    assert_eq!(value(b"a", b"b1c"), None);
    assert_eq!(value(b"a", b"ab1c"), Some(b"1".to_vec()));
    assert_eq!(value(b"ab1c", b"2c"), Some(b"1".to_vec()));
}

#[test]
fn bytes_that_nobody_kept_match_nothing() {
    let pattern = Pattern::new(b"abab");
    let mut search = Search::default();
    search.handle(&pattern, b"xaba");
    search.skip(&pattern);
    assert_eq!((search.handle(&pattern, b"b"), search.is_found(&pattern)), (None, false));
    assert_eq!((search.handle(&pattern, b"ababx"), search.is_found(&pattern)), (Some(4), true));
    search.skip(&pattern);
    assert!(search.is_found(&pattern));
}

#[test]
fn every_method_has_its_token() {
    for method in Method::ALL {
        assert_eq!(Method::from_token(method.as_str()), Some(method));
    }
    assert_eq!((Method::from_token("get"), Method::from_token("OPTIONS")), (None, None));
    let repeated: Vec<_> = Method::ALL.into_iter().filter(|method| method.is_idempotent()).collect();
    assert_eq!(repeated, [Method::Get, Method::Head, Method::Put, Method::Delete]);
}
