//! How likely it is by chance that so many of some transactions fail.

/// P(X >= `count`) of a binomial distribution of `of` trials with success `probability`.
pub(super) fn at_least(count: u64, of: u64, probability: f64) -> f64 {
    let (k, n) = (count as f64, of as f64);
    if k <= n * probability {
        return 1.0;
    }
    if probability <= 0.0 {
        return 0.0;
    }
    let choices = libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0);
    let first = choices + k * libm::log(probability) + (n - k) * libm::log1p(-probability);
    // Above the mean each term is smaller than the one before.
    let odds = probability / (1.0 - probability);
    let (mut sum, mut term, mut at) = (0.0, 1.0, k);
    while at <= n && term > f64::EPSILON * sum {
        sum += term;
        term *= (n - at) / (at + 1.0) * odds;
        at += 1.0;
    }
    (libm::exp(first) * sum).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::at_least;

    #[test]
    fn it_is_the_sum_over_all_that_are_as_many() {
        // By hand: 3 of 3, 2 or 3 of 3, and all of 10.
        for (count, of, probability, wanted) in [
            (3, 3, 0.1, 0.001),
            (2, 3, 0.1, 0.028),
            (1, 1, 0.1, 0.1),
            (10, 10, 0.5, 1.0 / 1024.0),
            (6, 10, 0.5, 386.0 / 1024.0),
        ] {
            assert!((at_least(count, of, probability) - wanted).abs() < 1e-12, "{count} of {of}");
        }
        assert_eq!((at_least(5, 100, 0.05), at_least(0, 0, 0.1)), (1.0, 1.0));
        assert_eq!((at_least(1, 1_000_000, 0.0), at_least(0, 5, 0.0)), (0.0, 1.0));
        // Many trials are normally distributed: 3.09 standard deviations above the mean are one in a thousand.
        let many = at_least(100_000 + 928, 1_000_000, 0.1);
        assert!((many / 0.001 - 1.0).abs() < 0.05, "{many}");
    }
}
