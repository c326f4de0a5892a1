//! Weighted votes on 64 bits, one term at a time. This suits a SimHash of few terms with many different
//! weights; [`BitVotes`](super::bit_votes::BitVotes) suits many terms with few different weights.
//!
//! Cost: about 20 ns per vote. A table gives 8 signs for each byte of the hash, and the loop over them
//! vectorises.

/// The sum of the votes on each of 64 bits.
#[derive(Debug, Clone)]
pub(crate) struct SignedVotes {
    sums: [i32; 64],
}

/// For each byte and each of its bits: 0 if the bit is set, all ones if not. `(w ^ m) - m` is then w or −w.
static MASKS: [[i32; 8]; 256] = {
    let mut masks = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            masks[byte][bit] = (byte >> bit & 1) as i32 - 1;
            bit += 1;
        }
        byte += 1;
    }
    masks
};

impl SignedVotes {
    pub(crate) fn new() -> Self {
        Self { sums: [0; 64] }
    }

    /// Adds `weight` to each sum whose bit is set, and subtracts it from the others. The weights of all votes
    /// must add up to less than 2^31.
    #[inline]
    pub(crate) fn add(&mut self, hash: u64, weight: i32) {
        for (sums, byte) in self.sums.as_chunks_mut::<8>().0.iter_mut().zip(hash.to_le_bytes()) {
            for (sum, mask) in sums.iter_mut().zip(&MASKS[usize::from(byte)]) {
                *sum += (weight ^ mask) - mask;
            }
        }
    }

    /// Returns the hash; bit *j* is 1 iff its sum is positive.
    pub(crate) fn hash(&self) -> u64 {
        self.sums.iter().enumerate().fold(0, |hash, (bit, sum)| hash | u64::from(*sum > 0) << bit)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_adding_bit_by_bit(votes in prop::collection::vec((any::<u64>(), 0..1_000_i32), 0..50)) {
            let mut fast = SignedVotes::new();
            let mut naive = [0_i64; 64];
            for (hash, weight) in votes {
                fast.add(hash, weight);
                for (bit, sum) in naive.iter_mut().enumerate() {
                    *sum += if hash >> bit & 1 == 1 { i64::from(weight) } else { -i64::from(weight) };
                }
            }
            let expected = naive.iter().enumerate().fold(0, |hash, (bit, sum)| hash | u64::from(*sum > 0) << bit);
            prop_assert_eq!(fast.hash(), expected);
        }
    }
}
