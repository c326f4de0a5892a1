//! Previews of decisions: look-ups that change nothing.
//!
//! In: a record as it would come next in the log. Out: the decision that [`Clusterer::decide`] would make,
//! and the nearest centroids. Any number of threads may make previews at once, each with its own [`Scratch`].
//!
//! Invariant: without [`PreviewOptions::max_distance`] the decision is the one that `decide` makes on the same record
//! in the same state.

use super::Clusterer;
use super::decide::query_and_key;
use crate::decision::{CanonicalPage, ClusterId, Decision};
use crate::fault::TableFault;
use crate::table::{Centroid, NearCentroid, Scratch};
use leitong_base::record::FingerprintRecord;

/// Options of a preview.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PreviewOptions {
    /// Maximum distance of a near centroid, as verdicts show distances. Only a value below the table's own
    /// threshold makes a difference. A page with a known text joins at any distance.
    pub max_distance: Option<f64>,
    /// Maximum number of nearest centroids to return. A look-up keeps at most 8.
    pub top: usize,
}

/// The decision that would be made on a record.
#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    /// The decision.
    pub decision: Decision,
    /// The nearest centroids that are near or related. Near ones come first. Both are ordered by rank
    /// ([`Detector::rank`](leitong_fingerprint::Detector::rank)), and equal ranks by age, oldest first.
    pub nearest: Vec<CanonicalPage>,
}

impl Clusterer {
    /// Returns the decision that would be made on `record` if it were the next one in the log. A restored
    /// table needs [`Self::insert_pending`] first.
    ///
    /// # Errors
    /// [`TableFault`].
    pub fn preview(
        &self,
        record: &FingerprintRecord,
        options: PreviewOptions,
        scratch: &mut Scratch,
    ) -> Result<Preview, TableFault> {
        self.check()?;
        debug_assert!(
            self.table.young.pending() == 0,
            "look-ups that only read need all centroids in the index"
        );
        let undecidable = Preview { decision: Decision::Undecidable, nearest: Vec::new() };
        let (Some((query, key)), Some(text)) = (query_and_key(record), record.text) else {
            return Ok(undecidable);
        };
        let first = self.first_unexpired_with(record)?;
        let unexpired = self.unexpired_from(first);
        let found = self.table.find(&[Some(query)], scratch)?;
        let (found, more) = found.for_query(0);
        let page = |(centroid, near)| self.canonical_page(centroid, near, text.digest);
        let mut nearest = Vec::new();
        for near in found {
            if nearest.len() >= options.top {
                break;
            }
            nearest.extend(unexpired.in_full(query, *near, scratch)?.map(page));
        }
        let old = match unexpired.cluster_of(key) {
            None => self.table.old_texts(&[Some(key)])?.into_iter().next().flatten(),
            Some(_) => None,
        };
        if let Some((centroid, near)) = unexpired.with_text((query, key), old, scratch)? {
            let mut page = self.cluster_after(record, centroid, near).0;
            page.equal_text = true;
            return Ok(Preview { decision: Decision::Joined(page), nearest });
        }
        let near_enough = self.near_enough(found, options);
        let decision = match unexpired.nearest(query, (&near_enough, more), Vec::new(), scratch)? {
            // A centroid of the second look-up has not been compared with the requested threshold yet.
            Some((centroid, near)) if !near.related && self.is_near_enough(near, options) => {
                Decision::Joined(self.cluster_after(record, centroid, near).0)
            }
            other => {
                let part = unexpired.part(query, scratch)?;
                let related = part.or(other.filter(|(_, near)| near.related)).map(page);
                Decision::Founded(self.cluster_id(self.position.next_log_offset), related)
            }
        };
        Ok(Preview { decision, nearest })
    }

    /// Returns the centroids that are near by the requested threshold, and those that are related.
    fn near_enough(&self, found: &[NearCentroid], options: PreviewOptions) -> Vec<NearCentroid> {
        found.iter().copied().filter(|near| near.related || self.is_near_enough(*near, options)).collect()
    }

    fn is_near_enough(&self, near: NearCentroid, options: PreviewOptions) -> bool {
        options.max_distance.is_none_or(|max| self.detector().distance(near.distance) <= max)
    }

    /// Returns the number of the oldest centroid that will not have expired when `record` is decided.
    fn first_unexpired_with(&self, record: &FingerprintRecord) -> Result<u64, TableFault> {
        let (log_time, first_time) = self.times_after(record.log_time);
        let bounds = self.bounds.raised(&self.expiry, self.founded(), log_time);
        Ok(self.first_unexpired_at(bounds, first_time)?.0)
    }

    /// Returns the centroid of the cluster with this id, if it has not expired, with page id and url of the
    /// cluster's canonical page.
    ///
    /// # Errors
    /// [`TableFault`].
    pub fn centroid(&self, id: ClusterId, scratch: &mut Scratch) -> Result<Option<Centroid>, TableFault> {
        self.check()?;
        if id != self.cluster_id(id.log_offset) {
            return Ok(None);
        }
        let (mut low, end) = (self.table.first(), self.table.first() + self.table.len() as u64);
        let mut high = end;
        while low < high {
            let middle = low.midpoint(high);
            let Some((log_offset, _)) = self.table.founded(middle)? else { return Ok(None) };
            if log_offset < id.log_offset { low = middle + 1 } else { high = middle }
        }
        let Some(mut centroid) = self.table.centroid(low, scratch)? else { return Ok(None) };
        if let Some((page_id, url)) = self.canonicals.as_ref().and_then(|canonicals| canonicals.page(low)) {
            (centroid.page_id, centroid.url) = (page_id.into(), url.into());
        }
        let first = self.first_unexpired_at(self.bounds, self.first_time)?.0;
        let unexpired = self.unexpired_from(first);
        Ok((unexpired.has(low) && centroid.log_offset == id.log_offset).then_some(centroid))
    }
}
