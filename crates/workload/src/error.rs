//! What is wrong with the options of a workload.

use std::fmt::Display;

/// An option that has no meaning, by itself or beside the others.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{field}: {value}; {valid}")]
pub struct OptionError {
    /// The option, as a path.
    pub field: String,
    /// Its value.
    pub value: String,
    /// What would be valid.
    pub valid: String,
}

impl OptionError {
    pub(crate) fn new(field: impl Into<String>, value: impl Display, valid: impl Into<String>) -> Self {
        Self { field: field.into(), value: value.to_string(), valid: valid.into() }
    }

    /// Its value, and what would be valid.
    #[must_use]
    pub fn message(&self) -> String {
        format!("{}; {}", self.value, self.valid)
    }

    /// The same error, with its field below `parent`.
    #[must_use]
    pub fn within(mut self, parent: &str) -> Self {
        self.field = format!("{parent}.{}", self.field);
        self
    }
}

/// Fails unless the value is a number above zero and of sensible size.
pub(crate) fn positive(field: &str, value: f64) -> Result<(), OptionError> {
    if value > 0.0 && value <= 1e6 {
        Ok(())
    } else {
        Err(OptionError::new(field, value, "must be above 0 and at most 1000000"))
    }
}

/// Fails unless the value lies between the two, both included.
pub(crate) fn within<T: PartialOrd + Display>(
    field: &str,
    value: T,
    least: T,
    most: T,
) -> Result<(), OptionError> {
    if value >= least && value <= most {
        Ok(())
    } else {
        Err(OptionError::new(field, value, format!("must be from {least} to {most}")))
    }
}
