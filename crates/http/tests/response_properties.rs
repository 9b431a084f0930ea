//! Properties of the response reader over generated streams and generated cuts.

use crate::driver::{Outcome, drive};
use proptest::collection::vec;
use proptest::prelude::*;
use wasp_http::{Eof, Framing, Head, LastHead, Method, Piece, ResponseReader, Version};

/// A response, what was asked, and what a reader must make of it.
#[derive(Debug, Clone)]
struct Sample {
    bytes: Vec<u8>,
    method: Method,
    head: Head,
    body: u64,
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 512, ..ProptestConfig::default() }
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..200)
}

/// The chunks of a body, each with its extension, and the trailer section.
fn chunked() -> impl Strategy<Value = (Vec<u8>, u64)> {
    let chunk = (vec(any::<u8>(), 1..80), "(;[a-z]{1,4}(=\"[ -!#-~]{0,6}\")?| {1,3})?", any::<bool>());
    (vec(chunk, 0..6), "0{1,3}", "([a-z]{1,4}: ?[!-~]{0,8}\r?\n){0,3}").prop_map(
        |(chunks, zero, trailers)| {
            let mut bytes = Vec::new();
            let mut length = 0;
            for (data, extension, upper) in chunks {
                let size = if upper { format!("{:X}", data.len()) } else { format!("{:x}", data.len()) };
                bytes.extend_from_slice(format!("{size}{extension}\r\n").as_bytes());
                bytes.extend_from_slice(&data);
                bytes.extend_from_slice(b"\r\n");
                length += data.len() as u64;
            }
            bytes.extend_from_slice(format!("{zero}\r\n{trailers}\r\n").as_bytes());
            (bytes, length)
        },
    )
}

/// A response that leaves the connection open.
fn delimited() -> impl Strategy<Value = Sample> {
    let field = "(X-[A-Za-z]{1,8}:[ \t]*[!-~]{0,12}[ ]?\r?\n){0,3}";
    let interim = r"(HTTP/1\.1 10[023] [A-Z a-z]{0,8}\r\n(Link: x\r\n)?\r\n){0,2}";
    let content = prop_oneof![
        body().prop_map(|body| (Framing::Length(body.len() as u64), body.clone(), body.len() as u64)),
        chunked().prop_map(|(bytes, length)| (Framing::Chunked, bytes, length)),
        Just((Framing::None, Vec::new(), 0)),
    ];
    let line_end = prop_oneof![Just("\r\n"), Just("\n")];
    ("(\r?\n){0,2}", interim, field, content, line_end, 200u16..600).prop_map(
        |(blank, interim, fields, (framing, content, body), end, status)| {
            let (method, status) = match (framing, status) {
                (Framing::None, 400..) => (Method::Head, status),
                (Framing::None, 300..) => (Method::Get, 304),
                (Framing::None, _) => (Method::Get, 204),
                (_, 204 | 304) => (Method::Get, 200),
                _ => (Method::Get, status),
            };
            let length = match framing {
                Framing::Length(length) => format!("Content-Length: {length}{end}"),
                Framing::Chunked => format!("Transfer-Encoding: chunked{end}"),
                _ => format!("Content-Length: 7{end}"),
            };
            let head = format!("{blank}{interim}HTTP/1.1 {status} Reason{end}{fields}{length}{end}");
            let bytes = [head.as_bytes(), &content].concat();
            Sample {
                bytes,
                method,
                head: Head { status, version: Version::Http11, framing, keep_alive: true },
                body,
            }
        },
    )
}

/// A response that ends with the connection.
fn until_close() -> impl Strategy<Value = Sample> {
    (body(), any::<bool>()).prop_map(|(body, old)| {
        let (name, version) = if old { ("1.0", Version::Http10) } else { ("1.1", Version::Http11) };
        let bytes = [format!("HTTP/{name} 200 OK\r\n\r\n").as_bytes(), &body].concat();
        let head = Head { status: 200, version, framing: Framing::Close, keep_alive: false };
        Sample { bytes, method: Method::Get, head, body: body.len() as u64 }
    })
}

