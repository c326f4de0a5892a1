//! The most probable cut of a run of characters into words: jieba's `calc`, from right to left.

use std::ops::Range;

use super::dictionary::Dictionary;
use super::trie::{Code, Entry, MAX_CODE, Misses, Trie};

/// The best way through a text. Kept from text to text, so that its buffers are allocated once.
#[derive(Debug, Default)]
pub(super) struct Route {
    /// The trie's entries after two and three characters, for each position.
    second: Vec<Entry>,
    third: Vec<Entry>,
    // What it takes to find them.
    keys: Vec<u32>,
    longer: Vec<u32>,
    found: Vec<Entry>,
    misses: Misses,
    /// ln of the probability of the best cut from each position to the end of its run.
    log_probabilities: Vec<f64>,
    /// Where the best word from each position ends.
    ends: Vec<u32>,
}

impl Route {
    /// Finds the best way through `codes`. A value above [`MAX_CODE`] is a mark: it ends a run, and is a step of its own.
    ///
    /// Of two equally probable ways the one with the longer first word wins. A position where words begin
    /// takes one of them, never a mere character; where none begins, the character stands alone.
    pub(super) fn find(&mut self, codes: &[Code], dictionary: &Dictionary) {
        let trie = &dictionary.trie;
        let code = |at: usize| codes.get(at).copied().unwrap_or(Code::MAX);
        self.keys.clear();
        self.keys.extend((0..codes.len()).map(|at| Trie::second_key(codes[at], code(at + 1))));
        trie.find_all(&self.keys, &mut self.second, &mut self.misses);
        // At few positions do words of three characters begin: ask for those alone.
        self.keys.resize(codes.len(), 0);
        self.longer.resize(codes.len(), 0);
        let mut longer = 0;
        for (at, second) in self.second.iter().enumerate() {
            let key = Trie::next_key(*second, code(at + 2));
            self.keys[longer] = key;
            self.longer[longer] = at as u32;
            longer += usize::from(key > 0);
        }
        trie.find_all(&self.keys[..longer], &mut self.found, &mut self.misses);
        self.third.clear();
        self.third.resize(codes.len(), Entry::default());
        for (at, entry) in self.longer.iter().zip(&self.found) {
            self.third[*at as usize] = *entry;
        }

        self.log_probabilities.clear();
        self.log_probabilities.resize(codes.len() + 1, 0.0);
        self.ends.resize(codes.len(), 0);
        for (at, &first) in codes.iter().enumerate().rev() {
            if first > MAX_CODE {
                self.log_probabilities[at] = 0.0;
                self.ends[at] = at as u32 + 1;
                continue;
            }
            let mut best = f64::NEG_INFINITY;
            let mut best_end = 0;
            let log_probabilities = &self.log_probabilities;
            let mut consider = |entry: Entry, end: usize| {
                if entry.value() > 0 {
                    let log_probability = dictionary.log_probability(entry.value()) + log_probabilities[end];
                    if log_probability >= best {
                        (best, best_end) = (log_probability, end);
                    }
                }
            };
            consider(trie.first(first), at + 1);
            consider(self.second[at], at + 2);
            let mut entry = self.third[at];
            let mut end = at + 3;
            while entry != Entry::default() {
                consider(entry, end);
                entry = trie.find(Trie::next_key(entry, code(end)));
                end += 1;
            }
            if best_end == 0 {
                best_end = at + 1;
                best = dictionary.log_probability_of_one + log_probabilities[best_end];
            }
            self.log_probabilities[at] = best;
            self.ends[at] = best_end as u32;
        }
    }

    /// The words on the best way, as ranges of positions.
    pub(super) fn steps(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = at;
            at = *self.ends.get(start)? as usize;
            Some(start..at)
        })
    }
}
