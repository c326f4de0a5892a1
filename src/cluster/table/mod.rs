//! The centroid table of one log partition: all its centres in order of founding, and the index that finds them.
//!
//! ```text
//! fingerprint ─► index ─► slots ─► hot: compared part ─► near ─► cold: id, url, digest, bands
//!                every look-up                            duplicates only
//! ```
//! A centre's number counts all centres from the first one on; its slot is that modulo 2^32. Centres leave in the order
//! in which they came, so everything is kept in queues of blocks, and a slot is found by subtraction.
//!
//! Centres of all corpora stand in one table; those of other corpora and fingerprint settings never match. Their keys and
//! bits are mixed with a number of their own, so that they seldom meet in the index either.

mod cold;
mod column;
mod corpora;
mod hot;

use std::hint::black_box;

use rayon::prelude::*;

use super::index::{Batch, Hit, Index, Recent};
use crate::fingerprint::{Detector, LookUp};
use crate::page::timestamp::Timestamp;
use cold::{Cold, ColdCentroid};
use corpora::{Corpora, CorpusId};
use hot::Hot;

/// Hits that are fetched at once.
const AHEAD: usize = 64;
/// Below this many hits a batch is compared on one core.
const PARALLEL_MIN: usize = 256;

/// A cluster's centre.
#[derive(Debug, Clone, PartialEq)]
pub struct Centroid {
    /// Where its page stands in the log: the older centre has the smaller offset.
    pub log_offset: u64,
    /// Log time of its founding.
    pub log_time: Option<Timestamp>,
    /// In the detector's encoding.
    pub fingerprint: Box<[u8]>,
    /// Of the main text.
    pub text_digest: u128,
    /// The page's id.
    pub page_id: Box<str>,
    /// The page's url.
    pub url: Box<str>,
}

/// A centre that may be near. The nearest comes first, and of equally near ones the oldest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Near {
    /// The query's number in its batch.
    pub query: u32,
    /// In the detector's unit.
    pub distance: u32,
    /// The centre's number.
    pub number: u64,
}

/// What is looked up: a fingerprint, and whose it is.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// Its corpus.
    pub corpus: &'a str,
    /// Of the settings that made it.
    pub fingerprint_hash: u64,
    /// In the detector's encoding.
    pub fingerprint: &'a [u8],
}

/// Bytes of memory that a table takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableBytes {
    /// Of the index and the compared parts, which every look-up reads.
    pub hot: usize,
    /// Of what only duplicates and saving read.
    pub cold: usize,
}

/// The table.
pub(super) struct Table {
    corpora: Corpora,
    index: Index,
    hot: Hot,
    cold: Cold,
    one_core: bool,
    /// The youngest centres, which are not in `index` yet.
    recent: Recent,
    /// Scratch space.
    batch: Batch,
    hits: Vec<Hit>,
}

/// What an index is asked for or given.
#[derive(Clone, Copy)]
enum Purpose {
    Insert,
    Probe,
}

impl Table {
    /// An empty table, whose index has so many shards.
    pub(super) fn new(detector: &dyn Detector, shards: usize) -> Self {
        Self {
            corpora: Corpora::default(),
            index: Index::new(detector.look_up(), shards),
            hot: Hot::default(),
            cold: Cold::default(),
            one_core: shards <= 1,
            recent: Recent::default(),
            batch: Batch::default(),
            hits: Vec::new(),
        }
    }

    /// Centres in the table.
    pub(super) fn len(&self) -> usize {
        self.hot.len()
    }

    /// Number of the oldest centre, if there is one.
    pub(super) fn first(&self) -> u64 {
        self.hot.first()
    }

    /// Offset and log time of a centre's founding.
    pub(super) fn founded(&self, number: u64) -> Option<(u64, Option<Timestamp>)> {
        self.cold.get(number).map(|cold| (cold.log_offset, cold.log_time))
    }

