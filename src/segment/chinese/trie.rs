//! The dictionary's words as a trie that is asked about many positions of a text at once.
//!
//! A node is a prefix of dictionary words. A node's transition on a character is one entry of 8 bytes in an
//! open-addressing table of 8 MB, most of which no text ever needs. The transitions to the most frequent words are
//! in a table of half a megabyte as well, and a bit set of the same size answers most questions for transitions
//! that are not there: both stay in the processor's own cache. [`Trie::find_all`] asks them in passes without a
//! branch that depends on what they hold, so that cache misses overlap.

use std::collections::HashMap;

/// A character's number: 0 for one that no word has, up to [`MAX_CODE`] for others.
pub(super) type Code = u16;
/// No character has a code beyond; values above are free for marks between characters.
pub(super) const MAX_CODE: Code = (1 << CODE_BITS) - 1;

/// Bits of a character's code, and of a word's value.
const CODE_BITS: u32 = 14;
/// Bits of a node's number.
const NODE_BITS: u32 = 32 - CODE_BITS;
const MAX_NODE: u32 = (1 << NODE_BITS) - 1;

/// The default dictionary fills 55 % of them, and leaves room for another 60,000 prefixes.
const SLOT_BITS: u32 = 20;
const FILTER_BITS: u32 = 22;
/// The hot table has this many pairs of entries.
const HOT_BITS: u32 = 15;
/// The fullest the table becomes: beyond, probes grow long.
const MAX_ENTRIES: usize = (1 << SLOT_BITS) / 8 * 7;

/// The dictionary has outgrown the trie's numbers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Full;

/// What a transition leads to: the node there, if words go on from it, and the value of the word that ends there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Entry(u32);

impl Entry {
    const NONE: Self = Self(0);

    /// The value of the word that ends here, or 0.
    #[inline]
    pub(super) fn value(self) -> u16 {
        (self.0 >> NODE_BITS) as u16
    }

    /// Whether longer words begin like this.
    #[inline]
    pub(super) fn goes_on(self) -> bool {
        self.node() > 0
    }

    /// The node from which words go on, or 0.
    #[inline]
    fn node(self) -> u32 {
        self.0 & MAX_NODE
    }

    fn set_value(&mut self, value: u16) {
        self.0 = self.node() | u32::from(value) << NODE_BITS;
    }
}

/// A transition: its key (node and code; 0 where free), and where it leads.
type Slot = (u32, Entry);

/// What [`Trie::find_all`] needs. Kept from text to text, so that its buffers are allocated once.
#[derive(Debug, Default)]
pub(super) struct Misses {
    hot: Vec<u32>,
    filter: Vec<u32>,
}

/// A map from words of at least one character to values from 1 to [`MAX_CODE`].
pub(super) struct Trie {
    /// Codes of the characters of the Basic Multilingual Plane, and of the others.
    codes: Box<[Code]>,
    rare_codes: HashMap<char, Code>,
    /// The entries of the first characters, by code; the node of a first character has its code as number.
    roots: Vec<Entry>,
    /// A bit for each transition there is, by its hash.
    filter: Box<[u64]>,
    /// Of each transition the key (node and code; 0 where free) and the entry.
    slots: Box<[Slot]>,
    /// Those to the most frequent words again, in pairs.
    hot: Box<[[Slot; 2]]>,
    entries: usize,
    next_node: u32,
}

impl Trie {
    pub(super) fn new() -> Self {
        Self {
            codes: vec![0; 1 << 16].into(),
            rare_codes: HashMap::new(),
            roots: vec![Entry::NONE],
            filter: vec![0; (1 << FILTER_BITS) / 64].into(),
            slots: vec![(0, Entry::NONE); 1 << SLOT_BITS].into(),
            hot: vec![[(0, Entry::NONE); 2]; 1 << HOT_BITS].into(),
            entries: 0,
            // Numbers up to the greatest code belong to the first characters.
            next_node: u32::from(MAX_CODE) + 1,
        }
    }

    /// The code of `c`, 0 if no word has it.
    #[inline]
    pub(super) fn code(&self, c: char) -> Code {
        match self.codes.get(c as usize) {
            Some(code) => *code,
            None => self.rare_codes.get(&c).copied().unwrap_or(0),
        }
    }

