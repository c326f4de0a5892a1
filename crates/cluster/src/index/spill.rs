//! Spills of the Hamming index: lists of fingerprints that did not fit into their bucket, all in one arena.
//!
//! The capacity of a list follows from its length, so a bucket stores only the start and length of its list.
//! Lists that outgrow their capacity move to the end of the arena. The room that they leave stays free until
//! it is a quarter of the arena; then all lists move to a new arena.
//!
//! For long lists, the arena stores the position of each slot, so eviction need not search the list.
//! Positions do not follow from the order of insertion, because the last fingerprint takes the place of a
//! removed one.

use super::batch::spread;
use leitong_base::hashed::HashedMap;

/// Number of values in a cache line.
const LINE: usize = 16;
/// Maximum number of cache lines of a list that are prefetched.
const TOUCHED_LINES: usize = 16;

/// Minimum length of a long list.
const LONG: u32 = 64;

/// A query: finds values that differ from `bits` in few of the bits of `mask`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prefilter {
    pub(super) bits: u32,
    pub(super) mask: u32,
    /// Maximum number of bits that differ.
    pub(super) max_distance: u32,
}

impl Prefilter {
    #[inline(always)]
    pub(super) fn is_near(self, other: u32) -> bool {
        ((other ^ self.bits) & self.mask).count_ones() <= self.max_distance
    }
}

/// The spill of one bucket.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spill {
    /// The start of the list in the arena.
    pub(super) start: u32,
    /// Number of fingerprints.
    pub(super) length: u32,
}

impl Spill {
    #[inline(always)]
    fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.length as usize
    }
}

/// The arena.
#[derive(Debug, Default)]
pub(super) struct Spills {
    bits: Vec<u32>,
    slots: Vec<u32>,
    /// Number of places outside of all lists.
    free: usize,
    /// For slots in long lists, their position in the list.
    places: HashedMap<u32>,
    /// Number of places that were searched for slots to remove.
    #[cfg(test)]
    visited: usize,
}

impl Spills {
    /// Appends to a list.
    pub(super) fn push(&mut self, spill: &mut Spill, bits: u32, slot: u32) {
        let length = spill.length;
        if room(length) == length {
            let old = spill.range();
            self.free += old.len();
            self.reserve(room(length + 1) as usize);
            spill.start = start_of(self.bits.len(), room(length + 1));
            for values in [&mut self.bits, &mut self.slots] {
                values.extend_from_within(old.clone());
                values.resize(spill.start as usize + room(length + 1) as usize, 0);
            }
        }
        let at = spill.start as usize + length as usize;
        (self.bits[at], self.slots[at]) = (bits, slot);
        spill.length += 1;
        if spill.length == LONG {
            self.add_places(*spill);
        } else if spill.length > LONG {
            self.places.insert(spread(slot.into()), length);
        }
    }

    /// Removes and returns the last fingerprint of a list.
    pub(super) fn pop(&mut self, spill: &mut Spill) -> Option<(u32, u32)> {
        let last = spill.range().last()?;
        if spill.length == LONG {
            self.remove_places(*spill);
        } else if spill.length > LONG {
            self.places.remove(&spread(self.slots[last].into()));
        }
        spill.length -= 1;
        self.free += (room(spill.length + 1) - room(spill.length)) as usize;
        Some((self.bits[last], self.slots[last]))
    }

    /// Removes `slot` from a list. Returns false if it is not in the list.
    pub(super) fn remove(&mut self, spill: &mut Spill, slot: u32) -> bool {
        let Some(place) = self.place_of(*spill, slot) else { return false };
        let Some(last) = self.pop(spill) else { return false };
        if place < spill.length {
            let at = spill.start as usize + place as usize;
            (self.bits[at], self.slots[at]) = last;
            if spill.length >= LONG {
                self.places.remove(&spread(slot.into()));
                self.places.insert(spread(last.1.into()), place);
            }
        }
        true
    }

    /// Returns the position of `slot` in this list.
    fn place_of(&mut self, spill: Spill, slot: u32) -> Option<u32> {
        let in_list = &self.slots[spill.range()];
        if spill.length >= LONG {
            let place = *self.places.get(&spread(slot.into()))?;
            return (in_list.get(place as usize) == Some(&slot)).then_some(place);
        }
        #[cfg(test)]
        {
            self.visited += in_list.len();
        }
        (0..).zip(in_list).find(|(_, other)| **other == slot).map(|(place, _)| place)
    }

