//! Responses by the rules of RFC 9112, one by one, and those that break them.

use crate::driver::{Outcome, drive};
use wasp_http::{
    Eof, Event, Framing, Head, LINE_LIMIT, LastHead, Malformed, Method, Piece, ResponseReader, Version,
};

const OK: &str = "HTTP/1.1 200 OK\r\n";

fn with_fields(fields: &str, rest: &str) -> Vec<u8> {
    format!("{OK}{fields}\r\n{rest}").into_bytes()
}

/// One GET whose stream arrives whole.
fn read(stream: &[u8]) -> Outcome {
    drive(stream, &[Method::Get], &[], false)
}

#[track_caller]
fn only(stream: &[u8]) -> (Head, u64) {
    match read(stream).complete[..] {
        [response] => response,
        _ => panic!("{:?} for {:?}", read(stream), String::from_utf8_lossy(stream)),
    }
}

#[track_caller]
fn assert_malformed(stream: &[u8], expected: Malformed) {
    let text = String::from_utf8_lossy(&stream[..stream.len().min(200)]);
    assert_eq!(read(stream).end, Err(expected), "{text:?}");
    let cuts: Vec<usize> = (1..stream.len()).collect();
    assert_eq!(drive(stream, &[Method::Get], &cuts, false).end, Err(expected), "{text:?} byte by byte");
}

#[test]
fn a_content_length_delimits_the_body_and_keeps_the_connection() {
    let (head, body) = only(&with_fields("Content-Length: 5\r\n", "hello"));
    let framing = Framing::Length(5);
    assert_eq!(head, Head { status: 200, version: Version::Http11, framing, keep_alive: true });
    assert_eq!(body, 5);
}

#[test]
fn equal_content_lengths_count_as_one() {
    for fields in ["Content-Length: 2, 2\r\n", "content-length: 2\r\nCONTENT-LENGTH: 002\r\n"] {
        assert_eq!(only(&with_fields(fields, "ab")).0.framing, Framing::Length(2));
    }
}

#[test]
fn bad_content_lengths_are_malformed() {
    for value in ["", "-1", "+1", "1.0", "0x1", "1 1", "1,", ",1", "18446744073709551616", "x"] {
        assert_malformed(&with_fields(&format!("Content-Length: {value}\r\n"), ""), Malformed::ContentLength);
    }
    for fields in ["Content-Length: 1, 2\r\n", "Content-Length: 1\r\nContent-Length: 2\r\n"] {
        assert_malformed(&with_fields(fields, ""), Malformed::ContentLengthsDiffer);
    }
    let most = with_fields("Content-Length: 18446744073709551615\r\n", "a");
    assert_eq!(read(&most).end, Ok(Eof::Truncated));
}

#[test]
fn responses_without_a_body_end_with_their_head() {
    let head = with_fields("Content-Length: 5\r\n", "");
    let outcome = drive(&head, &[Method::Head], &[], false);
    assert_eq!((outcome.complete[0].0.framing, outcome.complete[0].1), (Framing::None, 0));
    assert!(outcome.complete[0].0.keep_alive);
    for status in ["204 No Content", "304 Not Modified"] {
        let stream = format!("HTTP/1.1 {status}\r\nContent-Length: 5\r\n\r\nrest");
        let outcome = read(stream.as_bytes());
        assert_eq!((outcome.complete[0].0.framing, outcome.left), (Framing::None, 4), "{status}");
    }
}

#[test]
fn a_response_without_a_body_completes_one_call_after_its_head() {
    let mut reader = ResponseReader::new();
    reader.begin(Method::Get);
    let stream = with_fields("Content-Length: 0\r\n", "");
    let (consumed, event) = reader.handle(Piece::Bytes(&stream), &mut LastHead::default()).unwrap();
    assert!(matches!(event, Some(Event::Head(_))) && consumed == stream.len());
    assert_eq!(reader.handle(Piece::Bytes(b""), &mut LastHead::default()), Ok((0, Some(Event::Complete))));
    assert_eq!(reader.handle(Piece::Bytes(b"more"), &mut LastHead::default()), Ok((0, None)));
}

