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
//! Memory: about 40 bytes for each place in which a document differs by a few words. Cost: that number of places, times
//! the logarithm of the number of places of a template.

use std::collections::BTreeMap;
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
    /// The end of each place of a template by its start, by the founder of the cluster.
    templates: HashedMap<BTreeMap<u32, u32>>,
}

/// The places of templates, once the words of all documents are known.
#[derive(Debug, Default)]
pub(crate) struct Templates {
    words: HashedMap<SeenWords>,
    /// The start of each place, and the largest end of this place and those before it, by the founder of the cluster.
    /// Both ascend.
    places: HashedMap<Vec<(u32, u32)>>,
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
                self.templates.entry(founder).or_default().insert(place.start, known.end);
            }
        }
    }

    /// Returns the places of templates.
    #[must_use]
    pub(crate) fn finish(self) -> Templates {
        let places = |slots: BTreeMap<u32, u32>| {
            let mut end_max = 0;
            slots
                .into_iter()
                .map(|(start, end)| {
                    end_max = end.max(end_max);
                    (start, end_max)
                })
                .collect()
        };
        let places = self.templates.into_iter().map(|(founder, slots)| (founder, places(slots))).collect();
        Templates { words: self.words, places }
    }
}

impl Templates {
    /// Returns true if the cluster with this founder has a place of a template.
    #[must_use]
    pub(crate) fn has(&self, founder: u64) -> bool {
        self.places.contains_key(&founder)
    }

    /// Returns true if no cluster has a place of a template.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns true if two documents of a cluster have different words in the places of its template, and at least half
    /// of the places in which each differs from the first kept document are places of the template. Edited copies may
    /// differ in a place of the template as well, but mostly differ in others.
    #[must_use]
    pub(crate) fn differ(&self, founder: u64, document: &[Filling], kept: &[Filling]) -> bool {
        let Some(slots) = self.places.get(&founder) else { return false };
        // One of the places that begin before the end of this one ends after its start.
        let is_in_slot = |filling: &&Filling| {
            let before = slots.partition_point(|(start, _)| *start < filling.place.end);
            before.checked_sub(1).is_some_and(|last| filling.place.start < slots[last].1)
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
    use proptest::prelude::*;

    use super::*;
    use crate::growth::{GROWTH_MAX, growth};

    fn filling(start: u32, words: u64) -> Filling {
        Filling { place: start..start + 2, words }
    }

    /// Returns the places of templates of documents with these fillings, all of the cluster 1.
    fn templates(documents: &[&[Filling]]) -> Templates {
        let mut slots = Slots::default();
        documents.iter().for_each(|fillings| slots.add(1, fillings));
        slots.finish()
    }

    #[test]
    fn a_place_with_other_words_in_each_document_is_one_of_a_template() {
        let version = [filling(100, 7), filling(7, 9)];
        let versions = templates(&[&version, &version, &version]);
        assert!(versions.is_empty() && !versions.differ(1, &[filling(100, 8)], &[]), "two versions");
        let slots = templates(&[&version, &version, &version, &[filling(100, 8), filling(8, 9)]]);
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
        let page = |words: u64| [filling(100, words), filling(10, 1), filling(20, 1), filling(30, 1)];
        let slots = templates(&[&page(1), &page(2), &page(3)]);
        assert!(slots.differ(1, &page(1), &page(2)) && slots.differ(1, &page(1), &[]));
        let edited = [filling(100, 1), filling(11, 1), filling(21, 1)];
        assert!(!slots.differ(1, &edited, &[]), "an edited copy");
    }

    #[test]
    fn places_that_run_into_each_other_are_one() {
        let page = |words: u64| [Filling { place: 10..16, words }];
        let slots = templates(&[&page(1), &page(2), &page(3)]);
        let second = [Filling { place: 14..16, words: 4 }];
        assert!(slots.differ(1, &second, &[]), "the same words in the first of two places");
        assert!(!slots.differ(1, &[Filling { place: 16..18, words: 4 }], &[]));
        assert!(!slots.differ(1, &second, &second));
    }

    proptest! {
        /// The naive twin looks at each place of the template.
        #[test]
        fn a_place_is_in_a_template_if_it_overlaps_one_of_its_places(
            places in prop::collection::vec((0_u32..60, 0_u32..12), 1..12),
            (start, length) in (0_u32..70, 0_u32..12),
        ) {
            let of = |words: u64| -> Vec<Filling> {
                let filling = |(start, length): &(u32, u32)| Filling { place: *start..start + length, words };
                places.iter().map(filling).collect()
            };
            let mut ends: BTreeMap<u32, u32> = BTreeMap::new();
            for (start, length) in &places {
                let end = ends.entry(*start).or_default();
                *end = (*end).max(start + length);
            }
            let overlaps = ends.iter().any(|(from, end)| *from < start + length && start < *end);
            let slots = templates(&[&of(1), &of(2)]);
            let found = slots.differ(1, &[Filling { place: start..start + length, words: 9 }], &[]);
            prop_assert_eq!(found, overlaps);
        }
    }

    /// Each document of a large cluster may differ from the first one in places of its own.
    #[test]
    fn a_template_with_many_places_costs_what_its_documents_cost() {
        let documents = |count: usize| -> Vec<[Filling; 2]> {
            (0..2 * count)
                .map(|number| [0, 1 << 20].map(|at| filling(at + 4 * (number as u32 / 2), number as u64 + 1)))
                .collect()
        };
        let grown = growth(2_000, documents, |documents| {
            let fillings: Vec<&[Filling]> = documents.iter().map(<[Filling; 2]>::as_slice).collect();
            let slots = templates(&fillings);
            assert!(fillings.iter().all(|fillings| slots.differ(1, fillings, &[])));
        });
        assert!(grown < GROWTH_MAX, "{grown}");
    }
}
