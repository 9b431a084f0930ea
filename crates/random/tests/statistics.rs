//! Statistical tests of the draws. Seeds are fixed, so they pass or fail for ever; each bound is one that ideal
//! randomness would exceed with probability of about 10^-6 (4.9 standard deviations, two-sided).

use wasp_random::{Key, Purpose};

/// Standard deviations that a normal variable exceeds, on either side, with probability 10^-6.
const LIMIT: f64 = 4.9;

/// The chi-square statistic of `counts` against equal expectations, as a standard normal deviate (Wilson and Hilferty,
/// "The Distribution of Chi-Square", PNAS 1931).
fn chi_square_deviate(counts: &[u64]) -> f64 {
    let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    let chi: f64 = counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum();
    let freedom = (counts.len() - 1) as f64;
    let spread = 2.0 / (9.0 * freedom);
    (libm::cbrt(chi / freedom) - (1.0 - spread)) / spread.sqrt()
}

fn assert_uniform(what: &str, draws: impl Iterator<Item = u64>) {
    let (mut high, mut low) = (vec![0; 1_024], vec![0; 1_024]);
    for draw in draws {
        high[(draw >> 54) as usize] += 1;
        low[(draw & 1_023) as usize] += 1;
    }
    for (part, counts) in [("high", high), ("low", low)] {
        let deviate = chi_square_deviate(&counts);
        assert!(deviate.abs() < LIMIT, "{what}, {part} bits: {deviate:.2} standard deviations");
    }
}

/// Correlation of neighbours, and of the parity of the bits they share, in units of its standard deviation.
fn assert_uncorrelated(what: &str, draws: &[u64]) {
    let pairs = (draws.len() - 1) as f64;
    let centred = |draw: u64| (draw as f64 / 2f64.powi(64) - 0.5) * 12f64.sqrt();
    let product: f64 = draws.windows(2).map(|pair| centred(pair[0]) * centred(pair[1])).sum();
    assert!((product / pairs.sqrt()).abs() < LIMIT, "{what}: correlation {:.5}", product / pairs);

    let differing: u32 = draws.windows(2).map(|pair| (pair[0] ^ pair[1]).count_ones()).sum();
    let deviate = (f64::from(differing) - 32.0 * pairs) / (16.0 * pairs).sqrt();
    assert!(deviate.abs() < LIMIT, "{what}: {deviate:.2} standard deviations of differing bits");
}

const COUNT: u64 = 1 << 20;

#[test]
fn draws_are_uniform_along_every_axis() {
    let key = Key::root(7, 0).purpose(Purpose::Loss);
    assert_uniform("indices", (0..COUNT).map(|n| key.draw(n)));
    assert_uniform("strided indices", (0..COUNT).map(|n| key.draw(n << 40)));
    assert_uniform("entities", (0..COUNT).map(|n| key.entity(n).draw(0)));
    assert_uniform("nested entities", (0..COUNT).map(|n| key.entity(n >> 10).entity(n & 1_023).draw(0)));
    assert_uniform("seeds", (0..COUNT).map(|n| Key::root(n, 0).draw(0)));
    assert_uniform("runs", (0..COUNT).map(|n| Key::root(0, n as u32).draw(0)));
    assert_uniform("names", (0..COUNT).map(|n| key.name(&format!("group-{n}")).draw(0)));
    assert_uniform("streams", (0..COUNT).map(|n| key.entity(n).stream().next_u64()));
    let mut stream = key.stream();
    assert_uniform("a stream", (0..COUNT).map(|_| stream.next_u64()));
}

#[test]
fn neighbours_are_uncorrelated_along_every_axis() {
    let key = Key::root(7, 0).purpose(Purpose::Start);
    let along = |axis: &dyn Fn(u64) -> u64| (0..COUNT).map(axis).collect::<Vec<_>>();
    assert_uncorrelated("indices", &along(&|n| key.draw(n)));
    assert_uncorrelated("entities", &along(&|n| key.entity(n).draw(0)));
    assert_uncorrelated("runs", &along(&|n| Key::root(7, n as u32).draw(0)));
    assert_uncorrelated("names", &along(&|n| key.name(&format!("{n}")).draw(0)));
    assert_uncorrelated("streams", &along(&|n| key.entity(n).stream().next_u64()));
}

