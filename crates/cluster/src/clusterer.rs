//! The state right of the log for one log partition: corpora, expiry, position.

mod merge;
mod preview;
mod recrawl;
mod texts;

use std::sync::Arc;

use super::articles::ArticlePage;
use super::canonical::{Canonical, Canonicals, NewCanonical, Rank};
use super::fault::TableFault;
use super::old::OldCentroids;
use super::recrawls::{CrawlChange, Crawls};
use super::seen::{NewText, text_key};
use super::table::{Centroid, Near, Query, Scratch, Table, TableBytes, is_in_full};
use super::tiers::Tiers;
use super::{Bounds, CanonicalPage, ClusterId, ClusterRules, Decision, ExpiryConfig};
use leitong_base::record::timestamp::Timestamp;
use leitong_base::record::{FingerprintRecord, Outcome, Reason};
use leitong_fingerprint::Detector;

pub use merge::{Merged, SavedCentroid};
pub use preview::{Asked, Preview};
pub use recrawl::{Left, Recrawl, RecrawlOutcome, WhatIsLeft};
use texts::FoundFor;

/// Centroids freed for their age at one record: more than are founded at one,
/// so that the table catches up, and few enough that a leap of log time does
/// not free millions at once. Until then their age keeps them from matching.
const AGED_FREED_PER_RECORD: u64 = 16;

/// How far a table has read its log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    /// Tells one log from another of the same name.
    pub log_generation: u32,
    /// Partition of the log.
    pub log_partition: u32,
    /// The first offset that is not yet part of the table.
    pub next_log_offset: u64,
    /// The running maximum of the records' times.
    pub log_time: Option<Timestamp>,
}

/// Shards of a table, of which each may be looked up on a
/// core of its own; one costs a look-up some 20 ns.
const SHARDS: usize = 8;

/// Decides, record by record, in log order.
///
/// Methods that may need old centroids return a [`TableFault`] if these cannot be read, or can no longer be
/// written. From then on they all return the same error, and nothing is left of the decision that failed. A
/// table whose centroids are all [in memory](Self::new) never fails.
pub struct Clusterer {
    detector: Arc<dyn Detector>,
    expiry: ExpiryConfig,
    bounds: Bounds,
    position: Position,
    table: Tiers,
    /// Which pages stand for the clusters; none where those do that founded them.
    canonicals: Option<Canonicals>,
    /// The last crawl of each url; none where pages are not known again.
    crawls: Option<Crawls>,
    /// What was said of pages that are known, and where in the log, since it was last asked for.
    recrawls: Vec<(u64, Recrawl)>,
    scratch: Scratch,
    /// Number of the oldest centroid that has not expired,
    /// and when it was founded if that is known.
    alive: (u64, Option<Timestamp>),
    /// The first log time. Centroids from before any record had a time count from then on.
    first_time: Option<Timestamp>,
    /// Changes since the caller last took them; `None` if no caller takes them.
    journal: Option<Journal>,
    /// The error of an earlier call, which every further call returns.
    fault: Option<TableFault>,
}

/// What the table's changelog is to learn.
#[derive(Default)]
struct Journal {
    founded: Vec<NewCentroid>,
    canonical: Vec<NewCanonical>,
    crawls: Vec<CrawlChange>,
    texts: Vec<NewText>,
}

/// A centroid that was founded.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCentroid {
    /// How many were founded before it, in all corpora.
    pub number: u64,
    /// Its corpus.
    pub corpus: Box<str>,
    /// Of the settings that made the fingerprint.
    pub fingerprint_hash: u64,
    /// The centroid itself.
    pub centroid: Centroid,
    /// What is said for its page to stand for the cluster; none where nobody asks.
    pub rank: Option<Rank>,
}

impl Clusterer {
    /// An empty table at `position`, with [`SHARDS`] shards.
    #[must_use]
    pub fn new(detector: Arc<dyn Detector>, rules: ClusterRules, position: Position) -> Self {
        Self::with_shards(detector, rules, position, SHARDS)
    }

