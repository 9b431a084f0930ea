//! The built-in server, for a process of its own.

use crate::files::NamedAnswer;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use wasp_server::{Answer, Answers, Config, blocking_serve};

/// Serves at `address` and `port` until SIGINT or SIGTERM; `on_listening` gets the URL once connections are accepted. `files`
/// are sizes by path, `answers` the method, the target (and whether it is a regular expression), the status, the header fields, the text and the
/// size of each answer.
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
    let asked = answers.unwrap_or_default().into_iter();
    let (patterns, fixed): (Vec<_>, Vec<_>) = asked.partition(|(_, _, is_pattern, ..)| *is_pattern);
    let answer = |(method, target, _, status, headers, text, size)| {
        (method, target, Answer { status, headers, text, size })
    };
    let found = Answers::new(fixed.into_iter().map(answer), patterns.into_iter().map(answer));
    let found = found.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let files = files.unwrap_or_default();
    let config = Config { address, port, files, answers: found, ..Config::default() };
    let served = py.detach(|| blocking_serve(config, |local| told = tell(on_listening, local)));
    told?;
    served.map_err(|error| PyOSError::new_err(error.to_string()))
}

fn tell(on_listening: Option<Py<PyAny>>, local: SocketAddr) -> PyResult<()> {
    let Some(callback) = on_listening else { return Ok(()) };
    Python::attach(|py| callback.call1(py, (format!("http://{local}/"),)).map(drop))
}
