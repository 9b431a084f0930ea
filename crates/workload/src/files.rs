//! The files of a server.

use std::collections::BTreeMap;
use wasp_units::Bytes;

/// One file: where it is and how long it is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct File {
    /// The target of a request for it, with the leading slash.
    pub path: String,
    /// Its size.
    pub size: Bytes,
}

/// The place of a file in its set.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct FileId(pub u32);

/// The files that a server has.
#[derive(Clone, Debug, Default)]
pub struct FileSet {
    files: Vec<File>,
    by_path: BTreeMap<String, FileId>,
}

impl FileSet {
    /// A set of these files. Of files with the same path the last one counts.
    #[must_use]
    pub fn new(files: Vec<File>) -> Self {
        let by_path = files.iter().zip(0..).map(|(file, index)| (file.path.clone(), FileId(index))).collect();
        Self { files, by_path }
    }

    /// The files in their order.
    #[must_use]
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// The file with this path.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<FileId> {
        self.by_path.get(path).copied()
    }

    /// The file with this place in the set.
    #[must_use]
    pub fn get(&self, id: FileId) -> Option<&File> {
        self.files.get(id.0 as usize)
    }
}
