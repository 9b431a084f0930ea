//! The files of workloads, for Python to write, to check and to serve.

use crate::error::{build_error, option_error, unreadable_log};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::io::BufRead;
use std::sync::Mutex;
use wasp_random::Key;
use wasp_workload::{Content, Site, Workload};

/// Builds a workload; a log is read from its file.
pub(crate) fn build(workload: &Workload, seed: u64) -> PyResult<Site> {
    let mut log = match workload {
        Workload::Replay(options) => {
            let opened = wasp_io::open_log(&options.log);
            Some(opened.map_err(|error| unreadable_log(&options.log, &error))?)
        }
        _ => None,
    };
    let log = log.as_mut().map(|log| log as &mut dyn BufRead);
    workload.build(seed, log).map_err(build_error)
}

/// The files that a workload asks for: a function of its options and a seed, or of its log.
#[pyclass(frozen, module = "waspbench._core")]
pub(crate) struct FileSet {
    site: Site,
    seed: u64,
}

/// Builds the set of the workload in `options`, a JSON object.
#[pyfunction]
#[pyo3(name = "build_files")]
pub(crate) fn py_build_files(py: Python<'_>, options: &str, seed: u64) -> PyResult<FileSet> {
    let workload = Workload::from_json(options).map_err(|error| option_error(&error))?;
    let site = py.detach(|| build(&workload, seed))?;
    Ok(FileSet { site, seed })
}

#[pymethods]
impl FileSet {
    /// Path and size in bytes of each file.
    fn files(&self) -> Vec<(&str, u64)> {
        self.site.files().files().iter().map(|file| (file.path.as_str(), file.size.get())).collect()
    }

    /// What became of the lines of a log, as a JSON object; `None` of any other workload.
    fn reading(&self) -> Option<String> {
        let Site::Replay(replay) = &self.site else { return None };
        let reading = replay.reading();
        let first_bad: Vec<_> = reading.first_bad.iter().map(ToString::to_string).collect();
        let counts = serde_json::json!({
            "lines": reading.lines,
            "requests": reading.requests,
            "other_methods": reading.other_methods,
            "other_statuses": reading.other_statuses,
            "bad": reading.bad,
            "first_bad": first_bad,
            "unknown_sizes": reading.unknown_sizes,
        });
        Some(counts.to_string())
    }

    /// Path, size in bytes, class, and number of references of each file of a generated set.
    fn entries(&self) -> Vec<(&str, u64, &'static str, u32)> {
        let references = self.site.references().unwrap_or_default();
        let files = self.site.files().files().iter().zip(references);
        files.map(|(file, &count)| (file.path.as_str(), file.size.get(), file.class.name(), count)).collect()
    }

    /// Every parameter, the ones of the preset included, as a JSON object.
    fn parameters(&self) -> Option<String> {
        self.site.parameters().map(|parameters| parameters.to_string())
    }

    /// What was generated beside what was intended, with the requests of run `run`, as a JSON object.
    fn examine(&self, py: Python<'_>, run: u32) -> PyResult<String> {
        let examination = py
            .detach(|| self.site.examine(Key::root(self.seed, run)))
            .map_err(|error| option_error(&error))?;
        serde_json::to_string(&examination).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The content of the file at this place.
    fn content(&self, file: u32) -> FileContent {
        FileContent(Mutex::new(Content::new(self.seed, file)))
    }
}

/// The bytes of one generated file, without end.
#[pyclass(frozen, module = "waspbench._core")]
pub(crate) struct FileContent(Mutex<Content>);

#[pymethods]
impl FileContent {
    /// The next `size` bytes.
    fn read<'py>(&self, py: Python<'py>, size: usize) -> PyResult<Bound<'py, PyBytes>> {
        PyBytes::new_with(py, size, |buffer| {
            // A panic cannot leave the content in between: filling a buffer does not panic.
            self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).fill(buffer);
            Ok(())
        })
    }
}
