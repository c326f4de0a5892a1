//! Finds the places of a template: those in which each of several documents of a cluster has its own words.
//!
//! One replaced word may be an edition or an edited copy. If the documents of a cluster differ in the *same* place, and
//! each has another word there, they are pages of one template, such as the opening hours of all branches of a shop.
//! Two documents cannot show this, so such places are known only after all documents of the cluster were compared.
//!
//! A place is a range of words of the first kept document of the cluster, with which all others are compared. So it is
//! the same range for all documents, whatever they have in other places. Two documents are pages of a template if their
//! words in its places differ.
//!
//! Memory: about 40 bytes for each place in which a document differs by a few words.

use std::ops::Range;

use leitong_base::hashed::HashedMap;
use xxhash_rust::xxh3::xxh3_64;

/// Minimum number of different words in a place of a template, not counting those of the first kept document.
const WORDS_MIN: usize = 2;
/// Number of documents with the same words in a place from which on the first kept document is the one that was edited.
const SEEN_MAX: u16 = 3;

/// The words that a document has in a place where the first kept document of its cluster has other words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Filling {
    /// The words of the first kept document in this place, by their numbers.
    pub place: Range<u32>,
    /// Hash of the words.
    pub words: u64,
}

/// The different words of all documents, by cluster and place.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    words: HashedMap<SeenWords>,
    /// The places of templates, by the founder of the cluster.
    templates: HashedMap<Vec<Range<u32>>>,
}

/// The words that documents have in one place.
#[derive(Debug, Default)]
struct SeenWords {
    /// 16-bit hashes of the first fillings that differ; 0 if there are fewer.
    words: [u16; WORDS_MIN],
    /// Number of documents that differ in the place, up to [`SEEN_MAX`].
    seen: u16,
    /// The largest end that the place has in any document. From there to the next place, a document may differ.
    end: u32,
}

impl Slots {
    /// Adds the words of a document in the cluster with this founder.
    pub(crate) fn add(&mut self, founder: u64, fillings: &[Filling]) {
        for Filling { place, words } in fillings {
            let hash = (*words as u16).max(1);
            let known = self.words.entry(key(founder, place.start)).or_default();
            known.end = known.end.max(place.end);
            known.seen = SEEN_MAX.min(known.seen + 1);
            if let Some(free) = known.words.iter().position(|word| [0, hash].contains(word)) {
                known.words[free] = hash;
            }
            if known.words[WORDS_MIN - 1] != 0 {
                let slots = self.templates.entry(founder).or_default();
                match slots.iter_mut().find(|slot| slot.start == place.start) {
                    Some(slot) => slot.end = known.end,
                    None => slots.push(place.start..known.end),
                }
            }
        }
    }

    /// Returns true if the cluster with this founder has a place of a template.
    #[must_use]
    pub(crate) fn has(&self, founder: u64) -> bool {
        self.templates.contains_key(&founder)
    }

    /// Returns true if no cluster has a place of a template.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.templates.is_empty()
    }

    /// Returns true if two documents of a cluster have different words in the places of its template, and at least half
    /// of the places in which each differs from the first kept document are places of the template. Edited copies may
    /// differ in a place of the template as well, but mostly differ in others.
    #[must_use]
    pub(crate) fn differ(&self, founder: u64, document: &[Filling], kept: &[Filling]) -> bool {
        let Some(slots) = self.templates.get(&founder) else { return false };
        let is_in_slot = |filling: &&Filling| {
            slots.iter().any(|slot| slot.start < filling.place.end && filling.place.start < slot.end)
        };
        let [ours, theirs] =
            [document, kept].map(|fillings| fillings.iter().filter(is_in_slot).collect::<Vec<_>>());
        // In other places, the document or the first one was edited; the latter does not count.
        let edited = |fillings: &[Filling]| {
            let is_edited =
                |filling: &&Filling| !is_in_slot(filling) && !self.was_first_edited(founder, filling);
            fillings.iter().filter(is_edited).count()
        };
        ours != theirs && ours.len() >= edited(document) && theirs.len() >= edited(kept)
    }

    /// Returns true if several documents differ from the first one in this place, all by the same words.
    fn was_first_edited(&self, founder: u64, filling: &Filling) -> bool {
        let known = self.words.get(&key(founder, filling.place.start));
        known.is_some_and(|known| known.seen == SEEN_MAX && known.words[1..] == [0; WORDS_MIN - 1])
    }
}

fn key(founder: u64, start: u32) -> u64 {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&founder.to_le_bytes());
    bytes[8..].copy_from_slice(&start.to_le_bytes());
    xxh3_64(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filling(start: u32, words: u64) -> Filling {
        Filling { place: start..start + 2, words }
    }

    #[test]
    fn a_place_with_other_words_in_each_document_is_one_of_a_template() {
        let mut slots = Slots::default();
        for words in [7, 7, 7] {
            slots.add(1, &[filling(100, words), filling(7, 9)]);
        }
        assert!(slots.is_empty() && !slots.differ(1, &[filling(100, 8)], &[]), "two versions");
        slots.add(1, &[filling(100, 8), filling(8, 9)]);
        assert!(slots.has(1) && slots.differ(1, &[filling(100, 8)], &[]));
        assert!(slots.differ(1, &[filling(100, 8)], &[filling(100, 7)]));
        assert!(slots.differ(1, &[], &[filling(100, 7)]), "a page like the first one");
        assert!(!slots.differ(1, &[filling(100, 7)], &[filling(100, 7)]), "a copy");
        assert!(slots.differ(1, &[filling(100, 8), filling(7, 9)], &[]));
        assert!(!slots.differ(1, &[filling(100, 8), filling(8, 9), filling(9, 9)], &[]), "an edited copy");
        assert!(!slots.differ(1, &[filling(100, 7), filling(7, 9)], &[filling(100, 7)]), "a copy of a page");
        assert!(!slots.has(2) && !slots.differ(2, &[filling(100, 8)], &[]), "another cluster");
        assert!(!slots.differ(1, &[], &[]));
    }

    /// If the first kept document is an edited copy, all others differ from it in the places of its edits.
    #[test]
    fn edits_of_the_first_document_do_not_count() {
        let mut slots = Slots::default();
        let page = |words: u64| [filling(100, words), filling(10, 1), filling(20, 1), filling(30, 1)];
        (1..=3).for_each(|words| slots.add(1, &page(words)));
        assert!(slots.differ(1, &page(1), &page(2)) && slots.differ(1, &page(1), &[]));
        let edited = [filling(100, 1), filling(11, 1), filling(21, 1)];
        assert!(!slots.differ(1, &edited, &[]), "an edited copy");
    }

    #[test]
    fn places_that_run_into_each_other_are_one() {
        let mut slots = Slots::default();
        for words in 1..=3 {
            slots.add(1, &[Filling { place: 10..16, words }]);
        }
        let second = Filling { place: 14..16, words: 4 };
        assert!(
            slots.differ(1, std::slice::from_ref(&second), &[]),
            "the same words in the first of two places"
        );
        assert!(!slots.differ(1, &[Filling { place: 16..18, words: 4 }], &[]));
        assert!(!slots.differ(1, std::slice::from_ref(&second), std::slice::from_ref(&second)));
    }
}
