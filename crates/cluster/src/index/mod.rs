//! Values of a fingerprint → slots of the centroids that
//! may be near: the part of the table that a look-up walks.
//!
//! ```text
//!            ┌ shard 0 ┐
//! batch of ──┤ shard 1 ├─► hits: (which query, which slot)
//! queries    └ shard … ┘
//! ```
//! Two structures: [`keys`] finds what shares a key, [`hamming`] what lies within a Hamming
//! distance. Both are cut by key into shards that know nothing of each other: each looks up its own
//! keys of every query and takes in its own keys of every centroid, on a core of its own, without
//! locks. So shards could live in other processes.
//!
//! Hits are handed on while lists are walked ([`Hits`]), so that a look-up
//! needs the same memory however many centroids stand under one key.
//!
//! Invariant: every centroid that shares a key and may be near, or lies
//! within the distance, is among the hits. Some others are too: whoever
//! asks compares. Nothing depends on how many shards there are.

mod blocks;
mod buckets;
mod generations;
mod group;
mod hamming;
mod hits;
mod keys;
mod layout;
mod masks;
mod order;
mod ordered;
mod overflow;
mod plan;
mod probe;
mod recent;
mod segment;
mod spill;
mod texts;

use rayon::prelude::*;

pub(super) use generations::Generations;
use hamming::Hamming;
pub use hits::HITS_MAX;
pub(super) use hits::{Hit, Hits};
use keys::KeyShard;
use leitong_fingerprint::{LookUp, SecondKey};
pub(super) use recent::Recent;
pub(super) use texts::TextIndex;

/// Below this many values a batch is not worth handing to other cores.
const PARALLEL_MIN: usize = 2_048;

/// Fingerprints as the index sees them: of each some 64-bit values, which are its keys, or
/// one that is its bits; and where keys have very many centroids the [second key](SecondKey).
#[derive(Debug, Default)]
pub(super) struct Batch {
    values: Vec<u64>,
    ends: Vec<u32>,
    seconds: Vec<u64>,
}

impl Batch {
    /// Empties it, and keeps its memory.
    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.ends.clear();
        self.seconds.clear();
    }

    /// Gives memory back beyond that for so many fingerprints and so many values of theirs.
    fn shrink_to(&mut self, fingerprints: usize, values: usize) {
        self.values.shrink_to(values);
        self.ends.shrink_to(fingerprints);
        self.seconds.shrink_to(fingerprints);
    }

    /// Adds a fingerprint, whose values `push` appends to what is
    /// there; it gives the second key, or 0 where there is none.
    pub(super) fn push(&mut self, push: impl FnOnce(&mut Vec<u64>) -> u64) {
        self.seconds.push(push(&mut self.values));
        self.ends.push(u32::try_from(self.values.len()).expect("fewer than 2^32 keys in a batch"));
    }

    /// Takes out the first `count`.
    fn forget(&mut self, count: usize) {
        let values = count.checked_sub(1).map_or(0, |last| self.ends[last]);
        self.values.drain(..values as usize);
        self.ends.drain(..count);
        self.seconds.drain(..count);
        self.ends.iter_mut().for_each(|end| *end -= values);
    }

    /// Takes out those from the `at`-th on, and gives them.
    fn split_off(&mut self, at: usize) -> Self {
        let values = at.checked_sub(1).map_or(0, |last| self.ends[last]);
        let mut ends = self.ends.split_off(at);
        ends.iter_mut().for_each(|end| *end -= values);
        Self { values: self.values.split_off(values as usize), ends, seconds: self.seconds.split_off(at) }
    }

    /// Fingerprints in it.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The values of one fingerprint.
    pub(super) fn get(&self, number: usize) -> &[u64] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.values[start as usize..self.ends[number] as usize]
    }

    /// The second key of one fingerprint.
    #[inline]
    fn second(&self, number: u32) -> u64 {
        self.seconds[number as usize]
    }

    fn is_large(&self) -> bool {
        self.values.len() >= PARALLEL_MIN
    }

    /// All values with the number of their fingerprint.
    fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        (0..self.len()).flat_map(|number| self.get(number).iter().map(move |value| (number as u32, *value)))
    }
}

