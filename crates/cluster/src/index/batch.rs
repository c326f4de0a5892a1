//! The parts that all of the index shares: a batch of fingerprints goes in, shards look it up on several cores, and
//! hits come out.
//!
//! A page that shares a key with every other page has as many hits as there are pages. They are never
//! collected as a whole: whenever [`HITS_MAX`] have gathered, they are compared, and the memory is reused.

use rayon::prelude::*;

/// Number of keys that are prefetched together, for one or several queries, so their cache misses overlap.
pub(super) const AHEAD: usize = 256;
/// Minimum number of values of a batch that is distributed to several cores.
const PARALLEL_MIN: usize = 2_048;

/// Fingerprints as the index sees them. Each has some 64-bit values, its keys.
/// A [second key](leitong_fingerprint::SecondKey) narrows down keys that many centroids of a batch share.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) values: Vec<u64>,
    pub(crate) ends: Vec<u32>,
    pub(crate) seconds: Vec<u64>,
}

impl Batch {
    /// Empties the batch, and keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.ends.clear();
        self.seconds.clear();
    }

    /// Frees the memory that is not needed for this number of fingerprints and values.
    pub(crate) fn shrink_to(&mut self, fingerprints: usize, values: usize) {
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
    pub(crate) fn evict(&mut self, count: usize) {
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
    pub(crate) fn second(&self, number: u32) -> u64 {
        self.seconds[number as usize]
    }

    pub(super) fn is_large(&self) -> bool {
        self.values.len() >= PARALLEL_MIN
    }

    /// Returns all values, each with the number of its fingerprint.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        (0..self.len()).flat_map(|number| self.get(number).iter().map(move |value| (number as u32, *value)))
    }
}

/// Number of hits that each core gathers before it passes them on: 256 KB. An ordinary batch has fewer, so
/// all of them are sorted and compared at once.
pub const HITS_MAX: usize = 32_768;

/// A hit: the query's number in its batch, and a slot. Ordered by query, then by slot.
///
/// Both are packed into one number, query above slot, which is faster to sort than a pair: with pairs, an owner
/// that drains its log decides on 4 to 8 % fewer records per second (`cargo bench --bench kafka -- owner`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hit(u64);

impl Hit {
    #[inline(always)]
    pub(crate) fn new(query: u32, slot: u32) -> Self {
        Self(u64::from(query) << 32 | u64::from(slot))
    }

    #[inline(always)]
    pub(crate) fn query(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline(always)]
    pub(crate) fn slot(self) -> u32 {
        self.0 as u32
    }
}

/// The destination of a look-up's hits.
pub(crate) struct Hits<'a> {
    gathered: &'a mut Vec<Hit>,
    /// Empties `gathered`.
    hand_on: &'a mut dyn FnMut(&mut Vec<Hit>),
}

impl<'a> Hits<'a> {
    /// Gathers hits in `gathered`, which `hand_on` empties when it is full. The caller gets the hits that
    /// remain at the end.
    pub(crate) fn new(gathered: &'a mut Vec<Hit>, hand_on: &'a mut dyn FnMut(&mut Vec<Hit>)) -> Self {
        Self { gathered, hand_on }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, hit: Hit) {
        if self.gathered.len() >= HITS_MAX {
            self.hand_on();
        }
        self.gathered.push(hit);
    }

    #[cold]
    #[inline(never)]
    fn hand_on(&mut self) {
        (self.hand_on)(self.gathered);
    }
}

/// Maximum number of shards of an index.
pub(super) const MAX_SHARDS: usize = 16;
/// Number of segments of an index. Each one grows separately; a shard owns a range of them.
pub(super) const SEGMENTS: usize = 256;

/// Looks up all queries in all shards, in parallel if the batch is large enough. See `Generations::find`.
pub(super) fn gather<S: Sync, K: Default + Send>(
    shards: &[S],
    queries: &Batch,
    hits: &mut Vec<Hit>,
    keep: impl Fn(&mut Vec<Hit>, &mut K) + Sync,
    find: impl Fn(&S, &Batch, &mut Hits<'_>) + Sync,
) -> Vec<K> {
    if shards.len() > 1 && queries.is_large() {
        let found: Vec<(Vec<Hit>, K)> = shards
            .par_iter()
            .map(|shard| {
                let (mut hits, mut kept) = (Vec::new(), K::default());
                find(shard, queries, &mut Hits::new(&mut hits, &mut |hits| keep(hits, &mut kept)));
                (hits, kept)
            })
            .collect();
        let kept = found.into_iter().map(|(found, kept)| {
            hits.extend(found);
            kept
        });
        kept.collect()
    } else {
        let mut kept = K::default();
        let mut hand_on = |hits: &mut Vec<Hit>| keep(hits, &mut kept);
        let mut hits = Hits::new(hits, &mut hand_on);
        shards.iter().for_each(|shard| find(shard, queries, &mut hits));
        vec![kept]
    }
}

/// Inserts a batch into all shards, in parallel if it is large enough.
pub(super) fn for_each_shard<S: Send>(
    shards: &mut [S],
    batch: &Batch,
    take_in: impl Fn(&mut S) + Sync + Send,
) {
    if shards.len() > 1 && batch.is_large() {
        shards.par_iter_mut().for_each(take_in);
    } else {
        shards.iter_mut().for_each(take_in);
    }
}

/// The segments that belong to one shard.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    first: usize,
    pub(super) count: usize,
}

impl Share {
    pub(super) fn new(number: usize, shards: usize) -> Self {
        let count = SEGMENTS / shards;
        Self { first: number * count, count }
    }

    /// Returns the position of `segment` within the shard, or `None` if it belongs to another shard.
    #[inline(always)]
    pub(super) fn own(&self, segment: usize) -> Option<usize> {
        let own = segment.wrapping_sub(self.first);
        (own < self.count).then_some(own)
    }
}

/// Spreads keys, which may be small numbers, by one multiplication.
#[inline]
pub(crate) fn spread(key: u64) -> u64 {
    let product = u128::from(key ^ 0x2545_f491_4f6c_dd1d) * 0x9e37_79b9_7f4a_7c15;
    (product as u64) ^ (product >> 64) as u64
}
