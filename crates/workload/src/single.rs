//! One file, again and again: the micro-benchmark of s-client (Nahum et al. 2001, section 3.3).

use crate::{File, FileId, FileSet};
use serde::{Deserialize, Serialize};
use wasp_units::Bytes;

/// Every request is for the same file.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Single {
    /// The target of the requests, with the leading slash.
    pub path: String,
    /// The size of the file.
    pub size: Bytes,
}

impl Single {
    /// The set of that one file.
    #[must_use]
    pub fn files(&self) -> FileSet {
        FileSet::new(vec![File { path: self.path.clone(), size: self.size }])
    }

    /// What a client asks for as its `index`th request.
    #[must_use]
    pub const fn request(&self, _index: u64) -> FileId {
        FileId(0)
    }
}
