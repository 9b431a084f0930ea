//! How many files are embedded in a page.

use crate::OptionError;
use crate::distribution::Distribution;
use crate::error::{positive, within};
use serde::{Deserialize, Serialize};
use wasp_random::Key;

/// Most files that a page may have embedded.
const MOST: u32 = 10_000;

/// The distribution of the number of files embedded in a base page.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "model", rename_all = "lowercase", deny_unknown_fields)]
pub enum EmbeddedCount {
    /// There are no pages: every file is asked for by itself.
    None {},
    /// The whole part of a Pareto number.
    Pareto {
        /// Tail index.
        shape: f64,
        /// Least number.
        scale: f64,
        /// No page has more; larger numbers are drawn again.
        cap: u32,
        /// Whether the number counts the base file too, as in the released sources of SURGE.
        #[serde(default)]
        counts_base: bool,
    },
    /// The whole part of a gamma number.
    Gamma {
        /// Shape, kappa.
        shape: f64,
        /// Scale, theta.
        scale: f64,
        /// No page has more; larger numbers are drawn again.
        cap: u32,
    },
    /// The same number in every page.
    Constant {
        /// That number.
        value: u32,
    },
}

impl EmbeddedCount {
    /// Probabilities of at most 0, 1, 2... embedded files, up to 1.
    ///
    /// # Errors
    /// The first parameter that is impossible.
    pub fn cumulative(&self) -> Result<Vec<f64>, OptionError> {
        let (distribution, cap, counts_base) = match *self {
            Self::None {} => return Ok(vec![1.0]),
            Self::Constant { value } => {
                within("value", value, 0, MOST)?;
                return Ok((0..=value).map(|count| if count == value { 1.0 } else { 0.0 }).collect());
            }
            Self::Pareto { shape, scale, cap, counts_base } => {
                positive("shape", shape)?;
                positive("scale", scale)?;
                if counts_base && scale < 1.0 {
                    return Err(OptionError::new("scale", scale, "must be at least 1 where the base counts"));
                }
                (Distribution::Pareto { shape, scale }, cap, counts_base)
            }
            Self::Gamma { shape, scale, cap } => {
                positive("shape", shape)?;
                positive("scale", scale)?;
                (Distribution::Gamma { shape, scale }, cap, false)
            }
        };
        within("cap", cap, 1, MOST)?;
        // A number up to the cap has a whole part up to it exactly when it is below the next integer.
        let below = |count: u32| distribution.cdf(f64::from(count) + 1.0);
        let all = below(cap);
        if all <= 1e-9 {
            return Err(OptionError::new("cap", cap, "the distribution lies above it"));
        }
        let first = u32::from(counts_base);
        Ok((first..=cap).map(|count| below(count) / all).collect())
    }

    /// `pages` counts.
    pub(super) fn draw(cumulative: &[f64], key: Key, pages: usize) -> Vec<u32> {
        let count = |unit: f64| cumulative.partition_point(|&p| p <= unit).min(cumulative.len() - 1);
        (0..pages).map(|page| count(key.unit(page as u64)) as u32).collect()
    }
}
