//! Collecting a head or a trailer section: lines up to the first blank one, from a stream that arrives in pieces.

use crate::LINE_LIMIT;

/// What the line that is being read holds so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Empty,
    CarriageReturn,
    Text,
}

impl Line {
    fn extended(self, part: &[u8]) -> Self {
        match (self, part) {
            (line, []) => line,
            (Self::Empty, b"\r") => Self::CarriageReturn,
            _ => Self::Text,
        }
    }
}

/// The block outgrew [`LINE_LIMIT`].
#[derive(Debug)]
pub(crate) struct TooLong;

/// Whether a section may begin with blank lines that are no part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leading {
    /// They are skipped: before a status line.
    Skipped,
    /// The first blank line ends the section: trailers.
    Ends,
}

/// One section in the making. Each byte is scanned once, and kept only while the section is incomplete: a section that
/// arrives whole is handed back where it lies.
#[derive(Debug)]
pub(crate) struct Block {
    buffer: Vec<u8>,
    line: Line,
    leading: Leading,
}

impl Block {
    pub(crate) fn new(leading: Leading) -> Self {
        Self { buffer: Vec::new(), line: Line::Empty, leading }
    }

    /// Takes bytes up to the section's end. Returns how many were taken, and the section when they complete it; the
    /// caller then replaces the block, which frees its buffer.
    pub(crate) fn handle<'a>(&'a mut self, bytes: &'a [u8]) -> Result<(usize, Option<&'a [u8]>), TooLong> {
        let skipped = self.skip_blank_lines(bytes);
        let rest = &bytes[skipped..];
        let room = LINE_LIMIT - self.buffer.len();
        let Some(end) = self.find_end(&rest[..rest.len().min(room)]) else {
            if rest.len() > room {
                return Err(TooLong);
            }
            self.buffer.extend_from_slice(rest);
            return Ok((bytes.len(), None));
        };
        let section = if self.buffer.is_empty() {
            &rest[..end]
        } else {
            self.buffer.extend_from_slice(&rest[..end]);
            &self.buffer
        };
        Ok((skipped + end, Some(section)))
    }

    /// Whether no byte of the section has been taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// What an incomplete section holds so far.
    pub(crate) fn buffered(&self) -> &[u8] {
        &self.buffer
    }

    /// Bytes of heap in use.
    pub(crate) fn heap(&self) -> usize {
        self.buffer.capacity()
    }

    /// Blank lines before the section are dropped at once, so that they count towards no limit.
    fn skip_blank_lines(&mut self, bytes: &[u8]) -> usize {
        let mut skipped = 0;
        while self.leading == Leading::Skipped {
            match (self.line, &bytes[skipped..]) {
                (Line::Empty, [b'\r', b'\n', ..]) => skipped += 2,
                (Line::Empty, [b'\n', ..]) => skipped += 1,
                (Line::CarriageReturn, [b'\n', ..]) => {
                    skipped += 1;
                    self.line = Line::Empty;
                    self.buffer.clear();
                }
                (_, [] | [b'\r']) => break,
                _ => self.leading = Leading::Ends,
            }
        }
        skipped
    }

    /// The index just past the blank line that ends the section. Lines end with LF; a CR before it is not text.
    fn find_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(length) = memchr::memchr(b'\n', &bytes[at..]) {
            let line = self.line.extended(&bytes[at..at + length]);
            at += length + 1;
            self.line = Line::Empty;
            if line != Line::Text {
                return Some(at);
            }
        }
        self.line = self.line.extended(&bytes[at..]);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(leading: Leading, bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
        let mut block = Block::new(leading);
        let (taken, section) = block.handle(bytes).unwrap();
        let section = section.map(<[u8]>::to_vec);
        assert!(section.is_none() || block.heap() == 0, "a section that arrives whole is not copied");
        section.map(|section| (taken, section))
    }

    #[test]
    fn a_section_ends_at_the_first_blank_line() {
        assert_eq!(whole(Leading::Skipped, b"a\r\nb\r\n\r\nbody"), Some((8, b"a\r\nb\r\n\r\n".to_vec())));
        assert_eq!(whole(Leading::Skipped, b"a\n\nbody"), Some((3, b"a\n\n".to_vec())));
        assert_eq!(whole(Leading::Skipped, b"a\n\r\nbody"), Some((4, b"a\n\r\n".to_vec())));
        assert_eq!(whole(Leading::Skipped, b"a\r\n \r\n"), None);
    }

    #[test]
    fn blank_lines_before_a_head_are_dropped_and_end_a_trailer_section() {
        assert_eq!(whole(Leading::Skipped, b"\r\n\n\r\na\n\n"), Some((8, b"a\n\n".to_vec())));
        assert_eq!(whole(Leading::Ends, b"\r\nrest"), Some((2, b"\r\n".to_vec())));
        assert_eq!(whole(Leading::Skipped, b"\r\n\r\n"), None);
    }

    #[test]
    fn every_split_gives_the_same_section() {
        let stream = b"\r\n\na: 1\r\nb: 2\n\r\n";
        for cut in 0..stream.len() {
            let mut block = Block::new(Leading::Skipped);
            assert!(matches!(block.handle(&stream[..cut]), Ok((taken, None)) if taken == cut));
            let (taken, section) = block.handle(&stream[cut..]).unwrap();
            assert_eq!((taken, section), (stream.len() - cut, Some(&stream[3..])), "cut at {cut}");
        }
    }

    #[test]
    fn the_limit_is_on_the_section_and_not_on_blank_lines_before_it() {
        let mut longest = vec![b'\n'; LINE_LIMIT];
        longest.extend(vec![b'x'; LINE_LIMIT - 2]);
        longest.extend(b"\n\n");
        assert_eq!(whole(Leading::Skipped, &longest).unwrap().1.len(), LINE_LIMIT);
        longest.insert(LINE_LIMIT, b'x');
        assert!(Block::new(Leading::Skipped).handle(&longest).is_err());
        let mut block = Block::new(Leading::Ends);
        assert!(block.handle(&[b'x'; LINE_LIMIT]).is_ok());
        assert!(block.handle(b"x").is_err());
    }
}
