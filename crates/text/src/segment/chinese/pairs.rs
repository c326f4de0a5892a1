//! The first two characters of words, of the most frequent
//! characters: a bit for each pair there is.
//!
//! Most neighbours in a text begin no word. Codes go by frequency, so that the bits asked for lie
//! within few cache lines: those of the 512 most frequent characters, three quarters of a text,
//! take 32 KB, and the entries of the pairs that there are lie close together as well. A hash table
//! would scatter both over a megabyte.

use super::trie::{Code, Entry, Trie, UNKNOWN};

/// First and second characters with codes beyond are too
/// rare to matter: they are looked up in the trie.
const FIRSTS: usize = 1 << 12;
const SECONDS: usize = 1 << 11;
/// Second characters of a block.
const BLOCK: usize = 32;

/// The entries after two characters.
pub(super) struct Pairs {
    /// How many codes of first and of second characters are covered.
    firsts: usize,
    seconds: usize,
    /// By first character, then by second: a bit for each pair there is. The last
    /// row and column stand for all other characters; there, all bits are set.
    blocks: Box<[u32]>,
    /// How many pairs there are before each block.
    before: Box<[u32]>,
    /// Of the pairs there are, in their order.
    entries: Vec<PairEntry>,
}

/// What follows on two characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PairEntry {
    /// The trie's entry.
    pub(super) entry: Entry,
    /// A bit for each character with which words go on, by the last bits of its code.
    nexts: u32,
}

impl PairEntry {
    /// Whether words may go on with this character: a bit
    /// tells, most often rightly, that they do not.
    #[inline]
    pub(super) fn may_go_on(self, code: Code) -> bool {
        self.nexts >> (code % 32) & 1 == 1
    }
}

impl Pairs {
    /// Covers nothing: all is looked up in the trie.
    pub(super) fn none() -> Self {
        Self { firsts: 0, seconds: 0, blocks: [u32::MAX].into(), before: [0].into(), entries: Vec::new() }
    }

    /// Covers the most frequent characters of `trie`.
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
        // No word begins with a mark.
        for row in new.blocks.chunks_mut(row).skip(usize::from(UNKNOWN) + 1) {
            row[row.len() - 1] = u32::MAX;
        }
        new.blocks[FIRSTS * row..].fill(u32::MAX);
        new
    }

    /// Whether words may begin with these two: surely not, or looking for the entry pays.
    #[inline]
    pub(super) fn may_have(&self, first: Code, second: Code) -> bool {
        self.blocks[self.block(first, second)] >> (usize::from(second) % BLOCK) & 1 == 1
    }

    /// The entry after these two, where [`Self::may_have`] says yes.
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

    /// Which block.
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

    /// Codes on both sides of what is covered, and marks.
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
