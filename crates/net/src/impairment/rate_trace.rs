//! Rate traces: a link that carries packets when a recorded one did, as mahimahi's `mm-link` has it (Netravali et al., "Mahimahi: Accurate
//! Record-and-Replay for HTTP", USENIX ATC 2015; its file `link_queue.cc` for the accounting).
//!
//! A trace is a list of times in milliseconds, one a line. Each line is an opportunity to send so many bytes. A packet uses what it needs of the
//! next opportunities, and leaves at the last of them; what remains of that one serves the packets that wait behind it. What no packet waits for
//! is lost. The last time of a trace is its length: a trace that repeats begins again there.

use crate::option_error::{OptionError, ensure};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::sync::Arc;
use wasp_random::{Key, Purpose};
use wasp_units::{Bytes, Duration, Instant, Rate};

const NANOS_PER_MILLI: u64 = 1_000_000;
/// Bytes of the packets in which a mean rate is told.
const FULL_PACKET: u128 = 1_500;
/// Characters of a line that an error quotes.
const QUOTED: usize = 40;

/// When a link has opportunities to send. A clone shares them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Trace {
    /// Milliseconds, never decreasing, the last above zero.
    times: Arc<[u32]>,
}

/// Why a text is not a trace. Lines count from 1.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TraceError {
    /// A line is no whole number.
    #[error("line {line}: {text:?}; must be a whole number of milliseconds such as 17")]
    NotAnInteger {
        /// The line.
        line: usize,
        /// How it begins.
        text: String,
    },
    /// A time is too large.
    #[error("line {line}: {text}; must be at most {} ms, which is 49 days", u32::MAX)]
    TooLate {
        /// The line.
        line: usize,
        /// How it begins.
        text: String,
    },
    /// A time is earlier than the one before.
    #[error("line {line}: {time} ms; must be at least {before} ms, the time on the line before")]
    Decreasing {
        /// The line.
        line: usize,
        /// Its time in milliseconds.
        time: u32,
        /// The time of the line before.
        before: u32,
    },
    /// There is no line.
    #[error("no line; must have at least one time")]
    Empty,
    /// All times are zero.
    #[error(
        "line {line}: 0 ms, as on every line before; the last time must be above zero, or the trace never ends"
    )]
    OnlyZeros {
        /// The last line.
        line: usize,
    },
}

impl Trace {
    /// Reads a trace in mahimahi's format. Lines may end as on Windows.
    ///
    /// # Errors
    /// The first line that is not a time or comes before the one before it, and traces without a length.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut times: Vec<u32> = Vec::new();
        for (number, content) in text.lines().enumerate() {
            let (line, time) = (number + 1, parse_time(number + 1, content)?);
            if let Some(&before) = times.last().filter(|&&before| before > time) {
                return Err(TraceError::Decreasing { line, time, before });
            }
            times.push(time);
        }
        match times.last() {
            None => Err(TraceError::Empty),
            Some(0) => Err(TraceError::OnlyZeros { line: times.len() }),
            Some(_) => Ok(Self { times: times.into() }),
        }
    }

    /// Opportunities of one round.
    #[must_use]
    pub fn opportunities(&self) -> usize {
        self.times.len()
    }

    /// The length of one round: the last time.
    #[must_use]
    pub fn period(&self) -> Duration {
        Duration::from_millis(self.period_in_millis())
    }

    /// The bits of IP in packets of 1,500 bytes that the trace can carry over its length, a second. It is at least 1 bit/s.
    #[must_use]
    pub fn mean_rate(&self, options: &TraceOptions) -> Rate {
        let bits = u128::from(options.opportunity.get()) * self.times.len() as u128 * 8_000 * FULL_PACKET;
        let cost = u128::from(self.period_in_millis()) * (FULL_PACKET + u128::from(options.overhead.get()));
        let rate = u64::try_from((bits + cost / 2) / cost).unwrap_or(u64::MAX);
        Rate::from_bits_per_second(rate.max(1)).expect("at least one bit a second")
    }

    fn period_in_millis(&self) -> u64 {
        self.times.last().copied().map_or(1, u64::from)
    }

    /// The first opportunity of a round from `from` on that comes after `offset`, by steps that double: the cost grows with the logarithm of the
    /// distance.
    fn first_after(&self, from: usize, offset: u64) -> usize {
        let passed = |time: &u32| u64::from(*time) <= offset;
        let rest = &self.times[from..];
        let mut bound = 1;
        while rest.get(bound).is_some_and(passed) {
            bound *= 2;
        }
        let (low, high) = (bound / 2, bound.min(rest.len()));
        from + low + rest[low..high].partition_point(passed)
    }
}

