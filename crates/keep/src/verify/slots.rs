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
//! Memory: about 20 bytes for each place in which a document differs by a few words. Cost: that number of places.

use leitong_base::hashed::{HashedMap, HashedSet};
use xxhash_rust::xxh3::xxh3_64;

/// The words that a document has in a place where the first kept document of its cluster has others, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Filling {
    /// The first word of the first kept document in this place, by its number.
    pub place: u32,
    /// Hash of the words.
    pub words: u64,
    /// True if the words replace others. Else, text was added or rewritten.
    pub replaces: bool,
}

/// The places in which the documents of clusters differ from the first kept one of their cluster.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    /// 16-bit hashes of the first two fillings that differ, by cluster and place; 0 if there is one.
    words: HashedMap<[u16; 2]>,
    /// The founders of the clusters with a place of a template.
    founders: HashedSet,
}

impl Slots {
    /// Adds the words of a document in the cluster with this founder.
    pub(crate) fn add(&mut self, founder: u64, fillings: &[Filling]) {
        for Filling { place, words, .. } in replacing(fillings) {
            let hash = (*words as u16).max(1);
            let [first, second] = self.words.entry(key(founder, *place)).or_insert([hash, 0]);
            if *first != hash {
                *second = hash;
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

    /// Returns true if two documents of a cluster have different words in the places of its template, and at least half
    /// of the places in which each differs from the first kept document are places of the template. Edited copies may
    /// differ in a place of the template as well, but mostly differ in others.
    #[must_use]
    pub(crate) fn differ(&self, founder: u64, document: &[Filling], kept: &[Filling]) -> bool {
        let is_slot = |filling: &&Filling| {
            let known = self.words.get(&key(founder, filling.place));
            known.is_some_and(|[_, second]| *second != 0)
        };
        let [document, kept] = [document, kept].map(replacing);
        let [ours, theirs] =
            [&document, &kept].map(|all| all.iter().copied().filter(is_slot).collect::<Vec<_>>());
        ours != theirs && 2 * ours.len() >= document.len() && 2 * theirs.len() >= kept.len()
    }
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
        Filling { place, words, replaces: true }
    }

    #[test]
    fn a_place_with_other_words_in_each_document_is_one_of_a_template() {
        let mut slots = Slots::default();
        let version = [filling(100, 7), filling(7, 9)];
        (0..3).for_each(|_| slots.add(1, &version));
        assert!(slots.is_empty() && !slots.differ(1, &[filling(100, 8)], &[]), "two versions");
        slots.add(1, &[filling(100, 8), filling(8, 9)]);
        assert!(slots.has(1) && slots.differ(1, &[filling(100, 8)], &[]));
        assert!(slots.differ(1, &[filling(100, 8)], &[filling(100, 7)]));
        assert!(slots.differ(1, &[], &[filling(100, 7)]), "a page like the first one");
        assert!(!slots.differ(1, &[filling(100, 7)], &[filling(100, 7)]), "a copy");
        assert!(slots.differ(1, &[filling(100, 8), filling(7, 9)], &[]));
        assert!(!slots.differ(1, &[filling(100, 8), filling(8, 9), filling(9, 9)], &[]), "an edited copy");
        assert!(!slots.differ(1, &[filling(100, 7), filling(7, 9)], &[filling(100, 7)]), "a copy of a page");
        let added = Filling { replaces: false, ..filling(0, 5) };
        assert!(!slots.differ(1, &[filling(100, 8), added.clone(), added], &[]), "a page with more text");
        assert!(!slots.has(2) && !slots.differ(2, &[filling(100, 8)], &[]), "another cluster");
        assert!(!slots.differ(1, &[], &[]));
    }
}
