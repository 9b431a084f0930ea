//! Options as the scenario gives them: defaults, unknown fields, values that have no meaning.

use serde::Deserialize;
use serde::de::value::{Error, MapDeserializer};
use wasp_net::{ArrivalOrder, Corrupt, Duplicate, Jitter, Reorder};
use wasp_units::{Duration, Probability};

fn parse<'de, T: Deserialize<'de>>(fields: &[(&'static str, &'static str)]) -> Result<T, Error> {
    T::deserialize(MapDeserializer::new(fields.iter().copied()))
}

fn refused<'de, T: Deserialize<'de>>(fields: &[(&'static str, &'static str)]) -> String {
    parse::<T>(fields).err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn jitter_is_read_with_its_defaults() {
    let (deviation, max) = (Duration::from_millis(5), Duration::from_millis(2));
    let read = [
        parse(&[("model", "normal"), ("deviation", "5ms")]),
        parse(&[("model", "uniform"), ("min", "0ms"), ("max", "2ms"), ("order", "free")]),
    ];
    let expected = [
        Jitter::Normal { deviation, order: ArrivalOrder::Kept },
        Jitter::Uniform { min: Duration::ZERO, max, order: ArrivalOrder::Free },
    ];
    assert_eq!(read, expected.map(Ok));
}

#[test]
fn the_other_options_are_read_with_their_defaults() {
    let one: Probability = "1%".parse().unwrap();
    let reorder = Reorder { share: one, distance: 3, wait: Duration::from_millis(100) };
    assert_eq!(parse(&[("share", "1%")]), Ok(reorder));
    assert_eq!(parse(&[("share", "1%")]), Ok(Duplicate { share: one }));
    assert_eq!(parse(&[("share", "1%")]), Ok(Corrupt { share: one }));
}

#[test]
fn unknown_and_missing_fields_are_refused_by_name() {
    assert!(
        refused::<Jitter>(&[("model", "normal"), ("deviation", "5ms"), ("mean", "1ms")]).contains("mean")
    );
    assert!(refused::<Jitter>(&[("model", "normal")]).contains("deviation"));
    assert!(refused::<Jitter>(&[("model", "gauss")]).contains("normal"));
    assert!(refused::<Reorder>(&[("share", "1%"), ("places", "3")]).contains("places"));
    assert!(refused::<Reorder>(&[]).contains("share"));
    assert!(refused::<Duplicate>(&[("share", "1%"), ("distance", "3")]).contains("distance"));
    assert!(refused::<Corrupt>(&[("rate", "1%")]).contains("rate"));
}

#[test]
fn values_without_a_meaning_are_named_with_what_is_valid() {
    let order = ArrivalOrder::Kept;
    let millis = Duration::from_millis;
    let pareto = |shape| Jitter::Pareto { mean: millis(1), shape, order };
    let errors = [
        Jitter::Normal { deviation: Duration::from_secs(121), order }.check(),
        pareto(1.0).check(),
        pareto(f64::NAN).check(),
        Jitter::Uniform { min: millis(3), max: millis(2), order }.check(),
        Reorder { share: Probability::ONE, ..Reorder::default() }.check(),
        Reorder { distance: 0, ..Reorder::default() }.check(),
        Reorder { wait: Duration::ZERO, ..Reorder::default() }.check(),
        Corrupt { share: Probability::ONE }.check(),
    ];
    let expected = [
        "deviation: 121s; must be from 0ms to 120s",
        "shape: 1; must be above 1, or there is no mean, and at most 100",
        "shape: NaN; must be above 1, or there is no mean, and at most 100",
        "min: 3ms; must be from 0ms to 2ms",
        "share: 100%; must be from 0% to 50%",
        "distance: 0; must be from 1 to 1000",
        "wait: 0ms; must be from 1us to 120s",
        "share: 100%; must be below 100%, or nothing arrives whole",
    ];
    for (error, expected) in errors.into_iter().zip(expected) {
        assert_eq!(error.map_err(|error| error.to_string()), Err(expected.to_owned()));
    }
    for valid in [Reorder::default().check(), Corrupt::default().check()] {
        assert_eq!(valid, Ok(()));
    }
}
