//! Whatever a file of results says of runs, they are judged or refused.

use proptest::prelude::*;
use serde_json::{Value, json};
use wasp_engine::{ReasonCode, RunFigures, Together};

/// Reasons that are said of runs together.
const CODES: [ReasonCode; 8] = [
    ReasonCode::Warmup,
    ReasonCode::Opening,
    ReasonCode::Windows,
    ReasonCode::Cycles,
    ReasonCode::Overload,
    ReasonCode::NearCapacity,
    ReasonCode::Censored,
    ReasonCode::Loss,
];

fn counts() -> impl Strategy<Value = String> {
    let pair = (0..90_usize, prop_oneof![0..10_u64, 0..1_000_000_000_000_000_u64]);
    prop::collection::vec(pair, 0..8).prop_map(|pairs| {
        let pairs: Vec<_> = pairs.iter().map(|(bin, count)| format!("{bin}:{count}")).collect();
        pairs.join(" ")
    })
}

fn real() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        0.0..1e3,
        Just(1e307),
        Just(1e-307),
        any::<f64>().prop_filter("JSON has finite numbers only", |value| value.is_finite())
    ]
}

fn numbers(count: usize, least: i64) -> impl Strategy<Value = String> {
    let number = prop_oneof![least..10, least.signum() * 999_999_999_999_999_999..=999_999_999_999_999_999];
    prop::collection::vec(number, count).prop_map(|numbers| {
        let numbers: Vec<_> = numbers.iter().map(ToString::to_string).collect();
        numbers.join(" ")
    })
}

fn ages() -> impl Strategy<Value = Value> {
    let counted = (counts(), counts(), counts(), any::<u64>(), any::<u64>());
    let lengths = (real(), real(), real(), real());
    (counted, lengths, real(), real(), real()).prop_map(
        |((ended, entered, cut, began, throughout), lengths, sum, squares, in_progress)| {
            let (warmup, duration, timeout, closed) = lengths;
            json!({
                "ended": ended, "entered": entered, "cut": cut, "began": began, "throughout": throughout,
                "sum_s": sum, "cut_square_s": squares, "in_progress_s": in_progress,
                "window": {"warmup": warmup, "duration": duration, "timeout": timeout, "closed": closed},
            })
        },
    )
}

fn course() -> impl Strategy<Value = Value> {
    let fortieths = (numbers(40, -10), numbers(40, 0), numbers(40, 0), any::<bool>());
    let fortieths = fortieths.prop_map(|(backlog, ok, time_ns, replays)| {
        json!({"backlog": backlog, "ok": ok, "time_ns": time_ns, "replays": replays})
    });
    (numbers(300, 0), prop::option::of(fortieths))
        .prop_map(|(ok, fortieths)| json!({"ok": ok, "fortieths": fortieths}))
}

fn beginning() -> impl Strategy<Value = Value> {
    let enough = || prop::option::of(real());
    (real(), real(), real(), real(), any::<bool>(), enough(), enough()).prop_map(
        |(cycle, opened, opening, in_step, renews, warmup, duration)| {
            json!({
                "cycle_s": cycle, "opened": opened, "opening": opening, "in_step": in_step, "renews": renews,
                "enough_warmup_s": warmup, "enough_s": duration,
            })
        },
    )
}

fn windows() -> impl Strategy<Value = Value> {
    let effect = (any::<u32>(), real(), real()).prop_map(
        |(losses, longer, error)| json!({"losses": losses, "longer": longer, "standard_error": error}),
    );
    let figures = (real(), real(), real(), real(), any::<bool>());
    (figures, prop::option::of(effect), prop::option::of(real())).prop_map(
        |((needed, fewer, recovering, slower, unsettled), effect, enough)| {
            json!({
                "needed": needed, "fewer": fewer, "recovering": recovering, "slower": slower,
                "effect": effect, "unsettled": unsettled, "enough_warmup_s": enough,
            })
        },
    )
}

fn arrivals() -> impl Strategy<Value = Value> {
    (any::<u64>(), any::<u64>(), any::<u64>())
        .prop_map(|(arrivals, begun, shed)| json!({"arrivals": arrivals, "begun": begun, "shed": shed}))
}

fn group() -> impl Strategy<Value = Value> {
    let some = (prop::option::of(beginning()), prop::option::of(windows()), prop::option::of(arrivals()));
    (ages(), course(), some, any::<bool>()).prop_map(
        |(ages, course, (beginning, windows, open), background)| {
            json!({
                "name": "clients", "background": background, "ages": ages, "course": course,
                "beginning": beginning, "windows": windows, "open_loop": open,
            })
        },
    )
}

fn direction() -> impl Strategy<Value = Value> {
    let rate = || prop::option::of(real());
    (any::<u64>(), any::<u64>(), rate(), rate(), rate()).prop_map(|(packets, lost, rate, expected, error)| {
        json!({
            "packets": packets, "lost": lost, "loss_rate": rate, "dropped": 0, "expected_loss_rate": expected,
            "expected_standard_error": error, "stationary_loss_rate": null,
        })
    })
}

proptest! {
    #[test]
    fn any_figures_are_judged(
        groups in prop::collection::vec(group(), 0..4),
        up in direction(),
        down in direction(),
        times in 1..4_usize,
    ) {
        let run = json!({"groups": groups, "network": {"up": up, "down": down}});
        let text = Value::from(vec![run; times]).to_string();
        let runs: Vec<RunFigures> = serde_json::from_str(&text).expect("these are figures");
        let together = Together::of(runs).expect("a run belongs together with itself");
        prop_assert!(together.invalid.iter().all(|reason| CODES.contains(&reason.code)));
        let written = serde_json::to_value(&together).expect("a verdict is JSON");
        let trends = together.by_group.iter().filter_map(|group| group.trend);
        prop_assert!(trends.clone().all(|trend| trend.settled_s.is_finite() && trend.effect.is_finite()));
        prop_assert_eq!(written["by_group"].as_array().map(Vec::len), Some(groups.len()));
    }
}
