//! Hashes of a text's windows: runs of units whose sizes add up to a given size.
//!
//! Cost: a rolling hash, one or two multiplications per unit.

use leitong_base::mix::mix;

/// Odd multiplier of the rolling hash: the golden ratio in 64 bits.
pub(super) const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// The last units of a text, with a rolling hash: the hash of units u₁ … uₙ is Σ uᵢ·Bⁿ⁻ⁱ, modulo 2⁶⁴.
#[derive(Default)]
pub(super) struct Window<const SIZE: u32> {
    /// A ring of the last units. For each unit: the hash of all units before it, and its size.
    units: [(u64, u32); RING],
    /// Number of units so far.
    end: usize,
    /// Number of units that have left the window.
    start: usize,
    /// The sum of the sizes in the window.
    size: u32,
    /// Hash of all units so far.
    hash: u64,
    pub(super) total_size: u64,
}

/// A power of two that no window exceeds: units have a size of at least 1, and the largest window size in use
/// is 9.
const RING: usize = 16;

/// Bⁿ for the lengths that a window may have.
const POWERS: [u64; RING] = {
    let mut powers = [1_u64; RING];
    let mut n = 1;
    while n < powers.len() {
        powers[n] = powers[n - 1].wrapping_mul(MULTIPLIER);
        n += 1;
    }
    powers
};

impl<const SIZE: u32> Window<SIZE> {
    /// Adds a unit; calls `shingle` with the hash of the window that ends with it, if there is one.
    #[inline]
    pub(super) fn push(&mut self, unit: u64, size: u32, shingle: &mut impl FnMut(u64)) {
        self.units[self.end % RING] = (self.hash, size);
        self.end += 1;
        self.size += size;
        self.total_size += u64::from(size);
        self.hash = self.hash.wrapping_mul(MULTIPLIER).wrapping_add(unit.wrapping_add(1));
        if self.size < SIZE {
            return;
        }
        let before = self.units[self.start % RING].0;
        let length = self.end - self.start;
        shingle(mix(self.hash.wrapping_sub(before.wrapping_mul(POWERS[length % RING]))));
        // Keep the longest tail that is not yet a shingle.
        while self.size >= SIZE {
            self.size -= self.units[self.start % RING].1;
            self.start += 1;
        }
    }
}
