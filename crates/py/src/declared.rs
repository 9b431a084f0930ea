//! What the engine declares, for the documentation and for tests.

use crate::error::scenario_error;
use pyo3::prelude::*;

/// The codes of all reasons that the engine gives not to trust a run.
#[pyfunction]
#[pyo3(name = "reason_codes")]
pub(crate) fn py_reason_codes() -> Vec<&'static str> {
    wasp_engine::ReasonCode::ALL.map(wasp_engine::ReasonCode::name).to_vec()
}

/// Every queue discipline with all its options, as the tables of an experiment file would have them: a JSON list.
///
/// # Panics
/// Never: their names are texts.
#[pyfunction]
#[pyo3(name = "queue_defaults")]
pub(crate) fn py_queue_defaults() -> String {
    serde_json::to_string(&wasp_engine::queue_defaults()).expect("the options of a discipline have text keys")
}

/// Every constant of a host's TCP as a table `tcp` of an experiment file would have it, from such a table that may say fewer.
///
/// Both are JSON objects. A constant is left out where the others exclude it.
#[pyfunction]
#[pyo3(name = "tcp_constants")]
pub(crate) fn py_tcp_constants(options: &str) -> PyResult<String> {
    wasp_engine::tcp_constants(options).map_err(scenario_error)
}
