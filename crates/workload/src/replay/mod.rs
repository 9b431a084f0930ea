//! Replay: the requests of an access log or of a list of URLs.
//!
//! The reader is streamed and may be compressed with gzip. Lines that make no sense are counted with their numbers and left
//! out; above a share of them the whole log is refused. Only what a server would answer with a file is asked for again: GET
//! requests that were answered 200, 206 or 304.

mod date;
mod line;
mod lines;
mod options;
mod read;

pub use line::Problem;
pub use options::{Format, ReplayOptions};
pub use read::{BadLine, ReadError, Reading, Replay};
