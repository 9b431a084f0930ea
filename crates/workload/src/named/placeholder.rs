//! Where placeholders stand in a text.

/// A placeholder in a text, or a text of the form of one that stands for itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Found<'a> {
    /// Where it begins.
    pub(super) start: usize,
    /// Where it has ended.
    pub(super) end: usize,
    /// What is between its braces.
    pub(super) inner: &'a str,
    /// Whether it has two pairs of braces, and is a text.
    pub(super) is_escaped: bool,
}

/// The next placeholder of `text` from `from` on.
pub(super) fn next(text: &str, from: usize) -> Option<Found<'_>> {
    let bytes = text.as_bytes();
    let mut at = from;
    while let Some(start) = bytes[at..].iter().position(|byte| *byte == b'{').map(|place| at + place) {
        let is_escaped = bytes.get(start + 1) == Some(&b'{');
        let open = start + 1 + usize::from(is_escaped);
        if let Some(length) = inner_length(&bytes[open..]) {
            let close = open + length;
            let inner = &text[open..close];
            if !is_escaped {
                return Some(Found { start, end: close + 1, inner, is_escaped });
            }
            if bytes.get(close + 1) == Some(&b'}') {
                return Some(Found { start, end: close + 2, inner, is_escaped });
            }
        }
        at = start + 1;
    }
    None
}

/// Length of the `name` or `name:argument` that `bytes` begin with, if a closing brace follows it.
fn inner_length(bytes: &[u8]) -> Option<usize> {
    if !bytes.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_') {
        return None;
    }
    let close = bytes.iter().position(|byte| matches!(byte, b'{' | b'}' | b'\n' | b'"'))?;
    let name = bytes[..close].iter().position(|byte| *byte == b':').unwrap_or(close);
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    // A program's text such as {name: value} is none.
    let is_apart = bytes.get(name + 1) == Some(&b' ');
    (bytes[close] == b'}' && !is_apart && bytes[..name].iter().all(is_word)).then_some(close)
}

/// What stands between the braces of the placeholders of a text, in their order.
fn placeholders(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = next(text, at) {
        at = next.end;
        found.extend((!next.is_escaped).then_some(next.inner));
    }
    found
}

/// The file that a placeholder such as `{line:users.csv}` or `{client:users.csv:2}` names behind its colon, and which field of its lines, from 1.
pub(super) fn file_and_field(named: &str) -> (&str, Option<usize>) {
    let number =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    let apart = named.rsplit_once(':').and_then(|(file, field)| Some((file, Some(number(field)?))));
    apart.unwrap_or((named, None))
}

/// The files whose lines the placeholders of a text are, in their order.
#[must_use]
pub fn files_of(text: &str) -> Vec<&str> {
    let found = placeholders(text).into_iter();
    let named =
        found.filter_map(|inner| inner.strip_prefix("line:").or_else(|| inner.strip_prefix("client:")));
    named.filter(|named| !named.is_empty()).map(|named| file_and_field(named).0).collect()
}
