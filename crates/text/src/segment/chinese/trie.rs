//! The dictionary's words as a trie.
//!
//! A node is a prefix of dictionary words. A node's transition on a character is one entry of 8 bytes in an
//! open-addressing table of 8 MB, most of which no text ever reads. A bit set of half a megabyte rejects most look-ups
//! of transitions that do not exist. The first two characters of a word are looked up in [`super::pairs`] instead.

use std::collections::HashMap;

/// A number for a character; frequent characters have small numbers.
pub(super) type Code = u16;
/// The end of a run; not a character.
pub(super) const END: Code = 0;
/// An ideograph that jieba never joins with others: it is a word of its own.
pub(super) const ALONE: Code = 1;
/// A character that is in no word. The codes of the characters in words follow, up to [`MAX_CODE`].
pub(super) const UNKNOWN: Code = 2;
/// The greatest code of a character.
pub(super) const MAX_CODE: Code = (1 << CODE_BITS) - 1;
/// The greatest value of a word.
pub(super) const MAX_VALUE: u16 = MAX_CODE;

/// Number of bits of a character's code, and of a word's value.
const CODE_BITS: u32 = 14;
/// Number of bits of a node's number.
const NODE_BITS: u32 = 32 - CODE_BITS;
const MAX_NODE: u32 = (1 << NODE_BITS) - 1;

/// Number of bits of a slot's index. The default dictionary fills 55 % of the slots, which leaves room for another
/// 60,000 prefixes.
const SLOT_BITS: u32 = 20;
/// Number of bits of an index of the filter.
const FILTER_BITS: u32 = 22;
/// Maximum number of entries in the table; with more, probes become long.
const MAX_ENTRIES: usize = (1 << SLOT_BITS) / 8 * 7;

/// The error that the dictionary is too large for the trie.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Full;

/// The target of a transition: the node there, if longer words follow, and the value of the word that ends there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Entry(u32);

impl Entry {
    pub(super) const NONE: Self = Self(0);

    /// Returns the value of the word that ends here, or 0.
    #[inline]
    pub(super) fn value(self) -> u16 {
        (self.0 >> NODE_BITS) as u16
    }

    /// Returns true if longer words begin with these characters.
    #[inline]
    pub(super) fn goes_on(self) -> bool {
        self.node() > 0
    }

    /// Returns the node with the transitions to longer words, or 0.
    #[inline]
    pub(super) fn node(self) -> u32 {
        self.0 & MAX_NODE
    }

    fn set_value(&mut self, value: u16) {
        self.0 = self.node() | u32::from(value) << NODE_BITS;
    }
}

/// A transition: its key (node and code; 0 if free), and its target.
type Slot = (u32, Entry);

/// A map from words of at least one character to values from 1 to [`MAX_VALUE`].
pub(super) struct Trie {
    jieba_cuts: fn(char) -> bool,
    /// Codes of the characters of the Basic Multilingual Plane.
    codes: Box<[Code; 1 << 16]>,
    /// Codes of the other characters.
    rare_codes: HashMap<char, Code>,
    /// The entries of the first characters, by code. The node of a first character has its code as number.
    roots: Vec<Entry>,
    /// A bit for each existing transition, by its hash.
    filter: Box<[u64]>,
    /// The transitions, by hash.
    slots: Box<[Slot]>,
    entries: usize,
    next_node: u32,
}

impl Trie {
    /// Creates an empty trie; `jieba_cuts` returns true for the characters that words may have.
    pub(super) fn new(jieba_cuts: fn(char) -> bool) -> Self {
        let mut codes = Box::new([ALONE; 1 << 16]);
        for c in '\0'..='\u{ffff}' {
            codes[c as usize] = unknown(c, jieba_cuts);
        }
        Self {
            jieba_cuts,
            codes,
            rare_codes: HashMap::new(),
            roots: vec![Entry::NONE; usize::from(UNKNOWN) + 1],
            filter: vec![0; (1 << FILTER_BITS) / 64].into(),
            slots: vec![(0, Entry::NONE); 1 << SLOT_BITS].into(),
            entries: 0,
            // Numbers up to the greatest code are reserved for the first characters.
            next_node: u32::from(MAX_CODE) + 1,
        }
    }

