//! The judgement on runs that are too short for their longest transactions, for transactions that were not measured but made up: what
//! `docs/statistics.md` says of it is measured so.

use crate::error::engine_error;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use wasp_engine::{Censoring, Window};

/// What is said of a run in which transactions began and would end, had it no end, at these nanoseconds since its start.
///
/// Returns a JSON object as in the summary of a run, or null; the other arguments are the fields of the engine's `Window`.
#[pyfunction]
#[pyo3(name = "judge_censoring")]
#[allow(clippy::needless_pass_by_value, reason = "Python's arguments are owned")]
pub(crate) fn py_judge_censoring(
    py: Python<'_>,
    starts: PyBuffer<i64>,
    ends: PyBuffer<i64>,
    warmup: f64,
    duration: f64,
    timeout: f64,
    closed: f64,
) -> PyResult<String> {
    let (starts, ends) = (starts.to_vec(py)?, ends.to_vec(py)?);
    let window = Window { warmup, duration, timeout, closed };
    let found = Censoring::of_transactions(starts.into_iter().zip(ends), &window);
    serde_json::to_string(&found).map_err(engine_error)
}
