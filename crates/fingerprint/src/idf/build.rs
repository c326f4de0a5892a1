//! Builds the file of an IDF table from documents.

use std::collections::hash_map::Entry;
use std::fmt::Write;

use super::HEADER;
use leitong_base::hashed::HashedMap;
use leitong_text::segment::Terms;

/// A counter of the documents in which each term occurs. Memory: some 60 bytes per distinct term. Whenever
/// there are more than `terms_max`, the terms of the lowest counts are dropped, so some terms may be
/// undercounted by a few.
#[derive(Debug)]
pub struct IdfBuilder {
    counts: HashedMap<(Box<str>, u32)>,
    documents: u32,
    terms_max: usize,
}

impl IdfBuilder {
    /// Creates a builder that holds about `terms_max` terms at most.
    #[must_use]
    pub fn new(terms_max: usize) -> Self {
        Self { counts: HashedMap::default(), documents: 0, terms_max }
    }

    /// Counts one document.
    pub fn add(&mut self, terms: &Terms) {
        self.documents = self.documents.saturating_add(1);
        for distinct in terms.distinct() {
            match self.counts.entry(distinct.hash) {
                Entry::Occupied(mut entry) => entry.get_mut().1 += 1,
                Entry::Vacant(entry) => {
                    entry.insert((terms.first(*distinct).into(), 1));
                }
            }
        }
        if self.counts.len() > self.terms_max {
            self.drop_rarest();
        }
    }

    /// Returns the number of documents so far.
    #[must_use]
    pub fn documents(&self) -> u32 {
        self.documents
    }

    /// Returns the file: terms that occur in at least `documents_min` documents, most common first.
    #[must_use]
    pub fn file(&self, documents_min: u32) -> String {
        let mut terms: Vec<(&str, u32)> = self
            .counts
            .values()
            .map(|(term, n)| (&**term, *n))
            .filter(|(term, n)| {
                *n >= documents_min && !term.contains(['\t', '\n', '\r']) && !term.starts_with('#')
            })
            .collect();
        terms.sort_unstable_by_key(|(term, n)| (std::cmp::Reverse(*n), *term));
        let mut file = format!("{HEADER}\ndocuments\t{}\n", self.documents.max(1));
        for (term, n) in terms {
            let _ = writeln!(file, "{term}\t{n}");
        }
        file
    }

    /// Drops the terms of the lowest counts until a quarter of the capacity is free.
    fn drop_rarest(&mut self) {
        let mut least = 1;
        while self.counts.len() > self.terms_max / 4 * 3 {
            self.counts.retain(|_, (_, n)| *n > least);
            least += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idf::IdfTable;
    use crate::test_texts::terms;

    #[test]
    fn counts_documents_and_not_occurrences() {
        let mut builder = IdfBuilder::new(1_000_000);
        for text in ["rust rust 网页", "rust kafka", "kafka rust 网页", "指纹"] {
            builder.add(&terms(text));
        }
        let file = builder.file(2);
        assert_eq!(file, "# leitong idf 1\ndocuments\t4\nrust\t3\nkafka\t2\n网页\t2\n");
        assert!(IdfTable::new(&file).is_ok());
    }

    #[test]
    fn memory_is_bounded() {
        let mut builder = IdfBuilder::new(100);
        for i in 0..1_000 {
            builder.add(&terms(&format!("rare{i} crawler")));
            assert!(builder.counts.len() <= 100);
        }
        assert_eq!(builder.file(2), "# leitong idf 1\ndocuments\t1000\ncrawler\t1000\n");
    }
}
