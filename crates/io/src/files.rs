//! The kernel's text files.

use std::fs;
use std::path::Path;

/// The text of a file below `/proc`; `None` where there is none or this process may not read it.
pub(crate) fn read_text(path: impl AsRef<Path>) -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "meters are read from the kernel's files, outside of the model"
    )]
    fs::read_to_string(path).ok()
}
