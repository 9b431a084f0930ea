//! Duplication and corruption; and that no impairment moves another's draws.

use super::{assert_chi_square, assert_share, key};
use proptest::prelude::*;
use wasp_net::{
    ArrivalOrder, Corrupt, Corrupter, Duplicate, Duplicator, Jitter, JitterProcess, Pass, Reorder, Reorderer,
};
use wasp_units::{Duration, Instant, Probability};

fn share(value: f64) -> Probability {
    Probability::from_f64(value).unwrap()
}

fn duplicator(entity: u64, value: f64) -> Duplicator {
    Duplicator::new(Duplicate { share: share(value) }, key(entity))
}

fn corrupter(entity: u64, value: f64) -> Corrupter {
    Corrupter::new(Corrupt { share: share(value) }, key(entity))
}

#[test]
fn the_share_is_duplicated() {
    let mut machine = duplicator(1, 0.03);
    let copies = (0..100_000).filter(|_| machine.duplicates()).count();
    assert_share("copies", copies, 100_000, 0.03);
    let mut none = duplicator(1, 0.0);
    assert!((0..1_000).all(|_| !none.duplicates()));
    let mut all = duplicator(1, 1.0);
    assert!((0..1_000).all(|_| all.duplicates()));
}

#[test]
fn the_share_is_corrupted_at_places_equally_likely() {
    let mut machine = corrupter(2, 0.4);
    let mut places = vec![0; 25 * 8];
    for _ in 0..200_000 {
        if let Some(place) = machine.bit(25) {
            places[place as usize] += 1;
        }
    }
    let corrupted: usize = places.iter().sum();
    assert_share("corrupted", corrupted, 200_000, 0.4);
    assert_chi_square("places", &places, &[1.0 / 200.0; 200]);
}

proptest! {
    #[test]
    fn the_bit_lies_in_the_payload(entity in any::<u64>(), bytes in 0..=65_535_u32) {
        let mut machine = corrupter(entity, 0.9);
        for _ in 0..20 {
            let bit = machine.bit(bytes);
            prop_assert!(bit.is_none_or(|bit| bit < bytes * 8));
            prop_assert!(bytes > 0 || bit.is_none());
        }
        prop_assert!(machine.bit(u32::MAX).is_none_or(|bit| bit < u32::MAX));
    }
}

#[test]
fn which_packets_are_corrupted_depends_on_no_length() {
    let (mut long, mut mixed) = (corrupter(3, 0.2), corrupter(3, 0.2));
    for number in 0..2_000 {
        let bytes = [0, 8, 1_480][number % 3];
        let hit = long.bit(1_480);
        assert_eq!(mixed.bit(bytes).is_some(), hit.is_some() && bytes > 0);
    }
}

/// What each of the four impairments does to the n-th packet, all with one key.
struct Four {
    jitter: JitterProcess,
    reorderer: Reorderer<u32>,
    duplicator: Duplicator,
    corrupter: Corrupter,
}

type Done = (Option<Duration>, Option<bool>, Option<bool>, Option<Option<u32>>);

impl Four {
    fn new() -> Self {
        let (max, half) = (Duration::from_millis(1), share(0.5));
        let jitter = Jitter::Uniform { min: Duration::ZERO, max, order: ArrivalOrder::Kept };
        let reorder = Reorder { share: half, ..Reorder::default() };
        Self {
            jitter: JitterProcess::new(jitter, key(4)),
            reorderer: Reorderer::new(reorder, key(4)),
            duplicator: duplicator(4, 0.5),
            corrupter: corrupter(4, 0.5),
        }
    }

    /// The next packet meets those impairments whose bit is set in `which`.
    fn meet(&mut self, which: u32) -> Done {
        let on = |bit: u32| which & 1 << bit != 0;
        let delay = on(0).then(|| self.jitter.delay(Duration::ZERO));
        let held = on(1).then(|| self.reorderer.pass(0, Instant::ZERO) == Pass::Hold);
        while self.reorderer.release(Instant::MAX).is_some() {}
        (delay, held, on(2).then(|| self.duplicator.duplicates()), on(3).then(|| self.corrupter.bit(1_000)))
    }
}

#[test]
fn no_impairment_moves_the_draws_of_another() {
    let mut all = Four::new();
    let together: Vec<Done> = (0..500).map(|_| all.meet(0b1111)).collect();
    for which in 0..0b1111 {
        let mut some = Four::new();
        for expected in &together {
            let met = some.meet(which);
            assert!(met.0.is_none() || met.0 == expected.0, "{which:b}: jitter moved");
            assert!(met.1.is_none() || met.1 == expected.1, "{which:b}: reordering moved");
            assert!(met.2.is_none() || met.2 == expected.2, "{which:b}: duplication moved");
            assert!(met.3.is_none() || met.3 == expected.3, "{which:b}: corruption moved");
        }
    }
}

#[test]
fn impairments_with_one_key_are_independent() {
    let mut four = Four::new();
    // One of 16 cells for each packet: late by half or more, held, copied, hit.
    let mut counts = [0; 16];
    for _ in 0..100_000 {
        let (delay, held, copied, hit) = four.meet(0b1111);
        let late = delay.unwrap() >= Duration::from_micros(500);
        let cell = [late, held.unwrap(), copied.unwrap(), hit.unwrap().is_some()];
        counts[cell.iter().fold(0, |cell, &bit| 2 * cell + usize::from(bit))] += 1;
    }
    assert_chi_square("joint distribution", &counts, &[1.0 / 16.0; 16]);
}

#[test]
fn links_with_different_keys_meet_different_patterns() {
    let pattern = |entity| {
        let mut machine = duplicator(entity, 0.5);
        (0..64).map(|_| machine.duplicates()).collect::<Vec<_>>()
    };
    assert_ne!(pattern(1), pattern(2));
}
