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
        let expected: Vec<_> = requests.iter().map(|(target, _, keep_alive)| RequestHead {
            method: Method::Get, target: target.clone(), keep_alive: *keep_alive,
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

#[test]
fn a_method_with_content_is_refused() {
    let result = RequestReader::default().handle(b"POST / HTTP/1.1\r\n\r\n");
    assert_eq!(result, Err(BadRequest::Method("POST".to_owned())));
}
