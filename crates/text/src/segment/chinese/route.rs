//! Finds the most probable split of runs of characters into words: jieba's `calc`, from right to left.
//!
//! The words are found first, in passes over the text whose cache misses overlap because the look-ups do not depend on
//! one another. The best route is then a chain of one addition and one comparison per character.

use std::ops::Range;

use super::dictionary::Dictionary;
use super::trie::{ALONE, Code, END, Entry, Trie, UNKNOWN};

/// The most probable route through a text. Kept from text to text to avoid allocations.
#[derive(Debug, Default)]
pub(super) struct Route {
    /// ln of the probability of the word of two characters that begins at each position, or NaN if none does.
    pairs: Vec<f64>,
    /// The positions at which words of three or more characters begin, with the trie entries after three.
    triples: Vec<(u32, Entry)>,
    /// Positions that may have a pair.
    maybe_pairs: Vec<u32>,
    /// Positions that may have a triple, with the key of its entry.
    maybe_triples: Vec<(u32, u32)>,
    /// ln of the probability of the best split from each position to the end of its run.
    best: Vec<f64>,
    /// End of the best word from each position.
    ends: Vec<u32>,
}

impl Route {
    /// Returns the memory used, in bytes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        (self.pairs.capacity() + self.best.capacity()) * size_of::<f64>()
            + self.triples.capacity() * size_of::<(u32, Entry)>()
            + (self.maybe_pairs.capacity() + self.ends.capacity()) * size_of::<u32>()
            + self.maybe_triples.capacity() * size_of::<(u32, u32)>()
    }

    /// Finds the best route through `codes`, whose runs end with [`END`]. [`END`] and [`ALONE`] are steps of their own.
    ///
    /// If two routes are equally probable, the one with the longer first word wins. Where words begin, the step is one
    /// of these words, and never a character that is not a word. Where no word begins, the character is a step of its
    /// own.
    pub(super) fn find(&mut self, codes: &[Code], dictionary: &Dictionary) {
        self.find_pairs(codes, dictionary);
        self.find_triples(&dictionary.trie);
        self.find_best(codes, dictionary);
    }

    fn find_pairs(&mut self, codes: &[Code], dictionary: &Dictionary) {
        self.maybe_pairs.resize(codes.len(), 0);
        let mut maybe = 0;
        for (at, pair) in codes.windows(2).enumerate() {
            self.maybe_pairs[maybe] = at as u32;
            maybe += usize::from(dictionary.pairs.may_have(pair[0], pair[1]));
        }
        self.pairs.clear();
        self.pairs.resize(codes.len(), f64::NAN);
        self.maybe_triples.resize(maybe, (0, 0));
        let mut longer = 0;
        for &at in &self.maybe_pairs[..maybe] {
            let place = at as usize;
            let pair = dictionary.pairs.entry(codes[place], codes[place + 1], &dictionary.trie);
            self.pairs[place] = dictionary.log_probability(pair.entry);
            let third = codes.get(place + 2).copied().unwrap_or(END);
            self.maybe_triples[longer] = (at, Trie::next_key(pair.entry, third));
            longer += usize::from(pair.may_go_on(third) && third > UNKNOWN);
        }
        self.maybe_triples.truncate(longer);
    }

    fn find_triples(&mut self, trie: &Trie) {
        self.triples.clear();
        let found = self.maybe_triples.iter().map(|(at, key)| (*at, trie.find(*key)));
        self.triples.extend(found.filter(|(_, entry)| *entry != Entry::NONE));
    }

    fn find_best(&mut self, codes: &[Code], dictionary: &Dictionary) {
        self.best.resize(codes.len(), 0.0);
        self.ends.resize(codes.len(), 0);
        let mut triples = self.triples.iter().rev().copied();
        let mut triple = triples.next();
        // The values at the next two positions.
        let (mut one_on, mut two_on) = (0.0, 0.0);
        for at in (0..codes.len()).rev() {
            let code = codes[at];
            let (mut best, mut length) = (0.0, 1);
            if code > ALONE {
                let single = dictionary.log_probability_of_single(code) + one_on;
                let pair = self.pairs[at] + two_on;
                (best, length) = if pair >= single || single.is_nan() { (pair, 2) } else { (single, 1) };
                if let Some((place, entry)) = triple
                    && place as usize == at
                {
                    (best, length) = self.longer(codes, at, entry, (best, length), dictionary);
                    triple = triples.next();
                }
                if best.is_nan() {
                    (best, length) = (dictionary.log_probability_of_one + one_on, 1);
                }
            }
            self.best[at] = best;
            self.ends[at] = at as u32 + length;
            (one_on, two_on) = (best, one_on);
        }
    }

    /// Returns ln of the probability of the best route from `at`, and the length of its first word. `best` is the same
    /// for first words of one or two characters, and `triple` is the entry after three characters.
    fn longer(
        &self,
        codes: &[Code],
        at: usize,
        triple: Entry,
        mut best: (f64, u32),
        dictionary: &Dictionary,
    ) -> (f64, u32) {
        let mut entry = triple;
        let mut end = at + 3;
        loop {
            let rest = self.best.get(end).copied().unwrap_or(0.0);
            let whole = dictionary.log_probability(entry) + rest;
            if whole >= best.0 || best.0.is_nan() {
                best = (whole, (end - at) as u32);
            }
            let Some(&code) = codes.get(end).filter(|code| entry.goes_on() && **code > UNKNOWN) else {
                return best;
            };
            entry = dictionary.trie.find(Trie::next_key(entry, code));
            end += 1;
        }
    }

    /// Returns the words on the best route, as ranges of positions.
    pub(super) fn steps(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = at;
            at = *self.ends.get(start)? as usize;
            Some(start..at)
        })
    }
}
