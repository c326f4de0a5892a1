//! 64-bit key → slots of the centres entered under it.
//!
//! An open-addressing table with entries of 8 bytes, without pointers: the upper half of an entry is of its key's
//! hash, the lower half the slot. The first bits of the hash choose one of 256 segments, each of which grows on its own
//! and by a quarter, so that no growth halts the flow for long or needs the memory of a second table.
//!
//! Keys are told apart by 40 bits of their hash. Where two agree in them, a look-up gives candidates that the
//! detector's comparison then turns down: at 100 million centres with eight keys each, one or two a look-up.
//!
//! Keys with many centres (a passage that half of a site shares) would fill their neighbourhood: a key with more than
//! [`CROWD`] centres keeps them in a list of its own.
//!
//! Cost: a look-up is one cache miss, and so is an insertion. Memory: by calculation 9 to 12 bytes a key and centre,
//! where a hash map of lists took some 30.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;

use crate::hashed::HashedKey;

const SEGMENTS: usize = 256;
/// Centres under one key that the table itself holds.
const CROWD: usize = 16;
/// What a segment holds at first.
const SMALLEST: usize = 8;

/// Slots by key.
#[derive(Debug)]
pub(super) struct KeyIndex(Box<[Segment; SEGMENTS]>);

impl Default for KeyIndex {
    fn default() -> Self {
        Self(Box::new(std::array::from_fn(|_| Segment::default())))
    }
}

impl KeyIndex {
    /// Enters `slot` under `keys`.
    pub(super) fn insert(&mut self, slot: u32, keys: &[u64]) {
        for &key in keys {
            let (segment, hash) = place(key);
            self.0[segment].insert(hash, slot);
        }
    }

    /// Takes out `slot`, which was entered under `keys`.
    pub(super) fn remove(&mut self, slot: u32, keys: &[u64]) {
        for &key in keys {
            let (segment, hash) = place(key);
            self.0[segment].remove(hash, slot);
        }
    }

    /// The slots under `key`, and rarely some of another one.
    #[inline]
    pub(super) fn get(&self, key: u64) -> impl Iterator<Item = u32> + '_ {
        let (segment, hash) = place(key);
        self.0[segment].get(hash)
    }
}

/// Which segment a key belongs to, and the hash that tells it from others there.
#[inline]
fn place(key: u64) -> (usize, u32) {
    // Keys may be small numbers: one multiplication spreads them.
    let product = u128::from(key ^ 0x2545_f491_4f6c_dd1d) * 0x9e37_79b9_7f4a_7c15;
    let hash = (product as u64) ^ (product >> 64) as u64;
    // The greatest hash is left to free entries.
    ((hash >> 56) as usize, ((hash >> 24) as u32).min(u32::MAX - 1))
}

/// The keys whose hashes begin with the same 8 bits.
#[derive(Debug, Default)]
struct Segment {
    /// Each stands at the place of its hash or in the first free one after it; beyond the end comes the beginning.
    entries: Vec<Entry>,
    taken: usize,
    /// The slots of keys that came to have more than [`CROWD`].
    crowds: HashMap<u64, VecDeque<u32>, BuildHasherDefault<HashedKey>>,
}

/// The hash in the upper half, the slot in the lower one.
type Entry = u64;
const FREE: Entry = Entry::MAX;

#[inline]
fn entry(hash: u32, slot: u32) -> Entry {
    u64::from(hash) << 32 | u64::from(slot)
}

impl Segment {
    fn insert(&mut self, hash: u32, slot: u32) {
        if let Some(crowd) = self.crowds.get_mut(&u64::from(hash)) {
            crowd.push_back(slot);
            return;
        }
        if self.walk(hash).filter(|(_, entry)| hash_of(*entry) == hash).count() == CROWD {
            let mut crowd: VecDeque<u32> = self.get(hash).collect();
            crowd.iter().for_each(|slot| self.take_out(hash, *slot));
            crowd.push_back(slot);
            self.crowds.insert(u64::from(hash), crowd);
            return;
        }
        if (self.taken + 1) * 8 > self.entries.len() * 7 {
            self.grow();
        }
        self.put(entry(hash, slot));
        self.taken += 1;
    }

    fn remove(&mut self, hash: u32, slot: u32) {
        match self.crowds.get_mut(&u64::from(hash)) {
            Some(crowd) => {
                // Slots leave in the order in which they came: this is the first one, or nearly so.
                if let Some(at) = crowd.iter().position(|other| *other == slot) {
                    crowd.remove(at);
                }
                if crowd.is_empty() {
                    self.crowds.remove(&u64::from(hash));
                }
            }
            None => self.take_out(hash, slot),
        }
    }

