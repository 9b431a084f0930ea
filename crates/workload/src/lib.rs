//! What is asked for: file sets, and the requests that clients make of them.
//!
//! ```text
//! Workload (options) ──build(seed)──► Site (files, popularity) ──requests(run key)──► Requests ──stream(client)──► RequestStream
//! ```
//!
//! A [`Site`] depends on its options and the seed of the set alone, so every run of an experiment asks the same files of a
//! server. Where groups of clients have workloads of their own, [`Sites`] are those of one run. The order of requests depends on the seed and number of the run, the group and the number of the client.
//!
//! ```
//! use std::sync::Arc;
//! use wasp_random::Key;
//! use wasp_workload::{Deal, Inputs, Workload, surge::SurgeOptions};
//!
//! let site = Workload::Surge(Box::new(SurgeOptions::default())).build(1, Inputs::default())?;
//! let requests = Arc::new(site.requests(Key::root(1, 0)));
//! let mut client = requests.stream(Deal::Own, "homes", 17, 256);
//! let page = client.next_page().expect("SURGE repeats");
//! assert!(site.files().get(page.base).is_some());
//! # Ok::<(), wasp_workload::BuildError>(())
//! ```

mod content;
mod delay;
mod distribution;
mod equilibrium;
mod error;
mod examination;
mod files;
mod math;
pub mod named;
mod off;
mod packet_times;
pub mod prowgen;
pub mod replay;
mod requests;
mod single;
mod site;
mod sites;
mod sizes;
pub mod statistics;
pub mod surge;
mod zipf;

pub use content::Content;
pub use delay::Delay;
pub use distribution::{Distribution, Truncated};
pub use equilibrium::Equilibrium;
pub use error::OptionError;
pub use examination::{Compared, Examination, Popularity};
pub use files::{Class, File, FileId, FileSet};
pub use off::OffTimes;
pub use packet_times::{PacketModel, PacketTimes};
pub use requests::{Deal, Page, PageId, RequestStream, Requests, Session, Step};
pub use single::{SingleOptions, Weighted};
pub use site::{BuildError, Inputs, Site, Workload};
pub use sites::{Clash, Located, Sites, seed_of_group};
pub use sizes::{Mixture, Sampling, Sizes, Tail};

use site::SizeSource;
use wasp_random::Stream;

/// A random order, each as likely as any other (Fisher and Yates).
fn shuffle<T>(values: &mut [T], stream: &mut Stream) {
    for last in (1..values.len()).rev() {
        values.swap(last, stream.below(last as u64 + 1) as usize);
    }
}
