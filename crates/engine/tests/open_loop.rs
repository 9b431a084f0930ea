//! Clients that ask when requests arrive, whatever became of those before.

use crate::common::{Row, group, run, scenario, transactions};
use serde_json::{Value, json};
use wasp_engine::{Lengths, ReasonCode, RunOutput};

/// Fifty clients of a server that answers 1,000 requests a second at most.
fn offered(model: &str, rate: &str) -> Value {
    let mut scenario = scenario(50, "1KB");
    scenario["server"]["model"] =
        json!({"cores": 1, "per_connection": "0ms", "per_request": "1ms", "per_kib": "0ms"});
    scenario["clients"][0]["http"]["requests_per_connection"] = json!(null);
    scenario["clients"][0]["http"]["connections"] = json!(4);
    scenario["clients"][0]["arrivals"] = json!({"model": model, "rate": rate});
    scenario["measure"] = json!({"warmup": "5s", "duration": "40s"});
    scenario
}

fn intended(rows: &[Row]) -> Vec<i64> {
    let mut times: Vec<i64> = rows.iter().map(|row| row.intended.unwrap()).collect();
    times.sort_unstable();
    times
}

/// The scenario over 10 and over 40 seconds.
fn short_and_long(scenario: &Value) -> (RunOutput, RunOutput) {
    let over = |duration: &str| {
        let mut scenario = scenario.clone();
        scenario["measure"]["duration"] = json!(duration);
        run(&scenario)
    };
    (over("10s"), over("40s"))
}

#[test]
fn half_of_the_capacity_is_achieved_as_generated() {
    for model in ["poisson", "constant"] {
        let output = run(&offered(model, "500/s"));
        let (summary, open) = (&output.summary, output.summary.open_loop.unwrap());
        assert_eq!(summary.invalid, []);
        let generated = open.counts.arrivals as f64 / summary.interval_s;
        assert!((summary.throughput / generated - 1.0).abs() < 0.01, "{} of {generated}", summary.throughput);
        assert_eq!(open.counts.shed, 0);
        // A Poisson process has a standard deviation of the root of its mean: 141 of 20,000. Five of them.
        assert!((open.counts.arrivals as f64 - 20_000.0).abs() < 5.0 * 141.0, "{}", open.counts.arrivals);
    }
}

#[test]
fn past_the_capacity_the_intended_start_tells_what_the_actual_one_hides() {
    let mut scenario = offered("poisson", "1500/s");
    scenario["clients"][0]["arrivals"]["outstanding"] = json!(1_000_000);
    let (short, long) = short_and_long(&scenario);
    for output in [&short, &long] {
        let codes: Vec<_> = output.summary.invalid.iter().map(|reason| reason.code).collect();
        assert!(codes.contains(&ReasonCode::Overload), "{codes:?}");
        assert!((output.summary.throughput / 1_000.0 - 1.0).abs() < 0.01, "{}", output.summary.throughput);
    }
    let means = |output: &RunOutput| {
        let open = output.summary.open_loop.unwrap();
        (output.summary.response_time_ms.mean.unwrap(), open.from_start_ms.mean.unwrap())
    };
    let ((short_intended, short_actual), (long_intended, long_actual)) = (means(&short), means(&long));
    // A third of what comes waits: the mean wait grows by a third of the half of every second.
    assert!(long_intended > 2.0 * short_intended, "{short_intended} ms, {long_intended} ms");
    assert!(long_actual < 1.2 * short_actual, "{short_actual} ms, {long_actual} ms");
}

#[test]
fn past_the_capacity_a_pages_embedded_files_are_as_late_as_the_page() {
    let mut scenario = offered("poisson", "500/s");
    let sizes = json!({"mu": 6.0, "sigma": 0.5, "cap": "5000B"});
    scenario["workload"] = json!({
        "kind": "surge", "files": 200, "sizes": sizes, "active_off": {"model": "none"}, "embedded": {"model": "constant", "value": 2},
    });
    scenario["clients"][0]["arrivals"]["outstanding"] = json!(1_000_000);
    let (short, long) = short_and_long(&scenario);
    let rows = transactions(&long);
    assert!(rows.iter().all(|row| row.intended.is_some_and(|intended| intended <= row.start)));
    // An arrival is a page, whatever it embeds.
    let open = long.summary.open_loop.unwrap();
    assert!((open.counts.arrivals as f64 - 20_000.0).abs() < 5.0 * 141.0, "{} pages", open.counts.arrivals);
    assert!((open.counts.begun as f64) < 0.9 * open.counts.arrivals as f64, "{} began", open.counts.begun);
    let medians = |output: &RunOutput| {
        let open = output.summary.open_loop.unwrap();
        (output.summary.response_time_ms.p50.unwrap(), open.from_start_ms.p50.unwrap())
    };
    let ((short_intended, short_actual), (long_intended, long_actual)) = (medians(&short), medians(&long));
    assert!(long_intended > 1.8 * short_intended, "{short_intended} ms, {long_intended} ms");
    assert!(long_actual < 1.2 * short_actual, "{short_actual} ms, {long_actual} ms");
}

