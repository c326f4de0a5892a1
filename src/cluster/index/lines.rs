//! A piece of one table: hash of a key → 32 bits of each fingerprint, and its slot.
//!
//! Fingerprints stand in *lines* of 64 bytes, one cache miss each: 32 bits of fourteen of them, and where the line's
//! [`Spill`] is. All of a line are compared, whatever their key, so keys need not be told apart. What does not fit goes
//! into the spill: keys that very many centres share make their own line long and no other. Slots stand apart, since
//! only those of what seems near are read.
//!
//! Linear hashing (Litwin 1980): when there are [`MEAN`] fingerprints a line, one line is split in two, in turn. So a
//! piece grows line by line, and each fingerprint is moved about once for every doubling.

use super::spill::{Spill, Spills, Wanted};

/// Fingerprints in a line.
const LINE: usize = 14;
/// Fingerprints for each line on average, spills included, and the least before a line is given up.
pub(super) const MEAN: usize = 9;
const MEAN_MIN: usize = 7;
/// The words of a line behind the fingerprints.
const SPILL_START: usize = 14;
const COUNTS: usize = 15;

/// Fingerprints; where the spill begins; and the spill's length times 16 and how many fingerprints are here.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct Line([u32; 16]);

/// The lines of one piece, of which there is one at least.
#[derive(Debug)]
pub(super) struct Lines {
    lines: Vec<Line>,
    slots: Vec<[u32; LINE]>,
    spills: Spills,
    count: usize,
    /// Scratch space for what is being moved.
    moved: Vec<(u32, u32)>,
}

/// Where a fingerprint stands: which one of a line, or where in the spills.
#[derive(Debug, Clone, Copy)]
pub(super) enum Entry {
    Line(u32, u32),
    Spill(u32),
}

impl Line {
    #[inline(always)]
    fn count(&self) -> usize {
        (self.0[COUNTS] & 15) as usize
    }

    fn set_count(&mut self, count: usize) {
        self.0[COUNTS] = self.0[COUNTS] & !15 | count as u32;
    }

    #[inline(always)]
    fn spill(&self) -> Spill {
        Spill { start: self.0[SPILL_START], length: self.0[COUNTS] >> 4 }
    }

    fn set_spill(&mut self, spill: Spill) {
        self.0[SPILL_START] = spill.start;
        self.0[COUNTS] = self.0[COUNTS] & 15 | spill.length << 4;
    }

    /// A bit for each fingerprint that may be near.
    #[inline(always)]
    fn near(&self, wanted: Wanted) -> u32 {
        let mut near = 0;
        for (number, other) in self.0.iter().enumerate() {
            near |= u32::from(wanted.is_near(*other)) << number;
        }
        near & ((1 << self.count()) - 1)
    }
}

impl Lines {
    /// One line, which is empty.
    pub(super) fn new() -> Self {
        Self {
            lines: vec![Line::default()],
            slots: vec![[0; LINE]],
            spills: Spills::default(),
            count: 0,
            moved: Vec::new(),
        }
    }

    /// Enters a fingerprint under `hash`. `most` lines are of use at most; `is_set` tells of a bit of the hash of others here, by
    /// its number, their bits and their slot, whether it is set.
    pub(super) fn insert(
        &mut self,
        hash: u32,
        bits: u32,
        slot: u32,
        most: usize,
        is_set: impl Fn(u32, u32, u32) -> bool,
    ) {
        if self.count >= self.lines.len() * MEAN && self.lines.len() < most {
            self.split(is_set);
        }
        self.put(self.home(hash), bits, slot);
        self.count += 1;
        self.compact();
    }

