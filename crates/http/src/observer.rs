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
