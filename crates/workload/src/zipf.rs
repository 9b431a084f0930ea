//! Popularity by Zipf's law: the file of rank r is asked for K/r^slope times.

use crate::math::pow;

/// How often each of `files` files is asked for, the most popular first: K/rank^slope rounded, at least `least`, with K
/// such that the total comes as near to `requests` as the rounding lets it.
pub(crate) fn references(files: usize, slope: f64, least: u32, requests: u64) -> Vec<u32> {
    let weights: Vec<f64> = (1..=files).map(|rank| pow(rank as f64, -slope)).collect();
    let count = |k: f64, weight: f64| (libm::round(k * weight) as u32).max(least);
    let total = |k: f64| weights.iter().map(|&weight| u64::from(count(k, weight))).sum::<u64>();
    let (mut low, mut high) = (0.0, requests as f64 + 1.0);
    for _ in 0..64 {
        let middle = 0.5 * (low + high);
        if total(middle) < requests {
            low = middle;
        } else {
            high = middle;
        }
    }
    let k = if total(high) - requests <= requests.saturating_sub(total(low)) { high } else { low };
    weights.iter().map(|&weight| count(k, weight)).collect()
}

/// The total for which the least popular of `files` files is asked for about once: the sum of (files/rank)^slope.
pub(crate) fn natural_total(files: usize, slope: f64) -> u64 {
    (1..=files).map(|rank| libm::round(pow(files as f64 / rank as f64, slope)) as u64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn two_thousand_files_of_slope_one_have_the_references_of_surge() {
        let references = references(2000, 1.0, 1, natural_total(2000, 1.0));
        assert_eq!((references[0], references[1], references[2], references[1999]), (2000, 1000, 667, 1));
        assert_eq!(references.iter().map(|&count| u64::from(count)).sum::<u64>(), 16_287);
    }

    proptest! {
        #[test]
        fn references_fall_with_the_rank_and_add_up(
            files in 1_usize..3000, slope in 0.0..2.0, least in 1_u32..3, factor in 1.0..50.0,
        ) {
            let requests = ((files as f64) * f64::from(least) * factor) as u64;
            let references = references(files, slope, least, requests);
            prop_assert_eq!(references.len(), files);
            prop_assert!(references.is_sorted_by(|a, b| a >= b));
            prop_assert!(*references.last().unwrap() >= least);
            let total: u64 = references.iter().map(|&count| u64::from(count)).sum();
            // Equal weights round together, so a step of the total is as large as the set at slope 0.
            prop_assert!(total.abs_diff(requests) <= files as u64 / 2 + 1, "{} for {}", total, requests);
        }
    }
}
