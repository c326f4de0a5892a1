//! Known texts, which are looked up before any fingerprints are compared: look-ups in batches, insertion,
//! saving and restoring.

use super::{Clusterer, Query, Unexpired};
use crate::TableFault;
use crate::seen::{NewText, SeenFrom, SeenText, TextBounds};
use crate::table::{Centroid, NearCentroid, NearestCentroids};

/// Result of the look-up for the records of a batch.
pub(super) struct Found {
    nearest: NearestCentroids,
    /// For each record, the youngest old centroid (see `tiers.rs`) with its text. Empty if the table has no old
    /// centroids, or if no text was left to look up.
    old_texts: Vec<Option<u64>>,
    /// For each record, true if its text was known when the batch began, so near centroids were not looked up.
    by_text: Vec<bool>,
}

/// Result of the look-up for one record.
#[derive(Clone, Copy)]
pub(super) struct FoundFor<'a> {
    /// The centroids that may be near, and true if some were left out.
    pub(super) near: (&'a [NearCentroid], bool),
    /// The number of the youngest old centroid with the record's text.
    pub(super) old_text: Option<u64>,
}

impl Found {
    /// Returns the result for the record with this number in the batch.
    pub(super) fn for_record(&self, number: u32) -> FoundFor<'_> {
        let at = number as usize;
        let near = if self.by_text[at] { (&[][..], true) } else { self.nearest.for_query(number) };
        FoundFor { near, old_text: self.old_texts.get(at).copied().flatten() }
    }
}

impl Clusterer {
    /// Looks up a batch: first the texts, then the near centroids of the records with unknown texts.
    pub(super) fn find_to_decide(
        &mut self,
        queries: &[Option<(Query<'_>, u128)>],
    ) -> Result<Found, TableFault> {
        self.index_pending()?;
        // A known text whose cluster has expired must not suppress the look-up of near centroids.
        self.find_first_unexpired()?;
        let unexpired =
            Unexpired::new(&self.table, self.crawls.as_ref(), &*self.detector, self.first_unexpired.0);
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
        let nearest = self.table.find_to_decide(&queries, &*self.detector, &mut self.scratch)?;
        Ok(Found { nearest, old_texts, by_text })
    }

    /// Returns the centroid of the cluster that has a page with this text key. `old` is the youngest old
    /// centroid with the text.
    pub(super) fn with_text(
        &mut self,
        query: Query<'_>,
        key: u128,
        old: Option<u64>,
    ) -> Result<Option<(Centroid, NearCentroid)>, TableFault> {
        let unexpired =
            Unexpired::new(&self.table, self.crawls.as_ref(), &*self.detector, self.first_unexpired.0);
        unexpired.with_text((query, key), old, &mut self.scratch)
    }

    /// Inserts the text of a page that joined the cluster with this number, and records it for the changelog.
    pub(super) fn enter_text(&mut self, log_offset: u64, key: u128, cluster: u64) {
        let text = SeenText { key, cluster };
        let sequence = self.table.seen.enter(text);
        self.table.seen.raise();
        if let Some(journal) = &mut self.journal {
            journal.texts.push(NewText { log_offset, sequence, text });
        }
    }

    /// Returns the bounds of the texts, for a saved table.
    ///
    /// # Errors
    /// [`TableFault`].
    pub fn text_bounds(&self) -> Result<TextBounds, TableFault> {
        let (count, _) = self.unexpired()?;
        Ok(self.table.seen.bounds(self.founded() - count))
    }

    /// Restores the [bounds](Self::text_bounds) of a saved table. Its texts must be restored before.
    pub fn restore_text_bounds(&mut self, bounds: TextBounds) {
        self.table.seen.restore_bounds(bounds);
    }

    /// Returns true if no text is missing that a saved table with these bounds needs.
    #[must_use]
    pub fn has_all_texts(&self, bounds: TextBounds) -> bool {
        self.table.seen.has_all(bounds)
    }

    /// Returns the texts of pages that joined clusters, and their range, without the texts in blocks of old
    /// centroids before the number `block_end`.
    pub fn seen_texts(&self, block_end: u64) -> (SeenFrom, impl Iterator<Item = SeenText> + '_) {
        self.table.seen.from(self.table.seen.mark_of(block_end))
    }

    /// Restores texts of a saved table, in the order of that table. `first` is the sequence of the first one.
    /// The table may have fewer texts than it needs; [`Self::has_all_texts`] checks that.
    pub fn restore_texts(&mut self, first: u64, texts: impl Iterator<Item = SeenText>) {
        self.table.seen.restore(first, texts);
    }
}
