//! A segment of the key index: 32-bit hash → slots, in entries of 36 bits.
//!
//! Entries are in [groups](Group) of one cache line. The home of an entry is the group whose position is in
//! proportion to the entry's hash. If its home is full, the entry goes to one of the next [`FAR`] groups; if these
//! are full too, to the [ordered table](Ordered) of entries outside of all groups. An entry holds the slot, modulo
//! a power of two, and only those bits of the hash that do not follow from its home ([`Layout`]). So most look-ups
//! read one cache line.
//!
//! Hashes that agree in all kept bits are not distinguished. A look-up returns the slots of both, and the
//! comparison of fingerprints rejects those that are not near.
//!
//! A hash with many slots, such as that of a passage on half of a site's pages, would push its neighbours far
//! from their homes. If it has more than [`SLOTS_MAX`], they are kept in a separate [overflow
//! list](OverflowLists).

use std::collections::VecDeque;

use super::group::{FAR, GROUP, Group, Home, Item, Layout};
use super::outside::{Entry, Ordered, OverflowLists, entry, hash_of, slot_of};

/// Maximum number of slots under one hash in the groups.
const SLOTS_MAX: usize = 16;
/// Minimum number of slots under one hash that are a crowd. Fewer are compared one by one.
pub(super) const CROWDED_MIN: usize = 128;
/// Maximum load of a segment, as a fraction.
const FULL: (usize, usize) = (6, 7);
/// Divisor of the number of homes: a segment grows by at least this part.
const GROWTH: usize = 16;

/// The keys whose hashes have the same upper eight bits.
#[derive(Debug)]
pub(super) struct Segment {
    /// The homes, and [`FAR`] more groups after them.
    groups: Vec<Group>,
    layout: Layout,
    /// The entries that are outside of all groups.
    outside: Ordered,
    /// Number of entries, without those in overflow lists.
    taken: usize,
    /// The youngest slot that the segment may have.
    youngest: u32,
    /// The oldest slot that may be outside of overflow lists.
    oldest: u32,
    /// A number from 0 to 255 that differs between segments.
    number: u8,
    /// The lists of values that once had more than [`SLOTS_MAX`] slots.
    overflow: OverflowLists,
}

impl Segment {
    /// Creates an empty segment. Segments with different numbers widen their slots at different moments.
    pub(super) fn new(number: usize) -> Self {
        Self {
            groups: vec![Group::default(); 1 + FAR],
            layout: Layout::default(),
            outside: Ordered::default(),
            taken: 0,
            youngest: 0,
            oldest: 0,
            number: number as u8,
            overflow: OverflowLists::default(),
        }
    }

    /// Inserts `slot`, the youngest one, under `hash`. Returns true if a crowd has this hash.
    pub(super) fn insert(&mut self, hash: u32, slot: u32) -> bool {
        self.make_room(1, slot, slot);
        self.enter(self.layout.value(hash), slot)
    }

    /// Inserts many slots at once. They are younger than all others, and do not wrap around at 2^32, so sorting them
    /// by number orders them by age. Adds those under whose hashes there is a crowd to `crowded`.
    pub(super) fn insert_all(&mut self, mut new: Vec<Entry>, crowded: &mut Vec<u32>) {
        let slots = || new.iter().map(|entry| slot_of(*entry));
        let (Some(first), Some(last)) = (slots().min(), slots().max()) else { return };
        self.make_room(new.len(), first, last);
        // Sorted by home, so each home is read once, and by age under each value.
        new.iter_mut().for_each(|new| *new = entry(self.layout.value(hash_of(*new)), slot_of(*new)));
        new.sort_unstable();
        for new in new {
            if self.enter(hash_of(new), slot_of(new)) {
                crowded.push(slot_of(new));
            }
        }
        // Most slots may have moved to overflow lists.
        if self.is_sparse() {
            self.rebuild(self.homes_for(self.taken), self.youngest);
        }
    }

