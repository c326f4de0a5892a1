//! The state of one log partition, and the decisions that change it.
//!
//! In: the records of the log, in order. Out: for each the [`Decision`](crate::Decision) which cluster its page joins
//! or founds, and the changes that are to be saved. The state is the centroids in memory and on disk ([`Tiers`]), known
//! texts, canonical pages, crawls of urls, and the position in the log up to which all of this is complete.
//!
//! Invariants: the state is a function of the records and the settings, however they are divided into batches; after a
//! [`TableFault`], nothing is decided any more. Memory: that of the table, bounded by `expiry.centroids_max`.

mod decide;
mod expire;
mod merge;
mod preview;
mod recrawl;
mod texts;
mod unexpired;

use std::sync::Arc;

use crate::articles::ArticlePage;
use crate::canonical::{Canonical, Canonicals, NewCanonical, Rank};
use crate::expiry::{Bounds, ExpiryConfig};
use crate::fault::TableFault;
use crate::old::OldCentroids;
use crate::recrawls::{CrawlChange, Crawls, Recrawl};
use crate::rules::ClusterRules;
use crate::seen::NewText;
use crate::table::{Centroid, CentroidTable, NearCentroid, Query, Scratch, TableBytes};
use crate::tiers::Tiers;
use leitong_base::record::Timestamp;
use leitong_fingerprint::Detector;

pub use merge::{Merged, SavedCentroid};
pub use preview::{Preview, PreviewOptions};

/// The position of a table in its log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    /// Generation of the log. It distinguishes logs of the same name.
    pub log_generation: u32,
    /// Partition of the log.
    pub log_partition: u32,
    /// First log offset that is not yet part of the table.
    pub next_log_offset: u64,
    /// Running maximum of the records' times.
    pub log_time: Option<Timestamp>,
}

/// Number of shards of a table. Each can be looked up on its own core, and adds some 20 ns to a look-up.
const SHARDS: usize = 8;

/// Decides on records in log order.
///
/// Methods that may need old centroids return a [`TableFault`] if these cannot be read, or can no longer be
/// written. From then on they all return the same error. Everything that the failed decision recorded for the
/// caller is discarded. A table whose centroids are all [in memory](Self::new) never fails.
pub struct Clusterer {
    expiry: ExpiryConfig,
    bounds: Bounds,
    position: Position,
    table: Tiers,
    /// The canonical pages of the clusters. `None` if the founding page is always the canonical one.
    canonicals: Option<Canonicals>,
    /// The last crawl of each url. `None` if recrawls are not recognised.
    crawls: Option<Crawls>,
    /// Recrawls and their log offsets since the caller last took them.
    recrawls: Vec<(u64, Recrawl)>,
    scratch: Scratch,
    /// Number of the oldest unexpired centroid, and the time of its founding if that is known.
    first_unexpired: (u64, Option<Timestamp>),
    /// First log time. Centroids founded before any record had a time count as founded then.
    first_time: Option<Timestamp>,
    /// Changes since the caller last took them; `None` if no caller takes them.
    journal: Option<Changes>,
    /// The error of an earlier call, which every further call returns.
    fault: Option<TableFault>,
}

/// Changes that are to be written to the table's changelog, each kind in order.
#[derive(Default)]
pub struct Changes {
    pub(crate) founded: Vec<NewCentroid>,
    pub(crate) canonicals: Vec<NewCanonical>,
    pub(crate) crawls: Vec<CrawlChange>,
    pub(crate) texts: Vec<NewText>,
}

/// A new centroid.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCentroid {
    /// Number of centroids that were founded before this one, in all corpora.
    pub number: u64,
    /// Corpus of the centroid.
    pub corpus: Box<str>,
    /// Hash of the settings that made the fingerprint.
    pub fingerprint_hash: u64,
    /// The centroid itself.
    pub centroid: Centroid,
    /// The rank of the founding page as canonical page. `None` if the founding page is always the canonical one.
    pub rank: Option<Rank>,
}

impl Clusterer {
    /// Creates an empty table at `position`, with [`SHARDS`] shards.
    #[must_use]
    pub fn new(detector: Arc<dyn Detector>, rules: ClusterRules, position: Position) -> Self {
        Self::with_shards(detector, rules, position, SHARDS)
    }

