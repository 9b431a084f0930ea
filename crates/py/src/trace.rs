//! What a rate trace holds, for Python.

use crate::error::quantity_error;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use wasp_net::{RateTrace, Trace, TraceOptions};

/// Opportunities and milliseconds of one round of the trace with this content, and its mean rate in bits of IP a second.
#[pyfunction]
#[pyo3(name = "trace_facts", signature = (text, opportunity = "1504B", overhead = "4B"))]
pub(crate) fn py_trace_facts(text: &str, opportunity: &str, overhead: &str) -> PyResult<(usize, u64, u64)> {
    let trace = Trace::parse(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let options = TraceOptions {
        opportunity: opportunity.parse().map_err(quantity_error)?,
        overhead: overhead.parse().map_err(quantity_error)?,
        ..TraceOptions::default()
    };
    let trace = RateTrace { trace, options };
    let mean = trace.mean_rate().bits_per_second();
    Ok((trace.trace.opportunities(), trace.trace.period().as_millis(), mean))
}