/// The index of one table.
#[derive(Debug)]
pub(super) enum Index {
    /// By shared keys.
    Keys(Vec<KeyShard>),
    /// By Hamming distance.
    Hamming(Box<Hamming>),
}

impl Index {
    /// An empty index of at most `shards` shards.
    pub(super) fn new(look_up: LookUp, second: Option<SecondKey>, shards: usize) -> Self {
        let shards = shards.clamp(1, MAX_SHARDS).next_power_of_two();
        match look_up {
            LookUp::Keys => {
                Self::Keys((0..shards).map(|number| KeyShard::new(number, shards, second)).collect())
            }
            LookUp::Hamming { max_distance, .. } => {
                Self::Hamming(Box::new(Hamming::new(max_distance, shards)))
            }
        }
    }

    /// Finds what may be near each fingerprint of `queries`. Whenever very many hits have gathered,
    /// `keep` takes from them what it wants, on the core that walks. What is left at the end is
    /// added to `hits`, some more than once; and what was kept is given back, by every core its
    /// own.
    pub(super) fn find<K: Default + Send>(
        &self,
        queries: &Batch,
        hits: &mut Vec<Hit>,
        keep: impl Fn(&mut Vec<Hit>, &mut K) + Sync,
    ) -> Vec<K> {
        match self {
            Self::Keys(shards) => gather(shards, queries, hits, keep, KeyShard::find),
            Self::Hamming(hamming) => hamming.find_on_all_cores(queries, hits, keep),
        }
    }

    /// Enters the fingerprints of `batch` under the slots from `first` on. `bits_of` gives
    /// what a slot that is in the index already was entered with: its bits, or its second key.
    pub(super) fn insert(&mut self, first: u32, batch: &Batch, bits_of: impl Fn(u32) -> u64 + Sync) {
        match self {
            Self::Keys(shards) => {
                for_each_shard(shards, batch, |shard| shard.insert(first, batch, &bits_of));
            }
            Self::Hamming(hamming) => hamming.insert(first, batch, bits_of),
        }
    }

    /// Takes out `slot`, the oldest, which was entered with the one fingerprint of `batch`.
    pub(super) fn remove(&mut self, slot: u32, batch: &Batch) {
        match self {
            Self::Keys(shards) => shards.iter_mut().for_each(|shard| shard.remove(slot, batch)),
            Self::Hamming(hamming) => hamming.remove(slot, batch),
        }
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Keys(shards) => shards.iter().map(KeyShard::bytes).sum(),
            Self::Hamming(hamming) => hamming.bytes(),
        }
    }
}

/// An index has at most this many shards.
const MAX_SHARDS: usize = 16;
/// Pieces of an index, each of which grows on its own; a shard owns a row of them.
const SEGMENTS: usize = 256;

/// Has all shards look up all queries, on several cores where that pays. See [`Index::find`].
fn gather<S: Sync, K: Default + Send>(
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

/// Has all shards take in a batch, on several cores where that pays.
fn for_each_shard<S: Send>(shards: &mut [S], batch: &Batch, take_in: impl Fn(&mut S) + Sync + Send) {
    if shards.len() > 1 && batch.is_large() {
        shards.par_iter_mut().for_each(take_in);
    } else {
        shards.iter_mut().for_each(take_in);
    }
}

/// A row of segments that belongs to one shard.
#[derive(Debug, Clone, Copy)]
struct Share {
    first: usize,
    count: usize,
}

impl Share {
    fn new(number: usize, shards: usize) -> Self {
        let count = SEGMENTS / shards;
        Self { first: number * count, count }
    }

    /// Which of the shard's segments this one of all is, if it is the shard's.
    #[inline(always)]
    fn own(&self, segment: usize) -> Option<usize> {
        let own = segment.wrapping_sub(self.first);
        (own < self.count).then_some(own)
    }
}

/// Keys may be small numbers: one multiplication spreads them.
#[inline]
fn spread(key: u64) -> u64 {
    let product = u128::from(key ^ 0x2545_f491_4f6c_dd1d) * 0x9e37_79b9_7f4a_7c15;
    (product as u64) ^ (product >> 64) as u64
}