    /// Removes `slot`, the oldest one, which was inserted under `hash`.
    pub(super) fn remove(&mut self, hash: u32, slot: u32) {
        let value = self.layout.value(hash);
        if self.overflow.remove(value, slot) {
            return;
        }
        if self.take(&self.layout.home(value), slot) && self.is_sparse() && self.overflow.is_empty() {
            self.rebuild(self.homes_for(self.taken), self.youngest);
        }
    }

    /// Returns the home of `hash`.
    #[inline(always)]
    pub(super) fn home(&self, hash: u32) -> Home {
        self.layout.home(self.layout.value(hash))
    }

    /// Returns the group with this number.
    #[inline(always)]
    pub(super) fn group(&self, number: usize) -> &Group {
        &self.groups[number]
    }

    /// Returns a mask of the entries that may have the value of `home`, in the group at `distance` from it.
    #[inline(always)]
    pub(super) fn candidates(&self, home: &Home, distance: usize) -> u32 {
        self.groups[home.group as usize + distance].candidates(home, self.layout.tag_mask())
    }

    /// Calls `found` with the slots of those `candidates` that have the value of `home`. The candidates are entries
    /// of the group at `distance` from `home`.
    #[inline(always)]
    pub(super) fn confirm(&self, candidates: u32, home: &Home, distance: usize, mut found: impl FnMut(u32)) {
        let group = &self.groups[home.group as usize + distance];
        group.confirm(candidates, home, distance, |word| found(self.layout.slot(word, self.youngest)));
    }

    /// Returns all slots that may be under `hash`.
    pub(super) fn all(&self, hash: u32) -> Vec<u32> {
        let mut found = Vec::new();
        self.each_slot(&self.home(hash), |slot| found.push(slot));
        found.extend(self.overflow(hash).into_iter().flatten());
        found
    }

