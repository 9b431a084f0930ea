//! Reading responses from an in-order byte stream (RFC 9112, sections 6 and 7).

use crate::block::{Block, Leading};
use crate::chunked::Chunked;
use crate::{Framing, Head, LINE_LIMIT, LastHead, Malformed, Method, Observer};

/// What every response begins with.
const START: &[u8] = b"HTTP/1.";

/// A stretch of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Bytes whose values are at hand.
    Bytes(&'a [u8]),
    /// This many bytes that nobody kept. They are legal only inside a body that a length or the connection's end
    /// delimits, see [`ResponseReader::countable`].
    Counted(u64),
}

/// A point reached in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The head of the final response was read; interim responses (1xx) are skipped.
    Head(Head),
    /// The response has ended, and the reader is idle.
    Complete,
}

/// What the end of the stream means for the response in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eof {
    /// It is complete: its body was delimited by the connection's end, or its last event was still to be taken.
    Complete,
    /// It broke off after its first byte.
    Truncated,
    /// Not a byte of it had arrived, or no response was expected.
    NothingReceived,
}

#[derive(Debug)]
enum State {
    Idle,
    Head,
    Length { remaining: u64 },
    Close,
    Chunked(Chunked),
    Trailers,
    Failed(Malformed),
}

/// What a step inside a piece leads to.
enum Next {
    More,
    Again,
    Event(Event),
}

/// Reads the responses of one connection, one after the other.
///
/// Call order: [`begin`](Self::begin) once for each request, in the order sent, while the reader is idle; then
/// [`handle`](Self::handle) with the stream as it arrives. **An event does not end a piece**: call `handle` again with
/// what it left, even if that is empty, until it gives no event (a response without a body is `Complete` one call
/// after its `Head`). While idle the reader consumes nothing, so the rest of a piece waits for the next `begin`; bytes
/// that arrive with no request outstanding are the caller's to judge. After the stream's end,
/// [`handle_eof`](Self::handle_eof). After `Malformed` the reader returns that same error for ever: make a new one for a
/// new connection.
///
/// It owns heap memory only while a head or a trailer section is incomplete. No input makes it panic.
#[derive(Debug)]
pub struct ResponseReader {
    block: Block,
    state: State,
    body: u64,
    method: Method,
    received: bool,
}

impl Default for ResponseReader {
    fn default() -> Self {
        Self::new()
    }
}

impl ResponseReader {
    /// An idle reader for a new connection.
    pub fn new() -> Self {
        Self {
            block: Block::new(Leading::Skipped),
            state: State::Idle,
            body: 0,
            method: Method::Get,
            received: false,
        }
    }

