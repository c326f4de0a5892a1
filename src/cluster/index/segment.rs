//! A piece of the key index: 32-bit hash → slots, in entries of 8 bytes.
//!
//! An open-addressing table in which entries stand in the order of their hashes: each at its home,
//! which is in proportion to the hash, or after the entries before it. So a look-up ends at the
//! first greater hash, a longer table is filled in one pass, and the table may be nearly full: 15
//! of 16 at most, 13 of 16 when it has grown.
//!
//! A hash with many slots (a passage that half of a site shares) would
//! push its neighbours far from their homes: one with more than
//! [`SLOTS_MAX`] keeps them in an [overflow list](Overflow) of its own.

use super::keys::is_wide;
use super::overflow::Overflow;
use crate::fingerprint::SecondKey;
use crate::hashed::HashedMap;

/// Slots under one hash that the table itself holds.
const SLOTS_MAX: usize = 16;
/// What a segment holds at first.
const SMALLEST: usize = 16;
/// Room for entries that do not fit before the end.
const ROOM: usize = 64;

/// The hash in the upper half, the slot in the lower one.
pub(super) type Entry = u64;
const FREE: Entry = Entry::MAX;

/// How far apart the second keys are at most of what is to be found under the key of this hash.
fn distance_under(hash: u32, second: Option<SecondKey>) -> Option<u32> {
    second.map(|second| second.distance_under(is_wide(hash)))
}

/// The keys whose hashes begin with the same bits.
#[derive(Debug, Default)]
pub(super) struct Segment {
    /// As many homes as [`Self::homes`] says, and behind
    /// them room for what does not fit before the end.
    entries: Vec<Entry>,
    homes: usize,
    taken: usize,
    /// The slots of hashes that came to have more than [`SLOTS_MAX`].
    overflow: HashedMap<Overflow>,
}

impl Segment {
    /// Enters `slot`, which is younger than all others, under `hash`, which is below
    /// `u32::MAX`. For its second key, and those of others here, see [`Overflow::push`].
    pub(super) fn insert(
        &mut self,
        hash: u32,
        slot: u32,
        second: Option<SecondKey>,
        second_of: &(impl Fn(u32) -> u64 + Sync),
    ) {
        if let Some(overflow) = self.overflow_mut(hash) {
            overflow.push(slot, distance_under(hash, second), second_of);
            return;
        }
        if (self.taken + 1) * 16 > self.homes * 15 {
            self.grow();
        }
        let entry = entry(hash, slot);
        let mut at = self.first_from(hash);
        let first = at;
        while self.entries[at] < entry {
            at += 1;
        }
        if self.is_full(hash, first) {
            self.move_out(hash, first, slot);
            return;
        }
        let free = (at..).find(|free| self.entries.get(*free).is_none_or(|entry| *entry == FREE));
        let free = free.expect("the range has no end");
        if free + 1 >= self.entries.len() {
            // The last entry is always free, so that every walk ends.
            self.entries.reserve_exact(ROOM);
            self.entries.push(FREE);
        }
        self.entries.copy_within(at..free, at + 1);
        self.entries[at] = entry;
        self.taken += 1;
    }

    /// Enters many at once: `new` is in order, and its slots are younger than all others and do not
    /// wrap around. The table is made anew in one pass, which pays where `new` is not much shorter
    /// than what is here.
    pub(super) fn insert_all(
        &mut self,
        new: &[Entry],
        second: Option<SecondKey>,
        second_of: &(impl Fn(u32) -> u64 + Sync),
    ) {
        let old = std::mem::take(&mut self.entries);
        let mut old = old.iter().copied().filter(|entry| *entry != FREE).peekable();
        let mut all = Vec::with_capacity(self.taken + new.len());
        for new in new.chunk_by(|a, b| hash_of(*a) == hash_of(*b)) {
            let hash = hash_of(new[0]);
            while let Some(before) = old.next_if(|entry| hash_of(*entry) < hash) {
                all.push(before);
            }
            let first = all.len();
            while let Some(same) = old.next_if(|entry| hash_of(*entry) == hash) {
                all.push(same);
            }
            let is_overflow = self.overflow(hash).is_some();
            let fit = if is_overflow { 0 } else { SLOTS_MAX - (all.len() - first) };
            if new.len() <= fit {
                all.extend_from_slice(new);
                // Slots that were entered before the number wrapped around are greater.
                all[first..].sort_unstable();
                continue;
            }
            let slots = all.drain(first..).chain(new.iter().copied()).map(slot_of);
            let mut slots = slots.collect::<Vec<u32>>().into_iter();
            let overflow = self
                .overflow
                .entry(u64::from(hash))
                .or_insert_with(|| Overflow::new(slots.by_ref().take(SLOTS_MAX + 1).collect()));
            slots.for_each(|slot| overflow.push(slot, distance_under(hash, second), second_of));
        }
        all.extend(old);
        self.taken = all.len();
        self.fill(self.homes.max(self.taken * 16 / 15 + SMALLEST), all.into_iter());
    }

