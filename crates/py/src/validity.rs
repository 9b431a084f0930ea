//! The judgement on runs by what their transactions did: of all runs of a point together, and of transactions that were not measured but made up (what
//! `docs/statistics.md` says of it is measured so).

use crate::error::engine_error;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use wasp_engine::{Censoring, RunFigures, Together, Trend, Window, alike};

/// What all runs of one point say together.
///
/// `runs` is a JSON array with an object for each run: its groups, each with what the summary of the run has of its name, whether it is in the background, `ages`,
/// `course`, `beginning`, `windows` and `open_loop`; and its network. Returns a JSON object, or null where the runs do not belong together.
#[pyfunction]
#[pyo3(name = "judge_together")]
pub(crate) fn py_judge_together(runs: &str) -> PyResult<String> {
    let runs: Vec<RunFigures> =
        serde_json::from_str(runs).map_err(|error| PyValueError::new_err(error.to_string()))?;
    serde_json::to_string(&Together::of(runs)).map_err(engine_error)
}

/// Whether throughput had settled when the interval began, by the `ok` transactions that ended in each three-hundredth of all runs.
///
/// Returns a JSON object as in the summary of a run, or null; the other arguments are lengths in seconds.
#[pyfunction]
#[pyo3(name = "judge_trend")]
pub(crate) fn py_judge_trend(ended: Vec<u64>, warmup: f64, duration: f64) -> PyResult<String> {
    let ended = ended.try_into().map_err(|_| PyValueError::new_err("ended: 300 counts are needed"))?;
    serde_json::to_string(&Trend::of(&ended, warmup, duration)).map_err(engine_error)
}

/// What is said of runs in each of which transactions began and would end, had it no end, at these nanoseconds since its start.
///
/// Returns a JSON object as in the summary of a run, or null; the other arguments are the fields of the engine's `Window`.
#[pyfunction]
#[pyo3(name = "judge_censoring")]
#[allow(clippy::needless_pass_by_value, reason = "Python's arguments are owned")]
pub(crate) fn py_judge_censoring(
    py: Python<'_>,
    runs: Vec<(PyBuffer<i64>, PyBuffer<i64>)>,
    warmup: f64,
    duration: f64,
    timeout: f64,
    closed: f64,
) -> PyResult<String> {
    let window = Window { warmup, duration, timeout, closed };
    let mut made = Vec::new();
    for (starts, ends) in runs {
        made.push(alike(starts.to_vec(py)?.into_iter().zip(ends.to_vec(py)?), window));
    }
    let together = made.into_iter().reduce(wasp_engine::Alike::merge);
    let found = together.and_then(|together| Censoring::of(&[together], 1));
    serde_json::to_string(&found).map_err(engine_error)
}
