//! A line of a script as words with their places.

use super::parse::ParseError;

/// A word of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) line: usize,
    /// Counted in characters from 1.
    pub(super) column: usize,
}

impl<'a> Word<'a> {
    /// An error at this word: `expected` says what would be valid.
    pub(super) fn error(&self, expected: &str) -> ParseError {
        let text = self.text;
        let found = if text.is_empty() { "the line ends".to_owned() } else { format!("{text:?}") };
        ParseError { line: self.line, column: self.column, message: format!("{found}: expected {expected}") }
    }

    /// The parts before and after the first `separator`, the latter `None` without one.
    pub(super) fn split(self, separator: &str) -> (Self, Option<Self>) {
        let Some((head, tail)) = self.text.split_once(separator) else { return (self, None) };
        let column = self.column + head.chars().count() + separator.chars().count();
        (Word { text: head, ..self }, Some(Word { text: tail, column, ..self }))
    }

    /// The parts between commas.
    pub(super) fn list(self) -> impl Iterator<Item = Self> {
        let mut rest = Some(self);
        std::iter::from_fn(move || {
            let (head, tail) = rest?.split(",");
            rest = tail;
            Some(head)
        })
    }

    /// The word as a number.
    pub(super) fn number<T: std::str::FromStr>(&self, expected: &str) -> Result<T, ParseError> {
        // No sign but a minus: one number has one spelling.
        let plain = self.text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        self.text.parse().ok().filter(|_| plain).ok_or_else(|| self.error(expected))
    }
}

/// The words of a line that have not been read yet.
#[derive(Clone, Debug)]
pub(super) struct Words<'a> {
    rest: &'a str,
    line: usize,
    column: usize,
}

impl<'a> Words<'a> {
    /// The words of line number `line`, without its comment.
    pub(super) fn new(text: &'a str, line: usize) -> Self {
        let text = text.split_once('#').map_or(text, |(before, _)| before);
        Self { rest: text.trim_end(), line, column: 1 }
    }

    fn skip(&mut self, bytes: usize) -> &'a str {
        let (head, tail) = self.rest.split_at(bytes);
        self.column += head.chars().count();
        self.rest = tail;
        head
    }

    fn skip_space(&mut self) {
        let blank = self.rest.len() - self.rest.trim_start().len();
        self.skip(blank);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.trim_start().is_empty()
    }

    /// The next word, not yet taken; an empty one at the end of the line.
    pub(super) fn peek(&self) -> Word<'a> {
        self.clone().take()
    }

    /// The next word; an empty one at the end of the line.
    pub(super) fn take(&mut self) -> Word<'a> {
        self.skip_space();
        let end = self.rest.find(char::is_whitespace).unwrap_or(self.rest.len());
        let (line, column) = (self.line, self.column);
        Word { text: self.skip(end), line, column }
    }

    /// The next word, if there is one.
    pub(super) fn next(&mut self) -> Option<Word<'a>> {
        (!self.is_empty()).then(|| self.take())
    }

    /// All that is left, as one.
    pub(super) fn remainder(&mut self) -> Word<'a> {
        self.skip_space();
        let (line, column) = (self.line, self.column);
        Word { text: self.skip(self.rest.len()), line, column }
    }
}
