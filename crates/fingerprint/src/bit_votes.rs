//! Counts how many words have each bit set, for all 64 bits at once.
//!
//! The counters are stored as bit planes: plane *k* holds bit *k* of all 64 counters. Adding a word is a
//! chain of half adders, two steps long on average: some 5 instructions per term of a SimHash, where adding
//! to 64 sums takes 200.

/// Counters for 64 bits.
#[derive(Debug, Clone, Default)]
pub(crate) struct BitVotes {
    /// Bit planes, enough for 2^32 words.
    planes: [u64; 32],
    /// Number of planes in use.
    used: usize,
    words: u32,
}

impl BitVotes {
    /// Counts the set bits of one word.
    #[inline]
    pub(crate) fn add(&mut self, word: u64) {
        self.words += 1;
        let mut carry = word;
        let mut plane = 0;
        while carry != 0 {
            let sum = self.planes[plane] ^ carry;
            carry &= self.planes[plane];
            self.planes[plane] = sum;
            plane += 1;
        }
        self.used = self.used.max(plane);
    }

    /// Adds `weight` to each sum for every word that has its bit set, and subtracts it for every other word.
    pub(crate) fn add_weighted(&self, weight: i64, sums: &mut [i64; 64]) {
        for (bit, sum) in sums.iter_mut().enumerate() {
            let set =
                self.planes[..self.used].iter().rev().fold(0, |set, plane| set << 1 | (plane >> bit & 1));
            *sum += weight * (2 * set as i64 - i64::from(self.words));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_adding_to_64_sums(words in prop::collection::vec(any::<u64>(), 0..200), weight in 0_i64..1_000_000) {
            let mut votes = BitVotes::default();
            let mut naive = [5_i64; 64];
            for &word in &words {
                votes.add(word);
                for (bit, sum) in naive.iter_mut().enumerate() {
                    *sum += if word >> bit & 1 == 1 { weight } else { -weight };
                }
            }
            let mut sums = [5_i64; 64];
            votes.add_weighted(weight, &mut sums);
            prop_assert_eq!(sums, naive);
        }
    }
}
