//! What a generated set looks like beside what was intended.

use crate::distribution::Truncated;
use crate::sizes::Mixture;
use crate::statistics::{critical_distance, step_distance, zipf_slope};
use serde::Serialize;

/// Points of a curve, about.
const POINTS: usize = 200;
/// Deviation of a slope that is still as intended.
const SLOPE_TOLERANCE: f64 = 0.05;
/// Distance of stack distances that is still as intended: a finite set drifts as the references of its pages run out.
pub(crate) const STACK_TOLERANCE: f64 = 0.12;

/// All that can be compared of a set and one sequence of its requests.
#[derive(Clone, Debug, Serialize)]
pub struct Examination {
    /// Number of files.
    pub files: usize,
    /// Size of all files together in bytes.
    pub bytes: u64,
    /// Pages in the sequence.
    pub pages: usize,
    /// Files that are asked for in one pass through the sequence.
    pub requests: u64,
    /// Bytes that are asked for in one pass through the sequence.
    pub requested_bytes: u64,
    /// Files that are not asked for at all in one pass: embedded ones that no page has.
    pub never_requested: usize,
    /// References to embedded files beyond those that their popularity gives them.
    pub overdrawn: u64,
    /// Each distribution.
    pub distributions: Vec<Compared>,
    /// How often each file is asked for.
    pub popularity: Popularity,
}

/// A distribution as generated and as intended.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// What is distributed.
    pub name: String,
    /// Unit of the values; empty for numbers.
    pub unit: &'static str,
    /// Number of values.
    pub samples: u64,
    /// Kolmogorov-Smirnov distance between the two; `None` where nothing is intended.
    pub distance: Option<f64>,
    /// The distance up to which it is as intended.
    pub limit: Option<f64>,
    /// Where that limit comes from.
    pub reason: &'static str,
    /// Median as generated.
    pub median: f64,
    /// Median as intended.
    pub intended_median: Option<f64>,
    /// Mean as generated.
    pub mean: f64,
    /// Mean as intended.
    pub intended_mean: Option<f64>,
    /// Points of both: value, share of the values above it as generated, and as intended.
    pub points: Vec<(f64, f64, Option<f64>)>,
}

/// How often each file is asked for.
#[derive(Clone, Debug, Serialize)]
pub struct Popularity {
    /// Slope on logarithmic axes over these ranks.
    pub slope: Option<f64>,
    /// The slope as intended.
    pub intended_slope: f64,
    /// First and last rank of the fit: the top decades.
    pub ranks: (usize, usize),
    /// Deviation up to which it is as intended.
    pub tolerance: f64,
    /// Points: rank and number of references.
    pub points: Vec<(usize, u32)>,
}

/// What is intended.
pub(crate) struct Intended<'a> {
    pub(crate) cdf: &'a dyn Fn(f64) -> f64,
    pub(crate) quantile: &'a dyn Fn(f64) -> f64,
    /// Values are whole numbers and `cdf` is that of them.
    pub(crate) whole: bool,
    pub(crate) limit: f64,
    pub(crate) reason: &'static str,
}

/// Compares values, each with the number of times that it comes, with what is intended.
pub(crate) fn compare(
    name: &str,
    unit: &'static str,
    mut values: Vec<(f64, u64)>,
    intended: Option<&Intended<'_>>,
) -> Compared {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let samples: u64 = values.iter().map(|&(_, count)| count).sum();
    let sum: f64 = values.iter().map(|&(value, count)| value * count as f64).sum();
    let mut above = samples;
    let steps: Vec<(f64, u64)> = values
        .chunk_by(|a, b| a.0 == b.0)
        .map(|equal| {
            above -= equal.iter().map(|&(_, count)| count).sum::<u64>();
            (equal[0].0, above)
        })
        .collect();
    let median = steps.iter().find(|(_, above)| above * 2 <= samples).map_or(0.0, |&(value, _)| value);
    let point = |&(value, above): &(f64, u64)| {
        let beyond = intended.map(|intended| 1.0 - (intended.cdf)(value));
        (value, above as f64 / samples as f64, beyond)
    };
    Compared {
        name: name.to_owned(),
        unit,
        samples,
        distance: intended.map(|intended| {
            if intended.whole {
                whole_distance(&steps, samples, intended.cdf)
            } else {
                step_distance(values.iter().copied(), intended.cdf)
            }
        }),
        limit: intended.map(|intended| intended.limit),
        reason: intended.map_or("", |intended| intended.reason),
        median,
        intended_median: intended.map(|intended| (intended.quantile)(0.5)),
        mean: sum / samples as f64,
        intended_mean: intended.map(mean),
        points: thinned(steps.len()).map(|index| point(&steps[index])).collect(),
    }
}

