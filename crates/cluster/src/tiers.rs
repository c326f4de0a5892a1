//! All centroids of a log partition: the young ones in a [`Table`] in memory, and the others, where
//! there is such a place, [outside of it](OldCentroids).
//!
//! Numbers count through both. Some are in both for a time: a centroid is handed over, is found
//! outside once its block is whole, and then leaves memory a few at a time, so that nothing halts.
//! What both find is the same and counts once.

use std::sync::Arc;

use super::articles::{ArticlePage, Articles};
use super::fault::TableFault;
use super::old::{Founding, Handed, OldCentroids};
use super::seen::{Seen, SeenTexts};
use super::table::{Centroid, Near, Nearest, Purpose, Query, Scratch, Table, TableBytes};
use leitong_fingerprint::Detector;

/// Portions that are handed over, and centroids that leave memory, at one call: several times what
/// a batch founds, and some milliseconds of work.
const HANDED_OVER_MAX: usize = 32;
const LEAVING_MAX: u64 = 4_096;

/// Centroids of a saved table that are entered into the index at once: as many as make a batch,
/// and an eighth of those that are in it, so that the index is merged with all that come. Where
/// they leave by blocks, a whole block, of this length at most: 50 MB of keys.
const RESTORED_AT_ONCE: usize = 1_024;
const RESTORED_SHARE: usize = 8;
const RESTORED_BLOCK_MAX: u64 = 1 << 18;

/// The centroids.
pub(super) struct Tiers {
    young: Table,
    old: Option<Arc<dyn OldCentroids>>,
    /// Number of the oldest centroid that has not been removed.
    first: u64,
    articles: Articles,
    /// The texts of pages that joined a cluster.
    pub(super) seen: Seen,
}

impl Tiers {
    /// An empty table in memory, in which at most `texts_max` texts of members count.
    pub(super) fn in_memory(young: Table, texts_max: u64) -> Self {
        let first = young.first();
        Self { first, young, old: None, articles: Articles::default(), seen: Seen::new(texts_max) }
    }