    /// Stores the positions of the slots of a list that has become long.
    fn add_places(&mut self, spill: Spill) {
        let slots = self.slots[spill.range()].iter();
        self.places.extend(slots.zip(0..).map(|(slot, place)| (spread((*slot).into()), place)));
    }

    /// Discards the positions of the slots of a list that is no longer long.
    fn remove_places(&mut self, spill: Spill) {
        for slot in &self.slots[spill.range()] {
            self.places.remove(&spread((*slot).into()));
        }
        if self.places.len() * 4 < self.places.capacity() {
            self.places.shrink_to(self.places.len() * 2);
        }
    }

    /// Frees a list.
    pub(super) fn drop(&mut self, spill: Spill) {
        self.free += room(spill.length) as usize;
        if spill.length >= LONG {
            self.remove_places(spill);
        }
    }

    /// Returns true if enough room is free to move all lists with [`Self::take_over`].
    pub(super) fn is_sparse(&self) -> bool {
        self.free * 4 > self.bits.len() && self.free > 16
    }

    /// Creates an empty arena with room for all lists of this one.
    pub(super) fn successor(&self) -> Self {
        let mut successor = Self::default();
        successor.reserve(self.bits.len() - self.free);
        successor
    }

    /// Moves a list of another arena to this one.
    pub(super) fn take_over(&mut self, spill: Spill, from: &Self) -> Spill {
        let start = self.bits.len();
        let end = start + room(spill.length) as usize;
        for (to, from) in [(&mut self.bits, &from.bits), (&mut self.slots, &from.slots)] {
            to.extend_from_slice(&from[spill.range()]);
            to.resize(end, 0);
        }
        let spill = Spill { start: start as u32, ..spill };
        if spill.length >= LONG {
            self.add_places(spill);
        }
        spill
    }

    /// Prefetches the first cache line of a list.
    #[inline(always)]
    pub(super) fn prefetch(&self, spill: Spill) -> u32 {
        self.bits.get(spill.start as usize).copied().unwrap_or(0)
    }

    /// Prefetches more cache lines of a long list. The processor itself prefetches the rest.
    #[inline(always)]
    pub(super) fn prefetch_more(&self, spill: Spill) -> u32 {
        let buckets = (spill.length as usize).div_ceil(LINE).min(TOUCHED_LINES);
        let bucket = |bucket| self.bits.get(spill.start as usize + bucket * LINE).copied().unwrap_or(0);
        (1..buckets).fold(0, |touched, number| touched ^ bucket(number))
    }

    /// Calls `found` with the places of the fingerprints that may be near.
    #[inline(always)]
    pub(super) fn find(&self, spill: Spill, prefilter: Prefilter, mut found: impl FnMut(u32)) {
        let mut first = spill.start;
        let (some, rest) = self.bits[spill.range()].as_chunks::<8>();
        for some in some {
            // One branch for all 8 fingerprints instead of one for each.
            let mut any = false;
            for other in some {
                any |= prefilter.is_near(*other);
            }
            if any {
                find_in(first, some, prefilter, &mut found);
            }
            first += some.len() as u32;
        }
        find_in(first, rest, prefilter, &mut found);
    }

    /// Returns the slot at a place.
    #[inline(always)]
    pub(super) fn slot(&self, at: u32) -> u32 {
        self.slots[at as usize]
    }

    /// Returns the fingerprints of a list.
    pub(super) fn iter(&self, spill: Spill) -> impl Iterator<Item = (u32, u32)> + '_ {
        spill.range().map(|at| (self.bits[at], self.slots[at]))
    }

    /// Returns the bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        (self.bits.capacity() + self.slots.capacity()) * 4 + self.places.capacity() * 16
    }

    /// Makes room for this many more. Grows by an eighth instead of doubling.
    fn reserve(&mut self, more: usize) {
        let length = self.bits.len();
        if length + more > self.bits.capacity() {
            self.bits.reserve_exact(length / 8 + more);
            self.slots.reserve_exact(length / 8 + more);
        }
    }
}

#[inline(always)]
fn find_in(first: u32, some: &[u32], prefilter: Prefilter, found: &mut impl FnMut(u32)) {
    for (at, other) in (first..).zip(some) {
        if prefilter.is_near(*other) {
            found(at);
        }
    }
}

/// Returns the start of a list with this capacity that begins at `place`.
///
/// # Panics
/// Panics if the list does not end before place 2^32, because entries are found by their places.
fn start_of(place: usize, capacity: u32) -> u32 {
    let start = u32::try_from(place).ok().filter(|start| start.checked_add(capacity).is_some());
    start.expect(
        "a piece of an index has fewer than 2^32 entries; keep fewer centroids (expiry.centroids_max)",
    )
}

