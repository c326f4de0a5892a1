//! Overflow lists: the slots of very many centroids that share one key, too many to be compared with each
//! page.
//!
//! A passage on every page of a site, or pages made to attack the index, put any number of centroids under
//! one band of the sketch. If the detector has a [second key](leitong_fingerprint::SecondKey), a list of at least
//! [`INDEXED_MIN`] slots has its own [`Hamming`] index, which finds slots by the Hamming distance of their second
//! keys, of 64 bits.
//!
//! The result is exact, for two reasons. By the detector's definition, near fingerprints have second keys at
//! most `max_distance` bits apart, so no near centroid is lost. And the Hamming index finds all keys within
//! that distance ([`super::plan`] explains why).
//!
//! Slots are removed in the order in which they were added. The list is a queue, so the cost at both ends
//! does not depend on its length.

use std::collections::VecDeque;

use super::batch::Batch;
use super::hamming::Hamming;
use super::{Hit, Hits};

/// Minimum number of slots of a list that is indexed. Shorter lists are scanned, because even a small index
/// takes about 700 bytes.
const INDEXED_MIN: usize = 128;

/// Maximum distance between second keys at which the index uses plans. Beyond it, a linear scan is faster.
const PLANNED_MAX: u32 = 20;

/// The list of one key.
#[derive(Debug)]
pub(super) struct Overflow {
    /// The slots, oldest first.
    slots: VecDeque<u32>,
    /// The number of the first slot. Slots are numbered as they are added, modulo 2^32.
    first: u32,
    /// The index of second keys, by the numbers of their slots.
    seconds: Option<Box<Hamming>>,
}

impl Overflow {
    /// Creates a list of these slots in any order, except that the last one must be the youngest.
    pub(super) fn new(mut slots: Vec<u32>) -> Self {
        // Slots are numbers modulo 2^32. Counted from the number after the youngest, the oldest comes first.
        let youngest = slots.last().copied().unwrap_or(0);
        slots.sort_unstable_by_key(|slot| slot.wrapping_sub(youngest.wrapping_add(1)));
        Self { slots: slots.into(), first: 0, seconds: None }
    }