    /// Returns the code of `c`.
    #[inline]
    pub(super) fn code(&self, c: char) -> Code {
        match u16::try_from(u32::from(c)) {
            Ok(c) => self.code_of_basic(c),
            Err(_) => self.rare_codes.get(&c).copied().unwrap_or_else(|| unknown(c, self.jieba_cuts)),
        }
    }

    /// Returns the code of a character of the Basic Multilingual Plane.
    #[inline]
    pub(super) fn code_of_basic(&self, c: u16) -> Code {
        self.codes[usize::from(c)]
    }

    /// Inserts `word`, whose characters must satisfy `jieba_cuts`, with `value`. Returns its previous value.
    pub(super) fn insert(&mut self, word: &str, value: u16) -> Result<Option<u16>, Full> {
        let word = word.chars().map(|c| self.make_code(c)).collect::<Result<Vec<Code>, Full>>()?;
        self.insert_codes(&word, value)
    }

    /// Inserts a word whose characters have codes already.
    pub(super) fn insert_codes(&mut self, word: &[Code], value: u16) -> Result<Option<u16>, Full> {
        debug_assert!(value > 0 && value <= MAX_VALUE);
        let Some((first, rest)) = word.split_first() else { return Ok(None) };
        // The place of the current entry: `Err` for a root, `Ok` for a slot.
        let mut at = Err(usize::from(*first));
        for code in rest {
            let node = match at {
                Err(root) => root as u32,
                Ok(slot) => self.make_node(slot)?,
            };
            at = Ok(self.make_entry(key(node, *code))?);
        }
        let entry = match at {
            Err(root) => &mut self.roots[root],
            Ok(slot) => &mut self.slots[slot].1,
        };
        let before = entry.value();
        entry.set_value(value);
        Ok((before > 0).then_some(before))
    }

    /// Returns all characters of words, each with the entry after it as the first character.
    pub(super) fn singles(&self) -> impl Iterator<Item = (Code, Entry)> + '_ {
        (0..).zip(self.roots.iter().copied()).skip(usize::from(UNKNOWN) + 1)
    }

    /// Returns the key of a word's first two characters, both of them in words.
    #[inline]
    pub(super) fn second_key(first: Code, second: Code) -> u32 {
        key(u32::from(first), second)
    }

    /// Returns the key of the next character after `entry`, which is that of a second or later character.
    #[inline]
    pub(super) fn next_key(entry: Entry, code: Code) -> u32 {
        key(entry.node(), code)
    }

    /// Returns the entry of `key`.
    #[inline]
    pub(super) fn find(&self, key: u32) -> Entry {
        let hash = hash(key);
        let (word, bit) = filter_bit(hash);
        if self.filter[word] >> bit & 1 == 0 { Entry::NONE } else { self.slots[self.probe(key, hash)].1 }
    }

    /// Returns all transitions: node, character, entry. The node of a first character has its code as number.
    pub(super) fn transitions(&self) -> impl Iterator<Item = (u32, Code, Entry)> + '_ {
        let taken = self.slots.iter().filter(|(key, _)| *key > 0);
        taken.map(|(key, entry)| (key >> CODE_BITS, (key & u32::from(MAX_CODE)) as Code, *entry))
    }

    /// Returns the upper bound (exclusive) of node numbers.
    pub(super) fn nodes_end(&self) -> u32 {
        self.next_node
    }

    /// Returns the value of the word of these characters, or 0.
    pub(super) fn value(&self, word: &[Code]) -> u16 {
        match *word {
            [] => 0,
            [only] => self.roots[usize::from(only)].value(),
            [first, second, ref rest @ ..] => {
                let start = self.find(Self::second_key(first, second));
                rest.iter().fold(start, |entry, code| self.find(Self::next_key(entry, *code))).value()
            }
        }
    }

    /// Returns the slot of `key`, or the free slot for it.
    #[inline]
    fn probe(&self, key: u32, hash: u64) -> usize {
        let mut slot = (hash >> (64 - SLOT_BITS)) as usize;
        while self.slots[slot].0 != key && self.slots[slot].0 != 0 {
            slot = (slot + 1) % self.slots.len();
        }
        slot
    }

    /// Returns the code of `c`, for which `jieba_cuts` must be true; assigns the next code if it has none.
    pub(super) fn make_code(&mut self, c: char) -> Result<Code, Full> {
        let known = self.code(c);
        if known > UNKNOWN {
            return Ok(known);
        }
        let code = Code::try_from(self.roots.len()).ok().filter(|code| *code <= MAX_CODE).ok_or(Full)?;
        self.roots.push(Entry::NONE);
        match u16::try_from(u32::from(c)) {
            Ok(c) => self.codes[usize::from(c)] = code,
            Err(_) => {
                self.rare_codes.insert(c, code);
            }
        }
        Ok(code)
    }

    /// Returns the node of the entry in `slot`; creates one if it has none.
    fn make_node(&mut self, slot: usize) -> Result<u32, Full> {
        let entry = &mut self.slots[slot].1;
        if entry.node() == 0 {
            if self.next_node > MAX_NODE {
                return Err(Full);
            }
            entry.0 |= self.next_node;
            self.next_node += 1;
        }
        Ok(entry.node())
    }

    /// Returns the slot of the transition `key`; creates the transition if it does not exist.
    fn make_entry(&mut self, key: u32) -> Result<usize, Full> {
        let hash = hash(key);
        let slot = self.probe(key, hash);
        if self.slots[slot].0 == 0 {
            if self.entries == MAX_ENTRIES {
                return Err(Full);
            }
            self.slots[slot].0 = key;
            self.entries += 1;
            let (word, bit) = filter_bit(hash);
            self.filter[word] |= 1 << bit;
        }
        Ok(slot)
    }
}