    /// Creates a table whose old centroids, from number `first` on, are in `old`; `young` has the later ones.
    /// At most `texts_max` texts of members count.
    pub(super) fn with_old(
        young: Table,
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

    /// Has an empty table begin with this number; `young` is an empty one that does.
    pub(super) fn begin_at(&mut self, young: Table) {
        self.first = young.first();
        if let Some(old) = &self.old {
            old.begin_at(self.first);
        }
        self.young = young;
    }

    /// How many centroids leave memory at about one time, where they do so before they are removed.
    pub(super) fn leaving(&self) -> Option<u64> {
        self.old.as_ref().map(|old| old.leaving())
    }

    /// Centroids that were not removed.
    pub(super) fn len(&self) -> usize {
        (self.young.end() - self.first) as usize
    }

    /// Number of the oldest centroid, if there is one.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Number of the next centroid.
    pub(super) fn end(&self) -> u64 {
        self.young.end()
    }

    /// Returns the log offset and the log time at which a centroid was founded; `None` if it was removed.
    pub(super) fn founded(&self, number: u64) -> Result<Option<Founding>, TableFault> {
        if number < self.first {
            return Ok(None);
        }
        match self.old_below(number) {
            Some(old) => old.founded(number),
            None => Ok(self.young.founded(number)),
        }
    }

    /// Returns the nearest few centroids for each query, without those that were added since
    /// [`Self::settle`].
    pub(super) fn find(
        &self,
        queries: &[Option<Query<'_>>],
        detector: &dyn Detector,
        scratch: &mut Scratch,
    ) -> Result<Nearest, TableFault> {
        self.find_by(Purpose::Probe, queries, detector, scratch)
    }

    /// Returns what [`Self::find`] finds, as far as a decision can need it. For a query with a centroid that is
    /// near at distance 0, these are the centroids that share the [equal key](Detector::equal_key) with it,
    /// since all that are as near do.
    pub(super) fn find_to_decide(
        &self,
        queries: &[Option<Query<'_>>],
        detector: &dyn Detector,
        scratch: &mut Scratch,
    ) -> Result<Nearest, TableFault> {
        let has_key = |query: &Query<'_>| detector.equal_key(query.fingerprint).is_some();
        if !queries.iter().flatten().next().is_some_and(has_key) {
            return self.find(queries, detector, scratch);
        }
        let equal = self.find_by(Purpose::ProbeEqual, queries, detector, scratch)?.only_equal();
        let is_open = |number: u32| equal.of(number).0.is_empty();
        let open: Vec<Option<Query<'_>>> =
            (0..).zip(queries).map(|(number, query)| query.filter(|_| is_open(number))).collect();
        let mut nearest = equal;
        if open.iter().any(Option::is_some) {
            nearest.merge(self.find(&open, detector, scratch)?);
        }
        Ok(nearest)
    }

    fn find_by(
        &self,
        purpose: Purpose,
        queries: &[Option<Query<'_>>],
        detector: &dyn Detector,
        scratch: &mut Scratch,
    ) -> Result<Nearest, TableFault> {
        let mut nearest = self.young.find(queries, purpose, detector, scratch);
        if let Some(old) = &self.old {
            nearest.merge(old.find(queries, purpose, self.first)?);
        }
        Ok(nearest)
    }

    /// Returns the nearest centroid that is near or related in full, whose number is at least `first`, and that
    /// is not left out. No old centroid is left out. See [`Table::find_nearest`].
    pub(super) fn find_nearest(
        &self,
        query: Query<'_>,
        first: u64,
        left_out: &(dyn Fn(u64) -> bool + Sync),
        detector: &dyn Detector,
        scratch: &mut Scratch,
    ) -> Result<Option<Near>, TableFault> {
        let counts = |number| number >= first && !left_out(number);
        let young = self.young.find_nearest(query, &counts, detector, scratch);
        let old = match &self.old {
            Some(old) => old.find_nearest(query, first.max(self.first))?,
            None => None,
        };
        Ok(young.into_iter().chain(old).min())
    }

    /// The centroids added since [`Self::settle`] that may be near `query`, ordered.
    pub(super) fn find_recent(&mut self, query: Query<'_>, detector: &dyn Detector) -> Vec<Near> {
        self.young.find_recent(query, detector)
    }

    /// Returns the number of the youngest centroid in memory whose text has this key.
    pub(super) fn young_text(&self, key: u128) -> Option<u64> {
        self.young.text(key)
    }

    /// Returns the numbers of the youngest old centroids whose texts have these keys; empty if there are
    /// none.
    pub(super) fn old_texts(&self, keys: &[Option<u128>]) -> Result<Vec<Option<u64>>, TableFault> {
        match &self.old {
            Some(old) if keys.iter().any(Option::is_some) => old.find_texts(keys, self.first),
            _ => Ok(Vec::new()),
        }
    }

    /// The youngest centroid that is a page of the article that the query is a page of.
    pub(super) fn find_part(&self, query: Query<'_>, detector: &dyn Detector) -> Option<u64> {
        let article = detector.article(query.fingerprint)?;
        let youngest = self.articles.youngest(query.corpus, query.fingerprint_hash, article);
        youngest.filter(|number| *number >= self.first)
    }

    /// The youngest centroid of each article.
    pub(super) fn articles(&self) -> impl Iterator<Item = ArticlePage<'_>> {
        self.articles.from(self.first)
    }

    /// Enters the youngest old centroid of an article, before any young one is [added](Self::insert).
    pub(super) fn enter_article(&mut self, page: ArticlePage<'_>) {
        self.articles.enter(page);
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
    pub(super) fn insert(
        &mut self,
        corpus: &str,
        fingerprint_hash: u64,
        centroid: &Centroid,
        detector: &dyn Detector,
    ) {
        let number = self.young.end();
        if self.leaving().is_some_and(|block| number.is_multiple_of(block)) {
            self.seen.mark(number);
        }
        if let Some(article) = detector.article(&centroid.fingerprint) {
            self.articles.enter(ArticlePage { corpus, fingerprint_hash, article, number });
        }
        self.young.insert(corpus, fingerprint_hash, centroid, detector);
    }

    /// Adds a centroid of a saved table; centroids come in the order of that table. Look-ups find it after
    /// [`Self::settle`].
    pub(super) fn restore(
        &mut self,
        corpus: &str,
        fingerprint_hash: u64,
        centroid: &Centroid,
        detector: &dyn Detector,
    ) -> Result<(), TableFault> {
        self.insert(corpus, fingerprint_hash, centroid, detector);
        let unsettled = self.young.unsettled();
        let enough = match self.young.leaving_together() {
            Some(block) => block.min(RESTORED_BLOCK_MAX) as usize,
            None => self.young.len() / RESTORED_SHARE,
        };
        if unsettled >= enough.max(RESTORED_AT_ONCE) {
            self.settle(detector)?;
        } else if unsettled.is_multiple_of(RESTORED_AT_ONCE) {
            // A centroid that leaves memory before it is in the index need not be entered.
            self.let_old_leave(detector)?;
        }
        Ok(())
    }

    /// Makes look-ups find the centroids that were added, and lets old ones leave memory.
    pub(super) fn settle(&mut self, detector: &dyn Detector) -> Result<(), TableFault> {
        self.young.settle(detector);
        self.let_old_leave(detector)
    }

    fn let_old_leave(&mut self, detector: &dyn Detector) -> Result<(), TableFault> {
        let Some(old) = &self.old else { return Ok(()) };
        for _ in 0..HANDED_OVER_MAX {
            let Some(numbers) = old.wanted(self.young.end())? else { break };
            let (first, end) = (numbers.start, numbers.end);
            let handed = self.young.range(numbers).map(|(corpus, fingerprint_hash, centroid)| Handed {
                corpus: corpus.into(),
                fingerprint_hash,
                centroid,
            });
            let handed = handed.collect();
            // Blocks end at multiples of their length; a portion is no longer than one.
            let (block, begins) = (old.leaving(), old.end());
            let block_end = end / block * block;
            let texts = match block_end > first {
                true => self.seen.of_block(begins.max(block_end.saturating_sub(block)), block_end),
                false => SeenTexts::default(),
            };
            old.take(first, handed, texts)?;
        }
        self.seen.forget_marks(old.end());
        let gone = old.end().saturating_sub(self.young.first()).min(LEAVING_MAX);
        (0..gone).for_each(|_| self.young.remove_oldest(detector));
        Ok(())
    }

    /// Takes the oldest centroid out.
    pub(super) fn remove_oldest(&mut self, detector: &dyn Detector) {
        if self.first == self.young.end() {
            return;
        }
        self.first += 1;
        self.articles.left_before(self.first);
        match &self.old {
            None => self.young.remove_oldest(detector),
            Some(old) => old.drop_before(self.first),
        }
    }

    /// The centroids that are in memory alone, oldest first, each with its corpus and fingerprint
    /// hash: all, where none is elsewhere.
    pub(super) fn iter_young(&self) -> impl Iterator<Item = (&str, u64, Centroid)> {
        self.young.range(self.first_young()..self.young.end())
    }

    /// How many those are.
    pub(super) fn young_len(&self) -> usize {
        (self.young.end() - self.first_young()) as usize
    }

    /// Number of the first centroid that is in memory alone.
    fn first_young(&self) -> u64 {
        self.old.as_ref().map_or(self.young.first(), |old| old.end()).min(self.young.end())
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> TableBytes {
        let TableBytes { hot, cold } = self.young.bytes();
        let old = self.old.as_ref().map_or(0, |old| old.bytes());
        TableBytes { hot: hot + old + self.articles.bytes() + self.seen.bytes(), cold }
    }

    /// Whether look-ups find all centroids: none has come since [`Self::settle`].
    pub(super) fn is_settled(&self) -> bool {
        self.young.unsettled() == 0
    }

    /// Corpora that have centroids in memory.
    #[cfg(test)]
    pub(super) fn corpus_count(&self) -> usize {
        self.young.corpus_count()
    }

    /// Who has the centroid of this number, if memory has not.
    fn old_below(&self, number: u64) -> Option<&Arc<dyn OldCentroids>> {
        self.old.as_ref().filter(|_| number < self.young.first())
    }
}