#[test]
fn interim_responses_are_skipped_except_101() {
    let last = format!("{OK}Content-Length: 1\r\n\r\nx");
    let stream = format!(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nContent-Length: 9\r\nLink: x\r\n\r\n{last}"
    );
    assert_eq!(only(stream.as_bytes()).0.status, 200);
    assert_malformed(b"HTTP/1.1 101 Switching Protocols\r\n\r\n", Malformed::SwitchingProtocols);
}

#[test]
fn without_a_length_the_connections_end_delimits_the_body() {
    let outcome = read(&with_fields("", "all of this"));
    let (head, body) = outcome.complete[0];
    assert_eq!((head.framing, head.keep_alive, body), (Framing::Close, false, 11));
    assert_eq!(outcome.end, Ok(Eof::Complete));
}

#[test]
fn a_chunked_body_is_its_data_without_framing() {
    let chunks = "5\r\nhello\r\nA ; name=\"v;,\"\r\n0123456789\r\n000\r\nDigest: x\r\nOther: y\r\n\r\n";
    let (head, body) = only(&with_fields("Transfer-Encoding: chunked\r\n", chunks));
    assert_eq!((head.framing, head.keep_alive, body), (Framing::Chunked, true, 15));
}

#[test]
fn only_a_final_chunked_coding_is_chunked() {
    let framing = |fields: &str| read(&with_fields(fields, "0\r\n\r\n")).complete[0].0.framing;
    assert_eq!(framing("Transfer-Encoding: gzip, Chunked\r\n"), Framing::Chunked);
    assert_eq!(framing("Transfer-Encoding: gzip\r\nTransfer-Encoding: , chunked ,\r\n"), Framing::Chunked);
    assert_eq!(framing("Transfer-Encoding: chunked, gzip\r\n"), Framing::Close);
    assert_eq!(framing("Transfer-Encoding: gzip;a=\", chunked\"\r\n"), Framing::Close);
    for value in ["", ",", "chunked, chunked", "chunked;a=b", "chunked, gzip, chunked"] {
        let stream = with_fields(&format!("Transfer-Encoding: {value}\r\n"), "0\r\n\r\n");
        assert_malformed(&stream, Malformed::TransferEncoding);
    }
}

#[test]
fn a_transfer_encoding_overrides_a_content_length_and_ends_reuse() {
    for length in ["3", "nonsense"] {
        let fields = format!("Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n");
        let (head, body) = only(&with_fields(&fields, "4\r\nbody\r\n0\r\n\r\n"));
        assert_eq!((head.framing, head.keep_alive, body), (Framing::Chunked, false, 4));
    }
    let old = b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    assert!(!only(old).0.keep_alive, "HTTP/1.0 has no transfer codings");
}

#[test]
fn bad_chunks_are_malformed() {
    let cases: [(&str, Malformed); 14] = [
        ("\r\n", Malformed::ChunkSize),
        (";a\r\n", Malformed::ChunkSize),
        (" 5\r\n", Malformed::ChunkSize),
        ("-5\r\n", Malformed::ChunkSize),
        ("0x5\r\n", Malformed::ChunkSize),
        ("5 5\r\n", Malformed::ChunkSize),
        ("5\nhello", Malformed::ChunkSize),
        ("5;a\nhello", Malformed::ChunkSize),
        ("5\r5", Malformed::ChunkSize),
        ("10000000000000000\r\n", Malformed::ChunkSizeOverflow),
        ("5\r\nhelloo", Malformed::ChunkEnd),
        ("5\r\nhello\n", Malformed::ChunkEnd),
        ("5\r\nhello\r\r", Malformed::ChunkEnd),
        ("0\r\nno field\r\n\r\n", Malformed::Trailers),
    ];
    for (chunks, expected) in cases {
        assert_malformed(&with_fields("Transfer-Encoding: chunked\r\n", chunks), expected);
    }
    let largest = with_fields("Transfer-Encoding: chunked\r\n", "FFFFFFFFFFFFFFFF\r\nx");
    assert_eq!(read(&largest).end, Ok(Eof::Truncated));
}

