//! A SURGE set beside what was intended.

use super::{EmbeddedCount, Locality, Matching, SurgeSet};
use crate::examination::{
    Compared, Examination, Intended, STACK_TOLERANCE, compare, compare_draws, compare_sizes, popularity,
};
use crate::statistics::{critical_distance, stack_distances};
use crate::{Class, Delay, OffTimes, OptionError};
use wasp_random::Key;
use wasp_units::Duration;

/// OFF times that are drawn to be compared.
const OFF_TIMES: u64 = 10_000;

impl SurgeSet {
    /// Compares everything with what was intended, and the requests of the run with this root key.
    ///
    /// # Errors
    /// Those of the options, which have been checked.
    pub fn examine(&self, run: Key) -> Result<Examination, OptionError> {
        let sequence = self.sequence(run);
        let mut distributions = self.compare_files()?;
        distributions.push(self.compare_requests()?);
        distributions.extend(self.compare_counts()?);
        distributions.push(self.compare_stack(&sequence));
        let surge = &self.surge;
        let off = OffTimes::new(surge.inactive_off, surge.active_off, run, "examination", 0);
        let inactive = |index| off.inactive(index);
        let active = |index| off.active(index, 0);
        distributions.extend(compare_off("inactive OFF time", surge.inactive_off, inactive));
        distributions.extend(compare_off("active OFF time", surge.active_off, active));
        let asked = self.asked(&sequence);
        let of_files =
            || self.files.files().iter().zip(&asked).map(|(file, &count)| (file.size.get(), count));
        let sizes = of_files().map(|(size, count)| (size as f64, count)).collect();
        distributions.push(compare("request size with pages", "B", sizes, None));
        Ok(Examination {
            files: self.files.files().len(),
            bytes: self.files.total().get(),
            pages: sequence.len(),
            requests: asked.iter().sum(),
            requested_bytes: of_files().map(|(size, count)| size * count).sum(),
            never_requested: asked.iter().filter(|&&count| count == 0).count(),
            overdrawn: self.overdrawn(),
            distributions,
            popularity: popularity(&self.matched.references, surge.zipf_slope),
        })
    }

    /// How often each file is asked for in one pass through the sequence.
    fn asked(&self, sequence: &[u32]) -> Vec<u64> {
        let mut asked = vec![0; self.files.files().len()];
        for &page in sequence {
            let (base, embedded) = self.pages.get(page);
            asked[base.0 as usize] += 1;
            embedded.iter().for_each(|file| asked[file.0 as usize] += 1);
        }
        asked
    }

    fn compare_files(&self) -> Result<Vec<Compared>, OptionError> {
        let surge = &self.surge;
        let sizes = |class: Option<Class>| {
            let members =
                self.files.files().iter().filter(move |file| class.is_none_or(|class| file.class == class));
            members.map(|file| file.size.get())
        };
        if surge.sizes_are_equal() {
            return Ok(vec![compare_sizes("file size", sizes(None), &surge.base_sizes.mixture()?)]);
        }
        let classes = [(Class::Base, "base"), (Class::Embedded, "embedded"), (Class::Loner, "loner")];
        let present = classes.into_iter().filter(|&(class, _)| sizes(Some(class)).next().is_some());
        present
            .map(|(class, name)| {
                let mixture = surge.sizes_of(class).mixture()?;
                Ok(compare_sizes(&format!("file size, {name}"), sizes(Some(class)), &mixture))
            })
            .collect()
    }

    fn compare_requests(&self) -> Result<Compared, OptionError> {
        let files = self.files.files();
        let largest = files.iter().map(|file| file.size).max().unwrap_or_default();
        let target = self.surge.request_sizes.truncated(largest)?;
        let values = files.iter().zip(&self.matched.references);
        let values = values.map(|(file, &count)| (file.size.get() as f64, u64::from(count))).collect();
        let intended = Intended {
            cdf: &|x| target.cdf(x),
            quantile: &|p| target.quantile(p),
            whole: false,
            limit: self.matched.least + 0.01,
            reason: "0.01 above the least possible",
        };
        let optimal = self.surge.matching == Matching::Optimal;
        Ok(compare("request size", "B", values, optimal.then_some(&intended)))
    }

    fn compare_counts(&self) -> Result<Option<Compared>, OptionError> {
        if self.counts.is_empty() || matches!(self.surge.embedded, EmbeddedCount::Constant { .. }) {
            return Ok(None);
        }
        let cumulative = self.surge.embedded_counts()?;
        let last = cumulative.len() - 1;
        let intended = Intended {
            cdf: &|x| if x < 0.0 { 0.0 } else { cumulative[(x as usize).min(last)] },
            quantile: &|p| cumulative.partition_point(|&sum| sum <= p).min(last) as f64,
            whole: true,
            limit: critical_distance(self.counts.len()),
            reason: "5 % critical value",
        };
        let values = self.counts.iter().map(|&count| (f64::from(count), 1)).collect();
        Ok(Some(compare("embedded files of a page", "", values, Some(&intended))))
    }

    fn compare_stack(&self, sequence: &[u32]) -> Compared {
        let distances = stack_distances(sequence, self.pages.len());
        let values = distances.into_iter().map(|distance| (f64::from(distance), 1)).collect();
        let name = "stack distance";
        let Some(intended) = self.surge.locality.distances() else {
            return compare(name, "", values, None);
        };
        let intended = Intended {
            cdf: &|x| if x < 1.0 { 0.0 } else { Locality::rounded_cdf(intended, x as u32) },
            quantile: &|p| libm::round(intended.quantile(p)).max(1.0),
            whole: true,
            limit: STACK_TOLERANCE,
            reason: "a finite set drifts",
        };
        compare(name, "", values, Some(&intended))
    }
}

fn compare_off(name: &str, delay: Delay, draw: impl Fn(u64) -> Duration) -> Option<Compared> {
    let truncated = delay.truncated()?;
    let values = (0..OFF_TIMES).map(|index| (draw(index).as_secs_f64(), 1)).collect();
    Some(compare_draws(name, "s", values, &truncated))
}
