//! A file set and its popularity, made from the parameters and a seed.

use super::popularity::{assign, references};
use super::{Correlation, Prowgen};
use crate::requests::{Pages, Requests};
use crate::{Class, FileSet, OptionError};
use std::sync::Arc;
use wasp_random::{Key, Purpose};

/// What a server of a ProWGen workload holds, and how popular it is. It depends on the parameters and the seed alone, not
/// on the run.
#[derive(Debug)]
pub struct ProwgenSet {
    pub(super) prowgen: Prowgen,
    pub(super) files: FileSet,
    pub(super) references: Vec<u32>,
    pages: Arc<Pages>,
}

impl Prowgen {
    /// Draws the set that belongs to this seed.
    ///
    /// # Errors
    /// If the parameters of the sizes are impossible.
    pub fn build(&self, seed: u64) -> Result<ProwgenSet, OptionError> {
        let root = Key::root(seed, 0);
        let references = references(self.objects, self.once(), self.zipf_slope, self.requests);
        let key = root.purpose(Purpose::FileSize);
        let sizes = self.sizes()?.mixture()?.draw(self.sampling, key, self.objects as usize);
        let limit = (self.correlation == Correlation::Zero).then_some(self.popular_limit);
        let stream = &mut root.purpose(Purpose::Popularity).stream();
        let sizes = assign(sizes, &references, self.correlation, limit, stream);
        Ok(ProwgenSet {
            prowgen: self.clone(),
            files: FileSet::generated(sizes.into_iter().map(|size| (size, Class::Loner))),
            pages: Arc::new(Pages::plain(self.objects)),
            references,
        })
    }
}

impl ProwgenSet {
    /// The parameters.
    #[must_use]
    pub fn parameters(&self) -> &Prowgen {
        &self.prowgen
    }

    /// The files, the most popular first.
    #[must_use]
    pub fn files(&self) -> &FileSet {
        &self.files
    }

    /// The references to each file. Their sum is the true length of the sequence, some percent off what was aimed at.
    #[must_use]
    pub fn references(&self) -> &[u32] {
        &self.references
    }

    /// The requests of the run with this root key.
    #[must_use]
    pub fn requests(&self, run: Key) -> Requests {
        Requests::sequence(Arc::clone(&self.pages), self.sequence(run).into(), run)
    }

    /// The files of the run with this root key, by number, in the order in which they are asked for.
    #[must_use]
    pub fn sequence(&self, run: Key) -> Vec<u32> {
        let mut stream = run.purpose(Purpose::Request).name("order").stream();
        self.prowgen.stack.sequence(&self.references, &mut stream)
    }
}
