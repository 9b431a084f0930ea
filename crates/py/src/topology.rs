//! The network of a scenario, for Python.

use crate::error::scenario_error;
use pyo3::prelude::*;
use wasp_engine::{Scenario, topology_report};

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
