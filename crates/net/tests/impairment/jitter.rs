//! Jitter: distributions, truncation, order.

use super::{LIMIT, assert_chi_square, assert_distribution, assert_mean, assert_share, key};
use proptest::prelude::*;
use wasp_net::{ArrivalOrder, Jitter, JitterProcess};
use wasp_units::{Duration, Instant};

const PACKETS: usize = 200_000;
const KEPT: ArrivalOrder = ArrivalOrder::Kept;
const FREE: ArrivalOrder = ArrivalOrder::Free;

fn normal(deviation: Duration, order: ArrivalOrder) -> Jitter {
    Jitter::Normal { deviation, order }
}

/// Delays in milliseconds on a link with this delay.
fn delays(jitter: Jitter, base: Duration) -> Vec<f64> {
    let mut process = JitterProcess::new(jitter, key(1));
    (0..PACKETS).map(|_| process.delay(base).as_secs_f64() * 1e3).collect()
}

/// How many values lie in each interval between the edges.
fn histogram(values: &[f64], edges: &[f64]) -> Vec<usize> {
    let mut counts = vec![0; edges.len() + 1];
    for value in values {
        counts[edges.partition_point(|edge| edge < value)] += 1;
    }
    counts
}

#[test]
fn normal_jitter_has_its_mean_variance_and_quantiles() {
    let values = delays(normal(Duration::from_millis(10), KEPT), Duration::from_millis(100));
    assert_mean("normal", &values, 100.0, 10.0);
    let squares: Vec<f64> = values.iter().map(|value| (value - 100.0).powi(2)).collect();
    // The squared deviation from the mean has variance 2 sigma^4.
    assert_mean("square", &squares, 100.0, 2_f64.sqrt() * 100.0);
    // Quantiles of the standard normal distribution from tables, for probabilities of 0.1 % to 50 %.
    let tabled = [
        (0.001, 3.090_232_306_2),
        (0.01, 2.326_347_874_0),
        (0.1, 1.281_551_565_5),
        (0.2, 0.841_621_233_6),
        (0.3, 0.524_400_512_7),
        (0.4, 0.253_347_103_1),
        (0.5, 0.0),
    ];
    let below = tabled.map(|(p, z)| (p, 100.0 - 10.0 * z));
    let above = tabled.map(|(p, z)| (1.0 - p, 100.0 + 10.0 * z));
    let points: Vec<(f64, f64)> = below.into_iter().chain(above.into_iter().rev().skip(1)).collect();
    let edges: Vec<f64> = points.iter().map(|(_, edge)| *edge).collect();
    let cumulative: Vec<f64> = [0.0].into_iter().chain(points.iter().map(|(p, _)| *p)).chain([1.0]).collect();
    let probabilities: Vec<f64> = cumulative.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_chi_square("quantiles", &histogram(&values, &edges), &probabilities);
}

#[test]
fn a_negative_delay_is_zero() {
    // The link's delay is one deviation: Phi(-1) = 0.158655 are zero, and the mean rises by phi(1) - Phi(-1) = 0.083315 deviations.
    let values = delays(normal(Duration::from_millis(10), KEPT), Duration::from_millis(10));
    let zero = values.iter().filter(|value| **value == 0.0).count();
    assert_share("zero", zero, PACKETS, 0.158_655_3);
    assert_mean("truncated", &values, 10.833_15, 8.666_5);
}

#[test]
fn pareto_jitter_has_its_mean_and_its_tail() {
    let (mean, shape) = (Duration::from_millis(9), 3.0);
    let jitter = Jitter::Pareto { mean, shape, order: KEPT };
    let extra: Vec<f64> =
        delays(jitter, Duration::from_millis(20)).iter().map(|delay| delay - 20.0).collect();
    // Scale 9 * 2/3 = 6 ms; variance scale^2 * shape / ((shape-1)^2 (shape-2)) = 27 ms^2.
    assert_mean("Pareto", &extra, 9.0, 27_f64.sqrt());
    assert_distribution("Pareto", &extra, |x| if x < 6.0 { 0.0 } else { 1.0 - (6.0 / x).powi(3) });
    assert!(extra.iter().all(|x| *x >= 6.0 - 1e-6));
    let beyond = extra.iter().filter(|x| **x > 60.0).count();
    assert_share("a thousandth", beyond, PACKETS, 0.001);
}

