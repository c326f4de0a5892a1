//! What did not fit into buckets: a list for each, all in one arena.
//!
//! How much room a list has follows from its length, so a bucket needs to know no more than where
//! it begins and how long it is. Lists that outgrow their room move to the arena's end. What they
//! leave behind is free until a quarter of the arena is: then all lists move to a new one.
//!
//! Of a long list the arena notes where each one stands, so that eviction need not search it: the
//! order in which fingerprints came is lost when the last one takes the place of one that leaves.

use super::spread;
use leitong_base::hashed::HashedMap;

/// Values in a cache bucket, and buckets of a list that are fetched ahead.
const LINE: usize = 16;
const TOUCHED_LINES: usize = 16;

/// Fingerprints from which on a list is long.
const LONG: u32 = 64;

/// What is looked for: values that differ from `bits` in few of the bits of `mask`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) bits: u32,
    pub(super) mask: u32,
    /// In how many at most.
    pub(super) max_distance: u32,
}

impl Wanted {
    #[inline(always)]
    pub(super) fn is_near(self, other: u32) -> bool {
        ((other ^ self.bits) & self.mask).count_ones() <= self.max_distance
    }
}

/// What does not fit into a bucket.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spill {
    /// Where in the arena it begins.
    pub(super) start: u32,
    /// Fingerprints in it.
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
    /// Places that no list has room in.
    free: usize,
    /// By slot: which one of its list it is, for those in long lists.
    places: HashedMap<u32>,
    /// Places that were looked at to find what is to be removed.
    #[cfg(test)]
    visited: usize,
}

impl Spills {
    /// Adds to a list.
    pub(super) fn push(&mut self, spill: &mut Spill, bits: u32, slot: u32) {
        let length = spill.length;
        if room(length) == length {
            let old = spill.range();
            self.free += old.len();
            self.reserve(room(length + 1) as usize);
            spill.start =
                u32::try_from(self.bits.len()).expect("a piece of an index has fewer than 2^32 entries");
            for values in [&mut self.bits, &mut self.slots] {
                values.extend_from_within(old.clone());
                values.resize(spill.start as usize + room(length + 1) as usize, 0);
            }
        }
        let at = (spill.start + length) as usize;
        (self.bits[at], self.slots[at]) = (bits, slot);
        spill.length += 1;
        if spill.length == LONG {
            self.note_places(*spill);
        } else if spill.length > LONG {
            self.places.insert(spread(slot.into()), length);
        }
    }

    /// Takes the last one from a list.
    pub(super) fn pop(&mut self, spill: &mut Spill) -> Option<(u32, u32)> {
        let last = spill.range().last()?;
        if spill.length == LONG {
            self.forget_places(*spill);
        } else if spill.length > LONG {
            self.places.remove(&spread(self.slots[last].into()));
        }
        spill.length -= 1;
        self.free += (room(spill.length + 1) - room(spill.length)) as usize;
        Some((self.bits[last], self.slots[last]))
    }

    /// Takes `slot` from a list; false if it is not there.
    pub(super) fn remove(&mut self, spill: &mut Spill, slot: u32) -> bool {
        let Some(place) = self.place_of(*spill, slot) else { return false };
        let Some(last) = self.pop(spill) else { return false };
        if place < spill.length {
            let at = (spill.start + place) as usize;
            (self.bits[at], self.slots[at]) = last;
            if spill.length >= LONG {
                self.places.remove(&spread(slot.into()));
                self.places.insert(spread(last.1.into()), place);
            }
        }
        true
    }

    /// Which one of this list `slot` is.
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

    /// Notes where each one of a list stands that has become long.
    fn note_places(&mut self, spill: Spill) {
        let slots = self.slots[spill.range()].iter();
        self.places.extend(slots.zip(0..).map(|(slot, place)| (spread((*slot).into()), place)));
    }

    /// Forgets where those of a list stand that is no longer long.
    fn forget_places(&mut self, spill: Spill) {
        for slot in &self.slots[spill.range()] {
            self.places.remove(&spread((*slot).into()));
        }
        if self.places.len() * 4 < self.places.capacity() {
            self.places.shrink_to(self.places.len() * 2);
        }
    }

    /// Gives up a list.
    pub(super) fn drop(&mut self, spill: Spill) {
        self.free += room(spill.length) as usize;
        if spill.length >= LONG {
            self.forget_places(spill);
        }
    }

    /// Whether enough is free to move all lists with [`Self::take_over`].
    pub(super) fn is_sparse(&self) -> bool {
        self.free * 4 > self.bits.len() && self.free > 16
    }

