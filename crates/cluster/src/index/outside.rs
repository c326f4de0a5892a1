//! The entries of a segment that are in none of its groups: in an ordered table, hash → slots, 8 bytes per entry, and
//! in overflow lists.
//!
//! [`Ordered`] is an open-addressing table whose entries are sorted by hash. Each entry is at its home, which is in
//! proportion to its hash, or after the entries before it. So a look-up ends at the first greater hash, and
//! entries in a range of hashes are neighbours. Invariants, of which the tests check the first two:
//!
//! * Entries are in ascending order, with free places between them. No entry is before its home, and no place between
//!   its home and itself is free.
//! * The last place is free, so every walk ends. No hash is `u32::MAX`, which marks free places (`keys.rs`).
//! * At most three quarters of the homes are taken, and at least a third unless the table is small.
//!
//! [`OverflowLists`] holds slots by age, so a list has no empty place, and no list is empty.

use std::collections::VecDeque;

use leitong_base::hashed::HashedMap;

/// Initial capacity of a table.
const SMALLEST: usize = 16;
/// Number of entries by which the table is extended if entries do not fit before its end.
const ROOM: usize = 64;

/// An entry: the hash in the upper half, the slot in the lower half.
pub(super) type Entry = u64;
const FREE: Entry = Entry::MAX;

/// The table.
#[derive(Debug, Default)]
pub(super) struct Ordered {
    /// The homes, and extra room after the last one.
    entries: Vec<Entry>,
    homes: usize,
    taken: usize,
}

impl Ordered {
    /// Creates a table of these entries, which are sorted.
    pub(super) fn from_sorted(entries: &[Entry]) -> Self {
        let mut ordered = Self { taken: entries.len(), ..Self::default() };
        if !entries.is_empty() {
            ordered.fill(entries.len() * 3 / 2 + SMALLEST, entries.iter().copied());
        }
        ordered
    }

    /// Adds an entry.
    pub(super) fn insert(&mut self, entry: Entry) {
        if (self.taken + 1) * 4 > self.homes * 3 {
            self.resize(self.homes + (self.homes / 8).max(SMALLEST));
        }
        let mut at = self.home(hash_of(entry));
        while self.entries[at] < entry {
            at += 1;
        }
        let free = (at..).find(|free| self.entries.get(*free).is_none_or(|entry| *entry == FREE));
        let free = free.expect("the range has no end");
        if free + 1 >= self.entries.len() {
            // The last entry is always free, so every walk ends.
            self.entries.reserve_exact(ROOM);
            self.entries.push(FREE);
        }
        self.entries.copy_within(at..free, at + 1);
        self.entries[at] = entry;
        self.taken += 1;
    }

    /// Removes an entry. Returns false if it does not exist.
    pub(super) fn remove(&mut self, entry: Entry) -> bool {
        let from = self.home(hash_of(entry));
        let rest = self.entries.get(from..).unwrap_or_default();
        let Some(at) = rest.iter().take_while(|other| **other <= entry).position(|other| *other == entry)
        else {
            return false;
        };
        self.take_out(from + at);
        if self.taken * 3 < self.homes && self.homes > SMALLEST {
            self.resize(self.taken * 3 / 2 + SMALLEST);
        }
        true
    }

