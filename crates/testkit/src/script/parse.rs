//! Reading a script.

use super::vocabulary::{
    DEPARTURES, ECN, EVENTS, FLAGS, NO_FLAGS, OBSTACLES, QUANTITIES, STATES, TOO_BIG, choices, meaning,
};
use super::words::{Word, Words};
use super::{
    Action, Call, Condition, Difference, Fields, Handshake, Kernel, Obstacle, Report, Said, Script, Segment,
    Stamp, Step, Time, Value,
};
use wasp_tcp::{ConfigError, Options};
use wasp_units::Duration;
use wasp_wire::Flags;

/// Where a text is no script, and what would be valid there. The place counts lines and characters from 1.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct ParseError {
    /// Line.
    pub line: usize,
    /// Character of the line.
    pub column: usize,
    /// What is there, and what was expected.
    pub message: String,
}

type Parsed<T> = Result<T, ParseError>;

const DURATION: &str = "a time such as 200ms or 1.5s";
const SEQUENCE: &str = "a sequence number, relative to the SYN, between -2^30 and 2^30";
/// Relative numbers stay clear of half the sequence space.
const FARTHEST: i64 = 1 << 30;
/// The largest payload of an IPv4 packet.
const MAX_PAYLOAD: i64 = 65_495;
/// Most segments of a train.
const MAX_TRAIN: i64 = 10_000;
const ACTIONS: &str =
    "<, >, report, handshake, connect, listen, write, read, close, abort, check, count or quiet";
const HEADERS: &str = "title, rfc, kernel, tcp or tolerance";

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// The first place where the text is not one.
    pub fn parse(text: &str) -> Parsed<Self> {
        let mut headers = Headers::default();
        let mut steps = Vec::new();
        let mut last = 1;
        for (line, text) in (1..).zip(text.lines()) {
            let mut words = Words::new(text, line);
            if words.is_empty() {
                continue;
            }
            last = line;
            if steps.is_empty() && words.peek().text.ends_with(':') {
                headers.take(words)?;
            } else {
                steps.push(step(&mut words)?);
            }
        }
        headers.finish(steps, last)
    }
}

/// The lines before the first statement.
#[derive(Default)]
struct Headers {
    title: Option<String>,
    source: Option<String>,
    kernel: Option<Kernel>,
    stack: Option<(Vec<String>, Options)>,
    tolerance: Option<Duration>,
}

impl Headers {
    fn take(&mut self, mut words: Words<'_>) -> Parsed<()> {
        let key = words.take();
        let repeated = match key.text {
            "title:" => self.title.replace(text(&mut words)?).is_some(),
            "rfc:" => self.source.replace(text(&mut words)?).is_some(),
            "kernel:" => self.kernel.replace(kernel(&mut words)?).is_some(),
            "tcp:" => self.stack.replace(stack(&mut words)?).is_some(),
            "tolerance:" => {
                let tolerance = duration(words.take())?;
                end(&mut words)?;
                self.tolerance.replace(tolerance).is_some()
            }
            _ => return Err(key.error(&format!("{HEADERS}, each followed by a colon"))),
        };
        if repeated { Err(key.error("each header once")) } else { Ok(()) }
    }

    fn finish(self, steps: Vec<Step>, last: usize) -> Parsed<Script> {
        let error = |message: &str| ParseError { line: last, column: 1, message: message.to_owned() };
        let missing = |name| error(&format!("no {name:?} line: expected one before the first statement"));
        let (stack, options) = self.stack.ok_or_else(|| missing("tcp:"))?;
        let script = Script {
            title: self.title.ok_or_else(|| missing("title:"))?,
            source: self.source.ok_or_else(|| missing("rfc:"))?,
            kernel: self.kernel.ok_or_else(|| missing("kernel:"))?,
            stack,
            options,
            tolerance: self.tolerance,
            steps,
        };
        if script.steps.is_empty() {
            return Err(error("the script ends: expected a statement"));
        }
        if let Kernel::Differs(difference) = &script.kernel
            && !(1..=script.steps.len()).contains(&difference.statement)
        {
            let (asked, last) = (difference.statement, script.steps.len());
            return Err(error(&format!("kernel: there is no statement {asked}: expected 1 to {last}")));
        }
        if script.tolerance.is_some() && matches!(script.kernel, Kernel::No(_)) {
            return Err(error("tolerance: expected only beside \"kernel: yes\" or \"kernel: differs\""));
        }
        Ok(script)
    }
}

fn text(words: &mut Words<'_>) -> Parsed<String> {
    let rest = words.remainder();
    if rest.text.is_empty() { Err(rest.error("some text")) } else { Ok(rest.text.to_owned()) }
}