    /// An empty table at `position`. Decisions do not depend on the number of shards.
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
            alive: (0, None),
            first_time: None,
            journal: None,
            fault: None,
        }
    }

    /// An empty table whose next centroid has this `number`.
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

    /// Has an empty table give its next centroid this `number`.
    pub fn begin_at(&mut self, number: u64) {
        let young = Table::new(&*self.detector, SHARDS, number, self.table.leaving());
        self.table.begin_at(young);
        if let Some(canonicals) = &mut self.canonicals {
            canonicals.begin_at(number);
        }
    }

    /// Creates a table at `position` whose old centroids, from number `first` on, are in `old`. The others,
    /// if there are any, are [restored](Self::restore) after them. `first_time` is the value of
    /// [`Self::first_time`] when the table was saved. Founders stand for their clusters.
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

    /// The first log time, from which on centroids count that were founded before any record had
    /// one; none if all had one since the table was restored.
    #[must_use]
    pub fn first_time(&self) -> Option<Timestamp> {
        self.first_time
    }

    /// The youngest page of each article that is spread over several pages.
    pub fn articles(&self) -> impl Iterator<Item = ArticlePage<'_>> {
        self.table.articles()
    }

    /// Takes one of the [articles](Self::articles) of a saved table whose centroids are
    /// [old](Self::with_old), before those that are [restored](Self::restore).
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

    /// Does `work`, unless the table has failed already. Keeps an error for all further calls, and forgets what
    /// the decision that failed has noted.
    fn attempt<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, TableFault>) -> Result<T, TableFault> {
        let done = self.check().and_then(|()| work(self));
        if let (Err(fault), None) = (&done, &self.fault) {
            self.fault = Some(fault.clone());
            self.recrawls.clear();
            self.journal = self.journal.take().map(|_| Journal::default());
        }
        done
    }

    /// Notes every centroid that is founded from now on, for [`Self::take_new`].
    pub fn keep_journal(&mut self) {
        self.journal.get_or_insert_default();
    }

    /// What was founded since the last call.
    pub fn take_new(&mut self) -> Vec<NewCentroid> {
        self.journal.as_mut().map(|journal| std::mem::take(&mut journal.founded)).unwrap_or_default()
    }

    /// Which pages have taken the place of a canonical page since the last call.
    pub fn take_new_canonicals(&mut self) -> Vec<NewCanonical> {
        self.journal.as_mut().map(|journal| std::mem::take(&mut journal.canonical)).unwrap_or_default()
    }

    /// Centroids founded so far, in all corpora: the number of the next one.
    #[must_use]
    pub fn founded(&self) -> u64 {
        self.table.end()
    }

    /// What has expired for good.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Takes the bounds of a saved table.
    pub fn restore_bounds(&mut self, bounds: Bounds) {
        self.bounds = bounds;
    }

    /// Returns how many centroids have not expired, and the log offset at which the oldest of them was founded.
    ///
    /// # Errors
    /// [`TableFault`].
    pub fn unexpired(&self) -> Result<(u64, Option<u64>), TableFault> {
        self.check()?;
        let (first, _) = self.alive_at(self.bounds, self.first_time)?;
        let oldest = self.table.founded(first)?.map(|(log_offset, _)| log_offset);
        Ok((self.founded() - first, oldest))
    }

    /// How far the log was read.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }

    /// Takes the table to be as far as `position`.
    pub fn set_position(&mut self, position: Position) {
        self.position = position;
    }

    /// Goes on at `log_offset`: the offsets of a topic have gaps.
    pub fn skip_to(&mut self, log_offset: u64) {
        self.position.next_log_offset = log_offset;
    }

    /// Centroids in all corpora.
    #[must_use]
    pub fn centroid_count(&self) -> usize {
        self.table.len()
    }

    /// Centroids that are in memory alone: those that [`Self::centroids`] gives.
    #[must_use]
    pub fn in_memory_count(&self) -> usize {
        self.table.young_len()
    }

    /// Memory that the table takes.
    #[must_use]
    pub fn bytes(&self) -> TableBytes {
        let TableBytes { hot, cold } = self.table.bytes();
        let canonicals = self.canonicals.as_ref().map_or(0, Canonicals::bytes);
        let crawls = self.crawls.as_ref().map_or(0, Crawls::bytes);
        TableBytes { hot, cold: cold + canonicals + crawls }
    }

    /// Names a log that has no name yet, so that its clusters are told from those of another log.
    pub fn name_log(&mut self, log_generation: u32) {
        if self.position.log_generation == 0 {
            self.position.log_generation = log_generation;
        }
    }

    /// Hits for which there is room.
    #[cfg(test)]
    pub(super) fn room_for_hits(&self) -> usize {
        self.scratch.room_for_hits()
    }

    /// Corpora that have centroids.
    #[cfg(test)]
    pub(super) fn corpus_count(&self) -> usize {
        self.table.corpus_count()
    }

    /// Returns the centroids that may be near each query, ordered by query, distance and age. A query that is
    /// near very many has only the first few. Decides nothing.
    ///
    /// # Errors
    /// [`TableFault`].
    pub fn look_up(&mut self, queries: &[Option<Query<'_>>]) -> Result<Vec<Near>, TableFault> {
        self.attempt(|table| {
            table.settle()?;
            Ok(table.table.find(queries, &*table.detector, &mut table.scratch)?.all().to_vec())
        })
    }

    /// Makes look-ups that only read, as [`Self::preview`] does, find all centroids of a table that was
    /// restored, and lets old centroids leave memory.
    ///
    /// # Errors
    /// [`TableFault`].
    pub fn insert_pending(&mut self) -> Result<(), TableFault> {
        self.attempt(Self::settle)
    }

    fn settle(&mut self) -> Result<(), TableFault> {
        self.table.settle(&*self.detector)
    }

    /// Decides on the record at the next offset of the log. A record that could not be read is `None`; it takes
    /// an offset and nothing else.
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
        let asked: Vec<Option<(Query<'_>, u128)>> =
            records.iter().map(|(_, record)| record.and_then(query_and_key)).collect();
        let found = self.find_to_decide(&asked)?;
        let mut decisions = Vec::with_capacity(records.len());
        for (number, ((log_offset, record), asked)) in (0..).zip(records.iter().zip(asked)) {
            decisions.push(self.decide_next(*log_offset, *record, asked, found.of(number))?);
        }
        self.settle()?;
        Ok(decisions)
    }

    /// Decides on one record. `found` is the result of the look-up among the centroids that were there before
    /// its batch.
    fn decide_next(
        &mut self,
        log_offset: u64,
        record: Option<&FingerprintRecord>,
        asked: Option<(Query<'_>, u128)>,
        found: FoundFor<'_>,
    ) -> Result<Decision, TableFault> {
        self.position.next_log_offset = log_offset + 1;
        let Some(record) = record else { return Ok(Decision::Undecidable) };
        self.advance(record.log_time);
        if record.outcome == Outcome::Undecidable(Reason::Withdrawn) {
            self.withdraw(record, log_offset)?;
        }
        let (Some((query, key)), Some(text)) = (asked, record.text) else { return Ok(Decision::Undecidable) };
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
        let unexpired = Unexpired::new(&self.table, self.crawls.as_ref(), &*self.detector, self.alive.0);
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
        // The new centroid counts from the next decision
        // on; letting the surplus go now bounds the memory.
        self.raise_bounds();
        self.expire()?;
        Ok(Decision::Founded(self.cluster_id(log_offset), part.or(related)))
    }

    /// Returns the nearest centroid of a query among those that were `found` and those that came later.
    fn nearest(
        &mut self,
        query: Query<'_>,
        found: (&[Near], bool),
    ) -> Result<Option<(Centroid, Near)>, TableFault> {
        let unexpired = Unexpired::new(&self.table, self.crawls.as_ref(), &*self.detector, self.alive.0);
        if let Some(first) = found.0.first().filter(|first| first.is_equal()) {
            // Those that have come since are no nearer, and younger.
            let equal = unexpired.in_full(query, *first, &mut self.scratch)?;
            if equal.is_some() {
                return Ok(equal);
            }
        }
        let recent = self.table.find_recent(query, &*self.detector);
        let unexpired = Unexpired::new(&self.table, self.crawls.as_ref(), &*self.detector, self.alive.0);
        unexpired.nearest(query, found, recent, &mut self.scratch)
    }

    /// The page of this record joins the cluster of a centroid that it is near to; and takes the
    /// place of the page that stands for it, if it is preferred to that.
    fn join(&mut self, record: &FingerprintRecord, centroid: Centroid, near: Near) -> CanonicalPage {
        let log_offset = centroid.log_offset;
        let (page, rank) = self.joined(record, centroid, near);
        if let (Some(rank), Some(canonicals)) = (rank, &mut self.canonicals) {
            let own = (page.page_id.as_str().into(), page.url.as_str().into());
            let canonical = Canonical { rank, page: Some(own) };
            if let Some(journal) = &mut self.journal {
                let new = NewCanonical { number: near.number, log_offset, canonical: canonical.clone() };
                journal.canonical.push(new);
            }
            canonicals.set(near.number, canonical);
        }
        page
    }

    /// What is said of a page that joins, and its rank if it is preferred to what stands for the
    /// cluster.
    fn joined(
        &self,
        record: &FingerprintRecord,
        centroid: Centroid,
        near: Near,
    ) -> (CanonicalPage, Option<Rank>) {
        let text_digest = record.text.map_or(0, |text| text.digest);
        let mut page = self.canonical_page(centroid, near, text_digest);
        let canonicals = self.canonicals.as_ref();
        let rank = canonicals.and_then(|canonicals| canonicals.preferred(near.number, record));
        if rank.is_some() {
            let own = (record.page_id.clone(), record.url.clone());
            let former = (page.page_id, page.url);
            // The same page, read once more, takes nobody's place.
            page.replaces = (former != own).then_some(former);
            (page.page_id, page.url) = own;
        }
        (page, rank)
    }

    /// What a verdict says of a centroid that is near a text of this digest.
    fn canonical_page(&self, centroid: Centroid, near: Near, text_digest: u128) -> CanonicalPage {
        let stands = self.canonicals.as_ref().and_then(|canonicals| canonicals.page(near.number));
        let (page_id, url) = match stands {
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
        }
    }

    /// What stands for the cluster of the centroid of this number; none where that is always the
    /// page that founded it, or the centroid has expired.
    #[must_use]
    pub fn canonical(&self, number: u64) -> Option<Canonical> {
        self.canonicals.as_ref()?.get(number)
    }

    /// Takes what a saved table says of who stands for the cluster of the centroid of this number,
    /// which has been [restored](Self::restore).
    pub fn restore_canonical(&mut self, number: u64, canonical: Canonical) {
        if let Some(canonicals) = &mut self.canonicals {
            canonicals.set(number, canonical);
        }
    }

    /// Adds a centroid of a saved table. Centroids come oldest first.
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

    /// All centroids that are in memory alone, which are all where no old ones are elsewhere, in
    /// order of founding, each with its corpus and fingerprint hash.
    pub fn centroids(&self) -> impl Iterator<Item = (&str, u64, Centroid)> {
        self.table.iter_young().map(|(corpus, fingerprint_hash, mut centroid)| {
            centroid.log_time = centroid.log_time.or(self.first_time);
            (corpus, fingerprint_hash, centroid)
        })
    }

    /// Log time is the running maximum. Centroids from before the first record with a time
    /// count from then on: so founding times never fall from a centroid to a younger one.
    fn advance(&mut self, log_time: Option<Timestamp>) {
        if self.position.log_time.is_none() && log_time.is_some() {
            self.first_time = log_time;
        }
        self.position.log_time = self.position.log_time.max(log_time);
        self.raise_bounds();
    }

    /// Bounds follow what was founded and log time, and never fall.
    fn raise_bounds(&mut self) {
        self.bounds = self.bounds.raised(&self.expiry, self.founded(), self.position.log_time);
        self.table.seen.raise();
    }

    /// Applies the present settings to a table that was restored, and removes all that has expired.
    ///
    /// # Errors
    /// [`TableFault`].
    pub fn evict_expired(&mut self) -> Result<(), TableFault> {
        self.attempt(|table| {
            table.raise_bounds();
            table.find_alive()?;
            table.forget_below(table.alive.0);
            Ok(())
        })
    }

    /// Takes the centroids below this number out.
    pub fn forget_below(&mut self, number: u64) {
        let number = number.min(self.founded());
        (self.table.first()..number).for_each(|_| self.remove_oldest());
    }

    fn remove_oldest(&mut self) {
        self.table.remove_oldest(&*self.detector);
        if let Some(canonicals) = &mut self.canonicals {
            canonicals.forget_below(self.table.first());
        }
        if let Some(crawls) = &mut self.crawls {
            crawls.forget_below(self.table.first());
        }
    }

    /// Removes the oldest centroid if it was founded at `log_offset`. Returns false if it was not.
    ///
    /// # Errors
    /// [`TableFault`].
    pub fn forget_oldest(&mut self, log_offset: u64) -> Result<bool, TableFault> {
        self.attempt(|table| {
            let is_oldest = table.oldest_log_offset()? == Some(log_offset);
            if is_oldest {
                table.remove_oldest();
            }
            Ok(is_oldest)
        })
    }

    /// Returns the log offset at which the oldest centroid was founded.
    ///
    /// # Errors
    /// [`TableFault`].
    pub fn oldest_log_offset(&self) -> Result<Option<u64>, TableFault> {
        self.check()?;
        Ok(self.table.founded(self.table.first())?.map(|(log_offset, _)| log_offset))
    }

    /// Removes centroids that are too many, and some that are too old by log time. Both rules take the oldest
    /// first: log time never falls, so it orders centroids as their founding does.
    fn expire(&mut self) -> Result<(), TableFault> {
        self.find_alive()?;
        let aged = self.alive.0.min(self.table.first() + AGED_FREED_PER_RECORD);
        self.forget_below(self.bounds.dead_below.max(aged));
        Ok(())
    }

    /// Moves on to the oldest centroid that has not expired.
    fn find_alive(&mut self) -> Result<(), TableFault> {
        self.alive = self.alive_at(self.bounds, self.first_time)?;
        self.table.seen.forget_below(self.alive.0);
        Ok(())
    }

    /// Returns the value of `alive` within these bounds, which are the present ones or greater ones.
    fn alive_at(
        &self,
        bounds: Bounds,
        first_time: Option<Timestamp>,
    ) -> Result<(u64, Option<Timestamp>), TableFault> {
        let mut alive = self.alive;
        let first = self.table.first().max(bounds.dead_below.min(self.founded()));
        if alive.0 < first {
            alive = (first, None);
        }
        let Some(before) = bounds.dead_before else { return Ok(alive) };
        let end = self.founded();
        let founded_at = |number| -> Result<Option<Timestamp>, TableFault> {
            Ok(self.table.founded(number)?.and_then(|(_, time)| time.or(first_time)))
        };
        let too_old = |time: Option<Timestamp>| time.is_some_and(|time| time < before);
        let known = match alive.1 {
            None => founded_at(alive.0)?,
            known => known,
        };
        if !too_old(known) {
            return Ok((alive.0, known));
        }
        // In steps that double, and then between the last two: time may leap over millions.
        let mut old = alive.0;
        let mut step = 1;
        while old + step < end && too_old(founded_at(old + step)?) {
            old += step;
            step *= 2;
        }
        let mut young = (old + step).min(end);
        while young - old > 1 {
            let middle = old.midpoint(young);
            if too_old(founded_at(middle)?) { old = middle } else { young = middle }
        }
        Ok((young, founded_at(young)?))
    }

    fn cluster_id(&self, log_offset: u64) -> ClusterId {
        ClusterId {
            log_generation: self.position.log_generation,
            log_partition: self.position.log_partition,
            log_offset,
        }
    }
}

/// The centroids that have not expired, as a decision sees them: without those of clusters that have
/// no page any more.
struct Unexpired<'a> {
    table: &'a Tiers,
    crawls: Option<&'a Crawls>,
    detector: &'a dyn Detector,
    /// Number of the oldest one.
    first: u64,
}

