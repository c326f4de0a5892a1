//! The entries of a segment that are in none of its groups: hash → slots, 8 bytes per entry.
//!
//! This is an open-addressing table whose entries are sorted by hash. Each entry is at its home, which is in
//! proportion to its hash, or after the entries before it. So a look-up ends at the first greater hash, and
//! entries in a range of hashes are neighbours. The table is at most three quarters full.

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
}
