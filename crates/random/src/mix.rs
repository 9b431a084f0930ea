//! The mixing function under every keyed draw.

/// The odd increment of SplitMix64: 2^64 divided by the golden ratio.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of SplitMix64, a bijection in which each input bit moves every output bit with probability near 1/2.
///
/// Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators" (OOPSLA 2014), with the constants of
/// David Stafford's variant 13 of the MurmurHash3 finaliser, as in Vigna's `splitmix64.c`.
#[inline]
pub(crate) const fn finalise(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The upper 53 bits of `draw` as a number in `[0, 1)`: every multiple of 2^-53, equally likely.
#[inline]
pub(crate) fn unit(draw: u64) -> f64 {
    (draw >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_finaliser_gives_splitmix64() {
        // The first outputs of splitmix64.c from state 1234567, as published with its test suites.
        let outputs: Vec<u64> =
            (1..=3).map(|n| finalise(GOLDEN.wrapping_mul(n).wrapping_add(1_234_567))).collect();
        assert_eq!(
            outputs,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn a_unit_lies_below_one() {
        assert_eq!(unit(0), 0.0);
        assert_eq!(unit(u64::MAX), 1.0 - f64::EPSILON / 2.0);
    }
}
