//! What did not fit into lines: a list for each, all in one arena.
//!
//! How much room a list has follows from its length, so a line needs to know no more than where it begins and how long
//! it is. Lists that outgrow their room move to the arena's end. What they leave behind is free until a quarter of the arena
//! is: then all lists move to a new one.

/// Values in a cache line, and lines of a list that are fetched ahead.
const LINE: usize = 16;
const TOUCHED_LINES: usize = 16;

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

/// What does not fit into a line.
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
    }

    /// Takes the last one from a list.
    pub(super) fn pop(&mut self, spill: &mut Spill) -> Option<(u32, u32)> {
        let last = spill.range().last()?;
        spill.length -= 1;
        self.free += (room(spill.length + 1) - room(spill.length)) as usize;
        Some((self.bits[last], self.slots[last]))
    }

    /// Takes `slot` from a list; false if it is not there.
    pub(super) fn remove(&mut self, spill: &mut Spill, slot: u32) -> bool {
        let Some(at) = spill.range().find(|at| self.slots[*at] == slot) else { return false };
        let Some(last) = self.pop(spill) else { return false };
        (self.bits[at], self.slots[at]) = last;
        true
    }

    /// Gives up a list.
    pub(super) fn drop(&mut self, spill: Spill) {
        self.free += room(spill.length) as usize;
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
        Spill { start: start as u32, ..spill }
    }

    /// Fetches the first line of a list.
    #[inline(always)]
    pub(super) fn touch(&self, spill: Spill) -> u32 {
        self.bits.get(spill.start as usize).copied().unwrap_or(0)
    }

    /// Fetches some lines more of a long list; the processor sees by itself that the rest follows.
    #[inline(always)]
    pub(super) fn touch_more(&self, spill: Spill) -> u32 {
        let lines = (spill.length as usize).div_ceil(LINE).min(TOUCHED_LINES);
        let line = |line| self.bits.get(spill.start as usize + line * LINE).copied().unwrap_or(0);
        (1..lines).fold(0, |touched, number| touched ^ line(number))
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
        (self.bits.capacity() + self.slots.capacity()) * 4
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

    #[test]
    fn room_is_a_quarter_more_at_most() {
        assert_eq!([0, 1, 4, 5, 16, 17, 33, 65].map(room), [0, 4, 4, 8, 16, 20, 40, 80]);
        assert!((16..10_000).all(|length| (length..=length + length / 4).contains(&room(length))));
    }
}
