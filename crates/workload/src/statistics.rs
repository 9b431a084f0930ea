//! How near what was generated comes to what was intended.

/// The Kolmogorov-Smirnov distance between values, which rise, with their weights and a continuous distribution.
///
/// It is the largest difference between the two distribution functions, on either side of every step.
pub fn step_distance(steps: impl Iterator<Item = (f64, u64)>, cdf: impl Fn(f64) -> f64) -> f64 {
    let steps: Vec<(f64, u64)> = steps.collect();
    let total: u64 = steps.iter().map(|&(_, weight)| weight).sum();
    let mut before = 0_u64;
    let mut largest: f64 = 0.0;
    for equal in steps.chunk_by(|a, b| a.0 == b.0) {
        let after = before + equal.iter().map(|&(_, weight)| weight).sum::<u64>();
        let intended = cdf(equal[0].0);
        let difference = |sum: u64| (sum as f64 / total as f64 - intended).abs();
        largest = largest.max(difference(before)).max(difference(after));
        before = after;
    }
    largest
}

/// The Kolmogorov-Smirnov distance between values and a continuous distribution.
#[must_use]
pub fn distance(values: &[f64], cdf: impl Fn(f64) -> f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    step_distance(sorted.into_iter().map(|value| (value, 1)), cdf)
}

/// The Kolmogorov-Smirnov distance between whole numbers and a distribution of them: the largest difference at any number.
#[must_use]
pub fn discrete_distance(values: &[u32], cdf: impl Fn(u32) -> f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let total = values.len() as f64;
    let mut largest: f64 = 0.0;
    for (start, equal) in starts(&sorted) {
        // Between two values the difference is greatest just before the second.
        let before = equal[0].checked_sub(1).map_or(0.0, |below| cdf(below) - start as f64 / total);
        let at = (start + equal.len()) as f64 / total - cdf(equal[0]);
        largest = largest.max(before.abs()).max(at.abs());
    }
    largest
}

/// The runs of equal values, each with its place.
fn starts(sorted: &[u32]) -> impl Iterator<Item = (usize, &[u32])> {
    sorted.chunk_by(|a, b| a == b).scan(0, |place, equal| {
        let start = *place;
        *place += equal.len();
        Some((start, equal))
    })
}

/// The distance that `samples` independent values exceed with a probability of 5 %, for 35 values or more (Smirnov 1948).
#[must_use]
pub fn critical_distance(samples: usize) -> f64 {
    1.358_1 / libm::sqrt(samples as f64)
}

/// The slope of popularity over rank on logarithmic axes, by least squares, over these ranks (counted from 1) of
/// `references`, which fall. `None` with fewer than two ranks.
#[must_use]
pub fn zipf_slope(references: &[u32], ranks: std::ops::RangeInclusive<usize>) -> Option<f64> {
    let points: Vec<(f64, f64)> = (1..)
        .zip(references)
        .filter(|(rank, count)| ranks.contains(rank) && **count > 0)
        .map(|(rank, &count)| (libm::log(rank as f64), libm::log(f64::from(count))))
        .collect();
    if points.len() < 2 {
        return None;
    }
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let covariance: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let variance: f64 = points.iter().map(|point| (point.0 - x) * (point.0 - x)).sum();
    Some(covariance / variance)
}

/// The stack distances of a sequence of pages numbered below `pages`: for each reference but the first to a page, its
/// depth, from 1, in a list of the pages by last use.
///
/// Source: Mattson et al., "Evaluation Techniques for Storage Hierarchies" (IBM Systems Journal 9, 1970); the depth is
/// found with a Fenwick tree over time, as by Bennett and Kruskal (IBM J. Res. Dev. 19, 1975).
#[must_use]
pub fn stack_distances(sequence: &[u32], pages: usize) -> Vec<u32> {
    let mut last: Vec<Option<usize>> = vec![None; pages];
    // Counts the places that hold the last use of a page.
    let mut tree = vec![0_i32; sequence.len() + 1];
    let mut distances = Vec::with_capacity(sequence.len());
    let mut seen = 0;
    for (place, &page) in sequence.iter().enumerate() {
        match last[page as usize].replace(place) {
            Some(before) => {
                distances.push((seen - prefix(&tree, before)) as u32);
                add(&mut tree, before, -1);
            }
            None => seen += 1,
        }
        add(&mut tree, place, 1);
    }
    distances
}

/// The sum of the entries before `place`.
fn prefix(tree: &[i32], place: usize) -> i32 {
    let mut sum = 0;
    let mut index = place;
    while index > 0 {
        sum += tree[index];
        index &= index - 1;
    }
    sum
}

fn add(tree: &mut [i32], place: usize, value: i32) {
    let mut index = place + 1;
    while index < tree.len() {
        tree[index] += value;
        index += index & index.wrapping_neg();
    }
}

/// The value in the middle; of an even number of values the lower of the two.
#[must_use]
pub fn median<T: Copy + Ord>(values: &[T]) -> Option<T> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stack_distances_are_depths_by_last_use() {
        // a b c a a c b: the second a has b and c above it.
        assert_eq!(stack_distances(&[0, 1, 2, 0, 0, 2, 1], 3), [3, 1, 2, 3]);
    }

    #[test]
    fn the_distance_of_equal_steps_is_that_of_the_staircase() {
        let values: Vec<f64> = (0..10).map(|step| (f64::from(step) + 0.5) / 10.0).collect();
        assert!((distance(&values, |x| x) - 0.05).abs() < 1e-12);
        assert!((distance(&[0.5, 0.5], |x| x) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn discrete_values_are_compared_at_their_numbers() {
        let die = |value: u32| f64::from(value.min(6)) / 6.0;
        assert!(discrete_distance(&[1, 2, 3, 4, 5, 6], die) < 1e-12);
        assert!((discrete_distance(&[6, 6], die) - 5.0 / 6.0).abs() < 1e-12);
        assert!((discrete_distance(&[1, 1], die) - 5.0 / 6.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn the_tree_finds_what_a_list_finds(sequence in prop::collection::vec(0_u32..20, 0..300)) {
            let mut stack: Vec<u32> = Vec::new();
            let mut expected = Vec::new();
            for &page in &sequence {
                if let Some(place) = stack.iter().position(|&other| other == page) {
                    expected.push((stack.len() - place) as u32);
                    stack.remove(place);
                }
                stack.push(page);
            }
            prop_assert_eq!(stack_distances(&sequence, 20), expected);
        }
    }
}
