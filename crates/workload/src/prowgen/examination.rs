//! A ProWGen set beside what was intended.

use super::ProwgenSet;
use crate::OptionError;
use crate::examination::{Examination, compare, compare_sizes, popularity};
use crate::statistics::stack_distances;
use wasp_random::Key;

impl ProwgenSet {
    /// Compares everything with what was intended, and the requests of the run with this root key. A stack distance is not
    /// intended to have a distribution here; it follows from the stack model.
    ///
    /// # Errors
    /// Those of the options, which have been checked.
    pub fn examine(&self, run: Key) -> Result<Examination, OptionError> {
        let files = self.files.files();
        let sequence = self.sequence(run);
        let mixture = self.prowgen.sizes()?.mixture()?;
        let asked = files.iter().zip(&self.references);
        let sizes = asked.clone().map(|(file, &count)| (file.size.get() as f64, u64::from(count))).collect();
        let stack = stack_distances(&sequence, files.len());
        let stack = stack.into_iter().map(|distance| (f64::from(distance), 1)).collect();
        Ok(Examination {
            files: files.len(),
            bytes: self.files.total().get(),
            pages: sequence.len(),
            requests: sequence.len() as u64,
            requested_bytes: asked.map(|(file, &count)| file.size.get() * u64::from(count)).sum(),
            never_requested: 0,
            overdrawn: 0,
            distributions: vec![
                compare_sizes("file size", files.iter().map(|file| file.size.get()), &mixture),
                compare("request size", "B", sizes, None),
                compare("stack distance", "", stack, None),
            ],
            popularity: popularity(&self.references, self.prowgen.zipf_slope),
        })
    }
}