/// A trace is the text of its file.
impl<'de> Deserialize<'de> for Trace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// The time on a line: digits and nothing else.
fn parse_time(line: usize, content: &str) -> Result<u32, TraceError> {
    let quoted = || content.chars().take(QUOTED).collect::<String>();
    if content.is_empty() || !content.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(TraceError::NotAnInteger { line, text: quoted() });
    }
    content.parse().map_err(|_| TraceError::TooLate { line, text: quoted() })
}

/// How a trace is used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TraceOptions {
    /// Whether it begins again at its end. The link of a trace that does not is dead from the last opportunity on: no packet leaves it any more.
    /// (`mm-link --once` ends its shell then.)
    pub repeat: bool,
    /// Which time of it is the start of the run.
    pub start: TraceStart,
    /// What one opportunity carries: 1,504 bytes in mahimahi's code, 1,500 in its manual page.
    pub opportunity: Bytes,
    /// What each packet costs beyond its IP bytes. mahimahi reads packets from a TUN device with the 4 bytes that say their protocol, and counts
    /// those too, so that 1,504 bytes are exactly one packet of 1,500; with opportunities of 1,500 bytes set it to 0.
    pub overhead: Bytes,
}

/// Which time of a trace is the start of the run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TraceStart {
    /// So long after its zero.
    At(Duration),
    /// A time of each link's own: see [`random_start`].
    Random,
}

/// How a start at any time is written.
const RANDOM: &str = "random";

impl<'de> Deserialize<'de> for TraceStart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == RANDOM { Ok(Self::Random) } else { text.parse().map(Self::At).map_err(de::Error::custom) }
    }
}

impl Serialize for TraceStart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::At(time) => time.serialize(serializer),
            Self::Random => serializer.serialize_str(RANDOM),
        }
    }
}

impl Default for TraceStart {
    fn default() -> Self {
        Self::At(Duration::ZERO)
    }
}

impl Default for TraceOptions {
    /// As mahimahi.
    fn default() -> Self {
        let start = TraceStart::default();
        Self { repeat: true, start, opportunity: Bytes::new(1_504), overhead: Bytes::new(4) }
    }
}

/// A trace, and how a link uses it.
#[derive(Clone, Debug)]
pub struct RateTrace {
    /// The trace.
    pub trace: Trace,
    /// How it is used.
    pub options: TraceOptions,
}

impl RateTrace {
    /// Checks the options.
    ///
    /// # Errors
    /// An opportunity that carries nothing, or more than the longest packet; an overhead that leaves nothing of it; a start behind the end; a
    /// trace that begins anywhere and does not repeat.
    pub fn check(&self) -> Result<(), OptionError> {
        let TraceOptions { repeat, start, opportunity, overhead } = self.options;
        let carries = (1..=u64::from(u16::MAX)).contains(&opportunity.get());
        ensure(carries, "opportunity", opportunity, "from 1B to 65535B")?;
        let rest = overhead < opportunity;
        ensure(rest, "overhead", overhead, format_args!("less than opportunity, which is {opportunity}"))?;
        match start {
            TraceStart::Random => ensure(repeat, "start", RANDOM, "a time if the trace does not repeat"),
            TraceStart::At(time) => {
                let length = self.trace.period();
                ensure(time < length, "start", time, format_args!("before the end of the trace, {length}"))
            }
        }
    }

    /// How long after the start of the run it ends; `None` if it repeats.
    #[must_use]
    pub fn time_left(&self) -> Option<Duration> {
        let TraceStart::At(start) = self.options.start else { return None };
        (!self.options.repeat).then(|| self.trace.period().saturating_sub(start))
    }

    /// The mean rate of the trace.
    #[must_use]
    pub fn mean_rate(&self) -> Rate {
        self.trace.mean_rate(&self.options)
    }
}

/// Where the traces of both directions of a link start, where that is random: at any time of the longer one, all equally likely. So two traces that
/// were recorded together stay together; a shorter one has begun again by then.
pub(crate) fn random_start(of_both: [Option<&RateTrace>; 2], key: Key) -> Duration {
    let longest = of_both.into_iter().flatten().map(|trace| trace.trace.period()).max();
    let share = key.purpose(Purpose::TraceStart).draw(0);
    let nanos = (u128::from(share) * u128::from(longest.unwrap_or_default().as_nanos())) >> u64::BITS;
    Duration::from_nanos(nanos as u64)
}

