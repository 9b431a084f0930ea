//! A stream of responses means the same whole, whole once more and in pieces, and whether or not its bodies' bytes are kept; nothing in it
//! makes the reader panic, consume more than it was given, or hold memory when idle.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wasp_http::{Eof, Event, LastHead, Malformed, Method, Piece, ResponseReader};

/// All that a caller can see of a stream.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    events: Vec<(Event, u64)>,
    end: Result<Eof, Malformed>,
}

fn read(stream: &[u8], method: Method, piece: usize, count: bool, last_head: &mut LastHead) -> Seen {
    let mut reader = ResponseReader::new();
    reader.begin(method);
    let mut events = Vec::new();
    for mut rest in stream.chunks(piece) {
        loop {
            let countable = reader.countable().min(rest.len() as u64);
            let counted = count && countable > 0;
            let given = if counted { Piece::Counted(countable) } else { Piece::Bytes(rest) };
            let (consumed, event) = match reader.handle(given, last_head) {
                Ok(progress) => progress,
                Err(malformed) => return Seen { events, end: Err(malformed) },
            };
            assert!(consumed <= rest.len());
            rest = &rest[consumed..];
            match event {
                Some(event) => events.push((event, reader.body_received())),
                None if counted && !rest.is_empty() => continue,
                None => break,
            }
            if event == Some(Event::Complete) {
                assert_eq!(reader.heap(), 0);
                reader.begin(method);
            }
        }
        assert!(rest.is_empty());
    }
    Seen { end: Ok(reader.handle_eof()), events }
}

fuzz_target!(|data: &[u8]| {
    let [choice, piece, stream @ ..] = data else { return };
    let method = if choice & 1 == 0 { Method::Get } else { Method::Head };
    let mut last_head = LastHead::default();
    let whole = read(stream, method, stream.len().max(1), false, &mut last_head);
    let again = read(stream, method, stream.len().max(1), false, &mut last_head);
    assert_eq!(whole, again);
    let pieces = read(stream, method, usize::from(*piece).max(1), choice & 2 != 0, &mut last_head);
    assert_eq!(whole, pieces);
});
