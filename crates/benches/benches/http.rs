//! Cost of a response's head, whole, as it was the last time and in two pieces, and of a body that is counted.

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use wasp_http::{LastHead, Method, Piece, ResponseReader};

/// What nginx sends before a file of 1 KiB.
const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Fri, 20 Nov 2026 12:00:00 GMT\r\n\
    Content-Type: application/octet-stream\r\nContent-Length: 1024\r\nLast-Modified: Fri, 20 Nov 2026 11:59:00 GMT\r\n\
    Connection: keep-alive\r\nETag: \"691f0a54-400\"\r\nAccept-Ranges: bytes\r\n\r\n";

fn response(reader: &mut ResponseReader, last_head: &mut LastHead, pieces: &[&[u8]]) {
    reader.begin(Method::Get);
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            let (used, event) = reader.handle(Piece::Bytes(black_box(rest)), last_head).expect("valid HTTP");
            rest = &rest[used..];
            black_box(event);
        }
    }
    let (_, complete) = reader.handle(Piece::Counted(1_024), last_head).expect("a body");
    assert!(complete.is_some());
}

fn heads(criterion: &mut Criterion) {
    let (mut reader, mut last) = (ResponseReader::new(), LastHead::default());
    let other = String::from_utf8_lossy(HEAD).replace("12:00:00", "12:00:01");
    let mut heads = [HEAD, other.as_bytes()].into_iter().cycle();
    criterion.bench_function("response head", |bencher| {
        bencher.iter(|| response(&mut reader, &mut last, &[heads.next().expect("there is no end")]));
    });
    criterion.bench_function("response head as the last", |bencher| {
        bencher.iter(|| response(&mut reader, &mut last, &[HEAD]));
    });
    let (first, second) = HEAD.split_at(100);
    criterion.bench_function("response head in two pieces", |bencher| {
        bencher.iter(|| response(&mut reader, &mut last, &[first, second]));
    });
}

criterion_group!(benches, heads);
criterion_main!(benches);
