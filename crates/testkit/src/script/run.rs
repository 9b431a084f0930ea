//! Running a script against a stack.

use super::numbers::{Numbers, offset};
use super::vocabulary::{DEPARTURES, word};
use super::{
    Action, Call, Condition, Departure, Fields, Handshake, Obstacle, Quantity, Report, Said, Script, Segment,
    Step, Time, Value, content,
};
use std::fmt;
use wasp_units::{Duration, Instant};
use wasp_wire::{Ecn, Flags, TcpHeader};

/// A TCP endpoint as a script meets it: its application's side, and its wire.
///
/// A command takes effect at [`Stack::now`]; what the endpoint sends because of it is given out by the next
/// [`Stack::run_until`]. A command that fails says why.
pub trait Stack {
    /// The present; it starts anywhere.
    fn now(&mut self) -> Instant;

    /// How far times may be off: nothing in virtual time.
    fn tolerance(&self, script: &Script) -> Duration;

    /// How far a count of segments may be off: nothing in virtual time.
    fn leeway(&self) -> u32;

    /// Lets time pass until the endpoint has sent a segment, which is returned, or until it is `until`. A segment sent
    /// at `until` is returned; timers of that moment have expired.
    fn run_until(&mut self, until: Instant) -> Option<Sent>;

    /// A segment reaches the endpoint, in a packet with this ECN field.
    fn inject(&mut self, header: &TcpHeader, ecn: Ecn, payload: &[u8]);

    /// An ICMP error reports what happened to the endpoint's segment whose header begins like `quoted`: ports and sequence number.
    fn report(&mut self, obstacle: Obstacle, quoted: &TcpHeader);

    /// The application opens, actively or passively.
    fn open(&mut self, active: bool) -> Result<(), String>;

    /// The application hands over bytes to be sent.
    fn write(&mut self, bytes: &[u8]) -> Result<(), String>;

    /// The application reads so many bytes, which are there.
    fn read(&mut self, count: usize) -> Result<Vec<u8>, String>;

    /// The application ends its stream, and may still read.
    fn close(&mut self) -> Result<(), String>;

    /// The application gives the connection up.
    fn abort(&mut self) -> Result<(), String>;

    /// What a quantity is now; `None` where this stack cannot tell.
    fn observe(&mut self, quantity: Quantity) -> Option<Value>;
}

/// A segment that the endpoint has sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// When.
    pub at: Instant,
    /// Its header.
    pub header: TcpHeader,
    /// The ECN field of its packet.
    pub ecn: Ecn,
    /// Its payload.
    pub payload: Vec<u8>,
}

/// A script whose endpoint does not behave: where, what was expected, what came instead, and what led to it.
#[derive(Clone, Debug, thiserror::Error)]
pub struct Failure {
    line: usize,
    statement: String,
    message: String,
    departures: Vec<Departure>,
    history: Vec<String>,
}

/// Lines of history that a failure shows.
const HISTORY: usize = 16;

impl Failure {
    /// The line of the statement that failed.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }

    /// In what the endpoint departed from that statement.
    #[must_use]
    pub fn departures(&self) -> &[Departure] {
        &self.departures
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.line, self.statement)?;
        writeln!(f, "    {}", self.message)?;
        writeln!(f, "before that:")?;
        let skipped = self.history.len().saturating_sub(HISTORY);
        if skipped > 0 {
            writeln!(f, "    ({skipped} more)")?;
        }
        self.history[skipped..].iter().try_for_each(|line| writeln!(f, "    {line}"))
    }
}

/// Runs `script`.
///
/// # Errors
/// The first statement that does not hold.
pub fn run(script: &Script, stack: &mut dyn Stack) -> Result<(), Failure> {
    let start = stack.now();
    let tolerance = stack.tolerance(script);
    let mut runner = Runner {
        stack,
        tolerance,
        start,
        clock: start,
        numbers: Numbers::new(),
        written: 0,
        read: 0,
        history: Vec::new(),
    };
    for step in &script.steps {
        if let Err(wrong) = runner.step(step) {
            return Err(runner.failure(step, wrong));
        }
    }
    let Some(last) = script.steps.last() else { return Ok(()) };
    let end = runner.clock;
    runner.silence_until(end).map_err(|wrong| {
        let message = format!("after this, {}", wrong.message);
        runner.failure(last, Wrong { message, ..wrong })
    })
}

/// Why a statement does not hold.
struct Wrong {
    departures: Vec<Departure>,
    message: String,
}

impl Wrong {
    fn new(departure: Departure, message: String) -> Self {
        Self { departures: vec![departure], message }
    }
}

struct Runner<'a> {
    stack: &'a mut dyn Stack,
    tolerance: Duration,
    start: Instant,
    /// When the statement before happened.
    clock: Instant,
    numbers: Numbers,
    /// Bytes that the application has written and read.
    written: u64,
    read: u64,
    history: Vec<String>,
}

