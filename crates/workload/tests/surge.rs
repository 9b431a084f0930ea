//! What SURGE generates, beside what it intends. Seeds are fixed, so each test passes or fails for ever; distances are
//! held to the 5 % critical value of the Kolmogorov-Smirnov test.

use wasp_random::Key;
use wasp_units::Bytes;
use wasp_workload::statistics::{
    critical_distance, discrete_distance, distance, median, stack_distances, zipf_slope,
};
use wasp_workload::surge::{EmbeddedCount, Locality, Matching, SurgeOptions, SurgePreset, SurgeSet};
use wasp_workload::{Class, Delay, OffTimes, Requests};

const SEED: u64 = 1;

fn options(preset: SurgePreset) -> SurgeOptions {
    SurgeOptions { preset, ..SurgeOptions::default() }
}

fn built(options: &SurgeOptions) -> SurgeSet {
    options.resolve().unwrap().build(SEED).unwrap()
}

fn surge98() -> SurgeSet {
    built(&options(SurgePreset::Surge98))
}

#[test]
fn file_sizes_have_their_truncated_distribution() {
    for preset in [SurgePreset::Surge98, SurgePreset::Surge99, SurgePreset::Pries2012] {
        let set = built(&options(preset));
        let surge = set.parameters();
        for (class, intended) in [
            (Class::Base, surge.base_sizes),
            (Class::Embedded, surge.embedded_sizes),
            (Class::Loner, surge.loner_sizes),
        ] {
            let members = set.files().files().iter().filter(|file| file.class == class);
            let sizes: Vec<f64> = members.map(|file| file.size.get() as f64).collect();
            if sizes.is_empty() {
                continue;
            }
            let mixture = intended.mixture().unwrap();
            let distance = distance(&sizes, |x| mixture.cdf(x));
            assert!(distance < critical_distance(sizes.len()), "{preset:?} {class:?}: {distance}");
        }
    }
}

#[test]
fn seven_percent_of_the_files_are_in_the_tail_and_none_is_above_the_cap() {
    let set = surge98();
    let sizes = || set.files().files().iter().map(|file| file.size.get());
    let tail = sizes().filter(|&size| size >= 133_000).count();
    // A binomial count of mean 140 and standard deviation 11.4.
    assert!((106..=174).contains(&tail), "{tail}");
    assert!(sizes().all(|size| size <= 50_000_000));
}

#[test]
fn the_set_of_the_wide_area_project_has_fifty_megabytes_whatever_the_seed() {
    let surge = options(SurgePreset::Surge50Mb).resolve().unwrap();
    for seed in 0..20 {
        let total = surge.build(seed).unwrap().files().total().get();
        assert!((40_000_000..75_000_000).contains(&total), "seed {seed}: {total}");
    }
}

#[test]
fn popularity_has_the_slope_of_zipf_over_the_top_decades() {
    for (slope, requests) in [(1.0, None), (1.0, Some(1_000_000)), (0.8, Some(100_000)), (1.2, Some(500_000))]
    {
        let set = built(&SurgeOptions { zipf_slope: Some(slope), requests, ..SurgeOptions::default() });
        let mut references = set.matched().references.clone();
        references.sort_unstable_by(|a, b| b.cmp(a));
        let fitted = zipf_slope(&references, 1..=200).unwrap();
        assert!((fitted + slope).abs() < 0.05, "{slope}: {fitted}");
    }
}

#[test]
fn optimal_matching_comes_within_a_hundredth_of_the_least_possible_distance() {
    let surge = options(SurgePreset::Surge98).resolve().unwrap();
    for seed in 0..20 {
        let set = surge.build(seed).unwrap();
        let matched = set.matched();
        assert!((matched.least - 0.0614).abs() < 0.0001, "{}", matched.least);
        assert!(matched.distance <= matched.least + 0.01, "seed {seed}: {}", matched.distance);
    }
}

#[test]
fn optimal_matching_is_far_better_than_random_matching() {
    let random = SurgeOptions { matching: Some(Matching::Random), ..options(SurgePreset::Surge98) };
    let random = built(&random);
    assert!(random.matched().distance > 3.0 * surge98().matched().distance, "{}", random.matched().distance);
    let mut sums = [surge98(), random].map(|set| set.matched().references.clone());
    sums.iter_mut().for_each(|references| references.sort_unstable());
    assert_eq!(sums[0], sums[1], "both deal the same popularity");
}

