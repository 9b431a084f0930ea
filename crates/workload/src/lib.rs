//! What is asked for: file sets, and the requests that clients make of them.

mod files;
mod single;

pub use files::{File, FileId, FileSet};
pub use single::Single;