    /// Returns the entries from `hash` on, in order.
    #[inline]
    pub(super) fn from(&self, hash: u32) -> impl Iterator<Item = Entry> + '_ {
        let mut at = self.home(hash);
        while self.entries.get(at).is_some_and(|entry| hash_of(*entry) < hash) {
            at += 1;
        }
        self.entries.get(at..).unwrap_or_default().iter().copied().filter(|entry| *entry != FREE)
    }

    /// Returns the slots under `hash`.
    #[inline]
    pub(super) fn get(&self, hash: u32) -> impl Iterator<Item = u32> + '_ {
        let mut at = self.home(hash);
        while self.entries.get(at).is_some_and(|entry| hash_of(*entry) < hash) {
            at += 1;
        }
        let rest = self.entries.get(at..).unwrap_or_default();
        rest.iter().take_while(move |entry| hash_of(**entry) == hash).map(|entry| slot_of(*entry))
    }

    /// Prefetches the place of `hash`.
    #[inline]
    pub(super) fn prefetch(&self, hash: u32) -> u64 {
        self.entries.get(self.home(hash)).copied().unwrap_or(0)
    }

    /// Returns all entries, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Entry> + '_ {
        self.entries.iter().copied().filter(|entry| *entry != FREE)
    }

    /// Returns the number of entries.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.taken
    }

    /// Returns the bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
    }

    #[inline]
    fn home(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.homes as u64) >> 32) as usize
    }

    /// Removes the entry at `at`, and moves back the following entries that are not at home.
    fn take_out(&mut self, at: usize) {
        self.taken -= 1;
        self.entries[at] = FREE;
        let mut free = at;
        for from in at + 1.. {
            let entry = self.entries[from];
            let to = free.max(self.home(hash_of(entry)));
            if entry == FREE || to >= from {
                break;
            }
            self.entries[from] = FREE;
            self.entries[to] = entry;
            free = to + 1;
        }
    }

    fn resize(&mut self, homes: usize) {
        let entries = std::mem::take(&mut self.entries);
        self.fill(homes, entries.into_iter().filter(|entry| *entry != FREE));
    }

    /// Rebuilds the table from these entries, which are sorted.
    fn fill(&mut self, homes: usize, all: impl Iterator<Item = Entry>) {
        let mut entries = Vec::with_capacity(homes + ROOM);
        entries.resize(homes + 1, FREE);
        self.homes = homes;
        let mut next = 0;
        for entry in all {
            let at = self.home(hash_of(entry)).max(next);
            if at + 1 >= entries.len() {
                entries.reserve_exact(ROOM);
                entries.resize(at + 2, FREE);
            }
            entries[at] = entry;
            next = at + 1;
        }
        self.entries = entries;
    }
}

/// Returns the entry of `slot` under `hash`.
#[inline]
pub(super) fn entry(hash: u32, slot: u32) -> Entry {
    u64::from(hash) << 32 | u64::from(slot)
}

/// Returns the hash of an entry.
#[inline]
pub(super) fn hash_of(entry: Entry) -> u32 {
    (entry >> 32) as u32
}

/// Returns the slot of an entry.
#[inline]
pub(super) fn slot_of(entry: Entry) -> u32 {
    entry as u32
}

/// The slots of keys that many centroids have: value ([`Layout::value`](super::group::Layout::value)) → slots, oldest
/// first.
///
/// Slots are removed in the order in which they were added. Each list is a queue, so the cost at both ends does not
/// depend on its length.
#[derive(Debug, Default)]
pub(super) struct OverflowLists(HashedMap<VecDeque<u32>>);

impl OverflowLists {
    /// Returns true if there is no list.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the list of a value, if it has one.
    #[inline]
    pub(super) fn get(&self, value: u32) -> Option<&VecDeque<u32>> {
        if self.is_empty() { None } else { self.0.get(&u64::from(value)) }
    }

    /// Adds a list of these slots. None is younger than `youngest`.
    pub(super) fn insert(&mut self, value: u32, slots: Vec<u32>, youngest: u32) {
        let mut list = VecDeque::from(slots);
        sort_by_age(&mut list, youngest);
        self.0.insert(u64::from(value), list);
    }

    /// Adds `slot`, the youngest one, to the list of a value. Returns the length of the list, or `None` if the value
    /// has none.
    #[inline]
    pub(super) fn push(&mut self, value: u32, slot: u32) -> Option<usize> {
        let list = if self.is_empty() { None } else { self.0.get_mut(&u64::from(value)) }?;
        list.push_back(slot);
        Some(list.len())
    }

    /// Removes `slot` if it is the oldest one in the list of a value. Returns false if it is not.
    pub(super) fn remove(&mut self, value: u32, slot: u32) -> bool {
        let lists = &mut self.0;
        let Some(list) = lists.get_mut(&u64::from(value)).filter(|list| list.front() == Some(&slot)) else {
            return false;
        };
        list.pop_front();
        if list.len() * 4 < list.capacity() {
            list.shrink_to(list.len() * 2);
        }
        if list.is_empty() {
            lists.remove(&u64::from(value));
            if lists.len() * 4 < lists.capacity() {
                lists.shrink_to(lists.len() * 2);
            }
        }
        true
    }

