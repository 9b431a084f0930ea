//! Python binding: conversion, error mapping, releasing the GIL. No logic lives here.
//!
//! The module is private to the Python package (`waspbench._core`); its typed face is `python/waspbench/_core.pyi`.

mod declared;
mod delay;
mod device;
mod error;
mod fetch;
mod files;
mod result;
mod run;
mod serve;
mod table;
mod topology;
mod trace;
mod units;
mod validity;

use pyo3::prelude::*;

/// The version of the engine, which is that of the package.
#[pyfunction]
#[pyo3(name = "version")]
fn py_version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The profile of Cargo.toml that the engine is built with: `release`, or one for tests.
#[pyfunction]
#[pyo3(name = "profile")]
fn py_profile() -> &'static str {
    env!("WASP_PROFILE")
}

/// The private core of waspbench.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::declared::{py_queue_defaults, py_reason_codes, py_tcp_constants};
    #[pymodule_export]
    use super::delay::py_mean_of_delay;
    #[pymodule_export]
    use super::error::{EngineError, OptionError, QuantityError, ScenarioError};
    #[pymodule_export]
    use super::fetch::py_fetch;
    #[pymodule_export]
    use super::files::{FileContent, FileSet, Sites, py_build_files, py_files_of_text, py_seed_of_group};
    #[pymodule_export]
    use super::py_profile;
    #[pymodule_export]
    use super::py_version;
    #[pymodule_export]
    use super::result::RunResult;
    #[pymodule_export]
    use super::run::{Handle, py_check_scenario, py_check_threads, py_start};
    #[pymodule_export]
    use super::serve::py_serve;
    #[pymodule_export]
    use super::table::ArrowTable;
    #[pymodule_export]
    use super::topology::{py_sample_requests, py_topology};
    #[pymodule_export]
    use super::trace::py_trace_facts;
    #[pymodule_export]
    use super::units::{
        py_parse_bytes, py_parse_duration, py_parse_frequency, py_parse_probability, py_parse_rate,
    };
    #[pymodule_export]
    use super::validity::{py_judge_censoring, py_judge_together, py_judge_trend};
}
