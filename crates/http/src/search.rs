//! Looking for texts in a body that arrives in pieces, without keeping it.
//!
//! Source: Knuth, Morris and Pratt, "Fast Pattern Matching in Strings" (SIAM Journal on Computing 6, 1977).

/// The most bytes of a value that [`Between`] keeps: enough for the tokens of sign-in services.
pub const MOST_CAPTURED: usize = 4_096;

/// A text to look for, with what its search needs: made once, shared by every search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    bytes: Box<[u8]>,
    /// For each length of a partial match that is followed by another byte, the longest shorter one that the same bytes are.
    failure: Box<[u32]>,
}

impl Pattern {
    /// The pattern of a text. An empty one is found at once.
    pub fn new(text: &[u8]) -> Self {
        let mut failure = vec![0_u32; text.len()];
        let mut matched = 0;
        for place in 1..text.len() {
            while matched > 0 && text[place] != text[matched] {
                matched = failure[matched - 1] as usize;
            }
            matched += usize::from(text[place] == text[matched]);
            failure[place] = matched as u32;
        }
        Self { bytes: text.into(), failure: failure.into() }
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it is found at once.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// How far a text has been found in the bytes so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Search {
    /// So many bytes of the pattern are the last that were seen; all of them once it is found.
    matched: u32,
}

impl Search {
    /// Whether the pattern has been found.
    pub fn is_found(self, pattern: &Pattern) -> bool {
        self.matched as usize == pattern.len()
    }

    /// Looks at the next bytes. Returns the place just after the pattern, if it ends in them; then nothing more is looked at.
    pub fn handle(&mut self, pattern: &Pattern, bytes: &[u8]) -> Option<usize> {
        let (text, mut matched) = (&pattern.bytes, self.matched as usize);
        if matched == text.len() {
            return if text.is_empty() { Some(0) } else { None };
        }
        let mut at = 0;
        while at < bytes.len() {
            if matched == 0 {
                // Nearly all bytes are no beginning.
                let Some(skipped) = memchr::memchr(text[0], &bytes[at..]) else { break };
                at += skipped;
            }
            while matched > 0 && bytes[at] != text[matched] {
                matched = pattern.failure[matched - 1] as usize;
            }
            matched += usize::from(bytes[at] == text[matched]);
            at += 1;
            if matched == text.len() {
                self.matched = matched as u32;
                return Some(at);
            }
        }
        self.matched = matched as u32;
        None
    }

    /// Bytes passed that nobody kept: they match nothing.
    pub fn skip(&mut self, pattern: &Pattern) {
        if !self.is_found(pattern) {
            self.matched = 0;
        }
    }
}

/// What stands between two texts, where the first of them comes up for the first time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Between {
    after: Search,
    before: Search,
    /// The value, and as much of the text behind it as was seen.
    seen: Vec<u8>,
    stage: Stage,
}

/// How far [`Between`] is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    /// The text before the value was not found.
    #[default]
    Before,
    /// The value has begun.
    Within,
    /// The value was found.
    Found,
    /// The value is longer than [`MOST_CAPTURED`]: there will be none.
    TooLong,
}

impl Between {
    /// Whether the value was found.
    pub fn is_found(&self) -> bool {
        self.stage == Stage::Found
    }

    /// The value, if it was found.
    pub fn into_value(self) -> Option<Box<[u8]>> {
        self.is_found().then(|| self.seen.into())
    }

    /// Looks at the next bytes for what stands after `after` and before `before`; neither is empty.
    pub fn handle(&mut self, after: &Pattern, before: &Pattern, bytes: &[u8]) {
        let mut rest = bytes;
        if self.stage == Stage::Before {
            let Some(start) = self.after.handle(after, bytes) else { return };
            self.stage = Stage::Within;
            rest = &bytes[start..];
        }
        if self.stage != Stage::Within {
            return;
        }
        let end = self.before.handle(before, rest);
        let taken = &rest[..end.unwrap_or(rest.len())];
        let most = MOST_CAPTURED + before.len();
        if self.seen.len() + taken.len() > most {
            *self = Self { stage: Stage::TooLong, ..Self::default() };
            return;
        }
        self.seen.extend_from_slice(taken);
        if end.is_some() {
            self.seen.truncate(self.seen.len() - before.len());
            self.stage = Stage::Found;
        }
    }

    /// Bytes passed that nobody kept: no value reaches over them.
    pub fn skip(&mut self, after: &Pattern) {
        match self.stage {
            Stage::Before => self.after.skip(after),
            Stage::Within => *self = Self { stage: Stage::TooLong, ..Self::default() },
            Stage::Found | Stage::TooLong => {}
        }
    }
}
