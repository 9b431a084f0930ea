//! Pauses of users, for Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use wasp_workload::Delay;

/// The mean of a pause in seconds, whose law is in `delay`, a JSON object.
#[pyfunction]
#[pyo3(name = "mean_of_delay")]
pub(crate) fn py_mean_of_delay(delay: &str) -> PyResult<f64> {
    let read = serde_json::from_str::<Delay>(delay);
    read.map(|delay| delay.mean().as_secs_f64()).map_err(|error| PyValueError::new_err(error.to_string()))
}
