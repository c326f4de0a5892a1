//! Merges the centroids of another table into this one.
//!
//! Each centroid is decided on as if its page came next in the log: it joins the cluster of the nearest
//! centroid, or stays a centroid. If none joins and none has expired, the result is the table that a single
//! run over all pages would have made: a page that founded a cluster in the other table and is near no centroid
//! of this one would found one in the single run too, and a page that joined a cluster would find the same
//! cluster. If a centroid joins another cluster, pages that were near that centroid alone have lost it, and
//! later pages like them may found a new cluster.

use super::Clusterer;
use super::decide::RecordMatches;
use crate::canonical::Canonical;
use crate::decision::ClusterId;
use crate::fault::TableFault;
use crate::seen::SeenText;
use crate::table::{Centroid, Query};
use leitong_base::record::Timestamp;

/// A centroid of a saved table, with its future place in this table's log.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedCentroid {
    /// Corpus of the centroid.
    pub corpus: Box<str>,
    /// Hash of the settings that made the fingerprint.
    pub fingerprint_hash: u64,
    /// The centroid itself.
    pub centroid: Centroid,
    /// Canonical page of the centroid's cluster.
    pub canonical: Canonical,
}

impl SavedCentroid {
    fn query_and_key(&self) -> (Query<'_>, u128) {
        let Self { corpus, fingerprint_hash, centroid, .. } = self;
        let fingerprint_hash = *fingerprint_hash;
        let query = Query { corpus, fingerprint_hash, fingerprint: &centroid.fingerprint };
        (query, SeenText::key_of(corpus, fingerprint_hash, centroid.text_digest))
    }
}

/// The outcome for a centroid of another table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merged {
    /// The cluster to which the pages of the centroid's cluster belong now.
    pub cluster_id: ClusterId,
    /// Number of the centroid of the cluster `cluster_id`.
    pub number: u64,
    /// True if the centroid joined the cluster of another one.
    pub joined: bool,
}

impl Clusterer {
    /// Adds centroids of a saved table, in the order of founding. All look-ups are done at once, on all
    /// cores. Returns one result for each centroid.
    ///
    /// # Errors
    /// [`TableFault`].
    pub fn merge_batch(&mut self, batch: &[SavedCentroid]) -> Result<Vec<Merged>, TableFault> {
        self.attempt(|table| {
            let queries: Vec<_> = batch.iter().map(|saved| Some(saved.query_and_key())).collect();
            let matches = table.look_up_batch(&queries)?;
            let merge = |(number, saved)| table.merge_next(saved, matches.for_record(number));
            let merged = (0..).zip(batch).map(merge).collect::<Result<_, _>>()?;
            table.index_pending()?;
            Ok(merged)
        })
    }

    /// Advances this table to where the merged table had read its log: all records before `next_log_offset`,
    /// the latest of them at `log_time`.
    pub fn merged_up_to(&mut self, next_log_offset: u64, log_time: Option<Timestamp>) {
        self.skip_to(next_log_offset);
        self.advance(log_time);
    }

    /// Adds the texts of pages that joined a cluster in the saved table, in order. Their [`SeenText::cluster`] must
    /// already be a number of this table.
    ///
    /// # Errors
    /// [`TableFault`].
    pub fn merge_texts(&mut self, texts: &[SeenText]) -> Result<(), TableFault> {
        self.attempt(|table| {
            table.index_pending()?;
            table.find_first_unexpired()?;
            let keys: Vec<Option<u128>> = texts.iter().map(|text| Some(text.key)).collect();
            let old = table.table.old_texts(&keys)?;
            for (at, text) in texts.iter().enumerate() {
                let unexpired = table.unexpired_from(table.first_unexpired.0);
                let old = old.get(at).copied().flatten().filter(|number| unexpired.has(*number));
                if unexpired.cluster_of(text.key).or(old).is_none() && unexpired.has(text.cluster) {
                    table.enter_text(table.position.next_log_offset, text.key, text.cluster);
                }
            }
            Ok(())
        })
    }

    /// Adds one centroid. `matches` is the result of the look-up among the centroids that were there before its
    /// batch.
    fn merge_next(
        &mut self,
        saved: &SavedCentroid,
        matches: RecordMatches<'_>,
    ) -> Result<Merged, TableFault> {
        let SavedCentroid { corpus, fingerprint_hash, centroid, canonical } = saved;
        self.merged_up_to(centroid.log_offset + 1, centroid.log_time);
        self.expire()?;
        let (query, key) = saved.query_and_key();
        let (nearest, is_known) = self.choose(query, key, matches)?;
        if let Some((into, near)) = nearest.filter(|(_, near)| !near.related) {
            self.merge_canonical(near.number, centroid, canonical);
            if !is_known {
                self.enter_text(centroid.log_offset, key, near.number);
            }
            let (cluster_id, number) = (self.cluster_id(into.log_offset), near.number);
            return Ok(Merged { cluster_id, number, joined: true });
        }
        let centroid = Centroid { log_time: self.position.log_time, ..centroid.clone() };
        self.table.insert(corpus, *fingerprint_hash, &centroid);
        let number = self.founded() - 1;
        self.restore_canonical(number, canonical.clone());
        self.raise_bounds();
        self.expire()?;
        Ok(Merged { cluster_id: self.cluster_id(centroid.log_offset), number, joined: false })
    }

    /// Merges the canonical pages after the centroid `joined` has joined the cluster with this number. If
    /// `canonical`, the canonical page of the former cluster, is preferred to the present one, it replaces it.
    fn merge_canonical(&mut self, number: u64, joined: &Centroid, canonical: &Canonical) {
        let Some(present) = self.canonical(number) else { return };
        if canonical.rank.is_preferred_to(present.rank) {
            let founder = || (joined.page_id.clone(), joined.url.clone());
            let page = Some(canonical.page.clone().unwrap_or_else(founder));
            self.restore_canonical(number, Canonical { rank: canonical.rank, page });
        }
    }
}
