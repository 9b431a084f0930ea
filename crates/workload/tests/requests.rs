//! How requests are dealt to clients.

use proptest::prelude::*;
use std::sync::Arc;
use wasp_random::Key;
use wasp_units::Duration;
use wasp_workload::replay::{Format, ReplayOptions};
use wasp_workload::surge::SurgeOptions;
use wasp_workload::{Deal, FileId, Inputs, Requests, Site, Workload};

fn list(weights: &[f64]) -> Arc<Requests> {
    let files: Vec<String> = weights
        .iter()
        .enumerate()
        .map(|(index, weight)| format!(r#"{{"path": "/{index}", "size": "1KiB", "weight": {weight}}}"#))
        .collect();
    let json = format!(r#"{{"kind": "single", "files": [{}]}}"#, files.join(","));
    let workload: Workload = serde_json::from_str(&json).unwrap();
    Arc::new(workload.build(1, Inputs::default()).unwrap().requests(Key::root(1, 0)))
}

/// A list of URLs `/0`, `/1`... that is replayed.
fn urls(count: usize, options: impl Fn(&mut ReplayOptions), line: impl Fn(usize) -> String) -> Arc<Requests> {
    let mut replay = ReplayOptions::new("urls", Format::Urls);
    options(&mut replay);
    let text: String = (0..count).map(|index| line(index) + "\n").collect();
    Arc::new(replay.read(text.as_bytes()).unwrap().requests(Key::root(1, 0)))
}

fn plain(count: usize) -> Arc<Requests> {
    urls(count, |_| (), |index| format!("/{index}"))
}

fn files(
    requests: &Arc<Requests>,
    deal: Deal,
    group: &str,
    client: u32,
    clients: u32,
    count: usize,
) -> Vec<u32> {
    let mut stream = requests.stream(deal, group, client, clients);
    (0..count).map_while(|_| stream.next_file().map(|file| file.0)).collect()
}

proptest! {
    #[test]
    fn modulo_deals_the_sequence_out(length in 1_usize..60, clients in 1_u32..20) {
        let requests = plain(length);
        let mut dealt = Vec::new();
        for client in 0..clients.min(length as u32) {
            let count = (length - client as usize).div_ceil(clients as usize);
            let twice = files(&requests, Deal::Modulo, "any", client, clients, 2 * count);
            let (first, second) = twice.split_at(count);
            prop_assert_eq!(first, second, "it begins again");
            prop_assert!(first.iter().all(|file| file % clients == client));
            dealt.extend_from_slice(first);
        }
        dealt.sort_unstable();
        prop_assert_eq!(dealt, (0..length as u32).collect::<Vec<_>>());
    }

    #[test]
    fn own_streams_walk_the_whole_sequence_around(length in 1_usize..60, client in 0_u32..1000) {
        let walked = files(&plain(length), Deal::Own, "any", client, 1000, length + 1);
        let length = length as u32;
        prop_assert!(walked.windows(2).all(|pair| pair[1] == (pair[0] + 1) % length));
    }

    #[test]
    fn without_repetition_each_stream_ends(length in 1_usize..60, clients in 1_u32..20) {
        let requests = urls(length, |options| options.repeat = false, |index| format!("/{index}"));
        let dealt: usize = (0..clients.min(length as u32))
            .map(|client| files(&requests, Deal::Modulo, "any", client, clients, 1000).len())
            .sum();
        prop_assert_eq!(dealt, length);
        prop_assert_eq!(files(&requests, Deal::Own, "any", 0, clients, 1000).len(), length);
    }
}

#[test]
fn own_streams_depend_on_the_group_and_the_client_and_on_nothing_else() {
    let weighted = list(&[1.0; 50]);
    let sequence = plain(1000);
    for requests in [&weighted, &sequence] {
        let of = |group, client, clients| files(requests, Deal::Own, group, client, clients, 20);
        assert_eq!(of("homes", 3, 4), of("homes", 3, 4000));
        assert_ne!(of("homes", 3, 4), of("homes", 2, 4));
        assert_ne!(of("homes", 3, 4), of("offices", 3, 4));
    }
}

#[test]
fn own_streams_enter_the_sequence_everywhere() {
    let requests = plain(100);
    let mut starts = [0_u32; 100];
    for client in 0..10_000 {
        starts[files(&requests, Deal::Own, "any", client, 10_000, 1)[0] as usize] += 1;
    }
    let chi: f64 = starts.iter().map(|&count| (f64::from(count) - 100.0).powi(2) / 100.0).sum();
    // 99 degrees of freedom: mean 99, standard deviation 14.
    assert!(chi < 99.0 + 5.0 * 14.0, "{chi}");
}

#[test]
fn files_of_a_list_come_by_weight() {
    let requests = list(&[0.0, 1.0, 3.0, 0.0]);
    for deal in [Deal::Own, Deal::Modulo] {
        let mut counts = [0_u32; 4];
        for client in 0..100 {
            files(&requests, deal, "any", client, 100, 400)
                .iter()
                .for_each(|&file| counts[file as usize] += 1);
        }
        assert_eq!((counts[0], counts[3]), (0, 0));
        // Binomial with mean 10,000 and standard deviation 87.
        assert!(counts[1].abs_diff(10_000) < 433, "{deal:?}: {counts:?}");
    }
}

#[test]
fn modulo_deals_the_same_draws_of_a_list_to_any_number_of_clients() {
    let requests = list(&[1.0, 2.0, 3.0]);
    let alone = files(&requests, Deal::Modulo, "any", 0, 1, 12);
    let dealt: Vec<Vec<u32>> =
        (0..3).map(|client| files(&requests, Deal::Modulo, "any", client, 3, 4)).collect();
    let merged: Vec<u32> = (0..12).map(|index| dealt[index % 3][index / 3]).collect();
    assert_eq!(alone, merged);
}

#[test]
fn files_of_pages_come_base_first() {
    let set = SurgeOptions::default().resolve().unwrap().build(1).unwrap();
    let requests = Arc::new(set.requests(Key::root(1, 0)));
    let (mut pages, mut files) =
        (requests.stream(Deal::Own, "any", 0, 1), requests.stream(Deal::Own, "any", 0, 1));
    for _ in 0..1000 {
        let page = pages.next_page().unwrap();
        let expected: Vec<FileId> = std::iter::once(page.base).chain(page.embedded.iter().copied()).collect();
        let got: Vec<FileId> = expected.iter().map_while(|_| files.next_file()).collect();
        assert_eq!(got, expected);
    }
}

#[test]
fn clients_together_ask_as_popularity_says() {
    let set = SurgeOptions::default().resolve().unwrap().build(1).unwrap();
    let site = Site::Surge(Box::new(set));
    let requests = Arc::new(site.requests(Key::root(1, 0)));
    let mut counts = vec![0_u32; site.files().files().len()];
    for client in 0..2_000 {
        let mut stream = requests.stream(Deal::Own, "any", client, 2_000);
        (0..50).for_each(|_| counts[stream.next_page().unwrap().base.0 as usize] += 1);
    }
    let Site::Surge(set) = &site else { unreachable!() };
    let pages = requests.len().unwrap() as f64;
    // The ten most popular pages, each asked for in its share of 100,000 requests but for 10 %.
    let mut popular: Vec<usize> = (0..counts.len())
        .filter(|&file| set.files().files()[file].class != wasp_workload::Class::Embedded)
        .collect();
    popular.sort_by_key(|&file| std::cmp::Reverse(set.matched().references[file]));
    let share = |counts: &[u32]| popular[..10].iter().map(|&file| f64::from(counts[file])).sum::<f64>();
    let (intended, asked) = (share(&set.matched().references) / pages, share(&counts) / 100_000.0);
    assert!((asked / intended - 1.0).abs() < 0.1, "{asked} {intended}");
}

fn timed(options: impl Fn(&mut ReplayOptions)) -> Arc<Requests> {
    let options = |replay: &mut ReplayOptions| {
        replay.times = true;
        options(replay);
    };
    // At 0 s, 1 s, 3 s and 6 s.
    urls(4, options, |index| format!("/{index} {}", 10 + index * (index + 1) / 2))
}

#[test]
fn a_replayed_list_begins_when_it_did() {
    let requests = timed(|_| ());
    let at = |deal, client, clients, count| -> Vec<u64> {
        let mut stream = requests.stream(deal, "any", client, clients);
        (0..count).map(|_| stream.next_page().unwrap().at.unwrap().as_nanos() / 1_000_000_000).collect()
    };
    // The list lasts 6 s, and 2 s, the mean time between requests, pass before it begins again.
    assert_eq!(at(Deal::Modulo, 0, 1, 6), [0, 1, 3, 6, 8, 9]);
    assert_eq!(at(Deal::Modulo, 1, 2, 4), [1, 6, 9, 14]);
    for client in 0..20 {
        let own = at(Deal::Own, client, 20, 9);
        assert_eq!((own[0], own[4], own[8]), (0, 8, 16), "{own:?}");
        assert!(own.is_sorted());
    }
}

#[test]
fn times_are_told_only_when_asked_for() {
    let requests = timed(|options| options.times = false);
    assert_eq!(requests.stream(Deal::Modulo, "any", 0, 1).next_page().unwrap().at, None);
    let mut stream = timed(|_| ()).stream(Deal::Modulo, "any", 0, 1);
    assert_eq!(stream.next_page().unwrap().at, Some(Duration::ZERO));
}
