//! Texts of pages that joined clusters: insertion, saving and restoring.

use super::Clusterer;
use crate::fault::TableFault;
use crate::seen::{NewText, SeenFrom, SeenText, TextBounds};

impl Clusterer {
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
