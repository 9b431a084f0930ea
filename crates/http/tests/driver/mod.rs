//! Feeds a stream to a reader in pieces and keeps what it says.

use wasp_http::{Eof, Event, Head, LastHead, Malformed, Method, Piece, ResponseReader};

/// What a reader made of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Head and body length of each complete response.
    pub(crate) complete: Vec<(Head, u64)>,
    /// How the stream's end left the response after these.
    pub(crate) end: Result<Eof, Malformed>,
    /// Bytes left over when every request was answered.
    pub(crate) left: usize,
}

/// Answers `methods` from `stream`, cut at `cuts` (ascending). With `count`, bytes that may be counted are.
pub(crate) fn drive(stream: &[u8], methods: &[Method], cuts: &[usize], count: bool) -> Outcome {
    let mut driver = Driver {
        reader: ResponseReader::new(),
        last_head: LastHead::default(),
        complete: Vec::new(),
        head: None,
        methods,
        count,
    };
    driver.begin();
    let mut at = 0;
    for &cut in cuts.iter().chain([&stream.len()]) {
        let mut piece = &stream[at..cut];
        at = cut;
        match driver.feed(&mut piece) {
            Err(malformed) => return Outcome { complete: driver.complete, end: Err(malformed), left: 0 },
            Ok(()) if driver.reader.is_idle() => {
                let left = piece.len() + stream.len() - cut;
                return Outcome { complete: driver.complete, end: Ok(Eof::NothingReceived), left };
            }
            Ok(()) => assert!(piece.is_empty(), "a reader that is not idle takes everything"),
        }
    }
    let end = driver.reader.handle_eof();
    if end == Eof::Complete {
        driver.finish();
    }
    Outcome { complete: driver.complete, end: Ok(end), left: 0 }
}

struct Driver<'m> {
    reader: ResponseReader,
    last_head: LastHead,
    complete: Vec<(Head, u64)>,
    head: Option<Head>,
    methods: &'m [Method],
    count: bool,
}

impl Driver<'_> {
    fn begin(&mut self) {
        if let Some(&method) = self.methods.get(self.complete.len()) {
            self.reader.begin(method);
        }
    }

    fn finish(&mut self) {
        let head = self.head.take().expect("a response has a head before it is complete");
        self.complete.push((head, self.reader.body_received()));
    }

    fn feed(&mut self, piece: &mut &[u8]) -> Result<(), Malformed> {
        loop {
            let countable = self.reader.countable().min(piece.len() as u64);
            let counted = self.count && countable > 0;
            let (consumed, event) = match counted {
                true => self.reader.handle(Piece::Counted(countable), &mut self.last_head)?,
                false => self.reader.handle(Piece::Bytes(piece), &mut self.last_head)?,
            };
            assert!(consumed <= piece.len(), "consumed more than was given");
            *piece = &piece[consumed..];
            match event {
                Some(Event::Head(head)) => assert_eq!(self.head.replace(head), None, "two heads"),
                Some(Event::Complete) => {
                    assert_eq!(self.reader.heap(), 0, "an idle reader owns heap memory");
                    self.finish();
                    self.begin();
                }
                None if counted && !piece.is_empty() => {}
                None => return Ok(()),
            }
        }
    }
}
