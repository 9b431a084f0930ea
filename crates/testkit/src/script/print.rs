//! Writing a script: the text from which it would be read again.

use super::vocabulary::{
    DEPARTURES, ECN, EVENTS, FLAGS, NO_FLAGS, OBSTACLES, QUANTITIES, STATES, TOO_BIG, word,
};
use super::{
    Action, Call, Condition, Difference, Fields, Handshake, Kernel, Obstacle, Report, Said, Script, Segment,
    Stamp, Step, Time, Value,
};
use std::fmt::{self, Display, Formatter};

impl Display for Script {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "title: {}", self.title)?;
        writeln!(f, "rfc: {}", self.source)?;
        writeln!(f, "kernel: {}", self.kernel)?;
        writeln!(f, "tcp: {}", self.stack.join(" "))?;
        if let Some(tolerance) = self.tolerance {
            writeln!(f, "tolerance: {tolerance}")?;
        }
        self.steps.iter().try_for_each(|step| writeln!(f, "{step}"))
    }
}

impl Display for Kernel {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Yes => f.write_str("yes"),
            Self::Differs(Difference { statement, departure, how }) => {
                write!(f, "differs at {statement} in {}, {how}", word(DEPARTURES, departure))
            }
            Self::No(why) => write!(f, "no, because {why}"),
        }
    }
}

impl Display for Step {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(time) = self.time {
            write!(f, "{time} ")?;
        }
        write!(f, "{}", self.action)
    }
}

impl Display for Time {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let sign = if self.relative { "+" } else { "" };
        write!(f, "{sign}{}", self.from)?;
        if self.to == self.from { Ok(()) } else { write!(f, "..{}", self.to) }
    }
}

impl Display for Action {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inject(segment) => write!(f, "< {segment}"),
            Self::Expect(segment) => write!(f, "> {segment}"),
            Self::Report(report) => write!(f, "{report}"),
            Self::Call(call) => write!(f, "{call}"),
            Self::Handshake(handshake) => write!(f, "{handshake}"),
            Self::Check(conditions) => {
                f.write_str("check")?;
                conditions.iter().try_for_each(|condition| write!(f, " {condition}"))
            }
            Self::Quiet => f.write_str("quiet"),
            Self::Count(count) => write!(f, "count {count}"),
        }
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { obstacle, number } = self;
        match obstacle {
            Obstacle::TooBig(mtu) => write!(f, "report {TOO_BIG}={mtu} {number}"),
            other => write!(f, "report {} {number}", word(OBSTACLES, other)),
        }
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect => f.write_str("connect"),
            Self::Listen => f.write_str("listen"),
            Self::Write(bytes) => write!(f, "write {bytes}"),
            Self::Read(bytes) => write!(f, "read {bytes}"),
            Self::Close => f.write_str("close"),
            Self::Abort => f.write_str("abort"),
        }
    }
}

impl Display for Handshake {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "handshake {}", if self.active { "active" } else { "passive" })?;
        if !self.rtt.is_zero() {
            write!(f, " rtt={}", self.rtt)?;
        }
        write!(f, "{}", self.peer)
    }
}

impl Display for Segment {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let flags = FLAGS.iter().filter(|(_, flag)| self.flags.contains(*flag)).map(|(name, _)| *name);
        let flags = flags.collect::<Vec<_>>().join(",");
        write!(f, "{} {}", if flags.is_empty() { NO_FLAGS } else { &flags }, self.from)?;
        if self.to != self.from {
            write!(f, ":{}", self.to)?;
        }
        if let Some(cut) = self.cut {
            write!(f, "/{cut}")?;
        }
        if let Some(ack) = self.ack {
            write!(f, " ack={ack}")?;
        }
        write!(f, "{}", self.fields)
    }
}

impl Display for Fields {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(win) = self.win {
            write!(f, " win={win}")?;
        }
        option(f, "mss", self.mss, |mss| format!("={mss}"))?;
        option(f, "scale", self.scale, |scale| format!("={scale}"))?;
        option(f, "sackok", self.sackok, |()| String::new())?;
        option(f, "ts", self.ts, |stamps| match stamps {
            (None, None) => String::new(),
            (value, echo) => format!("={}:{}", stamp(value), stamp(echo)),
        })?;
        if let Some(ecn) = self.ecn {
            write!(f, " ecn={}", word(ECN, &ecn))?;
        }
        if self.sack.is_empty() {
            return Ok(());
        }
        let blocks = self.sack.iter().map(|(left, right)| format!("{left}:{right}"));
        write!(f, " sack={}", blocks.collect::<Vec<_>>().join(","))
    }
}

fn option<T>(f: &mut Formatter<'_>, name: &str, said: Said<T>, value: impl Fn(T) -> String) -> fmt::Result {
    match said {
        Said::Nothing => Ok(()),
        Said::Absent => write!(f, " {name}=none"),
        Said::Present(present) => write!(f, " {name}{}", value(present)),
    }
}

fn stamp(stamp: Stamp) -> String {
    stamp.map_or_else(|| "*".to_owned(), |number| number.to_string())
}

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", word(QUANTITIES, &self.quantity), self.value)
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Time(time) => write!(f, "{time}"),
            Self::State(state) => f.write_str(word(STATES, state)),
            Self::Events(events) if events.is_empty() => f.write_str("none"),
            Self::Events(events) => {
                f.write_str(&events.iter().map(|event| word(EVENTS, event)).collect::<Vec<_>>().join(","))
            }
        }
    }
}