    /// Creates an empty table at `position`. Decisions do not depend on the number of shards.
    #[must_use]
    pub fn with_shards(
        detector: Arc<dyn Detector>,
        rules: ClusterRules,
        position: Position,
        shards: usize,
    ) -> Self {
        let ClusterRules { expiry, canonical, recrawls } = rules;
        let table = Tiers::in_memory(CentroidTable::new(detector, shards, 0, None), expiry.centroids_max);
        let crawls = Crawls::new(&recrawls);
        Self {
            expiry,
            bounds: Bounds::default(),
            position,
            table,
            canonicals: Canonicals::starting_at(0, canonical, crawls.is_some()),
            crawls,
            recrawls: Vec::new(),
            scratch: Scratch::default(),
            first_unexpired: (0, None),
            first_time: None,
            journal: None,
            fault: None,
        }
    }

    /// Makes an empty table give its next centroid this `number`.
    pub fn begin_at(&mut self, number: u64) {
        let detector = Arc::clone(self.detector());
        let young = CentroidTable::new(detector, SHARDS, number, self.table.block_length());
        self.table.begin_at(young);
        if let Some(canonicals) = &mut self.canonicals {
            canonicals.begin_at(number);
        }
    }

    /// Creates a table at `position` whose old centroids, from number `first` on, are in `old`. The others,
    /// if there are any, are [restored](Self::restore) after them. `first_time` is the value of
    /// [`Self::first_time`] when the table was saved. The founding page of each cluster is its canonical
    /// page.
    ///
    /// # Errors
    /// [`TableFault`] if `old` cannot be read.
    pub fn with_old(
        detector: Arc<dyn Detector>,
        expiry: ExpiryConfig,
        position: Position,
        first_time: Option<Timestamp>,
        (old, first): (Arc<dyn OldCentroids>, u64),
    ) -> Result<Self, TableFault> {
        let young = CentroidTable::new(Arc::clone(&detector), SHARDS, old.end(), Some(old.block_length()));
        let table = Tiers::with_old(young, old, first, expiry.centroids_max)?;
        let in_memory = Self::new(detector, ClusterRules::expiry_only(expiry), position);
        Ok(Self { table, first_time, ..in_memory })
    }

    /// Returns the detector whose fingerprints the table holds.
    #[must_use]
    pub fn detector(&self) -> &Arc<dyn Detector> {
        &self.table.young.detector
    }

    /// Returns the first log time. Centroids founded before any record had a time count as founded then. `None`
    /// if no record had a time yet, or if the table was [restored](Self::restore) at a later position.
    #[must_use]
    pub fn first_time(&self) -> Option<Timestamp> {
        self.first_time
    }

