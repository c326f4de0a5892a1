//! The near centroids that a look-up keeps: the nearest few of each query, not all.
//!
//! A page may be near any number of centroids that are not near one another, and related to others. The
//! decision takes the nearest of those that have not expired by then, and among equally near ones the oldest. Another
//! version of the same page counts as nearer than any other page.
//! More than one is kept because centroids may expire while the batch is decided. If all that were kept have
//! expired, and others were not kept, that one page is looked up again ([`super::CentroidTable::find_nearest`]). So
//! memory is bounded by [`KEPT`] centroids per query, and no near centroid is lost.

use super::centroid::NearCentroid;

/// Maximum number of near centroids kept per query: those with the lowest [rank](NearCentroid::rank), and the oldest
/// among these.
pub(super) const KEPT: usize = 8;

/// The nearest centroids of each query of a batch.
#[derive(Debug, Default)]
pub struct NearestCentroids {
    /// The kept centroids, in the order of [`NearCentroid`].
    near: Vec<NearCentroid>,
    /// Queries for which some near centroids were not kept, in ascending order.
    more: Vec<u32>,
}

impl NearestCentroids {
    /// Returns the kept centroids, for adding more. The caller has to call [`Self::keep_nearest`] afterwards.
    pub(super) fn as_mut(&mut self) -> &mut Vec<NearCentroid> {
        &mut self.near
    }

    /// Keeps the nearest of `near` and empties it.
    pub fn keep(&mut self, near: &mut Vec<NearCentroid>) {
        self.near.append(near);
        self.keep_nearest();
    }

    /// Adds the centroids that were kept on another core, or from another store.
    pub fn merge(&mut self, mut other: Self) {
        self.near.append(&mut other.near);
        self.more.append(&mut other.more);
        self.keep_nearest();
    }

    /// Keeps only the nearest [`KEPT`] of each query, each once.
    pub(super) fn keep_nearest(&mut self) {
        self.near.sort_unstable();
        self.near.dedup();
        let (mut query, mut count) = (u32::MAX, 0);
        let more = &mut self.more;
        self.near.retain(|near| {
            count = if near.query == query { count + 1 } else { 1 };
            query = near.query;
            if count == KEPT + 1 {
                more.push(query);
            }
            count <= KEPT
        });
        self.more.sort_unstable();
        self.more.dedup();
    }

    /// Returns the kept centroids of each query whose nearest centroid is near at distance 0, and marks these
    /// queries as possibly incomplete. Drops the centroids of all other queries.
    pub(crate) fn only_equal(self) -> Self {
        let mut equal = Self::default();
        for near in self.near.chunk_by(|a, b| a.query == b.query) {
            if near[0].is_equal() {
                equal.near.extend_from_slice(near);
                equal.more.push(near[0].query);
            }
        }
        equal
    }

    /// Returns all kept centroids.
    pub(crate) fn all(&self) -> &[NearCentroid] {
        &self.near
    }

    /// Returns the kept centroids of a query, and true if others were not kept.
    pub(crate) fn for_query(&self, query: u32) -> (&[NearCentroid], bool) {
        let from = self.near.partition_point(|near| near.query < query);
        let rest = &self.near[from..];
        (&rest[..rest.partition_point(|near| near.query == query)], self.more.binary_search(&query).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The result does not depend on how the centroids are divided into portions and cores.
        #[test]
        fn keeps_the_nearest_of_each_query(
            all in prop::collection::vec((0..4_u32, any::<bool>(), 0..3_u32, 0..40_u64), 0..200), portion in 1..50_usize,
        ) {
            let all: Vec<NearCentroid> =
                all.into_iter().map(|(query, related, rank, number)| NearCentroid { query, related, rank, number, distance: rank }).collect();
            let mut nearest = NearestCentroids::default();
            for (at, some) in all.chunks(portion).enumerate() {
                let mut of_one_core = NearestCentroids::default();
                of_one_core.as_mut().extend_from_slice(some);
                if at % 2 == 0 {
                    of_one_core.keep_nearest();
                    nearest.merge(of_one_core);
                } else {
                    nearest.as_mut().extend_from_slice(some);
                    nearest.keep_nearest();
                }
            }
            for query in 0..5 {
                let mut naive: Vec<NearCentroid> = all.iter().copied().filter(|near| near.query == query).collect();
                naive.sort_unstable();
                naive.dedup();
                let (found, more) = nearest.for_query(query);
                prop_assert_eq!(more, naive.len() > KEPT);
                naive.truncate(KEPT);
                prop_assert_eq!(found, naive);
            }
        }
    }
}
