//! The state of one log partition, and the decisions that change it.
//!
//! In: the records of the log, in order. Out: for each the [`Decision`] which cluster its page joins or founds, and the
//! changes that are to be saved. The state is the centroids in memory and on disk ([`Tiers`]), known texts, canonical
//! pages, crawls of urls, and the position in the log up to which all of this is complete.
//!
//! Invariants: the state is a function of the records and the settings, however they are divided into batches; after a
//! [`TableFault`], nothing is decided any more. Memory: that of the table, bounded by `expiry.centroids_max`.

mod expire;
mod merge;
mod preview;
mod recrawl;
mod texts;
mod unexpired;

use std::sync::Arc;

use super::articles::ArticlePage;
use super::canonical::{Canonical, Canonicals, NewCanonical, Rank};
use super::fault::TableFault;
use super::old::OldCentroids;
use super::recrawls::{CrawlChange, Crawls};
use super::seen::{NewText, SeenText};
use super::table::{Centroid, NearCentroid, Query, Scratch, Table, TableBytes};
use super::tiers::Tiers;
use super::{Bounds, CanonicalPage, ClusterId, ClusterRules, Decision, ExpiryConfig};
use leitong_base::record::{FingerprintRecord, Outcome, Reason, Timestamp};
use leitong_fingerprint::Detector;

