//! The centroid table of one log partition: all its centroids in order of founding, and the index that finds
//! them.
//!
//! ```text
//! fingerprint ─► index ─► slots ─► hot: compared part ─► near ─► cold: id, url, digest, bands
//!                every look-up                            duplicates only
//! ```
//! A centroid's number counts all centroids from the first one on; its slot is that number modulo 2^32.
//! Centroids leave in the order in which they came. So everything is kept in queues of blocks, and a slot is
//! found by subtraction.
//!
//! One table has the centroids of all corpora. Centroids of different corpora or fingerprint settings never
//! match. Keys are mixed with a number that differs between corpora, so keys of different corpora are seldom
//! equal either.

mod centroid;
mod cold;
mod corpora;
mod crowds;
mod hot;
mod look_up;
mod nearest;
mod recent;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use crate::index::{Batch, Generations, Hit};
use crate::seen::{SeenText, TextIndex};
pub use centroid::{Centroid, NearCentroid, Purpose, Query};
use cold::{Cold, ColdCentroid, Unpacker};
use corpora::{Corpora, CorpusId};
use crowds::{Crowds, Member};
use hot::Hot;
use leitong_base::record::Timestamp;
use leitong_fingerprint::Detector;
pub use nearest::NearestCentroids;
use recent::Recent;

/// Bytes of memory that a table uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableBytes {
    /// Bytes of the index and the compared parts, which every look-up reads.
    pub hot: usize,
    /// Bytes of the other parts, which only duplicates, expiry and saving read.
    pub cold: usize,
}

/// The table.
pub(super) struct CentroidTable {
    pub(super) detector: Arc<dyn Detector>,
    corpora: Corpora,
    index: Generations,
    crowds: Crowds,
    hot: Hot,
    cold: Cold,
    one_core: bool,
    /// The youngest centroids, which are not in `index` yet.
    recent: Recent,
    /// Finds centroids by the digests of their texts, including the youngest ones.
    texts: TextIndex,
    /// The keys of the centroid that is being removed. Kept to reuse its memory.
    removed: Batch,
}

/// Memory that look-ups reuse. Each thread needs its own, since many threads may read a table at once.
#[derive(Default)]
pub struct Scratch {
    batch: Batch,
    hits: Vec<Hit>,
    unpacker: Unpacker,
}

impl Scratch {
    /// Returns the number of hits that fit into the allocated memory.
    #[cfg(test)]
    pub(super) fn room_for_hits(&self) -> usize {
        self.hits.capacity()
    }
}

impl CentroidTable {
    /// Creates an empty table whose index has this many shards and whose first centroid will have the number
    /// `origin`. If centroids leave in blocks, `block_length` is the number of centroids in a block; blocks end at
    /// multiples of it. `None` if centroids leave one by one.
    pub(super) fn new(
        detector: Arc<dyn Detector>,
        shards: usize,
        origin: u64,
        block_length: Option<u64>,
    ) -> Self {
        Self {
            detector,
            corpora: Corpora::default(),
            index: Generations::new(shards, block_length, origin),
            crowds: Crowds::default(),
            hot: Hot::starting_at(origin),
            cold: Cold::starting_at(origin),
            one_core: shards <= 1,
            recent: Recent::default(),
            texts: TextIndex::default(),
            removed: Batch::default(),
        }
    }

    /// Returns the number of the oldest centroid, if there is one.
    pub(super) fn first(&self) -> u64 {
        self.hot.first()
    }

    /// Returns the number of the next centroid.
    pub(super) fn end(&self) -> u64 {
        self.hot.end()
    }

    /// Returns log offset and log time of a centroid's founding.
    pub(super) fn founded(&self, number: u64) -> Option<(u64, Option<Timestamp>)> {
        self.cold.get(number).map(|cold| (cold.log_offset, cold.log_time))
    }

    /// Returns the number of the youngest centroid whose text has this [key](SeenText::key_of).
    pub(super) fn text(&self, key: u128) -> Option<u64> {
        let is_it = |slot: u32| self.text_key(number_of(&self.hot, slot)) == Some(key);
        let slot = self.texts.youngest(key, self.hot.first() as u32, is_it)?;
        Some(number_of(&self.hot, slot))
    }