#[test]
fn arrivals_beyond_the_cap_are_counted_and_reported() {
    let mut scenario = offered("poisson", "1500/s");
    scenario["clients"][0]["arrivals"]["outstanding"] = json!(100);
    let summary = run(&scenario).summary;
    let open = summary.open_loop.unwrap();
    let waiting = open.counts.arrivals as i64 - open.counts.begun as i64 - open.counts.shed as i64;
    assert!(waiting.abs() <= 100, "{waiting} wait");
    let third = open.counts.shed as f64 / open.counts.arrivals as f64;
    assert!((third - 1.0 / 3.0).abs() < 0.02, "{third} were dropped");
    assert!(
        summary
            .invalid
            .iter()
            .any(|reason| reason.code == ReasonCode::Overload && reason.message.contains("dropped"))
    );
}

/// The scenario at this rate over 10 s, with room for all that come, and the codes of what speaks against it.
fn at_rate(rate: &str) -> (RunOutput, Vec<ReasonCode>) {
    seeded(1, rate)
}

fn seeded(seed: u64, rate: &str) -> (RunOutput, Vec<ReasonCode>) {
    let mut scenario = offered("poisson", rate);
    scenario["seed"] = json!(seed);
    scenario["clients"][0]["arrivals"]["outstanding"] = json!(1_000_000);
    scenario["measure"]["duration"] = json!("10s");
    let output = run(&scenario);
    let codes = output.summary.invalid.iter().map(|reason| reason.code).collect();
    (output, codes)
}

#[test]
fn above_the_capacity_no_length_is_advised() {
    let (output, codes) = at_rate("1200/s");
    assert!(codes.contains(&ReasonCode::Overload) && !codes.contains(&ReasonCode::Censored), "{codes:?}");
    assert!(!codes.contains(&ReasonCode::NearCapacity), "{codes:?}");
    let said =
        &output.summary.invalid.iter().find(|reason| reason.code == ReasonCode::Overload).unwrap().message;
    assert!(said.contains("a longer interval does not help: lower the rate"), "{said}");
    let found = output.summary.stability.unwrap();
    assert!((found.growth - 200.0).abs() < 5.0 * found.growth_standard_error && found.grows, "{found:?}");
    assert_eq!(found.enough_s, None);
}

#[test]
fn the_growth_is_what_came_less_what_ended() {
    // Pages of three files, some of which wait for a connection.
    let mut scenario = offered("poisson", "400/s");
    let sizes = json!({"mu": 6.0, "sigma": 0.5, "cap": "5000B"});
    scenario["workload"] = json!({
        "kind": "surge", "files": 200, "sizes": sizes, "active_off": {"model": "none"}, "embedded": {"model": "constant", "value": 2},
    });
    let output = run(&scenario);
    let (from, to) = (5_000_000_000, 45_000_000_000);
    let within = |time: i64| i64::from((from..to).contains(&time));
    let rows = transactions(&output);
    let changes: i64 = rows.iter().map(|row| within(row.start) - within(row.end)).sum();
    let open = output.summary.open_loop.unwrap().counts;
    let waiting = open.arrivals as i64 - open.begun as i64 - open.shed as i64;
    let growth = output.summary.stability.unwrap().growth * output.summary.interval_s;
    assert!(
        waiting > 100 && (growth - (waiting + changes) as f64).abs() < 1e-6,
        "{growth}: {waiting} {changes}"
    );
}

#[test]
fn closed_loops_beside_it_are_not_taken_for_its_queue() {
    let mut scenario = offered("poisson", "500/s");
    scenario["clients"][0]["arrivals"]["outstanding"] = json!(1_000_000);
    scenario["measure"]["duration"] = json!("10s");
    let mut closed = group("closed", 1);
    closed["rtt"] = json!("2s");
    scenario["clients"] = json!([scenario["clients"][0], closed]);
    let beside = run(&scenario);
    let of_group = beside.summary.by_group[0].stability.unwrap();
    assert_eq!(of_group.variance_inflation, beside.summary.stability.unwrap().variance_inflation);
    assert!(beside.summary.by_group[1].stability.is_none());
}

#[test]
fn slightly_above_the_capacity_the_run_doubts_that_a_length_does() {
    let (output, codes) = at_rate("1040/s");
    // 400 more in ten seconds are four standard errors.
    assert_eq!(codes, [ReasonCode::NearCapacity]);
    let said = &output.summary.invalid[0].message;
    assert!(
        said.contains("near its capacity, or above it") && said.contains("it would do to offer less"),
        "{said}"
    );
}

