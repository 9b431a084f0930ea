//! Running a script against a stack.

use super::numbers::{Numbers, offset};
use super::{
    Action, Call, Condition, Fields, Handshake, Quantity, Said, Script, Segment, Step, Time, Value, content,
};
use std::fmt;
use wasp_units::{Duration, Instant};
use wasp_wire::{Flags, TcpHeader};

/// A TCP endpoint as a script meets it: its application's side, and its wire.
///
/// A command takes effect at [`Stack::now`]; what the endpoint sends because of it is given out by the next
/// [`Stack::run_until`]. A command that fails says why.
pub trait Stack {
    /// The present; it starts anywhere.
    fn now(&mut self) -> Instant;

    /// How far times may be off: nothing in virtual time.
    fn tolerance(&self, script: &Script) -> Duration;

    /// Lets time pass until the endpoint has sent a segment, which is returned, or until it is `until`. A segment sent
    /// at `until` is returned; timers of that moment have expired.
    fn run_until(&mut self, until: Instant) -> Option<Sent>;

    /// A segment reaches the endpoint.
    fn inject(&mut self, header: &TcpHeader, payload: &[u8]);

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
    /// Its payload.
    pub payload: Vec<u8>,
}

/// A script whose endpoint does not behave: where, what was expected, what came instead, and what led to it.
#[derive(Clone, Debug, thiserror::Error)]
pub struct Failure {
    line: usize,
    statement: String,
    message: String,
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
        let failed = |message| (step.line, step.to_string(), message);
        if let Err((line, statement, message)) = runner.step(step).map_err(failed) {
            return Err(Failure { line, statement, message, history: runner.history });
        }
    }
    let Some(last) = script.steps.last() else { return Ok(()) };
    let end = runner.clock;
    runner.silence_until(end).map_err(|message| Failure {
        line: last.line,
        statement: last.to_string(),
        message: format!("after this, {message}"),
        history: runner.history,
    })
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

type Outcome = Result<(), String>;

impl Runner<'_> {
    fn step(&mut self, step: &Step) -> Outcome {
        let (from, to) = self.window(step.time);
        if let Action::Expect(segment) = &step.action {
            return segment.pieces().try_for_each(|piece| self.expect(&piece, from, to));
        }
        self.silence_until(to)?;
        match &step.action {
            Action::Inject(segment) => segment.pieces().for_each(|piece| self.inject(&piece)),
            Action::Call(call) => self.call(*call)?,
            Action::Handshake(handshake) => self.handshake(handshake)?,
            Action::Check(conditions) => conditions.iter().try_for_each(|condition| self.check(condition))?,
            Action::Quiet | Action::Expect(_) => {}
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
            return Err(format!("{until} is past: the statement before happened at {clock}"));
        }
        if let Some(sent) = self.stack.run_until(until) {
            let segment = self.hear(&sent);
            return Err(format!("the endpoint sent, unexpectedly, at {}: > {segment}", sent.at - self.start));
        }
        self.clock = self.stack.now();
        Ok(())
    }

    /// The segment in the script's words.
    fn hear(&mut self, sent: &Sent) -> Segment {
        self.numbers.hear(&sent.header);
        self.numbers.describe(&sent.header, sent.payload.len())
    }

    fn expect(&mut self, expected: &Segment, from: Instant, to: Instant) -> Outcome {
        let Some(sent) = self.stack.run_until(to.saturating_add(self.tolerance)) else {
            return Err(format!("nothing was sent until {}", to - self.start));
        };
        let actual = self.hear(&sent);
        let described = format!("> {actual}");
        let mut wrong = differences(expected, &actual);
        let early = sent.at.saturating_add(self.tolerance) < from;
        if early || sent.at > to.saturating_add(self.tolerance) {
            let range = if from == to { String::new() } else { format!(" to {}", to - self.start) };
            wrong.insert(0, format!("time (expected {}{range})", from - self.start));
        }
        if sent.payload != content(offset(&actual), sent.payload.len()) {
            wrong.push("payload (not what the application wrote there)".to_owned());
        }
        if !wrong.is_empty() {
            let at = sent.at - self.start;
            return Err(format!(
                "the endpoint sent at {at}: {described}\n    differs in: {}",
                wrong.join(", ")
            ));
        }
        self.note(sent.at, &described);
        self.clock = sent.at;
        Ok(())
    }

    fn inject(&mut self, segment: &Segment) {
        let now = self.stack.now();
        let (header, payload) = self.numbers.segment(segment, now - self.start);
        self.note(now, &format!("< {segment}"));
        self.stack.inject(&header, &payload);
    }

    fn call(&mut self, call: Call) -> Outcome {
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
            self.call(Call::Connect)?;
            self.expect(&segment(syn, 0, None, &none), self.clock, self.clock)?;
            self.silence_until(self.clock + handshake.rtt)?;
            self.inject(&segment(both, 0, Some(1), &handshake.peer));
            self.expect(&acknowledgment, self.clock, self.clock)
        } else {
            self.call(Call::Listen)?;
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
                Err(format!("expected {condition}, but {actual}"))
            }
            _ => Ok(()),
        }
    }
}

/// In what a segment is not as expected.
fn differences(expected: &Segment, actual: &Segment) -> Vec<String> {
    let Segment { flags, from, to, cut: _, ack, fields } = expected;
    let Fields { win, mss, scale, sackok, ts, sack } = fields;
    let mut wrong = Vec::new();
    let mut compare = |name: &str, same: bool| {
        if !same {
            wrong.push(name.to_owned());
        }
    };
    let pushed = !flags.contains(Flags::PSH) || actual.flags.contains(Flags::PSH);
    compare("flags", pushed && flags.without(Flags::PSH) == actual.flags.without(Flags::PSH));
    compare("numbers", (*from, *to) == (actual.from, actual.to));
    compare("ack", *ack == actual.ack);
    compare("win", win.is_none() || *win == actual.fields.win);
    compare("mss", agrees(*mss, actual.fields.mss));
    compare("scale", agrees(*scale, actual.fields.scale));
    compare("sackok", agrees(*sackok, actual.fields.sackok));
    compare("ts", stamps_agree(*ts, actual.fields.ts));
    compare("sack", *sack == actual.fields.sack);
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