    /// Merges lists whose values have become equal because values have fewer bits now.
    pub(super) fn merge(&mut self, value_now: impl Fn(u32) -> u32, youngest: u32) {
        for (value, list) in std::mem::take(&mut self.0) {
            let merged = self.0.entry(u64::from(value_now(value as u32))).or_default();
            if merged.is_empty() {
                *merged = list;
            } else {
                merged.extend(list);
                sort_by_age(merged, youngest);
            }
        }
    }

    /// Returns the bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        self.0.values().map(|list| 16 + size_of_val(list) + list.capacity() * 4).sum()
    }
}

/// Sorts slots, oldest first. They are numbers modulo 2^32: counted from the number after the youngest, the oldest
/// comes first.
fn sort_by_age(list: &mut VecDeque<u32>, youngest: u32) {
    list.make_contiguous().sort_unstable_by_key(|slot| slot.wrapping_sub(youngest.wrapping_add(1)));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    impl Ordered {
        /// Returns true if every entry is where the invariant requires it.
        fn is_sound(&self) -> bool {
            let taken: Vec<(usize, Entry)> =
                (0..).zip(self.entries.iter().copied()).filter(|(_, entry)| *entry != FREE).collect();
            let mut next = 0;
            taken.len() == self.taken
                && self.entries.last().is_none_or(|last| *last == FREE)
                && taken.windows(2).all(|pair| pair[0].1 < pair[1].1)
                && taken.iter().all(|(at, entry)| {
                    let expected = self.home(hash_of(*entry)).max(next);
                    next = at + 1;
                    *at == expected
                })
        }
    }

    proptest! {
        /// Inserts and removes in any order, with few hashes and with many, at both ends.
        #[test]
        fn holds_the_same_entries_as_a_set(
            events in prop::collection::vec((any::<bool>(), 0..40_usize, 0..30_u32), 0..600),
            hashes in prop::collection::vec(prop_oneof![any::<u32>(), Just(u32::MAX - 1), Just(0)], 40),
        ) {
            let (mut ordered, mut set) = (Ordered::default(), BTreeSet::new());
            for (add, hash, slot) in events {
                let hash = hashes[hash].min(u32::MAX - 1);
                let entry = entry(hash, slot);
                if add {
                    if set.insert(entry) {
                        ordered.insert(entry);
                    }
                } else {
                    prop_assert_eq!(ordered.remove(entry), set.remove(&entry));
                }
                prop_assert!(ordered.is_sound());
                let under: Vec<u32> = set.iter().filter(|entry| hash_of(**entry) == hash).map(|e| slot_of(*e)).collect();
                prop_assert_eq!(ordered.get(hash).collect::<Vec<_>>(), under);
            }
            let all: Vec<Entry> = set.into_iter().collect();
            prop_assert_eq!(ordered.len(), all.len());
            prop_assert_eq!(ordered.iter().collect::<Vec<_>>(), all.clone());
            let rebuilt = Ordered::from_sorted(&all);
            prop_assert!(rebuilt.is_sound());
            prop_assert_eq!(rebuilt.iter().collect::<Vec<_>>(), all);
        }
    }

    /// A list that grew, was emptied and grew again takes the same memory as at first, and almost none in
    /// between.
    #[test]
    fn memory_of_a_list_is_given_back() {
        let mut overflow = OverflowLists::default();
        overflow.insert(7, vec![0], 0);
        let mut length = None;
        (1..20_000).for_each(|slot| length = overflow.push(7, slot));
        let full = overflow.bytes();
        assert!(!overflow.remove(7, 1), "not the oldest");
        (0..19_999).for_each(|slot| assert!(overflow.remove(7, slot)));
        assert!(overflow.bytes() < 200, "{} bytes", overflow.bytes());
        (20_000..39_999).for_each(|slot| length = overflow.push(7, slot));
        assert!(overflow.bytes() < full + full / 4, "{} bytes, {full} at first", overflow.bytes());
        assert_eq!(length, Some(20_000));
    }
}