fn kernel(words: &mut Words<'_>) -> Parsed<Kernel> {
    let word = words.take();
    match word.text {
        "yes" => end(words).map(|()| Kernel::Yes),
        "differs" if words.peek().text == "at" => difference(words).map(Kernel::Differs),
        "no," if words.peek().text == "because" => {
            words.take();
            text(words).map(Kernel::No)
        }
        _ => Err(word.error("\"yes\", \"differs at STATEMENT in FIELD, HOW\" or \"no, because WHY\"")),
    }
}

fn difference(words: &mut Words<'_>) -> Parsed<Difference> {
    words.take();
    let statement = words.take().number("the number of a statement, counted from 1")?;
    let link = words.take();
    if link.text != "in" {
        return Err(link.error("\"in\""));
    }
    let field = words.take();
    let departure = field.text.strip_suffix(',').and_then(|name| meaning(DEPARTURES, name));
    let departure = departure
        .ok_or_else(|| field.error(&format!("one of {}, and a comma behind it", choices(DEPARTURES))))?;
    Ok(Difference { statement, departure, how: text(words)? })
}

/// A preset, then `field=value` for what departs from it: the fields of a scenario file.
fn stack(words: &mut Words<'_>) -> Parsed<(Vec<String>, Options)> {
    let preset = words.take();
    let mut fields = serde_json::Map::new();
    let mut spelled = vec![preset.text.to_owned()];
    fields.insert("preset".to_owned(), preset.text.into());
    options(&fields).map_err(|message| preset.error(&format!("a preset ({message})")))?;
    while let Some(word) = words.next() {
        let (key, Some(value)) = word.split("=") else { return Err(word.error("field=value")) };
        if fields.contains_key(key.text) {
            return Err(key.error("each field once"));
        }
        fields.insert(key.text.to_owned(), json(value.text));
        options(&fields).map_err(|message| word.error(&format!("an option of the stack ({message})")))?;
        spelled.push(word.text.to_owned());
    }
    let options = options(&fields).map_err(|message| preset.error(&message))?;
    let resolved = options.resolve().map(|_| options);
    let resolved = resolved.map_err(|ConfigError { field, value, expected }| {
        preset.error(&format!("a stack, but {field} is {value} where {expected} would be valid"))
    })?;
    Ok((spelled, resolved))
}

fn options(fields: &serde_json::Map<String, serde_json::Value>) -> Result<Options, String> {
    serde_json::from_value(fields.clone().into()).map_err(|error| error.to_string())
}

fn json(text: &str) -> serde_json::Value {
    match text {
        "on" | "true" => true.into(),
        "off" | "false" => false.into(),
        _ => text.parse::<u64>().map_or_else(|_| text.into(), Into::into),
    }
}

fn step(words: &mut Words<'_>) -> Parsed<Step> {
    let first = words.peek();
    let timed = first.text.starts_with(|c: char| c == '+' || c.is_ascii_digit());
    let time = if timed { Some(time(words.take())?) } else { None };
    let word = words.take();
    let action = action(word, words)?;
    end(words)?;
    let window = time.is_some_and(|time| time.from != time.to);
    if window && !matches!(action, Action::Expect(_)) {
        return Err(first.error("a single time: only what is expected (>) may happen anywhere in a range"));
    }
    if matches!(action, Action::Quiet | Action::Count(_)) && time.is_none() {
        return Err(word.error("a time before it: until when nothing is sent, or what is sent is counted"));
    }
    Ok(Step { line: first.line, time, action })
}

fn time(word: Word<'_>) -> Parsed<Time> {
    let relative = word.text.starts_with('+');
    let skipped = usize::from(relative);
    let word = Word { text: &word.text[skipped..], column: word.column + skipped, ..word };
    let (from, to) = word.split("..");
    let from = duration(from)?;
    let to = match to {
        None => from,
        Some(to) => {
            let end = duration(to)?;
            if end <= from {
                return Err(to.error("a later time than the one before the dots"));
            }
            end
        }
    };
    Ok(Time { relative, from, to })
}

fn duration(word: Word<'_>) -> Parsed<Duration> {
    let parsed = word.text.parse::<Duration>().ok();
    // A year keeps all sums far from overflow.
    parsed.filter(|time| *time <= Duration::from_secs(31_536_000)).ok_or_else(|| word.error(DURATION))
}

fn action(word: Word<'_>, words: &mut Words<'_>) -> Parsed<Action> {
    Ok(match word.text {
        "<" => Action::Inject(segment(words, false)?),
        ">" => Action::Expect(segment(words, true)?),
        "report" => Action::Report(report(words)?),
        "handshake" => Action::Handshake(handshake(words)?),
        "connect" => Action::Call(Call::Connect),
        "listen" => Action::Call(Call::Listen),
        "write" => Action::Call(Call::Write(count(words.take())?)),
        "read" => Action::Call(Call::Read(count(words.take())?)),
        "close" => Action::Call(Call::Close),
        "abort" => Action::Call(Call::Abort),
        "check" => Action::Check(conditions(words)?),
        "quiet" => Action::Quiet,
        "count" => Action::Count(words.take().number("a number of segments")?),
        _ => return Err(word.error(ACTIONS)),
    })
}

