//! Keys: where a draw comes from.

use crate::mix::{GOLDEN, finalise, unit};
use crate::{Purpose, Stream};
use wasp_units::Probability;

/// The origin of a set of draws: a seed, a run, a purpose, and any number of entities, hashed to 128 bits.
///
/// Keys are values: deriving one changes nothing, and equal derivations give equal keys on every machine. The order of
/// derivation matters, `entity(1).entity(2)` is not `entity(2).entity(1)`.
///
/// A draw hashes its index with two rounds of the SplitMix64 finaliser, half of the key entering before the first and
/// half between the two; a derived key is a pair of such hashes under constants of its own. For one key, `draw` is a
/// bijection: no value comes twice, which shows only to a test of some 2^32 draws from one key.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Key {
    outer: u64,
    inner: u64,
}

/// What a derivation step is for, so that purpose 3, entity 3 and draw 3 of a key have nothing in common. The constants
/// are the first digits of pi in hexadecimal, two for each half of the derived key.
#[derive(Clone, Copy)]
struct Domain(u64, u64);

const SEED: Domain = Domain(0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344);
const RUN: Domain = Domain(0xa409_3822_299f_31d0, 0x082e_fa98_ec4e_6c89);
const PURPOSE: Domain = Domain(0x4528_21e6_38d0_1377, 0xbe54_66cf_34e9_0c6c);
const ENTITY: Domain = Domain(0xc0ac_29b7_c97c_50dd, 0x3f84_d5b5_b547_0917);
const NAME: Domain = Domain(0x9216_d5d9_8979_fb1b, 0xd131_0ba6_98df_b5ac);
const STREAM: Domain = Domain(0x2ffd_72db_d01a_dfb7, 0xb8e1_afed_6a26_7e96);

impl Key {
    /// The key of run number `run` of an experiment with this `seed`.
    #[must_use]
    pub const fn root(seed: u64, run: u32) -> Self {
        Self { outer: 0, inner: 0 }.derive(SEED, seed).derive(RUN, run as u64)
    }

    /// The key for one use of randomness.
    #[must_use]
    pub const fn purpose(self, purpose: Purpose) -> Self {
        self.derive(PURPOSE, purpose as u64)
    }

    /// The key of the entity with this number (a client, a connection of a client, a direction of a connection...).
    #[must_use]
    pub const fn entity(self, number: u64) -> Self {
        self.derive(ENTITY, number)
    }

    /// The key of the entity with this name, such as a group of clients; every byte counts.
    #[must_use]
    pub fn name(self, name: &str) -> Self {
        name.as_bytes().chunks(8).fold(self.derive(NAME, name.len() as u64), |key, chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            key.derive(NAME, u64::from_le_bytes(word))
        })
    }

    /// Uniform 64 bits, a function of the key and `index` alone.
    #[inline]
    #[must_use]
    pub const fn draw(self, index: u64) -> u64 {
        finalise(self.first_round(index) ^ self.inner)
    }

    /// A uniform number in `[0, 1)`, a multiple of 2^-53, from the draw at `index`.
    #[inline]
    #[must_use]
    pub fn unit(self, index: u64) -> f64 {
        unit(self.draw(index))
    }

    /// Whether something of this probability happens, from the draw at `index`.
    #[inline]
    #[must_use]
    pub const fn happens(self, index: u64, probability: Probability) -> bool {
        probability.happens(self.draw(index))
    }

    /// A generator for bulk draws. It shares nothing with [`Self::draw`] of the same key.
    #[must_use]
    pub fn stream(self) -> Stream {
        let key = self.derive(STREAM, 0);
        Stream::from_words([key.draw(0), key.draw(1), key.draw(2), key.draw(3)])
    }

    const fn derive(self, domain: Domain, value: u64) -> Self {
        let mixed = self.first_round(value);
        Self {
            outer: finalise(mixed ^ self.inner ^ domain.0),
            inner: finalise(mixed.rotate_left(32).wrapping_add(self.inner) ^ domain.1),
        }
    }

    #[inline]
    const fn first_round(self, value: u64) -> u64 {
        finalise(value.wrapping_mul(GOLDEN).wrapping_add(self.outer))
    }
}
