//! Reads a log into a set of files and a sequence of requests.

use super::line::{Entry, Problem, parse_log, parse_url};
use super::lines::{Line, Lines};
use super::{Format, ReplayOptions};
use crate::files::MOST_FILES;
use crate::requests::{MOST_REQUESTS, Pages, Requests, Times};
use crate::{Class, File, FileId, FileSet};
use flate2::bufread::MultiGzDecoder;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::sync::Arc;
use wasp_random::Key;
use wasp_units::{Bytes, Duration, Probability};

/// Bad lines that are kept to be shown.
const SHOWN: usize = 10;
/// Characters of a bad line that are shown.
const EXCERPT: usize = 80;

/// What was read: the files that are asked for, and the requests.
#[derive(Debug)]
pub struct Replay {
    files: FileSet,
    sequence: Arc<[u32]>,
    times: Option<Arc<Times>>,
    repeat: bool,
    /// The files whose size no line gives.
    unknown: BTreeSet<FileId>,
    reading: Reading,
}

/// What became of the lines.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Reading {
    /// Lines that count: neither empty nor a comment of a list.
    pub lines: u64,
    /// Those that are replayed.
    pub requests: u64,
    /// Those left out because their method is not GET.
    pub other_methods: u64,
    /// Those left out because they were not answered 200, 206 or 304.
    pub other_statuses: u64,
    /// Those that make no sense.
    pub bad: u64,
    /// The first of these.
    pub first_bad: Vec<BadLine>,
    /// Files whose size no line tells.
    pub unknown_sizes: u64,
}

/// A line that makes no sense.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("line {number}: {problem}: {text:?}")]
pub struct BadLine {
    /// Its number, counted from 1.
    pub number: u64,
    /// What is wrong.
    pub problem: Problem,
    /// How it begins.
    pub text: String,
}

/// Why a log cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The reader failed: the disk did, or compressed data is damaged or cut off.
    #[error("after line {line}: {source}")]
    Read {
        /// The last line that was read.
        line: u64,
        /// What failed.
        source: std::io::Error,
    },
    /// Too many lines make no sense.
    #[error("{bad} of {lines} lines make no sense, more than {limit}; the first is {first}")]
    TooManyBadLines {
        /// How many.
        bad: u64,
        /// Of how many.
        lines: u64,
        /// How many may.
        limit: Probability,
        /// The first of them.
        first: BadLine,
    },
    /// Nothing is left to ask for.
    #[error(
        "no request to replay: {lines} lines, {bad} of which make no sense, {other_methods} have another method than GET, and \
         {other_statuses} were not answered 200, 206 or 304"
    )]
    Nothing {
        /// Lines that count.
        lines: u64,
        /// Those that make no sense.
        bad: u64,
        /// Those with another method.
        other_methods: u64,
        /// Those with another status.
        other_statuses: u64,
    },
    /// Requests were to begin when they did, but the list does not tell when.
    #[error("times = true, but the list tells no times")]
    NoTimes,
    /// More than fits.
    #[error("line {line}: more than {most} {what}")]
    TooMany {
        /// The line at which it is too much.
        line: u64,
        /// How much is possible.
        most: u64,
        /// Of what.
        what: &'static str,
    },
}

impl ReplayOptions {
    /// Reads a log, whether or not it is compressed with gzip.
    ///
    /// # Errors
    /// If reading fails, or what was read cannot be replayed.
    pub fn read(&self, mut reader: impl BufRead) -> Result<Replay, ReadError> {
        // No text begins with the first byte of gzip's magic number.
        let first = reader.fill_buf().map_err(|source| ReadError::Read { line: 0, source })?.first().copied();
        if first == Some(0x1f) {
            self.read_text(BufReader::new(MultiGzDecoder::new(reader)))
        } else {
            self.read_text(reader)
        }
    }

    fn read_text(&self, reader: impl BufRead) -> Result<Replay, ReadError> {
        let mut lines = Lines::new(reader);
        let mut reader = Reader::new(self);
        loop {
            let line = lines.number();
            match lines.next() {
                Ok(Some(line)) => reader.handle(&line)?,
                Ok(None) => return reader.finish(),
                Err(source) => return Err(ReadError::Read { line, source }),
            }
        }
    }
}

/// The state of reading.
struct Reader<'a> {
    options: &'a ReplayOptions,
    by_path: FxHashMap<Box<str>, u32>,
    /// The largest body seen of each file: a logged transfer may have been broken off.
    sizes: Vec<Option<u64>>,
    sequence: Vec<u32>,
    nanos: Vec<i64>,
    reading: Reading,
}

impl<'a> Reader<'a> {
    fn new(options: &'a ReplayOptions) -> Self {
        Self {
            options,
            by_path: FxHashMap::default(),
            sizes: Vec::new(),
            sequence: Vec::new(),
            nanos: Vec::new(),
            reading: Reading::default(),
        }
    }

    fn handle(&mut self, line: &Line<'_>) -> Result<(), ReadError> {
        let comment = self.options.format == Format::Urls && line.bytes.starts_with(b"#");
        if line.bytes.trim_ascii().is_empty() || comment {
            return Ok(());
        }
        self.reading.lines += 1;
        let parse = if self.options.format == Format::Log { parse_log } else { parse_url };
        let entry = if line.cut { Err(Problem::TooLong) } else { parse(line.bytes) };
        match entry.and_then(|entry| self.in_order(&entry).map(|()| entry)) {
            Err(problem) => self.bad(line, problem),
            Ok(entry) if !entry.get => self.reading.other_methods += 1,
            Ok(entry) if !matches!(entry.status, 200 | 206 | 304) => self.reading.other_statuses += 1,
            Ok(entry) => self.request(&entry, line.number)?,
        }
        Ok(())
    }

