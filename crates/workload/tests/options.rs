//! Options as they come in JSON: what is absent, unknown or impossible.

use wasp_workload::{Inputs, Workload};

/// What is wrong with a workload.
fn problem(json: &str) -> String {
    match Workload::from_json(json) {
        Err(error) => error.to_string(),
        Ok(workload) => workload
            .build(1, Inputs::default())
            .map(|_| "nothing".to_owned())
            .unwrap_or_else(|error| error.to_string()),
    }
}

#[test]
fn a_kind_is_enough_where_there_is_a_preset() {
    for json in [
        r#"{"kind": "surge"}"#,
        r#"{"kind": "surge", "preset": "surge-50MB"}"#,
        r#"{"kind": "surge", "preset": "surge99", "matching": "random"}"#,
        r#"{"kind": "surge", "preset": "pries2012"}"#,
        r#"{"kind": "surge", "embedded": {"model": "none"}, "locality": {"model": "none"}}"#,
        r#"{"kind": "surge", "inactive_off": {"model": "none"}, "active_off": {"model": "constant", "value": "10ms"}}"#,
        r#"{"kind": "surge", "sizes": {"mu": 9, "sigma": 1, "cap": "1MB"}}"#,
        r#"{"kind": "prowgen", "preset": "ip-tne", "stack": {"model": "dynamic", "depth": 100}}"#,
        r#"{"kind": "prowgen", "preset": "webtraff", "correlation": "positive"}"#,
        r#"{"kind": "single", "path": "/1024", "size": "1KiB"}"#,
        r#"{"kind": "single", "files": [{"path": "/a", "size": "1KiB"}, {"path": "/b", "size": "8KiB", "weight": 3}]}"#,
    ] {
        assert_eq!(problem(json), "nothing", "{json}");
    }
}

