//! SURGE: files, requests, pages and users with the distributions that were measured on real servers.
//!
//! Sources: Barford and Crovella, "Generating Representative Web Workloads for Network and Server Performance Evaluation"
//! (SIGMETRICS 1998), as the macro-benchmark of Nahum et al. (2001, section 3.3) uses it, and "A Performance Evaluation of
//! Hyper Text Transfer Protocols" (SIGMETRICS 1999) for the classes of files.
//!
//! ```text
//! sizes ──┐
//!         ├─► matching: which file is how popular ─► pages ─► sequence in which they are asked for
//! Zipf ───┘
//! ```

mod counts;
mod examination;
mod locality;
mod matching;
mod options;
mod pages;
mod preset;
mod set;

pub use counts::EmbeddedCount;
pub use locality::Locality;
pub use matching::{Matched, Matching, RequestSizes};
pub use options::{Shares, Surge, SurgeOptions};
pub use preset::SurgePreset;
pub use set::SurgeSet;