#[test]
fn pages_have_as_many_embedded_files_as_intended() {
    for preset in [SurgePreset::Surge98, SurgePreset::Pries2012] {
        let set = built(&options(preset));
        let cumulative = set.parameters().embedded.cumulative().unwrap();
        let intended = |count: u32| cumulative.get(count as usize).copied().unwrap_or(1.0);
        let distance = discrete_distance(set.embedded_counts(), intended);
        assert!(distance < critical_distance(set.embedded_counts().len()), "{preset:?}: {distance}");
    }
}

#[test]
fn the_counts_of_the_released_sources_have_their_published_mean() {
    // 2/u^(1/1.245), redrawn above 150, counts the base: 6.22 files in the mean, 5.22 of them embedded.
    let released = EmbeddedCount::Pareto { shape: 1.245, scale: 2.0, cap: 150, counts_base: true };
    let cumulative = released.cumulative().unwrap();
    let mean: f64 = cumulative.iter().map(|below| 1.0 - below).sum();
    assert!((mean - 5.22).abs() < 0.01, "{mean}");
    assert_eq!(cumulative[0], 0.0, "a page of the released sources has at least one embedded file");
}

/// The pages of one pass, each with how often it comes.
fn asked(set: &SurgeSet) -> Vec<(u32, Vec<u32>)> {
    let requests = set.requests(Key::root(SEED, 0));
    requests.pages().map(|page| (page.base.0, page.embedded.iter().map(|file| file.0).collect())).collect()
}

#[test]
fn base_files_and_loners_are_asked_for_exactly_as_often_as_their_popularity_says() {
    let set = surge98();
    let mut counts = vec![0; set.files().files().len()];
    for (base, _) in asked(&set) {
        counts[base as usize] += 1;
    }
    for ((file, &references), count) in set.files().files().iter().zip(&set.matched().references).zip(counts)
    {
        assert_eq!(count, if file.class == Class::Embedded { 0 } else { references });
    }
}

#[test]
fn pages_embed_embedded_files_each_once_and_the_most_popular_page_is_the_smallest() {
    let set = surge98();
    let files = set.files().files();
    let mut smallest = u32::MAX;
    let (mut most, mut of_most) = (0, 0);
    for (base, embedded) in asked(&set) {
        let mut distinct = embedded.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), embedded.len());
        assert!(embedded.iter().all(|&file| files[file as usize].class == Class::Embedded));
        if files[base as usize].class == Class::Loner {
            assert!(embedded.is_empty());
            continue;
        }
        smallest = smallest.min(embedded.len() as u32);
        let references = set.matched().references[base as usize];
        if references > most {
            (most, of_most) = (references, embedded.len() as u32);
        }
    }
    assert_eq!(of_most, smallest);
}

#[test]
fn embedded_files_are_asked_for_about_as_often_as_their_popularity_says() {
    let set = surge98();
    let mut counts = vec![0_u32; set.files().files().len()];
    for (_, embedded) in asked(&set) {
        embedded.iter().for_each(|&file| counts[file as usize] += 1);
    }
    let embedded = |file: usize| set.files().files()[file].class == Class::Embedded;
    let beyond: u32 = (0..counts.len())
        .filter(|&file| embedded(file))
        .map(|file| counts[file].saturating_sub(set.matched().references[file]))
        .sum();
    assert_eq!(u64::from(beyond), set.overdrawn());
    assert!(f64::from(beyond) < 0.1 * f64::from(counts.iter().sum::<u32>()), "{beyond}");
    let never = (0..counts.len()).filter(|&file| embedded(file) && counts[file] == 0).count();
    assert!(never < 100, "{never} of 760 embedded files are in no page");
}

#[test]
fn stack_distances_recomputed_from_the_sequence_are_as_intended() {
    for preset in [SurgePreset::Surge98, SurgePreset::Surge99] {
        let set = built(&options(preset));
        let sequence = set.sequence(Key::root(SEED, 0));
        let distances = stack_distances(&sequence, set.files().files().len());
        let intended = set.parameters().locality.distances().unwrap();
        let distance = discrete_distance(&distances, |depth| {
            if depth == 0 { 0.0 } else { intended.cdf(f64::from(depth) + 0.5) }
        });
        assert!(distance <= 0.12, "{preset:?}: {distance}");
        assert!(matches!(median(&distances), Some(4 | 5)), "{preset:?}: {:?}", median(&distances));
    }
}

