//! The impairments beside loss: their distributions, their order, the independence of their draws, their options.
//!
//! Seeds are fixed, so the tests pass or fail for ever. Each statistical bound is one that ideal randomness exceeds with a probability of
//! 0.1 %, on both sides together.

mod jitter;
mod options;
mod rate_trace;
mod reorder;
mod single;

use wasp_random::Key;

/// Standard deviations that a normal variable exceeds, on either side, with probability 0.1 %.
const LIMIT: f64 = 3.29;

fn key(entity: u64) -> Key {
    Key::root(7, 0).entity(entity)
}

/// Fails if `seen` of `trials` are too far from the probability.
#[track_caller]
fn assert_share(what: &str, seen: usize, trials: usize, probability: f64) {
    let trials = trials as f64;
    let deviate = (seen as f64 - trials * probability) / (trials * probability * (1.0 - probability)).sqrt();
    assert!(deviate.abs() < LIMIT, "{what}: {deviate:.2} standard deviations from {probability}");
}

/// Fails if the mean of the values is too far from the one of a distribution with this standard deviation.
#[track_caller]
fn assert_mean(what: &str, values: &[f64], mean: f64, deviation: f64) {
    let n = values.len() as f64;
    let deviate = (values.iter().sum::<f64>() / n - mean) / (deviation / n.sqrt());
    assert!(deviate.abs() < LIMIT, "{what}: the mean is {deviate:.2} standard errors from {mean}");
}

/// The chi-square statistic of `counts` as a standard normal deviate (Wilson and Hilferty, "The Distribution of Chi-Square", PNAS 1931).
#[track_caller]
fn assert_chi_square(what: &str, counts: &[usize], probabilities: &[f64]) {
    let trials = counts.iter().sum::<usize>() as f64;
    let cells = counts.iter().zip(probabilities);
    let chi: f64 = cells.map(|(&count, p)| (count as f64 - trials * p).powi(2) / (trials * p)).sum();
    let freedom = (counts.len() - 1) as f64;
    let spread = 2.0 / (9.0 * freedom);
    let deviate = (libm::cbrt(chi / freedom) - (1.0 - spread)) / spread.sqrt();
    assert!(deviate.abs() < LIMIT, "{what}: {deviate:.2} standard deviations, {counts:?}");
}

/// The Kolmogorov-Smirnov test against a distribution function; 1.949/sqrt(n) is its bound at 0.1 %.
#[track_caller]
fn assert_distribution(what: &str, values: &[f64], cdf: impl Fn(f64) -> f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let distance = |(rank, &value): (usize, &f64)| {
        let p = cdf(value);
        (p - rank as f64 / n).max((rank + 1) as f64 / n - p)
    };
    let greatest = sorted.iter().enumerate().map(distance).fold(0.0, f64::max);
    assert!(greatest * n.sqrt() < 1.949, "{what}: {:.3}/sqrt(n)", greatest * n.sqrt());
}