    #[inline]
    fn get(&self, hash: u32) -> impl Iterator<Item = u32> + '_ {
        let crowd = if self.crowds.is_empty() { None } else { self.crowds.get(&u64::from(hash)) };
        let here = self.walk(hash).map(|(_, entry)| entry).filter(move |entry| hash_of(*entry) == hash);
        here.map(|entry| entry as u32).chain(crowd.into_iter().flatten().copied())
    }

    /// The entries from the place of `hash` to the first free one.
    #[inline]
    fn walk(&self, hash: u32) -> impl Iterator<Item = (usize, Entry)> + '_ {
        let from = self.home(hash);
        let places = (from..self.entries.len()).chain(0..from);
        places.map(|at| (at, self.entries[at])).take_while(|(_, entry)| *entry != FREE)
    }

    /// The place of a hash: in the order of hashes, so that a longer table has the same order.
    #[inline]
    fn home(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.entries.len() as u64) >> 32) as usize
    }

    fn put(&mut self, entry: Entry) {
        let mut at = self.home(hash_of(entry));
        while self.entries[at] != FREE {
            at = self.after(at);
        }
        self.entries[at] = entry;
    }

    /// Frees an entry, and moves up those behind it that this lets come nearer to their places.
    fn take_out(&mut self, hash: u32, slot: u32) {
        let wanted = entry(hash, slot);
        let Some((mut free, _)) = self.walk(hash).find(|(_, entry)| *entry == wanted) else { return };
        let mut at = free;
        loop {
            at = self.after(at);
            let entry = self.entries[at];
            if entry == FREE {
                break;
            }
            if self.steps(self.home(hash_of(entry)), at) >= self.steps(free, at) {
                self.entries[free] = entry;
                free = at;
            }
        }
        self.entries[free] = FREE;
        self.taken -= 1;
    }

    fn grow(&mut self) {
        let length = (self.entries.len() + self.entries.len() / 4).max(self.entries.len() + SMALLEST);
        let old = std::mem::replace(&mut self.entries, vec![FREE; length]);
        old.into_iter().filter(|entry| *entry != FREE).for_each(|entry| self.put(entry));
    }

    #[inline]
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.entries.len() { 0 } else { at + 1 }
    }

    /// How many steps lead forward from one place to another.
    fn steps(&self, from: usize, to: usize) -> usize {
        if from <= to { to - from } else { to + self.entries.len() - from }
    }
}

#[inline]
fn hash_of(entry: Entry) -> u32 {
    (entry >> 32) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Any order of insertions and removals, with few hashes (crowds) and with many (growth), at both ends of a
        /// segment, where entries go on at the beginning.
        #[test]
        fn a_segment_holds_what_a_map_holds(
            events in prop::collection::vec((any::<bool>(), 0..4_u32, 0..40_u32), 0..600),
            hashes in prop::collection::vec(prop_oneof![any::<u32>(), Just(u32::MAX - 1), Just(0)], 40),
        ) {
            let mut segment = Segment::default();
            let mut map: HashMap<u32, VecDeque<u32>> = HashMap::new();
            for (slot, (insert, few, many)) in (0..).zip(events) {
                let hash = hashes[if slot % 3 == 0 { few } else { many } as usize];
                let slots = map.entry(hash).or_default();
                if insert || slots.is_empty() {
                    segment.insert(hash, slot);
                    slots.push_back(slot);
                } else if let Some(oldest) = slots.pop_front() {
                    segment.remove(hash, oldest);
                }
                let mut found: Vec<u32> = segment.get(hash).collect();
                found.sort_unstable();
                prop_assert_eq!(found, map[&hash].iter().copied().collect::<Vec<_>>());
            }
            let crowded: usize = segment.crowds.values().map(VecDeque::len).sum();
            prop_assert_eq!(segment.taken + crowded, map.values().map(VecDeque::len).sum::<usize>());
            prop_assert_eq!(segment.entries.iter().filter(|entry| **entry != FREE).count(), segment.taken);
            for (hash, slots) in map {
                let mut found: Vec<u32> = segment.get(hash).collect();
                found.sort_unstable();
                prop_assert_eq!(found, Vec::from(slots));
            }
        }
    }

    /// What comes in at one end and leaves at the other, for ten times the size, does not make the table grow.
    #[test]
    fn a_table_at_its_cap_keeps_its_size() {
        let mut index = KeyIndex::default();
        let keys = |slot: u32| [u64::from(slot), u64::from(slot / 100) << 32, u64::from(slot) << 40];
        let cap = 20_000;
        for slot in 0..cap {
            index.insert(slot, &keys(slot));
        }
        let bytes =
            |index: &KeyIndex| index.0.iter().map(|segment| segment.entries.capacity() * 8).sum::<usize>();
        let full = bytes(&index);
        for slot in cap..10 * cap {
            index.remove(slot - cap, &keys(slot - cap));
            index.insert(slot, &keys(slot));
        }
        assert!(bytes(&index) < full + full / 3, "{} bytes, {full} when full", bytes(&index));
        assert!(index.get(u64::from(10 * cap - 1)).any(|slot| slot == 10 * cap - 1));
        for slot in 9 * cap..10 * cap {
            index.remove(slot, &keys(slot));
        }
        assert!(index.0.iter().all(|segment| segment.taken == 0 && segment.crowds.is_empty()));
    }
}