    fn text_key(&self, number: u64) -> Option<u128> {
        let (corpus, _) = self.hot.get(number)?;
        let (name, fingerprint_hash) = self.corpora.get(corpus);
        Some(SeenText::key_of(name, fingerprint_hash, self.cold.get(number)?.text_digest))
    }

    /// Returns the centroid with this number; `None` if it has left.
    pub(super) fn centroid(&self, number: u64, scratch: &mut Scratch) -> Option<Centroid> {
        let (page_id, url) = self.cold.texts(number, &mut scratch.unpacker)?;
        let (_, compared) = self.hot.get(number)?;
        let ColdCentroid { log_offset, log_time, text_digest, uncompared } = self.cold.get(number)?;
        let fingerprint = [compared, uncompared].concat().into();
        Some(Centroid { log_offset, log_time, fingerprint, text_digest, page_id, url })
    }

    /// Adds a centroid, which is younger than all others.
    pub(super) fn insert(&mut self, corpus: &str, fingerprint_hash: u64, centroid: &Centroid) {
        let key = SeenText::key_of(corpus, fingerprint_hash, centroid.text_digest);
        let corpus = self.corpora.enter(corpus, fingerprint_hash);
        let compared = self.detector.compared(&centroid.fingerprint);
        let number = self.hot.push(corpus, compared);
        self.texts.insert(key, number as u32);
        self.cold.push(centroid, &centroid.fingerprint[compared.len()..]);
        self.recent.values.push(|values| {
            values_of(&*self.detector, &centroid.fingerprint, corpus, Purpose::Insert, values)
        });
    }

    /// Makes look-ups find the centroids that were added.
    pub(super) fn index_pending(&mut self) {
        if self.pending() > 0 {
            let first = self.first_recent();
            // Some of the added centroids have left already if `expiry.centroids_max` is smaller than a batch.
            let gone = self.hot.first().saturating_sub(first);
            self.recent.values.evict(gone as usize);
            let Self { index, hot, recent, crowds, .. } = self;
            if !crowds.is_empty() {
                let batch = &recent.values;
                for (number, at) in (first + gone..).zip(0..batch.len()) {
                    if let Some((_, compared)) = hot.get(number) {
                        crowds.insert(Member { number, compared, keys: batch.get(at) });
                    }
                }
            }
            index.insert(first + gone, &mut recent.values);
            self.recent.clear();
            self.find_crowds();
        }
    }

    /// Makes the keys that have become those of very many centroids lead to crowds.
    fn find_crowds(&mut self) {
        let mut crowded = self.index.take_crowded();
        let detector = &*self.detector;
        if detector.crowd().is_none() {
            return;
        }
        crowded.sort_unstable();
        crowded.dedup();
        let mut keys = BTreeSet::new();
        for slot in crowded {
            let of_slot = keys_of((&self.hot, &self.cold), number_of(&self.hot, slot), detector);
            keys.extend(of_slot.into_iter().filter(|key| self.crowds.of_key(*key).is_none()));
        }
        for key in keys.into_iter().filter(|key| self.index.is_crowded(*key)) {
            let mut numbers: Vec<u64> =
                self.index.all(key).into_iter().map(|slot| number_of(&self.hot, slot)).collect();
            numbers.sort_unstable();
            numbers.dedup();
            let with_keys: Vec<(u64, Vec<u64>)> = numbers
                .into_iter()
                .map(|number| (number, keys_of((&self.hot, &self.cold), number, detector)))
                .collect();
            let members: Vec<Member<'_>> = with_keys
                .iter()
                .filter(|(_, keys)| keys.contains(&key))
                .filter_map(|(number, keys)| {
                    let (_, compared) = self.hot.get(*number)?;
                    Some(Member { number: *number, compared, keys })
                })
                .collect();
            self.crowds.add_key(key, &members, detector);
        }
    }

    /// Returns the number of the first centroid that was added since the last [`Self::index_pending`].
    fn first_recent(&self) -> u64 {
        self.hot.end() - self.pending() as u64
    }

