//! A group of the key index: one cache line with up to fourteen entries of 36 bits.
//!
//! ```text
//! 14 × 32 bits: words   │ 14 × 4 bits: nibbles │ 4 bits: count │ 2 × 2 bits: reach
//! ```
//! An entry's *word* holds the slot in its lower bits and the lower bits of the tag above ([`Layout`]). Its *nibble*
//! holds the upper two bits of the tag and the distance from its home in groups. The *reach* of a group says how many
//! groups after it a look-up has to read. Each group has two: one for those values at home in it whose second-lowest bit
//! is 0, and one for those in which it is 1.

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

/// Number of bits in an entry's slot and tag together.
const WIDTH: u32 = 34;
/// Number of bits in a hash.
const HASH_BITS: u32 = 32;

/// The number of bits of each part of an entry.
///
/// Packs the hash and the slot of an entry into 34 of its 36 bits. The other two bits say how far the entry is from its
/// home .
///
/// A hash is cut to a *value* of as many bits as there is room for. The lowest bit of both says if the key is wide.
/// Each entry has a *home*, the group whose position is in proportion to the value:
///
/// ```text
/// value × homes = home × 2^bits + fraction          tag = upper bits of the fraction
/// ```
/// Two values with the same home differ in their fractions by at least `homes`. So the *tag*, which is the fraction
/// without its lowest ⌊log2(homes)⌋ bits, is enough to restore the value. For example, with 2^16 homes and slots of
/// 20 bits, 14 bits are left for the tag: home and tag together distinguish 30 bits of the hash.
///
/// When a table doubles, slots need one more bit and tags one less, because there are more homes. So entries
/// of one width serve tables of any size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    /// Number of groups that are homes.
    pub(super) homes: usize,
    /// Number of bits in a value.
    pub(super) bits: u32,
    /// Number of bits in a slot.
    slot_bits: u32,
    /// Number of bits of a fraction that are not in the tag.
    shift: u32,
}

/// The home of a value: its group, and what its entries contain besides the slot.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Home {
    /// The group's number.
    pub(super) group: u32,
    pub(super) value: u32,
    /// The lower bits of the tag, at their place in [`Item::word`].
    pub(super) word: u32,
    /// The upper bits of the tag, at their place in [`Item::nibble`].
    pub(super) nibble: u32,
}

impl Default for Layout {
    /// Returns a layout with one home.
    fn default() -> Self {
        Self::new(1, 0, HASH_BITS)
    }
}

impl Layout {
    /// Creates a layout of `homes` homes for slots that are at most `range` apart. Its values have at most
    /// `bits_max` bits: bits that a former layout cut off are lost.
    pub(super) fn new(homes: usize, range: u32, bits_max: u32) -> Self {
        // A third more than the range, so the layout lasts for some time.
        let range = u64::from(range) + u64::from(range / 3) + 1;
        let slot_bits = (64 - range.leading_zeros()).clamp(4, 32);
        let shift = homes.ilog2();
        Self { homes, bits: bits_max.min(WIDTH - slot_bits + shift), slot_bits, shift }
    }

    /// Returns the number of consecutive slots that can be distinguished.
    pub(super) fn slots(&self) -> u64 {
        1 << self.slot_bits
    }

    /// Returns the value of a hash.
    #[inline(always)]
    pub(super) fn value(&self, hash: u32) -> u32 {
        // The lowest bit is always kept.
        (u64::from(hash >> 1) >> (HASH_BITS - self.bits) << 1) as u32 | hash & 1
    }

    /// Converts a value from the `former` layout to this one.
    pub(super) fn value_from(&self, value: u32, former: &Self) -> u32 {
        value >> 1 >> (former.bits - self.bits) << 1 | value & 1
    }

    /// Returns the hash under which [`outside`](super::outside) stores this value: the value shifted to the upper end of
    /// 32 bits. These hashes are in the same order as the values. [`Self::value_of_hash`] reverses this.
    #[inline(always)]
    pub(super) fn hash(&self, value: u32) -> u32 {
        value << (HASH_BITS - self.bits)
    }

