//! Requests as a server reads them.

use proptest::prelude::*;
use wasp_http::{BadRequest, Method, Request, RequestHead, RequestReader, Version};

fn encoded(target: &str, version: Version, keep_alive: bool) -> Vec<u8> {
    Request::new(Method::Get, target, "a.test")
        .unwrap()
        .with_version(version)
        .with_keep_alive(keep_alive)
        .encode()
}

proptest! {
    #[test]
    fn what_the_client_encodes_is_read_back_however_it_is_cut(
        requests in prop::collection::vec(("/[a-z0-9]{0,12}", any::<bool>(), any::<bool>()), 1..6),
        cuts in prop::collection::vec(1..60_usize, 1..40),
    ) {
        let mut stream = Vec::new();
        for (target, old, keep_alive) in &requests {
            let version = if *old { Version::Http10 } else { Version::Http11 };
            stream.extend(encoded(target, version, *keep_alive));
        }
        let (mut reader, mut read, mut rest, mut cut) = (RequestReader::default(), Vec::new(), &stream[..], cuts.iter().cycle());
        while !rest.is_empty() {
            let mut piece = &rest[..rest.len().min(*cut.next().unwrap())];
            rest = &rest[piece.len()..];
            while !piece.is_empty() {
                let (used, head) = reader.handle(piece).unwrap();
                read.extend(head);
                piece = &piece[used..];
            }
        }
        let expected: Vec<_> = requests.iter().map(|(target, old, keep_alive)| RequestHead {
            method: Method::Get, target: target.clone(), keep_alive: *keep_alive,
            version: if *old { Version::Http10 } else { Version::Http11 },
            conditional: false, content: 0,
        }).collect();
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn arbitrary_bytes_never_panic(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..20)) {
        let mut reader = RequestReader::default();
        for piece in pieces {
            match reader.handle(&piece) {
                Ok((used, _)) => prop_assert!(used <= piece.len()),
                Err(_) => break,
            }
        }
    }
}

#[test]
fn a_head_without_end_is_refused() {
    let mut reader = RequestReader::default();
    let mut result = reader.handle(b"GET / HTTP/1.1\r\n");
    for _ in 0..3_000 {
        if result.is_err() {
            break;
        }
        result = reader.handle(b"x-header: aaaaaaaaaaaaaaaaaaaa");
    }
    assert_eq!(result, Err(BadRequest::TooLong));
}

fn read(text: &str) -> Result<RequestHead, BadRequest> {
    RequestReader::default().handle(text.as_bytes()).map(|(_, head)| head.expect("the head is whole"))
}

#[test]
fn a_post_tells_how_much_content_follows() {
    let post = Request::new(Method::Post, "/form", "a.test").unwrap().with_content(70_000);
    let head = read(&String::from_utf8(post.encode()).unwrap()).unwrap();
    assert_eq!((head.method, head.content), (Method::Post, 70_000));
    assert_eq!(read("POST / HTTP/1.1\r\n\r\n").unwrap().content, 0);
}

#[test]
fn content_of_unclear_length_is_refused() {
    for field in [
        "Content-Length: 1\r\nContent-Length: 1",
        "Content-Length: -1",
        "Content-Length: ",
        "Content-Length: 99999999999999999999",
        "Transfer-Encoding: chunked",
    ] {
        assert_eq!(read(&format!("POST / HTTP/1.1\r\n{field}\r\n\r\n")), Err(BadRequest::Content), "{field}");
    }
}

#[test]
fn a_request_for_what_the_client_has_is_conditional() {
    let get = Request::new(Method::Get, "/", "a.test").unwrap().with_header("If-None-Match", "*").unwrap();
    assert!(read(&String::from_utf8(get.encode()).unwrap()).unwrap().conditional);
    assert!(!read("GET / HTTP/1.1\r\nIf-None-Match: \"a\"\r\n\r\n").unwrap().conditional);
}

#[test]
fn an_unknown_method_is_refused() {
    assert_eq!(read("TRACE / HTTP/1.1\r\n\r\n"), Err(BadRequest::Method("TRACE".to_owned())));
}