    /// Takes out `slot`, the oldest, which was entered under `hash` with the second key `second`.
    pub(super) fn remove(&mut self, hash: u32, slot: u32, second: u64) {
        if let Some(overflow) = self.overflow_mut(hash) {
            overflow.remove(slot, second);
            if overflow.len() == 0 {
                self.overflow.remove(&u64::from(hash));
                if self.overflow.len() * 4 < self.overflow.capacity() {
                    self.overflow.shrink_to(self.overflow.len() * 2);
                }
            }
            return;
        }
        let wanted = entry(hash, slot);
        let from = self.first_from(hash);
        let Some(at) = self.entries.get(from..).and_then(|rest| {
            rest.iter().take_while(|entry| **entry <= wanted).position(|entry| *entry == wanted)
        }) else {
            return;
        };
        self.take_out(from + at, 1);
        if self.taken * 2 < self.homes && self.homes > SMALLEST {
            self.resize(self.taken * 16 / 15 + SMALLEST);
        }
    }

    /// The slots under `hash`, but for those of an [overflow list](Self::overflow).
    #[inline]
    pub(super) fn get(&self, hash: u32) -> impl Iterator<Item = u32> + '_ {
        let from = self.first_from(hash);
        let rest = self.entries.get(from..).unwrap_or_default();
        let here = rest.iter().take_while(move |entry| hash_of(**entry) == hash);
        here.map(|entry| slot_of(*entry))
    }

    /// The overflow list of `hash`, if there is one.
    #[inline]
    pub(super) fn overflow(&self, hash: u32) -> Option<&Overflow> {
        if self.overflow.is_empty() { None } else { self.overflow.get(&u64::from(hash)) }
    }

    /// Reads the place where `hash` would stand, so that it is in the cache when it is asked for.
    #[inline]
    pub(super) fn prefetch(&self, hash: u32) -> u64 {
        self.entries.get(self.home(hash)).copied().unwrap_or(0)
    }

    /// Entries, but for those of overflow lists.
    pub(super) fn taken(&self) -> usize {
        self.taken
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        let overflow = self.overflow.values().map(|overflow| 16 + overflow.bytes()).sum::<usize>();
        self.entries.capacity() * size_of::<Entry>() + overflow
    }

    #[inline]
    fn overflow_mut(&mut self, hash: u32) -> Option<&mut Overflow> {
        if self.overflow.is_empty() { None } else { self.overflow.get_mut(&u64::from(hash)) }
    }

    /// Whether `hash`, whose first entry is at `first`, has
    /// as many slots as the table holds of one hash.
    #[inline]
    fn is_full(&self, hash: u32, first: usize) -> bool {
        self.entries.get(first + SLOTS_MAX - 1).is_some_and(|last| hash_of(*last) == hash)
    }

    /// Moves the entries of `hash`, which begin at `first`,
    /// into a list of their own, and adds `slot`.
    fn move_out(&mut self, hash: u32, first: usize, slot: u32) {
        let mut slots: Vec<u32> = self.get(hash).collect();
        let length = slots.len();
        slots.push(slot);
        self.take_out(first, length);
        self.overflow.insert(u64::from(hash), Overflow::new(slots));
    }

    /// Where the first entry of `hash` stands or would stand.
    #[inline]
    fn first_from(&self, hash: u32) -> usize {
        let mut at = self.home(hash);
        while self.entries.get(at).is_some_and(|entry| hash_of(*entry) < hash) {
            at += 1;
        }
        at
    }

    #[inline]
    fn home(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.homes as u64) >> 32) as usize
    }

    /// Takes `length` entries out from `at` on, and moves up those behind that are not at home.
    fn take_out(&mut self, at: usize, length: usize) {
        self.taken -= length;
        self.entries[at..at + length].fill(FREE);
        let mut free = at;
        for from in at + length.. {
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

    fn grow(&mut self) {
        self.resize(self.homes + (self.homes / 8).max(SMALLEST));
    }

    fn resize(&mut self, homes: usize) {
        let entries = std::mem::take(&mut self.entries);
        self.fill(homes, entries.into_iter().filter(|entry| *entry != FREE));
    }

    /// Makes the table anew, of these entries, which are in order.
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

/// The entry of `slot` under `hash`.
#[inline]
pub(super) fn entry(hash: u32, slot: u32) -> Entry {
    u64::from(hash) << 32 | u64::from(slot)
}

#[inline]
fn hash_of(entry: Entry) -> u32 {
    (entry >> 32) as u32
}

#[inline]
fn slot_of(entry: Entry) -> u32 {
    entry as u32
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    const SECOND: Option<SecondKey> = Some(SecondKey { max_distance: 16, wide_distance: 24, of: |_| 0 });

    impl Segment {
        /// All slots under `hash`, whatever their second key.
        fn all(&self, hash: u32) -> Vec<u32> {
            let mut found: Vec<u32> = self.get(hash).collect();
            if let Some(overflow) = self.overflow(hash) {
                overflow.find(0, |slot| found.push(slot));
            }
            found.sort_unstable();
            found
        }

        /// Whether every entry stands where the invariant wants it.
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
        /// Any order of insertions and removals, with few hashes
        /// (crowds) and with many (growth), at both ends of a segment.
        #[test]
        fn holds_what_a_map_holds(
            events in prop::collection::vec((any::<bool>(), 0..4_u32, 0..40_u32), 0..900),
            hashes in prop::collection::vec(prop_oneof![any::<u32>(), Just(u32::MAX - 1), Just(0)], 40),
        ) {
            let mut segment = Segment::default();
            let second = |slot: u32| u64::from(slot).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut map = std::collections::HashMap::<u32, VecDeque<u32>>::new();
            for (slot, (insert, few, many)) in (0..).zip(events) {
                let hash = hashes[if slot % 3 == 0 { few } else { many } as usize].min(u32::MAX - 1);
                let slots = map.entry(hash).or_default();
                if insert || slots.is_empty() {
                    segment.insert(hash, slot, SECOND, &second);
                    slots.push_back(slot);
                } else if let Some(oldest) = slots.pop_front() {
                    segment.remove(hash, oldest, second(oldest));
                }
                prop_assert_eq!(segment.all(hash), map[&hash].iter().copied().collect::<Vec<_>>());
                prop_assert!(segment.is_sound());
            }
            let overflow: usize = segment.overflow.values().map(Overflow::len).sum();
            prop_assert_eq!(segment.taken + overflow, map.values().map(VecDeque::len).sum::<usize>());
            for (hash, slots) in map {
                prop_assert_eq!(segment.all(hash), Vec::from(slots));
                segment.remove(hash, u32::MAX, 0); // what is not there
            }
        }
    }

    proptest! {
        /// Entered all at once, in batches of any length, or one after the other: the same is found.
        #[test]
        fn many_at_once_are_what_one_after_the_other_is(
            batches in prop::collection::vec(prop::collection::vec(0..60_usize, 0..400), 1..6),
            hashes in prop::collection::vec(prop_oneof![any::<u32>(), Just(u32::MAX - 1), Just(0)], 60),
            gone in 0..300_u32,
        ) {
            let (mut at_once, mut one_by_one) = (Segment::default(), Segment::default());
            let second = |slot: u32| u64::from(slot).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            // A third under one hash, so that some lists overflow.
            let hash = |at: usize| hashes[if at.is_multiple_of(3) { 0 } else { at }].min(u32::MAX - 1);
            let mut slots = 0..;
            let mut entered = Vec::new();
            for batch in &batches {
                let new: Vec<(u32, u32)> = batch.iter().map(|at| hash(*at)).zip(slots.by_ref()).collect();
                new.iter().for_each(|(hash, slot)| one_by_one.insert(*hash, *slot, SECOND, &second));
                let mut entries: Vec<Entry> = new.iter().map(|(hash, slot)| entry(*hash, *slot)).collect();
                entries.sort_unstable();
                at_once.insert_all(&entries, SECOND, &second);
                entered.extend(new);
                prop_assert!(at_once.is_sound());
                prop_assert_eq!(at_once.taken, one_by_one.taken);
            }
            for (hash, slot) in entered.iter().take(gone as usize) {
                at_once.remove(*hash, *slot, second(*slot));
                one_by_one.remove(*hash, *slot, second(*slot));
            }
            for at in 0..hashes.len() {
                prop_assert_eq!(at_once.all(hash(at)), one_by_one.all(hash(at)));
            }
            prop_assert!(at_once.is_sound());
        }
    }

    /// What comes in at one end and leaves at the other, for ten times
    /// the size, does not make it grow; and when all leave, it shrinks.
    #[test]
    fn at_its_cap_it_keeps_its_size() {
        let mut segment = Segment::default();
        let hash = |slot: u32| slot.wrapping_mul(0x9e37_79b1).min(u32::MAX - 1);
        let cap = 20_000;
        let second = |_| 0;
        (0..cap).for_each(|slot| segment.insert(hash(slot), slot, None, &second));
        let full = segment.bytes();
        for slot in cap..10 * cap {
            segment.remove(hash(slot - cap), slot - cap, 0);
            segment.insert(hash(slot), slot, None, &second);
        }
        assert!(segment.bytes() <= full + full / 8, "{} bytes, {full} when full", segment.bytes());
        assert!(full < cap as usize * 11, "{full} bytes for {cap} entries");
        assert!(segment.get(hash(10 * cap - 1)).any(|slot| slot == 10 * cap - 1));
        (9 * cap..10 * cap).for_each(|slot| segment.remove(hash(slot), slot, 0));
        assert!(segment.taken == 0 && segment.bytes() < 2_000, "{} bytes", segment.bytes());
    }
}
