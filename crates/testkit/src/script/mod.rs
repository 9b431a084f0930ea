//! Packet scripts: what a TCP endpoint is told and sent, and what it must send, statement by statement.
//!
//! `docs/packet-scripts.md` describes the language. A [`Script`] is parsed from text ([`Script::parse`]), printed by its
//! `Display`, and [`run`] against a [`Stack`]: our endpoint in virtual time ([`Simulated`]), or whatever else can be
//! commanded and heard.

mod files;
mod numbers;
mod parse;
mod print;
mod run;
mod simulated;
mod table;
mod vocabulary;
mod words;

pub use files::{ScriptFile, files};
pub use parse::ParseError;
pub use run::{Failure, Sent, Stack, run};
pub use simulated::Simulated;
pub use table::kernel_table;

use wasp_tcp::{Event, Options, State};
use wasp_units::Duration;
use wasp_wire::{Ecn, Flags};

/// The bytes of a stream: each tells its place. `from` is the offset of the first, from the beginning of the stream.
#[must_use]
pub fn content(from: u64, len: usize) -> Vec<u8> {
    (from..from + len as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

/// One behaviour of an endpoint, and how it shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// The behaviour, in a sentence.
    pub title: String,
    /// Where it is laid down.
    pub source: String,
    /// Whether the kernel's TCP shows it too.
    pub kernel: Kernel,
    /// The constants of the endpoint, as written: a preset and what departs from it.
    pub stack: Vec<String>,
    /// The same, understood.
    pub options: Options,
    /// How far times may be off in a run by the wall clock; `None` is [`Script::TOLERANCE`].
    pub tolerance: Option<Duration>,
    /// What happens.
    pub steps: Vec<Step>,
}

impl Script {
    /// How far times may be off in a run by the wall clock, unless the script says otherwise.
    pub const TOLERANCE: Duration = Duration::from_millis(30);
}

/// Whether a script is run against the kernel's TCP.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Kernel {
    /// It is, and passes.
    Yes,
    /// It is, and fails, because Linux departs from the RFC.
    Differs(Difference),
    /// It is not: why.
    No(String),
}

/// Where Linux departs from a script.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Difference {
    /// The statement that does not hold, counted from 1.
    pub statement: usize,
    /// In what it does not, and in nothing else.
    pub departure: Departure,
    /// What Linux does, in words.
    pub how: String,
}

/// In what an endpoint departs from a statement.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Departure {
    /// A segment came too early or too late.
    Time,
    /// Its control bits.
    Flags,
    /// Its sequence numbers.
    Numbers,
    /// Its acknowledgment number.
    Ack,
    /// Its window.
    Win,
    /// Its MSS option.
    Mss,
    /// Its window scale option.
    Scale,
    /// Its SACK-permitted option.
    SackOk,
    /// Its timestamps.
    Ts,
    /// Its SACK blocks.
    Sack,
    /// The ECN field of its IP header.
    Ecn,
    /// Its payload is not what the application wrote there.
    Payload,
    /// No segment came.
    Missing,
    /// One came that was not expected.
    Unexpected,
    /// More or fewer segments came than were to be counted.
    Count,
    /// It shows something else than what was looked for.
    Check,
    /// The application's call failed.
    Call,
}

/// One statement, and its line.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Counted from 1.
    pub line: usize,
    /// When it happens; `None` is at once.
    pub time: Option<Time>,
    /// What happens.
    pub action: Action,
}

/// When something happens: at one moment if `from` equals `to`, otherwise anywhere between, both included.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Time {
    /// Since the statement before, instead of since the beginning.
    pub relative: bool,
    /// Earliest.
    pub from: Duration,
    /// Latest.
    pub to: Duration,
}

/// What happens.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Segments reach the endpoint.
    Inject(Segment),
    /// The endpoint sends segments.
    Expect(Segment),
    /// An ICMP error reports that a segment of the endpoint did not get through.
    Report(Report),
    /// The application does something.
    Call(Call),
    /// A connection is opened, the usual way.
    Handshake(Handshake),
    /// The endpoint shows something.
    Check(Vec<Condition>),
    /// The endpoint has sent nothing since the statement before.
    Quiet,
    /// It has sent so many segments, whatever they say.
    Count(u32),
}

