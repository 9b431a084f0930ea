//! What is served: the answer to each request, and bodies cut from one static block.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{ALLOW, CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Version};

use crate::{Answer, Answers};

const BLOCK_SIZE: usize = 64 * 1024;

/// Chunks are small enough that a body of a few tens of KiB has several.
const CHUNK_SIZE: usize = 4 * 1024;

/// Noise, so that no layer below gains by compressing. Longer bodies repeat it, 64 KiB apart.
static BLOCK: [u8; BLOCK_SIZE] = noise();

/// xorshift64 (Marsaglia, "Xorshift RNGs", 2003), from an arbitrary state.
const fn noise() -> [u8; BLOCK_SIZE] {
    let mut block = [0; BLOCK_SIZE];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut at = 0;
    while at < BLOCK_SIZE {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        block[at] = (state >> 32) as u8;
        at += 1;
    }
    block
}

/// How a body's end is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Length,
    Chunked,
    Close,
}

/// What the server has beside the paths that tell sizes.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) files: BTreeMap<String, u64>,
    pub(crate) answers: Answers,
}

/// The answer to a request, where the server has this.
pub(crate) fn respond<B>(request: &Request<B>, site: &Site) -> Response<Content> {
    let target = request.uri().path_and_query().map_or("", |target| target.as_str());
    let method = request.method();
    let is_file = || asks_for_files(method) && site.files.contains_key(target);
    let of_pattern = || site.answers.of_pattern(method.as_str(), target).filter(|_| !is_file());
    site.answers
        .of_target(method.as_str(), target)
        .or_else(of_pattern)
        .map_or_else(|| of_path(request, &site.files), of_answer)
}

fn of_answer(answer: &Answer) -> Response<Content> {
    let text = Bytes::copy_from_slice(answer.text.as_bytes());
    let remaining = answer.size.saturating_sub(text.len() as u64);
    let mut response = Response::new(Content { text, remaining, framing: Framing::Length });
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    for (name, value) in &answer.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

fn asks_for_files(method: &Method) -> bool {
    [Method::GET, Method::HEAD, Method::POST].contains(method)
}

/// The answer that the path of a request tells.
fn of_path<B>(request: &Request<B>, files: &BTreeMap<String, u64>) -> Response<Content> {
    if !asks_for_files(request.method()) {
        let mut response = empty(StatusCode::METHOD_NOT_ALLOWED);
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD, POST"));
        return response;
    }
    let path = request.uri().path();
    let listed = files.get(path).map(|&size| (Framing::Length, size));
    let Some((framing, size)) = listed.or_else(|| parse(path)) else {
        return empty(StatusCode::NOT_FOUND);
    };
    let mut response = Response::new(Content { text: Bytes::new(), remaining: size, framing });
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    if framing == Framing::Close {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        *response.version_mut() = Version::HTTP_10;
    }
    response
}

fn empty(status: StatusCode) -> Response<Content> {
    let mut response = Response::new(Content { text: Bytes::new(), remaining: 0, framing: Framing::Length });
    *response.status_mut() = status;
    response
}

fn parse(path: &str) -> Option<(Framing, u64)> {
    let (framing, size) = match path.strip_prefix('/')?.split_once('/') {
        None => (Framing::Length, &path[1..]),
        Some(("chunked", size)) => (Framing::Chunked, size),
        Some(("close", size)) => (Framing::Close, size),
        Some(_) => return None,
    };
    let plain = size.bytes().all(|byte| byte.is_ascii_digit());
    Some((framing, size.parse().ok().filter(|_| plain)?))
}

/// A body of noise, behind a text. Slices of noise share the block, nothing of it is copied.
#[derive(Debug)]
pub(crate) struct Content {
    text: Bytes,
    remaining: u64,
    framing: Framing,
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if !self.text.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.text)))));
        }
        if self.remaining == 0 {
            return Poll::Ready(None);
        }
        let most = if self.framing == Framing::Chunked { CHUNK_SIZE } else { BLOCK_SIZE };
        let taken = usize::try_from(self.remaining).map_or(most, |remaining| remaining.min(most));
        self.remaining -= taken as u64;
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&BLOCK[..taken])))))
    }

    fn is_end_stream(&self) -> bool {
        // An empty body must still be framed as its path says.
        self.text.is_empty() && self.remaining == 0 && self.framing == Framing::Length
    }

    fn size_hint(&self) -> SizeHint {
        match self.framing {
            Framing::Length => SizeHint::with_exact(self.text.len() as u64 + self.remaining),
            Framing::Chunked | Framing::Close => SizeHint::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_a_framing_and_a_size() {
        assert_eq!(parse("/0"), Some((Framing::Length, 0)));
        assert_eq!(parse("/18446744073709551615"), Some((Framing::Length, u64::MAX)));
        assert_eq!(parse("/chunked/10"), Some((Framing::Chunked, 10)));
        assert_eq!(parse("/close/10"), Some((Framing::Close, 10)));
        for path in
            ["", "*", "/", "/x", "/-1", "/+1", "/1/", "//1", "/18446744073709551616", "/chunked", "/chunked/"]
        {
            assert_eq!(parse(path), None, "{path}");
        }
    }

    #[test]
    fn the_block_is_noise() {
        let mut counts = [0u32; 256];
        for byte in BLOCK {
            counts[usize::from(byte)] += 1;
        }
        let expected = (BLOCK_SIZE / 256) as f64;
        let chi_square: f64 = counts.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
        // 255 degrees of freedom: mean 255, standard deviation 22.6.
        assert!((255.0 - 5.0 * 22.6..255.0 + 5.0 * 22.6).contains(&chi_square), "{chi_square}");
    }
}