    /// Takes out a slot that was entered under `hash`.
    pub(super) fn remove(&mut self, hash: u32, slot: u32) {
        let at = self.home(hash);
        let (line, slots) = (&mut self.lines[at], &mut self.slots[at]);
        let count = line.count();
        let mut spill = line.spill();
        match slots[..count].iter().position(|other| *other == slot) {
            // The hole is filled from the spill, or from the line's end.
            Some(i) => match self.spills.pop(&mut spill) {
                Some(last) => (line.0[i], slots[i]) = last,
                None => {
                    (line.0[i], slots[i]) = (line.0[count - 1], slots[count - 1]);
                    line.set_count(count - 1);
                }
            },
            None if self.spills.remove(&mut spill, slot) => {}
            None => return,
        }
        line.set_spill(spill);
        self.count -= 1;
        if self.count < self.lines.len() * MEAN_MIN && self.lines.len() > 1 {
            self.merge();
        }
        self.compact();
    }

    /// The line of `hash`: of its bits as many as tell all lines apart, or one less where there is no such line.
    #[inline(always)]
    pub(super) fn home(&self, hash: u32) -> usize {
        let lines = self.lines.len();
        let mask = lines.next_power_of_two() - 1;
        let at = hash as usize & mask;
        // Arithmetic, since a branch would be guessed wrong half of the time, and end the fetching of lines ahead.
        at & mask >> usize::from(at >= lines)
    }

    /// Fetches a line.
    #[inline(always)]
    pub(super) fn touch(&self, at: usize) -> u32 {
        self.lines[at].0[COUNTS]
    }

    /// Fetches the first line of a line's spill.
    #[inline(always)]
    pub(super) fn touch_spill(&self, at: usize) -> u32 {
        self.spills.touch(self.lines[at].spill())
    }

    /// Fetches some lines more of a line's spill, if that is long.
    #[inline(always)]
    pub(super) fn touch_more(&self, at: usize) -> u32 {
        self.spills.touch_more(self.lines[at].spill())
    }

    /// Fetches the slots of a line.
    #[inline(always)]
    pub(super) fn touch_slots(&self, at: usize) -> u32 {
        self.slots[at][0]
    }

    /// Calls `found` with the places of the fingerprints of a line that may be near.
    #[inline(always)]
    pub(super) fn find(&self, at: usize, wanted: Wanted, mut found: impl FnMut(Entry)) {
        let line = &self.lines[at];
        let mut near = line.near(wanted);
        while near != 0 {
            found(Entry::Line(at as u32, near.trailing_zeros()));
            near &= near - 1;
        }
        self.spills.find(line.spill(), wanted, |at| found(Entry::Spill(at)));
    }

    /// The slot of what was found here.
    #[inline(always)]
    pub(super) fn slot(&self, entry: Entry) -> u32 {
        match entry {
            Entry::Line(at, number) => self.slots[at as usize][number as usize],
            Entry::Spill(at) => self.spills.slot(at),
        }
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.lines.capacity() * size_of::<Line>()
            + self.slots.capacity() * size_of::<[u32; LINE]>()
            + self.spills.bytes()
            + self.moved.capacity() * size_of::<(u32, u32)>()
    }

    fn put(&mut self, at: usize, bits: u32, slot: u32) {
        let line = &mut self.lines[at];
        let count = line.count();
        if count < LINE {
            (line.0[count], self.slots[at][count]) = (bits, slot);
            line.set_count(count + 1);
        } else {
            let mut spill = line.spill();
            self.spills.push(&mut spill, bits, slot);
            line.set_spill(spill);
        }
    }

    /// Adds a line, and shares out to it what its sibling, the line of the same lower bits, holds.
    fn split(&mut self, is_set: impl Fn(u32, u32, u32) -> bool) {
        let added = self.lines.len();
        if added == self.lines.capacity() {
            // By an eighth and not to double.
            self.lines.reserve_exact(added / 8 + 1);
            self.slots.reserve_exact(added / 8 + 1);
        }
        self.lines.push(Line::default());
        self.slots.push([0; LINE]);
        let sibling = sibling(added);
        let mut moved = self.take(sibling);
        for (bits, slot) in moved.drain(..) {
            let at = if is_set(added.ilog2(), bits, slot) { added } else { sibling };
            self.put(at, bits, slot);
        }
        self.keep_scratch(moved);
    }

