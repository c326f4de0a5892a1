//! Decisions on records, in log order.
//!
//! ```text
//! decide_batch ─► look_up_batch ─► known texts, then near centroids: all records at once, on all cores
//!              └► decide_next   ─► choose ─► join, or found: one record after the other
//! ```
//! The header of the crate lists all stays on the way of a record.

use super::unexpired::Unexpired;
use super::{Clusterer, NewCentroid};
use crate::canonical::{Canonical, NewCanonical, Rank};
use crate::decision::{CanonicalPage, ClusterId, Decision};
use crate::fault::TableFault;
use crate::seen::SeenText;
use crate::table::{Centroid, NearCentroid, NearestCentroids, Query, Scratch};
use leitong_base::record::{FingerprintRecord, Outcome, Reason};

/// Result of the look-up for the records of a batch.
pub(super) struct BatchMatches {
    nearest: NearestCentroids,
    /// For each record, the youngest old centroid (see `tiers.rs`) with its text. Empty if the table has no old
    /// centroids, or if no text was left to look up.
    old_texts: Vec<Option<u64>>,
    /// For each record, true if its text was known when the batch began, so near centroids were not looked up.
    by_text: Vec<bool>,
}

/// Result of the look-up for one record.
#[derive(Clone, Copy)]
pub(super) struct RecordMatches<'a> {
    /// The centroids that may be near, and true if some were left out.
    pub(super) near: (&'a [NearCentroid], bool),
    /// The number of the youngest old centroid with the record's text.
    pub(super) old_text: Option<u64>,
}

impl BatchMatches {
    /// Returns the result for the record with this number in the batch.
    pub(super) fn for_record(&self, number: u32) -> RecordMatches<'_> {
        let at = number as usize;
        // Where the text is known, nothing was looked up, so all near ones are left out.
        let near = if self.by_text[at] { (&[][..], true) } else { self.nearest.for_query(number) };
        RecordMatches { near, old_text: self.old_texts.get(at).copied().flatten() }
    }
}

impl Clusterer {
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

