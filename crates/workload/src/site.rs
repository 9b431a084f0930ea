//! Any workload: from its options to files and requests.

use crate::named::{NamedSet, RequestFiles, RequestsOptions};
use crate::prowgen::{ProwgenOptions, ProwgenSet};
use crate::replay::{ReadError, Replay, ReplayOptions};
use crate::surge::{SurgeOptions, SurgeSet};
use crate::{
    Class, Delay, Examination, File, FileId, FileSet, OptionError, Requests, SingleOptions, Weighted,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::BufRead;
use wasp_random::Key;

/// What is asked for, as it comes in a file or in JSON.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Workload {
    /// One file, or a list of files with weights.
    Single(SingleOptions),
    /// SURGE.
    Surge(Box<SurgeOptions>),
    /// ProWGen.
    Prowgen(ProwgenOptions),
    /// A log.
    Replay(ReplayOptions),
    /// Named requests.
    Requests(RequestsOptions),
}

/// How the size of a file is known; a later one is better known.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum SizeSource {
    /// No line of the log gives it.
    Guess,
    /// A server once answered with it.
    Log,
    /// It is an option, or follows from options.
    Option,
}

/// Why a workload cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// An option is impossible.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// The log cannot be read.
    #[error("{log}: {source}")]
    Log {
        /// The log's name.
        log: String,
        /// What is wrong.
        source: ReadError,
    },
    /// A replay was built without its log.
    #[error("{log}: the log was not handed over")]
    NoLog {
        /// The log's name.
        log: String,
    },
}

/// A server's files, and what is asked of them.
#[derive(Debug)]
pub enum Site {
    /// One file, or a list.
    List {
        /// The files.
        files: FileSet,
        /// Their weights.
        weights: Vec<f64>,
    },
    /// SURGE.
    Surge(Box<SurgeSet>),
    /// ProWGen.
    Prowgen(ProwgenSet),
    /// A log.
    Replay(Replay),
    /// Named requests.
    Requests(NamedSet),
}

impl Workload {
    /// Reads a workload from JSON: an object with the field `kind`, and the options of that kind.
    ///
    /// # Errors
    /// The first field that is unknown, missing or not valid, by its path.
    pub fn from_json(json: &str) -> Result<Self, OptionError> {
        let invalid =
            |error: &serde_json::Error| OptionError::new("workload", "no valid JSON", error.to_string());
        Self::from_value(serde_json::from_str(json).map_err(|error| invalid(&error))?)
    }

    /// Reads a workload from such an object.
    ///
    /// # Errors
    /// As [`Self::from_json`].
    pub fn from_value(mut value: Value) -> Result<Self, OptionError> {
        let fields = value.as_object_mut();
        let kind = fields.and_then(|fields| fields.remove("kind")).unwrap_or_default();
        let workload = match kind.as_str() {
            Some("single") => Self::Single(options(value)?),
            Some("surge") => Self::Surge(Box::new(options(value)?)),
            Some("prowgen") => Self::Prowgen(options(value)?),
            Some("replay") => Self::Replay(options(value)?),
            Some("requests") => Self::Requests(options(value)?),
            _ => {
                let valid = "must be single, surge, prowgen, replay or requests";
                return Err(OptionError::new("kind", kind, valid));
            }
        };
        workload.check()?;
        Ok(workload)
    }

    /// Checks the options.
    ///
    /// # Errors
    /// The first option that is impossible, by itself or beside the others.
    pub fn check(&self) -> Result<(), OptionError> {
        match self {
            Self::Single(options) => options.resolve().map(|_| ()),
            Self::Surge(options) => options.resolve().map(|_| ()),
            Self::Prowgen(options) => options.resolve().map(|_| ()),
            Self::Replay(options) => options.check(),
            // Files are read when it is built.
            Self::Requests(options) => options.resolve(None).map(|_| ()),
        }
    }

    /// Makes the files that belong to the seed of a set, or reads them off the log.
    ///
    /// # Errors
    /// If an option is impossible, a file has not what it must have, or the log is missing or cannot be replayed.
    pub fn build(&self, seed: u64, inputs: Inputs<'_>) -> Result<Site, BuildError> {
        Ok(match self {
            Self::Single(options) => Site::list(&options.resolve()?),
            Self::Surge(options) => Site::Surge(Box::new(options.resolve()?.build(seed)?)),
            Self::Prowgen(options) => Site::Prowgen(options.resolve()?.build(seed)?),
            Self::Replay(options) => {
                options.check()?;
                let name = || options.log.clone();
                let log = inputs.log.ok_or_else(|| BuildError::NoLog { log: name() })?;
                Site::Replay(options.read(log).map_err(|source| BuildError::Log { log: name(), source })?)
            }
            Self::Requests(options) => Site::Requests(options.resolve(inputs.files)?),
        })
    }
}

