//! The one place that maps errors to Python's exceptions. What an exception is about is in its attributes, so that nobody
//! has to read its text.

use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use wasp_workload::BuildError;

create_exception!(
    waspbench._core,
    ScenarioError,
    PyValueError,
    "A scenario that cannot be run. field: the field, as a path; message: its value, and what would be valid."
);
create_exception!(waspbench._core, EngineError, PyRuntimeError, "A run that failed.");

create_exception!(
    waspbench._core,
    OptionError,
    PyValueError,
    "Options of a workload that have no meaning. field: the option, as a path; message: its value, and what would be valid."
);
create_exception!(
    waspbench._core,
    QuantityError,
    PyValueError,
    "A text that is no quantity. message: why, without the text."
);

pub(crate) fn scenario_error(error: wasp_engine::ScenarioError) -> PyErr {
    let raised = ScenarioError::new_err(error.to_string());
    with(raised, &[("field", error.field), ("message", error.message)])
}

pub(crate) fn option_error(error: &wasp_workload::OptionError) -> PyErr {
    about_option(&error.field, &error.message())
}

pub(crate) fn build_error(error: BuildError) -> PyErr {
    match error {
        BuildError::Option(error) => option_error(&error),
        BuildError::Log { .. } | BuildError::NoLog { .. } => about_option("log", &error.to_string()),
    }
}

pub(crate) fn unreadable_log(log: &str, error: &std::io::Error) -> PyErr {
    about_option("log", &format!("{log}: cannot be read: {error}"))
}

/// An error that is about no option of its own.
pub(crate) fn clash_error(clash: &wasp_workload::Clash) -> PyErr {
    about_option("", &clash.to_string())
}

fn about_option(field: &str, message: &str) -> PyErr {
    let raised = OptionError::new_err(format!("{field}: {message}"));
    with(raised, &[("field", field.to_owned()), ("message", message.to_owned())])
}

pub(crate) fn quantity_error(error: wasp_units::UnitError) -> PyErr {
    with(QuantityError::new_err(error.to_string()), &[("message", error.message())])
}

/// The exception with these attributes.
fn with(raised: PyErr, attributes: &[(&str, String)]) -> PyErr {
    let set = Python::attach(|py| {
        let value = raised.value(py);
        attributes.iter().try_for_each(|(name, text)| value.setattr(*name, text))
    });
    set.map_or_else(|failed| failed, |()| raised)
}

pub(crate) fn engine_error(error: impl ToString) -> PyErr {
    EngineError::new_err(error.to_string())
}
