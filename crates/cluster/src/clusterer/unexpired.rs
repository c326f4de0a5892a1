//! A view of the table for one decision: only centroids that have not expired, and whose cluster has not ended.
//!
//! In: the results of a look-up, which may be older than the last decisions. Out: the centroid that a page joins or is
//! related to. Cost: reads a whole centroid for each result that is examined, nearly always one.

use crate::fault::TableFault;
use crate::recrawls::Crawls;
use crate::table::{Centroid, NearCentroid, Query, Scratch};
use crate::tiers::Tiers;
use leitong_fingerprint::Comparison;

/// The centroids that count for a decision: unexpired, and of clusters that still have a page.
pub(super) struct Unexpired<'a> {
    table: &'a Tiers,
    crawls: Option<&'a Crawls>,
    /// Number of the oldest unexpired centroid.
    first: u64,
}

impl<'a> Unexpired<'a> {
    pub(super) fn new(table: &'a Tiers, crawls: Option<&'a Crawls>, first: u64) -> Self {
        Self { table, crawls, first }
    }

    pub(super) fn has(&self, number: u64) -> bool {
        number >= self.first && !self.crawls.is_some_and(|crawls| crawls.is_ended(number))
    }

    /// Returns the centroid of the cluster that has a page with this text key, and its distance from the
    /// query. `old` is the youngest old centroid with the text.
    pub(super) fn with_text(
        &self,
        (query, key): (Query<'_>, u128),
        old: Option<u64>,
        scratch: &mut Scratch,
    ) -> Result<Option<(Centroid, NearCentroid)>, TableFault> {
        let number = self.cluster_of(key).or(old).filter(|number| self.has(*number));
        let Some(number) = number else { return Ok(None) };
        let Some(centroid) = self.table.centroid(number, scratch)? else { return Ok(None) };
        let near = self.compare(query, number, &centroid, false);
        Ok(Some((centroid, near)))
    }

    /// Returns the number of the cluster that has a page with this text key. Looks only in memory.
    pub(super) fn cluster_of(&self, key: u128) -> Option<u64> {
        let member = || self.table.seen.find(key, |number| self.has(number));
        self.table.young.text(key).filter(|number| self.has(*number)).or_else(member)
    }

    /// Returns the nearest unexpired centroid that is near, or else the first related one in the order of
    /// [`NearCentroid`]. Among equally near ones it is the oldest. `found` is the result of a look-up, with true if the
    /// look-up left some out; `recent` has the centroids that were added since.
    pub(super) fn nearest(
        &self,
        query: Query<'_>,
        (found, more): (&[NearCentroid], bool),
        recent: Vec<NearCentroid>,
        scratch: &mut Scratch,
    ) -> Result<Option<(Centroid, NearCentroid)>, TableFault> {
        let mut nearest = self.first_in_full(query, found.iter().copied(), scratch)?;
        if more && nearest.is_none() {
            // None of the kept centroids counts: they have expired since the look-up of the batch, their clusters
            // have ended, or they are near only by their compared part.
            let ended = |number| !self.has(number);
            let near = self.table.find_nearest(query, self.first, &ended, scratch)?;
            nearest = self.first_in_full(query, near.into_iter(), scratch)?;
        }
        let order = |near: NearCentroid| (near.related, near.rank, near.number);
        let bound = nearest.as_ref().map(|(_, near)| order(*near));
        let nearer = recent.into_iter().take_while(|near| bound.is_none_or(|bound| order(*near) < bound));
        let recent = self.first_in_full(query, nearer, scratch)?;
        Ok(recent.or(nearest))
    }

    /// Returns the youngest other page of the article that the query's page belongs to, if it has not
    /// expired. The site says more about how such pages are related than their texts do.
    pub(super) fn part(
        &self,
        query: Query<'_>,
        scratch: &mut Scratch,
    ) -> Result<Option<(Centroid, NearCentroid)>, TableFault> {
        let number = self.table.find_part(query).filter(|number| self.has(*number));
        let Some(number) = number else { return Ok(None) };
        let Some(centroid) = self.table.centroid(number, scratch)? else { return Ok(None) };
        if !self.table.young.detector.are_parts(query.fingerprint, &centroid.fingerprint) {
            return Ok(None);
        }
        let near = self.compare(query, number, &centroid, true);
        Ok(Some((centroid, near)))
    }

    /// Returns a centroid that counts as near or related whatever its fingerprint says.
    fn compare(&self, query: Query<'_>, number: u64, centroid: &Centroid, related: bool) -> NearCentroid {
        let detector = &*self.table.young.detector;
        let comparison = detector.compare(query.fingerprint, &centroid.fingerprint);
        let comparison = Comparison { near: !related, ..comparison };
        let compared = detector.compared(&centroid.fingerprint);
        NearCentroid::new((0, &query), (number, compared), comparison, detector)
    }

    /// Returns the first of `some` that is near or related [in full](Self::in_full).
    fn first_in_full(
        &self,
        query: Query<'_>,
        some: impl Iterator<Item = NearCentroid>,
        scratch: &mut Scratch,
    ) -> Result<Option<(Centroid, NearCentroid)>, TableFault> {
        for near in some {
            let found = self.in_full(query, near, scratch)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Returns the centroid of `near` if it has not expired, and if it is near or related by its whole
    /// fingerprint, not only by the part that look-ups compare. Nearly always it is.
    pub(super) fn in_full(
        &self,
        query: Query<'_>,
        near: NearCentroid,
        scratch: &mut Scratch,
    ) -> Result<Option<(Centroid, NearCentroid)>, TableFault> {
        if !self.has(near.number) {
            return Ok(None);
        }
        let Some(centroid) = self.table.centroid(near.number, scratch)? else { return Ok(None) };
        let is_so = near.is_in_full(&*self.table.young.detector, query.fingerprint, &centroid.fingerprint);
        Ok(is_so.then_some((centroid, near)))
    }
}