/// The transmitter of one direction of a link whose rate follows a trace.
///
/// Call [`Self::finish`] for each packet in the order in which packets are transmitted, at the time from which the packet is the transmitter's
/// first: when it came, or when the packet before it left, whichever is later.
///
/// An opportunity serves the packets that came before it. A packet that comes at its very instant is too late for it, as it is in mahimahi,
/// unless the packet before left at that instant: then it may have waited, which the transmitter cannot tell, and takes what remains.
///
/// The cost of a packet does not depend on its length, and grows with the logarithm of the opportunities that were lost before it.
#[derive(Clone, Debug)]
pub struct TraceTransmitter {
    trace: Trace,
    repeat: bool,
    /// Nanoseconds by which the trace's clock is ahead of the run's. All other times here are on the trace's clock.
    ahead: u64,
    opportunity: u64,
    overhead: u64,
    /// Rounds before that of the next opportunity.
    round: u64,
    /// The next opportunity in its round; behind the last one when no packet leaves any more.
    next: usize,
    /// When the last packet left, in nanoseconds, if one did.
    finished: Option<u64>,
    /// Bytes that it left of its last opportunity.
    left: u64,
}

impl TraceTransmitter {
    /// A transmitter before its first packet; the options are checked. It starts at `random` where they ask for a random start.
    #[must_use]
    pub fn new(trace: &RateTrace, random: Duration) -> Self {
        let RateTrace { trace, options } = trace;
        let ahead = match options.start {
            TraceStart::At(time) => time.as_nanos(),
            TraceStart::Random => random.as_nanos() % trace.period().as_nanos(),
        };
        Self {
            trace: trace.clone(),
            repeat: options.repeat,
            ahead,
            opportunity: options.opportunity.get().max(1),
            overhead: options.overhead.get(),
            round: 0,
            next: 0,
            finished: None,
            left: 0,
        }
    }

    /// When the last byte leaves of a packet of `bytes` IP bytes that comes to the transmitter at `start`, which is never earlier than before.
    ///
    /// `None` if it never leaves, because the trace ends first and does not repeat. No later packet leaves either.
    pub fn finish(&mut self, start: Instant, bytes: u32) -> Option<Instant> {
        let start = start.as_nanos().saturating_add(self.ahead);
        if self.finished.is_none_or(|finished| start > finished) {
            self.left = 0;
            self.lose_until(start);
        }
        let needed = u64::from(bytes).saturating_add(self.overhead).max(1);
        if let Some(rest) = self.left.checked_sub(needed) {
            self.left = rest;
        } else {
            let missing = needed - self.left;
            let count = missing.div_ceil(self.opportunity);
            self.left = count * self.opportunity - missing;
            self.finished = self.take(count);
        }
        self.finished.map(|finished| Instant::from_nanos(finished - self.ahead))
    }

    /// Uses up so many opportunities, at least one; the time of the last. `None` if the trace, or time itself, ends before.
    fn take(&mut self, count: u64) -> Option<u64> {
        let len = self.trace.times.len();
        let (mut round, mut last) = (self.round, self.next + (count - 1) as usize);
        if self.next == len || last >= len && !self.repeat {
            return self.end();
        }
        if last >= len {
            round += (last / len) as u64;
            last %= len;
        }
        let millis = u128::from(round) * u128::from(self.trace.period_in_millis())
            + u128::from(self.trace.times[last]);
        let Ok(nanos) = u64::try_from(millis * u128::from(NANOS_PER_MILLI)) else { return self.end() };
        (self.round, self.next) =
            if last + 1 == len && self.repeat { (round + 1, 0) } else { (round, last + 1) };
        Some(nanos)
    }

    /// No packet leaves any more.
    fn end(&mut self) -> Option<u64> {
        self.next = self.trace.times.len();
        self.left = 0;
        None
    }

    /// Loses the opportunities up to and at `start`.
    fn lose_until(&mut self, start: u64) {
        // Opportunities come at whole milliseconds, so those up to this one have come by `start`.
        let now = start / NANOS_PER_MILLI;
        if self.next == self.trace.times.len() || self.millis_at(self.round, self.next) > now {
            return;
        }
        let period = self.trace.period_in_millis();
        let (round, offset) = if self.repeat { (now / period, now % period) } else { (0, now) };
        let from = if round > self.round { 0 } else { self.next };
        self.round = round;
        self.next = self.trace.first_after(from, offset);
    }

    /// When an opportunity comes, in milliseconds.
    fn millis_at(&self, round: u64, index: usize) -> u64 {
        round * self.trace.period_in_millis() + u64::from(self.trace.times[index])
    }
}
