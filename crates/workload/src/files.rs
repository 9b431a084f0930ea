//! The files of a server.

use serde::Serialize;
use std::collections::BTreeMap;
use wasp_units::Bytes;

/// Most files of a generated set.
pub(crate) const MOST_FILES: u32 = 1_000_000;

/// One file: where it is and how long it is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct File {
    /// The target of a request for it, with the leading slash.
    pub path: String,
    /// Its size.
    pub size: Bytes,
    /// Its part in pages.
    pub class: Class,
}

/// The part of a file in pages (Barford and Crovella, SIGMETRICS 1999).
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// A page that has other files embedded.
    Base,
    /// Embedded in pages.
    Embedded,
    /// A page by itself.
    #[default]
    Loner,
}

impl Class {
    /// Its name, as in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Embedded => "embedded",
            Self::Loner => "loner",
        }
    }
}

/// The place of a file in its set.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
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

    /// A generated set: files of these sizes and classes, a hundred to a directory.
    pub(crate) fn generated(files: impl Iterator<Item = (Bytes, Class)>) -> Self {
        let file = |(index, (size, class))| File { path: generated_path(index), size, class };
        Self::new(files.enumerate().map(file).collect())
    }

    /// Adds a file.
    pub(crate) fn push(&mut self, file: File) {
        self.by_path.insert(file.path.clone(), FileId(self.files.len() as u32));
        self.files.push(file);
    }

    /// The file with this place in the set, to change its size.
    pub(crate) fn get_mut(&mut self, id: FileId) -> Option<&mut File> {
        self.files.get_mut(id.0 as usize)
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

    /// The size of all files together.
    #[must_use]
    pub fn total(&self) -> Bytes {
        Bytes::new(self.files.iter().map(|file| file.size.get()).sum())
    }
}

fn generated_path(index: usize) -> String {
    format!("/{:02}/{index:04}.bin", index / 100)
}
