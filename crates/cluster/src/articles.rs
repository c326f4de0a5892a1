//! Index of articles that are spread over several pages: article → the youngest centroid among its pages.
//!
//! Pages of one article may have no passage in common, so no key leads from one to another. One centroid per
//! article is enough, the youngest: centroids leave the table oldest first, so when the youngest one has
//! left, so have all others.
//!
//! Invariant: the result depends only on the centroids in the table, in memory or on disk. Memory: about 40
//! bytes per article; only sites that split their texts have articles.

use std::collections::BTreeMap;

/// Number of centroids that leave the table between two removals of articles without centroids.
const FORGET_EVERY: u64 = 1 << 16;

/// The youngest centroid of one article.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArticlePage<'a> {
    /// The corpus of the page.
    pub corpus: &'a str,
    /// Hash of the settings that produced the fingerprint.
    pub fingerprint_hash: u64,
    /// The number that fingerprints give to the article.
    pub article: u32,
    /// The number of the centroid.
    pub number: u64,
}

/// The youngest centroid of each article, by corpus, fingerprint hash and article.
#[derive(Debug, Default)]
pub(super) struct Articles(BTreeMap<Box<str>, BTreeMap<(u64, u32), u64>>);

impl Articles {
    /// Inserts a centroid, which is younger than all others.
    pub(super) fn enter(&mut self, page: ArticlePage<'_>) {
        let of_corpus = match self.0.get_mut(page.corpus) {
            Some(of_corpus) => of_corpus,
            None => self.0.entry(page.corpus.into()).or_default(),
        };
        of_corpus.insert((page.fingerprint_hash, page.article), page.number);
    }

    /// Returns the number of the youngest centroid of an article. It may have left the table.
    pub(super) fn youngest(&self, corpus: &str, fingerprint_hash: u64, article: u32) -> Option<u64> {
        self.0.get(corpus)?.get(&(fingerprint_hash, article)).copied()
    }

    /// Removes articles whose centroids have left, at intervals. Called for each centroid that leaves, with
    /// the number of the oldest remaining one.
    pub(super) fn forget_before(&mut self, first: u64) {
        if first.is_multiple_of(FORGET_EVERY) {
            self.0.values_mut().for_each(|of_corpus| of_corpus.retain(|_, number| *number >= first));
            self.0.retain(|_, of_corpus| !of_corpus.is_empty());
        }
    }

    /// Returns all articles whose youngest centroid has number `first` or a greater one.
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

    /// Returns the bytes of memory in use. A third of them is free room in the trees.
    pub(super) fn bytes(&self) -> usize {
        let articles: usize = self.0.values().map(BTreeMap::len).sum();
        articles * size_of::<((u64, u32), u64)>() * 3 / 2
    }
}
