//! Opens logs that are to be replayed.

use std::fs::File;
use std::io::{BufReader, Result};
use std::path::Path;

/// A reader of the log at `path`.
///
/// # Errors
/// If the file cannot be opened, or is a directory.
pub fn open_log(path: impl AsRef<Path>) -> Result<BufReader<File>> {
    #[expect(clippy::disallowed_methods, reason = "a log is read before the run begins")]
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(std::io::ErrorKind::IsADirectory.into());
    }
    Ok(BufReader::with_capacity(1 << 16, file))
}
