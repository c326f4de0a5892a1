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
//! match. Keys and bits are mixed with a number that differs between corpora, so keys of different corpora are
//! seldom equal either.

mod cold;
mod column;
mod corpora;
mod crowds;
mod hot;
mod nearest;

use std::collections::BTreeSet;
use std::hint::black_box;
use std::ops::Range;

use rayon::prelude::*;

use super::index::{Batch, Generations, Hit, Recent, TextIndex};
use super::seen::SeenText;
use cold::{Cold, ColdCentroid, Unpacker};
use corpora::{Corpora, CorpusId};
use crowds::{Crowds, Member};
use hot::Hot;
use leitong_base::record::Timestamp;
use leitong_fingerprint::{Comparison, Detector, LookUp};
use nearest::KEPT;
pub use nearest::NearestCentroids;

/// Number of hits that are prefetched at once.
const AHEAD: usize = 64;
/// Minimum number of hits of one query that are compared together.
const TOGETHER_MIN: usize = 4;
/// Minimum number of hits of a batch that are compared on several cores.
const PARALLEL_MIN: usize = 256;
/// Number of searches of crowds that are one piece of work for a core.
const CROWDED_AT_ONCE: usize = 16;

/// A cluster's centroid.
#[derive(Debug, Clone, PartialEq)]
pub struct Centroid {
    /// Log offset of the page. The older centroid has the smaller offset.
    pub log_offset: u64,
    /// Log time when the cluster was founded.
    pub log_time: Option<Timestamp>,
    /// The fingerprint, in the detector's encoding.
    pub fingerprint: Box<[u8]>,
    /// Digest of the main text.
    pub text_digest: u128,
    /// The page's id.
    pub page_id: Box<str>,
    /// The page's url.
    pub url: Box<str>,
}

/// A centroid that may be near or related. The order is: by query, near before related, by
/// [rank](Detector::rank), oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NearCentroid {
    /// The query's number in its batch.
    pub query: u32,
    /// True if the centroid is related but not near.
    pub related: bool,
    /// The [rank](Detector::rank), which is the distance unless the detector has a better measure. If the centroid is
    /// related, its [rank among these](Detector::related_rank).
    pub rank: u32,
    /// The centroid's number.
    pub number: u64,
    /// Distance in the detector's unit.
    pub distance: u32,
}

impl NearCentroid {
    /// Returns the result of a comparison of the query's fingerprint with the compared part of a centroid that is near
    /// or related.
    #[inline]
    #[must_use]
    pub fn new(
        (query, of): (u32, &Query<'_>),
        (number, compared): (u64, &[u8]),
        Comparison { distance, near }: Comparison,
        detector: &dyn Detector,
    ) -> Self {
        let rank = match near {
            true => detector.rank(of.fingerprint, compared, distance),
            false => detector.related_rank(of.fingerprint, compared),
        };
        Self { query, related: !near, rank, number, distance }
    }

    /// Returns true if no centroid can be nearer. Only centroids with the same [equal key](Detector::equal_key)
    /// can be as near.
    pub(super) fn is_equal(self) -> bool {
        !self.related && self.distance == 0
    }

    /// Returns true if the whole fingerprints of page and centroid, not only the compared parts, are near, or
    /// related if the centroid is only related.
    #[must_use]
    pub fn is_in_full(self, detector: &dyn Detector, page: &[u8], centroid: &[u8]) -> bool {
        match self.related {
            true => detector.related(page, centroid),
            false => detector.compare(page, centroid).near,
        }
    }
}

/// A fingerprint to look up, with its corpus.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// Corpus of the page.
    pub corpus: &'a str,
    /// Hash of the settings that made the fingerprint.
    pub fingerprint_hash: u64,
    /// The fingerprint, in the detector's encoding.
    pub fingerprint: &'a [u8],
}

/// Bytes of memory that a table uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableBytes {
    /// Bytes of the index and the compared parts, which every look-up reads.
    pub hot: usize,
    /// Bytes of the other parts, which only duplicates, expiry and saving read.
    pub cold: usize,
}

/// The table.
pub(super) struct Table {
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

/// The purpose for which keys of a fingerprint are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The keys under which a centroid is inserted.
    Insert,
    /// The keys under which all centroids that may be near are found.
    Probe,
    /// The key under which all centroids at distance 0 are found.
    ProbeEqual,
}