fn end(words: &mut Words<'_>) -> Parsed<()> {
    words.next().map_or(Ok(()), |word| Err(word.error("the end of the line")))
}

fn count(word: Word<'_>) -> Parsed<u32> {
    let expected = "a number of bytes between 1 and 2^30";
    let count = word.number::<u32>(expected)?;
    if (1..=1 << 30).contains(&count) { Ok(count) } else { Err(word.error(expected)) }
}

fn segment(words: &mut Words<'_>, expected: bool) -> Parsed<Segment> {
    let place = words.peek();
    let flags = flags(words.take())?;
    let (from, to, cut) = range(words.take())?;
    let mut segment = Segment { flags, from, to, cut, ack: None, fields: Fields::default() };
    while let Some(word) = words.next() {
        let (key, value) = word.split("=");
        match (key.text, value) {
            ("ack", Some(value)) if segment.ack.is_none() => segment.ack = Some(sequence(value)?),
            _ => segment.fields.take(word, expected)?,
        }
    }
    if flags.contains(Flags::ACK) != segment.ack.is_some() {
        return Err(place.error("ack=NUMBER exactly where the flags have ACK"));
    }
    Ok(segment)
}

/// What an ICMP error reports, and the number of the segment that it quotes.
fn report(words: &mut Words<'_>) -> Parsed<Report> {
    let word = words.take();
    let (name, mtu) = word.split("=");
    let obstacle = match mtu {
        Some(mtu) if name.text == TOO_BIG => Obstacle::TooBig(mtu.number("an MTU below 65536")?),
        _ => meaning(OBSTACLES, word.text)
            .ok_or_else(|| word.error(&format!("{TOO_BIG}=MTU, or one of {}", choices(OBSTACLES))))?,
    };
    Ok(Report { obstacle, number: sequence(words.take())? })
}

fn flags(word: Word<'_>) -> Parsed<Flags> {
    if word.text == NO_FLAGS {
        return Ok(Flags::default());
    }
    let mut flags = Flags::default();
    for part in word.list() {
        let flag = meaning(FLAGS, part.text).filter(|flag| !flags.contains(*flag));
        let flag = flag.ok_or_else(|| {
            part.error(&format!("flags, each once, with commas between ({}), or {NO_FLAGS}", choices(FLAGS)))
        })?;
        flags = flags | flag;
    }
    Ok(flags)
}

fn range(word: Word<'_>) -> Parsed<(i64, i64, Option<u32>)> {
    let (range, cut) = word.split("/");
    let (first, last) = range.split(":");
    let from = sequence(first)?;
    let Some(last) = last else {
        return match cut {
            None => Ok((from, from, None)),
            Some(cut) => Err(cut.error("a range FROM:TO before the size of segments")),
        };
    };
    let to = sequence(last)?;
    if to <= from {
        return Err(last.error("a later number than the one before the colon"));
    }
    let (most, expected) = match cut {
        None => (MAX_PAYLOAD, format!("at most {MAX_PAYLOAD} bytes, or a size of segments after a slash")),
        Some(_) => (FARTHEST, String::new()),
    };
    if to - from > most {
        return Err(last.error(&expected));
    }
    let Some(cut) = cut else { return Ok((from, to, None)) };
    let expected =
        format!("a size of segments in bytes, at most {MAX_PAYLOAD}, that makes at most {MAX_TRAIN} of them");
    let size = cut.number::<u32>(&expected)?;
    if !(1..=MAX_PAYLOAD).contains(&i64::from(size)) || (to - from) / i64::from(size) >= MAX_TRAIN {
        return Err(cut.error(&expected));
    }
    Ok((from, to, Some(size)))
}

fn sequence(word: Word<'_>) -> Parsed<i64> {
    let number = word.number::<i64>(SEQUENCE)?;
    if number.abs() <= FARTHEST && word.text != "-0" { Ok(number) } else { Err(word.error(SEQUENCE)) }
}

