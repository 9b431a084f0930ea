//! As much of HTTP/1.1 as it takes to find the end of a response with a `Content-Length`.

/// Bytes that a head may have.
const LONGEST_HEAD: usize = 64 << 10;
const BLANK_LINE: &[u8] = b"\r\n\r\n";

/// A response that is being read.
#[derive(Debug, Default)]
pub(crate) struct Response {
    head: Vec<u8>,
    /// Once the head is whole: status, length of the body, and what is left of it.
    body: Option<(u16, u64, u64)>,
}

/// What was read is no response with a `Content-Length`.
#[derive(Debug, PartialEq)]
pub(crate) struct Malformed;

impl Response {
    /// Takes what was read; returns status and length of the body when all of it is there.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<Option<(u16, u64)>, Malformed> {
        let arrived = if self.body.is_some() { bytes.len() } else { self.take_head(bytes)? };
        let Some((status, length, left)) = &mut self.body else { return Ok(None) };
        *left = left.checked_sub(arrived as u64).ok_or(Malformed)?;
        Ok((*left == 0).then_some((*status, *length)))
    }

    /// Takes what was read before the head was whole; returns how much of it is body.
    fn take_head(&mut self, bytes: &[u8]) -> Result<usize, Malformed> {
        let searched = self.head.len().saturating_sub(BLANK_LINE.len() - 1);
        self.head.extend_from_slice(bytes);
        let end = self.head[searched..].windows(BLANK_LINE.len()).position(|four| four == BLANK_LINE);
        let Some(end) = end else {
            return if self.head.len() > LONGEST_HEAD { Err(Malformed) } else { Ok(0) };
        };
        let end = searched + end + BLANK_LINE.len();
        let (status, length) = parse(&self.head[..end]).ok_or(Malformed)?;
        self.body = Some((status, length, length));
        Ok(self.head.len() - end)
    }
}

/// The status and the `Content-Length` of a head.
fn parse(head: &[u8]) -> Option<(u16, u64)> {
    let text = str::from_utf8(head).ok()?;
    let mut lines = text.split("\r\n");
    let status = lines.next()?.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let length = lines.filter_map(|line| line.split_once(':'));
    let mut length = length.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    Some((status, length.next()?.1.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nServer: x\r\ncontent-length: 5\r\n\r\n";

    #[test]
    fn a_response_ends_with_its_last_byte_however_it_is_cut() {
        let text = [HEAD, b"hello"].concat();
        assert_eq!(Response::default().take(&text), Ok(Some((200, 5))));
        for cut in 1..text.len() {
            let mut response = Response::default();
            assert_eq!(response.take(&text[..cut]), Ok(None));
            assert_eq!(response.take(&text[cut..]), Ok(Some((200, 5))));
        }
    }

    #[test]
    fn an_empty_body_ends_with_the_head() {
        let text = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(Response::default().take(text), Ok(Some((404, 0))));
    }

    #[test]
    fn what_has_no_length_or_is_longer_than_it_says_is_malformed() {
        for text in [
            &b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"[..],
            b"HTTP/1.1 OK\r\nContent-Length: 1\r\n\r\nx",
            b"nonsense\r\n\r\n",
            &[HEAD, b"hello!"].concat(),
            &[b'x'; LONGEST_HEAD + 1],
        ] {
            assert_eq!(Response::default().take(text), Err(Malformed));
        }
    }
}
