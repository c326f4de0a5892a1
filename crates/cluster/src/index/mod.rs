//! The key index: finds the slots of all centroids that may be near a fingerprint. This is the part of the
//! table that every look-up walks. A slot is the number of a centroid modulo 2^32.
//!
//! ```text
//!            ┌ shard 0 ┐
//! batch of ──┤ shard 1 ├─► hits: (which query, which slot)
//! queries    └ shard … ┘
//! ```
//! There are two structures: [`keys`] finds centroids that share a key, [`hamming`] those within a Hamming
//! distance. Both are split by key into shards that share nothing. Each shard looks up its own keys of every
//! query and stores its own keys of every centroid. Shards run on different cores without locks; they could
//! also run in different processes.
//!
//! A *key* is a number that a detector derives from a fingerprint, such as a band of its sketch: near fingerprints
//! share at least one. To follow a look-up by key, read `keys.rs` (a shard) → `segment.rs` (the hash table in it) →
//! `group.rs` (a cache line of entries) and `layout.rs` (the bits of an entry). Entries that find no room in groups
//! are in `ordered.rs`, and keys of many centroids in `overflow.rs`; the table searches those of very many in
//! another way (`table/crowds.rs`). `probe.rs` looks up many keys at once. To follow one by Hamming distance, read `hamming.rs` →
//! `plan.rs` (which bits are keys) → `blocks.rs` → `buckets.rs` and `spill.rs`. Around both, `generations.rs` drops
//! centroids that move to disk together, and `recent.rs` has the centroids of the current batch. `texts.rs` finds
//! equal texts by their digests.
//!
//! Example: the default detector derives 15 keys from a fingerprint. A look-up reads one cache line for each
//! key, finds a few slots, and the caller compares those centroids. The index takes about 5.7 bytes per key,
//! so 86 bytes per centroid.
//!
//! Hits are passed on while lists are walked ([`Hits`]). So a look-up needs the same memory no matter how
//! many centroids share one key.
//!
//! Invariant: the hits contain every centroid that shares a key and may be near, or lies within the distance.
//! They may contain others; the caller compares each of them. The result does not depend on the number of
//! shards.

mod batch;
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

pub(super) use batch::Batch;
pub(super) use generations::Generations;
use hamming::Hamming;
pub use hits::HITS_MAX;
pub(super) use hits::{Hit, Hits};
use keys::KeyShard;
use leitong_fingerprint::LookUp;
pub(super) use recent::Recent;
pub(super) use texts::TextIndex;

/// Number of keys, or of buckets, that are prefetched together, for one or several queries, so their cache misses
/// overlap.
const AHEAD: usize = 256;

/// The index of one table.
#[derive(Debug)]
pub(super) enum Index {
    /// Finds centroids by shared keys.
    Keys(Vec<KeyShard>),
    /// Finds centroids by Hamming distance.
    Hamming(Box<Hamming>),
}

impl Index {
    /// Creates an empty index of `shards` shards, rounded up to a power of two, at most [`MAX_SHARDS`].
    pub(super) fn new(look_up: LookUp, shards: usize) -> Self {
        let shards = shards.clamp(1, MAX_SHARDS).next_power_of_two();
        match look_up {
            LookUp::Keys => Self::Keys((0..shards).map(|number| KeyShard::new(number, shards)).collect()),
            LookUp::Hamming { max_distance, .. } => {
                Self::Hamming(Box::new(Hamming::new(max_distance, shards)))
            }
        }
    }

    /// Finds the slots that may be near each fingerprint of `queries`. Whenever very many hits have gathered,
    /// `keep` takes those it wants, on the core that walks the index. The remaining hits are added to `hits`,
    /// some more than once. Returns what each core kept.
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

    /// Inserts the fingerprints of `batch` under the slots from `first` on. `bits_of` returns the bits that
    /// a slot already in the index was inserted with, if it is one for the Hamming distance.
    pub(super) fn insert(&mut self, first: u32, batch: &Batch, bits_of: impl Fn(u32) -> u64 + Sync) {
        match self {
            Self::Keys(shards) => {
                for_each_shard(shards, batch, |shard| shard.insert(first, batch));
            }
            Self::Hamming(hamming) => hamming.insert(first, batch, bits_of),
        }
    }

    /// Returns the slots that were inserted since the last call under a key that very many slots share, some more than
    /// once.
    pub(super) fn take_crowded(&mut self) -> Vec<u32> {
        match self {
            Self::Keys(shards) => shards.iter_mut().flat_map(KeyShard::take_crowded).collect(),
            Self::Hamming(_) => Vec::new(),
        }
    }

    /// Returns true if very many slots share a key.
    pub(super) fn is_crowded(&self, key: u64) -> bool {
        matches!(self, Self::Keys(shards) if shards.iter().any(|shard| shard.is_crowded(key)))
    }

    /// Returns all slots under a key, and some others.
    pub(super) fn all(&self, key: u64) -> Vec<u32> {
        match self {
            Self::Keys(shards) => shards.iter().flat_map(|shard| shard.all(key)).collect(),
            Self::Hamming(_) => Vec::new(),
        }
    }

    /// Removes `slot`, the oldest one, which was inserted with the only fingerprint of `batch`.
    pub(super) fn remove(&mut self, slot: u32, batch: &Batch) {
        match self {
            Self::Keys(shards) => shards.iter_mut().for_each(|shard| shard.remove(slot, batch)),
            Self::Hamming(hamming) => hamming.remove(slot, batch),
        }
    }

    /// Returns the bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Keys(shards) => shards.iter().map(KeyShard::bytes).sum(),
            Self::Hamming(hamming) => hamming.bytes(),
        }
    }
}

/// Maximum number of shards of an index.
const MAX_SHARDS: usize = 16;
/// Number of segments of an index. Each one grows separately; a shard owns a range of them.
const SEGMENTS: usize = 256;

/// Looks up all queries in all shards, in parallel if the batch is large enough. See [`Index::find`].
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

/// Inserts a batch into all shards, in parallel if it is large enough.
fn for_each_shard<S: Send>(shards: &mut [S], batch: &Batch, take_in: impl Fn(&mut S) + Sync + Send) {
    if shards.len() > 1 && batch.is_large() {
        shards.par_iter_mut().for_each(take_in);
    } else {
        shards.iter_mut().for_each(take_in);
    }
}

/// The segments that belong to one shard.
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

    /// Returns the position of `segment` within the shard, or `None` if it belongs to another shard.
    #[inline(always)]
    fn own(&self, segment: usize) -> Option<usize> {
        let own = segment.wrapping_sub(self.first);
        (own < self.count).then_some(own)
    }
}

/// Spreads keys, which may be small numbers, by one multiplication.
#[inline]
fn spread(key: u64) -> u64 {
    let product = u128::from(key ^ 0x2545_f491_4f6c_dd1d) * 0x9e37_79b9_7f4a_7c15;
    (product as u64) ^ (product >> 64) as u64
}
