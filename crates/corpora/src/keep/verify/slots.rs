//! Finds the places of a template: those in which each of several documents of a cluster has its own words.
//!
//! One replaced word may be an edition or an edited copy. If the documents of a cluster differ in the *same* place, and
//! each has another word there, they are pages of one template, such as the opening hours of all branches of a shop.
//! Two documents cannot show this, so such places are known only after all documents of the cluster were compared.
//!
//! Memory: about 25 bytes for each place in which a document differs by a few words.

use std::collections::HashSet;

use leitong_base::hashed::HashedMap;
use xxhash_rust::xxh3::xxh3_64;

/// Minimum number of different words in a place of a template, not counting those of the kept document.
const WORDS_MIN: usize = 3;

/// The words that a document has in a place where another one has other words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Filling {
    /// Hash of the text before the place, by which it is recognised in other documents.
    pub place: u64,
    /// Hash of the words.
    pub words: u64,
}

/// The different words of all documents, by cluster and place.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    /// 16-bit hashes of the first different words; 0 for each that is missing.
    words: HashedMap<[u16; WORDS_MIN]>,
    /// The founders of clusters that have a place of a template.
    founders: HashSet<u64>,
}

impl Slots {
    /// Adds the words of a document in the cluster with this founder.
    pub(crate) fn add(&mut self, founder: u64, fillings: &[Filling]) {
        for filling in fillings {
            let hash = (filling.words as u16).max(1);
            let known = self.words.entry(key(founder, filling)).or_default();
            if let Some(free) = known.iter().position(|word| [0, hash].contains(word)) {
                known[free] = hash;
            }
            if known[WORDS_MIN - 1] != 0 {
                self.founders.insert(founder);
            }
        }
    }

    /// Returns true if the cluster with this founder has a place of a template.
    #[must_use]
    pub(crate) fn has(&self, founder: u64) -> bool {
        self.founders.contains(&founder)
    }

    /// Returns true if no cluster has a place of a template.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.founders.is_empty()
    }

    /// Returns true if at least half of the places are those of a template. Edited copies also differ in such a place
    /// now and then, but mostly in others.
    #[must_use]
    pub(crate) fn fit(&self, founder: u64, fillings: &[Filling]) -> bool {
        let is_slot = |filling: &&Filling| {
            self.words.get(&key(founder, filling)).is_some_and(|words| words[WORDS_MIN - 1] != 0)
        };
        let slots = fillings.iter().filter(is_slot).count();
        slots > 0 && slots * 2 >= fillings.len()
    }
}

fn key(founder: u64, filling: &Filling) -> u64 {
    let [a, b] = [founder, filling.place].map(u64::to_le_bytes);
    xxh3_64(&[a, b].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_with_other_words_in_each_document_is_one_of_a_template() {
        let mut slots = Slots::default();
        let filling = |place, words| Filling { place, words };
        for words in [7, 7, 8, 8, 7] {
            slots.add(1, &[filling(100, words), filling(words, 9)]);
        }
        assert!(slots.is_empty() && !slots.fit(1, &[filling(100, 8)]), "two versions");
        slots.add(1, &[filling(100, 9)]);
        assert!(slots.has(1) && slots.fit(1, &[filling(100, 8)]));
        assert!(slots.fit(1, &[filling(100, 8), filling(7, 9)]));
        assert!(!slots.fit(1, &[filling(100, 8), filling(7, 9), filling(8, 9)]), "mostly other places");
        assert!(!slots.has(2) && !slots.fit(2, &[filling(100, 8)]), "another cluster");
        assert!(!slots.fit(1, &[]));
    }
}
