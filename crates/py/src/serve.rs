//! The built-in server, for a process of its own.

use crate::files::NamedAnswer;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use wasp_server::{Answer, Config, blocking_serve};

/// Serves at `address` and `port` until SIGINT or SIGTERM; `on_listening` gets the URL once connections are accepted. `files`
/// are sizes by path, `answers` the method, the target, the status, the text and the size of each answer.
#[pyfunction]
#[pyo3(name = "serve", signature = (address, port, on_listening = None, files = None, answers = None))]
pub(crate) fn py_serve(
    py: Python<'_>,
    address: &str,
    port: u16,
    on_listening: Option<Py<PyAny>>,
    files: Option<BTreeMap<String, u64>>,
    answers: Option<Vec<NamedAnswer>>,
) -> PyResult<()> {
    let parsed = address.parse::<IpAddr>();
    let address = parsed.map_err(|_| PyValueError::new_err("expected an IP address such as 127.0.0.1"))?;
    let mut told = Ok(());
    let mut by_target: BTreeMap<String, BTreeMap<String, Answer>> = BTreeMap::new();
    for (method, target, status, text, size) in answers.unwrap_or_default() {
        by_target.entry(target).or_default().insert(method, Answer { status, text, size });
    }
    let files = files.unwrap_or_default();
    let config = Config { address, port, files, answers: by_target, ..Config::default() };
    let served = py.detach(|| blocking_serve(config, |local| told = tell(on_listening, local)));
    told?;
    served.map_err(|error| PyOSError::new_err(error.to_string()))
}

fn tell(on_listening: Option<Py<PyAny>>, local: SocketAddr) -> PyResult<()> {
    let Some(callback) = on_listening else { return Ok(()) };
    Python::attach(|py| callback.call1(py, (format!("http://{local}/"),)).map(drop))
}
