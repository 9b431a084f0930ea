//! Why a stream of bytes is no HTTP/1.x response.

/// The peer sent something that RFC 9112 does not allow or that this client does not accept. The connection it came on
/// cannot be used further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The first line does not start with a version this client speaks.
    #[error("the response does not start with HTTP/1.0 or HTTP/1.1")]
    Version,
    /// The status line has no three-digit status from 100 upward, or its reason has control characters.
    #[error("the status line has no valid status code or reason")]
    StatusLine,
    /// A header field has no valid name or value.
    #[error("a header field has no valid name or value")]
    Field,
    /// A carriage return stands where no line ends.
    #[error("a line does not end with CR LF or LF")]
    LineEnding,
    /// The head is longer than [`LINE_LIMIT`](crate::LINE_LIMIT).
    #[error("the head is longer than 64 KiB")]
    HeadTooLong,
    /// Status 101, which only answers a request to upgrade; this client makes none.
    #[error("status 101 switches to a protocol that was not asked for")]
    SwitchingProtocols,
    /// `Content-Length` is no decimal number below 2^64.
    #[error("Content-Length is not a decimal number below 2^64")]
    ContentLength,
    /// `Content-Length` is given more than once, with different values.
    #[error("Content-Length is given with different values")]
    ContentLengthsDiffer,
    /// `Transfer-Encoding` names no coding, or `chunked` twice or with a parameter.
    #[error("Transfer-Encoding names no coding, or chunked twice or with a parameter")]
    TransferEncoding,
    /// A chunk does not begin with a line that holds a hexadecimal size.
    #[error("a chunk does not begin with a hexadecimal size on a line of its own")]
    ChunkSize,
    /// A chunk's size is 2^64 or more.
    #[error("a chunk size is 2^64 or more")]
    ChunkSizeOverflow,
    /// A chunk-size line is longer than [`LINE_LIMIT`](crate::LINE_LIMIT).
    #[error("a chunk-size line is longer than 64 KiB")]
    ChunkLineTooLong,
    /// A chunk's data is not followed by CR LF.
    #[error("chunk data does not end with CR LF")]
    ChunkEnd,
    /// The trailer section holds an invalid field.
    #[error("a trailer field is invalid")]
    Trailers,
    /// The trailer section is longer than [`LINE_LIMIT`](crate::LINE_LIMIT).
    #[error("the trailer section is longer than 64 KiB")]
    TrailersTooLong,
    /// Bytes that nobody kept stand where their values matter.
    #[error("bytes that were only counted stand where their values matter")]
    CountedOutsideBody,
}
