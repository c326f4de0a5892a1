//! A seeded random number generator (SplitMix64: Steele, Lea and Flood, 2014). It makes evaluations,
//! benchmarks and tests repeatable to the last digit. The processing of pages does not use it.

/// The state of the generator.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Returns the generator for `seed`.
    #[must_use]
    pub fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the generator for `seed` and `stream`. Each stream, such as the number of a text, has its own
    /// random numbers.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self(seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95));
        random.next_bits();
        random
    }

    /// Returns the next 64 random bits.
    pub fn next_bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Returns a number from 0 to `n` - 1, or 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next_bits()) * n as u128) >> 64) as usize
    }

    /// Returns true with the given probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        ((self.next_bits() >> 11) as f64) < probability * (1_u64 << 53) as f64
    }

    /// Shuffles `items`.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}