type Outcome = Result<(), Wrong>;

impl Runner<'_> {
    fn failure(self, step: &Step, wrong: Wrong) -> Failure {
        let Wrong { departures, message } = wrong;
        let (line, statement) = (step.line, step.to_string());
        Failure { line, statement, message, departures, history: self.history }
    }

    fn step(&mut self, step: &Step) -> Outcome {
        let (from, to) = self.window(step.time);
        if let Action::Expect(segment) = &step.action {
            return segment.pieces().try_for_each(|piece| self.expect(&piece, from, to));
        }
        if let Action::Count(count) = step.action {
            return self.count(count, to);
        }
        self.silence_until(to)?;
        match &step.action {
            Action::Inject(segment) => segment.pieces().for_each(|piece| self.inject(&piece)),
            Action::Report(report) => self.report(report),
            Action::Call(call) => self.call(*call).map_err(|message| Wrong::new(Departure::Call, message))?,
            Action::Handshake(handshake) => self.handshake(handshake)?,
            Action::Check(conditions) => conditions.iter().try_for_each(|condition| self.check(condition))?,
            Action::Quiet | Action::Expect(_) | Action::Count(_) => {}
        }
        Ok(())
    }

    fn window(&self, time: Option<Time>) -> (Instant, Instant) {
        match time {
            None => (self.clock, self.clock),
            Some(Time { relative, from, to }) => {
                let origin = if relative { self.clock } else { self.start };
                (origin + from, origin + to)
            }
        }
    }

    fn note(&mut self, at: Instant, what: &str) {
        let since = at.saturating_since(self.start);
        self.history.push(format!("{:>12.6}s  {what}", since.as_secs_f64()));
    }

    /// Nothing may leave until `until`, which becomes the present.
    fn silence_until(&mut self, until: Instant) -> Outcome {
        if until < self.clock {
            let (until, clock) = (until - self.start, self.clock - self.start);
            let message = format!("{until} is past: the statement before happened at {clock}");
            return Err(Wrong::new(Departure::Time, message));
        }
        if let Some(sent) = self.stack.run_until(until) {
            let segment = self.hear(&sent);
            let message =
                format!("the endpoint sent, unexpectedly, at {}: > {segment}", sent.at - self.start);
            return Err(Wrong::new(Departure::Unexpected, message));
        }
        self.clock = self.stack.now();
        Ok(())
    }

    /// `expected` segments leave until `until`, which becomes the present.
    fn count(&mut self, expected: u32, until: Instant) -> Outcome {
        let mut counted = 0_u32;
        while let Some(sent) = self.stack.run_until(until) {
            let segment = self.hear(&sent);
            self.note(sent.at, &format!("> {segment}"));
            counted += 1;
        }
        self.clock = self.stack.now();
        if counted.abs_diff(expected) > self.stack.leeway() {
            let message = format!("the endpoint sent {counted} segments, not {expected}");
            return Err(Wrong::new(Departure::Count, message));
        }
        Ok(())
    }

    /// The segment in the script's words.
    fn hear(&mut self, sent: &Sent) -> Segment {
        self.numbers.hear(&sent.header);
        self.numbers.describe(&sent.header, sent.ecn, sent.payload.len())
    }

    fn expect(&mut self, expected: &Segment, from: Instant, to: Instant) -> Outcome {
        let Some(sent) = self.stack.run_until(to.saturating_add(self.tolerance)) else {
            let message = format!("nothing was sent until {}", to - self.start);
            return Err(Wrong::new(Departure::Missing, message));
        };
        let actual = self.hear(&sent);
        let described = format!("> {actual}");
        let mut departures = differences(expected, &actual);
        let early = sent.at.saturating_add(self.tolerance) < from;
        if early || sent.at > to.saturating_add(self.tolerance) {
            departures.insert(0, Departure::Time);
        }
        if sent.payload != content(offset(&actual), sent.payload.len()) {
            departures.push(Departure::Payload);
        }
        if !departures.is_empty() {
            let at = sent.at - self.start;
            let said =
                departures.iter().map(|departure| self.describe(*departure, from, to)).collect::<Vec<_>>();
            let message =
                format!("the endpoint sent at {at}: {described}\n    differs in: {}", said.join(", "));
            return Err(Wrong { departures, message });
        }
        self.note(sent.at, &described);
        self.clock = sent.at;
        Ok(())
    }

    /// In what a segment differs that was expected between `from` and `to`.
    fn describe(&self, departure: Departure, from: Instant, to: Instant) -> String {
        let name = word(DEPARTURES, &departure);
        match departure {
            Departure::Time => {
                let range = if from == to { String::new() } else { format!(" to {}", to - self.start) };
                format!("{name} (expected {}{range})", from - self.start)
            }
            Departure::Payload => format!("{name} (not what the application wrote there)"),
            _ => name.to_owned(),
        }
    }

    fn inject(&mut self, segment: &Segment) {
        let now = self.stack.now();
        let (header, payload) = self.numbers.segment(segment, now - self.start);
        self.note(now, &format!("< {segment}"));
        self.stack.inject(&header, segment.fields.ecn.unwrap_or_default(), &payload);
    }

    fn report(&mut self, report: &Report) {
        let now = self.stack.now();
        self.note(now, &report.to_string());
        self.stack.report(report.obstacle, &self.numbers.quoted(report.number));
    }

    fn call(&mut self, call: Call) -> Result<(), String> {
        let now = self.stack.now();
        self.note(now, &call.to_string());
        match call {
            Call::Connect => self.stack.open(true),
            Call::Listen => self.stack.open(false),
            Call::Close => self.stack.close(),
            Call::Abort => self.stack.abort(),
            Call::Write(count) => {
                let bytes = content(self.written, count as usize);
                self.written += u64::from(count);
                self.stack.write(&bytes)
            }
            Call::Read(count) => {
                let bytes = self.stack.read(count as usize)?;
                let right = bytes == content(self.read, count as usize);
                self.read += u64::from(count);
                if right { Ok(()) } else { Err("what was read is not what was sent".to_owned()) }
            }
        }
    }

    fn handshake(&mut self, handshake: &Handshake) -> Outcome {
        let segment = |flags, number, ack, fields: &Fields| Segment {
            flags,
            from: number,
            to: number,
            cut: None,
            ack,
            fields: fields.clone(),
        };
        let (syn, both, none) = (Flags::SYN, Flags::SYN | Flags::ACK, Fields::default());
        let acknowledgment = segment(Flags::ACK, 1, Some(1), &none);
        if handshake.active {
            self.call(Call::Connect).map_err(|message| Wrong::new(Departure::Call, message))?;
            self.expect(&segment(syn, 0, None, &none), self.clock, self.clock)?;
            self.silence_until(self.clock + handshake.rtt)?;
            self.inject(&segment(both, 0, Some(1), &handshake.peer));
            self.expect(&acknowledgment, self.clock, self.clock)
        } else {
            self.call(Call::Listen).map_err(|message| Wrong::new(Departure::Call, message))?;
            self.inject(&segment(syn, 0, None, &handshake.peer));
            self.expect(&segment(both, 0, Some(1), &none), self.clock, self.clock)?;
            self.silence_until(self.clock + handshake.rtt)?;
            self.inject(&acknowledgment);
            Ok(())
        }
    }

    fn check(&mut self, condition: &Condition) -> Outcome {
        match self.stack.observe(condition.quantity) {
            Some(value) if value != condition.value => {
                let actual = Condition { quantity: condition.quantity, value };
                Err(Wrong::new(Departure::Check, format!("expected {condition}, but {actual}")))
            }
            _ => Ok(()),
        }
    }
}

