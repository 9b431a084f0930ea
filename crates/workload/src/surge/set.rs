//! A file set and its popularity, made from the parameters and a seed.

use super::matching::matched;
use super::pages::compose;
use super::{EmbeddedCount, Matched, Surge};
use crate::requests::{Pages, Requests};
use crate::{Class, FileSet, OptionError, zipf};
use std::sync::Arc;
use wasp_random::{Key, Purpose};
use wasp_units::Bytes;

/// What a server of a SURGE workload holds, and how popular it is. It depends on the parameters and the seed alone, not on
/// the run.
#[derive(Debug)]
pub struct SurgeSet {
    pub(super) surge: Surge,
    pub(super) files: FileSet,
    pub(super) matched: Matched,
    pub(super) counts: Vec<u32>,
    pub(super) pages: Arc<Pages>,
    /// How often each page is asked for.
    pub(super) references: Vec<u32>,
    overdrawn: u64,
}

impl Surge {
    /// Draws the set that belongs to this seed.
    ///
    /// # Errors
    /// If the drawn files contradict a parameter: none as large as the least request.
    pub fn build(&self, seed: u64) -> Result<SurgeSet, OptionError> {
        let root = Key::root(seed, 0);
        let (sizes, popularity) = (root.purpose(Purpose::FileSize), root.purpose(Purpose::Popularity));
        let classes = self.classes(popularity.name("classes"));
        let sizes = self.sizes(&classes, sizes)?;
        let references = zipf::references(self.files as usize, self.zipf_slope, 1, self.total()?);
        let largest = sizes.iter().copied().max().unwrap_or_default();
        let target = self.request_sizes.truncated(largest).map_err(|error| error.within("request_sizes"))?;
        let stream = &mut popularity.name("matching").stream();
        let matched = matched(self.matching, &sizes, references, &target, stream);
        let counts = popularity.name("embedded");
        let counts = EmbeddedCount::draw(&self.embedded_counts()?, counts, self.class_sizes().0);
        let composition = compose(&classes, &matched.references, counts.clone());
        Ok(SurgeSet {
            surge: self.clone(),
            files: FileSet::generated(sizes.into_iter().zip(classes)),
            matched,
            counts,
            pages: Arc::new(composition.pages),
            references: composition.references,
            overdrawn: composition.overdrawn,
        })
    }

    fn classes(&self, key: Key) -> Vec<Class> {
        let (bases, embedded) = self.class_sizes();
        let mut classes = vec![Class::Loner; self.files as usize];
        classes[..bases].fill(Class::Base);
        classes[bases..bases + embedded].fill(Class::Embedded);
        crate::shuffle(&mut classes, &mut key.stream());
        classes
    }

    fn sizes(&self, classes: &[Class], key: Key) -> Result<Vec<Bytes>, OptionError> {
        if self.sizes_are_equal() {
            return Ok(self.loner_sizes.mixture()?.draw(self.sampling, key, classes.len()));
        }
        let mut sizes = vec![Bytes::default(); classes.len()];
        for class in [Class::Base, Class::Embedded, Class::Loner] {
            let members: Vec<usize> = (0..classes.len()).filter(|&file| classes[file] == class).collect();
            let key = key.entity(class as u64);
            let drawn = self.sizes_of(class).mixture()?.draw(self.sampling, key, members.len());
            for (file, size) in members.into_iter().zip(drawn) {
                sizes[file] = size;
            }
        }
        Ok(sizes)
    }

    /// Whether all classes have the same sizes.
    pub(super) fn sizes_are_equal(&self) -> bool {
        self.base_sizes == self.loner_sizes && self.embedded_sizes == self.loner_sizes
    }

    pub(super) fn sizes_of(&self, class: Class) -> crate::Sizes {
        match class {
            Class::Base => self.base_sizes,
            Class::Embedded => self.embedded_sizes,
            Class::Loner => self.loner_sizes,
        }
    }
}

impl SurgeSet {
    /// The parameters.
    #[must_use]
    pub fn parameters(&self) -> &Surge {
        &self.surge
    }

    /// The files.
    #[must_use]
    pub fn files(&self) -> &FileSet {
        &self.files
    }

    /// How popularity was matched with files: the references to each, in the order of the files.
    #[must_use]
    pub fn matched(&self) -> &Matched {
        &self.matched
    }

    /// The numbers of embedded files that were drawn for the base files.
    #[must_use]
    pub fn embedded_counts(&self) -> &[u32] {
        &self.counts
    }

    /// References to embedded files beyond those that their popularity gives them, in one pass through the sequence.
    #[must_use]
    pub fn overdrawn(&self) -> u64 {
        self.overdrawn
    }

    /// The requests of the run with this root key.
    #[must_use]
    pub fn requests(&self, run: Key) -> Requests {
        let sequence = self.sequence(run);
        Requests::sequence(Arc::clone(&self.pages), sequence.into(), run)
    }

    /// The pages of the run with this root key, by number, in the order in which they are asked for.
    #[must_use]
    pub fn sequence(&self, run: Key) -> Vec<u32> {
        let mut stream = run.purpose(Purpose::Request).name("order").stream();
        self.surge.locality.sequence(&self.references, &mut stream)
    }
}