#[test]
fn reuse_follows_version_and_connection_options() {
    let keeps = |version: &str, connection: &str| {
        let stream = format!("HTTP/{version} 200 OK\r\nContent-Length: 0\r\n{connection}\r\n");
        only(stream.as_bytes()).0.keep_alive
    };
    assert!(keeps("1.1", ""));
    assert!(keeps("1.1", "Connection: upgrade\r\n"));
    assert!(!keeps("1.1", "Connection: Close\r\n"));
    assert!(!keeps("1.1", "Connection: foo, close ,bar\r\n"));
    assert!(!keeps("1.1", "Connection: keep-alive\r\nConnection: close\r\n"));
    assert!(!keeps("1.0", ""));
    assert!(keeps("1.0", "Connection: Keep-Alive\r\n"));
    assert!(!keeps("1.0", "Connection: keep-alive, close\r\n"));
}

#[test]
fn what_is_no_status_line_is_malformed_at_its_first_bytes() {
    for stream in ["SSH-2.0-OpenSSH", "<html>", "HTTP/2 200 OK\r\n\r\n", "ICY 200 OK\r\n\r\n", "\r\n\rHTTP"] {
        assert_malformed(stream.as_bytes(), Malformed::Version);
    }
    assert_malformed(b"HTTP/1.2 200 OK\r\n\r\n", Malformed::Version);
    for line in
        ["HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 099 Low", "HTTP/1.1 2x0", "HTTP/1.1 200 a\0b"]
    {
        assert_malformed(format!("{line}\r\n\r\n").as_bytes(), Malformed::StatusLine);
    }
    assert_eq!(only(b"HTTP/1.1 999\r\nContent-Length: 0\r\n\r\n").0.status, 999);
}

#[test]
fn bad_fields_are_malformed() {
    for fields in ["no colon\r\n", "Name : x\r\n", ": x\r\n", "a: b\0c\r\n", " a: b\r\n"] {
        assert_malformed(&with_fields(fields, ""), Malformed::Field);
    }
}

#[test]
fn a_lone_line_feed_ends_a_line_of_a_head_and_of_trailers() {
    let (head, body) = only(b"\nHTTP/1.1 200 OK\nContent-Length: 2\n\nab");
    assert_eq!((head.framing, body), (Framing::Length(2), 2));
    only(&with_fields("Transfer-Encoding: chunked\r\n", "0\r\na: b\n\n"));
}

#[test]
fn folded_fields_are_read_as_one_line() {
    let (head, _) =
        only(&with_fields("Connection: a,\r\n close\r\nX: a\r\n \r\nContent-Length:\r\n\t2\r\n", "ab"));
    assert_eq!((head.framing, head.keep_alive), (Framing::Length(2), false));
}

#[test]
fn a_head_may_have_any_number_of_fields_below_its_limit() {
    let many = "a:\n".repeat(20_000);
    let (head, _) = only(&with_fields(&format!("{many}Content-Length: 1\r\n"), "x"));
    assert_eq!(head.framing, Framing::Length(1));
}

#[test]
fn sections_over_the_limit_are_malformed_and_at_the_limit_are_not() {
    let head = |length: usize| {
        let padding = "x".repeat(length - OK.len() - "Content-Length: 0\r\nA: \r\n\r\n".len());
        with_fields(&format!("Content-Length: 0\r\nA: {padding}\r\n"), "")
    };
    assert_eq!(head(LINE_LIMIT).len(), LINE_LIMIT);
    only(&head(LINE_LIMIT));
    assert_malformed(&head(LINE_LIMIT + 1), Malformed::HeadTooLong);
    let chunked = |rest: String| with_fields("Transfer-Encoding: chunked\r\n", &rest);
    let trailers = |length: usize| chunked(format!("0\r\nA: {}\r\n\r\n", "x".repeat(length - 7)));
    only(&trailers(LINE_LIMIT));
    assert_malformed(&trailers(LINE_LIMIT + 1), Malformed::TrailersTooLong);
    let line = |length: usize| chunked(format!("0;{}\r\n\r\n", "x".repeat(length - 4)));
    only(&line(LINE_LIMIT));
    assert_malformed(&line(LINE_LIMIT + 1), Malformed::ChunkLineTooLong);
    assert_malformed(&chunked("0".repeat(LINE_LIMIT + 1)), Malformed::ChunkLineTooLong);
}