impl<'a> Unexpired<'a> {
    fn new(table: &'a Tiers, crawls: Option<&'a Crawls>, detector: &'a dyn Detector, first: u64) -> Self {
        Self { table, crawls, detector, first }
    }

    fn has(&self, number: u64) -> bool {
        number >= self.first && !self.crawls.is_some_and(|crawls| crawls.is_ended(number))
    }

    /// Returns the centroid of the cluster of a page whose text has this key, and the query's distance from
    /// it. `old` is the youngest old centroid with the text.
    fn with_text(
        &self,
        (query, key): (Query<'_>, u128),
        old: Option<u64>,
        scratch: &mut Scratch,
    ) -> Result<Option<(Centroid, Near)>, TableFault> {
        let number = self.cluster_of(key).or(old).filter(|number| self.has(*number));
        let Some(number) = number else { return Ok(None) };
        let Some(centroid) = self.table.centroid(number, scratch)? else { return Ok(None) };
        let distance = self.detector.compare(query.fingerprint, &centroid.fingerprint).distance;
        Ok(Some((centroid, Near { query: 0, related: false, distance, number })))
    }

    /// Returns the number of the cluster of a page whose text has this key, as far as memory has it.
    fn cluster_of(&self, key: u128) -> Option<u64> {
        let member = || self.table.seen.find(key, |number| self.has(number));
        self.table.young_text(key).filter(|number| self.has(*number)).or_else(member)
    }

    /// Returns the nearest centroid that is near and not too old, or else related. Among equally near ones
    /// it is the oldest. `found` is the result of a look-up and whether there were more, and `recent` has the
    /// centroids that came later.
    fn nearest(
        &self,
        query: Query<'_>,
        (found, more): (&[Near], bool),
        recent: Vec<Near>,
        scratch: &mut Scratch,
    ) -> Result<Option<(Centroid, Near)>, TableFault> {
        let mut nearest = self.first_in_full(query, found.iter().copied(), scratch)?;
        if more && nearest.is_none() {
            // All that were kept have expired since the batch was looked up, or their clusters ended.
            let ended = |number| !self.has(number);
            let near = self.table.find_nearest(query, self.first, &ended, self.detector, scratch)?;
            nearest = self.first_in_full(query, near.into_iter(), scratch)?;
        }
        let order = |near: Near| (near.related, near.distance, near.number);
        let bound = nearest.as_ref().map(|(_, near)| order(*near));
        let nearer = recent.into_iter().take_while(|near| bound.is_none_or(|bound| order(*near) < bound));
        let recent = self.first_in_full(query, nearer, scratch)?;
        Ok(recent.or(nearest))
    }

    /// Returns the youngest other page of the article that the query is a page of, if it has not expired.
    /// Texts say less about such a page than its site does.
    fn part(&self, query: Query<'_>, scratch: &mut Scratch) -> Result<Option<(Centroid, Near)>, TableFault> {
        let number = self.table.find_part(query, self.detector).filter(|number| self.has(*number));
        let Some(number) = number else { return Ok(None) };
        let Some(centroid) = self.table.centroid(number, scratch)? else { return Ok(None) };
        if !self.detector.are_parts(query.fingerprint, &centroid.fingerprint) {
            return Ok(None);
        }
        let distance = self.detector.compare(query.fingerprint, &centroid.fingerprint).distance;
        Ok(Some((centroid, Near { query: 0, related: true, distance, number })))
    }

    /// Returns the first of `some` that is near or related [in full](Self::in_full).
    fn first_in_full(
        &self,
        query: Query<'_>,
        some: impl Iterator<Item = Near>,
        scratch: &mut Scratch,
    ) -> Result<Option<(Centroid, Near)>, TableFault> {
        for near in some {
            let found = self.in_full(query, near, scratch)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Returns the centroid of `near`, which is near or related by its compared part, if it has not expired
    /// and is so in full. Nearly always it is.
    fn in_full(
        &self,
        query: Query<'_>,
        near: Near,
        scratch: &mut Scratch,
    ) -> Result<Option<(Centroid, Near)>, TableFault> {
        if !self.has(near.number) {
            return Ok(None);
        }
        let Some(centroid) = self.table.centroid(near.number, scratch)? else { return Ok(None) };
        let is_so = is_in_full(self.detector, near.related, query.fingerprint, &centroid.fingerprint);
        Ok(is_so.then_some((centroid, near)))
    }
}

/// What is looked up for a record, and the key of its text, if it has a fingerprint.
fn query_and_key(record: &FingerprintRecord) -> Option<(Query<'_>, u128)> {
    let query = query(record)?;
    Some((query, text_key(query.corpus, query.fingerprint_hash, record.text?.digest)))
}

/// What is looked up for a record, if it has a fingerprint.
fn query(record: &FingerprintRecord) -> Option<Query<'_>> {
    let Outcome::Fingerprint(fingerprint) = &record.outcome else { return None };
    let FingerprintRecord { corpus, fingerprint_hash, .. } = record;
    Some(Query { corpus, fingerprint_hash: *fingerprint_hash, fingerprint })
}
