//! The scripts of the project.
#![expect(clippy::disallowed_methods, reason = "tests read their files")]

use std::path::{Path, PathBuf};

/// A file that should hold a script.
#[derive(Clone, Debug)]
pub struct ScriptFile {
    /// Its path below `tests/packets`.
    pub name: String,
    /// What it holds.
    pub text: String,
}

/// The files below `tests/packets`, by name.
///
/// # Panics
/// One of them cannot be read.
#[must_use]
pub fn files() -> Vec<ScriptFile> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/packets");
    let mut paths = Vec::new();
    collect(&root, &mut paths);
    paths.sort();
    let file = |path: PathBuf| {
        let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        ScriptFile { name, text }
    };
    paths.into_iter().map(file).collect()
}

fn collect(directory: &Path, paths: &mut Vec<PathBuf>) {
    let entries =
        std::fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    for entry in entries {
        let path = entry.expect("an entry of a directory").path();
        if path.is_dir() {
            collect(&path, paths);
        } else {
            paths.push(path);
        }
    }
}
