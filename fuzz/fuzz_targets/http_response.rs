//! A stream of responses means the same whole, whole once more and in pieces, and whether or not its bodies' bytes are kept; a text that is
//! looked for in its bodies is found in pieces where it is found whole, as is what stands between two of them. Nothing in it makes the reader panic, consume more than it was given, or
//! hold memory when idle.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wasp_http::{
    Between, Eof, Event, LastHead, MOST_CAPTURED, Malformed, Method, Observer, Pattern, Piece,
    ResponseReader, Search, fields,
};

/// All that a caller can see of a stream.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    events: Vec<(Event, u64)>,
    end: Result<Eof, Malformed>,
    /// How far the text was found in the last body, and what stands between two of it; nothing where bytes were only counted.
    found: Option<(Search, Option<Box<[u8]>>)>,
}

struct Looker<'a> {
    text: &'a Pattern,
    search: Search,
    between: Between,
}

impl Observer for Looker<'_> {
    fn head(&mut self, bytes: &[u8]) {
        assert!(bytes.starts_with(b"HTTP/1."));
        (self.search, self.between) = (Search::default(), Between::default());
        assert!(fields(bytes).all(|(name, value)| name.len() + value.len() < bytes.len()));
    }

    fn body(&mut self, bytes: &[u8]) {
        self.search.handle(self.text, bytes);
        self.between.handle(self.text, self.text, bytes);
    }

    fn counted(&mut self, _: u64) {
        self.search.skip(self.text);
        self.between.skip(self.text);
    }
}

fn read(
    stream: &[u8],
    method: Method,
    piece: usize,
    count: bool,
    (last_head, text): (&mut LastHead, &Pattern),
) -> Seen {
    let mut reader = ResponseReader::new();
    let mut looker = Looker { text, search: Search::default(), between: Between::default() };
    reader.begin(method);
    let mut events = Vec::new();
    for mut rest in stream.chunks(piece) {
        loop {
            let countable = reader.countable().min(rest.len() as u64);
            let counted = count && countable > 0;
            let given = if counted { Piece::Counted(countable) } else { Piece::Bytes(rest) };
            let (consumed, event) = match reader.handle_observed(given, last_head, &mut looker) {
                Ok(progress) => progress,
                Err(malformed) => return Seen { events, end: Err(malformed), found: None },
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
    let value = looker.between.into_value();
    assert!(value.as_ref().is_none_or(|value| value.len() <= MOST_CAPTURED));
    Seen { end: Ok(reader.handle_eof()), events, found: (!count).then_some((looker.search, value)) }
}

fuzz_target!(|data: &[u8]| {
    let [choice, piece, stream @ ..] = data else { return };
    let method = if choice & 1 == 0 { Method::Get } else { Method::Head };
    let mut last_head = LastHead::default();
    // A part of the stream is likely to be found in it.
    let text = Pattern::new(&stream[stream.len() - stream.len().min(1 + usize::from(choice >> 5))..]);
    let whole = read(stream, method, stream.len().max(1), false, (&mut last_head, &text));
    let again = read(stream, method, stream.len().max(1), false, (&mut last_head, &text));
    assert_eq!(whole, again);
    let count = choice & 2 != 0;
    let pieces = read(stream, method, usize::from(*piece).max(1), count, (&mut last_head, &text));
    assert_eq!((&whole.events, &whole.end), (&pieces.events, &pieces.end));
    assert!(count || whole.found == pieces.found);
});
