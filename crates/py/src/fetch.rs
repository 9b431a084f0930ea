//! The client over the kernel's TCP, for a process of its own.

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::num::NonZeroU32;
use wasp_fetch::{Config, Fetched, fetch};

/// Fetches `path` over so many connections at once until `end`; returns four little-endian 64-bit numbers for each request that came to
/// its end: start, end, status, bytes of the body. Instants are nanoseconds of `CLOCK_MONOTONIC`.
#[pyfunction]
#[pyo3(name = "fetch", signature = (*, address, port, path, first_source, sources, lanes, requests_per_connection, pause, begin, spread, end))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
pub(crate) fn py_fetch<'py>(
    py: Python<'py>,
    address: &str,
    port: u16,
    path: String,
    first_source: &str,
    sources: u32,
    lanes: u32,
    requests_per_connection: Option<u32>,
    pause: u64,
    begin: u64,
    spread: u64,
    end: u64,
) -> PyResult<Bound<'py, PyBytes>> {
    let positive = |name: &str, value: u32| {
        NonZeroU32::new(value).ok_or_else(|| PyValueError::new_err(format!("{name}: 0: must be at least 1")))
    };
    let config = Config {
        server: SocketAddrV4::new(parse("address", address)?, port),
        path,
        first_source: parse("first_source", first_source)?,
        sources: positive("sources", sources)?,
        lanes,
        requests_per_connection: requests_per_connection
            .map(|most| positive("requests_per_connection", most))
            .transpose()?,
        pause,
        begin,
        spread,
        end,
    };
    let fetched = py.detach(|| fetch(&config)).map_err(|error| PyOSError::new_err(error.to_string()))?;
    let numbers = |one: &Fetched| [one.start, one.end, u64::from(one.status), one.bytes];
    let bytes: Vec<u8> = fetched.iter().flat_map(numbers).flat_map(u64::to_le_bytes).collect();
    Ok(PyBytes::new(py, &bytes))
}

fn parse(name: &str, text: &str) -> PyResult<Ipv4Addr> {
    let message = || format!("{name}: {text:?}: an IPv4 address such as 198.18.0.1 would be valid");
    text.parse().map_err(|_| PyValueError::new_err(message()))
}
