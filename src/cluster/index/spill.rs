//! What did not fit into lines: a list for each, all in one arena.
//!
//! How much room a list has follows from its length, so a line needs to know no more than where it begins and how long
//! it is. Lists that outgrow their room move; rooms that become free are used again by lists of that length.

use std::collections::BTreeMap;

/// Lists up to this length have room for an even number.
const SHORT: u32 = 8;

/// Where a line's list is, and how many fingerprints the line itself holds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spill {
    start: u32,
    /// The list's length times 8, and the line's own count, which is 7 at most.
    counts: u32,
}

impl Spill {
    /// Fingerprints in the line itself.
    #[inline(always)]
    pub(super) fn line_count(self) -> usize {
        (self.counts & 7) as usize
    }

    /// Sets that.
    pub(super) fn set_line_count(&mut self, count: usize) {
        self.counts = self.counts & !7 | count as u32;
    }

    /// All of it as one word.
    #[inline(always)]
    pub(super) fn raw(self) -> u64 {
        u64::from(self.start) << 32 | u64::from(self.counts)
    }

    #[inline(always)]
    fn length(self) -> u32 {
        self.counts >> 3
    }

    fn set_length(&mut self, length: u32) {
        self.counts = self.counts & 7 | length << 3;
    }

    #[inline(always)]
    fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.length() as usize
    }
}

/// The arena.
#[derive(Debug, Default)]
pub(super) struct Spills {
    bits: Vec<u64>,
    slots: Vec<u32>,
    /// Where rooms of each size are free.
    free: BTreeMap<u32, Vec<u32>>,
}

impl Spills {
    /// Adds to a list.
    pub(super) fn push(&mut self, spill: &mut Spill, bits: u64, slot: u32) {
        let length = spill.length();
        if room(length) <= length {
            self.move_to(spill, length + 1);
        }
        let at = (spill.start + length) as usize;
        (self.bits[at], self.slots[at]) = (bits, slot);
        spill.set_length(length + 1);
    }

    /// Takes the last one from a list.
    pub(super) fn pop(&mut self, spill: &mut Spill) -> Option<(u64, u32)> {
        let last = spill.range().last()?;
        let taken = (self.bits[last], self.slots[last]);
        let length = spill.length() - 1;
        spill.set_length(length);
        if room(length) < room(length + 1) {
            let old = *spill;
            self.move_to(spill, length);
            self.free.entry(room(length + 1)).or_default().push(old.start);
        }
        Some(taken)
    }

    /// Takes `slot` from a list; false if it is not there.
    pub(super) fn remove(&mut self, spill: &mut Spill, slot: u32) -> bool {
        let Some(at) = spill.range().find(|at| self.slots[*at] == slot) else { return false };
        let last = spill.range().end - 1;
        (self.bits[at], self.slots[at]) = (self.bits[last], self.slots[last]);
        self.pop(spill).is_some()
    }

    /// Fetches the beginning of a list.
    #[inline(always)]
    pub(super) fn touch(&self, spill: Spill) -> u64 {
        if spill.length() == 0 { 0 } else { self.bits[spill.start as usize] }
    }

    /// Calls `found` with the slots of what differs from `bits` by `max_distance` at most.
    #[inline(always)]
    pub(super) fn find(&self, spill: Spill, bits: u64, max_distance: u32, mut found: impl FnMut(u32)) {
        for (at, other) in spill.range().zip(&self.bits[spill.range()]) {
            if (other ^ bits).count_ones() <= max_distance {
                found(self.slots[at]);
            }
        }
    }

    /// A list.
    pub(super) fn iter(&self, spill: Spill) -> impl Iterator<Item = (u64, u32)> + '_ {
        spill.range().map(|at| (self.bits[at], self.slots[at]))
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        let free: usize = self.free.values().map(|rooms| 32 + rooms.capacity() * 4).sum();
        self.bits.capacity() * 8 + self.slots.capacity() * 4 + free
    }

    /// Gives a list room for `length`.
    fn move_to(&mut self, spill: &mut Spill, length: u32) {
        let old = *spill;
        let room = room(length);
        spill.start = match self.free.get_mut(&room).and_then(Vec::pop) {
            Some(start) => start,
            None => {
                let start = self.bits.len();
                let end = start + room as usize;
                if end > self.bits.capacity() {
                    // By an eighth and not to double.
                    self.bits.reserve_exact(start / 8 + room as usize);
                    self.slots.reserve_exact(start / 8 + room as usize);
                }
                self.bits.resize(end, 0);
                self.slots.resize(end, 0);
                u32::try_from(start).expect("a piece of an index has fewer than 2^32 entries")
            }
        };
        let kept = old.range().len().min(length as usize);
        let from = old.start as usize;
        self.bits.copy_within(from..from + kept, spill.start as usize);
        self.slots.copy_within(from..from + kept, spill.start as usize);
        if length > old.length() && old.length() > 0 {
            self.free.entry(self::room(old.length())).or_default().push(old.start);
        }
    }
}

/// For how many a list of this length has room: at most a quarter more.
#[inline]
fn room(length: u32) -> u32 {
    let step = if length <= SHORT { 2 } else { length.next_power_of_two() / 8 };
    length.div_ceil(step) * step
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn holds_what_lists_hold(steps in prop::collection::vec((0..4_usize, 0..3_u8, any::<u64>()), 0..2_000)) {
            let mut spills = Spills::default();
            let mut handles = [Spill::default(); 4];
            let mut lists: [Vec<(u64, u32)>; 4] = Default::default();
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
                    _ => prop_assert_eq!(spills.pop(handle).is_some(), naive.pop().is_some()),
                }
                handle.set_line_count(slot as usize % 8);
                prop_assert_eq!(handle.line_count(), slot as usize % 8);
                let mut found: Vec<(u64, u32)> = spills.iter(*handle).collect();
                let mut expected = naive.clone();
                found.sort_unstable();
                expected.sort_unstable();
                prop_assert_eq!(found, expected);
                // What the naive list holds in another order is the same to pop.
                *naive = spills.iter(*handle).collect();
            }
            let room = |list: &Vec<(u64, u32)>| room(list.len() as u32) as usize;
            let free: usize = spills.free.iter().map(|(room, rooms)| *room as usize * rooms.len()).sum();
            prop_assert_eq!(lists.iter().map(room).sum::<usize>() + free, spills.bits.len());
        }
    }

    #[test]
    fn room_is_a_quarter_more_at_most() {
        assert_eq!([0, 1, 2, 3, 8, 9, 16, 17, 33].map(room), [0, 2, 2, 4, 8, 10, 16, 20, 40]);
        assert!((8..10_000).all(|length| (length..=length + length / 4).contains(&room(length))));
    }
}
