//! How a segment's hashes and slots share the 34 bits of an entry.
//!
//! A hash is cut to a *value* of some bits, the last of which says whether the key is wide. In
//! proportion to the value an entry has its *home*, one of the groups:
//!
//! ```text
//! value × homes = home × 2^bits + fraction          tag = upper bits of the fraction
//! ```
//! Values of one home differ in their fractions by `homes` at least. So a fraction without the bits
//! below that number, the *tag*, gives the value back, and an entry needs no more of it. When a
//! table doubles, slots need one bit more and tags one bit less, since the home tells more: so
//! entries of one width serve a table of any size.

use super::group::Item;

/// Bits of an entry's slot and tag.
const WIDTH: u32 = 34;
/// Bits of a hash.
const HASH_BITS: u32 = 32;

/// How many bits are whose.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    /// Groups that are the home of entries.
    pub(super) homes: usize,
    /// Bits of a value.
    pub(super) bits: u32,
    /// Bits of a slot.
    slot_bits: u32,
    /// Bits of a fraction that a tag leaves out.
    shift: u32,
}

/// Where the entries of a value are, and what they hold besides their slots.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Home {
    /// The group's number.
    pub(super) group: u32,
    pub(super) value: u32,
    /// The lower bits of the tag, as they are in an entry's word.
    pub(super) word: u32,
    /// The upper bits of the tag, as they are in an entry's rest.
    pub(super) rest: u32,
}

impl Default for Layout {
    /// One home.
    fn default() -> Self {
        Self::new(1, 0, HASH_BITS)
    }
}

impl Layout {
    /// A layout of so many homes for slots of which no two are further apart than `range`. Its
    /// values have no more bits than these, since bits that were cut off are lost.
    pub(super) fn new(homes: usize, range: u32, bits_max: u32) -> Self {
        // A third more, so that the layout is good for some time.
        let range = u64::from(range) + u64::from(range / 3) + 1;
        let slot_bits = (64 - range.leading_zeros()).clamp(4, 32);
        let shift = homes.ilog2();
        Self { homes, bits: bits_max.min(WIDTH - slot_bits + shift), slot_bits, shift }
    }

    /// The number of slots in a row that it tells apart.
    pub(super) fn slots(&self) -> u64 {
        1 << self.slot_bits
    }

    /// The value of a hash.
    #[inline(always)]
    pub(super) fn value(&self, hash: u32) -> u32 {
        // The last bit stays.
        (u64::from(hash >> 1) >> (HASH_BITS - self.bits) << 1) as u32 | hash & 1
    }

    /// The value under this layout of what had this value under `former`.
    pub(super) fn value_from(&self, value: u32, former: &Self) -> u32 {
        value >> 1 >> (former.bits - self.bits) << 1 | value & 1
    }

    /// A hash of this value, by which values are ordered as by themselves.
    #[inline(always)]
    pub(super) fn hash(&self, value: u32) -> u32 {
        value << (HASH_BITS - self.bits)
    }

    /// The value of such a hash.
    #[inline]
    pub(super) fn value_of_hash(&self, hash: u32) -> u32 {
        hash >> (HASH_BITS - self.bits)
    }

    /// Where entries of this value are.
    #[inline(always)]
    pub(super) fn home(&self, value: u32) -> Home {
        let product = u64::from(value) * self.homes as u64;
        let fraction = product & ((1 << self.bits) - 1);
        let tag = fraction >> self.shift << self.slot_bits;
        Home { group: (product >> self.bits) as u32, value, word: tag as u32, rest: (tag >> 32 << 2) as u32 }
    }

    /// The first value whose home is this group or a later one.
    pub(super) fn first_value(&self, group: usize) -> u64 {
        ((group as u64) << self.bits).div_ceil(self.homes as u64)
    }

    /// The value of an entry of this group.
    #[inline]
    pub(super) fn value_of(&self, group: usize, item: Item) -> u32 {
        let tag = (u64::from(item.rest >> 2) << 32 | u64::from(item.word)) >> self.slot_bits;
        let product = ((group - item.distance()) as u64) << self.bits | tag << self.shift;
        product.div_ceil(self.homes as u64) as u32
    }

    /// The bits of a word that are the slot's.
    #[inline(always)]
    pub(super) fn slot_mask(&self) -> u32 {
        ((1_u64 << self.slot_bits) - 1) as u32
    }

    /// The bits of a word that are the tag's.
    #[inline(always)]
    pub(super) fn tag_mask(&self) -> u32 {
        !self.slot_mask()
    }

    /// The slot in a word, none of which is younger than `youngest`.
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
        /// Whatever the layout, an entry gives back its value and its slot.
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
            prop_assert_eq!((home.word & layout.slot_mask(), home.rest & 3), (0, 0));
            prop_assert!(home.rest < 16);
            let slot = youngest.wrapping_sub((u64::from(age) % layout.slots()) as u32);
            let item = Item { word: home.word | slot & layout.slot_mask(), rest: home.rest | distance };
            prop_assert_eq!(layout.value_of(home.group as usize + distance as usize, item), value);
            prop_assert_eq!(layout.slot(item.word, youngest), slot);
            prop_assert!(layout.first_value(home.group as usize) <= u64::from(value));
            prop_assert!(layout.first_value(home.group as usize + 1) > u64::from(value));
            // Under another layout, a value is what it would have been at once.
            let next = Layout::new(homes, range.saturating_mul(2), layout.bits);
            prop_assert_eq!(next.value_from(value, &layout), next.value(hash));
            prop_assert_eq!(layout.value_of_hash(layout.hash(value)), value);
        }
    }
}
