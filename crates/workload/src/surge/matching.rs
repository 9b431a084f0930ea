//! Which file gets which popularity: the sizes of files and the number of references to each are given, and so is the
//! distribution that the sizes of *requests* shall have (Barford and Crovella 1998, section 4.2).

use crate::OptionError;
use crate::distribution::{Distribution, Truncated};
use crate::error::{positive, within};
use crate::statistics::step_distance;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wasp_random::Stream;
use wasp_units::Bytes;

/// How references are matched with files.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Matching {
    /// So that the sizes of requests come as near to their distribution as the files allow.
    #[default]
    Optimal,
    /// At random.
    Random,
}

/// The distribution that the sizes of requests shall have: Pareto, up to the largest file or to a cap.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RequestSizes {
    /// Tail index.
    pub shape: f64,
    /// Least size.
    pub scale: Bytes,
    /// Largest size; the largest file unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap: Option<Bytes>,
}

impl RequestSizes {
    pub(super) fn check(&self) -> Result<(), OptionError> {
        positive("shape", self.shape)?;
        within("scale", self.scale, Bytes::new(1), Bytes::new(1 << 40))?;
        within("cap", self.cap.unwrap_or(Bytes::new(1 << 40)), self.scale, Bytes::new(1 << 40))
    }

    /// The distribution in bytes, for a set whose largest file is `largest`.
    pub(super) fn truncated(&self, largest: Bytes) -> Result<Truncated, OptionError> {
        let (scale, cap) = (self.scale.get() as f64, self.cap.unwrap_or(largest));
        let distribution = Distribution::Pareto { shape: self.shape, scale };
        let nothing =
            || OptionError::new("scale", self.scale, format!("the largest file has only {largest}"));
        Truncated::new(distribution, scale, cap.get() as f64).ok_or_else(nothing)
    }
}

/// A matching and how good it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Matched {
    /// The references to each file.
    pub references: Vec<u32>,
    /// Kolmogorov-Smirnov distance between the sizes of requests and their distribution.
    pub distance: f64,
    /// No matching can come nearer than this: half of the requests for the most popular file, which all have one size.
    pub least: f64,
}

/// Matches `references`, which may have any order, with files of these `sizes`.
pub(super) fn matched(
    matching: Matching,
    sizes: &[Bytes],
    mut references: Vec<u32>,
    target: &Truncated,
    stream: &mut Stream,
) -> Matched {
    let mut by_size: Vec<usize> = (0..sizes.len()).collect();
    by_size.sort_by_key(|&file| (sizes[file], file));
    match matching {
        Matching::Random => crate::shuffle(&mut references, stream),
        Matching::Optimal => references = nearest(sizes, &by_size, &references, target),
    }
    let total: u64 = references.iter().map(|&count| u64::from(count)).sum();
    let most = references.iter().copied().max().unwrap_or(0);
    let steps = by_size.iter().map(|&file| (sizes[file].get() as f64, u64::from(references[file])));
    let distance = step_distance(steps, |size| target.cdf(size));
    Matched { references, distance, least: f64::from(most) / total as f64 / 2.0 }
}

/// Goes through the files by rising size and gives each the number of references that brings the sum nearest to the
/// target. Where the sum stands after a file of size s, before one of size t, it is compared with the target at s and at t,
/// so it is best between the two.
fn nearest(sizes: &[Bytes], by_size: &[usize], references: &[u32], target: &Truncated) -> Vec<u32> {
    let mut pool = BTreeMap::<u32, u32>::new();
    for &count in references {
        *pool.entry(count).or_default() += 1;
    }
    let total: f64 = references.iter().map(|&count| f64::from(count)).sum();
    let at = |place: usize| by_size.get(place).map_or(1.0, |&file| target.cdf(sizes[file].get() as f64));
    let mut matched = vec![0; sizes.len()];
    let mut sum = 0.0;
    for (place, &file) in by_size.iter().enumerate() {
        let wanted = 0.5 * (at(place) + at(place + 1)) * total - sum;
        let count = take_nearest(&mut pool, wanted);
        matched[file] = count;
        sum += f64::from(count);
    }
    matched
}

/// Takes the number nearest to `wanted` from a pool that is not empty.
fn take_nearest(pool: &mut BTreeMap<u32, u32>, wanted: f64) -> u32 {
    let split = wanted.max(0.0) as u32;
    let below = pool.range(..=split).next_back().map(|(&count, _)| count);
    let above = pool.range(split.saturating_add(1)..).next().map(|(&count, _)| count);
    let nearest = match (below, above) {
        (Some(below), Some(above)) if f64::from(above) - wanted < wanted - f64::from(below) => above,
        (below, above) => below.or(above).unwrap_or(0),
    };
    if let Some(left) = pool.get_mut(&nearest) {
        *left -= 1;
        if *left == 0 {
            pool.remove(&nearest);
        }
    }
    nearest
}
