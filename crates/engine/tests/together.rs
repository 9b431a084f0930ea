//! Whatever a file of results says of ages, the runs are judged or refused.

use proptest::prelude::*;
use serde_json::{Value, json};
use wasp_engine::{GroupAges, Together};

fn counts() -> impl Strategy<Value = String> {
    let pair = (0..90_usize, prop_oneof![0..10_u64, 0..1_000_000_000_000_000_u64]);
    prop::collection::vec(pair, 0..8).prop_map(|pairs| {
        let pairs: Vec<_> = pairs.iter().map(|(bin, count)| format!("{bin}:{count}")).collect();
        pairs.join(" ")
    })
}

fn seconds() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        0.0..1e3,
        any::<f64>().prop_filter("JSON has finite numbers only", |value| value.is_finite())
    ]
}

fn group() -> impl Strategy<Value = Value> {
    let counted = (counts(), counts(), counts(), any::<u64>(), any::<u64>());
    let lengths = (seconds(), seconds(), seconds(), seconds());
    (counted, lengths, seconds(), seconds(), seconds(), any::<bool>()).prop_map(
        |((ended, entered, cut, began, throughout), lengths, sum, squares, in_progress, background)| {
            let (warmup, duration, timeout, closed) = lengths;
            json!({"name": "clients", "background": background, "ages": {
                "ended": ended, "entered": entered, "cut": cut, "began": began, "throughout": throughout,
                "sum_s": sum, "cut_square_s": squares, "in_progress_s": in_progress,
                "window": {"warmup": warmup, "duration": duration, "timeout": timeout, "closed": closed},
            }})
        },
    )
}

proptest! {
    #[test]
    fn any_ages_are_judged(groups in prop::collection::vec(group(), 0..4), times in 1..4_usize) {
        let text = Value::from(vec![Value::from(groups); times]).to_string();
        let runs: Vec<Vec<GroupAges>> = serde_json::from_str(&text).expect("these are ages");
        if let Some(together) = Together::of(runs) {
            for reason in together.invalid {
                prop_assert_eq!(reason.code, "censored");
            }
        }
    }
}
