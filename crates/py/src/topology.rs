//! What is known of a scenario before a run, for Python.

use crate::error::scenario_error;
use crate::run::open_boxed;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use wasp_engine::{Scenario, sample_requests, topology_report};

/// Name and text of a request.
type Sample = (String, Py<PyBytes>);

/// The named requests of each group, by name, as its first client would send them at its beginning, without bodies that mean nothing.
#[pyfunction]
#[pyo3(name = "sample_requests")]
pub(crate) fn py_sample_requests(py: Python<'_>, scenario: &str) -> PyResult<Vec<Vec<Sample>>> {
    let scenario = Scenario::from_json(scenario).map_err(scenario_error)?;
    let sites = scenario.sites(Some(&mut open_boxed)).map_err(scenario_error)?;
    let told = |(name, text): (String, Vec<u8>)| (name, PyBytes::new(py, &text).unbind());
    Ok(sample_requests(&scenario, &sites)
        .into_iter()
        .map(|group| group.into_iter().map(told).collect())
        .collect())
}

/// Nodes, links and groups of the network of a scenario: a JSON object with the fields of [`wasp_engine::TopologyReport`].
///
/// # Panics
/// Never: their names are texts.
#[pyfunction]
#[pyo3(name = "topology")]
pub(crate) fn py_topology(scenario: &str) -> PyResult<String> {
    let scenario = Scenario::from_json(scenario).map_err(scenario_error)?;
    Ok(serde_json::to_string(&topology_report(&scenario)).expect("the fields of a report have text keys"))
}
