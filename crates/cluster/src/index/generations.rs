//! The index of a table, in generations that are dropped as a whole.
//!
//! ```text
//! table all in memory      one generation; the oldest centroid is taken out under each of its keys
//! old centroids on disk    │ block 3 │ block 4 │ 5 …     a generation for each block's centroids
//! ```
//! When a block of centroids leaves memory after it was written to disk, its generation is dropped. That is
//! one operation instead of one for each key (15 with the default detector) of each centroid. Only the
//! youngest generation, which is small, gets insertions. A look-up searches all generations, two or three. Until
//! its generation is dropped, an entry may name a centroid that has left. The caller then finds nothing under
//! that number.
//!
//! Measurements: `docs/adr/0023-old-centroids-on-disk.md`.

use std::collections::VecDeque;

use super::batch::{Batch, Hit, MAX_SHARDS, for_each_shard, gather};
use super::keys::KeyShard;

/// The index of one table.
#[derive(Debug)]
pub(crate) struct Generations {
    shards: usize,
    /// Number of centroids per generation; generations end at multiples of it. `None` if there is only one
    /// generation.
    length: Option<u64>,
    /// The generations, oldest first; never empty.
    all: VecDeque<Generation>,
}

#[derive(Debug)]
struct Generation {
    shards: Vec<KeyShard>,
    /// The number of the first centroid.
    first: u64,
    /// The number after that of the last centroid so far.
    end: u64,
}

impl Generations {
    /// Creates an index without centroids, with this number of shards, rounded up to a power of two, at most
    /// [`MAX_SHARDS`]. The first centroid will have the number `first`.
    pub(crate) fn new(shards: usize, length: Option<u64>, first: u64) -> Self {
        let shards = shards.clamp(1, MAX_SHARDS).next_power_of_two();
        Self { shards, length, all: VecDeque::from([Generation::new(shards, first)]) }
    }

    /// Finds the slots that may be near each fingerprint of `queries`. Whenever very many hits have gathered,
    /// `keep` takes those it wants, on the core that walks the index. The remaining hits are added to `hits`,
    /// some more than once. Returns what each core kept.
    pub(crate) fn find<K: Default + Send>(
        &self,
        queries: &Batch,
        hits: &mut Vec<Hit>,
        keep: impl Fn(&mut Vec<Hit>, &mut K) + Sync,
    ) -> Vec<K> {
        let mut kept = Vec::new();
        for generation in &self.all {
            kept.extend(gather(&generation.shards, queries, hits, &keep, KeyShard::find));
        }
        kept
    }

    /// Inserts the fingerprints of `batch` under the numbers from `first` on.
    pub(crate) fn insert(&mut self, first: u64, batch: &mut Batch) {
        let Some(length) = self.length else {
            return self.youngest(first).insert(first, batch);
        };
        let mut first = first;
        while batch.len() as u64 > length - first % length {
            let rest = batch.split_off((length - first % length) as usize);
            self.youngest(first).insert(first, batch);
            first += batch.len() as u64;
            *batch = rest;
        }
        self.youngest(first).insert(first, batch);
    }

    /// Returns the slots that were inserted since the last call under a key that very many slots share, some more than
    /// once.
    pub(crate) fn take_crowded(&mut self) -> Vec<u32> {
        let shards = self.all.iter_mut().flat_map(|generation| &mut generation.shards);
        shards.flat_map(KeyShard::take_crowded).collect()
    }

    /// Returns true if very many slots of one generation share a key.
    pub(crate) fn is_crowded(&self, key: u64) -> bool {
        self.shards().any(|shard| shard.is_crowded(key))
    }

    /// Returns all slots under a key, and some others.
    pub(crate) fn all(&self, key: u64) -> Vec<u32> {
        self.shards().flat_map(|shard| shard.all(key)).collect()
    }