#[test]
fn counted_bytes_are_legal_only_inside_a_delimited_body() {
    let begun = || {
        let mut reader = ResponseReader::new();
        reader.begin(Method::Get);
        reader
    };
    let refused = Err(Malformed::CountedOutsideBody);
    assert_eq!(begun().handle(Piece::Counted(1), &mut LastHead::default()), refused);
    assert_eq!(begun().handle(Piece::Counted(0), &mut LastHead::default()), Ok((0, None)));

    let mut reader = begun();
    reader
        .handle(Piece::Bytes(&with_fields("Content-Length: 10\r\n", "")), &mut LastHead::default())
        .unwrap();
    assert_eq!(reader.countable(), 10);
    assert_eq!(reader.handle(Piece::Counted(4), &mut LastHead::default()), Ok((4, None)));
    assert_eq!(reader.handle(Piece::Counted(40), &mut LastHead::default()), Ok((6, Some(Event::Complete))));
    assert_eq!((reader.body_received(), reader.countable()), (10, 0));
    reader.begin(Method::Get);
    assert_eq!(reader.handle(Piece::Counted(34), &mut LastHead::default()), refused);

    let mut reader = begun();
    reader
        .handle(Piece::Bytes(&with_fields("Transfer-Encoding: chunked\r\n", "")), &mut LastHead::default())
        .unwrap();
    assert_eq!(reader.countable(), 0);
    assert_eq!(reader.handle(Piece::Counted(1), &mut LastHead::default()), refused);

    let mut reader = begun();
    reader.handle(Piece::Bytes(&with_fields("", "")), &mut LastHead::default()).unwrap();
    for _ in 0..3 {
        assert_eq!(reader.handle(Piece::Counted(u64::MAX), &mut LastHead::default()), Ok((usize::MAX, None)));
    }
    assert_eq!((reader.body_received(), reader.handle_eof()), (u64::MAX, Eof::Complete));
}

#[test]
fn the_streams_end_is_told_apart_by_what_arrived() {
    let end = |stream: &str| read(stream.as_bytes()).end;
    assert_eq!(end(""), Ok(Eof::NothingReceived));
    assert_eq!(end("H"), Ok(Eof::Truncated));
    assert_eq!(end("\r\n"), Ok(Eof::Truncated));
    assert_eq!(end("HTTP/1.1 100 Continue\r\n\r\n"), Ok(Eof::Truncated));
    assert_eq!(end("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell"), Ok(Eof::Truncated));
    for chunks in ["", "5", "5\r\nhello", "5\r\nhello\r\n", "0\r\n", "0\r\na: b\r\n"] {
        assert_eq!(end(&format!("{OK}Transfer-Encoding: chunked\r\n\r\n{chunks}")), Ok(Eof::Truncated));
    }
    assert_eq!(ResponseReader::new().handle_eof(), Eof::NothingReceived);
}

#[test]
fn an_empty_body_whose_end_was_not_yet_taken_is_complete_at_the_streams_end() {
    let mut reader = ResponseReader::new();
    reader.begin(Method::Get);
    reader.handle(Piece::Bytes(&with_fields("Content-Length: 0\r\n", "")), &mut LastHead::default()).unwrap();
    assert_eq!(reader.handle_eof(), Eof::Complete);
    assert!(reader.is_idle());
}

#[test]
fn a_malformed_stream_stays_malformed() {
    let mut reader = ResponseReader::new();
    reader.begin(Method::Get);
    assert_eq!(reader.handle(Piece::Bytes(b"garbage"), &mut LastHead::default()), Err(Malformed::Version));
    assert_eq!(reader.handle(Piece::Bytes(OK.as_bytes()), &mut LastHead::default()), Err(Malformed::Version));
    assert_eq!(reader.handle(Piece::Counted(0), &mut LastHead::default()), Err(Malformed::Version));
    assert_eq!((reader.heap(), reader.handle_eof()), (0, Eof::Truncated));
}

