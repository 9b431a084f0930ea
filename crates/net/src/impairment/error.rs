//! What is wrong with the options of an impairment.

use std::fmt::Display;

/// An option that has no meaning.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{field}: {value}; must be {valid}")]
pub struct ImpairmentError {
    /// The option.
    pub field: &'static str,
    /// Its value.
    pub value: String,
    /// What would be valid.
    pub valid: String,
}

impl ImpairmentError {
    pub(crate) fn new(field: &'static str, value: impl Display, valid: impl Into<String>) -> Self {
        Self { field, value: value.to_string(), valid: valid.into() }
    }
}

/// Fails unless the value lies between the two, both included.
pub(super) fn within<T: PartialOrd + Display>(
    field: &'static str,
    value: T,
    least: T,
    most: T,
) -> Result<(), ImpairmentError> {
    if value >= least && value <= most {
        Ok(())
    } else {
        Err(ImpairmentError::new(field, value, format!("from {least} to {most}")))
    }
}