    /// Removes the oldest centroid.
    pub(super) fn remove_oldest(&mut self) {
        let detector = &*self.detector;
        let number = self.hot.first();
        let Some((corpus, compared)) = self.hot.get(number) else { return };
        let Some(cold) = self.cold.get(number) else { return };
        let (name, fingerprint_hash) = self.corpora.get(corpus);
        self.texts.remove(SeenText::key_of(name, fingerprint_hash, cold.text_digest), number as u32);
        if self.index.block_length().is_none() && number < self.first_recent() {
            let fingerprint = [compared, cold.uncompared].concat();
            self.removed.clear();
            self.removed.push(|values| values_of(detector, &fingerprint, corpus, Purpose::Insert, values));
            self.index.remove(number as u32, &self.removed);
        }
        let keys = || keys_of((&self.hot, &self.cold), number, detector);
        self.crowds.remove(number, compared, keys);
        self.corpora.leave(corpus);
        self.hot.pop();
        self.cold.pop();
        self.index.drop_before(self.hot.first());
    }

    /// Returns the centroids with these numbers, oldest first, each with its corpus and fingerprint hash.
    pub(super) fn range(&self, numbers: Range<u64>) -> impl Iterator<Item = (&str, u64, Centroid)> {
        let of_blocks = self.cold.blocks(numbers.clone()).flat_map(|(first, block)| (first..).zip(block));
        let of_range = of_blocks.filter(move |(number, _)| numbers.contains(number));
        of_range.filter_map(|(number, mut centroid)| {
            let (corpus, compared) = self.hot.get(number)?;
            centroid.fingerprint = [compared, &centroid.fingerprint].concat().into();
            let (name, fingerprint_hash) = self.corpora.get(corpus);
            Some((name, fingerprint_hash, centroid))
        })
    }

    /// Returns the bytes of memory in use.
    pub(super) fn bytes(&self) -> TableBytes {
        let index = self.index.bytes() + self.crowds.bytes();
        let hot = self.corpora.bytes() + index + self.texts.bytes() + self.hot.bytes();
        TableBytes { hot, cold: self.cold.bytes() }
    }

    /// Returns the number of centroids added since the last [`Self::index_pending`], which look-ups do not find.
    pub(super) fn pending(&self) -> usize {
        self.recent.values.len()
    }

    /// Returns the number of centroids.
    pub(super) fn len(&self) -> usize {
        (self.hot.end() - self.hot.first()) as usize
    }

    /// Returns the number of centroids that leave at about the same time; `None` if they leave one by one.
    pub(super) fn block_length(&self) -> Option<u64> {
        self.index.block_length()
    }

    /// Returns the number of corpora that have centroids.
    #[cfg(test)]
    pub(super) fn corpus_count(&self) -> usize {
        self.corpora.len()
    }
}

/// Appends the keys of a fingerprint to `values`, mixed with its corpus. Returns the second key, or 0
/// if there is none.
#[inline]
fn values_of(
    detector: &dyn Detector,
    fingerprint: &[u8],
    corpus: CorpusId,
    purpose: Purpose,
    values: &mut Vec<u64>,
) -> u64 {
    let start = values.len();
    match purpose {
        Purpose::Insert => detector.insert_keys(fingerprint, values),
        Purpose::Probe => detector.probe_keys(fingerprint, values),
        Purpose::ProbeEqual => values.extend(detector.equal_key(fingerprint)),
    }
    values[start..].iter_mut().for_each(|value| *value ^= corpus.salt());
    detector.second_key().map_or(0, |second| (second.of)(fingerprint) ^ corpus.salt())
}

/// Returns the keys under which a centroid was inserted; none if it has left.
fn keys_of((hot, cold): (&Hot, &Cold), number: u64, detector: &dyn Detector) -> Vec<u64> {
    let mut keys = Vec::new();
    if let (Some((corpus, compared)), Some(cold)) = (hot.get(number), cold.get(number)) {
        let fingerprint = [compared, cold.uncompared].concat();
        values_of(detector, &fingerprint, corpus, Purpose::Insert, &mut keys);
    }
    keys
}

/// Returns the number of the centroid in a slot.
#[inline]
fn number_of(hot: &Hot, slot: u32) -> u64 {
    hot.first() + u64::from(slot.wrapping_sub(hot.first() as u32))
}