    /// Whether no response is in progress, so that [`begin`](Self::begin) may be called.
    pub fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle)
    }

    /// Body bytes of the current or, while idle, of the last response, without chunk framing.
    pub fn body_received(&self) -> u64 {
        self.body
    }

    /// How many of the next bytes may be only [`Counted`](Piece::Counted): the rest of a body with a length, any number
    /// (`u64::MAX`) in one that the connection's end delimits, otherwise none.
    pub fn countable(&self) -> u64 {
        match self.state {
            State::Length { remaining } => remaining,
            State::Close => u64::MAX,
            _ => 0,
        }
    }

    /// How many of the next bytes the response in progress still has, where its length is known: from its head, which may be
    /// among `bytes`, the next ones of the stream. Nothing is consumed.
    #[must_use]
    pub fn outstanding(&self, bytes: &[u8], last_head: &mut LastHead) -> Option<u64> {
        match self.state {
            State::Length { remaining } => Some(remaining),
            State::Head => {
                let (taken, head) = self.whole_head(bytes, last_head)?;
                let body = match head.framing {
                    Framing::None => 0,
                    Framing::Length(body) => body,
                    Framing::Chunked | Framing::Close => return None,
                };
                // An interim response is followed by the one that counts.
                (head.status >= 200).then(|| body.saturating_add(taken as u64))
            }
            _ => None,
        }
    }

    /// Heap memory in use, in bytes.
    pub fn heap(&self) -> usize {
        self.block.heap()
    }

    /// Expects the response to a request made with `method`. To be called only while idle; a response in progress
    /// would be abandoned in the middle of the stream.
    pub fn begin(&mut self, method: Method) {
        debug_assert!(self.is_idle(), "begin while a response is in progress");
        self.block = Block::new(Leading::Skipped);
        self.state = State::Head;
        self.body = 0;
        self.method = method;
        self.received = false;
    }

    /// Takes the next piece of the stream, up to the next event. Returns how many bytes were consumed (at most
    /// `usize::MAX` of a counted piece) and the event. `last_head` may be shared with other readers.
    ///
    /// # Errors
    /// The stream is no HTTP/1.x response, now and in every later call.
    pub fn handle(
        &mut self,
        piece: Piece<'_>,
        last_head: &mut LastHead,
    ) -> Result<(usize, Option<Event>), Malformed> {
        self.handle_observed(piece, last_head, &mut ())
    }

    /// As [`handle`](Self::handle), and shows what is read to `observer`.
    ///
    /// # Errors
    /// As `handle`.
    pub fn handle_observed(
        &mut self,
        piece: Piece<'_>,
        last_head: &mut LastHead,
        observer: &mut impl Observer,
    ) -> Result<(usize, Option<Event>), Malformed> {
        let result = match piece {
            Piece::Bytes(bytes) => self.handle_bytes(bytes, last_head, observer),
            Piece::Counted(count) => self.handle_counted(count, observer),
        };
        if let Err(malformed) = result {
            self.state = State::Failed(malformed);
            self.block = Block::new(Leading::Skipped);
        }
        result
    }

    /// The stream has ended. The reader is idle afterwards.
    pub fn handle_eof(&mut self) -> Eof {
        let eof = match self.state {
            State::Close | State::Length { remaining: 0 } => Eof::Complete,
            State::Idle => Eof::NothingReceived,
            State::Head if !self.received => Eof::NothingReceived,
            _ => Eof::Truncated,
        };
        self.block = Block::new(Leading::Skipped);
        self.state = State::Idle;
        eof
    }

    #[inline]
    fn handle_bytes(
        &mut self,
        bytes: &[u8],
        last_head: &mut LastHead,
        observer: &mut impl Observer,
    ) -> Result<(usize, Option<Event>), Malformed> {
        let mut consumed = 0;
        loop {
            let rest = &bytes[consumed..];
            let (taken, next) = match &mut self.state {
                State::Idle => (0, Next::More),
                State::Head => self.step_head(rest, last_head, observer)?,
                State::Length { .. } | State::Close => {
                    let step = self.step_body(rest.len() as u64);
                    observer.body(&rest[..step.0]);
                    step
                }
                State::Chunked(_) => self.step_chunked(rest, observer)?,
                State::Trailers => self.step_trailers(rest)?,
                State::Failed(malformed) => return Err(*malformed),
            };
            consumed += taken;
            self.received |= taken > 0;
            match next {
                Next::More => return Ok((consumed, None)),
                Next::Again => {}
                Next::Event(event) => return Ok((consumed, Some(event))),
            }
        }
    }

    fn handle_counted(
        &mut self,
        count: u64,
        observer: &mut impl Observer,
    ) -> Result<(usize, Option<Event>), Malformed> {
        match self.state {
            State::Failed(malformed) => Err(malformed),
            State::Length { .. } | State::Close => {
                let most = usize::MAX as u64;
                let (taken, next) = self.step_body(count.min(most));
                observer.counted(taken as u64);
                Ok((taken, if let Next::Event(event) = next { Some(event) } else { None }))
            }
            State::Idle => Ok((0, None)),
            _ if count == 0 => Ok((0, None)),
            State::Head | State::Chunked(_) | State::Trailers => Err(Malformed::CountedOutsideBody),
        }
    }

    #[inline]
    fn step_head(
        &mut self,
        bytes: &[u8],
        last_head: &mut LastHead,
        observer: &mut impl Observer,
    ) -> Result<(usize, Next), Malformed> {
        // Nearly every head arrives whole, and then one pass will do.
        if let Some((taken, head)) = self.whole_head(bytes, last_head) {
            show_head(observer, head, &bytes[..taken]);
            return Ok((taken, self.begin_body(head)?));
        }
        let (taken, section) = self.block.handle(bytes).map_err(|_| Malformed::HeadTooLong)?;
        let Some(section) = section else {
            check_start(self.block.buffered())?;
            return Ok((taken, Next::More));
        };
        check_start(section)?;
        let head = Head::parse(section, self.method)?;
        show_head(observer, head, section);
        self.block = Block::new(Leading::Skipped);
        Ok((taken, self.begin_body(head)?))
    }

    /// The head that all of `bytes` begin with, of which nothing was read before, if nothing is unusual about it.
    #[inline]
    fn whole_head(&self, bytes: &[u8], last_head: &mut LastHead) -> Option<(usize, Head)> {
        if !self.block.is_empty() || !bytes.starts_with(START) {
            return None;
        }
        last_head.read(&bytes[..bytes.len().min(LINE_LIMIT)], self.method)
    }

    /// A head was read: what follows it.
    fn begin_body(&mut self, head: Head) -> Result<Next, Malformed> {
        match head.status {
            101 => return Err(Malformed::SwitchingProtocols),
            100..=199 => return Ok(Next::Again),
            _ => {}
        }
        self.state = match head.framing {
            Framing::None => State::Length { remaining: 0 },
            Framing::Length(remaining) => State::Length { remaining },
            Framing::Chunked => State::Chunked(Chunked::new()),
            Framing::Close => State::Close,
        };
        Ok(Next::Event(Event::Head(head)))
    }

    /// `available` bytes lie ahead, of a body whose bytes are not looked at; it fits in a `usize`.
    #[inline]
    fn step_body(&mut self, available: u64) -> (usize, Next) {
        let taken = available.min(self.countable());
        self.body = self.body.saturating_add(taken);
        let mut next = Next::More;
        if let State::Length { remaining } = &mut self.state {
            *remaining -= taken;
            if *remaining == 0 {
                self.state = State::Idle;
                next = Next::Event(Event::Complete);
            }
        }
        (taken as usize, next)
    }

    fn step_chunked(
        &mut self,
        bytes: &[u8],
        observer: &mut impl Observer,
    ) -> Result<(usize, Next), Malformed> {
        let State::Chunked(chunked) = &mut self.state else { return Ok((0, Next::Again)) };
        let step = chunked.handle(bytes, observer)?;
        self.body = self.body.saturating_add(step.data);
        if !step.last {
            return Ok((step.consumed, Next::More));
        }
        self.block = Block::new(Leading::Ends);
        self.state = State::Trailers;
        Ok((step.consumed, Next::Again))
    }

    fn step_trailers(&mut self, bytes: &[u8]) -> Result<(usize, Next), Malformed> {
        let (taken, section) = self.block.handle(bytes).map_err(|_| Malformed::TrailersTooLong)?;
        let Some(section) = section else { return Ok((taken, Next::More)) };
        check_trailers(section)?;
        self.block = Block::new(Leading::Skipped);
        self.state = State::Idle;
        Ok((taken, Next::Event(Event::Complete)))
    }
}

/// The head of a final response is shown; interim ones are not.
fn show_head(observer: &mut impl Observer, head: Head, bytes: &[u8]) {
    if head.status >= 200 {
        observer.head(bytes);
    }
}

/// A peer that speaks another protocol may wait for us after its first words: refuse it by these, not at a head's end.
fn check_start(head: &[u8]) -> Result<(), Malformed> {
    let known = head.len().min(START.len());
    // A lone CR may yet become a blank line.
    if head == b"\r" || head[..known] == START[..known] { Ok(()) } else { Err(Malformed::Version) }
}

/// Trailer fields are checked and dropped: none of them changes the framing (RFC 9110, section 6.5).
fn check_trailers(section: &[u8]) -> Result<(), Malformed> {
    let lines = section.iter().filter(|&&byte| byte == b'\n').count();
    let mut fields = vec![httparse::EMPTY_HEADER; lines - 1];
    match httparse::parse_headers(section, &mut fields) {
        Ok(httparse::Status::Complete((length, _))) if length == section.len() => Ok(()),
        _ => Err(Malformed::Trailers),
    }
}
