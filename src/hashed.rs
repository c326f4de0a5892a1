//! Hash tables whose keys come from pages.
//!
//! The hashes of terms, paragraphs and blocks are published and fixed permanently, since
//! fingerprints are made of them. So whoever writes a page could choose its words such that all
//! fall into one slot of a table that takes a hash for a place: 130,000 of them once took three
//! minutes. Hence a key's place is its hash mixed with a [`Seed`] that is drawn once per process
//! and that no page can know.
//!
//! Invariant: nothing but time depends on the seed. Tables are asked by key; who
//! wants all entries sorts them or keeps them in order of first occurrence, and
//! never sees the order of the table. Cost: two multiplications per look-up.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher};
use std::sync::LazyLock;

/// A map whose keys are well-mixed hashes already.
pub(crate) type HashedMap<V> = HashMap<u64, V, Seed>;
/// A set of such keys.
pub(crate) type HashedSet = HashSet<u64, Seed>;

/// What decides where keys stand in the tables of this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seed {
    /// Of each round.
    masks: [u64; 2],
    factors: [u64; 2],
}

impl Seed {
    fn of([mask, factor, mask_2, factor_2]: [u64; 4]) -> Self {
        // Odd factors, so that no hash is lost to a factor of two.
        Self { masks: [mask, mask_2], factors: [factor | 1, factor_2 | 1] }
    }

    /// A number that is as good a place for `hash` as any other, and different in each process.
    #[inline]
    pub(crate) fn place(self, hash: u64) -> u64 {
        // Both halves of the product count: of the lower one alone, the last bits would depend on
        // few bits of the hash, and hashes that differ in their first bits only would fall into one
        // slot under every seed. After one round, evenly spaced hashes still crowd under one seed
        // in two hundred; after two under none of a thousand.
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
            reason = "the one seed there is; the module says why it decides nothing"
        )]
        static OF_PROCESS: LazyLock<Seed> = LazyLock::new(|| {
            let random = RandomState::new();
            Seed::of([0, 1, 2, 3].map(|number: u64| random.hash_one(number)))
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

/// The place of one `u64` key.
#[derive(Debug)]
pub(crate) struct SeededKey {
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

/// The longest row of taken slots in a table of open addressing: how far a look-up may have to go.
#[cfg(test)]
pub(crate) fn longest_row(taken: impl Iterator<Item = bool>) -> usize {
    let (mut row, mut longest) = (0, 0);
    for taken in taken {
        row = if taken { row + 1 } else { 0 };
        longest = longest.max(row);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys that are alike in their last or first bits, or evenly
    /// spaced, spread over a table as random ones do, whatever the seed.
    #[test]
    fn crafted_keys_spread() {
        let shapes: [fn(u64) -> u64; 5] =
            [|n| n << 40, |n| n << 50, |n| n, |n| n.wrapping_mul(0x1_0000_0001), |n| n << 20 | 0xfffff];
        for number in 0..60_u64 {
            let odd = |n: u64| (4 * number + n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
            let mixed = |n: u64| odd(n).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ odd(n) >> 31;
            let seed = if number == 0 { Seed::default() } else { Seed::of([0, 1, 2, 3].map(mixed)) };
            for (shape, key) in shapes.iter().enumerate() {
                let mut taken = vec![false; 1 << 14];
                let mut collisions = 0;
                for n in 0..1 << 12 {
                    let slot = (seed.place(key(n)) & 0x3fff) as usize;
                    collisions += usize::from(std::mem::replace(&mut taken[slot], true));
                }
                // Of random keys at a quarter's load, one in
                // nine meets another: 472, give or take 22.
                assert!(collisions < 700, "{seed:?}, shape {shape}: {collisions} collisions");
            }
        }
    }
}