#[test]
fn memory_is_held_only_for_an_incomplete_section() {
    assert!(size_of::<ResponseReader>() <= 96, "{}", size_of::<ResponseReader>());
    let mut reader = ResponseReader::new();
    reader.begin(Method::Get);
    let stream = with_fields("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n");
    reader.handle(Piece::Bytes(&stream[..20]), &mut LastHead::default()).unwrap();
    assert!(reader.heap() >= 20);
    let (consumed, event) = reader.handle(Piece::Bytes(&stream[20..]), &mut LastHead::default()).unwrap();
    assert!(matches!(event, Some(Event::Head(_))) && reader.heap() == 0);
    for byte in &stream[20 + consumed..stream.len() - 1] {
        reader.handle(Piece::Bytes(std::slice::from_ref(byte)), &mut LastHead::default()).unwrap();
    }
    assert_eq!(reader.handle(Piece::Bytes(b"\n"), &mut LastHead::default()), Ok((1, Some(Event::Complete))));
    assert_eq!(reader.heap(), 0);
}

#[test]
fn the_last_head_answers_only_the_same_method_and_the_same_bytes() {
    let mut last_head = LastHead::default();
    let mut framing = |method, bytes: &[u8]| {
        let mut reader = ResponseReader::new();
        reader.begin(method);
        match reader.handle(Piece::Bytes(bytes), &mut last_head) {
            Ok((used, Some(Event::Head(head)))) => (used, head.framing),
            other => panic!("{other:?}"),
        }
    };
    let (ten, nine) = (with_fields("Content-Length: 10\r\n", "x"), with_fields("Content-Length: 9\r\n", ""));
    for _ in 0..2 {
        assert_eq!(framing(Method::Get, &ten), (ten.len() - 1, Framing::Length(10)));
    }
    assert_eq!(framing(Method::Head, &ten), (ten.len() - 1, Framing::None));
    assert_eq!(framing(Method::Get, &nine), (nine.len(), Framing::Length(9)));
    assert_eq!(framing(Method::Get, &ten), (ten.len() - 1, Framing::Length(10)));
}

#[test]
fn what_is_outstanding_is_known_from_a_length_alone() {
    let mut last_head = LastHead::default();
    let mut reader = ResponseReader::new();
    let stream = with_fields("Content-Length: 5\r\n", "he");
    assert_eq!(reader.outstanding(&stream, &mut last_head), None, "no request was made");
    reader.begin(Method::Get);
    assert_eq!(reader.outstanding(&stream[..20], &mut last_head), None, "the head is not whole");
    assert_eq!(reader.outstanding(&stream, &mut last_head), Some(stream.len() as u64 + 3));
    let (taken, event) = reader.handle(Piece::Bytes(&stream), &mut last_head).unwrap();
    assert!(matches!(event, Some(Event::Head(_))));
    assert_eq!(reader.outstanding(b"", &mut last_head), Some(5));
    let (_, event) = reader.handle(Piece::Bytes(&stream[taken..]), &mut last_head).unwrap();
    assert_eq!(event, None);
    assert_eq!(reader.outstanding(b"", &mut last_head), Some(3));
    for (method, stream, expected) in [
        (Method::Head, with_fields("Content-Length: 5\r\n", ""), true),
        (Method::Get, with_fields("Transfer-Encoding: chunked\r\n", "0\r\n\r\n"), false),
        (Method::Get, with_fields("", "to the end"), false),
        (Method::Get, b"HTTP/1.1 103 Early Hints\r\n\r\n".to_vec(), false),
        (Method::Get, b"SSH-2.0-OpenSSH\r\n\r\n".to_vec(), false),
    ] {
        let mut reader = ResponseReader::new();
        reader.begin(method);
        let outstanding = reader.outstanding(&stream, &mut last_head);
        assert_eq!(
            outstanding,
            expected.then_some(stream.len() as u64),
            "{:?}",
            String::from_utf8_lossy(&stream)
        );
    }
}
