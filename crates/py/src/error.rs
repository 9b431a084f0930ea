//! The one place that maps the engine's errors to Python's exceptions.

use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    waspbench._core,
    ScenarioError,
    PyValueError,
    "A scenario that cannot be run: field, value, what is valid."
);
create_exception!(waspbench._core, EngineError, PyRuntimeError, "A run that failed.");

pub(crate) fn scenario_error(error: wasp_engine::ScenarioError) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

pub(crate) fn engine_error(error: impl ToString) -> PyErr {
    EngineError::new_err(error.to_string())
}
