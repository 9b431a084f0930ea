use super::{Case, Cases, check};
use proptest::prelude::*;
use wasp_net::{Fate, Fates};
use wasp_random::Key;

/// Fates of no packet here: there are neither devices nor modelled servers, and too few packets for 4 MiB of fragments.
const ELSEWHERE: [Fate; 4] =
    [Fate::DeviceFull, Fate::AcceptQueueFull, Fate::SynQueueFull, Fate::ReassemblyFull];
const INPUTS: u32 = 600;

/// Random bytes; each number has its own.
fn bytes(number: u32) -> Vec<u8> {
    let key = Key::root(2026, number);
    (0..6_000).map(|place| key.draw(place) as u8).collect()
}

#[test]
fn packets_meet_every_fate_and_every_case() {
    let (mut built, mut fates, mut cases) = (0, Fates::default(), Cases::default());
    for checked in (0..INPUTS).filter_map(|number| check(&bytes(number))) {
        built += 1;
        fates.merge(&checked.fates);
        cases += checked.cases;
    }
    assert!(built > INPUTS * 3 / 4, "{built} networks could be built");
    for fate in Fate::ALL {
        assert_eq!(fates.get(fate) > 0, !ELSEWHERE.contains(&fate), "{fate}: {fates:?}");
    }
    for case in Case::ALL {
        assert!(cases.get(case) > 50, "{case:?}: {cases:?}");
    }
}

proptest! {
    #[test]
    fn the_account_holds_in_any_internetwork(bytes in prop::collection::vec(any::<u8>(), 0..3_000)) {
        let _ = check(&bytes);
    }
}