    /// Returns the generation for the next centroid, number `first`. Creates it if the last one is complete.
    fn youngest(&mut self, first: u64) -> &mut Generation {
        let ended = |last: &Generation| {
            last.first < last.end && self.length.is_some_and(|length| last.first / length < first / length)
        };
        if self.all.back().is_some_and(ended) {
            self.all.push_back(Generation::new(self.shards, first));
        }
        self.all.back_mut().expect("there is always one")
    }

    /// Returns the number of centroids that [`Self::drop_before`] drops at once. `None` if they must be
    /// [removed](Self::remove) one by one.
    pub(crate) fn block_length(&self) -> Option<u64> {
        self.length
    }

    /// Removes `slot`, the oldest one, which was inserted with the only fingerprint of `batch`.
    pub(crate) fn remove(&mut self, slot: u32, batch: &Batch) {
        let shards = self.all.iter_mut().flat_map(|generation| &mut generation.shards);
        shards.for_each(|shard| shard.remove(slot, batch));
    }

    /// Drops the generations whose centroids all have numbers below `first`.
    pub(crate) fn drop_before(&mut self, first: u64) {
        while self.all.len() > 1 && self.all[0].end <= first {
            self.all.pop_front();
        }
    }

    /// Returns the bytes of memory in use.
    pub(crate) fn bytes(&self) -> usize {
        self.shards().map(KeyShard::bytes).sum()
    }

    fn shards(&self) -> impl Iterator<Item = &KeyShard> {
        self.all.iter().flat_map(|generation| &generation.shards)
    }
}

impl Generation {
    fn new(shards: usize, first: u64) -> Self {
        let shards = (0..shards).map(|number| KeyShard::new(number, shards)).collect();
        Self { shards, first, end: first }
    }

    fn insert(&mut self, first: u64, batch: &Batch) {
        // Centroids before `first` may have left the table before they were inserted.
        if self.first == self.end {
            self.first = first;
        }
        for_each_shard(&mut self.shards, batch, |shard| shard.insert(first as u32, batch));
        self.end = first + batch.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the slots under each key.
    fn found(generations: &Generations, keys: u64) -> Vec<Vec<u32>> {
        let one = |key: u64| {
            let (mut queries, mut hits) = (Batch::default(), Vec::new());
            queries.push(|values| {
                values.push(key);
                0
            });
            generations.find(&queries, &mut hits, |_, _: &mut ()| {});
            let mut slots: Vec<u32> = hits.into_iter().map(Hit::slot).collect();
            slots.sort_unstable();
            slots
        };
        (0..keys).map(one).collect()
    }

    proptest! {
        /// Batches of any length, generations of any length, and centroids that leave: remaining centroids
        /// are found as in a single index, and the others leave with their generation.
        #[test]
        fn finds_the_same_as_a_single_index(
            begin in 0..70_u64,
            steps in prop::collection::vec((prop::collection::vec(0..9_u64, 0..50), 0..40_u64), 1..20),
        ) {
            let length = 32;
            let mut whole = Generations::new(4, None, begin);
            let mut cut = Generations::new(4, Some(length), begin);
            let (mut first, mut end) = (begin, begin);
            for (keys, gone) in steps {
                let mut batch = Batch::default();
                for key in &keys {
                    batch.push(|values| { values.push(*key); 0 });
                }
                whole.insert(end, &mut batch);
                cut.insert(end, &mut batch);
                end += keys.len() as u64;
                first = (first + gone).min(end);
                cut.drop_before(first);
                let alive = |mut slots: Vec<Vec<u32>>| {
                    slots.iter_mut().for_each(|slots| slots.retain(|slot| u64::from(*slot) >= first));
                    slots
                };
                prop_assert_eq!(alive(found(&cut, 9)), alive(found(&whole, 9)));
                let oldest = found(&cut, 9).into_iter().flatten().min().map_or(first, u64::from);
                prop_assert!(oldest >= first / length * length || cut.all.len() == 1, "{oldest} is there, {first} is the first");
                prop_assert!(cut.all.back().is_some_and(|last| last.end - last.first <= length));
            }
        }
    }
}