    /// Decides on the records at these ascending offsets of the log, of which the first is not below the position. Some
    /// may be missing, such as those of transactions' markers. The decisions are those of [`Self::decide`] on one record
    /// after the other, but all look-ups are done at once, on all cores.
    ///
    /// # Errors
    /// [`TableFault`]; then no decision is returned, and all later calls fail.
    pub fn decide_batch(
        &mut self,
        records: &[(u64, Option<&FingerprintRecord>)],
    ) -> Result<Vec<Decision>, TableFault> {
        self.attempt(|table| {
            let queries: Vec<Option<(Query<'_>, u128)>> =
                records.iter().map(|(_, record)| record.and_then(query_and_key)).collect();
            let matches = table.look_up_batch(&queries)?;
            let mut decisions = Vec::with_capacity(records.len());
            for (number, ((log_offset, record), query)) in (0..).zip(records.iter().zip(queries)) {
                decisions.push(table.decide_next(*log_offset, *record, query, matches.for_record(number))?);
            }
            table.index_pending()?;
            Ok(decisions)
        })
    }

    /// Looks up a batch: first the texts, then the near centroids of the records with unknown texts.
    pub(super) fn look_up_batch(
        &mut self,
        queries: &[Option<(Query<'_>, u128)>],
    ) -> Result<BatchMatches, TableFault> {
        self.index_pending()?;
        // A known text whose cluster has expired must not suppress the look-up of near centroids.
        self.find_first_unexpired()?;
        let unexpired = self.unexpired_from(self.first_unexpired.0);
        let mut open: Vec<Option<u128>> = queries.iter().map(|query| query.map(|(_, key)| key)).collect();
        let mut by_text = vec![false; queries.len()];
        for (key, known) in open.iter_mut().zip(&mut by_text) {
            *known = key.is_some_and(|key| unexpired.cluster_of(key).is_some());
            *key = key.filter(|_| !*known);
        }
        let old_texts = self.table.old_texts(&open)?;
        for (old, known) in old_texts.iter().zip(&mut by_text) {
            *known |= old.is_some_and(|number| unexpired.has(number));
        }
        let open = queries.iter().zip(&by_text).map(|(query, known)| query.filter(|_| !known));
        let queries: Vec<Option<Query<'_>>> = open.map(|open| open.map(|(query, _)| query)).collect();
        let nearest = self.table.find_to_decide(&queries, &mut self.scratch)?;
        Ok(BatchMatches { nearest, old_texts, by_text })
    }

    /// Returns the centroids that count if those with numbers below `first` have expired.
    pub(super) fn unexpired_from(&self, first: u64) -> Unexpired<'_> {
        Unexpired::new(&self.table, self.crawls.as_ref(), first)
    }

    /// Returns the centroids that have not expired, and the memory for look-ups among them.
    fn unexpired_now(&mut self) -> (Unexpired<'_>, &mut Scratch) {
        (Unexpired::new(&self.table, self.crawls.as_ref(), self.first_unexpired.0), &mut self.scratch)
    }

    /// Decides on one record. `matches` is the result of the look-up among the centroids that were there before
    /// its batch.
    fn decide_next(
        &mut self,
        log_offset: u64,
        record: Option<&FingerprintRecord>,
        query: Option<(Query<'_>, u128)>,
        matches: RecordMatches<'_>,
    ) -> Result<Decision, TableFault> {
        self.position.next_log_offset = log_offset + 1;
        let Some(record) = record else { return Ok(Decision::Undecidable) };
        self.advance(record.log_time);
        // A page is withdrawn before its record is decided on. Expiry follows, so both see one log time.
        if record.outcome == Outcome::Undecidable(Reason::Withdrawn) {
            self.withdraw(record, log_offset)?;
        }
        let (Some((query, key)), Some(text)) = (query, record.text) else { return Ok(Decision::Undecidable) };
        self.expire()?;
        let (nearest, is_known) = self.choose(query, key, matches)?;
        match nearest {
            Some((centroid, near)) if !near.related => {
                let mut page = self.join(record, centroid, near);
                page.equal_text = is_known;
                let is_copy = page.url != record.url;
                self.note_crawl(record, (log_offset, query), near.number, is_copy)?;
                if !is_known {
                    self.enter_text(log_offset, key, near.number);
                }
                Ok(Decision::Joined(page))
            }
            related => self.begin_cluster(record, (log_offset, query), text.digest, related),
        }
    }

    /// Makes the record's page the centroid of a new cluster.
    fn begin_cluster(
        &mut self,
        record: &FingerprintRecord,
        (log_offset, query): (u64, Query<'_>),
        text_digest: u128,
        related: Option<(Centroid, NearCentroid)>,
    ) -> Result<Decision, TableFault> {
        let (unexpired, scratch) = self.unexpired_now();
        let related = unexpired.part(query, scratch)?.or(related);
        let related = related.map(|(centroid, near)| self.canonical_page(centroid, near, text_digest));
        let centroid = Centroid {
            log_offset,
            log_time: self.position.log_time,
            fingerprint: query.fingerprint.into(),
            text_digest,
            page_id: record.page_id.as_str().into(),
            url: record.url.as_str().into(),
        };
        self.table.insert(&record.corpus, record.fingerprint_hash, &centroid);
        let number = self.table.end() - 1;
        let rank = self.canonicals.as_mut().map(|canonicals| canonicals.add_cluster(record));
        if let Some(journal) = &mut self.journal {
            let (corpus, fingerprint_hash) = (record.corpus.as_str().into(), record.fingerprint_hash);
            journal.founded.push(NewCentroid { number, corpus, fingerprint_hash, centroid, rank });
        }
        self.note_crawl(record, (log_offset, query), number, false)?;
        // The new centroid counts from the next decision on. Evicting the surplus now bounds the memory.
        self.raise_bounds();
        self.expire()?;
        Ok(Decision::Founded(self.cluster_id(log_offset), related))
    }

    /// Returns the unexpired centroid whose cluster has a page with this text, or else the nearest one that is near or
    /// related. Also returns true if the text is known.
    pub(super) fn choose(
        &mut self,
        query: Query<'_>,
        key: u128,
        matches: RecordMatches<'_>,
    ) -> Result<(Option<(Centroid, NearCentroid)>, bool), TableFault> {
        let (unexpired, scratch) = self.unexpired_now();
        let known = unexpired.with_text((query, key), matches.old_text, scratch)?;
        if known.is_some() {
            return Ok((known, true));
        }
        if let Some(first) = matches.near.0.first().filter(|first| first.is_equal()) {
            // Centroids added since the look-up are younger, and not nearer.
            let equal = unexpired.in_full(query, *first, scratch)?;
            if equal.is_some() {
                return Ok((equal, false));
            }
        }
        let recent = self.table.young.find_recent(query);
        let (unexpired, scratch) = self.unexpired_now();
        Ok((unexpired.nearest(query, matches.near, recent, scratch)?, false))
    }

    /// Makes the record's page join the cluster of a near centroid. The page becomes the canonical page if it
    /// is preferred to the present one.
    fn join(&mut self, record: &FingerprintRecord, centroid: Centroid, near: NearCentroid) -> CanonicalPage {
        let log_offset = centroid.log_offset;
        let (page, rank) = self.cluster_after(record, centroid, near);
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

    /// Returns the cluster that the page of `record` joins as its verdict shows it, and the page's rank if the page is
    /// preferred to the present canonical page.
    pub(super) fn cluster_after(
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
    pub(super) fn canonical_page(
        &self,
        centroid: Centroid,
        near: NearCentroid,
        text_digest: u128,
    ) -> CanonicalPage {
        let canonical = self.canonicals.as_ref().and_then(|canonicals| canonicals.page(near.number));
        let (page_id, url) = match canonical {
            Some((page_id, url)) => (page_id.to_owned(), url.to_owned()),
            None => (centroid.page_id.into(), centroid.url.into()),
        };
        CanonicalPage {
            cluster_id: self.cluster_id(centroid.log_offset),
            exact: centroid.text_digest == text_digest,
            // Of the centroid. `decide_next` adds the pages that joined.
            equal_text: centroid.text_digest == text_digest,
            page_id,
            url,
            replaces: None,
            fingerprint: centroid.fingerprint,
            distance: near.distance,
            related: near.related,
        }
    }

    pub(super) fn cluster_id(&self, log_offset: u64) -> ClusterId {
        ClusterId {
            log_generation: self.position.log_generation,
            log_partition: self.position.log_partition,
            log_offset,
        }
    }
}

/// Returns the query for a record, and the key of its text; `None` if it has no fingerprint.
pub(super) fn query_and_key(record: &FingerprintRecord) -> Option<(Query<'_>, u128)> {
    let Outcome::Fingerprint(fingerprint) = &record.outcome else { return None };
    let FingerprintRecord { corpus, fingerprint_hash, .. } = record;
    let key = SeenText::key_of(corpus, *fingerprint_hash, record.text?.digest);
    Some((Query { corpus, fingerprint_hash: *fingerprint_hash, fingerprint }, key))
}