    /// Returns the number of slots.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns all slots, oldest first.
    pub(super) fn slots(&self) -> impl Iterator<Item = u32> + '_ {
        self.slots.iter().copied()
    }

    /// Adds `slot`, the youngest one. `second_distance` is the maximum distance between second keys of near
    /// fingerprints, if the detector has second keys. `second_of` returns the second key of a slot.
    pub(super) fn push(
        &mut self,
        slot: u32,
        second_distance: Option<u32>,
        second_of: &(impl Fn(u32) -> u64 + Sync),
    ) {
        self.slots.push_back(slot);
        let Some(max_distance) = second_distance else { return };
        if self.seconds.is_some() {
            self.index(self.slots.len() - 1, second_of);
        } else if self.slots.len() >= INDEXED_MIN {
            let new_index =
                if max_distance <= PLANNED_MAX { Hamming::one_of_many } else { Hamming::always_scanning };
            self.seconds = Some(Box::new(new_index(max_distance)));
            self.index(0, second_of);
        }
    }

    /// Indexes the second keys of the slots from the `from`-th on.
    fn index(&mut self, from: usize, second_of: &(impl Fn(u32) -> u64 + Sync)) {
        let Self { slots, first, seconds: Some(seconds) } = self else { return };
        let mut batch = Batch::default();
        for slot in slots.range(from..) {
            batch.push(|values| {
                values.push(second_of(*slot));
                0
            });
        }
        let second_of = |number: u32| second_of(slots[number.wrapping_sub(*first) as usize]);
        seconds.insert(first.wrapping_add(from as u32), &batch, second_of);
    }

    /// Removes `slot`, which has this second key, if it is the oldest one in the list. Returns false if it is not.
    pub(super) fn remove(&mut self, slot: u32, second: u64) -> bool {
        if self.slots.front() != Some(&slot) {
            return false;
        }
        self.slots.pop_front();
        if let Some(seconds) = &mut self.seconds {
            let mut batch = Batch::default();
            batch.push(|values| {
                values.push(second);
                0
            });
            seconds.remove(self.first, &batch);
        }
        self.first = self.first.wrapping_add(1);
        // The index is dropped at half of the length at which it is built. So a list that stays around that length
        // does not build and drop it again and again.
        if self.slots.len() < INDEXED_MIN / 2 {
            self.seconds = None;
        }
        if self.slots.len() * 4 < self.slots.capacity() {
            self.slots.shrink_to(self.slots.len() * 2);
        }
        true
    }

    /// Calls `found` with the slots whose second key is near `second`, and maybe some others. For a short
    /// list, calls it with all slots.
    pub(super) fn find(&self, second: u64, mut found: impl FnMut(u32)) {
        let Some(seconds) = &self.seconds else {
            self.slots.iter().for_each(|slot| found(*slot));
            return;
        };
        let mut query = Batch::default();
        query.push(|values| {
            values.push(second);
            0
        });
        let mut hand_on = |hits: &mut Vec<Hit>| {
            let numbers = hits.drain(..).map(|hit| hit.slot().wrapping_sub(self.first));
            numbers.filter_map(|at| self.slots.get(at as usize)).for_each(|slot| found(*slot));
        };
        let mut hits = Vec::new();
        seconds.find(&query, &mut Hits::new(&mut hits, &mut hand_on));
        hand_on(&mut hits);
    }

    /// Returns the slots, youngest first.
    pub(super) fn youngest_first(&self) -> impl Iterator<Item = u32> + '_ {
        self.slots.iter().rev().copied()
    }

    /// Returns the bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        let seconds = self.seconds.as_ref().map_or(0, |seconds| size_of::<Hamming>() + seconds.bytes());
        size_of::<Self>() + self.slots.capacity() * 4 + seconds
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns second keys of a few families, so some are near.
    fn second(slot: u32) -> u64 {
        let mix = |x: u64| (x ^ x >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
        let slot = u64::from(slot) + 1;
        mix(mix(slot % 37)) ^ (1 << (mix(slot) % 64)) ^ (1 << (mix(slot * 7) % 64)) ^ (mix(slot) & 0x10_1010)
    }

    fn found(overflow: &Overflow, second: u64) -> Vec<u32> {
        let mut found = Vec::new();
        overflow.find(second, |slot| found.push(slot));
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Equals a scan for any insertions and removals, in short and indexed lists, also when slots pass
        /// 2^32.
        #[test]
        fn finds_what_a_scan_finds(
            max_distance in 0_u32..=30,
            steps in prop::collection::vec((1_u32..400, 0_u32..350), 1..10),
            start in prop_oneof![Just(17_u32), Just(u32::MAX - 300)],
        ) {
            let mut end = start.wrapping_add(16);
            let mut slots: Vec<u32> = (0..16).map(|i| start.wrapping_add(i)).collect();
            // The segment passes the slots in the order of their numbers, except the youngest, which is last.
            slots[..15].sort_unstable();
            let mut overflow = Overflow::new(slots);
            let mut held: VecDeque<u32> = (0..16).map(|i| start.wrapping_add(i)).collect();
            for (come, go) in steps {
                for _ in 0..come {
                    overflow.push(end, Some(max_distance), &second);
                    held.push_back(end);
                    end = end.wrapping_add(1);
                }
                for _ in 0..go.min(held.len() as u32) {
                    let oldest = held.pop_front().expect("as many as that");
                    overflow.remove(oldest.wrapping_sub(1), 0); // not in the list
                    overflow.remove(oldest, second(oldest));
                }
                prop_assert_eq!(overflow.len(), held.len());
                prop_assert_eq!(overflow.seconds.is_some() && held.is_empty(), false);
                for query in [end, end.wrapping_sub(40), end / 2] {
                    let near = |slot: &u32| (second(*slot) ^ second(query)).count_ones() <= max_distance;
                    let mut found = found(&overflow, second(query));
                    found.retain(near);
                    found.sort_unstable();
                    let mut naive: Vec<u32> = held.iter().copied().filter(near).collect();
                    naive.sort_unstable();
                    found.dedup();
                    prop_assert_eq!(found, naive);
                }
            }
        }
    }

    /// A list that grew, was emptied and grew again takes the same memory as at first, and almost none in
    /// between.
    #[test]
    fn memory_of_a_list_is_given_back() {
        let mut overflow = Overflow::new(vec![0]);
        (1..20_000).for_each(|slot| overflow.push(slot, Some(16), &second));
        let full = overflow.bytes();
        (0..19_999).for_each(|slot| assert!(overflow.remove(slot, second(slot))));
        assert!(overflow.bytes() < 200, "{} bytes", overflow.bytes());
        (20_000..39_999).for_each(|slot| overflow.push(slot, Some(16), &second));
        assert!(overflow.bytes() < full + full / 4, "{} bytes, {full} at first", overflow.bytes());
        assert_eq!(overflow.len(), 20_000);
    }

    /// With twice as many slots under one key, a look-up passes on no more, except for slots that are near by
    /// chance.
    #[test]
    fn a_long_list_passes_on_only_near_slots() {
        let apart = |slot: u32| {
            let mix = |x: u64| (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
            mix(mix(mix(u64::from(slot) + 1)))
        };
        let mut overflow = Overflow::new(vec![0]);
        let mut handed_on = Vec::new();
        for size in [20_000_u32, 40_000] {
            (overflow.len() as u32..size).for_each(|slot| overflow.push(slot, Some(16), &apart));
            let all: usize = (0..100).map(|query| found(&overflow, apart(1_000_000 + query)).len()).sum();
            handed_on.push(all);
        }
        assert!(handed_on[0] < 1_000 && handed_on[1] < 2_000, "{handed_on:?} for two and four million pairs");
    }
}