/// The distance between whole numbers, given as (value, number above it), and a distribution of them.
fn whole_distance(steps: &[(f64, u64)], samples: u64, cdf: &dyn Fn(f64) -> f64) -> f64 {
    let mut before = 0.0;
    steps.iter().fold(0.0, |largest: f64, &(value, above)| {
        let at = 1.0 - above as f64 / samples as f64;
        let largest = largest.max((before - cdf(value - 1.0)).abs()).max((at - cdf(value)).abs());
        before = at;
        largest
    })
}

/// The mean of equally likely quantiles, enough of them for three digits of a truncated heavy tail.
fn mean(intended: &Intended<'_>) -> f64 {
    const STRATA: u32 = 100_000;
    let sum: f64 =
        (0..STRATA).map(|index| (intended.quantile)((f64::from(index) + 0.5) / f64::from(STRATA))).sum();
    sum / f64::from(STRATA)
}

/// Indices below `count`, evenly spaced and, towards both ends, evenly spaced on a logarithmic scale.
fn thinned(count: usize) -> impl Iterator<Item = usize> {
    let mut indices: Vec<usize> = (0..POINTS).map(|step| step * count / POINTS).collect();
    let growth = libm::pow(count.max(1) as f64, 1.0 / POINTS as f64);
    for step in 0..=POINTS {
        let rank = libm::pow(growth, step as f64) as usize;
        indices.push(rank.saturating_sub(1));
        indices.push(count.saturating_sub(rank));
    }
    indices.sort_unstable();
    indices.dedup();
    indices.into_iter().filter(move |&index| index < count)
}

/// Compares sizes, drawn independently, with their distribution.
pub(crate) fn compare_sizes(name: &str, sizes: impl Iterator<Item = u64>, mixture: &Mixture) -> Compared {
    let values: Vec<(f64, u64)> = sizes.map(|size| (size as f64, 1)).collect();
    let intended = Intended {
        cdf: &|x| mixture.cdf(x),
        quantile: &|p| mixture.quantile(p),
        whole: false,
        limit: critical_distance(values.len().max(1)),
        reason: "5 % critical value",
    };
    compare(name, "B", values, Some(&intended))
}

/// Compares values that were drawn independently with their distribution.
pub(crate) fn compare_draws(
    name: &str,
    unit: &'static str,
    values: Vec<(f64, u64)>,
    truncated: &Truncated,
) -> Compared {
    let intended = Intended {
        cdf: &|x| truncated.cdf(x),
        quantile: &|p| truncated.quantile(p),
        whole: false,
        limit: critical_distance(values.len().max(1)),
        reason: "5 % critical value",
    };
    compare(name, unit, values, Some(&intended))
}

/// Fits the top decades of popularity: the first tenth of the ranks, where whole numbers do not show.
pub(crate) fn popularity(references: &[u32], intended_slope: f64) -> Popularity {
    let mut falling = references.to_vec();
    falling.sort_unstable_by(|a, b| b.cmp(a));
    let ranks = (1, falling.len().div_ceil(10).max(2).min(falling.len()));
    Popularity {
        slope: zipf_slope(&falling, ranks.0..=ranks.1),
        intended_slope: -intended_slope,
        ranks,
        tolerance: SLOPE_TOLERANCE,
        points: thinned(falling.len()).map(|index| (index + 1, falling[index])).collect(),
    }
}
