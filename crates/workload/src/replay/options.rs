//! How a log is read and replayed.

use crate::OptionError;
use serde::{Deserialize, Serialize};
use wasp_units::{Bytes, Probability};

/// A replayed log as it comes in a file or in JSON.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayOptions {
    /// The file that holds the log. Whoever reads options opens it, too.
    pub log: String,
    /// What the lines are.
    #[serde(default)]
    pub format: Format,
    /// Share of the lines that may make no sense: 1 % unless given.
    #[serde(default = "one_percent")]
    pub max_bad_lines: Probability,
    /// Size of files that the log does not tell: 10 KB unless given. Only a modelled server needs it.
    #[serde(default = "ten_kilobytes")]
    pub unknown_size: Bytes,
    /// Whether requests begin when they did in the log.
    #[serde(default)]
    pub times: bool,
    /// Whether the log begins again after its end.
    #[serde(default = "yes")]
    pub repeat: bool,
}

/// What the lines of a log are.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// An access log in the common format or in one that continues it, such as the combined format.
    #[default]
    Log,
    /// URLs, each with the seconds from the beginning if they are known, and its size in bytes. Empty lines and lines that
    /// begin with `#` do not count.
    Urls,
}

fn one_percent() -> Probability {
    Probability::from_f64(0.01).unwrap_or_default()
}

const fn ten_kilobytes() -> Bytes {
    Bytes::new(10_000)
}

const fn yes() -> bool {
    true
}

impl ReplayOptions {
    /// A log with the defaults.
    #[must_use]
    pub fn new(log: impl Into<String>, format: Format) -> Self {
        Self {
            log: log.into(),
            format,
            max_bad_lines: one_percent(),
            unknown_size: ten_kilobytes(),
            times: false,
            repeat: true,
        }
    }

    /// Checks what the types do not.
    ///
    /// # Errors
    /// If no log is named.
    pub fn check(&self) -> Result<(), OptionError> {
        if self.log.is_empty() {
            return Err(OptionError::new("log", "empty", "name a file"));
        }
        Ok(())
    }
}
