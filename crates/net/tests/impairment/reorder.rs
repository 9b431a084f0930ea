//! Reordering: exact places, release by time.

use super::{assert_share, key};
use proptest::prelude::*;
use wasp_net::{Pass, Released, Reorder, Reorderer};
use wasp_units::{Duration, Instant, Probability};

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn reorder(share: &str, distance: u32) -> Reorder {
    Reorder { share: share.parse().unwrap(), distance, ..Reorder::default() }
}

/// Sends a packet a millisecond and returns the order of arrival, those still held at the end left out.
fn arrivals(machine: &mut Reorderer<u64>, distance: u32, packets: u64) -> Vec<u64> {
    let mut arrived = Vec::new();
    for number in 0..packets {
        if machine.pass(number, at(number)) == Pass::Go {
            arrived.push(number);
        }
        while let Some(held) = machine.release(at(number)) {
            assert_eq!(held.overtaken_by, u64::from(distance));
            arrived.push(held.handle);
        }
    }
    arrived
}

/// How many packets that were sent later arrived before the one at `place`.
fn overtaken_by(arrived: &[u64], place: usize) -> usize {
    arrived[..place].iter().filter(|number| **number > arrived[place]).count()
}

#[test]
fn a_lone_held_packet_arrives_exactly_its_distance_late() {
    for distance in [1, 3, 10] {
        let mut machine = Reorderer::new(reorder("1%", distance), key(1));
        let arrived = arrivals(&mut machine, distance, 10_000);
        let places: Vec<usize> =
            (0..arrived.len()).filter(|&place| overtaken_by(&arrived, place) > 0).collect();
        assert!(places.len() > 50, "{places:?}");
        let mut lone = 0;
        for place in places {
            // Alone if all that it was sent before, and no other, arrived between its place and its neighbours.
            let number = arrived[place];
            let alone = (1..=u64::from(distance))
                .all(|n| arrived[place - n as usize] == number + u64::from(distance) + 1 - n);
            if alone {
                lone += 1;
                assert_eq!(place as u64, number + u64::from(distance));
            }
        }
        assert!(lone > 50, "{lone}");
    }
}

#[test]
fn the_share_is_held() {
    let mut machine = Reorderer::new(reorder("2%", 3), key(2));
    let held = (0..100_000).filter(|&number| machine.pass(number, Instant::ZERO) == Pass::Hold).count();
    assert_share("held", held, 100_000, 0.02);
}

#[test]
fn a_packet_that_nobody_follows_is_released_when_its_time_is_over() {
    let wait = Duration::from_millis(30);
    let mut machine = Reorderer::new(Reorder { share: Probability::ONE, distance: 3, wait }, key(4));
    assert_eq!(machine.deadline(), None);
    assert_eq!(machine.pass('a', at(10)), Pass::Hold);
    assert_eq!(machine.pass('b', at(20)), Pass::Hold);
    assert_eq!(machine.deadline(), Some(at(40)));
    assert_eq!(machine.release(Instant::from_nanos(39_999_999)), None);
    assert_eq!(machine.release(at(40)), Some(Released { handle: 'a', overtaken_by: 0 }));
    assert_eq!(machine.release(at(40)), None);
    assert_eq!(machine.deadline(), Some(at(50)));
    assert_eq!(machine.release(at(60)), Some(Released { handle: 'b', overtaken_by: 0 }));
    assert_eq!(machine.deadline(), None);
}

#[test]
fn the_default_holds_nothing_back() {
    let mut machine = Reorderer::new(Reorder::default(), key(5));
    assert_eq!(arrivals(&mut machine, 3, 1_000), (0..1_000).collect::<Vec<_>>());
}

proptest! {
    #[test]
    fn every_packet_arrives_once_and_those_overtaken_exactly_their_distance_late(
        entity in any::<u64>(), share in 0..=50_u32, distance in 1..20_u32, packets in 1..400_u64,
    ) {
        let share = Probability::from_f64(f64::from(share) / 100.0).unwrap();
        // Longer than the stream: only overtaking releases.
        let config = Reorder { share, distance, wait: Duration::from_secs(100) };
        prop_assert_eq!(config.check(), Ok(()));
        let mut machine = Reorderer::new(config, key(entity));
        let mut arrived = arrivals(&mut machine, distance, packets);
        let released = arrived.len();
        for place in 0..released {
            let late = overtaken_by(&arrived, place);
            prop_assert!(late == 0 || late == distance as usize, "{} is {} late", arrived[place], late);
        }
        let late: Vec<u64> = (0..released).filter(|&place| overtaken_by(&arrived, place) > 0).map(|place| arrived[place]).collect();
        prop_assert!(late.is_sorted());
        while let Some(deadline) = machine.deadline() {
            let waited = machine.release(deadline).expect("its time is over");
            prop_assert!(waited.overtaken_by < u64::from(distance));
            arrived.push(waited.handle);
        }
        prop_assert!(arrived[released..].is_sorted());
        arrived.sort_unstable();
        prop_assert_eq!(arrived, (0..packets).collect::<Vec<_>>());
    }

    #[test]
    fn no_packet_is_held_longer_than_its_wait(entity in any::<u64>(), gaps in prop::collection::vec(0..40_u64, 1..200), wait in 1..50_u64) {
        let config = Reorder { share: Probability::from_f64(0.3).unwrap(), distance: 4, wait: Duration::from_millis(wait) };
        let mut machine = Reorderer::new(config, key(entity));
        let mut now = 0;
        let mut out = 0;
        for gap in &gaps {
            // The timer comes before the packet.
            let next = now + gap;
            while let Some(deadline) = machine.deadline().filter(|deadline| *deadline <= at(next)) {
                let sent: Released<u64> = machine.release(deadline).expect("its time is over");
                prop_assert_eq!(at(sent.handle + wait), deadline);
                out += 1;
            }
            now = next;
            out += usize::from(machine.pass(now, at(now)) == Pass::Go);
            while let Some(sent) = machine.release(at(now)) {
                prop_assert!(now - sent.handle <= wait);
                out += 1;
            }
        }
        while machine.release(Instant::MAX).is_some() {
            out += 1;
        }
        prop_assert_eq!(out, gaps.len());
    }
}
