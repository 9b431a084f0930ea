//! The textual form: what prints parses back, what is wrong is refused with what would be valid.

use proptest::prelude::*;
use std::num::NonZeroU32;
use wasp_units::{Bytes, Duration, Frequency, Instant, Probability, Rate};

proptest! {
    #[test]
    fn a_printed_duration_parses_back(nanos in prop_oneof![any::<u64>(), 0..5_000_000_000_u64]) {
        let duration = Duration::from_nanos(nanos);
        prop_assert_eq!(duration.to_string().parse::<Duration>().unwrap(), duration);
    }

    #[test]
    fn printed_bytes_parse_back(count in prop_oneof![any::<u64>(), (0..1000_u64).prop_map(|k| k << 10)]) {
        let bytes = Bytes::new(count);
        prop_assert_eq!(bytes.to_string().parse::<Bytes>().unwrap(), bytes);
    }

    #[test]
    fn a_printed_rate_parses_back(rate in 1..u64::MAX) {
        let rate = Rate::from_bits_per_second(rate).unwrap();
        prop_assert_eq!(rate.to_string().parse::<Rate>().unwrap(), rate);
    }

    #[test]
    fn a_printed_frequency_parses_back(thousandths in 1..u64::MAX) {
        let text = format!("{}.{:03}/h", thousandths / 1_000, thousandths % 1_000);
        let frequency = text.parse::<Frequency>().unwrap();
        prop_assert_eq!(frequency.to_string().parse::<Frequency>().unwrap(), frequency);
    }

    #[test]
    fn a_printed_probability_parses_back(parts in 0..=1_000_000_000_000_u64) {
        let probability = Probability::from_f64(parts as f64 / 1e12).unwrap();
        prop_assert_eq!(probability.to_string().parse::<Probability>().unwrap(), probability);
    }

    #[test]
    fn no_text_panics(text in ".{0,24}") {
        let _ = text.parse::<Duration>();
        let _ = text.parse::<Bytes>();
        let _ = text.parse::<Rate>();
        let _ = text.parse::<Frequency>();
        let _ = text.parse::<Probability>();
    }

    #[test]
    fn the_next_tick_is_the_first_one_later(now in 0..1_000_000_u64, step in 1..10_000_u64, phase in 0..20_000_u64) {
        let tick = Instant::from_nanos(now).next_tick(Duration::from_nanos(step), Duration::from_nanos(phase)).as_nanos();
        prop_assert!(tick > now && tick - now <= step);
        prop_assert_eq!(tick % step, phase % step);
    }
}

#[test]
fn quantities_print_in_their_largest_plain_unit() {
    assert_eq!(Duration::from_millis(100).to_string(), "100ms");
    assert_eq!(Duration::from_millis(1500).to_string(), "1.5s");
    assert_eq!(Duration::ZERO.to_string(), "0ms");
    assert_eq!(Bytes::new(65_536).to_string(), "64KiB");
    assert_eq!(Bytes::new(1_500).to_string(), "1500B");
    assert_eq!(Bytes::new(1 << 30).to_string(), "1GiB");
    assert_eq!(Bytes::new(3 << 19).to_string(), "1536KiB");
    assert_eq!("10Mbit/s".parse::<Rate>().unwrap().to_string(), "10Mbit/s");
    assert_eq!("2.5/s".parse::<Frequency>().unwrap().to_string(), "2.5/s");
    assert_eq!("2.985%".parse::<Probability>().unwrap().to_string(), "2.985%");
}

#[test]
fn wrong_quantities_say_what_would_be_valid() {
    for text in ["", "100", "ms", "-5ms", "1.ms", ".5ms", "5 ms", "0.5ns", "99999999999h", "5parsec"] {
        let error = text.parse::<Duration>().unwrap_err().to_string();
        assert!(error.contains("100ms") && error.contains(text), "{error}");
    }
    assert!("0bit/s".parse::<Rate>().is_err());
    assert!("0/s".parse::<Frequency>().is_err());
    assert!("101%".parse::<Probability>().is_err());
    assert!("1.01".parse::<Probability>().is_err());
}

#[test]
fn certain_and_impossible_are_exact() {
    assert!(Probability::ONE.happens(u64::MAX) && Probability::ONE.happens(0));
    assert!(!Probability::ZERO.happens(0));
}

#[test]
fn transmission_time_counts_bits_and_rounds_up() {
    let rate = "10Mbit/s".parse::<Rate>().unwrap();
    assert_eq!(rate.transmission_time(1500), Duration::from_micros(1200));
    assert_eq!("3bit/s".parse::<Rate>().unwrap().transmission_time(1), Duration::from_nanos(2_666_666_667));
    assert_eq!("1bit/s".parse::<Rate>().unwrap().transmission_time(u64::MAX), Duration::MAX);
}

#[test]
fn a_frequency_places_its_events_without_drift() {
    let third = "180/min".parse::<Frequency>().unwrap();
    assert_eq!(third.per_second(), 3.0);
    assert_eq!(Frequency::of_second(NonZeroU32::new(3).unwrap()), third);
    assert_eq!(third.time_of(1), Duration::from_nanos(333_333_333));
    assert_eq!(third.time_of(3_000_000), Duration::from_secs(1_000_000));
    assert_eq!("1/h".parse::<Frequency>().unwrap().time_of(u64::MAX), Duration::MAX);
}
