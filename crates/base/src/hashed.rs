//! Hash tables for keys that come from pages, safe against pages that are made to collide.
//!
//! Hashes of terms, paragraphs and blocks are published and never change, because fingerprints are built from
//! them. If a table used such a hash directly as a slot number, the author of a page could choose words that
//! all fall into one slot: 130,000 such words would take three minutes. Therefore the slot is the hash mixed
//! with a [`Seed`]. The seed is drawn once per process, so no page can know it.
//!
//! Invariant: the seed affects running time and nothing else. Tables are only looked up by key. Code that
//! needs all entries sorts them or keeps them in order of first occurrence, and never iterates in table
//! order. Cost: two multiplications per look-up.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher};
use std::sync::LazyLock;

/// A map whose keys are already well-mixed hashes.
pub type HashedMap<V> = HashMap<u64, V, Seed>;
/// A set whose elements are already well-mixed hashes.
pub type HashedSet = HashSet<u64, Seed>;

/// The random numbers that determine the slot of each key in the tables of this process.
#[derive(Debug, Clone, Copy)]
pub struct Seed {
    /// One mask for each of the two rounds of mixing.
    masks: [u64; 2],
    /// One odd factor for each round.
    factors: [u64; 2],
}

impl Seed {
    fn from_numbers([mask, factor, mask_2, factor_2]: [u64; 4]) -> Self {
        // Factors are odd: multiplying by an even number would map different hashes to one product.
        Self { masks: [mask, mask_2], factors: [factor | 1, factor_2 | 1] }
    }

    /// Mixes `hash` into a slot number. Every slot is equally likely, and the result differs between
    /// processes.
    #[inline]
    pub fn place(self, hash: u64) -> u64 {
        // Combine both halves of the product. The lower half's last bits depend on few bits of the hash: if
        // it were used without the upper half, hashes that differ only in their first bits would share a slot
        // under every seed. Two rounds are needed: after one, evenly spaced hashes still cluster under one
        // seed in two hundred; after two, under none of a thousand.
        let round = |hash: u64, number: usize| {
            let product = u128::from(hash ^ self.masks[number]) * u128::from(self.factors[number]);
            product as u64 ^ (product >> 64) as u64
        };
        round(round(hash, 0), 1)
    }
}

impl Default for Seed {
    fn default() -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "the only random seed; the module header explains why no result depends on it"
        )]
        static OF_PROCESS: LazyLock<Seed> = LazyLock::new(|| {
            let random = RandomState::new();
            Seed::from_numbers([0, 1, 2, 3].map(|number: u64| random.hash_one(number)))
        });
        *OF_PROCESS
    }
}

impl BuildHasher for Seed {
    type Hasher = SeededKey;

    #[inline]
    fn build_hasher(&self) -> SeededKey {
        SeededKey { seed: *self, place: 0 }
    }
}

/// A hasher for a single `u64` key. Its result is the key's slot number.
#[derive(Debug)]
pub struct SeededKey {
    seed: Seed,
    place: u64,
}

impl Hasher for SeededKey {
    fn finish(&self) -> u64 {
        self.place
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are written as u64");
    }

    #[inline]
    fn write_u64(&mut self, key: u64) {
        self.place = self.seed.place(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys that agree in their first or last bits, and evenly spaced keys, must spread over a table as
    /// random keys do, under every seed.
    #[test]
    fn crafted_keys_spread_like_random_keys() {
        let shapes: [fn(u64) -> u64; 5] =
            [|n| n << 40, |n| n << 50, |n| n, |n| n.wrapping_mul(0x1_0000_0001), |n| n << 20 | 0xfffff];
        for number in 0..60_u64 {
            let odd = |n: u64| (4 * number + n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
            let mixed = |n: u64| odd(n).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ odd(n) >> 31;
            let seed =
                if number == 0 { Seed::default() } else { Seed::from_numbers([0, 1, 2, 3].map(mixed)) };
            for (shape, key) in shapes.iter().enumerate() {
                let mut taken = vec![false; 1 << 14];
                let mut collisions = 0;
                for n in 0..1 << 12 {
                    let slot = (seed.place(key(n)) & 0x3fff) as usize;
                    collisions += usize::from(std::mem::replace(&mut taken[slot], true));
                }
                // With random keys at a quarter of the capacity, one key in nine collides: 472, give or take
                // 22.
                assert!(collisions < 700, "{seed:?}, shape {shape}: {collisions} collisions");
            }
        }
    }
}