impl Table {
    /// Creates an empty table whose index has this many shards and whose first centroid will have the number
    /// `origin`. If centroids leave in blocks, `leaving` is the number of centroids in a block; blocks end at
    /// multiples of it. `None` if centroids leave one by one.
    pub(super) fn new(detector: &dyn Detector, shards: usize, origin: u64, leaving: Option<u64>) -> Self {
        Self {
            corpora: Corpora::default(),
            index: Generations::new(detector.look_up(), shards, leaving, origin),
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

    /// Returns the nearest few centroids of each query that the keys for this `purpose` find, without those
    /// that were added since the last [`Self::index_pending`]. If only those at distance 0 are sought, leaves out most
    /// related ones.
    pub(super) fn find(
        &self,
        queries: &[Option<Query<'_>>],
        purpose: Purpose,
        detector: &dyn Detector,
        scratch: &mut Scratch,
    ) -> NearestCentroids {
        let Scratch { batch, hits, .. } = scratch;
        let (corpora, crowded) = self.probes(queries, purpose, detector, batch);
        hits.clear();
        let look_up = Queries { queries, corpora: &corpora, detector };
        let keep = |hits: &mut Vec<Hit>, nearest: &mut NearestCentroids| {
            in_order(hits).chunks(AHEAD).for_each(|some| self.compare(some, look_up, nearest.as_mut()));
            nearest.keep_nearest();
            hits.clear();
        };
        let kept = self.index.find(batch, hits, keep);
        let mut nearest = NearestCentroids::default();
        kept.into_iter().for_each(|kept| nearest.merge(kept));
        if self.one_core || hits.len() < PARALLEL_MIN {
            keep(hits, &mut nearest);
        } else {
            let compared = in_order(hits).par_chunks(AHEAD).map(|some| {
                let mut near = Vec::new();
                self.compare(some, look_up, &mut near);
                near
            });
            let near: Vec<Vec<NearCentroid>> = compared.collect();
            near.into_iter().for_each(|near| nearest.as_mut().extend(near));
            nearest.keep_nearest();
        }
        let in_crowds = |some: &[(u32, u32)]| {
            let mut near = Vec::new();
            for crowded in some {
                self.near_in_crowd(*crowded, look_up, &mut |found| near.push(found));
                if purpose == Purpose::ProbeEqual {
                    continue;
                }
                // One more than are kept shows that there are more.
                let mut left = KEPT + 1;
                self.related_in_crowd(*crowded, look_up, &mut |found| {
                    near.push(found);
                    left -= usize::from(found.related);
                    left > 0
                });
            }
            near
        };
        if crowded.is_empty() {
            return nearest;
        }
        if self.one_core || crowded.len() <= CROWDED_AT_ONCE {
            nearest.as_mut().extend(in_crowds(&crowded));
        } else {
            let near: Vec<_> = crowded.par_chunks(CROWDED_AT_ONCE).map(in_crowds).collect();
            near.into_iter().for_each(|near| nearest.as_mut().extend(near));
        }
        nearest.keep_nearest();
        nearest
    }

    /// Calls `found` with all centroids of a crowd that are near a query, or related with the lowest
    /// [rank](Detector::related_rank).
    fn near_in_crowd(
        &self,
        (query, crowd): (u32, u32),
        look_up: Queries<'_>,
        found: &mut dyn FnMut(NearCentroid),
    ) {
        let (Some((of, corpus)), Some(crowd)) = (look_up.query(query), self.crowds.get(crowd)) else {
            return;
        };
        let mut numbers = Vec::new();
        crowd.near(look_up.detector.compared(of.fingerprint), &mut |number| numbers.push(number));
        numbers.sort_unstable();
        numbers.dedup();
        let compare = |number| self.compare_one((query, of), number, corpus, look_up.detector);
        numbers
            .into_iter()
            .filter_map(compare)
            .filter(|near| !near.related || near.rank == 0)
            .for_each(found);
    }

    /// Calls `found` with the centroids of a crowd that are related to a query, oldest first, until it returns false.
    fn related_in_crowd(
        &self,
        (query, crowd): (u32, u32),
        look_up: Queries<'_>,
        found: &mut dyn FnMut(NearCentroid) -> bool,
    ) {
        let (Some((of, corpus)), Some(crowd)) = (look_up.query(query), self.crowds.get(crowd)) else {
            return;
        };
        let compare = |number| self.compare_one((query, of), number, corpus, look_up.detector);
        let compared = look_up.detector.compared(of.fingerprint);
        crowd.related(compared, &mut |number| compare(number).is_none_or(&mut *found));
    }

    /// Returns the nearest centroid that is near or related by its whole fingerprint, and for whose number
    /// `counts` returns true; among equally near ones the oldest. Does not find centroids added since the last
    /// [`Self::index_pending`]. This is for the few queries whose kept near centroids have all expired.
    pub(super) fn find_nearest(
        &self,
        query: Query<'_>,
        counts: &(dyn Fn(u64) -> bool + Sync),
        detector: &dyn Detector,
        scratch: &mut Scratch,
    ) -> Option<NearCentroid> {
        let Scratch { batch, hits, .. } = scratch;
        let queries = [Some(query)];
        let (corpora, crowded) = self.probes(&queries, Purpose::Probe, detector, batch);
        hits.clear();
        let look_up = Queries { queries: &queries, corpora: &corpora, detector };
        let keep = |hits: &mut Vec<Hit>, nearest: &mut Option<NearCentroid>| {
            let mut near = Vec::new();
            for some in in_order(hits).chunks(AHEAD) {
                near.clear();
                self.compare(some, look_up, &mut near);
                for near in near.iter().filter(|near| counts(near.number)) {
                    if nearest.is_none_or(|nearest| *near < nearest)
                        && self.is_near_in_full(query, *near, detector)
                    {
                        *nearest = Some(*near);
                    }
                }
            }
            hits.clear();
        };
        let mut kept = self.index.find(batch, hits, keep);
        let mut of_the_rest = None;
        keep(hits, &mut of_the_rest);
        kept.push(of_the_rest);
        let mut nearest = kept.into_iter().flatten().min();
        for crowded in crowded {
            let mut take = |near: NearCentroid| {
                if counts(near.number)
                    && nearest.is_none_or(|nearest| near < nearest)
                    && self.is_near_in_full(query, near, detector)
                {
                    nearest = Some(near);
                }
                nearest.is_none_or(|nearest| near < nearest)
            };
            self.near_in_crowd(crowded, look_up, &mut |near| _ = take(near));
            // Later ones are younger, so none comes before the first that is related.
            self.related_in_crowd(crowded, look_up, &mut take);
        }
        nearest
    }

    /// Returns true if a centroid that is near or related by its compared part is also near or related by its whole
    /// fingerprint, which is nearly always so.
    fn is_near_in_full(&self, query: Query<'_>, near: NearCentroid, detector: &dyn Detector) -> bool {
        let (Some((_, compared)), Some(cold)) = (self.hot.get(near.number), self.cold.get(near.number))
        else {
            return false;
        };
        // Most detectors compare the whole fingerprint at once.
        if cold.uncompared.is_empty() {
            return true;
        }
        near.is_in_full(detector, query.fingerprint, &[compared, cold.uncompared].concat())
    }

    /// Returns the centroids added since the last [`Self::index_pending`] that may be near `query`, nearest first.
    pub(super) fn find_recent(&mut self, query: Query<'_>, detector: &dyn Detector) -> Vec<NearCentroid> {
        if self.pending() == 0 {
            return Vec::new();
        }
        let Some(corpus) = self.corpora.find(query.corpus, query.fingerprint_hash) else { return Vec::new() };
        let mut values = Vec::new();
        let second = values_of(detector, query.fingerprint, corpus, Purpose::Probe, &mut values);
        let first = self.first_recent();
        let found = self.recent.find(&values, second, detector.look_up(), detector.second_key());
        let hits: Vec<Hit> =
            found.into_iter().map(|number| Hit::new(0, (first + u64::from(number)) as u32)).collect();
        let look_up = Queries { queries: &[Some(query)], corpora: &[Some(corpus)], detector };
        let mut near = Vec::new();
        hits.chunks(AHEAD).for_each(|some| self.compare(some, look_up, &mut near));
        near.sort_unstable();
        near
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
    pub(super) fn insert(
        &mut self,
        corpus: &str,
        fingerprint_hash: u64,
        centroid: &Centroid,
        detector: &dyn Detector,
    ) {
        let key = SeenText::key_of(corpus, fingerprint_hash, centroid.text_digest);
        let corpus = self.corpora.enter(corpus, fingerprint_hash);
        let compared = detector.compared(&centroid.fingerprint);
        let number = self.hot.push(corpus, compared);
        self.texts.insert(key, number as u32);
        self.cold.push(centroid, &centroid.fingerprint[compared.len()..]);
        self.recent
            .push(|values| values_of(detector, &centroid.fingerprint, corpus, Purpose::Insert, values));
    }

    /// Makes look-ups find the centroids that were added.
    pub(super) fn index_pending(&mut self, detector: &dyn Detector) {
        if self.pending() > 0 {
            let first = self.first_recent();
            // Some of the added centroids have left already if `expiry.centroids_max` is smaller than a batch.
            let gone = self.hot.first().saturating_sub(first);
            self.recent.evict(gone as usize);
            let Self { index, hot, recent, crowds, .. } = self;
            if !crowds.is_empty() {
                let batch = recent.batch();
                for (number, at) in (first + gone..).zip(0..batch.len()) {
                    if let Some((_, compared)) = hot.get(number) {
                        crowds.insert(Member { number, compared, keys: batch.get(at) });
                    }
                }
            }
            index.insert(first + gone, recent.batch_mut(), |slot| bits_of(hot, slot, detector));
            self.recent.clear();
            self.find_crowds(detector);
        }
    }

    /// Makes the keys that have become those of very many centroids lead to crowds.
    fn find_crowds(&mut self, detector: &dyn Detector) {
        let mut crowded = self.index.take_crowded();
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
    pub(super) fn remove_oldest(&mut self, detector: &dyn Detector) {
        let number = self.hot.first();
        let Some((corpus, compared)) = self.hot.get(number) else { return };
        let Some(cold) = self.cold.get(number) else { return };
        let (name, fingerprint_hash) = self.corpora.get(corpus);
        self.texts.remove(SeenText::key_of(name, fingerprint_hash, cold.text_digest), number as u32);
        if self.index.leaving_together().is_none() && number < self.first_recent() {
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
        self.recent.batch().len()
    }

    /// Returns the number of centroids.
    pub(super) fn len(&self) -> usize {
        (self.hot.end() - self.hot.first()) as usize
    }

    /// Returns the number of centroids that leave at about the same time; `None` if they leave one by one.
    pub(super) fn leaving_together(&self) -> Option<u64> {
        self.index.leaving_together()
    }

    /// Returns the number of corpora that have centroids.
    #[cfg(test)]
    pub(super) fn corpus_count(&self) -> usize {
        self.corpora.len()
    }

    /// Fills `batch` with the keys or bits of each query. Returns the corpus whose centroids count for each, and the
    /// numbers of queries with those of the crowds that their other keys lead to.
    fn probes(
        &self,
        queries: &[Option<Query<'_>>],
        purpose: Purpose,
        detector: &dyn Detector,
        batch: &mut Batch,
    ) -> (Vec<Option<CorpusId>>, Vec<(u32, u32)>) {
        batch.clear();
        let mut crowded = Vec::new();
        let probe = |(number, query): (u32, &Option<Query<'_>>)| {
            let query = query.as_ref();
            let corpus = query.and_then(|query| self.corpora.find(query.corpus, query.fingerprint_hash));
            let first = crowded.len();
            batch.push(|values| {
                let (Some(query), Some(corpus)) = (query, corpus) else { return 0 };
                let start = values.len();
                let second = values_of(detector, query.fingerprint, corpus, purpose, values);
                if !self.crowds.is_empty() {
                    let of_query = values.split_off(start);
                    values.extend(of_query.into_iter().filter(|key| {
                        let crowd = self.crowds.of_key(*key);
                        crowded.extend(crowd.map(|crowd| (number, crowd)));
                        crowd.is_none()
                    }));
                }
                second
            });
            crowded[first..].sort_unstable();
            corpus
        };
        let corpora = (0..).zip(queries).map(probe).collect();
        crowded.dedup();
        (corpora, crowded)
    }

    /// Compares at most [`AHEAD`] ordered hits with their queries, and adds the near and related ones to
    /// `near`.
    fn compare(&self, hits: &[Hit], look_up: Queries<'_>, near: &mut Vec<NearCentroid>) {
        self.fetch(hits);
        for hits in hits.chunk_by(|a, b| a.query() == b.query()) {
            let query = hits[0].query();
            let (Some(of), Some(corpus)) =
                (&look_up.queries[query as usize], look_up.corpora[query as usize])
            else {
                continue;
            };
            // Mostly there is one hit. Preparing it for `compare_all` would take longer than comparing it.
            if hits.len() < TOGETHER_MIN {
                near.extend(hits.iter().filter_map(|hit| {
                    self.compare_one((query, of), number_of(&self.hot, hit.slot()), corpus, look_up.detector)
                }));
                continue;
            }
            // With several hits, the detector reads the query only once.
            let (mut compared, mut numbers, mut count) = ([&[][..]; AHEAD], [0; AHEAD], 0);
            for hit in hits {
                let number = number_of(&self.hot, hit.slot());
                if let Some((other, bytes)) = self.hot.get(number)
                    && other == corpus
                {
                    (compared[count], numbers[count]) = (bytes, number);
                    count += 1;
                }
            }
            look_up.detector.compare_all(of.fingerprint, &compared[..count], &mut |at, comparison| {
                let centroid = (numbers[at], compared[at]);
                near.push(NearCentroid::new((query, of), centroid, comparison, look_up.detector));
            });
        }
    }

    #[inline]
    fn compare_one(
        &self,
        (query, of): (u32, &Query<'_>),
        number: u64,
        corpus: CorpusId,
        detector: &dyn Detector,
    ) -> Option<NearCentroid> {
        let (other, compared) = self.hot.get(number)?;
        if other != corpus {
            return None;
        }
        let comparison = detector.compare_found(of.fingerprint, compared);
        let found = comparison.near || detector.related_found(of.fingerprint, compared);
        found.then(|| NearCentroid::new((query, of), (number, compared), comparison, detector))
    }

    /// Prefetches the compared parts of these hits, so their cache misses overlap.
    fn fetch(&self, hits: &[Hit]) {
        let first_byte = |hit: &Hit| {
            let (_, compared) = self.hot.get(number_of(&self.hot, hit.slot()))?;
            compared.first()
        };
        black_box(hits.iter().filter_map(first_byte).fold(0, |all, byte| all ^ byte));
    }
}

/// The queries of a batch.
#[derive(Clone, Copy)]
struct Queries<'a> {
    queries: &'a [Option<Query<'a>>],
    /// The corpus whose centroids count, for each query.
    corpora: &'a [Option<CorpusId>],
    detector: &'a dyn Detector,
}

impl<'a> Queries<'a> {
    /// Returns a query and its corpus.
    fn query(&self, number: u32) -> Option<(&'a Query<'a>, CorpusId)> {
        Some((self.queries[number as usize].as_ref()?, self.corpora[number as usize]?))
    }
}

/// Sorts the hits by query and slot, and removes repeated ones.
fn in_order(hits: &mut Vec<Hit>) -> &[Hit] {
    hits.sort_unstable();
    hits.dedup();
    hits
}

/// Appends the keys or bits of a fingerprint to `values`, mixed with its corpus. Returns the second key, or 0
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
    match (detector.look_up(), purpose) {
        (LookUp::Hamming { bits, .. }, _) => values.push(bits(fingerprint)),
        (LookUp::Keys, Purpose::Insert) => detector.insert_keys(fingerprint, values),
        (LookUp::Keys, Purpose::Probe) => detector.probe_keys(fingerprint, values),
        (LookUp::Keys, Purpose::ProbeEqual) => values.extend(detector.equal_key(fingerprint)),
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

/// Returns the bits that a centroid was inserted with, or 0 if it was inserted with keys.
fn bits_of(hot: &Hot, slot: u32, detector: &dyn Detector) -> u64 {
    let LookUp::Hamming { bits, .. } = detector.look_up() else { return 0 };
    hot.get(number_of(hot, slot)).map_or(0, |(corpus, compared)| bits(compared) ^ corpus.salt())
}

/// Returns the number of the centroid in a slot.
#[inline]
fn number_of(hot: &Hot, slot: u32) -> u64 {
    hot.first() + u64::from(slot.wrapping_sub(hot.first() as u32))
}