/// What workloads are made from beside their options.
#[derive(Default)]
pub struct Inputs<'a> {
    /// The log that is replayed.
    pub log: Option<&'a mut dyn BufRead>,
    /// The files that named requests use. Without them, only the answers of a server are known.
    pub files: Option<&'a RequestFiles>,
}

/// The options of a kind, with the path of what is wrong. (Of an enum with a tag inside, serde would not know the path.)
fn options<T: DeserializeOwned>(value: Value) -> Result<T, OptionError> {
    serde_path_to_error::deserialize(&value).map_err(|error| {
        let path = error.path().to_string();
        let given = path.split('.').try_fold(&value, |value, step| value.get(step));
        OptionError::new(path, given.unwrap_or(&value), error.inner().to_string())
    })
}

impl Site {
    fn list(list: &[Weighted]) -> Self {
        let file = |file: &Weighted| File { path: file.path.clone(), size: file.size, class: Class::Loner };
        let files = FileSet::new(list.iter().map(file).collect());
        Self::List { files, weights: list.iter().map(|file| file.weight).collect() }
    }

    /// The files; of named requests one for each, which no server has.
    #[must_use]
    pub fn files(&self) -> &FileSet {
        match self {
            Self::List { files, .. } => files,
            Self::Surge(set) => set.files(),
            Self::Prowgen(set) => set.files(),
            Self::Replay(replay) => replay.files(),
            Self::Requests(set) => set.files(),
        }
    }

    /// How the size of a file is known.
    pub(crate) fn size_source(&self, file: FileId) -> SizeSource {
        match self {
            Self::List { .. } | Self::Surge(_) | Self::Prowgen(_) | Self::Requests(_) => SizeSource::Option,
            Self::Replay(replay) if replay.has_size_of(file) => SizeSource::Log,
            Self::Replay(_) => SizeSource::Guess,
        }
    }

    /// What is asked for in the run with this root key.
    #[must_use]
    pub fn requests(&self, run: Key) -> Requests {
        match self {
            Self::List { weights, .. } => Requests::weighted(weights, run),
            Self::Surge(set) => set.requests(run),
            Self::Prowgen(set) => set.requests(run),
            Self::Replay(replay) => replay.requests(run),
            Self::Requests(set) => set.stream(run),
        }
    }

    /// The workload's own pauses of a user: between two pages, and between the files of a page.
    #[must_use]
    pub fn off_times(&self) -> (Delay, Delay) {
        match self {
            Self::Surge(set) => (set.parameters().inactive_off, set.parameters().active_off),
            Self::List { .. } | Self::Prowgen(_) | Self::Replay(_) | Self::Requests(_) => {
                (Delay::default(), Delay::default())
            }
        }
    }

    /// How often each file is asked for in one pass; `None` where the files do not come with their popularity.
    #[must_use]
    pub fn references(&self) -> Option<&[u32]> {
        match self {
            Self::List { .. } | Self::Replay(_) | Self::Requests(_) => None,
            Self::Surge(set) => Some(&set.matched().references),
            Self::Prowgen(set) => Some(set.references()),
        }
    }

    /// Every parameter of a generated set, the ones of its preset included, as an object with the names of the options.
    #[must_use]
    pub fn parameters(&self) -> Option<Value> {
        match self {
            Self::List { .. } | Self::Replay(_) | Self::Requests(_) => None,
            Self::Surge(set) => serde_json::to_value(set.parameters()).ok(),
            Self::Prowgen(set) => serde_json::to_value(set.parameters()).ok(),
        }
    }

    /// Compares a generated set, and its requests in the run with this root key, with what was intended; `None` where
    /// nothing was generated.
    ///
    /// # Errors
    /// Those of the options, which have been checked.
    pub fn examine(&self, run: Key) -> Result<Option<Examination>, OptionError> {
        match self {
            Self::List { .. } | Self::Replay(_) | Self::Requests(_) => Ok(None),
            Self::Surge(set) => set.examine(run).map(Some),
            Self::Prowgen(set) => set.examine(run).map(Some),
        }
    }
}
