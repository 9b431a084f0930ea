//! Values that a session takes from responses.

use super::options::CaptureOptions;
use crate::OptionError;

/// Most bytes of a text before or behind a value.
const MOST_TEXT: usize = 256;
/// Most values that are taken from one response.
pub(super) const MOST_CAPTURES: usize = 16;
/// Most values that the steps of a session capture.
pub(super) const MOST_NAMES: usize = 64;
/// Most bytes of a value, as `wasp_http::MOST_CAPTURED`.
pub(super) const MOST_VALUE: usize = 4_096;
/// Placeholders that are no captured values.
const RESERVED: [&str; 5] = ["client", "request", "uuid", "int", "line"];
/// Fields that say where a response ends, and what becomes of its connection.
const FRAMING: [&str; 6] =
    ["Content-Length", "Transfer-Encoding", "Trailer", "Connection", "Keep-Alive", "Upgrade"];

/// A value that is taken from a response.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Capture {
    /// The name of its placeholder.
    pub name: String,
    /// Its place among the values of the session.
    pub place: usize,
    /// Where it stands in the response.
    pub source: CaptureSource,
}

/// Where a value stands in a response.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum CaptureSource {
    /// It is the first header field of this name.
    Header(String),
    /// In the body, between two texts, where the first of them comes up for the first time.
    Between {
        /// The text before it.
        after: String,
        /// The text behind it.
        before: String,
    },
}

impl Capture {
    /// Checks what is taken for the placeholder `name`, which has this `place`, from the answer to a HEAD or another one.
    pub(super) fn new(
        (name, place): (&str, usize),
        options: &CaptureOptions,
        is_head: bool,
    ) -> Result<Self, OptionError> {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        if !begins || name.len() > 64 || !name.bytes().all(is_word) {
            let valid = "must be from 1 to 64 letters, digits, - and _, of which the first is no digit";
            return Err(OptionError::new("name", format!("{name:?}"), valid));
        }
        if RESERVED.contains(&name) {
            return Err(OptionError::new(
                "name",
                name,
                "is the name of another placeholder; give another name",
            ));
        }
        let source = match (&options.header, &options.after, &options.before) {
            (Some(header), None, None) => Self::header(header)?,
            (None, Some(after), Some(before)) => {
                for (field, text) in [("after", after), ("before", before)] {
                    if !(1..=MOST_TEXT).contains(&text.len()) {
                        let valid = format!("must have from 1 to {MOST_TEXT} bytes");
                        return Err(OptionError::new(field, format!("{} bytes", text.len()), valid));
                    }
                }
                if is_head {
                    let valid = "the answer to a HEAD has no body; give header";
                    return Err(OptionError::new("after", "given", valid));
                }
                CaptureSource::Between { after: after.clone(), before: before.clone() }
            }
            (Some(_), _, _) => {
                return Err(OptionError::new(
                    "header",
                    "given",
                    "not beside after and before; give one of the two",
                ));
            }
            (None, None, None) => {
                return Err(OptionError::new("header", "absent", "give header, or after and before"));
            }
            (None, after, _) => {
                let missing = if after.is_some() { "before" } else { "after" };
                return Err(OptionError::new(
                    missing,
                    "absent",
                    "a value in the body has a text before and one behind it",
                ));
            }
        };
        Ok(Self { name: name.to_owned(), place, source })
    }

    fn header(header: &str) -> Result<CaptureSource, OptionError> {
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if header.is_empty() || !header.bytes().all(is_token) {
            return Err(OptionError::new(
                "header",
                format!("{header:?}"),
                "must be the name of a header field",
            ));
        }
        if FRAMING.iter().any(|framing| framing.eq_ignore_ascii_case(header)) {
            let valid = "belongs to the connection, and is no value of the application; give another field";
            return Err(OptionError::new("header", header, valid));
        }
        Ok(CaptureSource::Header(header.to_owned()))
    }

    /// The texts before and behind it in the body, by their fields.
    pub(super) fn texts(&self) -> Vec<(String, &String)> {
        let CaptureSource::Between { after, before } = &self.source else { return Vec::new() };
        let field = |name: &str| format!("capture.{}.{name}", self.name);
        vec![(field("after"), after), (field("before"), before)]
    }

    /// The text between whose parts a server that stands in for an application puts `value`; `None`, if that is a header field.
    pub(super) fn text(&self, value: &str) -> Option<String> {
        match &self.source {
            CaptureSource::Header(_) => None,
            CaptureSource::Between { after, before } => Some(format!("{after}{value}{before}")),
        }
    }
}
