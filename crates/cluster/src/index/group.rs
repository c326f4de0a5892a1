//! A group of the key index: one cache line with up to fourteen entries of 36 bits.
//!
//! ```text
//! 14 × 32 bits: words   │ 14 × 4 bits: nibbles │ 4 bits: count │ 2 × 2 bits: reach
//! ```
//! An entry's *word* holds the slot in its lower bits and the lower bits of the tag above (`layout.rs`). Its *nibble*
//! holds the upper two bits of the tag and the distance from its home in groups. The *reach* of a group says how many
//! groups after it a look-up has to read. Each group has two: one for those values at home in it whose second-lowest bit
//! is 0, and one for those in which it is 1.

use super::layout::Home;

/// Number of entries in a group.
pub(super) const GROUP: usize = 14;
/// Maximum distance in groups between an entry and its home.
pub(super) const FAR: usize = 3;

const COUNT_SHIFT: u32 = 56;
const REACH_SHIFT: u32 = 60;
/// The bits of [`Item::nibble`] that hold the distance from the home.
const DISTANCE: u32 = 3;

/// A group of entries.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(super) struct Group {
    words: [u32; GROUP],
    /// From the lowest bit: [`Item::nibble`] of each entry, the number of entries, and both reaches.
    nibbles: u64,
}

/// One entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Item {
    /// The lower bits of the tag, and below them the slot.
    pub(super) word: u32,
    /// The upper two bits of the tag, and below them the distance from the home.
    pub(super) nibble: u32,
}

impl Item {
    /// Returns the same entry with distance 0.
    pub(super) fn at_home(self) -> Self {
        Self { nibble: self.nibble & !DISTANCE, ..self }
    }

    /// Returns the distance from the home, in groups.
    #[inline(always)]
    pub(super) fn distance(self) -> usize {
        (self.nibble & DISTANCE) as usize
    }
}

impl Group {
    /// Returns the number of entries.
    #[inline(always)]
    pub(super) fn count(&self) -> u32 {
        (self.nibbles >> COUNT_SHIFT & 15) as u32
    }

    /// Returns the number of groups after this one that a look-up for `value` has to read. [`FAR`] means that
    /// entries may also be outside of all groups.
    #[inline(always)]
    pub(super) fn reach(&self, value: u32) -> usize {
        (self.nibbles >> reach_shift(value) & 3) as usize
    }

    /// Raises the reach for `value` to at least `distance`.
    pub(super) fn raise_reach(&mut self, value: u32, distance: usize) {
        if self.reach(value) < distance {
            self.set_reach(value, distance);
        }
    }

    /// Lowers the reach for all values to at most `distance`.
    pub(super) fn lower_reach(&mut self, distance: usize) {
        for value in [0, 2] {
            if self.reach(value) > distance {
                self.set_reach(value, distance);
            }
        }
    }

    fn set_reach(&mut self, value: u32, distance: usize) {
        let shift = reach_shift(value);
        self.nibbles = self.nibbles & !(3 << shift) | (distance as u64) << shift;
    }

    /// Returns a mask of the entries whose word has the lower tag bits of `home`. `tag_mask` selects these bits.
    #[inline(always)]
    pub(super) fn candidates(&self, home: &Home, tag_mask: u32) -> u32 {
        let mut same = 0;
        for (number, word) in self.words.iter().enumerate() {
            same |= u32::from((word ^ home.word) & tag_mask == 0) << number;
        }
        same & ((1 << self.count()) - 1)
    }

    /// Calls `found` with the words of those `candidates` that have the upper tag bits of `home` and are at this
    /// distance from it.
    #[inline(always)]
    pub(super) fn confirm(
        &self,
        mut candidates: u32,
        home: &Home,
        distance: usize,
        mut found: impl FnMut(u32),
    ) {
        while candidates != 0 {
            let number = candidates.trailing_zeros();
            candidates &= candidates - 1;
            let item = self.get(number);
            if item.nibble == home.nibble | distance as u32 {
                found(item.word);
            }
        }
    }

    #[inline(always)]
    fn get(&self, number: u32) -> Item {
        Item { word: self.words[number as usize], nibble: (self.nibbles >> (4 * number) & 15) as u32 }
    }

    /// Returns all entries.
    pub(super) fn iter(&self) -> impl Iterator<Item = Item> + '_ {
        (0..self.count()).map(|number| self.get(number))
    }

    /// Adds an entry. Returns false if the group is full.
    #[inline(always)]
    pub(super) fn push(&mut self, item: Item) -> bool {
        let number = self.count();
        if number as usize == GROUP {
            return false;
        }
        self.words[number as usize] = item.word;
        self.nibbles |= u64::from(item.nibble) << (4 * number);
        self.nibbles += 1 << COUNT_SHIFT;
        true
    }

    /// Removes and returns the first entry that is `wanted`.
    pub(super) fn take(&mut self, wanted: impl Fn(Item) -> bool) -> Option<Item> {
        let number = (0..self.count()).find(|number| wanted(self.get(*number)))?;
        let taken = self.get(number);
        let last_number = self.count() - 1;
        let last = self.get(last_number);
        self.words[number as usize] = last.word;
        self.nibbles &= !(15 << (4 * number)) & !(15 << (4 * last_number));
        if number < last_number {
            self.nibbles |= u64::from(last.nibble) << (4 * number);
        }
        self.nibbles -= 1 << COUNT_SHIFT;
        Some(taken)
    }
}

/// Returns the position of the reach for `value`. The second-lowest bit of the value selects the reach, because
/// the lowest one says if the key is wide.
#[inline(always)]
fn reach_shift(value: u32) -> u32 {
    REACH_SHIFT + (value & 2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn holds_the_entries_that_a_list_holds(
            steps in prop::collection::vec((any::<bool>(), any::<u32>(), 0..16_u32, 0..4_usize), 0..80),
        ) {
            let (mut group, mut list) = (Group::default(), Vec::<Item>::new());
            let mut reach = [0; 2];
            for (add, word, nibble, distance) in steps {
                if add {
                    let item = Item { word, nibble };
                    prop_assert_eq!(group.push(item), list.len() < GROUP);
                    if list.len() < GROUP {
                        list.push(item);
                    }
                    group.raise_reach(word, distance);
                    let half = &mut reach[(word & 2) as usize / 2];
                    *half = distance.max(*half);
                } else {
                    let at = list.iter().position(|item| item.nibble == nibble);
                    prop_assert_eq!(group.take(|item| item.nibble == nibble), at.map(|at| list.swap_remove(at)));
                    group.lower_reach(distance);
                    reach = reach.map(|reach| reach.min(distance));
                }
                prop_assert_eq!(group.iter().collect::<Vec<_>>(), list.clone());
                prop_assert_eq!([group.reach(1), group.reach(2)], reach);
            }
        }
    }
}