    /// A list has times on all lines or on none, and they do not fall. A server logs a request when it is done with it, so the
    /// times of a log may fall.
    fn in_order(&self, entry: &Entry<'_>) -> Result<(), Problem> {
        if self.options.format == Format::Log {
            return Ok(());
        }
        match (entry.nanos, self.nanos.last()) {
            (Some(_), None) if !self.sequence.is_empty() => Err(Problem::MixedTimes),
            (None, Some(_)) => Err(Problem::MixedTimes),
            (Some(now), Some(&before)) if now < before => Err(Problem::Backwards),
            _ => Ok(()),
        }
    }

    fn bad(&mut self, line: &Line<'_>, problem: Problem) {
        self.reading.bad += 1;
        if self.reading.first_bad.len() < SHOWN {
            let text = String::from_utf8_lossy(&line.bytes[..line.bytes.len().min(EXCERPT)]).into_owned();
            self.reading.first_bad.push(BadLine { number: line.number, problem, text });
        }
    }

    fn request(&mut self, entry: &Entry<'_>, line: u64) -> Result<(), ReadError> {
        let too_many = |most: u64, what| ReadError::TooMany { line, most, what };
        if self.sequence.len() as u64 >= MOST_REQUESTS {
            return Err(too_many(MOST_REQUESTS, "requests"));
        }
        let file = match self.by_path.get(entry.target) {
            Some(&file) => file,
            None => {
                let file = self.sizes.len() as u32;
                if file >= MOST_FILES {
                    return Err(too_many(u64::from(MOST_FILES), "different URLs"));
                }
                self.by_path.insert(entry.target.into(), file);
                self.sizes.push(None);
                file
            }
        };
        // The body of a 304 is empty and that of a 206 a part.
        if entry.status == 200 {
            let size = &mut self.sizes[file as usize];
            *size = entry.bytes.max(*size);
        }
        self.sequence.push(file);
        self.nanos.extend(entry.nanos);
        self.reading.requests += 1;
        Ok(())
    }

    fn finish(mut self) -> Result<Replay, ReadError> {
        let Reading { lines, bad, other_methods, other_statuses, .. } = self.reading;
        if bad as f64 > self.options.max_bad_lines.as_f64() * lines as f64 {
            let limit = self.options.max_bad_lines;
            let first = self.reading.first_bad.swap_remove(0);
            return Err(ReadError::TooManyBadLines { bad, lines, limit, first });
        }
        if self.sequence.is_empty() {
            return Err(ReadError::Nothing { lines, bad, other_methods, other_statuses });
        }
        let times = if self.options.times { Some(Arc::new(self.times()?)) } else { None };
        self.reading.unknown_sizes = self.sizes.iter().filter(|size| size.is_none()).count() as u64;
        let unknown = self.options.unknown_size;
        let mut files: Vec<File> = self
            .sizes
            .iter()
            .map(|size| File {
                path: String::new(),
                size: size.map_or(unknown, Bytes::new),
                class: Class::Loner,
            })
            .collect();
        for (path, file) in self.by_path {
            files[file as usize].path = path.into_string();
        }
        Ok(Replay {
            files: FileSet::new(files),
            sequence: self.sequence.into(),
            times,
            repeat: self.options.repeat,
            unknown: (0..)
                .zip(&self.sizes)
                .filter(|(_, size)| size.is_none())
                .map(|(file, _)| FileId(file))
                .collect(),
            reading: self.reading,
        })
    }

    /// Times from the first request on. A log has whole seconds: what it has in one second is spread over it.
    fn times(&mut self) -> Result<Times, ReadError> {
        if self.nanos.is_empty() {
            return Err(ReadError::NoTimes);
        }
        let mut nanos = std::mem::take(&mut self.nanos);
        if self.options.format == Format::Log {
            nanos.sort_unstable();
            for equal in nanos.chunk_by_mut(|a, b| a == b) {
                let count = equal.len() as i64;
                for (place, time) in (0..).zip(equal) {
                    *time += 1_000_000_000 * place / count;
                }
            }
        }
        let first = nanos[0];
        let at: Vec<Duration> =
            nanos.iter().map(|time| Duration::from_nanos((time - first) as u64)).collect();
        let last = at[at.len() - 1].as_nanos();
        // After the last request passes the mean time between two, at least a nanosecond.
        let gap = (last / (at.len() as u64 - 1).max(1)).max(1);
        Ok(Times { at, period: Duration::from_nanos(last + gap) })
    }
}

impl Replay {
    /// Whether a line gives the size of a file.
    pub(crate) fn has_size_of(&self, file: FileId) -> bool {
        !self.unknown.contains(&file)
    }

    /// The files that are asked for, in the order of their first request.
    #[must_use]
    pub fn files(&self) -> &FileSet {
        &self.files
    }

    /// What became of the lines.
    #[must_use]
    pub fn reading(&self) -> &Reading {
        &self.reading
    }

    /// The requests of the run with this root key.
    #[must_use]
    pub fn requests(&self, run: Key) -> Requests {
        let pages = Arc::new(Pages::plain(self.files.files().len() as u32));
        Requests::sequence(pages, Arc::clone(&self.sequence), run)
            .with_times(self.times.clone())
            .with_repeat(self.repeat)
    }
}
