//! What ProWGen generates, beside what it intends and what the paper that used it tells. Seeds are fixed.

use wasp_random::Key;
use wasp_units::{Bytes, Probability};
use wasp_workload::prowgen::{Correlation, Prowgen, ProwgenOptions, ProwgenPreset, ProwgenSet, Stack};
use wasp_workload::statistics::{critical_distance, distance, median, stack_distances, zipf_slope};

fn resolved(options: ProwgenOptions) -> Prowgen {
    options.resolve().unwrap()
}

fn ip_tne() -> Prowgen {
    resolved(ProwgenOptions::default())
}

fn sizes(set: &ProwgenSet) -> Vec<u64> {
    set.files().files().iter().map(|file| file.size.get()).collect()
}

#[test]
fn ip_tne_has_the_objects_of_the_paper_whatever_the_seed() {
    for seed in 0..20 {
        let set = ip_tne().build(seed).unwrap();
        let sizes = sizes(&set);
        let mean = sizes.iter().sum::<u64>() as f64 / sizes.len() as f64;
        let median = median(&sizes).unwrap() as f64;
        assert_eq!(sizes.len(), 3_000);
        assert!((median - 3_600.0).abs() < 360.0, "seed {seed}: median {median}");
        assert!((mean - 9_963.0).abs() < 996.3, "seed {seed}: mean {mean}");
        assert!(sizes.iter().all(|&size| size <= 1_400_000), "seed {seed}");
    }
}

#[test]
fn sizes_have_their_truncated_distribution() {
    let set = resolved(ProwgenOptions { preset: ProwgenPreset::Webtraff, ..ProwgenOptions::default() });
    let set = set.build(1).unwrap();
    let sizes: Vec<f64> = sizes(&set).into_iter().map(|size| size as f64).collect();
    let examination = set.examine(Key::root(1, 0)).unwrap();
    let compared = &examination.distributions[0];
    assert!(compared.distance.unwrap() < critical_distance(sizes.len()), "{:?}", compared.distance);
    // Lognormal with mean 7,000 and deviation 11,000 below 10,000, and a fifth Pareto of index 1.2 from there on.
    let body = wasp_workload::Distribution::Lognormal { mu: 8.2317, sigma: 1.1153 };
    let tail = wasp_workload::Distribution::Pareto { shape: 1.2, scale: 10_000.0 };
    let cdf = |x: f64| 0.8 * (body.cdf(x.min(1e4)) / body.cdf(1e4)) + 0.2 * tail.cdf(x) / tail.cdf(5e7);
    assert!(distance(&sizes, cdf) < critical_distance(sizes.len()));
}

#[test]
fn popularity_has_the_slope_of_zipf_over_the_top_decades() {
    for (preset, slope) in [(ProwgenPreset::IpTne, 0.8), (ProwgenPreset::Webtraff, 0.75)] {
        let set = resolved(ProwgenOptions { preset, ..ProwgenOptions::default() }).build(1).unwrap();
        let fitted = zipf_slope(set.references(), 1..=set.references().len() / 10).unwrap();
        assert!((fitted + slope).abs() < 0.05, "{preset:?}: {fitted}");
    }
}

#[test]
fn the_requests_come_near_what_was_aimed_at_and_a_third_of_the_objects_is_asked_for_once() {
    for preset in [ProwgenPreset::IpTne, ProwgenPreset::Webtraff] {
        let prowgen = resolved(ProwgenOptions { preset, ..ProwgenOptions::default() });
        let set = prowgen.build(1).unwrap();
        let total: u64 = set.references().iter().map(|&count| u64::from(count)).sum();
        assert!((total as f64 / prowgen.requests as f64 - 1.0).abs() < 0.1, "{preset:?}: {total}");
        let once = set.references().iter().filter(|&&count| count == 1).count();
        assert_eq!(once as f64, (prowgen.one_timers.as_f64() * f64::from(prowgen.objects)).round());
    }
}

