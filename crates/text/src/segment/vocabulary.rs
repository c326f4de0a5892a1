//! The distinct terms of a document with their frequencies, in order of first occurrence.
//!
//! The map is kept from page to page, so counting allocates nothing. Terms are identified by their 64-bit hash alone: two
//! terms of a page share one about once in 10^13 pages, and then their frequencies are added up.

use std::collections::hash_map::Entry;

use leitong_base::hashed::HashedMap;

/// One distinct term of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DistinctTerm {
    /// XXH3-64 (seed 0) of the term's bytes.
    pub hash: u64,
    /// Number of occurrences.
    pub frequency: u32,
    /// Index of the term's first occurrence among all terms.
    pub first: u32,
}

/// A counter of the terms of a document.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    distinct: Vec<DistinctTerm>,
    /// Indices into `distinct`, by hash.
    numbers: HashedMap<u32>,
}

impl Vocabulary {
    /// Removes all terms.
    pub(super) fn clear(&mut self) {
        self.distinct.clear();
        self.numbers.clear();
    }

    /// Counts one occurrence of the term with this hash, and returns the term's index in [`Self::distinct`]. `position` is
    /// the index of the occurrence among all terms. If the term is new and `is_term` returns false, counts nothing and
    /// returns `None`.
    #[inline]
    pub(super) fn count(&mut self, hash: u64, position: u32, is_term: impl FnOnce() -> bool) -> Option<u32> {
        match self.numbers.entry(hash) {
            Entry::Occupied(number) => {
                self.distinct[*number.get() as usize].frequency += 1;
                Some(*number.get())
            }
            Entry::Vacant(_) if !is_term() => None,
            Entry::Vacant(place) => {
                let number = *place.insert(self.distinct.len() as u32);
                self.distinct.push(DistinctTerm { hash, frequency: 1, first: position });
                Some(number)
            }
        }
    }

    /// Returns all distinct terms in order of first occurrence.
    pub(super) fn distinct(&self) -> &[DistinctTerm] {
        &self.distinct
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn counts_as_a_map_does(hashes in prop::collection::vec(0_u64..2_000, 0..4_000)) {
            let mut vocabulary = Vocabulary::default();
            vocabulary.count(7, 0, || true);
            vocabulary.clear();
            let mut naive = HashMap::<u64, u32>::new();
            for (position, &hash) in (0..).zip(&hashes) {
                let is_term = hash % 5 > 0;
                let number = vocabulary.count(hash << 52, position, || is_term);
                prop_assert_eq!(number.map(|number| vocabulary.distinct()[number as usize].hash), is_term.then_some(hash << 52));
                if is_term {
                    *naive.entry(hash << 52).or_default() += 1;
                }
            }
            prop_assert_eq!(vocabulary.distinct().len(), naive.len());
            prop_assert!(vocabulary.distinct().windows(2).all(|pair| pair[0].first < pair[1].first));
            for term in vocabulary.distinct() {
                prop_assert_eq!(naive[&term.hash], term.frequency);
                prop_assert_eq!(hashes[term.first as usize] << 52, term.hash);
            }
        }
    }
}