impl Fields {
    /// One of the fields that any segment may have.
    fn take(&mut self, word: Word<'_>, expected: bool) -> Parsed<()> {
        let (key, value) = word.split("=");
        let absent = value.is_some_and(|value| value.text == "none");
        if absent && !expected && key.text != "ts" {
            return Err(word.error("no such field: what is not written is not in the segment"));
        }
        match (key.text, value) {
            ("win", Some(value)) if self.win.is_none() => {
                self.win = Some(value.number("a window below 65536")?)
            }
            ("ecn", Some(value)) if self.ecn.is_none() => {
                let expected = || value.error(&format!("one of {}", choices(ECN)));
                self.ecn = Some(meaning(ECN, value.text).ok_or_else(expected)?);
            }
            ("mss", Some(value)) => set(word, &mut self.mss, absent, || value.number("an MSS below 65536"))?,
            ("scale", Some(value)) => {
                set(word, &mut self.scale, absent, || value.number("a shift below 256"))?
            }
            ("sackok", None) => set(word, &mut self.sackok, false, || Ok(()))?,
            ("sackok", Some(_)) if absent => set(word, &mut self.sackok, true, || Ok(()))?,
            ("ts", None) => set(word, &mut self.ts, false, || Ok((None, None)))?,
            ("ts", Some(value)) => set(word, &mut self.ts, absent, || stamps(value))?,
            ("sack", Some(value)) if self.sack.is_empty() => self.sack = blocks(value)?,
            _ => {
                return Err(word.error(
                    "ack=N, win=N, mss=N, scale=N, sackok, ts, ts=VALUE:ECHO, ecn=FIELD, sack=FROM:TO,..., each once; \
                     =none says that an option is absent",
                ));
            }
        }
        Ok(())
    }
}

fn set<T>(word: Word<'_>, slot: &mut Said<T>, absent: bool, value: impl FnOnce() -> Parsed<T>) -> Parsed<()> {
    if !matches!(slot, Said::Nothing) {
        return Err(word.error("each option once"));
    }
    *slot = if absent { Said::Absent } else { Said::Present(value()?) };
    Ok(())
}

fn stamps(word: Word<'_>) -> Parsed<(Stamp, Stamp)> {
    let expected = "VALUE:ECHO, each a number below 2^32 or *";
    let (value, Some(echo)) = word.split(":") else { return Err(word.error(expected)) };
    let stamp = |word: Word<'_>| match word.text {
        "*" => Ok(None),
        _ => word.number(expected).map(Some),
    };
    Ok((stamp(value)?, stamp(echo)?))
}

fn blocks(word: Word<'_>) -> Parsed<Vec<(i64, i64)>> {
    let mut blocks = Vec::new();
    for part in word.list() {
        let (left, right) = part.split(":");
        let right = right.ok_or_else(|| part.error("FROM:TO"))?;
        blocks.push((sequence(left)?, sequence(right)?));
    }
    if blocks.len() > 4 { Err(word.error("at most four SACK blocks")) } else { Ok(blocks) }
}

fn handshake(words: &mut Words<'_>) -> Parsed<Handshake> {
    let word = words.take();
    let active = match word.text {
        "active" => true,
        "passive" => false,
        _ => return Err(word.error("\"active\" (the endpoint connects) or \"passive\" (it listens)")),
    };
    let mut handshake = Handshake { active, rtt: Duration::ZERO, peer: Fields::default() };
    while let Some(word) = words.next() {
        match word.split("=") {
            (Word { text: "rtt", .. }, Some(value)) if handshake.rtt.is_zero() => {
                handshake.rtt = duration(value)?
            }
            (Word { text: "sack", .. }, _) => {
                return Err(word.error("rtt=TIME, win=N, mss=N, scale=N, sackok, ts"));
            }
            _ => handshake.peer.take(word, false)?,
        }
    }
    Ok(handshake)
}

fn conditions(words: &mut Words<'_>) -> Parsed<Vec<Condition>> {
    let mut conditions = vec![condition(words.take())?];
    while let Some(word) = words.next() {
        conditions.push(condition(word)?);
    }
    Ok(conditions)
}

fn condition(word: Word<'_>) -> Parsed<Condition> {
    let (name, value) = word.split("=");
    let quantity = meaning(QUANTITIES, name.text);
    let quantity =
        quantity.ok_or_else(|| name.error(&format!("QUANTITY=VALUE with {}", choices(QUANTITIES))))?;
    let value = value.ok_or_else(|| word.error("QUANTITY=VALUE"))?;
    let value = match quantity.example() {
        Value::Count(_) => Value::Count(value.number("a number")?),
        Value::Time(_) => Value::Time(duration(value)?),
        Value::State(_) => Value::State(
            meaning(STATES, value.text).ok_or_else(|| value.error(&format!("one of {}", choices(STATES))))?,
        ),
        Value::Events(_) if value.text == "none" => Value::Events(Vec::new()),
        Value::Events(_) => {
            let expected = format!("events with commas between ({}), or none", choices(EVENTS));
            let events =
                value.list().map(|part| meaning(EVENTS, part.text).ok_or_else(|| part.error(&expected)));
            Value::Events(events.collect::<Parsed<_>>()?)
        }
    };
    Ok(Condition { quantity, value })
}
