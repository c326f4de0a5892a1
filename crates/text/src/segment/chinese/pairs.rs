//! Answers with one bit whether a dictionary word begins with two given characters, for the most frequent characters.
//!
//! Most pairs of neighbours in a text begin no word. Codes are in order of frequency, so the bits that are read most
//! are in few cache lines: those of the 512 most frequent characters, three quarters of a text, take 32 KB. The entries
//! of the existing pairs are close together as well. A hash table would scatter both over a megabyte.

use super::trie::{Code, Entry, Trie, UNKNOWN};

/// Number of codes that are covered for first characters. Characters with greater codes are too rare to matter, and
/// are looked up in the trie.
const FIRSTS: usize = 1 << 12;
/// Number of codes that are covered for second characters.
const SECONDS: usize = 1 << 11;
/// Number of second characters per block.
const BLOCK: usize = 32;

/// The trie entries reached after two characters.
pub(super) struct Pairs {
    /// Number of codes covered for first characters.
    firsts: usize,
    /// Number of codes covered for second characters.
    seconds: usize,
    /// One bit per pair, set if the pair exists; by first character, then by second. The last row and column stand for
    /// all other characters, with all bits set.
    blocks: Box<[u32]>,
    /// Number of pairs before each block.
    before: Box<[u32]>,
    /// The entries of the existing pairs, in order.
    entries: Vec<PairEntry>,
}

/// A trie entry, with a filter of the characters that may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PairEntry {
    /// The entry in the trie.
    pub(super) entry: Entry,
    /// A bit for each character that may follow, by the last bits of its code.
    nexts: u32,
}

impl PairEntry {
    /// Returns false if no word continues with this character. True may be wrong, but rarely is.
    #[inline]
    pub(super) fn may_go_on(self, code: Code) -> bool {
        self.nexts >> (code % 32) & 1 == 1
    }
}

impl Pairs {
    /// Creates an empty cover: every pair is looked up in the trie.
    pub(super) fn none() -> Self {
        Self { firsts: 0, seconds: 0, blocks: [u32::MAX].into(), before: [0].into(), entries: Vec::new() }
    }

    /// Creates a cover of the most frequent characters of `trie`.
    pub(super) fn new(trie: &Trie) -> Self {
        let row = SECONDS / BLOCK + 1;
        let mut new = Self {
            firsts: FIRSTS,
            seconds: SECONDS,
            blocks: vec![0; (FIRSTS + 1) * row].into(),
            ..Self::none()
        };
        let mut pairs = Vec::new();
        let mut nexts = vec![0; trie.nodes_end() as usize];
        for (node, code, entry) in trie.transitions() {
            match Code::try_from(node) {
                Ok(first) if new.covers(first, code) => pairs.push((first, code, entry)),
                _ => nexts[node as usize] |= 1 << (code % 32),
            }
        }
        pairs.sort_unstable_by_key(|(first, second, _)| (*first, *second));
        for (first, second, entry) in pairs {
            let block = new.block(first, second);
            new.blocks[block] |= 1 << (usize::from(second) % BLOCK);
            let nexts = if entry.goes_on() { nexts[entry.node() as usize] } else { 0 };
            new.entries.push(PairEntry { entry, nexts });
        }
        let sums = new.blocks.iter().scan(0, |sum, block| {
            *sum += block.count_ones();
            Some(*sum)
        });
        new.before = std::iter::once(0).chain(sums).collect();
        // No word begins with the codes up to [`UNKNOWN`].
        for row in new.blocks.chunks_mut(row).skip(usize::from(UNKNOWN) + 1) {
            row[row.len() - 1] = u32::MAX;
        }
        new.blocks[FIRSTS * row..].fill(u32::MAX);
        new
    }

    /// Returns false if no word begins with these two characters. True means that a look-up of the entry is worthwhile.
    #[inline]
    pub(super) fn may_have(&self, first: Code, second: Code) -> bool {
        self.blocks[self.block(first, second)] >> (usize::from(second) % BLOCK) & 1 == 1
    }

    /// Returns the entry after these two characters; call it only if [`Self::may_have`] returned true.
    #[inline]
    pub(super) fn entry(&self, first: Code, second: Code, trie: &Trie) -> PairEntry {
        if !self.covers(first, second) {
            return PairEntry { entry: trie.find(Trie::second_key(first, second)), nexts: u32::MAX };
        }
        let block = self.block(first, second);
        let smaller = self.blocks[block] & ((1 << (usize::from(second) % BLOCK)) - 1);
        self.entries[self.before[block] as usize + smaller.count_ones() as usize]
    }

    #[inline]
    fn covers(&self, first: Code, second: Code) -> bool {
        usize::from(first) < self.firsts && usize::from(second) < self.seconds
    }

    /// Returns the index of the pair's block.
    #[inline]
    fn block(&self, first: Code, second: Code) -> usize {
        let row = self.seconds / BLOCK + 1;
        usize::from(first).min(self.firsts) * row + usize::from(second).min(self.seconds) / BLOCK
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::segment::chinese::trie::MAX_CODE;

    /// Generates codes inside and outside of the covered range, and codes that are not characters of words.
    fn code() -> impl Strategy<Value = Code> {
        let around = |code: usize| (code as Code - 3)..(code as Code + 3);
        prop_oneof![0..80_u16, around(SECONDS), around(FIRSTS), (MAX_CODE - 2)..=MAX_CODE]
    }

    proptest! {
        #[test]
        fn finds_what_the_trie_finds(words in prop::collection::vec((code(), code()), 0..60), asked in prop::collection::vec((code(), code()), 60)) {
            let character = |code: Code| char::from_u32(0x4e00 + u32::from(code)).expect("a character");
            let mut trie = Trie::new(|_| true);
            for code in UNKNOWN + 1..=MAX_CODE {
                trie.make_code(character(code)).expect("room");
            }
            for (first, second) in words.iter().filter(|(first, second)| *first.min(second) > UNKNOWN) {
                let word: String = [*first, *second].map(character).into_iter().collect();
                trie.insert(&word, 1 + first % 7).expect("room");
            }
            for pairs in [Pairs::none(), Pairs::new(&trie)] {
            for (first, second) in words.iter().chain(&asked) {
                let found = match pairs.may_have(*first, *second) {
                    true => pairs.entry(*first, *second, &trie).entry,
                    false => Entry::NONE,
                };
                prop_assert_eq!(found, trie.find(Trie::second_key(*first, *second)), "{} {}", first, second);
            }}
        }
    }
}
