//! All centroids of a log partition: the young ones in a [`CentroidTable`] in memory, the others [outside of
//! it](OldCentroids) if there is such a place.
//!
//! Both share one sequence of numbers. A centroid may be in both for a time: it is handed over, is found
//! outside once its block is complete, and then leaves memory. Only a few centroids leave in one call, so no
//! decision waits long. A centroid that is found in both places counts once.

use std::sync::Arc;

use crate::articles::{ArticlePage, Articles};
use crate::fault::TableFault;
use crate::old::{Handed, OldCentroids};
use crate::seen::{Seen, SeenTexts};
use crate::table::{
    Centroid, CentroidTable, NearCentroid, NearestCentroids, Purpose, Query, Scratch, TableBytes,
};
use leitong_base::record::Timestamp;

/// Maximum number of portions ([`OldCentroids::range_to_take`]) handed over in one call. Together they have several times
/// the centroids that a batch founds, and take some milliseconds.
const HANDED_OVER_MAX: usize = 32;
/// Maximum number of centroids that leave memory in one call. This too is several times what a batch founds.
const LEAVING_MAX: u64 = 4_096;

/// Minimum number of restored centroids that are inserted into the index at once. Inserting many at once merges
/// them into the index, which is faster than inserting one by one.
const RESTORED_AT_ONCE: usize = 1_024;
/// Divisor of the number of centroids in memory. If centroids leave memory one by one, restored ones are inserted once
/// they are at least this part of those in memory.
const RESTORED_SHARE: usize = 8;
/// Maximum number of restored centroids that are inserted at once if centroids leave memory in blocks. If a block has
/// fewer, all of the block's are. The keys of this many centroids take 50 MB.
const RESTORED_BLOCK_MAX: u64 = 1 << 18;

/// All centroids of a log partition.
pub(super) struct Tiers {
    /// The centroids in memory.
    pub(super) young: CentroidTable,
    old: Option<Arc<dyn OldCentroids>>,
    /// Number of the oldest centroid that has not been removed.
    first: u64,
    /// The youngest centroid of each article. Old ones are restored before any centroid in memory is added.
    pub(super) articles: Articles,
    /// Texts of pages that joined a cluster.
    pub(super) seen: Seen,
}

impl Tiers {
    /// Creates an empty table in memory that keeps at most `texts_max` texts of members.
    pub(super) fn in_memory(young: CentroidTable, texts_max: u64) -> Self {
        let first = young.first();
        Self { first, young, old: None, articles: Articles::default(), seen: Seen::new(texts_max) }
    }

    /// Creates a table whose old centroids, from number `first` on, are in `old`; `young` has the later ones.
    /// It keeps at most `texts_max` texts of members.
    pub(super) fn with_old(
        young: CentroidTable,
        old: Arc<dyn OldCentroids>,
        first: u64,
        texts_max: u64,
    ) -> Result<Self, TableFault> {
        let mut seen = Seen::new(texts_max);
        old.each_seen(&mut |SeenTexts { first, texts }| seen.restore(first, texts.into_iter()))?;
        seen.mark(old.end());
        Ok(Self { young, old: Some(old), first, articles: Articles::default(), seen })
    }

    /// Returns the error of the old centroids, if they have one already. Reads no file.
    pub(super) fn check(&self) -> Result<(), TableFault> {
        self.old.as_ref().map_or(Ok(()), |old| old.check())
    }

    /// Makes this empty table begin with the number that `young`, another empty table, begins with.
    pub(super) fn begin_at(&mut self, young: CentroidTable) {
        self.first = young.first();
        if let Some(old) = &self.old {
            old.begin_at(self.first);
        }
        self.young = young;
    }

    /// Returns how many centroids leave memory at about the same time; `None` if centroids stay in memory
    /// until they are removed.
    pub(super) fn block_length(&self) -> Option<u64> {
        self.old.as_ref().map(|old| old.block_length())
    }

    /// Returns the number of centroids that were not removed.
    pub(super) fn len(&self) -> usize {
        (self.young.end() - self.first) as usize
    }

    /// Returns the number of the oldest centroid, if there is one.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Returns the number of the next centroid.
    pub(super) fn end(&self) -> u64 {
        self.young.end()
    }

