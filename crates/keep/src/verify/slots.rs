//! Finds the places of a template: those in which each of several documents of a cluster has its own words.
//!
//! One replaced word may be an edition or an edited copy. If the documents of a cluster differ in the *same* place, and
//! each has another word there, they are pages of one template, such as the opening hours of all branches of a shop.
//! Two documents cannot show this, so such places are known only after all documents of the cluster were compared.
//!
//! A place is a word of the first kept document of the cluster, with which all others are compared. So it is the same
//! for all documents, whatever they have in other places. Two documents are pages of a template if their words in its
//! places differ.
//!
//! Memory: about 20 bytes for each word of the first document instead of which a document has others. Cost: their number.

use std::ops::Range;

use leitong_base::hashed::HashedMap;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Maximum number of words of a place that are looked at.
const WORDS_MAX: u32 = 16;

/// The words that a document has in a place where the first kept document of its cluster has others, or none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Filling {
    /// The words of the first kept document in this place, by their numbers.
    pub place: Range<u32>,
    /// Hash of the words.
    pub words: u64,
    /// True if the words replace others. Else, text was added or rewritten.
    pub replaces: bool,
}

impl Filling {
    /// Returns the numbers of the replaced words: at most [`WORDS_MAX`].
    fn replaced(&self) -> Range<u32> {
        self.place.start..self.place.end.min(self.place.start + WORDS_MAX)
    }
}

/// The places in which the documents of clusters differ from the first kept one of their cluster.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    /// 16-bit hashes of the first two fillings that differ, by cluster and replaced word; 0 if there is one.
    words: HashedMap<[u16; 2]>,
    /// True if a cluster has a place of a template.
    any: bool,
}

impl Slots {
    /// Adds the words of a document in the cluster with this founder.
    pub(crate) fn add(&mut self, founder: u64, fillings: &[Filling]) {
        for filling in replacing(fillings) {
            let hash = (filling.words as u16).max(1);
            for word in filling.replaced() {
                let [first, second] = self.words.entry(key(founder, word)).or_insert([hash, 0]);
                if *first != hash {
                    *second = hash;
                    self.any = true;
                }
            }
        }
    }

    /// Returns true if no cluster has a place of a template.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        !self.any
    }

    /// Returns the words that a document has in the places of its cluster's template.
    #[must_use]
    pub(crate) fn words(&self, founder: u64, fillings: &[Filling]) -> SlotWords {
        let is_slot = |word: u32| self.words.get(&key(founder, word)).is_some_and(|[_, second]| *second != 0);
        let replacing = replacing(fillings);
        let in_slots: Vec<_> = replacing.iter().filter(|filling| filling.replaced().any(is_slot)).collect();
        let hash = |hash, filling: &&&Filling| {
            xxh3_64_with_seed(&filling.words.to_le_bytes(), hash ^ key(founder, filling.place.start))
        };
        SlotWords {
            key: in_slots.iter().fold(founder, hash),
            are_most: !in_slots.is_empty() && 2 * in_slots.len() >= replacing.len(),
        }
    }
}

/// The words of a document in the places of a template.
pub(crate) struct SlotWords {
    /// Hash of the words and their cluster.
    pub key: u64,
    /// True if there are words, and at least half of the places in which the document differs from the first kept one are
    /// places of the template. Edited copies may differ in a place of the template as well, but mostly differ in others.
    pub are_most: bool,
}

/// Returns the words that replace others; none if more was added than replaced.
fn replacing(fillings: &[Filling]) -> Vec<&Filling> {
    let replacing: Vec<_> = fillings.iter().filter(|filling| filling.replaces).collect();
    if fillings.len() > 2 * replacing.len() { Vec::new() } else { replacing }
}

fn key(founder: u64, place: u32) -> u64 {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&founder.to_le_bytes());
    bytes[8..].copy_from_slice(&place.to_le_bytes());
    xxh3_64(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filling(place: u32, words: u64) -> Filling {
        Filling { place: place..place + 1, words, replaces: true }
    }

    #[test]
    fn a_place_with_other_words_in_each_document_is_one_of_a_template() {
        let mut slots = Slots::default();
        let version = [filling(100, 7), filling(7, 9)];
        (0..3).for_each(|_| slots.add(1, &version));
        assert!(slots.is_empty() && !slots.words(1, &[filling(100, 8)]).are_most, "two versions");
        slots.add(1, &[filling(100, 8), filling(8, 9)]);
        let words = |founder: u64, fillings: &[Filling]| slots.words(founder, fillings);
        let page = words(1, &[filling(100, 8)]);
        assert!(!slots.is_empty() && page.are_most);
        assert_ne!(page.key, words(1, &[filling(100, 7)]).key);
        assert_ne!(page.key, words(1, &[]).key, "the first one");
        let copy = words(1, &[filling(100, 8), filling(7, 9)]);
        assert!(copy.are_most && copy.key == page.key);
        let edited = words(1, &[filling(100, 8), filling(8, 9), filling(9, 9)]);
        assert!(!edited.are_most && edited.key == page.key, "an edited copy");
        let added = Filling { replaces: false, ..filling(0, 5) };
        assert!(!words(1, &[filling(100, 8), added.clone(), added]).are_most, "a page with more text");
        assert!(!words(2, &[filling(100, 8)]).are_most, "another cluster");
        assert!(!words(1, &[]).are_most);
        let wide = Filling { place: 99..102, ..filling(0, 7) };
        assert!(words(1, &[wide]).are_most, "another word there differs as well");
    }
}