#[test]
fn no_pareto_delay_exceeds_two_minutes() {
    let jitter = Jitter::Pareto { mean: Duration::from_secs(60), shape: 1.05, order: KEPT };
    let extra = delays(jitter, Duration::ZERO);
    let most = extra.iter().copied().fold(0.0, f64::max);
    assert_eq!(most, 120_000.0);
}

#[test]
fn uniform_jitter_is_uniform_to_the_nanosecond() {
    let (min, max) = (Duration::from_millis(2), Duration::from_millis(6));
    let values = delays(Jitter::Uniform { min, max, order: KEPT }, Duration::from_millis(1));
    assert_distribution("uniform", &values, |x| ((x - 3.0) / 4.0).clamp(0.0, 1.0));
    assert_mean("uniform", &values, 5.0, 4.0 / 12_f64.sqrt());

    let jitter = Jitter::Uniform { min: Duration::ZERO, max: Duration::from_nanos(3), order: KEPT };
    let mut process = JitterProcess::new(jitter, key(2));
    let mut counts = [0; 4];
    for _ in 0..PACKETS {
        counts[process.delay(Duration::ZERO).as_nanos() as usize] += 1;
    }
    assert_chi_square("four values", &counts, &[0.25; 4]);
}

#[test]
fn delays_of_neighbours_are_uncorrelated() {
    let values = delays(normal(Duration::from_millis(1), KEPT), Duration::from_millis(100));
    let product: f64 = values.windows(2).map(|pair| (pair[0] - 100.0) * (pair[1] - 100.0)).sum();
    let deviate = product / (values.len() as f64).sqrt();
    assert!(deviate.abs() < LIMIT, "{deviate:.2} standard deviations");
}

#[test]
fn without_deviation_every_delay_is_the_links() {
    let still =
        [normal(Duration::ZERO, FREE), Jitter::Pareto { mean: Duration::ZERO, shape: 2.0, order: FREE }];
    for jitter in still {
        assert!(delays(jitter, Duration::from_millis(3)).iter().all(|delay| *delay == 3.0), "{jitter:?}");
    }
}

/// Arrivals, in nanoseconds, of packets that leave at equal intervals.
fn arrivals(jitter: Jitter, packets: u64, interval: u64, base: Duration) -> Vec<u64> {
    let mut process = JitterProcess::new(jitter, key(3));
    (0..packets).map(|n| process.arrival(Instant::from_nanos(n * interval), base).as_nanos()).collect()
}

#[test]
fn order_is_kept_by_arriving_together_with_the_latest_before() {
    let (base, deviation) = (Duration::from_millis(20), Duration::from_millis(4));
    let kept = arrivals(normal(deviation, KEPT), 10_000, 1_000_000, base);
    let free = arrivals(normal(deviation, FREE), 10_000, 1_000_000, base);
    assert!(kept.is_sorted());
    assert!(!free.is_sorted());
    let mut latest = 0;
    for (kept, free) in kept.iter().zip(&free) {
        latest = latest.max(*free);
        assert_eq!(*kept, latest);
    }
}

#[test]
fn order_is_kept_where_the_links_delay_falls() {
    let mut process = JitterProcess::new(normal(Duration::from_millis(1), KEPT), key(4));
    let before = process.arrival(Instant::ZERO, Duration::from_millis(100));
    let after = process.arrival(Instant::from_nanos(1), Duration::from_millis(10));
    assert_eq!(before, after);
}

proptest! {
    #[test]
    fn no_delay_falls_short_of_the_least(
        deviation in 0..20_000_000_u64, base in 0..100_000_000_u64, from in 0..1_000_000_u64, width in 0..1_000_000_u64, shape in 1.01..9.0,
    ) {
        let (min, max) = (Duration::from_nanos(from), Duration::from_nanos(from + width));
        let (spread, base) = (Duration::from_nanos(deviation), Duration::from_nanos(base));
        let jitters = [
            normal(spread, KEPT), Jitter::Uniform { min, max, order: KEPT }, Jitter::Pareto { mean: spread, shape, order: FREE },
        ];
        for jitter in jitters {
            prop_assert_eq!(jitter.check(), Ok(()));
            let mut process = JitterProcess::new(jitter, key(5));
            for _ in 0..200 {
                prop_assert!(process.delay(base) >= jitter.least_delay(base), "{jitter:?}");
            }
        }
    }
}
