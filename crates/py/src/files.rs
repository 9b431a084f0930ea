//! The files of workloads, for Python to write, to check and to serve.

use crate::error::{build_error, clash_error, option_error, unreadable_log};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::io::BufRead;
use std::sync::Mutex;
use wasp_random::Key;
use wasp_workload::named::{Answer, AnswerTo};
use wasp_workload::{Content, Inputs, Located, Site, Workload, named, seed_of_group};

/// Builds a workload; a log is read from its file. The files of named requests are not needed: nothing is sent.
pub(crate) fn build(workload: &Workload, seed: u64) -> PyResult<Site> {
    let mut log = match workload {
        Workload::Replay(options) => {
            let opened = wasp_io::open_log(&options.log);
            Some(opened.map_err(|error| unreadable_log(&options.log, &error))?)
        }
        _ => None,
    };
    let log = log.as_mut().map(|log| log as &mut dyn BufRead);
    workload.build(seed, Inputs { log, files: None }).map_err(build_error)
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

/// The seed of the file set of a group's own workload, in an experiment with this seed.
#[pyfunction]
#[pyo3(name = "seed_of_group")]
pub(crate) fn py_seed_of_group(seed: u64, group: &str) -> u64 {
    seed_of_group(seed, group)
}

/// Method and target of named requests, and whether the target is a regular expression; status of their answer, header fields, what its body begins
/// with, and its size in bytes.
pub(crate) type NamedAnswer = (String, String, bool, u16, Vec<(String, String)>, String, u64);

/// The files whose lines the placeholders of a text are, in their order.
#[pyfunction]
#[pyo3(name = "files_of_text")]
pub(crate) fn py_files_of_text(text: &str) -> Vec<&str> {
    named::files_of(text)
}

/// What the groups of an experiment ask for, on one server.
#[pyclass(module = "waspbench._core")]
#[derive(Default)]
pub(crate) struct Sites(wasp_workload::Sites);

#[pymethods]
impl Sites {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Adds the workload in `options`, a JSON object, with the seed of its files; `group` is the group of clients whose own it is. Returns the
    /// directory below which the server has the files, such as `/homes`; nothing for the top.
    ///
    /// An `OptionError` without a field says that two workloads contradict each other.
    #[pyo3(signature = (options, seed, group = None))]
    fn add(&mut self, py: Python<'_>, options: &str, seed: u64, group: Option<&str>) -> PyResult<String> {
        let workload = Workload::from_json(options).map_err(|error| option_error(&error))?;
        let directory = group.map(|group| workload.directory_of(group)).unwrap_or_default();
        py.detach(|| {
            let added = self.0.add(build(&workload, seed)?, &directory);
            added.map_err(|clash| clash_error(&clash))
        })?;
        Ok(directory)
    }

    /// Number and bytes of the files of the server.
    fn totals(&self) -> (usize, u64) {
        totals(self.0.files())
    }

    /// Number and bytes of the files of the workload with this number, as the server has them, and what became of the lines of its log. Named
    /// requests have no files.
    fn figures(&self, site: usize) -> PyResult<(usize, u64, Option<String>)> {
        let located = self.located(site)?;
        if located.named().is_some() {
            return Ok((0, 0, None));
        }
        let sizes = self.of_server(located).map(|(_, size)| size);
        Ok((located.site.files().files().len(), sizes.sum(), reading(&located.site)))
    }

    /// What a server that stands in for an application answers to the named requests: method, target (and whether it is a regular expression), status,
    /// header fields, what the body begins with, and its size in bytes. Of regular expressions that describe one target, the first is meant.
    ///
    /// An `OptionError` says that two of them contradict each other; `fields` are the paths of the workloads, in their order.
    fn answers(&self, fields: Vec<String>) -> PyResult<Vec<NamedAnswer>> {
        let answers = self.0.answers().map_err(|found| {
            let field = fields.get(found.site).map_or("", String::as_str);
            option_error(&found.error.within(field))
        })?;
        let told = answers.iter().map(|AnswerTo { method, target, is_pattern, answer }| {
            let Answer { status, headers, text, size } = answer.clone();
            (method.into(), target.into(), is_pattern, status, headers, text, size)
        });
        Ok(told.collect())
    }

    /// Path and size in bytes of each file of the workload with this number, as the server has them. Named requests have no files.
    fn files(&self, site: usize) -> PyResult<Vec<(String, u64)>> {
        let located = self.located(site)?;
        Ok(if located.named().is_some() { Vec::new() } else { self.of_server(located).collect() })
    }
}

impl Sites {
    fn located(&self, site: usize) -> PyResult<&Located> {
        self.0.all().get(site).ok_or_else(|| PyIndexError::new_err(site))
    }

    /// Path and size of each file of a site, as the server has them.
    fn of_server<'a>(&'a self, located: &'a Located) -> impl Iterator<Item = (String, u64)> + 'a {
        let files = self.0.files();
        located.site.files().files().iter().map(move |file| {
            let path = located.path(file);
            let size = files.find(&path).and_then(|id| files.get(id)).unwrap_or(file).size.get();
            (path, size)
        })
    }
}

/// Number and bytes of the files of a set.
fn totals(files: &wasp_workload::FileSet) -> (usize, u64) {
    (files.files().len(), files.total().get())
}

/// What became of the lines of a log, as a JSON object; `None` of any other workload.
fn reading(site: &Site) -> Option<String> {
    let Site::Replay(replay) = site else { return None };
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

#[pymethods]
impl FileSet {
    /// Path and size in bytes of each file.
    fn files(&self) -> Vec<(&str, u64)> {
        self.site.files().files().iter().map(|file| (file.path.as_str(), file.size.get())).collect()
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
