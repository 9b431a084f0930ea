//! Lines of a reader, in bounded memory.

use std::io::{BufRead, Result};

/// Longest line that is looked at: servers refuse much shorter requests.
const LONGEST: usize = 64 * 1024;

/// Gives one line after the other.
pub(super) struct Lines<R> {
    reader: R,
    line: Vec<u8>,
    number: u64,
}

/// A line without its end.
pub(super) struct Line<'a> {
    /// Counted from 1.
    pub(super) number: u64,
    /// As much of it as is looked at.
    pub(super) bytes: &'a [u8],
    /// Whether it is longer than that.
    pub(super) cut: bool,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, line: Vec::new(), number: 0 }
    }

    /// Lines read so far.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn next(&mut self) -> Result<Option<Line<'_>>> {
        self.line.clear();
        let mut length = 0_usize;
        loop {
            let available = match self.reader.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = available.iter().position(|&byte| byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            let room = LONGEST - self.line.len();
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            length += part.len();
            let consumed = part.len() + usize::from(end.is_some());
            let over = available.is_empty();
            self.reader.consume(consumed);
            if over && length == 0 {
                return Ok(None);
            }
            if over || end.is_some() {
                break;
            }
        }
        self.number += 1;
        let bytes = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        Ok(Some(Line { number: self.number, bytes, cut: length > LONGEST }))
    }
}