/// In what a segment is not as expected.
fn differences(expected: &Segment, actual: &Segment) -> Vec<Departure> {
    let Segment { flags, from, to, cut: _, ack, fields } = expected;
    let Fields { win, mss, scale, sackok, ts, sack, ecn } = fields;
    let mut wrong = Vec::new();
    let mut compare = |departure: Departure, same: bool| {
        if !same {
            wrong.push(departure);
        }
    };
    let pushed = !flags.contains(Flags::PSH) || actual.flags.contains(Flags::PSH);
    compare(Departure::Flags, pushed && flags.without(Flags::PSH) == actual.flags.without(Flags::PSH));
    compare(Departure::Numbers, (*from, *to) == (actual.from, actual.to));
    compare(Departure::Ack, *ack == actual.ack);
    compare(Departure::Win, win.is_none() || *win == actual.fields.win);
    compare(Departure::Mss, agrees(*mss, actual.fields.mss));
    compare(Departure::Scale, agrees(*scale, actual.fields.scale));
    compare(Departure::SackOk, agrees(*sackok, actual.fields.sackok));
    compare(Departure::Ts, stamps_agree(*ts, actual.fields.ts));
    compare(Departure::Sack, *sack == actual.fields.sack);
    compare(Departure::Ecn, ecn.is_none() || *ecn == actual.fields.ecn);
    wrong
}

fn agrees<T: PartialEq>(expected: Said<T>, actual: Said<T>) -> bool {
    matches!(expected, Said::Nothing) || expected == actual
}

fn stamps_agree(
    expected: Said<(Option<u32>, Option<u32>)>,
    actual: Said<(Option<u32>, Option<u32>)>,
) -> bool {
    let (Said::Present((value, echo)), Said::Present(actual)) = (expected, actual) else {
        return agrees(expected, actual);
    };
    (value.is_none() || value == actual.0) && (echo.is_none() || echo == actual.1)
}