#[test]
fn purposes_are_uncorrelated() {
    // The two interleaved: neighbours are the same index of two purposes.
    let root = Key::root(7, 0);
    let purposes = [Purpose::Loss, Purpose::Start, Purpose::InitialSequence, Purpose::Port, Purpose::Request];
    for (place, a) in purposes.iter().enumerate() {
        for b in &purposes[place + 1..] {
            let (a_key, b_key) = (root.purpose(*a), root.purpose(*b));
            let draws: Vec<u64> = (0..COUNT / 8).flat_map(|n| [a_key.draw(n), b_key.draw(n)]).collect();
            assert_uncorrelated(&format!("{a:?} and {b:?}"), &draws);
        }
    }
}

/// A function of one input to the key, and what that input is.
type Named = (&'static str, fn(u64) -> u64);

#[test]
fn every_input_bit_moves_every_output_bit_with_probability_one_half() {
    const SAMPLES: u64 = 4_096;
    let inputs = Key::root(99, 0);
    let functions: [Named; 4] = [
        ("index", |x| Key::root(3, 0).purpose(Purpose::Loss).draw(x)),
        ("entity", |x| Key::root(3, 0).purpose(Purpose::Loss).entity(x).draw(5)),
        ("outer entity", |x| Key::root(3, 0).purpose(Purpose::Loss).entity(x).entity(1).draw(5)),
        ("seed", |x| Key::root(x, 0).purpose(Purpose::Loss).draw(5)),
    ];
    for (what, function) in functions {
        for bit in 0..64 {
            let mut flips = [0_u32; 64];
            for sample in 0..SAMPLES {
                let input = inputs.draw(sample);
                let moved = function(input) ^ function(input ^ 1 << bit);
                for (output, flips) in flips.iter_mut().enumerate() {
                    *flips += (moved >> output & 1) as u32;
                }
            }
            for (output, flips) in flips.into_iter().enumerate() {
                let deviate = (f64::from(flips) - SAMPLES as f64 / 2.0) / (SAMPLES as f64 / 4.0).sqrt();
                // 16,384 pairs are judged, so the limit for one is 10^-6 / 16,384: 6.5 standard deviations.
                assert!(deviate.abs() < 6.5, "{what} bit {bit} to output bit {output}: {deviate:.2}");
            }
        }
    }
}

#[test]
fn draws_depend_on_no_order_of_calls() {
    let key = Key::root(5, 2).purpose(Purpose::Loss).name("homes");
    let forwards: Vec<u64> = (0..1_000).map(|n| key.entity(n).draw(n)).collect();
    let mut backwards: Vec<u64> = (0..1_000)
        .rev()
        .map(|n| {
            let _ = (key.entity(n + 1).stream().next_u64(), key.draw(n));
            key.entity(n).draw(n)
        })
        .collect();
    backwards.reverse();
    assert_eq!(forwards, backwards);
}

#[test]
fn different_derivations_give_different_draws() {
    let root = Key::root(1, 1);
    let mut draws = vec![
        root.draw(1),
        root.entity(1).draw(1),
        root.entity(1).entity(1).draw(1),
        root.purpose(Purpose::Loss).draw(1),
        root.purpose(Purpose::Loss).entity(2).entity(1).draw(1),
        root.purpose(Purpose::Loss).entity(1).entity(2).draw(1),
        root.name("").draw(1),
        root.name("\0").draw(1),
        root.name("\0\0\0\0\0\0\0\0").draw(1),
        root.name("homes").draw(1),
        root.name("homes\0").draw(1),
        root.stream().next_u64(),
        Key::root(1, 0).draw(1),
        Key::root(0, 1).draw(1),
        Key::root(0, 0).draw(0),
    ];
    let all = draws.len();
    draws.sort_unstable();
    draws.dedup();
    assert_eq!(draws.len(), all);
}

#[test]
fn below_is_unbiased() {
    let mut stream = Key::root(11, 0).stream();
    for bound in [1, 2, 3, 7, 10, 1_000] {
        let mut counts = vec![0; bound as usize];
        for _ in 0..COUNT {
            counts[stream.below(bound) as usize] += 1;
        }
        if bound > 1 {
            let deviate = chi_square_deviate(&counts);
            assert!(deviate.abs() < LIMIT, "below {bound}: {deviate:.2} standard deviations");
        }
    }
    // Four words share three results when the bound is 3 * 2^62: without rejection half of them would be multiples of
    // three, not a third.
    let (bound, mut first) = (3_u64 << 62, 0_u64);
    for _ in 0..COUNT {
        first += u64::from(stream.below(bound).is_multiple_of(3));
    }
    let (share, trials) = (1.0 / 3.0, COUNT as f64);
    let deviate = (first as f64 - trials * share) / (trials * share * (1.0 - share)).sqrt();
    assert!(deviate.abs() < LIMIT, "below 3 * 2^62: {deviate:.2} standard deviations");
}

#[test]
#[should_panic(expected = "no integer lies below 0")]
fn below_zero_panics() {
    Key::root(0, 0).stream().below(0);
}

#[test]
fn exponential_numbers_have_their_mean_and_their_shape() {
    let mut stream = Key::root(13, 0).stream();
    let mean = 250.0;
    let mut counts = vec![0_u64; 256];
    let mut sum = 0.0;
    for _ in 0..COUNT {
        let value = stream.exponential(mean);
        assert!((0.0..37.0 * mean).contains(&value));
        sum += value;
        // The distribution function turns it back into a uniform number.
        counts[((1.0 - libm::exp(-value / mean)) * 256.0) as usize] += 1;
    }
    let deviate = (sum / COUNT as f64 - mean) / (mean / (COUNT as f64).sqrt());
    assert!(deviate.abs() < LIMIT, "mean: {deviate:.2} standard deviations");
    let deviate = chi_square_deviate(&counts);
    assert!(deviate.abs() < LIMIT, "shape: {deviate:.2} standard deviations");
}

#[test]
fn happens_agrees_with_its_probability() {
    let key = Key::root(17, 0).purpose(Purpose::Loss);
    let rate = "3%".parse().expect("a probability");
    let lost = (0..COUNT).filter(|&n| key.happens(n, rate)).count() as f64;
    let deviate = (lost - 0.03 * COUNT as f64) / (0.03 * 0.97 * COUNT as f64).sqrt();
    assert!(deviate.abs() < LIMIT, "{deviate:.2} standard deviations");
}

#[test]
fn normal_numbers_have_their_moments_and_their_shape() {
    let key = Key::root(19, 0).purpose(Purpose::Jitter);
    let mut counts = vec![0_u64; 256];
    let (mut sum, mut squares) = (0.0, 0.0);
    for index in 0..COUNT {
        let value = key.normal(index);
        sum += value;
        squares += value * value;
        // The distribution function turns it back into a uniform number.
        counts[(128.0 * libm::erfc(-value * std::f64::consts::FRAC_1_SQRT_2)) as usize] += 1;
    }
    let trials = COUNT as f64;
    let deviate = sum / trials.sqrt();
    assert!(deviate.abs() < LIMIT, "mean: {deviate:.2} standard deviations");
    let deviate = (squares - trials) / (2.0 * trials).sqrt();
    assert!(deviate.abs() < LIMIT, "variance: {deviate:.2} standard deviations");
    let deviate = chi_square_deviate(&counts);
    assert!(deviate.abs() < LIMIT, "shape: {deviate:.2} standard deviations");
}

#[test]
fn pareto_numbers_have_their_mean_and_their_shape() {
    let key = Key::root(23, 0).purpose(Purpose::Jitter);
    let shape = 5.0;
    let mut counts = vec![0_u64; 256];
    let mut sum = 0.0;
    for index in 0..COUNT {
        let value = key.pareto(index, shape);
        assert!(value >= 1.0);
        sum += value;
        counts[((1.0 - libm::pow(value, -shape)) * 256.0) as usize] += 1;
    }
    // Mean shape / (shape - 1), variance shape / ((shape - 1)^2 (shape - 2)).
    let variance = shape / ((shape - 1.0).powi(2) * (shape - 2.0));
    let deviate = (sum / COUNT as f64 - shape / (shape - 1.0)) / (variance / COUNT as f64).sqrt();
    assert!(deviate.abs() < LIMIT, "mean: {deviate:.2} standard deviations");
    let deviate = chi_square_deviate(&counts);
    assert!(deviate.abs() < LIMIT, "shape: {deviate:.2} standard deviations");
}
