//! A batch of fingerprints, as the index sees them: one vector of values for all of them, so that adding one allocates
//! nothing.

/// Minimum number of values of a batch that is distributed to several cores.
const PARALLEL_MIN: usize = 2_048;

/// Fingerprints as the index sees them. Each has some 64-bit values: its keys, or its bits as the only value.
/// A [second key](leitong_fingerprint::SecondKey) narrows down keys that many centroids of a batch share.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(super) values: Vec<u64>,
    pub(super) ends: Vec<u32>,
    pub(super) seconds: Vec<u64>,
}

impl Batch {
    /// Empties the batch, and keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.ends.clear();
        self.seconds.clear();
    }

    /// Frees the memory that is not needed for this number of fingerprints and values.
    pub(super) fn shrink_to(&mut self, fingerprints: usize, values: usize) {
        self.values.shrink_to(values);
        self.ends.shrink_to(fingerprints);
        self.seconds.shrink_to(fingerprints);
    }

    /// Adds a fingerprint. `push` appends its values to the given vector and returns the second key, or 0 if
    /// there is none.
    pub(crate) fn push(&mut self, push: impl FnOnce(&mut Vec<u64>) -> u64) {
        self.seconds.push(push(&mut self.values));
        self.ends.push(u32::try_from(self.values.len()).expect("fewer than 2^32 keys in a batch"));
    }

    /// Removes the first `count` fingerprints.
    pub(super) fn evict(&mut self, count: usize) {
        let values = count.checked_sub(1).map_or(0, |last| self.ends[last]);
        self.values.drain(..values as usize);
        self.ends.drain(..count);
        self.seconds.drain(..count);
        self.ends.iter_mut().for_each(|end| *end -= values);
    }

    /// Removes and returns the fingerprints from index `at` on.
    pub(super) fn split_off(&mut self, at: usize) -> Self {
        let values = at.checked_sub(1).map_or(0, |last| self.ends[last]);
        let mut ends = self.ends.split_off(at);
        ends.iter_mut().for_each(|end| *end -= values);
        Self { values: self.values.split_off(values as usize), ends, seconds: self.seconds.split_off(at) }
    }

    /// Returns the number of fingerprints.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the values of one fingerprint.
    pub(crate) fn get(&self, number: usize) -> &[u64] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.values[start as usize..self.ends[number] as usize]
    }

    /// Returns the second key of one fingerprint.
    #[inline]
    pub(super) fn second(&self, number: u32) -> u64 {
        self.seconds[number as usize]
    }

    pub(super) fn is_large(&self) -> bool {
        self.values.len() >= PARALLEL_MIN
    }

    /// Returns all values, each with the number of its fingerprint.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        (0..self.len()).flat_map(|number| self.get(number).iter().map(move |value| (number as u32, *value)))
    }
}
