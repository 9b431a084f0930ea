//! What a response must be.

use super::options::ExpectOptions;
use crate::OptionError;
use std::fmt;
use wasp_units::Bytes;

/// Most bytes of a text that is looked for.
const MOST_TEXT: usize = 1_024;

/// What a response must be.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Expectation {
    /// Its status is one of these; of none, one below 400 is.
    pub status: Vec<Status>,
    /// A text that its body holds.
    pub contains: Option<String>,
    /// The least length of its body.
    pub least: u64,
    /// The greatest length of its body.
    pub most: u64,
}

/// Status codes from one to another: one code, or a class such as `2xx`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Status {
    /// The least.
    pub least: u16,
    /// The greatest.
    pub most: u16,
}

impl Expectation {
    pub(super) fn new(options: &ExpectOptions, is_head: bool) -> Result<Self, OptionError> {
        let status = options.status.as_ref().map(|status| statuses(status)).transpose()?;
        let length = options.contains.as_ref().map(String::len);
        if let Some(length) = length.filter(|length| !(1..=MOST_TEXT).contains(length)) {
            let valid = format!("must have from 1 to {MOST_TEXT} bytes");
            return Err(OptionError::new("contains", format!("{length} bytes"), valid));
        }
        let (least, most) = match &options.length {
            Some(condition) => lengths(condition)?,
            None => (0, u64::MAX),
        };
        let looks = [("contains", options.contains.is_some()), ("length", options.length.is_some())];
        if let Some((field, _)) = looks.into_iter().find(|(_, looks)| is_head && *looks) {
            return Err(OptionError::new(field, "given", "the answer to a HEAD has no body; leave it out"));
        }
        Ok(Self { status: status.unwrap_or_default(), contains: options.contains.clone(), least, most })
    }

    /// Whether a status is expected.
    #[must_use]
    pub fn has_status(&self, status: u16) -> bool {
        if self.status.is_empty() { status < 400 } else { self.status.iter().any(|known| known.has(status)) }
    }

    /// Whether a length of the body is expected.
    #[must_use]
    pub const fn has_length(&self, length: u64) -> bool {
        self.least <= length && length <= self.most
    }
}

fn statuses(texts: &[String]) -> Result<Vec<Status>, OptionError> {
    let valid = "must be a status from 200 to 599, or a class such as 2xx";
    if texts.is_empty() {
        return Err(OptionError::new("status", "[]", "must be at least one status; or leave it out"));
    }
    let status = |text: &String| {
        Status::parse(text).ok_or_else(|| OptionError::new("status", format!("{text:?}"), valid))
    };
    texts.iter().map(status).collect()
}

impl Status {
    /// Reads a code from 200 to 599, or a class from `2xx` to `5xx`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (first, rest) = text.split_at_checked(1)?;
        let class = 100 * first.parse::<u16>().ok().filter(|class| (2..=5).contains(class))?;
        if rest.eq_ignore_ascii_case("xx") {
            return Some(Self { least: class, most: class + 99 });
        }
        let is_number = rest.len() == 2 && rest.bytes().all(|byte| byte.is_ascii_digit());
        let code = class + rest.parse::<u16>().ok().filter(|_| is_number)?;
        Some(Self { least: code, most: code })
    }

    /// Whether a status is one of these.
    #[must_use]
    pub const fn has(self, status: u16) -> bool {
        self.least <= status && status <= self.most
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.least == self.most {
            write!(f, "{}", self.least)
        } else {
            write!(f, "{}xx", self.least / 100)
        }
    }
}

/// The least and the greatest length that meet a condition.
fn lengths(condition: &str) -> Result<(u64, u64), OptionError> {
    let refuse = |valid: &str| OptionError::new("length", format!("{condition:?}"), valid);
    let form = "must be <, <=, ==, >= or > and a length, such as \">= 10\" or \"< 1MiB\"";
    let text = condition.trim();
    let operators = ["<=", ">=", "==", "<", ">"];
    let operator =
        operators.into_iter().find(|operator| text.starts_with(operator)).ok_or_else(|| refuse(form))?;
    let limit = text[operator.len()..].trim();
    let is_number = !limit.is_empty() && limit.bytes().all(|byte| byte.is_ascii_digit());
    let limit = if is_number { limit.parse().ok() } else { limit.parse().ok().map(Bytes::get) };
    let limit: u64 = limit.ok_or_else(|| refuse(form))?;
    let none = || refuse("no length meets this condition");
    Ok(match operator {
        "<" => (0, limit.checked_sub(1).ok_or_else(none)?),
        "<=" => (0, limit),
        "==" => (limit, limit),
        ">=" => (limit, u64::MAX),
        _ => (limit.checked_add(1).ok_or_else(none)?, u64::MAX),
    })
}
