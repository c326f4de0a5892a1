//! Articles that are spread over several pages → the page of each that came last.
//!
//! Pages of one article need have no passage in common, so that no key leads from one to the other.
//! Of each article one centroid is enough, and it is the youngest: centroids leave the table oldest
//! first, so once that one has left, so have all others.
//!
//! Invariant: what is found depends on the centroids in the table alone, wherever these are kept.
//! Memory: some 40 bytes an article, of which there are as many as sites that cut their texts.

use std::collections::BTreeMap;

/// Centroids that leave before those that have left are looked for here.
const FORGET_EVERY: u64 = 1 << 16;

/// The youngest centroid of one article.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArticlePage<'a> {
    /// Its corpus.
    pub corpus: &'a str,
    /// Of the settings that made its fingerprint.
    pub fingerprint_hash: u64,
    /// The article, as fingerprints name it.
    pub article: u32,
    /// The centroid's number.
    pub number: u64,
}

/// The youngest centroid of each article, by corpus, fingerprint hash and article.
#[derive(Debug, Default)]
pub(super) struct Articles(BTreeMap<Box<str>, BTreeMap<(u64, u32), u64>>);

impl Articles {
    /// Enters a centroid, which is younger than all others.
    pub(super) fn enter(&mut self, page: ArticlePage<'_>) {
        let of_corpus = match self.0.get_mut(page.corpus) {
            Some(of_corpus) => of_corpus,
            None => self.0.entry(page.corpus.into()).or_default(),
        };
        of_corpus.insert((page.fingerprint_hash, page.article), page.number);
    }

    /// The number of the youngest centroid of an article, which may have left the table.
    pub(super) fn youngest(&self, corpus: &str, fingerprint_hash: u64, article: u32) -> Option<u64> {
        self.0.get(corpus)?.get(&(fingerprint_hash, article)).copied()
    }

    /// Forgets those that have left, now and then: called for each one that leaves, with the number
    /// of the oldest that is left.
    pub(super) fn left_before(&mut self, first: u64) {
        if first.is_multiple_of(FORGET_EVERY) {
            self.0.values_mut().for_each(|of_corpus| of_corpus.retain(|_, number| *number >= first));
            self.0.retain(|_, of_corpus| !of_corpus.is_empty());
        }
    }

    /// All of them that have `first` or a greater number.
    pub(super) fn from(&self, first: u64) -> impl Iterator<Item = ArticlePage<'_>> {
        let pages = self.0.iter().flat_map(|(corpus, of_corpus)| {
            let page = |((fingerprint_hash, article), number): (&(u64, u32), &u64)| ArticlePage {
                corpus,
                fingerprint_hash: *fingerprint_hash,
                article: *article,
                number: *number,
            };
            of_corpus.iter().map(page)
        });
        pages.filter(move |page| page.number >= first)
    }

    /// Bytes of memory, with a third for what a tree leaves free.
    pub(super) fn bytes(&self) -> usize {
        let articles: usize = self.0.values().map(BTreeMap::len).sum();
        articles * size_of::<((u64, u32), u64)>() * 3 / 2
    }
}