    /// Returns the log offset and the log time at which a centroid was founded; `None` if it was removed.
    pub(super) fn founded(&self, number: u64) -> Result<Option<(u64, Option<Timestamp>)>, TableFault> {
        if number < self.first {
            return Ok(None);
        }
        match self.old_below(number) {
            Some(old) => old.founded(number),
            None => Ok(self.young.founded(number)),
        }
    }

    /// Returns the nearest few centroids for each query, without those that were added since
    /// [`Self::index_pending`].
    pub(super) fn find(
        &self,
        queries: &[Option<Query<'_>>],
        scratch: &mut Scratch,
    ) -> Result<NearestCentroids, TableFault> {
        self.find_by(Purpose::Probe, queries, scratch)
    }

    /// Returns the result of [`Self::find`], as far as a decision can need it. If a centroid is near a query
    /// at distance 0, only the centroids that share the [equal key](leitong_fingerprint::Detector::equal_key) with
    /// the query are returned: no others can be as near.
    pub(super) fn find_to_decide(
        &self,
        queries: &[Option<Query<'_>>],
        scratch: &mut Scratch,
    ) -> Result<NearestCentroids, TableFault> {
        let has_key = |query: &Query<'_>| self.young.detector.equal_key(query.fingerprint).is_some();
        if !queries.iter().flatten().next().is_some_and(has_key) {
            return self.find(queries, scratch);
        }
        let equal = self.find_by(Purpose::ProbeEqual, queries, scratch)?.only_equal();
        let is_open = |number: u32| equal.for_query(number).0.is_empty();
        let open: Vec<Option<Query<'_>>> =
            (0..).zip(queries).map(|(number, query)| query.filter(|_| is_open(number))).collect();
        let mut nearest = equal;
        if open.iter().any(Option::is_some) {
            nearest.merge(self.find(&open, scratch)?);
        }
        Ok(nearest)
    }

    fn find_by(
        &self,
        purpose: Purpose,
        queries: &[Option<Query<'_>>],
        scratch: &mut Scratch,
    ) -> Result<NearestCentroids, TableFault> {
        let mut nearest = self.young.find(queries, purpose, scratch);
        if let Some(old) = &self.old {
            nearest.merge(old.find(queries, purpose, self.first)?);
        }
        Ok(nearest)
    }

    /// Returns the nearest centroid that is near or related by its whole fingerprint, and whose number is at
    /// least `first`. `left_out` returns true for centroids in memory that do not count; old centroids always
    /// count. See [`CentroidTable::find_nearest`].
    pub(super) fn find_nearest(
        &self,
        query: Query<'_>,
        first: u64,
        left_out: &(dyn Fn(u64) -> bool + Sync),
        scratch: &mut Scratch,
    ) -> Result<Option<NearCentroid>, TableFault> {
        let counts = |number| number >= first && !left_out(number);
        let young = self.young.find_nearest(query, &counts, scratch);
        let old = match &self.old {
            Some(old) => old.find_nearest(query, first.max(self.first))?,
            None => None,
        };
        Ok(young.into_iter().chain(old).min())
    }

    /// Returns, for each key, the number of the youngest old centroid whose text has it. Empty if the table has
    /// no old centroids, or if there is no key.
    pub(super) fn old_texts(&self, keys: &[Option<u128>]) -> Result<Vec<Option<u64>>, TableFault> {
        match &self.old {
            Some(old) if keys.iter().any(Option::is_some) => old.find_texts(keys, self.first),
            _ => Ok(Vec::new()),
        }
    }

    /// Returns the number of the youngest centroid of the article that the query's page belongs to.
    pub(super) fn find_part(&self, query: Query<'_>) -> Option<u64> {
        let article = self.young.detector.article(query.fingerprint)?;
        let youngest = self.articles.youngest(query.corpus, query.fingerprint_hash, article);
        youngest.filter(|number| *number >= self.first)
    }

    /// Returns the youngest centroid of each article.
    pub(super) fn articles(&self) -> impl Iterator<Item = ArticlePage<'_>> {
        self.articles.from(self.first)
    }

    /// Returns the centroid with this number; `None` if it was removed.
    pub(super) fn centroid(
        &self,
        number: u64,
        scratch: &mut Scratch,
    ) -> Result<Option<Centroid>, TableFault> {
        if number < self.first {
            return Ok(None);
        }
        match self.old_below(number) {
            Some(old) => old.centroid(number),
            None => Ok(self.young.centroid(number, scratch)),
        }
    }

    /// Adds a centroid, which is younger than all others.
    pub(super) fn insert(&mut self, corpus: &str, fingerprint_hash: u64, centroid: &Centroid) {
        let number = self.young.end();
        if self.block_length().is_some_and(|block| number.is_multiple_of(block)) {
            self.seen.mark(number);
        }
        if let Some(article) = self.young.detector.article(&centroid.fingerprint) {
            self.articles.enter(ArticlePage { corpus, fingerprint_hash, article, number });
        }
        self.young.insert(corpus, fingerprint_hash, centroid);
    }

    /// Adds a centroid of a saved table; centroids come in the order of that table. Look-ups find it after
    /// [`Self::index_pending`].
    pub(super) fn restore(
        &mut self,
        corpus: &str,
        fingerprint_hash: u64,
        centroid: &Centroid,
    ) -> Result<(), TableFault> {
        self.insert(corpus, fingerprint_hash, centroid);
        let pending = self.young.pending();
        let enough = match self.young.block_length() {
            Some(block) => block.min(RESTORED_BLOCK_MAX) as usize,
            None => self.young.len() / RESTORED_SHARE,
        };
        if pending >= enough.max(RESTORED_AT_ONCE) {
            self.index_pending()?;
        } else if pending.is_multiple_of(RESTORED_AT_ONCE) {
            // A centroid that leaves memory before it is in the index need not be inserted there.
            self.let_old_leave()?;
        }
        Ok(())
    }

    /// Makes look-ups find the centroids that were added, and lets old ones leave memory.
    pub(super) fn index_pending(&mut self) -> Result<(), TableFault> {
        self.young.index_pending();
        self.let_old_leave()
    }

    fn let_old_leave(&mut self) -> Result<(), TableFault> {
        let Some(old) = &self.old else { return Ok(()) };
        for _ in 0..HANDED_OVER_MAX {
            let Some(numbers) = old.range_to_take(self.young.end())? else { break };
            let (first, end) = (numbers.start, numbers.end);
            let handed = self.young.range(numbers).map(|(corpus, fingerprint_hash, centroid)| Handed {
                corpus: corpus.into(),
                fingerprint_hash,
                centroid,
            });
            let handed = handed.collect();
            // Blocks end at multiples of their length, and a portion is at most one block long.
            let (block, begins) = (old.block_length(), old.end());
            let block_end = end / block * block;
            let texts = match block_end > first {
                true => self.seen.texts_of_block(begins.max(block_end.saturating_sub(block)), block_end),
                false => SeenTexts::default(),
            };
            old.take(first, handed, texts)?;
        }
        self.seen.remove_marks(old.end());
        let gone = old.end().saturating_sub(self.young.first()).min(LEAVING_MAX);
        (0..gone).for_each(|_| self.young.remove_oldest());
        Ok(())
    }

    /// Removes the oldest centroid.
    pub(super) fn remove_oldest(&mut self) {
        if self.first == self.young.end() {
            return;
        }
        self.first += 1;
        self.articles.forget_before(self.first);
        match &self.old {
            None => self.young.remove_oldest(),
            Some(old) => old.drop_before(self.first),
        }
    }

    /// Returns the centroids that are only in memory, oldest first, each with its corpus and fingerprint
    /// hash. These are all centroids if none are kept elsewhere.
    pub(super) fn iter_young(&self) -> impl Iterator<Item = (&str, u64, Centroid)> {
        self.young.range(self.first_young()..self.young.end())
    }

    /// Returns the number of centroids that are only in memory.
    pub(super) fn young_len(&self) -> usize {
        (self.young.end() - self.first_young()) as usize
    }

    /// Returns the number of the first centroid that is only in memory.
    fn first_young(&self) -> u64 {
        self.old.as_ref().map_or(self.young.first(), |old| old.end()).min(self.young.end())
    }

    /// Returns the bytes of memory in use.
    pub(super) fn bytes(&self) -> TableBytes {
        let TableBytes { hot, cold } = self.young.bytes();
        let old = self.old.as_ref().map_or(0, |old| old.bytes());
        TableBytes { hot: hot + old + self.articles.bytes() + self.seen.bytes(), cold }
    }

    /// Returns the old centroids if the centroid with this number is not in memory.
    fn old_below(&self, number: u64) -> Option<&Arc<dyn OldCentroids>> {
        self.old.as_ref().filter(|_| number < self.young.first())
    }
}