#[test]
fn the_most_popular_page_is_asked_for_evenly_over_the_sequence() {
    let set = surge98();
    let sequence = set.sequence(Key::root(SEED, 0));
    let count = |part: &[u32], page| part.iter().filter(|&&other| other == page).count();
    let pages = set.files().files().len() as u32;
    let top = (0..pages).max_by_key(|&page| count(&sequence, page)).unwrap();
    let quarters: Vec<usize> =
        sequence.chunks(sequence.len().div_ceil(4)).map(|quarter| count(quarter, top)).collect();
    let mean = count(&sequence, top) as f64 / 4.0;
    assert!(quarters.iter().all(|&quarter| (quarter as f64 - mean).abs() < 0.1 * mean), "{quarters:?}");
}

#[test]
fn without_locality_the_order_is_random() {
    let set = built(&SurgeOptions { locality: Some(Locality::None {}), ..SurgeOptions::default() });
    let distances = stack_distances(&set.sequence(Key::root(SEED, 0)), set.files().files().len());
    assert!(median(&distances) > Some(20), "{:?}", median(&distances));
}

#[test]
fn off_times_have_their_truncated_distributions() {
    for preset in [SurgePreset::Surge98, SurgePreset::Surge99, SurgePreset::Pries2012] {
        let surge = options(preset).resolve().unwrap();
        let user =
            |user| OffTimes::new(surge.inactive_off, surge.active_off, Key::root(SEED, 0), "users", user);
        let seconds = |delay: Delay, draw: &dyn Fn(u32) -> f64| {
            let values: Vec<f64> = (0..10_000).map(draw).collect();
            let truncated = delay.truncated().unwrap();
            let distance = distance(&values, |x| truncated.cdf(x));
            assert!(distance < critical_distance(values.len()), "{preset:?} {delay:?}: {distance}");
        };
        seconds(surge.inactive_off, &|index| {
            user(index % 100).inactive(u64::from(index / 100)).as_secs_f64()
        });
        seconds(surge.active_off, &|index| {
            user(index % 100).active(u64::from(index / 500), u64::from(index / 100 % 5)).as_secs_f64()
        });
    }
}

#[test]
fn a_user_reads_for_three_seconds_and_parses_for_a_third_of_one_in_the_mean() {
    let surge = options(SurgePreset::Surge98).resolve().unwrap();
    let median = |delay: Delay| delay.truncated().unwrap().quantile(0.5);
    assert!((median(surge.inactive_off) - 1.587).abs() < 0.001);
    let truncated = surge.active_off.truncated().unwrap();
    let mean = (0..100_000).map(|n| truncated.quantile((f64::from(n) + 0.5) / 1e5)).sum::<f64>() / 1e5;
    assert!((mean - 0.346).abs() < 0.001, "{mean}");
}

#[test]
fn a_set_depends_on_its_seed_and_a_sequence_on_the_run() {
    let surge = options(SurgePreset::Surge98).resolve().unwrap();
    let (set, again, other) = (surge.build(1).unwrap(), surge.build(1).unwrap(), surge.build(2).unwrap());
    assert_eq!(set.files().files(), again.files().files());
    assert_ne!(set.files().files(), other.files().files());
    assert_eq!(set.sequence(Key::root(1, 0)), again.sequence(Key::root(1, 0)));
    assert_ne!(set.sequence(Key::root(1, 0)), set.sequence(Key::root(1, 1)));
}

/// FNV-1a over numbers: published sets must not change by accident.
fn digest(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers
        .flat_map(u64::to_le_bytes)
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn the_published_set_stays() {
    let set = surge98();
    let sizes = digest(set.files().files().iter().map(|file| file.size.get()));
    let references = digest(set.matched().references.iter().map(|&count| u64::from(count)));
    let sequence = digest(set.sequence(Key::root(SEED, 0)).into_iter().map(u64::from));
    assert_eq!(
        (sizes, references, sequence),
        (9_476_484_972_985_510_896, 13_857_881_015_769_293_844, 7_291_715_141_588_095_059)
    );
}

#[test]
fn small_sets_work() {
    for files in 1..40 {
        let set = built(&SurgeOptions {
            files: Some(files),
            embedded: Some(EmbeddedCount::None {}),
            ..SurgeOptions::default()
        });
        assert_eq!(set.files().files().len(), files as usize);
        let requests: Requests = set.requests(Key::root(SEED, 0));
        assert!(requests.len().unwrap() >= files as usize);
        assert!(set.files().files().iter().all(|file| file.size >= Bytes::new(1)));
    }
}