pub use merge::{Merged, SavedCentroid};
pub use preview::{Preview, PreviewOptions};
pub use recrawl::RecrawlOutcome;
pub(crate) use recrawl::{Left, Recrawl, WhatIsLeft};
use texts::FoundFor;
use unexpired::Unexpired;

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
    detector: Arc<dyn Detector>,
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
        let table = Tiers::in_memory(Table::new(&*detector, shards, 0, None), expiry.centroids_max);
        let crawls = Crawls::new(&recrawls);
        Self {
            detector,
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

    /// Creates an empty table whose next centroid gets this `number`.
    #[must_use]
    pub fn starting_at(
        number: u64,
        detector: Arc<dyn Detector>,
        rules: ClusterRules,
        position: Position,
    ) -> Self {
        let mut empty = Self::new(detector, rules, position);
        empty.begin_at(number);
        empty
    }

    /// Makes an empty table give its next centroid this `number`.
    pub fn begin_at(&mut self, number: u64) {
        let young = Table::new(&*self.detector, SHARDS, number, self.table.leaving());
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
        let young = Table::new(&*detector, SHARDS, old.end(), Some(old.leaving()));
        let table = Tiers::with_old(young, old, first, expiry.centroids_max)?;
        let in_memory = Self::new(detector, ClusterRules::expiry_only(expiry), position);
        Ok(Self { table, first_time, ..in_memory })
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
        self.table.enter_article(page);
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
        self.table.corpus_count()
    }

    /// Returns, for each query, the nearest few centroids that may be near or related, in the order of
    /// [`NearCentroid`]. Decides nothing.
    ///
    /// # Errors
    /// [`TableFault`].
    pub fn look_up(&mut self, queries: &[Option<Query<'_>>]) -> Result<Vec<NearCentroid>, TableFault> {
        self.attempt(|table| {
            table.index_pending()?;
            Ok(table.table.find(queries, &*table.detector, &mut table.scratch)?.all().to_vec())
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
        self.table.index_pending(&*self.detector)
    }

    /// Decides on the record at the next offset of the log. `None` stands for a record that could not be read;
    /// it only advances the position.
    ///
    /// # Errors
    /// [`TableFault`].
    pub fn decide(&mut self, record: Option<&FingerprintRecord>) -> Result<Decision, TableFault> {
        let log_offset = self.position.next_log_offset;
        let mut decisions = self.decide_batch(&[(log_offset, record)])?;
        Ok(decisions.pop().expect("as many decisions as records"))
    }

    /// Decides on the records at these ascending offsets of the log. The decisions are those of
    /// [`Self::decide`] on one record after the other, but all look-ups are done at once, on all cores.
    ///
    /// # Errors
    /// [`TableFault`]; then none of the records is decided on.
    pub fn decide_batch(
        &mut self,
        records: &[(u64, Option<&FingerprintRecord>)],
    ) -> Result<Vec<Decision>, TableFault> {
        self.attempt(|table| table.decide_all(records))
    }

    fn decide_all(
        &mut self,
        records: &[(u64, Option<&FingerprintRecord>)],
    ) -> Result<Vec<Decision>, TableFault> {
        let queries: Vec<Option<(Query<'_>, u128)>> =
            records.iter().map(|(_, record)| record.and_then(query_and_key)).collect();
        let found = self.find_to_decide(&queries)?;
        let mut decisions = Vec::with_capacity(records.len());
        for (number, ((log_offset, record), query)) in (0..).zip(records.iter().zip(queries)) {
            decisions.push(self.decide_next(*log_offset, *record, query, found.for_record(number))?);
        }
        self.index_pending()?;
        Ok(decisions)
    }

    /// Decides on one record. `found` is the result of the look-up among the centroids that were there before
    /// its batch.
    fn decide_next(
        &mut self,
        log_offset: u64,
        record: Option<&FingerprintRecord>,
        query: Option<(Query<'_>, u128)>,
        found: FoundFor<'_>,
    ) -> Result<Decision, TableFault> {
        self.position.next_log_offset = log_offset + 1;
        let Some(record) = record else { return Ok(Decision::Undecidable) };
        self.advance(record.log_time);
        if record.outcome == Outcome::Undecidable(Reason::Withdrawn) {
            self.withdraw(record, log_offset)?;
        }
        let (Some((query, key)), Some(text)) = (query, record.text) else { return Ok(Decision::Undecidable) };
        self.expire()?;
        let known = self.with_text(query, key, found.old_text)?;
        let is_known = known.is_some();
        let nearest = match known {
            None => self.nearest(query, found.near)?,
            known => known,
        };
        let related = match nearest {
            Some((centroid, near)) if !near.related => {
                let mut page = self.join(record, centroid, near);
                page.equal_text = is_known;
                let is_copy = page.url != record.url;
                self.note_crawl(record, (log_offset, query), near.number, is_copy)?;
                if !is_known {
                    self.enter_text(log_offset, key, near.number);
                }
                return Ok(Decision::Joined(page));
            }
            related => related,
        };
        let related = related.map(|(centroid, near)| self.canonical_page(centroid, near, text.digest));
        let unexpired =
            Unexpired::new(&self.table, self.crawls.as_ref(), &*self.detector, self.first_unexpired.0);
        let part = unexpired.part(query, &mut self.scratch)?;
        let part = part.map(|(centroid, near)| self.canonical_page(centroid, near, text.digest));
        let centroid = Centroid {
            log_offset,
            log_time: self.position.log_time,
            fingerprint: query.fingerprint.into(),
            text_digest: text.digest,
            page_id: record.page_id.as_str().into(),
            url: record.url.as_str().into(),
        };
        self.table.insert(&record.corpus, record.fingerprint_hash, &centroid, &*self.detector);
        let number = self.table.end() - 1;
        let rank = self.canonicals.as_mut().map(|canonicals| canonicals.founded(record));
        if let Some(journal) = &mut self.journal {
            let (corpus, fingerprint_hash) = (record.corpus.as_str().into(), record.fingerprint_hash);
            journal.founded.push(NewCentroid { number, corpus, fingerprint_hash, centroid, rank });
        }
        self.note_crawl(record, (log_offset, query), number, false)?;
        // The new centroid counts from the next decision on. Evicting the surplus now bounds the memory.
        self.raise_bounds();
        self.expire()?;
        Ok(Decision::Founded(self.cluster_id(log_offset), part.or(related)))
    }

    /// Returns the nearest centroid of a query among those that were `found` and those that came later.
    fn nearest(
        &mut self,
        query: Query<'_>,
        found: (&[NearCentroid], bool),
    ) -> Result<Option<(Centroid, NearCentroid)>, TableFault> {
        let unexpired =
            Unexpired::new(&self.table, self.crawls.as_ref(), &*self.detector, self.first_unexpired.0);
        if let Some(first) = found.0.first().filter(|first| first.is_equal()) {
            // Centroids added since the look-up are younger, and not nearer.
            let equal = unexpired.in_full(query, *first, &mut self.scratch)?;
            if equal.is_some() {
                return Ok(equal);
            }
        }
        let recent = self.table.find_recent(query, &*self.detector);
        let unexpired =
            Unexpired::new(&self.table, self.crawls.as_ref(), &*self.detector, self.first_unexpired.0);
        unexpired.nearest(query, found, recent, &mut self.scratch)
    }

    /// Makes the record's page join the cluster of a near centroid. The page becomes the canonical page if it
    /// is preferred to the present one.
    fn join(&mut self, record: &FingerprintRecord, centroid: Centroid, near: NearCentroid) -> CanonicalPage {
        let log_offset = centroid.log_offset;
        let (page, rank) = self.joined(record, centroid, near);
        if let (Some(rank), Some(canonicals)) = (rank, &mut self.canonicals) {
            let own = (page.page_id.as_str().into(), page.url.as_str().into());
            let canonical = Canonical { rank, page: Some(own) };
            if let Some(journal) = &mut self.journal {
                let new = NewCanonical { number: near.number, log_offset, canonical: canonical.clone() };
                journal.canonicals.push(new);
            }
            canonicals.set(near.number, canonical);
        }
        page
    }

    /// Returns the cluster as the verdict shows it, and the page's rank if the page is preferred to the
    /// present canonical page.
    fn joined(
        &self,
        record: &FingerprintRecord,
        centroid: Centroid,
        near: NearCentroid,
    ) -> (CanonicalPage, Option<Rank>) {
        let text_digest = record.text.map_or(0, |text| text.digest);
        let mut page = self.canonical_page(centroid, near, text_digest);
        let canonicals = self.canonicals.as_ref();
        let rank = canonicals.and_then(|canonicals| canonicals.preferred(near.number, record));
        if rank.is_some() {
            let own = (record.page_id.clone(), record.url.clone());
            let former = (page.page_id, page.url);
            // A page that is read again does not replace itself.
            page.replaces = (former != own).then_some(former);
            (page.page_id, page.url) = own;
        }
        (page, rank)
    }

    /// Returns the cluster of a centroid as a verdict shows it, for a page whose text has this digest.
    fn canonical_page(&self, centroid: Centroid, near: NearCentroid, text_digest: u128) -> CanonicalPage {
        let canonical = self.canonicals.as_ref().and_then(|canonicals| canonicals.page(near.number));
        let (page_id, url) = match canonical {
            Some((page_id, url)) => (page_id.to_owned(), url.to_owned()),
            None => (centroid.page_id.into(), centroid.url.into()),
        };
        CanonicalPage {
            cluster_id: self.cluster_id(centroid.log_offset),
            exact: centroid.text_digest == text_digest,
            equal_text: centroid.text_digest == text_digest,
            page_id,
            url,
            replaces: None,
            fingerprint: centroid.fingerprint,
            distance: near.distance,
            related: near.related,
        }
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
            table.table.restore(corpus, fingerprint_hash, centroid, &*table.detector)?;
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

    fn cluster_id(&self, log_offset: u64) -> ClusterId {
        ClusterId {
            log_generation: self.position.log_generation,
            log_partition: self.position.log_partition,
            log_offset,
        }
    }
}

/// Returns the query for a record, and the key of its text; `None` if it has no fingerprint.
fn query_and_key(record: &FingerprintRecord) -> Option<(Query<'_>, u128)> {
    let query = query(record)?;
    Some((query, SeenText::key_of(query.corpus, query.fingerprint_hash, record.text?.digest)))
}

/// Returns the query for a record; `None` if it has no fingerprint.
fn query(record: &FingerprintRecord) -> Option<Query<'_>> {
    let Outcome::Fingerprint(fingerprint) = &record.outcome else { return None };
    let FingerprintRecord { corpus, fingerprint_hash, .. } = record;
    Some(Query { corpus, fingerprint_hash: *fingerprint_hash, fingerprint })
}