    /// An empty arena with room for all lists of this one.
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
            self.note_places(spill);
        }
        spill
    }

    /// Fetches the first bucket of a list.
    #[inline(always)]
    pub(super) fn prefetch(&self, spill: Spill) -> u32 {
        self.bits.get(spill.start as usize).copied().unwrap_or(0)
    }

    /// Fetches some buckets more of a long list; the
    /// processor sees by itself that the rest follows.
    #[inline(always)]
    pub(super) fn prefetch_more(&self, spill: Spill) -> u32 {
        let buckets = (spill.length as usize).div_ceil(LINE).min(TOUCHED_LINES);
        let bucket = |bucket| self.bits.get(spill.start as usize + bucket * LINE).copied().unwrap_or(0);
        (1..buckets).fold(0, |touched, number| touched ^ bucket(number))
    }

    /// Calls `found` with the places of what may be near.
    #[inline(always)]
    pub(super) fn find(&self, spill: Spill, wanted: Wanted, mut found: impl FnMut(u32)) {
        let mut first = spill.start;
        let (some, rest) = self.bits[spill.range()].as_chunks::<8>();
        for some in some {
            // Whether any of them is near takes no branch each.
            let mut any = false;
            for other in some {
                any |= wanted.is_near(*other);
            }
            if any {
                find_in(first, some, wanted, &mut found);
            }
            first += some.len() as u32;
        }
        find_in(first, rest, wanted, &mut found);
    }

    /// The slot at a place.
    #[inline(always)]
    pub(super) fn slot(&self, at: u32) -> u32 {
        self.slots[at as usize]
    }

    /// A list.
    pub(super) fn iter(&self, spill: Spill) -> impl Iterator<Item = (u32, u32)> + '_ {
        spill.range().map(|at| (self.bits[at], self.slots[at]))
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        (self.bits.capacity() + self.slots.capacity()) * 4 + self.places.capacity() * 16
    }

    /// Makes room for so many more: by an eighth and not to double.
    fn reserve(&mut self, more: usize) {
        let length = self.bits.len();
        if length + more > self.bits.capacity() {
            self.bits.reserve_exact(length / 8 + more);
            self.slots.reserve_exact(length / 8 + more);
        }
    }
}

#[inline(always)]
fn find_in(first: u32, some: &[u32], wanted: Wanted, found: &mut impl FnMut(u32)) {
    for (at, other) in (first..).zip(some) {
        if wanted.is_near(*other) {
            found(at);
        }
    }
}

/// For how many a list of this length has room: a quarter more at most, from sixteen on.
#[inline]
fn room(length: u32) -> u32 {
    length.next_multiple_of((length.next_power_of_two() / 8).max(4))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn holds_what_lists_hold(steps in prop::collection::vec((0..4_usize, 0..3_u8, any::<u32>()), 0..2_000)) {
            let mut spills = Spills::default();
            let mut handles = [Spill::default(); 4];
            let mut lists: [Vec<(u32, u32)>; 4] = Default::default();
            for (slot, (list, what, bits)) in (0..).zip(steps) {
                let (handle, naive) = (&mut handles[list], &mut lists[list]);
                // Mostly pushes, so that lists pass several sizes; runs of pops bring them back.
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
                // What the naive list holds in another order is the same to pop.
                lists[list] = spills.iter(handles[list]).collect();
                let taken: usize = handles.iter().map(|handle| room(handle.length) as usize).sum();
                prop_assert_eq!(taken + spills.free, spills.bits.len());
            }
        }
    }

    /// Taking out one after the other of a long list looked at all that had come later: a
    /// table at its cap took time in proportion to the square of what stands under one key.
    #[test]
    fn eviction_does_not_search_a_long_list() {
        let visited_at = |cap: u32| {
            let (mut spills, mut lists) = (Spills::default(), [Spill::default(); 2]);
            // Two lists in turn, as two keys may share a piece.
            let list = |slot: u32| (slot % 2) as usize;
            (0..cap).for_each(|slot| spills.push(&mut lists[list(slot)], 0, slot));
            // At its cap, then fewer and fewer, then more
            // and more, and at last until nothing is left.
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
        assert!(once.0 && once.2 == 0, "all have left, and nothing is noted of them");
        assert!(twice.1 <= once.1, "{} and {} places looked at", once.1, twice.1);
    }

    #[test]
    fn room_is_a_quarter_more_at_most() {
        assert_eq!([0, 1, 4, 5, 16, 17, 33, 65].map(room), [0, 4, 4, 8, 16, 20, 40, 80]);
        assert!((16..10_000).all(|length| (length..=length + length / 4).contains(&room(length))));
    }
}
