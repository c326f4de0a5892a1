//! Generates SimHash fingerprints from a seed, without texts.

use crate::detectors::simhash::{self, ADDRESS_BYTES};
use crate::facts::FACT_BYTES;
use crate::sketch::{BANDS, PASSAGES, Values};
use leitong_base::random::Random;

/// Number of bands in which a near fingerprint differs from its original.
const BANDS_CHANGED: usize = 2;
/// Number of passages in which a near fingerprint differs from its original.
const PASSAGES_CHANGED: usize = 5;
/// Number of value bytes in which a near fingerprint differs from its original.
const VALUE_BYTES_CHANGED: usize = 8;
/// Text size, large enough that the stricter rules for short texts do not apply.
const SIZE: u16 = 3_000;

/// A generator of fingerprints.
#[derive(Debug, Clone)]
pub struct Fingerprints {
    seed: u64,
    /// Probability of each bit being set.
    set: [f64; 64],
}

impl Fingerprints {
    /// Creates a generator that sets every bit with a probability of one half.
    #[must_use]
    pub fn even(seed: u64) -> Self {
        Self { seed, set: [0.5; 64] }
    }

    /// Creates a generator that sets every third bit with a probability of 5 to 90 %, and the others with one
    /// half. This is as skewed as pages of one kind are.
    #[must_use]
    pub fn skewed(seed: u64) -> Self {
        let set = std::array::from_fn(|bit| if bit % 3 == 0 { 0.05 + 0.85 * bit as f64 / 63.0 } else { 0.5 });
        Self { seed, set }
    }

    /// Creates a generator that sets every bit as often as in `examples`, which must not be empty.
    #[must_use]
    pub fn like(seed: u64, examples: &[u64]) -> Self {
        let ones = |bit: usize| examples.iter().filter(|hash| **hash >> bit & 1 == 1).count();
        Self { seed, set: std::array::from_fn(|bit| ones(bit) as f64 / examples.len().max(1) as f64) }
    }

    /// Returns the fingerprint with this number.
    #[must_use]
    pub fn get(&self, number: u64) -> Box<[u8]> {
        let mut random = Random::new(self.seed, number);
        let (hash, values, keys) = self.parts(&mut random);
        simhash::encode(hash, SIZE, &values, [[0; FACT_BYTES]; 3], [0; ADDRESS_BYTES], keys)
    }

    /// Returns a fingerprint near the one with this number, at a distance of `distance` bits.
    #[must_use]
    pub fn near(&self, number: u64, distance: u32) -> Box<[u8]> {
        let mut random = Random::new(self.seed, number);
        let (mut hash, mut values, (mut bands, mut passages)) = self.parts(&mut random);
        let mut flipped = 0_u64;
        while flipped.count_ones() < distance {
            flipped |= 1 << random.below(64);
        }
        hash ^= flipped;
        let changed = bands[..BANDS_CHANGED].iter_mut().chain(&mut passages[..PASSAGES_CHANGED]);
        changed.for_each(|key| *key = random.next_bits() as u32);
        values[..VALUE_BYTES_CHANGED].iter_mut().for_each(|values| *values = random.next_bits() as u8);
        simhash::encode(hash, SIZE, &values, [[0; FACT_BYTES]; 3], [0; ADDRESS_BYTES], (bands, passages))
    }

    fn parts(&self, random: &mut Random) -> (u64, Values, ([u32; BANDS], [u32; PASSAGES])) {
        let hash = if self.set.iter().all(|set| *set == 0.5) {
            random.next_bits()
        } else {
            (0..64).fold(0, |hash, bit| hash | u64::from(random.chance(self.set[bit])) << bit)
        };
        let values = std::array::from_fn::<u64, 4, _>(|_| random.next_bits()).map(u64::to_le_bytes);
        let bands = std::array::from_fn(|_| random.next_bits() as u32);
        let passages = std::array::from_fn(|_| random.next_bits() as u32);
        (hash, *values.as_flattened().first_chunk().expect("4 times 8 bytes"), (bands, passages))
    }
}