    /// Enters `word` with `value`, and gives the value it had before.
    pub(super) fn insert(&mut self, word: &str, value: u16) -> Result<Option<u16>, Full> {
        debug_assert!(value > 0 && value <= MAX_CODE);
        let mut chars = word.chars();
        let Some(first) = chars.next() else { return Ok(None) };
        let first = self.make_code(first)?;
        // The node that the walk is at, and where its entry is: a root, or a slot.
        let mut at = Err(usize::from(first));
        for c in chars {
            let code = self.make_code(c)?;
            let node = match at {
                Err(root) => root as u32,
                Ok(slot) => self.make_node(slot)?,
            };
            at = Ok(self.make_entry(key(node, code))?);
        }
        let entry = match at {
            Err(root) => &mut self.roots[root],
            Ok(slot) => &mut self.slots[slot].1,
        };
        let before = entry.value();
        entry.set_value(value);
        Ok((before > 0).then_some(before))
    }

    /// The entry after the first character of a word.
    #[inline]
    pub(super) fn first(&self, code: Code) -> Entry {
        self.roots[usize::from(code)]
    }

    /// What leads to the entry after a word's first two characters, for [`Self::find_all`]; 0 if nothing does.
    #[inline]
    pub(super) fn second_key(first: Code, second: Code) -> u32 {
        if first > MAX_CODE || second > MAX_CODE { 0 } else { key(u32::from(first), second) }
    }

    /// What leads one character further than `entry`, which is that of the second or a later character.
    #[inline]
    pub(super) fn next_key(entry: Entry, code: Code) -> u32 {
        if entry.node() == 0 || code > MAX_CODE { 0 } else { key(entry.node(), code) }
    }

    /// The entry that `key` leads to.
    #[inline]
    pub(super) fn find(&self, key: u32) -> Entry {
        let hash = hash(key);
        let (word, bit) = filter_bit(hash);
        if self.filter[word] >> bit & 1 == 0 { Entry::NONE } else { self.slots[self.probe(key, hash)].1 }
    }

    /// The entries that `keys` lead to, in their order.
    pub(super) fn find_all(&self, keys: &[u32], entries: &mut Vec<Entry>, misses: &mut Misses) {
        entries.clear();
        entries.resize(keys.len(), Entry::NONE);
        misses.hot.resize(keys.len(), 0);
        misses.filter.resize(keys.len(), 0);
        let mut missed = 0;
        for (at, (key, entry)) in keys.iter().zip(entries.iter_mut()).enumerate() {
            let [a, b] = self.hot[hot_pair(hash(*key))];
            *entry = if a.0 == *key { a.1 } else { b.1 };
            let found = a.0 == *key || b.0 == *key;
            misses.hot[missed] = at as u32;
            missed += usize::from(!found);
        }
        let mut passed = 0;
        for &at in &misses.hot[..missed] {
            entries[at as usize] = Entry::NONE;
            let (word, bit) = filter_bit(hash(keys[at as usize]));
            misses.filter[passed] = at;
            passed += (self.filter[word] >> bit & 1) as usize;
        }
        for &at in &misses.filter[..passed] {
            let key = keys[at as usize];
            entries[at as usize] = self.slots[self.probe(key, hash(key))].1;
        }
    }

    /// Fills the hot table with the transitions that are taken most often, where `frequency` is that of a word's
    /// value. To be called once all words are in; without it, all is found as well, but more slowly.
    pub(super) fn warm(&mut self, frequency: impl Fn(u16) -> u64) {
        // How often each node is passed, and each transition taken: the sum over the words behind it. Nodes are
        // numbered in the order they were made, so that a child's number is greater than its parent's.
        let mut transitions: Vec<(Slot, u64)> = self
            .slots
            .iter()
            .filter(|slot| slot.0 > 0)
            .map(|slot| (*slot, frequency(slot.1.value())))
            .collect();
        transitions.sort_unstable_by_key(|((key, _), _)| std::cmp::Reverse(*key >> CODE_BITS));
        let mut passed = vec![0_u64; self.next_node as usize];
        for ((key, entry), taken) in &mut transitions {
            *taken += passed[entry.node() as usize];
            passed[(*key >> CODE_BITS) as usize] += *taken;
        }
        transitions.sort_unstable_by_key(|((key, _), taken)| (std::cmp::Reverse(*taken), *key));
        self.hot.fill([(0, Entry::NONE); 2]);
        for (slot, _) in transitions {
            let pair = &mut self.hot[hot_pair(hash(slot.0))];
            if let Some(free) = pair.iter_mut().find(|slot| slot.0 == 0) {
                *free = slot;
            }
        }
    }

