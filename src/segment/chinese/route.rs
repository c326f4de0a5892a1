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
    best: Vec<f64>,
    /// Where the best word from each position ends.
    ends: Vec<u32>,
}

/// How far beyond the end a word may be asked for: three characters from the last position.
const LOOKAHEAD: usize = 3;

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

        self.best.clear();
        self.best.resize(codes.len() + LOOKAHEAD, 0.0);
        self.ends.resize(codes.len(), 0);
        for (at, &first) in codes.iter().enumerate().rev() {
            if first > MAX_CODE {
                self.best[at] = 0.0;
                self.ends[at] = at as u32 + 1;
                continue;
            }
            // Words of two characters and more before those of one: they don't wait for the position just done. What is
            // no word has a probability that is no number, and so never wins.
            let log_probability =
                |entry: Entry, end: usize| dictionary.log_probability(entry.value()) + self.best[end];
            let (mut best, mut best_end) = (f64::NEG_INFINITY, 0);
            let mut consider = |log_probability: f64, end: usize| {
                let better = log_probability >= best;
                best = if better { log_probability } else { best };
                best_end = if better { end } else { best_end };
            };
            consider(log_probability(self.second[at], at + 2), at + 2);
            let mut entry = self.third[at];
            consider(log_probability(entry, at + 3), at + 3);
            let mut end = at + 4;
            while entry.goes_on() {
                entry = trie.find(Trie::next_key(entry, code(end - 1)));
                consider(log_probability(entry, end), end);
                end += 1;
            }
            let alone = log_probability(trie.first(first), at + 1);
            if alone > best || (best_end == 0 && !alone.is_nan()) {
                (best, best_end) = (alone, at + 1);
            } else if best_end == 0 {
                (best, best_end) = (dictionary.log_probability_of_one + self.best[at + 1], at + 1);
            }
            self.best[at] = best;
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
