//! Keys that find all hashes within a Hamming distance. Hashes are split into blocks; two hashes at most *d*
//! bits apart agree within r_i bits in at least one block *i*, where Σ(r_i + 1) = d + 1. Otherwise they would
//! differ in at least Σ(r_i + 1) bits.
//!
//! Hashes of 64 bits have four blocks of 16. Hashes of 128 bits have four of 32 for d ≤ 3, where all radii
//! are 0, and otherwise eight of 16.

/// The blocks of a hash and their radii.
#[derive(Debug)]
pub(crate) struct Blocks {
    block_bits: u32,
    /// For each block, the masks that XOR a value to every value within its radius (a Hamming ball). Empty if
    /// the block need not be probed.
    masks: Vec<Vec<u16>>,
}

impl Blocks {
    /// Creates the blocks for hashes of `bits` bits, of which at most `max_distance` differ in two matching
    /// hashes.
    pub(crate) fn new(bits: u32, max_distance: u32) -> Self {
        let block_bits = if bits == 128 && max_distance <= 3 { 32 } else { 16 };
        let blocks = bits / block_bits;
        let masks = (0..blocks).map(|block| {
            let share = (max_distance + 1) / blocks + u32::from(block < (max_distance + 1) % blocks);
            match share.checked_sub(1) {
                None => Vec::new(),
                Some(0) => vec![0],
                Some(radius) => (0..=u16::MAX).filter(|mask| mask.count_ones() <= radius).collect(),
            }
        });
        Self { block_bits, masks: masks.collect() }
    }

    /// Adds one key per block; hashes of 64 bits are in the upper half.
    pub(crate) fn insert_keys(&self, hash: u128, keys: &mut Vec<u64>) {
        keys.extend((0..self.masks.len() as u32).map(|block| key(block, self.value(hash, block))));
    }

    /// Adds the keys of all values within the radius of each block.
    pub(crate) fn probe_keys(&self, hash: u128, keys: &mut Vec<u64>) {
        for (block, masks) in (0..).zip(&self.masks) {
            let value = self.value(hash, block);
            keys.extend(masks.iter().map(|mask| key(block, value ^ u32::from(*mask))));
        }
    }

    /// Returns a block's value; block 0 holds the upper bits.
    fn value(&self, hash: u128, block: u32) -> u32 {
        let shifted = hash >> (128 - self.block_bits * (block + 1));
        (shifted & ((1 << self.block_bits) - 1)) as u32
    }
}

fn key(block: u32, value: u32) -> u64 {
    u64::from(block) << 32 | u64::from(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn hashes_within_the_distance_share_a_key(
            hash: u128, wide: bool, max_distance in 0_u32..=20, changed in prop::collection::vec(0_u32..64, 20),
        ) {
            let bits = if wide { 128 } else { 64 };
            let hash = if wide { hash } else { hash & !u128::from(u64::MAX) };
            let upper = changed.iter().map(|bit| 127 - bit * (bits / 64));
            let other = upper.take(max_distance as usize).fold(hash, |hash, bit| hash ^ 1 << bit);
            let blocks = Blocks::new(bits, max_distance);
            let (mut inserted, mut probed) = (vec![], vec![]);
            blocks.insert_keys(other, &mut inserted);
            blocks.probe_keys(hash, &mut probed);
            prop_assert!(inserted.iter().any(|key| probed.contains(key)));
        }
    }
}
