//! How often each object is asked for, and which size it has.

use super::{Correlation, PopularLimit};
use crate::math::pow;
use wasp_random::Stream;
use wasp_units::Bytes;

/// References to each object, the most popular first: those asked for more than once follow Zipf's law and are asked for
/// at least twice, then come the one-timers. The sum comes near `requests`; rounding moves it.
///
/// Source: ProWGen's `popularity`: with D objects of which T are one-timers, the object of rank r has (D - T/2)^slope /
/// r^slope references, and all are scaled to the requests that are left. ProWGen cuts to whole numbers before it scales, too,
/// which steepens the slope; here only the result is rounded.
pub(super) fn references(objects: u32, one_timers: u32, slope: f64, requests: u64) -> Vec<u32> {
    let several = objects - one_timers;
    let k = pow(f64::from(objects) - f64::from(one_timers) / 2.0, slope);
    let raw = |rank: u32| (k / pow(f64::from(rank), slope)).max(2.0);
    let sum: f64 = (1..=several).map(raw).sum();
    let factor = (requests - u64::from(one_timers)) as f64 / sum;
    let scaled = |rank| (libm::round(raw(rank) * factor) as u32).max(2);
    (1..=several).map(scaled).chain(std::iter::repeat_n(1, one_timers as usize)).collect()
}

/// Gives each object, the most popular first, one of the sizes, which are in random order.
pub(super) fn assign(
    mut sizes: Vec<Bytes>,
    references: &[u32],
    correlation: Correlation,
    limit: Option<PopularLimit>,
    stream: &mut Stream,
) -> Vec<Bytes> {
    match correlation {
        Correlation::Positive => sizes.sort_unstable_by(|a, b| b.cmp(a)),
        Correlation::Negative => sizes.sort_unstable(),
        Correlation::Zero => {
            if let Some(limit) = limit {
                keep_popular_small(&mut sizes, references, limit, stream);
            }
        }
    }
    sizes
}

/// Exchanges each large popular object's size with that of a random one that is small and not popular, while there is one.
fn keep_popular_small(sizes: &mut [Bytes], references: &[u32], limit: PopularLimit, stream: &mut Stream) {
    let popular = references.partition_point(|&count| count >= limit.references);
    let mut small: Vec<usize> =
        (popular..sizes.len()).filter(|&object| sizes[object] <= limit.size).collect();
    for object in 0..popular {
        if sizes[object] > limit.size && !small.is_empty() {
            let other = small.swap_remove(stream.below(small.len() as u64) as usize);
            sizes.swap(object, other);
        }
    }
}