    /// All centres that may be near each query, ordered, but for those that were added since [`Self::settle`].
    pub(super) fn find(&mut self, queries: &[Option<Query<'_>>], detector: &dyn Detector) -> Vec<Near> {
        let (mut batch, mut hits) = (std::mem::take(&mut self.batch), std::mem::take(&mut self.hits));
        let corpora = self.probes(queries, detector, &mut batch);
        hits.clear();
        self.index.find(&batch, &mut hits);
        let compare = |hit: &Hit| self.compare(*hit, queries, &corpora, detector);
        let mut near: Vec<Near> = if self.one_core || hits.len() < PARALLEL_MIN {
            let chunks = hits.chunks(AHEAD);
            chunks.flat_map(|some| self.fetch(some).iter().filter_map(compare)).collect()
        } else {
            let chunks = hits.par_chunks(AHEAD);
            chunks.flat_map_iter(|some| self.fetch(some).iter().filter_map(compare)).collect()
        };
        near.sort_unstable();
        (self.batch, self.hits) = (batch, hits);
        near
    }

    /// The centres added since [`Self::settle`] that may be near `query`, ordered.
    pub(super) fn find_recent(&mut self, query: Query<'_>, detector: &dyn Detector) -> Vec<Near> {
        if self.recent.batch().len() == 0 {
            return Vec::new();
        }
        let Some(corpus) = self.corpora.find(query.corpus, query.fingerprint_hash) else { return Vec::new() };
        let mut values = Vec::new();
        values_of(detector, query.fingerprint, corpus, Purpose::Probe, &mut values);
        let first = self.first_recent();
        let found = self.recent.find(&values, detector.look_up()).into_iter();
        let queries = [Some(query)];
        let hits = found.map(|number| (0, (first + u64::from(number)) as u32));
        let mut near: Vec<Near> =
            hits.filter_map(|hit| self.compare(hit, &queries, &[Some(corpus)], detector)).collect();
        near.sort_unstable();
        near
    }

    /// The centre of this number; none if it has left.
    pub(super) fn centroid(&mut self, number: u64) -> Option<Centroid> {
        let (page_id, url) = self.cold.texts(number)?;
        let (_, compared) = self.hot.get(number)?;
        let ColdCentroid { log_offset, log_time, text_digest, rest } = self.cold.get(number)?;
        let fingerprint = [compared, rest].concat().into();
        Some(Centroid { log_offset, log_time, fingerprint, text_digest, page_id, url })
    }

    /// Adds a centre, which is younger than all others.
    pub(super) fn insert(
        &mut self,
        corpus: &str,
        fingerprint_hash: u64,
        centroid: &Centroid,
        detector: &dyn Detector,
    ) {
        let corpus = self.corpora.enter(corpus, fingerprint_hash);
        let compared = detector.compared(&centroid.fingerprint);
        self.hot.push(corpus, compared);
        self.cold.push(centroid, &centroid.fingerprint[compared.len()..]);
        self.recent
            .push(|values| values_of(detector, &centroid.fingerprint, corpus, Purpose::Insert, values));
    }

    /// Has look-ups find the centres that were added.
    pub(super) fn settle(&mut self, detector: &dyn Detector) {
        if self.recent.batch().len() > 0 {
            let first = self.first_recent();
            // Some may have left already, where the cap is smaller than a batch.
            let gone = self.hot.first().saturating_sub(first);
            self.recent.forget(gone as usize);
            let first = (first + gone) as u32;
            self.index.insert(first, self.recent.batch(), |slot| bits_of(&self.hot, slot, detector));
            self.recent.clear();
        }
    }

    /// Number of the first centre that was added since [`Self::settle`].
    fn first_recent(&self) -> u64 {
        self.hot.end() - self.recent.batch().len() as u64
    }

    /// Takes the oldest centre out.
    pub(super) fn remove_oldest(&mut self, detector: &dyn Detector) {
        let number = self.hot.first();
        let (Some((corpus, compared)), Some(cold)) = (self.hot.get(number), self.cold.get(number)) else {
            return;
        };
        let fingerprint = [compared, cold.rest].concat();
        if number < self.first_recent() {
            self.batch.clear();
            self.batch.push(|values| values_of(detector, &fingerprint, corpus, Purpose::Insert, values));
            self.index.remove(number as u32, &self.batch);
        }
        self.corpora.leave(corpus);
        self.hot.pop();
        self.cold.pop();
    }

    /// All centres, oldest first, each with its corpus and fingerprint hash.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, u64, Centroid)> {
        self.cold.blocks().flat_map(|(first, block)| (first..).zip(block)).filter_map(
            |(number, mut centroid)| {
                let (corpus, compared) = self.hot.get(number)?;
                centroid.fingerprint = [compared, &centroid.fingerprint].concat().into();
                let (name, fingerprint_hash) = self.corpora.get(corpus);
                Some((name, fingerprint_hash, centroid))
            },
        )
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> TableBytes {
        TableBytes { hot: self.index.bytes() + self.hot.bytes(), cold: self.cold.bytes() }
    }

    /// Corpora that have centres.
    #[cfg(test)]
    pub(super) fn corpus_count(&self) -> usize {
        self.corpora.len()
    }

    /// What the index is asked for each query, and whose centres count for it.
    fn probes(
        &self,
        queries: &[Option<Query<'_>>],
        detector: &dyn Detector,
        batch: &mut Batch,
    ) -> Vec<Option<CorpusId>> {
        batch.clear();
        let probe = |query: &Option<Query<'_>>| {
            let query = query.as_ref();
            let corpus = query.and_then(|query| self.corpora.find(query.corpus, query.fingerprint_hash));
            batch.push(|values| {
                if let (Some(query), Some(corpus)) = (query, corpus) {
                    values_of(detector, query.fingerprint, corpus, Purpose::Probe, values);
                }
            });
            corpus
        };
        queries.iter().map(probe).collect()
    }

    /// Reads where these hits are compared: their cache misses overlap.
    fn fetch<'a>(&self, hits: &'a [Hit]) -> &'a [Hit] {
        let first_byte = |hit: &Hit| {
            let (_, compared) = self.hot.get(number_of(&self.hot, hit.1))?;
            compared.first()
        };
        black_box(hits.iter().filter_map(first_byte).fold(0, |all, byte| all ^ byte));
        hits
    }

    #[inline]
    fn compare(
        &self,
        (query, slot): Hit,
        queries: &[Option<Query<'_>>],
        corpora: &[Option<CorpusId>],
        detector: &dyn Detector,
    ) -> Option<Near> {
        let number = number_of(&self.hot, slot);
        let (corpus, compared) = self.hot.get(number)?;
        let asked = queries[query as usize].as_ref()?;
        if corpora[query as usize] != Some(corpus) {
            return None;
        }
        let comparison = detector.compare_found(asked.fingerprint, compared);
        comparison.near.then_some(Near { query, distance: comparison.distance, number })
    }
}

/// Keys or bits of a fingerprint, mixed with its corpus.
#[inline]
fn values_of(
    detector: &dyn Detector,
    fingerprint: &[u8],
    corpus: CorpusId,
    purpose: Purpose,
    values: &mut Vec<u64>,
) {
    let start = values.len();
    match (detector.look_up(), purpose) {
        (LookUp::Hamming { bits, .. }, _) => values.push(bits(fingerprint)),
        (LookUp::Keys, Purpose::Insert) => detector.insert_keys(fingerprint, values),
        (LookUp::Keys, Purpose::Probe) => detector.probe_keys(fingerprint, values),
    }
    values[start..].iter_mut().for_each(|value| *value ^= corpus.salt());
}

/// The bits that a centre was entered with.
fn bits_of(hot: &Hot, slot: u32, detector: &dyn Detector) -> u64 {
    let LookUp::Hamming { bits, .. } = detector.look_up() else { return 0 };
    hot.get(number_of(hot, slot)).map_or(0, |(corpus, compared)| bits(compared) ^ corpus.salt())
}

/// A centre's number by its slot.
#[inline]
fn number_of(hot: &Hot, slot: u32) -> u64 {
    hot.first() + u64::from(slot.wrapping_sub(hot.first() as u32))
}
