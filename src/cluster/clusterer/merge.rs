//! Centroids of a table that was built apart join this one.
//!
//! Each is decided on as if its page came next in the log: it joins the cluster of the nearest
//! centroid, or stays a centroid. Where none joins and none has expired, the table is the one that a
//! single run over all pages would have made: a page that founded a cluster in its own run and is
//! near to nothing here founds one in that run as well, and a page that joined a cluster finds that
//! cluster there. Where one joins, pages that were near to it alone have lost their centroid, and
//! later pages like them may found another.

use super::Clusterer;
use crate::cluster::table::{Centroid, Near, Query};
use crate::cluster::{Canonical, ClusterId};
use crate::record::timestamp::Timestamp;

/// A centroid of a saved table, with the place in the log that it is to have here.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedCentroid {
    /// Its corpus.
    pub corpus: Box<str>,
    /// Of the settings that made the fingerprint.
    pub fingerprint_hash: u64,
    /// The centroid itself.
    pub centroid: Centroid,
    /// What stands for its cluster.
    pub canonical: Canonical,
}

impl SavedCentroid {
    fn query(&self) -> Query<'_> {
        let Self { corpus, fingerprint_hash, centroid, .. } = self;
        Query { corpus, fingerprint_hash: *fingerprint_hash, fingerprint: &centroid.fingerprint }
    }
}

/// What became of a centroid of another table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merged {
    /// The cluster that its pages belong to now.
    pub cluster_id: ClusterId,
    /// Whether that is another centroid's.
    pub joined: bool,
}

impl Clusterer {
    /// Takes centroids of a saved table in, in the order of founding. All look-ups are done at once,
    /// on all cores. Gives as many results as there are centroids.
    pub fn merge_batch(&mut self, batch: &[SavedCentroid]) -> Vec<Merged> {
        let queries: Vec<_> = batch.iter().map(|saved| Some(saved.query())).collect();
        let found = self.find_to_decide(&queries);
        let merged = (0..).zip(batch).map(|(number, saved)| self.merge_next(saved, found.of(number)));
        let merged = merged.collect();
        self.insert_pending();
        merged
    }

    /// The saved table whose centroids were taken in had read its log up to the offset before this
    /// one, and this far in time.
    pub fn merged_up_to(&mut self, next_log_offset: u64, log_time: Option<Timestamp>) {
        self.skip_to(next_log_offset);
        self.advance(log_time);
    }

    /// Takes one in; `found` is what may be near of the centroids that were there before its batch,
    /// and whether there were more.
    fn merge_next(&mut self, saved: &SavedCentroid, found: (&[Near], bool)) -> Merged {
        let SavedCentroid { corpus, fingerprint_hash, centroid, canonical } = saved;
        self.merged_up_to(centroid.log_offset + 1, centroid.log_time);
        self.expire();
        let query = saved.query();
        let nearest = self.nearest(query, found);
        if let Some((into, near)) = nearest.filter(|(_, near)| !near.related) {
            self.merge_canonical(near.number, centroid, canonical);
            return Merged { cluster_id: self.cluster_id(into.log_offset), joined: true };
        }
        let centroid = Centroid { log_time: self.position.log_time, ..centroid.clone() };
        self.table.insert(corpus, *fingerprint_hash, &centroid, &*self.detector);
        self.restore_canonical(self.founded() - 1, canonical.clone());
        self.raise_bounds();
        self.expire();
        Merged { cluster_id: self.cluster_id(centroid.log_offset), joined: false }
    }

    /// What stood for the cluster of `joined` stands for the one that it joins, of the centroid of
    /// this number, if it is preferred to what does.
    fn merge_canonical(&mut self, number: u64, joined: &Centroid, canonical: &Canonical) {
        let Some(present) = self.canonical(number) else { return };
        if canonical.rank.is_preferred_to(present.rank) {
            let founder = || (joined.page_id.clone(), joined.url.clone());
            let page = Some(canonical.page.clone().unwrap_or_else(founder));
            self.restore_canonical(number, Canonical { rank: canonical.rank, page });
        }
    }
}
