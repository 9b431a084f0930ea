//! The order of requests: temporal locality by a stack of least recently used pages (Barford and Crovella 1998,
//! sections 3.5 and 4.3).

use crate::OptionError;
use crate::distribution::Distribution;
use crate::error::within;
use serde::{Deserialize, Serialize};
use wasp_random::Stream;

/// How the references to pages are put in order.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "model", rename_all = "lowercase", deny_unknown_fields)]
pub enum Locality {
    /// At random: no locality but that of popularity.
    None {},
    /// Lognormal distances in a stack of least recently used pages.
    Lognormal {
        /// Mean of the natural logarithm of the distance.
        mu: f64,
        /// Standard deviation of that logarithm.
        sigma: f64,
    },
}

impl Locality {
    pub(super) fn check(&self) -> Result<(), OptionError> {
        let Self::Lognormal { mu, sigma } = *self else { return Ok(()) };
        within("mu", mu, 0.0, 10.0)?;
        within("sigma", sigma, 0.001, 5.0)
    }

    /// The distribution of stack distances before they are rounded to whole numbers from 1 on.
    #[must_use]
    pub fn distances(&self) -> Option<Distribution> {
        match *self {
            Self::None {} => None,
            Self::Lognormal { mu, sigma } => Some(Distribution::Lognormal { mu, sigma }),
        }
    }

    /// Probability of a distance of at most `depth`, for the distribution of distances before rounding.
    pub(super) fn rounded_cdf(distances: Distribution, depth: u32) -> f64 {
        distances.cdf(f64::from(depth) + 0.5)
    }

    /// A sequence in which page i comes `references[i]` times.
    pub(super) fn sequence(&self, references: &[u32], stream: &mut Stream) -> Vec<u32> {
        match self.distances() {
            None => shuffled(references, stream),
            Some(distances) => Stack::new(references, stream).sequence(distances, stream),
        }
    }
}

/// Every page as often as it is asked for, in random order.
fn shuffled(references: &[u32], stream: &mut Stream) -> Vec<u32> {
    let mut sequence: Vec<u32> =
        (0..).zip(references).flat_map(|(page, &count)| std::iter::repeat_n(page, count as usize)).collect();
    crate::shuffle(&mut sequence, stream);
    sequence
}

/// Pages on either side of the drawn depth among which one is chosen.
const WINDOW: usize = 1;

/// The pages that have references left, the most recently used one last.
///
/// The published method starts from a random order, and among the pages around the drawn depth prefers those with more
/// references left, so that the references to a page spread over the whole sequence. Two refinements serve that end. The
/// stack starts in the order in which pages would first appear if requests were independent, popular ones early. And the
/// preference is for the pages that are furthest behind an even use of their references. Without them a popular page that
/// starts deep in the stack is not reached before the end, which then consists of little else.
struct Stack<'a> {
    pages: Vec<u32>,
    left: Vec<u32>,
    references: &'a [u32],
    total: u64,
}

impl<'a> Stack<'a> {
    fn new(references: &'a [u32], stream: &mut Stream) -> Self {
        // The first arrival of a Poisson process whose rate is the page's number of references.
        let mut arrivals: Vec<(f64, u32)> = (0..)
            .zip(references)
            .filter(|(_, count)| **count > 0)
            .map(|(page, &count)| (stream.exponential(1.0 / f64::from(count)), page))
            .collect();
        arrivals.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        Self {
            pages: arrivals.into_iter().map(|(_, page)| page).collect(),
            left: references.to_vec(),
            references,
            total: references.iter().map(|&count| u64::from(count)).sum(),
        }
    }

    fn sequence(mut self, distances: Distribution, stream: &mut Stream) -> Vec<u32> {
        let mut sequence = Vec::with_capacity(self.total as usize);
        while !self.pages.is_empty() {
            let depth = libm::round(distances.quantile(stream.unit())).max(1.0) as usize;
            let place = self.choose(depth, sequence.len() as u64, stream);
            let page = self.pages.remove(place);
            sequence.push(page);
            let left = &mut self.left[page as usize];
            *left -= 1;
            if *left > 0 {
                self.pages.push(page);
            }
        }
        sequence
    }

    /// A place within the window around `depth` when `done` requests have been made.
    fn choose(&self, depth: usize, done: u64, stream: &mut Stream) -> usize {
        let depth = depth.min(self.pages.len());
        let last = self.pages.len() - depth.saturating_sub(WINDOW).max(1);
        let first = self.pages.len() - (depth + WINDOW).min(self.pages.len());
        let weights: [u64; 2 * WINDOW + 1] =
            std::array::from_fn(
                |index| if first + index <= last { self.weight(first + index, done) } else { 0 },
            );
        let mut choice = stream.below(weights.iter().sum());
        for (index, &weight) in weights.iter().enumerate() {
            if choice < weight {
                return first + index;
            }
            choice -= weight;
        }
        last
    }

    /// By how many references the page at `place` is behind an even use of them, in units of 1/total, plus a tenth so that
    /// none is excluded.
    fn weight(&self, place: usize, done: u64) -> u64 {
        let page = self.pages[place] as usize;
        let left = u64::from(self.left[page]) * self.total;
        let even = u64::from(self.references[page]) * (self.total - done);
        left.saturating_sub(even) + self.total / 10 + 1
    }
}
