//! Cost of a response's head, whole and in two pieces, and of a body that is counted.

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use wasp_http::{Method, Piece, ResponseReader};

/// What nginx sends before a file of 1 KiB.
const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Fri, 20 Nov 2026 12:00:00 GMT\r\n\
    Content-Type: application/octet-stream\r\nContent-Length: 1024\r\nLast-Modified: Fri, 20 Nov 2026 11:59:00 GMT\r\n\
    Connection: keep-alive\r\nETag: \"691f0a54-400\"\r\nAccept-Ranges: bytes\r\n\r\n";

fn response(reader: &mut ResponseReader, pieces: &[&[u8]]) {
    reader.begin(Method::Get);
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            let (used, event) = reader.handle(Piece::Bytes(black_box(rest))).expect("valid HTTP");
            rest = &rest[used..];
            black_box(event);
        }
    }
    let (_, complete) = reader.handle(Piece::Counted(1_024)).expect("a body");
    assert!(complete.is_some());
}

fn heads(criterion: &mut Criterion) {
    let mut reader = ResponseReader::new();
    criterion.bench_function("response head", |bencher| bencher.iter(|| response(&mut reader, &[HEAD])));
    let (first, second) = HEAD.split_at(100);
    criterion.bench_function("response head in two pieces", |bencher| {
        bencher.iter(|| response(&mut reader, &[first, second]));
    });
}

criterion_group!(benches, heads);
criterion_main!(benches);