/// Returns the code of a character that is in no word.
fn unknown(c: char, jieba_cuts: fn(char) -> bool) -> Code {
    if jieba_cuts(c) { UNKNOWN } else { ALONE }
}

#[inline]
fn key(node: u32, code: Code) -> u32 {
    node << CODE_BITS | u32::from(code)
}

/// Hashes a key; the upper bits are well mixed.
#[inline]
fn hash(key: u32) -> u64 {
    u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Returns the word and the bit of the filter for a hash.
#[inline]
fn filter_bit(hash: u64) -> (usize, usize) {
    let bit = (hash >> (64 - SLOT_BITS - FILTER_BITS)) as usize % (1 << FILTER_BITS);
    (bit / 64, bit % 64)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_map(
            words in prop::collection::vec(("[一二三四𠀀𠀁]{1,5}", 1..MAX_CODE), 0..60),
            others in prop::collection::vec("[一二三四五𠀀]{1,6}", 60),
        ) {
            let mut trie = Trie::new(|_| true);
            let mut map = HashMap::new();
            for (word, value) in &words {
                prop_assert_eq!(trie.insert(word, *value), Ok(map.insert(word, *value)));
            }
            for word in others.iter().chain(words.iter().map(|(word, _)| word)) {
                let codes: Vec<Code> = word.chars().map(|c| trie.code(c)).collect();
                prop_assert_eq!(trie.value(&codes), map.get(word).copied().unwrap_or(0));
            }
            for (node, code, entry) in trie.transitions() {
                prop_assert_eq!(trie.find(key(node, code)), entry);
            }
            let prefixes = map.keys().flat_map(|word| (2..=word.chars().count()).map(|n| word.chars().take(n)));
            let prefixes: HashSet<String> = prefixes.map(Iterator::collect).collect();
            prop_assert_eq!(trie.transitions().count(), prefixes.len());
        }
    }

    #[test]
    fn insertion_fails_when_the_trie_is_full() {
        let mut trie = Trie::new(|_| true);
        let characters = ('\u{4e00}'..).map(|c| c.to_string());
        let entered = characters.take_while(|c| trie.insert(c, 1).is_ok()).count();
        assert_eq!(entered, usize::from(MAX_CODE - UNKNOWN));
    }
}