/// Responses on one connection, some of which are sent twice.
fn exchange() -> impl Strategy<Value = Vec<Sample>> {
    (vec((delimited(), 1..3_usize), 0..5), prop::option::of(until_close())).prop_map(|(samples, last)| {
        samples.into_iter().flat_map(|(sample, times)| vec![sample; times]).chain(last).collect()
    })
}

fn cuts_within(fractions: &[f64], length: usize) -> Vec<usize> {
    let mut cuts: Vec<usize> = fractions.iter().map(|at| (at * length as f64) as usize).collect();
    cuts.sort_unstable();
    cuts
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_split_of_a_valid_stream_gives_the_same_responses(
        samples in exchange(),
        fractions in vec(0.0f64..1.0, 0..40),
        count in any::<bool>(),
    ) {
        let stream: Vec<u8> = samples.iter().flat_map(|sample| sample.bytes.clone()).collect();
        let methods: Vec<Method> = samples.iter().map(|sample| sample.method).collect();
        let closes = samples.last().is_some_and(|sample| sample.head.framing == Framing::Close);
        let expected = Outcome {
            complete: samples.iter().map(|sample| (sample.head, sample.body)).collect(),
            end: Ok(if closes { Eof::Complete } else { Eof::NothingReceived }),
            left: 0,
        };
        let every_byte: Vec<usize> = (0..stream.len()).collect();
        for cuts in [&[][..], &cuts_within(&fractions, stream.len()), &every_byte] {
            prop_assert_eq!(&drive(&stream, &methods, cuts, count), &expected);
        }
    }

    #[test]
    fn what_follows_a_response_is_left(sample in delimited(), rest in vec(any::<u8>(), 0..50)) {
        let stream = [sample.bytes, rest.clone()].concat();
        let outcome = drive(&stream, &[sample.method], &[], false);
        prop_assert_eq!((outcome.complete, outcome.left), (vec![(sample.head, sample.body)], rest.len()));
    }

    #[test]
    fn a_valid_stream_cut_short_is_truncated_and_never_malformed(sample in delimited(), at in 0.0f64..1.0) {
        let cut = (at * sample.bytes.len() as f64) as usize;
        let outcome = drive(&sample.bytes[..cut], &[sample.method], &[], false);
        let expected = if cut == 0 { Eof::NothingReceived } else { Eof::Truncated };
        prop_assert_eq!(outcome, Outcome { complete: vec![], end: Ok(expected), left: 0 });
    }

    #[test]
    fn a_damaged_stream_never_panics_and_its_split_does_not_change_it(
        sample in delimited(),
        damage in vec((0.0f64..1.0, any::<u8>()), 1..4),
        fractions in vec(0.0f64..1.0, 0..40),
    ) {
        let mut stream = sample.bytes;
        let length = stream.len();
        for (at, byte) in damage {
            stream[(at * length as f64) as usize] = byte;
        }
        let whole = drive(&stream, &[sample.method], &[], false);
        let pieces = drive(&stream, &[sample.method], &cuts_within(&fractions, stream.len()), false);
        prop_assert_eq!(whole, pieces);
    }

    #[test]
    fn arbitrary_pieces_never_panic(
        pieces in vec(prop_oneof![
            vec(any::<u8>(), 0..40).prop_map(Some),
            "(HTTP/1\\.[01] [0-9]{3}|\r\n|[a-zA-Z-]{0,8}: ?|chunked|[0-9a-f]|\n){0,6}".prop_map(|s| Some(s.into_bytes())),
            Just(None),
        ], 0..20),
        count in any::<u64>(),
    ) {
        let (mut reader, mut last_head) = (ResponseReader::new(), LastHead::default());
        for piece in pieces {
            if reader.is_idle() {
                reader.begin(Method::Get);
            }
            let given = piece.as_ref().map_or(count, |bytes| bytes.len() as u64);
            let taken = reader.handle(
                piece.as_ref().map_or(Piece::Counted(count), |bytes| Piece::Bytes(bytes)),
                &mut last_head,
            );
            if let Ok((consumed, _)) = taken {
                prop_assert!(consumed as u64 <= given);
            }
        }
        reader.handle_eof();
        prop_assert!(reader.is_idle() && reader.heap() == 0);
    }
}