    /// Returns the value of a hash from [`Self::hash`].
    #[inline]
    pub(super) fn value_of_hash(&self, hash: u32) -> u32 {
        hash >> (HASH_BITS - self.bits)
    }

    /// Returns the home of this value.
    #[inline(always)]
    pub(super) fn home(&self, value: u32) -> Home {
        let product = u64::from(value) * self.homes as u64;
        let fraction = product & ((1 << self.bits) - 1);
        let tag = fraction >> self.shift << self.slot_bits;
        Home {
            group: (product >> self.bits) as u32,
            value,
            word: tag as u32,
            nibble: (tag >> 32 << 2) as u32,
        }
    }

    /// Returns the first value whose home is this group or a later one.
    pub(super) fn first_value(&self, group: usize) -> u64 {
        ((group as u64) << self.bits).div_ceil(self.homes as u64)
    }

    /// Returns the value of an entry of this group.
    #[inline]
    pub(super) fn value_of(&self, group: usize, item: Item) -> u32 {
        let tag = (u64::from(item.nibble >> 2) << 32 | u64::from(item.word)) >> self.slot_bits;
        let product = ((group - item.distance()) as u64) << self.bits | tag << self.shift;
        product.div_ceil(self.homes as u64) as u32
    }

    /// Returns the mask of the slot's bits in a word.
    #[inline(always)]
    pub(super) fn slot_mask(&self) -> u32 {
        ((1_u64 << self.slot_bits) - 1) as u32
    }

    /// Returns the mask of the tag's bits in a word.
    #[inline(always)]
    pub(super) fn tag_mask(&self) -> u32 {
        !self.slot_mask()
    }

    /// Returns the slot in a word. No slot in the segment is younger than `youngest`.
    #[inline(always)]
    pub(super) fn slot(&self, word: u32, youngest: u32) -> u32 {
        youngest.wrapping_sub(youngest.wrapping_sub(word) & self.slot_mask())
    }
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

        /// Value and slot can be restored from an entry in every layout.
        #[test]
        fn entries_lose_nothing_but_what_the_layout_cuts_off(
            hash in prop_oneof![any::<u32>(), Just(0), Just(u32::MAX - 1)],
            homes in prop_oneof![1..20_usize, 1..3_000_000_usize],
            range in prop_oneof![0..300_u32, any::<u32>()],
            (youngest, age) in (any::<u32>(), any::<u32>()),
            bits_max in 2..=32_u32,
            distance in 0..4_u32,
        ) {
            let layout = Layout::new(homes, range, bits_max);
            prop_assert!(layout.slots() > u64::from(range));
            let value = layout.value(hash);
            prop_assert_eq!(value & 1, hash & 1, "the last bit says whether the key is wide");
            let home = layout.home(value);
            prop_assert!((home.group as usize) < homes);
            prop_assert_eq!((home.word & layout.slot_mask(), home.nibble & 3), (0, 0));
            prop_assert!(home.nibble < 16);
            let slot = youngest.wrapping_sub((u64::from(age) % layout.slots()) as u32);
            let item = Item { word: home.word | slot & layout.slot_mask(), nibble: home.nibble | distance };
            prop_assert_eq!(layout.value_of(home.group as usize + distance as usize, item), value);
            prop_assert_eq!(layout.slot(item.word, youngest), slot);
            prop_assert!(layout.first_value(home.group as usize) <= u64::from(value));
            prop_assert!(layout.first_value(home.group as usize + 1) > u64::from(value));
            // Converting between layouts gives the same value as cutting the hash at once.
            let next = Layout::new(homes, range.saturating_mul(2), layout.bits);
            prop_assert_eq!(next.value_from(value, &layout), next.value(hash));
            prop_assert_eq!(layout.value_of_hash(layout.hash(value)), value);
        }
    }
}