    /// Gives up the last line; its sibling gets what it holds.
    fn merge(&mut self) {
        let last = self.lines.len() - 1;
        let mut moved = self.take(last);
        self.lines.pop();
        self.slots.pop();
        moved.drain(..).for_each(|(bits, slot)| self.put(sibling(last), bits, slot));
        self.keep_scratch(moved);
        if last < self.lines.capacity() / 4 * 3 {
            self.lines.shrink_to(last + last / 8);
            self.slots.shrink_to(last + last / 8);
        }
    }

    /// Gives back what spills have left behind, if it is much.
    fn compact(&mut self) {
        if self.spills.is_sparse() {
            let mut spills = self.spills.successor();
            for line in &mut self.lines {
                line.set_spill(spills.take_over(line.spill(), &self.spills));
            }
            self.spills = spills;
        }
    }

    /// Keeps scratch space for lines of the usual length.
    fn keep_scratch(&mut self, mut moved: Vec<(u32, u32)>) {
        moved.shrink_to(4 * LINE);
        self.moved = moved;
    }

    /// Empties a line; what it held.
    fn take(&mut self, at: usize) -> Vec<(u32, u32)> {
        let mut all = std::mem::take(&mut self.moved);
        let line = std::mem::take(&mut self.lines[at]);
        all.extend(line.0.into_iter().zip(self.slots[at]).take(line.count()));
        all.extend(self.spills.iter(line.spill()));
        self.spills.drop(line.spill());
        all
    }
}

/// The line that the hashes of this line, which is not the first one, had while it was not there.
fn sibling(at: usize) -> usize {
    at & !(1 << at.ilog2())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn found(lines: &Lines, hash: u32, max_distance: u32) -> Vec<u32> {
        let wanted = Wanted { bits: 0, mask: u32::MAX, max_distance };
        let mut slots = Vec::new();
        lines.find(lines.home(hash), wanted, |entry| slots.push(lines.slot(entry)));
        slots.sort_unstable();
        slots
    }

    proptest! {
        /// Any order of insertions and removals; some hashes come so often that they spill.
        #[test]
        fn holds_what_a_map_holds(
            events in prop::collection::vec((0..3_u8, 0..60_usize), 0..1_500),
            hashes in prop::collection::vec(any::<u32>(), 60),
            most in prop::sample::select(vec![1_usize, 4, 1_000]),
        ) {
            let mut lines = Lines::new();
            let mut held: BTreeMap<u32, usize> = BTreeMap::new();
            let mut hash_by_slot = Vec::new();
            for (slot, (what, number)) in (0..).zip(events) {
                // Half of all have one of three hashes.
                let hash = hashes[if slot % 2 == 0 { number % 3 } else { number }];
                hash_by_slot.push(hash);
                if what > 0 || held.is_empty() {
                    lines.insert(hash, slot / 4, slot, most, |bit, _, slot| hash_by_slot[slot as usize] >> bit & 1 == 1);
                    held.insert(slot, number);
                } else if let Some((oldest, _)) = held.pop_first() {
                    lines.remove(hash_by_slot[oldest as usize], oldest);
                }
                prop_assert_eq!(lines.count, held.len());
                let all: Vec<u32> = held.keys().copied().filter(|held| hash_by_slot[*held as usize] == hash).collect();
                let here = found(&lines, hash, 32);
                prop_assert!(all.iter().all(|slot| here.contains(slot)));
                let near: Vec<u32> = here.iter().copied().filter(|slot| (slot / 4).count_ones() <= 1).collect();
                prop_assert_eq!(found(&lines, hash, 1), near);
            }
            prop_assert!(lines.lines.len() <= most);
            while let Some((oldest, _)) = held.pop_first() {
                lines.remove(hash_by_slot[oldest as usize], oldest);
            }
            prop_assert!(lines.count == 0 && lines.bytes() < 3_000, "{} bytes", lines.bytes());
        }
    }
}
