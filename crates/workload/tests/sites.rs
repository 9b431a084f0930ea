//! Several sites on one server.

use std::io::BufReader;
use wasp_workload::{Inputs, Site, Sites, Workload, seed_of_group};

fn site(options: &str, log: &str) -> Site {
    let mut log = BufReader::new(log.as_bytes());
    Workload::from_json(options).unwrap().build(1, Inputs { log: Some(&mut log), files: None }).unwrap()
}

fn list(files: &[(&str, &str)]) -> Site {
    let file = |(path, size): &(&str, &str)| serde_json::json!({"path": path, "size": size});
    let files: Vec<_> = files.iter().map(file).collect();
    site(&serde_json::json!({"kind": "single", "files": files}).to_string(), "")
}

fn replay(log: &str) -> Site {
    site(r#"{"kind": "replay", "log": "urls", "format": "urls"}"#, log)
}

const SURGE: &str = r#"{"kind": "surge", "files": 30, "requests": 300}"#;

fn size_of(sites: &Sites, path: &str) -> Option<u64> {
    sites.files().find(path).and_then(|id| sites.files().get(id)).map(|file| file.size.get())
}

#[test]
fn a_server_has_the_files_of_every_site_where_clients_ask_for_them() {
    let mut sites = Sites::default();
    let shared = sites.add(site(SURGE, ""), "").unwrap();
    let lists = sites.add(list(&[("/a", "1KB"), ("/b/c", "2KB")]), "").unwrap();
    let homes = sites.add(site(SURGE, ""), "/homes").unwrap();
    for site in [homes, shared, lists, shared] {
        sites.assign(site);
    }
    assert_eq!(sites.files().files().len(), 30 + 2 + 30);
    for group in 0..4 {
        let located = sites.of(group);
        for file in located.site.files().files() {
            assert_eq!(size_of(&sites, &located.path(file)), Some(file.size.get()));
        }
    }
    assert_eq!([0, 1, 2, 3].map(|group| sites.of(group).directory.as_str()), ["/homes", "", "", ""]);
}

#[test]
fn the_only_site_may_be_in_a_directory() {
    let mut sites = Sites::default();
    let homes = sites.add(site(SURGE, ""), "/homes").unwrap();
    sites.assign(homes);
    assert_eq!(size_of(&sites, "/00/0003.bin"), None);
    let third = sites.of(0).site.files().files()[3].size.get();
    assert_eq!(size_of(&sites, "/homes/00/0003.bin"), Some(third));
}

#[test]
fn files_of_one_path_and_size_are_one_and_of_different_sizes_a_clash() {
    let mut sites = Sites::default();
    sites.add(list(&[("/a", "1KB")]), "").unwrap();
    sites.add(list(&[("/a", "1KB"), ("/b", "2KB")]), "").unwrap();
    assert_eq!(sites.files().files().len(), 2);
    let clash = sites.add(list(&[("/b", "3KB")]), "").unwrap_err();
    assert_eq!((clash.path.as_str(), clash.size.get(), clash.other.get()), ("/b", 3_000, 2_000));
    let clash = sites.add(replay("/b 0 3000\n"), "").unwrap_err();
    assert_eq!(clash.path, "/b", "the size of a file in a list is exact");
}

#[test]
fn of_the_sizes_that_logs_give_a_file_it_has_the_largest() {
    let mut sites = Sites::default();
    sites.add(list(&[("/a", "1KB")]), "").unwrap();
    sites.add(replay("/a 0 1000\n/b 1 5000\n/c 1 5\n"), "").unwrap();
    sites.add(replay("/b 0 4000\n/c 1 8\n"), "").unwrap();
    assert_eq!(["/a", "/b", "/c"].map(|path| size_of(&sites, path)), [Some(1_000), Some(5_000), Some(8)]);
    assert!(sites.add(replay("/a 0 2000\n"), "").is_err());
}

#[test]
fn a_size_that_no_line_of_a_log_gives_yields_to_any_other() {
    let unknown = || replay("/a 0\n/b 0\n/c 0\n");
    for turned in [false, true] {
        let mut sites = Sites::default();
        let mut others = [replay("/a 0 40\n"), unknown(), list(&[("/b", "5KB")])];
        if turned {
            others.reverse();
        }
        for site in others {
            sites.add(site, "").unwrap();
        }
        assert_eq!(
            ["/a", "/b", "/c"].map(|path| size_of(&sites, path)),
            [Some(40), Some(5_000), Some(10_000)]
        );
    }
}

#[test]
fn a_list_makes_the_size_of_a_logs_file_exact() {
    let mut sites = Sites::default();
    sites.add(replay("/a 0 1000\n"), "").unwrap();
    sites.add(list(&[("/a", "1KB")]), "").unwrap();
    sites.add(replay("/a 0 1000\n"), "").unwrap();
    assert_eq!(sites.add(replay("/a 0 2000\n"), "").unwrap_err().path, "/a");
}

#[test]
fn groups_have_seeds_of_their_own() {
    assert_ne!(seed_of_group(1, "homes"), seed_of_group(1, "phones"));
    assert_ne!(seed_of_group(1, "homes"), seed_of_group(2, "homes"));
    for seed in 0..100 {
        assert!(seed_of_group(seed, "homes") <= i64::MAX as u64);
    }
}
