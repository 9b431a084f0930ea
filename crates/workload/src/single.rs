//! One file, again and again, or a few with weights: the micro-benchmark of s-client (Nahum et al. 2001, section 3.3).

use crate::OptionError;
use serde::{Deserialize, Serialize};
use wasp_units::Bytes;

/// One of a list of files.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Weighted {
    /// The target of the requests, with the leading slash.
    pub path: String,
    /// The size of the file.
    pub size: Bytes,
    /// How often it is asked for, in proportion to the others: from 0 to 1,000,000.
    #[serde(default = "one")]
    pub weight: f64,
}

fn one() -> f64 {
    1.0
}

/// One file, or a list of files of which each request takes one at random by weight, as it comes in a file or in JSON:
/// either `path` and `size`, or `files`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SingleOptions {
    /// The target of the requests, with the leading slash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The size of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// The files with their weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<Weighted>>,
}

impl SingleOptions {
    /// The files with their weights: one of weight 1 where only a path and a size are given.
    ///
    /// # Errors
    /// If both forms are given or neither, or a path or a weight is impossible.
    pub fn resolve(&self) -> Result<Vec<Weighted>, OptionError> {
        let files = match (&self.path, self.size, &self.files) {
            (Some(path), Some(size), None) => vec![Weighted { path: path.clone(), size, weight: 1.0 }],
            (None, None, Some(files)) => files.clone(),
            (Some(_), None, None) => return Err(OptionError::new("size", "absent", "a path needs a size")),
            (None, Some(_), None) => return Err(OptionError::new("path", "absent", "a size needs a path")),
            (None, None, None) => {
                return Err(OptionError::new("path", "absent", "give a path and a size, or files"));
            }
            _ => {
                return Err(OptionError::new(
                    "files",
                    "given",
                    "not beside path and size; give one of the two",
                ));
            }
        };
        check_list(&files)?;
        Ok(files)
    }
}

fn check_list(files: &[Weighted]) -> Result<(), OptionError> {
    let mut seen = std::collections::BTreeSet::new();
    for (index, Weighted { path, weight, size: _ }) in files.iter().enumerate() {
        let field = |name| format!("files.{index}.{name}");
        crate::error::within(&field("weight"), *weight, 0.0, 1e6)?;
        if !path.starts_with('/') {
            return Err(OptionError::new(field("path"), path, "must begin with a slash"));
        }
        if !seen.insert(path) {
            return Err(OptionError::new(field("path"), path, "is in the list twice; paths must differ"));
        }
    }
    if files.iter().all(|file| file.weight == 0.0) {
        return Err(OptionError::new(
            "files",
            "no weight",
            "at least one file with a weight above 0 is needed",
        ));
    }
    Ok(())
}