#[test]
fn unknown_fields_are_refused_at_every_level() {
    for (json, field) in [
        (r#"{"kind": "surge", "colour": 1}"#, "colour"),
        (
            r#"{"kind": "surge", "embedded": {"model": "pareto", "shape": 1, "scale": 1, "cap": 9, "cop": 9}}"#,
            "cop",
        ),
        (r#"{"kind": "surge", "locality": {"model": "none", "mu": 1}}"#, "mu"),
        (r#"{"kind": "surge", "sizes": {"mu": 9, "sigma": 1, "cap": "1MB", "tale": 1}}"#, "tale"),
        (r#"{"kind": "surge", "inactive_off": {"model": "constant", "value": "1s", "mean": "1s"}}"#, "mean"),
        (r#"{"kind": "prowgen", "files": 3}"#, "files"),
        (r#"{"kind": "prowgen", "stack": {"model": "static", "depth": 1, "width": 1}}"#, "width"),
        (r#"{"kind": "replay", "log": "x", "speed": 2}"#, "speed"),
        (r#"{"kind": "single", "path": "/a", "size": "1B", "weight": 1}"#, "weight"),
    ] {
        let problem = problem(json);
        assert!(problem.contains(&format!("unknown field `{field}`")), "{json}: {problem}");
        assert!(serde_json::from_str::<Workload>(json).is_err(), "{json}");
    }
}

#[test]
fn fields_that_are_not_valid_are_named_by_their_path() {
    for (json, message) in [
        (
            r#"{"kind": "surge", "files": "many"}"#,
            r#"files: "many"; invalid type: string "many", expected u32"#,
        ),
        (
            r#"{"kind": "surge", "sizes": {"mu": 9, "sigma": 1, "cap": "1 MB"}}"#,
            r#"sizes.cap: "1 MB"; "1 MB": unknown or missing unit; expected an amount of data"#,
        ),
        (r#"{"kind": "surge", "sizes": {"sigma": 1, "cap": "1MB"}}"#, "missing field `mu`"),
        (r#"{"kind": "surge", "preset": "surge97"}"#, r#"preset: "surge97"; unknown variant `surge97`"#),
        (r#"{"kind": "serge"}"#, r#"kind: "serge"; must be single, surge, prowgen, replay or requests"#),
        ("[1]", "kind: null; must be single, surge, prowgen, replay or requests"),
        ("{", "workload: no valid JSON; EOF while parsing"),
    ] {
        let problem = problem(json);
        assert!(problem.contains(message), "{json}: {problem}");
    }
}

#[test]
fn impossible_surge_parameters_are_named() {
    for (json, message) in [
        (r#""files": 0"#, "files: 0; must be from 1 to 1000000"),
        (r#""zipf_slope": -1"#, "zipf_slope: -1; must be from 0 to 5"),
        (
            r#""requests": 100"#,
            "requests: 100; 2000 files that are asked for at least once need from 2000 to 50000000",
        ),
        (r#""zipf_slope": 5"#, "requests: 33181688"),
        (
            r#""request_sizes": {"shape": 0, "scale": "1KB"}"#,
            "request_sizes.shape: 0; must be above 0 and at most 1000000",
        ),
        (
            r#""sizes": {"mu": 9, "sigma": 1, "cap": "1GB", "tail": {"fraction": "7%", "shape": 0, "scale": "133KB"}}"#,
            "base_sizes.tail.shape: 0; must be above 0 and at most 1000000",
        ),
        (
            r#""embedded": {"model": "pareto", "shape": 0, "scale": 1, "cap": 150}"#,
            "embedded.shape: 0; must be above 0 and at most 1000000",
        ),
        (
            r#""embedded": {"model": "pareto", "shape": 2, "scale": 200, "cap": 150}"#,
            "embedded.cap: 150; the distribution lies above it",
        ),
        (
            r#""files": 10, "embedded": {"model": "constant", "value": 5}"#,
            "embedded: impossible; pages have more embedded files than the set, which has 4",
        ),
        (
            r#""shares": {"base": "60%", "embedded": "50%"}"#,
            "shares: 60% base and 50% embedded; must be at most 100% together",
        ),
        (
            r#""shares": {"base": "0%", "embedded": "50%"}"#,
            "shares.base: 0%; embedded files need a base file to be embedded in",
        ),
        (
            r#""embedded": {"model": "none"}, "shares": {"base": "30%", "embedded": "50%"}"#,
            "shares: given; without embedded files there are no classes",
        ),
        (
            r#""embedded": {"model": "none"}, "active_off": {"model": "none"}"#,
            "active_off: given; without embedded files there is no time between the files of a page",
        ),
        (
            r#""locality": {"model": "lognormal", "mu": 1.5, "sigma": 0}"#,
            "locality.sigma: 0; must be from 0.001 to 5",
        ),
        (
            r#""inactive_off": {"model": "pareto", "shape": 0, "scale": "1s"}"#,
            "inactive_off.shape: 0; must be above 0 and at most 1000000",
        ),
        (
            r#""inactive_off": {"model": "pareto", "shape": 1.5, "scale": "10s", "cap": "1s"}"#,
            "inactive_off.cap: 1s; must be from 10s to 86400s",
        ),
        (
            r#""sizes": {"mu": 5, "sigma": 0.1, "cap": "500B"}"#,
            "request_sizes.scale: 1000B; the largest file has only",
        ),
    ] {
        let problem = problem(&format!(r#"{{"kind": "surge", {json}}}"#));
        assert!(problem.starts_with(message), "{json}: {problem}");
    }
}

#[test]
fn impossible_prowgen_parameters_are_named() {
    for (json, message) in [
        (r#""objects": 0"#, "objects: 0; must be from 1 to 1000000"),
        (
            r#""requests": 3000"#,
            "requests: 3000; 990 one-timers and 2010 others, twice each, need at least 5010",
        ),
        (
            r#""one_timers": "100%", "requests": 10000"#,
            "requests: 10000; 3000 objects that are asked for once give 3000 requests",
        ),
        (
            r#""tail": {"fraction": "20%", "shape": 0, "scale": "10KB"}"#,
            "tail.shape: 0; must be above 0 and at most 1000000",
        ),
        (r#""cap": "5KB""#, "tail.scale: 10000B; must lie below the cap, 5000B"),
        (
            r#""body": {"mean": "0B", "deviation": "1KB"}"#,
            "body.mean: 0; must be above 0 and at most 1000000",
        ),
        (r#""stack": {"model": "static", "depth": 0}"#, "stack.depth: 0; must be from 1 to 100000"),
        (
            r#""correlation": "positive", "popular_limit": {"references": 10, "size": "1KB"}"#,
            "popular_limit: given; belongs to correlation zero; any other settles the size of popular objects",
        ),
    ] {
        assert_eq!(problem(&format!(r#"{{"kind": "prowgen", {json}}}"#)), message);
    }
}

#[test]
fn impossible_lists_are_named() {
    for (json, message) in [
        (r#""path": "/a""#, "size: absent; a path needs a size"),
        (r#""size": "1B""#, "path: absent; a size needs a path"),
        (r#""files": []"#, "files: no weight; at least one file with a weight above 0 is needed"),
        (r#""files": [{"path": "a", "size": "1B"}]"#, "files.0.path: a; must begin with a slash"),
        (
            r#""files": [{"path": "/a", "size": "1B"}, {"path": "/a", "size": "2B"}]"#,
            "files.1.path: /a; is in the list twice; paths must differ",
        ),
        (
            r#""files": [{"path": "/a", "size": "1B", "weight": -1}]"#,
            "files.0.weight: -1; must be from 0 to 1000000",
        ),
        (
            r#""path": "/a", "size": "1B", "files": []"#,
            "files: given; not beside path and size; give one of the two",
        ),
    ] {
        assert_eq!(problem(&format!(r#"{{"kind": "single", {json}}}"#)), message);
    }
    assert_eq!(problem(r#"{"kind": "replay", "log": ""}"#), "log: empty; name a file");
    assert_eq!(problem(r#"{"kind": "replay", "log": "a.log"}"#), "a.log: the log was not handed over");
}
