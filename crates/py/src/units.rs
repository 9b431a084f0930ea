//! The one parser of quantities, for Python.

use crate::error::quantity_error;
use pyo3::prelude::*;
use wasp_units::{Bytes, Duration, Frequency, Probability, Rate};

/// Nanoseconds in a duration such as `100ms`.
#[pyfunction]
#[pyo3(name = "parse_duration")]
pub(crate) fn py_parse_duration(text: &str) -> PyResult<u64> {
    text.parse::<Duration>().map(Duration::as_nanos).map_err(quantity_error)
}

/// Bytes in an amount of data such as `64KiB`.
#[pyfunction]
#[pyo3(name = "parse_bytes")]
pub(crate) fn py_parse_bytes(text: &str) -> PyResult<u64> {
    text.parse::<Bytes>().map(Bytes::get).map_err(quantity_error)
}

/// Bits a second in a rate such as `10Mbit/s`.
#[pyfunction]
#[pyo3(name = "parse_rate")]
pub(crate) fn py_parse_rate(text: &str) -> PyResult<u64> {
    text.parse::<Rate>().map(Rate::bits_per_second).map_err(quantity_error)
}

/// Events a second in a frequency such as `100/s`.
#[pyfunction]
#[pyo3(name = "parse_frequency")]
pub(crate) fn py_parse_frequency(text: &str) -> PyResult<f64> {
    text.parse::<Frequency>().map(Frequency::per_second).map_err(quantity_error)
}

/// A number from 0 to 1 for a probability such as `3%`.
#[pyfunction]
#[pyo3(name = "parse_probability")]
pub(crate) fn py_parse_probability(text: &str) -> PyResult<f64> {
    text.parse::<Probability>().map(Probability::as_f64).map_err(quantity_error)
}
