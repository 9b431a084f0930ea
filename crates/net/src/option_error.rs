//! What is wrong with an option of a link.

use std::fmt::Display;

/// An option that has no meaning.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{field}: {value}; must be {valid}")]
pub struct OptionError {
    /// The option.
    pub field: &'static str,
    /// Its value.
    pub value: String,
    /// What would be valid.
    pub valid: String,
}

impl OptionError {
    pub(crate) fn new(field: &'static str, value: impl Display, valid: impl Display) -> Self {
        Self { field, value: value.to_string(), valid: valid.to_string() }
    }
}

/// Fails unless the condition holds.
pub(crate) fn ensure(
    condition: bool,
    field: &'static str,
    value: impl Display,
    valid: impl Display,
) -> Result<(), OptionError> {
    if condition { Ok(()) } else { Err(OptionError::new(field, value, valid)) }
}

/// Fails unless the value lies between the two, both included.
pub(crate) fn within<T: PartialOrd + Display>(
    field: &'static str,
    value: T,
    least: T,
    most: T,
) -> Result<(), OptionError> {
    let is_within = value >= least && value <= most;
    ensure(is_within, field, value, format_args!("from {least} to {most}"))
}