/// What an ICMP error reports of a segment of the endpoint.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Report {
    /// What happened to it.
    pub obstacle: Obstacle,
    /// The number of its first byte, or of its SYN.
    pub number: i64,
}

/// Why a segment did not get through.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Obstacle {
    /// It is longer than the next hop takes, which is so many bytes, and must not be fragmented.
    TooBig(u16),
    /// No route leads to the peer's network.
    Network,
    /// The peer cannot be reached.
    Host,
    /// The peer has no such port.
    Port,
}

/// What the application does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Call {
    /// Opens actively.
    Connect,
    /// Opens passively.
    Listen,
    /// Hands over so many bytes to be sent.
    Write(u32),
    /// Reads so many bytes, all of which must be there.
    Read(u32),
    /// Ends its stream, and may go on to read (a half-close).
    Close,
    /// Gives the connection up.
    Abort,
}

/// A handshake without losses.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Handshake {
    /// The endpoint sends the first SYN.
    pub active: bool,
    /// From the endpoint's first segment to the peer's answer.
    pub rtt: Duration,
    /// What the peer's SYN says beside flags and numbers.
    pub peer: Fields,
}

/// A segment, or a train of them.
///
/// All numbers are relative: a direction's SYN is number 0. In an expectation, what is not written is not compared, but for
/// flags (without PSH), numbers and SACK blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Control bits.
    pub flags: Flags,
    /// Number of the first byte, or of the SYN.
    pub from: i64,
    /// Number after the last byte of payload; equal to `from` without payload.
    pub to: i64,
    /// The payload comes in segments of so many bytes; PSH and FIN go with the last.
    pub cut: Option<u32>,
    /// Acknowledgment number; there if and only if the flags have ACK.
    pub ack: Option<i64>,
    /// The rest.
    pub fields: Fields,
}

/// What a segment may say beside flags and numbers.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Fields {
    /// The window field, unscaled.
    pub win: Option<u16>,
    /// The MSS option.
    pub mss: Said<u16>,
    /// The window scale option.
    pub scale: Said<u8>,
    /// The SACK-permitted option.
    pub sackok: Said<()>,
    /// The timestamps option: value and echo.
    pub ts: Said<(Stamp, Stamp)>,
    /// SACK blocks.
    pub sack: Vec<(i64, i64)>,
    /// The ECN field of the IP header.
    pub ecn: Option<Ecn>,
}

/// What a script says of an option of a segment.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Said<T> {
    /// Nothing.
    #[default]
    Nothing,
    /// That it is absent.
    Absent,
    /// That it is there, with this value.
    Present(T),
}

/// A timestamp: given, or (`None`) whatever is right when it is injected, anything when it is expected.
pub type Stamp = Option<u32>;

/// Something that an endpoint shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Which of its quantities.
    pub quantity: Quantity,
    /// What it must be.
    pub value: Value,
}

/// A quantity of an endpoint; see [`wasp_tcp::Endpoint`]'s getters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(missing_docs, reason = "they are the endpoint's own names")]
pub enum Quantity {
    State,
    Events,
    Cwnd,
    Ssthresh,
    Flight,
    Pipe,
    Rto,
    Srtt,
    Readable,
    Unsent,
    Unwritten,
    Unacknowledged,
    SendWindow,
    ReceiveWindow,
    Retransmitted,
    Timeouts,
    FastRetransmits,
    DuplicateAcks,
    DuplicatesReceived,
    OutOfOrder,
}

/// The value of a quantity.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of most quantities.
    Count(u64),
    /// Of `rto` and `srtt`.
    Time(Duration),
    /// Of `state`.
    State(State),
    /// Of `events`: everything but `Readable` since the last look, in order.
    Events(Vec<Event>),
}
