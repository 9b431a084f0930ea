//! The chunked transfer coding without its trailer section (RFC 9112, section 7.1), decoded byte by byte where it is
//! framing and in bulk where it is data. Nothing is buffered.

use crate::{LINE_LIMIT, Malformed, Observer};

/// Where in a chunk the stream stands.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Chunked {
    /// In the line that holds the size.
    Size(SizeLine),
    /// In the data.
    Data { remaining: u64 },
    /// In the CR LF after the data.
    End { carriage_return: bool },
}

/// What a step of the decoder took, and what it found.
pub(crate) struct Step {
    pub(crate) consumed: usize,
    pub(crate) data: u64,
    /// The chunk of size zero was read: the trailer section follows.
    pub(crate) last: bool,
}

impl Chunked {
    pub(crate) fn new() -> Self {
        Self::Size(SizeLine::default())
    }

    /// Takes bytes up to the end of the piece or of the last chunk's line.
    pub(crate) fn handle(&mut self, bytes: &[u8], observer: &mut impl Observer) -> Result<Step, Malformed> {
        let mut step = Step { consumed: 0, data: 0, last: false };
        while let Some(&byte) = bytes.get(step.consumed) {
            match *self {
                Self::Size(mut line) => {
                    step.consumed += 1;
                    *self = match line.push(byte)? {
                        None => Self::Size(line),
                        Some(0) => {
                            step.last = true;
                            return Ok(step);
                        }
                        Some(remaining) => Self::Data { remaining },
                    };
                }
                Self::Data { remaining } => {
                    let available = bytes.len() - step.consumed;
                    let taken = usize::try_from(remaining).map_or(available, |n| n.min(available));
                    observer.body(&bytes[step.consumed..step.consumed + taken]);
                    step.consumed += taken;
                    step.data += taken as u64;
                    *self = match remaining - taken as u64 {
                        0 => Self::End { carriage_return: false },
                        remaining => Self::Data { remaining },
                    };
                }
                Self::End { carriage_return } => {
                    step.consumed += 1;
                    *self = match (carriage_return, byte) {
                        (false, b'\r') => Self::End { carriage_return: true },
                        (true, b'\n') => Self::new(),
                        _ => return Err(Malformed::ChunkEnd),
                    };
                }
            }
        }
        Ok(step)
    }
}

/// `chunk-size [ chunk-ext ] CRLF`. Extensions are skipped. The line must end with CR LF: a lone LF is tolerated only in
/// heads and trailers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SizeLine {
    size: u64,
    length: u32,
    part: Part,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Part {
    #[default]
    Start,
    Digits,
    Blanks,
    Extension,
    CarriageReturn,
}

impl SizeLine {
    /// Returns the size when the line is complete.
    fn push(&mut self, byte: u8) -> Result<Option<u64>, Malformed> {
        self.length += 1;
        if self.length as usize > LINE_LIMIT {
            return Err(Malformed::ChunkLineTooLong);
        }
        self.part = match (self.part, byte) {
            (Part::Start | Part::Digits, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                let digit = char::from(byte).to_digit(16).map_or(0, u64::from);
                self.size = self.size.checked_mul(16).ok_or(Malformed::ChunkSizeOverflow)? | digit;
                Part::Digits
            }
            (Part::Digits | Part::Blanks, b' ' | b'\t') => Part::Blanks,
            (Part::Digits | Part::Blanks, b';') => Part::Extension,
            (Part::Digits | Part::Blanks | Part::Extension, b'\r') => Part::CarriageReturn,
            (Part::Extension, byte) if byte != b'\n' => Part::Extension,
            (Part::CarriageReturn, b'\n') => return Ok(Some(self.size)),
            _ => return Err(Malformed::ChunkSize),
        };
        Ok(None)
    }
}
