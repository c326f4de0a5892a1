//! The distinct terms of a document with their frequencies, in order of first occurrence.
//!
//! An open-addressing hash table that is kept from page to page, so counting allocates nothing. Slots depend on a
//! random seed of the process, so no page can choose terms that collide; the order of terms does not depend on the
//! seed. Terms are identified by their 64-bit hash alone: two terms of a page share one about once in 10^13 pages, and
//! then their frequencies are added up.

use leitong_base::hashed::Seed;

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
    /// Index into `distinct` plus one, or 0 if free. At most half full; the length is a power of two.
    slots: Vec<u32>,
    seed: Seed,
}

impl Vocabulary {
    /// Removes all terms.
    pub(super) fn clear(&mut self) {
        self.distinct.clear();
        self.slots.fill(0);
    }

    /// Counts one occurrence of the term with this hash, and returns the term's index in [`Self::distinct`]. `position` is
    /// the index of the occurrence among all terms. If the term is new and `is_term` returns false, counts nothing and
    /// returns `None`.
    #[inline]
    pub(super) fn count(&mut self, hash: u64, position: u32, is_term: impl FnOnce() -> bool) -> Option<u32> {
        if self.distinct.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let slot = self.find(hash);
        match self.slots[slot] {
            0 if !is_term() => None,
            0 => {
                self.distinct.push(DistinctTerm { hash, frequency: 1, first: position });
                self.slots[slot] = self.distinct.len() as u32;
                Some(self.slots[slot] - 1)
            }
            taken => {
                self.distinct[taken as usize - 1].frequency += 1;
                Some(taken - 1)
            }
        }
    }

    /// Returns all distinct terms in order of first occurrence.
    pub(super) fn distinct(&self) -> &[DistinctTerm] {
        &self.distinct
    }

    /// Returns the slot that holds `hash`, or the free slot for it.
    #[inline]
    fn find(&self, hash: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = self.seed.place(hash) as usize & mask;
        loop {
            match self.slots[slot] {
                0 => return slot,
                taken if self.distinct[taken as usize - 1].hash == hash => return slot,
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    #[cold]
    fn grow(&mut self) {
        let slots = (self.slots.len() * 2).max(1024);
        self.slots.clear();
        self.slots.resize(slots, 0);
        for number in 0..self.distinct.len() {
            let slot = self.find(self.distinct[number].hash);
            self.slots[slot] = number as u32 + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// For a page of 130,000 words whose hashes have the same last bits, look-ups must not scan all of them: that would
    /// take three minutes of a core.
    #[test]
    fn words_that_were_chosen_to_collide_are_found_quickly() {
        let mut vocabulary = Vocabulary::default();
        for word in 0..50_000 {
            vocabulary.count(u64::from(word) << 32, word, || true);
        }
        assert_eq!(vocabulary.distinct().len(), 50_000);
        let row = vocabulary.slots.split(|slot| *slot == 0).map(<[_]>::len).max().unwrap_or(0);
        assert!(row < 1_000, "a look-up may pass {row} terms");
    }

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