    /// The value of the word of these characters, or 0.
    pub(super) fn value(&self, word: &[Code]) -> u16 {
        match *word {
            [] => 0,
            [only] => self.first(only).value(),
            [first, second, ref rest @ ..] => {
                let start = self.find(Self::second_key(first, second));
                rest.iter().fold(start, |entry, code| self.find(Self::next_key(entry, *code))).value()
            }
        }
    }

    /// The slot of `key`, or the free one where it belongs.
    #[inline]
    fn probe(&self, key: u32, hash: u64) -> usize {
        let mut slot = (hash >> (64 - SLOT_BITS)) as usize;
        while self.slots[slot].0 != key && self.slots[slot].0 != 0 {
            slot = (slot + 1) % self.slots.len();
        }
        slot
    }

    fn make_code(&mut self, c: char) -> Result<Code, Full> {
        if let known @ 1.. = self.code(c) {
            return Ok(known);
        }
        let code = Code::try_from(self.roots.len()).ok().filter(|code| *code <= MAX_CODE).ok_or(Full)?;
        self.roots.push(Entry::NONE);
        match self.codes.get_mut(c as usize) {
            Some(slot) => *slot = code,
            None => {
                self.rare_codes.insert(c, code);
            }
        }
        Ok(code)
    }

    /// The node of the entry in `slot`, a new one if it has none.
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

    /// The slot of the transition `key`, which is made if it is not there.
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

#[inline]
fn key(node: u32, code: Code) -> u32 {
    node << CODE_BITS | u32::from(code)
}

/// Its upper bits are well mixed.
#[inline]
fn hash(key: u32) -> u64 {
    u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Which word of the filter, and which bit of it.
#[inline]
fn filter_bit(hash: u64) -> (usize, usize) {
    let bit = (hash >> (64 - SLOT_BITS - FILTER_BITS)) as usize % (1 << FILTER_BITS);
    (bit / 64, bit % 64)
}

/// Which pair of the hot table.
#[inline]
fn hot_pair(hash: u64) -> usize {
    (hash >> (64 - HOT_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn holds_what_a_map_holds(
            words in prop::collection::vec(("[一二三四𠀀𠀁]{1,5}", 1..MAX_CODE), 0..60),
            others in prop::collection::vec("[一二三四五𠀀]{1,6}", 60),
        ) {
            let mut trie = Trie::new();
            let mut map = HashMap::new();
            for (word, value) in &words {
                prop_assert_eq!(trie.insert(word, *value), Ok(map.insert(word, *value)));
            }
            for word in others.iter().chain(words.iter().map(|(word, _)| word)) {
                let codes: Vec<Code> = word.chars().map(|c| trie.code(c)).collect();
                prop_assert_eq!(trie.value(&codes), map.get(word).copied().unwrap_or(0));
            }
            // All at once, with nothing warm and with all of it.
            let codes: Vec<Code> = others.concat().chars().map(|c| trie.code(c)).collect();
            let keys: Vec<u32> = codes.windows(2).map(|pair| Trie::second_key(pair[0], pair[1])).collect();
            let one_by_one: Vec<Entry> = keys.iter().map(|key| trie.find(*key)).collect();
            let (mut found, mut misses) = (Vec::new(), Misses::default());
            for _ in 0..2 {
                trie.find_all(&keys, &mut found, &mut misses);
                prop_assert_eq!(&found, &one_by_one);
                trie.warm(u64::from);
            }
        }
    }

    #[test]
    fn says_when_it_is_full() {
        let mut trie = Trie::new();
        let characters = ('\u{4e00}'..).map(|c| c.to_string());
        let entered = characters.take_while(|c| trie.insert(c, 1).is_ok()).count();
        assert_eq!(entered, usize::from(MAX_CODE));
    }
}
