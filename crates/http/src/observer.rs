//! Who looks at responses while they are read.

/// Is shown what a [`ResponseReader`](crate::ResponseReader) reads, in its order: the head of each final response, then its body in
/// pieces, without framing. `()` looks at nothing, and costs nothing.
pub trait Observer {
    /// The head of a final response, from the status line to the blank line.
    fn head(&mut self, bytes: &[u8]);
    /// Bytes of its body.
    fn body(&mut self, bytes: &[u8]);
    /// The next bytes of its body, so many, which nobody kept.
    fn counted(&mut self, count: u64);
}

impl Observer for () {
    #[inline]
    fn head(&mut self, _: &[u8]) {}
    #[inline]
    fn body(&mut self, _: &[u8]) {}
    #[inline]
    fn counted(&mut self, _: u64) {}
}

/// The fields of a head that was read, name and value without the blanks around it, in their order. What is on a folded line (obsolete,
/// RFC 9112 section 5.2) is left out.
pub fn fields(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let lines = head.split(|byte| *byte == b'\n').skip(1);
    let whole = lines.filter(|line| !line.starts_with(b" ") && !line.starts_with(b"\t"));
    whole.filter_map(|line| {
        let colon = memchr::memchr(b':', line)?;
        Some((line[..colon].trim_ascii(), line[colon + 1..].trim_ascii()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_told_in_their_order() {
        let head = b"HTTP/1.1 201 Made\r\nLocation: /items/7\r\nX:\r\nA: b:c\n folded\r\n\r\n";
        let found: Vec<_> = fields(head).collect();
        let expected: [(&[u8], &[u8]); 3] = [(b"Location", b"/items/7"), (b"X", b""), (b"A", b"b:c")];
        assert_eq!(found, expected);
    }
}
