//! Golden values: the draws of published results. They were computed by an independent program from the definition in
//! `Key`'s documentation, and hold on every machine. A change here changes every result.

use rand_core::Rng;
use wasp_random::{Key, Purpose};

fn connection() -> Key {
    Key::root(1, 0).purpose(Purpose::Loss).entity(17).entity(3)
}

#[test]
fn draws_are_portable() {
    let root = Key::root(1, 0);
    assert_eq!(
        [0, 1, 2].map(|index| root.draw(index)),
        [0x9fe7_69ae_94a0_c2c7, 0x8fb7_4ee6_c411_09e1, 0x9a55_cdc9_b1eb_ba9f]
    );
    assert_eq!(
        [0, 1, u64::MAX].map(|index| connection().draw(index)),
        [0x7522_836a_5224_d723, 0xa256_056c_e6cd_498b, 0xe133_8ced_9c9d_7191]
    );
    assert_eq!(Key::root(u64::MAX, u32::MAX).draw(0), 0x6821_911c_9dd2_10a7);
}

#[test]
fn names_are_portable() {
    assert_eq!(Key::root(1, 0).name("homes of users").draw(0), 0x0101_d58c_8434_dd62);
}

#[test]
fn streams_are_portable() {
    let mut stream = connection().stream();
    assert_eq!(
        [(); 3].map(|()| stream.next_u64()),
        [0xf60f_ed04_d6ca_dede, 0x18d2_1edd_725e_2882, 0x59c4_5818_5527_d518]
    );
}

#[test]
fn distributions_are_portable() {
    let mut stream = connection().stream();
    assert_eq!([(); 3].map(|()| stream.below(1_000)), [961, 96, 350]);
    assert_eq!(stream.unit().to_bits(), 0x3fee_0bae_6271_9eee);
    assert_eq!(
        [(); 3].map(|()| stream.exponential(1.0).to_bits()),
        [0x3ff2_beda_ca79_d352, 0x3ff0_b830_a4ef_b9c3, 0x3fc9_e8fc_14c5_5c3e]
    );
}

#[test]
fn purposes_keep_their_numbers() {
    use Purpose::*;
    let numbers = [
        (Loss, 1),
        (Start, 2),
        (InitialSequence, 3),
        (Port, 4),
        (TimestampOffset, 5),
        (Request, 6),
        (Think, 7),
        (Identification, 8),
        (TimerPhase, 9),
        (Jitter, 10),
        (Duplication, 11),
        (Corruption, 12),
        (Queue, 13),
        (FileSize, 14),
        (Popularity, 15),
        (Arrival, 16),
        (Server, 17),
        (Sample, 18),
        (Topology, 19),
    ];
    for (purpose, number) in numbers {
        assert_eq!(purpose as u32, number, "{purpose:?}");
    }
}

#[test]
fn a_stream_serves_rand_core() {
    let (mut direct, mut generic) = (connection().stream(), connection().stream());
    let drawn: &mut dyn Rng = &mut generic;
    assert_eq!(direct.next_u64(), drawn.next_u64());
    let mut bytes = [0; 8];
    drawn.fill_bytes(&mut bytes);
    assert_eq!(direct.next_u64(), u64::from_le_bytes(bytes));
}

#[test]
fn inverted_distributions_are_portable() {
    let numbers = [0, 1, u64::MAX].map(|index| (connection().normal(index), connection().pareto(index, 3.0)));
    let bits = numbers.map(|(normal, pareto)| (normal.to_bits(), pareto.to_bits()));
    assert_eq!(
        bits,
        [
            (0xbfbb_495b_7e35_b317, 0x3ff3_9e5f_0b35_060d),
            (0x3fd5_f06a_4e96_f0fd, 0x3ff6_5ed9_59c2_db94),
            (0x3ff2_c676_5dcd_47fc, 0x4000_3494_7baa_9baa),
        ]
    );
}
