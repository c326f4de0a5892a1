//! The centroids that records of the current batch have founded. The index inserts them all at once after the
//! batch, so until then they can only be found here.
//!
//! Records are looked up here one by one, in order, on one core. A batch of one record needs none of this.

use crate::index::{Batch, spread};
use leitong_base::hashed::HashedMap;
use leitong_fingerprint::SecondKey;

/// Number of fingerprints whose memory is kept between batches: as many as a large batch has.
const FINGERPRINTS_KEPT: usize = 1 << 13;
/// Number of values whose memory is kept between batches: 32 keys for each of [`FINGERPRINTS_KEPT`].
const VALUES_KEPT: usize = FINGERPRINTS_KEPT * 32;

/// The fingerprints, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Recent {
    /// The keys of the fingerprints.
    pub(super) values: Batch,
    /// For each key, the numbers of the fingerprints that have it, among the first `entered` ones.
    by_key: HashedMap<Vec<u32>>,
    /// Number of fingerprints that are in `by_key`.
    entered: usize,
}

impl Recent {
    /// Removes all fingerprints. Keeps only the memory that a batch needs: while a table was restored, there may have
    /// been a hundred times as many fingerprints.
    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.values.shrink_to(FINGERPRINTS_KEPT, VALUES_KEPT);
        self.by_key.clear();
        self.entered = 0;
    }

    /// Returns the numbers of those fingerprints that may be near one with these values and this second key,
    /// each once.
    pub(super) fn find(&mut self, values: &[u64], second: u64, second_key: Option<SecondKey>) -> Vec<u32> {
        for number in self.entered..self.values.len() {
            for key in self.values.get(number) {
                self.by_key.entry(spread(*key)).or_default().push(number as u32);
            }
        }
        self.entered = self.values.len();
        let Self { values: batch, by_key, .. } = &*self;
        let under = |key: &u64| {
            let is_wide = key & SecondKey::WIDE != 0;
            let max_distance = second_key.map_or(64, |second| second.distance_under(is_wide));
            let numbers = by_key.get(&spread(*key)).into_iter().flatten().copied();
            numbers.filter(move |number| (batch.second(*number) ^ second).count_ones() <= max_distance)
        };
        // Pages of one template share most keys, so this is faster than sorting.
        let mut is_found = vec![false; self.values.len()];
        values.iter().flat_map(under).for_each(|number| is_found[number as usize] = true);
        (0..).zip(is_found).filter_map(|(number, is_found)| is_found.then_some(number)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_a_restore_is_freed() {
        let mut recent = Recent::default();
        for round in 0..2 {
            for number in 0..10 * FINGERPRINTS_KEPT {
                recent.values.push(|values| {
                    values.extend([number as u64; 32]);
                    0
                });
            }
            recent.clear();
            let Batch { values, ends, seconds } = &recent.values;
            assert!(values.capacity() <= VALUES_KEPT, "{} values in round {round}", values.capacity());
            assert!(ends.capacity().max(seconds.capacity()) <= FINGERPRINTS_KEPT);
        }
    }
}