/// Returns the capacity of a list of this length: at most a quarter more than the length, from sixteen on.
#[inline]
fn room(length: u32) -> u32 {
    length.next_multiple_of((length.next_power_of_two() / 8).max(4))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    #[should_panic(expected = "fewer than 2^32 entries")]
    fn a_list_that_would_end_after_the_last_place_is_an_error() {
        assert_eq!(start_of(u32::MAX as usize - 8, 8), u32::MAX - 8);
        start_of(u32::MAX as usize - 8, 12);
    }

    proptest! {
        #[test]
        fn holds_what_lists_hold(steps in prop::collection::vec((0..4_usize, 0..3_u8, any::<u32>()), 0..2_000)) {
            let mut spills = Spills::default();
            let mut handles = [Spill::default(); 4];
            let mut lists: [Vec<(u32, u32)>; 4] = Default::default();
            for (slot, (list, what, bits)) in (0..).zip(steps) {
                let (handle, naive) = (&mut handles[list], &mut lists[list]);
                // Mostly pushes, so lists pass several sizes; runs of pops shrink them again.
                match what {
                    0 | 1 if slot % 700 < 500 => {
                        spills.push(handle, bits, slot);
                        naive.push((bits, slot));
                    }
                    2 if !naive.is_empty() => {
                        let (_, gone) = naive.swap_remove(bits as usize % naive.len());
                        prop_assert!(spills.remove(handle, gone));
                        prop_assert!(!spills.remove(handle, gone));
                    }
                    _ if slot % 97 == 0 => {
                        spills.drop(*handle);
                        *handle = Spill::default();
                        naive.clear();
                    }
                    _ => prop_assert_eq!(spills.pop(handle).is_some(), naive.pop().is_some()),
                }
                if spills.is_sparse() {
                    let mut successor = spills.successor();
                    handles = handles.map(|handle| successor.take_over(handle, &spills));
                    prop_assert_eq!(successor.free, 0);
                    spills = successor;
                }
                let mut found: Vec<(u32, u32)> = spills.iter(handles[list]).collect();
                let mut expected = lists[list].clone();
                found.sort_unstable();
                expected.sort_unstable();
                prop_assert_eq!(found, expected);
                // The naive list may have another order. It takes over that of the spill, so both pop the same.
                lists[list] = spills.iter(handles[list]).collect();
                let taken: usize = handles.iter().map(|handle| room(handle.length) as usize).sum();
                prop_assert_eq!(taken + spills.free, spills.bits.len());
            }
        }
    }

    /// Removing a slot must not search a long list. Otherwise a table at its cap would take time proportional to the
    /// square of the number of slots under one key.
    #[test]
    fn eviction_does_not_search_a_long_list() {
        let visited_at = |cap: u32| {
            let (mut spills, mut lists) = (Spills::default(), [Spill::default(); 2]);
            // Two lists in turn, because two keys may share a piece.
            let list = |slot: u32| (slot % 2) as usize;
            (0..cap).for_each(|slot| spills.push(&mut lists[list(slot)], 0, slot));
            // At its cap, then shrinking, then growing, and at last until it is empty.
            let (mut oldest, mut end) = (0, cap);
            for (remove, insert, rounds) in
                [(1, 1, 5 * cap), (2, 1, cap / 2), (1, 2, cap / 4), (1, 0, 3 * cap / 4)]
            {
                for _ in 0..rounds {
                    for _ in 0..remove {
                        assert!(spills.remove(&mut lists[list(oldest)], oldest));
                        oldest += 1;
                    }
                    for _ in 0..insert {
                        spills.push(&mut lists[list(end)], 0, end);
                        end += 1;
                    }
                }
            }
            assert_eq!(end - oldest, lists[0].length + lists[1].length);
            (lists.iter().map(|list| list.length).sum::<u32>() == 0, spills.visited, spills.places.len())
        };
        let (once, twice) = (visited_at(2_000), visited_at(4_000));
        assert!(once.0 && once.2 == 0, "all have left, and no positions remain");
        assert!(twice.1 <= once.1, "{} and {} places searched", once.1, twice.1);
    }

    #[test]
    fn room_is_a_quarter_more_at_most() {
        assert_eq!([0, 1, 4, 5, 16, 17, 33, 65].map(room), [0, 4, 4, 8, 16, 20, 40, 80]);
        assert!((16..10_000).all(|length| (length..=length + length / 4).contains(&room(length))));
    }
}