#[test]
fn just_below_the_capacity_most_runs_are_too_short_for_the_queue() {
    let runs = (1..=10).map(|seed| seeded(seed, "998/s"));
    let refused: Vec<_> = runs.filter(|(_, codes)| codes == &[ReasonCode::NearCapacity]).collect();
    // One in which the queue happens to go up and down tells nothing of its memory.
    assert!(refused.len() >= 7, "{}", refused.len());
    for (output, _) in refused {
        let enough = output.summary.stability.unwrap().enough_s;
        assert_eq!(output.summary.invalid[0].enough, Lengths { warmup: None, duration: enough });
        assert!(enough.is_some_and(|enough| enough >= 120.0), "{enough:?}");
    }
}

#[test]
fn a_few_arrivals_that_are_dropped_speak_against_nothing() {
    let mut scenario = offered("poisson", "250/s");
    scenario["clients"][0]["http"]["connections"] = json!(2);
    scenario["clients"][0]["arrivals"]["outstanding"] = json!(100);
    let summary = run(&scenario).summary;
    let open = summary.open_loop.unwrap().counts;
    assert!(open.shed > 0 && open.shed * 100 < open.arrivals, "{open:?}");
    assert_eq!(summary.invalid, []);
}

#[test]
fn constant_arrivals_of_a_group_are_evenly_spaced() {
    let rows = transactions(&run(&offered("constant", "200/s")));
    let times = intended(&rows);
    assert!(times.len() > 8_000);
    for (place, time) in times.iter().enumerate() {
        assert_eq!(*time, place as i64 * 5_000_000);
    }
}

#[test]
fn poisson_arrivals_of_a_group_are_independent_and_belong_to_the_client() {
    let rows = transactions(&run(&offered("poisson", "400/s")));
    let times = intended(&rows);
    let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e9).collect();
    // Kolmogorov-Smirnov against the exponential distribution, at 0.1 %: 1.95 / sqrt(n).
    let mut sorted = gaps.clone();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let distance = sorted
        .iter()
        .enumerate()
        .map(|(place, gap)| ((place as f64 + 0.5) / n - (1.0 - libm::exp(-400.0 * gap))).abs());
    let distance = distance.fold(0.0, f64::max);
    assert!(distance < 1.95 / n.sqrt(), "{distance}");

    let mut near = offered("poisson", "400/s");
    near["clients"][0]["rtt"] = json!("10ms");
    let near = intended(&transactions(&run(&near)));
    let common = near.len().min(times.len()) - 100;
    assert_eq!(near[..common], times[..common]);
}

#[test]
fn an_arrival_waits_for_a_free_connection_and_its_response_time_counts_from_its_time() {
    let mut scenario = offered("constant", "100/s");
    scenario["clients"][0]["count"] = json!(1);
    scenario["clients"][0]["http"]["connections"] = json!(1);
    scenario["clients"][0]["arrivals"]["outstanding"] = json!(100_000);
    let output = run(&scenario);
    let rows = transactions(&output);
    // One connection serves ten a second of the hundred that come.
    assert!(rows[1..].windows(2).all(|pair| pair[1].start == pair[0].end));
    let waited = |row: &Row| row.start - row.intended.unwrap();
    assert!(rows.windows(2).all(|pair| waited(&pair[1]) > waited(&pair[0])));
    let mean = output.summary.response_time_ms.mean.unwrap();
    let expected: Vec<_> =
        rows.iter().filter(|row| row.outcome == "ok" && row.end >= 5_000_000_000).collect();
    let sum: i64 = expected.iter().map(|row| row.end - row.intended.unwrap()).sum();
    assert!((mean - sum as f64 / expected.len() as f64 / 1e6).abs() < 1e-3, "{mean}");
}

#[test]
fn impossible_arrivals_are_refused() {
    let mut slow = offered("poisson", "1/h");
    let refusal =
        |scenario: &Value| wasp_engine::Scenario::from_json(&scenario.to_string()).unwrap_err().to_string();
    assert!(
        refusal(&slow)
            .contains("clients.clients.arrivals.rate: 1/h; must be at least one an hour for each of the 50")
    );
    slow["clients"][0]["arrivals"]["rate"] = json!("100/s");
    slow["clients"][0]["arrivals"]["outstanding"] = json!(49);
    assert!(
        refusal(&slow).contains("arrivals.outstanding: 49; must be at least one for each of the 50 clients")
    );
    slow["clients"][0]["arrivals"]["outstanding"] = json!(null);
    slow["clients"][0]["think"] = json!({"model": "none"});
    assert!(refusal(&slow).contains("clients.clients.think: clients with arrivals do not wait"));
    slow["clients"][0]["think"] = json!(null);
    slow["workload"] = json!({"kind": "surge", "inactive_off": {"model": "none"}});
    assert!(refusal(&slow).contains("workload.inactive_off: no group of clients pauses so"));
}