#[test]
fn every_stack_model_asks_for_each_object_as_often_as_its_popularity_says() {
    for stack in [
        Stack::None {},
        Stack::Static { depth: 1 },
        Stack::Static { depth: 100 },
        Stack::Dynamic { depth: 100 },
    ] {
        let options =
            ProwgenOptions { stack: Some(stack), requests: Some(30_000), ..ProwgenOptions::default() };
        let set = resolved(options).build(1).unwrap();
        let mut counts = vec![0; set.references().len()];
        set.sequence(Key::root(1, 0)).into_iter().for_each(|file| counts[file as usize] += 1);
        assert_eq!(counts, set.references(), "{stack:?}");
    }
}

#[test]
fn the_static_stack_has_most_locality_and_no_stack_has_least() {
    let middle = |stack| {
        let set =
            resolved(ProwgenOptions { stack: Some(stack), ..ProwgenOptions::default() }).build(1).unwrap();
        median(&stack_distances(&set.sequence(Key::root(1, 0)), set.references().len())).unwrap()
    };
    let (fixed, dynamic, none) = (
        middle(Stack::Static { depth: 1_000 }),
        middle(Stack::Dynamic { depth: 1_000 }),
        middle(Stack::None {}),
    );
    assert!(fixed < dynamic && dynamic < none, "{fixed} {dynamic} {none}");
}

#[test]
fn the_top_of_a_static_stack_is_asked_for_with_the_probability_of_the_most_popular_object() {
    // While the stack is full, distance 1 comes with that probability, whichever object is there.
    let set = ip_tne().build(1).unwrap();
    let sequence = set.sequence(Key::root(1, 0));
    let share = f64::from(set.references()[0]) / sequence.len() as f64;
    let quarter = &sequence[..sequence.len() / 4];
    let again = quarter.windows(2).filter(|pair| pair[0] == pair[1]).count() as f64 / quarter.len() as f64;
    let error = (share * (1.0 - share) / quarter.len() as f64).sqrt();
    assert!((again - share).abs() < 5.0 * error, "{again} for {share} +- {error}");
}

#[test]
fn size_and_popularity_correlate_as_asked() {
    let sizes = |correlation| {
        let options = ProwgenOptions { correlation: Some(correlation), ..ProwgenOptions::default() };
        sizes(&resolved(options).build(1).unwrap())
    };
    assert!(sizes(Correlation::Negative).is_sorted());
    assert!(sizes(Correlation::Positive).is_sorted_by(|a, b| a >= b));
    let zero = sizes(Correlation::Zero);
    let set = ip_tne().build(1).unwrap();
    let popular = set.references().iter().take_while(|&&count| count >= 100).count();
    assert!(popular > 100 && zero[..popular].iter().all(|&size| size <= 10_000));
    assert!(zero[popular..].iter().any(|&size| size > 100_000));
    // The limit on popular objects moves sizes, it does not change them.
    let mut sorted = [zero, sizes(Correlation::Positive)];
    sorted.iter_mut().for_each(|sizes| sizes.sort_unstable());
    assert_eq!(sorted[0], sorted[1]);
}

#[test]
fn a_set_depends_on_its_seed_and_a_sequence_on_the_run() {
    let (set, again) = (ip_tne().build(1).unwrap(), ip_tne().build(1).unwrap());
    assert_eq!(set.files().files(), again.files().files());
    assert_ne!(set.files().files(), ip_tne().build(2).unwrap().files().files());
    assert_eq!(set.sequence(Key::root(1, 0)), again.sequence(Key::root(1, 0)));
    assert_ne!(set.sequence(Key::root(1, 0)), set.sequence(Key::root(1, 1)));
}

#[test]
fn small_sets_work() {
    for objects in 1..30 {
        for stack in [Stack::None {}, Stack::Static { depth: 3 }, Stack::Dynamic { depth: 3 }] {
            let set = resolved(ProwgenOptions {
                objects: Some(objects),
                requests: Some(200),
                one_timers: Probability::from_f64(0.3),
                cap: Some(Bytes::new(20_000)),
                stack: Some(stack),
                ..ProwgenOptions::default()
            });
            let set = set.build(1).unwrap();
            let total: u64 = set.references().iter().map(|&count| u64::from(count)).sum();
            assert_eq!(set.sequence(Key::root(1, 0)).len() as u64, total);
        }
    }
}