    /// Returns the slots with the value of `home` that are outside of all groups.
    #[inline]
    pub(super) fn outside(&self, home: &Home) -> impl Iterator<Item = u32> + '_ {
        self.outside.get(self.layout.hash(home.value))
    }

    /// Prefetches the entries that [`Self::outside`] reads.
    #[inline]
    pub(super) fn prefetch_outside(&self, home: &Home) -> u64 {
        self.outside.prefetch(self.layout.hash(home.value))
    }

    /// Returns the overflow list of `hash`, if it has one.
    #[inline]
    pub(super) fn overflow(&self, hash: u32) -> Option<&VecDeque<u32>> {
        self.overflow.get(self.layout.value(hash))
    }

    /// Returns the number of entries, without those in overflow lists.
    pub(super) fn taken(&self) -> usize {
        self.taken
    }

    /// Returns the bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        self.groups.capacity() * size_of::<Group>() + self.outside.bytes() + self.overflow.bytes()
    }

    /// Calls `found` with the slots that have the value of `home`, without those in an overflow list.
    pub(super) fn each_slot(&self, home: &Home, mut found: impl FnMut(u32)) {
        let reach = self.groups[home.group as usize].reach(home.value);
        for distance in 0..=reach {
            self.confirm(self.candidates(home, distance), home, distance, &mut found);
        }
        if reach == FAR {
            self.outside(home).for_each(found);
        }
    }

    /// Inserts `slot`, which is the youngest under its value. There is room for it. Returns true if a crowd has this
    /// value.
    fn enter(&mut self, value: u32, slot: u32) -> bool {
        if let Some(length) = self.overflow.push(value, slot) {
            return length >= CROWDED_MIN;
        }
        let home = self.layout.home(value);
        let mut count = 0;
        self.each_slot(&home, |_| count += 1);
        if count >= SLOTS_MAX {
            self.move_out(&home, slot);
            return false;
        }
        self.taken += 1;
        if !self.put(&home, slot) {
            self.outside.insert(entry(self.layout.hash(value), slot));
        }
        false
    }

    /// Adds an entry to its home or one of the next groups. Returns false if all are full.
    #[inline]
    fn put(&mut self, home: &Home, slot: u32) -> bool {
        let (first, word) = (home.group as usize, home.word | slot & self.layout.slot_mask());
        let put = |distance: &usize| {
            let nibble = home.nibble | *distance as u32;
            self.groups[first + distance].push(Item { word, nibble })
        };
        let distance = (0..=FAR).find(put);
        if distance != Some(0) {
            self.groups[first].raise_reach(home.value, distance.unwrap_or(FAR));
        }
        distance.is_some()
    }

    /// Removes the entry of `slot`. Returns false if there is none.
    fn take(&mut self, home: &Home, slot: u32) -> bool {
        let word = home.word | slot & self.layout.slot_mask();
        if self.layout.slot(word, self.youngest) != slot {
            return false;
        }
        let first = home.group as usize;
        let reach = self.groups[first].reach(home.value);
        let taken = (0..=reach).any(|distance| {
            let wanted = Item { word, nibble: home.nibble | distance as u32 };
            self.groups[first + distance].take(|item| item == wanted).is_some()
        });
        let taken = taken || reach == FAR && self.outside.remove(entry(self.layout.hash(home.value), slot));
        if taken {
            self.taken -= 1;
            self.bring_home(first);
        }
        taken
    }

    /// Moves entries whose home is this group back to it while it has room, and lowers its reach to the farthest
    /// entry that remains elsewhere.
    fn bring_home(&mut self, home: usize) {
        let reach = self.groups[home].reach(0).max(self.groups[home].reach(2));
        if reach == 0 {
            return;
        }
        while (self.groups[home].count() as usize) < GROUP {
            if let Some(entry) = self.rest_of(home) {
                self.outside.remove(entry);
                let value = self.layout.value_of_hash(hash_of(entry));
                self.put(&self.layout.home(value), slot_of(entry));
                continue;
            }
            let take =
                |distance: usize| self.groups[home + distance].take(|item| item.distance() == distance);
            let Some(item) = (1..=reach).rev().find_map(take) else { break };
            self.groups[home].push(item.at_home());
        }
        let is_at =
            |distance: &usize| self.groups[home + distance].iter().any(|item| item.distance() == *distance);
        let farthest = match self.rest_of(home) {
            Some(_) => FAR,
            None => (1..=reach).rev().find(is_at).unwrap_or(0),
        };
        self.groups[home].lower_reach(farthest);
    }

    /// Returns the first entry of this home that is outside of all groups.
    fn rest_of(&self, home: usize) -> Option<Entry> {
        let value_of = |entry: Entry| u64::from(self.layout.value_of_hash(hash_of(entry)));
        let first = self.layout.first_value(home);
        let first = self.outside.from(self.layout.hash(u32::try_from(first).ok()?)).next()?;
        (value_of(first) < self.layout.first_value(home + 1)).then_some(first)
    }

    /// Moves the slots with the value of `home` to a new overflow list, and adds `slot` to it.
    fn move_out(&mut self, home: &Home, slot: u32) {
        let mut slots = Vec::new();
        self.each_slot(home, |slot| slots.push(slot));
        for slot in &slots {
            self.take(home, *slot);
        }
        slots.push(slot);
        self.overflow.insert(home.value, slots, self.youngest);
    }

    /// Makes room for this many entries, whose slots are from `first` to `last`.
    fn make_room(&mut self, count: usize, first: u32, last: u32) {
        if self.taken == 0 {
            self.oldest = first;
        }
        let (homes, needed) = (self.layout.homes, self.homes_for(self.taken + count));
        // All segments come to need more bits per slot at the same time. Each rebuilds at a different moment, so the
        // work is spread.
        let slots_max = self.layout.slots() - (self.layout.slots() >> 11) * u64::from(self.number);
        if needed > homes {
            self.rebuild(needed.max(homes + homes / GROWTH), last);
        } else if u64::from(last.wrapping_sub(self.oldest)) >= slots_max {
            self.rebuild(homes, last);
        }
        self.youngest = last;
    }

    /// Returns the number of homes that this many entries need.
    fn homes_for(&self, entries: usize) -> usize {
        (entries * FULL.1).div_ceil(GROUP * FULL.0).max(1)
    }

    /// Returns true if half as many homes are enough.
    fn is_sparse(&self) -> bool {
        self.homes_for(self.taken) * 2 < self.layout.homes
    }

    /// Rebuilds the segment with this many homes, and with room for slots up to `youngest`.
    fn rebuild(&mut self, homes: usize, youngest: u32) {
        let former = self.layout;
        if self.taken > 0 {
            self.oldest = self.find_oldest();
        }
        let is_empty = self.taken == 0 && self.overflow.is_empty();
        let bits_max = if is_empty { u32::BITS } else { former.bits };
        self.layout = Layout::new(homes, youngest.wrapping_sub(self.oldest), bits_max);
        let groups = std::mem::replace(&mut self.groups, vec![Group::default(); homes + FAR]);
        let outside = std::mem::take(&mut self.outside);

        // Entries that fit into their home are put there first, so few have to go elsewhere.
        let mut homeless = Vec::new();
        let mut put_home = |segment: &mut Self, value: u32, slot: u32| {
            let home = segment.layout.home(segment.layout.value_from(value, &former));
            let word = home.word | slot & segment.layout.slot_mask();
            if !segment.groups[home.group as usize].push(Item { word, nibble: home.nibble }) {
                homeless.push(entry(home.value, slot));
            }
        };
        for (number, group) in groups.iter().enumerate() {
            for item in group.iter() {
                let slot = former.slot(item.word, self.youngest);
                put_home(self, former.value_of(number, item), slot);
            }
        }
        for entry in outside.iter() {
            put_home(self, former.value_of_hash(hash_of(entry)), slot_of(entry));
        }
        homeless.retain(|entry| !self.put(&self.layout.home(hash_of(*entry)), slot_of(*entry)));
        homeless.iter_mut().for_each(|item| *item = entry(self.layout.hash(hash_of(*item)), slot_of(*item)));
        homeless.sort_unstable();
        self.outside = Ordered::from_sorted(&homeless);
        if self.layout.bits < former.bits {
            let layout = self.layout;
            self.overflow.merge(|value| layout.value_from(value, &former), self.youngest);
        }
    }

    /// Returns the oldest slot outside of overflow lists.
    fn find_oldest(&self) -> u32 {
        let slots =
            self.groups.iter().flat_map(Group::iter).map(|item| self.layout.slot(item.word, self.youngest));
        let ages = slots.chain(self.outside.iter().map(slot_of)).map(|slot| self.youngest.wrapping_sub(slot));
        self.youngest.wrapping_sub(ages.max().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    impl Segment {
        fn all_sorted(&self, hash: u32) -> Vec<u32> {
            let mut found = self.all(hash);
            found.sort_unstable();
            found
        }

        /// Returns true if every entry is where look-ups find it.
        fn is_sound(&self) -> bool {
            let in_groups = self.groups.iter().enumerate().all(|(number, group)| {
                group.iter().all(|item| {
                    let value = self.layout.value_of(number, item);
                    let home = self.layout.home(value);
                    home.group as usize + item.distance() == number
                        && self.groups[home.group as usize].reach(value) >= item.distance()
                })
            });
            let in_outside = self.outside.iter().all(|entry| {
                let value = self.layout.value_of_hash(hash_of(entry));
                self.groups[self.layout.home(value).group as usize].reach(value) == FAR
            });
            let count: usize = self.groups.iter().map(|group| group.count() as usize).sum();
            in_groups && in_outside && count + self.outside.len() == self.taken
        }
    }

    /// Returns the slots that a naive index holds under all hashes that this segment does not distinguish from
    /// `hash`.
    fn naive(segment: &Segment, held: &BTreeMap<u32, VecDeque<u32>>, hash: u32) -> Vec<u32> {
        let value = segment.layout.value(hash);
        let same = held.iter().filter(|(other, _)| segment.layout.value(**other) == value);
        let mut slots: Vec<u32> = same.flat_map(|(_, slots)| slots).copied().collect();
        slots.sort_unstable();
        slots
    }

    fn some_hash() -> impl Strategy<Value = u32> {
        // Includes neighbours that are no longer distinguished when slots are far apart.
        prop_oneof![any::<u32>(), Just(u32::MAX - 1), Just(0), 0x7000_0000..0x7000_0100_u32]
    }

    proptest! {
        /// Inserts and removes in any order: few hashes (overflow lists) and many (growth), at both ends of a
        /// segment, with consecutive or distant slots, past 2^32.
        #[test]
        fn holds_the_same_slots_as_a_map(
            events in prop::collection::vec((0..3_u8, 0..4_usize, 0..60_usize, prop_oneof![9 => Just(1_u32), 1 => 1..90_000_000_u32]), 0..1_200),
            hashes in prop::collection::vec(some_hash(), 60),
            start in prop_oneof![Just(5_u32), Just(u32::MAX - 100)],
            number in 0..256_usize,
        ) {
            let mut segment = Segment::new(number);
            let mut held = BTreeMap::<u32, VecDeque<u32>>::new();
            let mut order = VecDeque::<(u32, u32)>::new();
            let mut slot = start;
            for (what, few, many, step) in events {
                if what > 0 || order.is_empty() {
                    let hash = hashes[if slot.is_multiple_of(3) { few } else { many }].min(u32::MAX - 1);
                    let near = order.front().is_none_or(|(oldest, _)| slot.wrapping_sub(*oldest) < 1 << 31);
                    slot = slot.wrapping_add(if near { step } else { 1 });
                    segment.insert(hash, slot);
                    held.entry(hash).or_default().push_back(slot);
                    order.push_back((slot, hash));
                } else if let Some((oldest, hash)) = order.pop_front() {
                    segment.remove(hash, oldest.wrapping_sub(1)); // not in the segment
                    segment.remove(hash, oldest);
                    held.get_mut(&hash).and_then(VecDeque::pop_front);
                }
                let hash = hashes[many].min(u32::MAX - 1);
                prop_assert_eq!(segment.all_sorted(hash), naive(&segment, &held, hash));
                prop_assert!(segment.is_sound());
            }
            for hash in hashes {
                let hash = hash.min(u32::MAX - 1);
                prop_assert_eq!(segment.all_sorted(hash), naive(&segment, &held, hash));
            }
            while let Some((oldest, hash)) = order.pop_front() {
                segment.remove(hash, oldest);
                prop_assert!(segment.is_sound());
            }
            prop_assert!(segment.taken == 0 && segment.overflow.is_empty() && segment.outside.len() == 0);
            prop_assert!(segment.groups.iter().all(|group| group.reach(0) + group.reach(2) == 0));
        }

        /// Inserting all at once, in batches, or one by one gives the same index.
        #[test]
        fn inserting_many_at_once_equals_inserting_one_by_one(
            batches in prop::collection::vec(prop::collection::vec(0..60_usize, 0..400), 1..6),
            hashes in prop::collection::vec(some_hash(), 60),
            gone in 0..300_usize,
            step in prop_oneof![Just(1_usize), Just(1_000_000)],
        ) {
            let (mut at_once, mut one_by_one) = (Segment::new(0), Segment::new(255));
            // A third is under one hash, so some lists overflow.
            let hash = |at: usize| hashes[if at.is_multiple_of(3) { 0 } else { at }].min(u32::MAX - 1);
            let mut slots = (0..).step_by(step);
            let mut held = BTreeMap::<u32, VecDeque<u32>>::new();
            let mut inserted = Vec::new();
            for batch in &batches {
                let new: Vec<(u32, u32)> = batch.iter().map(|at| hash(*at)).zip(slots.by_ref()).collect();
                for (hash, slot) in &new {
                    one_by_one.insert(*hash, *slot);
                    held.entry(*hash).or_default().push_back(*slot);
                }
                at_once.insert_all(new.iter().map(|(hash, slot)| entry(*hash, *slot)).collect(), &mut Vec::new());
                inserted.extend(new);
                prop_assert!(at_once.is_sound() && one_by_one.is_sound());
            }
            for (hash, slot) in inserted.iter().take(gone) {
                at_once.remove(*hash, *slot);
                one_by_one.remove(*hash, *slot);
                held.get_mut(hash).and_then(VecDeque::pop_front);
            }
            for at in 0..hashes.len() {
                prop_assert_eq!(at_once.all_sorted(hash(at)), naive(&at_once, &held, hash(at)));
                prop_assert_eq!(one_by_one.all_sorted(hash(at)), naive(&one_by_one, &held, hash(at)));
            }
            prop_assert!(at_once.is_sound() && one_by_one.is_sound());
        }
    }

    /// Two lists are merged when slots need the bits that distinguished their hashes. The merged list
    /// releases its slots in the order in which they were inserted.
    #[test]
    fn lists_that_are_no_longer_distinguished_are_merged() {
        let mut segment = Segment::new(0);
        let hashes = [0x7000_0000, 0x7000_1000, 0x7000_0001];
        let all = (0..300_u32).map(|slot| (hashes[slot as usize % 3], slot));
        all.clone().for_each(|(hash, slot)| {
            segment.insert(hash, slot);
        });
        assert!(hashes.iter().all(|hash| segment.overflow(*hash).is_some_and(|list| list.len() == 100)));
        let far = (1..20).map(|step| (0x1234_5678, step * 1_000_000));
        far.clone().for_each(|(hash, slot)| {
            segment.insert(hash, slot);
        });
        let under = |segment: &Segment, hash| segment.all_sorted(hash).len();
        assert_eq!(
            hashes.map(|hash| under(&segment, hash)),
            [200, 200, 100],
            "wide keys have separate lists"
        );
        assert!(segment.is_sound());
        for (removed, (hash, slot)) in (1..).zip(all) {
            segment.remove(hash, slot);
            assert_eq!(under(&segment, hashes[0]) + under(&segment, hashes[2]), 300 - removed);
        }
        far.for_each(|(hash, slot)| segment.remove(hash, slot));
        assert!(segment.taken == 0 && segment.overflow.is_empty());
    }

    /// Inserting at one end and removing at the other, for four times the size, does not grow the segment, although
    /// some homes get twice as many entries as others. Nearly all entries are at home, and few are in no group. The segment
    /// shrinks when it is emptied.
    #[test]
    fn at_its_cap_it_keeps_its_size_and_entries_near_home() {
        let random = |slot: u32| {
            let mixed = (u64::from(slot) ^ 0x5851_f42d).wrapping_mul(0xd6e8_feb8_6659_fd93);
            ((mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32) as u32 & !1
        };
        let (mut segment, cap, mut full) = (Segment::new(0), 60_000, 0);
        for slot in 0..4 * cap {
            if slot >= cap {
                segment.remove(random(slot - cap), slot - cap);
            }
            segment.insert(random(slot), slot);
            if slot == cap - 1 || slot == 4 * cap - 1 {
                let far =
                    segment.groups.iter().filter(|group| group.reach(0).max(group.reach(2)) > 0).count();
                let share = far as f64 / segment.groups.len() as f64;
                assert!(share < 0.3, "{share} of the groups have entries elsewhere at {slot}");
                let outside = segment.outside.len();
                assert!(outside * 50 < segment.taken, "{outside} are in no group");
                full = if full == 0 { segment.bytes() } else { full };
                assert!(segment.bytes() <= full + full / 8, "{} bytes, {full} when full", segment.bytes());
            }
        }
        assert!(full < cap as usize * 6, "{full} bytes for {cap} entries");
        (3 * cap..4 * cap).for_each(|slot| segment.remove(random(slot), slot));
        assert!(segment.taken == 0 && segment.bytes() < 2_000, "{} bytes", segment.bytes());
    }
}
