//! Articles that are spread over several pages → the page of each that came last.
//!
//! Pages of one article need have no passage in common, so that no key leads from one to the other.
//! Of each article one centroid is enough, and it is the youngest: centroids leave the table oldest
//! first, so once that one has left, so have all others, and a table that was saved and restored
//! holds the same.
//!
//! Invariant: depends on the centroids in the table alone. Memory: some 40 bytes an article, of
//! which there are as many as sites that cut their texts.

use std::collections::BTreeMap;

use super::corpora::CorpusId;

/// The youngest centroid of each article.
#[derive(Debug, Default)]
pub(super) struct Articles {
    youngest: BTreeMap<(CorpusId, u32), u64>,
}

impl Articles {
    /// Enters a centroid, which is younger than all others.
    pub(super) fn enter(&mut self, corpus: CorpusId, article: u32, number: u64) {
        self.youngest.insert((corpus, article), number);
    }

    /// Takes a centroid out, which is the oldest of the table.
    pub(super) fn leave(&mut self, corpus: CorpusId, article: u32, number: u64) {
        if self.youngest(corpus, article) == Some(number) {
            self.youngest.remove(&(corpus, article));
        }
    }

    /// The youngest centroid of an article.
    pub(super) fn youngest(&self, corpus: CorpusId, article: u32) -> Option<u64> {
        self.youngest.get(&(corpus, article)).copied()
    }

    /// Bytes of memory, with a third for what a tree leaves free.
    pub(super) fn bytes(&self) -> usize {
        self.youngest.len() * size_of::<((CorpusId, u32), u64)>() * 3 / 2
    }
}