    /// Returns the youngest centroid of each article that is spread over several pages.
    pub fn articles(&self) -> impl Iterator<Item = ArticlePage<'_>> {
        self.table.articles()
    }

    /// Restores one of the [articles](Self::articles) of a saved table whose centroids are
    /// [old](Self::with_old). Must be called before the other centroids are [restored](Self::restore).
    pub fn restore_article(&mut self, page: ArticlePage<'_>) {
        self.table.articles.enter(page);
    }

    /// Returns the error that every further call returns, if the table has one already. Reads no file.
    ///
    /// # Errors
    /// [`TableFault`] of an earlier call, or of work in the background.
    pub fn check(&self) -> Result<(), TableFault> {
        match &self.fault {
            Some(fault) => Err(fault.clone()),
            None => self.table.check(),
        }
    }

    /// Does `work`, unless the table has failed already. Keeps an error for all further calls, and discards
    /// what the failed decision has recorded.
    fn attempt<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, TableFault>) -> Result<T, TableFault> {
        let done = self.check().and_then(|()| work(self));
        if let (Err(fault), None) = (&done, &self.fault) {
            self.fault = Some(fault.clone());
            self.recrawls.clear();
            self.journal = self.journal.take().map(|_| Changes::default());
        }
        done
    }

    /// Records every change from now on, for [`Self::take_changes`].
    pub fn keep_journal(&mut self) {
        self.journal.get_or_insert_default();
    }

    /// Returns the changes since the last call.
    pub fn take_changes(&mut self) -> Changes {
        self.journal.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Returns the number of centroids founded so far, in all corpora. This is the number of the next one.
    #[must_use]
    pub fn founded(&self) -> u64 {
        self.table.end()
    }

    /// Returns the bounds below which everything has expired permanently.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Restores the bounds of a saved table.
    pub fn restore_bounds(&mut self, bounds: Bounds) {
        self.bounds = bounds;
    }

    /// Returns the number of unexpired centroids, and the log offset at which the oldest of them was founded.
    ///
    /// # Errors
    /// [`TableFault`].
    pub fn unexpired(&self) -> Result<(u64, Option<u64>), TableFault> {
        self.check()?;
        let (first, _) = self.first_unexpired_at(self.bounds, self.first_time)?;
        let oldest = self.table.founded(first)?.map(|(log_offset, _)| log_offset);
        Ok((self.founded() - first, oldest))
    }

    /// Returns how far the log was read.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }

    /// Sets how far the log was read.
    pub fn set_position(&mut self, position: Position) {
        self.position = position;
    }

    /// Continues at `log_offset`, since the offsets of a topic have gaps.
    pub fn skip_to(&mut self, log_offset: u64) {
        self.position.next_log_offset = log_offset;
    }

    /// Returns the number of centroids in all corpora.
    #[must_use]
    pub fn centroid_count(&self) -> usize {
        self.table.len()
    }

    /// Returns the number of centroids that are only in memory, as [`Self::centroids`] returns them.
    #[must_use]
    pub fn in_memory_count(&self) -> usize {
        self.table.young_len()
    }

    /// Returns the bytes of memory in use.
    #[must_use]
    pub fn bytes(&self) -> TableBytes {
        let TableBytes { hot, cold } = self.table.bytes();
        let canonicals = self.canonicals.as_ref().map_or(0, Canonicals::bytes);
        let crawls = self.crawls.as_ref().map_or(0, Crawls::bytes);
        TableBytes { hot, cold: cold + canonicals + crawls }
    }

    /// Sets the generation of a log that has none yet. It distinguishes the log's clusters from those of
    /// other logs.
    pub fn name_log(&mut self, log_generation: u32) {
        if self.position.log_generation == 0 {
            self.position.log_generation = log_generation;
        }
    }

    /// Returns the number of hits that fit into the allocated memory.
    #[cfg(test)]
    pub(super) fn room_for_hits(&self) -> usize {
        self.scratch.room_for_hits()
    }

    /// Returns the number of corpora that have centroids.
    #[cfg(test)]
    pub(super) fn corpus_count(&self) -> usize {
        self.table.young.corpus_count()
    }

    /// Returns, for each query, the nearest few centroids that may be near or related, in the order of
    /// [`NearCentroid`]. Decides nothing.
    ///
    /// # Errors
    /// [`TableFault`].
    pub fn look_up(&mut self, queries: &[Option<Query<'_>>]) -> Result<Vec<NearCentroid>, TableFault> {
        self.attempt(|table| {
            table.index_pending()?;
            Ok(table.table.find(queries, &mut table.scratch)?.all().to_vec())
        })
    }

    /// Inserts all restored centroids into the index, so look-ups that only read, such as [`Self::preview`],
    /// find them. Also lets old centroids leave memory.
    ///
    /// # Errors
    /// [`TableFault`].
    pub fn insert_pending(&mut self) -> Result<(), TableFault> {
        self.attempt(Self::index_pending)
    }

    fn index_pending(&mut self) -> Result<(), TableFault> {
        self.table.index_pending()
    }

    /// Returns the canonical page of the cluster of the centroid with this number. `None` if the founding
    /// page is always the canonical one, or if the centroid has expired.
    #[must_use]
    pub fn canonical(&self, number: u64) -> Option<Canonical> {
        self.canonicals.as_ref()?.get(number)
    }

    /// Restores the canonical page of the cluster of the centroid with this number. The centroid must have been
    /// [restored](Self::restore) before.
    pub fn restore_canonical(&mut self, number: u64, canonical: Canonical) {
        if let Some(canonicals) = &mut self.canonicals {
            canonicals.set(number, canonical);
        }
    }

    /// Restores a centroid of a saved table. Centroids must come oldest first.
    ///
    /// # Errors
    /// [`TableFault`].
    pub fn restore(
        &mut self,
        corpus: &str,
        fingerprint_hash: u64,
        centroid: &Centroid,
    ) -> Result<(), TableFault> {
        self.attempt(|table| {
            table.table.restore(corpus, fingerprint_hash, centroid)?;
            table.restore_canonical(table.founded() - 1, Canonical::default());
            Ok(())
        })
    }

    /// Returns the centroids that are only in memory, in order of founding, each with its corpus and
    /// fingerprint hash. These are all centroids if none are kept elsewhere.
    pub fn centroids(&self) -> impl Iterator<Item = (&str, u64, Centroid)> {
        self.table.iter_young().map(|(corpus, fingerprint_hash, mut centroid)| {
            centroid.log_time = centroid.log_time.or(self.first_time);
            (corpus, fingerprint_hash, centroid)
        })
    }
}
